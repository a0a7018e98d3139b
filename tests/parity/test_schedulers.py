"""Every learning rate scheduler sets PyTorch's rates for a hundred steps, keeps PyTorch's state, and says PyTorch's words."""

import inspect
import math
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import tensorgrad  # noqa: E402

STEPS = 100
SCHEDULERS = {
    "LambdaLR": [{"lr_lambda": lambda e: 0.95**e}, {"lr_lambda": [lambda e: 1 / (1 + e), lambda e: 0.5 + e]}],
    "MultiplicativeLR": [{"lr_lambda": lambda e: 0.97}, {"lr_lambda": [lambda e: 0.99, lambda e: 1.01]}],
    "StepLR": [{"step_size": 7}, {"step_size": 3, "gamma": 0.9}],
    "MultiStepLR": [{"milestones": [3, 30, 30, 80]}, {"milestones": [0, 5], "gamma": 0.3}, {"milestones": []}],
    "ConstantLR": [{}, {"factor": 0.25, "total_iters": 30}, {"factor": 1.0}],
    "LinearLR": [{}, {"start_factor": 0.1, "end_factor": 0.7, "total_iters": 40}, {"start_factor": 1.0, "end_factor": 0.0}],
    "ExponentialLR": [{"gamma": 0.95}],
    "PolynomialLR": [{}, {"total_iters": 60, "power": 2.5}],
    "CosineAnnealingLR": [{"T_max": 10}, {"T_max": 33, "eta_min": 0.01}, {"T_max": 1}, {"T_max": 100}],
    "CosineAnnealingWarmRestarts": [{"T_0": 10}, {"T_0": 3, "T_mult": 2, "eta_min": 0.02}, {"T_0": 1}],
    "CyclicLR": [
        {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 8},
        {"base_lr": [0.01, 0.02], "max_lr": [0.1, 0.3], "step_size_up": 5, "step_size_down": 9, "mode": "triangular2"},
        {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 4, "mode": "exp_range", "gamma": 0.99,
         "base_momentum": [0.7, 0.6], "max_momentum": [0.8, 0.95]},
        {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 4, "scale_fn": lambda x: 1 / x, "cycle_momentum": False},
        {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 4, "scale_fn": lambda x: 0.9**x, "scale_mode": "iterations"},
    ],
    "OneCycleLR": [
        {"max_lr": 0.5, "total_steps": 100},
        {"max_lr": [0.5, 0.1], "epochs": 10, "steps_per_epoch": 10, "pct_start": 0.4, "three_phase": True},
        {"max_lr": 0.5, "total_steps": 120, "anneal_strategy": "linear", "div_factor": 10.0, "final_div_factor": 100.0},
        {"max_lr": 0.5, "total_steps": 100, "cycle_momentum": False},
    ],
    "SWALR": [{"swa_lr": 0.05}, {"swa_lr": [0.02, 0.3], "anneal_epochs": 33, "anneal_strategy": "linear"},
              {"swa_lr": 0.05, "anneal_epochs": 0}],
}  # fmt: skip
CASES = [(name, options) for name, cases in SCHEDULERS.items() for options in cases]
OPTIMIZERS = {"SGD": {"momentum": 0.9}, "Adam": {}}


def home(library, name):
    return getattr(library.optim.swa_utils if name == "SWALR" else library.optim.lr_scheduler, name)


def make_optimizer(library, kind="SGD", tensor_rate=False):
    rate = library.tensor(0.2, dtype=library.float64) if tensor_rate else 0.2
    groups = [{"params": [library.ones(1)]}, {"params": [library.ones(2)], "lr": 0.07}]
    return getattr(library.optim, kind)(groups, lr=rate, **OPTIMIZERS[kind])


def options_of(optimizer):
    """All numbers of the groups."""
    return [
        {k: [float(x) for x in v] if isinstance(v, tuple) else float(v) for k, v in g.items() if k in KEPT}
        for g in optimizer.param_groups
    ]


KEPT = ("lr", "initial_lr", "max_lr", "min_lr", "momentum", "betas", "max_momentum", "base_momentum", "swa_lr")


def walk(optimizer, scheduler, steps=STEPS, metrics=None):
    seen = [options_of(optimizer)]
    for step in range(steps):
        optimizer.step()
        scheduler.step(*([] if metrics is None else [metrics[step]]))
        seen.append(options_of(optimizer))
        assert [float(x) for x in scheduler.get_last_lr()] == [g["lr"] for g in seen[-1]]
    return seen


def state_of(value):
    """A state with plain values."""
    if isinstance(value, dict):
        return {k: state_of(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [state_of(v) for v in value]
    return value.item() if hasattr(value, "item") else value


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("name, options", CASES, ids=lambda v: v if isinstance(v, str) else ",".join(v))
def test_rates_equal_pytorchs_bit_for_bit(name, options, kind):
    walks, states = [], []
    for library in (tensorgrad, torch):
        optimizer = make_optimizer(library, kind)
        scheduler = home(library, name)(optimizer, **options)
        walks.append(walk(optimizer, scheduler))
        states.append(state_of(scheduler.state_dict()))
    assert walks[0] == walks[1]
    assert states[0] == states[1]


@pytest.mark.parametrize("name, options", CASES, ids=lambda v: v if isinstance(v, str) else ",".join(v))
def test_a_rate_in_a_tensor_stays_that_tensor(name, options):
    walks = []
    for library in (tensorgrad, torch):
        optimizer = make_optimizer(library, "SGD", tensor_rate=True)
        rate = optimizer.param_groups[0]["lr"]
        scheduler = home(library, name)(optimizer, **options)
        walks.append(walk(optimizer, scheduler, 30))
        assert optimizer.param_groups[0]["lr"] is rate
    np.testing.assert_allclose(
        [[g["lr"] for g in groups] for groups in walks[0]],
        [[g["lr"] for g in groups] for groups in walks[1]],
        rtol=1e-6,
    )


@pytest.mark.parametrize("name, options", CASES, ids=lambda v: v if isinstance(v, str) else ",".join(v))
def test_going_on_from_a_state_dict(name, options):
    walks = []
    for library in (tensorgrad, torch):
        optimizer = make_optimizer(library)
        scheduler = home(library, name)(optimizer, **options)
        walk(optimizer, scheduler, 17)
        second = make_optimizer(library)
        resumed = home(library, name)(second, **options)
        second.load_state_dict(optimizer.state_dict())
        resumed.load_state_dict(scheduler.state_dict())
        walks.append(walk(second, resumed, 40))
        assert walks[-1] == walk(optimizer, scheduler, 40)
    assert walks[0] == walks[1]


@pytest.mark.parametrize("name, options", CASES, ids=lambda v: v if isinstance(v, str) else ",".join(v))
def test_beginning_at_a_later_epoch(name, options):
    walks = []
    for library in (tensorgrad, torch):
        optimizer = make_optimizer(library)
        first = home(library, name)(optimizer, **options)
        walk(optimizer, first, 5)
        walks.append(walk(optimizer, home(library, name)(optimizer, **options, last_epoch=5), 40))
    assert walks[0] == walks[1]


@pytest.mark.parametrize("name", [n for n in SCHEDULERS if n != "SWALR"])
@pytest.mark.filterwarnings("ignore:The epoch parameter", "ignore:Detected call")
def test_going_to_an_epoch_by_its_number(name):
    for options in SCHEDULERS[name]:
        found = []
        for library in (tensorgrad, torch):
            optimizer = make_optimizer(library)
            scheduler, rates = home(library, name)(optimizer, **options), []
            for epoch in (0, 4, 17, 2, 50, 3.5) if name == "CosineAnnealingWarmRestarts" else (0, 4, 17, 2, 50):
                scheduler.step(epoch)
                rates.append(scheduler.get_last_lr())
            found.append(rates)
        assert found[0] == found[1]


PLATEAUS = [
    {},
    {"mode": "max", "patience": 2},
    {"patience": 3, "cooldown": 4, "factor": 0.5},
    {"threshold_mode": "abs", "threshold": 0.05, "patience": 1, "min_lr": [0.001, 0.01]},
    {"mode": "max", "threshold_mode": "abs", "patience": 0, "min_lr": 0.001, "eps": 1e-3},
]


@pytest.mark.parametrize("options", PLATEAUS, ids=str)
def test_plateaus(options):
    metrics = np.abs(np.sin(np.arange(STEPS) / 3)) + np.random.default_rng(0).normal(size=STEPS) * 0.1
    walks, states = [], []
    for library in (tensorgrad, torch):
        optimizer = make_optimizer(library)
        scheduler = library.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)
        walks.append(walk(optimizer, scheduler, metrics=metrics))
        states.append(scheduler.state_dict())
    assert walks[0] == walks[1]
    assert states[0] == states[1]


def combined(library):
    """(optimizer, scheduler) for several ways to combine."""
    schedulers = library.optim.lr_scheduler
    for milestones in ([20], [1], [0]):
        optimizer = make_optimizer(library)
        parts = [schedulers.LinearLR(optimizer, total_iters=10), schedulers.ExponentialLR(optimizer, 0.9)]
        yield optimizer, schedulers.SequentialLR(optimizer, parts, milestones)
    optimizer = make_optimizer(library)
    parts = [schedulers.ConstantLR(optimizer, 0.1), schedulers.CosineAnnealingLR(optimizer, 20),
             schedulers.StepLR(optimizer, 5), schedulers.CosineAnnealingWarmRestarts(optimizer, 4, 2)]  # fmt: skip
    yield optimizer, schedulers.SequentialLR(optimizer, parts, [7, 30, 31])
    optimizer = make_optimizer(library)
    parts = [schedulers.ConstantLR(optimizer, 0.1, 8), schedulers.ExponentialLR(optimizer, 0.95),
             schedulers.MultiStepLR(optimizer, [40, 60])]  # fmt: skip
    yield optimizer, schedulers.ChainedScheduler(parts)
    optimizer = make_optimizer(library)
    chain = schedulers.ChainedScheduler(
        [schedulers.StepLR(optimizer, 3, 0.9), schedulers.ExponentialLR(optimizer, 0.99)]
    )
    yield optimizer, schedulers.SequentialLR(optimizer, [chain, schedulers.PolynomialLR(optimizer, 50)], [25])


def test_combinations():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for (mine, my_scheduler), (theirs, their_scheduler) in zip(combined(tensorgrad), combined(torch), strict=True):
            assert walk(mine, my_scheduler) == walk(theirs, their_scheduler)
            assert state_of(my_scheduler.state_dict()) == state_of(their_scheduler.state_dict())


def test_a_combination_goes_on_from_its_state():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pairs = zip(combined(tensorgrad), combined(tensorgrad), strict=True)
        for (optimizer, scheduler), (second, resumed) in pairs:
            walk(optimizer, scheduler, 11)
            second.load_state_dict(optimizer.state_dict())
            resumed.load_state_dict(scheduler.state_dict())
            assert walk(second, resumed, 40) == walk(optimizer, scheduler, 40)


def wrong_calls():
    """Functions of a library that raise or warn."""
    yield lambda t, o: t.optim.lr_scheduler.StepLR("optimizer", 3)
    yield lambda t, o: t.optim.lr_scheduler.ReduceLROnPlateau(3)
    yield lambda t, o: t.optim.lr_scheduler.OneCycleLR(3, 0.1)
    yield lambda t, o: t.optim.lr_scheduler.StepLR(o, 3, last_epoch=4)
    yield lambda t, o: t.optim.lr_scheduler.LambdaLR(o, [lambda e: e])
    yield lambda t, o: t.optim.lr_scheduler.MultiplicativeLR(o, [lambda e: e])
    yield lambda t, o: t.optim.lr_scheduler.MultiplicativeLR(o, [3, 4])
    yield lambda t, o: t.optim.lr_scheduler.ConstantLR(o, 2.0)
    yield lambda t, o: t.optim.lr_scheduler.LinearLR(o, 0.0)
    yield lambda t, o: t.optim.lr_scheduler.LinearLR(o, 0.5, 2.0)
    yield lambda t, o: t.optim.lr_scheduler.SequentialLR(o, [], [])
    yield lambda t, o: t.optim.lr_scheduler.SequentialLR(o, [3], [])
    yield lambda t, o: t.optim.lr_scheduler.SequentialLR(o, [t.optim.lr_scheduler.StepLR(o, 3)], [3])
    yield lambda t, o: t.optim.lr_scheduler.SequentialLR(o, [t.optim.lr_scheduler.ReduceLROnPlateau(o)], [])
    yield lambda t, o: t.optim.lr_scheduler.ChainedScheduler([])
    yield lambda t, o: t.optim.lr_scheduler.ChainedScheduler([t.optim.lr_scheduler.ReduceLROnPlateau(o)])
    yield lambda t, o: t.optim.lr_scheduler.ChainedScheduler(
        [t.optim.lr_scheduler.StepLR(o, 3), t.optim.lr_scheduler.StepLR(make_optimizer(t), 3)]
    )
    yield lambda t, o: t.optim.lr_scheduler.ReduceLROnPlateau(o, factor=1.0)
    yield lambda t, o: t.optim.lr_scheduler.ReduceLROnPlateau(o, "median")
    yield lambda t, o: t.optim.lr_scheduler.ReduceLROnPlateau(o, threshold_mode="both")
    yield lambda t, o: t.optim.lr_scheduler.ReduceLROnPlateau(o, min_lr=[0.1])
    yield lambda t, o: t.optim.lr_scheduler.CyclicLR(o, 0.1, 0.2, mode="square")
    yield lambda t, o: t.optim.lr_scheduler.CyclicLR(o, [0.1], 0.2)
    yield lambda t, o: t.optim.lr_scheduler.CyclicLR(t.optim.Adagrad([t.ones(1)]), 0.1, 0.2)
    yield lambda t, o: t.optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 0)
    yield lambda t, o: t.optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 2, 0)
    yield lambda t, o: t.optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 2, eta_min="low")
    yield lambda t, o: t.optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 2).step(-1)
    yield lambda t, o: t.optim.lr_scheduler.OneCycleLR(o, 0.1)
    yield lambda t, o: t.optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=-1)
    yield lambda t, o: t.optim.lr_scheduler.OneCycleLR(o, 0.1, epochs=0, steps_per_epoch=3)
    yield lambda t, o: t.optim.lr_scheduler.OneCycleLR(o, 0.1, epochs=3, steps_per_epoch=1.5)
    yield lambda t, o: t.optim.lr_scheduler.OneCycleLR(o, 0.1, 10, pct_start=2)
    yield lambda t, o: t.optim.lr_scheduler.OneCycleLR(o, 0.1, 10, anneal_strategy="jump")
    yield lambda t, o: walk(o, t.optim.lr_scheduler.OneCycleLR(o, 0.1, 10), 11)
    yield lambda t, o: t.optim.swa_utils.SWALR(o, [0.1])
    yield lambda t, o: t.optim.swa_utils.SWALR(o, 0.1, anneal_strategy="jump")
    yield lambda t, o: t.optim.swa_utils.SWALR(o, 0.1, anneal_epochs=-1)
    yield lambda t, o: t.optim.swa_utils.get_ema_avg_fn(2)
    yield lambda t, o: t.optim.swa_utils.get_ema_multi_avg_fn(-1)
    yield lambda t, o: t.optim.swa_utils.AveragedModel(t.nn.Linear(1, 1), None, 3, 4)
    yield lambda t, o: t.optim.lr_scheduler.LRScheduler(o)
    yield lambda t, o: t.optim.lr_scheduler.StepLR(o, 3).step()
    yield lambda t, o: t.optim.lr_scheduler.StepLR(o, 3).step(2)
    yield lambda t, o: t.optim.lr_scheduler.StepLR(o, 3).get_lr()
    yield lambda t, o: t.optim.swa_utils.SWALR(o, 0.1).get_lr()
    yield lambda t, o: t.optim.lr_scheduler.ReduceLROnPlateau(o).step(1.0, 3)
    yield replaced_step


def replaced_step(library, optimizer):
    scheduler = library.optim.lr_scheduler.StepLR(optimizer, 3)
    optimizer.step = lambda: None
    scheduler.step()


@pytest.mark.parametrize(
    "call", list(wrong_calls()), ids=lambda f: inspect.getsource(f).strip()[:60].replace("\n", " ")
)
def test_errors_and_warnings_have_pytorchs_words(call):
    said = []
    for library in (tensorgrad, torch):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                call(library, make_optimizer(library))
                error = None
            except Exception as raised:
                error = type(raised), str(raised)
        words = [(w.category, str(w.message)) for w in caught if w.category is UserWarning]
        said.append((error, words))
    assert said[0] == said[1]
    assert said[0] != (None, [])


def averaged(library, steps, **options):
    """The state of an average of a model with a batch norm after some updates."""
    library.manual_seed(0)
    model = library.nn.Sequential(library.nn.Linear(3, 4), library.nn.BatchNorm1d(4), library.nn.Linear(4, 1))
    utils = library.optim.swa_utils
    options = {k: v(utils) if callable(v) else v for k, v in options.items()}
    average, optimizer = utils.AveragedModel(model, **options), library.optim.SGD(model.parameters(), lr=0.1)
    batches = [library.randn(8, 3) for _ in range(steps)]
    for batch in batches:
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
        average.update_parameters(model)
    states = [{k: v.numpy().copy() for k, v in average.state_dict().items()}]
    if not options.get("use_buffers"):
        average.eval()
        utils.update_bn([(batch, None) for batch in batches], average)
        assert not average.training and average.module[1].momentum == 0.1
        states.append({k: v.numpy().copy() for k, v in average.state_dict().items()})
    return states


AVERAGES = [
    {}, {"use_buffers": True}, {"avg_fn": lambda u: u.get_ema_avg_fn(0.9)}, {"avg_fn": lambda u: u.get_swa_avg_fn()},
    {"multi_avg_fn": lambda u: u.get_ema_multi_avg_fn(0.9)}, {"multi_avg_fn": lambda u: u.get_swa_multi_avg_fn()},
    {"multi_avg_fn": lambda u: u.get_ema_multi_avg_fn(0.9), "use_buffers": True},
]  # fmt: skip


@pytest.mark.parametrize("options", AVERAGES, ids=lambda o: ",".join(o) or "plain")
def test_averaged_models(options):
    for mine, theirs in zip(averaged(tensorgrad, 6, **options), averaged(torch, 6, **options), strict=True):
        assert list(mine) == list(theirs)
        for name in theirs:
            assert mine[name].dtype == theirs[name].dtype
            np.testing.assert_allclose(mine[name], theirs[name], rtol=2e-5, atol=2e-6, err_msg=name)


def test_everything_is_there_under_pytorchs_names():
    for room in ("lr_scheduler", "swa_utils"):
        ours, theirs = getattr(tensorgrad.optim, room), getattr(torch.optim, room)
        assert set(ours.__all__) == set(theirs.__all__)
        for name in theirs.__all__:
            mine, other = (inspect.signature(getattr(module, name)) for module in (ours, theirs))
            assert [(p.name, p.default) for p in mine.parameters.values()] == [
                (p.name, p.default) for p in other.parameters.values()
            ], name
    assert issubclass(tensorgrad.optim.lr_scheduler._LRScheduler, tensorgrad.optim.lr_scheduler.LRScheduler)
    assert math.isinf(tensorgrad.optim.lr_scheduler.ReduceLROnPlateau(make_optimizer(tensorgrad)).best)
