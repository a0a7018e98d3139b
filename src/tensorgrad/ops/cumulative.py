"""Running sums, products, extremes and logarithms of sums along a dimension."""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.backends.precision import computes_halves_in_single, is_half
from tensorgrad.dtypes import FLOAT
from tensorgrad.ops import fitting
from tensorgrad.ops.both import number, tensors, xp
from tensorgrad.ops.choices import chosen_moves
from tensorgrad.ops.fitting import check_tensor, dim_of
from tensorgrad.ops.forms import inplace_of
from tensorgrad.ops.outs import store_parts
from tensorgrad.ops.primitive import Primitive
from tensorgrad.ops.results import return_type

PUBLIC = {"": "cumsum cumprod cummax cummin logcumsumexp"}

# Sums and products


def _accumulate(ufunc, x, dim):
    if not x.ndim:
        return x.copy()
    if is_half(x.dtype):
        return ufunc.accumulate(x, dim, dtype=np.float32, out=np.empty(x.shape, np.float32)).astype(x.dtype)
    return ufunc.accumulate(x, dim, dtype=x.dtype, out=np.empty(x.shape, x.dtype))


_cumsum = Primitive(
    "cumsum", lambda x, dim: _accumulate(np.add, x, dim), transpose=lambda g, dim: xp.cumsum_back(g, dim), fresh=True,
    batch="dims",
)  # fmt: skip


@number
def cumsum_back(g, dim):
    return np.flip(_accumulate(np.add, np.flip(g, dim), dim), dim) if g.ndim else g


tensors["cumsum_back"] = lambda g, dim: _cumsum(g.flip(dim), dim).flip(dim) if g.shape else g
_cumprod = Primitive(
    "cumprod", lambda x, dim: _accumulate(np.multiply, x, dim), on_tensors=True, fresh=True, batch="dims",
    rules={"x": lambda g, x, y, dim: _cumprod_back(g, x, y, dim)},
)  # fmt: skip


def _cumprod_back(g, x, y, dim):
    """The sum over all later products of g times the product of all other factors."""
    if not x.shape or not x._spec.size:
        return g
    if fitting.certain((x != 0).all()):
        return tensors["cumsum_back"](g * y.conj(), dim) / x.conj()
    n, x = x.shape[dim], x.conj()
    one = x.narrow(dim, 0, 1) * 0 + 1
    before = _cumprod(_joined([one, x.narrow(dim, 0, n - 1)], dim), dim)
    after = _joined([x.narrow(dim, 1, n - 1), one], dim)
    return before * falling(g, after, dim)


def falling(g, factors, dim):
    """r with r[i] = g[i] + factors[i] * r[i + 1] along a dimension, by doubling the reach of each sum."""
    n, reach = g.shape[dim], 1
    while reach < n:
        rest = n - reach
        grown = g.narrow(dim, 0, rest) + factors.narrow(dim, 0, rest) * g.narrow(dim, reach, rest)
        g = _joined([grown, g.narrow(dim, rest, reach)], dim)
        if reach * 2 < n:
            longer = factors.narrow(dim, 0, rest) * factors.narrow(dim, reach, rest)
            factors = _joined([longer, factors.narrow(dim, rest, reach)], dim)
        reach *= 2
    return g


def _joined(parts, dim):
    from tensorgrad.ops.joining import cat

    return cat(parts, dim)


def _cumulative(primitive, name):
    def function(input, dim, *, dtype=None, out=None):
        check_tensor(name, input)
        if dtype is None and isinstance(out, fitting.Tensor):
            dtype = out._spec.dtype
        if dtype is None and input._spec.dtype.category < FLOAT:
            dtype = dtypes.int64
        if dtype is dtypes.bool_:
            raise NotImplementedError(f"\"{name}_out_cpu\" not implemented for 'Bool'")
        if dtype is not None and dtype is not input._spec.dtype:
            input = input.to(dtype)
        dim = dim_of(dim, len(input._spec.shape))
        if out is not None:
            return fitting.write_out(out, name, (input,), lambda: primitive(input, dim))
        return primitive(input, dim)

    function.__name__ = function.__qualname__ = name
    return fitting.with_axis(function)


cumsum, cumprod = _cumulative(_cumsum, "cumsum"), _cumulative(_cumprod, "cumprod")
cumsum.__doc__ = """The running sum along a dimension.

    >>> torch.cumsum(torch.tensor([1., 2., 3.]), 0)
    tensor([1., 3., 6.])
    """
cumprod.__doc__ = """The running product along a dimension.

    >>> torch.cumprod(torch.tensor([1., 2., 3.]), 0)
    tensor([1., 2., 6.])
    """


def _cumulative_(function, name):
    def write(self, dim, *, dtype=None):
        return _write_plain(self, dim, dtype=self._spec.dtype if dtype is None else dtype)

    _write_plain = inplace_of(function, name)
    write.__name__ = write.__qualname__ = name
    write.__doc__ = f"The in-place form of `{name[:-1]}`."
    return fitting.with_axis(write)


cumsum_, cumprod_ = _cumulative_(cumsum, "cumsum_"), _cumulative_(cumprod, "cumprod_")

# Extremes


def _running_extreme(name, ufunc):
    def kernel(x, dim):
        if not x.ndim:
            return x.copy(), np.zeros((), np.int64)
        values = ufunc.accumulate(x, dim, out=np.empty(x.shape, x.dtype))
        places = np.arange(x.shape[dim]).reshape([-1 if d == dim else 1 for d in range(x.ndim)])
        reached = np.where((x == values) | (x != x), places, 0)  # the latest of equal ones, and of NaN
        return values, np.maximum.accumulate(reached, dim)

    def back(g, x_spec, out, dim):
        return None if g[0] is None else xp.scatter_zeros(g[0], out[1], x_spec, dim)

    primitive = Primitive(
        name, kernel, count=True, uses=(1,), fresh=True, pullback=back, batch="dims",
        pushforward=lambda t, out, dim: chosen_moves(t, out, dim),
    )  # fmt: skip
    result = return_type(name)

    def function(input, dim, *, out=None):
        check_tensor(name, input)
        if input._spec.dtype.is_complex:
            raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{input._spec.dtype.title}'")
        dim = dim_of(dim, len(input._spec.shape))
        if out is None:
            return result(primitive(input, dim))
        parts = result(primitive(input.detach(), dim))
        for target, part in zip(out, parts, strict=False):
            _same_scalar_type(target, part)
        return store_parts(out, name, parts, (input,))

    function.__name__ = function.__qualname__ = name
    return fitting.with_axis(function)


def _same_scalar_type(out, result):
    if isinstance(out, fitting.Tensor) and out._spec.dtype is not result._spec.dtype:
        raise RuntimeError(f"expected scalar_type {result._spec.dtype.title} but found {out._spec.dtype.title}")


cummax, cummin = _running_extreme("cummax", np.maximum), _running_extreme("cummin", np.minimum)
cummax.__doc__ = """The running maximum along a dimension, and where it stood.

    >>> torch.cummax(torch.tensor([1., 3., 2.]), 0).values
    tensor([1., 3., 3.])
    """
cummin.__doc__ = """The running minimum along a dimension, and where it stood.

    >>> torch.cummin(torch.tensor([2., 3., 1.]), 0).indices
    tensor([0, 0, 2])
    """

# Logarithms of sums of exponentials


@computes_halves_in_single
def _logcumsumexp_kernel(x, dim):
    if not x.ndim or not x.size:
        return x.copy()
    if x.dtype.kind != "c":
        return np.logaddexp.accumulate(x, dim, out=np.empty(x.shape, x.dtype))
    y = np.moveaxis(x.copy(), dim, 0)
    for i in range(1, len(y)):  # the phase goes on from that of the larger term
        swap = y[i].real < y[i - 1].real
        large, small = np.where(swap, y[i - 1], y[i]), np.where(swap, y[i], y[i - 1])
        y[i] = np.where(large.real == -np.inf, small, large + np.log1p(np.exp(small - large)))
    return np.moveaxis(y, 0, dim)


def _logcumsumexp_back(g, x, y, dim):
    """exp(x[i]) times the sum over j >= i of g[j] / exp(y[j]), with quotients of neighbours only: nothing overflows."""
    if not x.shape or not x._spec.size:
        return g
    n = x.shape[dim]
    nothing = (y.real if y.is_complex() else y) == -np.inf
    safe = y.masked_fill(nothing, 0)
    steps = (safe.narrow(dim, 0, n - 1) - safe.narrow(dim, 1, n - 1)).exp()
    steps = steps.masked_fill(nothing.narrow(dim, 0, n - 1), 0)
    factors = _joined([steps, steps.new_zeros(()).expand(y.narrow(dim, 0, 1).shape)], dim)
    weights = (x - safe).exp().masked_fill(nothing, 0)
    return weights.conj() * falling(g, factors.conj(), dim)


_logcumsumexp = Primitive(
    "logcumsumexp", lambda x, dim: _logcumsumexp_kernel(x, dim), on_tensors=True, fresh=True, batch="dims",
    rules={"x": lambda g, x, y, dim: _logcumsumexp_back(g, x, y, dim)},
)  # fmt: skip


def logcumsumexp(input, dim, *, out=None):
    """log(cumsum(exp(x))) along a dimension, without overflow.

    >>> torch.logcumsumexp(torch.tensor([1000., 1000.]), 0)
    tensor([1000.0000, 1000.6932])
    """
    check_tensor("logcumsumexp", input)
    dim = dim_of(dim, len(input._spec.shape))
    if input._spec.dtype.category < FLOAT:
        raise NotImplementedError(f"\"logcumsumexp_out_cpu\" not implemented for '{input._spec.dtype.title}'")
    if out is not None:
        _same_scalar_type(out, input)
        return fitting.write_out(out, "logcumsumexp", (input,), lambda: _logcumsumexp(input, dim))
    return _logcumsumexp(input, dim)


logcumsumexp = fitting.with_axis(logcumsumexp)


class Methods:
    """The methods of these operations."""

    cumsum, cumsum_, cumprod, cumprod_ = cumsum, cumsum_, cumprod, cumprod_
    cummax, cummin, logcumsumexp = cummax, cummin, logcumsumexp
