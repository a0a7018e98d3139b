"""The Gumbel distribution."""

import math
from typing import Any

import tensorgrad as tg
from tensorgrad.distributions import constraints
from tensorgrad.distributions.transformed_distribution import TransformedDistribution
from tensorgrad.distributions.transforms import AffineTransform, ExpTransform
from tensorgrad.distributions.uniform import Uniform
from tensorgrad.distributions.utils import broadcast_all, euler_constant

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """The largest of many numbers: -log(-log(u)), times `scale`, plus `loc`.

    >>> torch.distributions.Gumbel(0., 1.).mean
    tensor(0.5772)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        self.loc, self.scale = broadcast_all(loc, scale)
        info, ones = tg.finfo(self.loc.dtype), tg.ones_like(self.scale)
        base = Uniform(ones * info.tiny, ones * (1 - info.eps), validate_args=validate_args)
        chain = [ExpTransform().inv, AffineTransform(loc=0, scale=-ones), ExpTransform().inv,
                 AffineTransform(loc=loc, scale=-self.scale)]  # fmt: skip
        super().__init__(base, chain, validate_args=validate_args)

    mean = property(lambda self: self.loc + self.scale * euler_constant)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: math.pi / math.sqrt(6) * self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def log_prob(self, value):
        self._check(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    def entropy(self):
        return self.scale.log() + (1 + euler_constant)
