"""Differences of neighbours, numerical derivatives and integrals along a dimension."""

from tensorgrad import dtypes
from tensorgrad.dtypes import FLOAT
from tensorgrad.ops import fitting
from tensorgrad.ops.fitting import check_tensor, dim_of, dims_of
from tensorgrad.ops.forms import promoted, takes_out
from tensorgrad.ops.joining import cat

PUBLIC = {"": "diff gradient trapezoid trapz cumulative_trapezoid"}


def _less(a, b):
    """a - b, where booleans differ as by exclusive or."""
    return a.logical_xor(b) if a._spec.dtype is dtypes.bool_ else a - b


def _neighbours(x, dim):
    """(all but the first, all but the last) along a dimension."""
    n = max(x.shape[dim] - 1, 0)
    return x.narrow(dim, min(1, x.shape[dim]), n), x.narrow(dim, 0, n)


@takes_out
def diff(input, n=1, dim=-1, prepend=None, append=None):
    """The n-th difference of neighbours along a dimension.

    >>> torch.diff(torch.tensor([1, 4, 9]))
    tensor([3, 5])
    """
    check_tensor("diff", input)
    if not input.shape:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    dim = dim_of(dim, len(input.shape))
    for extra in (prepend, append):
        if extra is not None:
            _check_extra(input, extra, dim)
    if n == 0:
        return input.clone()
    parts = [part for part in (prepend, input, append) if part is not None]
    if len(parts) > 1:
        input = cat(list(promoted(*parts)), dim)
    for _ in range(min(n, input.shape[dim])):
        input = _less(*_neighbours(input, dim))
    return input


def _check_extra(input, extra, dim):
    """What diff asks of `prepend` and `append`."""
    check_tensor("diff", extra, "prepend")
    if len(extra.shape) != len(input.shape):
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    for d, (n, m) in enumerate(zip(input.shape, extra.shape, strict=True)):
        if d != dim and n != m:
            raise RuntimeError(
                "diff expects the shape of tensor to prepend or append to match that of input except along the "
                f"differencing dimension; input.size({d}) = {n}, but got tensor.size({d}) = {m}"
            )


# Derivatives from samples


def gradient(input, *, spacing=None, dim=None, edge_order=1):
    """Estimates of the derivative along dimensions from samples: central differences of second order inside.

    >>> torch.gradient(torch.tensor([1., 4., 9., 16.]))
    (tensor([3., 4., 6., 7.]),)
    """
    check_tensor("gradient", input)
    if input._spec.dtype is dtypes.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    ndim = len(input.shape)
    if isinstance(spacing, fitting.Tensor):
        if spacing.shape:
            raise fitting.wrong_arguments("gradient", (input, spacing))
        spacing = spacing.item()
    if dim is None:
        dims = tuple(range(ndim))
    elif isinstance(dim, (tuple, list)) and not dim:
        dims = ()
    else:
        dims = dims_of(dim, ndim, "gradient")
    several = isinstance(spacing, (tuple, list))
    if several and len(spacing) != len(dims):
        reason = (
            f"'self.dim() = {ndim}', since dim argument was not given" if dim is None
            else f"of the dim argument, {len(dims)}"
        )  # fmt: skip
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to "
            f"{reason}, but got a list of length {len(spacing)}"
        )
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    if any(input.shape[d] < edge_order + 1 for d in dims if ndim):
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    steps = spacing if several else [1 if spacing is None else spacing] * len(dims)
    return tuple(_derivative(input, d, step, edge_order) for d, step in zip(dims, steps, strict=True))


def _derivative(x, dim, step, edge_order):
    """The estimate along one dimension; `step`: a number, or the coordinates of the samples."""
    n = x.shape[dim]
    part = lambda start, length=1: x.narrow(dim, start, length)
    if isinstance(step, fitting.Tensor) and step.shape:
        if tuple(step.shape) != (n,):
            raise RuntimeError(
                "torch.gradient expected each element of `spacing` to have the same length as the corresponding "
                f"dimension of input, but got {list(step.shape)} and {n}"
            )
        gaps = step.narrow(0, 1, n - 1) - step.narrow(0, 0, n - 1)
        shape = [-1 if d == dim else 1 for d in range(len(x.shape))]
        left, right = gaps.narrow(0, 0, n - 2).reshape(shape), gaps.narrow(0, 1, n - 2).reshape(shape)
        a, b, c = -right / (left * (left + right)), (right - left) / (left * right), left / (right * (left + right))
        inside = a * part(0, n - 2) + b * part(1, n - 2) + c * part(2, n - 2)
        first, second = gaps.narrow(0, 0, 1), gaps.narrow(0, 1, 1) if n > 2 else None
        last, before = gaps.narrow(0, n - 2, 1), gaps.narrow(0, n - 3, 1) if n > 2 else None
    else:
        inside = (part(2, n - 2) - part(0, n - 2)) / (2 * step)
        first = second = last = before = step
    if edge_order == 1:
        head = (part(1) - part(0)) / first
        tail = (part(n - 1) - part(n - 2)) / last
    else:
        head = _edge(part(0), part(1), part(2), first, second)
        tail = -_edge(part(n - 1), part(n - 2), part(n - 3), last, before)
    return cat([head, inside, tail], dim)


def _edge(x0, x1, x2, h1, h2):
    """The derivative at the first of three samples."""
    a, b, c = -(2 * h1 + h2) / (h1 * (h1 + h2)), (h1 + h2) / (h1 * h2), -h1 / (h2 * (h1 + h2))
    return a * x0 + b * x1 + c * x2


# Integrals from samples


def _panels(name, y, x, dx, dim):
    """(sums of neighbours, widths of the panels: a number or a tensor, dim)."""
    check_tensor(name, y, "y")
    if y._spec.dtype is dtypes.bool_:
        raise RuntimeError(f"{name}: received a bool input for `y`, but bool is not supported")
    if isinstance(dx, complex):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")
    if not y.shape:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = dim_of(dim, len(y.shape))
    if x is not None:
        check_tensor(name, x, "x", 2)
        if x._spec.dtype is dtypes.bool_:
            raise RuntimeError(f"{name}: received a bool input for `x`, but bool is not supported")
        if not x.shape:
            dx = 0.0
        else:
            along = dim_of(dim - len(y.shape), len(x.shape)) if len(x.shape) > 1 else 0
            if x.shape[along] != y.shape[dim]:
                raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
            dx = _less(*_neighbours(x, along))
            if len(x.shape) == 1:
                dx = dx.reshape([-1 if d == dim else 1 for d in range(len(y.shape))])
    after, before = _neighbours(y, dim)
    return after + before, dx, dim


def trapezoid(y, x=None, *, dx=1, dim=-1):
    """The integral along a dimension of samples, by the trapezoidal rule.

    >>> torch.trapezoid(torch.tensor([1., 5., 10.]))
    tensor(10.5000)
    """
    if isinstance(y, fitting.Tensor) and y.shape and not y.shape[dim_of(dim, len(y.shape))]:
        return _nothing(y, dim)
    sums, widths, dim = _panels("trapezoid", y, x, dx, dim)
    if isinstance(widths, fitting.Tensor):
        return (sums * widths).sum(dim) / 2
    return (y.sum(dim) - (y.select(dim, 0) + y.select(dim, -1)) * 0.5) * widths


def _nothing(y, dim):
    """The integral over no samples: zeros."""
    total = y.sum(dim_of(dim, len(y.shape)))
    return total if total._spec.dtype.category >= FLOAT else total.to(dtypes.get_default_dtype())


def trapz(y, x=None, *, dx=1, dim=-1):
    """The same as `trapezoid`.

    >>> torch.trapz(torch.tensor([1., 5., 10.]), dx=2)
    tensor(21.)
    """
    return trapezoid(y, x, dx=dx, dim=dim)


def cumulative_trapezoid(y, x=None, *, dx=1, dim=-1):
    """The running integral along a dimension of samples, by the trapezoidal rule.

    >>> torch.cumulative_trapezoid(torch.tensor([1., 5., 10.]))
    tensor([ 3.0000, 10.5000])
    """
    sums, widths, dim = _panels("cumulative_trapezoid", y, x, dx, dim)
    if isinstance(widths, fitting.Tensor):
        return (sums * widths).cumsum(dim) / 2
    return sums.cumsum(dim) * (widths / 2)


class Methods:
    """The methods of these operations."""

    diff = diff
