"""The Cauchy distribution."""

import math
from typing import Any

import tensorgrad as tg
from tensorgrad.distributions import constraints
from tensorgrad.distributions.distribution import Distribution
from tensorgrad.spec import Size

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """The ratio of two normal numbers, times `scale`, around `loc`. It has no mean.

    >>> torch.distributions.Cauchy(0., 1.).cdf(torch.tensor(1.))
    tensor(0.7500)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        self._set(validate_args, loc=loc, scale=scale)

    mean = property(lambda self: self._full(math.nan, self.loc))
    mode = property(lambda self: self.loc)
    variance = property(lambda self: self._full(math.inf, self.loc))

    def rsample(self, sample_shape=Size()):  # noqa: B008
        eps = tg.empty(self._extended_shape(sample_shape), dtype=self.loc.dtype).cauchy_()
        return self.loc + eps * self.scale

    def log_prob(self, value):
        self._check(value)
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def cdf(self, value):
        self._check(value)
        return tg.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value):
        return tg.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()
