"""torch.masked: what a mask leaves out plays no part, in the result nor in the gradient."""

import numpy as np
import pytest

import tensorgrad as torch

X = torch.tensor([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]], dtype=torch.float64)
MASK = torch.tensor([[True, False, True], [True, True, False]])
LEFT = [[1.0, 3.0], [4.0, 5.0]]
REDUCTIONS = {
    "sum": np.sum, "prod": np.prod, "amax": np.max, "amin": np.min, "mean": np.mean, "std": lambda a: np.std(a, ddof=1),
    "var": lambda a: np.var(a, ddof=1), "logsumexp": lambda a: np.log(np.sum(np.exp(a))), "norm": np.linalg.norm,
}  # fmt: skip


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_see_what_is_left(name):
    reduce = getattr(torch.masked, name)
    want = [REDUCTIONS[name](np.array(row)) for row in LEFT]
    np.testing.assert_allclose(reduce(X, dim=1, mask=MASK), want)
    np.testing.assert_allclose(reduce(X, dim=1, keepdim=True, mask=MASK), np.array(want)[:, None])
    np.testing.assert_allclose(reduce(X, mask=MASK), REDUCTIONS[name](np.ravel(LEFT)))
    x = X.clone().requires_grad_()
    (g,) = torch.autograd.grad(reduce(x, dim=1, mask=MASK).sum(), x)
    assert (g[~MASK] == 0).all()
    assert torch.autograd.gradcheck(lambda x: reduce(x, dim=1, mask=MASK), x)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_normalizations_see_what_is_left(name):
    got = getattr(torch.masked, name)(X, 1, mask=MASK)
    plain = getattr(torch.nn.functional, name)
    np.testing.assert_allclose(got[MASK].reshape(2, 2), plain(torch.tensor(LEFT, dtype=torch.float64), dim=1))


def test_a_mask_is_broadcast_and_what_is_empty_is_the_identity():
    none = torch.zeros(3, dtype=torch.bool)
    assert torch.masked.sum(X, 1, mask=none).tolist() == [0, 0]
    assert torch.masked.amax(X, 1, mask=none).tolist() == [-np.inf] * 2
    assert torch.masked.mean(X, 1, mask=none).isnan().all()
    assert torch.masked.amin(X.int(), 1, mask=none).tolist() == [2**31 - 1] * 2
    assert torch.masked.argmax(X, 1, mask=torch.tensor([True, True, False])).tolist() == [0, 1]
    assert torch.masked.cumprod(X, 1, mask=MASK).tolist() == [[1, 1, 3], [4, 20, 20]]
    assert torch.masked.median(X, 1, mask=torch.tensor([False, True, False])).tolist() == [-2, 5]


def test_errors():
    with pytest.raises(IndexError, match="expected broadcastable mask"):
        torch.masked.sum(X, 1, mask=MASK[None])
    with pytest.raises(ValueError, match="Could not infer output dtype"):
        torch.masked.mean(X.int(), 1)
    with pytest.raises(ValueError, match="no fully masked out rows"):
        torch.masked.median(X.int(), 1, mask=torch.zeros(3, dtype=torch.bool))
    with pytest.raises(NotImplementedError, match="identity of amax on torch"):
        torch.masked.amax(X > 0, 1, mask=MASK)
