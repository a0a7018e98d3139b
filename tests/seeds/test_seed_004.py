"""The programs of the fifth seed: mixins, overloaded operators, and the graph that a multiplication leaves behind."""

import operator

import pytest
from subject import raises, torch


def test_of_two_classes_with_a_constructor_the_first_named_is_heard():
    class First:
        def __init__(self):
            self.a = 1

    class Second:
        def __init__(self):
            self.b = 2

    class Both(First, Second):
        def __init__(self):
            super().__init__()

    assert hasattr(Both(), "a") and not hasattr(Both(), "b")


def test_what_a_tensor_can_do_comes_from_classes_that_do_not_overlap():
    if torch.__name__ == "torch":
        pytest.skip("a promise of this library, not of PyTorch")
    owners = {}
    for base in torch.Tensor.__mro__[1:-1]:
        for name in vars(base):
            if name not in ("__module__", "__doc__", "__slots__", "__dict__", "__weakref__", "__qualname__"):
                owners.setdefault(name, []).append(base.__name__)
    shared = {name: found for name, found in owners.items() if len(found) > 1 and not name.startswith("__firstlineno")}
    shared.pop("__static_attributes__", None)
    assert shared == {}


def test_a_plus_sign_can_mean_what_a_class_says():
    class Combine:
        def __init__(self, a):
            self.a = a

        def __add__(self, other):
            return self.a + other.a

    assert Combine(1) + Combine(2) == 3
    assert Combine("Hello") + Combine("World") == "HelloWorld"
    assert (Combine(torch.ones(2)) + Combine(torch.ones(2))).tolist() == [2.0, 2.0]


NUMBERS = [
    (operator.sub, "sub", [4.0, -2.0]),
    (operator.add, "add", [10.0, 6.0]),
    (operator.mul, "mul", [21.0, 8.0]),
    (operator.truediv, "div", [7 / 3, 0.5]),
    (operator.floordiv, "floor_divide", [2.0, 0.0]),
    (operator.mod, "remainder", [1.0, 2.0]),
    (operator.pow, "pow", [343.0, 16.0]),
    (operator.matmul, "matmul", 29.0),
    (operator.gt, "gt", [True, False]),
    (operator.ge, "ge", [True, False]),
    (operator.lt, "lt", [False, True]),
    (operator.le, "le", [False, True]),
    (operator.eq, "eq", [False, False]),
    (operator.ne, "ne", [True, True]),
]


@pytest.mark.parametrize(("symbol", "name", "expected"), NUMBERS, ids=[row[1] for row in NUMBERS])
def test_an_operator_is_its_function(symbol, name, expected):
    x, y = torch.tensor([7.0, 2.0]), torch.tensor([3.0, 4.0])
    result = symbol(x, y)
    assert torch.equal(result, getattr(torch, name)(x, y))
    assert torch.allclose(result.double(), torch.tensor(expected).double())


@pytest.mark.parametrize(
    ("symbol", "name", "expected"),
    [
        (operator.and_, "logical_and", [True, False, False, False]),
        (operator.or_, "logical_or", [True, True, True, False]),
        (operator.xor, "logical_xor", [False, True, True, False]),
    ],
)
def test_a_bitwise_operator_on_truth_values_is_the_logical_function(symbol, name, expected):
    x, y = torch.tensor([True, True, False, False]), torch.tensor([True, False, True, False])
    assert torch.equal(symbol(x, y), getattr(torch, name)(x, y))
    assert symbol(x, y).tolist() == expected


def test_operators_of_one_operand():
    x = torch.tensor([-1.5, 2.0])
    assert torch.equal(-x, torch.neg(x))
    assert torch.equal(abs(x), torch.abs(x))
    truth = torch.tensor([True, False])
    assert torch.equal(~truth, torch.logical_not(truth))


def test_combined_operators_work_in_place():
    x = torch.tensor([1.0, 2.0])
    same = x
    x += torch.tensor([1.0, 1.0])
    x **= 2
    assert x is same
    assert same.tolist() == [4.0, 9.0]


def test_and_or_and_not_are_left_to_the_language():
    x, y = torch.tensor([1.0]), torch.tensor([2.0])
    assert (x and y) is y
    assert (x or y) is x
    assert (not x) is False
    with raises(RuntimeError, "Boolean value of Tensor with more than one value is ambiguous"):
        torch.ones(2) and torch.ones(2)


def test_no_graph_without_requires_grad():
    x, y = torch.tensor(1.0), torch.tensor(2.0)
    z = x * y
    for tensor, value in ((x, 1.0), (y, 2.0), (z, 2.0)):
        assert tensor.item() == value
        assert (tensor.grad, tensor.grad_fn) == (None, None)
        assert tensor.is_leaf and not tensor.requires_grad


def test_a_product_with_one_required_gradient():
    x = torch.tensor(1.0, requires_grad=True)
    y = torch.tensor(2.0)
    z = x * y
    assert repr(x) == "tensor(1., requires_grad=True)"
    assert repr(z) == "tensor(2., grad_fn=<MulBackward0>)"
    assert x.is_leaf and y.is_leaf and not z.is_leaf
    assert z.requires_grad and not y.requires_grad
    edges = z.grad_fn.next_functions
    assert edges[0][0].variable is x and edges[1] == (None, 0)
    z.backward()
    assert x.grad.item() == 2.0
    assert y.grad is None


def test_leaves_are_made_by_hand_or_from_what_needs_no_gradient_or_detached():
    x = torch.tensor(1.0)
    assert x.is_leaf and torch.randn(1, 1).is_leaf
    assert (x * 2).is_leaf
    assert (torch.tensor(1.0, requires_grad=True) * 2).detach().is_leaf


def test_only_numbers_that_vary_can_have_a_gradient():
    with raises(RuntimeError, "Only Tensors of floating point and complex dtype can require gradients"):
        torch.tensor([1, 2], requires_grad=True)


def test_what_you_run_is_what_you_differentiate():
    def forward(x):
        return x * 3 if x > 0 else x * x

    for start, slope in ((2.0, 3.0), (-2.0, -4.0)):
        x = torch.tensor(start, requires_grad=True)
        forward(x).backward()
        assert x.grad.item() == slope


def test_the_five_steps_of_training_lower_the_loss():
    x = torch.randn(32, 3)
    target = x @ torch.tensor([1.0, -2.0, 0.5])
    weight = torch.zeros(3, requires_grad=True)
    losses = []
    for _ in range(50):
        loss = ((x @ weight - target) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            weight -= 0.1 * weight.grad
            weight.grad = None
        losses.append(loss.item())
    assert losses[-1] < 1e-3 * losses[0]
