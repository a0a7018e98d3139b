"""Runs the five checks of an operation over PyTorch's sample inputs, dtype by dtype, and says what differs.

`check_name("linalg.svd", side)` gives a `Score`: for each check `pass`, `fail`, `n/a` (PyTorch has no such thing for
the operation) or `out` (allowed to stay out). An operation passes a check when every variant of it does in every
comparison, and at least one comparison was made.

Samples are limited so that the whole list runs in minutes; where there are more, they are taken evenly from the whole
list, its first and last included. `LIMITS` says how many per check and dtype; None takes them all.
"""

import fnmatch
import random
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db

from .checks import Pair, check_error, check_gradient, check_result, check_tangent
from .forms import check_forms, has_forms
from .subjects import Difference, Differences, Inapplicable, Side, describe_call, tensors_in

CHECKS = ("result", "gradient", "tangent", "forms", "errors")
RUN = dict(zip(CHECKS, (check_result, check_gradient, check_tangent, check_forms, check_error)))
MAY_STAY_OUT = (
    "sparse.*",
    "to_sparse",
    "jiterator_*",
    "hash_tensor",
    "histogramdd",
    "chalf",
    "torch._scaled_mm*",
    "torch.ops.aten._flash_attention_forward",
    "torch.ops.aten._efficient_attention_forward",
)

DTYPES = (
    torch.float32,
    torch.float64,
    torch.complex128,
    torch.int64,
    torch.bool,
    torch.bfloat16,
    torch.float16,
)
SMOOTH = (torch.float64, torch.complex128)
COARSE = (torch.float32, torch.bfloat16, torch.float16)  # first gradients only, of a few samples
LIMITS = {"result": 100, "gradient": 40, "tangent": 40, "forms": 10, "errors": 100}
COARSE_LIMIT = 3
LARGEST = 100_000  # numbers in a sample; larger ones are left out where there are others
FAILURES_KEPT = 3  # per check, variant and dtype: then the rest of that dtype is skipped

REFERENCE = Side("torch", reference=True)


def all_names():
    return sorted({info.name for info in op_db})


def may_stay_out(name):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in MAY_STAY_OUT)


@dataclass
class Failure:
    """One comparison that failed: where, on what call, the kind of difference and its text."""

    check: str
    dtype: str
    sample: int
    call: str
    kind: str
    text: str
    traceback: str = ""


@dataclass
class Score:
    """What became of one operation."""

    name: str
    marks: dict = field(default_factory=dict)
    failures: list = field(default_factory=list)
    compared: dict = field(default_factory=Counter)
    skipped: dict = field(default_factory=Counter)
    notes: set = field(default_factory=set)
    seconds: float = 0.0

    def passes(self, *checks):
        return all(self.marks.get(check) in ("pass", "n/a") for check in checks or CHECKS)


def short(dtype):
    return str(dtype).rpartition(".")[2]


def evenly(items, limit):
    """At most `limit` of the items, from the first to the last."""
    if limit is None or len(items) <= limit:
        return list(enumerate(items))
    if limit == 1:
        return [(0, items[0])]
    picked = {round(i * (len(items) - 1) / (limit - 1)) for i in range(limit)}
    return [(i, items[i]) for i in sorted(picked)]


def samples_of(info, dtype, requires_grad):
    """The same samples in every run."""
    seed = sum(map(ord, f"{info.name}{info.variant_test_name}{dtype}"))
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)
    samples = list(info.sample_inputs_func(info, "cpu", dtype, requires_grad))
    small = [sample for sample in samples if size_of(sample) <= LARGEST]
    return small or samples


def size_of(sample):
    return sum(tensor.numel() for tensor in tensors_in((sample.input, sample.args, sample.kwargs)))


def rounds(info, check, limit):
    """(dtype, samples, limit) for each dtype in which PyTorch has what this check compares."""
    supported = set(info.supported_dtypes("cpu"))
    if check in ("gradient", "tangent"):
        if not (info.supports_autograd if check == "gradient" else info.supports_forward_ad):
            return
        supported &= set(info.supported_backward_dtypes("cpu"))
        fine = [dtype for dtype in SMOOTH if dtype in supported]
        for dtype in fine:
            yield dtype, samples_of(info, dtype, True), limit
        if check == "gradient" or not fine:
            for dtype in COARSE:
                if dtype in supported:
                    yield dtype, samples_of(info, dtype, True), limit and min(limit, COARSE_LIMIT)
    elif check == "errors":
        if info.error_inputs_func is not None:
            torch.manual_seed(0)
            yield torch.float32, list(info.error_inputs_func(info, "cpu")), limit
    elif check == "result" or has_forms(info):
        for dtype in DTYPES:
            if dtype in supported:
                yield dtype, samples_of(info, dtype, False), limit


def draws_random_numbers(info):
    """Whether calls must be seeded: it names PyTorch's seeding wrapper, or moves the generator."""
    code = getattr(info.op, "__code__", None)
    if code is not None and "wrapper_set_seed" in code.co_names:
        return True
    for dtype in DTYPES:
        if dtype not in info.supported_dtypes("cpu"):
            continue
        for _, sample in evenly(samples_of(info, dtype, False), 6):
            before = torch.get_rng_state()
            try:
                info.op(sample.input, *sample.args, **sample.kwargs)
            except Exception:
                continue
            if not torch.equal(before, torch.get_rng_state()):
                return True
        return False
    return False


def check_variant(score, info, subject, check, limit, tracebacks):
    """Runs one check of one OpInfo; whether anything was compared."""
    pair = Pair(REFERENCE, subject, info)
    pair.seeds = draws_random_numbers(info)
    name = info.name + (f"/{info.variant_test_name}" if info.variant_test_name else "")
    compared = False
    for dtype, samples, most in rounds(info, check, limit):
        pair.coarse = check in ("gradient", "tangent") and dtype in COARSE
        failed = 0
        for index, sample in evenly(samples, most):
            try:
                score.compared[check] += RUN[check](pair, sample)
                compared = True
                continue
            except Inapplicable as reason:
                score.skipped[check, str(reason)] += 1
                continue
            except Difference as difference:
                found = [difference]
            except Differences as differences:
                found = differences.found
            except Exception as stumble:  # of the harness, mostly over something the subject gave it
                found = [Difference(f"raised {type(stumble).__name__}", f"while comparing: {stumble}")]
                found[0].__cause__ = stumble
            compared = True
            failed += 1
            call = describe_call(name, getattr(sample, "sample_input", sample))
            for difference in found:
                told = "".join(traceback.format_exception(difference)) if tracebacks else ""
                failure = Failure(check, short(dtype), index, call, difference.kind, difference.text, told)
                score.failures.append(failure)
            if failed >= FAILURES_KEPT or all(difference.kind == "missing" for difference in found):
                break
    score.notes |= pair.notes
    return compared


def check_name(name, subject, checks=CHECKS, limits=LIMITS, tracebacks=False):
    """The score of an operation over all its variants."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return scored(name, subject, checks, limits, tracebacks)


def refuses(subject, info):
    """Whether calling what stays out raises NotImplementedError."""
    ones = subject.carry(torch.ones(2, 2))
    try:
        subject.function(info.op, info.name)(ones, ones)
    except NotImplementedError:
        return True
    except Exception:
        return False
    return False


def scored(name, subject, checks, limits, tracebacks):
    began = time.process_time()
    score = Score(name)
    infos = [info for info in op_db if info.name == name]
    for check in checks:
        compared = [check_variant(score, info, subject, check, limits[check], tracebacks) for info in infos]
        failed = any(failure.check == check for failure in score.failures)
        if check == "result" and not any(compared):
            score.failures.append(Failure(check, "-", 0, name, "nothing compared", "no sample could be carried over"))
            failed = True
        score.marks[check] = "fail" if failed else "pass" if any(compared) else "n/a"
    if may_stay_out(name) and not score.passes(*checks):
        score.marks = dict.fromkeys(checks, "out")
        told = any(failure.kind == "not implemented" for failure in score.failures) or refuses(subject, infos[0])
        score.notes.add(f"it {'raises' if told else 'does not raise'} NotImplementedError")
    score.seconds = time.process_time() - began
    return score
