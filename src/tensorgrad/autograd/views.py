"""Views, versions and in-place changes: how a write into shared memory keeps the graph right.

Tensors that share memory share one Version. It is made when memory is first shared or written to, so tensors that never
are cost nothing. A Node does not note the versions of what it saved: since every change takes a number from the same
clock as the nodes do, a saved tensor was spoiled if it changed after the node was made.

An in-place operation on a view is an operation on its base: the base gets a CopySlices node, and every living view of it
is derived from the base anew.
"""

import re
from weakref import ref

import numpy as np

from tensorgrad.autograd.graph import FREED, AccumulateGrad, Node, Pick, extra_of, tick
from tensorgrad.autograd.modes import mode, state
from tensorgrad.spec import spec_of

NEVER_BEFORE = 1 << 62  # later than every node
ndarray, new = np.ndarray, object.__new__
RECENT = 64  # how many changes a Version remembers one by one, to tell the expected version in an error


class Version:
    """How often the memory was changed, and when last."""

    __slots__ = ("changed", "count", "recent", "sweep_at", "views")

    def __init__(self):
        self.changed = self.count = 0
        self.recent, self.views, self.sweep_at = None, [], 16

    def bump(self):
        self.count += 1
        self.changed = tick()
        if self.recent is None:
            self.recent = []
        self.recent.append(self.changed)
        if len(self.recent) > RECENT:
            del self.recent[: RECENT // 2]

    def count_at(self, seq):
        """The version that the memory had when the node numbered `seq` was made."""
        return self.count - sum(changed > seq for changed in self.recent or ())

    def add_view(self, view):
        self.views.append(ref(view))
        if len(self.views) > self.sweep_at:
            self.views = [known for known in self.views if known() is not None]
            self.sweep_at = 2 * len(self.views) + 16


class Alias:
    """How a tensor shares memory: the Version, and for a view its base and the steps that lead from base to view.

    creation says which views autograd cannot rewrite: "multi", "no_grad", "inference", "function", else None.
    """

    __slots__ = ("base", "creation", "steps", "version")

    def __init__(self, version, base=None, steps=(), creation=None):
        self.version, self.base, self.steps, self.creation = version, base, steps, creation


def alias_of(tensor):
    """The Alias of a tensor, made when it is first needed."""
    alias = tensor._alias
    if alias is None:
        alias = tensor._alias = Alias(Version())
        watch_output(tensor._node, alias.version)
    return alias


def watch_output(node, version):
    """Let a node that saved its own output know the Version of that output, so that it sees later changes."""
    if type(node) is Pick:
        node, index = node.parent, node.index
    else:
        index = 0
    if node is not None and index in node.saved_outputs:
        extra_of(node).cells += (version,)


def share(view, source, step, multiple=False):
    """Make `view`, a tensor whose array was derived from that of `source` by `step`, a view of it."""
    alias = source._alias or alias_of(source)
    own = view._alias = new(Alias)
    version = own.version = alias.version
    own.base = source if alias.base is None else alias.base
    own.steps = (*alias.steps, step)
    own.creation = "multi" if multiple else alias.creation
    if mode.quiet and not state.recording:
        own.creation = "inference" if state.inference else alias.creation or "no_grad"
    version.add_view(view)


def share_detached(other, source):
    """Let `other` share memory and version of `source` without being a view that autograd follows."""
    other._alias = Alias(alias_of(source).version)


def type_name(spec):
    title = spec.dtype.title
    name = f"CPU{title}Type" if spec.dtype.is_complex or title == "BFloat16" else f"torch.{title}Tensor"
    return f"[{name} {list(spec.shape)}]"


def short_name(node):
    """The name of an operation without "Backward0", as PyTorch's errors give it."""
    return re.sub(r"Backward\d*$", "", node.name())


def check_saved(tensor, node):
    """Raise if `tensor`, saved by `node`, has been changed in place since."""
    alias = tensor._alias
    if alias is not None and alias.version.changed > node.seq:
        maker = tensor._node
        raise_modified(tensor._spec, alias.version, node, maker)


def check_outputs(node):
    """Raise if an output that `node` saved has been changed in place since."""
    for version in node.extra.cells:
        if version.changed > node.seq:
            saved = node.saved[node.saved_names["result"]] if "result" in node.saved_names and node.saved else None
            raise_modified(spec_of(saved) if type(saved) is ndarray else None, version, node, node)


def raise_modified(spec, version, node, maker):
    what = type_name(spec) if spec is not None else ""
    if maker is not None and type(maker) is not AccumulateGrad:
        output, maker = (maker.index, maker.parent) if type(maker) is Pick else (0, maker)
        what += (
            f", which is output {output} of {short_name(maker)}," if what else f"output {output} of {short_name(maker)}"
        )
    if node.extra is not None and node.extra.trace is not None:
        hint = (
            "Hint: the backtrace further above shows the operation that failed to compute its gradient. The variable in "
            "question was changed in there or anywhere later. Good luck!"
        )
    else:
        hint = (
            "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
            "torch.autograd.set_detect_anomaly(True, check_nan=False)."
        )
    raise RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"{what} is at version {version.count}; expected version {version.count_at(node.seq)} instead. {hint}\n"
        f"The value was needed by {node.name()}: change a clone() instead, or use the operation that returns a new tensor."
    )


def overwritten(tensor):
    """A stand-in for a tensor that is saved although its memory has just been written to: reading it back raises."""
    twin = tensor.detach()
    twin._alias = Alias(Version())
    twin._alias.version.bump()
    twin._alias.version.changed = NEVER_BEFORE
    twin._node = tensor._node
    return twin


# In-place operations: check, let the operation write, then tell the graph.

LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
VIEW_OF_LEAF = "a view of a leaf Variable that requires grad is being used in an in-place operation."
INFERENCE = (
    "Inplace update to inference tensor outside InferenceMode is not allowed."
    "You can make a clone to get a normal tensor before doing inplace update."
    "See https://github.com/pytorch/rfcs/pull/17 for more details."
)
CREATIONS = {
    "multi": "Output {index} of {name} is a view and is being modified inplace. This view is the output of a function "
    "that returns multiple views. Such functions do not allow the output views to be modified inplace. You should "
    "replace the inplace operation by an out-of-place one.",
    "no_grad": "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that "
    "this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and "
    "the inplace either both inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if "
    "you want the inplace to be tracked).",
    "inference": "A view was created in inference mode and is being modified inplace in normal mode. Given that this "
    "use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the "
    "inplace either both inside the inference_mode block (if you don't want the inplace to be tracked) or both outside "
    "(if you want the inplace to be tracked).",
    "function": "Output {index} of {name} is a view and is being modified inplace. This view was created inside a "
    "custom Function (or because an input was returned as-is) and the autograd logic to handle view+inplace would "
    "override the custom backward associated with the custom Function, leading to incorrect gradients. This behavior is "
    "forbidden. You can fix this by cloning the output of the custom Function.",
}


def check_inplace(tensor, recorded):
    """Raise PyTorch's error if `tensor` must not be written to; `recorded`: the operation will have a gradient."""
    if tensor._spec.inference and not state.inference:
        raise RuntimeError(INFERENCE)
    alias = tensor._alias
    if not recorded and (
        alias is None or alias.base is None or alias.base._node is None or not state.recording or alias.creation is None
    ):
        return
    if alias is not None and alias.base is not None:
        if alias.creation is not None:
            node = tensor._node
            index, maker = (node.index, node.parent) if type(node) is Pick else (0, node)
            name = short_name(maker) if maker is not None else "a function"
            raise RuntimeError(CREATIONS[alias.creation].format(index=index, name=name))
        if type(alias.base._node) is AccumulateGrad:
            raise RuntimeError(VIEW_OF_LEAF)
    if type(tensor._node) is AccumulateGrad:
        raise RuntimeError(LEAF)


def rebase(tensor, node):
    """The memory of `tensor` was just written by the operation recorded as `node`: let the graph say so."""
    alias = tensor._alias
    base = alias.base
    if base is None:
        base = tensor
    else:
        node = CopySlices(base, alias.steps, node)
    keep_retained(base, node)
    base._node = node
    watch_output(node, alias.version)
    for living in alias.version.views:
        view = living()
        if view is None or view._alias.base is not base:
            continue
        if view._alias.creation is None:
            view._node = AsStridedBackward0(node, view._alias.steps)
        elif view._alias.creation == "multi" and view is not tensor:
            mode.careful = True
            view._node, view._spec = BrokenView(view._node), view._spec.variant(transformed=True)


def keep_retained(tensor, node):
    """A tensor that retains its gradient goes on doing so at its new node."""
    old = tensor._node
    if old is not None and old.extra is not None and old.extra.retains is not None and type(old) is not AccumulateGrad:
        extra_of(node).retains, old.extra.retains = old.extra.retains, None


def follow(steps, value):
    """The view that `steps` lead to, of an array or of a Tensor."""
    for primitive, params, _ in steps:
        value = primitive.on(value, params)
    return value


def replaced(steps, whole, part):
    """`whole` with `part` where `steps` lead to, as a new tensor: for parts that cannot be written into it (see func)."""
    hole = whole.clone()
    follow(steps, hole).zero_()
    for primitive, params, spec in reversed(steps):
        part = primitive.transposed(part, spec, params)
    return hole + part


class BrokenView(Node):
    """Stands at one of several views made at once after their base was written to: using it raises PyTorch's error.

    The Spec of such a view keeps it off the fast path, so that `record` sees this node.
    """

    __slots__ = ("complaint",)

    def __init__(self, node):
        index, maker = (node.index, short_name(node.parent)) if type(node) is Pick else (0, "a function")
        self.seq, self.edges, self.saved, self.extra = tick(), (), (), None
        self.complaint = (
            f"Output {index} of {maker} is a view and its base or another view of its base has been modified inplace. This "
            "view is the output of a function that returns multiple views. Such functions do not allow the output views to "
            "be modified inplace. You should replace the inplace operation by an out-of-place one."
        )

    def backward(self, g=None, saved=None):
        raise RuntimeError(self.complaint)

    backward_tensors = backward


class AsStridedBackward0(Node):
    """A view derived anew from its base after the base was written to."""

    __slots__ = ()

    def __init__(self, base_node, steps):
        self.seq, self.edges, self.saved, self.extra = tick(), (base_node,), (steps,), None

    def backward(self, g, saved):
        for primitive, params, spec in reversed(saved[0]):
            g = primitive.transposed(g, spec, params)
        return (g,)

    backward_tensors = backward


def check_function(function):
    if function.saved is None:
        raise RuntimeError(FREED)
    if function.extra is not None:
        check_outputs(function)


class CopySlices(Node):
    """A write into a view, seen from its base: outside the view gradients pass, inside they belong to the operation."""

    __slots__ = ()
    frees = True
    prefix = "torch::autograd::"

    def __init__(self, base, steps, function):
        self.seq, self.extra = tick(), None
        self.edges = (base._node, *function.edges[1:])
        self.saved = (steps, function)

    def backward(self, g, saved):
        steps, function = saved
        check_function(function)
        whole = np.array(g)  # g may be a NumPy scalar
        part = follow(steps, whole)
        inner, *others = function.backward(part.copy(), function.saved)
        part[...] = 0 if inner is None else inner
        return (whole, *others)

    def backward_tensors(self, g, saved):
        steps, function = saved
        check_function(function)
        whole = g.clone()
        part = follow(steps, whole)
        inner, *others = function.backward_tensors(part.clone(), function.saved)
        if inner is not None and type(inner._array) is not ndarray:
            return (replaced(steps, g, inner), *others)
        part.zero_() if inner is None else part.copy_(inner)
        return (whole, *others)
