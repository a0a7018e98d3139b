"""The Kumaraswamy distribution."""

import math
from typing import Any

import tensorgrad as tg
from tensorgrad.distributions import constraints
from tensorgrad.distributions.transformed_distribution import TransformedDistribution
from tensorgrad.distributions.transforms import AffineTransform, PowerTransform
from tensorgrad.distributions.uniform import Uniform
from tensorgrad.distributions.utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """Much like Beta, with a distribution function in closed form: 1 - (1 - x^a)^b.

    >>> torch.distributions.Kumaraswamy(1., 3.).mean
    tensor(0.2500)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        zeros = tg.zeros_like(self.concentration0)
        chain = [PowerTransform(exponent=self.concentration0.reciprocal()), AffineTransform(loc=1.0, scale=-1.0),
                 PowerTransform(exponent=self.concentration1.reciprocal())]  # fmt: skip
        base = Uniform(zeros, zeros + 1, validate_args=validate_args)
        super().__init__(base, chain, validate_args=validate_args)

    def _moment(self, n):
        """The mean of the n-th power."""
        first, b = 1 + n / self.concentration1, self.concentration0
        return b * tg.exp(tg.lgamma(first) + tg.lgamma(b) - tg.lgamma(first + b))

    mean = property(lambda self: self._moment(1))
    variance = property(lambda self: self._moment(2) - self.mean.pow(2))

    @property
    def mode(self):
        a, b = self.concentration1, self.concentration0
        log_mode = b.reciprocal() * (-b).log1p() - (-b * a).log1p()
        return tg.where((b < 1) | (a < 1), math.nan, log_mode).exp()

    def entropy(self):
        a, b = self.concentration1, self.concentration0
        harmonic = tg.digamma(b + 1) + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - tg.log(a) - tg.log(b)
