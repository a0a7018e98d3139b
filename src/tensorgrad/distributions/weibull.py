"""The Weibull distribution."""

from typing import Any

import tensorgrad as tg
from tensorgrad.distributions import constraints
from tensorgrad.distributions.exponential import Exponential
from tensorgrad.distributions.gumbel import euler_constant
from tensorgrad.distributions.transformed_distribution import TransformedDistribution
from tensorgrad.distributions.transforms import AffineTransform, PowerTransform
from tensorgrad.distributions.utils import broadcast_all

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """Exponential numbers to the power `1 / concentration`, times `scale`: lifetimes of what ages.

    >>> torch.distributions.Weibull(1., 2.).mean
    tensor(0.8862)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(tg.ones_like(self.scale), validate_args=validate_args)
        chain = [PowerTransform(exponent=self.concentration_reciprocal), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, chain, validate_args=validate_args)

    @property
    def concentration_reciprocal(self):
        """One over the concentration.

        >>> torch.distributions.Weibull(1., 2.).concentration_reciprocal
        tensor(0.5000)
        """
        return self.concentration.reciprocal()

    @property
    def mean(self):
        return self.scale * tg.exp(tg.lgamma(1 + self.concentration_reciprocal))

    @property
    def mode(self):
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration_reciprocal

    @property
    def variance(self):
        share = self.concentration_reciprocal
        return self.scale.pow(2) * (tg.exp(tg.lgamma(1 + 2 * share)) - tg.exp(2 * tg.lgamma(1 + share)))

    def entropy(self):
        share = self.concentration_reciprocal
        return euler_constant * (1 - share) + tg.log(self.scale * share) + 1
