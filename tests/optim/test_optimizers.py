"""Optimizers without PyTorch: they reach a minimum, take their first steps by their formulas, and keep what they should."""

import copy
import math

import pytest

NAMES = ["Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "ASGD", "LBFGS", "Muon", "NAdam", "RAdam", "RMSprop",
         "Rprop", "SGD"]  # fmt: skip
RATES = {"Adadelta": 30.0, "Adafactor": 0.5, "Adagrad": 1.0, "LBFGS": 1.0, "Muon": 0.2, "SGD": 0.1, "ASGD": 0.1}


@pytest.mark.parametrize("name", NAMES)
def test_a_bowl_is_descended(torch, name):
    goal = torch.tensor([[1.0, -2.0], [0.5, 3.0]], dtype=torch.float64)
    p = torch.zeros(2, 2, dtype=torch.float64, requires_grad=True)
    optimizer = getattr(torch.optim, name)([p], lr=RATES.get(name, 0.1))
    if name == "Muon":
        scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.98)

    def closure():
        optimizer.zero_grad()
        loss = ((p - goal) ** 2 * torch.tensor([[1.0, 0.5], [2.0, 1.0]])).sum()
        loss.backward()
        return loss

    first = closure().item()
    for _ in range(300):
        optimizer.step(closure)
        if name == "Muon":
            scheduler.step()
    assert closure().item() < first * 0.01


def stepped(torch, name, gradients, start=1.0, **options):
    """Where a number goes along given gradients."""
    p = torch.tensor([start], dtype=torch.float64, requires_grad=True)
    optimizer = getattr(torch.optim, name)([p], **options)
    for g in gradients:
        p.grad = torch.tensor([g], dtype=torch.float64)
        optimizer.step()
    return p.item()


def test_sgd_follows_its_formula(torch):
    p, velocity = 1.0, None
    for g in (0.5, -1.0, 2.0):
        g = -g + 0.1 * p  # maximize, weight decay
        velocity = g if velocity is None else 0.9 * velocity + g
        p -= 0.2 * (g + 0.9 * velocity)
    options = {"lr": 0.2, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1, "maximize": True}
    assert stepped(torch, "SGD", (0.5, -1.0, 2.0), **options) == pytest.approx(p, rel=1e-12)


@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("name", ["Adam", "AdamW"])
def test_adam_follows_its_formula(torch, name, amsgrad):
    p, mean, square, largest = 1.0, 0.0, 0.0, 0.0
    for step, g in enumerate((0.5, -1.0, 0.1, 2.0), 1):
        if name == "AdamW":
            p *= 1 - 0.2 * 0.05
        else:
            g += 0.05 * p
        mean, square = 0.8 * mean + 0.2 * g, 0.9 * square + 0.1 * g * g
        largest = max(largest, square) if amsgrad else square
        p -= 0.2 / (1 - 0.8**step) * mean / (math.sqrt(largest / (1 - 0.9**step)) + 1e-3)
    options = {"lr": 0.2, "betas": (0.8, 0.9), "eps": 1e-3, "weight_decay": 0.05, "amsgrad": amsgrad}
    assert stepped(torch, name, (0.5, -1.0, 0.1, 2.0), **options) == pytest.approx(p, rel=1e-9)


def test_rmsprop_follows_its_formula(torch):
    p, square, mean, moved = 1.0, 0.0, 0.0, 0.0
    for g in (0.5, -1.0, 0.1, 2.0):
        square, mean = 0.7 * square + 0.3 * g * g, 0.7 * mean + 0.3 * g
        moved = 0.5 * moved + g / (math.sqrt(square - mean * mean) + 1e-3)
        p -= 0.2 * moved
    options = {"lr": 0.2, "alpha": 0.7, "eps": 1e-3, "momentum": 0.5, "centered": True}
    assert stepped(torch, "RMSprop", (0.5, -1.0, 0.1, 2.0), **options) == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize("sizes", [[(3,), (2, 2)], [(200, 150), (3,), (90, 50)]], ids=["small", "large"])
@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("LBFGS", "Muon", "Adafactor")])
def test_all_parameters_together_move_as_each_alone(torch, name, sizes):
    """Many are updated in one pass, large ones in pieces or by compiled loops: element by element it is all the same."""
    torch.manual_seed(0)
    starts, gradients = ([torch.randn(size, dtype=torch.float64) for size in sizes] for _ in range(2))
    together = [s.clone().requires_grad_() for s in starts]
    optimizer = getattr(torch.optim, name)(together, lr=0.1)
    for step in range(4):
        for p, g in zip(together, gradients):
            p.grad = g * (1 - step) if g.dim() < 2 else (g * (1 - step)).t().contiguous().t()  # any order in memory
        optimizer.step()
    for start, gradient, p in zip(starts, gradients, together):
        for place in ((0,) * start.dim(), tuple(n - 1 for n in start.shape)):
            gradient_here = gradient[place].item()
            alone = stepped(torch, name, [gradient_here * (1 - s) for s in range(4)], start[place].item(), lr=0.1)
            assert p[place].item() == pytest.approx(alone, rel=1e-12)


def test_parameters_without_a_gradient_stay_and_later_catch_up_alone(torch):
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    optimizer = torch.optim.Adam([a, b], lr=0.1)
    a.grad = torch.ones(2)
    optimizer.step()
    assert b.tolist() == [1.0, 1.0] and len(optimizer.state) == 1
    b.grad = torch.ones(2)
    optimizer.step()
    assert optimizer.state[a]["step"].item() == 2 and optimizer.state[b]["step"].item() == 1


def test_a_parameter_written_to_or_replaced_between_steps(torch):
    p = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([p], lr=0.5, momentum=0.9)
    for value in (1.0, 5.0):
        with torch.no_grad():
            p.fill_(value)
        p.grad = torch.ones(3)
        optimizer.step()
    assert p.tolist() == pytest.approx([5 - 0.5 * 1.9] * 3)
    p.data = torch.zeros(3)
    p.grad = torch.zeros(3)
    optimizer.step()
    assert p.tolist() == pytest.approx([-0.5 * 0.9 * 1.9] * 3)


def test_states_are_copied_and_loaded(torch):
    p = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.AdamW([p], lr=0.1)
    p.grad = torch.tensor([1.0, 2.0, 3.0])
    optimizer.step()
    state = copy.deepcopy(optimizer.state_dict())
    q = p.detach().clone().requires_grad_()
    other = torch.optim.AdamW([q], lr=7.0)
    other.load_state_dict(state)
    q.grad = p.grad.clone()
    optimizer.step()
    other.step()
    assert torch.equal(p, q)


def test_hooks_and_closures(torch):
    seen = []
    p = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([p], lr=0.5)
    optimizer.register_step_pre_hook(lambda *_: seen.append("before"))
    optimizer.register_step_post_hook(lambda *_: seen.append("after"))

    def closure():
        seen.append("closure")
        optimizer.zero_grad()
        loss = (p * 3).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 3.0 and p.item() == -0.5
    assert seen == ["before", "closure", "after"]


def test_saved_values_are_protected_from_updates(torch):
    p = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([p], lr=0.5)
    loss = (p * p).sum()
    p.grad = torch.ones(3)
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
