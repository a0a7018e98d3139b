"""Transforms of functions that nest in any order: PyTorch's `torch.func`.

>>> torch.func.vmap(torch.func.grad(lambda x: x ** 3))(torch.tensor([1., 2.]))
tensor([ 3., 12.])
"""

from tensorgrad.func.jacobians import hessian, jacfwd, jacrev, jvp, linearize
from tensorgrad.func.reverse import grad, grad_and_value, vjp
from tensorgrad.func.vmap import vmap

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp", "vmap"]
