"""The Wishart distribution."""

import math
import warnings
from typing import Any

import tensorgrad as tg
from tensorgrad.distributions import constraints
from tensorgrad.distributions.chi2 import Chi2
from tensorgrad.distributions.exp_family import ExponentialFamily
from tensorgrad.distributions.multivariate_normal import OneOfThree, the_one_given
from tensorgrad.distributions.utils import is_number, lazy_property
from tensorgrad.spec import Size

__all__ = ["Wishart"]


class Wishart(OneOfThree, ExponentialFamily):
    """Sums of outer products of `df` normal vectors: positive definite matrices.

    >>> torch.distributions.Wishart(torch.tensor(3.), covariance_matrix=torch.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self):
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(self, df: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
                 validate_args: bool | None = None):  # fmt: skip
        given = _, matrix = the_one_given(AssertionError, covariance_matrix, precision_matrix, scale_tril)
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        df_ = tg.tensor(df, dtype=matrix.dtype) if is_number(df) else df
        batch_shape, size = tg.broadcast_shapes(matrix.shape[:-2], df_.shape), matrix.shape[-1]
        self.df = df_.expand(batch_shape)
        if self.df.le(size - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {size - 1}.")
        self._take(given, batch_shape)
        if self.df.lt(size).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        super().__init__(batch_shape, matrix.shape[-2:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = self._factor(given)
        self._dist_chi2 = Chi2(self.df.unsqueeze(-1) - tg.arange(size, dtype=matrix.dtype))

    def _square(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        return self._square(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        factor = self._unbroadcasted_scale_tril
        return self._square(factor @ factor.mT)

    @lazy_property
    def precision_matrix(self):
        factor = self._unbroadcasted_scale_tril
        return self._square(tg.cholesky_solve(tg.eye(factor.shape[-1], dtype=factor.dtype), factor))

    def _scaled(self, factor, matrix):
        return factor.view((*self._batch_shape, 1, 1)) * matrix

    mean = property(lambda self: self._scaled(self.df, self.covariance_matrix))

    @property
    def mode(self):
        factor = self.df - self._event_shape[-1] - 1
        return self._scaled(tg.where(factor <= 0, math.nan, factor), self.covariance_matrix)

    @property
    def variance(self):
        matrix = self.covariance_matrix
        diagonal = matrix.diagonal(dim1=-2, dim2=-1)
        return self._scaled(self.df, matrix.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _bartlett_sampling(self, sample_shape):
        """L A A^T L^T: A is lower triangular, with roots of chi-squared numbers on the diagonal, else normal."""
        size = self._event_shape[-1]
        roots = self._dist_chi2.rsample(sample_shape).sqrt()
        factor = roots.clamp(min=tg.finfo(roots.dtype).eps).diag_embed()
        i, j = tg.tril_indices(size, size, offset=-1)
        shape = (*sample_shape, *self._batch_shape, size * (size - 1) // 2)
        factor[..., i, j] = tg.randn(shape, dtype=factor.dtype)
        factor = self._unbroadcasted_scale_tril @ factor
        return factor @ factor.mT

    def rsample(self, sample_shape=Size(), max_try_correction=None):  # noqa: B008
        shape = Size(sample_shape)
        self._bartlett_sampling(shape)  # PyTorch draws twice and takes the second
        sample = self._bartlett_sampling((shape.numel(),)).reshape(self._extended_shape(shape))
        for _ in range(10 if max_try_correction is None else max_try_correction):
            if self.support.check(sample).all():
                break
            warnings.warn("Singular sample detected.", stacklevel=2)
            again = self._bartlett_sampling(shape)
            sample = tg.where(self.support.check(sample)[..., None, None], sample, again)
        return sample

    def _log_det(self):
        """Half the logarithm of the determinant of twice the covariance."""
        diagonal = self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1)
        return self._event_shape[-1] * math.log(2) / 2 + diagonal.log().sum(-1)

    def log_prob(self, value):
        self._check(value)
        nu, p = self.df, self._event_shape[-1]
        trace = tg.cholesky_solve(value, self._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1).sum(dim=-1)
        log_det = tg.linalg.slogdet(value).logabsdet
        return -nu * self._log_det() - tg.mvlgamma(nu / 2, p=p) + (nu - p - 1) / 2 * log_det - trace / 2

    def entropy(self):
        nu, p = self.df, self._event_shape[-1]
        digammas = tg.digamma((nu / 2).unsqueeze(-1) - tg.arange(p, dtype=nu.dtype) / 2).sum(-1)
        return (p + 1) * self._log_det() + tg.mvlgamma(nu / 2, p=p) - (nu - p - 1) / 2 * digammas + nu * p / 2

    @property
    def _natural_params(self):
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x, y):
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        return half * (-tg.linalg.slogdet(-2 * x).logabsdet + math.log(2) * p) + tg.mvlgamma(half, p=p)
