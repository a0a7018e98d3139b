"""One-hot vectors made continuous (Gumbel softmax), so that gradients pass: near corners for a low temperature."""

from typing import Any

import tensorgrad as tg
from tensorgrad.distributions import constraints
from tensorgrad.distributions.categorical import Categorical
from tensorgrad.distributions.one_hot_categorical import OverCategories
from tensorgrad.distributions.transformed_distribution import TransformedDistribution
from tensorgrad.distributions.transforms import ExpTransform
from tensorgrad.distributions.utils import broadcast_all, clamp_probs
from tensorgrad.spec import Size

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(OverCategories):
    """The logarithms of relaxed one-hot vectors.

    >>> module = torch.distributions.relaxed_categorical
    >>> module.ExpRelaxedCategorical(torch.tensor(1.), torch.ones(2)).log_prob(torch.tensor([0.5, 0.5]).log())
    tensor(-1.3863)
    """

    support = constraints.real_vector  # a surface in it
    has_rsample = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self._categorical, self.temperature = Categorical(probs, logits), temperature
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    def rsample(self, sample_shape=Size()):  # noqa: B008
        uniforms = clamp_probs(tg.rand(self._extended_shape(sample_shape), dtype=self.logits.dtype))
        scores = (self.logits - (-(uniforms.log())).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value):
        self._check(value)
        count = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        temperature = self.temperature
        log_scale = tg.full_like(temperature, float(count)).lgamma() + temperature.log() * (count - 1)
        score = logits - value.mul(temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + log_scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """Shares of one, near one category for a low temperature.

    >>> _ = torch.manual_seed(0)
    >>> torch.distributions.RelaxedOneHotCategorical(torch.tensor(0.1), torch.tensor([0.1, 0.9])).sample()
    tensor([1.6338e-14, 1.0000e+00])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    temperature = property(lambda self: self.base_dist.temperature)
    logits = property(lambda self: self.base_dist.logits)
    probs = property(lambda self: self.base_dist.probs)
