"""The multivariate normal distribution with a covariance of low rank plus a diagonal."""

import math
from typing import Any

import tensorgrad as tg
from tensorgrad.distributions import constraints
from tensorgrad.distributions.distribution import Distribution
from tensorgrad.distributions.multivariate_normal import _batch_mahalanobis, _batch_mv
from tensorgrad.distributions.utils import _standard_normal, lazy_property
from tensorgrad.spec import Size

__all__ = ["LowRankMultivariateNormal"]


def _plus_identity(matrix):
    return matrix + tg.eye(matrix.size(-1), dtype=matrix.dtype)


def _batch_capacitance_tril(factor, diag):
    """The Cholesky factor of I + W^T D^-1 W."""
    return tg.linalg.cholesky(_plus_identity(tg.matmul(factor.mT / diag.unsqueeze(-2), factor)))


def _batch_lowrank_logdet(factor, diag, capacitance_tril):
    """log det(W W^T + D), by the matrix determinant lemma."""
    return 2 * capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1) + diag.log().sum(-1)


def _batch_lowrank_mahalanobis(factor, diag, x, capacitance_tril):
    """x^T (W W^T + D)^-1 x, by Woodbury's identity."""
    inner = _batch_mv(factor.mT / diag.unsqueeze(-2), x)
    return (x.pow(2) / diag).sum(-1) - _batch_mahalanobis(capacitance_tril, inner)


class LowRankMultivariateNormal(Distribution):
    """Normal vectors with covariance `cov_factor @ cov_factor.T + diag(cov_diag)`, which is never inverted whole.

    >>> d = torch.distributions.LowRankMultivariateNormal(torch.zeros(2), torch.tensor([[1.], [0.]]), torch.ones(2))
    >>> d.covariance_matrix
    tensor([[2., 0.],
            [0., 1.]])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            loc_, self.cov_factor, diag_ = tg.broadcast_tensors(loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1))
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_diag = loc_[..., 0], diag_[..., 0]
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)
        super().__init__(self.loc.shape[:-1], event_shape, validate_args=validate_args)

    _parts = property(lambda self: (self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag))
    mean = mode = property(lambda self: self.loc)

    @lazy_property
    def variance(self):  # type: ignore[override]
        factor, diag = self._parts
        return (factor.pow(2).sum(-1) + diag).expand(self._batch_shape + self._event_shape)

    def _square(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        """The Cholesky factor of the covariance.

        >>> d = torch.distributions.LowRankMultivariateNormal(torch.zeros(2), torch.zeros(2, 1), 4 * torch.ones(2))
        >>> d.scale_tril
        tensor([[2., 0.],
                [0., 2.]])
        """
        factor, diag = self._parts
        root = diag.sqrt().unsqueeze(-1)
        scaled = factor / root
        return self._square(root * tg.linalg.cholesky(_plus_identity(tg.matmul(scaled, scaled.mT))))

    @lazy_property
    def covariance_matrix(self):
        """The covariance.

        >>> d = torch.distributions.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(2))
        >>> d.covariance_matrix
        tensor([[2., 1.],
                [1., 2.]])
        """
        factor, diag = self._parts
        return self._square(tg.matmul(factor, factor.mT) + tg.diag_embed(diag))

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance.

        >>> d = torch.distributions.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(2))
        >>> d.precision_matrix
        tensor([[ 0.6667, -0.3333],
                [-0.3333,  0.6667]])
        """
        factor, diag = self._parts
        solved = tg.linalg.solve_triangular(self._capacitance_tril, factor.mT / diag.unsqueeze(-2), upper=False)
        return self._square(tg.diag_embed(diag.reciprocal()) - solved.mT @ solved)

    def rsample(self, sample_shape=Size()):  # noqa: B008
        shape, (factor, diag) = self._extended_shape(sample_shape), self._parts
        along = _standard_normal(shape[:-1] + self.cov_factor.shape[-1:], self.loc.dtype)
        each = _standard_normal(shape, self.loc.dtype)
        return self.loc + _batch_mv(factor, along) + diag.sqrt() * each

    def log_prob(self, value):
        self._check(value)
        distance = _batch_lowrank_mahalanobis(*self._parts, value - self.loc, self._capacitance_tril)
        log_det = _batch_lowrank_logdet(*self._parts, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + log_det + distance)

    def entropy(self):
        log_det = _batch_lowrank_logdet(*self._parts, self._capacitance_tril)
        entropy = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + log_det)
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy
