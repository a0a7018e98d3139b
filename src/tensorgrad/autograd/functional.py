"""Derivatives of functions, by hand and in one call: PyTorch's `torch.autograd.functional`.

>>> import tensorgrad.autograd.functional as F
>>> F.jacobian(lambda x: x ** 3, torch.ones(2), vectorize=True)
tensor([[3., 0.],
        [0., 3.]])

`func.jacrev`, `func.hessian` and their like do the same, nest in any order, and take nested arguments.
"""

from tensorgrad.autograd import modes
from tensorgrad.autograd.differentiate import grad
from tensorgrad.tensor import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

STRATEGIES = ("forward-mode", "reverse-mode")
NOT_TWICE = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is independent "
    "of the input. This is not allowed in strict mode. You should ensure that your function is twice differentiable and that the "
    "jacobian depends on the inputs (this would be violated by a linear function for example)."
)
NO_GRAPH = (
    "Output {} of the user-provided function does not require gradients. The outputs must be computed in a differentiable "
    "manner from the input when running in strict mode."
)
APART = "The output of the user-provided function is independent of input {}. This is not allowed in strict mode."
CONSTANT = (
    "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode when "
    "create_graph=True."
)


# Arguments and results


def _tensors(value, what, function):
    """(the tensors, whether there is a tuple of them)."""
    values = value if isinstance(value, tuple) else (value,)
    for position, each in enumerate(values):
        if not isinstance(each, Tensor):
            if isinstance(value, tuple):
                got = f"the value at index {position} has type {type(each)}."
            else:
                got = f"the given {what} has type {type(value)}."
            raise TypeError(f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but {got}")
    return values, isinstance(value, tuple)


OUTPUTS = "outputs of the user-provided function"


def _inputs(value, function, create_graph):
    """New handles on the inputs that gradients are asked of; part of the graph outside if that is wanted."""
    tensors, several = _tensors(value, "inputs", function)
    handles = tuple(
        t.view_as(t) if create_graph and t._node is not None else t.detach().requires_grad_() for t in tensors
    )
    return handles, several


def _called(func, inputs, function, strict):
    """The outputs of the function."""
    outputs, several = _tensors(func(*inputs), OUTPUTS, function)
    if strict:
        for position, output in enumerate(outputs):
            if output._node is None:
                raise RuntimeError(NO_GRAPH.format(position))
    return outputs, several


def _scalar(func, inputs, function, strict):
    """The output of a function that must return one tensor of one element."""
    outputs, several = _called(func, inputs, function, strict)
    if several or not isinstance(outputs[0], Tensor):
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {function} should contain a single element")
    return outputs[0].squeeze() if outputs[0].dim() else outputs[0]


def _vectors(v, likes, several, function, single, create_graph=False):
    """The vectors of a product, checked against the tensors that they go with; ones for a single number."""
    if v is None:
        if len(likes) != 1 or likes[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if {single} a single Tensor with a single element.")
        return (likes[0].detach().new_ones(likes[0].shape),)
    vectors, _ = _tensors(v, "v", function)
    if len(vectors) != len(likes):
        if not several:
            raise RuntimeError("The given v should contain a single Tensor.")
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(likes)} but got {len(vectors)}.")
    for position, (vector, like) in enumerate(zip(vectors, likes, strict=True)):
        if vector.shape != like.shape:
            entry = f"Entry {position} in " if several else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {like.shape} but got {vector.shape}.")
    return tuple(t if create_graph else t.detach() for t in vectors)


INPUT = "the input to the user-provided function is"
OUTPUT = "the user-provided function returns"


def _pulled(outputs, inputs, vectors, create_graph, retain=None, batched=False):
    """Gradients of what is differentiable among the outputs; None where there is none."""
    pairs = [(o, v) for o, v in zip(outputs, vectors, strict=True) if o is not None and o._node is not None]
    if not pairs:
        return (None,) * len(inputs)
    outputs, vectors = zip(*pairs, strict=True)
    return grad(outputs, inputs, vectors, retain, create_graph, allow_unused=True, is_grads_batched=batched)


def _filled(gradients, likes, refuse, strict, create_graph=False, flat=None):
    """Zeros in the place of gradients that are none; in strict mode an error that says which.

    refuse: the text of that error; flat: the text for a gradient that depends on nothing, where it should.
    """
    results = []
    for position, (g, like) in enumerate(zip(gradients, likes, strict=True)):
        if g is None and strict:
            raise RuntimeError(refuse.format(position))
        if strict and create_graph and flat is not None and g._node is None:
            raise RuntimeError(flat.format(position))
        results.append(like.detach().new_zeros(like.shape) if g is None else g)
    return tuple(results)


def _given(values, several, create_graph):
    """Results as the caller expects them: without a graph unless it was asked for, one tensor or a tuple."""
    values = tuple(t if create_graph else t.detach() for t in values)
    return values if several else values[0]


def _recording(create_graph):
    return modes.set_grad_enabled(create_graph or modes.is_grad_enabled())


# Products


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """(outputs, product of the vector v with the Jacobian).

    >>> torch.autograd.functional.vjp(lambda x: x ** 2, torch.tensor([1., 3.]), torch.tensor([1., 1.]))
    (tensor([1., 9.]), tensor([2., 6.]))
    """
    with modes.enable_grad():
        inputs, several = _inputs(inputs, "vjp", create_graph)
        outputs, several_out = _called(func, inputs, "vjp", strict)
        v = _vectors(v, outputs, several_out, "vjp", OUTPUT, create_graph)
    with _recording(create_graph):
        gradients = _pulled(outputs, inputs, v, create_graph)
        gradients = _filled(gradients, inputs, APART, strict, create_graph, CONSTANT)
    return _given(outputs, several_out, create_graph), _given(gradients, several, create_graph)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """(outputs, product of the Jacobian with the vector v): how the outputs move when the inputs move along v.

    >>> torch.autograd.functional.jvp(lambda x: x ** 2, torch.tensor([1., 3.]), torch.tensor([1., 0.]))
    (tensor([1., 9.]), tensor([2., 0.]))
    """
    with modes.enable_grad():
        inputs, several = _inputs(inputs, "jvp", create_graph)
        v = _vectors(v, inputs, several, "jvp", INPUT, create_graph)
        outputs, several_out = _called(func, inputs, "jvp", strict)
        # What is pulled back is linear in the vector that is pulled; the gradient of that is the product wanted.
        probes = tuple(o.detach().new_zeros(o.shape).requires_grad_() for o in outputs)
        gradients = _filled(_pulled(outputs, inputs, probes, True), inputs, APART, strict)
    with _recording(create_graph):
        moved = _pulled(gradients, probes, v, create_graph)
        moved = _filled(moved, outputs, CONSTANT, strict and create_graph, create_graph, CONSTANT)
    return _given(outputs, several_out, create_graph), _given(moved, several_out, create_graph)


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """(output, product of the vector v with the Hessian of a function that returns one number).

    >>> torch.autograd.functional.vhp(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]), torch.tensor([1., 1.]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with modes.enable_grad():
        inputs, several = _inputs(inputs, "vhp", create_graph)
        v = _vectors(v, inputs, several, "vhp", INPUT, create_graph)
        output = _scalar(func, inputs, "vhp", strict)
        slopes = _filled(_pulled((output,), inputs, (None,), True), inputs, APART, strict, True, NOT_TWICE)
    with _recording(create_graph):
        products = _pulled(slopes, inputs, v, create_graph)
        products = _filled(products, inputs, NOT_TWICE, strict, create_graph, CONSTANT)
    return _given((output,), False, create_graph), _given(products, several, create_graph)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """(output, product of the Hessian of a function that returns one number with the vector v).

    >>> torch.autograd.functional.hvp(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]), torch.tensor([1., 1.]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with modes.enable_grad():
        inputs, several = _inputs(inputs, "hvp", create_graph)
        v = _vectors(v, inputs, several, "hvp", INPUT, create_graph)
        output = _scalar(func, inputs, "hvp", strict)
        slopes = _filled(_pulled((output,), inputs, (None,), True), inputs, APART, strict, True, NOT_TWICE)
        probes = tuple(i.detach().new_zeros(i.shape).requires_grad_() for i in inputs)
        twice = _filled(_pulled(slopes, inputs, probes, True), inputs, NOT_TWICE, strict)
    with _recording(create_graph):
        products = _pulled(twice, probes, v, create_graph)
        products = _filled(products, inputs, CONSTANT, strict and create_graph, create_graph, CONSTANT)
    return _given((output,), False, create_graph), _given(products, several, create_graph)


# Whole matrices


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """The Jacobian: for each output a tensor (or a tuple of them) of the shape of the output, then of the input.

    vectorize: one pass for all rows, by vmap; otherwise one for each row. strategy: "reverse-mode" or "forward-mode".

    >>> torch.autograd.functional.jacobian(lambda x: x ** 2, torch.tensor([1., 3.]))
    tensor([[2., 0.],
            [0., 6.]])
    """
    if strategy not in STRATEGIES:
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than '
            'inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        return _forward_jacobian(func, inputs, create_graph, strict, vectorize)
    with modes.enable_grad():
        inputs, several = _inputs(inputs, "jacobian", create_graph)
        outputs, several_out = _called(func, inputs, "jacobian", strict)
        blocks = _blocks(outputs, inputs, create_graph, strict, vectorize)
    blocks = blocks if several else tuple(row[0] for row in blocks)
    return blocks if several_out else blocks[0]


def _blocks(outputs, inputs, create_graph, strict, vectorize):
    """For each output a tuple of its derivatives by each input."""
    if vectorize and strict:
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. Please "
            "either set `strict=False` or `vectorize=False`."
        )
    rows = (_all_rows if vectorize else _row_by_row)(outputs, inputs, create_graph, strict)
    return tuple(
        _given([r.reshape(o.shape + i.shape) for r, i in zip(row, inputs, strict=True)], True, create_graph)
        for o, row in zip(outputs, rows, strict=True)
    )


def _row_by_row(outputs, inputs, create_graph, strict):
    """For each output and input the rows of the Jacobian, each from a pass of its own."""
    from tensorgrad.ops.shape import stack

    for number, output in enumerate(outputs):
        columns = [[] for _ in inputs]
        for element in output.reshape(-1).unbind():
            gradients = _pulled((element,), inputs, (None,), create_graph, True)
            for position, (g, i, column) in enumerate(zip(gradients, inputs, columns, strict=True)):
                if g is None and strict:
                    raise RuntimeError(
                        f"Output {number} of the user-provided function is independent of input {position}. This is not "
                        "allowed in strict mode."
                    )
                if strict and create_graph and g._node is None:
                    raise RuntimeError(CONSTANT.format(position))
                column.append(i.detach().new_zeros(i.shape) if g is None else g)
        yield [stack(c) if c else i.detach().new_zeros((0, *i.shape)) for c, i in zip(columns, inputs, strict=True)]


def _all_rows(outputs, inputs, create_graph, strict):
    """The same from one pass for all rows of all outputs."""
    from tensorgrad.func.jacobians import identity_rows

    sizes = [output.numel() for output in outputs]
    total = sum(sizes)
    flat = [output.reshape(-1) for output in outputs]
    found = _pulled(flat, inputs, identity_rows(flat), create_graph, batched=True)
    found = [i.detach().new_zeros((total, *i.shape)) if g is None else g for g, i in zip(found, inputs, strict=True)]
    start = 0
    for size in sizes:
        yield found if len(sizes) == 1 else [g[start : start + size] for g in found]
        start += size


def _forward_jacobian(func, inputs, create_graph, strict, vectorize):
    name = "torch.autograd.functional.jacobian"
    if strict:
        raise RuntimeError(
            f'{name}: `strict=True` and `strategy="forward-mode"` are not supported together (yet). Please either set '
            '`strict=False` or `strategy="reverse-mode"`.'
        )
    if create_graph:
        raise NotImplementedError(
            f'{name}: `create_graph=True` and `strategy="forward-mode"` are not supported together (yet). Please either set '
            '`create_graph=False` or `strategy="reverse-mode"`.'
        )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for `vectorize=True`."
        )
    from tensorgrad.func.jacobians import jacfwd

    inputs, several = _tensors(inputs, "inputs", "jacobian")

    several_out = False

    def tupled(*args):
        nonlocal several_out
        outputs, several_out = _tensors(func(*args), OUTPUTS, "jacobian")
        return outputs

    blocks = jacfwd(tupled, tuple(range(len(inputs))))(*inputs)
    blocks = blocks if several else tuple(row[0] for row in blocks)
    return blocks if several_out else blocks[0]


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """The Hessian of a function that returns one number.

    >>> torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    if outer_jacobian_strategy not in STRATEGIES:
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    inputs, several = _tensors(inputs, "inputs", "hessian")
    if outer_jacobian_strategy == "forward-mode":
        from tensorgrad.func.reverse import grad as slope_of

        slope = slope_of(lambda *args: _scalar(func, args, "hessian", strict), argnums=tuple(range(len(inputs))))
        found = _forward_jacobian(slope, inputs, create_graph, strict, vectorize)
    else:
        with modes.enable_grad():
            inputs, _ = _inputs(inputs, "hessian", create_graph)
            slopes = _pulled((_scalar(func, inputs, "hessian", strict),), inputs, (None,), True)
            slopes = _filled(slopes, inputs, APART, strict, True, NOT_TWICE)
            found = _blocks(slopes, inputs, create_graph, strict, vectorize)
    return found if several else found[0][0]
