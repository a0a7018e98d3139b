"""Diagonals, triangles and margins of matrices: put in, taken out, filled up."""

import builtins

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops import fitting
from tensorgrad.ops.arguments import int_argument
from tensorgrad.ops.both import xp
from tensorgrad.ops.creation import finished, numpy_dtype
from tensorgrad.ops.fitting import check_tensor, dim_of
from tensorgrad.ops.forms import inplace_of, promoted, takes_out
from tensorgrad.ops.padding import constant_pad_nd
from tensorgrad.ops.parts import _diagonal, _embed
from tensorgrad.ops.parts import diagonal as diagonal_of
from tensorgrad.ops.primitive import Primitive
from tensorgrad.ops.shape import cat, reshape
from tensorgrad.spec import spec_for

PUBLIC = {"": "diag diag_embed diagflat trace tril triu tril_indices triu_indices block_diag"}

# Diagonals

_diag_embed = _embed.variant("diag_embed", "DiagEmbedBackward0")


def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """Matrices of zeros with the last dimension on their diagonals.

    >>> torch.diag_embed(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    check_tensor("diag_embed", input)
    shape = list(input._spec.shape)
    ndim = len(shape) + 1
    if not shape:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got -2)")
    dim1, dim2 = dim_of(dim1, ndim), dim_of(dim2, ndim)
    if dim1 == dim2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    n = shape.pop() + abs(offset)
    for dim in sorted((dim1, dim2)):
        shape.insert(dim, n)
    return _diag_embed(input, _diagonal, ((offset, dim1, dim2),), spec_for(tuple(shape), input._spec.dtype))


@takes_out
def diag(input, diagonal=0):
    """The diagonal of a matrix, or the matrix of a diagonal.

    >>> torch.diag(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    ndim, diagonal = len(check_tensor("diag", input)._spec.shape), int_argument("diag", "diagonal", 2, diagonal)
    if ndim == 1:
        return diag_embed(input, diagonal)
    if ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")
    return diagonal_of(input, diagonal).clone(memory_format=dtypes.contiguous_format)


def diagflat(input, offset=0):
    """The matrix with all elements on its diagonal.

    >>> torch.diagflat(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    return diag_embed(check_tensor("diagflat", input).contiguous().view(-1), offset)


def trace(input):
    """The sum of the diagonal of a matrix.

    >>> torch.trace(torch.tensor([[1., 2.], [3., 4.]]))
    tensor(5.)
    """
    ndim = len(check_tensor("trace", input)._spec.shape)
    if ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {ndim}")
    return diagonal_of(input).sum()


# Triangles


def _lower(x, diagonal):
    return np.asarray(np.where(np.tri(*x.shape[-2:], k=diagonal, dtype=bool), x, np.zeros((), x.dtype)), order="C")


def _upper(x, diagonal):
    return np.asarray(np.where(np.tri(*x.shape[-2:], k=diagonal - 1, dtype=bool), np.zeros((), x.dtype), x), order="C")


_tril = Primitive("tril", _lower, transpose=lambda g, diagonal: xp.tril(g, diagonal), fresh=True, batch="leading")
_triu = Primitive("triu", _upper, transpose=lambda g, diagonal: xp.triu(g, diagonal), fresh=True, batch="leading")


def _is_matrix(name, input):
    if len(check_tensor(name, input)._spec.shape) < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")


@takes_out
def tril(input, diagonal=0):
    """Matrices with zeros above the diagonal.

    >>> torch.tril(torch.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """
    _is_matrix("tril", input)
    return _tril(input, int_argument("tril", "diagonal", 2, diagonal))


@takes_out
def triu(input, diagonal=0):
    """Matrices with zeros below the diagonal.

    >>> torch.triu(torch.ones(2, 2))
    tensor([[1., 1.],
            [0., 1.]])
    """
    _is_matrix("triu", input)
    return _triu(input, int_argument("triu", "diagonal", 2, diagonal))


def _indices(name, find, row, col, offset, dtype, device, layout, requires_grad, pin_memory):
    for position, (word, n) in enumerate((("row", row), ("col", col))):
        if int_argument(name, word, position + 1, n) < 0:
            raise RuntimeError(f"{word} must be non-negative, got{n}")
    kind = numpy_dtype(dtype, dtypes.int64, name)
    if kind not in (np.int64, np.int32):
        raise NotImplementedError(f"\"{name}\" not implemented for '{dtype.title}'")
    return finished(np.stack(find(row, offset, col)).astype(kind), None, device, requires_grad, layout, pin_memory)


def tril_indices(row, col, offset=0, *, dtype=None, device=None, layout=None, requires_grad=False, pin_memory=False):
    """The coordinates of the lower triangle of a matrix, row by row.

    >>> torch.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    return _indices("tril_indices", np.tril_indices, row, col, offset, dtype, device, layout, requires_grad, pin_memory)


def triu_indices(row, col, offset=0, *, dtype=None, device=None, layout=None, requires_grad=False, pin_memory=False):
    """The coordinates of the upper triangle of a matrix, row by row.

    >>> torch.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    return _indices("triu_indices", np.triu_indices, row, col, offset, dtype, device, layout, requires_grad, pin_memory)


def block_diag(*tensors):
    """A matrix of zeros with matrices along its diagonal; vectors count as rows, numbers as matrices of one element.

    >>> torch.block_diag(torch.tensor([[1, 2]]), torch.tensor(3))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    if not tensors:
        return finished(np.empty((1, 0), dtypes.get_default_dtype().numpy))
    for position, x in enumerate(tensors):
        if not isinstance(x, fitting.Tensor):
            raise TypeError(f"expected Tensor as element {position} in argument 0, but got {type(x).__name__}")
        if len(x._spec.shape) > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                f"{position} has {len(x._spec.shape)} dimensions"
            )
    blocks = [x if len(x._spec.shape) == 2 else reshape(x, (1, x._spec.size)) for x in promoted(*tensors)]
    width, before, rows = builtins.sum(x.shape[1] for x in blocks), 0, []
    for x in blocks:
        rows.append(constant_pad_nd(x, (before, width - before - x.shape[1]), 0))
        before += x.shape[1]
    return cat(rows, 0)


class Methods:
    """The same as methods."""

    diag, diag_embed, diagflat, trace, tril, triu = diag, diag_embed, diagflat, trace, tril, triu
    tril_, triu_ = inplace_of(tril), inplace_of(triu)
