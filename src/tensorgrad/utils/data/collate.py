"""How items become a batch."""

import collections.abc
import copy

import numpy as np

from tensorgrad.tensor import Tensor, wrap

UNKNOWN = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def default_convert(data):
    """NumPy's arrays and numbers inside of a structure as tensors; everything else as it is.

    >>> torch.utils.data.default_convert([0, torch.ones(1)])
    [0, tensor([1.])]
    """
    if isinstance(data, Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)) and not isinstance(data, (np.str_, np.bytes_)):
        from tensorgrad import as_tensor

        return data if data.dtype.kind in "SUO" else as_tensor(data)
    if isinstance(data, collections.abc.Mapping):
        return like_mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, tuple):
        return [default_convert(item) for item in data]
    if isinstance(data, collections.abc.Sequence) and not isinstance(data, (str, bytes)):
        return like_sequence(data, [default_convert(item) for item in data])
    return data


def like_mapping(example, items):
    """A mapping of the type of `example` with these items."""
    try:
        if isinstance(example, collections.abc.MutableMapping):
            made = copy.copy(example)  # it may have properties that its class alone does not give
            made.update(items)
            return made
        return type(example)(items)
    except TypeError:
        return items


def like_sequence(example, items):
    """A sequence of the type of `example` with these items."""
    try:
        if isinstance(example, collections.abc.MutableSequence):
            made = copy.copy(example)
            for i, item in enumerate(items):
                made[i] = item
            return made
        return type(example)(items)
    except TypeError:
        return items


def collate(batch, *, collate_fn_map=None):
    """A batch of items: what the map says for their type, and structures entry by entry."""
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        if kind in collate_fn_map:
            return collate_fn_map[kind](batch, collate_fn_map=collate_fn_map)
        for known, function in collate_fn_map.items():
            if isinstance(first, known):
                return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, collections.abc.Mapping):
        joined = {key: collate([item[key] for item in batch], collate_fn_map=collate_fn_map) for key in first}
        return like_mapping(first, joined)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)))
    if isinstance(first, collections.abc.Sequence):
        if any(len(item) != len(first) for item in batch):
            lengths = sorted({len(item) for item in batch})
            raise RuntimeError(
                f"each element in list of batch should be of equal size\nThe items have lengths {lengths}: give a "
                "collate_fn that pads them."
            )
        columns = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)]
        return columns if isinstance(first, tuple) else like_sequence(first, columns)
    raise TypeError(UNKNOWN.format(kind))


def collate_tensor_fn(batch, *, collate_fn_map=None):
    """Tensors, stacked."""
    from tensorgrad import stack

    first = batch[0]
    spec, array = first._spec, first._array
    if (
        type(array) is np.ndarray
        and array.ndim
        and not spec.inference
        and not spec.names
        and all([type(t) is Tensor and t._spec is spec and t._node is None for t in batch])
    ):  # the usual case: plain data of one shape
        return wrap(np.concatenate([t._array for t in batch]).reshape(len(batch), *array.shape))
    return stack(list(batch), 0)


def collate_numpy_array_fn(batch, *, collate_fn_map=None):
    """NumPy arrays, stacked as tensors."""
    from tensorgrad import as_tensor

    if batch[0].dtype.kind in "SUO":
        raise TypeError(UNKNOWN.format(batch[0].dtype))
    return collate([as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch, *, collate_fn_map=None):
    """NumPy's numbers."""
    from tensorgrad import as_tensor

    return as_tensor(np.asarray(batch))


def collate_float_fn(batch, *, collate_fn_map=None):
    """Python's floats, in double precision."""
    from tensorgrad import float64, tensor

    if all([type(number) is float for number in batch]):
        return wrap(np.array(batch))
    return tensor(batch, dtype=float64)


def collate_int_fn(batch, *, collate_fn_map=None):
    """Python's integers and truth values."""
    from tensorgrad import tensor

    if all([type(number) is int and -(2**63) <= number < 2**63 for number in batch]):
        return wrap(np.array(batch, np.int64))
    return tensor(batch)


def collate_str_fn(batch, *, collate_fn_map=None):
    """Text stays a list."""
    return batch


default_collate_fn_map = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch):
    """A batch of items: tensors are stacked, numbers become tensors, structures keep their form.

    >>> torch.utils.data.default_collate([{"x": 1, "y": "a"}, {"x": 2, "y": "b"}])
    {'x': tensor([1, 2]), 'y': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
