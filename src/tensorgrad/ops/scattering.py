"""Placing elements along a dimension: scatter with every reduction. Whole slices are in slices.py, masks in masking.py."""

import warnings

import numpy as np

from tensorgrad.backends import scatter as kernels
from tensorgrad.ops import fitting
from tensorgrad.ops.both import number, xp
from tensorgrad.ops.both import tensors as on_tensors
from tensorgrad.ops.choices import _gather
from tensorgrad.ops.fitting import check_tensor
from tensorgrad.ops.outs import write_apart
from tensorgrad.ops.primitive import Primitive, wrap
from tensorgrad.ops.selection import checked_dim

PUBLIC = {"": "scatter scatter_add scatter_reduce"}

# The primitives


@number
def gather_fit(g, index, spec, dim):
    """The gradient of a source, of which `index` may use only the first part of each dimension."""
    part = kernels.gather(np.asarray(g), dim, index)
    if part.shape == spec.shape:
        return part
    whole = np.zeros(spec.shape, g.dtype)
    if part.size:
        whole[tuple(map(slice, part.shape or (1,)[: len(spec.shape)]))] = part if spec.shape else part[0]
    return whole


def _gather_fit_on_tensors(g, index, spec, dim):
    part = _gather(g, index, dim)
    if part.shape == spec.shape:
        return part
    if part.numel() == spec.size:
        return part.reshape(spec.shape)
    whole = part.new_zeros(spec.shape)
    if part.numel():
        whole[tuple(slice(n) for n in part.shape or (1,))] = part
    return whole


on_tensors["gather_fit"] = _gather_fit_on_tensors


@number
def zero_at(g, index, dim):
    return kernels.scatter(g, dim, index, np.zeros((), g.dtype))


on_tensors["zero_at"] = lambda g, index, dim: _scatter(g, index, g.new_zeros(()).expand(index.shape), dim)

_scatter = Primitive(
    "scatter", lambda x, index, src, dim, inplace=False: kernels.scatter(x, dim, index, src, inplace), arity=3,
    params=("dim",), mutates=True,
    rules={
        "x": lambda g, index, dim: xp.zero_at(g, index, dim),
        "src": lambda g, index, src_spec, dim: xp.gather_fit(g, index, src_spec, dim),
    },
    pushforward=lambda x, t_x, index, src, t_src, dim: _scatter(*moves(x, t_x, index, src, t_src), dim),
)  # fmt: skip
_scatter_number = _scatter.variant("scatter.number", "ScatterBackward1")

_scatter_add = Primitive(
    "scatter_add", lambda x, index, src, dim, inplace=False: kernels.scatter_add(x, dim, index, src, inplace), arity=3,
    params=("dim",), mutates=True,
    rules={"x": lambda g: g, "src": lambda g, index, src_spec, dim: xp.gather_fit(g, index, src_spec, dim)},
    pushforward=lambda x, t_x, index, src, t_src, dim: _scatter_add(*moves(x, t_x, index, src, t_src), dim),
)  # fmt: skip


def moves(x, t_x, index, src, t_src):
    """The operands of a linear scatter on the tangents; what has none does not move."""
    return x.new_zeros(x.shape) if t_x is None else t_x, index, src.new_zeros(src.shape) if t_src is None else t_src


def _reduce_back(g, x, index, src, out, dim, reduce, include_self, wanted):
    """The gradients of scatter_reduce for x, index and src."""
    if reduce == "sum":
        to_x, to_src = g, lambda: _gather_fit_on_tensors(g, index, src._spec, dim)
    elif reduce == "mean":
        count = (g.new_ones if include_self else g.new_zeros)(x.shape)
        count = _scatter_add(count, index, g.new_ones(()).expand(index.shape), dim).clamp(min=1)
        to_x, to_src = g / count, lambda: _gather_fit_on_tensors(g / count, index, src._spec, dim)
    elif reduce == "prod":
        to_x, to_src = _prod_back(g, x, index, src, out, dim, include_self)
    else:
        part = _part(src, index)
        from_src, from_x = part == _gather(out, index, dim), x == out
        shared = _scatter_add(from_x.to(g.dtype), index, from_src.to(g.dtype), dim)
        share = (g / shared).masked_fill(shared == 0, 0)
        to_x = from_x * share
        to_src = lambda: _padded(from_src * _gather(share, index, dim), src)
    if wanted[0] and not include_self:
        to_x = on_tensors["zero_at"](to_x, index, dim)
    return to_x if wanted[0] else None, None, to_src() if wanted[2] else None


def _prod_back(g, x, index, src, out, dim, include_self):
    """Products of all other factors; a single zero among the factors needs care."""
    safe = x.masked_fill(x == 0, 1)
    params = (dim, "prod", include_self)
    to_x = g * (_scatter_reduce(safe, index, src, *params) / safe).conj()

    def to_src():
        part = _part(src, index)
        zero = part == 0
        zeros = _gather(_scatter_add(x.new_zeros(x.shape), index, zero.to(x.dtype), dim), index, dim)
        single = zero & (zeros == 1)
        others = _gather(_scatter_reduce(x, index, part.masked_fill(single, 1), *params), index, dim)
        usual = _gather(out, index, dim) / part.masked_fill(zero, 1)
        return _padded(_gather(g, index, dim) * xp.where(single, others, usual).conj(), src)

    return to_x, to_src


def _part(src, index):
    """The part of the source that the index reaches."""
    if src.shape == index.shape or not index.shape or not src.shape:
        return src
    return src[tuple(slice(n) for n in index.shape)]


def _padded(part, src):
    """The gradient of the source from that of the part."""
    if part.shape == src.shape:
        return part
    whole = part.new_zeros(src.shape)
    whole[tuple(slice(n) for n in part.shape)] = part
    return whole


_scatter_reduce = Primitive(
    "scatter_reduce", lambda x, index, src, dim, reduce, include_self, inplace=False: kernels.scatter_reduce(
        x, dim, index, src, reduce, include_self, inplace), arity=3,
    params=("dim", "reduce", "include_self"), mutates=True, on_tensors=True,
    pullback=lambda g, x, index, src, out, dim, reduce, include_self, wanted: _reduce_back(
        g, x, index, src, out, dim, reduce, include_self, wanted),
)  # fmt: skip


def applied(primitive, name, inputs, params, inplace, out=None):
    """A placing primitive as a function, in place, or with out=."""
    if inplace:
        return primitive.inplace(inputs, params)
    if out is None:
        return primitive(*inputs, *params)
    return write_apart(out, name, inputs, inputs[0]._spec.dtype, lambda: primitive(*inputs, *params))


def number_tensor(value, dtype):
    """A number as a 0-d tensor of a dtype that can hold it."""
    return wrap(fitting.exact_number(value, dtype))


# scatter


def _operands(input, dim, index, src, name, reported="scatter"):
    """(dim, source) after PyTorch's checks."""
    check_tensor(name, input)
    dim = checked_dim(input, index, dim, reported, "self")
    if not isinstance(src, fitting.Tensor):
        if not fitting.is_number(src):
            raise TypeError(f"{name}() received an invalid combination of arguments")
        src = number_tensor(src, input._spec.dtype).expand(index.shape)
    elif src._spec.dtype is not input._spec.dtype:
        raise RuntimeError(f"{reported}(): Expected self.dtype to be equal to src.dtype")
    if index._spec.size:
        whole, shape, source = (tuple(t._spec.shape) or (1,) for t in (input, index, src))  # a number is one element
        if len(source) != len(shape):
            raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
        for d, n in enumerate(shape):
            if (d != dim and n > whole[d]) or n > source[d]:
                raise RuntimeError(
                    f"Expected index {list(shape)} to be no larger than self {list(input.shape)} apart from dimension "
                    f"{dim} and to be no larger size than src {list(src.shape)}"
                )
    return dim, src


def scatter(input, dim, index, src=None, *, value=None, reduce=None, out=None):
    """A copy with `src` written at the places that `index` names along a dimension.

    >>> torch.scatter(torch.zeros(3), 0, torch.tensor([2, 0]), torch.tensor([1., 5.]))
    tensor([5., 0., 1.])
    """
    return _scattered("scatter", input, dim, index, src if value is None else value, reduce, False, out)


def scatter_(self, dim, index, src=None, *, value=None, reduce=None):
    """The in-place form of `scatter`.

    >>> torch.zeros(3).scatter_(0, torch.tensor([2]), 7.)
    tensor([0., 0., 7.])
    """
    return _scattered("scatter_", self, dim, index, src if value is None else value, reduce, True)


def _scattered(name, input, dim, index, src, reduce, inplace, out=None):
    by_number = not isinstance(src, fitting.Tensor)
    dim, src = _operands(input, dim, index, src, name)
    if reduce is None:
        primitive = _scatter_number if by_number else _scatter
        return applied(primitive, name, (input, index, src), (dim,), inplace, out)
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    if not by_number:
        warnings.warn(
            "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future PyTorch "
            "release. Use torch.scatter_reduce instead for more reduction options.",
            stacklevel=3,
        )
    if reduce == "add":
        return applied(_scatter_add, name, (input, index, src), (dim,), inplace, out)
    return applied(_scatter_reduce, name, (input, index, src), (dim, "prod", True), inplace, out)


def scatter_add(input, dim, index, src, *, out=None):
    """A copy with `src` added at the places that `index` names along a dimension.

    >>> torch.scatter_add(torch.zeros(2), 0, torch.tensor([1, 1]), torch.tensor([1., 5.]))
    tensor([0., 6.])
    """
    check_tensor("scatter_add", src, "src", 4)
    dim, src = _operands(input, dim, index, src, "scatter_add")
    return applied(_scatter_add, "scatter_add", (input, index, src), (dim,), False, out)


def scatter_add_(self, dim, index, src):
    """The in-place form of `scatter_add`.

    >>> torch.zeros(2).scatter_add_(0, torch.tensor([1, 1]), torch.tensor([1., 5.]))
    tensor([0., 6.])
    """
    check_tensor("scatter_add_", src, "src", 4)
    dim, src = _operands(self, dim, index, src, "scatter_add_")
    return applied(_scatter_add, "scatter_add_", (self, index, src), (dim,), True)


def scatter_reduce(input, dim, index, src, reduce, *, include_self=True, out=None):
    """A copy with `src` combined at the places that `index` names: by "sum", "prod", "mean", "amax" or "amin".

    >>> torch.scatter_reduce(torch.ones(2), 0, torch.tensor([1, 1]), torch.tensor([4., 7.]), "amax")
    tensor([1., 7.])
    """
    return _reduced("scatter_reduce", input, dim, index, src, reduce, include_self, False, out)


def scatter_reduce_(self, dim, index, src, reduce, *, include_self=True):
    """The in-place form of `scatter_reduce`.

    >>> torch.ones(2).scatter_reduce_(0, torch.tensor([1, 1]), torch.tensor([4., 7.]), "mean")
    tensor([1., 4.])
    """
    return _reduced("scatter_reduce_", self, dim, index, src, reduce, include_self, True)


def _reduced(name, input, dim, index, src, reduce, include_self, inplace, out=None):
    check_tensor(name, src, "src", 4)
    dim, src = _operands(input, dim, index, src, name)
    if reduce not in kernels.REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    return applied(_scatter_reduce, name, (input, index, src), (dim, reduce, include_self), inplace, out)


class Methods:
    """The methods of these operations."""

    scatter, scatter_, scatter_add, scatter_add_ = scatter, scatter_, scatter_add, scatter_add_
    scatter_reduce, scatter_reduce_ = scatter_reduce, scatter_reduce_
