"""The backward pass: gradients walk from the outputs to the leaves, newest node first.

Nodes are numbered as they are made, so the pending node with the highest number has received all its gradients: no
counting beforehand, no recursion, one heap. Two kinds of pass share the loop: a plain one on bare arrays, where nothing
is wrapped or recorded, and one on Tensors (`create_graph=True`, or inside a transform), which is recorded itself.
"""

import warnings
from heapq import heappop, heappush

import numpy as np

from tensorgrad.autograd import modes
from tensorgrad.autograd.graph import FREED, AccumulateGrad
from tensorgrad.autograd.modes import state
from tensorgrad.autograd.views import alias_of, check_outputs
from tensorgrad.backends.copying import in_order

ndarray = np.ndarray
Tensor = wrap = None  # set by tensorgrad.tensor


class Task:
    """One backward pass: what hooks and nested passes may want to know of it."""

    __slots__ = ("anomaly", "captured", "captures", "inputs_only", "keep", "needed", "roots", "tensors")

    def __init__(self, roots, keep, tensors, captures, closed=False):
        self.roots, self.keep, self.tensors = roots, keep, tensors
        # None to accumulate in every leaf, or node -> position in the result of `grad`, None for what hooks made of it.
        self.captures = captures
        self.captured, self.anomaly = {}, "anomaly" in modes._special
        self.needed = None if captures is None or closed else nodes_towards(captures, roots)


def walk(task):
    """Hand gradients down the graph until no node is pending."""
    add, tensors, keep, needed = np.add, task.tensors, task.keep, task.needed
    anomaly = task.anomaly
    rare = needed is not None or anomaly
    pending, heap = {}, []  # sequence number -> [node, gradient, whether the engine alone holds the gradient]
    for node, gradient in task.roots:
        deliver(pending, heap, node, gradient, tensors)
    # The node to run next, where no pending one is newer: along a chain the heap rests.
    following = arrived = alone = None
    while following is not None or heap:
        if following is None:
            node, g, fresh = pending.pop(-heappop(heap))
        else:
            node, g, fresh = following, arrived, alone
            following = arrived = None
        if node.extra is not None or rare or type(g) is list:
            g, fresh, go_on = before_node(task, node, g, fresh)
            if not go_on:
                continue
        saved = node.saved
        if saved is None:
            raise RuntimeError(FREED)
        if anomaly:
            gradients = watched(task, node, g, saved)
        elif tensors:
            gradients = node.backward_tensors(g, saved)
        elif type(node) is AccumulateGrad:
            gradients = accumulate(node, g, fresh)
        else:
            gradients = node.backward(g, saved)
        if node.frees and not keep:
            node.saved = None
        saved = None  # what was freed must not live on here
        if node.extra is not None:
            gradients = after_node(task, node, g, gradients)
        edges = node.edges
        fresh = node.fresh or (fresh and node.passes)
        for edge, gradient in zip(edges, gradients):
            if edge is None or gradient is None:
                continue
            seq = edge.seq
            if needed is not None and seq not in needed:
                continue
            if seq in pending:
                entry = pending[seq]
                if entry[2] and not tensors and type(entry[1]) is ndarray and entry[1].flags.writeable:
                    add(entry[1], gradient, entry[1])
                else:
                    entry[1], entry[2] = entry[1] + gradient, True
            elif following is None:
                following, arrived, alone = edge, gradient, fresh
            elif following is edge:
                arrived, alone = arrived + gradient, True
            else:
                pending[seq] = [edge, gradient, fresh]
                heappush(heap, -seq)
        gradients = gradient = g = None
        if following is not None and heap and following.seq < -heap[0]:
            pending[following.seq] = [following, arrived, alone]
            heappush(heap, -following.seq)
            following = arrived = None


def deliver(pending, heap, node, gradient, tensors):
    """Put the gradient of a root where the walk begins."""
    entry = pending.get(node.seq)
    if entry is None:
        pending[node.seq] = [node, gradient, False]
        heappush(heap, -node.seq)
    else:
        entry[1], entry[2] = entry[1] + gradient, True


def before_node(task, node, g, fresh):
    """Everything rare that happens before a node runs; returns its gradient and whether it should run."""
    if type(g) is list:  # of a node with several outputs: pairs of an output's number and its gradient
        parts, g = g, [None] * node.count
        for index, gradient in parts:
            g[index] = gradient if g[index] is None else g[index] + gradient
    extra, arrived = node.extra, g
    if extra is not None:
        fresh = False
        if extra.cells and (task.needed is None or task.needed.get(node.seq)):
            check_outputs(node)
        for hook in tuple(extra.tensor_hooks.values()):
            g = replaced(task, hook, g, hook(as_tensor(g)))
        if extra.retains is not None:
            tensor = extra.retains()
            if tensor is not None:
                old, new = tensor.__dict__.get("_grad"), as_tensor(g if task.tensors else np.array(g))
                tensor.__dict__["_grad"] = new if old is None else old + new
    if task.captures is not None and node in task.captures:
        # `grad` gives what arrives at a node that runs too, and what the hooks made of it where the walk ends.
        runs = task.captures[node] is not None and task.needed is not None and task.needed.get(node.seq)
        task.captured[node] = arrived if runs else g
    if task.needed is not None and not task.needed.get(node.seq):
        return g, False, False
    if extra is not None and extra.prehooks:
        for hook in tuple(extra.prehooks.values()):
            g = after_hook(task, hook, hook(wrapped(g)), g, "expected tuple, but hook returned '{}'")
    return g, fresh, True


def after_node(task, node, g, gradients):
    """The hooks that see a node's gradients."""
    for hook in tuple(node.extra.hooks.values()):
        gradients = after_hook(
            task,
            hook,
            hook(wrapped(list(gradients)), wrapped(g)),
            list(gradients),
            "expected tuple, but hook returned '{}'",
        )
    return gradients


def wrapped(g):
    """Gradients as hooks see them: a tuple of Tensors and None."""
    return tuple(None if each is None else as_tensor(each) for each in (g if type(g) is list else [g]))


def after_hook(task, hook, result, g, complaint):
    """The gradients after a hook of a node: what it returned, checked, or what they were."""
    if result is None:
        return g
    count = len(g) if type(g) is list else 1
    if not isinstance(result, (tuple, list)):
        raise TypeError(complaint.format(type(result).__name__))
    if len(result) != count:
        raise RuntimeError(
            f"hook '{getattr(hook, '__name__', hook)}' has returned an incorrect number of values (got {len(result)}, but "
            f"expected {count})"
        )
    new = [r if task.tensors or r is None else r._array for r in result]
    return new if type(g) is list else new[0]


def as_tensor(g):
    return g if isinstance(g, Tensor) else wrap(g if type(g) is ndarray else np.asarray(g))


def replaced(task, hook, g, result):
    """The gradient after a tensor hook: what the hook returned, checked, or what it was."""
    if result is None:
        return g
    name = getattr(hook, "__name__", hook)
    if not isinstance(result, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
    before = as_tensor(g)
    if result.shape != before.shape:
        raise RuntimeError(
            f"hook '{name}' has changed the size of value: {list(before.shape)} became {list(result.shape)}"
        )
    if result._spec.dtype is not before._spec.dtype:
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {before.type()} got {result.type()})")
    return result if task.tensors else result._array


def accumulate(node, g, fresh):
    """Add a gradient to `.grad` of a leaf: the array itself when nobody else holds it, else a copy."""
    if node.extra is not None:
        fresh = False
    grad = node.grad
    if grad is None:
        if not fresh or type(g) is not ndarray or not g.flags.c_contiguous or not g.flags.writeable:
            g = like_leaf(node, g)
        node.grad = wrap(g)
    elif isinstance(g, Tensor) or grad._node is not None or type(grad._array) is not ndarray:
        node.grad = grad + as_tensor(g)
    else:
        np.add(grad._array, g, grad._array)
        alias_of(grad).version.bump()
    if node.post_hooks:
        after_accumulation(node)
    return ()


def after_accumulation(node):
    """Call the hooks that wait for a leaf's gradient to be added up."""
    leaf = node.leaf()
    for hook in tuple(node.post_hooks.values()) if leaf is not None else ():
        result = hook(leaf)
        if result is not None:
            raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")


def like_leaf(node, g):
    """A copy of the gradient, laid out in memory as its leaf is."""
    leaf, g = node.leaf(), np.asarray(g)
    if leaf is not None and leaf._array.shape == g.shape:
        flags = leaf._array.flags
        if flags.f_contiguous and not flags.c_contiguous:
            return in_order(g.T).T
    return in_order(g)


def accumulate_tensors(node, g, saved):
    """The same in a recorded pass: out of place, so that the gradient stays part of the graph."""
    if type(g._array) is not ndarray:
        g._array.delivered(node)
    node.grad = g if node.grad is None else node.grad + g
    if node.post_hooks:
        after_accumulation(node)
    return ()


AccumulateGrad.backward_tensors = accumulate_tensors
AccumulateGrad.backward = lambda node, g, saved: accumulate(node, g, False)


def nodes_towards(captures, roots):
    """Which nodes lie between the roots and the captured ones: their numbers, with whether they have to run."""
    oldest = min((node.seq for node in captures), default=0)
    found, stack = {}, [node for node, _ in roots]
    while stack:
        node = stack.pop()
        if node.seq in found or node.seq < oldest:
            continue
        found[node.seq] = node
        stack.extend(edge for edge in node.edges if edge is not None)
    needed = {}
    for seq in sorted(found):
        node = found[seq]
        leads_on = any(edge is not None and edge.seq in needed for edge in node.edges)
        if leads_on or node in captures:
            needed[seq] = leads_on
    return needed


def reachable(roots):
    """All nodes that a full pass from the roots would visit."""
    found, stack = set(), [node for node, _ in roots]
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            stack.extend(edge for edge in node.edges if edge is not None)
    return found


def run(roots, *, keep=False, tensors=False, record=False, captures=None, closed=False):
    """Walk the graph from `roots`, pairs of a Node and its gradient; returns the captured gradients by node.

    closed: whether all of the graph leads to captured nodes that keep their gradient themselves (roots of transforms).
    """
    task = Task(roots, keep, tensors, captures, closed)
    previous, state.task = state.task, task
    recording = state.recording
    modes.set_recording(record)
    try:
        walk(task)
    finally:
        modes.set_recording(recording)
        state.task = previous
    return task.captured


def watched(task, node, g, saved):
    """A node's derivative in anomaly mode: an error or a NaN names the operation and shows where it was called."""
    from tensorgrad.autograd import anomaly

    trace = node.extra.trace if node.extra is not None else None
    if trace is None:
        where = "No forward pass information available. Enable detect anomaly during forward pass for more information."
    else:
        where = f"Traceback of forward call that caused the error:\n{trace}"
    try:
        gradients = node.backward_tensors(g, saved) if task.tensors else node.backward(g, saved)
    except Exception:
        warnings.warn(f"Error detected in {node.name()}. {where}", stacklevel=2)
        raise
    for position, gradient in enumerate(gradients if anomaly.check_nan else ()):
        array = getattr(gradient, "_array", gradient)
        if isinstance(array, (ndarray, np.generic)) and np.isnan(array).any():
            warnings.warn(f"Error detected in {node.name()}. {where}", stacklevel=2)
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {position}th output.")
    return gradients


BATCHED = (
    "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The sizes of the "
    "remaining dimensions are expected to match the shape of corresponding output, but a mismatch was detected: "
    "grad_output[{0}] has a shape of {1} and output[{0}] has a shape of {2}. If you only want some tensors in `grad_output` to "
    "be considered batched, consider using vmap."
)


def checked_gradient(output, gradient, position=0, batched=False):
    """The gradient to start from at `output`: given, or one for a scalar."""
    if gradient is None:
        if output._spec.size != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        if not (output._spec.dtype.is_floating_point):
            raise RuntimeError(
                f"grad can be implicitly created only for real scalar outputs but got {torch_name(output._spec.dtype)}"
            )
        return (
            output.new_ones(output.shape)
            if type(output._array) is not ndarray
            else wrap(np.ones(output._array.shape, output._array.dtype))
        )
    if not isinstance(gradient, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
    shape = gradient.shape[1:] if batched else gradient.shape
    if batched and (not gradient.shape or tuple(shape) != tuple(output.shape)):
        raise RuntimeError(BATCHED.format(position, gradient.shape, output.shape))
    if tuple(shape) != tuple(output.shape):
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{position}] has a shape of {gradient.shape} and output[{position}] has a "
            f"shape of {output.shape}."
        )
    wanted, given = output._spec.dtype, gradient._spec.dtype
    if wanted.is_complex != given.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{position}] has a dtype of {torch_name(given)} and output[{position}] has a dtype of "
            f"{torch_name(wanted)}."
        )
    return gradient if given is wanted else gradient.to(wanted)


def torch_name(dtype):
    return f"torch.{dtype.name}"
