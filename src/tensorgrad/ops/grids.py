"""Sampling images at any places: grid_sample, and affine_grid, which makes the places.

A sample is a weighted sum of a few pixels. Along each dimension `_taps` says which (one for nearest, two for linear, four for
cubic), with what weights, and how these change with the place: that is the gradient of the grid. It is written in `xp`, so
that derivatives of every order follow from it.
"""

import functools
import itertools
import math
import operator

import numpy as np

from tensorgrad import dtypes
from tensorgrad.backends.scatter import index_add_into
from tensorgrad.func.batching import all_batched
from tensorgrad.ops import fitting
from tensorgrad.ops.both import number, tensors, xp
from tensorgrad.ops.choices import _gather, _scatter_zeros
from tensorgrad.ops.fitting import check_tensor
from tensorgrad.ops.primitive import Primitive, wrap

PUBLIC = {
    "": "grid_sampler grid_sampler_2d grid_sampler_3d affine_grid_generator",
    "nn.functional": "grid_sample affine_grid",
}
MODES, PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
STEEP = -0.75  # how steep Keys' cubic kernel is

# Looking pixels up, and its transpose


@number
def pixels(x, index):
    """x (N, C, pixels) at index (N, places): (N, C, places)."""
    return np.stack([image.take(places, 1) for image, places in zip(x, index, strict=True)]) if len(x) else (
        np.empty((0, x.shape[1], index.shape[1]), x.dtype))  # fmt: skip


@number
def painted(g, index, size):
    """The transpose: g (N, C, places) added up at its pixels (N, C, size)."""
    whole = np.zeros((*g.shape[:2], size), g.dtype)
    for image, places, part in zip(whole, index, g, strict=True):
        index_add_into(image, 1, places, part)
    return whole


def _everywhere(index, channels):
    n, places = index._spec.shape
    return index.unsqueeze(1).expand(n, channels, places)


tensors["pixels"] = lambda x, index: _gather(x, _everywhere(index, x._spec.shape[1]), 2)
tensors["painted"] = lambda g, index, size: _scatter_zeros(
    g, _everywhere(index, g._spec.shape[1]), g.new_empty((*g._spec.shape[:2], size))._spec, 2
)


@number
def whole_numbers(x):
    return x.astype(np.int64)


tensors["whole_numbers"] = lambda x: x.detach().to(dtypes.int64)


@number
def single(x):
    """Half types as float32, others as they are."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


tensors["single"] = lambda x: x.to(dtypes.float32) if x._spec.dtype.itemsize == 2 else x


@number
def cast_as(x, like):
    return x.astype(like.dtype, copy=False)


tensors["cast_as"] = lambda x, like: x.to(like.dtype)

# Places along one dimension


def _where(condition, x, value):
    """x, but `value` where the condition does not hold."""
    return xp.where(condition, x, xp.zeros_like(x) + value)


def _bounded(at, size, padding, align):
    """(a place brought inside the image by the padding, how fast it moves with the place given)."""
    rate = xp.zeros_like(at) + 1
    if padding == "reflection":
        low, span = (0, size - 1) if align else (-0.5, size)
        if span == 0:
            return xp.zeros_like(at), xp.zeros_like(at)
        away = xp.abs(at - low)
        turns = xp.floor(away / span)
        rest = away - turns * span
        rest = _where(rest == rest, rest, 0)
        even = turns - 2 * xp.floor(turns / 2) == 0
        rate = xp.where((at < low) == even, -rate, rate)
        at = low + xp.where(even, rest, span - rest)
    if padding != "zeros":
        rate = _where((at > 0) & (at < size - 1), rate, 0)
        at = _where(at > 0, _where(at < size - 1, at, size - 1), 0)
    return at, rate


def _taps(at, size, mode, padding, align):
    """The pixels that a place in [-1, 1] is made of: (index, weight, slope of the weight) for each; slope None for 0."""
    at = _where(at == at, at, -1)
    scale = (size - 1) / 2 if align else size / 2
    at = (at + 1) * scale if align else ((at + 1) * size - 1) / 2
    if mode != "bicubic":
        at, rate = _bounded(at, size, padding, align)
        rate = rate * scale
    far = 1e9 if mode == "bicubic" and padding == "reflection" else 4  # farther outside, nothing changes
    at = _where((at >= -far), _where(at <= size + far, at, size + far), -far)
    if mode == "nearest":
        return [_inside(xp.round(at), None, None, size)]
    first = xp.floor(at)
    part = at - first
    if mode == "bilinear":
        return [_inside(first, 1 - part, -rate, size), _inside(first + 1, part, rate, size)]
    a, taps = STEEP, []
    for i, near, sign in ((-1, False, 1), (0, True, 1), (1, True, -1), (2, False, -1)):
        x = part - i if sign > 0 else i - part
        if near:
            weight = ((a + 2) * x - (a + 3)) * x * x + 1
            slope = (3 * (a + 2) * x - 2 * (a + 3)) * x
        else:
            weight = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
            slope = (3 * a * x - 10 * a) * x + 8 * a
        place = first + i
        if padding != "zeros":
            place = _bounded(place, size, padding, align)[0]
        taps.append(_inside(xp.floor(place), weight, slope * (sign * scale), size))
    return taps


def _inside(place, weight, slope, size):
    """A tap whose weight is 0 outside the image."""
    there = (place >= 0) & (place < size)
    index = xp.whole_numbers(_where(there, place, 0))
    if weight is None:
        return index, _where(there, xp.zeros_like(place) + 1, 0), None
    return index, _where(there, weight, 0), _where(there, slope, 0)


def _combinations(grid, sizes, mode, padding, align):
    """For each pixel that a sample is made of: its index, and for each dimension the weight and its slope."""
    lines = [
        _taps(grid[..., len(sizes) - 1 - d], size, mode, padding, align) for d, size in enumerate(sizes)
    ]  # fmt: skip
    for taps in itertools.product(*lines):
        index = taps[0][0]
        for (more, _, _), size in zip(taps[1:], sizes[1:], strict=True):
            index = index * size + more
        yield index, [weight for _, weight, _ in taps], [slope for _, _, slope in taps]


def _product(factors):
    return functools.reduce(operator.mul, factors)


def _sampled(x, grid, mode, padding, align):
    """x (N, C, *sizes) at grid (N, *places, dims): (N, C, *places), on arrays."""
    n, channels, *sizes = x.shape
    out = np.zeros((n, channels, math.prod(grid.shape[1:-1])), xp.single(x).dtype)
    flat = xp.single(x).reshape(n, channels, -1)
    at = xp.single(grid).reshape(n, out.shape[2], len(sizes))
    for index, weights, _ in _combinations(at, sizes, mode, padding, align):
        part = pixels(flat, index)
        part *= _product(weights)[:, None]
        out += part
    return out.reshape(n, channels, *grid.shape[1:-1]).astype(x.dtype, copy=False)


def _sampled_back(g, x, grid, mode, padding, align, wanted):
    """The gradients of the image and of the grid."""
    n, channels, *sizes = x.shape
    places, size = math.prod(grid.shape[1:-1]), math.prod(sizes)
    flat = xp.reshape(xp.single(x), (n, channels, size))
    at, arrived = xp.reshape(xp.single(grid), (n, places, len(sizes))), xp.reshape(xp.single(g), (n, channels, places))
    image, moved = None, [None] * len(sizes)
    for index, weights, slopes in _combinations(at, sizes, mode, padding, align):
        if wanted[0]:
            part = xp.painted(arrived * _product(weights)[:, None], index, size)
            image = part if image is None else image + part
        if wanted[1] and mode != "nearest":
            along = (arrived * xp.pixels(flat, index)).sum(1)
            for d, slope in enumerate(slopes):
                part = along * _product([*weights[:d], slope, *weights[d + 1 :]])
                moved[d] = part if moved[d] is None else moved[d] + part
    if image is not None:
        image = xp.cast_as(xp.reshape(image, x.shape), x)
    if not wanted[1]:
        return image, None
    if mode == "nearest":
        return image, xp.zeros_like(grid)
    return image, xp.cast_as(xp.reshape(xp.beside(*moved[::-1]), grid.shape), grid)


@number
def beside(*parts):
    return np.stack(parts, -1)


def _beside(*parts):
    from tensorgrad import stack

    return stack(parts, -1)


tensors["beside"] = _beside


def _samples(apply, values, batched, params, size):
    """vmap: all rows as one batch of images."""
    values = [value.flatten(0, 1) for value in all_batched(values, batched, size)]
    return apply(tuple(values), params).unflatten(0, (size, -1))


_sample_2d = Primitive(
    "grid_sampler_2d", _sampled, arity=2, batch=_samples, fresh=True, node="GridSampler2DBackward0",
    pullback=lambda g, x, grid, mode, padding, align, wanted: _sampled_back(g, x, grid, mode, padding, align, wanted),
)  # fmt: skip
_sample_3d = _sample_2d.variant("grid_sampler_3d", "GridSampler3DBackward0")


def _check(input, grid, mode):
    """Raise PyTorch's errors for what cannot be sampled."""
    check_tensor("grid_sampler", input)
    check_tensor("grid_sampler", grid, "grid", 2)
    shape, places = list(input.shape), list(grid.shape)
    told = f"but got input with sizes {shape} and grid with sizes {places}"
    if not shape or not places or shape[0] != places[0]:
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, {told}")
    if len(shape) < 3 or places[-1] != len(shape) - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {len(shape) - 2} in last dimension, but got grid with sizes {places}"
        )
    for dim, n in enumerate(shape[2:], 2):
        if n == 0:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                f"{shape} with dimension {dim} being empty"
            )
    if len(shape) not in (4, 5) or len(places) != len(shape):
        dims = len(shape) if len(shape) in (4, 5) else "4D or 5"
        raise RuntimeError(f"grid_sampler(): expected {dims}D input and grid with same number of dimensions, {told}")
    if mode == "bicubic" and len(shape) == 5:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if not input._spec.dtype.is_floating_point:
        raise NotImplementedError(
            f"\"grid_sampler_{len(shape) - 2}d_cpu_kernel_impl\" not implemented for '{input._spec.dtype.title}'"
        )
    if grid._spec.dtype is not input._spec.dtype:
        raise RuntimeError(f"expected scalar type {input._spec.dtype.title} but found {grid._spec.dtype.title}")


def _sample(input, grid, mode, padding, align):
    _check(input, grid, mode)
    primitive = _sample_2d if len(input._spec.shape) == 4 else _sample_3d
    return primitive(input, grid, mode, padding, bool(align))


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """An image (N, C, H, W) at the places of a grid (N, h, w, 2), which go from -1 to 1; volumes likewise.

    >>> image = torch.tensor([[[[1., 3.]]]])
    >>> torch.nn.functional.grid_sample(image, torch.tensor([[[[0., 0.], [-0.5, 0.]]]]), align_corners=False)
    tensor([[[[2., 1.]]]])
    """
    if mode not in MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    if align_corners is None:
        _warn_of_corners("grid_sample")
    return _sample(input, grid, mode, padding_mode, align_corners)


def _warn_of_corners(name):
    import warnings

    warnings.warn(
        f"Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
        f"align_corners=True if the old behavior is desired. See the documentation of {name} for details.",
        stacklevel=3,
    )


def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """`nn.functional.grid_sample` with numbers for its modes: bilinear, nearest, bicubic; zeros, border, reflection.

    >>> torch.grid_sampler(torch.tensor([[[[1., 3.]]]]), torch.tensor([[[[0., 0.]]]]), 0, 0, False)
    tensor([[[[2.]]]])
    """
    for word, value in (("interpolation_mode", interpolation_mode), ("padding_mode", padding_mode)):
        if value not in (0, 1, 2):
            raise RuntimeError(f"grid_sampler(): {word} must be 0, 1 or 2, but got {value}")
    return _sample(input, grid, MODES[interpolation_mode], PADDINGS[padding_mode], align_corners)


def _of_rank(name, rank, input, grid, interpolation_mode, padding_mode, align_corners):
    for value in (input, grid):
        if isinstance(value, fitting.Tensor) and len(value.shape) != rank:
            raise RuntimeError(
                f"{name}(): expected {rank}D input and grid with same number of dimensions, but got input with sizes "
                f"{list(input.shape)} and grid with sizes {list(grid.shape)}"
            )
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners):
    """`grid_sampler` of images.

    >>> torch.grid_sampler_2d(torch.tensor([[[[1., 3.]]]]), torch.tensor([[[[0., 0.]]]]), 0, 0, False)
    tensor([[[[2.]]]])
    """
    return _of_rank("grid_sampler_2d", 4, input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_3d(input, grid, interpolation_mode, padding_mode, align_corners):
    """`grid_sampler` of volumes.

    >>> torch.grid_sampler_3d(torch.tensor([[[[[1., 3.]]]]]), torch.tensor([[[[[0., 0., 0.]]]]]), 0, 0, False)
    tensor([[[[[2.]]]]])
    """
    return _of_rank("grid_sampler_3d", 5, input, grid, interpolation_mode, padding_mode, align_corners)


# Places


def _line(n, align):
    """n places from -1 to 1: of the outer pixels' centres, or of their edges."""
    line = np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
    return line if align else line * (n - 1) / n


def affine_grid_generator(theta, size, align_corners):
    """`nn.functional.affine_grid` without its checks.

    >>> torch.affine_grid_generator(torch.tensor([[[1., 0., 0.], [0., 1., 0.]]]), (1, 1, 1, 2), False)
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    check_tensor("affine_grid_generator", theta, "theta")
    n, _, *sizes = size
    if len(sizes) not in (2, 3):
        raise RuntimeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    lines = np.meshgrid(*[_line(m, align_corners) for m in sizes], indexing="ij")
    base = np.stack([*(line.ravel() for line in lines[::-1]), np.ones(math.prod(sizes))], -1)
    if theta.shape[0] != n:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{n}, {len(sizes) + 1}] but got: "
            f"[{theta.shape[0]}, {len(sizes) + 1}]."
        )
    points = wrap(base.astype(theta._spec.dtype.numpy)) @ theta.transpose(1, 2)
    return points.reshape(n, *sizes, len(sizes))


def affine_grid(theta, size, align_corners=None):
    """The places of an image of `size` (N, C, H, W), moved by matrices theta (N, 2, 3), for `grid_sample`; volumes likewise.

    >>> turned = torch.tensor([[[0., -1., 0.], [1., 0., 0.]]])
    >>> torch.nn.functional.affine_grid(turned, (1, 1, 1, 2), align_corners=True)
    tensor([[[[ 0., -1.],
              [ 0.,  1.]]]])
    """
    check_tensor("affine_grid", theta, "theta")
    if align_corners is None:
        _warn_of_corners("affine_grid")
    if not theta._spec.dtype.is_floating_point:
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    size = tuple(size)
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. "
            f"Got size {list(size)}."
        )
    dims = len(size) - 2
    if len(theta.shape) != 3 or tuple(theta.shape[1:]) != (dims, dims + 1):
        raise ValueError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {size}. Got {theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return affine_grid_generator(theta, size, bool(align_corners))
