"""Inverses, determinants, and solutions of linear equations."""

import numpy as np

from tensorgrad.autograd.modes import no_grad
from tensorgrad.backends import linalg as kernels
from tensorgrad.ops.fitting import certain, check_tensor
from tensorgrad.ops.forms import takes_out
from tensorgrad.ops.matrices import (
    check_dtype,
    check_fits,
    check_info,
    check_matrix,
    check_same_dtype,
    check_square,
    named,
    of_matrices,
    reduced_to,
)
from tensorgrad.ops.primitive import Primitive

PUBLIC = {
    "": "inverse det logdet slogdet=old_slogdet triangular_solve",
    "linalg": "inv inv_ex det slogdet solve solve_ex solve_triangular",
}

# Inverses


def _inv_kernel(A, check):
    result, info = kernels.inverse(A)
    if check:
        check_info(check, "inv", info)
    return result, info


_inv = Primitive(
    "linalg_inv_ex", _inv_kernel, count=2, on_tensors=True, batch="leading",
    pullback=lambda g, out: -(out[0].mH @ g[0] @ out[0].mH),
    pushforward=lambda out, t: (-(out[0] @ t @ out[0]), None),
)  # fmt: skip


@takes_out
def inv(A):
    """The inverses of square matrices; LinAlgError when there is none.

    >>> torch.linalg.inv(torch.tensor([[2., 0.], [0., 4.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return _inv(check_dtype("linalg.inv", check_square("linalg.inv", A)), "linalg.inv")[0]


@takes_out
def inv_ex(A, *, check_errors=False):
    """(inverse, info): info is 0, or says which pivot is zero where there is no inverse.

    >>> torch.linalg.inv_ex(torch.zeros(1, 1)).info
    tensor(1, dtype=tensorgrad.int32)
    """
    check_dtype("linalg.inv", check_square("linalg.inv", A, function="linalg.inv_ex"))
    return named("linalg_inv_ex", "inverse info", _inv(A, check_errors and "linalg.inv_ex"))


@takes_out
def inverse(input):
    """The inverses of square matrices; another name of linalg.inv.

    >>> torch.inverse(torch.tensor([[4.]]))
    tensor([[0.2500]])
    """
    return _inv(check_dtype("linalg.inv", check_square("linalg.inv", input, function="inverse")), "linalg.inv")[0]


# Determinants

_det = Primitive(
    "linalg_det", lambda A: np.linalg.det(A), on_tensors=True, batch="leading", rules={
        "A": lambda g, A, out: g[..., None, None] * _cofactors(A, out)
    },
)  # fmt: skip


def _cofactors(A, det):
    """The derivatives of the determinant: its conjugate times the adjoint of the inverse, which exists without one too."""
    inverse, _ = _inv(A, None)
    with no_grad():
        condition = A.abs().sum(-1) @ inverse.abs().sum(-2)[..., None] if A.shape[-1] else A.abs().sum()
        limit = 1e-4 / np.finfo(A._spec.dtype.numpy).eps
        well = certain((condition < limit).all())
    return det.conj()[..., None, None] * inverse.mH if well else _cofactor(A)


def _cofactor_kernel(A):
    u, s, v = np.linalg.svd(A)
    phase = (np.linalg.det(u) * np.linalg.det(v)).conj()[..., None, None]
    return (phase * ((u * _others(s)[..., None, :]) @ v)).astype(A.dtype)


def _others(s):
    """For each number the product of all others."""
    n = s.shape[-1]
    return np.where(np.eye(n, dtype=bool), 1, s[..., None, :]).prod(-1)


def _cofactor_back(g, A):
    """How cofactors change: products of all singular values but two."""
    from tensorgrad.ops.decompositions import svd

    n = A.shape[-1]
    u, s, v = svd(A)
    phase = (det(u) * det(v))[..., None, None]
    pair = np.eye(n, dtype=bool)[:, None] | np.eye(n, dtype=bool)[None]
    but_two = s.new_tensor(np.where(pair, 0.0, 1.0)) * s[..., None, None, :] + s.new_tensor(np.where(pair, 1.0, 0.0))
    but_two = (but_two.prod(-1) * s.new_tensor(1 - np.eye(n))).to(A.dtype)
    h = phase * (u.mH @ g @ v.mH)
    change = (but_two @ h.diagonal(0, -2, -1)[..., None])[..., 0].conj().diag_embed() - but_two * h.mH
    return u @ change @ v


_cofactor = Primitive(
    "cofactor", _cofactor_kernel, on_tensors=True, batch="leading", rules={"A": lambda g, A: _cofactor_back(g, A)}
)


def _slogdet_kernel(A):
    sign, size = np.linalg.slogdet(A)
    return np.asarray(sign), np.asarray(size)


def _slogdet_back(g, A, out):
    sign, size = g
    scale = size.to(A.dtype) if size is not None else A.new_zeros(A.shape[:-2])
    if sign is not None and A._spec.dtype.is_complex:
        scale = scale - 1j * (sign.conj() * out[0]).imag
    return scale[..., None, None] * _inv(A, None)[0].mH


_slogdet = Primitive(
    "linalg_slogdet",
    _slogdet_kernel,
    count=2,
    on_tensors=True,
    batch="leading",
    pullback=lambda g, A, out: _slogdet_back(g, A, out),
)


@takes_out
def det(A):
    """The determinants of square matrices.

    >>> torch.linalg.det(torch.tensor([[1., 2.], [3., 4.]]))
    tensor(-2.)
    """
    check_square("linalg.det", A)
    if A._spec.dtype.category < 2:
        check_dtype("linalg.det", A)
    return _det(check_dtype(None, A, "lu_cpu"))


@takes_out
def slogdet(A):
    """(sign, logabsdet): the determinants as signs (or phases) and logarithms of sizes, which do not overflow.

    >>> torch.linalg.slogdet(torch.tensor([[-2.]])).logabsdet
    tensor(0.6931)
    """
    check_dtype("linalg.slogdet", check_square("linalg.slogdet", A))
    return named("linalg_slogdet", "sign logabsdet", _slogdet(A))


@takes_out
def old_slogdet(input):
    """(sign, logabsdet) of the determinants; another name of linalg.slogdet.

    >>> torch.slogdet(torch.tensor([[-1.]])).sign
    tensor(-1.)
    """
    return named("slogdet", "sign logabsdet", slogdet(input))


old_slogdet.__name__ = old_slogdet.__qualname__ = "slogdet"


def logdet(input):
    """The logarithms of determinants; nan where one is negative.

    >>> torch.logdet(torch.eye(2) * 2)
    tensor(1.3863)
    """
    check_dtype("logdet", check_square("logdet", input))
    sign, size = _slogdet(input)
    if input._spec.dtype.is_complex:
        return sign.log() + size
    return size.masked_fill(sign == -1, float("nan"))


# Equations


def _solve_kernel(A, B, check):
    result, info = kernels.solved(A, B)
    if check:
        check_info(check, "solve", info)
    return result, info


def _solve_back(g, A, out, specs, wanted):
    g = _solve(A.mH, g[0], None)[0]
    return (reduced_to(-g @ out[0].mH, specs[0]) if wanted[0] else None), reduced_to(g, specs[1])


_solve = Primitive(
    "linalg_solve_ex", _solve_kernel, count=2, arity=2, on_tensors=True, batch=of_matrices,
    pullback=lambda g, A, A_spec, B_spec, out, wanted: _solve_back(g, A, out, (A_spec, B_spec), wanted),
    pushforward=lambda A, t_A, t_B, out: (_solve(A, _moved(t_A, t_B, out[0]), None)[0], None),
)  # fmt: skip


def _moved(t_A, t_B, x):
    if t_A is None:
        return t_B
    return -(t_A @ x) if t_B is None else t_B - t_A @ x


def broadcast_batches(a, b):
    """Two tensors of matrices, expanded to one batch."""
    one, other = tuple(a.shape[:-2]), tuple(b.shape[:-2])
    if one == other:
        return a, b
    lead = np.broadcast_shapes(one, other)
    return a.expand((*lead, *a.shape[-2:])), b.expand((*lead, *b.shape[-2:]))


def _solution(name, function, A, B, left, check):
    check_square(name, A, function=function)
    check_tensor(function.replace(".", "_"), B, "B", 2)
    check_same_dtype(name, A, B)
    if A._spec.dtype.category < 2:
        check_dtype(name, A)
    check_dtype(None, A, "lu_cpu")
    vector = len(B.shape) == 1 or (len(A.shape) - 1 == len(B.shape) and tuple(A.shape[:-1]) == tuple(B.shape))
    if vector and not left and len(B.shape):
        raise RuntimeError(f"{name}: Vector broadcasting of the left hand side is not supported for left=False. In this case "
                           "linalg.solve is equivalent to B / A.squeeze(-1)")  # fmt: skip
    if vector:
        B = B.unsqueeze(-1)
    check_matrix(name, B, "B", 2)
    check_fits(name, A, B, left)
    A, B = broadcast_batches(A, B) if left else broadcast_batches(A.mT, B.mT)
    result, info = _solve(A, B, check)
    if not left:
        result = result.mT
    return (result.squeeze(-1) if vector else result), info


@takes_out
def solve(A, B, *, left=True):
    """The solutions X of A @ X = B (with left=False of X @ A = B); LinAlgError when A is singular.

    >>> torch.linalg.solve(torch.tensor([[2., 0.], [0., 4.]]), torch.tensor([1., 2.]))
    tensor([0.5000, 0.5000])
    """
    return _solution("linalg.solve", "linalg.solve", A, B, left, "torch.linalg.solve")[0]


@takes_out
def solve_ex(A, B, *, left=True, check_errors=False):
    """(result, info): the solution of A @ X = B, and 0 or which pivot of A is zero.

    >>> torch.linalg.solve_ex(torch.tensor([[2.]]), torch.tensor([1.])).result
    tensor([0.5000])
    """
    parts = _solution("linalg.solve", "linalg.solve_ex", A, B, left, check_errors and "linalg.solve_ex")
    return named("linalg_solve_ex", "result info", parts)


# Triangles


def _triangular_back(g, A, out, specs, upper, unit, wanted):
    g = _triangular(A.mH, g, not upper, unit)
    back = reduced_to(g, specs[1])
    if not wanted[0]:
        return None, back
    whole = reduced_to(-g @ out.mH, specs[0])
    return (whole.triu(int(unit)) if upper else whole.tril(-int(unit))), back


def _triangular_tangent(A, B, t_A, t_B, out, upper, unit):
    if t_A is not None:
        t_A = t_A.triu(int(unit)) if upper else t_A.tril(-int(unit))
    return _triangular(A, _moved(t_A, t_B, out), upper, unit)


_triangular = Primitive(
    "linalg_solve_triangular", lambda A, B, upper, unit: kernels.triangular(A, B, upper, unit), arity=2, on_tensors=True,
    batch=of_matrices, pushforward=_triangular_tangent,
    pullback=lambda g, A, A_spec, B_spec, out, upper, unit, wanted: _triangular_back(
        g, A, out, (A_spec, B_spec), upper, unit, wanted
    ),
)  # fmt: skip
_old_triangular = _triangular.variant("triangular_solve", "TriangularSolveBackward0")


def triangular(A, B, upper, unit=False, primitive=_triangular):
    """The solution X of A @ X = B, where one triangle of A counts; batches broadcast."""
    return primitive(*broadcast_batches(A, B), bool(upper), bool(unit))


@takes_out
def solve_triangular(A, B, *, upper, left=True, unitriangular=False):
    """The solutions X of A @ X = B (with left=False of X @ A = B) for triangular A, of which no more is read.

    >>> torch.linalg.solve_triangular(torch.tensor([[2., 0.], [1., 1.]]), torch.tensor([[2.], [3.]]), upper=False)
    tensor([[1.],
            [2.]])
    """
    name = "linalg.solve_triangular"
    check_square(name, A)
    check_matrix(name, B, "B", 2)
    check_same_dtype(name, A, B)
    check_fits(name, A, B, left)
    check_dtype(None, A, "triangular_solve_cpu")
    if left:
        return triangular(A, B, upper, unitriangular)
    return triangular(A.mT, B.mT, not upper, unitriangular).mT


@takes_out
def triangular_solve(input, A, upper=True, transpose=False, unitriangular=False):
    """(solution, cloned_coefficient) of A @ X = input for triangular A; the old form of linalg.solve_triangular.

    >>> torch.triangular_solve(torch.tensor([[2.]]), torch.tensor([[4.]])).solution
    tensor([[0.5000]])
    """
    check_tensor("triangular_solve", input)
    check_tensor("triangular_solve", A, "A", 2)
    for word, x in (("b", input), ("A", A)):
        if len(x.shape) < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {word} to have at least 2 dimensions, but it has {len(x.shape)} "
                "dimensions instead"
            )
    check_pair("triangular_solve", input, A)
    check_dtype(None, A, "triangular_solve_cpu")
    A, input = broadcast_batches(A, input)
    if transpose:
        solution = triangular(A.mT, input, not upper, unitriangular, _old_triangular)
    else:
        solution = triangular(A, input, upper, unitriangular, _old_triangular)
    return named("triangular_solve", "solution cloned_coefficient", (solution, A.clone()))


def check_pair(name, b, A):
    """Raise unless A and b go together, in the words of PyTorch's older functions."""
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"A must be batches of square matrices, but they are {A.shape[-2]} by {A.shape[-1]} matrices"
        )
    if A.shape[-2] != b.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {A.shape[-1]} by {A.shape[-1]} but each b matrix is "
            f"{b.shape[-2]} by {b.shape[-1]}"
        )
    if b._spec.dtype is not A._spec.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {b._spec.dtype.title} and A of type "
            f"{A._spec.dtype.title} instead."
        )


class Methods:
    """As methods of Tensor."""

    inverse, det, logdet, slogdet, triangular_solve = inverse, det, logdet, old_slogdet, triangular_solve
