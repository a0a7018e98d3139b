"""Hooks of modules: how they are registered, and the call of a module that has some.

A module without hooks never comes here (see Module.__call__). Backward hooks work through two identities in the graph,
one around what goes into the module and one around what comes out: their nodes see the gradients.
"""

import functools
import warnings
from collections import OrderedDict

from tensorgrad.autograd.function import Function
from tensorgrad.autograd.graph import RemovableHandle
from tensorgrad.autograd.modes import is_grad_enabled
from tensorgrad.tensor import Tensor


class Handle(RemovableHandle):
    """Takes a hook away again, and with it what is noted about the hook elsewhere."""

    def __init__(self, hooks, hook, prepend=False, notes=()):
        self.hooks, self.id, self.notes = hooks, next(self._ids), notes
        hooks[self.id] = hook
        if prepend:
            hooks.move_to_end(self.id, last=False)
        for note in notes:
            note[self.id] = True

    def remove(self):
        for hooks in (self.hooks, *self.notes):
            hooks.pop(self.id, None)


class Everywhere:
    """The hooks that every module calls."""

    def __init__(self):
        self.forward_pre, self.forward, self.backward_pre, self.backward = (OrderedDict() for _ in range(4))
        self.with_kwargs, self.always_called = {}, {}
        self.full = None  # whether the backward hooks are full ones
        self.calls = {}  # the hooks of calls of any kind: while it is empty, a call need not look further
        self.parameters, self.buffers, self.modules = OrderedDict(), OrderedDict(), OrderedDict()


everywhere = Everywhere()


class HooksMixin:
    """The methods that register hooks."""

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Call `hook(module, args)` before forward; what it returns replaces the arguments.

        >>> layer = torch.nn.ReLU()
        >>> handle = layer.register_forward_pre_hook(lambda module, args: (args[0] + 10,)); layer(torch.zeros(1))
        tensor([10.])
        """
        notes = (self._forward_pre_hooks_with_kwargs,) if with_kwargs else ()
        return Handle(self._forward_pre_hooks, hook, prepend, notes)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Call `hook(module, args, output)` after forward; what it returns replaces the output.

        >>> layer = torch.nn.ReLU()
        >>> handle = layer.register_forward_hook(lambda module, args, output: output + 10); layer(torch.zeros(1))
        tensor([10.])
        """
        notes = (self._forward_hooks_with_kwargs,) if with_kwargs else ()
        if always_call:
            notes = (*notes, self._forward_hooks_always_called)
        return Handle(self._forward_hooks, hook, prepend, notes)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Call `hook(module, grad_output)` before the module's backward; what it returns replaces the gradients.

        >>> layer = torch.nn.ReLU(); x = torch.ones(1, requires_grad=True)
        >>> handle = layer.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 10,))
        >>> layer(x).backward(); x.grad
        tensor([10.])
        """
        return Handle(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Call `hook(module, grad_input, grad_output)` after the module's backward; what it returns replaces grad_input.

        >>> layer = torch.nn.ReLU(); x = torch.ones(1, requires_grad=True)
        >>> handle = layer.register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] * 10,))
        >>> layer(x).backward(); x.grad
        tensor([10.])
        """
        if self._is_full_backward_hook is False:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them."
            )
        self._is_full_backward_hook = True
        return Handle(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook):
        """The old form of `register_full_backward_hook`: it sees the gradients of the last operation only.

        >>> import warnings; warnings.simplefilter("ignore")
        >>> layer = torch.nn.ReLU(); x = torch.ones(1, requires_grad=True)
        >>> handle = layer.register_backward_hook(lambda module, grad_input, grad_output: print(grad_output))
        >>> layer(x).backward()
        (tensor([1.]),)
        """
        if self._is_full_backward_hook is True:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them."
            )
        self._is_full_backward_hook = False
        return Handle(self._backward_hooks, hook)


# The call of a module with hooks


def call_with_hooks(module, args, kwargs):
    """forward between its hooks."""
    called = set()
    try:
        return _call(module, args, kwargs, called)
    except Exception:
        _call_the_rest(module, args, kwargs, called)
        raise


def _call(module, args, kwargs, called):
    full, full_pre, plain = [], [], []
    if everywhere.backward_pre or module._backward_pre_hooks:
        full_pre = [*everywhere.backward_pre.values(), *module._backward_pre_hooks.values()]
    if everywhere.backward:
        (full if everywhere.full else plain).extend(everywhere.backward.values())
    if module._backward_hooks:
        (full if module._is_full_backward_hook else plain).extend(module._backward_hooks.values())
    for key, hook in [*everywhere.forward_pre.items(), *module._forward_pre_hooks.items()]:
        if key in module._forward_pre_hooks_with_kwargs:
            replaced = hook(module, args, kwargs)
            if replaced is not None:
                if not (isinstance(replaced, tuple) and len(replaced) == 2):
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {replaced}."
                    )
                args, kwargs = replaced
        else:
            replaced = hook(module, args)
            if replaced is not None:
                args = replaced if isinstance(replaced, tuple) else (replaced,)
    watch = None
    if full or full_pre:
        watch = Watch(module, full, full_pre)
        args = watch.inputs(args)
    result = module.forward(*args, **kwargs)
    for key, hook in [*everywhere.forward.items(), *module._forward_hooks.items()]:
        if key in everywhere.always_called or key in module._forward_hooks_always_called:
            called.add(key)
        result = _after(module, key, hook, args, kwargs, result)
    if watch is not None:
        if isinstance(result, (Tensor, tuple)):
            result = watch.outputs(result)
        else:
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}",
                stacklevel=4,
            )
    if plain:
        _watch_last_operation(module, plain, args, result)
    return result


def _after(module, key, hook, args, kwargs, result):
    if key in module._forward_hooks_with_kwargs or key in everywhere.with_kwargs:
        replaced = hook(module, args, kwargs, result)
    else:
        replaced = hook(module, args, result)
    return result if replaced is None else replaced


def _call_the_rest(module, args, kwargs, called):
    """After an error: the forward hooks that are to be called whatever happens."""
    for noted, hooks in ((everywhere.always_called, everywhere.forward),
                         (module._forward_hooks_always_called, module._forward_hooks)):  # fmt: skip
        for key, hook in list(hooks.items()):
            if key in noted and key not in called:
                try:
                    _after(module, key, hook, args, kwargs, None)
                except Exception as error:
                    kind = "global module forward hook" if hooks is everywhere.forward else "module forward hook"
                    warnings.warn(f"{kind} with ``always_call=True`` raised an exception that was silenced as another "
                                  f"error was raised in forward: {error}", stacklevel=4)  # fmt: skip


def _watch_last_operation(module, hooks, args, result):
    """The old backward hooks: on the node that made the first tensor of the result."""
    whole = result
    while not isinstance(result, Tensor):
        result = (
            next((v for v in result.values() if isinstance(v, Tensor)), None) if isinstance(result, dict) else result[0]
        )
    node = result.grad_fn
    if node is not None:
        for hook in hooks:
            node.register_hook(functools.wraps(hook)(functools.partial(hook, module)))
        missing = _missed(args, whole, node)
        if missing is not None:
            warnings.warn(
                f"Using {missing}. Please use register_full_backward_hook to get the documented behavior.",
                FutureWarning,
                stacklevel=4,
            )


def _missed(args, result, node):
    """What an old backward hook on this node does not see, in PyTorch's words; None: it sees all."""
    on_module, later = (
        "non-full backward hooks on a Module that does not",
        "deprecated and will be removed in future versions",
    )
    only_tensors = lambda values: isinstance(values, tuple) and all(isinstance(value, Tensor) for value in values)
    results = (result,) if isinstance(result, Tensor) else result
    if not only_tensors(results):
        return (
            f"{on_module} return a single Tensor or a tuple of Tensors is {later}. This hook will be missing some of the "
            "grad_output"
        )
    if not only_tensors(args):
        return (
            f"{on_module} take as input a single Tensor or a tuple of Tensors is {later}. This hook will be missing some of "
            "the grad_input"
        )
    if len({value.grad_fn for value in results}) > 1:
        return (
            f"a non-full backward hook when outputs are generated by different autograd Nodes is {later}. This hook will be "
            "missing some grad_output"
        )
    if {value.grad_fn for value in args} != {edge for edge, _ in node.next_functions}:
        return (
            f"a non-full backward hook when the forward contains multiple autograd Nodes is {later}. This hook will be "
            "missing some grad_input"
        )
    return None


class BackwardHookFunction(Function):
    """The identity, whose node a module's backward hooks hang on."""

    @staticmethod
    def forward(ctx, *tensors):
        ctx.mark_non_differentiable(*[tensor for tensor in tensors if not tensor.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx, *gradients):
        return gradients


class Watch:
    """One call of a module: brings the gradients of its outputs and of its inputs together for the hooks."""

    def __init__(self, module, hooks, pre_hooks):
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.input_places = self.grad_outputs = None
        self.n_inputs = -1

    def inputs(self, args):
        self.n_inputs = len(args)
        args, self.input_places, node = self.identity(args)
        if node is not None:
            node.register_hook(self.on_inputs)
        return args

    def outputs(self, result):
        single = not isinstance(result, tuple)
        values, places, node = self.identity((result,) if single else result)
        if node is not None:
            self.output_places, self.n_outputs = places, len(values)
            node.register_prehook(self.on_outputs)
        return values[0] if single else values

    def identity(self, values):
        """(values with their tensors sent through the identity, where those stand, its node)."""
        places = [place for place, value in enumerate(values) if isinstance(value, Tensor)]
        tensors = [values[place] for place in places]
        if not (is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)):
            return values, None, None
        passed = BackwardHookFunction.apply(*tensors)
        node = next(tensor.grad_fn for tensor in passed if tensor.requires_grad)
        changed = list(values)
        for place, tensor in zip(places, passed):
            changed[place] = tensor
        if type(values) is tuple:
            return tuple(changed), places, node
        return type(values)(*changed), places, node  # a named tuple

    def on_outputs(self, gradients):
        gradients = self.spread(gradients, self.output_places, self.n_outputs)
        replaced = None
        for hook in self.pre_hooks:
            given = hook(self.module, gradients)
            if given is None:
                continue
            given = given if isinstance(given, tuple) else (given,)
            if len(given) != len(gradients):
                raise RuntimeError(
                    "Backward pre hook returned an invalid number of grad_output, "
                    f"got {len(given)}, but expected {len(gradients)}"
                )
            gradients = replaced = given
        self.grad_outputs = gradients
        if self.input_places is None:  # no input has a gradient: the hooks are called here, with None for each
            nothing = (None,) * self.n_inputs
            for hook in self.hooks:
                given = hook(self.module, nothing, gradients)
                if given is not None and not (isinstance(given, tuple) and all(g is None for g in given)):
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always return None or None "
                        "for all gradients."
                    )
            self.grad_outputs = None
        return None if replaced is None else tuple(replaced[place] for place in self.output_places)

    def on_inputs(self, gradients, _):
        if self.grad_outputs is None:
            raise RuntimeError(
                "Module backward hook for grad_input is called before the grad_output one. This happens because the "
                "gradient in your nn.Module flows to the Module's input without passing through the Module's output. Make "
                "sure that the output depends on the input and that the loss is computed based on the output."
            )
        gradients = self.spread(gradients, self.input_places, self.n_inputs)
        for hook in self.hooks:
            given = hook(self.module, gradients, self.grad_outputs)
            if given is None:
                continue
            given = given if isinstance(given, tuple) else (given,)
            if len(given) != len(gradients):
                raise RuntimeError(
                    "Backward hook returned an invalid number of grad_input, "
                    f"got {len(given)}, but expected {len(gradients)}"
                )
            gradients = given
        self.grad_outputs = None
        return tuple(gradients[place] for place in self.input_places)

    @staticmethod
    def spread(gradients, places, count):
        spread = [None] * count
        for place, gradient in zip(places, gradients):
            spread[place] = gradient
        return tuple(spread)


# Hooks of all modules


def register_module_forward_pre_hook(hook):
    """Call a forward pre-hook for every module.

    >>> handle = torch.nn.modules.module.register_module_forward_pre_hook(lambda module, args: print(module))
    >>> x = torch.nn.ReLU()(torch.ones(1)); handle.remove()
    ReLU()
    """
    return Handle(everywhere.forward_pre, hook, False, (everywhere.calls,))


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """Call a forward hook for every module.

    >>> handle = torch.nn.modules.module.register_module_forward_hook(lambda module, args, output: print(output))
    >>> x = torch.nn.ReLU()(torch.ones(1)); handle.remove()
    tensor([1.])
    """
    notes = (everywhere.calls, everywhere.with_kwargs) if with_kwargs else (everywhere.calls,)
    if always_call:
        notes = (*notes, everywhere.always_called)
    return Handle(everywhere.forward, hook, False, notes)


def register_module_backward_hook(hook):
    """Call an old backward hook for every module: it sees the gradients of the last operation only.

    >>> handle = torch.nn.modules.module.register_module_backward_hook(lambda module, gi, go: None); handle.remove()
    """
    if everywhere.full is True and everywhere.backward:
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only one of them."
        )
    everywhere.full = False
    return Handle(everywhere.backward, hook, False, (everywhere.calls,))


def register_module_full_backward_pre_hook(hook):
    """Call a full backward pre-hook for every module.

    >>> handle = torch.nn.modules.module.register_module_full_backward_pre_hook(lambda module, go: print(go))
    >>> torch.nn.ReLU()(torch.ones(1, requires_grad=True)).backward(); handle.remove()
    (tensor([1.]),)
    """
    return Handle(everywhere.backward_pre, hook, False, (everywhere.calls,))


def register_module_full_backward_hook(hook):
    """Call a full backward hook for every module.

    >>> handle = torch.nn.modules.module.register_module_full_backward_hook(lambda module, gi, go: print(gi))
    >>> torch.nn.ReLU()(torch.ones(1, requires_grad=True)).backward(); handle.remove()
    (tensor([1.]),)
    """
    if everywhere.full is False and everywhere.backward:
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only one of them."
        )
    everywhere.full = True
    return Handle(everywhere.backward, hook, False, (everywhere.calls,))


def register_module_parameter_registration_hook(hook):
    """Call `hook(module, name, parameter)` for every parameter that a module registers; what it returns replaces it.

    >>> register = torch.nn.modules.module.register_module_parameter_registration_hook
    >>> handle = register(lambda module, name, parameter: print(name)); m = torch.nn.Linear(1, 1); handle.remove()
    weight
    bias
    """
    return Handle(everywhere.parameters, hook)


def register_module_buffer_registration_hook(hook):
    """Call `hook(module, name, buffer)` for every buffer that a module registers; what it returns replaces it.

    >>> register = torch.nn.modules.module.register_module_buffer_registration_hook
    >>> handle = register(lambda module, name, buffer: None); handle.remove()
    """
    return Handle(everywhere.buffers, hook)


def register_module_module_registration_hook(hook):
    """Call `hook(module, name, submodule)` for every submodule that a module registers; what it returns replaces it.

    >>> register = torch.nn.modules.module.register_module_module_registration_hook
    >>> handle = register(lambda module, name, submodule: print(name)); m = torch.nn.Sequential(torch.nn.ReLU()); handle.remove()
    0
    """
    return Handle(everywhere.modules, hook)
