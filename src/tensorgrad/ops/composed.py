"""Operations that have one kernel for the usual case, and for all else the same computation in other operations.

Inside vmap and forward mode such an operation is done by the others; so are derivatives of its derivative.
"""

import numpy as np

from tensorgrad.autograd.modes import enable_grad
from tensorgrad.ops import fitting
from tensorgrad.ops.primitive import recording


def has_kernel(tensors):
    """Whether all of them are arrays (or what a compiled program will have as arrays), so that a kernel can take them."""
    for tensor in tensors:
        if tensor is not None and type(tensor._array) is not np.ndarray:
            from tensorgrad.compiler.trace import Traced

            if type(tensor._array) is not Traced:
                return False
    return True


def gradients(compute, inputs, g, wanted):
    """The gradients of `compute(*inputs)`, differentiable themselves: those of the inputs that are wanted, else None."""
    from tensorgrad.func.reverse import pull, rooted_together

    create = recording()
    places = [i for i, want in enumerate(wanted) if want and inputs[i] is not None]
    operands = list(inputs)
    with enable_grad():
        roots = rooted_together(
            [inputs[i] for i in places], [t for t in (*inputs, *g) if isinstance(t, fitting.Tensor)]
        )
        for i, root in zip(places, roots, strict=True):
            operands[i] = root
        outs = compute(*operands)
        pairs = [(o, c) for o, c in zip(outs, g, strict=True) if c is not None]
        found = pull([o for o, _ in pairs], roots, [c for _, c in pairs], create=create)
    result = [None] * len(inputs)
    for i, gradient in zip(places, found, strict=True):
        result[i] = gradient
    return result
