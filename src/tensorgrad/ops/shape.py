"""Views and shapes: the same numbers seen through another shape, and numbers put together.

A view is linear, so its gradient is its transpose. Where a view shows only a part, the transpose embeds the gradient in
zeros (`embed`), and the transpose of that is the view again.
"""

import builtins
import math

import numpy as np

from tensorgrad import dtypes
from tensorgrad.autograd.views import alias_of, check_inplace
from tensorgrad.ops import fitting
from tensorgrad.ops.both import number, xp
from tensorgrad.ops.both import tensors as tensor_functions
from tensorgrad.ops.fitting import check_tensor, dim_of, dims_of, sizes_of
from tensorgrad.ops.primitive import Primitive, recording, shallow

# Views of all elements


def _reshape(x, shape):
    return x.reshape(shape)


_view = Primitive("view", _reshape, transpose=lambda g, x: xp.reshape(g, x.shape), view=True, passes=True)
_reshape_alias = _view.variant("reshape_alias", "ReshapeAliasBackward0")
_unsafe_view = Primitive("unsafe_view", _reshape, transpose=lambda g, x: xp.reshape(g, x.shape))
_squeeze, _unsqueeze = _view.variant("squeeze", "SqueezeBackward1"), _view.variant("unsqueeze", "UnsqueezeBackward0")
_squeeze_all = _view.variant("squeeze_all", "SqueezeBackward0")
_permute = Primitive(
    "permute",
    lambda x, dims: x.transpose(dims),
    transpose=lambda g, dims: xp.permute(g, _inverse(dims)),
    view=True,
    passes=True,
)
_transpose = _permute.variant("transpose", "TransposeBackward0")
_t = _permute.variant("t", "TBackward0")


def _inverse(dims):
    inverse = [0] * len(dims)
    for position, dim in enumerate(dims):
        inverse[dim] = position
    return tuple(inverse)


def _fit(g, spec):
    return fitting.fit_array(g, spec) if isinstance(g, (np.ndarray, np.generic)) else fitting.fit_tensor(g, spec)


_expand = Primitive("expand", lambda x, shape: xp.expand(x, shape), transpose=lambda g, x: _fit(g, x), view=True)


def infer_size(shape, size, name="view"):
    """`shape` with its -1 replaced by what `size` elements leave for it."""
    unknown, known = None, 1
    for position, dim in enumerate(shape):
        if dim == -1:
            if unknown is not None:
                raise RuntimeError("only one dimension can be inferred")
            unknown = position
        elif dim < 0:
            raise RuntimeError(f"invalid shape dimension {dim} at index {position} of shape {list(shape)}")
        else:
            known *= dim
    if unknown is not None and known and size % known == 0:
        return (*shape[:unknown], size // known, *shape[unknown + 1 :])
    if unknown is not None and known == 0 and size == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 can "
            "be any value and is ambiguous"
        )
    if unknown is not None or known != size:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {size}")
    return tuple(shape)


def viewable(array, shape):
    """Whether `array` can be seen in `shape` without a copy."""
    if type(array) is not np.ndarray or array.flags.c_contiguous:
        return True
    try:
        array.reshape(shape, copy=False)
    except ValueError:
        return False
    return True


def view(input, *shape):
    """The same memory in another shape (or, for a dtype, the same bytes as other numbers).

    >>> torch.arange(6).view(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    if len(shape) == 1 and isinstance(shape[0], dtypes.dtype):
        return view_dtype(input, shape[0])
    shape = infer_size(sizes_of(shape, "view"), input._spec.size)
    if not viewable(input._array, shape):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return _view(input, shape)


def reshape(input, *shape):
    """The elements in another shape: a view if possible, else a copy.

    >>> torch.reshape(torch.arange(4), (2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    check_tensor("reshape", input)
    shape = infer_size(sizes_of(shape, "reshape"), input._spec.size)
    return (_view if viewable(input._array, shape) else _unsafe_view)(input, shape)


_view_dtype = Primitive("view_dtype", lambda x, d: x.view(d), view=True)


def view_dtype(input, d):
    """The same bytes as numbers of another dtype."""
    if d is input._spec.dtype:
        return _view(input, tuple(input.shape))
    if not input._spec.shape and d.itemsize != input._spec.dtype.itemsize:
        raise RuntimeError(
            f"self.dim() cannot be 0 to view {input._spec.dtype.title} as {d.title} (different element sizes)"
        )
    try:
        return _view_dtype(input, d.numpy)
    except ValueError:
        raise RuntimeError(
            f"self.size(-1) must be divisible by {d.itemsize // input._spec.dtype.itemsize} to view "
            f"{input._spec.dtype.title} as {d.title} (different element sizes), but got {input.shape[-1]}"
            if d.itemsize > input._spec.dtype.itemsize
            else "self.stride(-1) must be 1 to view as a dtype of another element size, but it is not"
        ) from None


def view_as(input, other):
    """The same memory in the shape of `other`.

    >>> torch.arange(4).view_as(torch.ones(2, 2)).shape
    tensorgrad.Size([2, 2])
    """
    return view(input, other.shape)


def reshape_as(input, other):
    """The elements in the shape of `other`.

    >>> torch.arange(4).reshape_as(torch.ones(2, 2)).shape
    tensorgrad.Size([2, 2])
    """
    return reshape(input, other.shape)


def flatten(input, start_dim=0, end_dim=-1):
    """Dimensions from start_dim to end_dim made one.

    >>> torch.ones(2, 3, 4).flatten(1).shape
    tensorgrad.Size([2, 12])
    """
    check_tensor("flatten", input)
    shape = tuple(input.shape)
    first, last = dim_of(start_dim, len(shape)), dim_of(end_dim, len(shape))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshape(input, (1,))
    if first == last:
        return input
    return reshape(input, (*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :]))


def unflatten(input, dim, sizes):
    """One dimension made several.

    >>> torch.ones(6).unflatten(0, (2, 3)).shape
    tensorgrad.Size([2, 3])
    """
    shape = tuple(input.shape)
    dim = dim_of(dim, len(shape))
    sizes = tuple(sizes) if isinstance(sizes, (tuple, list)) else (sizes,)
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    known = math.prod(n for n in sizes if n != -1)
    if (-1 not in sizes and known != shape[dim]) or (-1 in sizes and (known == 0 or shape[dim] % known)):
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({shape[dim]}) in the input tensor"
        )
    return view(input, (*shape[:dim], *(shape[dim] // known if n == -1 else n for n in sizes), *shape[dim + 1 :]))


def ravel(input):
    """All elements in one dimension.

    >>> torch.ones(2, 3).ravel().shape
    tensorgrad.Size([6])
    """
    return reshape(input, (-1,)) if input._spec.size else reshape(input, (0,))


def permute(input, *dims):
    """The dimensions in another order.

    >>> torch.ones(2, 3, 4).permute(2, 0, 1).shape
    tensorgrad.Size([4, 2, 3])
    """
    check_tensor("permute", input)
    dims = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    ndim = len(input._spec.shape)
    if len(dims) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(dims)}"
        )
    dims = tuple(dim_of(d, ndim) for d in dims)
    if len(set(dims)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return _permute(input, dims)


def transpose(input, dim0, dim1):
    """Two dimensions swapped.

    >>> torch.ones(2, 3).transpose(0, 1).shape
    tensorgrad.Size([3, 2])
    """
    check_tensor("transpose", input)
    ndim = len(input._spec.shape)
    dim0, dim1 = dim_of(dim0, ndim), dim_of(dim1, ndim)
    dims = list(range(ndim))
    if dims:
        dims[dim0], dims[dim1] = dims[dim1], dims[dim0]
    return _transpose(input, tuple(dims))


swapaxes = swapdims = transpose


def t(input):
    """A matrix transposed; fewer dimensions are left alone.

    >>> torch.ones(2, 3).t().shape
    tensorgrad.Size([3, 2])
    """
    ndim = len(input._spec.shape)
    if ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {ndim}D")
    return _t(input, tuple(reversed(range(ndim))))


def movedim(input, source, destination):
    """Dimensions moved to other places, the rest in order.

    >>> torch.ones(2, 3, 4).movedim(0, -1).shape
    tensorgrad.Size([3, 4, 2])
    """
    ndim = len(input._spec.shape)
    one = not isinstance(source, (tuple, list)), not isinstance(destination, (tuple, list))
    source = (source,) if one[0] else source
    destination = (destination,) if one[1] else destination
    if len(source) != len(destination):
        raise RuntimeError(
            "movedim: Invalid source or destination dims: source "
            f"({list(source)} dims) should contain the same number of dims as destination ({list(destination)} dims)"
        )
    source, destination = [dim_of(d, ndim) for d in source], [dim_of(d, ndim) for d in destination]
    for dims, name in ((source, "source"), (destination, "destination")):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({dims})")
    rest = iter(d for d in range(ndim) if d not in source)
    placed = dict(zip(destination, source, strict=True))
    return _permute(input, tuple(placed[d] if d in placed else next(rest) for d in range(ndim)))


moveaxis = movedim


def expand(input, *sizes):
    """A view repeated along dimensions of size 1 and new leading ones, without copying.

    >>> torch.tensor([[1], [2]]).expand(2, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    sizes = sizes_of(sizes, "expand")
    shape = tuple(input.shape)
    lead = len(sizes) - len(shape)
    if lead < 0:
        raise RuntimeError(
            f"expand({input.type()}{{{list(shape)}}}, size={list(sizes)}): the number of sizes provided ({len(sizes)}) must "
            f"be greater or equal to the number of dimensions in the tensor ({len(shape)})"
        )
    final = []
    for position, n in enumerate(sizes):
        have = shape[position - lead] if position >= lead else None
        if n == -1:
            if have is None:
                raise RuntimeError(
                    f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {position}"
                )
            n = have
        elif have is not None and have != 1 and have != n:
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({have}) at non-singleton dimension "
                f"{position}.  Target sizes: {list(sizes)}.  Tensor sizes: {list(shape)}"
            )
        final.append(n)
    return _expand(input, tuple(final))


broadcast_to = expand


def expand_as(input, other):
    """A view expanded to the shape of `other`.

    >>> torch.ones(1).expand_as(torch.ones(3)).shape
    tensorgrad.Size([3])
    """
    return expand(input, other.shape)


def broadcast_tensors(*tensors):
    """All tensors expanded to their common shape.

    >>> [x.shape for x in torch.broadcast_tensors(torch.ones(2, 1), torch.ones(3))]
    [tensorgrad.Size([2, 3]), tensorgrad.Size([2, 3])]
    """
    tensors = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    if broken := fitting.broadcast_error(tensors):
        raise broken
    shape = fitting.broadcast_shapes(*(x.shape for x in tensors))
    return tuple(expand(x, shape) for x in tensors)


def squeeze(input, dim=None):
    """Without dimensions of size 1: all of them, or those named.

    >>> torch.ones(1, 3, 1).squeeze().shape
    tensorgrad.Size([3])
    """
    shape = tuple(input.shape)
    if dim is None:
        return _squeeze_all(input, tuple(n for n in shape if n != 1))
    dims = dims_of(dim, len(shape))
    return _squeeze(input, tuple(n for i, n in enumerate(shape) if n != 1 or i not in dims))


def unsqueeze(input, dim):
    """With a new dimension of size 1.

    >>> torch.ones(3).unsqueeze(1).shape
    tensorgrad.Size([3, 1])
    """
    shape = tuple(input.shape)
    dim = dim_of(dim, len(shape) + 1)
    return _unsqueeze(input, (*shape[:dim], 1, *shape[dim:]))


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
    result = np.diagonal(x, offset, dim1, dim2)
    if isinstance(result, np.ndarray) and not result.flags.writeable and x.flags.writeable:
        result.flags.writeable = True
    return result


_diagonal = partial_view("diagonal", _diagonal_kernel)


def select(input, dim, index):
    """One index of one dimension.

    >>> torch.arange(6).view(2, 3).select(1, 0)
    tensor([0, 3])
    """
    ndim = len(input._spec.shape)
    if not ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim, n = dim_of(dim, ndim), None
    n, index = input.shape[dim], int(index)
    if not -n <= index < n:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {dim}"
        )
    return _select(input, (((builtins.slice(None),) * dim + (index, ...)),))


def narrow(input, dim, start, length):
    """`length` indices of one dimension from `start` on.

    >>> torch.arange(5).narrow(0, 1, 3)
    tensor([1, 2, 3])
    """
    if not input._spec.shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
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


def diagonal(input, offset=0, dim1=0, dim2=1):
    """A view of the diagonals of two dimensions, as the last dimension.

    >>> torch.arange(4).view(2, 2).diagonal()
    tensor([0, 3])
    """
    ndim = len(input._spec.shape)
    dim1, dim2 = dim_of(dim1, ndim), dim_of(dim2, ndim)
    if dim1 == dim2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    rows, columns = input.shape[dim1], input.shape[dim2]
    if builtins.min(rows, columns - offset) <= 0 or rows + offset <= 0:  # beyond the corner: NumPy raises here
        offset = columns if offset > 0 else -rows
    return _diagonal(input, (offset, dim1, dim2))


# Overlapping views: their transposes add


def _strided(x, size, stride, offset):
    memory = fitting.owner(x)
    flat = memory if memory.ndim == 1 and memory.flags.c_contiguous else memory.reshape(-1, order="A")
    return np.ndarray(
        size, x.dtype, flat.view(x.dtype), offset * x.dtype.itemsize, [s * x.dtype.itemsize for s in stride]
    )


def _strided_transpose(g, x, size, stride, offset):
    return xp.strided_sum(g, x, size, stride, offset)


def _sum_strided(g, spec, size, stride, offset):
    count = builtins.max(
        spec.size, 1 + offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if g.size else 0
    )
    flat = np.zeros(count, g.dtype)
    places = np.full((), offset)
    for n, s in zip(size, stride, strict=True):
        places = places[..., None] + np.arange(n) * s
    np.add.at(flat, places.reshape(-1), np.asarray(g).reshape(-1))
    return flat[: spec.size].reshape(spec.shape)


_as_strided = Primitive("as_strided", _strided, transpose=_strided_transpose, view=True, fresh=True)
_strided_sum = Primitive(
    "strided_sum", _sum_strided, fresh=True, params=("spec", "size", "stride", "offset"),
    transpose=lambda h, spec, size, stride, offset: _as_strided(h.contiguous(), size, stride, offset),
)  # fmt: skip


@number
def strided_sum(g, spec, size, stride, offset):
    return _sum_strided(g, spec, size, stride, offset)


def as_strided(input, size, stride, storage_offset=None):
    """A view of the storage with any shape and strides.

    >>> torch.arange(5).as_strided((2, 2), (1, 1))
    tensor([[0, 1],
            [1, 2]])
    """
    size, stride = tuple(size), tuple(stride)
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(n < 0 for n in stride):
        raise RuntimeError(
            "as_strided: Negative strides are not supported at the moment, got strides: " + str(list(stride))
        )
    offset = input.storage_offset() if storage_offset is None else storage_offset
    available = fitting.owner(input._array).nbytes // input._spec.dtype.itemsize
    needed = 0 if 0 in size else 1 + offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if needed > available:
        itemsize = input._spec.dtype.itemsize
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {itemsize} "
            f"requiring a storage size of {needed * itemsize} are out of bounds for storage of size {available * itemsize}"
        )
    return _as_strided(input, size, stride, offset)


def _windows(x, dim, size, step):
    view = np.lib.stride_tricks.sliding_window_view(x, size, dim, writeable=x.flags.writeable)
    return view[(builtins.slice(None),) * dim + (builtins.slice(None, None, step),)]


def _sum_windows(g, spec, dim, size, step):
    whole = np.zeros(spec.shape, g.dtype)
    for i in range(size):
        stop = i + (g.shape[dim] - 1) * step + 1
        whole[(builtins.slice(None),) * dim + (builtins.slice(i, stop, step),)] += g[..., i]
    return whole


_unfold = Primitive(
    "unfold",
    _windows,
    transpose=lambda g, x, dim, size, step: xp.window_sum(g, x, dim, size, step),
    view=True,
    fresh=True,
)
_window_sum = Primitive("window_sum", _sum_windows, params=("spec", "dim", "size", "step"), fresh=True,
                        transpose=lambda h, dim, size, step: _unfold(h, dim, size, step))  # fmt: skip


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
    if ndim == 0:
        input, ndim = view(input, (1,)), 1
    if size < 0:
        raise RuntimeError("size is " + str(size) + " but must be >= 0")
    if size > input.shape[dim]:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {input.shape[dim]} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
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
    if not tensor._spec.shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim = dim_of(dim, len(tensor._spec.shape))
    n, size = tensor.shape[dim], split_size_or_sections
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
    return _split(tensor, dim, tuple(builtins.min(size, n - i) for i in range(0, n, size)) if n else (0,))


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


# Putting together


def _cat_back(g, specs, dim):
    out, start, lead = [], 0, (builtins.slice(None),) * dim
    for spec in specs:
        if spec.shape == (0,) and len(spec.shape) != _ndim(g):
            out.append(xp.zeros_like(g)[:0].reshape((0,)) if _ndim(g) else None)
            continue
        stop = start + spec.shape[dim]
        out.append(_fit(g[(*lead, builtins.slice(start, stop))], spec))
        start = stop
    return tuple(out)


def _ndim(g):
    return len(g.shape)


_cat = Primitive(
    "cat", lambda arrays, dim: np.concatenate([a for a in arrays if a.shape != (0,)] or arrays, dim),
    arity=None, pullback=_cat_back, linear=True, fresh=False,
)  # fmt: skip
_stack = Primitive(
    "stack", lambda arrays, dim: np.stack(arrays, dim), arity=None, linear=True, fresh=False,
    pullback=lambda g, specs, dim: tuple(
        _fit(g[(builtins.slice(None),) * dim + (i,)], spec) for i, spec in enumerate(specs)
    ),
)  # fmt: skip


def _same_dtype(tensors, name):
    if isinstance(tensors, fitting.Tensor) or not isinstance(tensors, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}"
        )
    for position, tensor in enumerate(tensors):
        if not isinstance(tensor, fitting.Tensor):
            raise TypeError(f"expected Tensor as element {position} in argument 0, but got {type(tensor).__name__}")
    if not tensors:
        raise RuntimeError(
            f"{'torch.cat(): expected a non-empty list of Tensors' if name == 'cat' else 'stack expects a non-empty TensorList'}"
        )
    common = dtypes.result_dtype(tensors)
    return tuple(x if x._spec.dtype is common else x.to(common) for x in tensors)


def cat(tensors, dim=0, *, out=None):
    """Tensors joined along an existing dimension.

    >>> torch.cat([torch.ones(2), torch.zeros(1)])
    tensor([1., 1., 0.])
    """
    tensors = _same_dtype(tensors, "cat")
    ndim = builtins.max(len(x.shape) for x in tensors)
    for position, x in enumerate(tensors):
        if not x._spec.shape:
            raise RuntimeError(f"zero-dimensional tensor (at position {position}) cannot be concatenated")
    whole = [x for x in tensors if tuple(x.shape) != (0,)] or list(tensors)
    dim = dim_of(dim, ndim)
    for position, x in enumerate(whole[1:], 1):
        if len(x.shape) != len(whole[0].shape):
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {len(whole[0].shape)} and {len(x.shape)}"
            )
        for d, (n, m) in enumerate(zip(whole[0].shape, x.shape, strict=True)):
            if d != dim and n != m:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {n} but got size {m} for tensor "
                    f"number {position} in the list."
                )
    if out is not None:
        return fitting.write_out(out, "cat", tensors, lambda: _cat(tensors, dim))
    return _cat(tensors, dim)


concat = concatenate = cat
tensor_functions["concatenated"] = lambda pieces, dim, like: cat(pieces, dim)
tensor_functions["stacked"] = lambda pieces, dim, like: stack(pieces, dim)


def stack(tensors, dim=0, *, out=None):
    """Tensors of one shape joined along a new dimension.

    >>> torch.stack([torch.ones(2), torch.zeros(2)])
    tensor([[1., 1.],
            [0., 0.]])
    """
    tensors = _same_dtype(tensors, "stack")
    shape = tensors[0].shape
    dim = dim_of(dim, len(shape) + 1)
    for position, x in enumerate(tensors):
        if x.shape != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and {list(x.shape)} at entry {position}"
            )
    if out is not None:
        return fitting.write_out(out, "stack", tensors, lambda: _stack(tensors, dim))
    return _stack(tensors, dim)


_flip = Primitive(
    "flip", lambda x, dims: np.ascontiguousarray(np.flip(x, dims)), transpose=lambda g, dims: xp.flip(g, dims)
)
_roll = Primitive("roll", lambda x, shifts, dims: np.roll(x, shifts, dims),
                  transpose=lambda g, shifts, dims: xp.roll(g, tuple(-s for s in shifts), dims), fresh=True)  # fmt: skip


def flip(input, *dims):
    """The elements in reverse order along dimensions.

    >>> torch.arange(3).flip(0)
    tensor([2, 1, 0])
    """
    dims = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    return _flip(input, dims_of(tuple(dims), len(input._spec.shape)) if dims else ())


def roll(input, shifts, dims=None):
    """The elements shifted along dimensions, coming in again at the other end.

    >>> torch.arange(4).roll(1)
    tensor([3, 0, 1, 2])
    """
    shifts = shifts if isinstance(shifts, (tuple, list)) else (shifts,)
    if dims is None or dims == ():
        return reshape(_roll(ravel(input), tuple(shifts), (0,) * len(shifts)), input.shape)
    dims = dims if isinstance(dims, (tuple, list)) else (dims,)
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    return _roll(input, tuple(shifts), tuple(dim_of(d, len(input._spec.shape)) for d in dims))


def repeat(input, *sizes):
    """The tensor copied as often as `sizes` says along each dimension.

    >>> torch.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    sizes = sizes_of(sizes, "repeat")
    shape = tuple(input.shape)
    lead = len(sizes) - len(shape)
    if lead < 0:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = (1,) * lead + shape
    twice = reshape(input, [n for size in shape for n in (1, size)])
    wide = expand(twice, [n for times, size in zip(sizes, shape, strict=True) for n in (times, size)])
    return clone(reshape(wide, [times * size for times, size in zip(sizes, shape, strict=True)]))


def tile(input, *dims):
    """Like `repeat`, with missing leading dims taken as 1.

    >>> torch.tensor([1, 2]).tile(2)
    tensor([1, 2, 1, 2])
    """
    dims = sizes_of(dims, "tile")
    return repeat(input, (1,) * (len(input.shape) - len(dims)) + dims)


# Copies

_clone = Primitive("clone", lambda x: _copied(x), transpose=lambda g: g, passes=True)


def _copied(x):
    """A copy in the same order in memory; expanded dimensions become real."""
    if x.flags.forc or 0 not in x.strides:
        return x.copy(order="K")
    return x.copy()


_contiguous = Primitive("contiguous", lambda x: x.copy(), transpose=lambda g: g, node="CloneBackward0")


def clone(input, *, memory_format=dtypes.preserve_format):
    """A copy that is part of the graph.

    >>> x = torch.ones(2); y = x.clone(); y[0] = 5; x
    tensor([1., 1.])
    """
    check_tensor("clone", input)
    if memory_format is dtypes.contiguous_format:
        return _contiguous(input)
    if memory_format in (dtypes.channels_last, dtypes.channels_last_3d):
        return _channels_last(input, memory_format)
    return _clone(input)


def contiguous(input, memory_format=dtypes.contiguous_format):
    """The tensor itself if its elements lie in order, else a copy that does.

    >>> torch.ones(2, 3).t().contiguous().stride()
    (2, 1)
    """
    if input.is_contiguous(memory_format):
        return input
    if memory_format in (dtypes.channels_last, dtypes.channels_last_3d):
        return _channels_last(input, memory_format)
    return _contiguous(input)


def _channels_last(input, memory_format):
    ndim = 4 if memory_format is dtypes.channels_last else 5
    if len(input.shape) != ndim:
        raise RuntimeError(f"required rank {ndim} tensor to use {memory_format.name} format")
    last = (0, *range(2, ndim), 1)
    return _permute(_contiguous(_permute(input, last)), _inverse(last))


# Complex numbers seen as pairs of reals

_view_as_real = Primitive(
    "view_as_real", lambda x: x.reshape(*x.shape, 1).view(x.real.dtype) if x.flags.c_contiguous else _pairs(x),
    transpose=lambda g: view_as_complex(g), view=True, on_tensors=True,
)  # fmt: skip
_view_as_complex = Primitive(
    "view_as_complex", lambda x: x.view(np.complex64 if x.dtype == np.float32 else np.complex128)[..., 0],
    transpose=lambda g: view_as_real(g), view=True, on_tensors=True,
)  # fmt: skip


def _pairs(x):
    half = x.dtype.itemsize // 2
    return np.lib.stride_tricks.as_strided(x.real, (*x.shape, 2), (*x.strides, half))


def view_as_real(input):
    """A complex tensor as reals, with a last dimension of real and imaginary part.

    >>> torch.view_as_real(torch.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    if not input._spec.dtype.is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return _view_as_real(input)


def view_as_complex(input):
    """Reals with a last dimension of size 2 as complex numbers.

    >>> torch.view_as_complex(torch.tensor([[1., 2.]]))
    tensor([1.+2.j])
    """
    if input._spec.dtype not in (dtypes.float32, dtypes.float64, dtypes.float16):
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            + input._spec.dtype.title
        )
    if not input._spec.shape:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if input.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if input._array.strides[-1] != input._spec.dtype.itemsize:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % (2 * input._spec.dtype.itemsize) for s in input._array.strides[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    return _view_as_complex(input)


_real = Primitive("real", lambda x: x.real, transpose=lambda g, x: g.to(x.dtype), view=True, on_tensors=True)
_imag = Primitive("imag", lambda x: x.imag, transpose=lambda g, x: g.to(x.dtype) * 1j, view=True, on_tensors=True)
_conj = Primitive("conj", np.conj, inputs=("x",), params=(), rules={"x": lambda g: xp.conj(g)}, linear=False)


def real(input):
    """A view of the real parts.

    >>> torch.real(torch.tensor([1 + 2j]))
    tensor([1.])
    """
    return _real(input) if input._spec.dtype.is_complex else input


def imag(input):
    """A view of the imaginary parts.

    >>> torch.imag(torch.tensor([1 + 2j]))
    tensor([2.])
    """
    if not input._spec.dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return _imag(input)


def conj(input):
    """The complex conjugates; a real tensor is returned as it is.

    >>> torch.conj(torch.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return _conj(input) if input._spec.dtype.is_complex else input


def adjoint(input):
    """The last two dimensions swapped, and conjugated.

    >>> torch.adjoint(torch.tensor([[1 + 2j]]))
    tensor([[1.-2.j]])
    """
    if len(input.shape) < 2:
        raise RuntimeError(
            f"tensor.adjoint() is only supported on matrices or batches of matrices. Got {len(input.shape)}-D tensor."
        )
    return conj(transpose(input, -2, -1))


def _in_place_view(function):
    """The form of a view function that gives its own tensor the new shape, for example `t_` of `t`."""

    def reshape_self(self, *args, **kwargs):
        recorded = recording() and self._node is not None
        check_inplace(self, recorded)
        result = function(shallow(self), *args, **kwargs)
        alias = alias_of(self)
        alias.version.bump()
        if alias.base is not None:
            alias.steps = (*alias.steps, *result._alias.steps[len(alias.steps) :])
        self._array, self._spec = result._array, result._spec
        if recorded:
            self._node = result._node
        return self

    reshape_self.__name__ = reshape_self.__qualname__ = function.__name__ + "_"
    reshape_self.__doc__ = f"The in-place form of `{function.__name__}`: the tensor itself takes the new shape."
    return reshape_self


class ShapeMixin:
    """Views, shapes and copies as methods."""

    __slots__ = ()

    t_, transpose_, squeeze_, unsqueeze_ = map(_in_place_view, (t, transpose, squeeze, unsqueeze))
    swapaxes_ = swapdims_ = transpose_

    view, reshape, view_as, reshape_as, flatten, unflatten, ravel = (
        view, reshape, view_as, reshape_as, flatten, unflatten, ravel)  # fmt: skip
    permute, transpose, swapaxes, swapdims, t, movedim, moveaxis = (
        permute, transpose, transpose, transpose, t, movedim, movedim)  # fmt: skip
    expand, expand_as, broadcast_to, squeeze, unsqueeze = expand, expand_as, expand, squeeze, unsqueeze
    select, narrow, diagonal, as_strided, unfold = select, narrow, diagonal, as_strided, unfold
    split, chunk, unbind, flip, roll, repeat, tile = split, chunk, unbind, flip, roll, repeat, tile
    clone, contiguous, conj, adjoint = clone, contiguous, conj, adjoint
    real, imag = property(real), property(imag)
    split_with_sizes = split

    def resolve_conj(self):
        """The tensor itself: conjugates are computed at once.

        >>> torch.ones(1).resolve_conj()
        tensor([1.])
        """
        return self

    resolve_neg = resolve_conj

    def conj_physical(self):
        """The complex conjugates, in new memory.

        >>> torch.tensor([1 + 2j]).conj_physical()
        tensor([1.-2.j])
        """
        return conj(self)

    @property
    def T(self):
        """The dimensions in reverse order.

        >>> torch.ones(2, 3).T.shape
        tensorgrad.Size([3, 2])
        """
        return _permute(self, tuple(reversed(range(len(self._spec.shape)))))

    @property
    def mT(self):
        """The last two dimensions swapped.

        >>> torch.ones(4, 2, 3).mT.shape
        tensorgrad.Size([4, 3, 2])
        """
        if len(self.shape) < 2:
            raise RuntimeError(
                f"tensor.mT is only supported on matrices or batches of matrices. Got {len(self.shape)}-D tensor."
            )
        return transpose(self, -2, -1)

    @property
    def H(self):
        """A matrix transposed and conjugated.

        >>> torch.tensor([[1 + 2j]]).H
        tensor([[1.-2.j]])
        """
        if len(self.shape) not in (0, 2):
            raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {len(self.shape)}-D tensor.")
        return conj(t(self))

    @property
    def mH(self):
        """The last two dimensions swapped, and conjugated.

        >>> torch.tensor([[1 + 2j]]).mH
        tensor([[1.-2.j]])
        """
        return adjoint(self)

    def sum_to_size(self, *size):
        """Summed over what was broadcast, down to `size`.

        >>> torch.ones(2, 3).sum_to_size(1, 3)
        tensor([[2., 2., 2.]])
        """
        size = sizes_of(size, "sum_to_size")
        shape = tuple(self.shape)
        lead = len(shape) - len(size)
        dims = (*range(lead), *(i + lead for i, n in enumerate(size) if n == 1 and shape[i + lead] != 1))
        if lead < 0 or any(n not in (1, shape[i + lead]) for i, n in enumerate(size)):
            raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(shape)}}}.")
        result = self.sum(dims, keepdim=True) if dims else self
        return view(result, size) if lead else result
