"""What a recorded operation leaves behind: a Node with edges to the nodes of its inputs and the values it saved.

A Node never refers to its own output, so a graph has no reference cycles: it is freed when its last tensor goes.
`seq` grows with every node made, so walking from the highest to the lowest number is a topological order.
"""

import itertools
import weakref

tick = itertools.count(1).__next__

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
    "saved tensors after calling backward."
)


class Node:
    """One operation of the graph, PyTorch's `grad_fn`.

    seq: when it was made; edges: for each input the Node to hand its gradient to, or None; saved: what the derivative
    needs (None once freed); extra: None, or the rare things of a Node (see Extra).
    """

    __slots__ = ("__weakref__", "edges", "extra", "saved", "seq")
    fresh = False  # True: every gradient it returns is a new array that nobody else holds
    passes = False  # True: its one gradient is the array that arrived, or a view of all its elements
    frees = False  # True: it saves values that are given up once it has run
    saved_outputs = ()  # which of its outputs its derivative needs
    prefix = ""  # what PyTorch's name has before that of the class
    saved_names = {}  # what the user may read as `_saved_NAME`: name -> position among the saved values

    def backward(self, g, saved):
        """The gradients of the inputs, bare arrays from bare arrays."""
        raise NotImplementedError(self.name())

    def backward_tensors(self, g, saved):
        """The same on Tensors, so that the backward pass is itself recorded (or batched, or traced)."""
        raise NotImplementedError(self.name())

    def name(self):
        """PyTorch's name of the operation, for example `MulBackward0`."""
        return type(self).prefix + type(self).__name__

    @property
    def next_functions(self):
        """The nodes that this one hands gradients to, each with the number of its output."""
        edges, primitive = self.edges, getattr(self, "primitive", None)
        if primitive is not None:
            edges = primitive.shown_edges(edges)
        return tuple((edge.parent, edge.index) if type(edge) is Pick else (edge, 0) for edge in edges)

    @property
    def metadata(self):
        """A dictionary for notes on this node."""
        extra = extra_of(self)
        if extra.metadata is None:
            extra.metadata = {}
        return extra.metadata

    def _sequence_nr(self):
        return self.seq

    def register_hook(self, hook):
        """Call `hook(grad_inputs, grad_outputs)` after this node ran; what it returns replaces the gradients.

        >>> x = torch.ones(2, requires_grad=True); y = x * 3
        >>> handle = y.grad_fn.register_hook(lambda gi, go: print(gi[0]))
        >>> y.sum().backward()
        tensor([3., 3.])
        """
        return RemovableHandle(extra_of(self).hooks, hook)

    def register_prehook(self, hook):
        """Call `hook(grad_outputs)` before this node runs; what it returns replaces the gradients.

        >>> x = torch.ones(2, requires_grad=True); y = x * 3
        >>> handle = y.grad_fn.register_prehook(lambda go: (go[0] * 10,))
        >>> y.sum().backward(); x.grad
        tensor([30., 30.])
        """
        return RemovableHandle(extra_of(self).prehooks, hook)

    def __call__(self, *gradients):
        """Apply the derivative to gradients of the outputs, as Tensors."""
        if self.saved is None:
            raise RuntimeError(FREED)
        result = tuple(self.backward_tensors(gradients[0] if len(gradients) == 1 else list(gradients), self.saved))
        return result[0] if len(result) == 1 else result

    def __getattr__(self, name):
        """Saved values under PyTorch's names: `_saved_self`, and `_raw_saved_self` to give one hooks of its own."""
        raw = name.startswith("_raw_saved_")
        position = self.saved_names.get(name[11 if raw else 7 :]) if raw or name.startswith("_saved_") else None
        if position is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        if self.saved is None:
            raise RuntimeError(FREED)
        if raw:
            from tensorgrad.autograd.hooks import SavedTensor

            return SavedTensor(self, name[11:])
        return self.show_saved(position)

    def __dir__(self):
        return [*object.__dir__(self), *(f"_saved_{name}" for name in self.saved_names)]

    def generalize(self):
        """Become the node that the slow path makes, whose saved values may be packed."""

    def __repr__(self):
        return f"<{type(self).__name__} object at {id(self):#x}>"


class Extra:
    """The rare things of a Node: hooks, the tensor that retains its gradient, the versions of saved outputs, notes."""

    __slots__ = ("cells", "hooks", "metadata", "prehooks", "retains", "tensor_hooks", "trace")

    def __init__(self):
        self.tensor_hooks, self.prehooks, self.hooks = {}, {}, {}
        self.retains = self.metadata = self.trace = None
        self.cells = ()


def extra_of(node):
    if node.extra is None:
        node.extra = Extra()
    return node.extra


class RemovableHandle:
    """Returned by the functions that register hooks: `remove()` takes the hook away again."""

    _ids = itertools.count()

    def __init__(self, hooks, hook):
        self.hooks, self.id = hooks, next(self._ids)
        hooks[self.id] = hook

    def remove(self):
        """Take the hook away.

        >>> x = torch.ones(1, requires_grad=True)
        >>> handle = x.register_hook(lambda g: g * 2); handle.remove()
        """
        self.hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


class AccumulateGrad(Node):
    """The end of the graph: adds the gradient that arrives to `.grad` of a leaf.

    The leaf holds this node and the graph holds it too, but it holds the leaf only weakly: no cycle. The gradient
    itself lives here, in `grad`.
    """

    __slots__ = ("grad", "leaf", "post_hooks")
    prefix = "torch::autograd::"

    def __init__(self, leaf):
        self.seq, self.edges, self.saved, self.extra = tick(), (), (), None
        self.grad, self.leaf, self.post_hooks = None, weakref.ref(leaf), None

    @property
    def variable(self):
        """The leaf whose gradient is accumulated here."""
        return self.leaf()


class Pick(Node):
    """One output of a node with several: keeps single-output nodes, the usual ones, free of output numbers."""

    __slots__ = ("index", "parent")

    def __init__(self, parent, index):
        self.seq, self.edges, self.saved, self.extra = tick(), (parent,), (), None
        self.parent, self.index = parent, index

    def backward(self, g, saved):
        return ([(self.index, g)],)  # a list: gradients of several outputs join by `+`

    backward_tensors = backward


_HOOKS = {"GradientEdge", "disable_saved_tensors_hooks", "get_gradient_edge", "increment_version",
          "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks"}  # fmt: skip


def __getattr__(name):
    """PyTorch's `autograd.graph` also holds the hooks, which live in hooks.py."""
    if name in _HOOKS:
        from tensorgrad.autograd import hooks

        return getattr(hooks, name)
    raise AttributeError(f"module 'tensorgrad.autograd.graph' has no attribute '{name}'")
