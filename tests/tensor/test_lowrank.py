"""svd_lowrank and pca_lowrank against the whole decomposition."""

import pytest

import tensorgrad as torch


@pytest.mark.parametrize("shape", [(9, 6), (6, 9), (2, 7, 5)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_a_matrix_of_low_rank_is_found_whole(shape, dtype):
    torch.manual_seed(0)
    *lead, m, n = shape
    A = torch.randn(*lead, m, 2, dtype=dtype) @ torch.randn(*lead, 2, n, dtype=dtype)
    U, S, V = torch.svd_lowrank(A, q=3)
    assert torch.allclose(U * S.unsqueeze(-2) @ V.mH, A)
    assert torch.allclose(S[..., :2], torch.linalg.svdvals(A)[..., :2])
    assert torch.allclose(V.mH @ V, torch.eye(3, dtype=dtype).expand(*lead, 3, 3))


def test_what_is_subtracted():
    torch.manual_seed(0)
    A = torch.randn(8, 5, dtype=torch.float64)
    assert torch.allclose(torch.svd_lowrank(A, q=5, M=A[:1])[1], torch.linalg.svdvals(A - A[:1]))
    assert torch.allclose(torch.pca_lowrank(A, q=5)[1], torch.linalg.svdvals(A - A.mean(0)))
    assert torch.allclose(torch.pca_lowrank(A, q=5, center=False)[1], torch.linalg.svdvals(A))


def test_gradient_of_the_singular_values():
    A = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)

    def values(A):
        torch.manual_seed(1)
        return torch.svd_lowrank(A, q=4)[1]

    assert torch.autograd.gradcheck(values, A)


def test_errors():
    with pytest.raises(ValueError, match="must be non-negative integer and not greater than min"):
        torch.pca_lowrank(torch.ones(3, 2), q=3)
    with pytest.raises(ValueError, match="must be non-negative integer"):
        torch.pca_lowrank(torch.ones(3, 2), niter=-1)
    with pytest.raises(RuntimeError, match="Expected a floating point"):
        torch.svd_lowrank(torch.ones(3, 2).long())


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("largest", [True, False])
def test_lobpcg_finds_either_end(dtype, largest):
    torch.manual_seed(0)
    A, C = torch.randn(2, 2, 20, 20, dtype=dtype)
    A, B = A @ A.mH, C @ C.mH + torch.eye(20, dtype=dtype)
    values, vectors = torch.lobpcg(A, k=2, largest=largest, tol=1e-10, niter=2000)
    want = torch.linalg.eigvalsh(A).flip(-1)[:, :2] if largest else torch.linalg.eigvalsh(A)[:, :2]
    assert torch.allclose(values, want) and torch.allclose(A @ vectors, vectors * values.unsqueeze(-2), atol=1e-5)
    values, vectors = torch.lobpcg(A[0], k=2, B=B[0], largest=largest, tol=1e-10, niter=2000)
    assert torch.allclose(A[0] @ vectors, B[0] @ vectors * values, atol=1e-5)
    assert torch.allclose(vectors.mH @ B[0] @ vectors, torch.eye(2, dtype=dtype), atol=1e-8)


def test_lobpcg_has_a_gradient():
    torch.manual_seed(0)
    A, half = torch.randn(2, 4, 4, dtype=torch.float64)
    A, B = (A + A.T).requires_grad_(), (half @ half.T + torch.eye(4, dtype=torch.float64)).requires_grad_()
    value = lambda A, B=None: torch.lobpcg((A + A.T) / 2, 1, None if B is None else (B + B.T) / 2)[0]
    assert torch.autograd.gradcheck(value, A, fast_mode=True)
    assert torch.autograd.gradcheck(value, (A, B), fast_mode=True)


def test_lobpcg_errors():
    A = torch.eye(6)
    with pytest.raises(ValueError, match="is not applicable when the number of A rows"):
        torch.lobpcg(A, k=3)
    with pytest.raises(AssertionError, match="A must be square"):
        torch.lobpcg(A[:3])
    with pytest.raises(NotImplementedError, match="tracker is not supported"):
        torch.lobpcg(A, tracker=print)
