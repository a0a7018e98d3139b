"""The programs of the seeds that map a function over a dimension."""

from subject import torch


def test_a_function_of_one_number_maps_over_every_element():
    tensor = torch.ones(3, 3, 3) * 2
    assert torch.equal(torch.vmap(lambda x: x**2 + x)(tensor), torch.full((3, 3, 3), 6.0))


def test_dot_maps_over_one_dimension():
    x, y = torch.randn(3, 5), torch.randn(3, 5)
    assert torch.allclose(torch.vmap(torch.dot)(x, y), (x * y).sum(1), atol=1e-6)


def test_a_mapped_dot_maps_again():
    x, y = torch.ones(3, 2, 5), torch.ones(3, 2, 5)
    assert torch.equal(torch.vmap(torch.vmap(torch.dot))(x, y), torch.full((3, 2), 5.0))


def jacobian(function, x):
    x = x.detach().requires_grad_()
    y = function(x)
    rows = torch.eye(y.numel()).view(y.numel(), *y.shape)
    return torch.vmap(lambda row: torch.autograd.grad(y, x, row, retain_graph=True)[0])(rows).detach()


def test_the_jacobian_maps_a_gradient_over_the_rows_of_the_identity():
    result = jacobian(lambda x: x**3, torch.ones(3))
    assert repr(result) == "tensor([[3., 0., 0.],\n        [0., 3., 0.],\n        [0., 0., 3.]])"


def test_the_hessian_is_the_jacobian_of_a_gradient():
    def gradient(x):
        y = (x**3).sum()
        assert y.dim() == 0
        return torch.autograd.grad(y, x, create_graph=True)[0]

    result = jacobian(gradient, torch.ones(3))
    assert repr(result) == "tensor([[6., 0., 0.],\n        [0., 6., 0.],\n        [0., 0., 6.]])"


def test_automatic_differentiation_is_a_higher_order_function():
    derivative = torch.func.grad(lambda x: (x**3).sum())
    assert derivative(torch.tensor([1.0, 2.0])).tolist() == [3.0, 12.0]
    slope, value = torch.func.grad_and_value(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    assert (slope.tolist(), value.item()) == ([3.0, 12.0], 9.0)


def test_reverse_and_forward_multiply_the_same_chain():
    first, second = torch.randn(4, 3), torch.randn(2, 4)

    def chain(x):
        return (second @ (first @ x).tanh()).exp()

    x = torch.randn(3)
    reverse, forward = torch.func.jacrev(chain)(x), torch.func.jacfwd(chain)(x)
    assert torch.allclose(reverse, forward, atol=1e-5)
