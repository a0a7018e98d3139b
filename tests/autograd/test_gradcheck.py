"""`gradcheck` and `gradgradcheck` pass what is right and, above all, fail what is wrong."""

import importlib

import pytest
from subject import raises, torch

gradcheck, gradgradcheck = torch.autograd.gradcheck, torch.autograd.gradgradcheck
GradcheckError = importlib.import_module(torch.__name__ + ".autograd.gradcheck").GradcheckError


def leaf(*shape, dtype=torch.float64):
    return torch.randn(*(shape or (3,)), dtype=dtype, requires_grad=True)


class Wrong(torch.autograd.Function):
    """A square whose gradient is off by the factor it is given; right where that is one."""

    @staticmethod
    def forward(ctx, x, factor=1.0, second=1.0):
        ctx.save_for_backward(x)
        ctx.factor, ctx.second = factor, second
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        value = 2 * g * x * ctx.factor
        if ctx.second != 1.0:  # the same number, another slope
            value = value * ctx.second - (value * (ctx.second - 1)).detach()
        return value, None, None


FUNCTIONS = {
    "square": lambda x: x * x,
    "chain": lambda x: (x.sin() * x.exp()).sum(),
    "matrix": lambda x: x.reshape(3, 1) @ x.reshape(1, 3),
    "softmax": lambda x: x.softmax(0),
    "index": lambda x: x[[0, 0, 2]] * x[1],
    "two outputs": lambda x: (x.sum(), x**3),
    "nothing used": lambda x: x * 0,
}


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_right_gradients_pass(name, fast):
    assert gradcheck(FUNCTIONS[name], leaf(), fast_mode=fast) is True
    assert gradgradcheck(FUNCTIONS[name], leaf(), fast_mode=fast) is True


@pytest.mark.parametrize("fast", [False, True])
def test_a_wrong_gradient_fails(fast):
    with raises(GradcheckError, "Jacobian mismatch for output 0 with respect to input 0,\nnumerical:", "\nanalytical:"):
        gradcheck(lambda x: Wrong.apply(x, 1.01), leaf(), fast_mode=fast)
    assert gradcheck(Wrong.apply, leaf(), fast_mode=fast)


@pytest.mark.parametrize("fast", [False, True])
def test_a_wrong_second_gradient_fails_only_the_second_check(fast):
    def function(x):
        return Wrong.apply(x, 1.0, 1.5)

    assert gradcheck(function, leaf(), fast_mode=fast)
    with raises(GradcheckError, "Jacobian mismatch for output 0 with respect to input 0"):
        gradgradcheck(function, leaf(), fast_mode=fast)


def test_the_message_shows_both_jacobians():
    with raises(
        GradcheckError,
        "numerical:tensor([[2.0000, 0.0000],\n        [0.0000, 4.0000]], dtype=torch.float64)\n"
        "analytical:tensor([[ 6.,  0.],\n        [ 0., 12.]], dtype=torch.float64)\n",
    ):
        gradcheck(lambda x: Wrong.apply(x, 3.0), torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True))


def test_a_failure_can_be_an_answer():
    assert gradcheck(lambda x: Wrong.apply(x, 2.0), leaf(), raise_exception=False) is False
    assert gradcheck(lambda x: Wrong.apply(x, 1.0), leaf(), raise_exception=False) is True


def test_the_inputs_and_outputs_that_are_wrong_are_named():
    with raises(GradcheckError, "Jacobian mismatch for output 1 with respect to input 1,"):
        gradcheck(lambda x, y: (x * y, x + Wrong.apply(y, 2.0)), (leaf(), leaf()))


def test_tolerances_are_the_callers():
    def slightly(x):
        return Wrong.apply(x, 1.0005)

    assert gradcheck(slightly, leaf(), rtol=1e-2, atol=1e-2)
    with raises(GradcheckError, "Jacobian mismatch"):
        gradcheck(slightly, leaf(), rtol=1e-6, atol=1e-6)


def test_a_gradient_cut_by_mistake_fails():
    with raises(GradcheckError, "Jacobian mismatch"):
        gradcheck(lambda x: x * x.detach(), leaf())
    with raises(GradcheckError, "Numerical gradient for function expected to be zero"):
        gradcheck(lambda x: x.detach(), leaf())


def test_single_precision_is_too_coarse():
    with pytest.warns(UserWarning, match="not a double precision floating point or complex"):
        assert not gradcheck(lambda x: x * x, leaf(dtype=torch.float32), raise_exception=False)


def test_something_must_need_a_gradient():
    with raises(
        ValueError,
        "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.",
    ):
        gradcheck(lambda x: x * x, torch.ones(3, dtype=torch.float64))


def test_inputs_may_not_overlap():
    x = leaf(1).expand(3)
    with raises(RuntimeError, "The 0th input has a dimension with stride 0."):
        gradcheck(lambda x: x * 2, x)


def test_inputs_without_gradient_are_constants():
    constant = torch.ones(3, dtype=torch.float64)
    assert gradcheck(lambda x, y, n: x * y * n, (leaf(), constant, 3))


def test_a_gradient_that_changes_from_call_to_call_fails():
    class Noisy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * (2 + torch.rand(()).double() * 1e-6)

    with raises(GradcheckError, "Backward is not reentrant, i.e., running backward with same input and grad_output"):
        gradcheck(Noisy.apply, leaf())
    assert gradcheck(Noisy.apply, leaf(), nondet_tol=1e-3)


COMPLEX = {
    "holomorphic": lambda z: z * z,
    "conjugate": lambda z: z.conj() * 3j,
    "magnitude": lambda z: z.abs(),
    "parts": lambda z: z.real * z.imag,
    "exponential": lambda z: z.exp(),
}


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("name", COMPLEX)
def test_complex_gradients_pass(name, fast):
    assert gradcheck(COMPLEX[name], leaf(2, dtype=torch.complex128), fast_mode=fast)
    assert gradgradcheck(COMPLEX[name], leaf(2, dtype=torch.complex128), fast_mode=fast)


def test_real_inputs_with_complex_outputs_pass():
    assert gradcheck(lambda x: torch.complex(x, x * x) * 1j, leaf(2))


@pytest.mark.parametrize("fast", [False, True])
def test_the_missing_conjugate_fails(fast):
    class NoConjugate(torch.autograd.Function):
        @staticmethod
        def forward(ctx, z):
            ctx.save_for_backward(z)
            return z * z

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

    with raises(GradcheckError, "Jacobian mismatch"):
        gradcheck(NoConjugate.apply, leaf(2, dtype=torch.complex128), fast_mode=fast)


@pytest.mark.parametrize("fast", [False, True])
def test_forward_mode_is_checked_when_asked(fast):
    assert gradcheck(lambda x: x.sin() * x, leaf(), check_forward_ad=True, fast_mode=fast)

    class WrongTangent(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * 3

    assert gradcheck(WrongTangent.apply, leaf(), fast_mode=fast)
    with raises(GradcheckError, "mismatch"):
        gradcheck(WrongTangent.apply, leaf(), check_forward_ad=True, fast_mode=fast)


def test_the_inputs_are_left_as_they_were():
    x = leaf()
    before = x.tolist()
    gradcheck(lambda x: x * x, x)
    assert x.tolist() == before and x.grad is None
