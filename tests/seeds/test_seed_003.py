"""The programs of the fourth seed: automatic differentiation for the gifted amateur, and PyTorch's stumbling stones."""

import math

import numpy as np
import pytest
from subject import close, raises, torch

SECOND_BACKWARD = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
    "saved tensors after calling backward."
)
MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace operation: "


class Scalar:
    """The engine that the talk builds: addition and multiplication, walked once for every path to the root."""

    def __init__(self, val):
        self.val = float(val)
        self.grad = 0.0
        self.backward = lambda: None

    def __mul__(self, other):
        res = Scalar(self.val * other.val)

        def backward():
            self.grad += other.val * res.grad
            other.grad += self.val * res.grad
            self.backward()
            other.backward()

        res.backward = backward
        return res

    def __add__(self, other):
        res = Scalar(self.val + other.val)

        def backward():
            self.grad += res.grad
            other.grad += res.grad
            self.backward()
            other.backward()

        res.backward = backward
        return res


def test_the_scalar_engine_needs_its_gradient_set_and_never_forgets_one():
    x1, x2 = Scalar(2), Scalar(3)
    y = x1 * (x1 + x2)
    y.backward()
    assert (x1.grad, x2.grad) == (0.0, 0.0)
    y.grad = 1.0
    y.backward()
    assert (x1.grad, x2.grad) == (7.0, 2.0)
    y.grad = 1.0
    y.backward()  # the inner sum kept its gradient of 2, so it counts again
    assert (x1.grad, x2.grad) == (16.0, 6.0)
    x1.grad = x2.grad = 0.0
    y.grad = 1.0
    y.backward()
    assert (x1.grad, x2.grad) == (11.0, 6.0)


def two_leaves():
    return torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)


def test_backward_of_the_same_expression_here():
    x1, x2 = two_leaves()
    y = x1 * (x1 + x2)
    y.backward()
    assert f"(1): {x1.grad} {x2.grad}" == "(1): 7.0 2.0"
    assert repr(x1.grad) == "tensor(7.)" and repr(x2.grad) == "tensor(2.)"


def test_printing_a_gradient_shows_a_tensor(capsys):
    x1, x2 = two_leaves()
    (x1 * (x1 + x2)).backward()
    print("(1):", x1.grad, x2.grad)
    assert capsys.readouterr().out == "(1): tensor(7.) tensor(2.)\n"


def test_a_mask_in_a_list_keeps_its_dimension_first_where_numpy_moves_it():
    x = np.random.rand(4, 2, 3)
    selected = [False, False, True]
    assert x[0, :, selected].shape == (1, 2)
    ours = torch.tensor(x)[0, :, selected]
    assert ours.shape == (2, 1)
    assert ours.tolist() == [[x[0, 0, 2]], [x[0, 1, 2]]]


def test_the_selected_numbers_print_in_a_column():
    x = np.zeros((4, 2, 3))
    x[0, :, 2] = 0.7545524, 0.85684194
    shown = repr(torch.tensor(x)[0, :, [False, False, True]])
    name = torch.__name__
    assert shown == f"tensor([[0.7546],\n        [0.8568]], dtype={name}.float64)"


def test_the_default_dtype_is_single_precision():
    assert torch.tensor(2.0).dtype == torch.float32
    assert torch.tensor(np.zeros(2)).dtype == torch.float64


def test_a_second_backward_through_the_same_graph_is_an_error():
    x1, x2 = two_leaves()
    y = x1 * (x1 + x2)
    y.backward()
    with raises(RuntimeError, SECOND_BACKWARD):
        y.backward()
    assert (x1.grad.item(), x2.grad.item()) == (7.0, 2.0)


def test_a_second_graph_adds_its_gradient_to_the_first():
    x1, x2 = two_leaves()
    (x1 * (x1 + x2)).backward()
    (x1 * (x1 + x2)).backward()
    assert (repr(x1.grad), repr(x2.grad)) == ("tensor(14.)", "tensor(4.)")


def test_zeroing_the_gradient_between_starts_again():
    x1, x2 = two_leaves()
    (x1 * (x1 + x2)).backward()
    x1.grad.zero_()
    x2.grad.zero_()
    (x1 * (x1 + x2)).backward()
    assert (repr(x1.grad), repr(x2.grad)) == ("tensor(7.)", "tensor(2.)")


def test_the_gradient_of_many_outputs_cannot_be_implicit():
    weights = torch.rand(5, requires_grad=True) ** 2
    with raises(RuntimeError, "grad can be implicitly created only for scalar outputs"):
        (torch.rand(5) * weights).backward()


def test_a_weight_computed_once_ties_every_step_to_the_first_graph():
    weights = torch.rand(5, requires_grad=True) ** 2
    x = torch.rand(5)
    torch.sum(x * weights).backward()
    with raises(RuntimeError, SECOND_BACKWARD):
        torch.sum(x * weights).backward()


@pytest.mark.parametrize("prepare", ["square in each step", "square before it is a leaf"])
def test_a_weight_that_is_a_leaf_can_be_stepped_again(prepare):
    x = torch.rand(5)
    raw = torch.rand(5)
    leaf = (raw if prepare == "square in each step" else raw**2).requires_grad_()
    for _ in range(2):
        leaf.grad = None
        weights = leaf**2 if prepare == "square in each step" else leaf
        torch.sum(x * weights).backward()
    expected = x * 2 * raw if prepare == "square in each step" else x
    assert torch.allclose(leaf.grad, expected)


def mean_and_sum():
    x = torch.rand(4, requires_grad=True)
    c = x**2 * 2.0
    return x, c, c.mean(), c.sum()


def test_two_roots_accumulate_in_one_leaf():
    x, _, b, a = mean_and_sum()
    b.backward(retain_graph=True)
    expected = 4.0 * x.detach() / 4
    assert torch.allclose(x.grad, expected)
    a.backward()
    assert not torch.allclose(x.grad, 4 * expected)


def test_the_second_root_alone_is_the_difference():
    x, _, b, a = mean_and_sum()
    b.backward(retain_graph=True)
    first = x.grad.clone()
    expected = 4.0 * x.detach() / 4
    a.backward()
    assert torch.allclose(first, expected)
    assert torch.allclose(x.grad - first, 4 * expected)


def test_the_second_root_alone_is_what_is_left_after_zeroing():
    x, _, b, a = mean_and_sum()
    b.backward(retain_graph=True)
    expected = 4.0 * x.detach() / 4
    x.grad.zero_()
    a.backward()
    assert torch.allclose(x.grad, 4 * expected)


def test_backward_of_a_sum_is_the_sum_of_the_backwards():
    x, _, b, a = mean_and_sum()
    b.backward(retain_graph=True)
    a.backward(retain_graph=True)
    both = x.grad.clone()
    x.grad.zero_()
    (a + b).backward()
    assert torch.allclose(x.grad, both)


def test_a_gradient_of_ones_stands_for_the_sum():
    x, c, _, a = mean_and_sum()
    a.backward(retain_graph=True)
    expected = x.grad.clone()
    x.grad.zero_()
    c.backward(gradient=torch.ones_like(x))
    assert torch.allclose(x.grad, expected)


def test_the_jacobian_a_row_at_a_time_with_one_hot_vectors():
    x, c, _, _ = mean_and_sum()
    rows = [torch.autograd.grad(c, x, one_hot, retain_graph=True)[0] for one_hot in torch.eye(4)]
    assert torch.allclose(torch.stack(rows), 4 * x.detach() * torch.eye(4))


def check_p_and_q(p, q):
    assert math.isclose(p.grad.item(), 16.0) and math.isclose(q.grad.item(), 4.0)


def test_two_roots_share_a_node_that_the_first_backward_freed():
    p, q = two_leaves()
    c = 2 * p
    b = c * q
    a = c**2
    a.backward()
    with raises(RuntimeError, SECOND_BACKWARD):
        b.backward()


def test_a_detached_copy_cuts_the_graph_but_shares_the_memory():
    p, q = two_leaves()
    c = 2 * p
    copy = c.detach()
    b = copy * q
    a = c**2
    a.backward()
    b.backward()
    check_p_and_q(p, q)
    assert repr(copy) == "tensor(4.)"
    c.mul_(2)
    assert repr(copy) == "tensor(8.)"


def test_a_detached_clone_has_memory_of_its_own():
    p, q = two_leaves()
    c = 2 * p
    copy = c.detach().clone()
    b = copy * q
    a = c**2
    a.backward()
    b.backward()
    check_p_and_q(p, q)
    c.mul_(2)
    assert repr(copy) == "tensor(4.)"


def test_a_change_in_place_before_the_value_is_needed_is_fine():
    p, q = two_leaves()
    c = 2 * p
    c.mul_(1.0)
    b = c.detach() * q
    a = c**2
    a.backward()
    b.backward()
    check_p_and_q(p, q)


@pytest.mark.parametrize("change", ["c.mul_(1.0)", "c *= 1.0"])
def test_a_change_in_place_of_a_needed_value_is_found_through_the_detached_copy(change):
    p, q = two_leaves()
    c = 2 * p
    copy = c.detach()
    b = copy * q
    scope = {"c": c}
    exec(change, scope)
    assert scope["c"] is c
    a = c**2
    a.backward()
    with raises(
        RuntimeError,
        MODIFIED + "[torch.FloatTensor []] is at version 1; expected version 0 instead. Hint: enable anomaly detection "
        "to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False).",
    ):
        b.backward()


def test_rebinding_the_name_leaves_the_needed_value_alone():
    p, q = two_leaves()
    c = 2 * p
    b = c.detach() * q
    c = c * 1.0
    a = c**2
    a.backward()
    b.backward()
    check_p_and_q(p, q)


def test_writing_by_index_changes_a_value_that_was_needed():
    x = torch.rand(2, requires_grad=True)
    y = torch.empty(3)
    y[:2] = x
    y[2] = x[0] * y[0]
    with raises(RuntimeError, MODIFIED, "[torch.FloatTensor []], which is output 0 of", "is at version 2; expected"):
        y[0].backward()


def test_the_same_by_concatenation_differentiates():
    x = torch.rand(2, requires_grad=True)
    y = torch.cat([x, (x[0] * x[0]).reshape(1)])
    y.sum().backward()
    assert close(x.grad, [1 + 2 * x[0].item(), 1.0])


def test_retained_gradients_show_the_backward_path():
    x = torch.rand(4, requires_grad=True)
    a = x**2
    b = a * 2.0
    y = b.sum()
    for tensor in (a, b, y):
        tensor.retain_grad()
    y.backward()
    assert repr(y.grad) == "tensor(1.)"
    assert repr(b.grad) == "tensor([1., 1., 1., 1.])"
    assert repr(a.grad) == "tensor([2., 2., 2., 2.])"
    assert torch.equal(x.grad, x.detach() * 4)


def test_hooks_show_the_backward_path_from_the_root_to_the_leaf():
    seen = []

    def watch(name):
        return lambda gradient: seen.append((name, gradient.tolist()))

    x = torch.rand(4, requires_grad=True)
    a = x**2
    b = a * 2.0
    y = b.sum()
    for name, tensor in {"y": y, "b": b, "a": a, "x": x}.items():
        tensor.register_hook(watch(name))
    y.backward()
    assert seen == [("y", 1.0), ("b", [1.0] * 4), ("a", [2.0] * 4), ("x", (x.detach() * 4).tolist())]


def test_a_hook_is_called_each_time_and_may_change_the_gradient():
    x = torch.ones(4, requires_grad=True)
    calls = []
    x.register_hook(lambda gradient: calls.append(1) or gradient * 10)
    for _ in range(2):
        (x * 2).sum().backward()
    assert len(calls) == 2
    assert x.grad.tolist() == [40.0] * 4


class TimesSine(torch.autograd.Function):
    """f = a sin b, with the slopes written out."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * torch.sin(b)

    @staticmethod
    def backward(ctx, gradient):
        a, b = ctx.saved_tensors
        return torch.sin(b) * gradient, a * torch.cos(b) * gradient


class TimesSineFromItsResult(torch.autograd.Function):
    """The same, getting the cosine from the sine that the result holds."""

    @staticmethod
    def forward(ctx, a, b):
        result = a * torch.sin(b)
        ctx.save_for_backward(a, b, result)
        return result

    @staticmethod
    def backward(ctx, gradient):
        a, b, result = ctx.saved_tensors
        sine = result / a
        sign = torch.where(torch.abs(b) < math.pi / 2.0, +1.0, -1.0)
        return sine * gradient, sign * a * torch.sqrt(1.0 - sine**2) * gradient


@pytest.mark.parametrize("function", [TimesSine, TimesSineFromItsResult])
def test_a_function_of_ones_own_has_the_gradient_by_hand(function):
    x = torch.tensor([0.5], requires_grad=True)
    f = function.apply(2.0 * x, 3.0 * x)
    y = f**2
    y.backward()
    value = x.detach().clone()
    s, c = torch.sin(3.0 * value), torch.cos(3.0 * value)
    assert torch.isclose(x.grad, 4 * value * s * (2.0 * s + 6.0 * value * c))
    assert f.grad_fn.name() == f"{function.__name__}Backward"
