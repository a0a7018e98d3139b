"""Constraints: sets of numbers, vectors or matrices, each with a `check` that tells who belongs.

Parameters of distributions have constraints (`arg_constraints`), and so do their samples (`support`).
"""

from collections.abc import Callable, Sequence
from typing import Any

import tensorgrad as tg
from tensorgrad.tensor import Tensor

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property",
    "greater_than", "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval",
    "is_dependent", "less_than", "lower_cholesky", "lower_triangular", "multinomial", "nonnegative",
    "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer", "positive_semidefinite",
    "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip


class Constraint:
    """A set. `event_dim` says how many dimensions one member has, `is_discrete` whether its members are apart.

    >>> torch.distributions.constraints.positive.check(torch.tensor([-1., 2.]))
    tensor([False,  True])
    """

    is_discrete: Any = False
    event_dim: Any = 0
    _bounds: tuple = ()  # the names of its limits

    def check(self, value: Tensor) -> Tensor:
        """Which members of a batch belong to the set."""
        raise NotImplementedError

    def __repr__(self):
        return f"{type(self).__name__[1:]}({', '.join(f'{name}={getattr(self, name)}' for name in self._bounds)})"


class _Dependent(Constraint):
    """A set that depends on the distribution, so that nothing is known of it beforehand."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented):
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def _known(self, name):
        value = getattr(self, f"_{name}")
        if value is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return value

    is_discrete = property(lambda self: self._known("is_discrete"))
    event_dim = property(lambda self: self._known("event_dim"))

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented):
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, x):
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint depends on the distribution.

    >>> torch.distributions.constraints.is_dependent(torch.distributions.Uniform.support)
    True
    """
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property of a distribution that is a constraint; on the class it is a dependent one."""

    def __init__(self, fn: Callable | None = None, *, is_discrete: Any = NotImplemented,
                 event_dim: Any = NotImplemented):  # fmt: skip
        property.__init__(self, fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn):  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def _need(value, kind, name):
    if not isinstance(value, kind):
        raise AssertionError(
            f"{name} must be {'an' if kind is int else 'a'} {kind.__name__}, got {type(value).__name__}"
        )


def _all_of(result, kept):
    """Whether all belong, over the dimensions after the first ones."""
    return result.reshape((*result.shape[:kept], -1)).all(-1)


class _IndependentConstraint(Constraint):
    """Events of several members, all of which belong."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int):
        _need(base_constraint, Constraint, "base_constraint")
        _need(reinterpreted_batch_ndims, int, "reinterpreted_batch_ndims")
        if reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be >= 0, got {reinterpreted_batch_ndims}")
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims

    is_discrete = property(lambda self: self.base_constraint.is_discrete)
    event_dim = property(lambda self: self.base_constraint.event_dim + self.reinterpreted_batch_ndims)

    def check(self, value):
        result = self.base_constraint.check(value)
        kept = result.dim() - self.reinterpreted_batch_ndims
        if kept < 0:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_of(result, kept)

    def __repr__(self):
        return f"{type(self).__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """What belongs to the supports of all components of a mixture.

    >>> constraints = torch.distributions.constraints
    >>> constraints.MixtureSameFamilyConstraint(constraints.positive).check(torch.tensor([-1., 2.]))
    tensor([False,  True])
    """

    def __init__(self, base_constraint: Constraint):
        _need(base_constraint, Constraint, "base_constraint")
        self.base_constraint = base_constraint

    is_discrete = property(lambda self: self.base_constraint.is_discrete)
    event_dim = property(lambda self: self.base_constraint.event_dim)

    def check(self, value):
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_of(result, value.dim() - self.event_dim)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_constraint!r})"


# Numbers


class _Real(Constraint):
    def check(self, value):
        return value == value  # not a number equals nothing


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value):
        return (value == 0) | (value == 1)


class _From(Constraint):
    """A set with a lower limit."""

    _bounds = ("lower_bound",)

    def __init__(self, lower_bound: Any):
        self.lower_bound = lower_bound


class _UpTo(Constraint):
    """A set with an upper limit."""

    _bounds = ("upper_bound",)

    def __init__(self, upper_bound: Any):
        self.upper_bound = upper_bound


class _Between(Constraint):
    """A set with two limits."""

    _bounds = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound: Any, upper_bound: Any):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound


class _GreaterThan(_From):
    def check(self, value):
        return self.lower_bound < value


class _GreaterThanEq(_From):
    def check(self, value):
        return self.lower_bound <= value


class _IntegerGreaterThan(_From):
    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (value >= self.lower_bound)


class _LessThan(_UpTo):
    def check(self, value):
        return value < self.upper_bound


class _IntegerLessThan(_UpTo):
    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (value <= self.upper_bound)


class _Interval(_Between):
    def check(self, value):
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Between):
    def check(self, value):
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _IntegerInterval(_Between):
    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


# Vectors


class _OneHot(Constraint):
    is_discrete, event_dim = True, 1

    def check(self, value):
        return _boolean.check(value).all(-1) & value.sum(-1).eq(1)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value):
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(_UpTo):
    is_discrete, event_dim, _bounds = True, 1, ()

    def check(self, x):
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)


# Matrices


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value):
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(_LowerTriangular):
    def check(self, value):
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    def check(self, value):
        allowed = tg.finfo(value.dtype).eps * value.size(-1) * 10
        norms = value.detach().square().sum(-1).sqrt()
        return super().check(value) & ((norms - 1).abs() <= allowed).all(-1)


class _Square(Constraint):
    event_dim = 2

    def check(self, value):
        return tg.full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=tg.bool)


class _Symmetric(_Square):
    def check(self, value):
        found = super().check(value)
        return tg.isclose(value, value.mT, atol=1e-6).all(-2).all(-1) if found.all() else found


class _PositiveSemidefinite(_Symmetric):
    def check(self, value):
        found = super().check(value)
        return tg.linalg.eigvalsh(value).ge(0).all(-1) if found.all() else found


class _PositiveDefinite(_Symmetric):
    def check(self, value):
        found = super().check(value)
        return tg.linalg.cholesky_ex(value).info.eq(0) if found.all() else found


# Several sets


class _Several(Constraint):
    """Parts along a dimension, each with a set of its own."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0):
        if not all(isinstance(part, Constraint) for part in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq, self.dim = list(cseq), dim

    is_discrete = property(lambda self: any(part.is_discrete for part in self.cseq))

    def _check_dim(self, value):
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for value with {value.dim()} dimensions")


class _Cat(_Several):
    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None):
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")

    event_dim = property(lambda self: max(part.event_dim for part in self.cseq))

    def check(self, value):
        self._check_dim(value)
        pieces = value.split(self.lengths, self.dim)
        return tg.cat([part.check(piece) for part, piece in zip(self.cseq, pieces)], self.dim)


class _Stack(_Several):
    @property
    def event_dim(self):  # type: ignore[override]
        inner = max(part.event_dim for part in self.cseq)
        return inner + 1 if self.dim + inner < 0 else inner

    def check(self, value):
        self._check_dim(value)
        return tg.stack([part.check(piece) for part, piece in zip(self.cseq, value.unbind(self.dim))], self.dim)


dependent, dependent_property, independent = _Dependent(), _DependentProperty, _IndependentConstraint
boolean = _boolean = _Boolean()
one_hot, simplex, multinomial = _OneHot(), _Simplex(), _Multinomial
nonnegative_integer, positive_integer, integer_interval = (
    _IntegerGreaterThan(0),
    _IntegerGreaterThan(1),
    _IntegerInterval,
)
real = _Real()
real_vector = independent(real, 1)
positive, nonnegative = _GreaterThan(0.0), _GreaterThanEq(0.0)
greater_than, greater_than_eq, less_than = _GreaterThan, _GreaterThanEq, _LessThan
unit_interval, interval, half_open_interval = _Interval(0.0, 1.0), _Interval, _HalfOpenInterval
lower_triangular, lower_cholesky, corr_cholesky = _LowerTriangular(), _LowerCholesky(), _CorrCholesky()
square, symmetric = _Square(), _Symmetric()
positive_semidefinite, positive_definite = _PositiveSemidefinite(), _PositiveDefinite()
cat, stack = _Cat, _Stack
