"""vmap of an operation equals the operation on each row: the two checks behind vmap_scoreboard.py.

A sample of PyTorch's becomes three rows: the sample, the same with the elements of its tensors in reverse order (where
PyTorch takes that), and the sample again. The rows are stacked in front, at the end and in second place, for all tensors
and for some of them, and what vmap gives must equal what the same library gives row by row.

    result    the operation itself, also in place, and without a loop over the rows: 7 rows take as many calls as 2
    gradient  vmap of the gradient of its outputs' weighted sum, for two samples

A random operation must refuse to run by default; with randomness="different" its rows have the shape of a row and
differ, with "same" they are equal.
"""

import itertools
import random
import sys
import time
import warnings

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

from .checks import UNDEFINED, first_line, speaking
from .comparison import close
from .harness import REFERENCE, Failure, Score, draws_random_numbers, evenly, samples_of, short
from .subjects import DTYPE_NAME_OF, Difference, Inapplicable, describe_call

CHECKS = ("result", "gradient")
DTYPES = ((torch.float64, 40), (torch.complex128, 8), (torch.int64, 8), (torch.bool, 4), (torch.float32, 4))
GRADIENT_SAMPLES = 2
ROWS = 3
FAILURES_KEPT = 2
LAYERS = ("/tensorgrad/ops/", "/tensorgrad/func/")  # whose calls are counted


class Mapped:
    """A sample whose tensors became rows: on each side, the operation as a function of those tensors alone."""

    def __init__(self, info, sample, rows=ROWS):
        leaves, self.spec = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
        self.leaves = leaves
        self.places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        if not self.places:
            raise Inapplicable("no tensor to map over")
        if any(leaves[i].dtype not in DTYPE_NAME_OF or leaves[i].layout != torch.strided for i in self.places):
            raise Inapplicable("not a tensor of tensorgrad")
        self.tensors = [leaves[i].detach() for i in self.places]
        self.info, self.defined = info, info.name not in UNDEFINED
        turned = [tensor.flip(tuple(range(tensor.ndim))) for tensor in self.tensors]
        self.alike = not self.takes(turned)
        if self.alike and not self.takes(self.tensors):
            raise Inapplicable("PyTorch refuses the sample")
        self.turned = self.tensors if self.alike else turned
        self.count = rows

    def takes(self, tensors):
        """Whether PyTorch computes a row."""
        try:
            self.on(REFERENCE, self.info.op)(*[tensor.clone() for tensor in tensors])
        except Exception:
            return False
        return True

    def row(self, index):
        """The tensors of one row."""
        return self.turned if index % 2 else self.tensors

    def on(self, side, function, **more):
        """The operation on a side, as a function of the tensors."""
        others = [None if i in self.places else side.carry(leaf) for i, leaf in enumerate(self.leaves)]

        def call(*tensors):
            leaves = list(others)
            for place, tensor in zip(self.places, tensors, strict=True):
                leaves[place] = tensor
            x, args, kwargs = pytree.tree_unflatten(leaves, self.spec)
            return function(x, *args, **kwargs, **more)

        return call

    def stacked(self, dims, count=None):
        """All rows of each tensor along its dim; None: the tensor of the first row, for all."""
        result = []
        for position, dim in enumerate(dims):
            rows = [self.row(i)[position] for i in range(count or self.count)]
            result.append(rows[0].clone() if dim is None else torch.stack(rows, dim))
        return result

    def rows_for(self, dims):
        """The tensors of each row, where those that are not mapped are those of the first."""
        return [
            [self.row(i if dim is not None else 0)[p].clone() for p, dim in enumerate(dims)] for i in range(self.count)
        ]

    def choices(self):
        """The in_dims to try."""
        n = len(self.tensors)
        second = [min(1, tensor.ndim) for tensor in self.tensors]
        yield (0,) * n
        yield (-1,) * n
        if n > 1:
            yield (second[0], *(None,) * (n - 1))
            yield (None, *second[1:])
            if n > 2:
                yield tuple(None if i % 2 else 0 for i in range(n))
        else:
            yield tuple(second)

    def possible(self, dims):
        """Whether PyTorch computes the rows with these mapped."""
        return self.alike or all(self.takes(row) for row in self.rows_for(dims)[1:2])


def numbers(side, value):
    """The tensors in a result as tensors of PyTorch's, and its structure."""
    leaves, spec = pytree.tree_flatten(value)
    if not all(isinstance(leaf, side.module.Tensor) for leaf in leaves):
        raise Inapplicable("the result is no tensor")
    return [side.bring(leaf) for leaf in leaves], str(spec)


def compare(side, rows, mapped, defined=True):
    """What vmap gave equals the rows."""
    wanted = [numbers(side, row) for row in rows]
    with speaking():
        found, spec = numbers(side, mapped)
    if spec != wanted[0][1]:
        raise Difference("structure", f"expected {wanted[0][1]}, got {spec}")
    for index, got in enumerate(found):
        parts = [row[0][index] for row in wanted]
        if any(part.shape != parts[0].shape for part in parts):
            raise Inapplicable("the rows have different shapes")
        expected = torch.stack(parts)
        if got.dtype != expected.dtype:
            raise Difference("dtype", f"expected {expected.dtype}, got {got.dtype}")
        if got.shape != expected.shape:
            raise Difference("shape", f"expected {tuple(expected.shape)}, got {tuple(got.shape)}")
        if not defined:
            continue
        if not (expected.is_floating_point() or expected.is_complex()):
            if not torch.equal(expected, got):
                raise Difference("values", f"expected {expected.tolist()}, got {got.tolist()}"[:300])
            continue
        fine = 1e-4 if expected.dtype in (torch.float32, torch.complex64) else 1e-8
        finite = expected.abs()[expected.isfinite()]
        room = fine * max(1.0, finite.max().item()) if finite.numel() else fine
        if not close(expected, got, fine, room):
            off = [i for i in range(len(parts)) if not close(expected[i], got[i], fine, room)]
            raise Difference("values", f"rows {off} of {len(parts)} differ")


def carried(side, tensors):
    return [side.carry(tensor) for tensor in tensors]


def mapped_by(side, function, dims, tensors, **options):
    return side.module.vmap(function, in_dims=dims, **options)(*carried(side, tensors))


def refused_by_pytorch(sample, dims, make, **options):
    """Whether PyTorch's own vmap raises too."""
    try:
        mapped_by(REFERENCE, make(REFERENCE), dims, sample.stacked(dims), **options)
    except Exception:
        return True
    return False


def check_rows(side, sample, dims, make, **options):
    """vmap of `make(side)` equals a loop of it."""
    function = make(side)
    try:
        with speaking():
            rows = [function(*carried(side, row)) for row in sample.rows_for(dims)]
    except Difference as difference:
        try:
            make(REFERENCE)(*sample.rows_for(dims)[0])
        except Exception:
            raise Inapplicable("PyTorch refuses a row") from None
        raise Difference("without vmap", str(difference)) from difference
    numbers(side, rows[0])
    try:
        with speaking():
            mapped = mapped_by(side, function, dims, sample.stacked(dims), **options)
        compare(side, rows, mapped, sample.defined)
    except Difference as difference:
        if refused_by_pytorch(sample, dims, make, **options):
            raise Inapplicable("PyTorch's vmap refuses it") from None
        raise Difference(difference.kind, f"in_dims={dims}: {difference.text}") from difference


def calls_for(side, sample, function, dims, count):
    """How many calls of the library's operations vmap makes for so many rows."""
    tensors, counted = carried(side, sample.stacked(dims, count)), 0

    def watch(frame, event, argument):
        nonlocal counted
        if event == "call" and any(layer in frame.f_code.co_filename for layer in LAYERS):
            counted += 1

    side.module.vmap(function, in_dims=dims)(*tensors)
    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        side.module.vmap(function, in_dims=dims)(*tensors)
    finally:
        sys.setprofile(before)
    return counted


def check_no_loop(side, sample, make):
    dims, function = (0,) * len(sample.tensors), make(side)
    try:
        few, many = (calls_for(side, sample, function, dims, count) for count in (2, 7))
    except Exception as error:
        raise Inapplicable("not mapped") from error  # told where rows are compared
    if many > few + 4:
        raise Difference("loop", f"{few} calls for 2 rows, {many} for 7")


def check_random(side, sample, make):
    """Shapes, agreement and disagreement of random rows."""
    dims, function = (0,) * len(sample.tensors), make(side)
    sample.turned = sample.tensors
    side.module.manual_seed(0)
    with speaking():
        rows, _ = numbers(side, function(*carried(side, sample.tensors)))
        again, _ = numbers(side, function(*carried(side, sample.tensors)))
    varies = [not close(a, b, 0, 0) for a, b in zip(rows, again)]
    for randomness in ("different", "same"):
        try:
            with speaking():
                value = mapped_by(side, function, dims, sample.stacked(dims), randomness=randomness)
                found, _ = numbers(side, value)
        except Difference as difference:
            if refused_by_pytorch(sample, dims, make, randomness=randomness):
                continue
            raise Difference(difference.kind, f"randomness={randomness!r}: {difference.text}") from difference
        for row, got, moves in zip(rows, found, varies, strict=True):
            if tuple(got.shape) != (ROWS, *row.shape) or got.dtype != row.dtype:
                raise Difference("shape", f"randomness={randomness!r}: {tuple(got.shape)} of rows {tuple(row.shape)}")
            equal = all(close(got[0], got[i], 0, 0) for i in range(1, ROWS))
            if randomness == "same" and not equal:
                raise Difference("values", "randomness='same': the rows differ")
            if randomness == "different" and moves and equal and row.numel() > 3:
                raise Difference("values", "randomness='different': the rows are equal")
    if any(varies):
        try:
            mapped_by(side, function, dims, sample.stacked(dims))
        except RuntimeError:
            return
        if not refused_by_pytorch(sample, dims, make):
            return
        raise Difference("no error", "a random operation ran with randomness='error'")


def weighted(side, function, kinds):
    """The weighted sum of a function's differentiable outputs: something to take a gradient of."""
    module = side.module

    def total(*tensors):
        outputs = [
            leaf
            for leaf in pytree.tree_leaves(function(*tensors))
            if isinstance(leaf, module.Tensor) and str(leaf.dtype).rpartition(".")[2] in kinds
        ]
        if not outputs:
            raise Inapplicable("no output has a gradient")
        result = 0.0
        for output in outputs:
            count = output.numel()
            if not count:
                continue
            weights = module.cos(module.arange(count, dtype=module.float64) + 1.0).reshape(output.shape)
            if "complex" in str(output.dtype):
                result = result + (module.view_as_real(output) * weights.unsqueeze(-1)).sum()
            else:
                result = result + (output * weights).sum()
        return result

    return total


def check_gradient(side, sample, make, dims):
    """vmap of a gradient equals a loop of gradients."""
    moving = tuple(i for i, t in enumerate(sample.tensors) if sample.leaves[sample.places[i]].requires_grad)
    if not moving:
        raise Inapplicable("nothing has a gradient")
    kinds = {"float64", "float32", "complex128", "complex64"}

    def slope(which):
        return which.module.func.grad(weighted(which, make(which), kinds), argnums=moving)

    try:
        REFERENCE.module.func.grad(weighted(REFERENCE, make(REFERENCE), kinds), argnums=moving)(*sample.tensors)
    except Inapplicable:
        raise
    except Exception:
        raise Inapplicable("PyTorch has no gradient here") from None
    check_rows(side, sample, dims, slope)


def comparisons(check, side, info, sample, first, seeded):
    """Functions that each compare one thing."""
    mapped = Mapped(info, sample)

    def plain(which):
        return mapped.on(which, which.function(info.op, info.name))

    def inplace(which):
        method = which.function(info.inplace_variant, info.inplace_variant.__name__)
        function = mapped.on(which, method)

        def write(x, *others):
            x = x.clone()
            function(x, *others)
            return x

        return write

    if check == "gradient":
        for dims in itertools.islice(mapped.choices(), 2):
            if mapped.possible(dims):
                yield lambda dims=dims: check_gradient(side, mapped, plain, dims)
        return
    if seeded:
        yield lambda: check_random(side, mapped, plain)
        return
    for dims in mapped.choices():
        if mapped.possible(dims):
            yield lambda dims=dims: check_rows(side, mapped, dims, plain)
    if first:
        if info.inplace_variant is not None and isinstance(sample.input, torch.Tensor):
            yield lambda: check_rows(side, mapped, (0,) * len(mapped.tensors), inplace)
        yield lambda: check_no_loop(side, mapped, plain)


def check_variant(score, info, side, check, limit, tracebacks):
    compared, seeded = False, draws_random_numbers(info)
    if check == "gradient" and (seeded or not info.supports_autograd):
        return False
    name = info.name + (f"/{info.variant_test_name}" if info.variant_test_name else "")
    supported = set(info.supported_dtypes("cpu") if check == "result" else info.supported_backward_dtypes("cpu"))
    chosen = [(dtype, most) for dtype, most in DTYPES if dtype in supported]
    if check == "gradient":
        chosen = [(dtype, GRADIENT_SAMPLES) for dtype, _ in chosen if dtype in (torch.float64, torch.complex128)]
    if seeded:
        chosen = chosen[:1]
    if not chosen and supported:
        chosen = [(sorted(supported, key=str)[0], 4)]
    for dtype, most in chosen:
        failed, first = 0, True
        for index, sample in evenly(samples_of(info, dtype, check == "gradient"), limit and min(most, limit)):
            try:
                todo = list(comparisons(check, side, info, sample, first, seeded))
            except Inapplicable as reason:
                score.skipped[check, str(reason)] += 1
                continue
            for compare_one in todo:
                difference = None
                try:
                    torch.manual_seed(0)
                    compare_one()
                    score.compared[check] += 1
                    compared, first = True, False
                except Inapplicable as reason:
                    score.skipped[check, str(reason)] += 1
                except Difference as found:
                    difference = found
                except Exception as stumble:
                    difference = Difference(f"raised {type(stumble).__name__}", f"comparing: {first_line(stumble)}")
                    difference.__cause__ = stumble
                if difference is None:
                    continue
                compared, failed = True, failed + 1
                told = ""
                if tracebacks:
                    import traceback

                    told = "".join(traceback.format_exception(difference))
                score.failures.append(
                    Failure(
                        check, short(dtype), index, describe_call(name, sample), difference.kind, difference.text, told
                    )
                )
                break
            if failed >= FAILURES_KEPT:
                break
    return compared


def check_name(name, subject, checks=CHECKS, limits=None, tracebacks=False):
    """The score of an operation over all its variants."""
    began = time.process_time()
    score = Score(name)
    random.seed(0)
    np.random.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for check in checks:
            limit = limits.get(check) if limits else None
            compared = [
                check_variant(score, info, subject, check, limit, tracebacks) for info in op_db if info.name == name
            ]
            failed = any(failure.check == check for failure in score.failures)
            score.marks[check] = "fail" if failed else "pass" if any(compared) else "n/a"
    score.seconds = time.process_time() - began
    return score
