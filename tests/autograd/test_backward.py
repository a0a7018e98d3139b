"""`backward`: from a root to the leaves, where gradients accumulate."""

import warnings

from subject import close, raises, torch


def test_the_gradient_of_a_product():
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.tensor(3.0, requires_grad=True)
    (x * y).backward()
    assert (x.grad.item(), y.grad.item()) == (3.0, 2.0)


def test_backward_returns_nothing():
    assert torch.ones((), requires_grad=True).exp().backward() is None


def test_gradients_accumulate_over_graphs():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for times in (1, 2, 3):
        (x * x).sum().backward()
        assert torch.equal(x.grad, times * 2 * x.detach())


def test_gradients_accumulate_over_the_paths_of_one_graph():
    x = torch.tensor(3.0, requires_grad=True)
    a = x * 2
    (a * x + a + x).backward()  # 2x^2 + 3x
    assert x.grad.item() == 4 * 3.0 + 3


def test_a_node_used_many_times_is_walked_once():
    x = torch.ones(2, requires_grad=True)
    y = x * 1
    calls = []
    y.register_hook(lambda g: calls.append(g.tolist()))
    for _ in range(20):  # two million paths, twenty nodes
        y = y + y
    y.sum().backward()
    assert calls == [[2.0**20] * 2]
    assert x.grad.tolist() == [2.0**20] * 2


def test_an_output_of_a_node_with_several_collects_all_its_uses():
    x = torch.arange(1.0, 5).requires_grad_()
    first, second = (x * 1).split(2)
    row, _ = x.view(2, 2).unbind(0)
    (first * 2 + first * 3 + second + row * 10 + row * 20).sum().backward()
    assert x.grad.tolist() == [35.0, 35.0, 1.0, 1.0]


def test_the_grad_attribute_stays_the_same_tensor_while_it_accumulates():
    x = torch.ones(2, requires_grad=True)
    x.sum().backward()
    first = x.grad
    x.sum().backward()
    assert x.grad is first and first.tolist() == [2.0, 2.0]


def test_a_gradient_is_a_leaf_that_needs_none_itself():
    x = torch.ones(2, requires_grad=True)
    (x * x).sum().backward()
    assert x.grad.is_leaf and not x.grad.requires_grad and x.grad.grad_fn is None


def test_two_leaves_of_one_sum_do_not_share_their_gradient():
    a, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    (a + b).backward(torch.ones(3))
    assert a.grad.data_ptr() != b.grad.data_ptr()
    a.grad.mul_(5)
    assert b.grad.tolist() == [1.0] * 3


def test_the_gradient_that_was_given_is_not_changed_nor_kept():
    x = torch.ones(3, requires_grad=True)
    given = torch.tensor([1.0, 2.0, 3.0])
    (x + 0).backward(given)
    (x + 0).backward(given)
    assert given.tolist() == [1.0, 2.0, 3.0]
    assert x.grad.tolist() == [2.0, 4.0, 6.0]


def test_a_gradient_set_by_hand_is_added_to():
    x = torch.ones(2, requires_grad=True)
    x.grad = torch.tensor([10.0, 20.0])
    (3 * x).sum().backward()
    assert x.grad.tolist() == [13.0, 23.0]


def test_none_clears_the_gradient():
    x = torch.ones(2, requires_grad=True)
    x.sum().backward()
    x.grad = None
    assert x.grad is None
    x.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_deleting_the_gradient_clears_it():
    x = torch.ones(2, requires_grad=True)
    x.sum().backward()
    del x.grad
    assert x.grad is None


def test_the_gradient_argument_is_the_vector_of_the_product():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x**2).backward(torch.tensor([1.0, 10.0, 100.0]))
    assert x.grad.tolist() == [2.0, 40.0, 600.0]


def test_an_integer_gradient_is_taken_in_the_dtype_of_the_output():
    x = torch.ones(2, requires_grad=True)
    (x * 3).backward(torch.tensor([1, 2]))
    assert x.grad.dtype == torch.float32 and x.grad.tolist() == [3.0, 6.0]


def test_a_gradient_of_another_precision_is_taken_in_that_of_the_output():
    x = torch.ones(2, requires_grad=True)
    (x * 3).backward(torch.ones(2, dtype=torch.float64))
    assert x.grad.dtype == torch.float32


def test_one_number_in_any_shape_is_a_scalar_output():
    for shape in ((), (1,), (1, 1)):
        x = torch.full(shape, 2.0, requires_grad=True)
        (x * x).backward()
        assert x.grad.shape == shape and x.grad.item() == 4.0


def test_a_leaf_is_its_own_root():
    x = torch.tensor(5.0, requires_grad=True)
    x.backward()
    assert x.grad.item() == 1.0
    y = torch.ones(2, requires_grad=True)
    y.backward(torch.tensor([3.0, 4.0]))
    assert y.grad.tolist() == [3.0, 4.0]


def test_a_graph_that_saves_nothing_can_be_walked_twice():
    x = torch.ones(3, requires_grad=True)
    y = (x + 1).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [2.0] * 3


def test_retain_graph_allows_another_pass():
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 18.0
    with raises(RuntimeError, "Trying to backward through the graph a second time"):
        y.backward()


def test_branches_that_do_not_need_gradients_get_none():
    x = torch.ones(2, requires_grad=True)
    constant = torch.tensor([3.0, 4.0])
    y = x * constant
    y.sum().backward()
    assert constant.grad is None and x.grad.tolist() == [3.0, 4.0]


def test_requires_grad_spreads_from_any_operand():
    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    assert (x + y).requires_grad and (y + x).requires_grad
    assert not (y + y).requires_grad


def test_results_that_cannot_vary_need_no_gradient():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for result in (x > 1, x == x, x.argmax(), x.long(), torch.isnan(x)):
        assert not result.requires_grad and result.grad_fn is None


def test_broadcast_operands_get_gradients_of_their_own_shape():
    a = torch.ones(3, 1, requires_grad=True)
    b = torch.ones(4, requires_grad=True)
    c = torch.tensor(2.0, requires_grad=True)
    (a * b * c).sum().backward()
    assert a.grad.tolist() == [[8.0]] * 3
    assert b.grad.tolist() == [6.0] * 4
    assert c.grad.item() == 12.0


def test_several_roots_walk_together():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    shared = x * x
    torch.autograd.backward([shared.sum(), (shared * 10)], [None, torch.ones(2)])
    assert x.grad.tolist() == [22.0, 44.0]


def test_the_same_root_twice_counts_twice():
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x
    torch.autograd.backward([y, y])
    assert x.grad.item() == 12.0


def test_a_root_behind_another_root_gets_both_gradients():
    x = torch.tensor(3.0, requires_grad=True)
    a = x * 2
    b = a * 5
    torch.autograd.backward([a, b])
    assert x.grad.item() == 12.0


def test_no_roots_is_no_work():
    torch.autograd.backward([])


def test_inputs_name_the_only_leaves_that_accumulate():
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.tensor(3.0, requires_grad=True)
    (x * y).backward(inputs=[x])
    assert x.grad.item() == 3.0 and y.grad is None


def test_inputs_may_be_in_the_middle_and_the_walk_stops_there():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    z = (y * y).sum()
    z.backward(inputs=y)
    assert y.grad.tolist() == [4.0] * 3 and x.grad is None


def test_inputs_in_the_middle_and_below_both_get_theirs():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    (y * y).sum().backward(inputs=[x, y])
    assert (x.grad.tolist(), y.grad.tolist()) == ([8.0] * 3, [4.0] * 3)


def test_a_tensor_can_retain_its_gradient():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    assert not y.retains_grad and not x.retains_grad
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad
    (y * 3).sum().backward()
    (x * 0).sum().backward()
    assert y.grad.tolist() == [3.0, 3.0]


def test_a_leaf_needs_no_asking_to_retain():
    x = torch.ones(2, requires_grad=True)
    x.retain_grad()
    assert not x.retains_grad
    x.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_retained_gradients_accumulate_too():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert y.grad.tolist() == [2.0, 2.0]


def test_the_gradient_of_a_tensor_in_the_middle_is_none_with_a_warning():
    y = torch.ones(2, requires_grad=True) * 2
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert y.grad is None
    assert "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed." in str(caught[0].message)


def test_detached_tensors_stop_the_walk():
    x = torch.tensor(3.0, requires_grad=True)
    (x * x.detach()).backward()
    assert x.grad.item() == 3.0


def test_gradients_have_the_dtype_of_their_tensor():
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        x = torch.ones(2, dtype=dtype, requires_grad=True)
        (x.to(torch.float64) * 3).sum().backward()
        assert x.grad.dtype == dtype and x.grad.tolist() == [3.0, 3.0]


def test_mixed_precisions_give_each_its_own():
    x = torch.ones(2, requires_grad=True)
    y = torch.ones(2, dtype=torch.float64, requires_grad=True)
    (x * y).sum().backward()
    assert (x.grad.dtype, y.grad.dtype) == (torch.float32, torch.float64)


def test_empty_tensors_have_empty_gradients():
    x = torch.ones(0, 3, requires_grad=True)
    (x * 2).sum().backward()
    assert x.grad.shape == (0, 3)


def test_the_gradient_of_a_transposed_leaf_keeps_its_shape_and_numbers():
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    weights = torch.arange(6.0).reshape(3, 2)
    (x.T * weights).sum().backward()
    assert close(x.grad, weights.T.tolist())


def test_requires_grad_in_place_makes_a_leaf():
    x = torch.ones(2)
    assert x.requires_grad_() is x and x.requires_grad
    assert x.requires_grad_(False) is x and not x.requires_grad
    x.requires_grad = True
    assert x.requires_grad
