"""Fused loops of eager operations against the kernels that they stand for, as NumPy runs them."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import tensorgrad as torch
from tensorgrad.backends import native
from tensorgrad.kernels import code, eager

F = torch.nn.functional
ACTIVATIONS = {
    "relu": F.relu, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu, "mish": F.mish,
    "elu": F.elu, "selu": F.selu, "celu": lambda x: F.celu(x, 1.5), "softplus": F.softplus, "logsigmoid": F.logsigmoid,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2), "hardtanh": F.hardtanh, "hardswish": F.hardswish, "relu6": F.relu6,
    "hardsigmoid": F.hardsigmoid, "hardshrink": F.hardshrink, "softshrink": F.softshrink, "sigmoid": torch.sigmoid,
    "tanh": torch.tanh, "exp": torch.exp, "erf": torch.erf, "floor": torch.floor, "sign": torch.sign, "abs": torch.abs,
    "threshold": lambda x: F.threshold(x, 0.5, 7.0),
}  # fmt: skip


def numbers(dtype, count=20_000):
    rng = np.random.default_rng(0)
    special = [0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e-30, 87, -87, 200, -200, 20, 20.5, 3, -3, 6, 0.5, -0.5]
    return np.concatenate([rng.standard_normal(count) * 3, special]).astype(dtype)


def run(function, x):
    x = torch.from_numpy(x.copy()).requires_grad_()
    y = function(x)
    y.backward(torch.linspace(-2, 2, x.numel(), dtype=x.dtype))
    return y.detach().numpy(), x.grad.numpy()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_and_slopes_are_the_same_numbers(name, dtype):
    x = numbers(dtype)
    with np.errstate(all="ignore"):
        with native.using(False):
            slow = run(ACTIVATIONS[name], x)
        with native.using(True):
            fused = run(ACTIVATIONS[name], x)
    near = 1e-5 if dtype == "float32" else 1e-13
    for a, b in zip(fused, slow, strict=True):
        np.testing.assert_allclose(a, b, rtol=near, atol=near)
        # a zero may come out with the other sign where a slope is a product of zeros: only results are held to it
    assert (np.signbit(fused[0]) == np.signbit(slow[0]))[x == x].all()


@pytest.mark.parametrize("shapes", [
    ((100, 50), (50,)), ((100, 50), (100, 1)), ((100, 50), ()), ((8, 30, 40), (30, 1)), ((8, 30, 40), (8, 1, 40)),
    ((1, 50), (100, 1)), ((5000,), (5000,)), ((3, 1, 7, 1, 300), (3, 1, 7, 1, 300)), ((1,), (1,)),
])  # fmt: skip
def test_broadcasting(shapes):
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(shape) for shape in shapes)
    found = eager.pointwise(lambda a, b: a * b + a, (a, b))
    assert found.shape == (a * b).shape
    np.testing.assert_allclose(found, a * b + a, rtol=1e-15, atol=1e-14)


def test_pieces_of_larger_arrays():
    x = np.arange(60000.0).reshape(100, 600)
    for seen in (x[:, 100:300], x[::2], x[10:20, :128]):
        assert (eager.pointwise(lambda a: a + 1, (seen,)) == seen + 1).all()
    assert (eager.pointwise(lambda a, b: a + b, (np.broadcast_to(1.0, (50, 90)), x[:50, :90])) == 1 + x[:50, :90]).all()


def test_what_cannot_be_a_loop_is_left_to_numpy():
    x = np.arange(10000.0).reshape(100, 100)
    assert eager.pointwise(np.add, (x.T, x)) is None  # would be walked across its lines
    assert eager.pointwise(lambda a: a if a[0, 0] > 1 else -a, (x,)) is None
    assert eager.pointwise(np.add, (x.astype(complex), x)) is None
    odd = np.frombuffer(b"\0" * 80001, np.uint8)[1:].view(np.float64)
    assert eager.pointwise(np.add, (odd, odd)) is None
    assert eager.pointwise(np.add, (np.zeros((2, 3)), np.zeros(4))) is None


def test_nothing_and_one_number():
    assert eager.pointwise(np.add, (np.zeros((0, 3)), np.zeros((0, 3)))).shape == (0, 3)
    assert native.fused(lambda x: x + 1)(np.float32(1)) == 2


def test_numbers_that_change_all_the_time_do_not_fill_the_cache():
    kernel = lambda x, by: x + by
    x = np.zeros(10)
    made = [eager.pointwise(kernel, (x,), (float(n),)) for n in range(eager.FORMS + 3)]
    assert [m is None for m in made] == [False] * eager.FORMS + [True] * 3


def test_dtypes_as_numpy_chooses_them():
    x = np.arange(5000)
    for a in (x.astype(np.float32), x.astype(np.int32), x % 2 == 0):
        for function in (lambda a: a > 1, lambda a: a * 2.5, lambda a: ~(a > 0)):
            found, truth = eager.pointwise(function, (a,)), function(a)
            assert found.dtype == truth.dtype and (found == truth).all()


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss"])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_losses(name, reduction):
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal((90, 80)) * 2 for _ in range(2))

    def run():
        x, y = torch.from_numpy(a).requires_grad_(), torch.from_numpy(b).requires_grad_(name != "soft_margin_loss")
        loss = getattr(F, name)(x, y, reduction=reduction) * 1.5
        loss.backward()
        return [t.numpy() for t in (loss.detach(), x.grad, y.grad) if t is not None]

    with native.using(False):
        slow = run()
    with native.using(True):
        fused = run()
    for p, q in zip(fused, slow, strict=True):
        np.testing.assert_allclose(p, q, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "options", [{}, {"ignore_index": 3}, {"reduction": "sum"}, {"reduction": "none"}, {"weight": True}]
)
def test_cross_entropy(options):
    rng = np.random.default_rng(4)
    x, target = rng.standard_normal((300, 20)) * 3, torch.from_numpy(rng.integers(0, 20, 300))
    options = dict(options)
    if "weight" in options:
        options["weight"] = torch.linspace(0.5, 2, 20, dtype=torch.float64)

    def run():
        t = torch.from_numpy(x).requires_grad_()
        loss = F.cross_entropy(t, target, **options)
        (loss * torch.linspace(1, 2, loss.numel(), dtype=torch.float64).reshape(loss.shape)).sum().backward()
        return loss.detach().numpy(), t.grad.numpy()

    with native.using(False):
        slow = run()
    with native.using(True):
        fused = run()
    for p, q in zip(fused, slow, strict=True):
        np.testing.assert_allclose(p, q, rtol=1e-12, atol=1e-14)


def test_several_threads_at_once():
    import threading

    x, w = torch.randn(4, 32, 28, 28), torch.randn(32, 32, 3, 3)
    calls = [
        lambda: F.conv2d(x, w, padding=1),
        lambda: F.layer_norm(x, (28, 28)),
        lambda: F.gelu(x),
        lambda: F.max_pool2d(x, 2),
    ]
    with native.using(True):
        want, wrong = [call().numpy() for call in calls], []

        def work():
            for _ in range(8):
                wrong.extend(n for n, call in enumerate(calls) if not np.array_equal(call().numpy(), want[n]))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_addresses_are_those_that_numpy_states():
    x = np.arange(40.0).reshape(5, 8)
    frozen = x[1:]
    frozen.flags.writeable = False
    for array in (x, x[2:, 3:], x.T, frozen, np.zeros(0), np.array(1.0), x.view(np.recarray)):
        assert code.address(array) == array.__array_interface__["data"][0]
    assert code.address(None) == 0


def test_a_nest_is_found_by_how_arrays_lie():
    """The same shapes with other strides, or another type, are another nest."""
    x, row = np.random.default_rng(0).random((6, 8)), np.arange(8.0)
    with_row = lambda a, b: a * 2 + b
    for a in (x, x[::2], x[:, :4].copy(), np.asfortranarray(x), x.astype(np.float32)):
        b = row[: a.shape[1]].astype(a.dtype)
        found = eager.pointwise(with_row, (a, b))
        assert found is None or (found == a * 2 + b).all()
        assert (found is None) == (a.flags.f_contiguous)
