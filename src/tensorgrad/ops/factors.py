"""Factors of square (and for LU, any) matrices for solving equations: Cholesky, LU and LDL, and the solutions by them."""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.backends import linalg as kernels
from tensorgrad.ops.fitting import check_tensor
from tensorgrad.ops.forms import takes_out
from tensorgrad.ops.inverses import broadcast_batches, check_pair, triangular
from tensorgrad.ops.matrices import (
    check_dtype,
    check_fits,
    check_info,
    check_matrix,
    check_same_dtype,
    check_square,
    named,
    of_matrices,
    plus,
    reduced_to,
)
from tensorgrad.ops.primitive import Primitive

PUBLIC = {
    "": "cholesky=old_cholesky cholesky_solve cholesky_inverse lu lu_solve=old_lu_solve lu_unpack",
    "linalg": "cholesky cholesky_ex lu=linalg_lu lu_factor lu_factor_ex lu_solve ldl_factor ldl_factor_ex ldl_solve",
}

# Cholesky


def _cholesky_kernel(A, upper, check):
    factor, info = kernels.cholesky(A, upper)
    if check:
        check_info(check, "cholesky", info)
    return factor, info


def _cholesky_back(g, factor, upper):
    """The Hermitian gradient: L^-H times the lower half of L^H g, made Hermitian, times L^-1."""
    L, g = (factor.mH, g.mH) if upper else (factor, g)
    half = (L.mH @ g).tril()
    half = (half + half.tril(-1).mH) * 0.5
    half = triangular(L.mH, half, True)
    return triangular(L.mH, half.mH, True).mH


_cholesky = Primitive(
    "linalg_cholesky_ex", _cholesky_kernel, count=2, on_tensors=True, batch="leading",
    pullback=lambda g, out, upper: _cholesky_back(g[0], out[0], upper),
)  # fmt: skip
_old_cholesky = _cholesky.variant("cholesky", "CholeskyBackward0")


@takes_out
def cholesky(input, *, upper=False):
    """The lower triangles L of positive matrices L @ L.mH (with upper=True, the U of U.mH @ U).

    >>> torch.linalg.cholesky(torch.tensor([[4., 2.], [2., 5.]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    return _factored("linalg.cholesky", "linalg.cholesky", input, upper, "linalg.cholesky")[0]


def _factored(name, function, input, upper, check):
    check_square(name, input, "A", function=function)
    if input._spec.dtype.category < 2 and name != "cholesky":
        check_dtype(name, input)
    return (_old_cholesky if name == "cholesky" else _cholesky)(
        check_dtype(None, input, "cholesky_cpu"), bool(upper), check
    )


@takes_out
def cholesky_ex(input, *, upper=False, check_errors=False):
    """(L, info): the Cholesky factor, and 0 or the order of the first minor that is not positive.

    >>> torch.linalg.cholesky_ex(torch.tensor([[-1.]])).info
    tensor(1, dtype=tensorgrad.int32)
    """
    parts = _factored("linalg.cholesky", "linalg.cholesky_ex", input, upper, check_errors and "linalg.cholesky_ex")
    return named("linalg_cholesky_ex", "L info", parts)


@takes_out
def old_cholesky(input, upper=False):
    """The Cholesky factors of positive matrices; the old form of linalg.cholesky.

    >>> torch.cholesky(torch.tensor([[4.]]))
    tensor([[2.]])
    """
    return _factored("cholesky", "cholesky", input, upper, "cholesky")[0]


old_cholesky.__name__ = old_cholesky.__qualname__ = "cholesky"


@takes_out
def cholesky_solve(input, L, upper=False):
    """The solutions X of A @ X = input, given the Cholesky factor of A.

    >>> torch.cholesky_solve(torch.tensor([[8.]]), torch.tensor([[2.]]))
    tensor([[2.]])
    """
    check_tensor("cholesky_solve", input)
    check_tensor("cholesky_solve", L, "input2", 2)
    for word, x in (("b", input), ("u", L)):
        if len(x.shape) < 2:
            raise RuntimeError(f"{word} should have at least 2 dimensions, but has {len(x.shape)} dimensions instead")
    check_pair("cholesky_solve", input, L)
    check_dtype(None, L, "cholesky_solve_cpu")
    L, input = broadcast_batches(L, input)
    return _cholesky_solve(input, L, bool(upper))


def _cholesky_solve_kernel(B, L, upper):
    low, high = (kernels.adjoint(L), L) if upper else (L, kernels.adjoint(L))
    return kernels.triangular(high, kernels.triangular(low, B, False), True)


def _cholesky_solve_back(g, L, out, specs, upper, wanted):
    g = _cholesky_solve(g, L, upper)
    if not wanted[1]:
        return reduced_to(g, specs[0]), None
    both = g @ out.mH
    both = both + both.mH
    return reduced_to(g, specs[0]), reduced_to(-(L @ both if upper else both @ L), specs[1])


_cholesky_solve = Primitive(
    "cholesky_solve", _cholesky_solve_kernel, arity=2, on_tensors=True, batch=of_matrices,
    pullback=lambda g, L, B_spec, L_spec, out, upper, wanted: _cholesky_solve_back(g, L, out, (B_spec, L_spec), upper, wanted),
)  # fmt: skip


@takes_out
def cholesky_inverse(L, upper=False):
    """The inverse of a positive matrix, given its Cholesky factor.

    >>> torch.cholesky_inverse(torch.tensor([[2.]]))
    tensor([[0.2500]])
    """
    check_square("cholesky_inverse", L, "A", function="cholesky_inverse")
    check_dtype(None, L, "cholesky_inverse_out_cpu")
    return _cholesky_inverse(L, bool(upper))


def _cholesky_inverse_back(g, L, out, upper):
    both = out @ (g + g.mH) @ out
    return -(L @ both if upper else both @ L)


_cholesky_inverse = Primitive(
    "cholesky_inverse", lambda L, upper: _cholesky_solve_kernel(np.eye(L.shape[-1], dtype=L.dtype), L, upper),
    on_tensors=True, batch="leading", rules={"L": lambda g, L, out, upper: _cholesky_inverse_back(g, L, out, upper)},
)  # fmt: skip


def _identity(like, n):
    return like.new_tensor(np.eye(n)) if n else like.new_zeros((0, 0))


# LU


def _lu_back(g_lower, g_upper, lower, upper, order):
    """The gradient of a matrix whose rows in this order are L @ U; either gradient may be None."""
    m, n, k = lower.shape[-2], upper.shape[-1], lower.shape[-1]
    top, square = lower[..., :k, :], upper[..., :, :k]
    inside = beside = None
    if g_upper is not None and n > k:  # wide: U = [U1 | L^-1 A2]
        beside = triangular(top.mH, g_upper[..., :, k:], True, True)
        g_lower = plus(g_lower, -beside @ upper[..., :, k:].mH)
        g_upper = g_upper[..., :, :k]
    if g_lower is not None and m > k:  # tall: L = [L1; A2 U^-1]
        beside = triangular(square, g_lower[..., k:, :].mH, True).mH
        g_upper = plus(g_upper, -lower[..., k:, :].mH @ beside)
        g_lower = g_lower[..., :k, :]
    if g_lower is not None:
        inside = (top.mH @ g_lower).tril(-1)
    if g_upper is not None:
        inside = plus(inside, (g_upper @ square.mH).triu())
    inside = triangular(top.mH, inside, True, True)
    inside = triangular(square, inside.mH, True).mH
    if m != n:
        import tensorgrad

        if beside is None:
            beside = inside.new_zeros((*inside.shape[:-2], *((m - k, k) if m > k else (k, n - k))))
        inside = tensorgrad.cat([inside, beside], -2 if m > k else -1)
    return _rows(inside, order)


def _rows(x, order):
    """The rows of matrices in this order."""
    return x.gather(-2, order[..., None].expand(x.shape))


def _unpacked(packed):
    """L and U of the matrix that holds both."""
    k = min(packed.shape[-2:])
    return packed[..., :, :k].tril(-1) + _identity(packed, packed.shape[-2])[:, :k], packed[..., :k, :].triu()


def _lu_factor_back(g, out):
    packed, pivots = out[0], out[1]
    lower, upper = _unpacked(packed)
    k = min(packed.shape[-2:])
    return _lu_back(
        g[0][..., :, :k].tril(-1), g[0][..., :k, :].triu(), lower, upper, _order(pivots, packed.shape[-2], True)
    )


def _lu_factor_kernel(A, check):
    packed, pivots, info = kernels.lu_factor(A)
    if check:
        check_info(check, "lu_factor", info, RuntimeError)
    return packed, pivots, info


def _order_kernel(pivots, n, back):
    """The order that interchanges leave rows in, or the one that brings them `back`."""
    order = kernels.permutation(pivots, n)
    return (order.argsort(-1) if back else order).astype(np.int64)


_order = Primitive("lu_order", _order_kernel, batch="leading")
_lu_factor = Primitive(
    "linalg_lu_factor_ex", _lu_factor_kernel, count=3, on_tensors=True, batch="leading",
    pullback=lambda g, out: _lu_factor_back(g, out),
)  # fmt: skip


def _permutation_matrix(order):
    return order[..., None, :] == np.arange(order.shape[-1])[:, None]


def _lu_kernel(A):
    packed, pivots, _ = kernels.lu_factor(A)
    m, k = A.shape[-2], min(A.shape[-2:])
    order = kernels.permutation(pivots, m)
    permutation = _permutation_matrix(order).astype(A.dtype)
    lower = np.tril(packed[..., :, :k], -1)
    lower[..., range(k), range(k)] = 1
    return permutation, lower, np.triu(packed[..., :k, :])


_lu = Primitive(
    "linalg_lu", _lu_kernel, count=3, on_tensors=True, batch="leading",
    pullback=lambda g, out: None if g[1] is g[2] is None else _lu_back(g[1], g[2], out[1], out[2], _order_of(out[0])),
)  # fmt: skip


def _order_of(permutation):
    """The order that brings the rows of L @ U to where P puts them."""
    return (permutation.real if permutation._spec.dtype.is_complex else permutation).detach().argmax(-1)


def _to_factor(name, A, pivot, function=None):
    check_tensor(function or "linalg_" + name.rpartition(".")[2], A, "A")
    if len(A.shape) < 2:
        raise RuntimeError(f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
    check_dtype(None, A, "lu_cpu")
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    return A


@takes_out
def linalg_lu(A, *, pivot=True):
    """(P, L, U): a permutation, a lower and an upper triangle whose product is A.

    >>> torch.linalg.lu(torch.tensor([[1., 2.], [2., 8.]])).U
    tensor([[ 2.,  8.],
            [ 0., -2.]])
    """
    return named("linalg_lu", "P L U", _lu(_to_factor("linalg.lu", A, pivot)))


@takes_out
def lu_factor(A, *, pivot=True):
    """(LU, pivots): L and U in one matrix, and the interchanges of rows.

    >>> torch.linalg.lu_factor(torch.tensor([[1., 2.], [2., 8.]])).pivots
    tensor([2, 2], dtype=tensorgrad.int32)
    """
    parts = _lu_factor(_to_factor("torch.lu_factor", A, pivot), "torch.linalg.lu_factor")
    return named("linalg_lu_factor", "LU pivots", parts[:2])


@takes_out
def lu_factor_ex(A, *, pivot=True, check_errors=False):
    """(LU, pivots, info): L and U in one matrix, the interchanges of rows, and 0 or which pivot is zero.

    >>> torch.linalg.lu_factor_ex(torch.zeros(1, 1)).info
    tensor(1, dtype=tensorgrad.int32)
    """
    parts = _lu_factor(_to_factor("torch.lu_factor", A, pivot), check_errors and "torch.linalg.lu_factor_ex")
    return named("linalg_lu_factor_ex", "LU pivots info", parts)


def lu(A, pivot=True, get_infos=False, *, out=None):
    """(LU, pivots), with get_infos=True also whether each matrix could be factored; the old form of linalg.lu_factor.

    >>> torch.lu(torch.tensor([[3.]]))
    (tensor([[3.]]), tensor([1], dtype=tensorgrad.int32))
    """
    parts = _lu_factor(_to_factor("torch.lu_factor", A, pivot, "lu"), None)
    parts = named("_lu_with_info", "LU pivots info", parts) if get_infos else (parts[0], parts[1])
    if out is None:
        return parts
    from tensorgrad.ops.fitting import store

    if len(out) != len(parts):
        raise TypeError(f"expected tuple of {len(parts)} elements but got {len(out)}")
    for target, part in zip(out, parts, strict=True):
        store(target, part, (A,))
    return out


@takes_out
def lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True):
    """(P, L, U) of what lu_factor returns.

    >>> LU, pivots = torch.linalg.lu_factor(torch.tensor([[1., 2.], [2., 8.]]))
    >>> torch.lu_unpack(LU, pivots).P
    tensor([[0., 1.],
            [1., 0.]])
    """
    check_tensor("lu_unpack", LU_data, "LU_data")
    check_tensor("lu_unpack", LU_pivots, "LU_pivots", 2)
    if len(LU_data.shape) < 2:
        raise RuntimeError(
            f"torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: {list(LU_data.shape)} instead"
        )
    if unpack_pivots and LU_pivots._spec.dtype is not dtypes.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
            "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    empty = LU_data.new_empty((0,))
    lower, upper = _unpacked(LU_data) if unpack_data else (empty, empty.clone())
    if not unpack_pivots:
        permutation = empty.clone()
    else:
        m = LU_data.shape[-2]
        permutation = _permutation(LU_pivots, m, LU_data._spec.dtype.numpy)
    return named("lu_unpack", "P L U", (permutation, lower, upper))


_permutation = Primitive(
    "lu_permutation", lambda pivots, n, dtype: _permutation_matrix(kernels.permutation(pivots, n)).astype(dtype),
    batch="leading",
)  # fmt: skip


def _lu_solution(LU, pivots, B, left, adjoint):
    """The solution of A X = B, or with `adjoint` of A^H X = B, given the factors of A; with left=False of X A = B."""
    if not left:
        return _lu_solution(LU, pivots, B.mH, True, not adjoint).mH
    LU, B = broadcast_batches(LU, B)
    order = _order(pivots, LU.shape[-1], adjoint).expand(tuple(B.shape[:-1]))
    if adjoint:
        return _rows(triangular(LU.mH, triangular(LU.mH, B, False), True, True), order)
    return triangular(LU, triangular(LU, _rows(B, order), False, True), True)


@takes_out
def lu_solve(LU, pivots, B, *, left=True, adjoint=False):
    """The solutions X of A @ X = B, given lu_factor(A).

    >>> torch.linalg.lu_solve(*torch.linalg.lu_factor(torch.tensor([[2.]])), torch.tensor([[4.]]))
    tensor([[2.]])
    """
    name = "linalg.lu_solve"
    for position, (word, x) in enumerate((("LU", LU), ("pivots", pivots), ("B", B))):
        check_tensor("linalg_lu_solve", x, word, position + 1)
    if LU._spec.dtype.category < 2:
        check_dtype("torch.linalg.lu_solve", LU)
    check_dtype(None, LU, "lu_solve_cpu")
    check_square(name, LU, "LU")
    check_matrix(name, B, "B", 3)
    check_same_dtype(name, LU, B, ("LU", "B"))
    if pivots._spec.dtype is not dtypes.int32:
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32")
    if LU.shape[-1] != (pivots.shape[-1] if pivots.shape else 1):
        raise RuntimeError(f"{name}: Number of pivots per batch should be same as the dimension of the matrix")
    if tuple(LU.shape[:-1]) != tuple(pivots.shape):
        raise RuntimeError(
            f"{name}: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead"
        )
    check_fits(name, LU, B, left)
    return _lu_solution(LU, pivots, B, left, adjoint)


@takes_out
def old_lu_solve(b, LU_data, LU_pivots):
    """The solutions X of A @ X = b, given lu_factor(A); the old form of linalg.lu_solve.

    >>> torch.lu_solve(torch.tensor([[4.]]), *torch.linalg.lu_factor(torch.tensor([[2.]])))
    tensor([[2.]])
    """
    return lu_solve(LU_data, LU_pivots, b)


old_lu_solve.__name__ = old_lu_solve.__qualname__ = "lu_solve"

# LDL


def _ldl_kernel(A, hermitian, check):
    packed, pivots, info = kernels.ldl_factor(A, hermitian)
    if check and info.any():
        raise RuntimeError(
            f"{check}: the matrix has a block of D that is zero: entry {int(info.max())} on its diagonal"
        )
    return packed, pivots, info


_ldl = Primitive("linalg_ldl_factor_ex", _ldl_kernel, count=3, batch="leading")
_ldl_solve = Primitive(
    "linalg_ldl_solve", lambda LD, pivots, B, hermitian: kernels.ldl_solve(LD, pivots, B, hermitian), arity=3,
    batch="leading",
)  # fmt: skip


def _ldl_factored(function, input, hermitian, check):
    name = "torch.linalg.ldl_factor_ex"
    check_square(name, input, "A", function=function)
    if input._spec.dtype.category < 2:
        check_dtype(name, input)
    return _ldl(check_dtype(None, input, "ldl_factor_kernel_cpu"), bool(hermitian), check)


@takes_out
def ldl_factor(input, *, hermitian=False):
    """(LD, pivots) of symmetric matrices, or with hermitian=True of Hermitian ones: L @ D @ L.mT with blocks on D.

    >>> torch.linalg.ldl_factor(torch.tensor([[2., 2.], [2., 5.]])).LD
    tensor([[2., 0.],
            [1., 3.]])
    """
    parts = _ldl_factored("linalg.ldl_factor", input, hermitian, "torch.linalg.ldl_factor")
    return named("linalg_ldl_factor", "LD pivots", parts[:2])


@takes_out
def ldl_factor_ex(input, *, hermitian=False, check_errors=False):
    """(LD, pivots, info): the same, and 0 or the number of the first zero block of D.

    >>> torch.linalg.ldl_factor_ex(torch.zeros(1, 1)).info
    tensor(1, dtype=tensorgrad.int32)
    """
    parts = _ldl_factored("linalg.ldl_factor_ex", input, hermitian, check_errors and "torch.linalg.ldl_factor_ex")
    return named("linalg_ldl_factor_ex", "LD pivots info", parts)


@takes_out
def ldl_solve(LD, pivots, B, *, hermitian=False):
    """The solutions X of A @ X = B, given ldl_factor(A).

    >>> torch.linalg.ldl_solve(*torch.linalg.ldl_factor(torch.tensor([[2.]])), torch.tensor([[4.]]))
    tensor([[2.]])
    """
    name = "torch.linalg.ldl_solve"
    check_square(name, LD, "LD", function="linalg.ldl_solve")
    check_tensor("linalg_ldl_solve", pivots, "pivots", 2)
    check_tensor("linalg_ldl_solve", B, "B", 3)
    if len(B.shape) < 2:
        raise RuntimeError(
            f"{name}: Expected B to have at least 2 dimensions, but it has {len(B.shape)} dimensions instead"
        )
    if tuple(LD.shape[:-1]) != tuple(pivots.shape):
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead"
        )
    if pivots._spec.dtype.category != dtypes.INTEGER:
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {pivots._spec.dtype.title}")
    check_pair(name, B, LD)
    check_dtype(name, LD)
    lead = np.broadcast_shapes(tuple(LD.shape[:-2]), tuple(B.shape[:-2]))
    LD, B = broadcast_batches(LD, B)
    return _ldl_solve(LD, pivots.expand((*lead, pivots.shape[-1])), B, bool(hermitian))


class Methods:
    """As methods of Tensor."""

    cholesky, cholesky_solve, cholesky_inverse = old_cholesky, cholesky_solve, cholesky_inverse
    lu, lu_solve = lu, old_lu_solve
