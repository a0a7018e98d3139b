"""The multivariate normal distribution."""

import math
from typing import Any

import tensorgrad as tg
from tensorgrad.distributions import constraints
from tensorgrad.distributions.distribution import Distribution
from tensorgrad.distributions.utils import _standard_normal, lazy_property
from tensorgrad.spec import Size

__all__ = ["MultivariateNormal"]


def _batch_mv(matrices, vectors):
    """Matrices times vectors."""
    return tg.matmul(matrices, vectors.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(factor, x):
    """|L^-1 x|^2 for lower triangular L: vectors of one matrix go through one solve, as its columns."""
    extra = x.dim() - 1 - (factor.dim() - 2)
    if extra > 0 and x.shape[extra:-1] == factor.shape[:-2]:
        rows = x.reshape(-1, *x.shape[extra:])
        solved = tg.linalg.solve_triangular(factor, rows.movedim(0, -1), upper=False)
        return solved.square().sum(-2).movedim(-1, 0).reshape(x.shape[:-1])
    return tg.linalg.solve_triangular(factor, x.unsqueeze(-1), upper=False).square().sum((-2, -1))


def _precision_to_scale_tril(precision):
    """The lower Cholesky factor of the inverse of a matrix."""
    flipped = tg.linalg.cholesky(tg.flip(precision, (-2, -1)))
    inverse = tg.transpose(tg.flip(flipped, (-2, -1)), -2, -1)
    identity = tg.eye(precision.shape[-1], dtype=precision.dtype)
    return tg.linalg.solve_triangular(inverse, identity, upper=False)


class OneOfThree:
    """What says a covariance: the matrix, its inverse (precision), or its Cholesky factor. One is given."""

    def _take(self, given, batch_shape):
        """Keep the one that is given (name, matrix) in the batch shape, and the Cholesky factor in its own."""
        name, matrix = given
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))

    def _factor(self, given):
        name, matrix = given
        if name == "scale_tril":
            return matrix
        return tg.linalg.cholesky(matrix) if name == "covariance_matrix" else _precision_to_scale_tril(matrix)


def the_one_given(error, covariance_matrix, precision_matrix, scale_tril):
    """The name and matrix of the one that is not None."""
    named = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
    given = [(name, matrix) for name, matrix in named.items() if matrix is not None]
    if len(given) != 1:
        raise error("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
    return given[0]


class MultivariateNormal(OneOfThree, Distribution):
    """Normal vectors around `loc`, by their covariance, its inverse, or its Cholesky factor.

    >>> torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
                 validate_args: bool | None = None):  # fmt: skip
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = name, matrix = the_one_given(ValueError, covariance_matrix, precision_matrix, scale_tril)
        if matrix.dim() < 2:
            kind = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(f"{kind} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = tg.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self._take(given, batch_shape)
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = self._factor(given)

    def _square(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        return self._square(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        factor = self._unbroadcasted_scale_tril
        return self._square(tg.matmul(factor, factor.mT))

    @lazy_property
    def precision_matrix(self):
        return self._square(tg.cholesky_inverse(self._unbroadcasted_scale_tril))

    mean = mode = property(lambda self: self.loc)

    @property
    def variance(self):
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def _half_log_det(self):
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def rsample(self, sample_shape=Size()):  # noqa: B008
        eps = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, eps)

    def log_prob(self, value):
        self._check(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self._half_log_det()

    def entropy(self):
        entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy
