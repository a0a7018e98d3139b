"""Optimizers beside PyTorch's: signatures, printing, groups, hooks, and states that go from one library to the other."""

import importlib
import inspect
import pickle
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
common = pytest.importorskip("torch.testing._internal.common_optimizers")

import tensorgrad  # noqa: E402

NAMES = sorted({info.optim_cls.__name__ for info in common.optim_db} - {"SparseAdam"})
OPTIONS = {"SGD": {"momentum": 0.9}, "Adam": {"amsgrad": True}, "RMSprop": {"momentum": 0.5, "centered": True},
           "LBFGS": {"history_size": 4, "max_iter": 3}}  # fmt: skip
SHAPES = [(4, 3), (3, 3)]


def build(library, name, starts=None, **more):
    rng = np.random.default_rng(0)
    starts = [rng.normal(size=shape) for shape in SHAPES] if starts is None else starts
    params = [library.from_numpy(np.array(s)).requires_grad_() for s in starts]
    return params, getattr(library.optim, name)(params, **{**OPTIONS.get(name, {}), **more})


def run(library, params, optimizer, steps):
    def closure():
        optimizer.zero_grad()
        loss = sum(((p * p).sum() * (n + 1) + (p**4).sum() * 0.1) for n, p in enumerate(params))
        loss.backward()
        return loss

    for _ in range(steps):
        optimizer.step(closure)
    return [p.detach().numpy().copy() for p in params]


def carried(value, library):
    """A state with its tensors in another library."""
    if isinstance(value, (tensorgrad.Tensor, torch.Tensor)):
        return library.from_numpy(np.array(value.detach().numpy()))
    if isinstance(value, dict):
        return {k: carried(v, library) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(carried(v, library) for v in value)
    return value


@pytest.mark.parametrize("name", NAMES)
def test_signatures_defaults_and_printing(name):
    (_, mine), (_, theirs) = build(tensorgrad, name), build(torch, name)
    ours, other = (inspect.signature(getattr(library.optim, name)) for library in (tensorgrad, torch))
    assert list(ours.parameters) == list(other.parameters)
    assert mine.defaults == theirs.defaults
    assert repr(mine) == repr(theirs)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("first, second", [(tensorgrad, torch), (torch, tensorgrad)], ids=["to torch", "from torch"])
def test_a_state_goes_on_in_the_other_library(name, first, second):
    tolerance = 2e-2 if name == "Muon" else 1e-6
    params, optimizer = build(first, name)
    begun = run(first, params, optimizer, 5)
    taken, other = build(second, name, begun)
    other.load_state_dict(carried(optimizer.state_dict(), second))
    for mine, theirs in zip(run(second, taken, other, 5), run(first, params, optimizer, 5)):
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_a_pickled_optimizer_goes_on(name):
    params, optimizer = build(tensorgrad, name)
    run(tensorgrad, params, optimizer, 3)
    twin = pickle.loads(pickle.dumps(optimizer))
    copies = [p for group in twin.param_groups for p in group["params"]]
    for mine, other in zip(run(tensorgrad, params, optimizer, 3), run(tensorgrad, copies, twin, 3)):
        np.testing.assert_array_equal(mine, other)


def hooked(library):
    """What hooks of all kinds are called with, in order."""
    params, optimizer = build(library, "SGD")
    module = importlib.import_module(f"{library.__name__}.optim.optimizer")
    seen = []
    kind = lambda value: "optimizer" if value is optimizer else type(value).__name__
    note = lambda word: lambda *args: seen.append((word, *map(kind, args)))
    handles = [
        module.register_optimizer_step_pre_hook(note("global before")),
        module.register_optimizer_step_post_hook(note("global after")),
        optimizer.register_step_pre_hook(note("before")),
        optimizer.register_step_post_hook(note("after")),
        optimizer.register_state_dict_pre_hook(note("state before")),
        optimizer.register_state_dict_post_hook(note("state after")),
        optimizer.register_state_dict_post_hook(note("state after, first"), prepend=True),
        optimizer.register_load_state_dict_pre_hook(note("load before")),
        optimizer.register_load_state_dict_post_hook(note("load after")),
    ]
    run(library, params, optimizer, 1)
    state = optimizer.state_dict()
    optimizer.load_state_dict(state)
    changing = optimizer.register_state_dict_post_hook(lambda optimizer, state: {**state, "more": 1})
    seen.append(sorted(optimizer.state_dict()))
    changing.remove()
    load = optimizer.register_load_state_dict_pre_hook(
        lambda optimizer, state: {**state, "param_groups": [{**g, "lr": 0.25} for g in state["param_groups"]]}
    )
    optimizer.load_state_dict(state)
    seen.append(optimizer.param_groups[0]["lr"])
    load.remove()
    for handle in handles:
        handle.remove()
    optimizer.step()
    changed = optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: ((optimizer, lambda: 7.0), {}))
    seen.append(optimizer.step())
    changed.remove()
    wrong = optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: 3)
    with pytest.raises(RuntimeError, match=r"must return None or a tuple of \(new_args, new_kwargs\)"):
        optimizer.step()
    wrong.remove()
    return seen


def test_hooks_are_called_when_and_as_pytorchs_are():
    assert hooked(tensorgrad) == hooked(torch)


def groups_of(library):
    """Groups with options and names of their own, and what an optimizer says of them."""
    a, b, c = (library.ones(n, requires_grad=True) for n in (1, 2, 3))
    optimizer = library.optim.AdamW([{"params": [a], "lr": 0.5}, {"params": [("b", b)]}][:1], lr=0.1)
    optimizer.add_param_group({"params": b, "weight_decay": 0.0, "betas": (0.5, 0.6)})
    optimizer.add_param_group({"params": [c], "amsgrad": True, "own": "kept"})
    for p in (a, b, c):
        p.grad = library.ones_like(p)
    optimizer.step()
    named = library.optim.SGD([("first", a), ("second", b)], lr=0.1)
    named.add_param_group({"params": [("third", c)], "lr": 0.2})
    state = named.state_dict()
    other = library.optim.SGD([("x", a), ("y", b)], lr=0.3)
    other.add_param_group({"params": [("z", c)]})
    other.load_state_dict(state)
    shown = [[{k: v for k, v in g.items() if k != "params"} for g in o.param_groups] for o in (optimizer, named, other)]
    return shown, [p.tolist() for p in (a, b, c)], state["param_groups"]


def test_groups_and_names():
    mine, theirs = groups_of(tensorgrad), groups_of(torch)
    assert mine[0] == theirs[0] and mine[2] == theirs[2]
    for a, b in zip(mine[1], theirs[1]):
        assert a == pytest.approx(b, rel=1e-6)


WRONG = [
    lambda t, p: t.optim.SGD([]),
    lambda t, p: t.optim.SGD(p),
    lambda t, p: t.optim.SGD([3]),
    lambda t, p: t.optim.SGD([p, p]),
    lambda t, p: t.optim.SGD([{"params": [p]}, {"params": [p]}]),
    lambda t, p: t.optim.SGD([{"params": {p}}]),
    lambda t, p: t.optim.SGD([p * 2]),
    lambda t, p: t.optim.SGD([p], lr=-1),
    lambda t, p: t.optim.SGD([p], nesterov=True),
    lambda t, p: t.optim.SGD([p]).add_param_group([p]),
    lambda t, p: t.optim.SGD([p]).add_param_group({"params": [p]}),
    lambda t, p: t.optim.SGD([("a", p)]).add_param_group({"params": [t.ones(1)]}),
    lambda t, p: t.optim.SGD([p]).load_state_dict({"state": {}, "param_groups": []}),
    lambda t, p: t.optim.SGD([p]).load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]}),
    lambda t, p: t.optim.Optimizer([p], {"lr": importlib.import_module(f"{t.__name__}.optim.optimizer").required}),
    lambda t, p: t.optim.Adam([p], betas=(1.0, 0.5)),
    lambda t, p: t.optim.Adam([p], eps=-1),
    lambda t, p: t.optim.Adam([p], lr=t.tensor(0.1), foreach=True),
    lambda t, p: t.optim.Adam([p], fused=True, differentiable=True),
    lambda t, p: t.optim.Adam([p], fused=True, foreach=True),
    lambda t, p: t.optim.Adam([p], lr=t.tensor([0.1, 0.2])),
    lambda t, p: t.optim.LBFGS([{"params": [p]}, {"params": [t.ones(1)]}]),
    lambda t, p: t.optim.Muon([p]),
    lambda t, p: t.optim.Adafactor([p], d=0.5),
    lambda t, p: t.optim.Rprop([p], etas=(2.0, 0.5)),
    lambda t, p: t.optim.Adagrad([p], lr_decay=-1),
    lambda t, p: t.optim.Adadelta([p], rho=2),
    lambda t, p: t.optim.RMSprop([p], alpha=-1),
    lambda t, p: t.optim.NAdam([p], momentum_decay=-1),
    lambda t, p: t.optim.RAdam([p], weight_decay=-1),
]


@pytest.mark.parametrize("call", WRONG, ids=range(len(WRONG)))
def test_errors_and_warnings_have_pytorchs_words(call):
    said = []
    for library in (torch, tensorgrad):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                call(library, library.ones(2, requires_grad=True))
                error = None
            except Exception as raised:
                error = type(raised).__name__, str(raised).replace("tensorgrad.", "torch.").partition("\n")[0]
        said.append((error, [str(w.message) for w in caught if w.category in (UserWarning, FutureWarning)]))
    assert said[0] == said[1] and said[0] != (None, [])
