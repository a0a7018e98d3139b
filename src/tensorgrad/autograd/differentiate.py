"""`backward` and `grad`: PyTorch's two ways to ask for gradients."""

import warnings

import numpy as np

from tensorgrad.autograd import engine
from tensorgrad.autograd.engine import accumulate, as_tensor, checked_gradient
from tensorgrad.autograd.graph import AccumulateGrad

Tensor = wrap = None  # set by tensorgrad.tensor

UNUSED = (
    "The differentiated Tensor at index {} appears to not have been used in the graph. Set allow_unused=True if this is the "
    "desired behavior."
)


class GradientEdge(tuple):
    """Where a gradient flows: a node and the number of its output, as `get_gradient_edge` gives it."""

    def __new__(cls, node, output_nr, target=None):
        self = super().__new__(cls, (node, output_nr))
        self.target = node if target is None else target  # the engine's node: a Pick for one output of several
        return self

    node = property(lambda self: self[0])
    output_nr = property(lambda self: self[1])


def node_of(edge):
    return edge.target


def sequence(value):
    return (value,) if isinstance(value, (Tensor, GradientEdge)) else tuple(value)


def roots_of(outputs, gradients, tensors, batched=False):
    """Pairs of the nodes to start from and their gradients."""
    roots = []
    if len(gradients) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(gradients)} gradients")
    for position, (output, gradient) in enumerate(zip(outputs, gradients, strict=True)):
        if isinstance(output, GradientEdge):
            if gradient is None:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            roots.append((node_of(output), gradient if tensors else gradient._array))
            continue
        if output._node is None:
            if gradient is not None:
                checked_gradient(output, gradient, position, batched)
            raise RuntimeError(f"element {position} of tensors does not require grad and does not have a grad_fn")
        gradient = checked_gradient(output, gradient, position, batched)
        roots.append((output._node, gradient if tensors else gradient._array))
    return roots


def on_tensors(outputs, gradients, create_graph):
    """Whether the pass has to run on Tensors: it is recorded, or a transform is at work."""
    values = [t for t in (*outputs, *gradients) if isinstance(t, Tensor)]
    return create_graph or any(type(t._array) is not np.ndarray for t in values)


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Add the gradients of `tensors` with respect to the leaves of their graph to the leaves' `.grad`.

    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.autograd.backward([x.sum(), (3 * x).sum()]); x.grad
    tensor([4., 4.])
    """
    outputs = sequence(tensors)
    if grad_tensors is None:
        grad_tensors = grad_variables
    gradients = [None] * len(outputs) if grad_tensors is None else sequence(grad_tensors)
    captures = None
    if inputs is not None:
        inputs = sequence(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        captures = {}
        for tensor in inputs:
            node = node_of(tensor) if isinstance(tensor, GradientEdge) else tensor._node
            if node is None:
                raise RuntimeError("One of the differentiated Tensors does not require grad")
            captures[node] = None
    if create_graph:
        warnings.warn(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its "
            "gradient which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid "
            "this. If you have to use this function, make sure to reset the .grad fields of your parameters to None after "
            "use to break the cycle and avoid the leak.",
            stacklevel=3,
        )
    over_tensors = on_tensors(outputs, gradients, create_graph)
    keep = create_graph if retain_graph is None else retain_graph
    captured = engine.run(
        roots_of(outputs, gradients, over_tensors),
        keep=keep, tensors=over_tensors, record=create_graph, captures=captures,
    )  # fmt: skip
    if captures is None:
        return
    for tensor in inputs:
        g = captured.get(tensor._node) if isinstance(tensor, Tensor) else None
        if g is None:
            continue
        if type(tensor._node) is AccumulateGrad:
            if over_tensors:
                engine.accumulate_tensors(tensor._node, g, ())
            else:
                accumulate(tensor._node, g, False)
        else:
            old = tensor.__dict__.get("_grad")
            g = as_tensor(g if over_tensors else np.array(g))
            tensor.__dict__["_grad"] = g if old is None else old + g


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True,
         allow_unused=None, is_grads_batched=False, materialize_grads=False):  # fmt: skip
    """The gradients of `outputs` with respect to `inputs`, as a tuple.

    >>> x = torch.tensor([1., 2.], requires_grad=True)
    >>> torch.autograd.grad((x ** 3).sum(), x)
    (tensor([ 3., 12.]),)
    """
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other "
            "parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
                         "allow_unused=False.")  # fmt: skip
    outputs, inputs = sequence(outputs), sequence(inputs)
    gradients = [None] * len(outputs) if grad_outputs is None else sequence(grad_outputs)
    allow_unused = bool(materialize_grads) if allow_unused is None else allow_unused
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    for tensor in inputs:
        if not isinstance(tensor, (Tensor, GradientEdge)):
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(tensor).__name__}")
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        return batched_grad(outputs, inputs, gradients, keep, create_graph, allow_unused, materialize_grads)
    captures = {}
    for position, tensor in enumerate(inputs):
        node = node_of(tensor) if isinstance(tensor, GradientEdge) else tensor._node
        if node is None:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        captures[node] = position
    over_tensors = on_tensors(outputs, gradients, create_graph)
    captured = engine.run(
        roots_of(outputs, gradients, over_tensors),
        keep=keep, tensors=over_tensors, record=create_graph, captures=captures,
    )  # fmt: skip
    results = []
    for position, tensor in enumerate(inputs):
        node = node_of(tensor) if isinstance(tensor, GradientEdge) else tensor._node
        g = captured.get(node)
        if g is None and not allow_unused:
            raise RuntimeError(UNUSED.format(position))
        if g is None:
            results.append(tensor.new_zeros(tensor.shape) if materialize_grads else None)
            continue
        if type(g) is not np.ndarray and not isinstance(g, Tensor):
            g = np.asarray(g)
        if type(g) is np.ndarray:
            if (
                not g.flags.owndata
                or not g.flags.writeable
                or any(g is h for _, h in zip(outputs, gradients, strict=False))
            ):
                g = np.array(g)
            g = wrap(g)
        results.append(g)
    return own(results, gradients)


def batched_grad(outputs, inputs, gradients, keep, create_graph, allow_unused, materialize_grads):
    """`grad` for many gradients of each output at once: the rows of these tensors. One pass for all of them."""
    from tensorgrad.func import vmap

    roots_of(outputs, gradients, True, batched=True)
    rows, found = [g for g in gradients if g is not None], []

    def vjp(*given):
        given = iter(given)
        taken = [None if g is None else next(given) for g in gradients]
        found[:] = grad(outputs, inputs, taken, keep, create_graph, allow_unused=allow_unused)
        return tuple(g for g in found if g is not None)

    mapped = iter(vmap(vjp)(*rows) if rows else vjp())
    results = [None if g is None else next(mapped) for g in found]
    if materialize_grads:
        results = [t.new_zeros(t.shape) if g is None else g for g, t in zip(results, inputs, strict=True)]
    return tuple(results)


def own(results, gradients):
    """No two results, and no result and given gradient, may share memory by accident."""
    taken, out = {id(g._array) for g in gradients if isinstance(g, Tensor)}, []
    for g in results:
        if g is not None and type(g._array) is np.ndarray and g._node is None:
            if id(g._array) in taken:
                g = wrap(g._array.copy())
            taken.add(id(g._array))
        out.append(g)
    return tuple(out)


def get_gradient_edge(tensor):
    """The node and output number that the gradient of `tensor` arrives at.

    >>> x = torch.ones(1, requires_grad=True); torch.autograd.graph.get_gradient_edge(x * 2).node.name()
    'MulBackward0'
    """
    if tensor._node is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node = tensor.grad_fn if tensor.grad_fn is not None else tensor._node
    return GradientEdge(node, tensor.output_nr, tensor._node)
