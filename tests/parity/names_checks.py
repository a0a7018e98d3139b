"""What every operation does with names, over PyTorch's sample inputs: `python -m tests.parity.names_checks [names]` lists it.

A sample is computed without names, and again with names on its first tensor ("first"), on all of them, the same names from
the right ("all"), on the first of the in-place form ("inplace"), or on the first with a gradient taken ("gradient"). The
outcome of the second is

    named     the values of the first, and names (or nothing that could have one)
    unnamed   the values of the first, but not one name: right where the dimensions of the result are none of the operand's
    refused   an error that says that the operation is not supported with names
    names     an error that says why these names do not go together
    broken    anything else
"""

import sys
import warnings
from collections import Counter

import torch
from torch.testing._internal.common_methods_invocations import op_db

from .harness import all_names, evenly, samples_of
from .subjects import Difference, Inapplicable, Side, tensors_in

DTYPES = (torch.float64, torch.int64, torch.bool, torch.complex128)
SCHEMES = ("first", "all", "inplace", "gradient")
SAMPLES = 12
LETTERS = "abcdefghijklmnopqrstuvwxyz"
REASONS = (
    "do not match", "duplicate names", "Misaligned dims", "does not match dim", "Name mismatch", "Are your tensors misaligned",
    "Cannot resize named tensor", "no names were given",
)  # fmt: skip


def named_in(sample, side, scheme):
    """The sample with names."""
    first = True

    def name(_, tensor):
        nonlocal first
        if scheme != "all" and not first:
            return tensor
        first = False
        return tensor.rename_(*LETTERS[: tensor.ndim][::-1]) if tensor.ndim else tensor

    return side.carry((sample.input, sample.args, sample.kwargs), name)


def outcome(function, sample, side, scheme, defined=True):
    """(outcome, what there is to say of it)."""
    x, args, kwargs = side.carry((sample.input, sample.args, sample.kwargs))
    side.module.manual_seed(0)
    if scheme == "gradient":
        function = gradient_of(function, side)
    try:
        wanted = function(x, *args, **kwargs)
    except Exception as error:
        raise Inapplicable(str(error)) from None
    x, args, kwargs = named_in(sample, side, scheme)
    if not any(t.has_names() for t in side.tensors((x, args, kwargs))):
        raise Inapplicable("nothing to name")
    side.module.manual_seed(0)
    try:
        got = function(x, *args, **kwargs)
    except RuntimeError as error:
        text = str(error)
        if "not yet supported with named tensors" in text:
            return "refused", text.partition(" ")[0]
        return ("names" if any(reason in text for reason in REASONS) else "broken"), text
    except Exception as error:
        return "broken", f"{type(error).__name__}: {error}"
    results, expected = side.tensors(got), side.tensors(wanted)
    if len(results) != len(expected):
        return "broken", "another number of results"
    for a, b in zip(results, expected, strict=True):
        a, b = side.bring(a.rename(None)), side.bring(b)
        if a.shape != b.shape or a.dtype != b.dtype:
            return "broken", f"{tuple(a.shape)} of {a.dtype} rather than {tuple(b.shape)} of {b.dtype}"
        if defined and not same(a, b):
            return "broken", "other values"
    lost = [r for r in results if r.ndim and not r.has_names()]
    return ("unnamed", "") if lost and len(lost) == len(results) else ("named", str([r.names for r in results]))


def gradient_of(function, side):
    """The gradient of the sum of an operation's results with respect to its first tensor."""

    def gradient(*args, **kwargs):
        x = side.tensors((args, kwargs))[0]
        if not x.is_floating_point():
            raise Inapplicable("no gradient")
        x.requires_grad_()
        results = [t.sum() for t in side.tensors(function(*args, **kwargs)) if t.requires_grad]
        side.module.autograd.backward(results)
        if x.has_names() and x.grad is not None and x.grad.names != x.names:
            raise ValueError(f"a gradient with names {x.grad.names} of a tensor with names {x.names}")
        return x.grad

    return gradient


def same(a, b):
    if not torch.is_tensor(a):
        return a == b
    return torch.equal(a, b) or torch.allclose(a, b, equal_nan=True) if a.numel() else True


def outcomes_of(name, side):
    """Counter of (scheme, outcome), and an example of each."""
    found, examples = Counter(), {}
    for info in (i for i in op_db if i.name == name):
        dtype = next((d for d in DTYPES if d in info.supported_dtypes("cpu")), None)
        if dtype is None:
            continue
        try:
            function = side.function(info.op, info.name)
        except Difference:
            continue
        for _, sample in evenly(samples_of(info, dtype, False), SAMPLES):
            for scheme in SCHEMES:
                if scheme == "gradient" and (dtype is not torch.float64 or not info.supports_autograd):
                    continue
                if scheme == "inplace":
                    if info.inplace_variant is None:
                        continue
                    try:
                        called = side.function(info.inplace_variant, info.name + "_")
                    except Difference:
                        continue
                else:
                    called = function
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        kind, text = outcome(called, sample, side, scheme, "empty" not in name)
                except (Inapplicable, Difference):
                    continue
                found[scheme, kind] += 1
                shapes = [tuple(t.shape) for t in tensors_in((sample.input, sample.args))]
                examples.setdefault(
                    (scheme, kind), f"{text[:200]}  {shapes} {str(sample.args)[:60]!r} {str(sample.kwargs)[:80]}"
                )
    return found, examples


def side_with_names():
    side = Side("tensorgrad")
    side.module.ones(1, names=("N",))
    return side


def main():
    side = side_with_names()
    totals = {scheme: Counter() for scheme in SCHEMES}
    for name in sys.argv[1:] or all_names():
        found, examples = outcomes_of(name, side)
        print(name, {f"{s} {k}": n for (s, k), n in sorted(found.items())})
        for (scheme, kind), text in examples.items():
            if kind != "named":
                print(f"    {scheme} {kind}: {text}")
        for scheme in SCHEMES:
            for kind in {k for s, k in found if s == scheme}:
                totals[scheme][kind] += 1
    print(totals)


if __name__ == "__main__":
    main()
