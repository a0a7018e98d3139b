"""Reading and writing by index, gather and scatter.

`x[...]` is done as PyTorch does it, in two steps: first the ints, slices, None and ... make a view; then the tensors, lists
and masks pick from that view. NumPy takes both together, and its result shapes differ.
"""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops import fitting
from tensorgrad.ops.both import number, xp
from tensorgrad.ops.both import tensors as _tensor_functions
from tensorgrad.ops.fitting import check_tensor, dim_of
from tensorgrad.ops.primitive import Primitive, wrap
from tensorgrad.ops.shape import _alias, _index, _new_axis, _select

ndarray = np.ndarray
WHOLE = slice(None)


# Picking by tensors


def _take(arrays, places):
    x, *indices = arrays
    return x[_layout(indices, places)]


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
    if len(index) == 1 and index[0].ndim and values.ndim > index[0].ndim:
        from tensorgrad.backends.scatter import index_add_into

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


def getitem(self, index):
    """x[index], with PyTorch's result shapes.

    >>> x = torch.arange(6).view(2, 3); x[0, [True, False, True]]
    tensor([0, 2])
    """
    if type(index) is int:  # the commonest
        shape = self._spec.shape
        if not shape:
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
                "0-dim tensor to a number"
            )
        if not -shape[0] <= index < shape[0]:
            raise IndexError(f"index {index} is out of bounds for dimension 0 with size {shape[0]}")
        return _select(self, ((index, ...),))
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
    try:
        tensors = tuple(a if isinstance(a, fitting.Tensor) else wrap(a) for a in arrays)
        return _take_primitive((x, *tensors), tuple(places))
    except (IndexError, ValueError) as error:
        raise _index_error(error, arrays) from None


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
    if not isinstance(value, fitting.Tensor):
        if not fitting.is_number(value):
            raise TypeError(f"can't assign a {fitting.kind_name(value)} to a {self.type()}")
    if not self._spec.shape and index not in ((), None, Ellipsis) and not _mask_like(index):
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
            "0-dim tensor to a number"
        )
    basic, arrays, places, last = parse(self, index)
    if not isinstance(value, fitting.Tensor):
        if isinstance(value, complex) and not self._spec.dtype.is_complex:
            raise RuntimeError("value cannot be converted to type float without overflow")
        value = wrap(np.asarray(value).astype(self._spec.dtype.numpy))
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
    own = g if accumulate else xp.put_zero(g, tuple(indices), places)
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


def _copy_kernel(a, b, inplace=False):
    if not inplace:
        a = np.empty_like(a)
    np.copyto(a, b, casting="unsafe")
    return a


def _fit_either(g, spec):
    return fitting.fit_array(g, spec) if isinstance(g, (ndarray, np.generic)) else fitting.fit_tensor(g, spec)


_copy = Primitive(
    "copy", _copy_kernel, arity=2, params=(), node="CopyBackwards", mutates=True, fresh=False,
    rules={"a": lambda g: xp.zeros_like(g), "b": lambda g, b_spec: _fit_either(g, b_spec)},
)  # fmt: skip


def copy_(self, src, non_blocking=False):
    """Write the elements of `src`, broadcast and converted, into this tensor.

    >>> torch.zeros(2).copy_(torch.tensor([1, 2]))
    tensor([1., 2.])
    """
    check_tensor("copy_", src, "other", 1)
    if type(src._array) is ndarray and type(self._array) is ndarray:
        if src.shape != self.shape:
            fit = len(src.shape) <= len(self.shape) and all(
                n in (1, m) for n, m in zip(reversed(src.shape), reversed(self.shape), strict=False)
            )
            if not fit:
                raise fitting.broadcast_error((self, src)) or RuntimeError(
                    f"output with shape {list(self.shape)} doesn't match the broadcast shape "
                    f"{list(fitting.broadcast_shapes(self.shape, src.shape))}"
                )
    return _copy.inplace((self, src), ())


def _fill_kernel(a, b, inplace=False):
    if not inplace:
        a = np.empty_like(a)
    a[...] = b
    return a


_fill = Primitive(
    "fill", _fill_kernel, arity=2, params=(), mutates=True, node="FillBackward1",
    rules={"a": lambda g: xp.zeros_like(g), "b": lambda g, b_spec: _fit_either(g, b_spec)},
)  # fmt: skip


def fill_(self, value):
    """Set every element to one value.

    >>> torch.zeros(2).fill_(3)
    tensor([3., 3.])
    """
    if isinstance(value, fitting.Tensor):
        if value._spec.shape:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {len(value.shape)} dimensions."
            )
    else:
        value = wrap(fitting.number_array(value, self._spec.dtype))
    return _fill.inplace((self, value), ())


def zero_(self):
    """Set every element to zero.

    >>> torch.ones(2).zero_()
    tensor([0., 0.])
    """
    return fill_(self, 0)


# gather and scatter


def _same_index(input, index, dim, name):
    check_tensor(name, index, "index", 3)
    if index._spec.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    dim = dim_of(dim, len(input._spec.shape))
    if len(index._spec.shape or (1,)) != len(input._spec.shape or (1,)) and index._spec.size:
        raise RuntimeError(
            "Index tensor must have the same number of dimensions as "
            + ("input" if name == "gather" else "self")
            + " tensor"
        )
    if type(index._array) is ndarray and index._spec.size and input._spec.shape:
        n = input.shape[dim]
        low, high = index._array.min(), index._array.max()
        if low < 0 or high >= n:
            raise RuntimeError(f"index {low if low < 0 else high} is out of bounds for dimension {dim} with size {n}")
    return dim


def _open_grid(index, dim):
    """The NumPy index that has `index` at `dim` and every position's own number elsewhere."""
    grid = list(np.ogrid[tuple(slice(n) for n in index.shape)]) if index.ndim else []
    if grid:
        grid[dim] = index
    return tuple(grid)


def _gather_kernel(x, index, dim):
    return x[_open_grid(index, dim)] if index.ndim else (x if not x.ndim else x[index])


def _scatter_add_kernel(x, index, src, dim, inplace=False):
    if not inplace:
        x = x.copy()
    part = src[tuple(slice(n) for n in index.shape)] if index.ndim else src
    np.add.at(x, _open_grid(index, dim) or (...,), part)
    return x


_gather = Primitive(
    "gather", _gather_kernel, arity=2, params=("dim",), fresh=True,
    rules={"x": lambda g, x_spec, index, dim: xp.scatter_zeros(g, index, x_spec, dim)},
)  # fmt: skip
_scatter_zeros = Primitive(
    "scatter_zeros", lambda g, index, spec, dim: scatter_zeros(g, index, spec, dim), arity=2, params=("spec", "dim"),
    rules={"g": lambda h, index, dim: xp.gather_at(h, index, dim)}, fresh=True,
)  # fmt: skip


@number
def scatter_zeros(g, index, spec, dim):
    return _scatter_add_kernel(np.zeros(spec.shape, g.dtype), index, np.asarray(g), dim, True)


@number
def gather_at(h, index, dim):
    return _gather_kernel(h, index, dim)


_tensor_functions["gather_at"] = lambda h, index, dim: _gather(h, index, dim)

_scatter_add = Primitive(
    "scatter_add", _scatter_add_kernel, arity=3, params=("dim",), mutates=True, fresh=False,
    rules={"x": lambda g: g, "src": lambda g, index, src_spec, dim: xp.gather_fit(g, index, src_spec, dim)},
)  # fmt: skip


@number
def gather_fit(g, index, spec, dim):
    """The gradient of a source, of which `index` may use only the first part of each dimension."""
    part = _gather_kernel(g, index, dim)
    if part.shape == spec.shape:
        return part
    whole = np.zeros(spec.shape, g.dtype)
    whole[tuple(slice(n) for n in part.shape)] = part
    return whole


def _gather_fit_tensor(g, index, spec, dim):
    part = _gather(g, index, dim)
    if part.shape == spec.shape:
        return part
    whole = part.new_zeros(spec.shape)
    whole[tuple(slice(n) for n in part.shape)] = part
    return whole


_tensor_functions["gather_fit"] = _gather_fit_tensor


def _scatter_kernel(x, index, src, dim, inplace=False):
    if not inplace:
        x = x.copy()
    part = src[tuple(slice(n) for n in index.shape)] if src.ndim else src
    x[_open_grid(index, dim) or (...,)] = part
    return x


_scatter = Primitive(
    "scatter", _scatter_kernel, arity=3, params=("dim",), mutates=True, fresh=False,
    rules={
        "x": lambda g, index, dim: xp.zero_at(g, index, dim),
        "src": lambda g, index, src_spec, dim: xp.gather_fit(g, index, src_spec, dim),
    },
)  # fmt: skip


@number
def zero_at(g, index, dim):
    g = g.copy()
    g[_open_grid(index, dim) or (...,)] = 0
    return g


_tensor_functions["zero_at"] = lambda g, index, dim: _scatter(g, index, g.new_zeros(index.shape), dim)


def gather(input, dim, index, *, sparse_grad=False, out=None):
    """out[i][j] = input[index[i][j]][j] for dim 0, and likewise for the others.

    >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """
    check_tensor("gather", input)
    if sparse_grad:
        raise NotImplementedError("gather: sparse_grad=True is not supported: tensorgrad has no sparse tensors")
    dim = _same_index(input, index, dim, "gather")
    for d, (n, m) in enumerate(zip(index.shape, input.shape, strict=False)):
        if d != dim and n > m:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(index.shape)} to be no larger than self "
                f"{list(input.shape)} apart from dimension {dim}"
            )
    if out is not None:
        return fitting.write_out(out, "gather", (input,), lambda: _gather(input, index, dim))
    return _gather(input, index, dim)


def _scatter_operands(input, dim, index, src, name):
    dim = _same_index(input, index, dim, name)
    if not isinstance(src, fitting.Tensor):
        number_ = wrap(fitting.number_array(src, input._spec.dtype))
        src = number_.expand(index.shape)
    elif src._spec.dtype is not input._spec.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
    for d, n in enumerate(index.shape):
        if (d != dim and n > input.shape[d]) or n > src.shape[d]:
            raise RuntimeError(
                f"Expected index {list(index.shape)} to be no larger than self {list(input.shape)} apart from dimension "
                f"{dim} and to be no larger size than src {list(src.shape)}"
            )
    return dim, src


def scatter(input, dim, index, src=None, *, value=None, reduce=None, out=None):
    """A copy with `src` written at the places that `index` names along a dimension.

    >>> torch.scatter(torch.zeros(3), 0, torch.tensor([2, 0]), torch.tensor([1., 5.]))
    tensor([5., 0., 1.])
    """
    return _scattered(input, dim, index, src if value is None else value, reduce, out, inplace=False)


def scatter_(self, dim, index, src=None, *, value=None, reduce=None):
    """The in-place form of `scatter`.

    >>> torch.zeros(3).scatter_(0, torch.tensor([2]), 7.)
    tensor([0., 0., 7.])
    """
    return _scattered(self, dim, index, src if value is None else value, reduce, None, inplace=True)


def _scattered(input, dim, index, src, reduce, out, inplace):
    dim, src = _scatter_operands(input, dim, index, src, "scatter")
    if reduce is None:
        primitive = _scatter
    elif reduce == "add":
        primitive = _scatter_add
    else:
        raise NotImplementedError(f"scatter: reduce='{reduce}' is not supported; use scatter_reduce")
    if inplace:
        return primitive.inplace((input, index, src), (dim,))
    if out is not None:
        return fitting.write_out(out, "scatter", (input, src), lambda: primitive(input, index, src, dim))
    return primitive(input, index, src, dim)


def scatter_add(input, dim, index, src, *, out=None):
    """A copy with `src` added at the places that `index` names along a dimension.

    >>> torch.scatter_add(torch.zeros(2), 0, torch.tensor([1, 1]), torch.tensor([1., 5.]))
    tensor([0., 6.])
    """
    return _scattered(input, dim, index, src, "add", out, inplace=False)


def scatter_add_(self, dim, index, src):
    """The in-place form of `scatter_add`.

    >>> torch.zeros(2).scatter_add_(0, torch.tensor([1, 1]), torch.tensor([1., 5.]))
    tensor([0., 6.])
    """
    return _scattered(self, dim, index, src, "add", None, inplace=True)


def index_select(input, dim, index, *, out=None):
    """The given indices of one dimension.

    >>> torch.index_select(torch.tensor([10, 20, 30]), 0, torch.tensor([2, 0]))
    tensor([30, 10])
    """
    check_tensor("index_select", input)
    check_tensor("index_select", index, "index", 3)
    if index._spec.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if len(index.shape) > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    dim = dim_of(dim, len(input._spec.shape))
    if not input._spec.shape:
        return input.reshape(1)[index.reshape(-1)].reshape(())
    index = index.reshape(-1)
    if type(index._array) is ndarray and index._spec.size:
        n = input.shape[dim]
        if index._array.min() < 0 or index._array.max() >= n:
            raise IndexError("index out of range in self")
    take = lambda: _take_primitive((input, index), (dim,))
    return take() if out is None else fitting.write_out(out, "index_select", (input,), take)


def masked_select(input, mask, *, out=None):
    """The elements where the mask is true, in one dimension.

    >>> torch.masked_select(torch.tensor([1, 2, 3]), torch.tensor([True, False, True]))
    tensor([1, 3])
    """
    check_tensor("masked_select", mask, "mask", 2)
    if type(mask._array) is not ndarray:
        return masked_select(input, mask._array.dynamic("masked_select"))
    if mask._spec.dtype is not dtypes.bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    if broken := fitting.broadcast_error((input, mask)):
        raise broken
    shape = fitting.broadcast_shapes(input.shape, mask.shape)
    take = lambda: getitem(
        input.expand(shape) if shape else input.reshape(1), mask.expand(shape) if shape else mask.reshape(1)
    )
    return take() if out is None else fitting.write_out(out, "masked_select", (input,), take)


def masked_fill(input, mask, value):
    """A copy with `value` where the mask is true.

    >>> torch.masked_fill(torch.tensor([1., 2.]), torch.tensor([True, False]), 0)
    tensor([0., 2.])
    """
    _check_mask(mask, value)
    from tensorgrad.ops.comparison import where

    if isinstance(value, fitting.Tensor):
        value = value.to(input._spec.dtype)
    else:
        value = wrap(fitting.number_array(value, input._spec.dtype))
    return where(mask, value, input)


def masked_fill_(self, mask, value):
    """The in-place form of `masked_fill`.

    >>> torch.tensor([1., 2.]).masked_fill_(torch.tensor([True, False]), 0)
    tensor([0., 2.])
    """
    _check_mask(mask, value)
    if not isinstance(value, fitting.Tensor):
        value = wrap(fitting.number_array(value, self._spec.dtype))
    if broken := fitting.broadcast_error((self, mask)):
        raise broken
    return _masked_fill.inplace((self, mask, value.to(self._spec.dtype)), ())


def _check_mask(mask, value):
    check_tensor("masked_fill", mask, "mask", 2)
    if mask._spec.dtype is not dtypes.bool_:
        raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype " + mask._spec.dtype.name)
    if isinstance(value, fitting.Tensor) and value._spec.shape:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {len(value.shape)} dimension(s)."
        )


def _masked_fill_kernel(x, mask, value, inplace=False):
    if not inplace:
        x = x.copy()
    np.copyto(x, value, where=np.broadcast_to(mask, x.shape))
    return x


_masked_fill = Primitive(
    "masked_fill", _masked_fill_kernel, arity=3, params=(), mutates=True, fresh=True,
    rules={"x": lambda g, mask: g * ~mask, "value": lambda g, mask, value_spec: _fit_either(g * mask, value_spec)},
)  # fmt: skip


def nonzero(input, *, out=None, as_tuple=False):
    """The indices of the elements that are not zero.

    >>> torch.nonzero(torch.tensor([0, 3, 0, 5]))
    tensor([[1],
            [3]])
    """
    check_tensor("nonzero", input)
    if type(input._array) is not ndarray:
        return nonzero(input._array.dynamic("nonzero"), as_tuple=as_tuple)
    places = np.atleast_1d(input._array).nonzero()
    if as_tuple:
        return tuple(wrap(p) for p in places)
    result = wrap(np.stack(places, 1) if input._spec.shape else np.zeros((len(places[0]), 0), np.int64))
    return result if out is None else fitting.store(out, result)


def take(input, index):
    """Elements by their position in the flattened tensor.

    >>> torch.take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, 3]))
    tensor([1, 4])
    """
    check_tensor("take", index, "index", 2)
    if index._spec.dtype is not dtypes.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {index._spec.dtype.title}")
    return (
        getitem(input.reshape(-1), index.reshape(-1)).reshape(index.shape)
        if index._spec.size
        else input.reshape(-1)[:0].reshape(index.shape)
    )


class IndexingMixin:
    """x[...], x[...] = y, and indexing methods."""

    __slots__ = ()

    __getitem__, __setitem__ = getitem, setitem
    copy_, fill_, zero_ = copy_, fill_, zero_
    gather, scatter, scatter_, scatter_add, scatter_add_ = gather, scatter, scatter_, scatter_add, scatter_add_
    index_select, masked_select, masked_fill, masked_fill_ = index_select, masked_select, masked_fill, masked_fill_
    index_put, index_put_, nonzero, take = index_put, index_put_, nonzero, take

    def __delitem__(self, index):
        raise TypeError("Tensor does not support deleting items")
