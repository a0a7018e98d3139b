"""Views that own their memory (`transpose_copy`), and tensors with one part replaced (`select_scatter`)."""

import functools

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops import parts, shape
from tensorgrad.ops.arranging import slice_
from tensorgrad.ops.both import number, xp
from tensorgrad.ops.both import tensors as tensor_functions
from tensorgrad.ops.fitting import check_tensor
from tensorgrad.ops.forms import takes_out
from tensorgrad.ops.primitive import Primitive

PUBLIC = {
    "": "alias_copy as_strided_copy detach_copy diagonal_copy expand_copy narrow_copy permute_copy select_copy slice_copy "
    "split_copy split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy unfold_copy unsqueeze_copy view_copy "
    "view_as_real_copy view_as_complex_copy "
    "select_scatter slice_scatter diagonal_scatter as_strided_scatter"
}

# Copies


def _copied(view):
    return view.clone(memory_format=dtypes.contiguous_format)


def copy_of(name, view, example, result):
    """The form of a view function whose result owns its memory; `example` is a call of it that gives `result`."""

    def function(input, *args, **kwargs):
        views = view(check_tensor(name, input), *args, **kwargs)
        return tuple(_copied(v) for v in views) if isinstance(views, tuple) else _copied(views)

    def several(*args, out=None, **kwargs):  # as PyTorch's, they return nothing with out=
        return with_out(*args, out=out, **kwargs) if out is None else with_out(*args, out=out, **kwargs) and None

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""`{name.removesuffix("_copy")}` with memory of its own.

    >>> torch.{name}({example})
    {result}
    """
    with_out = takes_out(function)
    return functools.wraps(function)(several) if result.startswith("(") else with_out


alias_copy = copy_of("alias_copy", lambda x: x, "torch.ones(2)", "tensor([1., 1.])")
as_strided_copy = copy_of("as_strided_copy", shape.as_strided, "torch.arange(4), (2,), (3,)", "tensor([0, 3])")
detach_copy = copy_of("detach_copy", lambda x: x.detach(), "torch.ones(2)", "tensor([1., 1.])")
diagonal_copy = copy_of("diagonal_copy", shape.diagonal, "torch.eye(2)", "tensor([1., 1.])")
expand_copy = copy_of(
    "expand_copy", lambda x, size, *, implicit=False: shape.expand(x, size), "torch.ones(1), (2,)", "tensor([1., 1.])"
)


def _narrow(x, dim, start, length):
    if dim >= len(x._spec.shape) > 0:
        raise RuntimeError(
            "Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.\n"
            f"Dimension out of range: {dim} of {len(x._spec.shape)} dimensions"
        )
    return shape.narrow(x, dim, start, length)


narrow_copy = copy_of("narrow_copy", _narrow, "torch.arange(4), 0, 1, 2", "tensor([1, 2])")
permute_copy = copy_of(
    "permute_copy", shape.permute, "torch.tensor([[1, 2]]), (1, 0)", "tensor([[1],\n            [2]])"
)
select_copy = copy_of("select_copy", shape.select, "torch.arange(4), 0, 1", "tensor(1)")
slice_copy = copy_of("slice_copy", slice_, "torch.arange(4), 0, 1, 3", "tensor([1, 2])")
split_copy = copy_of("split_copy", shape.split, "torch.arange(3), 2", "(tensor([0, 1]), tensor([2]))")
split_with_sizes_copy = copy_of(
    "split_with_sizes_copy", shape.split, "torch.arange(3), (1, 2)", "(tensor([0]), tensor([1, 2]))"
)
squeeze_copy = copy_of("squeeze_copy", shape.squeeze, "torch.ones(1, 2)", "tensor([1., 1.])")
t_copy = copy_of("t_copy", shape.t, "torch.tensor([[1, 2]])", "tensor([[1],\n            [2]])")
transpose_copy = copy_of(
    "transpose_copy", shape.transpose, "torch.tensor([[1, 2]]), 0, 1", "tensor([[1],\n            [2]])"
)
unbind_copy = copy_of("unbind_copy", shape.unbind, "torch.arange(2)", "(tensor(0), tensor(1))")
unfold_copy = copy_of("unfold_copy", shape.unfold, "torch.arange(3), 0, 2, 1", "tensor([[0, 1],\n            [1, 2]])")
unsqueeze_copy = copy_of("unsqueeze_copy", shape.unsqueeze, "torch.ones(2), 0", "tensor([[1., 1.]])")
view_copy = copy_of("view_copy", shape.view, "torch.ones(1, 2), (2,)", "tensor([1., 1.])")
view_as_real_copy = copy_of("view_as_real_copy", shape.view_as_real, "torch.tensor([1 + 2j])", "tensor([[1., 2.]])")
view_as_complex_copy = copy_of(
    "view_as_complex_copy", shape.view_as_complex, "torch.tensor([[1., 2.]])", "tensor([1.+2.j])"
)

# One part replaced


@number
def replaced(x, part, view, params):
    """A copy of an array with another part where a view of it looks."""
    whole = x.copy()
    view.kernel(whole, *params)[...] = part
    return whole


def _replaced_back(g, view, params):
    return xp.without(g, view, params), view.on(g, params)


@number
def without(g, view, params):
    return replaced(g, 0, view, params)


def _in_rows(apply, values, batched, params, size):
    from tensorgrad.func.batching import all_batched
    from tensorgrad.func.batching_shape import part_params

    view, (inner,) = params
    return apply(all_batched(values, batched, size), (view, (part_params(view.name, inner),)))


_slice_scatter = Primitive("slice_scatter", replaced, arity=2, pullback=_replaced_back, linear=True, batch=_in_rows)
_select_scatter = _slice_scatter.variant("select_scatter", "SelectScatterBackward0")
_diagonal_scatter = _slice_scatter.variant("diagonal_scatter", "DiagonalScatterBackward0")
tensor_functions["without"] = lambda g, view, params: _slice_scatter(
    g, g.new_zeros(view.on(g.detach(), params).shape), view, params
)


def _fitting(name, input, src, size):
    """`src` in the dtype of `input`, if it has the size of the part that it replaces."""
    check_tensor(name, src, "src", 2)
    if tuple(src.shape) != tuple(size):
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = "
            f"{list(size)}"
        )
    return src if src._spec.dtype is input._spec.dtype else src.to(input._spec.dtype)


def _replace(primitive, input, src, view, inner):
    size = view.kernel(np.broadcast_to(np.False_, tuple(input.shape)), inner).shape
    return primitive(input, _fitting(primitive.name, input, src, size), view, (inner,))


@takes_out
def slice_scatter(input, src, dim=0, start=None, end=None, step=1):
    """A copy of a tensor with other numbers in a range of one dimension.

    >>> torch.slice_scatter(torch.zeros(4), torch.ones(2), 0, 1, 3)
    tensor([0., 1., 1., 0.])
    """
    return _replace(_slice_scatter, input, src, parts._index, parts.slice_params(input, dim, start, end, step))


@takes_out
def select_scatter(input, src, dim, index):
    """A copy of a tensor with other numbers at one index of one dimension.

    >>> torch.select_scatter(torch.zeros(2, 2), torch.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """
    return _replace(_select_scatter, input, src, parts._select, parts.select_params(input, dim, index))


@takes_out
def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1):
    """A copy of a tensor with other numbers on its diagonals.

    >>> torch.diagonal_scatter(torch.zeros(2, 2), torch.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return _replace(_diagonal_scatter, input, src, parts._diagonal, parts.diagonal_params(input, offset, dim1, dim2))


@takes_out
def as_strided_scatter(input, src, size, stride, storage_offset=None):
    """A copy of a tensor with other numbers where a strided view of its storage looks.

    >>> torch.as_strided_scatter(torch.zeros(4), torch.ones(2), (2,), (3,))
    tensor([1., 0., 0., 1.])
    """
    params = parts.strided_params(check_tensor("as_strided_scatter", input), size, stride, storage_offset)
    return parts._strided_scatter(input, _fitting("as_strided_scatter", input, src, params[0]), *params)


class Methods:
    """The same as methods."""

    narrow_copy, slice_scatter, select_scatter = narrow_copy, slice_scatter, select_scatter
    diagonal_scatter, as_strided_scatter = diagonal_scatter, as_strided_scatter
