"""TransformedDistribution: the distribution of a function of random numbers."""

from typing import Any

from tensorgrad.autograd.modes import no_grad
from tensorgrad.distributions import constraints
from tensorgrad.distributions.distribution import Distribution
from tensorgrad.distributions.independent import Independent
from tensorgrad.distributions.transforms import ComposeTransform, Transform
from tensorgrad.distributions.utils import _sum_rightmost
from tensorgrad.spec import Size

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """Samples of a base distribution after one or several transforms; densities follow from their stretches.

    >>> d = torch.distributions
    >>> d.TransformedDistribution(d.Normal(0., 1.), d.transforms.ExpTransform()).log_prob(torch.tensor(1.))
    tensor(-0.9189)
    """

    arg_constraints = {}

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None):
        if isinstance(transforms, Transform):
            transforms = [transforms]
        elif not isinstance(transforms, list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        elif not all(isinstance(t, Transform) for t in transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        self.transforms = transforms
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        base_event_dim = len(base_distribution.event_shape)
        chain = ComposeTransform(transforms)
        into, out = chain.domain.event_dim, chain.codomain.event_dim
        if len(base_shape) < into:
            raise ValueError(f"base_distribution needs to have shape with size at least {into}, but got {base_shape}.")
        shape = Size(chain.forward_shape(base_shape))
        expanded = chain.inverse_shape(shape)
        if base_shape != expanded:  # options of the transforms are larger than the base
            base_distribution = base_distribution.expand(expanded[: len(expanded) - base_event_dim])
        if into > base_event_dim:
            base_distribution = Independent(base_distribution, into - base_event_dim)
        self.base_dist = base_distribution
        cut = len(shape) - max(out, base_event_dim + out - into)
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def _spread(self, new, batch_shape):
        shape = batch_shape + self.event_shape
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        return super()._spread(new, batch_shape)

    @constraints.dependent_property(is_discrete=False)
    def support(self):
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self.event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    has_rsample = property(lambda self: self.base_dist.has_rsample)

    def sample(self, sample_shape=Size()):  # noqa: B008
        with no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=Size()):  # noqa: B008
        return self._transformed(self.base_dist.rsample(sample_shape))

    def _transformed(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value):
        self._check(value)
        event_dim, total, y = len(self.event_shape), 0.0, value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            stretch = transform.log_abs_det_jacobian(x, y)
            total = total - _sum_rightmost(stretch, event_dim - transform.domain.event_dim)
            y = x
        return total + _sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _monotonize_cdf(self, value):
        """Exchange probabilities for their rest where the transforms fall."""
        sign = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value):
        for transform in self.transforms[::-1]:
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value):
        return self._transformed(self.base_dist.icdf(self._monotonize_cdf(value)))
