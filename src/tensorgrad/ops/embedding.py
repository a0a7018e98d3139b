"""Tables of vectors looked up by number: embedding, embedding_bag, one_hot.

Looking up is linear in the table; its transpose adds rows at their numbers. Sums over bags are that transpose again, with
the number of the bag as place.
"""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.autograd.modes import mode
from tensorgrad.autograd.views import alias_of
from tensorgrad.backends.scatter import index_add_into, take, within
from tensorgrad.ops.both import number, tensors, xp
from tensorgrad.ops.fitting import check_tensor, check_writable
from tensorgrad.ops.primitive import Primitive, wrap

PUBLIC = {
    "": "embedding=torch_embedding embedding_bag=torch_embedding_bag embedding_renorm_",
    "nn.functional": "embedding embedding_bag one_hot",
}


@number
def add_rows(g, index, rows):
    """g (*index.shape, n) added up in a table of `rows` rows."""
    whole = np.zeros((rows, g.shape[-1]), g.dtype)
    index_add_into(whole, 0, index.reshape(-1), g.reshape(-1, g.shape[-1]))
    return whole


@number
def scale_rows(table, index, padding_idx, by_count):
    """Rows of a gradient divided by how often they were looked up; that of the padding is zero."""
    if by_count:
        table /= np.maximum(np.bincount(index.reshape(-1), minlength=len(table)), 1).astype(table.dtype)[:, None]
    if padding_idx is not None:
        table[padding_idx] = 0
    return table


def _scale_rows(table, index, padding_idx, by_count):
    if by_count:
        counts = _add_rows(table.detach().new_ones((*index.shape, 1)), index, table.shape[0])
        table = table / counts.clamp_min(1)
    if padding_idx is not None:
        places = wrap(np.arange(table.shape[0]) == padding_idx)
        table = table.masked_fill(places.unsqueeze(1), 0)
    return table


tensors["scale_rows"] = _scale_rows


def _offset(index, there, table_rows, size):
    """Numbers into the tables of all rows laid one after another."""
    first = np.arange(size) * table_rows
    if not there:
        index = index.unsqueeze(0)
    return index + wrap(first.reshape(size, *(1,) * (len(index._spec.shape) - 1)))


def _batch_look_up(apply, values, batched, params, size):
    table, index = values
    if not batched[0]:
        return apply((table, index), params)
    rows, count, width = table._spec.shape
    return apply((table.reshape(rows * count, width), _offset(index, batched[1], count, size)), params)


def _batch_add_rows(apply, values, batched, params, size):
    g, index = values
    (rows,) = params
    if not batched[0]:
        g = g.expand(size, *g._spec.shape)
    index = _offset(index, batched[1], rows, size)
    return apply((g, index), (rows * size,)).reshape(size, rows, g._spec.shape[-1])


_add_rows = Primitive(
    "add_rows", add_rows, arity=2, fresh=True, multilinear=True, batch=_batch_add_rows, node="EmbeddingDenseBackward0",
    rules={"g": lambda h, index: xp.look_up(h, index, None, False)},
)  # fmt: skip
_look_up = Primitive(
    "look_up", lambda table, index, padding_idx, by_count: take(table, index), arity=2, fresh=True, batch=_batch_look_up,
    node="EmbeddingBackward0",
    rules={"table": lambda g, table_spec, index, padding_idx, by_count: xp.scale_rows(
        xp.add_rows(g, index, table_spec.shape[0]), index, padding_idx, by_count)},
    pushforward=lambda t_table, index, padding_idx, by_count: _look_up(t_table, index, padding_idx, by_count),
)  # fmt: skip


@number
def look_up(table, index, padding_idx, by_count):
    return take(table, index)


def _check_indices(name, indices):
    dtype = indices._spec.dtype
    if dtype is not dtypes.int64 and dtype is not dtypes.int32:
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{indices._spec.dtype.title}Tensor instead (while checking arguments for {name})"
        )


def _out_of_range(indices, rows):
    """The first number that is not in the table, or None; unknown inside transforms."""
    array = indices._array
    if type(array) is not np.ndarray or within(array, rows):
        return None
    return int(array[(array < 0) | (array >= rows)].flat[0])


def torch_embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """Rows of a table by their numbers: `nn.functional.embedding` with its arguments in another order.

    >>> torch.embedding(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([1]))
    tensor([[3., 4.]])
    """
    check_tensor("embedding", weight, "weight", 1)
    check_tensor("embedding", indices, "indices", 2)
    return _embedded(weight, indices, padding_idx, scale_grad_by_freq, sparse)


def _embedded(weight, indices, padding_idx, scale_grad_by_freq, sparse):
    """Rows of a table by their numbers, checked."""
    if sparse and weight._node is not None:
        raise NotImplementedError("embedding: sparse=True gives a sparse gradient, which is not supported")
    shape = weight._spec.shape
    if len(shape) != 2:
        raise RuntimeError("'weight' must be 2-D")
    rows, _ = shape
    _check_indices("embedding", indices)
    if _out_of_range(indices, rows) is not None:
        raise IndexError("index out of range in self")
    padding_idx = padding_idx if padding_idx is not None and 0 <= padding_idx < rows else None
    return _look_up.apply((weight, indices), (padding_idx, bool(scale_grad_by_freq)))


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """Rows of a table by their numbers.

    >>> table = torch.tensor([[1., 2.], [3., 4.]])
    >>> torch.nn.functional.embedding(torch.tensor([1, 0, 1]), table)
    tensor([[3., 4.],
            [1., 2.],
            [3., 4.]])
    """
    check_tensor("embedding", input)
    check_tensor("embedding", weight, "weight", 2)
    if padding_idx is not None:
        if not -weight.shape[0] <= padding_idx < weight.shape[0] and padding_idx != 0:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= max(weight.shape[0], 1)
    if max_norm is not None:
        embedding_renorm_(weight, input, max_norm, norm_type)
    return _embedded(weight, input, padding_idx, scale_grad_by_freq, sparse)


def embedding_renorm_(input, indices, max_norm, norm_type):
    """Shorten, in place, the looked-up rows of a table that are longer than max_norm.

    >>> torch.embedding_renorm_(torch.tensor([[3., 4.], [6., 8.]]), torch.tensor([1]), 5., 2.)
    tensor([[3., 4.],
            [3., 4.]])
    """
    check_tensor("embedding_renorm_", input)
    check_tensor("embedding_renorm_", indices, "indices", 2)
    if type(input._array) is not np.ndarray or type(indices._array) is not np.ndarray:
        raise NotImplementedError("embedding_renorm_: max_norm is not supported inside transforms")
    _check_indices("embedding_renorm_", indices)
    if _out_of_range(indices, input.shape[0]) is not None:
        raise IndexError("index out of range in self")
    check_writable(input)
    table, rows = input._array, np.unique(indices._array)
    work = table[rows].astype(np.float64)
    norms = np.linalg.norm(work, norm_type, axis=1) if norm_type else np.count_nonzero(work, axis=1).astype(float)
    norms = norms.astype(table.dtype).astype(np.float64)
    long = norms > max_norm
    if long.any():
        table[rows[long]] *= (max_norm / (norms[long] + 1e-7)).astype(table.dtype)[:, None]
        alias_of(input).version.bump()
    return input


# Bags


def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean",
                  sparse=False, per_sample_weights=None, include_last_offset=False, padding_idx=None):  # fmt: skip
    """The sum, mean or maximum of the rows in each bag of numbers, without the rows themselves.

    >>> table = torch.tensor([[1., 2.], [3., 4.]])
    >>> torch.nn.functional.embedding_bag(torch.tensor([[0, 1], [1, 1]]), table, mode="sum")
    tensor([[4., 6.],
            [6., 8.]])
    """
    check_tensor("embedding_bag", input)
    check_tensor("embedding_bag", weight, "weight", 2)
    if weight._spec.dtype is dtypes.int64 and input._spec.dtype.is_floating_point:
        import warnings

        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
            "deprecated, and should now be `embedding_bag(input, weight, ...)`.", stacklevel=2,
        )  # fmt: skip
        input, weight = weight, input
    if per_sample_weights is not None and input.shape != per_sample_weights.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights (torch.Size({list(per_sample_weights.shape)})) is not None, then it must "
            f"have the same shape as the input (torch.Size({list(input.shape)}))"
        )
    if len(weight.shape) != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {len(weight.shape)}")
    if len(input.shape) == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. "
                f"However, found offsets of type {type(offsets)}"
            )
        bags, length = input.shape
        offsets = wrap(np.arange(bags, dtype=np.int64) * length)
        include_last_offset, input = False, input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    elif len(input.shape) == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if len(offsets.shape) != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {len(input.shape)}")
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if max_norm is not None:
        embedding_renorm_(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}'). Please open a feature request on GitHub."
        )
    return _bags(
        weight, input, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding_idx
    )[0]


def torch_embedding_bag(weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
                        include_last_offset=False, padding_idx=None):  # fmt: skip
    """`nn.functional.embedding_bag`, with the bag of each number, the sizes of the bags and the rows of the maxima.

    >>> torch.embedding_bag(torch.tensor([[1.], [3.]]), torch.tensor([0, 1, 1]), torch.tensor([0, 1]))[0]
    tensor([[1.],
            [6.]])
    """
    mode = ("sum", "mean", "max")[mode]
    return _bags(
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding_idx
    )


def _bags(weight, indices, offsets, by_count, mode, sparse, sample_weights, include_last, padding_idx):
    _check_indices("embedding_bag", indices)
    if sparse and weight._node is not None:
        raise NotImplementedError("embedding_bag: sparse=True gives a sparse gradient, which is not supported")
    if sample_weights is not None and sample_weights._spec.dtype is not weight._spec.dtype:
        titles = [t._spec.dtype.title for t in (weight, sample_weights)]
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 'per_sample_weights'; but "
            f"type torch.{titles[0]}Tensor does not equal torch.{titles[1]}Tensor (while checking arguments for embedding_bag)"
        )
    wrong = _out_of_range(indices, weight.shape[0])
    if wrong is not None:
        raise RuntimeError(f"Index of input takes value {wrong} which is not in the valid range [0, {weight.shape[0]})")
    if padding_idx is not None:
        if not -weight.shape[0] <= padding_idx < weight.shape[0]:
            raise RuntimeError(f"padding_idx must be within the number of embeddings, but got {padding_idx}")
        padding_idx %= weight.shape[0]
    starts, length = offsets.numpy(), indices._spec.size
    if starts.size and starts[0] != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got "
            f"{starts[0]}"
        )
    if starts.size and starts[-1] > length:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {length} but got offsets[-1] of {starts[-1]}"
        )
    if include_last:
        length, starts = (int(starts[-1]) if starts.size else 0), starts[:-1]
        indices = indices[:length]
        sample_weights = None if sample_weights is None else sample_weights[:length]
    bag_of = np.searchsorted(starts, np.arange(length), "right") - 1
    bags, bag = len(starts), wrap(bag_of)
    real = None if padding_idx is None else indices != padding_idx
    counts = np.bincount(bag_of, minlength=bags) if real is None or type(real._array) is not np.ndarray else np.bincount(
        bag_of, real._array, bags).astype(np.int64)  # fmt: skip
    sizes = wrap(counts)
    if mode == "max":
        places, empty = _largest_rows(
            weight.detach().to(dtypes.float64).numpy(), indices.numpy(), bag_of, bags, padding_idx
        )
        picked = weight.gather(0, wrap(places)) if length else weight.new_zeros((bags, weight.shape[1]))
        return picked.masked_fill(wrap(empty[:, None]), 0), bag, sizes, wrap(np.where(empty[:, None], -1, places))
    rows = _look_up(weight, indices, padding_idx, bool(by_count))
    half = weight._spec.dtype.itemsize == 2
    rows = rows.to(dtypes.float32) if half else rows
    if sample_weights is not None:
        rows = rows * (sample_weights.to(dtypes.float32) if half else sample_weights).unsqueeze(1)
    if real is not None:
        rows = rows.masked_fill(~real.unsqueeze(1), 0)
    total = _add_rows(rows, bag, bags)
    if mode == "mean":
        total = total / sizes.clamp_min(1).unsqueeze(1).to(total.dtype)
    return total.to(weight.dtype) if half else total, bag, sizes, sizes


def _largest_rows(table, indices, bag_of, bags, padding_idx):
    """For each bag and column the row of the largest number (the first of several), and which bags are empty."""
    if padding_idx is not None:
        keep = indices != padding_idx
        indices, bag_of = indices[keep], bag_of[keep]
    empty = np.bincount(bag_of, minlength=bags) == 0
    places = np.zeros((bags, table.shape[1]), np.int64)
    if indices.size:
        rows = table[indices]
        starts = np.flatnonzero(np.diff(bag_of, prepend=-1))
        filled = bag_of[starts]
        largest = np.maximum.reduceat(rows, starts, 0)
        number = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(bag_of)))
        hit = (rows == largest[number]) | np.isnan(rows)
        order = np.where(hit, np.arange(len(rows))[:, None], len(rows))
        places[filled] = indices[np.minimum(np.minimum.reduceat(order, starts, 0), len(rows) - 1)]
    return places, empty


def one_hot(tensor, num_classes=-1):
    """A 1 at the place that each number says, zeros elsewhere.

    >>> torch.nn.functional.one_hot(torch.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    check_tensor("one_hot", tensor)
    if tensor._spec.dtype is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not tensor._spec.size and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    array = tensor._array
    if type(array) is np.ndarray and (num_classes == -1 or not within(array, num_classes)) and array.size:
        if array.min() < 0:
            raise RuntimeError("Class values must be non-negative.")
        if num_classes != -1 and array.max() >= num_classes:
            raise RuntimeError("Class values must be smaller than num_classes.")
    if num_classes == -1:
        num_classes = int(tensor.max().item()) + 1
    if type(array) is np.ndarray and not mode.special:
        rows = np.zeros((array.size, num_classes), np.int64)
        rows[np.arange(array.size), array.reshape(-1)] = 1
        return wrap(rows.reshape(*array.shape, num_classes))
    return (tensor.contiguous().unsqueeze(-1) == wrap(np.arange(num_classes))).to(dtypes.int64)
