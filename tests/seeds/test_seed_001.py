"""The programs of the second seed: the first project's page, on strides, on assignment, on what backward does."""

import pytest
from subject import torch


@pytest.mark.parametrize("sizes", [(7,), (4, 5), (4, 5, 3), (2, 3, 4, 5), (1, 3, 1)])
def test_contiguous_means_each_stride_is_the_product_of_the_tail_of_sizes(sizes):
    x = torch.zeros(sizes)
    tail = 1
    for size, stride in zip(reversed(sizes), reversed(x.stride()), strict=True):
        assert stride == tail
        tail *= size
    assert x.is_contiguous()


def test_a_transposed_tensor_has_its_strides_swapped_and_is_not_contiguous():
    x = torch.zeros(4, 5)
    assert x.T.stride() == (1, 5)
    assert not x.T.is_contiguous()
    assert x.T.contiguous().stride() == (4, 1)


def test_a_binding_does_not_copy_and_an_indexed_assignment_does():
    x = torch.tensor([1.0, 2.0, 3.0])
    same = x
    element = x[1]
    x[1] = 3
    assert same is x
    assert element.item() == 3.0  # x[1] was a view: what is copied into x is seen through it
    assert x.tolist() == [1.0, 3.0, 3.0]


def test_assigning_a_tensor_copies_its_numbers():
    x = torch.zeros(2)
    y = torch.tensor(5.0)
    x[1] = y
    y.fill_(7)
    assert x.tolist() == [0.0, 5.0]


def test_a_function_that_rebinds_its_argument_changes_nothing_outside():
    def rebind(a):
        b = a
        b = b + 1
        return b

    x = torch.zeros(2)
    rebind(x)
    assert x.tolist() == [0.0, 0.0]


def test_backward_computes_accumulates_and_propagates_to_the_leaves():
    weight = torch.tensor([1.0, 2.0], requires_grad=True)
    x = torch.tensor([3.0, 4.0])
    for times in (1, 2, 3):
        (weight * x).sum().backward()
        assert torch.equal(weight.grad, times * x)
    assert x.grad is None


def test_the_engine_multiplies_a_vector_with_the_jacobian():
    matrix = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    x = torch.zeros(3, requires_grad=True)
    vector = torch.tensor([10.0, 1.0])
    (product,) = torch.autograd.grad(matrix @ x, x, vector)
    assert product.tolist() == [14.0, 25.0, 36.0]
