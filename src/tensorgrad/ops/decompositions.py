"""Decompositions of matrices: singular values, eigenvalues, QR and what LAPACK leaves of it (Householder reflections)."""

import numpy as np

from tensorgrad.autograd.modes import is_grad_enabled, no_grad
from tensorgrad.ops.fitting import certain, check_tensor
from tensorgrad.ops.forms import takes_out
from tensorgrad.ops.inverses import triangular
from tensorgrad.ops.matrices import LinAlgError, check_dtype, check_info, check_matrix, check_square, named, plus
from tensorgrad.ops.primitive import Primitive

PUBLIC = {
    "": "svd=old_svd qr=old_qr geqrf orgqr=householder_product ormqr",
    "linalg": "svd svdvals eigh eigvalsh eig eigvals qr householder_product",
}


def _determined(phases, name, what, of):
    """Raise unless a gradient is the same whatever phase the vectors have, which no decomposition determines."""
    with no_grad():
        if not certain((phases.imag.abs() > 1e-2).any()):
            return
    raise RuntimeError(
        f"{name}: The {what} in the complex case are specified up to multiplication by e^{{i phi}}. The specified loss "
        f"function depends on this {of}"
    )


def _needs_vectors(x):
    """Whether a derivative of the values may be asked for, which is made of the vectors."""
    return type(x._array) is not np.ndarray or (x._node is not None and is_grad_enabled())


def _matrix_of(diagonal, dtype):
    return diagonal.to(dtype).diag_embed()


def _differences(values):
    """The differences of all pairs of numbers, column minus row, and ones on the diagonal, where nothing is divided."""
    n = values.shape[-1]
    return values[..., None, :] - values[..., :, None] + values.new_tensor(np.eye(n))


# Singular values


def _svd_kernel(A, full):
    try:
        u, s, v = np.linalg.svd(A, full_matrices=full)
    except np.linalg.LinAlgError:
        u = v = None
        s = np.array(np.nan)
    if not np.isfinite(s).all():
        finite = np.isfinite(A).all((-2, -1))
        check_info("linalg.svd", "svd", np.where(finite, 0, 1) if not finite.all() else np.array(1))
    return u, s, v


def _svd_back(g, out, full):
    (g_u, g_s, g_v), (u, s, v) = g, out
    k = s.shape[-1]
    if full:
        u, v = u[..., :k], v[..., :k, :]
        g_u, g_v = g_u if g_u is None else g_u[..., :k], g_v if g_v is None else g_v[..., :k, :]
    dtype, row, column = u._spec.dtype, s[..., None, :].to(u._spec.dtype), s[..., :, None].to(u._spec.dtype)
    if g_u is None and g_v is None:
        return (u * g_s[..., None, :].to(dtype)) @ v if g_s is not None else None
    n = np.eye(k)
    gaps = _differences(s) * (s[..., None, :] + s[..., :, None] + s.new_tensor(n) * (1 - 2 * s[..., None, :]))
    inner = turn = None
    if g_u is not None:
        turn = u.mH @ g_u
        inner = ((turn - turn.mH) / gaps) * row
    if g_v is not None:
        other = v @ g_v.mH
        inner = plus(inner, column * ((other - other.mH) / gaps))
    if dtype.is_complex:
        phases = plus(turn, None if g_v is None else other).diagonal(0, -2, -1)
        _determined(phases, "svd_backward", "singular vectors", "phase term, making it ill-defined.")
        if turn is not None:
            inner = inner + ((turn - turn.mH).diagonal(0, -2, -1) / (2 * s)).diag_embed()
    if g_s is not None:
        inner = inner + _matrix_of(g_s, dtype)
    left = u @ inner
    if g_u is not None and u.shape[-2] > k:
        left = left + (g_u - u @ turn) / row
    if g_v is None or v.shape[-1] == k:
        return left @ v
    return left @ v + u @ ((g_v - other.mH @ v) / column)


_svd = Primitive(
    "linalg_svd",
    _svd_kernel,
    count=3,
    on_tensors=True,
    batch="leading",
    pullback=lambda g, out, full: _svd_back(g, out, full),
)
_svdvals = Primitive("linalg_svdvals", lambda A: _only_values(np.linalg.svd, A, compute_uv=False), batch="leading")


def _only_values(function, A, **options):
    try:
        values = function(A, **options)
    except np.linalg.LinAlgError:
        values = np.array(np.nan)
    if not np.isfinite(values).all() and not np.isfinite(A).all():
        finite = np.isfinite(A).all((-2, -1))
        name = "linalg.svd" if options.get("compute_uv") is False else "linalg.eigh"
        check_info(name, name[-3:] if name.endswith("svd") else "eig", np.where(finite, 0, 1))
    return values


@takes_out
def svd(A, full_matrices=True, *, driver=None):
    """(U, S, Vh): A as rotations and the sizes between them, U @ diag(S) @ Vh.

    >>> torch.linalg.svd(torch.tensor([[0., 2.], [-1., 0.]])).S
    tensor([2., 1.])
    """
    check_matrix("linalg.svd", A)
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )
    return named("linalg_svd", "U S Vh", _svd(_factorable("linalg.svd", A, "linalg_svd_cpu"), bool(full_matrices)))


def _factorable(name, A, kernel):
    if A._spec.dtype.category < 2:
        check_dtype(name, A)
    return check_dtype(None, A, kernel)


@takes_out
def svdvals(A, *, driver=None):
    """The singular values of matrices, largest first.

    >>> torch.linalg.svdvals(torch.tensor([[0., 2.], [-1., 0.]]))
    tensor([2., 1.])
    """
    check_matrix("linalg.svd", A, function="linalg.svdvals")
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )
    _factorable("linalg.svd", A, "linalg_svd_cpu")
    return _svd(A, False)[1] if _needs_vectors(A) else _svdvals(A)


@takes_out
def old_svd(input, some=True, compute_uv=True):
    """(U, S, V) with input = U @ diag(S) @ V.mH; the old form of linalg.svd.

    >>> torch.svd(torch.tensor([[0., 2.], [-1., 0.]])).S
    tensor([2., 1.])
    """
    check_matrix("linalg.svd", input, function="svd")
    _factorable("linalg.svd", input, "linalg_svd_cpu")
    if not compute_uv:
        m, n = input.shape[-2:]
        lead = tuple(input.shape[:-2])
        zeros = (input.new_zeros((*lead, m, m)), input.new_zeros((*lead, n, n)))
        return named("svd", "U S V", (zeros[0], svdvals(input), zeros[1]))
    u, s, v = _svd(input, not some)
    return named("svd", "U S V", (u, s, v.mH))


old_svd.__name__ = old_svd.__qualname__ = "svd"

# Eigenvalues of Hermitian matrices


def _eigh_kernel(A, lower):
    uplo = "L" if lower else "U"
    try:
        values, vectors = np.linalg.eigh(A, uplo)
    except np.linalg.LinAlgError:
        values, vectors = np.array(np.nan), None
    if not np.isfinite(values).all():
        check_info("linalg.eigh", "eig", np.where(np.isfinite(A).all((-2, -1)), 0, 2))
    if vectors is None:
        raise LinAlgError("linalg.eigh: The algorithm failed to converge.")
    return values, vectors


def _eigh_back(g, out):
    (g_values, g_vectors), (values, v) = g, out
    dtype = v._spec.dtype
    if g_vectors is None:
        return (v * g_values[..., None, :].to(dtype)) @ v.mH if g_values is not None else None
    turn = v.mH @ g_vectors
    if dtype.is_complex:
        _determined(turn.diagonal(0, -2, -1), "linalg_eigh_backward", "eigenvectors", "quantity, so it is ill-defined.")
    inner = (turn - turn.mH) / (2 * _differences(values))
    if dtype.is_complex:  # what no phase can change
        inner = inner - inner.diagonal(0, -2, -1).diag_embed()
    if g_values is not None:
        inner = inner + _matrix_of(g_values, dtype)
    return v @ inner @ v.mH


_eigh = Primitive(
    "linalg_eigh", _eigh_kernel, count=2, on_tensors=True, batch="leading", pullback=lambda g, out: _eigh_back(g, out)
)
_eigvalsh = Primitive(
    "linalg_eigvalsh", lambda A, lower: _only_values(np.linalg.eigvalsh, A, UPLO="L" if lower else "U"), batch="leading"
)


def _lower(function, A, UPLO):
    check_square("linalg.eigh", A, function=function)
    if not isinstance(UPLO, str):
        raise TypeError(f"{function.replace('.', '_')}(): argument 'UPLO' must be str, not {type(UPLO).__name__}")
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    check_dtype(None, A, "linalg_eigh_cpu")
    return UPLO.upper() == "L"


@takes_out
def eigh(A, UPLO="L"):
    """(eigenvalues, eigenvectors) of symmetric or Hermitian matrices, of which one triangle is read.

    >>> torch.linalg.eigh(torch.tensor([[2., 0.], [0., 1.]])).eigenvalues
    tensor([1., 2.])
    """
    return named("linalg_eigh", "eigenvalues eigenvectors", _eigh(A, _lower("linalg.eigh", A, UPLO)))


@takes_out
def eigvalsh(A, UPLO="L"):
    """The eigenvalues of symmetric or Hermitian matrices, smallest first.

    >>> torch.linalg.eigvalsh(torch.tensor([[2., 1.], [1., 2.]]))
    tensor([1., 3.])
    """
    lower = _lower("linalg.eigvalsh", A, UPLO)
    return _eigh(A, lower)[0] if _needs_vectors(A) else _eigvalsh(A, lower)


# Eigenvalues of any square matrix


def _eig_kernel(A):
    if not np.isfinite(A).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    values, vectors = np.linalg.eig(A)
    dtype = np.result_type(A.dtype, np.complex64)
    return values.astype(dtype, copy=False), vectors.astype(dtype, copy=False)


def _eig_back(g, A_spec, out):
    (g_values, g_vectors), (values, v) = g, out
    inner = None
    if g_vectors is not None:
        turn = v.mH @ g_vectors
        along = turn.diagonal(0, -2, -1)
        _determined(along, "linalg_eig_backward", "eigenvectors", "quantity, so it is ill-defined.")
        inner = turn - (v.mH @ v) * along.real[..., None, :]
        inner = inner / _differences(values).conj()
        inner = inner - inner.diagonal(0, -2, -1).diag_embed()
    if g_values is not None:
        inner = plus(inner, g_values.diag_embed())
    if inner is None:
        return None
    from tensorgrad.ops.inverses import solve

    result = solve(v.mH, inner @ v.mH)
    return result if A_spec.dtype.is_complex else result.real


_eig = Primitive(
    "linalg_eig", _eig_kernel, count=2, on_tensors=True, batch="leading",
    pullback=lambda g, A_spec, out: _eig_back(g, A_spec, out),
)  # fmt: skip
_eigvals = Primitive(
    "linalg_eigvals", lambda A: np.linalg.eigvals(A).astype(np.result_type(A.dtype, np.complex64)), batch="leading"
)


def _for_eig(function, A):
    check_square("linalg.eig", A, function=function)
    if A._spec.dtype.category < 2:
        raise RuntimeError(
            f"Unknown Complex ScalarType for {A._spec.dtype.title}\nlinalg.eig takes floating and complex tensors."
        )
    return check_dtype(None, A, "linalg_eig_out_cpu")


@takes_out
def eig(A):
    """(eigenvalues, eigenvectors) of square matrices, complex numbers.

    >>> torch.linalg.eig(torch.tensor([[2., 0.], [0., 1.]])).eigenvalues
    tensor([2.+0.j, 1.+0.j])
    """
    return named("linalg_eig", "eigenvalues eigenvectors", _eig(_for_eig("linalg.eig", A)))


@takes_out
def eigvals(A):
    """The eigenvalues of square matrices, complex numbers in no order.

    >>> torch.linalg.eigvals(torch.tensor([[2., 0.], [0., 1.]]))
    tensor([2.+0.j, 1.+0.j])
    """
    _for_eig("linalg.eigvals", A)
    if _needs_vectors(A):
        return _eig(A)[0]
    if not np.isfinite(A._array).all():
        raise RuntimeError("torch.linalg.eigvals: input tensor should not contain infs or NaNs.")
    return _eigvals(A)


# QR


def _qr_kernel(A, mode):
    if mode == "r":
        return np.empty((0,), A.dtype), np.linalg.qr(A, "r")
    q, r = np.linalg.qr(A, mode)
    return q, r


def _qr_back(g, out, mode):
    (g_q, g_r), (q, r) = g, out
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, "
            "mode='reduced') if you are going to differentiate through linalg.qr."
        )
    m, n = q.shape[-2], r.shape[-1]
    if mode == "complete" and m > n:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    if g_q is None and g_r is None:
        return None
    k, beside = min(m, n), None
    if g_r is not None and n > k:  # wide: R = [R1 | Q^H A2]
        beside = q @ g_r[..., k:]
        g_q = plus(g_q, q @ (r[..., k:] @ g_r[..., k:].mH))
    square = r[..., :k]
    inner = turn = None
    if g_r is not None:
        inner = g_r[..., :k] @ square.mH
    if g_q is not None:
        turn = q.mH @ g_q
    both = plus(turn, None if inner is None else -inner)
    low = (both - both.mH).tril(-1)
    if both._spec.dtype.is_complex:
        low = low + (1j * both.diagonal(0, -2, -1).imag).diag_embed()
    inner = plus(inner, low)
    if turn is not None:
        inner = inner - turn
    result = q @ inner if g_q is None else g_q + q @ inner
    result = triangular(square, result.mH, True).mH  # result @ R^-H
    if n == k:
        return result
    import tensorgrad

    return tensorgrad.cat([result, result.new_zeros((*result.shape[:-1], n - k)) if beside is None else beside], -1)


_qr = Primitive(
    "linalg_qr",
    _qr_kernel,
    count=2,
    on_tensors=True,
    batch="leading",
    pullback=lambda g, out, mode: _qr_back(g, out, mode),
)


@takes_out
def qr(A, mode="reduced"):
    """(Q, R): orthonormal columns and an upper triangle whose product is A.

    >>> torch.linalg.qr(torch.tensor([[-1., 2.], [0., 3.]])).R
    tensor([[-1.,  2.],
            [ 0.,  3.]])
    """
    check_matrix("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    return named("linalg_qr", "Q R", _qr(_factorable("linalg.qr", A, "geqrf_cpu"), mode))


@takes_out
def old_qr(input, some=True):
    """(Q, R): the old form of linalg.qr.

    >>> torch.qr(torch.tensor([[-1., 2.], [0., 3.]])).R
    tensor([[-1.,  2.],
            [ 0.,  3.]])
    """
    check_matrix("linalg.qr", input, function="qr")
    return named("qr", "Q R", _qr(_factorable("linalg.qr", input, "geqrf_cpu"), "reduced" if some else "complete"))


old_qr.__name__ = old_qr.__qualname__ = "qr"


def _geqrf_kernel(a):
    packed, tau = np.linalg.qr(a, "raw")
    return np.ascontiguousarray(packed.swapaxes(-1, -2)), tau


def _geqrf_back(g):
    raise NotImplementedError("the derivative for 'geqrf' is not implemented.")


_geqrf = Primitive("geqrf", _geqrf_kernel, count=2, batch="leading", pullback=_geqrf_back)


@takes_out
def geqrf(input):
    """(a, tau): QR as LAPACK leaves it, R above and on the diagonal, the reflections that make Q below it.

    >>> torch.geqrf(torch.tensor([[2.]])).tau
    tensor([0.])
    """
    check_matrix("torch.geqrf", input, "input", function="geqrf")
    return named("geqrf", "a tau", _geqrf(check_dtype(None, input, "geqrf_cpu")))


# Products of reflections I - tau v v^H, as I - V T V^H with a triangle T


def _reflections(name, input, tau):
    """(V, T) of reflections as geqrf leaves them."""
    k = tau.shape[-1]
    n = input.shape[-2]
    v = input[..., :k].tril(-1) + input.new_tensor(np.eye(n, k))
    scale = tau[..., None]
    triangle = (v.mH @ v).triu(1) * scale + input.new_tensor(np.eye(k))
    return v, triangular(triangle, tau.diag_embed(), True, True)


@takes_out
def householder_product(input, tau):
    """The first columns of a product of reflections, as geqrf leaves them: Q of its QR.

    >>> torch.linalg.householder_product(*torch.geqrf(torch.tensor([[3.], [4.]])))
    tensor([[-0.6000],
            [-0.8000]])
    """
    name = "torch.linalg.householder_product"
    check_tensor("linalg_householder_product", input)
    check_tensor("linalg_householder_product", tau, "tau", 2)
    if len(input.shape) < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if input.shape[-2] < input.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if input.shape[-1] < (tau.shape[-1] if tau.shape else 1):
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    _check_tau(name, input, tau)
    if tau._spec.dtype is not input._spec.dtype:
        raise RuntimeError(
            f"{name}: tau dtype {tau._spec.dtype.title} does not match input dtype {input._spec.dtype.title}"
        )
    check_dtype(None, input, "orgqr_cpu")
    m, n = input.shape[-2:]
    v, t = _reflections(name, input, tau)
    return input.new_tensor(np.eye(m, n)) - v @ (t @ v.mH[..., :n])


def _check_tau(name, input, tau):
    if len(tau.shape) != len(input.shape) - 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {len(tau.shape)} and "
            f"input.ndim is equal to {len(input.shape)}"
        )
    if tuple(tau.shape[:-1]) != tuple(input.shape[:-2]):
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau.shape[:-1])}"
        )


@takes_out
def ormqr(input, tau, other, left=True, transpose=False):
    """Q @ other, or with left=False other @ Q, where Q is the product of reflections that geqrf leaves.

    >>> torch.ormqr(*torch.geqrf(torch.tensor([[3.], [4.]])), torch.eye(2))
    tensor([[-0.6000, -0.8000],
            [-0.8000,  0.6000]])
    """
    name = "torch.ormqr"
    for position, (word, x) in enumerate((("input", input), ("tau", tau), ("other", other))):
        check_tensor("ormqr", x, word, position + 1)
    for word, x in (("input", input), ("other", other)):
        if len(x.shape) < 2:
            raise RuntimeError(f"{name}: {word} must have at least 2 dimensions.")
    side = -2 if left else -1
    if other.shape[side] < (tau.shape[-1] if tau.shape else 1):
        raise RuntimeError(f"{name}: other.shape[{side}] must be greater than or equal to tau.shape[-1]")
    if other.shape[side] != input.shape[-2]:
        raise RuntimeError(f"{name}: other.shape[{side}] must be equal to input.shape[-2]")
    if tau.shape[-1] != min(other.shape[side], input.shape[-1]):
        raise RuntimeError(f"{name}: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])")
    _check_tau(name, input, tau)
    if len(other.shape) != len(input.shape):
        raise RuntimeError(
            f"{name}: Expected other to have the same number of dimensions as input, but got other.ndim equal to "
            f"{len(other.shape)} and input.ndim is equal to {len(input.shape)}"
        )
    if tuple(other.shape[:-2]) != tuple(input.shape[:-2]):
        raise RuntimeError(
            f"{name}: Expected batch dimensions of other to be equal to input.shape[:-2], but got {list(other.shape[:-2])}"
        )
    for word, x in (("tau", tau), ("other", other)):
        if x._spec.dtype is not input._spec.dtype:
            raise RuntimeError(
                f"{name}: Expected input and {word} to have the same dtype, but input has dtype {input._spec.dtype.title} and "
                f"{word} has dtype {x._spec.dtype.title}"
            )
    check_dtype(None, input, "ormqr_cpu")
    v, t = _reflections(name, input, tau)
    t = t.mH if transpose else t
    if left:
        return other - v @ (t @ (v.mH @ other))
    return other - ((other @ v) @ t) @ v.mH


class Methods:
    """As methods of Tensor."""

    svd, qr, geqrf, orgqr, ormqr = old_svd, old_qr, geqrf, householder_product, ormqr
