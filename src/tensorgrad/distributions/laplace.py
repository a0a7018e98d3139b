"""The Laplace distribution."""

from typing import Any

import tensorgrad as tg
from tensorgrad.distributions import constraints
from tensorgrad.distributions.distribution import Distribution
from tensorgrad.spec import Size

__all__ = ["Laplace"]


class Laplace(Distribution):
    """Numbers around `loc` whose distance from it is exponential, with mean `scale`.

    >>> torch.distributions.Laplace(0., 1.).log_prob(torch.tensor(2.))
    tensor(-2.6931)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        self._set(validate_args, loc=loc, scale=scale)

    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: 2 * self.scale.pow(2))
    stddev = property(lambda self: 2**0.5 * self.scale)

    def rsample(self, sample_shape=Size()):  # noqa: B008
        u = tg.empty(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        u.uniform_(tg.finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * tg.log1p(-u.abs())

    def log_prob(self, value):
        self._check(value)
        return -tg.log(2 * self.scale) - tg.abs(value - self.loc) / self.scale

    def cdf(self, value):
        self._check(value)
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * tg.expm1(-distance.abs() / self.scale)

    def icdf(self, value):
        term = value - 0.5
        return self.loc - self.scale * term.sign() * tg.log1p(-2 * term.abs())

    def entropy(self):
        return 1 + tg.log(2 * self.scale)
