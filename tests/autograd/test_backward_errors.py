"""What backward and grad refuse, in PyTorch's words."""

import pytest
from subject import raises, torch

SECOND_BACKWARD = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
    "saved tensors after calling backward."
)


def leaf(size=3):
    return torch.ones(size, requires_grad=True)


def test_many_outputs_need_a_gradient():
    with raises(RuntimeError, "grad can be implicitly created only for scalar outputs"):
        (leaf() * 2).backward()
    x = leaf()
    with raises(RuntimeError, "grad can be implicitly created only for scalar outputs"):
        torch.autograd.grad(x * 2, x)


def test_an_empty_output_needs_a_gradient():
    with raises(RuntimeError, "grad can be implicitly created only for scalar outputs"):
        (leaf(0) * 2).backward()


def test_a_complex_output_needs_a_gradient():
    x = torch.ones((), dtype=torch.complex64, requires_grad=True)
    with raises(RuntimeError, "grad can be implicitly created only for real scalar outputs but got torch.complex64"):
        (x * x).backward()


def test_a_root_outside_any_graph():
    text = "element 0 of tensors does not require grad and does not have a grad_fn"
    with raises(RuntimeError, text):
        torch.ones(()).backward()
    with raises(RuntimeError, text):
        torch.autograd.grad(torch.ones(()), leaf())


def test_the_number_of_the_root_outside_the_graph_is_named():
    with raises(RuntimeError, "element 1 of tensors does not require grad and does not have a grad_fn"):
        torch.autograd.backward([leaf().sum(), torch.ones(())])


def test_a_second_backward():
    x = leaf()
    y = (x * x).sum()
    y.backward()
    with raises(RuntimeError, SECOND_BACKWARD):
        y.backward()
    assert x.grad.tolist() == [2.0] * 3


def test_a_second_grad():
    x = leaf()
    y = (x * x).sum()
    torch.autograd.grad(y, x)
    with raises(RuntimeError, SECOND_BACKWARD):
        torch.autograd.grad(y, x)


def test_a_second_backward_through_a_shared_part():
    x = leaf()
    shared = x.exp()
    (shared * 2).sum().backward()
    with raises(RuntimeError, SECOND_BACKWARD):
        (shared * 3).sum().backward()


@pytest.mark.parametrize("shape", [(2,), (3, 3), (), (1,), (3, 1)])
def test_a_gradient_of_the_wrong_shape(shape):
    x = leaf()
    text = (
        f"Mismatch in shape: grad_output[0] has a shape of torch.Size({list(shape)}) "
        "and output[0] has a shape of torch.Size([3])."
    )
    with raises(RuntimeError, text):
        (x * 2).backward(torch.ones(shape))
    with raises(RuntimeError, text):
        torch.autograd.grad(x * 2, x, torch.ones(shape))
    assert x.grad is None


def test_every_gradient_is_checked_not_only_the_first():
    x = leaf()
    with raises(RuntimeError):  # PyTorch stumbles over its own message here, so only the kind is compared
        torch.autograd.backward([x * 2, x * 3], [torch.ones(3), torch.ones(2)])


def test_a_complex_gradient_for_a_real_output():
    with raises(
        RuntimeError,
        "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
        "grad_output[0] has a dtype of torch.complex64 and output[0] has a dtype of torch.float32.",
    ):
        (leaf() * 2).backward(torch.ones(3, dtype=torch.complex64))


def test_gradients_that_are_not_tensors():
    with raises(TypeError, "gradients can be either Tensors or None, but got int"):
        (leaf() * 2).backward([1])


def test_as_many_gradients_as_roots():
    x = leaf()
    with raises(RuntimeError, "got 2 tensors and 1 gradients"):
        torch.autograd.backward([x.sum(), x.sum()], [torch.ones(())])


def test_no_inputs():
    x = leaf()
    with raises(RuntimeError, "`inputs` argument to `backward()` cannot be empty."):
        x.sum().backward(inputs=[])
    with raises(RuntimeError, "`inputs` argument to `grad()` cannot be empty."):
        torch.autograd.grad(x.sum(), [])


def test_inputs_that_are_not_tensors():
    x = leaf()
    with raises(RuntimeError, "all inputs have to be Tensors or GradientEdges, but got int"):
        torch.autograd.grad(x.sum(), [x, 3])


def test_an_input_that_was_not_used():
    x, unused = leaf(), leaf()
    with raises(
        RuntimeError,
        "The differentiated Tensor at index 0 appears to not have been used in the graph. "
        "Set allow_unused=True if this is the desired behavior.",
    ):
        torch.autograd.grad(x.sum(), unused)
    with raises(RuntimeError, "The differentiated Tensor at index 1 appears to not have been used in the graph."):
        torch.autograd.grad(x.sum(), [x, unused])


def test_an_input_that_needs_no_gradient():
    with raises(RuntimeError, "One of the differentiated Tensors does not require grad"):
        torch.autograd.grad(leaf().sum(), torch.ones(3))


def test_materialized_gradients_cannot_be_unused():
    x = leaf()
    with raises(
        ValueError,
        "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.",
    ):
        torch.autograd.grad(x.sum(), x, allow_unused=False, materialize_grads=True)


def test_batched_gradients_of_the_wrong_shape():
    x = leaf()
    text = "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension."
    with raises(RuntimeError, text):
        torch.autograd.grad(x * 2, x, torch.ones(3), is_grads_batched=True)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.bool])
def test_whole_numbers_have_no_gradient(dtype):
    with raises(RuntimeError, "nly Tensors of floating point and complex dtype can require gradients"):
        torch.zeros(2, dtype=dtype, requires_grad=True)
    with raises(RuntimeError, "only Tensors of floating point and complex dtype can require gradients"):
        torch.zeros(2, dtype=dtype).requires_grad = True
    with raises(RuntimeError, "only Tensors of floating point dtype can require gradients"):
        torch.zeros(2, dtype=dtype).requires_grad_()
    torch.zeros(2, dtype=dtype).requires_grad_(False)


def test_a_computed_tensor_cannot_be_told_not_to_need_a_gradient():
    y = leaf() * 2
    text = (
        "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
        "subgraph that doesn't require differentiation use var_no_grad = var.detach()."
    )
    with raises(RuntimeError, text):
        y.requires_grad = False
    with raises(RuntimeError, text):
        y.requires_grad_(False)
    assert y.requires_grad_(True) is y


def test_requires_grad_is_a_truth_value():
    with raises(RuntimeError, "requires_grad must be a bool"):
        torch.ones(2).requires_grad = "yes"


def test_a_gradient_assigned_must_fit():
    x = leaf(2)
    with raises(
        RuntimeError,
        "attempting to assign a gradient of size '[3]' to a tensor of size '[2]'. "
        "Please ensure that the gradient and the tensor are the same size",
    ):
        x.grad = torch.ones(3)
    with raises(TypeError, "assigned grad expected to be a Tensor or None but got grad of type int"):
        x.grad = 3
    with raises(RuntimeError, "can't assign Variable as its own grad"):
        x.grad = x
    with raises(
        RuntimeError,
        "attempting to assign a gradient with dtype 'double' to a tensor with grad_dtype 'Float'.",
    ):
        x.grad = torch.ones(2, dtype=torch.float64)
    assert x.grad is None


def test_retaining_the_gradient_of_what_has_none():
    with raises(RuntimeError, "can't retain_grad on Tensor that has requires_grad=False"):
        torch.ones(3).retain_grad()


def test_a_failing_backward_leaves_the_gradients_of_other_calls():
    x = leaf()
    x.sum().backward()
    with raises(RuntimeError, "Mismatch in shape"):
        (x * 2).backward(torch.ones(4))
    assert x.grad.tolist() == [1.0] * 3
