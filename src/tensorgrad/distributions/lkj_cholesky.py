"""The LKJ distribution of correlation matrices, by their Cholesky factors."""

import math
from typing import Any

import tensorgrad as tg
from tensorgrad.autograd.modes import no_grad
from tensorgrad.distributions import constraints
from tensorgrad.distributions.beta import Beta
from tensorgrad.distributions.distribution import Distribution
from tensorgrad.distributions.utils import broadcast_all
from tensorgrad.spec import Size

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of `dim` x `dim` correlation matrices, nearer to the identity for a larger concentration.

    >>> torch.distributions.LKJCholesky(3, 0.5).log_prob(torch.eye(3))
    tensor(-2.5310)
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None):
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        offset = tg.arange(dim - 1, dtype=self.concentration.dtype)
        offset = tg.cat([offset.new_zeros((1,)), offset])
        rest = (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1) - 0.5 * offset
        self._beta = Beta(offset + 0.5, rest)
        super().__init__(self.concentration.size(), (dim, dim), validate_args)

    def sample(self, sample_shape=Size()):  # noqa: B008
        with no_grad():  # rows: directions of normal vectors, with beta numbers for the squares of their lengths
            squares = self._beta.sample(sample_shape).unsqueeze(-1)
            normal = tg.randn(self._extended_shape(sample_shape), dtype=squares.dtype).tril(-1)
            directions = normal / normal.norm(dim=-1, keepdim=True)
            directions[..., 0, :] = 0.0
            factor = tg.sqrt(squares) * directions
            rest = (1 - tg.sum(factor**2, dim=-1)).clamp(min=tg.finfo(factor.dtype).tiny)
            return factor + tg.diag_embed(rest.sqrt())

    def log_prob(self, value):
        self._check(value)
        n = self.dim
        order = 2 * (self.concentration - 1).unsqueeze(-1) + n - tg.arange(2, n + 1)
        density = tg.sum(order * value.diagonal(dim1=-1, dim2=-2)[..., 1:].log(), dim=-1)
        alpha = self.concentration + 0.5 * (n - 1)
        normalizer = 0.5 * (n - 1) * math.log(math.pi) + tg.mvlgamma(alpha - 0.5, n - 1) - tg.lgamma(alpha) * (n - 1)
        return density - normalizer
