"""Which transforms are at work: a stack of levels per thread, and what every value of a transform has in common.

A value of a transform (`Batched`, `Dual`) stands where a tensor's array would: it is its payload. It belongs to one Level
and holds tensors of lower levels. The tape of a tensor with a payload is its own: `_node` of the outer tensor belongs to
gradients taken inside the transform, `_node` of the tensors in its payload to those taken outside. So nothing has to be
told apart when transforms nest: each gradient finds its own graph.
"""

import itertools
import threading

import numpy as np

from tensorgrad.autograd.graph import Node, Pick, tick
from tensorgrad.autograd.modes import mode, state
from tensorgrad.autograd.views import alias_of, check_inplace, overwritten, rebase, share, share_detached
from tensorgrad.dtypes import FLOAT
from tensorgrad.ops.primitive import piece_of, shallow, shares_memory
from tensorgrad.tensor import Tensor

ndarray, new = np.ndarray, object.__new__
numbers = itertools.count(1).__next__
names = None  # names.transforms, once a name is in use: it stands between transforms and tensors whose dimensions have names


class Level:
    """One transform at work. Deeper levels have higher numbers."""

    __slots__ = ("alive", "depth", "grads", "kind", "number", "payload", "randomness", "recording", "size")

    def __init__(self, kind, payload=None, size=None, randomness="error"):
        self.kind, self.payload, self.size, self.randomness = kind, payload, size, randomness
        self.number, self.alive, self.depth = numbers(), True, 0
        self.recording = True  # False while a gradient walks the tape of this level without being recorded itself
        self.grads = 0  # how many gradients are being taken right inside this level


class _Stack(threading.local):
    """The levels of this thread, outermost first."""

    def __init__(self):
        self.levels = []


stack = _Stack()


class entered:
    """`with entered(level):` the level is at work."""

    __slots__ = ("home", "level")

    def __init__(self, level):
        self.level = level

    def __enter__(self):
        level = self.level
        self.home = innermost() if level.kind == "grad" else None
        if self.home is not None:
            self.home.grads += 1
        stack.levels.append(level)
        level.depth = len(stack.levels)
        return level

    def __exit__(self, *_):
        self.level.alive = False
        stack.levels.remove(self.level)
        if self.home is not None:
            self.home.grads -= 1


def with_names(func):
    """What stands between a transform and `func` for the names of dimensions, if they are in use: names.transforms."""
    return None if names is None or hasattr(func, "border") else names


def innermost():
    """The deepest level that makes payloads (vmap or forward mode), or None."""
    for level in reversed(stack.levels):
        if level.payload is not None:
            return level
    return None


def in_function():
    """Whether a function is being transformed right now (a `dual_level` of forward mode is no function)."""
    return any(level.kind != "dual" for level in stack.levels)


class Payload:
    """What stands for a tensor's array inside a transform.

    owner: its Level; level: the number of that; spec: shape and dtype as seen from inside.
    """

    __slots__ = ("level", "owner", "spec")
    follows_views = False  # whether views are followed even while no gradient is being taken

    # The outside of an array, for code that only asks how numbers lie. They lie as if freshly made.

    shape = property(lambda self: self.spec.shape)
    ndim = property(lambda self: len(self.spec.shape))
    size = property(lambda self: self.spec.size)
    dtype = property(lambda self: self.spec.dtype.numpy)
    itemsize = property(lambda self: self.spec.dtype.itemsize)
    nbytes = property(lambda self: self.spec.size * self.spec.dtype.itemsize)

    class flags:
        c_contiguous = forc = writeable = owndata = True
        f_contiguous = False

    @property
    def strides(self):
        steps, step = [], self.itemsize
        for n in reversed(self.spec.shape):
            steps.append(step)
            step *= max(n, 1)
        return tuple(reversed(steps))

    def viewable(self, shape):
        """Whether the numbers can be seen in another shape without a copy."""
        return True

    def dynamic(self, name):
        """The tensor inside, for an operation whose result's shape depends on its numbers."""
        raise self.no_numbers()

    def pull_elements(self, primitive, edges, g, values, specs):
        """The gradients of an operation on elements, where they can be told without operations on tensors."""
        return None

    def delivered(self, node):
        """A gradient with this payload has reached a leaf."""

    def as_tensor(self):
        """A tensor around this payload."""
        tensor = new(Tensor)
        tensor._array, tensor._spec = self, self.spec
        tensor._node = tensor._alias = None
        return tensor

    def __array__(self, dtype=None, copy=None):
        raise self.no_numbers()

    def __array_ufunc__(self, *args, **kwargs):
        raise self.no_numbers()

    def no_numbers(self):
        return RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    def numpy(self, tensor=None):
        raise self.no_numbers()

    def tolist(self):
        raise self.no_numbers()

    __bool__ = item = astype = copy = view = tolist


def lifted_spec(spec):
    """The same Spec, for tensors that the fast path leaves alone."""
    variants = spec.variants
    if variants is None:
        variants = spec.variants = {}
    found = variants.get("lifted")
    if found is None:
        found = variants["lifted"] = spec.variant(transformed=True, inference=spec.inference)
    return found


def fresh_like(tensor, make, shape):
    """New memory for a tensor of this shape, with a row for each row of `tensor` where that is batched."""
    array = tensor._array
    return array.fresh(make, shape) if isinstance(array, Payload) else make(shape)


def in_graph(tensor):
    """Whether a tensor, or anything inside its payload, was recorded."""
    if tensor._node is not None:
        return True
    array = tensor._array
    return isinstance(array, Payload) and any(in_graph(inner) for inner in array.inside())


# The tape of a level


def nodes_of(inputs, owner):
    """The nodes of the operands that belong to the tape of this level."""
    edges = []
    for tensor in inputs:
        node = None
        if isinstance(tensor, Tensor) and isinstance(tensor._array, Payload) and tensor._array.owner is owner:
            node = tensor._node
        edges.append(node)
    return edges


def tape_is_on(owner, primitive):
    """Whether an operation of this level is to be recorded, if an operand asks for it."""
    return owner.recording and (not mode.quiet or state.recording) and bool(primitive.plans)


def record(owner, primitive, inputs, params, results, several, edges=None):
    """Record an operation on the tape of a level and mark views as views. edges: `nodes_of` the inputs, where known."""
    if edges is None:
        edges = nodes_of(inputs, owner)
    if owner.grads and primitive.view:
        spec = inputs[0]._spec
        if several:
            for i, result in enumerate(results):
                share(result, inputs[0], (piece_of(primitive, i), params, spec), multiple=True)
        else:
            share(results[0], inputs[0], (primitive, params, spec))
    if not tape_is_on(owner, primitive) or all(edge is None for edge in edges):
        return
    if not several and results[0]._spec.dtype.category < FLOAT:
        return
    out = tuple(t._array for t in results) if several else results[0]._array
    node = primitive.recorder(inputs).record(inputs, params, edges, out)
    if not several:
        results[0]._node = node
        return
    node.count = len(results)
    for i, result in enumerate(results):
        if result._spec.dtype.category >= FLOAT:
            result._node = Pick(node, i)


def rewrite(owner, primitive, inputs, params, write):
    """Write in place inside a level: `write` does it to the payload; here the tape of the level is told."""
    target = inputs[0]
    edges = nodes_of(inputs, owner)
    recorded = tape_is_on(owner, primitive) and any(edge is not None for edge in edges)
    check_inplace(target, recorded)
    old = target
    if recorded and primitive.saves_input:
        old = shallow(target)
        old._array = target.clone()._array  # what is inside stays on the tapes of the levels outside
    write()
    alias_of(target).version.bump()
    if recorded:
        output = target._array if primitive.saves_output else None
        others = [overwritten(t) if shares_memory(t, target) else t for t in inputs[1:]]
        rebase(target, primitive.recorder(inputs).record((old, *others), params, edges, output))
    return target


# Where a gradient begins


class Root(Node):
    """The beginning of a gradient: hands on what arrives to the graph outside, if there is one.

    level: that of the transform which takes the gradient (never entered where an operation takes one for its own ends).
    """

    __slots__ = ("level",)
    passes = True

    def __init__(self, edge, level):
        self.seq, self.edges, self.saved, self.extra = tick(), (edge,), (), None
        self.level = level

    def backward(self, g, saved):
        state.task.captured[self] = g
        return (g,)

    backward_tensors = backward


def lifted(tensor, owner):
    """The tensor as a value of a level (that it does not depend on)."""
    array = tensor._array
    if owner is None or (isinstance(array, Payload) and array.level >= owner.number):
        return tensor
    return owner.payload.lift(tensor, owner)


def rooted(tensor, owner, level=None):
    """Another handle on a tensor, from which a gradient can be told apart; `owner`: the level that it is lifted to."""
    tensor = lifted(tensor, owner)
    twin = shallow(tensor)
    share_detached(twin, tensor)
    twin._node = Root(tensor._node, level)
    return twin


def dropped(tensor):
    """The tensor without its graph."""
    if tensor._node is None:
        return tensor
    twin = shallow(tensor)
    twin._alias, twin._node = tensor._alias, None
    return twin
