"""Pooling to a given size (adaptive, fractional) and its reverse by positions. The kernels are in backends/pooling_adaptive.py."""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.backends import pooling_adaptive as kernels
from tensorgrad.ops.both import number, xp
from tensorgrad.ops.fitting import check_tensor
from tensorgrad.ops.pooling import _check_dtype, _pick, window_numbers
from tensorgrad.ops.primitive import Primitive

PUBLIC = {
    "": "adaptive_avg_pool1d adaptive_max_pool1d=adaptive_max_pool1d_with_indices",
    "nn.functional": "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d "
    "adaptive_max_pool3d adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices adaptive_max_pool3d_with_indices "
    "fractional_max_pool2d fractional_max_pool3d fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices "
    "max_unpool1d max_unpool2d max_unpool3d",
}

# The mean


@number
def adaptive_average_pool(x, size):
    return kernels.adaptive_average_pool(x, size)


@number
def adaptive_average_pool_gradient(g, spatial):
    return kernels.adaptive_average_pool_gradient(g, spatial)


_average = Primitive(
    "adaptive_average_pool", adaptive_average_pool, fresh=True, batch="leading", node="AdaptiveAvgPool2DBackward0",
    transpose=lambda g, x, size: xp.adaptive_average_pool_gradient(g, tuple(x.shape[-len(size):])),
)  # fmt: skip
_averages = {
    1: _average.variant("adaptive_average_pool1d", "SqueezeBackward1"),
    2: _average,
    3: _average.variant("adaptive_average_pool3d", "AdaptiveAvgPool3DBackward0"),
}
_average_gradient = Primitive(
    "adaptive_average_pool_gradient", adaptive_average_pool_gradient, fresh=True, batch="leading",
    node="AdaptiveAvgPool2DBackwardBackward0",
    transpose=lambda h, g, spatial: xp.adaptive_average_pool(h, tuple(g.shape[-len(spatial):])),
)  # fmt: skip

# The largest, with flat positions


def _picking(name, kernel, nodes, arity, batch="leading"):
    """A maximum that returns flat positions: its derivative only moves numbers. One variant for each number of dims."""
    first = Primitive(
        name, kernel, arity=arity, fresh=True, batch=batch, count=2, uses=(1,), node=nodes[2],
        rules={"x": lambda g, x_spec, out, size: xp.place(g[0], out[1], tuple(x_spec.shape[-len(size):]))},
        pushforward=lambda t_x, out, size: (_pick(t_x, out[1], len(size)), None),
    )  # fmt: skip
    return {count: first if count == 2 else first.variant(f"{name}{count}d", node) for count, node in nodes.items()}


_largest = _picking(
    "adaptive_max_pool", lambda x, size: kernels.adaptive_max_pool(x, size),
    {1: "SqueezeBackward1", 2: "AdaptiveMaxPool2DBackward0", 3: "AdaptiveMaxPool3DBackward0"}, 1,
)  # fmt: skip
_fractional = _picking(
    "fractional_max_pool", lambda x, samples, kernel, size: kernels.fractional_max_pool(x, kernel, size, samples),
    {2: "FractionalMaxPool2DBackward0", 3: "FractionalMaxPool3DBackward0"}, 2,
)  # fmt: skip
_unpool = Primitive(
    "max_unpool", lambda values, indices, spatial: kernels.max_unpool(values, indices, spatial), arity=2, fresh=True,
    multilinear=True, batch="leading", node="MaxUnpool2DBackward0",
    rules={"values": lambda g, indices, spatial: xp.pick(g, indices, len(spatial))},
)  # fmt: skip
_unpools = {
    1: _unpool.variant("max_unpool1d", "SqueezeBackward1"),
    2: _unpool,
    3: _unpool.variant("max_unpool3d", "MaxUnpool3DBackward0"),
}


def _output_size(name, input, count, output_size):
    """The sizes asked for, None meaning the input's; checked with the input."""
    check_tensor(name, input)
    shape = input._spec.shape
    given = list(output_size) if isinstance(output_size, (tuple, list)) else output_size
    if count > 1 and (isinstance(given, list)) and len(shape) <= len(given):
        raise ValueError(f"Input dimension should be at least {len(given) + 1}, but got {len(shape)}")
    if isinstance(given, list):
        if len(given) != count:
            if count == 1:
                raise RuntimeError(f"{name}() argument 'output_size' should contain one int (got {len(given)})")
            inside = "internal error: output_size.size() must be" if "max" in name else "output_size must be"
            raise RuntimeError(f"{name}: {inside} {count}")
        given = [shape[i - count] if n is None else n for i, n in enumerate(given)]
    elif given is None and count > 1:
        given = list(shape[-count:])
    size = window_numbers(name, "output_size", 2, given, count)
    if len(shape) not in (count + 1, count + 2):
        if count == 1:
            raise RuntimeError(
                f"Expected 2 to 3 dimensions, but got {len(shape)}-dimensional tensor for argument #1 'self' (while checking "
                f"arguments for {name})"
            )
        colon = ":" if "max" in name else ""
        raise RuntimeError(f"{name}(): Expected {count + 1}D or {count + 2}D tensor, but got{colon} {list(shape)}")
    if min(size) < 0:
        if "max" in name:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {min(size)}: {[*shape[:-count], *size]}"
            )
        numbers = ", ".join(str(n) for n in size)
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received {{{numbers}}}"
        )
    for dim in range(len(shape) - count - ("max" in name), len(shape)):
        if dim > 0 and shape[dim] == 0:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes {list(shape)} "
                f"with dimension {dim} being empty"
            )
    _check_dtype(name.removesuffix("1d") + "2d" * (count == 1), input, lambda dtype: dtype.is_floating_point)
    return size


def adaptive_avg_pool1d(input, output_size):
    """The means of as many windows as asked for, as even as possible.

    >>> torch.adaptive_avg_pool1d(torch.tensor([[1., 2., 3., 4.]]), 2)
    tensor([[1.5000, 3.5000]])
    """
    return _averages[1](input, _output_size("adaptive_avg_pool1d", input, 1, output_size))


def adaptive_avg_pool2d(input, output_size):
    """The means of as many windows in each direction as asked for.

    >>> torch.nn.functional.adaptive_avg_pool2d(torch.arange(16.).reshape(1, 4, 4), 1)
    tensor([[[7.5000]]])
    """
    return _averages[2](input, _output_size("adaptive_avg_pool2d", input, 2, output_size))


def adaptive_avg_pool3d(input, output_size):
    """The means of as many windows in each direction as asked for.

    >>> torch.nn.functional.adaptive_avg_pool3d(torch.arange(8.).reshape(1, 2, 2, 2), 1).flatten()
    tensor([3.5000])
    """
    return _averages[3](input, _output_size("adaptive_avg_pool3d", input, 3, output_size))


def _adaptive_max(name, count, input, output_size, return_indices):
    largest, indices = _largest[count](input, _output_size(name, input, count, output_size))
    return (largest, indices) if return_indices else largest


def adaptive_max_pool1d(input, output_size, return_indices=False):
    """The largest numbers of as many windows as asked for.

    >>> torch.nn.functional.adaptive_max_pool1d(torch.tensor([[1., 4., 3., 2.]]), 2)
    tensor([[4., 3.]])
    """
    return _adaptive_max("adaptive_max_pool1d", 1, input, output_size, return_indices)


def adaptive_max_pool2d(input, output_size, return_indices=False):
    """The largest numbers of as many windows in each direction as asked for.

    >>> torch.nn.functional.adaptive_max_pool2d(torch.arange(16.).reshape(1, 4, 4), (1, 2))
    tensor([[[13., 15.]]])
    """
    return _adaptive_max("adaptive_max_pool2d", 2, input, output_size, return_indices)


def adaptive_max_pool3d(input, output_size, return_indices=False):
    """The largest numbers of as many windows in each direction as asked for.

    >>> torch.nn.functional.adaptive_max_pool3d(torch.arange(8.).reshape(1, 2, 2, 2), 1).flatten()
    tensor([7.])
    """
    return _adaptive_max("adaptive_max_pool3d", 3, input, output_size, return_indices)


def adaptive_max_pool1d_with_indices(input, output_size, return_indices=False):
    """The largest numbers of as many windows as asked for, and where they stand.

    >>> torch.adaptive_max_pool1d(torch.tensor([[1., 4., 3., 2.]]), 2)
    (tensor([[4., 3.]]), tensor([[1, 2]]))
    """
    return _adaptive_max("adaptive_max_pool1d", 1, input, output_size, True)


def adaptive_max_pool2d_with_indices(input, output_size, return_indices=False):
    """The largest numbers of as many windows as asked for, and where they stand.

    >>> torch.nn.functional.adaptive_max_pool2d_with_indices(torch.arange(4.).reshape(1, 2, 2), 1)
    (tensor([[[3.]]]), tensor([[[3]]]))
    """
    return _adaptive_max("adaptive_max_pool2d", 2, input, output_size, True)


def adaptive_max_pool3d_with_indices(input, output_size, return_indices=False):
    """The largest numbers of as many windows as asked for, and where they stand.

    >>> torch.nn.functional.adaptive_max_pool3d_with_indices(torch.arange(8.).reshape(1, 2, 2, 2), 1)[1].flatten()
    tensor([7])
    """
    return _adaptive_max("adaptive_max_pool3d", 3, input, output_size, True)


# Windows at random places


def _fractional_max(name, count, input, kernel_size, output_size, output_ratio, samples):
    check_tensor(name, input)
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    shape = input._spec.shape
    if len(shape) not in (count + 1, count + 2):
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-len(shape)}, {len(shape) - 1}], but got {-count - 1})"
        )
    if output_size is None:
        ratios = output_ratio if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * count
        if len(ratios) > count:
            raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
        output_size = [int(n * ratio) for n, ratio in zip(shape[-count:], ratios, strict=True)]
    kernel = window_numbers(name, "kernel_size", 2, kernel_size, count)
    size = window_numbers(name, "output_size", 3, output_size, count)
    for word, k, n, out in zip(("height", "width") if count == 2 else ("time", "height", "width"), kernel, shape[-count:], size,
                               strict=True):  # fmt: skip
        if out <= 0 or k <= 0:
            raise RuntimeError(f"{name}(): kernel_size and output_size must be greater than zero")
        if out + k - 1 > n:
            raise RuntimeError(f"{name}(): pool {word} {k} too large relative to input {word} {n}")
    lead = tuple(shape[-count - 2 : -count]) if len(shape) == count + 2 else (1, shape[0])
    if samples is None:
        samples = input.new_empty((*lead, count)).uniform_()
    check_tensor(name, samples, "_random_samples")
    _check_samples(input, samples, lead, count)
    samples = samples[: lead[0]]
    if len(shape) == count + 1:
        samples = samples.squeeze(0)
    _check_dtype(name, input, lambda dtype: dtype.is_floating_point)
    return _fractional[count](input, samples, kernel, size)


def _check_samples(input, samples, lead, count):
    """The random numbers fit the input."""
    if samples._spec.dtype is not input._spec.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    have = samples._spec.shape
    if len(have) != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {len(have)}")
    if have[0] < lead[0]:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if have[1] != lead[1]:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if have[2] != count:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {count}; got {have[2]}.")


def fractional_max_pool2d(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    """The largest numbers of windows at random places that make up a given size.

    >>> torch.nn.functional.fractional_max_pool2d(torch.arange(16.).reshape(1, 4, 4), 2, output_size=1).shape
    tensorgrad.Size([1, 1, 1])
    """
    found = _fractional_max("fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio, _random_samples)
    return found if return_indices else found[0]


def fractional_max_pool3d(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    """The largest numbers of windows at random places that make up a given size.

    >>> torch.nn.functional.fractional_max_pool3d(torch.arange(8.).reshape(1, 2, 2, 2), 2, output_size=1).flatten()
    tensor([7.])
    """
    found = _fractional_max("fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio, _random_samples)
    return found if return_indices else found[0]


def fractional_max_pool2d_with_indices(input, kernel_size, output_size=None, output_ratio=None, return_indices=False,
                                       _random_samples=None):  # fmt: skip
    """The same with the positions of the largest.

    >>> torch.nn.functional.fractional_max_pool2d_with_indices(torch.arange(4.).reshape(1, 2, 2), 2, output_size=1)[1]
    tensor([[[3]]])
    """
    return fractional_max_pool2d(input, kernel_size, output_size, output_ratio, True, _random_samples)


def fractional_max_pool3d_with_indices(input, kernel_size, output_size=None, output_ratio=None, return_indices=False,
                                       _random_samples=None):  # fmt: skip
    """The same with the positions of the largest.

    >>> x = torch.arange(8.).reshape(1, 2, 2, 2)
    >>> torch.nn.functional.fractional_max_pool3d_with_indices(x, 2, output_size=1)[1].flatten()
    tensor([7])
    """
    return fractional_max_pool3d(input, kernel_size, output_size, output_ratio, True, _random_samples)


# The reverse


def _unpooled_size(input, kernel, stride, padding, output_size):
    """The sizes that were pooled: the smallest possible, or those given where they could be."""
    count = len(kernel)
    spatial = input._spec.shape[-count:]
    smallest = [(n - 1) * s + k - 2 * p for n, k, s, p in zip(spatial, kernel, stride, padding, strict=True)]
    if output_size is None:
        return tuple(smallest)
    output_size = tuple(output_size)
    if len(output_size) == count + 2:
        output_size = output_size[2:]
    if len(output_size) != count:
        raise ValueError(
            f"output_size should be a sequence containing {count} or {count + 2} elements, but it has a length of "
            f"'{len(output_size)}'"
        )
    for dim, (n, least, s) in enumerate(zip(output_size, smallest, stride, strict=True)):
        if not least - s < n < least + s:
            raise ValueError(
                f'invalid output_size "{output_size}" (dim {dim} must be between {least - s} and {least + s})'
            )
    return output_size


def _unpooled(count, input, indices, kernel_size, stride, padding, output_size):
    name = f"max_unpool{count}d"
    check_tensor(name, input)
    check_tensor(name, indices, "indices", 2)
    kernel = window_numbers(name, "kernel_size", 3, kernel_size, count)
    stride = kernel if stride is None else window_numbers(name, "stride", 4, stride, count)
    padding = window_numbers(name, "padding", 5, padding, count)
    shape = input._spec.shape
    full = f"max_unpooling{max(count, 2)}d"
    if indices._spec.dtype is not dtypes.int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices._spec.dtype.title}")
    if len(shape) not in (count + 1, count + 2):
        raise RuntimeError(
            f"Input to {full} should be a {count + 1}d or {count + 2}d Tensor, but got a tensor with {len(shape)} dimensions."
        )
    if tuple(shape) != tuple(indices._spec.shape):
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(shape)}) but got indices tensor with "
            f"shape: {list(indices._spec.shape)}"
        )
    if min(stride) <= 0:
        raise RuntimeError(f"strides should be greater than zero, but got stride: {list(stride)}")
    for dim in range(1, len(shape)):
        if shape[dim] == 0:
            raise RuntimeError(
                f"{full}_forward_out_cpu(): Expected input to have non-zero size for non-batch dimensions, but got {list(shape)} "
                f"with dimension {dim} being empty."
            )
    spatial = _unpooled_size(input, kernel, stride, padding, output_size)
    array = indices._array
    if type(array) is np.ndarray and array.size:
        wrong = array[(array < 0) | (array >= np.prod(spatial))]
        if wrong.size:
            sizes = "x".join(str(n) for n in spatial)
            raise RuntimeError(f"Found an invalid max index: {wrong[0]} (output volumes are of size {sizes})")
    return _unpools[count](input, indices, spatial)


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Put pooled numbers back where they stood, zeros elsewhere.

    >>> torch.nn.functional.max_unpool1d(torch.tensor([[5., 4.]]), torch.tensor([[1, 3]]), 2)
    tensor([[0., 5., 0., 4.]])
    """
    return _unpooled(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Put pooled numbers back where they stood, zeros elsewhere.

    >>> torch.nn.functional.max_unpool2d(torch.tensor([[[3.]]]), torch.tensor([[[3]]]), 2)
    tensor([[[0., 0.],
             [0., 3.]]])
    """
    return _unpooled(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Put pooled numbers back where they stood, zeros elsewhere.

    >>> torch.nn.functional.max_unpool3d(torch.full((1, 1, 1, 1), 3.), torch.full((1, 1, 1, 1), 7), 2).flatten()
    tensor([0., 0., 0., 0., 0., 0., 0., 3.])
    """
    return _unpooled(3, input, indices, kernel_size, stride, padding, output_size)
