"""Distributions that are given by probabilities or by logits: each follows from the other when it is asked for."""

from typing import Any

from tensorgrad.distributions.distribution import Distribution
from tensorgrad.distributions.utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits
from tensorgrad.spec import Size
from tensorgrad.tensor import Tensor


def which(probs, logits):
    """The name and value of the one that is given."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return ("logits", logits) if probs is None else ("probs", probs)


class ByChance(Distribution):
    """What such distributions share. `_binary`: something happens or not; otherwise one of several along the last dim."""

    _binary = True
    _given: str

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=self._binary)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, is_binary=self._binary)

    @property
    def _param(self) -> Tensor:
        return getattr(self, self._given)

    @property
    def param_shape(self) -> Size:
        """The shape of the probabilities.

        >>> torch.distributions.Categorical(torch.ones(2, 3)).param_shape
        tensorgrad.Size([2, 3])
        """
        return self._param.size()

    def _new(self, *args, **kwargs):
        return self._param.new(*args, **kwargs)

    def _take(self, probs: Any, logits: Any, **beside: Any):
        """Keep what is given, and other parameters in its shape and dtype; returns the batch shape."""
        self._given, value = which(probs, logits)
        *others, value = broadcast_all(*beside.values(), value)
        for name, other in zip(beside, others):
            setattr(self, name, other.type_as(value))
        setattr(self, self._given, value)
        return value.shape
