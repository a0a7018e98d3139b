"""The harness tells right from wrong: PyTorch passes as its own subject, and each way of spoiling it is seen."""

import os
import time

import pytest
import torch

from .harness import CHECKS, REFERENCE, check_name, evenly
from .measured import contradicted
from .pool import score_all
from .scoreboard import choose, table, totals
from .subjects import Side, describe

LIMITS = dict.fromkeys(CHECKS, 6)


class Spoiled(Side):
    """PyTorch with some functions replaced: {"exp": f} for torch.exp, {"Tensor.exp_": f} for the method."""

    def __init__(self, **spoiled):
        super().__init__("torch")
        self.spoiled = spoiled

    def find(self, dotted):
        return self.spoiled.get(dotted) or super().find(dotted)

    def method(self, name):
        return self.spoiled.get(f"Tensor.{name}") or super().method(name)


def spoil(name, function, method=False):
    return Spoiled(**{f"Tensor.{name}" if method else name: function})


def failing(name, subject, checks=CHECKS):
    """{(check, kind)} of what fails."""
    score = check_name(name, subject, checks, LIMITS)
    return {(failure.check, failure.kind) for failure in score.failures}


AS_IT_IS = """
    add exp linalg.svd linalg.eig qr transpose nn.functional.dropout index_put sort normal empty_like __radd__ T item
    nn.functional.mish polygamma slice bfloat16 baddbmm cholesky_solve max complex where split masked.sum
"""


@pytest.mark.parametrize("name", AS_IT_IS.split())
def test_pytorch_passes_as_its_own_subject(name):
    score = check_name(name, Side("torch"), CHECKS, LIMITS)
    assert not score.failures and score.passes()
    assert score.marks["result"] == "pass" and score.compared["result"] > 0


# ---- result ------------------------------------------------------------------------------------------------------


def test_a_wrong_value():
    assert failing("exp", spoil("exp", lambda x: torch.exp(x) * 1.05), ["result"]) == {("result", "values")}


def test_one_wrong_element_of_one_dtype():
    def neg(x):
        y = torch.neg(x)
        if x.dtype == torch.int64 and y.numel() > 3:
            y.view(-1)[3] += 1
        return y

    assert failing("neg", spoil("neg", neg), ["result"]) == {("result", "values")}


def test_a_wrong_dtype():
    widened = spoil("sum", lambda x, *a, **k: torch.sum(x, *a, **k).double())
    assert ("result", "dtype") in failing("sum", widened, ["result"])


def test_a_wrong_shape():
    assert failing("dot", spoil("dot", lambda x, y: torch.dot(x, y)[None]), ["result"]) == {("result", "shape")}


def test_a_list_for_a_tuple_and_a_tuple_without_names():
    listed = spoil("unbind", lambda *a, **k: list(torch.unbind(*a, **k)))
    assert failing("unbind", listed, ["result"]) == {("result", "structure")}
    nameless = spoil("sort", lambda *a, **k: tuple(torch.sort(*a, **k)))
    assert failing("sort", nameless, ["result"]) == {("result", "structure")}


def test_a_copy_for_a_view_and_a_view_for_a_copy():
    copied = spoil("transpose", lambda *a: torch.transpose(*a).clone())
    assert failing("transpose", copied, ["result"]) == {("result", "view")}
    shared = spoil("clone", lambda x, **k: x.view_as(x))
    assert ("result", "view") in failing("clone", shared, ["result"])


def test_a_memory_format_that_is_ignored():
    ignoring = spoil("cdouble", lambda x, memory_format=None: x.cdouble(), method=True)
    assert ("result", "strides") in failing("cdouble", ignoring, ["result"])


def test_an_input_that_is_changed():
    def absolute(x):
        y = x.abs()
        x.fill_(3) if x.dtype != torch.bool else None
        return y

    assert failing("abs", spoil("abs", absolute), ["result"]) == {("result", "values")}


def test_a_missing_function_and_one_that_is_not_implemented():
    def refuse(*args):
        raise NotImplementedError("erfinv")

    assert failing("erfinv", spoil("erfinv", refuse), ["result"]) == {("result", "not implemented")}

    class Lacking(Side):
        def find(self, dotted):
            return super().find("no_such_function" if dotted == "erfinv" else dotted)

    score = check_name("erfinv", Lacking("torch"), CHECKS, LIMITS)
    assert set(score.marks.values()) == {"fail", "n/a"} and score.marks["errors"] == "n/a"
    assert {failure.kind for failure in score.failures} == {"missing"}


def test_random_numbers_of_another_stream():
    def normal(*args, **kwargs):
        torch.rand(1)
        return torch.normal(*args, **kwargs)

    class Shifted(Side):
        def seeded(self, function, *args, **kwargs):
            return super().seeded(normal, *args, **kwargs)

    assert ("result", "values") in failing("normal", Shifted("torch"), ["result"])


# ---- what mathematics leaves open --------------------------------------------------------------------------------


def test_signs_of_singular_vectors_are_free_and_their_product_is_not():
    def flipped(*args, **kwargs):
        u, s, vh = result = torch.linalg.svd(*args, **kwargs)
        return type(result)((-u, s, -vh))

    def half_flipped(*args, **kwargs):
        u, s, vh = result = torch.linalg.svd(*args, **kwargs)
        return type(result)((-u, s, vh))

    assert not failing("linalg.svd", spoil("linalg.svd", flipped), CHECKS[:3])
    assert ("result", "values") in failing("linalg.svd", spoil("linalg.svd", half_flipped), CHECKS[:3])


def test_the_order_of_eigenvalues_is_free():
    def reversed_order(x):
        values, vectors = result = torch.linalg.eig(x)
        return type(result)((values.flip(-1), vectors.flip(-1)))

    def mixed_up(x):
        values, vectors = result = torch.linalg.eig(x)
        return type(result)((values.flip(-1), vectors))

    assert not failing("linalg.eig", spoil("linalg.eig", reversed_order), CHECKS[:3])
    assert ("result", "values") in failing("linalg.eig", spoil("linalg.eig", mixed_up), ["result"])


def test_any_index_of_an_equal_element_will_do():
    def last(x, k, *args, **kwargs):
        if x.ndim == 0 or not x.numel():
            return torch.topk(x, k, *args, **kwargs)
        dim = args[0] if args else kwargs.get("dim", -1)
        values, indices = result = torch.topk(x.flip(dim), k, *args, **kwargs)
        return type(result)((values, x.shape[dim] - 1 - indices))

    assert not failing("topk", spoil("topk", last), ["result"])

    def shifted(*args, **kwargs):
        values, indices = result = torch.topk(*args, **kwargs)
        return type(result)((values, (indices + 1) % 5))

    assert ("result", "values") in failing("topk", spoil("topk", shifted), ["result"])


# ---- gradient and tangent ----------------------------------------------------------------------------------------


def sine(reverse=1.0, tangent=1.0, second=1.0):
    """A sine whose derivatives are off by these factors."""

    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return torch.sin(x)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            slope = x.cos() * second + (1 - second) * x.cos().detach()
            return g * (slope * reverse).conj()

        @staticmethod
        def jvp(ctx, t):
            (x,) = ctx.saved_tensors
            return t * x.cos() * tangent

    return Sine.apply


DERIVATIVES = ("gradient", "tangent")


def test_a_sine_of_ones_own_passes():
    assert not failing("sin", spoil("sin", sine()), DERIVATIVES)


def test_a_wrong_gradient():
    assert failing("sin", spoil("sin", sine(reverse=1.001)), DERIVATIVES) == {("gradient", "values")}


def test_a_wrong_second_gradient():
    wrong = spoil("sin", sine(second=0.999))
    assert failing("sin", wrong, DERIVATIVES) == {("gradient", "values")}
    score = check_name("sin", wrong, ["gradient"], LIMITS)
    assert all("second" in failure.text for failure in score.failures)


def test_a_wrong_tangent():
    assert failing("sin", spoil("sin", sine(tangent=0.999)), DERIVATIVES) == {("tangent", "values")}


def test_a_gradient_that_is_cut_off():
    cut = spoil("sin", lambda x: x.detach().sin())
    assert ("gradient", "no graph") in failing("sin", cut, DERIVATIVES)


def test_a_gradient_of_one_input_only():
    lopsided = spoil("mul", lambda x, y: torch.mul(x, y.detach() if isinstance(y, torch.Tensor) else y))
    assert failing("mul", lopsided, DERIVATIVES) >= {("gradient", "values"), ("tangent", "values")}


def test_a_wrong_conjugate_in_a_complex_gradient_only():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

    score = check_name("square", spoil("square", Square.apply), ["gradient"], LIMITS)
    assert {failure.dtype for failure in score.failures} == {"complex128"}


# ---- forms -------------------------------------------------------------------------------------------------------


def test_an_in_place_form_that_is_wrong_or_copies():
    assert failing("exp", spoil("exp_", lambda x: x.exp_().mul_(2), method=True), ["forms"]) == {("forms", "values")}
    copying = spoil("exp_", lambda x: x.clone().exp_(), method=True)
    assert failing("exp", copying, ["forms"]) >= {("forms", "structure")}


def test_an_in_place_form_that_takes_what_it_should_refuse():
    def added(x, other, **kwargs):
        return x.copy_(torch.add(x, other, **kwargs).expand_as(x) if x.ndim else torch.zeros_like(x))

    score = check_name("add", spoil("add_", added, method=True), ["forms"], LIMITS)
    assert {failure.kind for failure in score.failures} & {"not raised", "other error", "values"}


def test_a_method_that_differs():
    assert ("forms", "values") in failing("exp", spoil("exp", lambda x: x.exp() + 1, method=True), ["forms"])


def test_an_out_that_is_not_written_not_returned_or_not_refused():
    assert failing("exp", spoil("exp", lambda x, out=None: torch.exp(x)), ["forms"]) == {
        ("forms", "structure"),
        ("forms", "not raised"),
    }

    def written(x, out=None):
        torch.exp(x, out=out)
        return torch.exp(x)

    assert failing("exp", spoil("exp", written), ["forms"]) == {("forms", "structure")}

    def any_dtype(x, out=None):
        return out.resize_(x.shape).copy_(torch.exp(x).real) if out is not None else torch.exp(x)

    assert failing("exp", spoil("exp", any_dtype), ["forms"]) >= {("forms", "not raised")}


def test_an_alias_that_is_missing():
    class Lacking(Side):
        def find(self, dotted):
            return super().find("no_such_function" if dotted == "arccos" else dotted)

    assert failing("acos", Lacking("torch"), ["forms"]) == {("forms", "missing")}


# ---- errors ------------------------------------------------------------------------------------------------------


def raising(kind):
    def amax(*args, **kwargs):
        try:
            return torch.amax(*args, **kwargs)
        except Exception as error:
            raise kind(str(error)) from None

    return spoil("amax", amax)


class Special(RuntimeError, IndexError):
    """Of the right kind, and more."""


@pytest.mark.parametrize(
    "kind, seen",
    [
        (ValueError, {("errors", "other error")}),
        (NotImplementedError, {("errors", "not implemented")}),
        (Special, set()),
    ],
)
def test_the_type_of_an_error(kind, seen):
    assert failing("amax", raising(kind), ["errors"]) == seen


def test_an_error_that_is_not_raised():
    lenient = spoil("amax", lambda x, *args, **kwargs: x)
    assert failing("amax", lenient, ["errors"]) == {("errors", "not raised")}


# ---- workers and pages -------------------------------------------------------------------------------------------


def test_a_crash_and_a_hang_cost_one_operation():
    def crash(x):
        os._exit(3)

    subject = Spoiled(exp=crash, sin=lambda x: time.sleep(60))
    scores = {s.name: s for s in score_all(["exp", "cos", "sin", "tan"], subject, timeout=5.0, limits=LIMITS)}
    assert scores["cos"].passes() and scores["tan"].passes()
    assert {failure.kind for failure in scores["exp"].failures} == {"crash"}
    assert {failure.kind for failure in scores["sin"].failures} == {"time"}


def test_what_is_carried_over_is_the_same():
    base = torch.arange(24.0, dtype=torch.float64)
    x, y = base.view(4, 6)[1:, ::2].requires_grad_(), base[3:9]
    half = torch.tensor([1.5, -2.0], dtype=torch.bfloat16)
    side = Side("torch")
    options = {"dim": (0, -1), "dtype": torch.int8, "at": slice(y[0], None)}
    copy, other, small, options = side.carry([x, y, half, options])
    assert torch.equal(copy, x) and copy.stride() == x.stride() and copy.storage_offset() == x.storage_offset()
    assert copy.requires_grad and copy.is_leaf and not other.requires_grad
    assert copy.untyped_storage().data_ptr() == other.untyped_storage().data_ptr() != base.untyped_storage().data_ptr()
    assert torch.equal(small, half) and small.dtype == torch.bfloat16
    assert options["dim"] == (0, -1) and options["dtype"] is torch.int8 and options["at"].start == 3
    conjugate = torch.tensor([[1 + 2j, 3 - 1j]]).conj()
    assert torch.equal(*side.carry((conjugate, conjugate.clone()))) and not REFERENCE.carry(conjugate).is_conj()
    assert describe(copy) == "float64[3,3 strides 6,2]"


def test_samples_are_taken_from_first_to_last():
    assert [i for i, _ in evenly(range(100), 5)] == [0, 25, 50, 74, 99]
    assert [i for i, _ in evenly(range(3), 5)] == [0, 1, 2]
    assert len(evenly(range(100), None)) == 100


def test_names_and_totals():
    names = ["add", "linalg.svd", "linalg.qr"]
    assert choose(names, ["linalg.*", "add"]) == ["linalg.svd", "linalg.qr", "add"]
    assert choose(names, ["svd"]) == ["linalg.svd"]
    with pytest.raises(SystemExit, match="nothing"):
        choose(names, ["nothing"])
    marks = {
        "add": dict(zip(CHECKS, ["pass", "pass", "pass", "pass", "n/a"])),
        "sub": dict(zip(CHECKS, ["pass", "pass", "pass", "fail", "pass"])),
        "to_sparse": dict.fromkeys(CHECKS, "out"),
    }
    found = dict(totals(marks))
    assert found["pass all five"] == 1 and found["pass result, gradient and tangent"] == 2
    assert "| `sub` | yes | yes | yes | no | yes |" in table(marks)


def test_only_what_is_measured_excuses_a_derivative():
    measured = torch.tensor([1.0, 2.0], dtype=torch.float64)
    off = measured + torch.tensor([0.0, 1e-3], dtype=torch.float64)
    assert contradicted(off, measured + 1e-9, measured)
    assert contradicted(measured * torch.nan, measured, measured)
    assert not contradicted(measured, off, measured)
    assert not contradicted(off, off + 1e-3, measured)
    assert not contradicted(measured + 1e-8, measured - 1e-8, measured)
