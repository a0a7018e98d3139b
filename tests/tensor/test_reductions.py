"""Reductions: over all, over some dims, over nothing; ties, NaN, and their gradients."""

import math

import pytest
from subject import close, needs, raises, spoken, torch

NAN = float("nan")


def m():
    return torch.arange(6.0).reshape(2, 3)


def test_dims():
    x = m()
    assert x.sum().item() == 15.0 and x.sum(0).tolist() == [3.0, 5.0, 7.0] and x.sum(-1).tolist() == [3.0, 12.0]
    assert x.sum((0, 1)).shape == x.sum([]).shape == x.sum(()).shape == x.sum(None).shape == ()
    assert x.sum(1, keepdim=True).tolist() == [[3.0], [12.0]] and x.sum((0, 1), keepdim=True).shape == (1, 1)
    assert x.sum(axis=1).tolist() == x.sum(dim=1).tolist() == torch.sum(x, 1).tolist() == [3.0, 12.0]
    assert torch.sum(input=x).item() == 15.0
    with raises(RuntimeError, "dim 0 appears multiple times in the list of dims"):
        x.sum((0, 0))
    with raises(TypeError, "sum()"):
        x.sum(1.5)


def test_a_number_has_a_dim_to_reduce():
    x = torch.tensor(3.0)
    for result in (x.sum(0), x.sum(-1), x.mean(0), x.max(0).values, x.amax(0), x.cumsum(0), x.prod(0)):
        assert result.shape == () and result.item() == 3.0
    assert x.argmax().item() == 0 and x.softmax(0).item() == 1.0


def test_sums_of_whole_numbers_are_long():
    x = torch.tensor([250, 10], dtype=torch.uint8)
    assert x.sum().item() == 260 and x.sum().dtype == torch.int64 and x.sum(dtype=torch.uint8).item() == 4
    assert torch.tensor([True, True]).sum().item() == 2
    assert m().sum(dtype=torch.float64).dtype == torch.float64


def test_sums_of_many_fractions_lose_little():
    assert torch.ones(2**25).sum().item() == 2**25
    assert math.isclose(torch.full((1_000_000,), 0.1).sum().item(), 100_000.0, rel_tol=1e-6)
    assert math.isclose(torch.full((10_000,), 0.1, dtype=torch.float16).sum().item(), 1_000.0, rel_tol=1e-3)


def test_means_products_and_spreads():
    x = torch.tensor([1.0, 2.0, 3.0, 4.0])
    assert x.mean().item() == 2.5 and x.prod().item() == 24.0
    assert close(x.var(), 5 / 3) and close(x.std(), math.sqrt(5 / 3))
    assert close(x.var(unbiased=False), 1.25) and close(x.var(correction=0), 1.25) and close(x.var(0), 5 / 3)
    assert close(x.logsumexp(0), math.log(sum(math.exp(v) for v in (1, 2, 3, 4))))
    assert close(x.norm(), math.sqrt(30)) and x.norm(1).item() == 10.0 and x.norm(float("inf")).item() == 4.0


@needs("std_mean", "aminmax", "count_nonzero")
def test_two_reductions_at_once():
    x = torch.tensor([1.0, 2.0, 3.0, 4.0])
    deviation, mean = torch.std_mean(x)
    assert close(deviation, math.sqrt(5 / 3)) and mean.item() == 2.5
    assert [t.item() for t in torch.aminmax(x)] == [1.0, 4.0] and torch.tensor([0, 3, 4]).count_nonzero().item() == 2


def test_running_sums_and_products():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.cumsum(0).tolist() == [[1.0, 2.0], [4.0, 6.0]] and x.cumsum(1).tolist() == [[1.0, 3.0], [3.0, 7.0]]
    assert x.cumprod(1).tolist() == [[1.0, 2.0], [3.0, 12.0]]


@needs("cummax")
def test_running_extremes():
    values, indices = torch.tensor([1, 3, 2]).cummax(0)
    assert values.tolist() == [1, 3, 3] and indices.tolist() == [0, 1, 1]


def test_extremes_with_their_places():
    x = m()
    largest = x.max(1)
    assert largest.values.tolist() == [2.0, 5.0] and largest.indices.tolist() == [2, 2]
    values, indices = x.min(0)
    assert values.tolist() == [0.0, 1.0, 2.0] and indices.tolist() == [0, 0, 0]
    assert largest[0] is largest.values and len(largest) == 2
    assert spoken(repr(largest)) == "torch.return_types.max(\nvalues=tensor([2., 5.]),\nindices=tensor([2, 2]))"
    assert x.max().item() == 5.0 and x.max(torch.tensor(2.0)).tolist() == [[2.0] * 3, [3.0, 4.0, 5.0]]
    assert x.amax((0, 1)).item() == 5.0 and x.amin(0).tolist() == [0.0, 1.0, 2.0]
    assert x.argmax().item() == 5 and x.argmin(1).tolist() == [0, 0] and x.argmax(1, keepdim=True).shape == (2, 1)


def test_the_first_of_equals_is_the_place():
    x = torch.tensor([1, 3, 3, 0, 0])
    assert x.argmax().item() == 1 and x.argmin().item() == 3 and x.max(0).indices.item() == 1


@needs("sort", "argsort", "topk", "unique", "median")
def test_sorting():
    x = torch.tensor([3, 1, 2])
    assert x.sort().values.tolist() == [1, 2, 3] and x.sort().indices.tolist() == [1, 2, 0]
    assert x.sort(descending=True).values.tolist() == [3, 2, 1] and x.argsort().tolist() == [1, 2, 0]
    assert x.topk(2).values.tolist() == [3, 2] and x.topk(1, largest=False).indices.tolist() == [1]
    with raises(RuntimeError, "selected index k out of range"):
        x.topk(4)
    assert torch.tensor([1, 1, 2]).unique().tolist() == [1, 2]
    assert torch.tensor([2.0, 1.0, 4.0, 3.0]).median().item() == 2.0


def test_truth():
    x = torch.tensor([[True, False], [True, True]])
    assert x.any().item() and not x.all().item()
    assert x.any(1).tolist() == [True, True] and x.all(0).tolist() == [True, False]
    assert not torch.tensor([0.0, 2.0]).all().item()


def test_nothing_to_reduce():
    x = torch.zeros(0, 3)
    assert (
        x.sum().item() == 0.0 and x.prod().item() == 1.0 and x.sum(0).tolist() == [0.0] * 3 and x.sum(1).shape == (0,)
    )
    assert math.isnan(x.mean().item()) and x.mean(0).isnan().all()
    assert not x.any().item() and x.all().item() and x.max(1).values.shape == (0,)


EMPTY = (
    "{}(): Expected reduction dim to be specified for input.numel() == 0. "
    "Specify the reduction dim with the 'dim' argument."
)


@pytest.mark.parametrize(
    ("reduce", "kind", "text"),
    [
        (lambda x: x.max(), RuntimeError, EMPTY.format("max")),
        (lambda x: x.min(), RuntimeError, EMPTY.format("min")),
        (lambda x: x.amax(), RuntimeError, EMPTY.format("amax")),
        (lambda x: x.argmax(), IndexError, "argmax(): Expected reduction dim to be specified for input.numel() == 0."),
        (lambda x: x.max(0), IndexError, "max(): Expected reduction dim 0 to have non-zero size."),
        (lambda x: x.argmax(0), IndexError, "argmax(): Expected reduction dim 0 to have non-zero size."),
        (lambda x: x.amin(0), IndexError, "amin(): Expected reduction dim 0 to have non-zero size."),
    ],
)
def test_nothing_has_no_extreme(reduce, kind, text):
    with raises(kind, text):
        reduce(torch.zeros(0, 3))


def test_nan_wins():
    x = torch.tensor([1.0, NAN, 3.0])
    for result in (x.max(), x.min(), x.sum(), x.amax(), x.max(0).values, x.mean()):
        assert math.isnan(result.item())
    assert x.argmax().item() == 1 and x.max(0).indices.item() == 1
    assert torch.maximum(x, torch.ones(3)).isnan().tolist() == [False, True, False]


@needs("sort", "median", "nansum", "nanmean", "fmax", "nan_to_num")
def test_nan_comes_last_and_may_be_left_out():
    x = torch.tensor([1.0, NAN, 3.0])
    assert x.sort().indices.tolist() == [0, 2, 1] and math.isnan(x.median().item())
    assert x.nansum().item() == 4.0 and x.nanmean().item() == 2.0
    assert torch.fmax(x, torch.ones(3)).tolist() == [1.0, 1.0, 3.0]
    assert x.nan_to_num().tolist() == [1.0, 0.0, 3.0]


LATER = ("median", "sort", "topk")
GRADIENTS = {
    "max of equals": (lambda x: x.max(), [2.0, 2.0, 1.0], [0.5, 0.5, 0.0]),
    "max along a dim takes the first": (lambda x: x.max(0).values, [2.0, 2.0, 1.0], [1.0, 0.0, 0.0]),
    "amax of equals": (lambda x: x.amax(), [2.0, 2.0, 1.0], [0.5, 0.5, 0.0]),
    "min": (lambda x: x.min(), [2.0, 3.0, 1.0], [0.0, 0.0, 1.0]),
    "prod": (lambda x: x.prod(), [2.0, 3.0, 4.0], [12.0, 8.0, 6.0]),
    "prod with a zero": (lambda x: x.prod(), [0.0, 2.0, 3.0], [6.0, 0.0, 0.0]),
    "prod with two zeros": (lambda x: x.prod(), [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]),
    "norm of zero": (lambda x: x.norm(), [0.0, 0.0], [0.0, 0.0]),
    "norm": (lambda x: x.norm(), [3.0, 4.0], [0.6, 0.8]),
    "median": (lambda x: x.median(), [1.0, 2.0, 4.0, 3.0], [0.0, 1.0, 0.0, 0.0]),
    "mean": (lambda x: x.mean(), [1.0, 2.0], [0.5, 0.5]),
    "var": (lambda x: x.var(), [1.0, 3.0], [-2.0, 2.0]),
    "std": (lambda x: x.std(unbiased=False), [1.0, 3.0], [-0.5, 0.5]),
    "logsumexp": (lambda x: x.logsumexp(0), [0.0, 0.0], [0.5, 0.5]),
    "cumsum": (lambda x: x.cumsum(0).sum(), [1.0, 2.0, 3.0], [3.0, 2.0, 1.0]),
    "cumprod": (lambda x: x.cumprod(0).sum(), [2.0, 3.0], [4.0, 2.0]),
    "sort": (lambda x: (x.sort().values * torch.tensor([1.0, 10.0])).sum(), [5.0, 2.0], [10.0, 1.0]),
    "topk": (lambda x: x.topk(1).values.sum(), [5.0, 7.0], [0.0, 1.0]),
    "softmax": (lambda x: x.softmax(0)[0], [0.0, 0.0], [0.25, -0.25]),
    "log_softmax": (lambda x: x.log_softmax(0)[0], [0.0, 0.0], [0.5, -0.5]),
}


@pytest.mark.parametrize("name", [pytest.param(n, marks=needs(n)) if n in LATER else n for n in GRADIENTS])
def test_gradients(name):
    function, numbers, expected = GRADIENTS[name]
    x = torch.tensor(numbers, requires_grad=True)
    function(x).backward()
    assert close(x.grad, expected)


@pytest.mark.parametrize("dim", [0, 1, (0, 1), -1])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("name", ["sum", "mean", "amax", "logsumexp", "var"])
def test_gradients_over_dims_by_finite_differences(name, dim, keepdim):
    x = torch.tensor([[0.3, -1.0, 2.0], [0.7, 0.1, -0.4]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: getattr(x, name)(dim, keepdim=keepdim), x)
