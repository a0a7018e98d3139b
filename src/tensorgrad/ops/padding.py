"""Padding: with a constant, or with the numbers inside (reflected, repeated, from the other end). Negative padding cuts off."""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops import fitting
from tensorgrad.ops.both import number, xp
from tensorgrad.ops.fitting import check_tensor, kind_name
from tensorgrad.ops.primitive import Primitive
from tensorgrad.ops.spatial import is_int

PUBLIC = {"": "constant_pad_nd", "nn.functional": "pad", "ops.aten": "constant_pad_nd"}

# pads: (before, after) of the last dimension, then of the one before it, and so on


@number
def constant_pad(x, pads, value):
    """Inside what is padded lies what is not cut off; around it `value`, or for None anything."""
    shape, inside, source = list(x.shape), [slice(None)] * x.ndim, [slice(None)] * x.ndim
    for back in range(len(pads) // 2):
        dim, before, after = x.ndim - 1 - back, pads[2 * back], pads[2 * back + 1]
        shape[dim] += before + after
        inside[dim] = slice(max(before, 0), shape[dim] - max(after, 0))
        source[dim] = slice(max(-before, 0), x.shape[dim] - max(-after, 0))
    out = np.empty(shape, x.dtype) if value is None else np.zeros(shape, x.dtype)
    if value:
        out.fill(value)
    out[tuple(inside)] = x[tuple(source)]
    return out


_constant_pad = Primitive(
    "constant_pad", constant_pad, fresh=True, batch="leading", node="ConstantPadNdBackward0",
    rules={"x": lambda g, pads: xp.constant_pad(g, tuple([-p for p in pads]), 0)},
    pushforward=lambda t, pads: _constant_pad(t, pads, 0),
)  # fmt: skip


def _places(mode, size, before, after):
    """For each place of the result, the place of the input that it repeats."""
    at = np.arange(-before, size + after)
    if mode == "replicate":
        return np.clip(at, 0, size - 1)
    if mode == "circular":  # what is cut off does not come round again
        first, last = max(-before, 0), size - max(-after, 0)
        return (at - first) % max(last - first, 1) + first
    at = np.abs(at)
    return np.where(at >= size, 2 * (size - 1) - at, at)


@number
def pad_inside(x, pads, mode):
    """The numbers in the middle as they lie, then the lines around them, one dimension after the other."""
    if min(pads) < 0 or type(x) is not np.ndarray:
        for back in range(len(pads) // 2):
            axis = x.ndim - 1 - back
            x = x.take(_places(mode, x.shape[axis], pads[2 * back], pads[2 * back + 1]), axis)
        return x
    out = constant_pad(x, pads, None)
    for back in range(len(pads) // 2):
        before, after = pads[2 * back : 2 * back + 2]
        if before or after:
            axis = x.ndim - 1 - back
            seen = _places(mode, x.shape[axis], before, after) + before
            lead, lines = (slice(None),) * axis, np.r_[:before, len(seen) - after : len(seen)]
            out[(*lead, lines)] = out[(*lead, seen[lines])]
    return out


@number
def pad_inside_gradient(g, pads, mode, sizes):
    """The middle as it is, and each padded line added where it came from."""
    for back in range(len(pads) // 2):
        before, after, size = pads[2 * back], pads[2 * back + 1], sizes[len(sizes) - 1 - back]
        if not before and not after:
            continue
        places = _places(mode, size, before, after)
        lines = np.moveaxis(g, g.ndim - 1 - back, 0)
        gx = np.zeros((size, *lines.shape[1:]), g.dtype)
        first, last = max(-before, 0), size - max(-after, 0)
        start = max(before, 0)
        gx[first:last] = lines[start : start + last - first]
        for line in (*range(start), *range(start + last - first, len(places))):
            gx[places[line]] += lines[line]
        g = np.moveaxis(gx, 0, g.ndim - 1 - back)
    return np.ascontiguousarray(g)


_pad_inside_gradient = Primitive(
    "pad_inside_gradient", pad_inside_gradient, batch="leading",
    transpose=lambda h, g, pads, mode: xp.pad_inside(h, pads, mode),
)  # fmt: skip
_first = Primitive(
    "pad_inside", pad_inside, batch="leading", node="ReflectionPad2DBackward0",
    transpose=lambda g, x, pads, mode: xp.pad_inside_gradient(g, pads, mode, tuple(x.shape[len(x.shape) - len(pads) // 2:])),
)  # fmt: skip
_pad_inside = {
    (mode, count): _first.variant(f"pad {mode} {count}", f"{node}{count}DBackward0" if count else "CopySlices")
    for mode, node in (("reflect", "ReflectionPad"), ("replicate", "ReplicationPad"), ("circular", "PadCircular"))
    for count in (1, 2, 3)
}


def pad(input, pad, mode="constant", value=None):
    """Put more numbers around: pad is (left, right, top, bottom, ...), from the last dimension on.

    >>> torch.nn.functional.pad(torch.tensor([1, 2, 3]), (1, 2))
    tensor([0, 1, 2, 3, 0, 0])
    >>> torch.nn.functional.pad(torch.tensor([[1, 2, 3]]), (1, 1), mode="reflect")
    tensor([[2, 1, 2, 3, 2]])
    """
    check_tensor("pad", input)
    pads = _numbers(pad)
    rank = len(input._spec.shape)
    if len(pads) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pads) > 2 * rank:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pads)} and input of dimension {rank}"
        )
    if mode == "constant":
        return _constant(input, pads, 0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    count = len(pads) // 2
    if count not in (1, 2, 3) or rank not in (count + 1, count + 2):
        raise NotImplementedError(
            f"Padding size {len(pads)} is not supported for {rank}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    _check_inside(input, pads, mode, count)
    return _pad_inside[mode, count](input, pads, mode)


def _numbers(pad):
    if not isinstance(pad, (tuple, list)):
        raise TypeError(f"pad(): argument 'pad' (position 2) must be tuple of ints, not {kind_name(pad)}")
    for place, n in enumerate(pad):
        if not is_int(n):
            raise TypeError(
                "pad(): argument 'pad' (position 2) must be tuple of ints, but found element of type "
                f"{kind_name(n)} at pos {place}"
            )
    return tuple([int(n) for n in pad])


def _check_inside(input, pads, mode, count):
    """There are enough numbers inside to pad with."""
    shape = input._spec.shape
    if mode != "circular" and input._spec.dtype is dtypes.bool_:
        raise NotImplementedError(f"\"{mode.removesuffix('e')}ion_pad{count}d\" not implemented for 'Bool'")
    if 0 in shape[-count - 1 :]:
        raise RuntimeError(
            f"Expected {count + 1}D or {count + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions "
            f"for input, but got: {list(shape)}"
        )
    for back in range(count):
        n, before, after = shape[-1 - back], pads[2 * back], pads[2 * back + 1]
        if mode == "reflect" and (before >= n or after >= n):
            raise RuntimeError(
                "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({before}, {after}) at dimension {len(shape) - 1 - back} of input {list(shape)}"
            )
        if mode == "circular" and (before > n or after > n):
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if n + before + after < (0 if mode == "circular" else 1):
            raise RuntimeError(
                f"input (size {n} at dimension {len(shape) - 1 - back}) is too small. Calculated output size: {n + before + after}"
            )


def _constant(input, pads, value):
    shape = input._spec.shape
    value = fitting.exact_number(value, input._spec.dtype).item() if value else 0
    for back in range(len(pads) // 2):
        n, before, after = shape[-1 - back], pads[2 * back], pads[2 * back + 1]
        if n + before + after < 0 or n + min(before, 0) + min(after, 0) < 0:
            if before < 0 or after < 0:
                raise RuntimeError("narrow(): length must be non-negative.")
            raise RuntimeError(
                f"The input size {n}, plus negative padding {before} and {after} resulted in a negative output size, which is "
                f"invalid. Check dimension {len(shape) - 1 - back} of your input."
            )
    return _constant_pad(input, pads, value)


def constant_pad_nd(input, pad, value=0):
    """`nn.functional.pad` with a constant.

    >>> torch.constant_pad_nd(torch.tensor([1, 2]), (1, 0), 7)
    tensor([7, 1, 2])
    """
    check_tensor("constant_pad_nd", input)
    pads = _numbers(pad)
    if len(pads) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pads)}")
    if len(pads) > 2 * len(input._spec.shape):
        raise RuntimeError(
            f"Length of pad should be no more than twice the number of dimensions of the input. Pad length is {len(pads)} "
            f"while the input has {len(input._spec.shape)} dimensions."
        )
    return _constant(input, pads, value)
