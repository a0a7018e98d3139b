"""Transforms of numbers, one by one."""

import math
from typing import Any

import tensorgrad as tg
from tensorgrad.distributions import constraints
from tensorgrad.distributions.transforms.base import Transform
from tensorgrad.distributions.utils import broadcast_all, is_number, lazy_property
from tensorgrad.nn.functional import softplus


class _Plain(Transform):
    """A transform without options, equal to all of its kind."""

    def __eq__(self, other):
        return isinstance(other, type(self))


class ExpTransform(_Plain):
    """y = exp(x).

    >>> torch.distributions.transforms.ExpTransform()(torch.tensor(1.))
    tensor(2.7183)
    """

    domain, codomain, bijective, sign = constraints.real, constraints.positive, True, +1

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


class PowerTransform(Transform):
    """y = x to a power.

    >>> torch.distributions.transforms.PowerTransform(2.)(torch.tensor(3.))
    tensor(9.)
    """

    domain, codomain, bijective = constraints.positive, constraints.positive, True

    def __init__(self, exponent: Any, cache_size: int = 0):
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def _copied(self, cache_size):
        return PowerTransform(self.exponent, cache_size=cache_size)

    @lazy_property
    def sign(self):  # type: ignore[override]
        return self.exponent.sign()

    def __eq__(self, other):
        return isinstance(other, PowerTransform) and self.exponent.eq(other.exponent).all().item()

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape):
        return tg.broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


def clipped_sigmoid(x):
    """The sigmoid, kept within the numbers between 0 and 1."""
    info = tg.finfo(x.dtype)
    return tg.sigmoid(x).clamp(min=info.tiny, max=1.0 - info.eps)


class SigmoidTransform(_Plain):
    """y = 1 / (1 + exp(-x)).

    >>> torch.distributions.transforms.SigmoidTransform()(torch.tensor(0.))
    tensor(0.5000)
    """

    domain, codomain, bijective, sign = constraints.real, constraints.unit_interval, True, +1

    def _call(self, x):
        return clipped_sigmoid(x)

    def _inverse(self, y):
        info = tg.finfo(y.dtype)
        y = y.clamp(min=info.tiny, max=1.0 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Plain):
    """y = log(1 + exp(x)).

    >>> torch.distributions.transforms.SoftplusTransform()(torch.tensor(0.))
    tensor(0.6931)
    """

    domain, codomain, bijective, sign = constraints.real, constraints.positive, True, +1

    def _call(self, x):
        return softplus(x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x)


class TanhTransform(_Plain):
    """y = tanh(x).

    >>> torch.distributions.transforms.TanhTransform()(torch.tensor(1.))
    tensor(0.7616)
    """

    domain, codomain, bijective, sign = constraints.real, constraints.interval(-1.0, 1.0), True, +1

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return tg.atanh(y)

    def log_abs_det_jacobian(self, x, y):
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(_Plain):
    """y = |x|. Of the two values it may come from, the inverse gives the positive one.

    >>> torch.distributions.transforms.AbsTransform()(torch.tensor(-1.))
    tensor(1.)
    """

    domain, codomain = constraints.real, constraints.positive

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


def same(a, b):
    """Whether two options, numbers or tensors, are equal."""
    return a == b if is_number(a) and is_number(b) else (a == b).all().item()


class AffineTransform(Transform):
    """y = loc + scale * x.

    >>> torch.distributions.transforms.AffineTransform(1., 2.)(torch.tensor(3.))
    tensor(7.)
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0):
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    def _copied(self, cache_size):
        return AffineTransform(self.loc, self.scale, self._event_dim, cache_size=cache_size)

    event_dim = property(lambda self: self._event_dim)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real

    codomain = domain

    def __eq__(self, other):
        return isinstance(other, AffineTransform) and same(self.loc, other.loc) and same(self.scale, other.scale)

    @property
    def sign(self):
        if is_number(self.scale):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        shape, scale, count = x.shape, self.scale, self._event_dim
        result = tg.full_like(x, math.log(abs(scale))) if is_number(scale) else tg.abs(scale).log()
        if count:
            result, shape = result.view((*result.shape[:-count], -1)).sum(-1), shape[:-count]
        return result.expand(shape)

    def forward_shape(self, shape):
        return tg.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """y = the probability that a distribution stays below x.

    >>> normal = torch.distributions.Normal(0., 1.)
    >>> torch.distributions.transforms.CumulativeDistributionTransform(normal)(torch.tensor(0.))
    tensor(0.5000)
    """

    codomain, bijective, sign = constraints.unit_interval, True, +1

    def __init__(self, distribution: Any, cache_size: int = 0):
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    def _copied(self, cache_size):
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)

    domain = property(lambda self: self.distribution.support)

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)
