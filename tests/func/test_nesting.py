"""Transforms nest in any order: every chain of them, against the derivatives that calculus knows."""

import itertools
import math

import pytest
from subject import IS_TORCH, close, torch

func, vmap = torch.func, torch.vmap


def by_jvp(f):
    return lambda x: func.jvp(f, (x,), (torch.ones_like(x),))[1]


def by_vjp(f):
    def slope(x):
        value, pull_back = func.vjp(f, x)
        return pull_back(torch.ones_like(value))[0]

    return slope


def by_autograd(f):
    """The tape by hand, inside whatever is around it."""

    def slope(x):
        x = x.detach().requires_grad_() if not x.requires_grad else x
        return torch.autograd.grad(f(x), x, create_graph=True)[0]

    return slope


def by_linearize(f):
    def slope(x):
        _, push_forward = func.linearize(f, x)
        return push_forward(torch.ones_like(x))

    return slope


def by_sum(f):
    return func.grad(lambda x: f(x).sum())


def by(jacobian):
    """The slopes of a function of each element by itself, from its Jacobian."""
    return lambda f: lambda x: jacobian(f)(x).reshape(x.numel(), x.numel()).sum(0).reshape(x.shape)


SLOPES = {"grad": by_sum, "jvp": by_jvp, "vjp": by_vjp, "jacrev": by(func.jacrev), "jacfwd": by(func.jacfwd)}
CHAINS = [chain for n in (1, 2, 3, 4) for chain in itertools.product((*SLOPES, "vmap"), repeat=n)]


def derivative_of_sine(n, x):
    return [math.sin, math.cos, lambda v: -math.sin(v), lambda v: -math.cos(v)][n % 4](2 * x) * 2**n


def nested(values, count):
    """Numbers as a nested list of `count` levels, two each."""
    return values[0] if not count else [nested(values[i::2], count - 1) for i in range(2)]


@pytest.mark.parametrize("first", [*SLOPES, "vmap"])
def test_every_chain_is_the_derivative_that_it_spells(first):
    for chain in CHAINS:
        if chain[0] != first:
            continue
        function, maps = lambda x: torch.sin(x * 2), chain.count("vmap")
        for name in reversed(chain):
            function = vmap(function) if name == "vmap" else SLOPES[name](function)
        values = [0.1 * i - 0.3 for i in range(2**maps)]
        x = torch.tensor(nested(values, maps), dtype=torch.float64)
        order = len(chain) - maps
        expected = nested([derivative_of_sine(order, v) for v in values], maps)
        assert close(function(x), expected), chain


# PyTorch's linearize closes over no outer variable, and its tape takes no part in a map.
@pytest.mark.parametrize("inner", SLOPES if IS_TORCH else [*SLOPES, "linearize"])
@pytest.mark.parametrize("outer", SLOPES)
def test_an_inner_derivative_does_not_confuse_an_outer_variable(inner, outer):
    slopes = {**SLOPES, "linearize": by_linearize}
    two = torch.tensor(2.0, dtype=torch.float64)
    one = torch.ones((), dtype=torch.float64)
    found = slopes[outer](lambda x: x * slopes[inner](lambda y: x * x * y)(one))(two)  # x^3
    assert close(found, 12.0)
    found = slopes[outer](lambda x: x * slopes[inner](lambda y: x + y)(one))(two)  # x
    assert close(found, 1.0)
    found = slopes[outer](lambda x: slopes[inner](lambda y: x * y * y)(x))(two)  # 2x^2
    assert close(found, 8.0)


@pytest.mark.parametrize("slope", SLOPES)
def test_backward_outside_goes_through_a_transform(slope):
    x = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    w = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    SLOPES[slope](lambda v: torch.sin(v * w))(x).backward()  # w cos(x w)
    assert close(x.grad, -(1.5**2) * math.sin(0.45))
    assert close(w.grad, math.cos(0.45) - 0.45 * math.sin(0.45))


def test_backward_outside_goes_through_vmap():
    x = torch.arange(6.0, dtype=torch.float64).reshape(2, 3).requires_grad_()
    w = torch.tensor([1.0, -1.0, 2.0], dtype=torch.float64, requires_grad=True)
    vmap(lambda row: (row * row * w).sum())(x).sum().backward()
    assert close(x.grad, [[0.0, -2.0, 8.0], [6.0, -8.0, 20.0]])
    assert close(w.grad, [9.0, 17.0, 29.0])


@pytest.mark.skipif(IS_TORCH, reason="PyTorch's vmap refuses requires_grad_")
def test_backward_inside_a_mapped_function():
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    assert close(vmap(by_autograd(lambda v: v**3))(x), [3.0, 12.0, 27.0])
    assert close(func.grad(lambda v: by_autograd(lambda u: u**3)(v))(x[1]), 12.0)


def test_hessian_of_a_mapped_function():
    matrix = torch.tensor([[2.0, 1.0], [0.5, -1.0]], dtype=torch.float64)
    x = torch.tensor([0.3, 0.7], dtype=torch.float64)
    rows = torch.tensor([[1.0, 2.0], [0.0, 1.0], [3.0, -1.0]], dtype=torch.float64)

    def f(x):
        return vmap(lambda row: (row * x) @ matrix @ x)(rows).sum()

    weights = rows.sum(0)
    form = torch.stack([matrix[0] * weights[0], matrix[1] * weights[1]])
    assert torch.allclose(func.hessian(f)(x), form + form.T)
    assert torch.allclose(func.jacrev(func.jacfwd(f))(x), form + form.T)
    assert torch.allclose(func.jacfwd(func.jacfwd(f))(x), form + form.T)
    assert torch.allclose(func.jacrev(func.jacrev(f))(x), form + form.T)


def test_per_sample_gradients_of_nested_parameters():
    x = torch.arange(6.0, dtype=torch.float64).reshape(3, 2)
    parameters = {"w": torch.tensor([1.0, -1.0], dtype=torch.float64), "b": [torch.tensor(0.5, dtype=torch.float64)]}

    def loss(p, row):
        return (row @ p["w"] + p["b"][0]) ** 2

    found = vmap(func.grad(loss), in_dims=(None, 0))(parameters, x)
    residual = [-0.5, -0.5, -0.5]
    assert close(found["b"][0], [2 * r for r in residual])
    assert close(found["w"], [[2 * r * v for v in row] for r, row in zip(residual, x.tolist())])


def test_maps_nest_with_dims_of_their_own():
    x = torch.arange(24.0, dtype=torch.float64).reshape(2, 3, 4)
    found = vmap(vmap(lambda column: column.sum(), in_dims=1), in_dims=2, out_dims=1)(x)
    assert torch.equal(found, x.sum(0))


def test_an_inner_map_sees_the_rows_of_an_outer_one():
    x = torch.arange(3.0, dtype=torch.float64)
    y = torch.arange(4.0, dtype=torch.float64)
    table = vmap(lambda a: vmap(lambda b: a * 10 + b)(y))(x)
    assert torch.equal(table, x[:, None] * 10 + y)
    slopes = vmap(lambda a: vmap(func.grad(lambda b: a * b * b))(y))(x)
    assert torch.equal(slopes, 2 * x[:, None] * y)


def test_forward_over_reverse_over_vmap_with_writes():
    def f(x):
        y = x.clone()
        y[0] = x[1] * x[0]
        y.mul_(x)
        return y.sum()  # x1 x0^2 + x1^2

    x = torch.tensor([[2.0, 3.0], [1.0, -1.0]], dtype=torch.float64)
    assert close(vmap(func.hessian(f))(x), [[[6.0, 4.0], [4.0, 2.0]], [[-2.0, 2.0], [2.0, 2.0]]])
    assert close(vmap(func.grad(f))(x), [[12.0, 10.0], [-2.0, -1.0]])


def test_a_function_with_several_results_and_aux():
    def f(x):
        return (x**2).sum(), {"twice": 2 * x}

    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)
    slope, aux = vmap(func.grad(f, has_aux=True))(x)
    assert close(slope, [[2.0, 4.0], [6.0, 8.0]])
    assert close(aux["twice"], [[2.0, 4.0], [6.0, 8.0]])
    (slope, (value, aux)) = func.grad_and_value(f, has_aux=True)(x[0])
    assert close(value, 5.0) and close(aux["twice"], [2.0, 4.0])
    jacobian, aux = func.jacrev(lambda x: (x**2, x * 3), has_aux=True)(x[0])
    assert close(jacobian, [[2.0, 0.0], [0.0, 4.0]]) and close(aux, [3.0, 6.0])


def test_argnums_choose_what_moves():
    x, y = torch.tensor(2.0, dtype=torch.float64), torch.tensor(5.0, dtype=torch.float64)
    f = lambda x, y: x * x * y
    assert close(func.grad(f, argnums=1)(x, y), 4.0)
    assert [t.item() for t in func.grad(f, argnums=(0, -1))(x, y)] == [20.0, 4.0]
    assert [t.item() for t in func.jacfwd(f, argnums=(1, 0))(x, y)] == [4.0, 20.0]
    hessian = func.hessian(f, argnums=(0, 1))(x, y)
    assert [[t.item() for t in row] for row in hessian] == [[10.0, 4.0], [4.0, 0.0]]


@pytest.mark.parametrize("chunk_size", [1, 2, 5, None])
def test_chunks_change_nothing(chunk_size):
    x = torch.arange(10.0, dtype=torch.float64).reshape(5, 2)
    assert torch.equal(vmap(lambda r: (r * r).sum(), chunk_size=chunk_size)(x), (x * x).sum(1))
    assert torch.equal(vmap(lambda r: r * 2, in_dims=1, out_dims=1, chunk_size=chunk_size)(x), x * 2)
    f = lambda v: (v**2) @ x.T
    assert torch.equal(func.jacrev(f, chunk_size=chunk_size)(x[1]), x * 2 * x[1])


def test_the_tangent_of_a_view_is_a_view_of_the_tangent():
    def f(x):
        y = x * 1
        part = y[1:]
        part.mul_(x[0])  # the base moves too
        return y.sum() + part.sum()

    x = torch.tensor([2.0, 3.0, 4.0], dtype=torch.float64)
    _, moved = func.jvp(f, (x,), (torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64),))
    assert close(moved, 1 + 2 * 7.0)
    assert close(func.grad(f)(x), [15.0, 4.0, 4.0])
