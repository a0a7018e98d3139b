"""Views of some of the elements: one index, a range, a diagonal, windows, pieces.

The transpose of such a view embeds the gradient in zeros (`embed`), and the transpose of that is the view again. Where
places are seen several times, the transpose adds.
"""

import builtins
import functools
import operator

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops import fitting
from tensorgrad.ops.both import number, xp
from tensorgrad.ops.fitting import check_tensor, dim_of
from tensorgrad.ops.primitive import Primitive
from tensorgrad.ops.reshaping import view

# Views of a part


def _embedded(g, primitive, params, spec):
    whole = np.zeros(spec.shape, g.dtype)
    primitive.kernel(whole, *params)[...] = g
    return whole


_embed = Primitive("embed", _embedded, transpose=lambda h, primitive, params: primitive.on(h, params), fresh=False)


@number
def embed(g, primitive, params, spec):
    """Zeros of a view's base with `g` where the view is."""
    return _embedded(np.asarray(g), primitive, params, spec)


def partial_view(name, kernel, node=None):
    """Declare a view that shows each of some of the elements once."""

    primitive = Primitive(
        name, kernel, view=True, fresh=True, node=node, inputs=("x",), params=("params",),
        transpose=lambda g, x, params: xp.embed(g, primitive, (params,), x),
    )  # fmt: skip
    return primitive


_index = partial_view("slice", lambda x, params: x[params[0]])
_select = _index.variant("select", "SelectBackward0")
_new_axis = _index.variant("new_axis", "UnsqueezeBackward0")
_alias = _index.variant("alias", "AliasBackward0")


def _diagonal_kernel(x, params):
    offset, dim1, dim2 = params
    result = x.diagonal(offset, dim1, dim2) if type(x) is np.ndarray else np.diagonal(x, offset, dim1, dim2)
    if isinstance(result, np.ndarray) and not result.flags.writeable and x.flags.writeable:
        result.flags.writeable = True
    return result


_diagonal = partial_view("diagonal", _diagonal_kernel)


def select_params(input, dim, index):
    """The parameters of `select`, checked."""
    check_tensor("select", input)
    ndim = len(input._spec.shape)
    if not ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = dim_of(dim, ndim)
    n, index = input.shape[dim], int(index)
    if not -n <= index < n:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {dim}"
        )
    return (((builtins.slice(None),) * dim + (index, ...)),)


def select(input, dim, index):
    """One index of one dimension.

    >>> torch.arange(6).view(2, 3).select(1, 0)
    tensor([0, 3])
    """
    return _select(input, select_params(input, dim, index))


def slice_params(input, dim, start, end, step):
    """The parameters of a range of one dimension, both ends cut down to what is there."""
    check_tensor("slice", input)
    if not input._spec.shape:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    dim = dim_of(dim, len(input._spec.shape))
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    start, end, _ = builtins.slice(start, end).indices(input.shape[dim])
    return (((builtins.slice(None),) * dim + (builtins.slice(start, builtins.max(start, end), step),)),)


def narrow(input, dim, start, length):
    """`length` indices of one dimension from `start` on.

    >>> torch.arange(5).narrow(0, 1, 3)
    tensor([1, 2, 3])
    """
    check_tensor("narrow", input)
    if not input._spec.shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, fitting.Tensor) and (start._spec.shape or start._spec.dtype.category != dtypes.INTEGER):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    dim = dim_of(dim, len(input._spec.shape))
    n, start = input.shape[dim], int(start)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -n <= start <= n:
        raise IndexError(f"start out of range (expected to be in range of [{-n}, {n}], but got {start})")
    start += n * (start < 0)
    if start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return _index(input, (((builtins.slice(None),) * dim + (builtins.slice(start, start + length),)),))


def diagonal_params(input, offset, dim1, dim2):
    """The parameters of `diagonal`, checked."""
    check_tensor("diagonal", input)
    ndim = len(input._spec.shape)
    dim1, dim2 = dim_of(dim1, ndim), dim_of(dim2, ndim)
    if dim1 == dim2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    rows, columns = input.shape[dim1], input.shape[dim2]
    if builtins.min(rows, columns - offset) <= 0 or rows + offset <= 0:  # beyond the corner: NumPy raises here
        offset = columns if offset > 0 else -rows
    return offset, dim1, dim2


def diagonal(input, offset=0, dim1=0, dim2=1):
    """A view of the diagonals of two dimensions, as the last dimension.

    >>> torch.arange(4).view(2, 2).diagonal()
    tensor([0, 3])
    """
    return _diagonal(input, diagonal_params(input, offset, dim1, dim2))


# Overlapping views: their transposes add


# A strided view is told as (size, stride, offset, layout): where it looks in the storage, and the layout of the tensor that
# it was made of, (shape, stride, offset) in the same storage.


def _strided(x, size, stride, offset, layout):
    memory = fitting.owner(x)
    flat = memory if memory.ndim == 1 and memory.flags.c_contiguous else memory.reshape(-1, order="A")
    return np.ndarray(
        size, x.dtype, flat.view(x.dtype), offset * x.dtype.itemsize, [s * x.dtype.itemsize for s in stride]
    )


def _places(size, stride, offset):
    """The places in the storage of the elements of a strided tensor."""
    places = np.full((), offset)
    for n, s in zip(size, stride, strict=True):
        places = places[..., None] + np.arange(n) * s
    return places


def _moved(values, places, count, wanted, shared):
    """Values added up at places of a storage of zeros, and what is then at other places."""
    if values.dtype.itemsize == 2 and values.dtype.kind != "i":  # half types are added up in float32
        return _moved(values.astype(np.float32), places, count, wanted, shared).astype(values.dtype)
    flat = np.zeros(count, values.dtype)
    if shared:
        np.add.at(flat, places.reshape(-1), values.reshape(-1))
    else:
        flat[places] = values
    return flat[wanted]


def _overlaps(size, stride):
    """Whether elements may share places."""
    room = 1
    for s, n in sorted((s, n) for n, s in zip(size, stride, strict=True) if n > 1):
        if s < room:
            return True
        room = s * (n - 1) + room
    return False


def _storage(size, stride, offset, layout):
    seen, own = _places(size, stride, offset), _places(*layout)
    count = 1 + builtins.max(int(seen.max()) if seen.size else 0, int(own.max()) if own.size else 0)
    return seen, own, count


@number
def strided_sum(g, size, stride, offset, layout):
    """The gradient of the tensor from that of the strided view."""
    seen, own, count = _storage(size, stride, offset, layout)
    result = _moved(np.asarray(g), seen, count, own, _overlaps(size, stride))
    if _overlaps(*layout[:2]):
        result = result / np.bincount(own.reshape(-1), minlength=count)[own].astype(result.dtype)
    return np.asarray(result)


@number
def strided_take(h, size, stride, offset, layout):
    """The strided view of a tensor, told by places: its numbers need not lie as those of the viewed tensor do."""
    seen, own, count = _storage(size, stride, offset, layout)
    h = np.asarray(h)
    if _overlaps(*layout[:2]):
        h = h / np.bincount(own.reshape(-1), minlength=count)[own].astype(h.dtype)
    return np.asarray(_moved(h, own, count, seen, _overlaps(*layout[:2])))


@number
def strided_scatter(x, part, size, stride, offset, layout):
    """A copy of a tensor with other numbers where a strided view of it looks."""
    seen, own, count = _storage(size, stride, offset, layout)
    flat = np.zeros(count, x.dtype)
    flat[own] = x
    flat[seen] = part
    return np.asarray(flat[own])


def _strided_scatter_back(g, size, stride, offset, layout):
    how = size, stride, offset, layout
    return xp.strided_scatter(g, xp.zeros_like(xp.strided_take(g, *how)), *how), xp.strided_take(g, *how)


_strided_scatter = Primitive(
    "strided_scatter", strided_scatter, arity=2, pullback=_strided_scatter_back, linear=True, fresh=True,
    node="AsStridedScatterBackward0",
)  # fmt: skip
_as_strided = Primitive(
    "as_strided", _strided, view=True, fresh=True, pushforward=lambda t, size, stride, offset, layout: _strided_take(
        t, size, stride, offset, layout
    ),
    transpose=lambda g, size, stride, offset, layout: xp.strided_sum(g, size, stride, offset, layout),
)  # fmt: skip
_strided_sum = Primitive(
    "strided_sum", strided_sum, fresh=True,
    transpose=lambda h, size, stride, offset, layout: xp.strided_take(h, size, stride, offset, layout),
)  # fmt: skip
_strided_take = Primitive(
    "strided_take", strided_take, fresh=True,
    transpose=lambda g, size, stride, offset, layout: xp.strided_sum(g, size, stride, offset, layout),
)  # fmt: skip


def layout_of(tensor):
    """(shape, stride, offset) of a tensor in its storage; what is inside vmap has rows, each a storage of its own."""
    array = tensor._array
    while type(array) is not np.ndarray:
        if not hasattr(array, "primal"):
            shape = tuple(tensor._spec.shape)
            return shape, tuple(s // array.itemsize for s in array.strides), 0
        tensor = array.primal
        array = tensor._array
    return tuple(tensor._spec.shape), fitting.torch_strides(array), tensor.storage_offset()


def room_of(tensor):
    """How many elements the storage of a tensor has."""
    array = tensor._array
    while hasattr(array, "primal"):
        array = array.primal._array
    return fitting.owner(array).nbytes // array.itemsize if type(array) is np.ndarray else tensor._spec.size


def strided_params(input, size, stride, storage_offset):
    """The parameters of `as_strided`, checked."""
    check_tensor("as_strided", input)
    size, stride = tuple(operator.index(n) for n in size), tuple(operator.index(n) for n in stride)
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(n < 0 for n in stride):
        raise RuntimeError(
            "as_strided: Negative strides are not supported at the moment, got strides: " + str(list(stride))
        )
    if any(n < 0 for n in size):
        raise RuntimeError(
            f"as_strided: Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}"
        )
    layout = layout_of(input)
    offset = layout[2] if storage_offset is None else storage_offset
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    available, itemsize = room_of(input), input._spec.dtype.itemsize
    needed = 0 if 0 in size else 1 + offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if needed > available:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {itemsize} "
            f"requiring a storage size of {needed * itemsize} are out of bounds for storage of size {available * itemsize}"
        )
    return size, stride, offset if needed else 0, layout


def as_strided(input, size, stride, storage_offset=None):
    """A view of the storage with any shape and strides.

    >>> torch.arange(5).as_strided((2, 2), (1, 1))
    tensor([[0, 1],
            [1, 2]])
    """
    return _as_strided(input, *strided_params(input, size, stride, storage_offset))


def _windows(x, dim, size, step):
    view = np.lib.stride_tricks.sliding_window_view(x, size, dim, writeable=x.flags.writeable)
    return view[(builtins.slice(None),) * dim + (builtins.slice(None, None, step),)]


def _sum_windows(g, spec, dim, size, step):
    whole = np.zeros(spec.shape, g.dtype)
    lead = (builtins.slice(None),) * dim
    if g.shape[dim] < size:  # window by window
        windows = np.moveaxis(np.moveaxis(g, -1, dim), dim + 1, 0)
        for i, window in enumerate(windows):
            whole[(*lead, builtins.slice(i * step, i * step + size))] += window
        return whole
    for i in range(size):
        stop = i + (g.shape[dim] - 1) * step + 1
        whole[(*lead, builtins.slice(i, stop, step))] += g[..., i]
    return whole


_unfold = Primitive(
    "unfold",
    _windows,
    transpose=lambda g, x, dim, size, step: xp.window_sum(g, x, dim, size, step),
    view=True,
    fresh=True,
)
_window_sum = Primitive("window_sum", _sum_windows, params=("spec", "dim", "size", "step"), fresh=True,
                        transpose=lambda h, dim, size, step: _unfold.on(h, (dim, size, step)))  # fmt: skip


@number
def window_sum(g, spec, dim, size, step):
    return _sum_windows(g, spec, dim, size, step)


def unfold(input, dimension, size, step):
    """A view of all windows of `size` along a dimension, `step` apart, as a new last dimension.

    >>> torch.arange(5).unfold(0, 2, 1)
    tensor([[0, 1],
            [1, 2],
            [2, 3],
            [3, 4]])
    """
    ndim = len(input._spec.shape)
    dim = dim_of(dimension, ndim)
    n = input.shape[dim] if ndim else 1
    if size < 0:
        raise RuntimeError("size is " + str(size) + " but must be >= 0")
    if size > n:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {n} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if not ndim:  # a number is its own only window
        return _index(view(input, (1,)), ((builtins.slice(0, size),),))
    return _unfold(input, dim, size, step)


# Several views at once


def _pieces_back(g, x, dim, sizes):
    """Gradients of the pieces, some of them None, put together."""
    like = next(p for p in g if p is not None)
    pieces = []
    for piece, n in zip(g, sizes, strict=True):
        if piece is None:
            shape = (*x.shape[:dim], n, *x.shape[dim + 1 :])
            piece = np.zeros(shape, like.dtype) if isinstance(like, np.ndarray) else like.new_zeros(shape)
        pieces.append(piece)
    return xp.concatenated(pieces, dim, like)


@number
def concatenated(pieces, dim, like):
    return np.concatenate(pieces, dim)


def _cut(x, dim, sizes):
    pieces, start, lead = [], 0, (builtins.slice(None),) * dim
    for n in sizes:
        pieces.append(x[(*lead, builtins.slice(start, start + n))])
        start += n
    return tuple(pieces)


_split = Primitive("split", _cut, transpose=_pieces_back, view=True, count=True, fresh=True)
_split_sizes = _split.variant("split_with_sizes", "SplitWithSizesBackward0")


def split(tensor, split_size_or_sections, dim=0):
    """Views of pieces of a dimension, all of one size but the last, or of the sizes given.

    >>> torch.arange(5).split(2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    check_tensor("split", tensor)
    shape = tensor._spec.shape
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim = dim_of(dim, len(shape))
    n, size = shape[dim], split_size_or_sections
    if isinstance(size, (tuple, list)):
        if any(s < 0 for s in size):
            raise RuntimeError(
                f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(size)}"
            )
        if sum(size) != n:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at dimension {dim}), "
                f"but got split_sizes={list(size)}"
            )
        return _split_sizes(tensor, dim, tuple(size))
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    if size == 0 and n:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}")
    return _split(tensor, dim, _pieces(n, operator.index(size)))


@functools.lru_cache(maxsize=1024)
def _pieces(n, size):
    """The sizes of the pieces of a dimension that has n indices."""
    return tuple([builtins.min(size, n - i) for i in range(0, n, size)]) if n else (0,)


def chunk(input, chunks, dim=0):
    """Views of at most `chunks` pieces of a dimension.

    >>> torch.arange(5).chunk(2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    if not input._spec.shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    dim = dim_of(dim, len(input._spec.shape))
    n = input.shape[dim]
    return split(input, -(-n // chunks) if n else 0, dim) if n else split(input, (0,) * chunks, dim)


def _unbound(x, dim):
    lead = (builtins.slice(None),) * dim
    return tuple(x[(*lead, i, ...)] for i in range(x.shape[dim]))  # with `...` even a single number is a view


def _bind_back(g, x, dim):
    like = next(p for p in g if p is not None)
    shape = (*x.shape[:dim], *x.shape[dim + 1 :])
    zero = np.zeros(shape, like.dtype) if isinstance(like, (np.ndarray, np.generic)) else like.new_zeros(shape)
    return xp.stacked([zero if p is None else p for p in g], dim, like)


@number
def stacked(pieces, dim, like):
    return np.stack(pieces, dim)


_unbind = Primitive("unbind", _unbound, transpose=_bind_back, view=True, count=True, fresh=True)


def unbind(input, dim=0):
    """Views of each index of a dimension.

    >>> torch.tensor([1, 2]).unbind()
    (tensor(1), tensor(2))
    """
    if not input._spec.shape:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return _unbind(input, dim_of(dim, len(input._spec.shape)))
