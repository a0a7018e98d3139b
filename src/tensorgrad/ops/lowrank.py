"""Large matrices of low rank: the first singular values and principal components, found through a random subspace.

A few random combinations of the columns, multiplied by the matrix a few times, span nearly what its largest singular vectors
span (Halko, Martinsson and Tropp, 2009); the small matrix that is left in this basis is decomposed exactly.
"""

from tensorgrad.dtypes import FLOAT
from tensorgrad.ops.decompositions import qr, svd
from tensorgrad.ops.fitting import check_tensor

PUBLIC = {"": "svd_lowrank pca_lowrank"}


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
