"""The fourth check: `out=`, in-place, method, operator and alias forms give what the function gives.

PyTorch's own form is run beside the subject's, so each form is compared in its own right: what it returns, what it
writes where, and what it refuses (an `out=` of a dtype that cannot hold the result, an in-place result of another
shape).
"""

import math

import torch

from .checks import compare_errors, compare_strides, raised_sample, speaking
from .subjects import Difference, Differences, Inapplicable, tensors_in


def forms_of(info):
    """[(how it is called, PyTorch's callable, its dotted name, in place or not)] of every form besides the function."""
    forms = []
    for kind, op in (("method", info.method_variant), ("operator", info.operator_variant)):
        if op is not None:
            forms.append((kind, op, info.name, False))
    for kind, op in (("in-place", info.inplace_variant), ("in-place operator", info.inplace_operator_variant)):
        if op is not None:
            forms.append((kind, op, info.name, True))
    for alias in info.aliases:
        forms.append((f"alias {alias.name}", alias.op, alias.name, False))
        if alias.method_variant is not None:
            forms.append((f"alias method {alias.name}", alias.method_variant, alias.name, False))
        if alias.inplace_variant is not None:
            forms.append((f"alias in-place {alias.name}_", alias.inplace_variant, alias.name, True))
    return forms


def has_forms(info):
    return bool(info.supports_out or forms_of(info))


def check_forms(pair, sample):
    compared, found = 0, []
    for kind, op, name, in_place in forms_of(pair.info):
        try:
            ours, theirs = pair.functions(op, name)[::-1]
            (compare_in_place if in_place else compare_form)(pair, sample, theirs, ours, kind)
            compared += 1
        except Inapplicable:
            continue
        except Difference as difference:
            found.append(difference)
    if pair.info.supports_out:
        try:
            compared += compare_out(pair, sample, found)
        except Difference as difference:
            found.append(difference)
    if found:
        raise Differences(found)
    if not compared:
        raise Inapplicable("PyTorch has no other form for this sample")
    return compared


def compare_form(pair, sample, theirs, ours, kind):
    expected, _ = pair.expect(theirs, sample)
    with speaking():
        got, _ = pair.call(pair.subject, ours, sample)
        truth = lambda: pair.call(pair.reference, theirs, raised_sample(sample))[0]
        pair.compare(expected, got, kind, sample=sample, truth=truth)


def attempt(pair, side, function, sample, **more):
    """((output, inputs), None), or (None, what was raised)."""
    try:
        return pair.call(side, function, sample, **more), None
    except (Difference, Inapplicable):
        raise
    except Exception as error:
        return None, error


def compare_in_place(pair, sample, theirs, ours, kind):
    if not isinstance(sample.input, torch.Tensor):
        raise Inapplicable("the input is not a tensor")
    expected, refusal = attempt(pair, pair.reference, theirs, sample)
    got, error = attempt(pair, pair.subject, ours, sample)
    if refusal is not None:
        compare_errors(refusal, error, kind)
        return
    with speaking():
        if error is not None:
            raise error
        truth = lambda: pair.call(pair.reference, theirs, raised_sample(sample))[0]
        pair.compare(expected[0], got[0], kind, sample=sample, truth=truth)
        if expected[0] is expected[1][0]:
            if got[0] is not got[1][0]:
                raise Difference("structure", f"{kind}: what it returns is not the tensor it was called on")
        else:
            pair.compare(expected[1][0], got[1][0], f"{kind}: the tensor afterwards", truth=truth)


# ---- out= --------------------------------------------------------------------------------------------------------


def filled(shape, dtype):
    """A tensor of values that no result has by chance.

    Behind it lies room to spare: PyTorch's tril, for one, takes an out= of a narrower dtype and writes past its end.
    """
    count = math.prod(shape)
    return torch.full((16 * count + 64,), dtype != torch.bool and 77, dtype=dtype)[:count].view(shape)


def strided_like(tensor):
    """Room for `tensor` with its dims in memory in another order, or every second element of a vector."""
    if tensor.ndim > 1:
        return filled(tuple(reversed(tensor.shape)), tensor.dtype).permute(*reversed(range(tensor.ndim)))
    return filled((2 * tensor.numel(),), tensor.dtype)[::2] if tensor.ndim else filled((), tensor.dtype)


def narrower(dtype):
    """A dtype that cannot hold results of this one."""
    return torch.int64 if dtype.is_floating_point or dtype.is_complex else torch.bool


OUT_KINDS = {
    "out=": lambda t: filled(t.shape, t.dtype),
    "out= with strides": strided_like,
    "out= of no elements": lambda t: filled((0,), t.dtype),
    "out= of another dtype": lambda t: filled(t.shape, narrower(t.dtype)),
}


def compare_out(pair, sample, found):
    """How many kinds of out= were compared; what differs is added to `found`."""
    ours, theirs = pair.functions(pair.info.op, pair.name)[::-1]
    expected, _ = pair.expect(theirs, sample)
    several = isinstance(expected, list | tuple)
    results = list(expected) if several else [expected]
    if not results or not all(isinstance(t, torch.Tensor) for t in results):
        return 0
    compared = 0
    for kind, make in OUT_KINDS.items():
        rooms = tuple(make(t) for t in results)
        outs = [side.carry(rooms if several else rooms[0]) for side in (pair.reference, pair.subject)]
        left, refusal = attempt(pair, pair.reference, theirs, sample, out=outs[0])
        narrow = kind == "out= of another dtype"
        if kind == "out=" and refusal is not None:
            return 0  # PyTorch itself has no such form for this sample
        if narrow != (refusal is not None):
            continue  # or takes what it should refuse
        compared += 1
        try:
            right, error = attempt(pair, pair.subject, ours, sample, out=outs[1])
            unknown = isinstance(error, TypeError) and "'out'" in str(error) and not isinstance(refusal, TypeError)
            if unknown:
                raise Difference("missing", f"out= of {pair.name}") from error
            if narrow:
                compare_errors(refusal, error, kind)
                continue
            with speaking():
                if error is not None:
                    raise error
                truth = lambda: pair.call(pair.reference, theirs, raised_sample(sample))[0]
                try:
                    pair.compare(left[0], right[0], kind, sample=sample, truth=truth)
                except Difference as difference:
                    if difference.kind not in ("values", "shape") or not unlike(expected, left[0]):
                        raise
                    pair.compare(expected, right[0], kind, sample=sample, truth=truth)
                    pair.notes.add("PyTorch's out= contradicts its own result; here it agrees with it")
                    continue
                compare_room(pair, outs, (left[0], right[0]), kind)
        except Difference as difference:
            found.append(difference)
            if difference.kind == "missing":
                break
    return compared


def unlike(expected, written):
    """Whether PyTorch wrote something else into an out= than it returns without: it left numbers out, or all of them."""
    pairs = zip(tensors_in(expected), tensors_in(written))
    return any(
        a.shape != b.shape or (a.dtype == b.dtype and not torch.allclose(a, b, 1e-2, 1e-2, equal_nan=True))
        for a, b in pairs
    )


def compare_room(pair, outs, returned, kind):
    """What is returned is the out given, laid out in memory as it was."""
    rooms = [side.tensors(out) for side, out in zip((pair.reference, pair.subject), outs)]
    results = pair.reference.tensors(returned[0]), pair.subject.tensors(returned[1])
    for theirs, ours, their_result, our_result in zip(*rooms, *results):
        if theirs is their_result and ours is not our_result:
            raise Difference("structure", f"{kind}: what it returns is not the tensor given as out")
        if kind != "out= of no elements" and theirs.numel():  # room of the right size keeps its strides
            compare_strides(theirs, ours, kind)
