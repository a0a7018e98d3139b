"""The five checks of one operation on one sample: result, gradient, tangent, forms, errors.

Each is a function of (pair, sample) that returns how many things it compared, raises `Difference` where the subject
does something else than PyTorch, and `Inapplicable` where there is nothing to compare.
"""

import contextlib
import functools
import types

import torch
from torch.testing._internal.opinfo.core import SampleInput

from . import ambiguity, measured
from .comparison import RAISED, Comparison, Truth, allowed_by_pytorch
from .subjects import Difference, Inapplicable

# Fresh memory: shape, dtype and strides are all there is to compare.
UNDEFINED = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided"}
# Drawn by another generator in PyTorch builds with MKL, on Intel's processors only.
INTEL_STREAM = {
    "bernoulli",
    "exponential",
    "multinomial",
    "nn.functional.alpha_dropout",
    "nn.functional.dropout",
    "nn.functional.dropout2d",
    "nn.functional.dropout3d",
    "nn.functional.feature_alpha_dropout",
    "nn.functional.multi_head_attention_forward",
    "nn.functional.scaled_dot_product_attention",
}
# Wrappers that say on what part of the inputs a derivative is determined. The others hide masked elements, which are
# determined too.
WRAPPERS = (
    "gradcheck_wrapper_hermitian_input",
    "gradcheck_wrapper_triangular_input",
    "gradcheck_wrapper_triangular_input_real_positive_diagonal",
    "gradcheck_wrapper_ctc_loss",
)


@functools.cache
def on_intel():
    try:
        with open("/proc/cpuinfo") as lines:
            return any("GenuineIntel" in line for line in lines)
    except OSError:
        return False


@contextlib.contextmanager
def speaking():
    """What the subject raises, as a Difference that says it."""
    try:
        yield
    except (Difference, Inapplicable):
        raise
    except NotImplementedError as error:
        raise Difference("not implemented", first_line(error)) from error
    except AttributeError as error:
        absent = isinstance(error.obj, types.ModuleType) or hasattr(error.obj, "grad_fn")
        kind = "missing" if absent and not error.name.startswith("_") else "raised AttributeError"
        raise Difference(kind, first_line(error)) from error
    except Exception as error:
        raise Difference(f"raised {type(error).__name__}", first_line(error)) from error


def first_line(error):
    return (str(error).strip().splitlines() or ["(no message)"])[0][:300]


class Pair:
    """The two sides of one OpInfo."""

    def __init__(self, reference, subject, info):
        self.reference, self.subject, self.info, self.name = reference, subject, info, info.name
        self.allowed = allowed_by_pytorch(info)
        self.values_defined = info.name not in UNDEFINED
        self.seeds = False  # whether each call is seeded first
        self.coarse = False  # whether derivatives are in a small dtype: once only, and with room for rounding
        self.notes = set()

    def functions(self, op, name):
        """Both sides' counterparts of a callable of PyTorch's."""
        with speaking():
            return self.reference.function(op, name), self.subject.function(op, name)

    def call(self, side, function, sample, on_tensor=None, **more):
        """(output, inputs) of a function on a side's own copy of the sample."""
        carried = side.carry((sample.input, sample.args, sample.kwargs), on_tensor)
        x, args, kwargs = carried
        if self.seeds:
            side.module.manual_seed(0)
        return function(x, *args, **kwargs, **more), carried

    def expect(self, function, sample, **more):
        """The reference's (output, inputs); a sample that PyTorch refuses is not compared."""
        try:
            return self.call(self.reference, function, sample, **more)
        except Exception as error:
            raise Inapplicable(f"PyTorch raised {type(error).__name__}: {first_line(error)}") from error

    def compare(self, expected, got, what="result", sample=None, truth=None, values=True):
        """Equal, or in what the operation leaves open, equally right."""
        values = values and self.values_defined
        room = 4.0 if self.coarse else 1.0
        comparison = Comparison(self.reference, self.subject, self.allowed, Truth(truth), values, room)
        try:
            comparison.same(expected, got, what)
        except Difference as difference:
            if difference.kind != "values":
                raise
            if self.name in INTEL_STREAM and on_intel():
                self.notes.add("random values not compared on this processor")
                return
            rule = ambiguity.RULES.get(self.name) if sample is not None else None
            if rule is None:
                raise
            rule(sample, expected, self.subject.bring(got))
            self.notes.add("compared up to sign, phase or order")


def raised(value):
    """A sample's value in double precision, for the truth that low precision approaches."""
    if isinstance(value, torch.Tensor):
        to = RAISED.get(value.dtype)
        return value if to is None else value.detach().to(to).requires_grad_(value.requires_grad)
    if isinstance(value, torch.dtype):
        return RAISED.get(value, value)
    if type(value) in (list, tuple):
        return type(value)(map(raised, value))
    if isinstance(value, dict):
        return {key: raised(item) for key, item in value.items()}
    return value


def raised_sample(sample):
    return SampleInput(
        raised(sample.input),
        args=raised(sample.args),
        kwargs=raised(sample.kwargs),
        output_process_fn_grad=sample.output_process_fn_grad,
    )


# ---- 1: result ---------------------------------------------------------------------------------------------------


def check_result(pair, sample):
    ours, theirs = pair.functions(pair.info.op, pair.name)[::-1]
    expected, expected_inputs = pair.expect(theirs, sample)
    if any(t.dtype is torch.complex32 for t in pair.reference.tensors(expected)):
        raise Inapplicable("torch.complex32 is not a dtype of tensorgrad")
    with speaking():
        got, inputs = pair.call(pair.subject, ours, sample)
        truth = lambda: pair.call(pair.reference, theirs, raised_sample(sample))[0]
        pair.compare(expected, got, sample=sample, truth=truth)
        compare_memory(pair, sample, (expected, expected_inputs), (got, inputs))
        pair.compare(expected_inputs, inputs, "the inputs afterwards")
    return 1


def compare_memory(pair, sample, expected, got):
    """Results that are views in PyTorch are views here, of the same input, with the same strides, and no others are."""
    reference, subject = pair.reference, pair.subject
    sources = reference.tensors(expected[1]), subject.tensors(got[1])
    told = "memory_format" in sample.kwargs or not pair.values_defined
    for index, (left, right) in enumerate(zip(reference.tensors(expected[0]), subject.tensors(got[0]))):
        if left.layout != torch.strided or left.numel() == 0:
            continue
        lazily = left.is_conj() or left.is_neg()  # a view in PyTorch that is computed when read: either is right
        shared = shared_with(left, sources[0]), shared_with(right, sources[1])
        which = f"result[{index}]" if isinstance(expected[0], list | tuple) else "result"
        if shared[0] != shared[1] and not lazily:
            words = [f"shares memory with input {n}" if n is not None else "has memory of its own" for n in shared]
            raise Difference("view", f"{which}: in PyTorch it {words[0]}, here it {words[1]}")
        if (shared[0] is not None and not lazily) or told:
            compare_strides(left, right, which)


def shared_with(tensor, inputs):
    """The position of the first input in the same storage."""
    pointer = tensor.untyped_storage().data_ptr()
    for index, source in enumerate(inputs):
        if source.numel() and source.untyped_storage().data_ptr() == pointer:
            return index
    return None


def compare_strides(left, right, which):
    """Strides of dims longer than one, and the offset."""
    strides = [tuple(s for s, n in zip(t.stride(), t.shape) if n > 1) for t in (left, right)]
    if strides[0] != strides[1]:
        raise Difference("strides", f"{which}: expected {tuple(left.stride())}, got {tuple(right.stride())}")
    if left.storage_offset() != right.storage_offset():
        raise Difference("strides", f"{which}: expected offset {left.storage_offset()}, got {right.storage_offset()}")


# ---- 2: gradient -------------------------------------------------------------------------------------------------


def differentiable(side, function, pair, sample):
    """`function` as PyTorch's gradient tests wrap it, with its outputs turned into what is determined."""
    wrapper = pair.info.gradcheck_wrapper
    name = getattr(wrapper, "__name__", "")
    mentioned = getattr(getattr(wrapper, "__code__", None), "co_names", ())
    wrapped = function
    if name in WRAPPERS or any(known in mentioned for known in WRAPPERS):
        own = wrapper if side.is_reference else side.rebind(wrapper)
        wrapped = lambda *args, **kwargs: own(function, *args, **kwargs)
    process = ambiguity.DETERMINED.get(pair.name) or sample.output_process_fn_grad
    own_process = process if side.is_reference else side.rebind(process)
    return lambda *args, **kwargs: own_process(wrapped(*args, **kwargs))


def random_like(tensors, seed):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(t.shape, dtype=t.dtype, generator=generator) for t in tensors]


def leaves_of(pair, side, function, sample):
    """(outputs, leaves): every tensor output, and the inputs that require gradients."""
    leaves = []

    def collect(original, copy):
        if original.requires_grad:
            leaves.append(copy)
        return copy

    output, _ = pair.call(side, differentiable(side, function, pair, sample), sample, on_tensor=collect)
    return side.tensors(output), leaves


def backward_twice(pair, side, function, sample, plan):
    """(first gradients, second gradients) for the plan's random cotangents; the reference draws the plan up."""
    outputs, leaves = leaves_of(pair, side, function, sample)
    if side.is_reference and not plan:
        plan["which"] = [i for i, output in enumerate(outputs) if output.requires_grad]
        if not plan["which"] or not leaves:
            raise Inapplicable("nothing to differentiate")
        plan["cotangents"] = random_like([outputs[i] for i in plan["which"]], 1)
    for i, output in enumerate(outputs):
        if output.requires_grad != (i in plan["which"]):
            told = "requires a gradient" if i in plan["which"] else "does not require a gradient"
            raise Difference("no graph", f"output {i} {told} in PyTorch, and here it is the other way round")
    outputs = [outputs[i] for i in plan["which"]]
    twice = pair.info.supports_gradgrad and not pair.coarse and plan.get("twice", True)
    cotangents = [side.carry(c.requires_grad_(twice)) for c in plan["cotangents"]]
    grad = side.module.autograd.grad
    first = grad(outputs, leaves, cotangents, create_graph=twice, allow_unused=True)
    if not twice:
        return first, None
    if side.is_reference and "again" not in plan:
        plan["again"] = [i for i, g in enumerate(first) if g is not None and g.requires_grad]
        plan["directions"] = random_like([first[i] for i in plan["again"]], 2)
    again, directions = [], []
    for i, direction in zip(plan["again"], plan["directions"]):
        if first[i] is not None and first[i].requires_grad:
            again.append(first[i])
            directions.append(side.carry(direction))
    if not again:
        return first, [None] * (len(leaves) + len(cotangents))
    try:
        return first, grad(again, leaves + cotangents, directions, allow_unused=True)
    except RuntimeError as error:
        if not side.is_reference:
            raise
        plan["twice"] = False  # PyTorch has no second derivative here
        plan["reason"] = first_line(error)
        return [g.detach() if g is not None else None for g in first], None


def check_gradient(pair, sample):
    ours, theirs = pair.functions(pair.info.op, pair.name)[::-1]
    plan = {}
    try:
        expected = backward_twice(pair, pair.reference, theirs, sample, plan)
    except RuntimeError as error:
        raise Inapplicable(f"PyTorch raised {type(error).__name__}: {first_line(error)}") from error
    with speaking():
        got = backward_twice(pair, pair.subject, ours, sample, plan)
        truth = functools.cache(
            lambda: backward_twice(pair, pair.reference, theirs, raised_sample(sample), raised_plan(plan))
        )
        function = differentiable(pair.reference, theirs, pair, sample)
        disputed = functools.partial(measured.gradient_contradicted, pair, function, sample, plan)
        agreed = compare_slopes(pair, expected[0], got[0], "gradient of input", lambda: truth()[0], disputed, sample)
        if expected[1] is not None and agreed:
            disputed = functools.partial(measured.second_contradicted, pair, function, sample, plan)
            compare_slopes(pair, expected[1], got[1], "second gradient of input", lambda: truth()[1], disputed)
    return 1 if expected[1] is None else 2


def raised_plan(plan):
    return {**plan, "cotangents": [raised(t) for t in plan["cotangents"]]}


def compare_slopes(pair, expected, got, what, truth, disputed=None, sample=None):
    """Whether they agree; None and zeros are the same slope.

    disputed(index, theirs, ours): whether PyTorch's contradicts its own function, and the subject's does not.
    """
    agreed = True
    for index, (left, right) in enumerate(zip(expected, got)):
        if left is None and right is None:
            continue
        if left is None or left.layout != torch.strided:
            left = torch.zeros_like(pair.subject.bring(right)) if left is None else left.to_dense()
        if right is None:
            right = pair.subject.carry(torch.zeros_like(left).detach())
        try:
            pair.compare(left, right, f"{what} {index}", truth=lambda index=index: truth()[index])
        except Difference as difference:
            if difference.kind != "values" or disputed is None:
                raise
            if sample is not None and index == 0 and pair.name in ambiguity.SLOPES:
                ambiguity.SLOPES[pair.name](sample, left, pair.subject.bring(right))
                continue
            if not disputed(index, left, pair.subject.bring(right)):
                raise
            pair.notes.add("PyTorch's derivative contradicts differences of its own function; here it agrees with them")
            agreed = False
    return agreed


# ---- 3: tangent --------------------------------------------------------------------------------------------------


def push_forward(pair, side, function, sample):
    """The tangents of all outputs for random tangents of all inputs that require gradients."""
    forward = side.module.autograd.forward_ad
    generator = torch.Generator().manual_seed(3)
    count = 0

    def dual(original, copy):
        nonlocal count
        if not original.requires_grad:
            return copy
        count += 1
        tangent = torch.randn(original.shape, dtype=original.dtype, generator=generator)
        return forward.make_dual(copy.detach(), side.carry(tangent))

    with forward.dual_level():
        output, _ = pair.call(side, differentiable(side, function, pair, sample), sample, on_tensor=dual)
        outputs = [t for t in side.tensors(output) if t.dtype.is_floating_point or t.dtype.is_complex]
        tangents = [forward.unpack_dual(t).tangent for t in outputs]
        return [t if t is None else t.detach() for t in tangents], count


def check_tangent(pair, sample):
    ours, theirs = pair.functions(pair.info.op, pair.name)[::-1]
    try:
        expected, count = push_forward(pair, pair.reference, theirs, sample)
    except (RuntimeError, NotImplementedError) as error:
        raise Inapplicable(f"PyTorch raised {type(error).__name__}: {first_line(error)}") from error
    if not count or not expected:
        raise Inapplicable("nothing to differentiate")
    with speaking():
        got, _ = push_forward(pair, pair.subject, ours, sample)
        if len(got) != len(expected):
            raise Difference("structure", f"expected {len(expected)} tangents, got {len(got)}")
        truth = functools.cache(lambda: push_forward(pair, pair.reference, theirs, raised_sample(sample))[0])
        compare_slopes(
            pair, expected, got, "tangent of output", truth, functools.partial(moved_otherwise, pair, theirs, sample)
        )
    return 1


def moved_otherwise(pair, function, sample, index, theirs, ours):
    """Whether PyTorch's function moves as the subject says, and not as PyTorch says."""
    if theirs.dtype not in (torch.float64, torch.complex128):
        return False
    generator = torch.Generator().manual_seed(3)
    leaves = [t for t in pair.reference.tensors([sample.input, sample.args, sample.kwargs]) if t.requires_grad]
    directions = [torch.randn(t.shape, dtype=t.dtype, generator=generator) for t in leaves]
    moved = measured.moved_along(pair, differentiable(pair.reference, function, pair, sample), sample, directions)
    moved = [t for t in moved if t.dtype.is_floating_point or t.dtype.is_complex]
    return measured.contradicted(theirs, ours, moved[index])


# ---- 5: errors ---------------------------------------------------------------------------------------------------


def compare_errors(expected, error, what):
    """The same type of exception for the same mistake; a subclass will do, but not NotImplementedError."""
    wanted = type(expected).__name__.lstrip("_")
    text = first_line(expected)
    if isinstance(expected, AttributeError) or text.startswith("descriptor '"):
        raise Inapplicable("Python refuses this before PyTorch sees it")
    if error is None:
        raise Difference("not raised", f"{what}: PyTorch raises {wanted}: {text}")
    kinds = [kind.__name__.lstrip("_") for kind in type(error).__mro__]
    refused = isinstance(error, NotImplementedError) and not isinstance(expected, NotImplementedError)
    if wanted not in kinds or refused:
        kind = "not implemented" if refused else "other error"
        told = f"{what}: PyTorch raises {wanted}: {text}; got {type(error).__name__}: {first_line(error)}"
        raise Difference(kind, told) from error


def check_error(pair, error_input):
    ours, theirs = pair.functions(pair.info.op, pair.name)[::-1]
    sample = error_input.sample_input
    try:
        pair.call(pair.reference, theirs, sample)
    except Inapplicable:
        raise
    except Exception as error:
        expected = error
    else:
        raise Inapplicable("PyTorch accepts this")
    try:
        pair.call(pair.subject, ours, sample)
    except (Difference, Inapplicable):
        raise
    except Exception as error:
        compare_errors(expected, error, "error")
    else:
        compare_errors(expected, None, "error")
    return 1
