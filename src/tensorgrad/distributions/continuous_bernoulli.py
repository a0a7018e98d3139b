"""The continuous Bernoulli distribution."""

import math
from typing import Any

import tensorgrad as tg
from tensorgrad.autograd.modes import no_grad
from tensorgrad.distributions import constraints
from tensorgrad.distributions._chances import ByChance, which
from tensorgrad.distributions.distribution import Distribution
from tensorgrad.distributions.exp_family import ExponentialFamily
from tensorgrad.distributions.utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs
from tensorgrad.nn import functional as F
from tensorgrad.spec import Size

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ByChance, ExponentialFamily):
    """Numbers x from 0 to 1 with a density proportional to probs^x (1 - probs)^(1 - x).

    Within `lims`, near one half, where the closed forms lose their digits, power series are taken.

    >>> torch.distributions.ContinuousBernoulli(torch.tensor([0.25])).mean
    tensor([0.4102])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501),
                 validate_args: bool | None = None):  # fmt: skip
        name, value = which(probs, logits)
        if name == "probs":
            (probs,) = broadcast_all(value)
            if validate_args is not None and not self.arg_constraints["probs"].check(probs).all():
                raise ValueError("The parameter probs has invalid values")
            probs = clamp_probs(probs)
        self._lims = lims
        Distribution.__init__(self, self._take(probs, logits), validate_args=validate_args)

    @lazy_property
    def probs(self):
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _far(self, probs=None, middle=0.0):
        """Where the closed forms hold."""
        probs = self.probs if probs is None else probs
        return (probs <= self._lims[0] - middle) | (probs > self._lims[1] - middle)

    def _safe(self):
        """The probabilities, moved away from one half."""
        return tg.where(self._far(), self.probs, self._lims[0] * tg.ones_like(self.probs))

    def _cont_bern_log_norm(self):
        p, x = self._safe(), (self.probs - 0.5) ** 2
        below, above = tg.where(p <= 0.5, p, 0.0), tg.where(p >= 0.5, p, 1.0)
        gap = tg.where(p <= 0.5, tg.log1p(-2.0 * below), tg.log(2.0 * above - 1.0))
        exact = tg.log(tg.abs(tg.log1p(-p) - tg.log(p))) - gap
        return tg.where(self._far(), exact, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self):
        p, x = self._safe(), self.probs - 0.5
        exact = p / (2.0 * p - 1.0) + 1.0 / (tg.log1p(-p) - tg.log(p))
        return tg.where(self._far(), exact, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x**2) * x)

    @property
    def variance(self):
        p, x = self._safe(), (self.probs - 0.5) ** 2
        exact = p * (p - 1.0) / (1.0 - 2.0 * p) ** 2 + 1.0 / (tg.log1p(-p) - tg.log(p)) ** 2
        return tg.where(self._far(), exact, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def sample(self, sample_shape=Size()):  # noqa: B008
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=Size()):  # noqa: B008
        return self.icdf(tg.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype))

    def log_prob(self, value):
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        return self._cont_bern_log_norm() - F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def cdf(self, value):
        self._check(value)
        p = self._safe()
        exact = (p**value * (1.0 - p) ** (1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        return tg.where(value <= 0.0, 0.0, tg.where(value >= 1.0, 1.0, tg.where(self._far(), exact, value)))

    def icdf(self, value):
        p = self._safe()
        exact = (tg.log1p(-p + value * (2.0 * p - 1.0)) - tg.log1p(-p)) / (tg.log(p) - tg.log1p(-p))
        return tg.where(self._far(), exact, value)

    def entropy(self):
        fails, succeeds = tg.log1p(-self.probs), tg.log(self.probs)
        return self.mean * (fails - succeeds) - self._cont_bern_log_norm() - fails

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        far = self._far(x, 0.5)
        safe = tg.where(far, x, (self._lims[0] - 0.5) * tg.ones_like(x))
        exact = tg.log(tg.abs(tg.expm1(safe))) - tg.log(tg.abs(safe))
        return tg.where(far, exact, 0.5 * x + x**2 / 24.0 - x**4 / 2880.0)
