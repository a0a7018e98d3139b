"""Gamma numbers and Dirichlet shares, which move with their parameters: their gradients hold the quantile still."""

from tensorgrad.ops import fitting
from tensorgrad.ops.both import arrays, tensors, xp
from tensorgrad.ops.primitive import Primitive
from tensorgrad.ops.random import _generator
from tensorgrad.ops.random_primitives import _no_derivative, draw

PUBLIC = {"": "_standard_gamma _standard_gamma_grad _sample_dirichlet _dirichlet_grad"}


def _gamma_grad_kernel(x, output):
    from tensorgrad.backends import reparametrization

    return reparametrization.standard_gamma_grad(x, output)


def _dirichlet_grad_kernel(x, alpha, total):
    from tensorgrad.backends import reparametrization

    return reparametrization.dirichlet_grad(x, alpha, total)


def _together(apply, values, batched, params, size):
    """The batching rule of functions that take arrays of one shape: all rows at once."""
    from tensorgrad.func.batching import all_batched
    from tensorgrad.func.randomness import lined

    return apply(lined(all_batched(values, batched, size)), params)


_once = _no_derivative("_standard_gamma_grad")
_gamma_grad = Primitive("_standard_gamma_grad", _gamma_grad_kernel, arity=2, fit=True, node="NotImplemented", batch=_together,
                        rules={"x": _once, "output": _once})  # fmt: skip
_once = _no_derivative("_dirichlet_grad")
_share_grad = Primitive("_dirichlet_grad", _dirichlet_grad_kernel, arity=3, fit=True, node="NotImplemented", batch=_together,
                        rules={"x": _once, "alpha": _once, "total": _once})  # fmt: skip
arrays["_standard_gamma_grad"], arrays["_dirichlet_grad"] = _gamma_grad_kernel, _dirichlet_grad_kernel
tensors["_standard_gamma_grad"], tensors["_dirichlet_grad"] = _gamma_grad, _share_grad

_gamma = Primitive(
    "_standard_gamma", lambda x, generator: generator.draw("standard_gamma", x),
    rules={"x": lambda g, x, out: g * xp._standard_gamma_grad(x, out)},
)  # fmt: skip
tensors.setdefault("sum_dims", lambda x, dims, keepdim: x.sum(dims, keepdim=keepdim))


def _share_rule(g, x, out):
    total = xp.sum_dims(x, (-1,), True)
    return xp._dirichlet_grad(out, x, xp.expand(total, x.shape)) * (g - xp.sum_dims(out * g, (-1,), True))


_shares = Primitive("_sample_dirichlet", lambda x, generator: generator.draw("dirichlet", x), rules={"x": _share_rule})


def _standard_gamma(input, generator=None):
    """Gamma numbers of rate one, one for each shape; they move with the shapes.

    >>> _ = torch.manual_seed(0); torch._standard_gamma(torch.tensor([0.5, 3.]))
    tensor([7.8936e-04, 1.2728e+00])
    """
    fitting.check_tensor("_standard_gamma", input)
    return draw(_gamma, (input,), (_generator("_standard_gamma", generator),))


def _sample_dirichlet(input, generator=None):
    """Shares that add up to one along the last dim; they move with their concentrations.

    >>> _ = torch.manual_seed(0); torch._sample_dirichlet(torch.tensor([1., 2., 3.]))
    tensor([0.5282, 0.2411, 0.2307])
    """
    fitting.check_tensor("_sample_dirichlet", input)
    return draw(_shares, (input,), (_generator("_sample_dirichlet", generator),))


def _standard_gamma_grad(input, output):
    """The slope of gamma numbers by their shapes.

    >>> torch._standard_gamma_grad(torch.tensor([1., 20.]), torch.tensor([0.5, 20.]))
    tensor([0.8070, 1.0084])
    """
    fitting.check_tensor("_standard_gamma_grad", input)
    return _gamma_grad(input, output)


def _dirichlet_grad(x, alpha, total):
    """The slope of one share by its concentration, over one minus the share.

    >>> torch._dirichlet_grad(torch.tensor([0.5]), torch.tensor([1.]), torch.tensor([2.]))
    tensor([0.6931])
    """
    fitting.check_tensor("_dirichlet_grad", x, "x")
    return _share_grad(x, alpha, total)
