"""Transforms of functions that nest in any order: PyTorch's `torch.func`.

>>> torch.func.vmap(torch.func.grad(lambda x: x ** 3))(torch.tensor([1., 2.]))
tensor([ 3., 12.])
"""

from tensorgrad.func.jacobians import hessian, jacfwd, jacrev, jvp, linearize
from tensorgrad.func.modules import (
    debug_unwrap,
    functional_call,
    functionalize,
    replace_all_batch_norm_modules_,
    stack_module_state,
)
from tensorgrad.func.rearrange import rearrange
from tensorgrad.func.reverse import grad, grad_and_value, vjp
from tensorgrad.func.vmap import vmap

__all__ = ["debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
           "linearize", "rearrange", "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap"]  # fmt: skip
