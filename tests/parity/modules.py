"""Which of PyTorch's modules tensorgrad has, judged by PyTorch's own list of modules and sample inputs.

    python -m tests.parity.modules                     all of them, a line for each that fails, then the totals
    python -m tests.parity.modules --only LSTM,Conv2d  some of them
    python -m tests.parity.modules --only LSTM -v      with the samples that fail, and where
    python -m tests.parity.modules --write             record what passes in passing_modules.json; it may only grow

Each module is made with the same arguments after the same seed on both sides, in float64 and float32, training and not:

    weights   the state_dict has PyTorch's names and, bit for bit, PyTorch's values
    forward   the outputs are PyTorch's, and so are the buffers afterwards
    gradient  so are the gradients of inputs and parameters, for random cotangents; in float32 also where they differ from
              PyTorch's but are as near as those to the gradients in float64
    text      it prints as PyTorch's does, before and after
    state     its state_dict goes into a new one, which then gives the same output; a pickled one too
    errors    PyTorch's exception and its words for each of PyTorch's error inputs
"""

import argparse
import fnmatch
import functools
import json
import pickle
import re
import sys
import traceback
import warnings
from collections import Counter
from pathlib import Path

import torch
from torch.testing._internal.common_modules import ModuleErrorEnum, module_db

from .comparison import Comparison, Truth
from .subjects import Difference, Inapplicable, Side

PASSING = Path(__file__).parent / "passing_modules.json"
CHECKS = ("weights", "forward", "gradient", "text", "state", "errors")
MODULES = {info.name.removeprefix("nn."): info for info in module_db}
REFERENCE = Side("torch", reference=True)
SAMPLES = 40  # of each dtype and mode; some modules have hundreds that differ in little


def recorded():
    """{name: [check, ...]}: what passed when it was last written."""
    return json.loads(PASSING.read_text()) if PASSING.exists() else {}


class Case:
    """One sample: a module of PyTorch's and ours, made alike, and what goes in."""

    def __init__(self, info, sample, dtype, training, subject):
        self.info, self.dtype, self.training, self.subject = info, dtype, training, subject
        self.made, self.given = sample.constructor_input, sample.forward_input
        self.text = f"{info.name}{self.made} {'training' if training else 'evaluation'} {dtype}"
        self.theirs = self.build(REFERENCE, info.module_cls)
        self.compare = Comparison(REFERENCE, subject, {}, Truth(), values=True, room=2.0)

    def build(self, side, kind):
        side.module.manual_seed(0)
        module = kind(*self.carried(side, self.made.args), **self.carried(side, self.made.kwargs))
        return module.train(self.training).to(self.dtype if side is REFERENCE else side.dtype(self.dtype))

    def carried(self, side, value):
        if side is REFERENCE:
            return value
        if isinstance(value, (list, tuple)):
            return type(value)(self.carried(side, item) for item in value)
        if isinstance(value, dict):
            return {key: self.carried(side, item) for key, item in value.items()}
        if isinstance(value, torch.nn.TransformerEncoderLayer):
            return carried_layer(side, value)
        if getattr(torch.nn.functional, getattr(value, "__name__", ""), None) is value and callable(value):
            return getattr(side.module.nn.functional, value.__name__)
        return side.carry(value)

    def run(self, side, module):
        """(outputs, input tensors) after a seed of its own."""
        args, kwargs = self.carried(side, self.given.args), self.carried(side, self.given.kwargs)
        if side is REFERENCE:
            args, kwargs = fresh(args), fresh(kwargs)
        side.module.manual_seed(1)
        return module(*args, **kwargs), side.tensors([list(args), kwargs])

    def check_weights(self):
        self.ours = self.build(self.subject, self.subject.find(self.info.name))
        self.same_state(exact=True)

    def same_state(self, exact=False):
        theirs, ours = self.theirs.state_dict(), self.ours.state_dict()
        if list(theirs) != list(ours):
            raise Difference("keys", f"expected {list(theirs)}, got {list(ours)}")
        if dict(theirs._metadata) != dict(ours._metadata):
            raise Difference("metadata", f"expected {dict(theirs._metadata)}, got {dict(ours._metadata)}")
        for key, value in theirs.items():
            if torch.nn.parameter.is_lazy(value):
                continue
            self.compare.same(value, ours[key], key)
            if exact and not torch.equal(value.detach(), self.subject.bring(ours[key])):
                raise Difference("bits", f"{key}: not the same bits")

    def check_text(self):
        expected, got = str(self.theirs), re.sub(r"\btensorgrad\.", "torch.", str(self.ours))
        if expected != got:
            raise Difference("text", f"expected {expected}, got {got}")

    def check_forward(self):
        self.expected, self.inputs = self.run(REFERENCE, self.theirs)
        self.got, self.our_inputs = self.run(self.subject, self.ours)
        self.compare.same(plain(self.expected), plain(self.got), "output")
        self.same_state()
        for old, new in zip(self.inputs, self.our_inputs):
            self.compare.same(old, new, "input afterwards")

    def check_gradient(self):
        outputs = [t for t in REFERENCE.tensors(plain(self.expected)) if t.requires_grad]
        our_outputs = [t for t in self.subject.tensors(plain(self.got)) if t.requires_grad]
        if len(outputs) != len(our_outputs):
            raise Difference(
                "requires_grad", f"{len(outputs)} outputs require gradients, {len(our_outputs)} of ours do"
            )
        if not outputs:
            return
        torch.manual_seed(2)
        cotangents = [torch.randn_like(t) for t in outputs]
        torch.autograd.backward(outputs, cotangents)
        self.subject.module.autograd.backward(our_outputs, [self.subject.carry(g) for g in cotangents])
        pairs = [(f"gradient of {name}", p, q) for (name, p), q in
                 zip(self.theirs.named_parameters(), self.ours.parameters())]  # fmt: skip
        pairs += [(f"gradient of input {i}", p, q) for i, (p, q) in enumerate(zip(self.inputs, self.our_inputs))]
        exact = functools.cache(lambda: self.exact_gradients(cotangents))
        for i, (what, theirs, ours) in enumerate(pairs):
            if (theirs.grad is None) != (ours.grad is None):
                raise Difference("gradient", f"{what}: expected {theirs.grad}, got {ours.grad}")
            if theirs.grad is not None:
                expected = theirs.grad.to_dense()
                self.compare.truth = Truth(lambda i=i, expected=expected: believed(exact()[i], expected))
                self.compare.same(expected, ours.grad, what)
        self.compare.truth = Truth()

    def exact_gradients(self, cotangents):
        """The gradients in float64, which judge where float32 rounds: those of the parameters, then those of the inputs."""
        module = self.build(REFERENCE, self.info.module_cls).double()
        args, kwargs = fresh(self.given.args, torch.float64), fresh(self.given.kwargs, torch.float64)
        torch.manual_seed(1)
        outputs = [t for t in REFERENCE.tensors(plain(module(*args, **kwargs))) if t.requires_grad]
        torch.autograd.backward(outputs, [g.double() for g in cotangents])
        return [t.grad for t in (*module.parameters(), *REFERENCE.tensors([list(args), kwargs]))]

    def check_state(self):
        again = self.build(self.subject, self.subject.find(self.info.name))
        again.load_state_dict(self.ours.state_dict())
        for module in (again, pickle.loads(pickle.dumps(self.ours))):
            output, _ = self.run(self.subject, module)
            expected, _ = self.run(self.subject, self.ours)
            for one, other in zip(self.subject.tensors(plain(expected)), self.subject.tensors(plain(output))):
                if not torch.equal(self.subject.bring(one), self.subject.bring(other)) and not one.isnan().any():
                    raise Difference("state", "a module with the same state gives another output")


def fresh(value, dtype=None):
    """The same tensors as leaves of their own, so that gradients do not add up; with a dtype, the floating ones in that."""
    if isinstance(value, torch.Tensor):
        made = value.detach().clone()
        return (made.to(dtype) if dtype and made.is_floating_point() else made).requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(fresh(item, dtype) for item in value)
    if isinstance(value, dict):
        return {key: fresh(item, dtype) for key, item in value.items()}
    return value


def believed(exact, expected):
    """The float64 gradient, if PyTorch's float32 one is near: random masks may be others in float64."""
    exact = None if exact is None else exact.to_dense()
    if exact is None or not (exact - expected).abs().max() <= 1e-3 * exact.abs().max():
        return None
    return exact


def plain(value):
    """A result whose named tuples are tuples."""
    if isinstance(value, (list, tuple)):
        return tuple(plain(item) for item in value)
    return value


def carried_layer(side, layer):
    """An encoder layer that is itself an argument: one of the same sizes, with the same weights."""
    attention = layer.self_attn
    activation = getattr(side.module.nn.functional, layer.activation.__name__)
    made = side.module.nn.TransformerEncoderLayer(
        attention.embed_dim, attention.num_heads, layer.linear1.out_features, layer.dropout.p, activation, layer.norm1.eps,
        attention.batch_first, layer.norm_first, layer.linear1.bias is not None, dtype=side.dtype(layer.linear1.weight.dtype),
    )  # fmt: skip
    made.load_state_dict({key: side.carry(value) for key, value in layer.state_dict().items()})
    return made


def samples_of(info, dtype, training):
    torch.manual_seed(0)
    made = list(info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training))
    step = max(1, -(-len(made) // SAMPLES))
    return made[::step]


def judge(name, subject):
    """({check: how many samples failed}, [(check, sample, error), ...]) of one module."""
    info, failures, counts = MODULES[name], [], Counter()
    for dtype in (torch.float64, torch.float32):
        for training in (True, False):
            for sample in samples_of(info, dtype, training):
                judge_sample(info, sample, dtype, training, subject, failures, counts)
    if info.module_error_inputs_func is not None:
        made = info.module_error_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=True, training=True)
        for sample in made:
            counts["errors"] += 1
            try:
                judge_error(info, sample, subject)
            except Exception as error:
                failures.append(("errors", sample.error_regex, error))
    return failures, counts


def judge_sample(info, sample, dtype, training, subject, failures, counts):
    try:
        case = Case(info, sample, dtype, training, subject)
    except Inapplicable:
        return
    for check in ("weights", "text", "forward", "gradient", "text", "state"):
        counts[check] += 1
        try:
            getattr(case, f"check_{check}")()
        except Inapplicable:
            return
        except Exception as error:
            failures.append((check, case.text, error))
            if check in ("weights", "forward") and not isinstance(error, Difference):
                return  # nothing after it can be asked


def judge_error(info, sample, subject):
    """PyTorch's exception, whose message PyTorch's own pattern finds."""
    case = object.__new__(Case)
    case.subject = subject
    inputs = sample.module_error_input
    make = lambda: subject.find(info.name)(
        *case.carried(subject, inputs.constructor_input.args), **case.carried(subject, inputs.constructor_input.kwargs)
    )
    module = None if sample.error_on is ModuleErrorEnum.CONSTRUCTION_ERROR else make()
    try:
        if module is None:
            make()
        else:
            given = inputs.forward_input
            module(*case.carried(subject, given.args), **case.carried(subject, given.kwargs))
    except sample.error_type as error:
        if not re.search(sample.error_regex, str(error)):
            raise Difference("words", f"expected {sample.error_regex!r} in {error!s}") from None
        return
    raise Difference("no error", f"expected {sample.error_type.__name__}")


def passed(failures, counts):
    """The checks that every sample passed."""
    failed = {check for check, _, _ in failures}
    return [check for check in CHECKS if check not in failed and (counts[check] or check == "errors")]


def summary(results):
    """The totals of {name: [check, ...]}, as text."""
    lines = [f"{len(results)} modules, {sum(len(found) == len(CHECKS) for found in results.values())} pass all"]
    lines += [f"{check:>10}: {sum(check in found for found in results.values())}" for check in CHECKS]
    return "\n".join(lines)


def main(args=None):
    """Judge modules and print what fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.parity.modules", description=__doc__.partition("\n")[0])
    parser.add_argument("--only", help="names and patterns, with commas between")
    parser.add_argument("-v", action="store_true", help="show the samples that fail")
    parser.add_argument("--tracebacks", action="store_true", help="show where errors come from")
    parser.add_argument("--write", action="store_true", help="record what passes")
    parser.add_argument("--subject", default="tensorgrad")
    options = parser.parse_args(args)
    warnings.simplefilter("ignore")
    patterns = options.only.split(",") if options.only else ["*"]
    names = [name for name in MODULES if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]
    subject, results, record = Side(options.subject), {}, recorded()
    for name in names:
        failures, counts = judge(name, subject)
        results[name] = passed(failures, counts)
        if failures:
            kinds = Counter(
                (check, type(error).__name__, str(error)[:110].split("\n")[0]) for check, _, error in failures
            )
            print(f"{name}: passes {' '.join(results[name]) or 'nothing'}")
            for (check, kind, text), count in kinds.most_common(6):
                print(f"    {count:4} {check}: {kind}: {text}")
            for check, text, error in failures[:3] if options.v else ():
                print(f"    {check} {text[:600]}\n        {error}")
                if options.tracebacks:
                    print("".join(traceback.format_exception(error)))
        lost = set(record.get(name, ())) - set(results[name])
        if lost:
            print(f"{name}: LOST {' '.join(sorted(lost))}")
    print(summary(results))
    if options.write:
        for name, found in results.items():
            record[name] = [check for check in CHECKS if check in found or check in record.get(name, ())]
        lines = (f"  {json.dumps(name)}: {json.dumps(record[name])}" for name in sorted(record))
        PASSING.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    sys.exit(main())
