"""The Poisson distribution."""

from typing import Any

import tensorgrad as tg
from tensorgrad.autograd.modes import no_grad
from tensorgrad.distributions import constraints
from tensorgrad.distributions.exp_family import ExponentialFamily
from tensorgrad.distributions.utils import broadcast_all
from tensorgrad.spec import Size

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """How often something happens that is expected `rate` times.

    >>> torch.distributions.Poisson(4.).log_prob(torch.tensor(3.))
    tensor(-1.6329)
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Any, validate_args: bool | None = None):
        self._set(validate_args, rate=rate)

    mean = variance = property(lambda self: self.rate)
    mode = property(lambda self: self.rate.floor())

    def sample(self, sample_shape=Size()):  # noqa: B008
        with no_grad():
            return tg.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._check(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self):
        return (tg.log(self.rate),)

    def _log_normalizer(self, x):
        return tg.exp(x)
