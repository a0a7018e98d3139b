"""A compiled training step leaves everything as the same step uncompiled does: numbers, state, random numbers."""

import numpy as np
import pytest


def state_of(torch, model, optimizer):
    """Everything that training changes, as arrays by name."""
    found = {name: t.detach().numpy().copy() for name, t in model.state_dict().items()}
    for number, state in optimizer.state_dict()["state"].items():
        for name, value in state.items():
            found[f"optimizer.{number}.{name}"] = np.array(value.numpy() if hasattr(value, "numpy") else value)
    found["random"] = torch.get_rng_state().numpy().copy()
    return found


def trained(torch, compiled, make, body, optimizer, steps=4, between=lambda number, model, optimizer: None, fallback=False,
            **options):  # fmt: skip
    """(losses, state, number of traces) after some steps of `body(model, optimizer)`."""
    torch.manual_seed(0)
    model = make(torch)
    optimizer = getattr(torch.optim, optimizer)(model.parameters(), **options)
    x, y = torch.randn(8, 4), torch.randn(8, 2)

    def step():
        return body(torch, model, optimizer, x, y)

    run = torch.compile(step, fallback=fallback) if compiled else step
    losses = []
    for number in range(steps):
        between(number, model, optimizer)
        losses.append(run().item())
    return losses, state_of(torch, model, optimizer), getattr(run, "count", None)


def same(torch, make, body, optimizer="Adam", **options):
    """Check that eager and compiled training agree; returns how often the step was traced."""
    losses, state, _ = trained(torch, False, make, body, optimizer, **options)
    fast_losses, fast_state, count = trained(torch, True, make, body, optimizer, **options)
    np.testing.assert_allclose(fast_losses, losses, rtol=2e-5, atol=1e-6)
    assert state.keys() == fast_state.keys()
    for name in state:
        np.testing.assert_allclose(fast_state[name], state[name], rtol=2e-4, atol=2e-6, err_msg=name)
    return count


def mlp(torch):
    nn = torch.nn
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def plain(torch, model, optimizer, x, y):
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss


OPTIMIZERS = [
    ("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "maximize": True}), ("Adam", {}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1}), ("AdamW", {}), ("RMSprop", {"momentum": 0.5, "centered": True}),
    ("Adagrad", {"lr_decay": 0.1}), ("Adadelta", {}), ("Adamax", {}), ("NAdam", {}), ("RAdam", {}), ("Rprop", {}),
    ("ASGD", {"t0": 2}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS)
def test_every_optimizer(torch, name, options):
    assert same(torch, mlp, plain, name, steps=7, **options) <= 3


def matrix(torch):
    return torch.nn.Linear(4, 2, bias=False)


def test_an_optimizer_of_whole_matrices(torch):
    assert same(torch, matrix, plain, "Muon") <= 2


def test_an_optimizer_that_decides_by_numbers(torch):
    """Adafactor looks at the size of its update: an error says so, and with fallback=True the step runs uncompiled."""
    with pytest.raises(RuntimeError, match=r"(?s)item\(\).*optimizer.step\(\).*fallback=True"):
        trained(torch, True, matrix, plain, "Adafactor")
    with pytest.warns(UserWarning, match="runs uncompiled"):
        _, fast, count = trained(torch, True, matrix, plain, "Adafactor", fallback=True)
    _, eager, _ = trained(torch, False, matrix, plain, "Adafactor")
    assert count == 0
    for name in eager:
        np.testing.assert_array_equal(fast[name], eager[name])


def test_zero_grad_first(torch):
    def body(torch, model, optimizer, x, y):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    assert same(torch, mlp, body) == 1


def test_gradients_accumulate(torch):
    def body(torch, model, optimizer, x, y):
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        return loss

    def grads(compiled):
        torch.manual_seed(0)
        model = mlp(torch)
        x, y = torch.randn(8, 4), torch.randn(8, 2)
        run = torch.compile(body) if compiled else body
        for _ in range(3):
            run(torch, model, None, x, y)
        return [p.grad.numpy() for p in model.parameters()]

    for a, b in zip(grads(True), grads(False)):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_zeros_instead_of_none(torch):
    def body(torch, model, optimizer, x, y):
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        return loss

    assert same(torch, mlp, body) <= 2


def test_two_micro_batches(torch):
    def body(torch, model, optimizer, x, y):
        total = 0
        for part in range(2):
            loss = torch.nn.functional.mse_loss(model(x[part::2]), y[part::2])
            (loss / 2).backward()
            total = total + loss.detach()
        optimizer.step()
        optimizer.zero_grad()
        return total

    assert same(torch, mlp, body) == 1


def test_two_steps_in_one(torch):
    def body(torch, model, optimizer, x, y):
        plain(torch, model, optimizer, x, y)
        return plain(torch, model, optimizer, x, y)

    assert same(torch, mlp, body) == 1


def test_learning_rates_change_without_a_new_trace(torch):
    def between(number, model, optimizer):
        optimizer.param_groups[0]["lr"] = 0.05 / (number + 1)

    assert same(torch, mlp, plain, lr=0.1, between=between) == 1


@pytest.mark.parametrize(
    ("name", "options"),
    [("StepLR", {"step_size": 2}), ("ExponentialLR", {"gamma": 0.8}), ("OneCycleLR", {"max_lr": 0.1, "total_steps": 9}),
     ("CosineAnnealingWarmRestarts", {"T_0": 3})],
)  # fmt: skip
def test_schedules_inside(torch, name, options):
    schedulers = torch.optim.lr_scheduler

    def run(compiled):
        torch.manual_seed(0)
        model = mlp(torch)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        scheduler = getattr(schedulers, name)(optimizer, **options)
        x, y = torch.randn(8, 4), torch.randn(8, 2)

        def step():
            loss = plain(torch, model, optimizer, x, y)
            scheduler.step()
            return loss

        call = torch.compile(step) if compiled else step
        rates = []
        for _ in range(6):
            call()
            rates.append(scheduler.get_last_lr()[0])
        return rates, state_of(torch, model, optimizer), getattr(call, "count", 1)

    (rates, fast, count), (expected, eager, _) = run(True), run(False)
    assert rates == expected and count <= 2
    for key in eager:
        np.testing.assert_allclose(fast[key], eager[key], rtol=2e-4, atol=2e-6, err_msg=key)


def test_a_schedule_before_the_update_is_refused(torch):
    model = mlp(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)

    def step():
        loss = model(torch.ones(1, 4)).sum()
        loss.backward()
        scheduler.step()
        optimizer.step()

    with pytest.raises(RuntimeError, match="before the step"):
        torch.compile(step)()
    assert scheduler.last_epoch == 0 and optimizer.param_groups[0]["lr"] == 0.1


def test_batch_norm_and_its_running_statistics(torch):
    def make(torch):
        nn = torch.nn
        return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))

    assert same(torch, make, plain, "SGD", lr=0.1) == 1  # (Adam would enlarge the rounding of the bias's zero gradient)


RECURRENT = [
    ("LSTM", {}), ("LSTM", {"bidirectional": True, "num_layers": 2}), ("LSTM", {"batch_first": True, "bias": False}),
    ("LSTM", {"proj_size": 5}), ("GRU", {}), ("GRU", {"bidirectional": True}), ("RNN", {}), ("RNN", {"nonlinearity": "relu"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options"), RECURRENT, ids=str)
@pytest.mark.parametrize("given", [False, True], ids=["zeros", "given"])
def test_recurrent_networks(torch, name, options, given):
    """Large enough for kernels; what is used of the results: all states and the last ones, or only the last."""
    both = 2 if options.get("bidirectional") else 1

    def make(torch):
        model = getattr(torch.nn, name)(4, 64, **options)
        size = options.get("proj_size", 64)
        start = [torch.randn(both * model.num_layers, 4, n) * 0.1 for n in (size, 64)]
        model.start = torch.nn.ParameterList(start[: 2 if name == "LSTM" else 1])
        return model

    def body(torch, model, optimizer, x, y):
        x = x.view(2, 4, 4).repeat(8, 1, 1)
        x = x.transpose(0, 1) if options.get("batch_first") else x
        start = (tuple(model.start) if name == "LSTM" else model.start[0],) if given else ()
        out, last = model(x, *start)
        last = [t.sin().mean() for t in (last if name == "LSTM" else (last,))]
        loss = sum(last) if given else (out * out).mean() + last[-1]
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    assert same(torch, make, body) <= 2


def test_train_and_eval_are_two_programs(torch):
    def make(torch):
        nn = torch.nn
        return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))

    def between(number, model, optimizer):
        model.train(number % 2 == 0)

    assert same(torch, make, plain, "SGD", lr=0.1, steps=6, between=between) == 2


def test_dropout_draws_the_same_numbers(torch):
    def make(torch):
        nn = torch.nn
        return nn.Sequential(nn.Linear(4, 64), nn.Dropout(0.3), nn.ReLU(), nn.Linear(64, 2))

    assert same(torch, make, plain) == 1


def test_random_numbers_in_the_step(torch):
    def body(torch, model, optimizer, x, y):
        noisy = x + 0.1 * torch.randn(8, 4) + torch.rand_like(x)
        return plain(torch, model, optimizer, noisy, y)

    assert same(torch, mlp, body) == 1


def test_clipping(torch):
    clip = pytest.importorskip("tensorgrad.nn.utils.clip_grad")

    def body(torch, model, optimizer, x, y):
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        clip.clip_grad_norm_(model.parameters(), 0.05)
        clip.clip_grad_value_(model.parameters(), 0.02)
        optimizer.step()
        optimizer.zero_grad()
        return loss

    assert same(torch, mlp, body, "SGD", lr=0.1) == 1


def test_a_frozen_parameter(torch):
    def make(torch):
        model = mlp(torch)
        model[0].weight.requires_grad_(False)
        return model

    assert same(torch, make, plain) == 1


def test_new_state_is_noticed(torch):
    def between(number, model, optimizer):
        if number == 2:
            saved = optimizer.state_dict()
            optimizer.load_state_dict(saved)

    assert same(torch, mlp, plain, between=between) <= 2


def test_eager_and_compiled_steps_take_turns(torch):
    def run(pattern):
        torch.manual_seed(0)
        model = mlp(torch)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
        x, y = torch.randn(8, 4), torch.randn(8, 2)

        def step():
            return plain(torch, model, optimizer, x, y)

        fast = torch.compile(step)
        for compiled in pattern:
            (fast if compiled else step)()
        return state_of(torch, model, optimizer)

    mixed, eager = run([True, False, True, True, False, True]), run([False] * 6)
    for name in eager:
        np.testing.assert_allclose(mixed[name], eager[name], rtol=2e-4, atol=2e-6, err_msg=name)


def test_only_the_update(torch):
    """`compile(optimizer.step)`: gradients come from outside, new tensors at each call."""

    def run(compiled):
        torch.manual_seed(0)
        model = mlp(torch)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
        update = torch.compile(optimizer.step) if compiled else optimizer.step
        x, y = torch.randn(8, 4), torch.randn(8, 2)
        for _ in range(4):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            update()
        return state_of(torch, model, optimizer)

    fast, eager = run(True), run(False)
    for name in eager:
        np.testing.assert_allclose(fast[name], eager[name], rtol=2e-4, atol=2e-6, err_msg=name)


def test_only_the_loss(torch):
    """`compile` of the forward pass alone: the backward pass outside runs the second program."""

    def run(compiled):
        torch.manual_seed(0)
        model = mlp(torch)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
        x, y = torch.randn(8, 4), torch.randn(8, 2)

        def loss_of(x, y):
            return torch.nn.functional.mse_loss(model(x), y)

        forward = torch.compile(loss_of) if compiled else loss_of
        losses = []
        for _ in range(4):
            loss = forward(x, y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
        return losses, state_of(torch, model, optimizer)

    (fast_losses, fast), (losses, eager) = run(True), run(False)
    np.testing.assert_allclose(fast_losses, losses, rtol=1e-5)
    for name in eager:
        np.testing.assert_allclose(fast[name], eager[name], rtol=2e-4, atol=2e-6, err_msg=name)


def test_float64_and_bfloat16(torch):
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.bfloat16, 2e-2)):

        def run(compiled, dtype=dtype):
            torch.manual_seed(0)
            model = mlp(torch).to(dtype)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
            x, y = torch.randn(8, 4).to(dtype), torch.randn(8, 2).to(dtype)

            def step():
                return plain(torch, model, optimizer, x, y)

            step = torch.compile(step) if compiled else step
            return [step().item() for _ in range(3)]

        np.testing.assert_allclose(run(True), run(False), rtol=tolerance)
