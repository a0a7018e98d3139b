"""Views of all elements: another shape, another order of dimensions, repeated along dimensions of size 1.

A view is linear, so its gradient is its transpose.
"""

import functools
import math

import numpy as np

from tensorgrad import dtypes
from tensorgrad.backends.copying import in_order
from tensorgrad.ops import fitting
from tensorgrad.ops.both import expand as expanded
from tensorgrad.ops.both import xp
from tensorgrad.ops.fitting import INTS, check_tensor, dim_of, dims_of, sizes_of
from tensorgrad.ops.primitive import Primitive


def _reshape(x, shape):
    return x.reshape(shape)


_view = Primitive("view", _reshape, transpose=lambda g, x: xp.reshape(g, x.shape), view=True, passes=True)
_reshape_alias = _view.variant("reshape_alias", "ReshapeAliasBackward0")
_unsafe_view = Primitive(
    "unsafe_view", lambda x, shape: (x if viewable(x, shape) else in_order(x)).reshape(shape), passes=True,
    transpose=lambda g, x: xp.reshape(g, x.shape),
)  # fmt: skip
_squeeze, _unsqueeze = _view.variant("squeeze", "SqueezeBackward1"), _view.variant("unsqueeze", "UnsqueezeBackward0")
_squeeze_all = _view.variant("squeeze_all", "SqueezeBackward0")
_squeeze_several = _view.variant("squeeze_several", "SqueezeBackward2")
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


def _contracted(g, spec):
    return fitting.fit_array(g, spec) if isinstance(g, (np.ndarray, np.generic)) else g.sum_to_size(spec.shape)


_expand = Primitive("expand", lambda x, shape: expanded(x, shape), transpose=lambda g, x: _contracted(g, x), view=True)


@functools.lru_cache(maxsize=1024)
def infer_size(shape, size):
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
    return _shaped(input, infer_size(sizes_of(shape, "reshape"), input._spec.size))


def _shaped(input, shape):
    """The elements in a shape that holds as many of them."""
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


def named_form(input, name, *args):
    """A form of a function that only names have (names/methods.py), called before there were any."""
    from tensorgrad.names.values import use_names

    use_names()
    return getattr(input, name)(*args)


def flatten(input, start_dim=0, end_dim=-1, out_dim=None):
    """Dimensions from start_dim to end_dim made one (which may be given a name).

    >>> torch.ones(2, 3, 4).flatten(1).shape
    tensorgrad.Size([2, 12])
    """
    check_tensor("flatten", input)
    if out_dim is not None or type(end_dim) is str:
        return named_form(input, "flatten", start_dim, end_dim, *(() if out_dim is None else (out_dim,)))
    shape = tuple(input._spec.shape)
    first, last = dim_of(start_dim, len(shape)), dim_of(end_dim, len(shape))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshape(input, (1,))
    if first == last:
        return input
    return _shaped(input, (*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :]))


def unflatten(input, dim, sizes):
    """One dimension made several.

    >>> torch.ones(6).unflatten(0, (2, 3)).shape
    tensorgrad.Size([2, 3])
    """
    if isinstance(sizes, dict) or (isinstance(sizes, (tuple, list)) and sizes and isinstance(sizes[0], (tuple, list))):
        return named_form(input, "unflatten", dim, sizes)
    shape = tuple(input.shape)
    dim = dim_of(dim, len(shape))
    sizes = tuple(sizes) if isinstance(sizes, (tuple, list)) else (sizes,)
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    if not shape:
        raise RuntimeError("unflatten got an unexpected error:\na number has no dimension: unsqueeze(0) gives it one")
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
    check_tensor("ravel", input)
    return _view(contiguous(input), (input._spec.size,))


def permute(input, *dims):
    """The dimensions in another order.

    >>> torch.ones(2, 3, 4).permute(2, 0, 1).shape
    tensorgrad.Size([4, 2, 3])
    """
    check_tensor("permute", input)
    dims = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    return _permute(
        input, (_known_order if INTS.issuperset(map(type, dims)) else _order)(tuple(dims), len(input._spec.shape))
    )


def _order(dims, ndim):
    """The dims of `permute` counted from the front, checked."""
    if len(dims) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(dims)}"
        )
    dims = tuple(dim_of(d, ndim) for d in dims)
    if len(set(dims)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return dims


_known_order = functools.lru_cache(maxsize=1024)(_order)


def transpose(input, dim0, dim1):
    """Two dimensions swapped.

    >>> torch.ones(2, 3).transpose(0, 1).shape
    tensorgrad.Size([3, 2])
    """
    check_tensor("transpose", input)
    ndim = len(input._spec.shape)
    return _transpose(input, _swapped(ndim, dim_of(dim0, ndim), dim_of(dim1, ndim)))


@functools.cache
def _swapped(ndim, dim0, dim1):
    """All dims, with two in each other's place."""
    dims = list(range(ndim))
    if dims:
        dims[dim0], dims[dim1] = dims[dim1], dims[dim0]
    return tuple(dims)


swapaxes = swapdims = transpose


def t(input):
    """A matrix transposed; fewer dimensions are left alone.

    >>> torch.ones(2, 3).t().shape
    tensorgrad.Size([3, 2])
    """
    ndim = len(input._spec.shape)
    if ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {ndim}D")
    return _t(input, ((), (0,), (1, 0))[ndim])


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
    spec = input._spec
    return _expand(input, _expanded(spec.shape, sizes_of(sizes, "expand"), spec.dtype.title))


@functools.lru_cache(maxsize=1024)
def _expanded(shape, sizes, title):
    """The sizes of `expand`, checked, with those that -1 keeps."""
    lead = len(sizes) - len(shape)
    if lead < 0:
        raise RuntimeError(
            f"expand(torch.{title}Tensor{{{list(shape)}}}, size={list(sizes)}): the number of sizes provided ({len(sizes)}) must "
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
        elif n < 0:
            raise RuntimeError(
                f"expand: negative size {n} at dimension {position}: only -1, which keeps the size, may stand there"
            )
        elif have is not None and have != 1 and have != n:
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({have}) at non-singleton dimension "
                f"{position}.  Target sizes: {list(sizes)}.  Tensor sizes: {list(shape)}"
            )
        final.append(n)
    return tuple(final)


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
    shape = input._spec.shape
    if dim is None:
        return _squeeze_all(input, tuple([n for n in shape if n != 1]))
    if type(dim) is int and shape:
        dim = dim_of(dim, len(shape))
        shape = tuple(shape)
        return _squeeze(input, (*shape[:dim], *shape[dim + 1 :]) if shape[dim] == 1 else shape)
    several = isinstance(dim, (tuple, list))
    dims = () if several and not dim else dims_of(dim, len(shape))
    primitive = _squeeze_several if several else _squeeze
    return primitive(input, tuple([n for i, n in enumerate(shape) if n != 1 or i not in dims]))


def unsqueeze(input, dim):
    """With a new dimension of size 1.

    >>> torch.ones(3).unsqueeze(1).shape
    tensorgrad.Size([3, 1])
    """
    shape = tuple(input._spec.shape)
    dim = dim_of(dim, len(shape) + 1)
    return _unsqueeze(input, (*shape[:dim], 1, *shape[dim:]))


# Copies

_clone = Primitive("clone", lambda x: _copied(x), transpose=lambda g: g, passes=True)


def _copied(x):
    """A copy in the same order in memory; expanded dimensions become real."""
    if x.flags.c_contiguous or (0 in x.strides and not x.flags.forc):
        return in_order(x)
    return x.copy(order="K")


_contiguous = Primitive(
    "contiguous", lambda x: in_order(x), transpose=lambda g: g, node="CloneBackward0", passes=True
)  # fmt: skip


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
