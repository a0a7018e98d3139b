"""Every optimizer, with every option that PyTorch tests, takes PyTorch's steps: fifty of them, to float32 rounding."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
common = pytest.importorskip("torch.testing._internal.common_optimizers")

import tensorgrad  # noqa: E402
from tensorgrad.optim import buckets, fused  # noqa: E402

ABSENT = {"SparseAdam"}
LOOSE = {"Muon": 1e-4}  # its matrix products are rounded to bfloat16, so they differ with the order of the sums
SAME_IN_HALF = {"SGD", "Adam", "AdamW", "Adagrad", "Adamax", "ASGD", "RMSprop", "Rprop"}
SHAPES = [(5, 3), (3,), (), (2, 3, 4), (6, 2)]


def samples(dtype):
    """(name, options) of all optimizers; those named by `foreach` and `fused` as well."""
    for info in common.optim_db:
        if info.optim_cls.__name__ in ABSENT or (dtype.is_complex and not info.supports_complex):
            continue
        for sample in info.optim_inputs_func(device="cpu", dtype=dtype):
            yield info.optim_cls.__name__, {**sample.kwargs}
        for flag in {*info.supported_impls} - {"differentiable"}:
            yield info.optim_cls.__name__, {flag: True}


def translated(value):
    if isinstance(value, torch.Tensor):
        return tensorgrad.from_numpy(value.detach().numpy().copy())
    return type(value)(map(translated, value)) if isinstance(value, (tuple, list)) else value


def walk(library, name, options, starts, steps, two_groups=False):
    """The parameters after some steps down a crooked function, and the optimizer."""
    params = [library.from_numpy(s.copy()).requires_grad_() for s in starts]
    groups = [{"params": params[:2], "lr": 0.003}, {"params": params[2:]}] if two_groups else params
    optimizer = getattr(library.optim, name)(groups, **options)
    sign = -1 if options.get("maximize") else 1

    def closure():
        optimizer.zero_grad()
        loss = 0
        for i, p in enumerate(params):
            q = p.real * p.real + 2 * p.imag * p.imag if p.is_complex() else p * p
            loss = loss + sign * ((q - (i + 1) * 0.3) * q * 0.5 + 0.1 * q.exp()).sum() * (0.5 + 0.1 * i)
        loss.backward()
        return loss

    for step in range(steps):
        if name == "LBFGS":
            optimizer.step(closure)
        else:
            closure()
            if step % 7 == 3:
                params[-1].grad = None  # a parameter may be without a gradient now and then
            optimizer.step()
    return params, optimizer


def starts_for(name, dtype):
    rng = np.random.default_rng(3)
    shapes = [(5, 3), (3, 4), (6, 6)] if name == "Muon" else SHAPES
    kind = np.dtype(str(dtype).removeprefix("torch."))
    made = [rng.normal(size=shape) * 0.7 for shape in shapes]
    if dtype.is_complex:
        made = [m + 1j * rng.normal(size=m.shape) * 0.7 for m in made]
    return [np.asarray(m, kind) for m in made]


def compare(name, options, dtype, two_groups=False):
    # After 30 steps of up to 20 evaluations each a start 1e-15 away leads PyTorch's own LBFGS 1e-4 away.
    starts, steps = starts_for(name, dtype), 30 if name == "LBFGS" else 50
    theirs, their_optimizer = walk(torch, name, options, starts, steps, two_groups)
    mine, my_optimizer = walk(
        tensorgrad, name, {k: translated(v) for k, v in options.items()}, starts, steps, two_groups
    )
    tolerance = LOOSE.get(name, 2e-5 if dtype in (torch.float32, torch.complex64) else 1e-8)
    for p, q in zip(mine, theirs):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=tolerance, atol=tolerance)
        if not options.keys() & {"foreach", "fused"}:  # those write without counting
            assert p._version == q._version
    ours, expected = my_optimizer.state_dict(), their_optimizer.state_dict()
    assert ours["state"].keys() == expected["state"].keys()
    for key, state in expected["state"].items():
        assert set(ours["state"][key]) == set(state)
        for word, value in state.items():
            if isinstance(value, torch.Tensor):
                got = ours["state"][key][word]
                if word == "t":  # how far LBFGS went: a number here
                    got = tensorgrad.tensor(got, dtype=getattr(tensorgrad, str(value.dtype)[6:]))
                assert str(got.dtype).partition(".")[2] == str(value.dtype).partition(".")[2], word
                assert tuple(got.shape) == tuple(value.shape), word
                np.testing.assert_allclose(got.numpy(), value.numpy(), rtol=tolerance * 20, atol=tolerance * 20)
    for group, other in zip(ours["param_groups"], expected["param_groups"]):
        assert set(group) == set(other)


def ids(sample):
    return sample if isinstance(sample, str) else ",".join(f"{k}={v}" for k, v in sample.items()) or "default"


@pytest.mark.parametrize("name, options", list(samples(torch.float32)), ids=ids)
def test_steps_equal_pytorchs(name, options):
    # These two multiply rounding errors: that they take the same steps shows in double precision.
    compare(name, options, torch.float64 if name in ("LBFGS", "Adafactor") else torch.float32)


@pytest.mark.parametrize("name, options", [s for s in samples(torch.float32) if s[0] in ("Adafactor", "Muon")], ids=ids)
def test_steps_along_the_same_gradients(name, options):
    """Where an optimizer magnifies the rounding of gradients, both are given the same ones."""
    starts = starts_for(name, torch.float32)
    theirs = [torch.from_numpy(s.copy()).requires_grad_() for s in starts]
    mine = [tensorgrad.from_numpy(s.copy()).requires_grad_() for s in starts]
    their_optimizer = getattr(torch.optim, name)(theirs, **options)
    my_optimizer = getattr(tensorgrad.optim, name)(mine, **{k: translated(v) for k, v in options.items()})
    for _ in range(50):
        for p, q in zip(mine, theirs):
            q.grad = 2 * q.detach() ** 3 - q.detach()
            p.grad = tensorgrad.from_numpy(q.grad.numpy().copy())
        their_optimizer.step()
        my_optimizer.step()
    for p, q in zip(mine, theirs):
        tolerance = LOOSE.get(name, 5e-6)
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name, options", [s for s in samples(torch.float32) if s[0] in SAME_IN_HALF], ids=ids)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_steps_in_half_precision(name, options, dtype):
    """Every operation of an update is rounded as PyTorch's is, so that nearly all numbers come out the same."""
    if options.keys() & {"foreach", "fused"}:
        pytest.skip("which PyTorch rounds in other places")
    rng = np.random.default_rng(0)
    start, *gradients = (rng.normal(size=(64, 32)).astype("f4") for _ in range(21))
    found = []
    for library in (tensorgrad, torch):
        kind = getattr(library, dtype)
        p = library.from_numpy(start.copy()).to(kind).requires_grad_()
        chosen = {k: translated(v) for k, v in options.items()} if library is tensorgrad else options
        optimizer = getattr(library.optim, name)([p], **chosen)
        for g in gradients:
            p.grad = library.from_numpy(g).to(kind)
            optimizer.step()
        found.append(p.detach().float().numpy())
    same = (found[0] == found[1]) | (np.isnan(found[0]) & np.isnan(found[1]))
    assert same.mean() > 0.99 if name == "Rprop" else same.mean() > 0.995


@pytest.fixture(name="fuse")
def fuse_everything(monkeypatch):
    """However small, parameters are updated by compiled loops."""
    if not tensorgrad.kernels.available():
        pytest.skip("needs llvmlite")
    monkeypatch.setattr(fused, "FUSE_FROM", 0)
    monkeypatch.setattr(fused, "AFTER", 0)


@pytest.mark.parametrize("name, options", list(samples(torch.float32)), ids=ids)
def test_compiled_updates_give_the_same_bits(name, options, fuse, monkeypatch):
    if name in ("LBFGS", "Muon", "Adafactor"):
        pytest.skip("whose updates are not element by element")
    for dtype in (torch.float32, torch.float64):
        starts = starts_for(name, dtype)
        options = {k: translated(v) for k, v in options.items()}
        monkeypatch.setattr(fused, "FUSE_FROM", 0)
        compiled, optimizer = walk(tensorgrad, name, options, starts, 20)
        for plan in optimizer._plans.values():
            assert plan.buckets and all(type(bucket) is fused.Rows for bucket, _ in plan.buckets)
        monkeypatch.setattr(fused, "FUSE_FROM", 1 << 60)
        plain, other = walk(tensorgrad, name, options, starts, 20)
        for p, q in zip(compiled, plain):
            np.testing.assert_array_equal(p.detach().numpy(), q.detach().numpy())
            assert p._version == q._version
        for key, state in other.state_dict()["state"].items():
            for word, value in state.items():
                np.testing.assert_array_equal(optimizer.state_dict()["state"][key][word].numpy(), value.numpy())
    assert None not in fused.loops.values(), "a rule could not be recorded"


@pytest.mark.parametrize("name", ["SGD", "Adam", "Rprop"])
def test_compiled_updates_of_complex_parameters_equal_pytorchs(name, fuse):
    compare(name, {}, torch.complex128)


def test_compiled_updates_take_any_gradient_and_are_shared_among_threads(fuse, monkeypatch):
    rng = np.random.default_rng(0)
    sizes = [(1200, 900), (3,), (7, 5), (300, 400), ()]
    starts = [np.asarray(rng.normal(size=size), "f4") for size in sizes]
    gradients = [np.asarray(rng.normal(size=size[::-1]), "f4").T for size in sizes]
    found = []
    for library in (tensorgrad, torch):
        params = [library.from_numpy(s.copy()).requires_grad_() for s in starts]
        optimizer = library.optim.Adam(params, lr=0.01)
        for _ in range(5):
            for p, g in zip(params, gradients):
                p.grad = library.from_numpy(g)
            optimizer.step()
        found.append([p.detach().numpy() for p in params])
    for mine, theirs in zip(*found):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


def test_compiled_updates_begin_when_they_pay(fuse, monkeypatch):
    monkeypatch.setattr(fused, "AFTER", 1000)
    monkeypatch.setitem(tensorgrad.kernels.machine._state, "engine", None)
    p = tensorgrad.ones(300, requires_grad=True)
    p.grad = tensorgrad.ones(300)
    optimizer, kinds = tensorgrad.optim.Adam([p]), []
    for _ in range(6):
        optimizer.step()
        kinds.append([type(bucket) for bucket, _ in optimizer._plans[0].buckets])
    assert kinds == [[buckets.Bucket]] * 3 + [[fused.Rows]] * 3
    assert p[0].item() == pytest.approx(1 - 0.006, rel=1e-5)


def test_a_rule_that_cannot_be_recorded_is_applied_to_arrays(fuse):
    class Odd(tensorgrad.optim.SGD):
        def update(self, do, p, g, buffers, options):
            p -= 0.5 * g

    p = tensorgrad.ones(3, requires_grad=True)
    p.grad = tensorgrad.ones(3)
    Odd([p]).step()
    assert p.tolist() == [0.5, 0.5, 0.5]


@pytest.mark.parametrize("name, options", list(samples(torch.complex128)), ids=ids)
def test_steps_of_complex_parameters_equal_pytorchs(name, options):
    if "fused" in options or name == "LBFGS":
        pytest.skip("PyTorch takes no complex parameters here")
    compare(name, options, torch.complex128)


@pytest.mark.parametrize("name", sorted({name for name, _ in samples(torch.float32)} - {"LBFGS", "Muon"}))
def test_double_precision_and_two_groups(name):
    compare(name, {}, torch.float64, two_groups=True)


def walk_differentiably(library, name, options):
    """Derivatives of the result of three steps by where they began, by the gradients they took, and by the rate."""
    rng = np.random.default_rng(5)
    start, *gradients = [library.from_numpy(rng.normal(size=(4,))).requires_grad_() for _ in range(4)]
    lr = library.tensor(0.05, dtype=library.float64, requires_grad=True)
    p = start.clone()
    optimizer = getattr(library.optim, name)([p], **{"lr": lr if name in ("SGD", "Adam") else 0.05, **options})
    for gradient in gradients:
        p.grad = gradient
        optimizer.step()
    (p * p).sum().backward()
    found = [p, start.grad, *(g.grad for g in gradients), lr.grad]
    return [None if x is None else x.detach().numpy() for x in found]


def differentiable_samples():
    for info in common.optim_db:
        if "differentiable" in info.supported_impls:
            for sample in info.optim_inputs_func(device="cpu", dtype=torch.float64):
                options = {k: v for k, v in sample.kwargs.items() if not isinstance(v, torch.Tensor) and k != "lr"}
                yield info.optim_cls.__name__, {**options, "differentiable": True}


@pytest.mark.parametrize("name, options", list(differentiable_samples()), ids=ids)
def test_derivatives_through_the_steps_equal_pytorchs(name, options):
    try:
        expected = walk_differentiably(torch, name, options)
    except RuntimeError:
        pytest.skip("PyTorch changes what it saved here")
    for mine, theirs in zip(walk_differentiably(tensorgrad, name, options), expected):
        assert (mine is None) == (theirs is None)
        if theirs is not None:
            np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-6)


def errors():
    for info in common.optim_db:
        if info.optim_cls.__name__ not in ABSENT:
            for sample in info.optim_error_inputs_func(device="cpu", dtype=torch.float32):
                yield info.optim_cls.__name__, sample


@pytest.mark.parametrize(
    "name, sample", list(errors()), ids=lambda v: v if isinstance(v, str) else v.optimizer_error_input.desc
)
def test_errors_have_pytorchs_words(name, sample):
    def there(value):
        if isinstance(value, torch.Tensor):
            return tensorgrad.from_numpy(value.detach().numpy()).requires_grad_(value.requires_grad)
        if isinstance(value, dict):
            return {k: there(v) for k, v in value.items()}
        return type(value)(map(there, value)) if isinstance(value, (list, tuple)) else value

    case = sample.optimizer_error_input
    params = there(case.params)
    if case.params is None:
        params = [tensorgrad.ones(2, 2, requires_grad=True)]
    elif isinstance(params, list) and len(params) == 2 and case.params[0] is case.params[1]:
        params[1] = params[0]
    elif (
        isinstance(params, list)
        and isinstance(params[0], dict)
        and case.params[0]["params"] is case.params[1].get("params")
    ):
        params[1]["params"] = params[0]["params"]
    kind = tensorgrad.optim.__dict__.get(name) or getattr(tensorgrad.optim, name)
    if sample.error_on is common.OptimizerErrorEnum.STEP_ERROR:
        optimizer = kind(params, **there(case.kwargs))
        for p in params:
            p.grad = tensorgrad.ones_like(p)
        with pytest.raises(sample.error_type, match=sample.error_regex):
            optimizer.step()
        return
    if issubclass(sample.error_type, Warning):
        with pytest.warns(sample.error_type, match=sample.error_regex):
            kind(params, **there(case.kwargs))
    else:
        with pytest.raises(sample.error_type, match=sample.error_regex):
            kind(params, **there(case.kwargs))
