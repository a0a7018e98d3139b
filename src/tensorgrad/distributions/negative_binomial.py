"""The negative binomial distribution."""

from typing import Any

import tensorgrad as tg
from tensorgrad.autograd.modes import no_grad
from tensorgrad.distributions import constraints
from tensorgrad.distributions._chances import ByChance
from tensorgrad.distributions.gamma import Gamma
from tensorgrad.distributions.utils import lazy_property
from tensorgrad.nn import functional as F
from tensorgrad.spec import Size

__all__ = ["NegativeBinomial"]


class NegativeBinomial(ByChance):
    """How many trials succeed before `total_count` of them have failed.

    >>> torch.distributions.NegativeBinomial(3., torch.tensor(0.5)).mean
    tensor(3.)
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        super().__init__(self._take(probs, logits, total_count=total_count), validate_args=validate_args)

    mean = property(lambda self: self.total_count * tg.exp(self.logits))
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0))
    variance = property(lambda self: self.mean / tg.sigmoid(-self.logits))

    @lazy_property
    def _gamma(self):
        return Gamma(self.total_count, tg.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape=Size()):  # noqa: B008
        with no_grad():
            return tg.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value):
        self._check(value)
        count = self.total_count
        chances = count * F.logsigmoid(-self.logits) + value * F.logsigmoid(self.logits)
        normalizer = -tg.lgamma(count + value) + tg.lgamma(1.0 + value) + tg.lgamma(count)
        return chances - normalizer.masked_fill(count + value == 0.0, 0.0)
