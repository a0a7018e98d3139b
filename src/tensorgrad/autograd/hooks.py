"""Ways to look into the graph and change what happens in it: saved-tensor hooks, multi-gradient hooks, gradient edges.

Public as `tensorgrad.autograd.graph`, as in PyTorch.
"""

import threading

import numpy as np

from tensorgrad.autograd import engine
from tensorgrad.autograd.differentiate import GradientEdge, get_gradient_edge
from tensorgrad.autograd.graph import FREED, AccumulateGrad, Node, RemovableHandle
from tensorgrad.autograd.modes import hold_special, release_special, state
from tensorgrad.autograd.views import alias_of
from tensorgrad.ops import fitting


class saved_tensors_hooks:
    """Pass every tensor that is saved for backward through `pack_hook`, and back through `unpack_hook` when needed.

    >>> x = torch.tensor([3.], requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), lambda l: torch.tensor(l)):
    ...     y = x * x
    >>> y.backward(); x.grad
    tensor([6.])
    """

    def __init__(self, pack_hook, unpack_hook):
        self.pair = pack_hook, unpack_hook

    def __enter__(self):
        if state.hooks_disabled is not None:
            raise RuntimeError(state.hooks_disabled)
        state.hooks = (*state.hooks, self.pair)
        hold_special("hooks")

    def __exit__(self, *_):
        state.hooks = state.hooks[:-1]
        release_special("hooks")


class SavedTensor:
    """One value that a node saved, `grad_fn._raw_saved_NAME`: it can be given hooks of its own.

    >>> x = torch.tensor([3.], requires_grad=True); y = x.exp()
    >>> y.grad_fn._raw_saved_result.register_hooks(lambda t: t.tolist(), lambda l: torch.tensor(l) * 2)
    >>> y.backward(); x.grad
    tensor([40.1711])
    """

    def __init__(self, node, name):
        self.node, self.name = node, name

    def register_hooks(self, pack_hook, unpack_hook):
        """Pass this value through `pack_hook` now and through `unpack_hook` when it is needed."""
        node = self.node
        if node.saved is None:
            raise RuntimeError(FREED)
        node.generalize()
        position = node.saved_names[self.name]
        value = node.saved[position]
        if isinstance(value, fitting.Packed):
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is "
                "allowed at a time."
            )
        if not isinstance(value, fitting.Tensor) and type(value) is not np.ndarray:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        packed = fitting.packed_value(node, position, value, pack_hook, unpack_hook)
        node.saved = (*node.saved[:position], packed, *node.saved[position + 1 :])


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors on the CPU: they are there already, so each is kept as a copy.

    >>> x = torch.tensor([3.], requires_grad=True)
    >>> with torch.autograd.graph.save_on_cpu():
    ...     y = x * x
    >>> y.backward(); x.grad
    tensor([6.])
    """

    def __init__(self, pin_memory=False, device_type="cuda"):
        if pin_memory:
            raise RuntimeError("Cannot access accelerator device when none is available: pin_memory needs CUDA")
        super().__init__(lambda tensor: tensor.detach().clone(), lambda tensor: tensor)


class disable_saved_tensors_hooks:
    """Make `saved_tensors_hooks` an error with the given message.

    >>> with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
    ...     pass
    """

    def __init__(self, error_message):
        self.message = error_message

    def __enter__(self):
        if state.hooks:
            raise RuntimeError(self.message)
        self.previous, state.hooks_disabled = state.hooks_disabled, self.message

    def __exit__(self, *_):
        state.hooks_disabled = self.previous


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Call `fn` when the gradients of several tensors have been computed ("all") or the first of them ("any").

    >>> x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    >>> handle = torch.autograd.graph.register_multi_grad_hook((x, y), lambda grads: print(grads))
    >>> (x * 2 + y * 3).backward()
    (tensor([2.]), tensor([3.]))
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    lock, passes = threading.Lock(), {}
    nodes = [tensor._node for tensor in tensors]

    def hook_for(position):
        def hook(gradient):
            task = state.task
            with lock:
                if task not in passes:
                    passes.clear()
                    expected = 1
                    if mode == "all":
                        reached = engine.reachable(task.roots) if task.needed is None else None
                        expected = sum(
                            node in reached if reached is not None else node.seq in task.needed for node in nodes
                        )
                    passes[task] = [expected, [None] * len(nodes)]
                entry = passes[task]
                entry[0] -= 1
                entry[1][position] = gradient
                ready = entry[0] == 0
                gradients = tuple(entry[1])
            if ready:
                fn(gradient if mode == "any" else gradients)

        return hook

    handles = [tensor.register_hook(hook_for(position)) for position, tensor in enumerate(tensors)]
    return MultiHandle(handles)


class MultiHandle:
    """Removes several hooks at once."""

    def __init__(self, handles):
        self.handles = tuple(handles)

    def remove(self):
        for handle in self.handles:
            handle.remove()


def increment_version(tensor):
    """Tell autograd that a tensor was changed behind its back.

    >>> x = torch.ones(1); torch.autograd.graph.increment_version(x); x._version
    1
    """
    for each in (tensor,) if isinstance(tensor, engine.Tensor) else tensor:
        if not isinstance(each, engine.Tensor):
            raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
        alias_of(each).version.bump()


__all__ = ["AccumulateGrad", "GradientEdge", "Node", "RemovableHandle", "disable_saved_tensors_hooks", "get_gradient_edge",
           "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks"]  # fmt: skip
