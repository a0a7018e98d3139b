"""Older names: what they say in terms of the newer ones, and what has been removed."""

import pytest

import tensorgrad as torch

F = torch.nn.functional


@pytest.mark.parametrize(("number", "word"), [(0, "none"), (1, "mean"), (2, "sum")])
def test_reductions_as_numbers(number, word):
    torch.manual_seed(0)
    a, b, c = torch.rand(3, 3, 4)
    sign = torch.tensor([1.0, -1, 1])
    side = sign[:, None]
    for got, want in (
        (torch.kl_div(a, b, number), F.kl_div(a, b, reduction=word)),
        (torch.binary_cross_entropy_with_logits(a, b, reduction=number), F.binary_cross_entropy_with_logits(a, b, reduction=word)),
        (torch.cosine_embedding_loss(a, b, sign, 0.1, number), F.cosine_embedding_loss(a, b, sign, 0.1, reduction=word)),
        (torch.hinge_embedding_loss(a[:, 0], sign, 1, number), F.hinge_embedding_loss(a[:, 0], sign, 1, reduction=word)),
        (torch.margin_ranking_loss(a, b, side, 0.1, number), F.margin_ranking_loss(a, b, side, 0.1, reduction=word)),
        (torch.poisson_nll_loss(a, b, True, True, 1e-8, number), F.poisson_nll_loss(a, b, full=True, reduction=word)),
        (torch.triplet_margin_loss(a, b, c, reduction=number), F.triplet_margin_loss(a, b, c, reduction=word)),
    ):  # fmt: skip
        assert torch.equal(got, want)
    with pytest.raises(TypeError, match="argument 'reduction' must be int"):
        torch.kl_div(a, b, word)


def test_a_diagonal_is_filled_in_place_and_has_no_gradient():
    assert torch.zeros(7, 3).fill_diagonal_(1, wrap=True).sum(1).tolist() == [1, 1, 1, 0, 1, 1, 1]
    assert torch.zeros(7, 3).fill_diagonal_(1).sum() == 3
    cube = torch.zeros(2, 2, 2).fill_diagonal_(4)
    assert cube[0, 0, 0] == cube[1, 1, 1] == 4 and cube.sum() == 8
    x = torch.ones(2, 3, requires_grad=True)
    y = x * 2
    y.fill_diagonal_(5)
    y.sum().backward()
    assert x.grad.tolist() == [[0, 2, 2], [2, 0, 2]]
    with pytest.raises(RuntimeError, match="must be of equal length"):
        torch.zeros(2, 2, 3).fill_diagonal_(1)


def test_powers_sizes_and_names():
    x = torch.tensor([2.0, 3.0])
    assert torch.vander(x, 3).tolist() == [[4, 2, 1], [9, 3, 1]]
    assert torch.vander(x, 1).tolist() == [[1], [1]] and torch.vander(x, 0).shape == (2, 0)
    assert torch.zeros(3).resize_as_(x).shape == x.shape and x.is_same_size(torch.zeros(2))
    assert x.new(2, 3).shape == (2, 3) and x.new([1]).dtype == x.dtype and x.new(torch.Size([4])).shape == (4,)
    assert torch.zeros(2, 3, 4).permute(2, 0, 1).dim_order() == (1, 2, 0)
    assert torch.frobenius_norm(x, 0) == torch.linalg.norm(x)


def test_what_is_gone_says_what_to_use():
    eye = torch.eye(2)
    for name in ("eig", "lstsq", "solve", "symeig", "matrix_rank"):
        with pytest.raises(RuntimeError, match=r"deprecated since version 1.9 and is now removed.\nUse torch.linalg"):
            getattr(torch, name)(eye, eye)
    with pytest.raises(RuntimeError, match="Sparse tensors are not supported"):
        eye.coalesce()
    with pytest.raises(NotImplementedError, match="complex32"):
        eye.chalf()
