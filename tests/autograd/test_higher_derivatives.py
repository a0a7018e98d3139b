"""Second and higher derivatives: a gradient that is itself a graph."""

import math
import warnings

import pytest
from subject import close, raises, torch

grad = torch.autograd.grad


def nth_derivative(function, at, order):
    x = torch.tensor(at, dtype=torch.float64, requires_grad=True)
    y = function(x)
    for _ in range(order):
        (y,) = grad(y, x, create_graph=True)
    return y.item()


@pytest.mark.parametrize("order", range(1, 6))
def test_derivatives_of_a_power(order):
    factors = [5 - k for k in range(order)]
    assert math.isclose(nth_derivative(lambda x: x**5, 1.5, order), math.prod(factors) * 1.5 ** (5 - order))


@pytest.mark.parametrize("order", range(1, 6))
def test_derivatives_of_the_sine_go_around(order):
    assert math.isclose(nth_derivative(torch.sin, 0.4, order), math.sin(0.4 + order * math.pi / 2))


@pytest.mark.parametrize("order", range(1, 6))
def test_the_exponential_is_its_own_derivative(order):
    assert math.isclose(nth_derivative(lambda x: torch.exp(2 * x), 0.3, order), 2**order * math.exp(0.6))


@pytest.mark.parametrize("order", range(1, 5))
def test_derivatives_of_the_logarithm(order):
    expected = (-1) ** (order - 1) * math.factorial(order - 1) / 1.7**order
    assert math.isclose(nth_derivative(torch.log, 1.7, order), expected)


@pytest.mark.parametrize("order", range(1, 5))
def test_derivatives_of_a_quotient(order):
    assert math.isclose(
        nth_derivative(lambda x: 1 / x, 1.3, order), (-1) ** order * math.factorial(order) / 1.3 ** (order + 1)
    )


def test_second_derivatives_of_tanh_and_sigmoid():
    t = math.tanh(0.4)
    assert math.isclose(nth_derivative(torch.tanh, 0.4, 2), -2 * t * (1 - t * t))
    s = 1 / (1 + math.exp(-0.4))
    assert math.isclose(nth_derivative(torch.sigmoid, 0.4, 2), s * (1 - s) * (1 - 2 * s))


def test_a_mixed_derivative_does_not_depend_on_the_order():
    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    y = torch.tensor(0.8, dtype=torch.float64, requires_grad=True)
    f = (x * x * y).sin()
    by_x, by_y = grad(f, [x, y], create_graph=True)
    (xy,) = grad(by_x, y, retain_graph=True)
    (yx,) = grad(by_y, x)
    assert torch.allclose(xy, yx)
    u = 0.25 * 0.8
    assert math.isclose(xy.item(), 2 * 0.5 * math.cos(u) - 2 * 0.5 * u * math.sin(u))


def test_the_hessian_of_a_quadratic_form_is_its_matrix():
    a = torch.randn(4, 4, dtype=torch.float64)
    x = torch.randn(4, dtype=torch.float64, requires_grad=True)
    (g,) = grad(x @ a @ x, x, create_graph=True)
    rows = [grad(g[i], x, retain_graph=True)[0] for i in range(4)]
    assert torch.allclose(torch.stack(rows), a + a.T)


def test_a_hessian_times_a_vector_needs_no_hessian():
    x = torch.randn(5, dtype=torch.float64, requires_grad=True)
    v = torch.randn(5, dtype=torch.float64)
    (g,) = grad((x**4).sum() / 12, x, create_graph=True)
    (hv,) = grad((g * v).sum(), x)
    assert torch.allclose(hv, x.detach() ** 2 * v)


def test_a_penalty_on_the_gradient_trains():
    weight = torch.tensor([3.0, -2.0], requires_grad=True)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (g,) = grad((weight * x * x).sum(), x, create_graph=True)
    (g**2).sum().backward()  # sum of (2 w x)^2
    assert close(weight.grad, [8 * 3.0 * 1.0, 8 * -2.0 * 4.0])
    assert close(x.grad, [8 * 9.0 * 1.0, 8 * 4.0 * 2.0])


def test_the_gradient_that_was_given_is_differentiated_too():
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    v = torch.tensor([5.0, 7.0], requires_grad=True)
    (g,) = grad(x**2, x, v, create_graph=True)
    to_x, to_v = grad(g.sum(), [x, v])
    assert (to_x.tolist(), to_v.tolist()) == ([10.0, 14.0], [4.0, 6.0])


def test_backward_with_create_graph_warns_of_the_cycle_it_makes():
    x = torch.tensor(3.0, requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (x**3).backward(create_graph=True)
    assert "Using backward() with create_graph=True will create a reference cycle" in str(caught[0].message)
    assert x.grad.requires_grad
    (second,) = grad(x.grad, x)
    assert second.item() == 18.0
    x.grad = None


@pytest.mark.filterwarnings("ignore:Using backward")
def test_accumulation_with_create_graph_makes_a_new_tensor():
    x = torch.tensor(3.0, requires_grad=True)
    (x**3).backward(create_graph=True)
    first = x.grad
    (x**2).backward(create_graph=True)
    assert x.grad is not first and first.item() == 27.0 and x.grad.item() == 33.0
    assert grad(x.grad, x)[0].item() == 20.0
    x.grad = None


def test_a_linear_function_has_no_second_derivative():
    x = torch.ones(3, requires_grad=True)
    (g,) = grad((3 * x).sum(), x, create_graph=True)
    assert not g.requires_grad
    with raises(RuntimeError, "element 0 of tensors does not require grad and does not have a grad_fn"):
        grad(g.sum(), x)


def test_a_gradient_of_a_gradient_can_be_unused():
    x = torch.ones(3, requires_grad=True)
    y = torch.ones(3, requires_grad=True)
    (g,) = grad((x * y).sum(), x, create_graph=True)  # y itself
    assert grad(g.sum(), x, retain_graph=True, allow_unused=True) == (None,)
    assert grad(g.sum(), y)[0].tolist() == [1.0] * 3


def test_second_derivatives_through_shapes_and_reductions():
    x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    y = (x.T.reshape(6)[1:4] ** 3).sum() + x.mean(1).pow(2).sum()
    (g,) = grad(y, x, create_graph=True)
    (second,) = grad(g.sum(), x)
    mask = torch.zeros(6, dtype=torch.float64)
    mask[1:4] = 1
    expected = 6 * x.detach() * mask.reshape(3, 2).T + 2 / 3
    assert torch.allclose(second, expected)


def test_second_derivatives_through_matrix_products():
    a = torch.randn(3, 3, dtype=torch.float64, requires_grad=True)
    y = (a @ a @ a).diagonal().sum()
    (g,) = grad(y, a, create_graph=True)
    assert torch.allclose(g, 3 * (a @ a).T)
    v = torch.randn(3, 3, dtype=torch.float64)
    (hv,) = grad((g * v).sum(), a)
    assert torch.allclose(hv, 3 * (a @ v + v @ a).detach().T)


def test_the_origin_of_a_gradient_is_named_after_what_computed_it():
    x = torch.tensor(2.0, requires_grad=True)
    (g,) = grad(x.sin(), x, create_graph=True)
    assert g.grad_fn.name() == "MulBackward0"
    assert "grad_fn=<MulBackward0>" in repr(g)


def test_newton_finds_a_root_in_a_few_steps():
    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    for _ in range(8):
        (slope,) = grad(x**2 / 2 - x.log(), x, create_graph=True)
        (curve,) = grad(slope, x)
        x = (x - slope / curve).detach().requires_grad_()
    assert math.isclose(x.item(), 1.0, rel_tol=1e-12)
