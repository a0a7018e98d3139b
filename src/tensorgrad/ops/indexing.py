"""Reading and writing by index: x[...], x[...] = y, index_put. gather is in selection.py, scatter in scattering.py.

`x[...]` is done as PyTorch does it, in two steps: first the ints, slices, None and ... make a view; then the tensors, lists
and masks pick from that view. NumPy takes both together, and its result shapes differ.
"""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.backends.scatter import index_add_into, take
from tensorgrad.ops import fitting
from tensorgrad.ops.both import number, xp
from tensorgrad.ops.both import tensors as _tensor_functions
from tensorgrad.ops.fitting import INTS
from tensorgrad.ops.primitive import Primitive, wrap
from tensorgrad.ops.shape import _alias, _index, _new_axis, _select

ndarray = np.ndarray
WHOLE = slice(None)


# Picking by tensors


def _take(arrays, places):
    x, *indices = arrays
    if len(indices) == 1 and x.flags.c_contiguous and indices[0].dtype.kind == "i":
        return take(x, indices[0], places[0])
    picked = x[_layout(indices, places)]
    return picked if picked.flags.c_contiguous else np.ascontiguousarray(picked)


def _layout(indices, places):
    """The NumPy index that has `indices` at the dimensions `places`."""
    index = [WHOLE] * (places[-1] + 1)
    for place, array in zip(places, indices, strict=True):
        index[place] = array
    return tuple(index)


def _take_back(g, specs, rest, places):
    return (xp.put_zeros(g, rest, specs[0], places), *(None for _ in rest))


_take_primitive = Primitive(
    "index", _take, arity=None, pullback=_take_back, linear=True, fresh=True, params=("places",)
)


def _put_zeros(arrays, spec, places):
    g, *indices = arrays
    whole = np.zeros(spec.shape, g.dtype)
    _add_at(whole, _layout(indices, places), g)
    return whole


def _add_at(whole, index, values):
    """whole[index] += values with repeated indices counted."""
    if not values.size:
        return
    if len(index) == 1 and index[0].ndim and values.ndim > index[0].ndim:
        return index_add_into(whole, 0, index[0].reshape(-1), values.reshape(-1, *values.shape[index[0].ndim :]))
    np.add.at(whole, index, values)


_put_zeros_primitive = Primitive(
    "put_zeros", _put_zeros, arity=None, linear=True, fresh=True, params=("spec", "places"),
    pullback=lambda h, rest, places: (_take_primitive((h, *rest), places), *(None for _ in rest)), on_tensors=True,
)  # fmt: skip


@number
def put_zeros(g, indices, spec, places):
    """Zeros with `g` added at the indices."""
    return _put_zeros((g, *indices), spec, places)


_tensor_functions["put_zeros"] = lambda g, indices, spec, places: _put_zeros_primitive(
    (g, *(i if isinstance(i, fitting.Tensor) else wrap(i) for i in indices)), spec, places
)


# Understanding an index


def parse(x, index):
    """The two steps of an index: a NumPy index that makes a view, and the arrays (with their dims) that pick from it.

    Returns (basic index or None, [array or Tensor, ...], [dim, ...], name of the last view step).
    """
    shape = x._spec.shape
    items = index if type(index) is tuple else (index,) if not _is_sequence_index(index) else tuple(index)
    used = sum(_consumes(item) for item in items)
    if used > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)}")
    basic, arrays, places, dim, out, last = [], [], [], 0, 0, "alias"
    for item in items:
        kind = type(item)
        if kind is int or (isinstance(item, np.integer)):
            item, n = int(item), shape[dim]
            if not -n <= item < n:
                raise IndexError(f"index {item} is out of bounds for dimension {dim} with size {n}")
            basic.append(item)
            dim, last = dim + 1, "select"
        elif kind is slice:
            basic.append(_slice(item))
            if item != WHOLE:
                last = "slice"
            dim, out = dim + 1, out + 1
        elif item is None:
            basic.append(None)
            out, last = out + 1, "new_axis"
        elif item is Ellipsis:
            skip = len(shape) - used
            basic.extend([WHOLE] * skip)
            dim, out = dim + skip, out + skip
        elif kind is bool or isinstance(item, np.bool_):
            basic.append(None)
            arrays.append(np.zeros(1 if item else 0, np.int64))
            places.append(out)
            out, last = out + 1, "new_axis"
        else:
            item = _as_index(item)
            if isinstance(item, int):  # a 0-d integer tensor selects, as a number does
                n = shape[dim]
                if not -n <= item < n:
                    raise IndexError(f"index {item} is out of bounds for dimension {dim} with size {n}")
                basic.append(item)
                dim, last = dim + 1, "select"
                continue
            found = item._array if isinstance(item, fitting.Tensor) else item
            if found.dtype.kind == "b" and type(found) is ndarray:
                for d, n in enumerate(found.shape):
                    if shape[dim + d] != n:
                        raise IndexError(
                            f"The shape of the mask {list(found.shape)} at index {d} does not match the shape of the "
                            f"indexed tensor {list(shape)} at index {dim + d}"
                        )
                if found.ndim == 0:
                    basic.append(None)
                    arrays.append(np.zeros(1 if found else 0, np.int64))
                    places.append(out)
                    out += 1
                    continue
                for nonzero in found.nonzero():
                    basic.append(WHOLE)
                    arrays.append(nonzero)
                    places.append(out)
                    dim, out = dim + 1, out + 1
                continue
            if type(found) is ndarray and found.size:
                n, low, high = shape[dim], found.min(), found.max()
                if low < -n or high >= n:
                    bad = low if low < -n else high
                    raise IndexError(f"index {bad} is out of bounds for dimension {dim} with size {n}")
            basic.append(WHOLE)
            arrays.append(item)
            places.append(out)
            dim, out = dim + 1, out + 1
    return basic, arrays, places, last


def _consumes(item):
    """How many dimensions of the tensor an item of an index takes up."""
    if item is None or item is Ellipsis or isinstance(item, (bool, np.bool_)):
        return 0
    if isinstance(item, fitting.Tensor):
        return len(item.shape) if item._spec.dtype in (dtypes.bool_, dtypes.uint8) else 1
    if isinstance(item, ndarray) and item.dtype.kind == "b":
        return item.ndim
    if isinstance(item, (list, tuple)):
        flat = np.asarray(item) if not any(isinstance(i, fitting.Tensor) for i in item) else None
        return flat.ndim if flat is not None and flat.dtype.kind == "b" else 1
    return 1


def _is_sequence_index(index):
    """Whether a list is meant as a tuple of indices: PyTorch takes it so when it holds slices, None or sequences."""
    if not isinstance(index, list) or len(index) >= 32:
        return False
    return any(isinstance(i, (slice, list, tuple, fitting.Tensor)) or i is None or i is Ellipsis for i in index)


def _slice(item):
    start, stop, step = (None if v is None else _slice_bound(v) for v in (item.start, item.stop, item.step))
    if step is not None and step <= 0:
        raise ValueError("step must be greater than zero")
    return slice(start, stop, step)


def _slice_bound(value):
    if type(value) is int:
        return value
    if isinstance(value, (float, complex, str)) or not hasattr(value, "__index__"):
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    return value.__index__()


def _as_index(item):
    """A tensor, list or array as an index: an int, or an array (a Tensor when a transform or a gradient may ask)."""
    if isinstance(item, fitting.Tensor):
        d = item._spec.dtype
        if d.category >= dtypes.FLOAT or d in (dtypes.uint16, dtypes.uint32, dtypes.uint64):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        if type(item._array) is not ndarray:
            return item if d not in (dtypes.bool_, dtypes.uint8) else _as_index(item._array.dynamic("mask"))
        if d is dtypes.uint8:
            import warnings

            warnings.warn(
                "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.",
                stacklevel=4,
            )
            return item._array.astype(bool)
        if not item._spec.shape and d is not dtypes.bool_:
            return int(item._array)
        return item
    if isinstance(item, ndarray):
        return _as_index(wrap(item)) if item.ndim or item.dtype.kind == "b" else int(item)
    if isinstance(item, (list, tuple, range)):
        from tensorgrad.ops.creation import tensor

        made = tensor([int(i) if isinstance(i, fitting.Tensor) and not i.shape else i for i in item])
        return _as_index(made) if made._spec.size else made._array.astype(np.int64)
    if isinstance(item, str):
        raise TypeError("new(): invalid data type 'str'")
    if hasattr(item, "__index__"):
        return item.__index__()
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
        f"{type(item).__name__})"
    )


_VIEWS = {"slice": _index, "select": _select, "new_axis": _new_axis, "alias": _alias}
PLACES = (dtypes.int64, dtypes.int32)
SIMPLE = frozenset({int, slice, type(None), type(Ellipsis)})
BOUNDS = frozenset({int, type(None)})


def _basic(shape, items):
    """The view primitive and its parameters where an index has only ints, slices, None and ..., and nothing is wrong."""
    if not SIMPLE.issuperset(map(type, items)):
        return None
    last, dim, ndim = _alias, 0, len(shape)
    if Ellipsis in items:
        place, used = items.index(Ellipsis), len(items) - items.count(None) - 1
        items = (*items[:place], *(WHOLE,) * (ndim - used), *items[place + 1 :])
    for item in items:
        kind = type(item)
        if kind is int:
            if dim == ndim:
                return None
            n = shape[dim]
            if not -n <= item < n:
                return None
            dim, last = dim + 1, _select
        elif kind is slice:
            start, stop, step = item.start, item.stop, item.step
            if not BOUNDS.issuperset((type(start), type(stop), type(step))) or (step is not None and step <= 0):
                return None
            if start is not None or stop is not None or step is not None:
                last = _index
            dim += 1
        elif item is None:
            last = _new_axis
        else:  # a second ...
            return None
    return (last, ((*items, ...),)) if dim <= ndim else None


def _is_places(item):
    """Whether an item of an index is a tensor of places along one dimension, whose numbers are at hand."""
    return (
        isinstance(item, fitting.Tensor)
        and type(item._array) is ndarray
        and item._array.ndim > 0
        and item._spec.dtype in PLACES
    )


def getitem(self, index):
    """x[index], with PyTorch's result shapes.

    >>> x = torch.arange(6).view(2, 3); x[0, [True, False, True]]
    tensor([0, 2])
    """
    kind, shape = type(index), self._spec.shape
    if kind is tuple or kind in SIMPLE:  # the commonest
        found = _basic(shape, index if kind is tuple else (index,))
        if found is not None:
            view, params = found
            return (_index if kind is slice else view)(self, params)
    elif kind is list and index and INTS.issuperset(map(type, index)):
        try:
            index = wrap(np.array(index, np.int64))
        except OverflowError:
            raise ValueError("Overflow when unpacking long long") from None
    places = index if kind is tuple else (index,)
    if (
        0 < len(places) <= len(shape)
        and self._spec.size
        and type(self._array) is ndarray
        and all(map(_is_places, places))
    ):
        return _taken(self, places, tuple(range(len(places))))  # NumPy looks for what is out of bounds
    if not self._spec.shape and index not in ((), None, Ellipsis) and not _mask_like(index):
        raise (
            IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
                "0-dim tensor to a number"
            )
            if type(index) is not tuple
            else IndexError("too many indices for tensor of dimension 0")
        )
    basic, arrays, places, last = parse(self, index)
    if type(index) is slice:
        last = "slice"
    viewed = (
        self if arrays and all(b == WHOLE and type(b) is slice for b in basic) else _VIEWS[last](self, ((*basic, ...),))
    )
    if not arrays:
        return viewed
    return _pick(viewed, arrays, places)


def _mask_like(index):
    return isinstance(index, (bool, tuple)) or (isinstance(index, fitting.Tensor) and index._spec.dtype is dtypes.bool_)


def _pick(x, arrays, places):
    return _taken(x, [a if isinstance(a, fitting.Tensor) else wrap(a) for a in arrays], tuple(places))


def _taken(x, indices, places):
    try:
        return _take_primitive.apply((x, *indices), (places,))
    except (IndexError, ValueError) as error:
        raise _index_error(error, indices) from None


def _index_error(error, arrays):
    if "broadcast" in str(error):
        shapes = ", ".join(str(list(a.shape)) for a in arrays)
        return IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}")
    return IndexError(str(error).replace("axis", "dimension"))


def setitem(self, index, value):
    """x[index] = value, recorded like every operation.

    >>> x = torch.zeros(3); x[1:] = torch.tensor([5., 6.]); x
    tensor([0., 5., 6.])
    """
    if not isinstance(value, fitting.Tensor) and not fitting.is_number(value):
        raise TypeError(f"can't assign a {fitting.kind_name(value)} to a {self.type()}")
    if not self._spec.shape and index not in ((), None, Ellipsis) and not _mask_like(index):
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
            "0-dim tensor to a number"
        )
    found = _basic(self._spec.shape, index if type(index) is tuple else (index,))
    if not isinstance(value, fitting.Tensor):
        dtype = self._spec.dtype
        value = wrap(fitting.exact_number(value, dtype, halves=False) if dtype.category else np.asarray(value != 0))
    if found is not None:
        view, params = found
        target = self if view is _alias else view(self, params)
        target.copy_(_trim(value, target._spec.shape) if value._spec.shape else value)
        return
    basic, arrays, places, last = parse(self, index)
    direct = all(b == WHOLE and type(b) is slice for b in basic)
    target = self if direct else _VIEWS[last](self, ((*basic, ...),))
    if not arrays:
        target.copy_(_trim(value, target.shape))
    else:
        index_put_(target, arrays, value, places=places)


def _trim(value, shape):
    """Without the leading dimensions of size 1 that the target has not."""
    extra = len(value.shape) - len(shape)
    if extra > 0 and all(n == 1 for n in value.shape[:extra]):
        return value.reshape(tuple(value.shape)[extra:])
    if extra > 0:
        raise RuntimeError(
            f"expand({value.type()}{{{list(value.shape)}}}, size={list(shape)}): the number of sizes provided ({len(shape)}) "
            f"must be greater or equal to the number of dimensions in the tensor ({len(value.shape)})"
        )
    for dim, (n, m) in enumerate(zip(shape[-extra:] if extra else shape, value.shape, strict=True)):
        if m not in (n, 1):
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({m}) at non-singleton dimension "
                f"{dim - extra}.  Target sizes: {list(shape)}.  Tensor sizes: {list(value.shape)}"
            )
    return value


# Writing


def _put(arrays, places, accumulate, inplace=False):
    x, values, *indices = arrays
    if not inplace:
        x = x.copy()
    index = _layout(indices, places)
    if accumulate:
        np.add.at(x, index, values.astype(x.dtype, copy=False))
    else:
        x[index] = values
    return x


def _put_back(g, specs, rest, places, accumulate):
    indices = rest
    taken = xp.take_at(g, tuple(indices), places)
    value = fitting.fit_array(taken, specs[1]) if isinstance(taken, ndarray) else fitting.fit_tensor(taken, specs[1])
    own = g * 1 if accumulate else xp.put_zero(g, tuple(indices), places)
    return (own, value, *(None for _ in indices))


@number
def take_at(g, indices, places):
    return np.asarray(g)[_layout(indices, places)]


@number
def put_zero(g, indices, places):
    g = g.copy()
    g[_layout(indices, places)] = 0
    return g


_tensor_functions["take_at"] = lambda g, indices, places: _take_primitive(
    (g, *(i if isinstance(i, fitting.Tensor) else wrap(i) for i in indices)), places
)
_tensor_functions["put_zero"] = lambda g, indices, places: _put_primitive(
    (g, g.new_zeros(()), *(i if isinstance(i, fitting.Tensor) else wrap(i) for i in indices)), places, False
)


class IndexPut(Primitive):
    """index_put: any number of index tensors; in place it writes into the first."""

    def inplace_all(self, inputs, params):
        arrays = [t._array for t in inputs]
        return self.inplace(inputs, params, compute=lambda: self.kernel(arrays, *params, True))


_put_primitive = IndexPut("index_put", _put, arity=None, pullback=_put_back, params=("places", "accumulate"), fresh=True,
                          rest_from=2)  # fmt: skip


def index_put_(input, indices, values, accumulate=False, places=None):
    """Write `values` at the places that the index tensors name (or add them).

    >>> x = torch.zeros(3); x.index_put_((torch.tensor([0, 2]),), torch.tensor([1., 2.]))
    tensor([1., 0., 2.])
    """
    arrays, places = _put_operands(input, indices, places)
    values = _put_values(input, values)
    try:
        return _put_primitive.inplace_all((input, values, *arrays), (tuple(places), accumulate))
    except (IndexError, ValueError) as error:
        raise _put_error(error, input, values, arrays, places) from None


def index_put(input, indices, values, accumulate=False):
    """A copy with `values` at the places that the index tensors name (or added there).

    >>> torch.index_put(torch.zeros(3), (torch.tensor([0, 2]),), torch.tensor([1., 2.]))
    tensor([1., 0., 2.])
    """
    arrays, places = _put_operands(input, indices, None)
    values = _put_values(input, values)
    try:
        return _put_primitive((input, values, *arrays), tuple(places), accumulate)
    except (IndexError, ValueError) as error:
        raise _put_error(error, input, values, arrays, places) from None


def _put_operands(input, indices, places):
    if places is None:
        basic, arrays, places, _ = parse(input, tuple(WHOLE if i is None else i for i in indices))
        if len(arrays) != sum(b == WHOLE for b in basic if type(b) is slice) and any(type(b) is int for b in basic):
            arrays = [np.asarray(b) for b in basic if type(b) is int] + list(arrays)
            places = list(range(len(arrays)))
    else:
        arrays = indices
    return tuple(a if isinstance(a, fitting.Tensor) else wrap(np.asarray(a)) for a in arrays), places


def _put_values(input, values):
    if values._spec.dtype is not input._spec.dtype:
        if values._spec.shape:
            raise RuntimeError(
                "Index put requires the source and destination dtypes match, got "
                f"{input._spec.dtype.title} for the destination and {values._spec.dtype.title} for the source."
            )
        values = values.to(input._spec.dtype)
    return values


def _put_error(error, input, values, arrays, places):
    if "broadcast" in str(error) or "shape mismatch" in str(error):
        try:
            target = list(np.empty(input.shape, bool)[_layout([a._array for a in arrays], places)].shape)
        except (IndexError, ValueError):
            return _index_error(error, arrays)
        return RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of shape {target}"
        )
    return _index_error(error, arrays)


class IndexingMixin:
    """x[...], x[...] = y, and writing by index tensors."""

    __slots__ = ()

    __getitem__, __setitem__ = getitem, setitem
    index_put, index_put_ = index_put, index_put_

    def __delitem__(self, index):
        raise TypeError("Tensor does not support deleting items")
