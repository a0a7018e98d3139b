"""Sliding blocks of images as columns (unfold), and columns added up to an image again (fold): each other's transposes."""

import itertools
import math

import numpy as np

from tensorgrad import dtypes
from tensorgrad.backends.precision import computes_halves_in_single
from tensorgrad.ops.both import number, xp
from tensorgrad.ops.fitting import check_tensor, kind_name
from tensorgrad.ops.primitive import Primitive
from tensorgrad.ops.spatial import is_int, merged, split

PUBLIC = {"nn.functional": "unfold fold"}


def _blocks(size, kernel, dilation, padding, stride):
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, d, p, s in zip(size, kernel, dilation, padding, stride, strict=True)
    )


def _window(tap, blocks, dilation, stride):
    """Where the places of one tap lie in the padded image."""
    return tuple(
        slice(i * d, i * d + s * (n - 1) + 1, s) for i, n, d, s in zip(tap, blocks, dilation, stride, strict=True)
    )


@number
def to_columns(x, kernel, dilation, padding, stride):
    """(N, C, H, W) as (N, C * kernel, blocks)."""
    samples, channels, *size = x.shape
    blocks = _blocks(size, kernel, dilation, padding, stride)
    if any(padding):
        x = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in padding)))
    out = np.empty((samples, channels, *kernel, *blocks), x.dtype)
    for tap in itertools.product(*map(range, kernel)):
        out[(slice(None), slice(None), *tap)] = x[(..., *_window(tap, blocks, dilation, stride))]
    return out.reshape(samples, channels * math.prod(kernel), math.prod(blocks))


@number
@computes_halves_in_single
def from_columns(x, size, kernel, dilation, padding, stride):
    """(N, C * kernel, blocks) added up to (N, C, *size)."""
    samples, channels = len(x), x.shape[1] // math.prod(kernel)
    blocks = _blocks(size, kernel, dilation, padding, stride)
    columns = x.reshape(samples, channels, *kernel, *blocks)
    whole = np.zeros((samples, channels, *[n + 2 * p for n, p in zip(size, padding, strict=True)]), x.dtype)
    for tap in itertools.product(*map(range, kernel)):
        whole[(..., *_window(tap, blocks, dilation, stride))] += columns[(slice(None), slice(None), *tap)]
    if not any(padding):
        return whole
    return np.ascontiguousarray(whole[(..., *[slice(p, p + n) for n, p in zip(size, padding, strict=True)])])


def _samples(apply, values, batched, params, size):
    return split(apply((merged(values[0]),), params), size)


_to_columns = Primitive(
    "to_columns", to_columns, fresh=True, node="Im2ColBackward0", batch=_samples,
    transpose=lambda g, x, kernel, dilation, padding, stride: xp.from_columns(
        g, tuple(x.shape[2:]), kernel, dilation, padding, stride),
)  # fmt: skip
_from_columns = Primitive(
    "from_columns", lambda x, size, kernel, dilation, padding, stride: from_columns(x, size, kernel, dilation, padding, stride),
    fresh=True, node="Col2ImBackward0", batch=_samples,
    transpose=lambda g, x, kernel, dilation, padding, stride: xp.to_columns(g, kernel, dilation, padding, stride),
)  # fmt: skip


def _pair(name, argument, value):
    if isinstance(value, (tuple, list)):
        if not all(is_int(n) for n in value):
            raise TypeError(f"{name}(): argument '{argument}' must be tuple of ints, not {kind_name(value)}")
        if len(value) != 2:
            raise RuntimeError(f"It is expected {argument} equals to 2, but got size {len(value)}")
        return tuple([int(n) for n in value])
    if not is_int(value):
        raise TypeError(f"{name}(): argument '{argument}' must be tuple of ints, not {kind_name(value)}")
    return (int(value),) * 2


def _arguments(name, kernel_size, dilation, padding, stride):
    given = {"kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride}
    kernel, dilation, padding, stride = (_pair(name, argument, value) for argument, value in given.items())
    for what, numbers, least in (("kernel size", kernel, 1), ("dilation", dilation, 1), ("stride", stride, 1)):
        if min(numbers) < least:
            word = what.split()[0]
            raise RuntimeError(
                f"{what} should be greater than zero, but got {word}_height: {numbers[0]} {word}_width: {numbers[1]}"
            )
    if min(padding) < 0:
        raise RuntimeError(f"padding should be non-negative, but got pad_height: {padding[0]} pad_width: {padding[1]}")
    return kernel, dilation, padding, stride


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Each sliding block of an image as a column.

    >>> torch.nn.functional.unfold(torch.arange(6.).reshape(1, 1, 2, 3), 2)
    tensor([[[0., 1.],
             [1., 2.],
             [3., 4.],
             [4., 5.]]])
    """
    check_tensor("unfold", input)
    shape = input._spec.shape
    if len(shape) not in (3, 4):
        if len(shape) < 3:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-len(shape) or -1}, {max(len(shape) - 1, 0)}], but got 2)"
            )
        raise RuntimeError(f"Expected 3D or 4D (batch mode) tensor for input, but got: {list(shape)}")
    window = kernel, dilation, padding, stride = _arguments("unfold", kernel_size, dilation, padding, stride)
    if input._spec.dtype.category == dtypes.INTEGER:
        raise NotImplementedError(f"\"im2col_out_cpu\" not implemented for '{input._spec.dtype.title}'")
    if 0 in shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but "
            f"got: {list(shape)}"
        )
    blocks = _blocks(shape[-2:], *window)
    if min(blocks) < 1:
        raise RuntimeError(
            f"Given input with spatial size {tuple(shape[-2:])}, kernel_size={kernel}, dilation={dilation}, padding={padding}, "
            f"calculated shape of the array of sliding blocks as {blocks}, but its components must be at least one."
        )
    if len(shape) == 3:
        return _to_columns(input.unsqueeze(0), *window).squeeze(0)
    return _to_columns(input, *window)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Columns of sliding blocks added up to an image.

    >>> torch.nn.functional.fold(torch.ones(1, 4, 2), (2, 3), 2)
    tensor([[[[1., 2., 1.],
              [1., 2., 1.]]]])
    """
    check_tensor("fold", input)
    shape = input._spec.shape
    size = _pair("fold", "output_size", output_size)
    window = kernel, dilation, padding, stride = _arguments("fold", kernel_size, dilation, padding, stride)
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, but "
            f"got: {list(shape)}"
        )
    if shape[-2] % math.prod(kernel):
        raise RuntimeError(
            f"Expected size of input's dimension {len(shape) - 2} to be divisible by the product of kernel_size, but got "
            f"input.size({len(shape) - 2})={shape[-2]} and kernel_size={kernel}."
        )
    blocks = _blocks(size, *window)
    if shape[-1] != math.prod(blocks) or min(blocks) < 1:
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, stride={stride}, expected "
            f"size of input's dimension {len(shape) - 1} to match the calculated number of sliding blocks {blocks[0]} * "
            f"{blocks[1]} = {math.prod(blocks)}, but got input.size({len(shape) - 1})={shape[-1]}."
        )
    if len(shape) == 2:
        return _from_columns(input.unsqueeze(0), size, *window).squeeze(0)
    return _from_columns(input, size, *window)
