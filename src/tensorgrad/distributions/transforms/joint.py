"""Transforms of vectors and matrices, and transforms of parts that are joined."""

import math
from collections.abc import Sequence

import tensorgrad as tg
from tensorgrad.distributions import constraints
from tensorgrad.distributions.transforms.base import FEW, Transform
from tensorgrad.distributions.transforms.elementwise import _Plain, clipped_sigmoid
from tensorgrad.distributions.utils import _sum_rightmost, lazy_property, tril_matrix_to_vec, vec_to_tril_matrix
from tensorgrad.nn.functional import logsigmoid, pad, softplus


def need_dims(shape, count):
    """Raise for a shape of too few dimensions."""
    if len(shape) < count:
        raise ValueError(FEW)
    return shape


def before(x):
    """Values along the last dim, moved by one, from one on."""
    return pad(x[..., :-1], [1, 0], value=1)


class CorrCholeskyTransform(Transform):
    """Vectors of D (D - 1) / 2 real numbers become Cholesky factors of D x D correlation matrices.

    >>> torch.distributions.transforms.CorrCholeskyTransform()(torch.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain, codomain, bijective = constraints.real_vector, constraints.corr_cholesky, True

    def _call(self, x):
        eps = tg.finfo(x.dtype).eps
        r = vec_to_tril_matrix(tg.tanh(x).clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r**2).sqrt().cumprod(-1)  # of the length of each row
        return (r + tg.eye(r.shape[-1], dtype=r.dtype)) * before(left)

    def _inverse(self, y):
        left = before(1 - tg.cumsum(y * y, dim=-1))
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (t.log1p() - t.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x, y, intermediates=None):
        left = tril_matrix_to_vec(1 - (y * y).cumsum(dim=-1), diag=-2)
        of_tanh = -2 * (x + softplus(-2 * x) - math.log(2.0)).sum(dim=-1)
        return 0.5 * left.log().sum(-1) + of_tanh

    def forward_shape(self, shape):
        count = need_dims(shape, 1)[-1]
        size = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != count:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (size, size)

    def inverse_shape(self, shape):
        size = need_dims(shape, 2)[-1]
        if shape[-2] != size:
            raise ValueError("Input is not square")
        return shape[:-2] + (size * (size - 1) // 2,)


class SoftmaxTransform(_Plain):
    """Real vectors become shares of one. Not invertible: a constant is lost.

    >>> torch.distributions.transforms.SoftmaxTransform()(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x):
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y):
        return y.log()

    def forward_shape(self, shape):
        return need_dims(shape, 1)

    inverse_shape = forward_shape


class StickBreakingTransform(_Plain):
    """Vectors of n real numbers become n + 1 shares of one: each number breaks its share off what is left.

    >>> torch.distributions.transforms.StickBreakingTransform()(torch.zeros(2))
    tensor([0.3333, 0.3333, 0.3333])
    """

    domain, codomain, bijective = constraints.real_vector, constraints.simplex, True

    def _shift(self, x, count):
        """The logarithms of how many shares are still to be broken off."""
        return (count - x.new_ones(count - 1).cumsum(-1)).log()

    def _call(self, x):
        z = clipped_sigmoid(x - self._shift(x, x.shape[-1] + 1))
        return pad(z, [0, 1], value=1) * pad((1 - z).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y):
        first = y[..., :-1]
        left = (1 - first.cumsum(-1)).clamp(min=tg.finfo(y.dtype).tiny)
        return first.log() - left.log() + self._shift(y, y.shape[-1])

    def log_abs_det_jacobian(self, x, y):
        x = x - self._shift(x, x.shape[-1] + 1)
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape):
        return need_dims(shape, 1)[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape):
        return need_dims(shape, 1)[:-1] + (shape[-1] - 1,)


class LowerCholeskyTransform(_Plain):
    """Real matrices become lower triangular ones with a positive diagonal.

    >>> torch.distributions.transforms.LowerCholeskyTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def _call(self, x):
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y):
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(_Plain):
    """Real matrices become positive definite ones.

    >>> torch.distributions.transforms.PositiveDefiniteTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite

    def _call(self, x):
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(tg.linalg.cholesky(y))


class _Joined(Transform):
    """Parts along a dimension, each with a transform of its own."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0):
        if not all(isinstance(part, Transform) for part in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size=cache_size)
        self.transforms = [part.with_cache(cache_size) if cache_size else part for part in tseq]
        self.dim = dim

    bijective = property(lambda self: all(part.bijective for part in self.transforms))

    def _check(self, x, size, name):
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(f"dim {self.dim} out of range for tensor with {x.dim()} dimensions")
        if x.size(self.dim) != size:
            raise AssertionError(f"x.size({self.dim}) = {x.size(self.dim)} must equal {name} {size}")


class CatTransform(_Joined):
    """Transforms of pieces of some lengths along a dimension.

    >>> t = torch.distributions.transforms; both = t.CatTransform([t.ExpTransform(), t.identity_transform], lengths=[1, 2])
    >>> both(torch.tensor([0., 1., 2.]))
    tensor([1., 1., 2.])
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None,
                 cache_size: int = 0):  # fmt: skip
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    def _copied(self, cache_size):
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    @lazy_property
    def event_dim(self):  # type: ignore[override]
        return max(part.event_dim for part in self.transforms)

    @lazy_property
    def length(self):
        """The length of all pieces.

        >>> t = torch.distributions.transforms; t.CatTransform([t.ExpTransform()], lengths=[3]).length
        3
        """
        return sum(self.lengths)

    @constraints.dependent_property
    def domain(self):
        return constraints.cat([part.domain for part in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self):
        return constraints.cat([part.codomain for part in self.transforms], self.dim, self.lengths)

    def _pieces(self, x):
        self._check(x, self.length, "length")
        return x.split(self.lengths, self.dim)

    def _call(self, x):
        return tg.cat([part(piece) for part, piece in zip(self.transforms, self._pieces(x))], dim=self.dim)

    def _inverse(self, y):
        return tg.cat([part.inv(piece) for part, piece in zip(self.transforms, self._pieces(y))], dim=self.dim)

    def log_abs_det_jacobian(self, x, y):
        stretches = [
            _sum_rightmost(part.log_abs_det_jacobian(into, out), self.event_dim - part.event_dim)
            for part, into, out in zip(self.transforms, self._pieces(x), self._pieces(y))
        ]
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return tg.cat(stretches, dim=dim) if dim < 0 else sum(stretches)


class StackTransform(_Joined):
    """Transforms of the slices along a dimension.

    >>> t = torch.distributions.transforms
    >>> t.StackTransform([t.ExpTransform(), t.identity_transform])(torch.tensor([[0.], [2.]]))
    tensor([[1.],
            [2.]])
    """

    def _copied(self, cache_size):
        return StackTransform(self.transforms, self.dim, cache_size)

    @constraints.dependent_property
    def domain(self):
        return constraints.stack([part.domain for part in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self):
        return constraints.stack([part.codomain for part in self.transforms], self.dim)

    def _slices(self, x):
        self._check(x, len(self.transforms), "len(transforms)")
        return x.unbind(self.dim)

    def _call(self, x):
        return tg.stack([part(piece) for part, piece in zip(self.transforms, self._slices(x))], dim=self.dim)

    def _inverse(self, y):
        return tg.stack([part.inv(piece) for part, piece in zip(self.transforms, self._slices(y))], dim=self.dim)

    def log_abs_det_jacobian(self, x, y):
        pairs = zip(self.transforms, self._slices(x), self._slices(y))
        return tg.stack([part.log_abs_det_jacobian(into, out) for part, into, out in pairs], dim=self.dim)
