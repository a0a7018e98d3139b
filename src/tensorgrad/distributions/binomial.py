"""The binomial distribution."""

from typing import Any

import tensorgrad as tg
from tensorgrad.autograd.modes import no_grad
from tensorgrad.distributions import constraints
from tensorgrad.distributions._chances import ByChance
from tensorgrad.spec import Size

__all__ = ["Binomial"]


class Binomial(ByChance):
    """How many of `total_count` trials succeed.

    >>> torch.distributions.Binomial(4, torch.tensor(0.5)).log_prob(torch.tensor(2.)).exp()
    tensor(0.3750)
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        super().__init__(self._take(probs, logits, total_count=total_count), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    mean = property(lambda self: self.total_count * self.probs)
    mode = property(lambda self: ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count))
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape=Size()):  # noqa: B008
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return tg.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value):
        self._check(value)
        n, logits = self.total_count, self.logits
        upper = (logits.clamp(min=0) + logits - logits.clamp(max=0)) / 2  # clamped, with half the gradient at 0
        normalizer = n * upper + n * tg.log1p(tg.exp(-tg.abs(logits))) - tg.lgamma(n + 1)
        return value * logits - tg.lgamma(value + 1) - tg.lgamma(n - value + 1) - normalizer

    def _count(self, name):
        """The number of trials, which must be the same for all."""
        count = int(self.total_count.max())
        if self.total_count.min() != count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{name}`.")
        return count

    def entropy(self):
        self._count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(tg.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand=True):
        return self._enumerated(tg.arange(1 + self._count("enumerate_support"), dtype=self._param.dtype), expand)
