"""Transform: a function, its inverse, and the logarithm of its stretch. Inverses, chains and larger events of them."""

from collections.abc import Sequence
from typing import Any

import tensorgrad as tg
from tensorgrad.distributions import constraints
from tensorgrad.distributions.utils import _sum_rightmost, lazy_property
from tensorgrad.spec import Size
from tensorgrad.tensor import Tensor

FEW = "Too few dimensions on input"


class Transform:
    """A function of tensors. A subclass brings `_call`, `_inverse`, `log_abs_det_jacobian`, `domain` and `codomain`.

    With `cache_size=1` the last pair of value and result is kept, so that inverting the result just made costs nothing.

    >>> exp = torch.distributions.transforms.ExpTransform()
    >>> exp(torch.tensor(0.)), exp.inv(torch.tensor(1.)), exp.codomain
    (tensor(1.), tensor(0.), GreaterThan(lower_bound=0.0))
    """

    bijective: Any = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0):
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size, self._inv, self._cached_x_y = cache_size, None, (None, None)

    def __getstate__(self):
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> int:
        """How many dimensions it works on at once.

        >>> torch.distributions.transforms.SoftmaxTransform().event_dim
        1
        """
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Any:
        """The inverse, a transform too.

        >>> torch.distributions.transforms.ExpTransform().inv(torch.tensor(1.))
        tensor(0.)
        """
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Any:
        """Whether it rises (1) or falls (-1).

        >>> torch.distributions.transforms.AffineTransform(0., -2.).sign
        -1
        """
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same transform with another cache size.

        >>> torch.distributions.transforms.ExpTransform().with_cache()
        ExpTransform()
        """
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        return self._copied(cache_size)

    def _copied(self, cache_size):
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other):
        return self is other

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, x: Tensor) -> Any:
        if self._cache_size == 0:
            return self._call(x)
        known, result = self._cached_x_y
        if x is known:
            return result
        result = self._call(x)
        self._cached_x_y = x, result
        return result

    def _inv_call(self, y):
        """The inverse of the transform at a value."""
        if self._cache_size == 0:
            return self._inverse(y)
        value, known = self._cached_x_y
        if y is known:
            return value
        value = self._inverse(y)
        self._cached_x_y = value, y
        return value

    def _call(self, x):
        raise NotImplementedError

    def _inverse(self, y):
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of how much it stretches at x, whose result is y.

        >>> torch.distributions.transforms.AffineTransform(0., 4.).log_abs_det_jacobian(torch.zeros(1), torch.zeros(1))
        tensor([1.3863])
        """
        raise NotImplementedError

    def __repr__(self):
        return f"{type(self).__name__}()"

    def forward_shape(self, shape: Size) -> Size:
        """The shape of the result for a shape.

        >>> torch.distributions.transforms.StickBreakingTransform().forward_shape(torch.Size([2]))
        tensorgrad.Size([3])
        """
        return shape

    def inverse_shape(self, shape: Size) -> Size:
        """The shape that a shape of results comes from.

        >>> torch.distributions.transforms.StickBreakingTransform().inverse_shape(torch.Size([3]))
        tensorgrad.Size([2])
        """
        return shape


class _InverseTransform(Transform):
    """The inverse of a transform, which does the work."""

    def __init__(self, transform):
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    def __getstate__(self):
        return self.__dict__

    inv = property(lambda self: self._inv)
    bijective = property(lambda self: self._inv.bijective)
    sign = property(lambda self: self._inv.sign)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return self._inv.domain

    def with_cache(self, cache_size=1):
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other):
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __repr__(self):
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x):
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x, y):
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._inv.forward_shape(shape)


def widened(constraint, event_dim):
    """A constraint on events of more dimensions."""
    more = event_dim - constraint.event_dim
    if more < 0:
        raise AssertionError(f"event_dim {event_dim} must be >= {constraint.event_dim}")
    return constraints.independent(constraint, more) if more else constraint


class ComposeTransform(Transform):
    """Transforms one after the other.

    >>> t = torch.distributions.transforms
    >>> t.ComposeTransform([t.ExpTransform(), t.AffineTransform(1., 2.)])(torch.tensor(0.))
    tensor(3.)
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0):
        super().__init__(cache_size=cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else list(parts)

    def __eq__(self, other):
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        if not self.parts:
            return constraints.real
        event_dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            into, out = part.domain.event_dim, part.codomain.event_dim
            event_dim = max(event_dim + into - out, into)
        return widened(self.parts[0].domain, event_dim)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        if not self.parts:
            return constraints.real
        event_dim = self.parts[0].domain.event_dim
        for part in self.parts:
            into, out = part.domain.event_dim, part.codomain.event_dim
            event_dim = max(event_dim + out - into, out)
        return widened(self.parts[-1].codomain, event_dim)

    @lazy_property
    def bijective(self):  # type: ignore[override]
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self):  # type: ignore[override]
        sign = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self):
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def _copied(self, cache_size):
        return ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x, y):
        if not self.parts:
            return tg.zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        event_dim, total = self.domain.event_dim, 0
        for part, before, after in zip(self.parts, values, values[1:]):
            into = part.domain.event_dim
            total = total + _sum_rightmost(part.log_abs_det_jacobian(before, after), event_dim - into)
            event_dim += part.codomain.event_dim - into
        return total

    def forward_shape(self, shape):
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape):
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self):
        parts = ",\n    ".join(map(repr, self.parts))
        return f"{type(self).__name__}(\n    {parts}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform on events of more dimensions: its stretches are summed over them.

    >>> t = torch.distributions.transforms; two = t.IndependentTransform(t.ExpTransform(), 1)
    >>> two.log_abs_det_jacobian(torch.tensor([1., 2.]), None)
    tensor(3.)
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0):
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def _copied(self, cache_size):
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    bijective = property(lambda self: self.base_transform.bijective)
    sign = property(lambda self: self.base_transform.sign)

    def _call(self, x):
        if x.dim() < self.domain.event_dim:
            raise ValueError(FEW)
        return self.base_transform(x)

    def _inverse(self, y):
        if y.dim() < self.codomain.event_dim:
            raise ValueError(FEW)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x, y):
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape):
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        return self.base_transform.inverse_shape(shape)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """Events in another shape.

    >>> torch.distributions.transforms.ReshapeTransform((4,), (2, 2))(torch.arange(4))
    tensor([[0, 1],
            [2, 3]])
    """

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0):
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    def _copied(self, cache_size):
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    @constraints.dependent_property
    def domain(self):
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self):
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x):
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y):
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x, y):
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape):
        return self._exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape):
        return self._exchanged(shape, self.out_shape, self.in_shape)

    def _exchanged(self, shape, old, new):
        cut = len(shape) - len(old)
        if cut < 0:
            raise ValueError(FEW)
        if shape[cut:] != old:
            raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
        return shape[:cut] + new
