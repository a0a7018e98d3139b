"""Less memory for more time: what a function saves for backward is thrown away, and computed again when it is needed.

>>> layer = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
>>> x = torch.ones(2, 3, requires_grad=True)
>>> torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False).sum().backward()
>>> x.grad.shape
tensorgrad.Size([2, 3])

`use_reentrant=False`: hooks on saved tensors leave a mark in the place of each; the first mark that backward meets runs the
function again and fills them all. `use_reentrant=True`: the function is one node, whose backward runs the function again with
a graph of its own and walks that.
"""

import contextlib
import warnings
import weakref

from tensorgrad import random
from tensorgrad.autograd import modes
from tensorgrad.autograd.function import Function
from tensorgrad.autograd.hooks import saved_tensors_hooks
from tensorgrad.autograd.modes import state
from tensorgrad.ops import fitting
from tensorgrad.tensor import Tensor

__all__ = ["CheckpointError", "CheckpointFunction", "check_backward_validity", "checkpoint", "checkpoint_sequential",
           "detach_variable", "noop_context_fn", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop"]  # fmt: skip

_early_stop = _debug = None  # what the context managers below set for all checkpoints

TIP = (
    "\nTip: To see a more detailed error message, either pass `debug=True` to\n`torch.utils.checkpoint.checkpoint(...)` or "
    "wrap the code block\nwith `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to\nenable checkpoint‑debug "
    "mode globally.\n"
)
DETERMINISM_CHECKS = {
    "default": lambda tensor: {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device},
    "none": lambda tensor: None,
}


class CheckpointError(RuntimeError):
    """The function did something else when it was run again.

    >>> issubclass(torch.utils.checkpoint.CheckpointError, RuntimeError)
    True
    """


class _Enough(BaseException):
    """Ends a recomputation that has made all that is needed."""


def noop_context_fn():
    """The `context_fn` that does nothing.

    >>> len(torch.utils.checkpoint.noop_context_fn())
    2
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool):
    """Within this, let recomputations end as soon as all that is needed is there, or let them run to the end.

    >>> with torch.utils.checkpoint.set_checkpoint_early_stop(False):
    ...     x = torch.ones(1, requires_grad=True)
    ...     torch.utils.checkpoint.checkpoint(torch.exp, x, use_reentrant=False).backward()
    """
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None):
    """Within this, checkpoints note which operations ran, for their errors, or do not; None: as each call says.

    >>> with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):
    ...     x = torch.ones(1, requires_grad=True)
    ...     y = torch.utils.checkpoint.checkpoint(torch.exp, x, use_reentrant=False)
    """
    global _debug
    before, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = before


def checkpoint(
    function, *args, use_reentrant=None, context_fn=noop_context_fn, determinism_check="default", debug=False,
    early_stop=True, **kwargs,
):  # fmt: skip
    """function(*args, **kwargs), whose saved tensors are not kept but computed again in backward.

    With `preserve_rng_state` (True unless said otherwise) it draws the same random numbers again.

    >>> x = torch.tensor([0.], requires_grad=True)
    >>> y = torch.utils.checkpoint.checkpoint(lambda x: print("computed") or x.exp().sin(), x, use_reentrant=False)
    computed
    >>> y.backward(); x.grad
    computed
    tensor([0.5403])
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, "
            "calling checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but if "
            "you need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more "
            "details on the differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    if _debug if _debug is not None else debug:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        log = _Log()
        context_fn = log.contexts
    else:
        log = None
    if determinism_check not in DETERMINISM_CHECKS:
        raise ValueError(f"determinism_check should be one of {list(DETERMINISM_CHECKS)}, but got {determinism_check}")
    forward_context, recompute_context = context_fn()
    if not modes.is_grad_enabled():
        with forward_context:
            return function(*args, **kwargs)
    surroundings = _Surroundings(preserve)
    segment = _Segment(function, args, kwargs, surroundings, recompute_context, DETERMINISM_CHECKS[determinism_check],
                       early_stop if _early_stop is None else _early_stop, log)  # fmt: skip
    finished = False
    with saved_tensors_hooks(segment.leave_mark, segment.value_of), forward_context:
        result = function(*args, **kwargs)
        finished = True
    if not finished:
        raise RuntimeError(
            "torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception raised during the "
            "checkpointed forward. This is not supported because checkpoint cannot return a value for a failed forward."
        )
    segment.complete = True
    return result


class _Surroundings:
    """What a function can depend on beside its arguments: the random state, autocast."""

    def __init__(self, random_state):
        self.random_state = random.get_rng_state() if random_state else None
        self.autocast = state.autocast

    @contextlib.contextmanager
    def again(self):
        """As they were; afterwards as they are."""
        with contextlib.ExitStack() as stack:
            if self.random_state is not None:
                stack.enter_context(random.fork_rng())
                random.set_rng_state(self.random_state)
            if self.autocast is not state.autocast:
                from tensorgrad.amp import autocast

                stack.enter_context(autocast("cpu", dtype=self.autocast, enabled=self.autocast is not None))
            yield


class _Mark:
    """What stands in a node for a tensor that is not kept."""

    __slots__ = ("__weakref__", "description", "found")

    def __init__(self, description):
        self.description, self.found = description, None  # found: (pass of backward, tensor) once computed again


class _Segment:
    """One call of a checkpointed function: its arguments, and the marks that it left."""

    def __init__(self, function, args, kwargs, surroundings, context, describe, early_stop, log):
        self.function, self.surroundings, self.context, self.log = function, surroundings, context, log
        self.describe, self.early_stop = describe, early_stop
        self.args = [_kept(value) for value in args]
        self.kwargs = {name: _kept(value) for name, value in kwargs.items()}
        self.marks = []  # weak references: a node that is gone needs no tensor
        self.complete = False

    def leave_mark(self, tensor):
        """The pack hook of the call."""
        mark = _Mark(self.describe(tensor))
        self.marks.append(weakref.ref(mark))
        return mark

    def value_of(self, mark):
        """The unpack hook of the call: the tensor of a mark, after running the function again if need be."""
        task = state.task
        if mark.found is None or mark.found[0] is not task:
            try:
                self.run_again(task)
            except CheckpointError as error:
                if self.log is None:
                    raise
                raise CheckpointError(self.log.text()) from error
        _, tensor = mark.found
        mark.found = None
        return tensor

    def run_again(self, task):
        """Run the function with hooks that give each mark its tensor."""
        marks, count = self.marks, 0
        expected = len(marks)

        def give(tensor):
            nonlocal count
            if count >= expected:
                if self.complete:
                    raise CheckpointError(
                        "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original "
                        f"forward pass.\n{TIP}"
                    )
                return tensor  # backward was called inside the function, which goes on
            mark = marks[count]()
            count += 1
            if mark is not None:
                mark.found = task, tensor.detach() if tensor.requires_grad else tensor
            if self.early_stop and count == expected:
                raise _Enough
            return tensor

        args = [_given(value) for value in self.args]
        kwargs = {name: _given(value) for name, value in self.kwargs.items()}
        try:
            with saved_tensors_hooks(give, lambda tensor: tensor), self.surroundings.again(), self.context, \
                 modes.enable_grad():  # fmt: skip
                self.function(*args, **kwargs)
        except _Enough:
            pass
        if count != expected:
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {expected}\n"
                f"Number of tensors saved during recomputation: {count}.\n{TIP}"
            )
        self.compare()

    def compare(self):
        """Raise if a tensor is of another kind than it was."""
        text = ""
        for position, reference in enumerate(self.marks):
            mark = reference()
            if mark is None or mark.found is None:
                continue
            now = self.describe(mark.found[1])
            if now != mark.description:
                text += (
                    f"tensor at position {position}:\nsaved metadata: {mark.description}\nrecomputed metadata: {now}\n"
                )
        if text:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during "
                f"the forward pass.\n{text}.\n{TIP}"
            )


class _Argument:
    """An argument that is a tensor: kept, or handed to the hooks of the checkpoint around this one."""

    def __init__(self, tensor):
        self.requires_grad, self.version = tensor.requires_grad, tensor._version
        self.packed = fitting.Packed(tensor, *state.hooks[-1]) if state.hooks else None
        self.tensor = tensor if self.packed is None else None

    def given(self):
        """The tensor, as a leaf: the graph that is made now belongs to nobody."""
        if self.packed is not None:
            return self.packed.unpacked(None).detach().requires_grad_(self.requires_grad)
        tensor = self.tensor
        if tensor._version != self.version:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"[torch.{tensor.dtype.title}Tensor {list(tensor.shape)}] is at version {tensor._version}; expected version "
                f"{self.version} instead. It is an argument of a checkpointed function: change a clone() instead."
            )
        return tensor.detach().requires_grad_(self.requires_grad)


def _kept(value):
    return _Argument(value) if isinstance(value, Tensor) else value


def _given(value):
    return value.given() if isinstance(value, _Argument) else value


class _Log:
    """Which operations ran, the first time and again, for the error of `debug=True`."""

    def __init__(self):
        self.runs = {"original": [], "recompute": []}

    def contexts(self):
        """The two context managers of `context_fn`."""
        return self.writing("original"), self.writing("recompute")

    def writing(self, run):
        """A context manager, good for several times, that notes operations."""
        log = self

        class Writing:
            def __enter__(self):
                log.runs[run] = []
                self.note = log.noting(log.runs[run])
                fitting.interceptors.insert(0, self.note)
                modes.hold_special("checkpoint")

            def __exit__(self, *_):
                fitting.interceptors.remove(self.note)
                modes.release_special("checkpoint")
                return False

        return Writing()

    @staticmethod
    def noting(lines):
        """An interceptor that notes what runs and where it was called, and lets it run."""

        def note(primitive, inputs, params):
            import traceback

            kinds = ", ".join(f"{t.dtype}{list(t.shape)}" if isinstance(t, Tensor) else repr(t) for t in inputs)
            stack = [frame for frame in traceback.extract_stack() if "tensorgrad" not in frame.filename]
            lines.append((f"{primitive.name}({kinds})", "".join(traceback.format_list(stack[-4:]))))

        return note

    def text(self):
        """The error of a checkpoint that was debugged."""
        parts = [
            "An error happened while unpacking tensors; dumping logs of latest computation\nbecause you passed `debug=True` to "
            "`torch.utils.checkpoint.checkpoint()`.\n"
        ]
        for run, title in (("original", "ran in the original forward"), ("recompute", "ran during recomputation")):
            parts.append(f"Stack traces of the operators that {title}:\n")
            lines = self.runs[run]
            parts += [f"{text}   ({i + 1} of {len(lines)} in {run})\n{where}" for i, (text, where) in enumerate(lines)]
        for run, title in (("original", "the original forward"), ("recompute", "recomputation")):
            parts.append(f"\nOperations executed during {title}:\n")
            parts += [text for text, _ in self.runs[run]]
        parts.append("\nERROR: Detected non-determinism while running activation checkpointing")
        return "\n".join(parts)


# One node that walks a graph of its own


def detach_variable(inputs):
    """Tensors cut from their graphs, which require gradients where they did.

    >>> torch.utils.checkpoint.detach_variable((torch.ones(1, requires_grad=True), 3))
    (tensor([1.], requires_grad=True), 3)
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(
        value.detach().requires_grad_(value.requires_grad) if isinstance(value, Tensor) else value for value in inputs
    )


def check_backward_validity(inputs):
    """Warn if no input requires a gradient.

    >>> torch.utils.checkpoint.check_backward_validity([torch.ones(1, requires_grad=True)])
    """
    if not any(value.requires_grad for value in inputs if isinstance(value, Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


class CheckpointFunction(Function):
    """A checkpointed function as one node of the graph.

    >>> x = torch.ones(1, requires_grad=True)
    >>> torch.utils.checkpoint.CheckpointFunction.apply(torch.exp, True, x)
    tensor([2.7183], grad_fn=<CheckpointFunctionBackward>)
    """

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        check_backward_validity(args)
        ctx.run_function, ctx.surroundings = run_function, _Surroundings(preserve_rng_state)
        ctx.places = [isinstance(value, Tensor) for value in args]
        ctx.others = [None if isinstance(value, Tensor) else value for value in args]
        ctx.save_for_backward(*[value for value in args if isinstance(value, Tensor)])
        with modes.no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx, *gradients):
        if state.task is not None and state.task.needed is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() "
                "without passing the `inputs` argument."
            )
        from tensorgrad.autograd import backward

        tensors = iter(ctx.saved_tensors)
        inputs = detach_variable(
            tuple(next(tensors) if tensor else value for tensor, value in zip(ctx.places, ctx.others, strict=True))
        )
        with modes.enable_grad(), ctx.surroundings.again():
            outputs = ctx.run_function(*inputs)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        pairs = [
            (output, gradient) for output, gradient in zip(outputs, gradients, strict=True)
            if isinstance(output, Tensor) and output.requires_grad
        ]  # fmt: skip
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([output for output, _ in pairs], [gradient for _, gradient in pairs])
        return None, None, *[value.grad if isinstance(value, Tensor) else None for value in inputs]


# Sequences of layers


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """Layers one after the other, in so many parts, each but the last checkpointed.

    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    >>> x = torch.ones(2, 3, requires_grad=True)
    >>> torch.utils.checkpoint.checkpoint_sequential(model, 2, x, use_reentrant=False).shape
    tensorgrad.Size([2, 1])
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. In version "
            "2.9 we will raise an exception if use_reentrant is not passed. use_reentrant=False is recommended, but if you need "
            "to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
            "differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    functions = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def run(part):
        def forward(value):
            for function in part:
                value = function(value)
            return value

        return forward

    size = len(functions) // segments
    for start in range(0, size * (segments - 1), size or 1):
        input = checkpoint(
            run(functions[start : start + size]), input, use_reentrant=use_reentrant, preserve_rng_state=preserve
        )
    return run(functions[size * (segments - 1) :])(input)
