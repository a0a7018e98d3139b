"""Views: another shape, stride and offset over the same memory."""

import pytest
from subject import needs, raises, torch


def m():
    return torch.arange(6).reshape(2, 3)


def start(x):
    return x.untyped_storage().data_ptr()


VIEWS = {
    # name: (view, shape, stride, offset) of a contiguous (2, 3)
    "view": (lambda x: x.view(3, 2), (3, 2), (2, 1), 0),
    "view -1": (lambda x: x.view(-1), (6,), (1,), 0),
    "reshape": (lambda x: x.reshape(3, 2), (3, 2), (2, 1), 0),
    "flatten": (lambda x: x.flatten(), (6,), (1,), 0),
    "unflatten": (lambda x: x.unflatten(1, (3, 1)), (2, 3, 1), (3, 1, 1), 0),
    "T": (lambda x: x.T, (3, 2), (1, 3), 0),
    "t": (lambda x: x.t(), (3, 2), (1, 3), 0),
    "mT": (lambda x: x.mT, (3, 2), (1, 3), 0),
    "transpose": (lambda x: x.transpose(0, -1), (3, 2), (1, 3), 0),
    "permute": (lambda x: x.permute(1, 0), (3, 2), (1, 3), 0),
    "movedim": (lambda x: x.movedim(0, 1), (3, 2), (1, 3), 0),
    "swapaxes": (lambda x: x.swapaxes(0, 1), (3, 2), (1, 3), 0),
    "expand": (lambda x: x.expand(4, 2, 3), (4, 2, 3), (0, 3, 1), 0),
    "expand -1": (lambda x: x.expand(4, -1, -1), (4, 2, 3), (0, 3, 1), 0),
    "expand a one": (lambda x: x[:, :1].expand(2, 5), (2, 5), (3, 0), 0),
    "unsqueeze": (lambda x: x.unsqueeze(1), (2, 1, 3), (3, 3, 1), 0),
    "unsqueeze last": (lambda x: x.unsqueeze(-1), (2, 3, 1), (3, 1, 1), 0),
    "squeeze": (lambda x: x[:1].squeeze(), (3,), (1,), 0),
    "select": (lambda x: x.select(1, 2), (2,), (3,), 2),
    "narrow": (lambda x: x.narrow(1, 1, 2), (2, 2), (3, 1), 1),
    "x[1]": (lambda x: x[1], (3,), (1,), 3),
    "x[:, ::2]": (lambda x: x[:, ::2], (2, 2), (3, 2), 0),
    "x[1, 2]": (lambda x: x[1, 2], (), (), 5),
    "split": (lambda x: x.split(2, 1)[1], (2, 1), (3, 1), 2),
    "chunk": (lambda x: x.chunk(2)[1], (1, 3), (3, 1), 3),
    "unbind": (lambda x: x.unbind(1)[1], (2,), (3,), 1),
    "diagonal": (lambda x: x.diagonal(), (2,), (4,), 0),
    "diagonal 1": (lambda x: x.diagonal(1), (2,), (4,), 1),
    "diagonal -1": (lambda x: x.diagonal(-1), (1,), (4,), 3),
    "unfold": (lambda x: x.unfold(1, 2, 1), (2, 2, 2), (3, 1, 1), 0),
    "as_strided": (lambda x: x.as_strided((2, 2), (1, 2), 1), (2, 2), (1, 2), 1),
    "detach": (lambda x: x.detach(), (2, 3), (3, 1), 0),
    "view_as": (lambda x: x.view_as(torch.zeros(6)), (6,), (1,), 0),
    "a smaller dtype": (lambda x: x.view(torch.int32), (2, 6), (6, 1), 0),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_has_shape_strides_and_offset_over_the_same_memory(name):
    view, shape, stride, offset = VIEWS[name]
    x = m()
    y = view(x)
    assert (y.shape, y.stride(), y.storage_offset()) == (shape, stride, offset)
    assert start(y) == start(x) and y.data_ptr() == x.data_ptr() + offset * y.element_size()
    assert y._version == x._version
    x.zero_()
    assert not y.bool().any() and y._version == 1


COPIES = {
    "clone": lambda x: x.clone(),
    "contiguous": lambda x: x.T.contiguous(),
    "reshape of a transpose": lambda x: x.T.reshape(6),
    "flatten of a transpose": lambda x: x.T.flatten(),
    "repeat": lambda x: x.repeat(1, 1),
    "tile": lambda x: x.tile(1),
    "flip": lambda x: x.flip(0),
    "roll": lambda x: x.roll(1, 1),
    "list": lambda x: x[[0, 1]],
    "mask": lambda x: x[torch.tensor([True, True])],
    "cast": lambda x: x.double(),
    "copy": lambda x: x.to(torch.int64, copy=True),
}


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_has_memory_of_its_own(name):
    x = m()
    y = COPIES[name](x)
    assert start(y) != start(x)
    before = y.tolist()
    x.zero_()
    assert y.tolist() == before and y._version == 0


def test_what_is_contiguous():
    x = m()
    for tensor, expected in [
        (x, True),
        (x.T, False),
        (x[:, :2], False),
        (x[:1], True),
        (x[1:], True),
        (x.expand(1, 2, 3), True),
        (x.expand(2, 2, 3), False),
        (torch.zeros(3, 0, 2), True),
        (torch.tensor(1.0), True),
        (torch.zeros(1, 3).T, True),
    ]:
        assert tensor.is_contiguous() is expected
    assert x.contiguous() is x and x.T.contiguous().stride() == (2, 1)


def test_strides():
    x = torch.zeros(2, 3)
    assert x.stride() == (3, 1) and x.stride(0) == 3 and x.stride(-1) == 1 and x.stride(dim=1) == 1
    assert torch.zeros(3, 0, 2).stride() == (2, 2, 1) and torch.tensor(1.0).stride() == ()
    with raises(IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 2)"):
        x.stride(2)


def test_views_of_strided_tensors_where_their_memory_allows():
    x = torch.arange(24).reshape(2, 3, 4)
    assert x.transpose(1, 2).view(2, 4, 3).stride() == (12, 1, 4)
    assert x[:, :, ::2].view(6, 2).stride() == (4, 2)
    assert x.permute(1, 0, 2).view(3, 2, 2, 2).stride() == (4, 12, 2, 1)
    assert torch.zeros(0, 3).view(-1).shape == (0,) and torch.zeros(0, 3).reshape(3, -1).shape == (3, 0)


INCOMPATIBLE = (
    "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
    "contiguous subspaces). Use .reshape(...) instead."
)


def test_views_that_memory_does_not_allow():
    with raises(RuntimeError, INCOMPATIBLE):
        m().T.view(6)
    with raises(RuntimeError, INCOMPATIBLE):
        torch.arange(24).reshape(2, 3, 4).permute(1, 0, 2).view(6, 4)
    with raises(RuntimeError, INCOMPATIBLE):
        m().expand(2, 2, 3).view(12)
    assert m().T.reshape(6).tolist() == [0, 3, 1, 4, 2, 5]


@pytest.mark.parametrize("method", ["view", "reshape"])
def test_shapes_of_another_size(method):
    x = m()
    for shape, text in [
        ((4,), "shape '[4]' is invalid for input of size 6"),
        ((-1, 4), "shape '[-1, 4]' is invalid for input of size 6"),
        ((), "shape '[]' is invalid for input of size 6"),
        ((-1, -1), "only one dimension can be inferred"),
        ((-2, 3), "invalid shape dimension -2 at index 0 of shape [-2, 3]"),
    ]:
        with raises(RuntimeError, text):
            getattr(x, method)(shape)
    with raises(
        RuntimeError,
        "cannot reshape tensor of 0 elements into shape [-1, 0] because the unspecified dimension size -1 can be any "
        "value and is ambiguous",
    ):
        getattr(torch.zeros(0, 3), method)(-1, 0)
    with raises(TypeError, method + "()"):
        getattr(x, method)(1.5)


def test_expanding():
    x = m()
    for sizes, text in [
        (
            (3, 3),
            "The expanded size of the tensor (3) must match the existing size (2) at non-singleton dimension 0.  "
            "Target sizes: [3, 3].  Tensor sizes: [2, 3]",
        ),
        (
            (3,),
            "the number of sizes provided (1) must be greater or equal to the number of dimensions in the tensor (2)",
        ),
        ((-1, 2, 3), "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension 0"),
    ]:
        with raises(RuntimeError, text):
            x.expand(sizes)
    assert torch.tensor(2.0).expand(3).tolist() == [2.0] * 3 and x.expand_as(torch.zeros(5, 2, 3)).shape == (5, 2, 3)


def test_permuting():
    x = m()
    with raises(RuntimeError, "permute(): duplicate dims are not allowed."):
        x.permute(0, 0)
    with raises(RuntimeError, "is not equal to len(dims) = 1"):
        x.permute(0)
    assert torch.zeros(2, 3, 4).permute(2, 0, 1).shape == (4, 2, 3)
    assert torch.zeros(2, 3, 4).permute((-1, 0, 1)).stride() == (1, 12, 4)
    assert torch.movedim(torch.zeros(2, 3, 4), (0, 1), (2, 0)).shape == (3, 4, 2)


def test_transposes_of_other_ranks():
    with raises(RuntimeError, "t() expects a tensor with <= 2 dimensions, but self is 3D"):
        torch.zeros(2, 3, 4).t()
    with raises(RuntimeError, "tensor.H is only supported on matrices (2-D tensors). Got 3-D tensor."):
        torch.zeros(2, 3, 4).H
    with raises(RuntimeError, "tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor."):
        torch.zeros(3).mT
    assert torch.zeros(2, 3, 4).mT.shape == (2, 4, 3) and torch.zeros(3).t().shape == (3,)
    z = torch.tensor([[1 + 2j, 3j]])
    assert z.H.tolist() == z.mH.tolist() == [[1 - 2j], [-3j]]


def test_as_strided():
    x = torch.arange(6.0)
    assert x.as_strided((3, 2), (0, 1)).tolist() == [[0.0, 1.0]] * 3
    part = x[2:]
    assert part.as_strided((2,), (1,)).tolist() == [2.0, 3.0]
    assert part.as_strided((2,), (1,), 0).tolist() == [0.0, 1.0]
    with raises(RuntimeError, "out of bounds for storage of size 24"):
        x.as_strided((4,), (2,))
    with raises(RuntimeError, "as_strided: Negative strides are not supported at the moment, got strides: [-1]"):
        x.as_strided((2,), (-1,))
    with raises(RuntimeError, "mismatch in length of strides and shape"):
        x.as_strided((2, 2), (1,))


def test_unfold():
    x = torch.arange(7.0)
    assert x.unfold(0, 3, 2).tolist() == [[0.0, 1.0, 2.0], [2.0, 3.0, 4.0], [4.0, 5.0, 6.0]]
    assert torch.arange(12.0).reshape(3, 4).unfold(1, 2, 1).shape == (3, 3, 2)
    with raises(RuntimeError, "maximum size for tensor at dimension 0 is 7 but size is 8"):
        x.unfold(0, 8, 1)
    with raises(RuntimeError, "step is 0 but must be > 0"):
        x.unfold(0, 3, 0)


def test_squeezing():
    x = torch.zeros(1, 2, 1, 3)
    assert x.squeeze().shape == (2, 3) and x.squeeze(0).shape == (2, 1, 3) and x.squeeze(1).shape == (1, 2, 1, 3)
    assert x.squeeze((0, 2)).shape == (2, 3) and x.squeeze(-2).shape == (1, 2, 3)


def test_flattening():
    x = torch.zeros(2, 3, 4)
    assert (
        x.flatten(1).shape == (2, 12) and x.flatten(0, 1).shape == (6, 4) and torch.tensor(1.0).flatten().shape == (1,)
    )
    assert x.unflatten(2, (2, -1)).shape == (2, 3, 2, 2) and x.unflatten(-1, (-1, 2)).shape == (2, 3, 2, 2)
    with raises(RuntimeError, "flatten() has invalid args: start_dim cannot come after end_dim"):
        x.flatten(2, 1)
    with raises(RuntimeError, "unflatten: Provided sizes [3, 2] don't multiply up to the size of dim 2 (4)"):
        x.unflatten(2, (3, 2))


def test_diagonals():
    x = torch.arange(9.0).reshape(3, 3)
    assert torch.zeros(2, 3, 4).diagonal(dim1=1, dim2=2).shape == (2, 3)
    with raises(RuntimeError, "diagonal dimensions cannot be identical 0, 0"):
        x.diagonal(dim1=0, dim2=0)


@needs("diag", "diag_embed")
def test_diagonals_made():
    assert torch.diag(torch.arange(9.0).reshape(3, 3)).tolist() == [0.0, 4.0, 8.0]
    assert torch.diag(torch.tensor([1.0, 2.0])).tolist() == [[1.0, 0.0], [0.0, 2.0]]
    assert torch.diag_embed(torch.ones(2, 3)).shape == (2, 3, 3)


@needs("tensor_split")
def test_tensor_split():
    x = m()
    parts = x.tensor_split(2, 1)
    assert [part.shape for part in parts] == [(2, 2), (2, 1)] and parts[1].storage_offset() == 2
    assert [part.shape for part in x.tensor_split((1, 2), 1)] == [(2, 1)] * 3 and start(parts[0]) == start(x)


def test_complex_numbers_as_pairs():
    z = torch.tensor([1 + 2j, 3 + 4j])
    pairs = torch.view_as_real(z)
    assert pairs.shape == (2, 2) and pairs.stride() == (2, 1) and start(pairs) == start(z)
    assert z.real.stride() == (2,) and z.imag.storage_offset() == 1 and start(z.imag) == start(z)
    z.imag.zero_()
    assert pairs.tolist() == [[1.0, 0.0], [3.0, 0.0]]
    back = torch.view_as_complex(pairs)
    assert back.tolist() == [1 + 0j, 3 + 0j] and start(back) == start(z)
    x = torch.ones(2)
    assert x.real.tolist() == [1.0, 1.0]
    for refused, text in [
        (lambda: torch.view_as_real(x), "view_as_real is only supported for complex tensors"),
        (lambda: torch.view_as_complex(torch.ones(2, 3)), "Tensor must have a last dimension of size 2"),
        (lambda: x.imag, "imag is not implemented for tensors with non-complex dtypes."),
        (
            lambda: torch.view_as_complex(torch.ones(2, 2, dtype=torch.int32)),
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type",
        ),
    ]:
        with raises(RuntimeError, text):
            refused()


def test_a_view_of_another_dtype():
    x = torch.arange(4, dtype=torch.int32)
    assert x.view(torch.int64).tolist() == [4294967296, 12884901890] and x.view(torch.int8).shape == (16,)
    assert torch.tensor([1.0]).view(torch.int32).tolist() == [0x3F800000]
    with raises(RuntimeError, "self.size(-1) must be divisible by 2 to view Int as Long (different element sizes)"):
        x[:3].view(torch.int64)


def test_a_view_knows_its_base():
    x = torch.arange(3.0).requires_grad_()
    for view in (x.view(3), x[0], x.view(3)[1:], x.expand(2, 3)):
        assert view._is_view() and view._base is x
    assert not x._is_view() and x._base is None and (x * 2)._base is None and x.clone()._base is None


def test_broadcasting_by_name():
    x = m()
    assert torch.broadcast_to(x, (2, 2, 3)).stride() == (0, 3, 1)
    a, b = torch.broadcast_tensors(torch.zeros(2, 1), torch.zeros(3))
    assert a.shape == b.shape == (2, 3) and a.stride() == (1, 0)
    assert torch.broadcast_shapes((2, 1), (3,)) == (2, 3)
    with raises(
        RuntimeError, "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"
    ):
        torch.broadcast_tensors(torch.zeros(2, 1), torch.zeros(3, 3))
    with raises(RuntimeError, "broadcast"):
        torch.broadcast_shapes((2, 1), (3, 3))


def test_sizes_by_many_names():
    x = torch.zeros(2, 3, dtype=torch.float64)
    assert x.numel() == x.nelement() == 6 and x.dim() == x.ndim == x.ndimension() == 2
    assert x.element_size() == 8 and x.nbytes == 48 and x.untyped_storage().nbytes() == 48
    assert x[0].untyped_storage().nbytes() == 48


GRADIENTS = {name: entry[0] for name, entry in VIEWS.items() if name not in ("detach", "a smaller dtype")}


@pytest.mark.parametrize("name", GRADIENTS)
def test_the_gradient_of_a_view_goes_to_its_places(name):
    leaf = m().double().requires_grad_()
    y = GRADIENTS[name](leaf)
    weights = torch.arange(1.0, y.numel() + 1, dtype=torch.float64).reshape(y.shape)
    (y * weights).sum().backward()
    places = GRADIENTS[name](m()).flatten().tolist()
    expected = [0.0] * 6
    for place, weight in zip(places, weights.flatten().tolist(), strict=True):
        expected[place] += weight
    assert leaf.grad.flatten().tolist() == expected
