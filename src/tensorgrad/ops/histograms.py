"""Counting: histograms of one and several dimensions, and how often each integer occurs."""

import math

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops import fitting
from tensorgrad.ops.fitting import check_tensor
from tensorgrad.ops.outs import c_name, store_parts
from tensorgrad.ops.primitive import wrap
from tensorgrad.ops.results import return_type

PUBLIC = {"": "histc histogram histogramdd bincount"}
ndarray = np.ndarray


def _plain(name, tensor, argument="input"):
    """The array of a tensor whose numbers decide: inside vmap every row has its own."""
    check_tensor(name, tensor, argument)
    return tensor._array if type(tensor._array) is ndarray else tensor._array.dynamic(name)._array


def _range(name, x, low, high):
    """The ends of a histogram: those given, or the extremes of the data; where they coincide, some room around."""
    if low == high and x.size:
        low, high = x.min(), x.max()
    low, high = float(low), float(high)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.{name}: range of [{low:g}, {high:g}] is not finite")
    room = 0 if low != high else 1 if name == "histc" else 0.5
    return low - room, high + room


def histc(input, bins=100, min=0, max=0, *, out=None):
    """How many elements fall into each of so many bins of equal width between min and max.

    >>> torch.histc(torch.tensor([1., 2., 1.]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """
    x = _plain("histc", input)
    if input._spec.dtype.category != dtypes.FLOAT or input._spec.dtype.is_complex:
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{input._spec.dtype.title}'")
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if max < min:
        raise RuntimeError("torch.histc: max must be larger than min")
    low, high = _range("histc", x, min, max)
    wide = x.reshape(-1).astype(np.float32) if x.dtype.itemsize == 2 else x.reshape(-1)
    wide = wide[(wide >= low) & (wide <= high)]
    place = ((wide - low) * bins / (high - low)).astype(np.int64)
    result = wrap(np.bincount(np.minimum(place, bins - 1), minlength=bins).astype(x.dtype))
    return result if out is None else fitting.store(out, result)


def _edges(name, x, bins, ends, dim):
    """The edges of the bins along one dimension of the data."""
    if isinstance(bins, fitting.Tensor):
        edges = bins._array
        if edges.ndim != 1:
            raise RuntimeError(
                f"torch.histogramdd: bins tensor should have one dimension, but got {edges.ndim} dimensions in the bins "
                f"tensor for dimension {dim}"
            )
        if edges.dtype != x.dtype:
            raise RuntimeError(
                "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
                f"{c_name(wrap(x)._spec.dtype)} and bins for dimension {dim} with dtype {c_name(bins._spec.dtype)}"
            )
        count = edges.size - 1
    else:
        count = bins
    if count <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {count} for dimension {dim}")
    if isinstance(bins, fitting.Tensor):
        return edges
    if ends is None:
        ends = _range("histogram", x, 0.0, 0.0) if x.size else (0.0, 1.0)
    elif ends[0] > ends[1]:
        raise RuntimeError(
            f"torch.histogramdd: min should not exceed max, but got min {ends[0]:g} max {ends[1]:g} for dimension {dim}"
        )
    else:
        ends = _range("histogram", np.empty(0), *ends)
    from tensorgrad.ops.creation import linspace

    return linspace(*ends, count + 1, dtype=wrap(x)._spec.dtype)._array


def _counted(x, edges, weight, density):
    """The histogram of points, the rows of x, over the bins between edges, one array of them a dimension."""
    inside, flat = np.ones(len(x), bool), np.zeros(len(x), np.int64)
    for column, line in zip(x.T, edges, strict=True):
        place = np.searchsorted(line, column, "right") - 1
        place[column == line[-1]] = line.size - 2
        inside &= (column >= line[0]) & (column <= line[-1])
        flat = flat * (line.size - 1) + place
    shape = [line.size - 1 for line in edges]
    weight = None if weight is None else weight.reshape(-1)[inside]
    counts = np.bincount(flat[inside], weight, math.prod(shape)).reshape(shape).astype(x.dtype)
    if density:
        counts = counts / counts.sum()
        for dim, line in enumerate(edges):
            counts /= np.diff(line).reshape([-1 if d == dim else 1 for d in range(len(shape))])
    return counts.astype(x.dtype, copy=False)


def _check_points(input, points, weight):
    if input._spec.dtype not in (dtypes.float32, dtypes.float64):
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{input._spec.dtype.title}'")
    if weight is not None and weight.size != len(points):
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor excluding "
            f"its innermost dimension, but got input with shape {list(points.shape)} and weight with shape "
            f"{list(weight.shape)}"
        )


_histogram_result = return_type("histogram", ("hist", "bin_edges"))
_histogramdd_result = return_type("histogramdd", ("hist", "bin_edges"))


def histogram(input, bins, *, range=None, weight=None, density=False, out=None):
    """How many elements fall between neighbouring edges, and the edges.

    >>> torch.histogram(torch.tensor([1., 2., 1.]), 2, range=(0., 3.)).hist
    tensor([2., 1.])
    """
    points = _plain("histogram", input).reshape(-1, 1)
    weight = None if weight is None else _plain("histogram", weight, "weight")
    _check_points(input, points, weight)
    edges = _edges("histogram", points, bins, range, 0)
    result = _histogram_result((wrap(_counted(points, [edges], weight, density)), wrap(np.array(edges))))
    return result if out is None else store_parts(out, "histogram", result, (input,))


def histogramdd(input, bins, *, range=None, weight=None, density=False):
    """The same in several dimensions: the last dimension of the input has the coordinates of the points.

    >>> torch.histogramdd(torch.tensor([[0., 1.], [1., 0.], [2., 0.]]), bins=[2, 2]).hist
    tensor([[0., 1.],
            [2., 0.]])
    """
    x = _plain("histogramdd", input)
    if x.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions, but got " + str(x.ndim))
    points = x.reshape(-1, x.shape[-1])
    weight = None if weight is None else _plain("histogramdd", weight, "weight")
    _check_points(input, points, weight)
    if isinstance(bins, int):
        bins = [bins] * points.shape[1]
    if len(bins) != points.shape[1]:
        raise RuntimeError(
            f"torch.histogramdd: expected {points.shape[1]} bin sizes for an input with {points.shape[1]} columns, but got "
            f"{len(bins)}"
        )
    pairs = [None] * len(bins) if range is None else list(zip(range[::2], range[1::2], strict=True))
    edges = [
        _edges("histogramdd", column, b, pair, d)
        for d, (column, b, pair) in enumerate(zip(points.T, bins, pairs, strict=True))
    ]
    hist = wrap(_counted(points, edges, weight, density))
    return _histogramdd_result((hist, tuple(wrap(np.array(line)) for line in edges)))


def bincount(input, weights=None, minlength=0):
    """How often each integer from 0 on occurs, or the sums of the weights of its occurrences.

    >>> torch.bincount(torch.tensor([1, 1, 3]))
    tensor([0, 2, 0, 1])
    """
    x = _plain("bincount", input)
    if input._spec.dtype.category != dtypes.INTEGER:
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{input._spec.dtype.title}'")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if x.ndim != 1 or (x.size and x.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return wrap(np.bincount(x, minlength=minlength).astype(np.int64))
    given = _plain("bincount", weights, "weights")
    if given.shape != x.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    if not x.size:
        return wrap(np.zeros(minlength, np.int64))
    dtype = given.dtype if given.dtype == np.float32 else np.float64
    return wrap(np.bincount(x, given.astype(np.float64), minlength).astype(dtype))


class Methods:
    """The methods of these operations."""

    histc, histogram, bincount = histc, histogram, bincount
