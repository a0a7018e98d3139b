"""Batching rules of reductions (see batching.py); most say `batch="dims"` where they are declared."""

from tensorgrad.func.batching import rule


@rule("argmax", "argmin")
def place(apply, values, batched, params, size):
    (x,), (dim, keepdim) = values, params
    if dim is not None:
        return apply((x,), (dim + 1, keepdim))
    found = apply((x.reshape((size, -1)),), (1, False))
    return found.reshape((size, *(1,) * (len(x._spec.shape) - 1))) if keepdim else found
