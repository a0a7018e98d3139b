"""Diagonals, triangles and margins of matrices: put in, taken out, filled up."""

import builtins

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops import fitting
from tensorgrad.ops.arguments import int_argument, wrong_type
from tensorgrad.ops.both import number, xp
from tensorgrad.ops.both import tensors as tensor_functions
from tensorgrad.ops.creation import finished, numpy_dtype
from tensorgrad.ops.fitting import check_tensor, dim_of
from tensorgrad.ops.forms import inplace_of, promoted, takes_out
from tensorgrad.ops.parts import _diagonal, _embed
from tensorgrad.ops.parts import diagonal as diagonal_of
from tensorgrad.ops.primitive import Primitive
from tensorgrad.ops.shape import cat, reshape
from tensorgrad.spec import spec_for

PUBLIC = {"": "diag diag_embed diagflat trace tril triu tril_indices triu_indices block_diag constant_pad_nd"}

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


# Margins


def _sides(pad, ndim):
    """The margins before and after each dimension; `pad` tells them from the last dimension on."""
    pairs = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)][::-1]
    return [(0, 0)] * (ndim - len(pairs)) + pairs


@number
def padded_with(x, pad, value):
    """Margins of a value around an array; negative ones are cut off."""
    sides = _sides(pad, x.ndim)
    shape = tuple([before + n + after for n, (before, after) in zip(x.shape, sides, strict=True)])
    inner = x[tuple([slice(builtins.max(-before, 0), builtins.max(n - builtins.max(-after, 0), 0))
                     for n, (before, after) in zip(x.shape, sides, strict=True)])]  # fmt: skip
    out = np.full(shape, value, x.dtype) if value else np.zeros(shape, x.dtype)
    out[tuple([slice(builtins.max(before, 0), builtins.max(before, 0) + n)
               for n, (before, _) in zip(inner.shape, sides, strict=True)])] = inner  # fmt: skip
    return out


_pad = Primitive(
    "constant_pad_nd", padded_with, fresh=True, batch="leading", inputs=("x",), params=("pad", "value"),
    rules={"x": lambda g, pad: xp.padded_with(g, tuple([-n for n in pad]), 0)}, pushforward=lambda t, pad: _pad(t, pad, 0),
)  # fmt: skip
tensor_functions["padded_with"] = lambda x, pad, value: _pad(x, pad, value)


def constant_pad_nd(input, pad, value=0):
    """Margins of a value around a tensor, told from the last dimension on: before it, after it, before the one before ...

    >>> torch.constant_pad_nd(torch.ones(2), (1, 2), 5)
    tensor([5., 1., 1., 5., 5.])
    """
    shape = check_tensor("constant_pad_nd", input)._spec.shape
    if not isinstance(pad, (tuple, list)):
        raise wrong_type("constant_pad_nd", "pad", 2, "tuple of ints", pad)
    pad = fitting.sizes_of((pad,), "constant_pad_nd")
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * len(shape):
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{len(pad)}while the input has {len(shape)}dimensions."
        )
    for dim, (n, (before, after)) in enumerate(zip(shape, _sides(pad, len(shape)), strict=True)):
        if before + n + after < 0:
            raise RuntimeError(
                f"The input size {n}, plus negative padding {before} and {after} resulted in a negative output size, which "
                f"is invalid. Check dimension {dim} of your input."
            )
    if isinstance(value, fitting.Tensor):
        value = value.item()
    return _pad(input, pad, fitting.number_array(value, input._spec.dtype).item() if value else 0)


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
        rows.append(_pad(x, (before, width - before - x.shape[1]), 0))
        before += x.shape[1]
    return cat(rows, 0)


class Methods:
    """The same as methods."""

    diag, diag_embed, diagflat, trace, tril, triu = diag, diag_embed, diagflat, trace, tril, triu
    tril_, triu_ = inplace_of(tril), inplace_of(triu)
