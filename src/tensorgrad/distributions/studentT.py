"""Student's t distribution."""

import math
from typing import Any

import tensorgrad as tg
from tensorgrad.distributions import constraints
from tensorgrad.distributions.chi2 import Chi2
from tensorgrad.distributions.distribution import Distribution
from tensorgrad.distributions.utils import _standard_normal
from tensorgrad.spec import Size

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Normal numbers over a deviation that is estimated with `df` degrees of freedom, times `scale`, around `loc`.

    >>> torch.distributions.StudentT(4.).variance
    tensor(2.)
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None):
        self._set(validate_args, df=df, loc=loc, scale=scale)
        self._chi2 = Chi2(self.df)

    mean = property(lambda self: tg.where(self.df <= 1, math.nan, self.loc))
    mode = property(lambda self: self.loc)

    @property
    def variance(self):
        finite = self.df > 2
        df = tg.where(finite, self.df, 3.0)
        return tg.where(finite, self.scale.pow(2) * df / (df - 2), tg.where(self.df > 1, math.inf, math.nan))

    def rsample(self, sample_shape=Size()):  # noqa: B008
        x = _standard_normal(self._extended_shape(sample_shape), self.df.dtype)
        return self.loc + self.scale * (x * tg.rsqrt(self._chi2.rsample(sample_shape) / self.df))

    def _log_beta(self):
        """lgamma(df / 2) + lgamma(1 / 2) - lgamma((df + 1) / 2)"""
        return tg.lgamma(0.5 * self.df) + 0.5 * math.log(math.pi) - tg.lgamma(0.5 * (self.df + 1.0))

    def log_prob(self, value):
        self._check(value)
        y = (value - self.loc) / self.scale
        spread = self.scale.log() + 0.5 * self.df.log() + self._log_beta()
        return -0.5 * (self.df + 1.0) * tg.log1p(y**2.0 / self.df) - spread

    def entropy(self):
        half = 0.5 * (self.df + 1)
        gap = tg.digamma(half) - tg.digamma(0.5 * self.df)
        return self.scale.log() + half * gap + 0.5 * self.df.log() + self._log_beta()
