"""`Function`: operations whose derivative the user writes.

The `ctx` that forward and backward see is the node of the graph itself, as in PyTorch. What it saves is turned into saved
values when forward has returned; outputs are kept as bare arrays, so that the node does not refer to its own output.
"""

import functools

import numpy as np

from tensorgrad.autograd import modes
from tensorgrad.autograd.graph import FREED, AccumulateGrad, Node, Pick, tick
from tensorgrad.autograd.modes import mode, state
from tensorgrad.autograd.views import Alias, alias_of, check_inplace, check_saved, rebase, watch_output
from tensorgrad.ops import fitting
from tensorgrad.ops.primitive import recording, wrap
from tensorgrad.tensor import Tensor


class FunctionCtx:
    """What forward and backward of a Function use to hand values on."""

    def save_for_backward(self, *tensors):
        """Keep tensors (or None) for backward, to be read as `ctx.saved_tensors`."""
        for position, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {position} is of type {type(tensor).__name__}"
                )
        self.to_save = tensors

    def save_for_forward(self, *tensors):
        """Keep tensors for `jvp`, to be read as `ctx.saved_tensors`."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *tensors):
        """Say which inputs forward changed in place."""
        for position, tensor in enumerate(tensors):
            if not isinstance(tensor, Tensor):
                raise RuntimeError(
                    f"mark_dirty can only accept variables, but argument {position} is of type {type(tensor).__name__}"
                )
        self.dirty = tensors

    def mark_non_differentiable(self, *tensors):
        """Say which outputs have no gradient."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, value):
        """Whether missing gradients of outputs arrive as zeros (the default) or as None."""
        self.materialize_grads = value


class FunctionNode(FunctionCtx, Node):
    """The node of one application of a Function."""

    function = None
    saved = None
    saved_outputs = ()
    moving = False  # while jvp runs

    def __init__(self):
        self.seq, self.edges, self.saved, self.extra = tick(), (), (), None
        self.to_save = self.dirty = self.non_differentiable = self.saved_for_forward = ()
        self.materialize_grads = True

    @property
    def saved_tensors(self):
        """The tensors that `save_for_backward` kept."""
        if self.moving:  # jvp reads what was saved for it
            return tuple(self.saved_for_forward)
        if self.saved is None:
            raise RuntimeError(FREED)
        if not self.saved:
            return tuple(self.to_save)
        return tuple(self.tensor_of(value) for value in self.saved)

    saved_variables = saved_tensors

    def tensor_of(self, value):
        if isinstance(value, fitting.Packed):
            return value.unpacked(self)
        if isinstance(value, Tensor):
            check_saved(value, self)
            return value
        if type(value) is tuple:  # one of its outputs: (index, array, version)
            index, array, alias = value
            if alias is not None and alias.version.changed > self.seq:
                result = wrap(array)
                result._alias = alias
                check_saved(result, self)
            result = wrap(array)
            result._node = Pick(self, index) if self.count > 1 else self
            return result
        return value

    def finish_saving(self, outputs):
        """Turn what the user asked to save into saved values; own outputs only as arrays."""
        values = []
        for tensor in self.to_save:
            place = next((i for i, o in enumerate(outputs) if o is tensor), None) if tensor is not None else None
            if tensor is None:
                values.append(None)
            elif state.hooks:
                kind = fitting.Packed if place is None else fitting.PackedOutput
                values.append(kind(tensor, *state.hooks[-1]) if place is None else kind(tensor, self, *state.hooks[-1]))
            elif place is not None and tensor._node is not None:
                values.append((place, tensor._array, alias_of(tensor)))
            else:
                values.append(tensor)
        self.saved, self.to_save = tuple(values), ()
        self.frees = bool(values)

    def backward(self, g, saved):
        g = [None if p is None else wrap(p) for p in g] if type(g) is list else wrap(g)
        return tuple(None if t is None else t._array for t in self.backward_tensors(g, saved))

    def backward_tensors(self, g, saved):
        gradients = list(g) if type(g) is list else [g]
        if self.materialize_grads:
            gradients = [
                wrap(np.zeros(spec.shape, spec.dtype.numpy)) if p is None and spec is not None else p
                for p, spec in zip(gradients, self.output_specs, strict=True)
            ]
        function = type(self).function
        if function.vjp is not Function.vjp and function.backward is not Function.backward:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
                "implement one of them."
            )
        back = function.backward if function.backward is not Function.backward else function.vjp
        results = back(self, *gradients)
        return self.checked(results if isinstance(results, tuple) else (results,))

    def checked(self, results):
        """What backward returned, or an error that says what is wrong with it."""
        name, expected = self.name(), len(self.edges)
        if len(results) > expected and all(r is None for r in results[expected:]):
            results = results[:expected]
        if len(results) != expected:
            raise RuntimeError(
                f"function {name} returned an incorrect number of gradients (expected {expected}, got {len(results)})"
            )
        out = []
        for position, (result, edge, spec) in enumerate(zip(results, self.edges, self.input_specs, strict=True)):
            if result is None:
                out.append(None)
                continue
            if not isinstance(result, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(result).__name__})")
            if spec is None:
                raise RuntimeError(
                    f"function {name} returned a gradient different than None at position {position + 1}, but the "
                    "corresponding forward input was not a Variable"
                )
            if edge is None:
                out.append(None)
                continue
            if result.shape != spec.shape:
                try:
                    result = result.sum_to_size(spec.shape)
                except RuntimeError:
                    raise RuntimeError(
                        f"Function {name} returned an invalid gradient at index {position} - got {list(result.shape)} but "
                        f"expected shape compatible with {list(spec.shape)}"
                    ) from None
            if result._spec.dtype.is_complex and not spec.dtype.is_complex:
                raise RuntimeError(
                    f"Function {name} returned an invalid gradient at index {position} - expected a real gradient for a real "
                    f"input, but got {result._spec.dtype}"
                )
            if result._spec.dtype is not spec.dtype:
                result = fitting.fit_tensor(result, spec)
            out.append(result)
        return tuple(out)


class FunctionMeta(type):
    """Gives every Function its own class of nodes, named as PyTorch names them."""

    def __init__(cls, name, bases, members):
        super().__init__(name, bases, members)
        cls._backward_cls = type(name + "Backward", (FunctionNode,), {"function": cls})


class Function(metaclass=FunctionMeta):
    """Subclass it with static methods `forward` and `backward`; use it through `apply`.

    >>> class Cube(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x ** 3
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return g * 3 * x ** 2
    >>> x = torch.tensor(2., requires_grad=True)
    >>> Cube.apply(x).backward(); x.grad
    tensor(12.)
    """

    generate_vmap_rule = False

    def __call__(self, *args, **kwargs):
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
            "with static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args, **kwargs):
        """Compute the result; with `setup_context`, without ctx."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Save what backward needs, when forward takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """The gradients of the inputs from those of the outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """The tangents of the outputs from those of the inputs."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info, in_dims, *args):
        """The result for batched inputs."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args, **kwargs):
        """Run forward and record it."""
        payloads = [a._array for a in args if isinstance(a, Tensor) and type(a._array) is not np.ndarray]
        if payloads:
            return max(payloads, key=lambda payload: payload.level).apply_function(cls, args)
        return cls.run(args, kwargs)[0]

    @classmethod
    def run(cls, args, kwargs, edges=None, compute=None):
        """(outputs, ctx) of one application. A transform gives the edges on its own tape and how to compute the outputs."""
        ctx = cls._backward_cls()
        tensors = [a if isinstance(a, Tensor) else None for a in args]
        if edges is None:
            edges = tuple(None if t is None else t._node for t in tensors)
        recorded = recording() and any(edge is not None for edge in edges)
        ctx.needs_input_grad = tuple(recorded and edge is not None for edge in edges)
        own_context = cls.setup_context is not Function.setup_context
        if compute is None:
            with modes.no_grad():
                outputs = cls.forward(*args, **kwargs) if own_context else cls.forward(ctx, *args, **kwargs)
                if own_context:
                    cls.setup_context(ctx, args, outputs)
        else:
            outputs = compute()
            cls.setup_context(ctx, args, outputs)
        single = not isinstance(outputs, tuple)
        listed = [outputs] if single else list(outputs)
        listed = cls.connect(ctx, tensors, edges, listed, recorded)
        ctx.finish_saving(listed)
        if recorded and mode.special:
            fitting.on_record(ctx)
        return (listed[0] if single else tuple(listed)), ctx

    @classmethod
    def connect(cls, ctx, tensors, edges, outputs, recorded):
        """Make the outputs part of the graph."""
        ctx.edges, ctx.count = edges, len(outputs)
        ctx.input_specs = tuple(None if t is None else t._spec for t in tensors)
        ctx.output_specs = tuple(o._spec if isinstance(o, Tensor) else None for o in outputs)
        finished = []
        for position, output in enumerate(outputs):
            if not isinstance(output, Tensor):
                finished.append(output)
                continue
            is_input = any(output is t for t in tensors)
            dirty = any(output is t for t in ctx.dirty)
            differentiable = (
                recorded and output._spec.dtype.category >= 2 and not any(output is t for t in ctx.non_differentiable)
            )
            node = None
            if differentiable:
                node = ctx if ctx.count == 1 else Pick(ctx, position)
            if dirty:
                if not is_input:
                    raise RuntimeError("mark_dirty was called on a tensor that is not an input")
                if recorded and type(output._node) is AccumulateGrad:
                    raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
                check_inplace(output, recorded)
                alias_of(output).version.bump()
                ctx.seq = tick()
                if node is not None:
                    rebase(output, node)
            elif is_input:
                same = wrap(output._array)
                alias = alias_of(output)
                same._alias = Alias(
                    alias.version, output if alias.base is None else alias.base, alias.steps, "function"
                )
                same._node = node
                output = same
            else:
                if output._alias is not None and output._alias.base is not None and recorded:
                    output._alias.creation = "function"
                output._node = node
            if node is not None and output._alias is not None and not dirty:
                watch_output(node, output._alias.version)
            finished.append(output)
        for tensor in ctx.dirty:
            if not any(tensor is o for o in outputs):
                raise RuntimeError(
                    "Some elements marked as dirty during the forward method were not returned as output. The inputs that "
                    "are modified inplace must all be outputs of the Function."
                )
        ctx.dirty = ctx.non_differentiable = ()
        return finished


def once_differentiable(function):
    """Mark a backward that cannot be differentiated itself: trying to raises an error instead of being wrong.

    >>> from tensorgrad.autograd.function import once_differentiable
    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     @once_differentiable
    ...     def backward(ctx, g):
    ...         return g * 2
    >>> x = torch.ones(1, requires_grad=True); Double.apply(x).backward(); x.grad
    tensor([2.])
    """

    @functools.wraps(function)
    def wrapper(ctx, *gradients):
        with modes.no_grad():
            outputs = function(ctx, *gradients)
        if not modes.is_grad_enabled() or not any(isinstance(g, Tensor) and g.requires_grad for g in gradients):
            return outputs
        single = not isinstance(outputs, tuple)
        listed = [outputs] if single else outputs
        stopped = []
        for output in listed:
            if isinstance(output, Tensor):
                output = output.detach()
                output._node = Stop(gradients)
            stopped.append(output)
        return stopped[0] if single else tuple(stopped)

    return wrapper


class Stop(Node):
    """Raises when a gradient reaches a backward that was marked `once_differentiable`."""

    __slots__ = ()

    def __init__(self, gradients):
        self.seq, self.saved, self.extra = tick(), (), None
        self.edges = tuple(g._node for g in gradients if isinstance(g, Tensor))

    def backward(self, g, saved):
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")

    backward_tensors = backward
