"""Resizing images, signals and volumes: interpolate and what PyTorch calls upsample (kernels: backends/interpolation.py)."""

import warnings

import numpy as np

from tensorgrad import dtypes
from tensorgrad.backends.interpolation import line, resize, resize_gradient
from tensorgrad.ops.both import number, xp
from tensorgrad.ops.fitting import check_tensor
from tensorgrad.ops.primitive import Primitive
from tensorgrad.ops.spatial import is_int

PUBLIC = {
    "nn.functional": "interpolate upsample upsample_nearest upsample_bilinear",
    "ops.aten": "_upsample_bilinear2d_aa _upsample_bicubic2d_aa",
}


@number
def resized(x, plan):
    return resize(x, _lines(plan, x.dtype))


@number
def resized_gradient(g, plan):
    return resize_gradient(g, _lines(plan, g.dtype))


def _lines(plan, dtype):
    """plan: (mode, size, wanted, scale, align) for each dimension."""
    precision = np.float64 if dtype == np.float64 else np.float32
    return tuple([line(*step, precision) for step in plan])


_resized_gradient = Primitive(
    "resized_gradient", resized_gradient, fresh=True, batch="leading", transpose=lambda h, g, plan: xp.resized(h, plan)
)
_first = Primitive(
    "resized", resized, fresh=True, batch="leading", node="UpsampleBilinear2DBackward0",
    transpose=lambda g, x, plan: xp.resized_gradient(g, plan),
)  # fmt: skip
_resized = {
    (mode, count): _first.variant(f"resized {mode} {count}", f"Upsample{title}{count}D{end}Backward0")
    for mode, title, end, counts in (
        ("nearest", "Nearest", "", (1, 2, 3)), ("nearest-exact", "NearestExact", "", (1, 2, 3)), ("linear", "Linear", "", (1,)),
        ("bilinear", "Bilinear", "", (2,)), ("bicubic", "Bicubic", "", (2,)), ("trilinear", "Trilinear", "", (3,)),
        ("bilinear antialias", "Bilinear", "Aa", (2,)), ("bicubic antialias", "Bicubic", "Aa", (2,)),
        ("lanczos antialias", "Lanczos", "Aa", (2,)),
    )
    for count in counts
}  # fmt: skip
DIMS = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3, "lanczos": 2}
SUPPORTED = (
    "Input Error: Only 3D, 4D and 5D input Tensors supported (got {}D) for the modes: nearest | linear | bilinear | bicubic | "
    "trilinear | lanczos | area | nearest-exact (got {})"
)


def _apply(input, mode, size, scales, align):
    """Resize by a checked mode; scales: what the user gave, or None for each dimension."""
    shape = input._spec.shape
    count = len(shape) - 2
    dtype = input._spec.dtype
    if not dtype.is_floating_point and not (dtype is dtypes.uint8 and mode != "trilinear" and mode != "linear"):
        raise NotImplementedError(f"\"upsample_{mode}{count}d\" not implemented for '{dtype.title}'")
    if min(size) <= 0 or 0 in shape[2:]:
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input {list(shape[2:])} output {list(size)}"
        )
    if 0 in shape[1:]:
        raise RuntimeError(f"Non-empty {count + 2}D data tensor expected but got a tensor with sizes {list(shape)}")
    kind = mode
    for long, short in (("bilinear", "linear"), ("trilinear", "linear"), ("bicubic", "cubic")):
        kind = kind.replace(long, short)
    plan = tuple(
        (kind, int(n), int(out), None if scale is None else float(scale), bool(align))
        for n, out, scale in zip(shape[2:], size, scales, strict=True)
    )
    return _resized[mode, count](input, plan)


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None,
                antialias=False):  # fmt: skip
    """Resize the dimensions after samples and channels, to a size or by a factor.

    >>> torch.nn.functional.interpolate(torch.tensor([[[1., 3.]]]), scale_factor=2)
    tensor([[[1., 1., 3., 3.]]])
    >>> torch.nn.functional.interpolate(torch.tensor([[[1., 3.]]]), size=4, mode="linear")
    tensor([[[1.0000, 1.5000, 2.5000, 3.0000]]])
    """
    check_tensor("interpolate", input)
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    shape = input._spec.shape
    count = len(shape) - 2
    size, scales = _sizes(shape, count, size, scale_factor)
    if recompute_scale_factor and scales is None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if size is None:
        size = [int(n * scale) for n, scale in zip(shape[2:], scales, strict=True)]
    if scales is None or recompute_scale_factor or mode == "area":
        scales = [None] * count
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and len(shape) == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if mode == "lanczos" and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")
    if mode == "area" and count in (1, 2, 3):
        from tensorgrad.ops import pooling_adaptive

        pool = (pooling_adaptive.adaptive_avg_pool1d, pooling_adaptive.adaptive_avg_pool2d,
                pooling_adaptive.adaptive_avg_pool3d)[count - 1]  # fmt: skip
        return pool(input, tuple(size))
    if mode in DIMS and count in (1, 2, 3) and DIMS[mode] != count and mode in ("linear", "bilinear", "trilinear"):
        raise NotImplementedError(f"Got {len(shape)}D input, but {mode} mode needs {DIMS[mode] + 2}D input")
    mode = mode + " antialias" if antialias else mode
    if (mode, count) not in _resized:
        raise NotImplementedError(SUPPORTED.format(len(shape), mode))
    return _apply(input, mode, size, scales, align_corners)


def _sizes(shape, count, size, scale_factor):
    """(sizes or None, factors or None), one for each dimension."""
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if size is not None:
        if not isinstance(size, (tuple, list)):
            return [size] * count, None
        if len(size) != count:
            raise ValueError(
                "Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of "
                f"{list(shape[2:])} and output size of {size}. Please provide input tensor in (N, C, d1, d2, ...,dK) format "
                "and output size in (o1, o2, ...,oK) format."
            )
        if not all(is_int(n) for n in size):
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size with "
                f"types {[type(n) for n in size]}"
            )
        return size, None
    if not isinstance(scale_factor, (tuple, list)):
        return None, [scale_factor] * count
    if len(scale_factor) != count:
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial dimensions of "
            f"{list(shape[2:])} and scale_factor of shape {scale_factor}. Please provide input tensor in (N, C, d1, d2, ...,dK) "
            "format and scale_factor in (s1, s2, ...,sK) format."
        )
    return None, scale_factor


def _deprecated(name):
    warnings.warn(
        f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.", UserWarning, stacklevel=3
    )


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """The old name of `interpolate`.

    >>> import warnings; warnings.simplefilter("ignore")
    >>> torch.nn.functional.upsample(torch.tensor([[[1., 3.]]]), scale_factor=2)
    tensor([[[1., 1., 3., 3.]]])
    """
    _deprecated("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """Enlarge by repeating the nearest number.

    >>> import warnings; warnings.simplefilter("ignore")
    >>> torch.nn.functional.upsample_nearest(torch.tensor([[[1., 3.]]]), 4)
    tensor([[[1., 1., 3., 3.]]])
    """
    _deprecated("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """Enlarge an image linearly, corners on corners.

    >>> import warnings; warnings.simplefilter("ignore")
    >>> torch.nn.functional.upsample_bilinear(torch.tensor([[[[1., 3.]]]]), (1, 3))
    tensor([[[[1., 2., 3.]]]])
    """
    _deprecated("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def _antialiased(mode, input, output_size, align_corners, scales):
    check_tensor(f"_upsample_{mode}2d_aa", input)
    shape = input._spec.shape
    if len(shape) != 4:
        raise RuntimeError(f"Non-empty 4D data tensor expected but got a tensor with sizes {list(shape)}")
    if len(scales) == 1 and isinstance(scales[0], (tuple, list)):
        scales = scales[0]
    scales = (*scales, None, None)[:2] if any(s is not None for s in scales) else (None, None)
    if output_size is None:
        output_size = [int(n * scale) for n, scale in zip(shape[2:], scales, strict=True)]
    return _apply(input, mode + " antialias", tuple(output_size), scales, align_corners)


def _upsample_bilinear2d_aa(
    input, output_size, align_corners, *scales, scale_factors=None, scales_h=None, scales_w=None
):
    """Resize an image linearly, with the filter widened where it shrinks.

    >>> torch.ops.aten._upsample_bilinear2d_aa(torch.tensor([[[[1., 2., 3., 4.]]]]), (1, 2), False)
    tensor([[[[1.7143, 3.2857]]]])
    """
    return _antialiased("bilinear", input, output_size, align_corners, scales or scale_factors or (scales_h, scales_w))


def _upsample_bicubic2d_aa(
    input, output_size, align_corners, *scales, scale_factors=None, scales_h=None, scales_w=None
):
    """Resize an image by cubics, with the filter widened where it shrinks.

    >>> torch.ops.aten._upsample_bicubic2d_aa(torch.ones(1, 1, 4, 4), (1, 2), False)
    tensor([[[[1., 1.]]]])
    """
    return _antialiased("bicubic", input, output_size, align_corners, scales or scale_factors or (scales_h, scales_w))


_upsample_bilinear2d_aa.default = _upsample_bilinear2d_aa
_upsample_bicubic2d_aa.default = _upsample_bicubic2d_aa
