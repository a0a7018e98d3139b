"""Distribution: what all distributions share. Shapes: samples are (sample shape) + (batch shape) + (event shape).

A distribution here keeps its parameters as attributes of full shape, named in `arg_constraints`; `expand` follows from that.
"""

import warnings
from typing import Any

import tensorgrad as tg
from tensorgrad.autograd.modes import no_grad
from tensorgrad.distributions import constraints
from tensorgrad.distributions.utils import all_true, broadcast_all, lazy_property
from tensorgrad.spec import Size
from tensorgrad.tensor import Tensor

__all__ = ["Distribution"]

Shape = tuple  # of ints


class Distribution:
    """The base of all distributions; a subclass brings `rsample` or `sample`, `log_prob` and what else it knows.

    >>> class Coin(torch.distributions.Distribution):
    ...     arg_constraints, support = {}, torch.distributions.constraints.boolean
    ...     def log_prob(self, value): self._validate_sample(value); return torch.full_like(value, 0.5).log()
    >>> Coin().log_prob(torch.tensor([0., 1.]))
    tensor([-0.6931, -0.6931])
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check their parameters, and values given to them, from now on.

        >>> torch.distributions.Distribution.set_default_validate_args(True)
        """
        if value not in [True, False]:
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Shape = Size(), event_shape: Shape = Size(), validate_args: bool | None = None):  # noqa: B008
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()
        super().__init__()

    def _validate_parameters(self):
        try:
            known = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=4,
            )
            return
        for name, constraint in known.items():
            later = name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property)
            if constraints.is_dependent(constraint) or later:
                continue
            value = getattr(self, name)
            if not all_true(constraint.check(value)):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def _set(self, validate_args, **parameters):
        """Begin as a batch of distributions of numbers: parameters that are broadcast together."""
        values = broadcast_all(*parameters.values())
        for name, value in zip(parameters, values):
            setattr(self, name, value)
        Distribution.__init__(self, values[0].shape, validate_args=validate_args)

    # Shapes

    @property
    def batch_shape(self) -> Size:
        """How many distributions these are.

        >>> torch.distributions.Normal(torch.zeros(2, 3), 1.).batch_shape
        tensorgrad.Size([2, 3])
        """
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample of one of them.

        >>> torch.distributions.Dirichlet(torch.ones(2, 3)).event_shape
        tensorgrad.Size([3])
        """
        return self._event_shape

    def expand(self, batch_shape: Shape, _instance: Any = None):
        """The same distributions in a larger batch, without copying.

        >>> torch.distributions.Normal(0., 1.).expand((2,)).mean
        tensor([0., 0.])
        """
        home = next(kind for kind in type(self).__mro__ if kind.__module__.startswith("tensorgrad.distributions"))
        if home is Distribution or home.__name__ == "ExponentialFamily":
            raise NotImplementedError
        return self._spread(self._get_checked_instance(home, _instance), Size(batch_shape))

    def _spread(self, new, batch_shape):
        """Give a new instance all that this one has, its parameters in another batch shape."""
        known, own = self.arg_constraints, len(self._batch_shape)
        for name, value in self.__dict__.items():
            if name in new.__dict__:  # a subclass has put it there
                continue
            if isinstance(value, Distribution):
                value = value.expand(batch_shape + value.batch_shape[own:])
            elif name in known:
                value = value.expand(batch_shape + value.shape[own:])
            elif isinstance(getattr(type(self), name, None), lazy_property):
                continue
            new.__dict__[name] = value
        new._batch_shape = batch_shape
        return new

    def _get_checked_instance(self, cls, _instance=None):
        if _instance is None and type(self).__init__ is not cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also define "
                "a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def _extended_shape(self, sample_shape=Size()):  # noqa: B008
        return Size(sample_shape) + self._batch_shape + self._event_shape

    # What a distribution knows of itself

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """The sets that the parameters must belong to, by name."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """The set that the samples belong to."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean.

        >>> torch.distributions.Exponential(4.).mean
        tensor(0.2500)
        """
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """Where the density is highest.

        >>> torch.distributions.Exponential(4.).mode
        tensor(0.)
        """
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance.

        >>> torch.distributions.Exponential(4.).variance
        tensor(0.0625)
        """
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation.

        >>> torch.distributions.Exponential(4.).stddev
        tensor(0.2500)
        """
        return self.variance.sqrt()

    # Samples

    def sample(self, sample_shape: Shape = Size()) -> Tensor:  # noqa: B008
        """Random numbers, without gradients.

        >>> _ = torch.manual_seed(0); torch.distributions.Normal(0., 1.).sample((2,))
        tensor([ 1.5410, -0.2934])
        """
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Shape = Size()) -> Tensor:  # noqa: B008
        """Random numbers that move with the parameters, so that gradients reach those.

        >>> scale = torch.tensor(2., requires_grad=True); _ = torch.manual_seed(0)
        >>> torch.distributions.Normal(0., scale).rsample().backward(); scale.grad
        tensor(1.5410)
        """
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """`sample((n,))`, as it was written formerly."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", category=FutureWarning, stacklevel=2
        )
        return self.sample(Size((n,)))

    # Probabilities

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability of a discrete value.

        >>> torch.distributions.Normal(0., 1.).log_prob(torch.tensor([0., 1.]))
        tensor([-0.9189, -1.4189])
        """
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of being no more than a value.

        >>> torch.distributions.Normal(0., 1.).cdf(torch.tensor([0., 1.]))
        tensor([0.5000, 0.8413])
        """
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The value that is exceeded with one minus a probability: the inverse of `cdf`.

        >>> torch.distributions.Normal(0., 1.).icdf(torch.tensor([0.5, 0.8413]))
        tensor([0.0000, 0.9998])
        """
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, along a new first dimension.

        >>> torch.distributions.Bernoulli(torch.tensor([0.3])).enumerate_support()
        tensor([[0.],
                [1.]])
        """
        raise NotImplementedError

    def _enumerated(self, values, expand):
        """Values along a first dimension, for each distribution of the batch."""
        values = values.view((-1, *(1,) * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values

    def entropy(self) -> Tensor:
        """How undecided it is, in nats.

        >>> torch.distributions.Bernoulli(0.5).entropy()
        tensor(0.6931)
        """
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """Among how many equally likely values it would be as undecided.

        >>> torch.distributions.Bernoulli(0.5).perplexity()
        tensor(2.)
        """
        return tg.exp(self.entropy())

    def _full(self, value, like):
        """One value for each number of a sample."""
        return tg.full(self._extended_shape(), value, dtype=like.dtype)

    def _check(self, value):
        """Check a value, where values are checked."""
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value):
        """Raise for a value that this distribution can never take, or that does not fit its shape."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape, event, expected = value.shape, self._event_shape, self._batch_shape + self._event_shape
        if shape[len(shape) - len(event) :] != event:
            raise ValueError(f"The right-most size of value must match event_shape: {shape} vs {event}.")
        for mine, other in zip(reversed(shape), reversed(expected), strict=False):
            if mine != 1 and other != 1 and mine != other:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. Please initialize the distribution "
                "with `validate_args=False` to turn off validation.",
                stacklevel=2,
            )
            return
        if support is None:
            raise AssertionError("support is unexpectedly None")
        if not all_true(support.check(value)):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(shape)}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self):
        values = {name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__}
        shown = [f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in values.items()]
        return f"{type(self).__name__}({', '.join(shown)})"
