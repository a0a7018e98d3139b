"""Operations that choose one element out of many along a dimension and tell its index: max, sort, topk, median, cummax.

Their outputs are (values, indices). The gradient goes to the chosen element, the tangent is that of the chosen element.
"""

import numpy as np

from tensorgrad.backends import scatter as kernels
from tensorgrad.ops.both import number, tensors, xp
from tensorgrad.ops.dims import kept
from tensorgrad.ops.primitive import Primitive

# gather and its transpose, of which the derivatives of all others are made

_gather = Primitive(
    "gather", lambda x, index, dim: kernels.gather(x, dim, index), arity=2, params=("dim",), fresh=True,
    rules={"x": lambda g, x_spec, index, dim: xp.scatter_zeros(g, index, x_spec, dim)},
    pushforward=lambda t_x, index, dim: None if t_x is None else _gather(t_x, index, dim),
)  # fmt: skip
_scatter_zeros = Primitive(
    "scatter_zeros", lambda g, index, spec, dim: scatter_zeros(g, index, spec, dim), arity=2, params=("spec", "dim"),
    rules={"g": lambda h, index, dim: xp.gather_at(h, index, dim)}, fresh=True,
    pushforward=lambda t_g, index, spec, dim: None if t_g is None else _scatter_zeros(t_g, index, spec, dim),
)  # fmt: skip


@number
def scatter_zeros(g, index, spec, dim):
    """Zeros with `g` added at the index: the transpose of gather."""
    return kernels.scatter_add(np.zeros(spec.shape, g.dtype), dim, index, np.asarray(g), True)


@number
def gather_at(h, index, dim):
    return kernels.gather(np.asarray(h), dim, index)


tensors["gather_at"] = lambda h, index, dim: _gather(h, index, dim)


def chosen_back(g, x_spec, out, dim, keepdim=True):
    """The gradient: zeros with what arrives put at the chosen places, which are different ones."""
    g, where = g[0], out[1]
    if g is None:
        return None
    if not x_spec.shape:
        return g
    if not keepdim:
        shape = kept(x_spec.shape, (dim,))
        g, where = xp.reshape(g, shape), xp.reshape(where, shape)
    return xp.placed(g, where, x_spec, dim)


@number
def placed(g, where, spec, dim):
    whole = np.zeros(spec.shape, g.dtype)
    np.put_along_axis(whole, where, g, dim)
    return whole


tensors["placed"] = lambda g, where, spec, dim: g.new_zeros(spec.shape).scatter(dim, where, g)


def chosen_moves(t, out, dim, keepdim=True):
    """The tangent: that of the chosen elements, and none of the indices."""
    where = out[1]
    if not t.shape:
        return t, None
    return (t.gather(dim, where) if keepdim else t.gather(dim, where.unsqueeze(dim)).squeeze(dim)), None


def _chosen(x, where, dim):
    """The elements at one index of a dimension for each of the others."""
    if dim != x.ndim - 1 or not x.flags.c_contiguous or not x.size:
        return np.take_along_axis(x, where, dim)
    rows = x.reshape(-1, x.shape[-1])
    return rows[np.arange(len(rows)), where.reshape(-1)].reshape(where.shape)


def choosing(name, choose, node=None):
    """The primitive that takes one element along a dim; choose(x, dim) gives its index with the dim kept."""

    def kernel(x, dim, keepdim):
        if not x.ndim:
            return x.copy(), np.zeros((), np.int64)
        where = choose(x, dim)
        values = _chosen(x, where, dim)
        return (values, where) if keepdim else (values.squeeze(dim), where.squeeze(dim))

    return Primitive(
        name, kernel, count=True, uses=(1,), fresh=True, node=node, batch="dims",
        pullback=lambda g, x_spec, out, dim, keepdim: chosen_back(g, x_spec, out, dim, keepdim),
        pushforward=lambda t, out, dim, keepdim: chosen_moves(t, out, dim, keepdim),
    )  # fmt: skip
