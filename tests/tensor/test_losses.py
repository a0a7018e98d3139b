"""The functions that training starts with: activations and losses."""

import importlib
import math

import pytest
from subject import close, raises, torch

F = importlib.import_module(torch.__name__ + ".nn.functional")

X = [-2.0, -0.5, 0.0, 0.5, 2.0]


def normal_below(x):
    return 0.5 * (1 + math.erf(x / math.sqrt(2)))


ACTIVATIONS = {
    "relu": (F.relu, lambda x: max(x, 0.0)),
    "sigmoid": (torch.sigmoid, lambda x: 1 / (1 + math.exp(-x))),
    "tanh": (torch.tanh, math.tanh),
    "gelu": (F.gelu, lambda x: x * normal_below(x)),
    "gelu, approximated": (
        lambda x: F.gelu(x, approximate="tanh"),
        lambda x: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    ),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    function, expected = ACTIVATIONS[name]
    x = torch.tensor(X, dtype=torch.float64, requires_grad=True)
    assert close(function(x), [expected(value) for value in X], 1e-9)
    away = torch.tensor([v for v in X if v], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(function, away) and torch.autograd.gradgradcheck(function, away)


def test_softmax_adds_to_one_and_does_not_overflow():
    x = torch.tensor([[1000.0, 1000.0], [-1000.0, 0.0]])
    assert F.softmax(x, dim=1).tolist() == [[0.5, 0.5], [0.0, 1.0]]
    assert close(F.log_softmax(x, dim=1), [[-math.log(2)] * 2, [-1000.0, 0.0]])
    assert torch.allclose(torch.softmax(torch.randn(4, 5), 0).sum(0), torch.ones(5))


def test_mse_loss():
    x, y = torch.tensor([1.0, 3.0], requires_grad=True), torch.tensor([0.0, 1.0])
    loss = F.mse_loss(x, y)
    assert loss.item() == 2.5 and F.mse_loss(x, y, reduction="sum").item() == 5.0
    assert F.mse_loss(x, y, reduction="none").tolist() == [1.0, 4.0]
    loss.backward()
    assert x.grad.tolist() == [1.0, 2.0]


def test_cross_entropy_of_classes():
    logits = torch.tensor([[1.0, 2.0, 0.5], [0.0, 0.0, 0.0]], requires_grad=True)
    target = torch.tensor([1, 2])
    first = math.log(math.exp(1) + math.exp(2) + math.exp(0.5)) - 2
    loss = F.cross_entropy(logits, target)
    assert math.isclose(loss.item(), (first + math.log(3)) / 2, rel_tol=1e-6)
    assert close(F.cross_entropy(logits, target, reduction="none"), [first, math.log(3)])
    loss.backward()
    expected = (logits.detach().softmax(1) - torch.eye(3)[target]) / 2
    assert torch.allclose(logits.grad, expected, atol=1e-6)


def test_cross_entropy_with_everything():
    logits = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    target = torch.tensor([0, 2, -100, 1])
    weight = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    kept = [0, 1, 3]
    log = logits.detach().log_softmax(1)
    numerator = -sum((weight[target[i]] * log[i, target[i]]).item() for i in kept)
    denominator = sum(weight[target[i]].item() for i in kept)
    assert math.isclose(F.cross_entropy(logits, target, weight=weight).item(), numerator / denominator)
    assert torch.autograd.gradcheck(lambda x: F.cross_entropy(x, target, weight=weight), logits)
    smooth = F.cross_entropy(logits[:1], target[:1], label_smoothing=0.3)
    assert math.isclose(smooth.item(), (-0.7 * log[0, 0] - 0.1 * log[0].sum()).item())


def test_cross_entropy_of_probabilities():
    logits = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    target = torch.tensor([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]], dtype=torch.float64)
    expected = -(target * logits.detach().log_softmax(1)).sum(1).mean()
    assert torch.allclose(F.cross_entropy(logits, target), expected)
    assert torch.autograd.gradcheck(lambda x: F.cross_entropy(x, target), logits)


def test_what_does_not_fit():
    with raises(IndexError, "Target 3 is out of bounds."):
        F.cross_entropy(torch.zeros(2, 3), torch.tensor([0, 3]))
    with raises(ValueError, "Expected input batch_size (2) to match target batch_size (3)."):
        F.cross_entropy(torch.zeros(2, 3), torch.tensor([0, 2, 1]))
