"""Large matrices of low rank: the first singular values and principal components, found through a random subspace.

A few random combinations of the columns, multiplied by the matrix a few times, span nearly what its largest singular vectors
span (Halko, Martinsson and Tropp, 2009); the small matrix that is left in this basis is decomposed exactly.
lobpcg finds a few eigenvalues at either end.
"""

import numpy as np

from tensorgrad.autograd.modes import is_grad_enabled
from tensorgrad.dtypes import FLOAT
from tensorgrad.ops.decompositions import eigh, qr, svd
from tensorgrad.ops.fitting import check_tensor
from tensorgrad.ops.primitive import wrap

PUBLIC = {"": "svd_lowrank pca_lowrank lobpcg"}


def _basis(A, q, niter):
    """Orthonormal columns (m, q) that nearly span the range of A (m, n), by subspace iteration."""
    from tensorgrad import randn

    Q = qr(A @ randn(A.shape[-1], q, dtype=A.dtype, device=A.device)).Q
    for _ in range(niter):
        Q = qr(A.mH @ Q).Q
        Q = qr(A @ Q).Q
    return Q


def svd_lowrank(A, q=6, niter=2, M=None):
    """(U, S, V): about the first q singular values and vectors of matrices A (minus M), A ~ U @ diag(S) @ V.mH.

    >>> A = torch.outer(torch.tensor([1., 2., 2.]), torch.tensor([3., 4.]))
    >>> torch.svd_lowrank(A, q=1)[1]
    tensor([15.])
    """
    check_tensor("svd_lowrank", A, "A")
    if len(A.shape) < 2:
        raise ValueError(f"not enough values to unpack (expected 2, got {len(A.shape)}): A must be matrices")
    if A._spec.dtype.category < FLOAT:
        raise RuntimeError(
            f"svd_lowrank: Expected a floating point or complex tensor as input. Got {A._spec.dtype.title}"
        )
    if M is not None:
        A = A - check_tensor("svd_lowrank", M, "M", 4).broadcast_to(A.shape)
    q = 6 if q is None else q
    wide = A.shape[-2] < A.shape[-1]
    if wide:
        A = A.mH
    Q = _basis(A, q, 2 if niter is None else niter)
    U, S, Vh = svd(Q.mH @ A, full_matrices=False)
    U, V = Q @ U, Vh.mH
    return (V, S, U) if wide else (U, S, V)


def pca_lowrank(A, q=None, center=True, niter=2):
    """(U, S, V): the first q principal components of the rows of A; V holds their directions.

    >>> rows = torch.tensor([[1., 5.], [2., 5.], [3., 5.]])
    >>> torch.pca_lowrank(rows, q=1)[2].abs()
    tensor([[1.],
            [0.]])
    """
    check_tensor("pca_lowrank", A, "A")
    if len(A.shape) < 2:
        raise ValueError(f"not enough values to unpack (expected 2, got {len(A.shape)}): A must be matrices")
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


def lobpcg(A, k=None, B=None, X=None, n=None, iK=None, niter=None, tol=None, largest=None, method=None, tracker=None,
           ortho_iparams=None, ortho_fparams=None, ortho_bparams=None):  # fmt: skip
    """(values, vectors): the k largest (or smallest) eigenvalues of symmetric matrices A x = e B x, without the others.

    X is a first guess, iK a rough inverse of A. Where a gradient is asked for, all eigenvalues are found, for it needs them.

    >>> torch.lobpcg(torch.diag(torch.tensor([1., 2., 3., 4.])), k=1)[0].round()
    tensor([4.])
    """
    check_tensor("lobpcg", A, "A")
    for word, value in (("tracker", tracker), ("ortho_iparams", ortho_iparams), ("ortho_fparams", ortho_fparams),
                        ("ortho_bparams", ortho_bparams)):  # fmt: skip
        if value is not None:
            raise NotImplementedError(f"lobpcg: {word} is not supported: leave it out")
    if method not in (None, "basic", "ortho"):
        raise ValueError(f"lobpcg: method must be 'basic' or 'ortho', not {method!r}")
    if len(A.shape) < 2 or A.shape[-2] != A.shape[-1]:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    m = A.shape[-1]
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if n is None else n) if X is None else X.shape[-1]
    if m < 3 * n:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number of requested "
            f"eigenpairs (={n})"
        )
    if not 0 < k <= n:
        raise ValueError(f"lobpcg: k must be between 1 and the number of columns of X (={n}), but got {k}")
    largest = True if largest is None else bool(largest)
    if is_grad_enabled() and (A._node is not None or (B is not None and B._node is not None)):
        return _eigenpairs(A, B, k, largest)
    for value in (A, B, X, iK):
        if value is not None and type(value._array) is not np.ndarray:
            raise NotImplementedError("lobpcg: not inside transforms; use torch.linalg.eigh")
    if X is None:
        from tensorgrad import randn

        X = randn(*A.shape[:-2], m, n, dtype=A.dtype)
    return _iterated(A, B, X, iK, k, largest, 1000 if niter is None else niter, tol)


def _eigenpairs(A, B, k, largest):
    """The same from all eigenvalues."""
    if B is None:
        values, vectors = eigh(A)
    else:
        from tensorgrad.ops.factors import cholesky
        from tensorgrad.ops.inverses import inv

        inverse = inv(cholesky(B))
        values, vectors = eigh(inverse @ A @ inverse.mH)
        vectors = inverse.mH @ vectors
    if largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    return values[..., :k], vectors[..., :k]


def _iterated(A, B, X, iK, k, largest, niter, tol):
    from tensorgrad.backends.lobpcg import lobpcg

    lead, m = tuple(A.shape[:-2]), A.shape[-1]
    if tol is None:
        tol = float(np.finfo(A._array.dtype).eps) ** 0.5
    stacks = [
        None if t is None else t.expand(*lead, *t.shape[-2:])._array.reshape(-1, *t.shape[-2:]) for t in (A, B, X, iK)
    ]
    pairs = [
        lobpcg(*(None if stack is None else stack[i] for stack in stacks), k, largest, niter, tol)
        for i in range(len(stacks[0]))
    ]
    values = np.array([v for v, _ in pairs]).reshape(*lead, k)
    return wrap(values), wrap(np.array([v for _, v in pairs]).reshape(*lead, m, k))
