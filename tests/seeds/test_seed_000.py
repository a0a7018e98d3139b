"""The programs of the first seed: notes on autograd, on strides and on writing into a tensor."""

import math

from subject import close, spoken, torch


def test_gradient_of_log_times_sine_is_the_hand_computed_one():
    x = torch.tensor([0.5, 0.75], requires_grad=True)
    y = torch.log(x[0] * x[1]) * torch.sin(x[1])
    y.backward(torch.tensor(1))
    assert repr(x.grad) == "tensor([1.3633, 0.1912])"


def test_a_gradient_prints_its_origin_while_it_can_be_differentiated_again():
    x = torch.tensor([0.5, 0.75], requires_grad=True)
    y = torch.log(x[0] * x[1]) * torch.sin(x[1])
    (gradient,) = torch.autograd.grad(y, x, create_graph=True)
    assert repr(gradient).startswith("tensor([1.3633, 0.1912], grad_fn=<")


def test_two_functions_composed_match_their_transposed_jacobian():
    def f(x1, x2):
        return torch.log(x1 * x2), torch.sin(x2)

    def g(y1, y2):
        return y1 * y2

    x1 = torch.tensor(0.5, requires_grad=True)
    x2 = torch.tensor(0.75, requires_grad=True)
    y1, y2 = f(x1, x2)
    g(y1, y2).backward()
    jacobian = [[1 / 0.5, 1 / 0.75], [0.0, math.cos(0.75)]]
    outer = [math.sin(0.75), math.log(0.375)]
    for column, x in enumerate((x1, x2)):
        assert math.isclose(x.grad.item(), sum(jacobian[row][column] * outer[row] for row in range(2)), rel_tol=1e-6)
    assert f"{x1.grad.item():.4f}, {x2.grad.item():.4f}" == "1.3633, 0.1912"


def test_the_graph_of_log_of_a_product_mirrors_the_forward_pass():
    x = torch.tensor(0.5, requires_grad=True)
    y = torch.tensor(0.75, requires_grad=True)
    v = x * y
    w = torch.log(v)
    assert w.grad_fn.name() == "LogBackward0"
    assert w.grad_fn.next_functions[0][0] is v.grad_fn
    assert v.grad_fn.name() == "MulBackward0"
    leaves = [edge.variable for edge, _ in v.grad_fn.next_functions]
    assert leaves[0] is x and leaves[1] is y


def test_log_of_a_product_passes_one_over_the_product_and_then_the_other_factor():
    x = torch.tensor(0.5, requires_grad=True)
    y = torch.tensor(0.75, requires_grad=True)
    v = x * y
    v.retain_grad()
    w = torch.log(v)
    w.retain_grad()
    w.backward()
    assert w.grad.item() == 1.0
    assert close(v.grad, 1 / 0.375)
    assert close(x.grad, 1 / 0.5) and close(y.grad, 1 / 0.75)


def test_the_derivative_of_log_divides_by_the_conjugate():
    z = torch.tensor(1 + 2j, requires_grad=True)
    torch.log(z).backward(torch.tensor(1 + 0j))
    assert close(torch.view_as_real(z.grad), [0.2, 0.4])  # 1 / (1 - 2j)


def test_rates_multiply_along_a_chain_car_bicycle_and_man():
    man = torch.tensor(1.0, requires_grad=True)
    bicycle = 4 * man
    bicycle.retain_grad()
    car = 2 * bicycle
    car.backward()
    assert bicycle.grad.item() == 2.0
    assert man.grad.item() == 8.0


def test_strides_of_height_width_channels_are_the_products_of_the_sizes_after():
    height, width, channels = 4, 5, 3
    image = torch.zeros(height, width, channels)
    assert image.stride() == (width * channels, channels, 1)
    assert image.is_contiguous()


def test_a_stride_is_what_one_step_of_an_index_costs_in_memory():
    x = torch.arange(24).reshape(2, 3, 4)
    memory = torch.arange(24)
    for i, j, k in [(0, 0, 0), (0, 2, 1), (1, 0, 3), (1, 2, 3)]:
        place = sum(index * step for index, step in zip((i, j, k), x.stride(), strict=True))
        assert x[i, j, k].item() == memory[place].item()


def test_a_row_and_a_column_are_views_of_the_same_storage():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    row, column = x[1, :], x[:, 0]
    assert (row.storage_offset(), row.stride()) == (2, (1,))
    assert (column.storage_offset(), column.stride()) == (0, (2,))
    start = x.untyped_storage().data_ptr()
    assert row.untyped_storage().data_ptr() == start == column.untyped_storage().data_ptr()
    assert row.data_ptr() == start + 2 * x.element_size()
    column[1] = 30.0
    assert row.tolist() == [30.0, 4.0]


def test_another_name_for_a_tensor_is_the_same_tensor():
    a = torch.zeros(3)
    b = a
    b[0] = 1.0
    assert b is a
    assert a.tolist() == [1.0, 0.0, 0.0]


def test_assignment_to_an_index_copies_into_the_tensor():
    x = torch.zeros(3)
    name = x
    x[1] = 3
    assert name.tolist() == [0.0, 3.0, 0.0]
    assert x._version == 1


def test_assignment_to_an_index_differentiates_as_zero_there():
    leaf = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = leaf * 2
    x[1] = 3
    (x * x).sum().backward()
    assert x.tolist() == [2.0, 3.0, 6.0]
    assert leaf.grad.tolist() == [8.0, 0.0, 24.0]


def test_backward_starts_at_the_root_and_accumulates_in_the_leaves():
    a = torch.tensor([2.0, 3.0], requires_grad=True)
    b = torch.tensor([6.0, 4.0], requires_grad=True)
    q = 3 * a**3 - b**2
    q.backward(gradient=torch.tensor([1.0, 1.0]))
    assert torch.equal(a.grad, 9 * a.detach() ** 2)
    assert torch.equal(b.grad, -2 * b.detach())


def test_the_engine_never_needs_the_matrix_to_multiply_by_it():
    x = torch.randn(3, 4, requires_grad=True)
    v = torch.randn(3, 4)
    (x.exp()).backward(v)
    assert torch.allclose(x.grad, v * x.detach().exp())


def test_there_is_one_tensor_type():
    leaf = torch.ones(2, requires_grad=True)
    for tensor in (leaf, leaf * 2, leaf.detach(), leaf.data, torch.zeros(2), leaf[0]):
        assert type(tensor) is torch.Tensor
    assert spoken(torch.Tensor) == "<class 'torch.Tensor'>"
