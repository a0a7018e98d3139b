"""Norms of vectors and matrices, condition numbers, and renorm."""

import math

import numpy as np

from tensorgrad import dtypes
from tensorgrad.dtypes import FLOAT
from tensorgrad.ops import fitting
from tensorgrad.ops.both import number, tensors, xp
from tensorgrad.ops.fitting import check_tensor, dim_of, dims_of, is_number
from tensorgrad.ops.forms import inplace_of, takes_out
from tensorgrad.ops.matrices import check_dtype, check_square
from tensorgrad.ops.primitive import Primitive

PUBLIC = {
    "": "norm=old_norm renorm dist norm_except_dim",
    "linalg": "vector_norm matrix_norm norm cond",
}


def _kept(shape, dims):
    return tuple(1 if i in dims else n for i, n in enumerate(shape))


def _norm_kernel(x, p, dims, keepdim):
    if x.dtype.itemsize == 2:
        return _norm_kernel(x.astype(np.float32), p, dims, keepdim).astype(x.dtype)
    if p == 2:
        if len(dims) == x.ndim and x.flags.c_contiguous and x.dtype.kind == "f":
            flat = x.reshape(-1)
            total = np.sqrt(np.dot(flat, flat))
            return total.reshape((1,) * x.ndim) if keepdim else total
        squares = x * x if x.dtype.kind == "f" else x.real**2 + x.imag**2
        return np.sqrt(np.add.reduce(squares, axis=dims, keepdims=keepdim))
    size = np.abs(x)
    if p == math.inf:
        return np.maximum.reduce(size, axis=dims, keepdims=keepdim)
    if p == -math.inf:
        return np.minimum.reduce(size, axis=dims, keepdims=keepdim)
    if p == 0:
        return np.add.reduce(size != 0, axis=dims, keepdims=keepdim).astype(size.dtype)
    if p == 1:
        return np.add.reduce(size, axis=dims, keepdims=keepdim)
    total = np.add.reduce(size**p, axis=dims, keepdims=keepdim)
    return np.asarray(total ** (1 / p), size.dtype)


@number
def direction(x):
    """Numbers of size 1 in the direction of x, 0 for 0."""
    return xp.sign(x)


tensors["direction"] = lambda x: x.sgn() if x._spec.dtype.is_complex else x.sign()


@number
def along(g, x, length):
    """g in the direction of x, 0 where x has no length."""
    scale = np.divide(g, length, where=length != 0, out=np.zeros(g.shape, np.result_type(g, length)))
    return x * scale


tensors["along"] = lambda g, x, length: g * (x / length).masked_fill(length == 0, 0)


def _norm_back(g, x, out, p, dims):
    """g times the direction of x, each weighed by its part in the norm; 0 where the norm is 0."""
    shape = _kept(x.shape, dims)
    g, out = xp.reshape(g, shape), xp.reshape(out, shape)
    if p == 2:
        return xp.along(g, x, out)
    if p == 1:
        return g * xp.direction(x)
    if p == 0:
        return x * 0
    if p in (math.inf, -math.inf):
        chosen = xp.where(xp.abs(x) == out, xp.ones_like(xp.abs(x)), xp.zeros_like(xp.abs(x)))
        return xp.direction(x) * (chosen * (g / xp.sum_dims(chosen, dims, True)))
    size = xp.abs(x)
    if p < 2:
        weight = size ** (p - 1)
        if p < 1:
            weight = xp.where(size == 0, xp.zeros_like(size), weight)
        weight = xp.direction(x) * weight
    else:
        weight = x * size ** (p - 2)
    scale = g / out ** (p - 1)
    return weight * xp.where(out == 0, xp.zeros_like(scale), scale)


def _norm_forward(t, x, out, p, dims, keepdim):
    """How the norm moves: the part of t along its gradient."""
    slope = _norm_back(out.new_ones(out.shape), x, out, p, dims)
    moved = (slope.conj() * t).real if x._spec.dtype.is_complex else slope * t
    return moved.sum(dims, keepdim) if dims else moved


tensors["sum_dims"] = lambda x, dims, keepdims: x.sum(dims, keepdims) if dims else x
_norm = Primitive(
    "linalg_vector_norm", _norm_kernel, fit=True, fresh=True, batch="dims",
    rules={"x": lambda g, x, out, p, dims: _norm_back(g, x, out, p, dims)},
    pushforward=lambda t, x, out, p, dims, keepdim: _norm_forward(t, x, out, p, dims, keepdim),
)  # fmt: skip


def _typed(name, x, dtype):
    """The tensor in the dtype that a norm is asked for in."""
    own = x._spec.dtype
    if own.category < FLOAT:
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {own.title}")
    if dtype is None or dtype is own:
        return x
    if dtype.category < FLOAT:
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {dtype.title}")
    if dtype.is_complex != own.is_complex:
        kind = "complex" if own.is_complex else "real"
        raise RuntimeError(f"{name}: dtype should be {kind} for {kind} inputs, but got {dtype.title}")
    if dtypes.promote_types(own, dtype) is not dtype:
        raise RuntimeError(
            f"{name}: the dtype of the input ({own.title}) should be convertible without narrowing to the specified dtype "
            f"({dtype.title})"
        )
    return x.to(dtype)


def _check_empty(x, p, dims, all_dims):
    """Raise for the norms that nothing has."""
    if x._spec.size == 0 and (p < 0 or p == math.inf):
        text = f"{p:g}"
        if all_dims:
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {text} norm on an empty tensor because the operation does not have an "
                "identity"
            )
        for d in dims:
            if x.shape[d] == 0:
                raise RuntimeError(
                    f"linalg.vector_norm cannot compute the {text} norm on the dimension {d}because this dimension is empty and "
                    "the operation does not have an identity"
                )


@takes_out
def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """The p-norm of all elements, or along dimensions.

    >>> torch.linalg.vector_norm(torch.tensor([3., 4.]))
    tensor(5.)
    """
    check_tensor("linalg_vector_norm", x)
    if isinstance(ord, fitting.Tensor):
        ord = ord.item()
    if not is_number(ord):
        raise TypeError(f"linalg_vector_norm(): argument 'ord' must be Number, not {fitting.kind_name(ord)}")
    x = _typed("linalg.vector_norm", x, dtype)
    dims = dims_of(dim, len(x.shape), "linalg_vector_norm")
    _check_empty(x, ord, dims, dim is None or (isinstance(dim, (tuple, list)) and not len(dim)))
    return _norm(x, float(ord), dims, keepdim)


def _pair(dim, ndim, text=None):
    """The two dimensions of matrices."""
    dims = tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    if len(dims) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dims))}")
    made = tuple(dim_of(d, ndim) for d in dims)
    if made[0] == made[1]:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dims[0]}, {dims[1]})")
    return made


@takes_out
def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """The norms of matrices: fro, nuc, inf, -inf, 1, -1, 2 or -2.

    >>> torch.linalg.matrix_norm(torch.tensor([[1., 2.], [-3., 4.]]), 1)
    tensor(6.)
    """
    name = "linalg.matrix_norm"
    check_tensor("linalg_matrix_norm", A)
    if isinstance(ord, fitting.Tensor):
        ord = ord.item()
    if A._spec.dtype.category < FLOAT:
        check_dtype(name, A)
    if len(A.shape) < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    dims = _pair(dim, len(A.shape))
    if ord not in ("fro", "nuc") if isinstance(ord, str) else abs(ord) not in (1, 2, math.inf):
        shown = ord if isinstance(ord, str) else f"{ord:g}"
        raise RuntimeError(f"{name}: Order {shown} not supported.")
    if ord == "fro":
        return vector_norm(A, 2, dims, keepdim, dtype=dtype)
    if isinstance(ord, str) or abs(ord) == 2:
        check_dtype(name, A)
        A = _typed(name, A, dtype)
        values = _singular_values(A.movedim(dims, (-2, -1)))
        if ord == "nuc" or not values.shape[-1]:
            result = values.sum(-1)
        else:
            result = values.amax(-1) if ord > 0 else values.amin(-1)
        if keepdim:
            low, high = sorted(dims)
            result = result.unsqueeze(low).unsqueeze(high)
        return result
    first, second = dims if abs(ord) == 1 else dims[::-1]  # sums over rows for 1, over columns for inf
    sums = vector_norm(A, 1, first, True, dtype=dtype)
    if not sums.shape[second]:
        result = sums.sum(second, keepdim=True)
    else:
        result = sums.amax(second, True) if ord > 0 else sums.amin(second, True)
    return result if keepdim else result.squeeze(dims)


def _singular_values(A):
    from tensorgrad.ops.decompositions import svdvals

    return svdvals(A)


@takes_out
def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """The norm of a vector or a matrix, as `ord` and `dim` say; of all elements without them.

    >>> torch.linalg.norm(torch.tensor([[3., 0.], [0., 4.]]))
    tensor(5.)
    """
    check_tensor("linalg_norm", A)
    dims = None if dim is None else tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    if isinstance(ord, str):
        return matrix_norm(A, ord, (-2, -1) if dims is None else dims, keepdim, dtype=dtype)
    if ord is None:
        return vector_norm(A, 2, dims, keepdim, dtype=dtype)
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if dims is None and len(A.shape) not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {len(A.shape)}D."
        )
    if (len(dims) if dims is not None else len(A.shape)) == 1:
        return vector_norm(A, ord, dims, keepdim, dtype=dtype)
    return matrix_norm(A, ord, (0, 1) if dims is None else dims, keepdim, dtype=dtype)


@takes_out
def old_norm(input, p="fro", dim=None, keepdim=False, dtype=None):
    """The p-norm of all elements, or along dimensions; also the nuclear norm of matrices.

    >>> torch.norm(torch.tensor([3., 4.]))
    tensor(5.)
    """
    check_tensor("norm", input)
    if isinstance(p, str):
        if p == "fro" and (dim is None or not isinstance(dim, (tuple, list)) or len(dim) < 2):
            return vector_norm(input, 2, dim, keepdim, dtype=dtype)
        if dim is None:
            dim = tuple(range(len(input.shape)))
        if p == "fro" and len(dim) <= 2 and len({*dim}) == len(dim):
            return vector_norm(input, 2, dim, keepdim, dtype=dtype)
        return matrix_norm(input, p, dim, keepdim, dtype=dtype)
    return vector_norm(input, 2 if p is None else p, dim, keepdim, dtype=dtype)


old_norm.__name__ = old_norm.__qualname__ = "norm"


def cond_order(p):
    """Whether a condition number is asked for in a norm that is not made of singular values."""
    return p in ("fro", "nuc") if isinstance(p, str) else abs(p) in (1, math.inf)


@takes_out
def cond(A, p=None):
    """The condition numbers of matrices: how much larger a relative error becomes when an equation is solved.

    >>> torch.linalg.cond(torch.tensor([[4., 0.], [0., 2.]]))
    tensor(2.)
    """
    check_tensor("linalg_cond", A)
    if len(A.shape) < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if p is None or (not isinstance(p, str) and abs(p) == 2):
        values = _singular_values(A)
        if not values.shape[-1]:
            return values.sum(-1)
        first, last = values[..., :1], values[..., -1:]
        return (last / first if p == -2 else first / last).squeeze(-1)
    if not cond_order(p):
        shown = p if isinstance(p, str) else f"{p:g}"
        raise RuntimeError(f"linalg.cond got an invalid norm type: {shown}")
    check_square(f"linalg.cond(ord={p if isinstance(p, str) else format(p, 'g')})", A, function="linalg.cond")
    if not A._spec.size:
        return A.abs().sum((-2, -1))
    from tensorgrad.ops.inverses import inv_ex

    check_dtype("linalg.inv", A)
    inverse, info = inv_ex(A)
    result = matrix_norm(A, p) * matrix_norm(inverse.masked_fill((info > 0)[..., None, None], math.inf), p)
    return result.masked_fill(info > 0, math.inf)


@takes_out
def dist(input, other, p=2):
    """The p-norm of a difference.

    >>> torch.dist(torch.tensor([1., 2.]), torch.tensor([4., 6.]))
    tensor(5.)
    """
    check_tensor("dist", input)
    check_tensor("dist", other, "other", 2)
    difference = input - other
    if difference._spec.dtype.category < FLOAT:
        raise RuntimeError(
            "norm(): input dtype should be either floating point or complex. Got "
            f"{difference._spec.dtype.title} instead."
        )
    return vector_norm(difference, p)


@takes_out
def renorm(input, p, dim, maxnorm):
    """The tensor with every slice along `dim` scaled down to a p-norm of at most maxnorm.

    >>> torch.renorm(torch.tensor([[3., 4.], [0., 1.]]), 2, 0, 1)
    tensor([[0.6000, 0.8000],
            [0.0000, 1.0000]])
    """
    check_tensor("renorm", input)
    for word, value in (("p", p), ("maxnorm", maxnorm)):
        if isinstance(value, complex):
            raise RuntimeError(f"renorm: {word} must be real-valued")
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    ndim = len(input.shape)
    if ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {ndim} dimensions")
    dim = dim_of(dim, ndim)
    half = input._spec.dtype.itemsize == 2 and not input._spec.dtype.is_complex
    wide = input.to(dtypes.float32) if half and input._spec.dtype.category == FLOAT else input
    sizes = vector_norm(wide, p, [d for d in range(ndim) if d != dim], True)
    factor = (maxnorm / (sizes + 1e-7)).masked_fill(sizes <= maxnorm, 1)
    result = wide * factor
    return result if result._spec.dtype is input._spec.dtype else result.to(input._spec.dtype)


def norm_except_dim(v, pow=2, dim=0):
    """The p-norms of the slices along a dimension, that dimension kept; of all elements when dim is -1.

    >>> torch.norm_except_dim(torch.tensor([[3., 4.], [0., 1.]]))
    tensor([[5.],
            [1.]])
    """
    check_tensor("norm_except_dim", v, "v")
    if dim == -1:
        return vector_norm(v, pow)
    return vector_norm(v, pow, [d for d in range(len(v.shape)) if d != dim_of(dim, len(v.shape))], True)


class Methods:
    """As methods of Tensor."""

    norm, dist, renorm = old_norm, dist, renorm
    renorm_ = inplace_of(renorm)
