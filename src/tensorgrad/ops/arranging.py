"""Tensors laid beside each other, cut apart, turned and repeated, in terms of the operations of shape.py."""

import builtins
import itertools
import operator

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops import fitting
from tensorgrad.ops.arguments import no_such_call
from tensorgrad.ops.fitting import check_tensor, dim_of
from tensorgrad.ops.parts import _cut, _index, _pieces_back, chunk, slice_params, split
from tensorgrad.ops.primitive import Primitive, wrap
from tensorgrad.ops.shape import cat, clone, expand, flatten, flip, reshape, stack, transpose, unsqueeze, view
from tensorgrad.spec import Size

PUBLIC = {
    "": "atleast_1d atleast_2d atleast_3d hstack vstack row_stack=vstack dstack column_stack hsplit vsplit dsplit tensor_split "
    "unsafe_chunk unsafe_split unsafe_split_with_sizes split_with_sizes _chunk_cat cartesian_prod combinations meshgrid "
    "fliplr flipud rot90 repeat_interleave resolve_conj resolve_neg unravel_index fill",
    "ops.aten": "slice=slice_",
}

# At least so many dimensions


def _each(function, tensors):
    """A function of a tensor for one, for several or for a sequence of them."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tensors[0]
        return tuple(function(x) for x in tensors)
    return function(tensors[0]) if len(tensors) == 1 else tuple(function(x) for x in tensors)


def atleast_1d(*tensors):
    """The tensors, numbers made vectors.

    >>> torch.atleast_1d(torch.tensor(1.))
    tensor([1.])
    """

    def raised(x):
        return reshape(check_tensor("atleast_1d", x, "tensors"), (1,)) if not x._spec.shape else x

    return _each(raised, tensors)


def atleast_2d(*tensors):
    """The tensors, those of fewer dimensions made matrices of one row.

    >>> torch.atleast_2d(torch.tensor([1., 2.]))
    tensor([[1., 2.]])
    """

    def raised(x):
        ndim = len(check_tensor("atleast_2d", x, "tensors")._spec.shape)
        return x if ndim > 1 else unsqueeze(x, 0) if ndim else reshape(x, (1, 1))

    return _each(raised, tensors)


def atleast_3d(*tensors):
    """The tensors with at least three dimensions; a vector lies along the second.

    >>> torch.atleast_3d(torch.tensor([1., 2.])).shape
    tensorgrad.Size([1, 2, 1])
    """

    def raised(x):
        ndim = len(check_tensor("atleast_3d", x, "tensors")._spec.shape)
        if ndim > 2:
            return x
        return unsqueeze(x, -1) if ndim == 2 else unsqueeze(unsqueeze(x, 0), -1) if ndim else reshape(x, (1, 1, 1))

    return _each(raised, tensors)


# Side by side


def _checked(name, tensors):
    if isinstance(tensors, fitting.Tensor) or not isinstance(tensors, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}"
        )
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    for position, x in enumerate(tensors):
        if not isinstance(x, fitting.Tensor):
            raise TypeError(f"expected Tensor as element {position} in argument 0, but got {type(x).__name__}")
    return tensors


def hstack(tensors, *, out=None):
    """Tensors side by side: along the second dimension, vectors along the first.

    >>> torch.hstack([torch.ones(2, 1), torch.zeros(2, 2)])
    tensor([[1., 0., 0.],
            [1., 0., 0.]])
    """
    tensors = atleast_1d(_checked("hstack", tensors))
    return cat(tensors, 0 if len(tensors[0]._spec.shape) == 1 else 1, out=out)


def vstack(tensors, *, out=None):
    """Tensors one below the other, vectors as rows.

    >>> torch.vstack([torch.ones(2), torch.zeros(2)])
    tensor([[1., 1.],
            [0., 0.]])
    """
    return cat(atleast_2d(_checked("vstack", tensors)), 0, out=out)


def dstack(tensors, *, out=None):
    """Tensors one behind the other, along the third dimension.

    >>> torch.dstack([torch.ones(2), torch.zeros(2)])
    tensor([[[1., 0.],
             [1., 0.]]])
    """
    return cat(atleast_3d(_checked("dstack", tensors)), 2, out=out)


def column_stack(tensors, *, out=None):
    """Tensors side by side, vectors as columns.

    >>> torch.column_stack([torch.ones(2), torch.zeros(2)])
    tensor([[1., 0.],
            [1., 0.]])
    """
    columns = [
        x if len(x._spec.shape) > 1 else reshape(x, (x._spec.size, 1)) for x in _checked("column_stack", tensors)
    ]
    return cat(columns, 1, out=out)


def _chunk_cat(tensors, dim, num_chunks, *, out=None):
    """Tensors cut into chunks (the last filled up with zeros), and the first chunks joined, the second, and so on.

    >>> torch._chunk_cat([torch.ones(3), torch.ones(2)], 0, 2)
    tensor([[1., 1., 1.],
            [1., 0., 1.]])
    """
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    if num_chunks <= 0:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    first, pieces = tensors[0], []
    dim = dim_of(dim, len(first._spec.shape))
    for x in tensors:
        shape = x._spec.shape
        if x._spec.dtype is not first._spec.dtype:
            raise RuntimeError("_chunk_cat expects all input tensors to have the same dtype")
        if not x._spec.size:
            raise RuntimeError("_chunk_cat expects non-empty tensor")
        if dim >= len(shape):
            raise RuntimeError("_chunk_cat expects dim < ndim for all input tensors")
        if shape[:dim] != first._spec.shape[:dim]:
            raise RuntimeError(
                "_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all input tensors, but got "
                f"{list(first.shape)} and {list(shape)}"
            )
        missing = -shape[dim] % num_chunks
        if missing:
            x = cat([x, x.new_zeros((*shape[:dim], missing, *shape[dim + 1 :]))], dim)
        pieces.append(reshape(x, (*shape[:dim], num_chunks, -1)))
    return cat(pieces, dim + 1, out=out)


# Pieces


def tensor_split(input, indices_or_sections=None, dim=0, *, sections=None, indices=None,
                 tensor_indices_or_sections=None):  # fmt: skip
    """Views of pieces: so many, as equal as can be, or cut at indices.

    >>> torch.tensor_split(torch.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    >>> torch.tensor_split(torch.arange(5), (1, 3))
    (tensor([0]), tensor([1, 2]), tensor([3, 4]))
    """
    check_tensor("tensor_split", input)
    given = (indices_or_sections, sections, indices, tensor_indices_or_sections)
    where = next((w for w in given if w is not None), None)
    ndim = len(input._spec.shape)
    if not ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = dim_of(dim, ndim)
    n = input.shape[dim]
    if isinstance(where, fitting.Tensor):
        if where._spec.dtype is not dtypes.int64:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                + where._spec.dtype.title
            )
        if len(where._spec.shape) > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but "
                f"got a tensor with {len(where._spec.shape)} dims"
            )
        where = where.tolist()
    if isinstance(where, (tuple, list)):
        cuts = [int(w) for w in where]
        bounds = zip([0, *cuts], [*cuts, n], strict=True)
    elif fitting.is_number(where) and not isinstance(where, (builtins.bool, float, complex)):
        if where <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {where}")
        small, larger = divmod(n, where)
        stops = list(itertools.accumulate(small + (i < larger) for i in range(where)))
        bounds = zip([0, *stops[:-1]], stops, strict=True)
    else:
        forms = ("Tensor tensor_indices_or_sections", "int sections", "tuple of ints indices")
        raise no_such_call(
            "tensor_split", (input, where), {}, *(f"Tensor input, {form}, int dim = 0" for form in forms)
        )
    return tuple(slice_(input, dim, start, stop) for start, stop in bounds)


def _splitter(name, dim, least, doc):
    def function(input, *args, indices=None, sections=None):
        check_tensor(name, input)
        where = args[0] if args else indices if indices is not None else sections
        ndim = len(input._spec.shape)
        if ndim < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {ndim} "
                "dimensions!"
            )
        along = 0 if ndim == 1 else dim
        if fitting.is_number(where) and (where == 0 or input.shape[along] % where):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {along}, but the size of the dimension "
                f"{input.shape[along]} is not divisible by the split_size {where}!"
            )
        return tensor_split(input, where, along)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


hsplit = _splitter("hsplit", 1, 1, """Views of pieces side by side: equal ones, or cut at indices.

    >>> [x.shape for x in torch.hsplit(torch.ones(2, 4), 2)]
    [tensorgrad.Size([2, 2]), tensorgrad.Size([2, 2])]
    """)  # fmt: skip
vsplit = _splitter("vsplit", 0, 2, """Views of pieces one below the other: equal ones, or cut at indices.

    >>> [x.shape for x in torch.vsplit(torch.ones(3, 4), (1,))]
    [tensorgrad.Size([1, 4]), tensorgrad.Size([2, 4])]
    """)  # fmt: skip
dsplit = _splitter("dsplit", 2, 3, """Views of pieces one behind the other: equal ones, or cut at indices.

    >>> [x.shape for x in torch.dsplit(torch.ones(1, 1, 4), 2)]
    [tensorgrad.Size([1, 1, 2]), tensorgrad.Size([1, 1, 2])]
    """)  # fmt: skip

_unsafe_split = Primitive("unsafe_split", _cut, transpose=_pieces_back, count=True, fresh=True, batch="dims")
_unsafe_split_sizes = _unsafe_split.variant("unsafe_split_with_sizes", "UnsafeSplitWithSizesBackward0")


def split_with_sizes(input, split_sizes, dim=0):
    """Views of pieces of the sizes given.

    >>> torch.split_with_sizes(torch.arange(3), (1, 2))
    (tensor([0]), tensor([1, 2]))
    """
    return split(input, tuple(split_sizes), dim)


def unsafe_split(input, split_size, dim=0):
    """Like `split`, for pieces that may be written to: autograd does not know that they share memory.

    >>> torch.unsafe_split(torch.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
    sizes = tuple(piece.shape[dim] for piece in split(input, split_size, dim))
    return _unsafe_split(input, dim_of(dim, len(input._spec.shape)), sizes)


def unsafe_split_with_sizes(input, split_sizes, dim=0):
    """Like `split_with_sizes`, for pieces that may be written to: autograd does not know that they share memory.

    >>> torch.unsafe_split_with_sizes(torch.arange(3), (1, 2))
    (tensor([0]), tensor([1, 2]))
    """
    sizes = tuple(piece.shape[dim] for piece in split(input, tuple(split_sizes), dim))
    return _unsafe_split_sizes(input, dim_of(dim, len(input._spec.shape)), sizes)


def unsafe_chunk(input, chunks, dim=0):
    """Like `chunk`, for pieces that may be written to: autograd does not know that they share memory.

    >>> torch.unsafe_chunk(torch.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
    sizes = tuple(piece.shape[dim] for piece in chunk(input, chunks, dim))
    return _unsafe_split(input, dim_of(dim, len(input._spec.shape)), sizes)


def slice_(input, dim=0, start=None, end=None, step=1):
    """The view `input[..., start:end:step, ...]` of one dimension, both ends cut down to what is there.

    >>> torch.ops.aten.slice(torch.arange(5), 0, 1, 4)
    tensor([1, 2, 3])
    """
    return _index(input, slice_params(input, dim, start, end, step))


# Grids


def meshgrid(*tensors, indexing=None):
    """Vectors expanded to the grid that they span.

    >>> torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4]), indexing="ij")
    (tensor([[1, 1],
            [2, 2]]), tensor([[3, 4],
            [3, 4]]))
    """
    tensors = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    if indexing is None:
        import warnings

        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", stacklevel=2
        )
    for x in _checked("meshgrid", tensors):
        if x._spec.dtype is not tensors[0]._spec.dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
        if len(x._spec.shape) > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {list(x.shape)}")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    order = list(range(len(tensors)))
    if indexing == "xy" and len(tensors) > 1:
        order[:2] = 1, 0  # the first vector runs along the second dimension
    shape, grids = [tensors[i]._spec.size for i in order], []
    for x, dim in zip(tensors, order, strict=True):
        grids.append(expand(view(x, [x._spec.size if d == dim else 1 for d in range(len(shape))]), shape))
    return tuple(grids)


def cartesian_prod(*tensors):
    """All ways to take one element of each vector, as rows.

    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for x in tensors:
        if len(check_tensor("cartesian_prod", x, "tensors")._spec.shape) != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(x.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([flatten(grid) for grid in meshgrid(*tensors, indexing="ij")], 1)


def combinations(input, r=2, with_replacement=False):
    """All ways to take r elements of a vector, as rows.

    >>> torch.combinations(torch.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    if len(check_tensor("combinations", input)._spec.shape) != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty(0)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = np.array(list(choose(range(input._spec.size), r)), np.int64).reshape(-1, r)
    return input[wrap(places)]


# Turned around


def fliplr(input):
    """The columns in reverse order.

    >>> torch.fliplr(torch.tensor([[1, 2]]))
    tensor([[2, 1]])
    """
    if len(check_tensor("fliplr", input)._spec.shape) < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, 1)


def flipud(input):
    """The rows in reverse order.

    >>> torch.flipud(torch.tensor([1, 2]))
    tensor([2, 1])
    """
    if not check_tensor("flipud", input)._spec.shape:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, 0)


def rot90(input, k=1, dims=(0, 1)):
    """The plane of two dimensions turned k times by a right angle, from the first towards the second.

    >>> torch.rot90(torch.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    ndim = len(check_tensor("rot90", input)._spec.shape)
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {ndim}")
    for dim in dims:
        if not -ndim <= dim < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {dim})"
            )
    first, second = (dim % ndim for dim in dims)
    if first == second:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    k %= 4
    if k == 1:
        return transpose(flip(input, second), first, second).contiguous()
    if k == 2:
        return flip(input, first, second)
    return transpose(flip(input, first), first, second).contiguous() if k else clone(input)


# Repeated


def repeat_interleave(input, repeats=None, dim=None, *, output_size=None):
    """Each element (or each index of a dimension) repeated on the spot; of repeats alone, the places to take.

    >>> torch.repeat_interleave(torch.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    >>> torch.repeat_interleave(torch.tensor([1, 2]), torch.tensor([1, 3]))
    tensor([1, 2, 2, 2])
    """
    check_tensor("repeat_interleave", input)
    if repeats is None:
        if len(input._spec.shape) != 1:
            raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
        return wrap(np.repeat(np.arange(input._spec.size), _repeats(input, input._spec.size, output_size)))
    if dim is None:
        input, dim = flatten(input), 0
    if not input._spec.shape:
        input = reshape(input, (1,))
    dim = dim_of(dim, len(input._spec.shape))
    shape = input.shape
    if isinstance(repeats, fitting.Tensor) and repeats._spec.size != 1:
        if len(repeats._spec.shape) == 1 and repeats._spec.size != shape[dim]:
            raise RuntimeError(
                "repeats must have the same size as input along dim, but got repeats.size(0) = "
                f"{repeats._spec.size} and input.size({dim}) = {shape[dim]}"
            )
        counts = _repeats(repeats, shape[dim], output_size)
        return input.index_select(dim, wrap(np.repeat(np.arange(shape[dim]), counts)))
    if isinstance(repeats, fitting.Tensor):
        repeats = int(_repeats(reshape(repeats, (1,)), shape[dim], None)[0])
    elif not hasattr(repeats, "__index__") or isinstance(repeats, builtins.bool):
        raise no_such_call("repeat_interleave", (input, repeats), {}, "Tensor repeats", "Tensor input, Tensor repeats",
                           "Tensor input, int repeats")  # fmt: skip
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    if output_size is not None and output_size != shape[dim] * repeats:
        raise RuntimeError(
            f"repeat_interleave: Invalid output_size, expected {shape[dim] * repeats} but got {output_size}"
        )
    wide = expand(unsqueeze(input, dim + 1), (*shape[: dim + 1], repeats, *shape[dim + 1 :]))
    return view(
        wide.clone(memory_format=dtypes.contiguous_format), (*shape[:dim], shape[dim] * repeats, *shape[dim + 1 :])
    )


def _repeats(repeats, n, output_size):
    """How often each of n places is repeated, as an array."""
    if repeats._spec.dtype not in (dtypes.int64, dtypes.int32):
        raise NotImplementedError(f"\"repeat_interleave_cpu\" not implemented for '{repeats._spec.dtype.title}'")
    if len(repeats._spec.shape) > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    counts = np.asarray(repeats.detach().numpy()).reshape(-1)
    if counts.size and counts.min() < 0:
        raise RuntimeError("repeats can not be negative")
    if output_size is not None and output_size != counts.sum():
        raise RuntimeError("allocated size does not match required size")
    return counts


# Values


def fill(input, value):
    """A tensor like another, with one value everywhere.

    >>> torch.fill(torch.zeros(2), 3)
    tensor([3., 3.])
    """
    return clone(check_tensor("fill", input)).fill_(value)


def resolve_conj(input):
    """The tensor itself: conjugates are computed at once.

    >>> torch.resolve_conj(torch.ones(1))
    tensor([1.])
    """
    return check_tensor("resolve_conj", input)


def resolve_neg(input):
    """The tensor itself: negatives are computed at once.

    >>> torch.resolve_neg(torch.ones(1))
    tensor([1.])
    """
    return check_tensor("resolve_neg", input)


def unravel_index(indices, shape):
    """The coordinates, in an array of a shape, of places counted through.

    >>> torch.unravel_index(torch.tensor([1, 5]), (2, 3))
    (tensor([0, 1]), tensor([1, 2]))
    """
    check_tensor("unravel_index", indices, "indices")
    if indices._spec.dtype.category != dtypes.INTEGER:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if isinstance(shape, fitting.Tensor):
        shape = shape.tolist()
    if isinstance(shape, int):
        shape = Size([shape])
    if not isinstance(shape, (tuple, list)) or not all(hasattr(n, "__index__") for n in shape):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape).__name__}")
    if any(n < 0 for n in shape):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(shape)}")
    steps = itertools.accumulate(reversed(shape[1:]), initial=1, func=operator.mul)
    return tuple((indices // step) % n for step, n in zip(reversed(list(steps)), shape, strict=False))


class Methods:
    """The same as methods."""

    hsplit, vsplit, dsplit, tensor_split = hsplit, vsplit, dsplit, tensor_split
    unsafe_chunk, unsafe_split, unsafe_split_with_sizes = unsafe_chunk, unsafe_split, unsafe_split_with_sizes
    fliplr, flipud, rot90, repeat_interleave = fliplr, flipud, rot90, repeat_interleave
