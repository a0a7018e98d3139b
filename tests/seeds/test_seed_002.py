"""The programs of the third seed: slides on automatic differentiation as a higher-order function."""

import pytest
from subject import close, torch


def test_a_program_with_loops_and_its_vector_form_are_the_same_function():
    def program(t, x, y, b):
        total = 0
        parts = [0, 0, 0, 0]
        for i in range(4):
            parts[i] = parts[i] + t[i] * x[i]
        for i in range(4):
            parts[i] = parts[i] - (y[i] - b)
        for i in range(4):
            parts[i] = parts[i] * parts[i]
        for i in range(4):
            total = total + parts[i]
        return torch.sqrt(total)

    def graph(t, x, y, b):
        return (((t * x - (y - b)) ** 2).sum()) ** 0.5

    inputs = [torch.randn(4, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    inputs.append(torch.tensor(0.3, dtype=torch.float64, requires_grad=True))
    looped, direct = program(*inputs), graph(*inputs)
    assert torch.allclose(looped, direct)
    for one, other in zip(torch.autograd.grad(looped, inputs), torch.autograd.grad(direct, inputs), strict=True):
        assert torch.allclose(one, other)


def test_the_loops_run_in_place_too():
    t = torch.randn(4, requires_grad=True)
    x, y, b = torch.randn(4), torch.randn(4), 0.3
    parts = torch.zeros(4)
    for i in range(4):
        parts[i] += t[i] * x[i]
    for i in range(4):
        parts[i] -= y[i] - b
    parts = parts * parts
    total = torch.zeros(())
    for i in range(4):
        total += parts[i]
    total.sqrt().backward()
    residual = t.detach() * x - (y - b)
    assert torch.allclose(t.grad, residual * x / (residual**2).sum().sqrt(), atol=1e-6)


def test_the_derivative_is_linear():
    x = torch.linspace(0.1, 1, 5, dtype=torch.float64, requires_grad=True)

    def derivative(y):
        return torch.autograd.grad(y.sum(), x)[0]

    f, g = x.sin(), x.exp()
    assert torch.allclose(derivative(x.sin() + x.exp()), derivative(f) + derivative(g))
    assert torch.allclose(derivative(3 * x.sin()), 3 * derivative(x.sin()))


def test_the_product_rule():
    x = torch.linspace(0.1, 1, 5, dtype=torch.float64, requires_grad=True)

    def derivative(y):
        return torch.autograd.grad(y.sum(), x)[0]

    expected = derivative(x.sin()) * x.exp() + x.sin() * derivative(x.exp())
    assert torch.allclose(derivative(x.sin() * x.exp()), expected)


class Var:
    """Autograd on one slide: a number and a function that lists the slope to each of its inputs."""

    def __init__(self, value, edges=lambda: []):
        self.value, self.edges = value, edges

    def __add__(self, other):
        return Var(self.value + other.value, lambda: [(self, 1.0), (other, 1.0)])

    def __mul__(self, other):
        return Var(self.value * other.value, lambda: [(self, other.value), (other, self.value)])

    def grad(self, arriving=1.0, sums=None):
        sums = {} if sums is None else sums
        sums[self] = sums.get(self, 0) + arriving
        for source, slope in self.edges():
            source.grad(slope * arriving, sums)
        return sums


def test_the_one_slide_engine_agrees_with_this_one():
    a, b = Var(2.0), Var(3.0)
    small = (a * b + a) * a
    x, y = (torch.tensor(v.value, requires_grad=True) for v in (a, b))
    large = (x * y + x) * x
    large.backward()
    sums = small.grad()
    assert small.value == large.item() == 16.0
    assert (sums[a], sums[b]) == (x.grad.item(), y.grad.item()) == (16.0, 4.0)


def test_the_one_slide_engine_differentiates_tensors_when_it_holds_them():
    a, b = Var(torch.tensor([1.0, 2.0])), Var(torch.tensor([3.0, 4.0]))
    sums = (a * b * a).grad()
    assert sums[a].tolist() == [6.0, 16.0]
    assert sums[b].tolist() == [1.0, 4.0]


def test_gradients_of_a_norm_come_as_a_tuple_in_the_order_of_the_inputs():
    x = torch.randn(2, requires_grad=True)
    t = torch.tensor([2.0, 3.0], requires_grad=True)
    y = torch.randn(2)
    f = sum((x * t - y) ** 2) ** 0.5  # the built-in sum: it iterates over the tensor
    gradients = torch.autograd.grad(f, inputs=(x, t))
    assert isinstance(gradients, tuple) and len(gradients) == 2
    residual = (x * t - y).detach()
    norm = (residual**2).sum().sqrt()
    assert torch.allclose(gradients[0], residual * t.detach() / norm)
    assert torch.allclose(gradients[1], residual * x.detach() / norm)


def test_the_printed_gradients_fit_together():
    # The slide prints ([-0.60, 2.85], [0.23, 1.47]): the direction of the residual, [-0.30, 0.95], has length one.
    residual = torch.tensor([-0.60, 2.85]) / torch.tensor([2.0, 3.0])
    assert abs(residual.norm().item() - 1) < 0.01
    x = torch.tensor([0.23, 1.47]) / residual
    x.requires_grad_()
    t = torch.tensor([2.0, 3.0], requires_grad=True)
    y = (x * t).detach() - residual
    gradients = torch.autograd.grad(sum((x * t - y) ** 2) ** 0.5, inputs=(x, t))
    assert close(gradients[0], [-0.60, 2.85], 0.01)
    assert close(gradients[1], [0.23, 1.47], 0.01)


def test_the_function_that_the_vectorizing_map_is_shown_on_is_elementwise_already():
    tensor = torch.ones(3, 3, 3) * 2
    assert torch.equal(tensor**2 + tensor, torch.full((3, 3, 3), 6.0))


def test_dot_reduces_two_vectors_to_a_scalar():
    x, y = torch.ones(5), torch.ones(5)
    assert torch.dot(x, y).shape == () and torch.dot(x, y).item() == 5.0


def jacobian(function, x, create_graph=False):
    """One row for each output, each a gradient of its own; the slide maps the same over all rows at once."""
    y = function(x)
    rows = [
        torch.autograd.grad(y, x, row.view(y.shape), retain_graph=True, create_graph=create_graph)[0]
        for row in torch.eye(y.numel())
    ]
    return torch.stack(rows).view(*y.shape, *x.shape)


def test_the_jacobian_of_the_cube_is_diagonal():
    result = jacobian(lambda x: x**3, torch.ones(3, requires_grad=True))
    assert repr(result) == "tensor([[3., 0., 0.],\n        [0., 3., 0.],\n        [0., 0., 3.]])"


def test_the_jacobian_is_one_batched_gradient():
    x = torch.ones(3, requires_grad=True)
    y = x**3
    (result,) = torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True)
    assert torch.equal(result, 3 * torch.eye(3))


def test_the_hessian_of_the_sum_of_cubes():
    def gradient(x):
        return torch.autograd.grad((x**3).sum(), x, create_graph=True)[0]

    result = jacobian(gradient, torch.ones(3, requires_grad=True))
    assert repr(result) == "tensor([[6., 0., 0.],\n        [0., 6., 0.],\n        [0., 0., 6.]])"


def test_the_hessian_is_the_jacobian_of_the_gradient_and_is_symmetric():
    def gradient(x):
        return torch.autograd.grad(x[0] ** 2 * x[1].sin() + x[2] * x[0], x, create_graph=True)[0]

    x = torch.tensor([0.5, 0.7, 0.9], requires_grad=True)
    result = jacobian(gradient, x)
    assert torch.allclose(result, result.T)
    s, c = x[1].sin().item(), x[1].cos().item()
    assert close(result, [[2 * s, c, 1.0], [c, -0.25 * s, 0.0], [1.0, 0.0, 0.0]], 1e-5)


def test_a_chain_of_jacobians_multiplies_to_the_same_from_either_side():
    first, second = torch.randn(4, 3, dtype=torch.float64), torch.randn(2, 4, dtype=torch.float64)
    steps = [lambda x: (first @ x).tanh(), lambda x: second @ x, lambda x: x.exp()]
    x = torch.randn(3, dtype=torch.float64)
    values, factors = [x], []
    for step in steps:
        point = values[-1].detach().requires_grad_()
        y = step(point)
        rows = [
            torch.autograd.grad(y, point, row, retain_graph=True)[0]
            for row in torch.eye(y.numel(), dtype=torch.float64)
        ]
        factors.append(torch.stack(rows))
        values.append(y)
    reverse = (factors[2] @ factors[1]) @ factors[0]
    forward = factors[2] @ (factors[1] @ factors[0])
    assert torch.allclose(reverse, forward)
    vector = torch.randn(2, dtype=torch.float64)
    start = x.clone().requires_grad_()
    (pulled,) = torch.autograd.grad(steps[2](steps[1](steps[0](start))), start, vector)
    assert torch.allclose(pulled, vector @ reverse)


def test_matrix_multiplication_contracts_the_inner_dimensions():
    state, transition = torch.ones(9, 5), torch.randn(5, 5)
    assert (state @ transition).shape == (9, 5)
    with pytest.raises(RuntimeError, match=r"mat1 and mat2 shapes cannot be multiplied \(9x5 and 4x5\)"):
        state @ torch.randn(4, 5)
