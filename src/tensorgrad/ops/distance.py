"""Distances between all pairs of points: cdist and pdist."""

import math

import numpy as np

from tensorgrad.dtypes import FLOAT
from tensorgrad.ops.both import xp
from tensorgrad.ops.fitting import check_tensor
from tensorgrad.ops.matrices import check_batches, of_matrices
from tensorgrad.ops.primitive import Primitive

PUBLIC = {"": "cdist pdist", "nn.functional": "pdist"}
BLOCK = 1 << 20  # differences held at once
MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


def _cdist_kernel(a, b, p):
    """All distances, a block of rows of `a` at a time."""
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    n, m = a.shape[-2], b.shape[-2]
    out = np.zeros((*lead, n, m), a.dtype)
    step = max(1, BLOCK // max(b.size, 1))
    for start in range(0, n if out.size and a.shape[-1] else 0, step):
        gap = a[..., start : start + step, None, :] - b[..., None, :, :]
        out[..., start : start + step, :] = _size(gap, p)
    return out


def _size(gap, p):
    if p == 2:
        return np.sqrt(np.einsum("...k,...k->...", gap, gap))
    if p == 0:
        return np.add.reduce(gap != 0, -1)
    gap = np.abs(gap)
    if p == 1:
        return np.add.reduce(gap, -1)
    if p == math.inf:
        return np.maximum.reduce(gap, -1)
    return np.add.reduce(gap**p, -1) ** (1 / p)


def _pull(g, gap, out, p):
    """The gradient of every difference."""
    g, out = g[..., None], out[..., None]
    if p == 0:
        return gap * 0
    if p == 1:
        return g * xp.sign(gap)
    size = xp.abs(gap)
    if p == math.inf:
        return g * xp.where(size == out, xp.sign(gap), xp.zeros_like(gap))
    if p == 2:
        scale = g / out
        return gap * xp.where(out == 0, xp.zeros_like(scale), scale)
    if p < 2:
        weight = size ** (p - 1)
        weight = xp.sign(gap) * (xp.where(gap == 0, xp.zeros_like(weight), weight) if p < 1 else weight)
    else:
        weight = gap * size ** (p - 2)
    scale = g / out ** (p - 1)
    return weight * xp.where(out == 0, xp.zeros_like(scale), scale)


def _gaps(a, b):
    return a[..., :, None, :] - b[..., None, :, :]


_cdist = Primitive(
    "cdist", _cdist_kernel, arity=2, fit=True, fresh=True, batch=of_matrices,
    rules={
        "a": lambda g, a, b, out, p: _pull(g, _gaps(a, b), out, p).sum(-2),
        "b": lambda g, a, b, out, p: -_pull(g, _gaps(a, b), out, p).sum(-3),
    },
)  # fmt: skip


def _euclidean_kernel(a, b):
    """The same for p=2 by |a|^2 + |b|^2 - 2 a.b: one large product, less exact for points that are close."""
    squares = [np.einsum("...k,...k->...", x, x) for x in (a, b)]
    total = a @ b.swapaxes(-1, -2)
    total *= -2
    total += squares[0][..., :, None]
    total += squares[1][..., None, :]
    return np.sqrt(np.maximum(total, 0, out=total), total)


def _ratio(g, out):
    scale = g / out
    return xp.where(out == 0, xp.zeros_like(scale), scale)


def _euclidean_back(ratio, a, b):
    return a * ratio.sum(-1)[..., None] - ratio @ b


_euclidean = Primitive(
    "cdist_by_product", _euclidean_kernel, arity=2, fit=True, fresh=True, batch=of_matrices, node="EuclideanDistBackward0",
    rules={
        "a": lambda g, a, b, out: _euclidean_back(_ratio(g, out), a, b),
        "b": lambda g, a, b, out: _euclidean_back(xp.swap_last(_ratio(g, out)), b, a),
    },
)  # fmt: skip


def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The distances, in the p-norm, of every row of x1 to every row of x2.

    >>> torch.cdist(torch.tensor([[0., 0.]]), torch.tensor([[3., 4.], [0., 1.]]))
    tensor([[5., 1.]])
    """
    check_tensor("cdist", x1, "x1")
    check_tensor("cdist", x2, "x2", 2)
    if compute_mode not in MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for word, x in (("X1", x1), ("X2", x2)):
        if x._spec.dtype.category < FLOAT or x._spec.dtype.is_complex:
            raise RuntimeError(f"cdist only supports floating-point dtypes, {word} got: {x._spec.dtype.title}")
    for word, x in (("X1", x1), ("X2", x2)):
        if len(x.shape) < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {word} got: {len(x.shape)}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    check_batches(x1, x2)
    if x1._spec.dtype.itemsize == 2:
        raise NotImplementedError(f"\"cdist\" not implemented for '{x1._spec.dtype.title}'")
    if x1._spec.dtype is not x2._spec.dtype:
        raise RuntimeError(f"expected scalar type {x1._spec.dtype.title} but found {x2._spec.dtype.title}")
    large = x1.shape[-2] > 25 or x2.shape[-2] > 25
    if p == 2 and (compute_mode == MODES[1] or (compute_mode == MODES[0] and large)):
        return _euclidean(x1, x2)
    return _cdist(x1, x2, float(p))


def pdist(input, p=2.0):
    """The distances, in the p-norm, of all pairs of rows, each pair once.

    >>> torch.pdist(torch.tensor([[0.], [1.], [3.]]))
    tensor([1., 3., 2.])
    """
    check_tensor("pdist", input)
    if len(input.shape) != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {len(input.shape)}D")
    if input._spec.dtype.category < FLOAT or input._spec.dtype.is_complex:
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    if input._spec.dtype.itemsize == 2:
        raise NotImplementedError(f"\"pdist\" not implemented for '{input._spec.dtype.title}'")
    n = input.shape[0]
    import tensorgrad

    rows, columns = np.triu_indices(n, 1)
    places = tensorgrad.tensor(rows * n + columns)
    return _cdist(input, input, float(p)).reshape(n * n).index_select(0, places)
