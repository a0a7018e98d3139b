"""The generalized Pareto distribution."""

import math
from typing import Any

import tensorgrad as tg
from tensorgrad.distributions import constraints
from tensorgrad.distributions.distribution import Distribution
from tensorgrad.spec import Size

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """What exceeds a high threshold `loc`: with a heavy tail (`concentration` > 0), an exponential one (0) or an end.

    >>> torch.distributions.GeneralizedPareto(0., 1., 0.5).mean
    tensor(2.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None):
        self._set(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        end = tg.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, end)

    @property
    def mean(self):
        valid = self.concentration < 1
        c = tg.where(valid, self.concentration, 0.5)
        return tg.where(valid, self.loc + self.scale / (1 - c), math.nan)

    @property
    def variance(self):
        valid = self.concentration < 0.5
        c = tg.where(valid, self.concentration, 0.25)
        return tg.where(valid, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), math.nan)

    mode = property(lambda self: self.loc)

    def _tail(self):
        """Where the tail is exponential, and concentrations that are safe to divide by."""
        flat = tg.isclose(self.concentration, tg.zeros_like(self.concentration))
        return flat, tg.where(flat, tg.ones_like(self.concentration), self.concentration)

    def rsample(self, sample_shape=Size()):  # noqa: B008
        return self.icdf(tg.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype))

    def log_prob(self, value):
        self._check(value)
        z, (flat, c) = (value - self.loc) / self.scale, self._tail()
        power = 1 / c + tg.ones_like(z)
        fallen = tg.where(power == 0, power, power * tg.log1p(c * z))
        return -self.scale.log() - tg.where(flat, z, fallen)

    def log_survival_function(self, value):
        """The logarithm of the probability of being more than a value.

        >>> torch.distributions.GeneralizedPareto(0., 1., 0.).log_survival_function(torch.tensor(2.))
        tensor(-2.)
        """
        self._check(value)
        z, (flat, c) = (value - self.loc) / self.scale, self._tail()
        return tg.where(flat, -z, -tg.log1p(c * z) / c)

    def log_cdf(self, value):
        """The logarithm of `cdf`.

        >>> torch.distributions.GeneralizedPareto(0., 1., 0.).log_cdf(torch.tensor(2.))
        tensor(-0.1454)
        """
        return tg.log1p(-tg.exp(self.log_survival_function(value)))

    def cdf(self, value):
        return tg.exp(self.log_cdf(value))

    def icdf(self, value):
        (flat, c), left = self._tail(), tg.log1p(-value)
        return tg.where(flat, self.loc - self.scale * left, self.loc + self.scale / c * tg.expm1(-c * left))

    def entropy(self):
        return tg.broadcast_to(tg.log(self.scale) + self.concentration + 1, self._batch_shape)
