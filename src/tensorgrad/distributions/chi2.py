"""The chi-squared distribution."""

from typing import Any

from tensorgrad.distributions import constraints
from tensorgrad.distributions.gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The sum of `df` squared normal numbers.

    >>> torch.distributions.Chi2(3.).mean
    tensor(3.)
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None):
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def _spread(self, new, batch_shape):
        new.concentration, new.rate = self.concentration.expand(batch_shape), self.rate.expand(batch_shape)
        return super()._spread(new, batch_shape)

    @property
    def df(self):
        """The degrees of freedom.

        >>> torch.distributions.Chi2(3.).df
        tensor(3.)
        """
        return self.concentration * 2
