"""What is made of the decompositions: powers and exponentials of matrices, pseudo-inverses, ranks, least squares, tensor
equations, Vandermonde matrices."""

import operator

import numpy as np

from tensorgrad import dtypes
from tensorgrad.backends import linalg as kernels
from tensorgrad.ops import fitting
from tensorgrad.ops.decompositions import eigvalsh, svdvals
from tensorgrad.ops.fitting import check_tensor
from tensorgrad.ops.forms import takes_out
from tensorgrad.ops.inverses import broadcast_batches, inv, solve
from tensorgrad.ops.matmul import count, matmul
from tensorgrad.ops.matrices import check_dtype, check_square, named, of_matrices, plus, reduced_to
from tensorgrad.ops.primitive import Primitive

PUBLIC = {
    "": "matrix_power matrix_exp pinverse",
    "linalg": "matrix_power matrix_exp pinv matrix_rank lstsq tensorinv tensorsolve vander diagonal",
}


@takes_out
def matrix_power(A, n):
    """Square matrices multiplied n times with themselves; for negative n, their inverses.

    >>> torch.linalg.matrix_power(torch.tensor([[1., 1.], [0., 1.]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """
    check_square("linalg.matrix_power", A)
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"linalg_matrix_power(): argument 'n' (position 2) must be int, not {type(n).__name__}")
    n = operator.index(n)
    if n == 0:
        return A.clone().copy_(A.new_tensor(np.eye(A.shape[-1])))
    if n < 0:
        A, n = inv(A), -n
    if n == 1:
        return A.clone()
    result, square = None, A
    while n:  # squares, and the product of those that the binary digits of n name
        if n & 1:
            result = square if result is None else matmul(result, square)
        n >>= 1
        if n:
            square = matmul(square, square)
    return result


# The exponential


def _exponential_back(g, A):
    """The upper right corner of the exponential of [[A^H, g], [0, A^H]]."""
    import tensorgrad

    n, adjoint = A.shape[-1], A.mH
    above = tensorgrad.cat([adjoint, g], -1)
    below = tensorgrad.cat([adjoint.new_zeros(adjoint.shape), adjoint], -1)
    return _exponential(tensorgrad.cat([above, below], -2))[..., :n, n:]


_exponential = Primitive(
    "linalg_matrix_exp", lambda A: kernels.exponential(A), on_tensors=True, batch="leading",
    rules={"A": lambda g, A: _exponential_back(g, A)}, pushforward=lambda A, t: _exponential_back(t, A.mH),
)  # fmt: skip


def matrix_exp(A):
    """The exponentials of square matrices: the sums of their powers A^k / k!.

    >>> torch.linalg.matrix_exp(torch.tensor([[0., 1.], [0., 0.]]))
    tensor([[1., 1.],
            [0., 1.]])
    """
    check_square("linalg.matrix_exp", A)
    if A._spec.dtype.category < dtypes.FLOAT:
        check_dtype("linalg.matrix_exp", A)
    return _exponential(A)


# Pseudo-inverses and ranks


def _tolerances(name, A, atol, rtol):
    """atol and rtol as tensors; where neither is given, what numbers of this dtype can tell."""
    dtype = A.real._spec.dtype if A._spec.dtype.is_complex else A._spec.dtype
    usual = max(A.shape[-2:]) * np.finfo(dtype.numpy).eps
    if rtol is None:
        if isinstance(atol, fitting.Tensor):
            rtol = atol.new_full(atol.shape, usual).masked_fill(atol > 0, 0)
        else:
            rtol = 0.0 if atol is not None and atol > 0 else usual
    made = []
    for word, value in (("atol", 0.0 if atol is None else atol), ("rtol", rtol)):
        if not isinstance(value, fitting.Tensor):
            value = A.new_tensor(value, dtype=dtype)
        if value._spec.dtype.is_complex:
            raise RuntimeError(f"{name}: {word} tensor of complex type is not supported. Got {value._spec.dtype.title}")
        made.append(value.detach().to(dtype))
    return made


def _inverted(s, atol, rtol):
    """1 / s, and 0 for what is no more than the tolerance."""
    size = np.abs(s)
    top = size.max(-1, keepdims=True) if s.shape[-1] else 0
    keep = size > np.maximum(atol[..., None], rtol[..., None] * top)
    return np.where(keep, 1 / np.where(keep, s, 1), 0).astype(s.dtype)


def _pinv_kernel(A, atol, rtol, hermitian):
    if hermitian:
        values, v = np.linalg.eigh(A)
        return (v * _inverted(values, atol, rtol)[..., None, :]) @ kernels.adjoint(v)
    u, s, v = np.linalg.svd(A, full_matrices=False)
    return (kernels.adjoint(v) * _inverted(s, atol, rtol)[..., None, :]) @ kernels.adjoint(u)


def _pinv_back(g, A, P):
    """Where the rank does not change: -P^H g P^H, and what comes of the spaces that A leaves out."""
    h, p = g.mH, P.mH
    if A.shape[-2] <= A.shape[-1]:  # wide: the small products are h P and p P
        small = h @ P
        across = small @ p
        return across - A @ (P @ across) + (p @ P) @ (h - small @ A) - small.mH @ p
    small = P @ h
    return (h - A @ small) @ (P @ p) + p @ (small - (small @ P) @ A) - p @ small.mH


_pinv = Primitive(
    "linalg_pinv", _pinv_kernel, arity=3, on_tensors=True,
    batch=lambda apply, values, batched, params, size: _of_matrix_and_numbers(apply, values, batched, params, size),
    rules={"A": lambda g, A, out: _pinv_back(g, A, out)},
)  # fmt: skip


def _of_matrix_and_numbers(apply, values, batched, params, size):
    from tensorgrad.func.batching import leading_of

    return leading_of(2, 0, 0)(apply, values, batched, params, size)


def _pseudo(A, atol, rtol, hermitian):
    if len(A.shape) < 2 or A._spec.dtype.category < dtypes.FLOAT or A._spec.dtype.itemsize == 2:
        raise RuntimeError(
            f"linalg.pinv({A._spec.dtype.title}{{{list(A.shape)}}}): expected a tensor with 2 or more dimensions of float, "
            "double, cfloat or cdouble types"
        )
    if hermitian:
        check_square("linalg.eigh", A)
    atol, rtol = _tolerances("torch.linalg.pinv", A, atol, rtol)
    if not A._spec.size:
        return A.mH.clone()
    return _pinv(A, atol, rtol, bool(hermitian))


@takes_out
def pinv(A, *args, atol=None, rtol=None, rcond=None, hermitian=False):
    """The pseudo-inverses of matrices: singular values above max(atol, rtol * the largest) are inverted.

    >>> torch.linalg.pinv(torch.tensor([[2., 0.], [0., 0.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.0000]])
    """
    if args:  # the old form: pinv(A, rcond, hermitian)
        rcond, *rest = args
        hermitian = rest[0] if rest else hermitian
    if not isinstance(A, fitting.Tensor) or (rcond is not None and (atol is not None or rtol is not None)):
        given = {"atol": atol, "rtol": rtol, "rcond": rcond}
        raise fitting.wrong_arguments("linalg_pinv", (A, *(v for v in given.values() if v is not None)))
    return _pseudo(A, 0.0 if rcond is not None else atol, rcond if rcond is not None else rtol, hermitian)


@takes_out
def pinverse(input, rcond=1e-15):
    """The pseudo-inverses of matrices; the old form of linalg.pinv.

    >>> torch.pinverse(torch.tensor([[2., 0.]]))
    tensor([[0.5000],
            [0.0000]])
    """
    check_tensor("pinverse", input)
    return _pseudo(input, 0.0, rcond, False)


@takes_out
def matrix_rank(A, tol=None, hermitian=False, *, atol=None, rtol=None):
    """How many singular values of matrices are larger than max(atol, rtol * the largest).

    >>> torch.linalg.matrix_rank(torch.tensor([[1., 2.], [2., 4.]]))
    tensor(1)
    """
    if not isinstance(A, fitting.Tensor) or (tol is not None and (atol is not None or rtol is not None)):
        raise fitting.wrong_arguments("linalg_matrix_rank", (A, tol, atol, rtol))
    if len(A.shape) < 2:
        raise RuntimeError("torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.")
    if A._spec.dtype.category < dtypes.FLOAT or A._spec.dtype.itemsize == 2:
        raise RuntimeError("This function doesn't handle types other than float and double")
    if tol is not None:
        atol, rtol = tol, 0.0
    atol, rtol = _tolerances("torch.linalg.matrix_rank", A, atol, rtol)
    lead = np.broadcast_shapes(tuple(A.shape[:-2]), tuple(atol.shape), tuple(rtol.shape))
    if not A._spec.size:
        if hermitian:
            check_square("linalg.eigh", A)
        return A.new_zeros(lead, dtype=dtypes.int64)
    sizes = eigvalsh(A.detach()).abs() if hermitian else svdvals(A.detach())
    limit = atol.maximum(rtol * sizes.amax(-1))
    return (sizes > limit[..., None]).sum(-1)


# Least squares


def _lstsq_kernel(A, B, rcond, driver):
    """(solution, residuals, rank, singular values), as far as the driver tells them."""
    m, n = A.shape[-2:]
    lead = A.shape[:-2]
    real = A.real.dtype
    none, rank, values = np.empty((0,), real), np.empty((0,), np.int64), np.empty((0,), real)
    if not m or not n:
        x = np.zeros((*lead, n, B.shape[-1]), A.dtype)
        rank = np.zeros(lead, np.int64) if driver != "gels" else rank
        values = np.zeros((*lead, 0), real) if driver in ("gelsd", "gelss") else values
        residuals = none
        if m > n and driver != "gelsy":
            residuals = np.square(np.abs(B)).sum(-2)
        return x, residuals, rank, values
    full = driver == "gels"
    if full:
        if m >= n:
            q, r = np.linalg.qr(A)
            x = kernels.triangular(r, kernels.adjoint(q) @ B, True)
        else:
            q, r = np.linalg.qr(kernels.adjoint(A))
            x = q @ kernels.triangular(kernels.adjoint(r), B, False)
    else:
        u, s, v = np.linalg.svd(A, full_matrices=False)
        keep = s > rcond * s.max(-1, keepdims=True)
        inverted = np.where(keep, 1 / np.where(keep, s, 1), 0)
        x = kernels.adjoint(v) @ (inverted[..., None] * (kernels.adjoint(u) @ B))
        rank = np.asarray(keep.sum(-1))
        full = bool((rank == n).all())
        if driver != "gelsy":
            values = s
    residuals = none
    if m > n and driver != "gelsy" and full:
        residuals = np.square(np.abs(A @ x - B)).sum(-2)
    return x.astype(A.dtype, copy=False), residuals.astype(real, copy=False), rank, values.astype(real, copy=False)


def _lstsq_back(g, A, B, out, specs, wanted):
    g_x, g_residuals = g[:2]
    g_A = g_B = None
    if g_x is not None:
        P = _pseudo(A, None, None, False)
        g_A = _pinv_back(g_x @ B.mH, A, P) if wanted[0] else None
        g_B = P.mH @ g_x
    if g_residuals is not None and g_residuals._spec.size:
        apart = 2 * g_residuals[..., None, :].to(A.dtype) * (A @ out[0] - B)
        g_A = plus(g_A, apart @ out[0].mH) if wanted[0] else None
        g_B = plus(g_B, -apart)
    return tuple(None if part is None else reduced_to(part, spec) for part, spec in zip((g_A, g_B), specs, strict=True))


_lstsq = Primitive(
    "linalg_lstsq", _lstsq_kernel, arity=2, count=4, on_tensors=True, batch=of_matrices,
    pullback=lambda g, A, B, A_spec, B_spec, out, wanted: _lstsq_back(g, A, B, out, (A_spec, B_spec), wanted),
)  # fmt: skip


@takes_out
def lstsq(input, b, rcond=None, *, driver=None):
    """(solution, residuals, rank, singular_values): the X for which |input @ X - b| is smallest.

    >>> torch.linalg.lstsq(torch.tensor([[1.], [0.]]), torch.tensor([[2.], [3.]])).solution
    tensor([[2.]])
    """
    name = "torch.linalg.lstsq"
    check_tensor("linalg_lstsq", input)
    check_tensor("linalg_lstsq", b, "b", 2)
    if len(input.shape) < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if len(b.shape) < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if input._spec.dtype is not b._spec.dtype:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype {input._spec.dtype.title} and "
            f"other's dtype {b._spec.dtype.title}"
        )
    if not 0 <= len(input.shape) - len(b.shape) <= 1:
        raise RuntimeError(
            f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    vector = len(input.shape) - len(b.shape) == 1 and tuple(b.shape) == tuple(input.shape[:-1])
    other = b.unsqueeze(-1) if vector or len(b.shape) == 1 else b
    if input.shape[-2] != other.shape[-2]:
        where = "-1" if vector or len(b.shape) == 1 else "-2"
        raise RuntimeError(f"{name}: input.size(-2) should match other.size({where})")
    vector = vector or len(b.shape) == 1
    if driver is None:
        driver = "gelsy"
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    if input._spec.dtype.category < dtypes.FLOAT or input._spec.dtype.itemsize == 2:
        raise RuntimeError("This function doesn't handle types other than float and double")
    if isinstance(rcond, fitting.Tensor):
        rcond = rcond.item()
    if rcond is None:
        real = input._spec.dtype.to_real() if input._spec.dtype.is_complex else input._spec.dtype
        rcond = np.finfo(real.numpy).eps * max(input.shape[-2:])
    try:
        input, other = broadcast_batches(input, other)
    except ValueError:
        raise fitting.broadcast_error((input.new_empty(input.shape[:-2]), b.new_empty(other.shape[:-2]))) from None
    x, residuals, rank, values = _lstsq(input, other, float(rcond), driver)
    parts = (x.squeeze(-1) if vector else x, residuals, rank, values.detach())
    return named("linalg_lstsq", "solution residuals rank singular_values", parts)


# Equations between tensors


@takes_out
def tensorinv(A, ind=2):
    """The inverse of a tensor as a map from its last dimensions to its first `ind`.

    >>> torch.linalg.tensorinv(torch.eye(4).reshape(2, 2, 4), ind=2).shape
    tensorgrad.Size([4, 2, 2])
    """
    check_tensor("linalg_tensorinv", A, "A")
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    first, last = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    if count(first) != count(last):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{count(last)} != {count(first)}"
        )
    return inv(A.reshape(count(first), count(last))).reshape((*last, *first))


@takes_out
def tensorsolve(A, B, dims=None):
    """The tensor X for which tensordot(A, X) is B.

    >>> torch.linalg.tensorsolve(torch.eye(4).reshape(2, 2, 4), torch.ones(2, 2))
    tensor([1., 1., 1., 1.])
    """
    check_tensor("linalg_tensorsolve", A, "A")
    check_tensor("linalg_tensorsolve", B, "B", 2)
    if dims is not None:
        dims = (dims,) if isinstance(dims, int) else tuple(dims)
        A = A.movedim(dims, tuple(range(len(A.shape) - len(dims), len(A.shape))))
    rest = tuple(A.shape[len(B.shape) :])
    first = tuple(A.shape[: len(B.shape)])
    if count(rest) != count(first) or count(first) != B._spec.size:
        wanted = count(first) if count(rest) != count(first) else B._spec.size
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got "
            f"{count(rest)} != {wanted}"
        )
    return solve(A.reshape(count(rest), count(rest)), B.reshape(count(rest))).reshape(rest)


def vander(x, N=None):
    """Rows of powers 0 to N - 1 of numbers.

    >>> torch.linalg.vander(torch.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [1, 2, 4],
            [1, 3, 9]])
    """
    check_tensor("linalg_vander", x, "x")
    kind = x._spec.dtype
    if kind is dtypes.bool_:
        raise RuntimeError("linalg.vander supports floating point, complex, and integer tensors, but got Bool")
    x = x if x.shape else x.unsqueeze(0)
    N = x.shape[-1] if N is None else N
    if N <= 1:
        raise RuntimeError("N must be greater than 1.")
    if kind.category < dtypes.FLOAT:
        x = x.to(dtypes.int64)
    import tensorgrad

    powers = x.unsqueeze(-1).expand((*x.shape, N - 1)).cumprod(-1)
    return tensorgrad.cat([x.new_ones((*x.shape, 1)), powers], -1)


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """A view of the diagonals of matrices.

    >>> torch.linalg.diagonal(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return check_tensor("linalg_diagonal", A, "A").diagonal(offset, dim1, dim2)


class Methods:
    """As methods of Tensor."""

    matrix_power, matrix_exp, pinverse = matrix_power, matrix_exp, pinverse
