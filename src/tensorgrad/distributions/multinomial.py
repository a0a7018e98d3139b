"""The multinomial distribution."""

import math
from typing import Any

import tensorgrad as tg
from tensorgrad.distributions import constraints
from tensorgrad.distributions.binomial import Binomial
from tensorgrad.distributions.categorical import Categorical
from tensorgrad.distributions.one_hot_categorical import OverCategories
from tensorgrad.distributions.utils import broadcast_all
from tensorgrad.spec import Size

__all__ = ["Multinomial"]


class Multinomial(OverCategories):
    """How often each category comes in `total_count` draws.

    >>> torch.distributions.Multinomial(4, torch.tensor([1., 3.])).mean
    tensor([1., 3.])
    """

    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        return constraints.multinomial(self.total_count)

    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape=Size()):  # noqa: B008
        drawn = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        counts = tg.zeros(self._extended_shape(sample_shape), dtype=drawn.dtype)
        return counts.scatter_add_(-1, drawn, tg.ones_like(drawn)).type_as(self.probs)

    def log_prob(self, value):
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        logits = tg.where((value == 0) & (logits == -math.inf), 0.0, logits)  # never, no times
        ways = tg.lgamma(value.sum(-1) + 1) - tg.lgamma(value + 1).sum(-1)
        return ways + (logits * value).sum(-1)

    def entropy(self):
        each = Binomial(self.total_count, self.probs)
        counts = each.enumerate_support(expand=False)[1:]
        repeats = (tg.exp(each.log_prob(counts)) * tg.lgamma(counts + 1)).sum([0, -1])
        return self.total_count * self._categorical.entropy() - math.lgamma(self.total_count + 1) + repeats
