"""Pooling over windows at a fixed stride: the largest, the mean or the p-norm of each. The kernels are in backends/pooling.py.

A maximum keeps the number of the winner in its window, a byte; flat positions are made of it when asked for. Averages are
linear: a primitive and its transpose.
"""

import functools
import math

from tensorgrad import dtypes
from tensorgrad.backends import pooling as kernels
from tensorgrad.backends import pooling_adaptive as flat_kernels
from tensorgrad.ops.both import number, tensors, xp
from tensorgrad.ops.fitting import check_tensor, kind_name
from tensorgrad.ops.forms import takes_out
from tensorgrad.ops.primitive import Primitive
from tensorgrad.ops.spatial import is_int

PUBLIC = {
    "": "max_pool1d=torch_max_pool1d max_pool2d=torch_max_pool2d max_pool3d=torch_max_pool3d max_pool1d_with_indices avg_pool1d",
    "nn.functional": "max_pool1d max_pool2d max_pool3d max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices "
    "avg_pool1d avg_pool2d avg_pool3d lp_pool1d lp_pool2d lp_pool3d",
    "ops.aten": "max_pool2d_with_indices_backward",
}

# The largest


@number
def max_pool_gradient(g, winners, spatial, kernel, stride, padding, dilation):
    return kernels.max_pool_gradient(g, winners, spatial, kernel, stride, padding, dilation)


@number
def max_pool_selected(x, winners, kernel, stride, padding, dilation):
    return kernels.max_pool_selected(x, winners, kernel, stride, padding, dilation)


@number
def place(values, indices, spatial):
    return flat_kernels.place(values, indices, spatial)


@number
def pick(x, indices, dims):
    return flat_kernels.pick(x, indices, dims)


_max_pool_gradient = Primitive(
    "max_pool_gradient", max_pool_gradient, arity=2, fresh=True, multilinear=True, batch="leading",
    rules={"g": lambda h, winners, kernel, stride, padding, dilation: xp.max_pool_selected(
        h, winners, kernel, stride, padding, dilation)},
)  # fmt: skip
_max_pool_selected = Primitive(
    "max_pool_selected", max_pool_selected, arity=2, fresh=True, multilinear=True, batch="leading",
    rules={"x": lambda h, x_spec, winners, kernel, stride, padding, dilation: xp.max_pool_gradient(
        h, winners, tuple(x_spec.shape[-len(kernel):]), kernel, stride, padding, dilation)},
)  # fmt: skip
_max_pool_indices = Primitive(
    "max_pool_indices", lambda winners, spatial, *window: kernels.max_pool_indices(winners, spatial, *window), batch="leading",
    params=("spatial", "kernel", "stride", "padding", "dilation"),
)  # fmt: skip
_max_pool = Primitive(
    "max_pool", kernels.max_pool, inputs=("x",), params=("kernel", "stride", "padding", "dilation", "size"), fresh=True,
    batch="leading", count=2, uses=(1,), node="MaxPool2DWithIndicesBackward0",
    rules={"x": lambda g, x_spec, out, kernel, stride, padding, dilation: xp.max_pool_gradient(
        g[0], out[1], tuple(x_spec.shape[-len(kernel):]), kernel, stride, padding, dilation)},
    pushforward=lambda t, out, kernel, stride, padding, dilation: (
        _max_pool_selected(t, out[1], kernel, stride, padding, dilation), None),
)  # fmt: skip
_max_pools = {
    1: _max_pool.variant("max_pool1d", "SqueezeBackward1"),
    2: _max_pool,
    3: _max_pool.variant("max_pool3d", "MaxPool3DWithIndicesBackward0"),
}
_place = Primitive(
    "place_flat", place, arity=2, fresh=True, multilinear=True, batch="leading", node="MaxPool2DWithIndicesBackwardBackward0",
    rules={"values": lambda h, indices, spatial: xp.pick(h, indices, len(spatial))},
)  # fmt: skip
_pick = Primitive(
    "pick_flat", pick, arity=2, fresh=True, multilinear=True, batch="leading",
    rules={"x": lambda h, x_spec, indices, dims: xp.place(h, indices, tuple(x_spec.shape[-dims:]))},
)  # fmt: skip
_given_gradient = Primitive(  # what was pooled has a gradient too, which is zero
    "max_pool2d_with_indices_backward", lambda values, x, indices: place(values, indices, x.shape[-2:]), arity=3,
    batch="leading", node="MaxPool2DWithIndicesBackwardBackward0",
    rules={"values": lambda h, indices: xp.pick(h, indices, 2), "x": lambda h, x: xp.zeros_like(x)},
    pushforward=lambda t_values, indices, x: None if t_values is None else _place(t_values, indices, tuple(x.shape[-2:])),
)  # fmt: skip
tensors["place"], tensors["pick"] = _place, _pick


# The mean


@number
def average_pool_gradient(g, spatial, kernel, stride, padding, count_padding, divisor):
    return kernels.average_pool_gradient(g, spatial, kernel, stride, padding, count_padding, divisor)


@number
def average_pool(x, kernel, stride, padding, size, count_padding, divisor):
    return kernels.average_pool(x, kernel, stride, padding, size, count_padding, divisor)


_average_pool = Primitive(
    "average_pool", average_pool, fresh=True, batch="leading", node="AvgPool2DBackward0",
    transpose=lambda g, x, kernel, stride, padding, count_padding, divisor: xp.average_pool_gradient(
        g, tuple(x.shape[-len(kernel):]), kernel, stride, padding, count_padding, divisor),
)  # fmt: skip
_average_pools = {
    1: _average_pool.variant("average_pool1d", "SqueezeBackward1"),
    2: _average_pool,
    3: _average_pool.variant("average_pool3d", "AvgPool3DBackward0"),
}
_average_pool_gradient = Primitive(
    "average_pool_gradient", average_pool_gradient, fresh=True, batch="leading", node="AvgPool2DBackwardBackward0",
    transpose=lambda h, g, kernel, stride, padding, count_padding, divisor: xp.average_pool(
        h, kernel, stride, padding, tuple(g.shape[-len(kernel):]), count_padding, divisor),
)  # fmt: skip

# What PyTorch asks of the arguments

WORDS = {1: "one", 2: "two", 3: "three"}


def window_numbers(name, argument, position, value, count):
    """One int or a list of one or `count` of them, as a tuple.

    >>> window_numbers("max_pool2d", "kernel_size", 2, 3, 2)
    (3, 3)
    """
    if type(value) is int:
        return (value,) * count
    if isinstance(value, (tuple, list)) and all(is_int(n) for n in value):
        if len(value) in (1, count):
            return tuple([n.__index__() for n in value]) * (count // len(value))
        if count == 1:
            raise RuntimeError(f"{name}() argument '{argument}' should contain one int (got {len(value)})")
        raise RuntimeError(f"{name}: {argument} must either be a single int, or a tuple of {WORDS[count]} ints")
    if is_int(value):
        return (value.__index__(),) * count
    raise TypeError(
        f"{name}(): argument '{argument}' (position {position}) must be tuple of ints, not {kind_name(value)}"
    )


def _window(name, input, count, kernel_size, stride, padding, dilation, ceil_mode):
    """(kernel, stride, padding, dilation, size of the result), checked."""
    check_tensor(name, input)
    plain = type(kernel_size) is type(padding) is type(dilation) is int and (stride is None or type(stride) is int)
    checked = _known_window if plain else _checked_window  # the checks take as long as a small image
    return checked(name, input._spec.shape, count, kernel_size, stride, padding, dilation, ceil_mode)


def _checked_window(name, shape, count, kernel_size, stride, padding, dilation, ceil_mode):
    kernel = window_numbers(name, "kernel_size", 2, kernel_size, count)
    given = stride is not None and not (isinstance(stride, (tuple, list)) and not stride)
    stride = window_numbers(name, "stride", 3, stride, count) if given else kernel
    padding = window_numbers(name, "padding", 4, padding, count)
    dilation = window_numbers(name, "dilation", 5, dilation, count)
    if len(shape) not in (count + 1, count + 2):
        if count == 1:
            raise RuntimeError(
                f"{name}: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:{list(shape)}"
            )
        raise RuntimeError(f"non-empty {count + 1}D or {count + 2}D (batch mode) tensor expected for input")
    for k, s, p, d in zip(kernel, stride, padding, dilation, strict=True):
        if s == 0:
            raise RuntimeError("stride should not be zero")
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > (d * (k - 1) + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}"
            )
        if k <= 0:
            raise RuntimeError(f"kernel size should be greater than zero, but got {list(kernel)}")
        if s < 0:
            raise RuntimeError(f"stride should be greater than zero, but got {list(stride)}")
        if d <= 0:
            raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")
    if 0 in shape[-count - 1 :]:
        if count == 3:
            dim = next(i for i in range(-4, 0) if shape[i] == 0) + len(shape)
            raise RuntimeError(
                f"Expected input's non-batch dimensions to have positive length, but input has a shape of {list(shape)} and "
                f"non-batch dimension {dim} has length zero!"
            )
        raise RuntimeError(
            f"Expected {count + 1}D or {count + 2}D (batch mode) tensor with optional 0 dim batch size for input, but "
            f"got:{list(shape)}"
        )
    size = kernels.pooled_size(shape[-count:], kernel, stride, padding, dilation, bool(ceil_mode))
    if min(size) < 1:
        sizes = ["x".join(str(n) for n in (shape[-count - 1], *part)) for part in (shape[-count:], size)]
        raise RuntimeError(
            f"Given input size: ({sizes[0]}). Calculated output size: ({sizes[1]}). Output size is too small"
        )
    return kernel, stride, padding, dilation, size


_known_window = functools.lru_cache(512)(_checked_window)


def _check_dtype(name, input, allowed):
    if not allowed(input._spec.dtype):
        raise NotImplementedError(f"\"{name}\" not implemented for '{input._spec.dtype.title}'")


def _largest(name, count, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices):
    window = _window(name, input, count, kernel_size, stride, padding, dilation, ceil_mode)
    if not input._spec.fast:
        _check_dtype(name, input, lambda dtype: dtype is not dtypes.bool_ and not dtype.is_complex)
    largest, winners = _max_pools[count](input, *window)
    if not return_indices:
        return largest
    return largest, _max_pool_indices(winners, tuple(input._spec.shape[-count:]), *window[:-1])


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest number of each window of a signal, with `return_indices` also where it stands.

    >>> torch.nn.functional.max_pool1d(torch.tensor([[1., 5., 2., 4.]]), 2, return_indices=True)
    (tensor([[5., 4.]]), tensor([[1, 3]]))
    """
    if not return_indices:
        check_tensor("max_pool1d", input)
        _check_dtype("max_pool1d_impl", input, lambda dtype: dtype.is_floating_point)
    return _largest("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest number of each window of an image, with `return_indices` also where it stands.

    >>> torch.nn.functional.max_pool2d(torch.arange(16.).reshape(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """
    return _largest("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest number of each window of a volume, with `return_indices` also where it stands.

    >>> torch.nn.functional.max_pool3d(torch.arange(8.).reshape(1, 2, 2, 2), 2).flatten()
    tensor([7.])
    """
    return _largest("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def torch_max_pool1d(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """The largest number of each window of a signal.

    >>> torch.max_pool1d(torch.tensor([[1., 5., 2., 4.]]), 2)
    tensor([[5., 4.]])
    """
    return max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)


def torch_max_pool2d(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """The largest number of each window of an image.

    >>> torch.max_pool2d(torch.arange(4.).reshape(1, 2, 2), 2).flatten()
    tensor([3.])
    """
    return max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)


def torch_max_pool3d(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """The largest number of each window of a volume.

    >>> torch.max_pool3d(torch.arange(8.).reshape(1, 2, 2, 2), 2).flatten()
    tensor([7.])
    """
    return max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool1d_with_indices(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """The largest number of each window of a signal, and where it stands.

    >>> torch.max_pool1d_with_indices(torch.tensor([[1., 5., 2., 4.]]), 2)
    (tensor([[5., 4.]]), tensor([[1, 3]]))
    """
    return max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool2d_with_indices(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """The largest number of each window of an image, and where it stands, counted row by row.

    >>> torch.nn.functional.max_pool2d_with_indices(torch.arange(4.).reshape(1, 2, 2), 2)
    (tensor([[[3.]]]), tensor([[[3]]]))
    """
    return max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool3d_with_indices(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """The largest number of each window of a volume, and where it stands.

    >>> torch.nn.functional.max_pool3d_with_indices(torch.arange(8.).reshape(1, 2, 2, 2), 2)[1].flatten()
    tensor([7])
    """
    return max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool2d_with_indices_backward(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices):
    """The gradient of `max_pool2d` in its input, from the positions of the largest.

    >>> x = torch.arange(4.).reshape(1, 2, 2)
    >>> g, where = torch.ones(1, 1, 1), torch.tensor([[[3]]])
    >>> torch.ops.aten.max_pool2d_with_indices_backward(g, x, 2, 2, 0, 1, False, where)
    tensor([[[0., 0.],
             [0., 1.]]])
    """
    name = "max_pool2d_with_indices_backward"
    size = _window(name, self, 2, kernel_size, stride, padding, dilation, ceil_mode)[-1]
    for value, word in ((grad_output, "grad_output"), (indices, "indices")):
        check_tensor(name, value, word)
        if tuple(value._spec.shape) != (*self._spec.shape[:-2], *size):
            raise RuntimeError(
                f"Expected a tensor of shape {[*self._spec.shape[:-2], *size]}, but got {list(value._spec.shape)} for {word}"
            )
    return _given_gradient(grad_output, self, indices)


max_pool2d_with_indices_backward.default = max_pool2d_with_indices_backward


def _mean(name, count, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override=None):
    kernel, stride, padding, _, size = _window(name, input, count, kernel_size, stride, padding, 1, ceil_mode)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    if not input._spec.fast:
        _check_dtype(name, input, lambda dtype: dtype.is_floating_point or dtype is dtypes.int64)
    return _average_pools[count](input, kernel, stride, padding, size, bool(count_include_pad), divisor_override)


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of each window of a signal.

    >>> torch.avg_pool1d(torch.tensor([[1., 5., 2., 4.]]), 2)
    tensor([[3., 3.]])
    """
    return _mean("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad)


@takes_out
def avg_pool2d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    """The mean of each window of an image.

    >>> torch.nn.functional.avg_pool2d(torch.arange(16.).reshape(1, 4, 4), 2)
    tensor([[[ 2.5000,  4.5000],
             [10.5000, 12.5000]]])
    """
    return _mean("avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@takes_out
def avg_pool3d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    """The mean of each window of a volume.

    >>> torch.nn.functional.avg_pool3d(torch.arange(8.).reshape(1, 2, 2, 2), 2).flatten()
    tensor([3.5000])
    """
    return _mean("avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _norm_pool(pool, count, input, norm_type, kernel_size, stride, ceil_mode):
    from tensorgrad.ops.elementwise import relu

    places = math.prod(window_numbers("lp_pool", "kernel_size", 3, kernel_size, count))
    mean = pool(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return (mean.sign() * relu(mean.abs())).mul(places).pow(1.0 / norm_type)


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm of each window of a signal.

    >>> torch.nn.functional.lp_pool1d(torch.tensor([[3., 4.]]), 2, 2)
    tensor([[5.]])
    """
    return _norm_pool(avg_pool1d, 1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm of each window of an image.

    >>> torch.nn.functional.lp_pool2d(torch.tensor([[[3., 4.], [0., 0.]]]), 2, 2)
    tensor([[[5.]]])
    """
    return _norm_pool(avg_pool2d, 2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm of each window of a volume.

    >>> torch.nn.functional.lp_pool3d(torch.tensor([[[[3., 4.]]]]), 2, (1, 1, 2))
    tensor([[[[5.]]]])
    """
    return _norm_pool(avg_pool3d, 3, input, norm_type, kernel_size, stride, ceil_mode)
