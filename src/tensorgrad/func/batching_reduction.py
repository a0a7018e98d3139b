"""Batching rules of reductions (see batching.py)."""

from tensorgrad.func.batching import over_dims, rule
from tensorgrad.ops.primitive import PRIMITIVES

for _name in ("sum", "sum_dim", "mean", "mean_dim", "prod", "amax", "amin", "max_all", "min_all", "max", "min", "any", "all",
              "var", "std", "vector_norm", "logsumexp", "softmax", "log_softmax", "cumsum", "cumprod"):  # fmt: skip
    rule(_name)(over_dims(PRIMITIVES[_name]))


@rule("argmax", "argmin")
def place(apply, values, batched, params, size):
    (x,), (dim, keepdim) = values, params
    if dim is not None:
        return apply((x,), (dim + 1, keepdim))
    found = apply((x.reshape((size, -1)),), (1, False))
    return found.reshape((size, *(1,) * (len(x._spec.shape) - 1))) if keepdim else found
