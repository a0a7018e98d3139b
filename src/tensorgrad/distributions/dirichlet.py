"""The Dirichlet distribution."""

from typing import Any

import tensorgrad as tg
from tensorgrad.distributions import constraints
from tensorgrad.distributions.exp_family import ExponentialFamily
from tensorgrad.nn import functional as F
from tensorgrad.spec import Size

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """Shares that add up to one, around the shares of their concentrations.

    >>> torch.distributions.Dirichlet(torch.tensor([1., 3.])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Any, validate_args: bool | None = None):
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def mean(self):
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self):
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        corner = F.one_hot(mode.argmax(dim=-1), mode.shape[-1]).to(mode)
        return tg.where((self.concentration < 1).all(dim=-1, keepdim=True), corner, mode)

    @property
    def variance(self):
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape=Size()):  # noqa: B008
        return tg._sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._check(value)
        a = self.concentration
        return tg.xlogy(a - 1.0, value).sum(-1) + tg.lgamma(a.sum(-1)) - tg.lgamma(a).sum(-1)

    def entropy(self):
        a, count = self.concentration, self.concentration.size(-1)
        total = a.sum(-1)
        return (
            tg.lgamma(a).sum(-1) - tg.lgamma(total) - (count - total) * tg.digamma(total)
            - ((a - 1.0) * tg.digamma(a)).sum(-1)
        )  # fmt: skip

    @property
    def _natural_params(self):
        return (self.concentration,)

    def _log_normalizer(self, x):
        return x.lgamma().sum(-1) - tg.lgamma(x.sum(-1))
