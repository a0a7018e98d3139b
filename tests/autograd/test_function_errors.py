"""What `autograd.Function` refuses, and what happens to inputs that are returned or written."""

import pytest
from subject import raises, torch

Function = torch.autograd.Function


def leaf():
    return torch.ones(3, requires_grad=True)


def returning(answer):
    """A function of one input whose backward returns this."""

    class Mine(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return answer(g)

    return Mine


def test_too_many_gradients():
    y = returning(lambda g: (g, g)).apply(leaf())
    with raises(RuntimeError, "function MineBackward returned an incorrect number of gradients (expected 1, got 2)"):
        y.sum().backward()


def test_too_few_gradients():
    class Mine(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            return g

    with raises(RuntimeError, "function MineBackward returned an incorrect number of gradients (expected 2, got 1)"):
        Mine.apply(leaf(), leaf()).sum().backward()


def test_nones_beyond_the_inputs_are_let_pass():
    x = leaf()
    returning(lambda g: (g, None, None)).apply(x).sum().backward()
    assert x.grad.tolist() == [1.0] * 3


def test_a_gradient_that_is_not_a_tensor():
    y = returning(lambda g: 3).apply(leaf())
    with raises(RuntimeError, "expected Variable or None (got int)"):
        y.sum().backward()


def test_a_gradient_of_the_wrong_shape():
    y = returning(lambda g: torch.ones(2)).apply(leaf())
    with raises(
        RuntimeError,
        "Function MineBackward returned an invalid gradient at index 0 - got [2] but expected shape compatible with "
        "[3]",
    ):
        y.sum().backward()


def test_a_complex_gradient_for_a_real_input():
    y = returning(lambda g: g.to(torch.complex64)).apply(leaf())
    with raises(RuntimeError, ""):
        y.sum().backward()


def test_an_error_in_backward_is_the_error():
    def fail(g):
        raise KeyError("mine")

    x = leaf()
    with raises(KeyError, "mine"):
        returning(fail).apply(x).sum().backward()
    assert x.grad is None


def test_no_backward():
    class Mine(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    y = Mine.apply(leaf())
    with raises(
        NotImplementedError,
        "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
        "backward mode AD.",
    ):
        y.sum().backward()


def test_no_forward():
    class Mine(Function):
        pass

    with raises(NotImplementedError, "You must implement the forward function for custom autograd.Function."):
        Mine.apply(leaf())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_instance_is_not_called():
    class Mine(Function):
        @staticmethod
        def forward(ctx, x):
            return x

    with raises(RuntimeError, "Legacy autograd function with non-static forward method is deprecated."):
        Mine()(torch.ones(3))


def test_keywords_are_not_taken():
    with raises(TypeError, "keyword argument"):
        returning(lambda g: g).apply(leaf(), factor=2)


def saving(*values):
    class Mine(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(*values)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    return Mine


def test_only_tensors_are_saved():
    with raises(TypeError, "save_for_backward can only save variables, but argument 0 is of type int"):
        saving(3).apply(leaf())
    with raises(TypeError, "save_for_backward can only save variables, but argument 1 is of type list"):
        saving(torch.ones(1), [torch.ones(1)]).apply(leaf())


class DoubleInPlace(Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


def test_a_written_input_that_was_marked_is_the_output():
    x = leaf()
    y = x * 1
    z = DoubleInPlace.apply(y)
    assert z is y and y.grad_fn.name() == "DoubleInPlaceBackward" and y.tolist() == [2.0] * 3
    y.sum().backward()
    assert x.grad.tolist() == [2.0] * 3


def test_a_written_view_rewrites_its_base():
    x = leaf()
    y = x * 1
    view = y[:2]
    assert DoubleInPlace.apply(view) is view
    y.sum().backward()
    assert y.tolist() == [2.0, 2.0, 1.0] and x.grad.tolist() == [2.0, 2.0, 1.0]


def test_a_leaf_is_not_written():
    with raises(RuntimeError, "a leaf Variable that requires grad has been used in an in-place operation."):
        DoubleInPlace.apply(leaf())


def test_a_marked_input_must_be_returned():
    class Mine(Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    with raises(
        RuntimeError,
        "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
        "modified inplace must all be outputs of the Function.",
    ):
        Mine.apply(leaf() * 1)


def test_only_tensors_are_marked():
    class Mine(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(3)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    with raises(RuntimeError, "mark_dirty can only accept variables, but argument"):
        Mine.apply(leaf())


def test_an_input_returned_as_it_is_becomes_another_tensor_with_the_functions_node():
    class Identity(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 7

    x = leaf()
    y = Identity.apply(x)
    assert y is not x and y.data_ptr() == x.data_ptr() and y.grad_fn.name() == "IdentityBackward"
    y.sum().backward()
    assert x.grad.tolist() == [7.0] * 3


def test_a_view_returned_differentiates_by_the_functions_rule():
    class Head(Function):
        @staticmethod
        def forward(ctx, x):
            return x[:2]

        @staticmethod
        def backward(ctx, g):
            return torch.cat([g * 5, torch.zeros(1)])

    x = leaf()
    Head.apply(x).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0, 0.0]


def test_a_view_returned_is_not_written_later():
    class Head(Function):
        @staticmethod
        def forward(ctx, x):
            return x[:2]

        @staticmethod
        def backward(ctx, g):
            return torch.cat([g, torch.zeros(1)])

    y = Head.apply(leaf() * 1)
    with raises(
        RuntimeError,
        "Output 0 of Head is a view and is being modified inplace. This view was created inside a custom Function (or "
        "because an input was returned as-is) and the autograd logic to handle view+inplace would override the custom "
        "backward associated with the custom Function, leading to incorrect gradients. This behavior is forbidden. You "
        "can fix this by cloning the output of the custom Function.",
    ):
        y.mul_(2)
