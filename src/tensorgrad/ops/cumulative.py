"""Running sums, products and extremes, differences and integrals along a dimension."""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.dtypes import FLOAT
from tensorgrad.ops import fitting
from tensorgrad.ops.both import number, tensors, xp
from tensorgrad.ops.fitting import check_tensor, dim_of
from tensorgrad.ops.primitive import Primitive

PUBLIC = {"": "cumsum cumprod"}

_cumsum = Primitive(
    "cumsum", lambda x, dim: np.add.accumulate(x, dim, dtype=x.dtype) if x.ndim else x.copy(),
    transpose=lambda g, dim: xp.cumsum_back(g, dim), fresh=True,
)  # fmt: skip


@number
def cumsum_back(g, dim):
    return np.flip(np.add.accumulate(np.flip(g, dim), dim), dim) if g.ndim else g


tensors["cumsum_back"] = lambda g, dim: _cumsum(g.flip(dim), dim).flip(dim) if g.shape else g
_cumprod = Primitive(
    "cumprod", lambda x, dim: np.multiply.accumulate(x, dim, dtype=x.dtype) if x.ndim else x.copy(), on_tensors=True, fresh=True,
    rules={"x": lambda g, x, y, dim: _cumprod_back(g, x, y, dim)},
)  # fmt: skip


def _cumprod_back(g, x, y, dim):
    if not x.shape:
        return g
    if fitting.certain((x != 0).all()):
        return cumsum_back_tensor(g * y.conj(), dim) / x.conj()
    n, total = x.shape[dim], []
    for i in range(n):  # with zeros: the derivative of every later product with respect to x[i], one by one
        ones = x.narrow(dim, i, 1) * 0 + 1
        head = x.narrow(dim, 0, i).prod(dim, keepdim=True) if i else ones
        tail = _cumprod(wrap_cat_dim([ones, x.narrow(dim, i + 1, n - i - 1)], dim), dim)
        total.append((g.narrow(dim, i, n - i) * (head * tail).conj()).sum(dim, keepdim=True))
    return wrap_cat_dim(total, dim)


def wrap_cat_dim(parts, dim):
    from tensorgrad.ops.shape import cat

    return cat(parts, dim)


def cumsum_back_tensor(g, dim):
    return tensors["cumsum_back"](g, dim)


def _cumulative(primitive, name):
    def function(input, dim, *, dtype=None, out=None):
        check_tensor(name, input)
        if dtype is None and input._spec.dtype.category < FLOAT:
            dtype = dtypes.int64
        if dtype is not None and dtype is not input._spec.dtype:
            input = input.to(dtype)
        dim = dim_of(dim, len(input._spec.shape))
        if out is not None:
            return fitting.write_out(out, name, (input,), lambda: primitive(input, dim))
        return primitive(input, dim)

    function.__name__ = function.__qualname__ = name
    return function


cumsum, cumprod = _cumulative(_cumsum, "cumsum"), _cumulative(_cumprod, "cumprod")
cumsum.__doc__ = """The running sum along a dimension.

    >>> torch.cumsum(torch.tensor([1., 2., 3.]), 0)
    tensor([1., 3., 6.])
    """
cumprod.__doc__ = """The running product along a dimension.

    >>> torch.cumprod(torch.tensor([1., 2., 3.]), 0)
    tensor([1., 2., 6.])
    """
cumsum, cumprod = fitting.with_axis(cumsum), fitting.with_axis(cumprod)


class Methods:
    """The methods of these operations."""

    cumsum, cumprod = cumsum, cumprod
