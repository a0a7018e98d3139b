"""Complex tensors: gradients are conjugate Wirtinger derivatives, the direction of steepest ascent."""

import cmath
import math

import pytest
from subject import needs, torch

grad = torch.autograd.grad


def number(value):
    return torch.tensor(value, dtype=torch.complex128, requires_grad=True)


def test_the_gradient_of_a_squared_magnitude_is_twice_the_number():
    z = number(1 + 2j)
    (z * z.conj()).real.backward()
    assert z.grad.item() == 2 + 4j


def test_the_gradient_of_the_real_part_is_one_and_of_the_imaginary_part_i():
    z = number(1 + 2j)
    assert grad(z.real, z)[0].item() == 1
    assert grad(z.imag, z)[0].item() == 1j


def test_the_magnitude_points_outward():
    z = number(3 + 4j)
    assert cmath.isclose(grad(z.abs(), z)[0].item(), (3 + 4j) / 5)


def test_the_magnitude_of_zero_has_gradient_zero():
    z = number(0j)
    assert grad(z.abs(), z)[0].item() == 0


@needs("angle")
def test_the_angle_turns():
    z = number(3 + 4j)
    assert cmath.isclose(grad(z.angle(), z)[0].item(), complex(-4, 3) / 25)


HOLOMORPHIC = {
    "exp": (torch.exp, cmath.exp),
    "log": (torch.log, lambda z: 1 / z),
    "sin": (torch.sin, cmath.cos),
    "cos": (torch.cos, lambda z: -cmath.sin(z)),
    "tanh": (torch.tanh, lambda z: 1 - cmath.tanh(z) ** 2),
    "sqrt": (torch.sqrt, lambda z: 0.5 / cmath.sqrt(z)),
    "reciprocal": (torch.reciprocal, lambda z: -1 / z**2),
    "square": (lambda z: z**2, lambda z: 2 * z),
    "cube": (lambda z: z * z * z, lambda z: 3 * z * z),
    "quotient": (lambda z: 1 / (z + 1), lambda z: -1 / (z + 1) ** 2),
    "power": (lambda z: z**2.5, lambda z: 2.5 * z**1.5),
    "complex power": (lambda z: z ** (1 + 1j), lambda z: (1 + 1j) * z**1j),
    "neg": (torch.neg, lambda z: -1),
}


@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_a_holomorphic_function_multiplies_by_the_conjugate_of_its_derivative(name):
    function, derivative = HOLOMORPHIC[name]
    z = number(0.6 + 0.8j)
    arriving = 2 - 1j
    (g,) = grad(function(z), z, torch.tensor(arriving, dtype=torch.complex128))
    assert cmath.isclose(g.item(), arriving * complex(derivative(0.6 + 0.8j)).conjugate(), rel_tol=1e-9)


def test_the_conjugate_passes_the_conjugate():
    z = number(1 + 2j)
    (g,) = grad(z.conj(), z, torch.tensor(3 + 1j, dtype=torch.complex128))
    assert g.item() == 3 - 1j


def test_a_product_passes_the_conjugate_of_the_other_factor():
    a, b = number(1 + 2j), number(3 - 1j)
    to_a, to_b = grad(a * b, [a, b], torch.tensor(1 + 0j, dtype=torch.complex128))
    assert (to_a.item(), to_b.item()) == (3 + 1j, 1 - 2j)


def test_a_matrix_product_passes_the_adjoint():
    a = torch.randn(2, 3, dtype=torch.complex128, requires_grad=True)
    b = torch.randn(3, 4, dtype=torch.complex128, requires_grad=True)
    v = torch.randn(2, 4, dtype=torch.complex128)
    to_a, to_b = grad(a @ b, [a, b], v)
    assert torch.allclose(to_a, v @ b.detach().mH) and torch.allclose(to_b, a.detach().mH @ v)


def test_a_real_tensor_gets_the_real_part_of_its_gradient():
    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    z = torch.tensor(1 + 2j, dtype=torch.complex128, requires_grad=True)
    to_x, to_z = grad((x * z).imag, [x, z])
    assert (to_x.dtype, to_z.dtype) == (torch.float64, torch.complex128)
    assert (to_x.item(), to_z.item()) == (2.0, 2j)


def test_a_real_base_with_a_complex_scalar():
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    y = (x * (1 + 3j)).abs().sum()
    y.backward()
    assert torch.allclose(x.grad, torch.full((2,), math.sqrt(10), dtype=torch.float64))


def test_parts_put_together_separate_again():
    re = torch.tensor([1.0, 2.0], requires_grad=True)
    im = torch.tensor([3.0, 4.0], requires_grad=True)
    z = torch.complex(re, im)
    (z * z).real.sum().backward()  # re^2 - im^2
    assert re.grad.tolist() == [2.0, 4.0] and im.grad.tolist() == [-6.0, -8.0]


def test_view_as_real_and_complex_pass_gradients_unchanged():
    z = torch.tensor([1 + 2j, 3 + 4j], requires_grad=True)
    weights = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    (torch.view_as_real(z) * weights).sum().backward()
    assert z.grad.tolist() == [1 + 2j, 3 + 4j]
    pairs = torch.tensor([[1.0, 2.0]], requires_grad=True)
    torch.view_as_complex(pairs).backward(torch.tensor([5 + 6j]))
    assert pairs.grad.tolist() == [[5.0, 6.0]]


def test_sums_and_means_of_complex_numbers():
    z = torch.tensor([1 + 2j, 3 + 4j], requires_grad=True)
    (g,) = grad(z.mean(), z, torch.tensor(1 + 1j))
    assert g.tolist() == [0.5 + 0.5j, 0.5 + 0.5j]


def test_the_second_derivative_of_a_complex_function():
    z = number(0.5 + 0.25j)
    (first,) = grad((z**3).real, z, create_graph=True)
    assert cmath.isclose(first.item(), (3 * (0.5 + 0.25j) ** 2).conjugate())
    (second,) = grad(first.real, z)
    assert cmath.isclose(second.item(), (6 * (0.5 + 0.25j)).conjugate())


def test_descent_along_the_gradient_finds_the_number():
    target = torch.tensor([1 - 2j, 0.5j])
    z = torch.zeros(2, dtype=torch.complex64, requires_grad=True)
    for _ in range(60):
        ((z - target).abs() ** 2).sum().backward()
        with torch.no_grad():
            z -= 0.2 * z.grad
            z.grad = None
    assert torch.allclose(z.detach(), target, atol=1e-5)


def test_writing_into_the_real_part_of_a_view_of_a_computed_tensor():
    z = torch.tensor([1 + 2j, 3 + 4j], requires_grad=True)
    w = z * 1
    w.real.mul_(10)
    assert w.tolist() == [10 + 2j, 30 + 4j]
    w.abs().pow(2).sum().backward()  # 100 re^2 + im^2
    assert torch.allclose(z.grad, torch.tensor([200 + 4j, 600 + 8j]))
