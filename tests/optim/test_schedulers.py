"""Learning rate schedulers against their closed forms, and how they treat the optimizer they work on."""

import copy
import math
import pickle
import warnings

import pytest


def optimizer_of(torch, lr=0.5, **options):
    return torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=lr, **options)


def rates(optimizer, scheduler, steps):
    found = [scheduler.get_last_lr()[0]]
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
        found.append(optimizer.param_groups[0]["lr"])
    return found


CLOSED = {
    "StepLR": ({"step_size": 3, "gamma": 0.5}, lambda e: 0.5 ** (e // 3)),
    "MultiStepLR": ({"milestones": [2, 5, 5], "gamma": 0.5}, lambda e: 0.5 ** ((e >= 2) + 2 * (e >= 5))),
    "ConstantLR": ({"factor": 0.25, "total_iters": 4}, lambda e: 0.25 if e < 4 else 1),
    "LinearLR": (
        {"start_factor": 0.2, "end_factor": 0.8, "total_iters": 10},
        lambda e: 0.2 + 0.6 * min(e, 10) / 10,
    ),
    "ExponentialLR": ({"gamma": 0.9}, lambda e: 0.9**e),
    "PolynomialLR": ({"total_iters": 15, "power": 2}, lambda e: (1 - min(e, 15) / 15) ** 2),
    "CosineAnnealingLR": ({"T_max": 8}, lambda e: (1 + math.cos(math.pi * e / 8)) / 2),
    "CosineAnnealingWarmRestarts": ({"T_0": 6}, lambda e: (1 + math.cos(math.pi * (e % 6) / 6)) / 2),
    "LambdaLR": ({"lr_lambda": lambda e: 1 / (1 + e)}, lambda e: 1 / (1 + e)),
    "MultiplicativeLR": ({"lr_lambda": lambda e: e / (e + 1)}, lambda e: 1 / (1 + e)),
}


@pytest.mark.parametrize("name", CLOSED)
def test_rates_follow_the_closed_form(torch, name):
    options, factor = CLOSED[name]
    optimizer = optimizer_of(torch)
    found = rates(optimizer, getattr(torch.optim.lr_scheduler, name)(optimizer, **options), 20)
    assert found == pytest.approx([0.5 * factor(epoch) for epoch in range(21)], rel=1e-12, abs=1e-15)


def test_one_cycle_rises_and_falls_and_moves_the_momentum_against_it(torch):
    optimizer = optimizer_of(torch, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=101, pct_start=0.31)
    found, momenta = [], []
    for _ in range(100):
        found.append(optimizer.param_groups[0]["lr"])
        momenta.append(optimizer.param_groups[0]["momentum"])
        optimizer.step()
        scheduler.step()
    top = found.index(max(found))
    assert found[0] == pytest.approx(1 / 25) and found[top] == pytest.approx(1.0, rel=1e-3) and 29 <= top <= 31
    assert sorted(found[: top + 1]) == found[: top + 1] and sorted(found[top:], reverse=True) == found[top:]
    assert optimizer.param_groups[0]["lr"] == pytest.approx(1 / 25 / 1e4)
    assert momenta.index(min(momenta)) == top


def test_beta1_takes_the_place_of_momentum(torch):
    optimizer = torch.optim.Adam([torch.ones(1)], lr=0.1)
    scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 0.2, step_size_up=2)
    assert optimizer.param_groups[0]["betas"] == (0.9, 0.999)
    rates(optimizer, scheduler, 2)
    assert optimizer.param_groups[0]["betas"] == pytest.approx((0.8, 0.999))


def test_a_plateau_lowers_the_rate_after_patience_is_over(torch):
    optimizer = optimizer_of(torch)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.1, patience=2, cooldown=1)
    found = []
    for loss in [1.0, 0.9, 0.9, 0.9, torch.tensor(0.9), 0.9, 0.9, 0.9, 0.9]:
        scheduler.step(loss)
        found.append(scheduler.get_last_lr()[0])
    assert found == pytest.approx([0.5] * 4 + [0.05] * 4 + [0.005])


def test_the_optimizer_takes_the_new_rate(torch):
    p = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([p], lr=1.0)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    for _ in range(3):
        p.grad = torch.ones(1)
        optimizer.step()
        scheduler.step()
    assert p.item() == -1.75


def test_a_rate_in_a_tensor_is_changed_in_place(torch):
    lr = torch.tensor(0.5)
    optimizer = optimizer_of(torch, lr=lr)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    rates(optimizer, scheduler, 2)
    assert optimizer.param_groups[0]["lr"] is lr and lr.item() == 0.125
    assert scheduler.base_lrs[0].item() == 0.5


def test_a_wrong_order_of_calls_is_told(torch):
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer_of(torch), 3)
    with pytest.warns(UserWarning, match="before `optimizer.step\\(\\)`") as told:
        scheduler.step()
    assert told[0].filename == __file__
    optimizer = optimizer_of(torch)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rates(optimizer, scheduler, 5)


def test_two_schedulers_work_on_one_optimizer(torch):
    optimizer = optimizer_of(torch)
    first = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    second = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.1)
    for _ in range(3):
        optimizer.step()
        first.step()
        second.step()
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.5 * 0.5**3 * 0.1)


def test_a_state_dict_holds_no_code_and_survives_pickling(torch):
    optimizer = optimizer_of(torch)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.9**epoch)
    rates(optimizer, scheduler, 4)
    state = pickle.loads(pickle.dumps(scheduler.state_dict()))
    assert state["lr_lambdas"] == [None]
    other = torch.optim.lr_scheduler.LambdaLR(optimizer_of(torch), lambda epoch: 0.9**epoch)
    other.load_state_dict(state)
    assert other.last_epoch == 4 and other.get_last_lr() == scheduler.get_last_lr()
    assert state["lr_lambdas"] == [None]  # loading left it as it was


def test_optimizers_with_a_scheduler_can_be_copied_and_pickled(torch):
    optimizer = optimizer_of(torch, momentum=0.9)
    torch.optim.lr_scheduler.StepLR(optimizer, 3)
    for twin in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        p = twin.param_groups[0]["params"][0]
        p.grad = torch.ones(1)
        twin.step()
        assert p.item() == 0.5 and optimizer.param_groups[0]["params"][0].item() == 1.0


def test_groups_of_an_optimizer_print_apart(torch):
    optimizer = torch.optim.SGD([{"params": [torch.ones(1)]}, {"params": [torch.ones(1)]}])
    assert "weight_decay: 0\n\nParameter Group 1\n" in repr(optimizer)


def test_averages_are_plain_or_fade(torch):
    model = torch.nn.Linear(1, 1, bias=False)
    plain = torch.optim.swa_utils.AveragedModel(model)
    fading = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.75))
    values = [1.0, 2.0, 6.0, 3.0]
    expected = values[0]
    for value in values:
        torch.nn.init.constant_(model.weight, value)
        plain.update_parameters(model)
        fading.update_parameters(model)
        expected = 0.75 * expected + 0.25 * value
    assert plain.module.weight.item() == pytest.approx(sum(values) / 4)
    assert fading.module.weight.item() == pytest.approx(expected)
    assert plain.n_averaged.item() == 4 and model.weight.item() == 3.0


def test_batch_norms_are_measured_anew(torch):
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(2, momentum=0.3), torch.nn.ReLU())
    model.eval()
    batches = [torch.randn(10, 2) * 3 + 1 for _ in range(5)]
    torch.optim.swa_utils.update_bn(batches, model)
    assert torch.allclose(model[0].running_mean, torch.stack([b.mean(0) for b in batches]).mean(0))
    assert torch.allclose(model[0].running_var, torch.stack([b.var(0) for b in batches]).mean(0))
    assert model[0].momentum == 0.3 and not model.training
