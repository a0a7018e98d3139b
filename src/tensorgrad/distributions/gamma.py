"""The gamma distribution."""

from typing import Any

import tensorgrad as tg
from tensorgrad.distributions import constraints
from tensorgrad.distributions.exp_family import ExponentialFamily
from tensorgrad.spec import Size

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """Waiting times for the `concentration`-th of events that happen at a rate.

    >>> torch.distributions.Gamma(3., 2.).mean
    tensor(1.5000)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None):
        self._set(validate_args, concentration=concentration, rate=rate)

    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = property(lambda self: self.concentration / self.rate.pow(2))

    def rsample(self, sample_shape=Size()):  # noqa: B008
        shape = self._extended_shape(sample_shape)
        value = tg._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=tg.finfo(value.dtype).tiny)  # no part of the graph
        return value

    def log_prob(self, value):
        value = tg.as_tensor(value, dtype=self.rate.dtype)
        self._check(value)
        return (
            tg.xlogy(self.concentration, self.rate) + tg.xlogy(self.concentration - 1, value) - self.rate * value
            - tg.lgamma(self.concentration)
        )  # fmt: skip

    def cdf(self, value):
        self._check(value)
        return tg.special.gammainc(self.concentration, self.rate * value)

    def entropy(self):
        a = self.concentration
        return a - tg.log(self.rate) + tg.lgamma(a) + (1.0 - a) * tg.digamma(a)

    @property
    def _natural_params(self):
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x, y):
        return tg.lgamma(x + 1) + (x + 1) * tg.log(-y.reciprocal())
