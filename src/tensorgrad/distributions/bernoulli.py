"""The Bernoulli distribution."""

import math
from typing import Any

import tensorgrad as tg
from tensorgrad.autograd.modes import no_grad
from tensorgrad.distributions import constraints
from tensorgrad.distributions._chances import ByChance
from tensorgrad.distributions.distribution import Distribution
from tensorgrad.distributions.exp_family import ExponentialFamily
from tensorgrad.distributions.utils import broadcast_all
from tensorgrad.nn import functional as F
from tensorgrad.spec import Size

__all__ = ["Bernoulli"]


class Bernoulli(ByChance, ExponentialFamily):
    """One with a probability, zero otherwise.

    >>> torch.distributions.Bernoulli(0.25).log_prob(torch.tensor(1.)).exp()
    tensor(0.2500)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        Distribution.__init__(self, self._take(probs, logits), validate_args=validate_args)

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    @property
    def mode(self):
        return tg.where(self.probs == 0.5, math.nan, (self.probs >= 0.5).to(self.probs))

    def sample(self, sample_shape=Size()):  # noqa: B008
        with no_grad():
            return tg.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self):
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand=True):
        return self._enumerated(tg.arange(2, dtype=self._param.dtype), expand)

    @property
    def _natural_params(self):
        return (tg.logit(self.probs),)

    def _log_normalizer(self, x):
        return tg.log1p(tg.exp(x))
