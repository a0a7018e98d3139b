"""Which transform leads from all real numbers to a constrained set: `biject_to` one to one, `transform_to` simply."""

from collections.abc import Callable
from typing import Any

from tensorgrad.distributions import constraints, transforms
from tensorgrad.distributions.utils import is_number

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """A table from kinds of constraints to functions that make a transform for one.

    >>> torch.distributions.biject_to(torch.distributions.constraints.unit_interval)
    SigmoidTransform()
    """

    def __init__(self):
        self._registry = {}

    def register(self, constraint: Any, factory: Callable | None = None) -> Any:
        """Add a function from a constraint to a transform, for a class of constraints; also as a decorator.

        >>> registry = torch.distributions.constraint_registry.ConstraintRegistry()
        >>> positive = torch.distributions.constraints.positive
        >>> _ = registry.register(positive, lambda constraint: torch.distributions.transforms.SoftplusTransform())
        >>> registry(positive)
        SoftplusTransform()
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints") from None
        return factory(constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def both(*kinds):
    """Register for both tables."""

    def register(factory):
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return register


@both(constraints.real)
def _real(constraint):
    return transforms.identity_transform


@both(constraints.positive, constraints.nonnegative, constraints.greater_than, constraints.greater_than_eq)
def _above(constraint):
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)]
    )


@both(constraints.less_than)
def _below(constraint):
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)]
    )


@both(constraints.interval, constraints.half_open_interval)
def _between(constraint):
    low, high = constraint.lower_bound, constraint.upper_bound
    if is_number(low) and low == 0 and is_number(high) and high == 1:
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


@both(constraints.corr_cholesky)
def _corr_cholesky(constraint):
    return transforms.CorrCholeskyTransform()


@biject_to.register(constraints.simplex)
def _sticks(constraint):
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _softmax(constraint):
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _lower_cholesky(constraint):
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)
@transform_to.register(constraints.positive_semidefinite)
def _positive_definite(constraint):
    return transforms.PositiveDefiniteTransform()


def _of_parts(table):
    """Register sets that are made of sets, whose transforms are looked up in the same table."""

    @table.register(constraints.independent)
    def _independent(constraint):
        inner = table(constraint.base_constraint)
        return transforms.IndependentTransform(inner, constraint.reinterpreted_batch_ndims)

    @table.register(constraints.cat)
    def _cat(constraint):
        return transforms.CatTransform([table(part) for part in constraint.cseq], constraint.dim, constraint.lengths)

    @table.register(constraints.stack)
    def _stack(constraint):
        return transforms.StackTransform([table(part) for part in constraint.cseq], constraint.dim)


_of_parts(biject_to)
_of_parts(transform_to)
