"""MixtureSameFamily: one of several distributions of a batch, drawn by a categorical distribution."""

from typing import Any

import tensorgrad as tg
from tensorgrad.autograd.modes import no_grad
from tensorgrad.distributions import constraints
from tensorgrad.distributions.categorical import Categorical
from tensorgrad.distributions.distribution import Distribution
from tensorgrad.spec import Size

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture of the distributions along the last batch dim of `component_distribution`.

    >>> d = torch.distributions
    >>> d.MixtureSameFamily(d.Categorical(torch.ones(2)), d.Normal(torch.tensor([0., 4.]), 1.)).mean
    tensor(2.)
    """

    arg_constraints = {}
    has_rsample = False

    def __init__(self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None):
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        mixed, batch = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for mine, other in zip(reversed(mixed), reversed(batch), strict=False):
            if mine != 1 and other != 1 and mine != other:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixed}) is not compatible with "
                    f"`component_distribution.batch_shape`({batch})"
                )
        count, parts = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if count != parts:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({parts})"
            )
        self._num_component = count
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(batch, event_shape, validate_args=validate_args)

    @constraints.dependent_property
    def support(self):
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self):
        """The distribution that chooses.

        >>> d = torch.distributions
        >>> d.MixtureSameFamily(d.Categorical(torch.ones(2)), d.Normal(torch.zeros(2), 1.)).mixture_distribution
        Categorical(probs: tensorgrad.Size([2]), logits: tensorgrad.Size([2]))
        """
        return self._mixture_distribution

    @property
    def component_distribution(self):
        """The distributions to choose from.

        >>> d = torch.distributions
        >>> d.MixtureSameFamily(d.Categorical(torch.ones(2)), d.Normal(torch.zeros(2), 1.)).component_distribution
        Normal(loc: tensorgrad.Size([2]), scale: tensorgrad.Size([2]))
        """
        return self._component_distribution

    def _weighed(self, values):
        """The mean over the components."""
        probs = self._mixture_distribution.probs
        missing = 0 if probs.dim() == 2 else len(self._batch_shape) - (probs.dim() - 1)
        shape = (*probs.shape[:-1], *(1,) * missing, probs.shape[-1], *(1,) * self._event_ndims)
        return (probs.reshape(shape) * values).sum(-1 - self._event_ndims)

    mean = property(lambda self: self._weighed(self._component_distribution.mean))

    @property
    def variance(self):
        parts = self._component_distribution
        return self._weighed(parts.variance) + self._weighed((parts.mean - self._pad(self.mean)).pow(2.0))

    def _pad(self, x):
        return x.unsqueeze(-1 - self._event_ndims)

    def cdf(self, value):
        return (self._component_distribution.cdf(self._pad(value)) * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, value):
        self._check(value)
        each = self._component_distribution.log_prob(self._pad(value))
        return tg.logsumexp(each + tg.log_softmax(self._mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape=Size()):  # noqa: B008
        with no_grad():
            dim = len(sample_shape) + len(self.batch_shape)
            mixture = self._mixture_distribution
            if mixture.batch_shape != self._batch_shape:
                mixture = mixture.expand(self._batch_shape)
            chosen = mixture.sample(sample_shape)
            samples = self._component_distribution.sample(sample_shape)
            places = chosen.reshape((*chosen.shape, *(1,) * (len(self.event_shape) + 1)))
            places = places.expand((*chosen.shape, 1, *self.event_shape))
            return tg.gather(samples, dim, places).squeeze(dim)

    def __repr__(self):
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
