"""Convolutions of one to three dimensions and their transposes.

Three primitives, each bilinear: the convolution, its gradient in the input (which is also the transposed convolution) and
its gradient in the weights. The derivative of each is made of the other two, so any order of derivative is there. The array
kernels are in backends/convolution.py. Where padding differs on both sides ('same' of an even kernel) only the size of
the result says so: places outside the input count as zero.
"""

import functools
import math
import warnings

import numpy as np

from tensorgrad import dtypes
from tensorgrad.backends import convolution as kernels
from tensorgrad.ops.both import arrays, number, tensors, xp
from tensorgrad.ops.fitting import wrong_arguments
from tensorgrad.ops.matmul import _C_NAMES
from tensorgrad.ops.primitive import Primitive
from tensorgrad.ops.spatial import apart, merged, numbers_of, side_by_side, split
from tensorgrad.tensor import Tensor

PUBLIC = {
    "": "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution conv_tbc",
    "nn.functional": "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc",
}

# The primitives


def _forward(x, w, b, stride, padding, dilation, groups, size):
    return kernels.convolution(x, w, stride, padding, dilation, groups, b, size)


def _transposed(x, w, b, stride, padding, dilation, groups, size):
    out_shape = (x.shape[0], w.shape[1] * groups, *size)
    return kernels.transposed_convolution(x, w, out_shape, stride, padding, dilation, groups, b)


@number
def convolution_input_gradient(g, w, x_shape, stride, padding, dilation, groups):
    return kernels.convolution_input_gradient(g, w, x_shape, stride, padding, dilation, groups)


@number
def convolution_weight_gradient(g, x, w_shape, stride, padding, dilation, groups):
    return kernels.convolution_weight_gradient(g, x, w_shape, stride, padding, dilation, groups)


@number
def sum_channels(g):
    """The sum over all but the channels: first along the lines, which are contiguous."""
    part = np.add.reduce(g.reshape(*g.shape[:2], math.prod(g.shape[2:])), axis=2)
    return np.add.reduce(part, axis=0)


arrays["convolution"] = _forward
tensors["sum_channels"] = lambda g: g.sum([d for d in range(len(g.shape)) if d != 1])


def _batch_with_weights(apply, values, batched, params, rows, in_gradient):
    """vmap of the convolution or of its input gradient. Where the weights differ, each row is a group of channels."""
    x, w, *bias = values
    flags = batched[:2]
    if bias and batched[2]:  # a bias of each row's own is added afterwards
        b = bias[0]
        if True in flags:
            y = _batch_with_weights(apply, (x, w, None), [*flags, False], params, rows, in_gradient)
        else:
            y = apply((x, w, None), params).unsqueeze(0)
        return y + b.reshape((rows, 1, b._spec.shape[1], *(1,) * (len(y._spec.shape) - 3)))
    params = list(params)
    if in_gradient:
        samples, *rest = params[0]
    if not flags[1]:
        if in_gradient:
            params[0] = (rows * samples, *rest)
        return split(apply((merged(x), w, *bias), tuple(params)), rows)
    group_place = 4 if in_gradient else 3
    x = side_by_side(x) if flags[0] else x.repeat(1, rows, *(1,) * (len(x._spec.shape) - 2))
    params[group_place] *= rows
    if in_gradient:
        params[0] = (samples, rest[0] * rows, *rest[1:])
    bias = [None if b is None else b.repeat(rows) for b in bias]
    return apart(apply((x, merged(w), *bias), tuple(params)), rows)


def _batch_forward(apply, values, batched, params, rows):
    return _batch_with_weights(apply, values, batched, params, rows, False)


def _batch_input_gradient(apply, values, batched, params, rows):
    return _batch_with_weights(apply, values, batched, params, rows, True)


def _batch_weight_gradient(apply, values, batched, params, rows):
    w_shape, *window, groups = params
    g, x = [
        side_by_side(v) if b else v.repeat(1, rows, *(1,) * (len(v._spec.shape) - 2))
        for v, b in zip(values, batched, strict=True)
    ]
    return split(apply((g, x), ((w_shape[0] * rows, *w_shape[1:]), *window, groups * rows)), rows)


def _push(primitive, t_x, t_w, t_b, x, w, params):
    """The tangent: linear in the input and the bias, and in the weights."""
    total = None
    if t_x is not None:
        total = primitive(t_x, w, t_b, *params)
        t_b = None
    if t_w is not None:
        part = primitive(x, t_w, t_b, *params)
        total = part if total is None else total + part
        t_b = None
    if t_b is not None:
        total = t_b.reshape((-1, *(1,) * (len(x.shape) - 2))).expand((x.shape[0], -1, *params[4]))
    return total


_input_gradient = Primitive(
    "convolution_input_gradient", convolution_input_gradient, arity=2, fresh=True, multilinear=True, batch=_batch_input_gradient,
    rules={
        "g": lambda h, g_spec, w, stride, padding, dilation, groups: xp.convolution(
            h, xp.conj(w), None, stride, padding, dilation, groups, tuple(g_spec.shape[2:])
        ),
        "w": lambda h, g, w_spec, stride, padding, dilation, groups: xp.convolution_weight_gradient(
            xp.conj(g), h, w_spec.shape, stride, padding, dilation, groups
        ),
    },
)  # fmt: skip
_weight_gradient = Primitive(
    "convolution_weight_gradient", convolution_weight_gradient, arity=2, fresh=True, multilinear=True, batch=_batch_weight_gradient,
    rules={
        "g": lambda h, g_spec, x, stride, padding, dilation, groups: xp.convolution(
            xp.conj(x), h, None, stride, padding, dilation, groups, tuple(g_spec.shape[2:])
        ),
        "x": lambda h, g, x_spec, stride, padding, dilation, groups: xp.convolution_input_gradient(
            xp.conj(g), h, x_spec.shape, stride, padding, dilation, groups
        ),
    },
)  # fmt: skip
_convolution = Primitive(
    "convolution", _forward, arity=3, fresh=True, batch=_batch_forward,
    rules={
        "x": lambda g, x_spec, w, stride, padding, dilation, groups: xp.convolution_input_gradient(
            g, xp.conj(w), x_spec.shape, stride, padding, dilation, groups
        ),
        "w": lambda g, x, w_spec, stride, padding, dilation, groups: xp.convolution_weight_gradient(
            g, xp.conj(x), w_spec.shape, stride, padding, dilation, groups
        ),
        "b": lambda g: xp.sum_channels(g),
    },
    pushforward=lambda t_x, t_w, t_b, x, w, stride, padding, dilation, groups, size: _push(
        _convolution, t_x, t_w, t_b, x, w, (stride, padding, dilation, groups, size)
    ),
)  # fmt: skip
_convolution_transpose = Primitive(
    "convolution_transpose", _transposed, arity=3, fresh=True, node="ConvolutionBackward0", batch=_batch_forward,
    rules={
        "x": lambda g, x_spec, w, stride, padding, dilation, groups: xp.convolution(
            g, xp.conj(w), None, stride, padding, dilation, groups, tuple(x_spec.shape[2:])
        ),
        "w": lambda g, x, w_spec, stride, padding, dilation, groups: xp.convolution_weight_gradient(
            xp.conj(x), g, w_spec.shape, stride, padding, dilation, groups
        ),
        "b": lambda g: xp.sum_channels(g),
    },
    pushforward=lambda t_x, t_w, t_b, x, w, stride, padding, dilation, groups, size: _push(
        _convolution_transpose, t_x, t_w, t_b, x, w, (stride, padding, dilation, groups, size)
    ),
)  # fmt: skip

# What PyTorch asks of the arguments


def _complaint(what, count):
    return lambda given: (
        f"expected {what} to be a single integer value or a list of {count} values to match the convolution dimensions, but "
        f"got {what}={given}"
    )


def _window(call, count, stride, padding, dilation):
    stride = numbers_of(stride, count, call, _complaint("stride", count))
    dilation = numbers_of(dilation, count, call, _complaint("dilation", count))
    if not isinstance(padding, str):
        padding = numbers_of(padding, count, call, _complaint("padding", count))
    return stride, padding, dilation


def _check_operands(name, x, w, bias):
    """What must be a tensor is one, and all have one dtype."""
    if not isinstance(x, Tensor) or not isinstance(w, Tensor) or not (bias is None or isinstance(bias, Tensor)):
        raise wrong_arguments(name, (x, w, bias))
    dtype = x._spec.dtype
    if dtype is not w._spec.dtype or (bias is not None and bias._spec.dtype is not dtype):
        if bias is not None and bias._spec.dtype is not dtype:
            short = lambda t: _C_NAMES.get(t._spec.dtype.title, t._spec.dtype.title)
            raise RuntimeError(f"Input type ({short(x)}) and bias type ({short(bias)}) should be the same")
        raise RuntimeError(f"expected scalar type {dtype.title} but found {w._spec.dtype.title}")
    if dtype is dtypes.bool_:
        raise NotImplementedError(f"\"slow_conv{len(w._spec.shape) - 2}d_cpu\" not implemented for 'Bool'")


def _check_numbers(x_shape, w_shape, bias_shape, stride, padding, dilation, groups, transposed):
    """The numbers say something that can be computed."""
    if len(x_shape) != len(w_shape):
        raise RuntimeError(
            f"Expected {len(w_shape)}-dimensional input for {len(w_shape)}-dimensional weight {list(w_shape)}, but got "
            f"{len(x_shape)}-dimensional input of size {list(x_shape)} instead"
        )
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(d <= 0 for d in dilation):
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if w_shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
            f"{list(w_shape)} instead"
        )
    if w_shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size "
            f"[{list(w_shape)}] instead"
        )
    channels = w_shape[0] if transposed else w_shape[1] * groups
    if x_shape[1] != channels:
        raise RuntimeError(
            f"Given {'transposed' if transposed else 'groups'}={1 if transposed else groups}, weight of size {list(w_shape)}, "
            f"expected input{list(x_shape)} to have {channels} channels, but got {x_shape[1]} channels instead"
        )
    outputs = w_shape[1] * groups if transposed else w_shape[0]
    if bias_shape is not None and tuple(bias_shape) != (outputs,):
        raise RuntimeError(
            f"Given {'transposed=1, ' if transposed else ''}weight of size {list(w_shape)}, expected bias to be 1-dimensional with "
            f"{outputs} elements, but got bias of size {list(bias_shape)} instead"
        )
    if 0 in w_shape[2:]:
        raise RuntimeError(f"kernel size should be greater than zero, but got a kernel of size {list(w_shape[2:])}")
    if 0 in x_shape[2:] and 0 not in x_shape[:2]:
        raise RuntimeError(
            f"Only zero batch or zero channel inputs are supported, but got input shape: {list(x_shape)}"
        )


def _times(sizes):
    return " x ".join(str(n) for n in sizes)


def _same_padding(kernel, dilation):
    """The padding in front of 'same' windows; behind, the size of the result says it."""
    totals = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    if any(total % 2 for total in totals):
        warnings.warn(
            "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the input be "
            "created", stacklevel=6,
        )  # fmt: skip
    return tuple(total // 2 for total in totals)


@functools.lru_cache(maxsize=1024)
def _geometry(x_shape, w_shape, bias_shape, stride, padding, dilation, groups):
    """The padding and the size of the result, with all numbers checked: that takes as long as a small convolution."""
    kernel, spatial = tuple(w_shape[2:]), tuple(x_shape[2:])
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        if padding == "valid":
            padding = (0,) * len(kernel)
        elif any(s != 1 for s in stride):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        else:
            _check_numbers(x_shape, w_shape, bias_shape, stride, (), dilation, groups, False)
            return _same_padding(kernel, dilation), spatial
    _check_numbers(x_shape, w_shape, bias_shape, stride, padding, dilation, groups, False)
    size = kernels.convolution_size(spatial, kernel, stride, padding, dilation)
    if min(size) <= 0:
        padded = [n + 2 * p for n, p in zip(spatial, padding, strict=True)]
        reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
        raise RuntimeError(
            f"Calculated padded input size per channel: ({_times(padded)}). Kernel size: ({_times(reach)}). Kernel size can't be "
            "greater than actual input size"
        )
    return padding, size


def _convolve(x, w, bias, stride, padding, dilation, groups):
    """The convolution of a batch."""
    bias_shape = None if bias is None else bias._spec.shape
    padding, size = _geometry(x._spec.shape, w._spec.shape, bias_shape, stride, padding, dilation, groups)
    return _convolution.apply((x, w, bias), (stride, padding, dilation, groups, size))


@functools.lru_cache(maxsize=1024)
def _transposed_size(x_shape, w_shape, bias_shape, stride, padding, dilation, groups, output_padding):
    """The size of the result of a transposed convolution, with all numbers checked."""
    _check_numbers(x_shape, w_shape, bias_shape, stride, padding, dilation, groups, True)
    if any(p < 0 for p in output_padding):
        raise RuntimeError("negative output_padding is not supported")
    for p, s, d in zip(output_padding, stride, dilation, strict=True):
        if p >= s and p >= d:
            raise RuntimeError(
                "output padding must be smaller than either stride or dilation, but got output_padding: "
                f"{list(output_padding)} stride: {list(stride)} dilation: {list(dilation)}"
            )
    size = tuple([
        (n - 1) * s - 2 * p + d * (k - 1) + extra + 1
        for n, s, p, d, k, extra in zip(
            x_shape[2:], stride, padding, dilation, w_shape[2:], output_padding, strict=True
        )
    ])  # fmt: skip
    if min(size) <= 0:
        raise RuntimeError(
            f"Given input size per channel: ({_times(x_shape[2:])}). Calculated output size per channel: "
            f"({_times(size)}). Output size is too small"
        )
    return size


def _convolve_transposed(x, w, bias, stride, padding, dilation, groups, output_padding):
    """The transposed convolution of a batch."""
    bias_shape = None if bias is None else bias._spec.shape
    size = _transposed_size(x._spec.shape, w._spec.shape, bias_shape, stride, padding, dilation, groups, output_padding)
    return _convolution_transpose.apply((x, w, bias), (stride, padding, dilation, groups, size))


def _batched(name, x, count):
    """Whether the input has a dimension of samples; PyTorch's error for another number of dimensions."""
    rank = len(x._spec.shape)
    if rank != count + 1 and rank != count + 2:
        raise RuntimeError(
            f"Expected {count + 1}D (unbatched) or {count + 2}D (batched) input to {name}, but got input of size: "
            f"{list(x._spec.shape)}"
        )
    return rank == count + 2


def _groups(groups, call):
    if type(groups) is int:
        return groups
    if hasattr(groups, "__index__") and not isinstance(groups, bool):
        return groups.__index__()
    raise wrong_arguments(*call)


def _conv(name, count, input, weight, bias, stride, padding, dilation, groups):
    _check_operands(name, input, weight, bias)
    call = name, (input, weight, bias, stride, padding, dilation, groups)
    batched = _batched(name, input, count)
    if len(weight._spec.shape) != count + 2:
        stride = numbers_of(stride, count, call, str)
        raise RuntimeError(_complaint("stride", len(weight._spec.shape) - 2)(list(stride)))
    stride, padding, dilation = _window(call, count, stride, padding, dilation)
    groups = _groups(groups, call)
    if batched:
        return _convolve(input, weight, bias, stride, padding, dilation, groups)
    return _convolve(input.unsqueeze(0), weight, bias, stride, padding, dilation, groups).squeeze(0)


def _conv_transpose(name, count, input, weight, bias, stride, padding, output_padding, groups, dilation):
    _check_operands(name, input, weight, bias)
    call = name, (input, weight, bias, stride, padding, output_padding, groups, dilation)
    batched = _batched(name, input, count)
    if isinstance(padding, str):
        raise TypeError(f"{name}(): argument 'padding' must be tuple of ints, not str")
    stride, padding, dilation = _window(call, count, stride, padding, dilation)
    output_padding = numbers_of(output_padding, count, call, _complaint("output_padding", count))
    window = stride, padding, dilation, _groups(groups, call), output_padding
    if batched:
        return _convolve_transposed(input, weight, bias, *window)
    return _convolve_transposed(input.unsqueeze(0), weight, bias, *window).squeeze(0)


# The public functions


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Slide kernels over signals: weight is (out channels, in channels / groups, width).

    >>> torch.conv1d(torch.tensor([[[1., 2., 3., 4.]]]), torch.tensor([[[1., 10.]]]))
    tensor([[[21., 32., 43.]]])
    """
    return _conv("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Slide kernels over images: weight is (out channels, in channels / groups, height, width).

    >>> torch.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 3, 3), padding=1)
    tensor([[[[4., 6., 4.],
              [6., 9., 6.],
              [4., 6., 4.]]]])
    """
    return _conv("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Slide kernels over volumes.

    >>> torch.conv3d(torch.ones(1, 2, 2, 2, 2), torch.ones(1, 2, 2, 2, 2)).flatten()
    tensor([16.])
    """
    return _conv("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """Spread each number over a kernel: what carries gradients back through `conv1d`.

    >>> torch.conv_transpose1d(torch.tensor([[[1., 2.]]]), torch.tensor([[[1., 10.]]]))
    tensor([[[ 1., 12., 20.]]])
    """
    return _conv_transpose(
        "conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """Spread each number over a kernel: weight is (in channels, out channels / groups, height, width).

    >>> torch.conv_transpose2d(torch.ones(1, 1, 1, 2), torch.ones(1, 1, 1, 2), stride=2).flatten()
    tensor([1., 1., 1., 1.])
    """
    return _conv_transpose(
        "conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """Spread each number over a kernel of three dimensions.

    >>> torch.conv_transpose3d(torch.ones(1, 1, 1, 1, 1), torch.ones(1, 1, 1, 1, 2)).flatten()
    tensor([1., 1.])
    """
    return _conv_transpose(
        "conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """Any convolution, forward or transposed, of a batch; the number of dimensions is the weights'.

    >>> torch.convolution(torch.ones(1, 1, 3), torch.ones(1, 1, 2), None, (1,), (0,), (1,), False, (0,), 1)
    tensor([[[2., 2.]]])
    """
    _check_operands("convolution", input, weight, bias)
    call = "convolution", (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    count = len(weight._spec.shape) - 2
    stride, padding, dilation = _window(call, count, stride, padding, dilation)
    groups = _groups(groups, call)
    if not transposed:
        return _convolve(input, weight, bias, stride, padding, dilation, groups)
    output_padding = numbers_of(output_padding, count, call, _complaint("output_padding", count))
    return _convolve_transposed(input, weight, bias, stride, padding, dilation, groups, output_padding)


def conv_tbc(input, weight, bias, pad=0):
    """Convolve (time, batch, in channels) with weights (width, in channels, out channels).

    >>> torch.conv_tbc(torch.ones(3, 1, 2), torch.ones(2, 2, 1), torch.zeros(1)).flatten()
    tensor([4., 4.])
    """
    _check_operands("conv_tbc", input, weight, bias)
    if len(input.shape) != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if len(weight.shape) != 3:
        raise RuntimeError("Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    if len(bias.shape) != 1:
        raise RuntimeError("Bias must be 1-D")
    if input.shape[2] != weight.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if weight.shape[2] != bias.shape[0]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    return conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad).permute(2, 0, 1)
