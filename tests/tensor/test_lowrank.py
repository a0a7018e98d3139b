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
