"""Exponential families: densities exp(t(x) θ - F(θ) + k(x)). Their entropy follows from F by a gradient."""

from typing import Any

from tensorgrad.autograd import grad
from tensorgrad.distributions.distribution import Distribution
from tensorgrad.tensor import Tensor

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution that names its natural parameters θ, the log-normalizer F, and the mean of the carrier measure k.

    >>> torch.distributions.ExponentialFamily.entropy(torch.distributions.Exponential(1.)).item()
    1.0
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def _bregman(self):
        """The natural parameters, F of them, and its gradients."""
        params = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*params)
        return params, normalizer, grad(normalizer.sum(), params, create_graph=True)

    def entropy(self):
        params, normalizer, gradients = self._bregman()
        result = normalizer - self._mean_carrier_measure
        for p, g in zip(params, gradients):
            result = result - (p * g).reshape((*self._batch_shape, -1)).sum(-1)
        return result
