"""Versions: every tensor counts the writes to its memory, and backward refuses what was written after it was saved."""

import pytest
from subject import raises, spoken, torch

HINT = (
    "expected version 0 instead. Hint: enable anomaly detection to find the operation that failed to compute its "
    "gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False)."
)
MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace operation: "


def leaf(*shape, **options):
    return torch.ones(*(shape or (4,)), requires_grad=True, **options)


def test_every_write_counts_one():
    x = torch.ones(3)
    assert x._version == 0
    writes = [
        lambda: x.add_(1),
        lambda: x.__setitem__(0, 5.0),
        lambda: x.__iadd__(1),
        lambda: x.zero_(),
        lambda: x.fill_(2),
        lambda: x.copy_(torch.zeros(3)),
        lambda: torch.add(x, x, out=x),
        lambda: x[1:].mul_(2),
        lambda: x.clamp_(0, 1),
    ]
    for count, write in enumerate(writes, 1):
        write()
        assert x._version == count


def test_reading_counts_nothing():
    x = torch.ones(3)
    x + 1, x[0], x.view(3), x.sum(), repr(x), x.clone(), x.numpy()
    assert x._version == 0


def test_asking_for_gradients_counts_nothing():
    x = torch.ones(3)
    x.requires_grad_()
    x.detach_()
    assert x._version == 0


def test_writes_in_no_grad_count_too():
    x = leaf()
    with torch.no_grad():
        x.add_(1)
    assert x._version == 1


def test_views_and_detached_tensors_share_the_count():
    x = torch.ones(4)
    part, reshaped, detached = x[1:], x.view(2, 2), x.detach()
    part.add_(1)
    detached.add_(1)
    assert [t._version for t in (x, part, reshaped, detached, x[0])] == [2] * 5


def test_data_shares_the_memory_but_not_the_count():
    x = torch.ones(4)
    x.data.add_(1)
    assert x.tolist() == [2.0] * 4 and x._version == 0


def test_a_clone_counts_for_itself():
    x = torch.ones(4)
    copy = x.clone()
    copy.add_(1)
    assert (x._version, copy._version) == (0, 1)


TENSORS = {
    torch.float16: "torch.HalfTensor",
    torch.bfloat16: "CPUBFloat16Type",
    torch.float32: "torch.FloatTensor",
    torch.float64: "torch.DoubleTensor",
    torch.complex64: "CPUComplexFloatType",
    torch.complex128: "CPUComplexDoubleType",
}


@pytest.mark.parametrize("dtype", TENSORS, ids=spoken)
def test_the_error_names_dtype_shape_origin_and_versions(dtype):
    y = leaf(2, 3, dtype=dtype) * 1
    z = y * y
    y.add_(1)
    with raises(
        RuntimeError,
        f"{MODIFIED}[{TENSORS[dtype]} [2, 3]], which is output 0 of Add, is at version 1; {HINT}",
    ):
        z.backward(torch.ones(2, 3, dtype=dtype))


def test_a_leaf_or_a_constant_has_no_origin_to_name():
    constant = torch.ones(4)
    z = leaf() * constant
    constant.add_(1)
    with raises(RuntimeError, f"{MODIFIED}[torch.FloatTensor [4]] is at version 1; {HINT}"):
        z.sum().backward()


def test_the_versions_that_differ_are_named():
    y = leaf() * 1
    y.add_(1)
    z = y * y
    y.add_(1).mul_(2)
    with raises(RuntimeError, "is at version 3; expected version 1 instead."):
        z.sum().backward()


def test_a_written_view_is_named_by_the_write():
    y = leaf() * 1
    z = y * y
    y[0] = 5
    with raises(RuntimeError, MODIFIED, "CopySlices, is at version 1;"):
        z.sum().backward()


def test_a_written_index_is_found():
    index = torch.tensor([0, 1])
    z = leaf()[index]
    index.add_(1)
    with raises(RuntimeError, f"{MODIFIED}[torch.LongTensor [2]] is at version 1;"):
        z.sum().backward()


NEEDS = {
    "exp needs its result": (lambda x: x.exp(), "result"),
    "sqrt needs its result": (lambda x: x.sqrt(), "result"),
    "tanh needs its result": (lambda x: x.tanh(), "result"),
    "sigmoid needs its result": (lambda x: x.sigmoid(), "result"),
    "reciprocal needs its result": (lambda x: x.reciprocal(), "result"),
    "softmax needs its result": (lambda x: x.softmax(0), "result"),
    "relu needs its result": (lambda x: x.relu(), "result"),
    "log needs its operand": (lambda x: x.log(), "operand"),
    "sin needs its operand": (lambda x: x.sin(), "operand"),
    "a square needs its operand": (lambda x: x**2, "operand"),
    "abs needs its operand": (lambda x: x.abs(), "operand"),
    "clamp needs its operand": (lambda x: x.clamp(0, 5), "operand"),
}


@pytest.mark.parametrize("name", NEEDS)
def test_what_is_needed_may_not_be_written(name):
    function, needed = NEEDS[name]
    x = leaf() * 1
    y = function(x)
    (y if needed == "result" else x).mul_(2)
    with raises(RuntimeError, MODIFIED):
        y.sum().backward()


@pytest.mark.parametrize("name", NEEDS)
def test_what_is_not_needed_may_be_written(name):
    function, needed = NEEDS[name]
    start = leaf()
    x = start * 1
    y = function(x)
    (x if needed == "result" else y).mul_(2)
    expected = leaf()
    function(expected).sum().backward()
    y.sum().backward()
    assert torch.allclose(start.grad, expected.grad * (1 if needed == "result" else 2))


def test_addition_needs_nothing():
    start = leaf()
    x = start * 1
    y = x + x
    x.mul_(100)
    y.mul_(3)
    y.sum().backward()
    assert start.grad.tolist() == [6.0] * 4


def test_a_factor_that_needs_no_gradient_leaves_the_other_free():
    start = leaf()
    x = start * 1
    y = x * torch.full((4,), 3.0)  # only the constant is saved
    x.mul_(100)
    y.sum().backward()
    assert start.grad.tolist() == [3.0] * 4


def test_the_check_is_at_the_node_that_needs_the_value():
    start = leaf()
    x = start * 1
    unneeded = x * x
    z = x * 3
    x.add_(1)
    z.sum().backward()
    assert start.grad.tolist() == [3.0] * 4
    with raises(RuntimeError, MODIFIED):
        unneeded.sum().backward()


def test_reading_a_saved_value_checks_it_too():
    x = leaf() * 1
    y = x * x
    x.add_(1)
    with raises(RuntimeError, MODIFIED):
        y.grad_fn._saved_self


def test_writing_through_numpy_is_not_seen():
    constant = torch.ones(4)
    x = leaf()
    y = x * constant
    constant.numpy()[:] = 7.0
    y.sum().backward()
    assert x.grad.tolist() == [7.0] * 4


def test_data_hides_a_write_from_the_check():
    x = leaf()
    y = x * x
    x.data.fill_(5)
    y.sum().backward()
    assert x.grad.tolist() == [10.0] * 4


def test_assigning_data_changes_what_the_tensor_holds():
    x = leaf(2)
    x.data = torch.tensor([5.0, 6.0, 7.0])
    assert x.tolist() == [5.0, 6.0, 7.0] and x.requires_grad and x.is_leaf
    with raises(TypeError, "Variable data has to be a tensor, but got str"):
        x.data = "a"
