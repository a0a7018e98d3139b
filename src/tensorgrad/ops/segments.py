"""Reductions of the segments of a dimension: segment_reduce."""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops.fitting import check_tensor
from tensorgrad.ops.primitive import wrap

PUBLIC = {"": "segment_reduce _segment_reduce=segment_reduce"}
STARTS = {"sum": 0, "mean": 0, "prod": 1, "amax": -np.inf, "amin": np.inf}


def segment_reduce(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None):
    """Combine the elements of each segment of a dimension: by "sum", "mean", "prod", "max" or "min".

    >>> torch.segment_reduce(torch.tensor([1., 2., 3.]), "sum", lengths=torch.tensor([1, 2]))
    tensor([1., 5.])
    """
    check_tensor("segment_reduce", data)
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    if reduce not in STARTS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if data._spec.dtype.category < dtypes.FLOAT:
        raise NotImplementedError(f"\"_segment_reduce_cpu\" not implemented for '{data._spec.dtype.title}'")
    given, word = (lengths, "lengths") if lengths is not None else (offsets, "offsets")
    check_tensor("segment_reduce", given, word)
    if given._spec.dtype not in (dtypes.int64, dtypes.int32):
        raise NotImplementedError(
            f"\"_segment_reduce_{word}_cpu_kernel1\" not implemented for '{given._spec.dtype.title}'"
        )
    axis = axis + len(data.shape) if axis < 0 else axis
    if axis != len(given.shape) - 1:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of {word} but got {axis}.")
    sizes = given._array if type(given._array) is np.ndarray else given._array.dynamic("segment_reduce")._array
    first = 0
    if lengths is None:
        first, sizes = sizes[..., :1], np.diff(sizes, axis=-1)
    elif not unsafe:
        if sizes.min() < 0:
            raise RuntimeError("lengths contains negative value!")
        if (sizes.sum(-1) != data.shape[axis]).any():
            raise RuntimeError(
                "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe."
            )
    return _combined(data, reduce, sizes, first, axis, initial)


def _combined(data, reduce, sizes, first, axis, initial):
    """The reduction, as a scatter of every element to its segment; what is in none goes to one more, which is dropped."""
    count, n, rank = sizes.shape[-1], data.shape[axis], len(data.shape)
    places = np.arange(n)
    ends = first + np.cumsum(sizes, -1)
    segment = (places[..., None] >= ends[..., None, :]).sum(-1) if count else np.zeros((*sizes.shape[:-1], n), np.int64)
    if isinstance(first, np.ndarray):
        segment = np.where(places < first, count, segment)
    shape = list(data.shape)
    shape[axis] = count + 1
    index = wrap(segment.reshape(*segment.shape, *(1,) * (rank - axis - 1))).expand(data.shape)
    start = STARTS[reduce] if initial is None else initial
    begun = data.new_full(shape, start)
    result = begun.scatter_reduce(
        axis, index, data, "sum" if reduce == "mean" else reduce, include_self=reduce in ("sum", "mean", "prod")
    )
    result = result.narrow(axis, 0, count)
    if reduce in ("amax", "amin"):
        beaten = (result < start) if reduce == "amax" else (result > start)
        result = result.masked_fill(beaten, start)
    if reduce == "mean":
        lengths = wrap(sizes.reshape(*sizes.shape, *(1,) * (rank - axis - 1)))
        if initial is not None:
            lengths = lengths.clamp(min=1)
        result = result / lengths.to(data._spec.dtype)
    return result
