"""The half-Cauchy distribution."""

import math
from typing import Any

import tensorgrad as tg
from tensorgrad.distributions import constraints
from tensorgrad.distributions.cauchy import Cauchy
from tensorgrad.distributions.transformed_distribution import TransformedDistribution
from tensorgrad.distributions.transforms import AbsTransform

__all__ = ["HalfCauchy"]


class HalfCauchy(TransformedDistribution):
    """The sizes of Cauchy numbers around zero. Their mean is infinite.

    >>> torch.distributions.HalfCauchy(1.).cdf(torch.tensor(1.))
    tensor(0.5000)
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale: Any, validate_args: bool | None = None):
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    scale = property(lambda self: self.base_dist.scale)
    mode = property(lambda self: tg.zeros_like(self.scale))
    mean = property(lambda self: self._full(math.inf, self.scale))
    variance = property(lambda self: self.base_dist.variance)

    def log_prob(self, value):
        self._check(value)
        value = tg.as_tensor(value, dtype=self.scale.dtype)
        return tg.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        self._check(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value):
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)
