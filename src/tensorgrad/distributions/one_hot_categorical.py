"""The categorical distribution over one-hot vectors."""

from typing import Any

import tensorgrad as tg
from tensorgrad.distributions import constraints
from tensorgrad.distributions.categorical import Categorical
from tensorgrad.distributions.distribution import Distribution
from tensorgrad.nn import functional as F
from tensorgrad.spec import Size

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OverCategories(Distribution):
    """A distribution that rests on a `Categorical`, kept as `_categorical`."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _categorical: Categorical

    _param = property(lambda self: self._categorical._param)

    @property
    def probs(self):
        """The probabilities of the categories.

        >>> torch.distributions.OneHotCategorical(torch.tensor([1., 3.])).probs
        tensor([0.2500, 0.7500])
        """
        return self._categorical.probs

    @property
    def logits(self):
        """Their logarithms.

        >>> torch.distributions.OneHotCategorical(torch.tensor([1., 3.])).logits
        tensor([-1.3863, -0.2877])
        """
        return self._categorical.logits

    @property
    def param_shape(self):
        """The shape of the probabilities.

        >>> torch.distributions.OneHotCategorical(torch.tensor([1., 3.])).param_shape
        tensorgrad.Size([2])
        """
        return self._categorical.param_shape

    def _new(self, *args, **kwargs):
        return self._categorical._new(*args, **kwargs)


class OneHotCategorical(OverCategories):
    """One of several categories, as a vector with a one at its place.

    >>> _ = torch.manual_seed(0); torch.distributions.OneHotCategorical(torch.tensor([1., 3.])).sample()
    tensor([0., 1.])
    """

    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    @property
    def mode(self):
        return F.one_hot(self.probs.argmax(dim=-1), num_classes=self.probs.shape[-1]).to(self.probs)

    def sample(self, sample_shape=Size()):  # noqa: B008
        indices = self._categorical.sample(sample_shape)
        return F.one_hot(indices, self._categorical._num_events).to(self.probs)

    def log_prob(self, value):
        self._check(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        n = self.event_shape[0]
        values = tg.eye(n, dtype=self._param.dtype).view((n, *(1,) * len(self.batch_shape), n))
        return values.expand((n, *self.batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot samples whose gradients are those of the probabilities.

    >>> probs = torch.tensor([1., 3.], requires_grad=True); _ = torch.manual_seed(0)
    >>> torch.distributions.OneHotCategoricalStraightThrough(probs).rsample()[0].backward(); probs.grad
    tensor([ 0.1875, -0.0625])
    """

    has_rsample = True

    def rsample(self, sample_shape=Size()):  # noqa: B008
        probs = self.probs
        return self.sample(sample_shape) + (probs - probs.detach())
