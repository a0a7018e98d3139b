"""Attention against PyTorch's: every argument, gradients of every order, layouts, errors."""

import functools
import itertools
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import tensorgrad  # noqa: E402
from tensorgrad.backends import attention as kernels  # noqa: E402
from tensorgrad.backends import native  # noqa: E402

SIDES = (tensorgrad, torch)


def drawn(library, *shape, seed=0, grad=True, dtype="float64"):
    array = np.random.default_rng(seed).standard_normal(shape).astype(dtype)
    return library.from_numpy(array).requires_grad_(grad)


def attend(library):
    return library.nn.functional.scaled_dot_product_attention


def same(ours, theirs, tolerance=1e-10):
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert tuple(a.shape) == tuple(b.shape) and str(a.dtype).split(".")[1] == str(b.dtype).split(".")[1]
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=tolerance, atol=tolerance)


def mask_of(library, kind):
    if kind is None:
        return None
    if kind == "bool":
        mask = np.random.default_rng(4).random((6, 5)) < 0.6
        mask[2] = False  # one query sees nothing
        return library.from_numpy(mask)
    if kind == "of each batch":
        return library.from_numpy(np.random.default_rng(4).random((2, 1, 6, 5)) < 0.8)
    if kind == "of keys":
        return drawn(library, 2, 1, 1, 5, seed=8)
    return drawn(library, *((6, 5) if kind == "float" else (2, 4, 6, 5)), seed=8)


@pytest.mark.parametrize("kind", [None, "bool", "of each batch", "of keys", "float", "of each head"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("groups", [4, 2, 1])
@pytest.mark.parametrize("block", [1 << 18, 60, 16], ids=["whole", "by heads", "by queries"])
def test_values_and_gradients(monkeypatch, kind, causal, groups, block):
    if causal and kind is not None:
        pytest.skip("PyTorch takes one of them")
    monkeypatch.setattr("tensorgrad.backends.attention.BLOCK", block)
    found = []
    for library in SIDES:
        q = drawn(library, 2, 4, 6, 3)
        k, v = drawn(library, 2, groups, 5, 3, seed=1), drawn(library, 2, groups, 5, 2, seed=2)
        mask = mask_of(library, kind)
        out = attend(library)(q, k, v, mask, is_causal=causal, scale=0.7, enable_gqa=groups != 4)
        leaves = [t for t in (q, k, v, mask) if t is not None and t.requires_grad]
        g = drawn(library, 2, 4, 6, 2, seed=9, grad=False)
        found.append([out, *library.autograd.grad(out, leaves, g)])
    same(*found)


@pytest.mark.parametrize(
    "shapes",
    [((3, 2), (5, 2)), ((4, 3, 2), (4, 5, 2)), ((2, 3, 3, 2), (1, 1, 5, 2)), ((2, 1, 2, 3, 2), (1, 3, 2, 5, 2))],
)
def test_leading_dimensions_broadcast(shapes):
    found = []
    for library in SIDES:
        q, k, v = (drawn(library, *s, seed=i) for i, s in enumerate((shapes[0], shapes[1], shapes[1])))
        out = attend(library)(q, k, v)
        found.append([out, *library.autograd.grad(out.sin().sum(), [q, k, v])])
    same(*found)


@pytest.mark.parametrize("kind", [None, "bool", "float"])
def test_second_derivatives(kind):
    found = []
    for library in SIDES:
        leaves = [drawn(library, 2, 4, 6, 3), drawn(library, 2, 4, 5, 3, seed=1), drawn(library, 2, 4, 5, 2, seed=2)]
        mask = mask_of(library, kind)
        used = leaves + ([mask] if kind == "float" else [])
        with math_only(library):  # PyTorch's flash kernel has no second derivative
            out = attend(library)(*leaves, mask)
            first = library.autograd.grad(out.sin().sum(), used, create_graph=True)
            found.append(library.autograd.grad(sum(g.cos().sum() for g in first), used))
    same(*found)


def math_only(library):
    attention = torch.nn.attention
    return attention.sdpa_kernel(attention.SDPBackend.MATH) if library is torch else warnings.catch_warnings()


def test_transforms():
    found = []
    for library in SIDES:
        q, k, v = drawn(library, 3, 6, 4), drawn(library, 3, 5, 4, seed=1), drawn(library, 3, 5, 2, seed=2)
        tangents = tuple(drawn(library, *t.shape, seed=5 + i, grad=False) for i, t in enumerate((q, k, v)))
        call = functools.partial(attend(library), is_causal=True)
        with math_only(library):
            moved = library.func.jvp(call, (q, k, v), tangents)
            rows = library.func.vmap(call, in_dims=(0, None, None))(q, k[0], v[0])
            each = library.func.vmap(library.func.grad(lambda *t, c=call: c(*t).sin().sum()))(q, k, v)
        found.append([*moved, rows, each])
    same(*found)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision(dtype):
    found = []
    for library in SIDES:
        q, k, v = (
            drawn(library, 2, 2, 6, 8, seed=i, dtype="float32").detach().to(getattr(library, dtype)) for i in range(3)
        )
        for t in (q, k, v):
            t.requires_grad_()
        out = attend(library)(q, k, v, is_causal=True)
        found.append([t.detach().float() for t in (out, *library.autograd.grad(out.float().sum(), [q, k, v]))])
    same(*found, 2e-2)


@pytest.mark.parametrize("shape", [(2, 3, 5, 4), (3, 5, 4), (5, 4)])
def test_layout(shape):
    for turn in (False, True):
        inputs = [[drawn(t, *shape, seed=i) for i in range(3)] for t in SIDES]
        if turn and len(shape) == 4:
            inputs = [[x.transpose(1, 2) for x in some] for some in inputs]
        ours, theirs = (attend(t)(*some) for t, some in zip(SIDES, inputs, strict=True))
        assert tuple(ours.stride()) == tuple(theirs.stride())


def test_dropout_draws_pytorchs_masks():
    for library in SIDES:
        library.manual_seed(3)
    same(*([attend(t)(*(drawn(t, 2, 3, 6, 4, seed=i) for i in range(3)), dropout_p=0.4)] for t in SIDES))


MISTAKES = [
    lambda f, q, m: f(q, q.double(), q),
    lambda f, q, m: f(q[0, 0, 0], q, q),
    lambda f, q, m: f(q.int(), q.int(), q.int()),
    lambda f, q, m: f(1, q, q),
    lambda f, q, m: f(q, q, q, m.int()),
    lambda f, q, m: f(q, q, q, m.double()),
    lambda f, q, m: f(q, q, q, None, 0.0, False, 0.5),
    lambda f, q, m: f(q, q, q, dropout_p=1.5),
    lambda f, q, m: f(q, q[:, :2], q[:, :2]),
    lambda f, q, m: f(q[0, 0], q[0, 0], q[0, 0], enable_gqa=True),
]


@pytest.mark.parametrize("call", MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes(call):
    told = []
    for library in SIDES:
        with pytest.raises(Exception) as caught:
            call(attend(library), drawn(library, 2, 3, 5, 4, grad=False, dtype="float32"), library.ones(5, 5))
        told.append((caught.type, str(caught.value).partition("\n")[0]))
    assert told[0] == told[1]


@pytest.mark.parametrize(
    "options",
    [dict(zip(("need", "extra", "zero", "apart", "mask", "padding", "batched"), o, strict=True)) for o in
     itertools.product((True, False), repeat=7)],
    ids=lambda o: " ".join(k for k, v in o.items() if v) or "plain",
)  # fmt: skip
def test_several_heads(options):
    found = []
    for library in SIDES:
        width, heads = 4, 2
        q, k, v = (drawn(library, n, 2, width, seed=i) for i, n in enumerate((3, 5, 5)))
        inputs = (q, k, v) if options["batched"] else (q[:, 0], k[:, 0], v[:, 0])
        w, b = drawn(library, 12, 4, seed=4), drawn(library, 12, seed=5)
        extra = [drawn(library, 1, 1, 4, seed=6), drawn(library, 1, 1, 4, seed=7)] if options["extra"] else [None, None]
        kwargs = {"need_weights": options["need"], "training": False}
        if options["apart"]:
            kwargs |= {"use_separate_proj_weight": True} | dict(
                zip(("q_proj_weight", "k_proj_weight", "v_proj_weight"), w.chunk(3), strict=True)
            )
        if options["mask"]:
            kwargs["attn_mask"] = drawn(library, 3, 5, seed=8)
        if options["padding"]:
            padding = library.tensor([[0, 0, 1, 0, 1], [1, 0, 0, 0, 0]], dtype=library.bool)
            kwargs["key_padding_mask"] = padding if options["batched"] else padding[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out, weights = library.nn.functional.multi_head_attention_forward(
                *inputs, width, heads, None if options["apart"] else w, b, *extra, options["zero"], 0.0,
                drawn(library, 4, 4, seed=10), drawn(library, 4, seed=11), **kwargs,
            )  # fmt: skip
        leaves = [q, k, v, w, b, *[t for t in extra if t is not None]]
        found.append([out, weights, *library.autograd.grad(out.sin().sum(), leaves)])
    same(*found)


SIZES = [(2, 3, 5, 7, 4, 6), (1, 2, 64, 64, 32, 32), (2, 1, 37, 70, 33, 40), (1, 1, 1, 1, 1, 1), (1, 2, 130, 500, 16, 16),
         (1, 2, 300, 150, 64, 8)]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_compiled_blocks_give_numpys_numbers(monkeypatch, dtype, causal, turned, sizes):
    """Code made for the processor against the same blocks in NumPy."""
    pytest.importorskip("llvmlite")
    monkeypatch.setattr(kernels, "LEAST", 0)
    batch, heads, queries, keys, width, out_width = sizes
    rng = np.random.default_rng(0)
    shapes = [(queries, width), (keys, width), (keys, out_width), (queries, out_width)]
    if turned:
        q, k, v, g = (rng.standard_normal((batch, n, heads, m)).astype(dtype).swapaxes(1, 2) for n, m in shapes)
    else:
        q, k, v, g = (rng.standard_normal((batch, heads, n, m)).astype(dtype) for n, m in shapes)
    found = []
    for on in (False, True):
        with native.using(on):
            out, sums = kernels.attend(q, k, v, None, causal, 0.3)
            back = kernels.attend_backward(g, q, k, v, None, sums, causal, 0.3, (True, True, True, False))
            found.append([out, *back[:3]])
    for a, b in zip(*found, strict=True):
        assert a.strides == b.strides
        tolerance = (1e-5 if dtype == "float32" else 1e-12) * max(1, np.abs(a).max())
        np.testing.assert_allclose(b, a, rtol=0, atol=tolerance)
