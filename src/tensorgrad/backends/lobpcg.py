"""A few extreme eigenvalues of a large matrix by LOBPCG (Knyazev, 2001): only products with the matrix are needed.

In each step the best combination of what is there (X), what is wrong with it (W, the residual) and where it came from (P)
is found by a small eigenvalue problem.
"""

import numpy as np


def _orthonormal(S, B):
    """Columns that span S and are orthonormal with respect to B; directions that are nearly in the others go."""
    S = S / np.maximum(np.linalg.norm(S, axis=0), np.finfo(S.dtype).tiny)
    gram = S.conj().T @ (S if B is None else B @ S)
    sizes, turn = np.linalg.eigh((gram + gram.conj().T) / 2)
    good = sizes > 10 * np.finfo(S.dtype).eps * max(sizes[-1], 0) * len(sizes)
    return S @ (turn[:, good] / np.sqrt(sizes[good]))


def _best(A, B, S, n, largest):
    """(the n extreme eigenvalues, their vectors) of A within the columns of S."""
    U = _orthonormal(S, B)
    small = U.conj().T @ (A @ U)
    values, turn = np.linalg.eigh((small + small.conj().T) / 2)
    if largest:
        values, turn = values[::-1], turn[:, ::-1]
    return values[:n], U @ turn[:, :n]


def lobpcg(A, B, X, K, k, largest, niter, tol):
    """(eigenvalues (k,), eigenvectors (m, k)) of A x = e B x from the guess X (m, n >= k); K: a rough inverse of A, or None.

    >>> values, vectors = lobpcg(np.diag([1.0, 2, 3, 4, 5, 6]), None, np.ones((6, 1)), None, 1, True, 100, 1e-8)
    >>> values, np.abs(vectors[5])
    (array([6.]), array([1.]))
    """
    n = X.shape[1]
    size_of_a, size_of_b = np.linalg.norm(A), 1.0 if B is None else np.linalg.norm(B)
    values, X = _best(A, B, X, n, largest)
    P = X[:, :0]
    for _ in range(niter):
        wrong = A @ X - (X if B is None else B @ X) * values
        error = np.linalg.norm(wrong[:, :k], axis=0)
        if (error <= tol * (size_of_a + np.abs(values[:k]) * size_of_b) * np.linalg.norm(X[:, :k], axis=0)).all():
            break
        values, following = _best(A, B, np.concatenate([X, wrong if K is None else K @ wrong, P], 1), n, largest)
        P = following - X @ (X.conj().T @ (following if B is None else B @ following))
        X = following
    return values[:k], X[:, :k]
