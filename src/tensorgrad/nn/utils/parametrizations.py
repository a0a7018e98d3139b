"""Ready parametrizations: orthogonal weights, weights as length and direction, weights divided by their spectral norm."""

from enum import Enum, auto

from tensorgrad.autograd import modes
from tensorgrad.nn import functional as F
from tensorgrad.nn.modules.module import Module
from tensorgrad.nn.utils import parametrize
from tensorgrad.nn.utils.spectral_norm import as_matrix, default_dim, random_direction
from tensorgrad.nn.utils.weight_norm import lengths, scaled
from tensorgrad.tensor import Tensor

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _checked_weight(module, name):
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


# Orthogonal matrices


class _OrthMaps(Enum):
    """From any matrix to an orthogonal one."""

    matrix_exp = auto()
    cayley = auto()
    householder = auto()


def _is_orthogonal(matrix):
    from tensorgrad import allclose, eye, finfo

    n, k = matrix.size(-2), matrix.size(-1)
    identity = eye(k, dtype=matrix.dtype)
    return allclose(matrix.mH @ matrix, identity, atol=10 * n * finfo(matrix.dtype).eps)


def _make_orthogonal(matrix):
    """The orthogonal factor of a QR decomposition whose diagonal is positive."""
    from tensorgrad import geqrf, linalg

    packed, tau = geqrf(matrix)
    return linalg.householder_product(packed, tau) * packed.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """An orthogonal matrix as a function of any matrix; `base`: times the one that it started as."""

    def __init__(self, weight, orthogonal_map, *, use_trivialization=True):
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X):
        wide = X.size(-2) < X.size(-1)
        X = X.mT if wide else X
        Q = self._by_reflections(X) if self.orthogonal_map is _OrthMaps.householder else self._by_rotation(X)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if wide else Q

    def _by_reflections(self, X):
        """A product of Householder reflections, with the signs of the diagonal."""
        from tensorgrad import linalg

        below = X.tril(-1)
        Q = linalg.householder_product(below, 2.0 / (1.0 + (below * below).sum(-2)))
        return Q * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    def _by_rotation(self, X):
        """From the skew part of a square matrix, by the exponential or the Cayley transform."""
        from tensorgrad import cat, eye, linalg

        n, k = X.size(-2), X.size(-1)
        X = X.tril()
        if n != k:
            X = cat([X, X.new_zeros(n, n - k).expand(*X.shape[:-2], -1, -1)], -1)
        skew = X - X.mH
        if self.orthogonal_map is _OrthMaps.matrix_exp:
            Q = linalg.matrix_exp(skew)
        else:
            identity = eye(n, dtype=skew.dtype)
            Q = linalg.solve(identity - 0.5 * skew, identity + 0.5 * skew)
        return Q[..., :k] if n != k else Q

    @modes.no_grad()
    def right_inverse(self, Q):
        """What gives this orthogonal matrix (made orthogonal first, if it is not and there is a base)."""
        from tensorgrad import cat, geqrf, randn

        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        start = Q
        wide = Q.size(-2) < Q.size(-1)
        Q = Q.mT if wide else Q
        n, k = Q.size(-2), Q.size(-1)
        if not hasattr(self, "base"):
            if self.orthogonal_map is not _OrthMaps.householder:
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                    "use_trivialization=False."
                )
            packed, tau = geqrf(Q)
            diagonal = packed.diagonal(dim1=-2, dim2=-1)
            diagonal.sign_()  # an orthogonal matrix is told by the signs of R; a reflection that is none turns one
            diagonal[tau == 0.0] *= -1
            return packed.mT if wide else packed
        if n == k:
            Q = Q.clone() if _is_orthogonal(Q) else _make_orthogonal(Q)
        else:
            Q = _make_orthogonal(cat([Q, randn(*Q.shape[:-2], n, n - k, dtype=Q.dtype)], -1))
        self.base = Q
        start = start.new_zeros(start.shape)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """Let a matrix of a module be orthogonal while it is trained: `matrix_exp`, `cayley` or `householder` says how.

    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(3, 3))
    >>> torch.allclose(layer.weight @ layer.weight.T, torch.eye(3), atol=1e-5)
    True
    """
    weight = _checked_weight(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _OrthMaps.__members__:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    made = _Orthogonal(weight, _OrthMaps[orthogonal_map], use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, made, unsafe=True)


# Length and direction


class _WeightNorm(Module):
    """Weights as a length and a direction."""

    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return scaled(weight_v, weight_g, self.dim)

    def right_inverse(self, weight):
        """(length, direction) of the weights."""
        return lengths(weight, self.dim), weight


class _FromOldNames:
    """Renames in a state_dict what the older form of weight normalization wrote."""

    def __init__(self, name):
        self.name = name

    def __call__(self, state_dict, prefix, *others):
        old = [f"{prefix}{self.name}_g", f"{prefix}{self.name}_v"]
        if all(key in state_dict for key in old):
            for position, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{self.name}.original{position}"] = state_dict.pop(key)


def weight_norm(module, name="weight", dim=0):
    """Let a tensor of a module be a length (one for each place along `dim`) times a direction.

    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(20, 40))
    >>> layer.parametrizations.weight.original0.shape, layer.parametrizations.weight.original1.shape
    (tensorgrad.Size([40, 1]), tensorgrad.Size([40, 20]))
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module._register_load_state_dict_pre_hook(_FromOldNames(name))
    return module


# The largest singular value


class _SpectralNorm(Module):
    """Weights divided by their largest singular value, which power iterations follow."""

    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim, self.eps = dim % ndim, eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight, self.dim)
            u, v = (random_direction(matrix, size, eps) for size in matrix.shape)
            self.register_buffer("_u", u)
            self.register_buffer("_v", v)
            self._power_method(matrix, 15)

    @modes.no_grad()
    def _power_method(self, matrix, n_power_iterations):
        for _ in range(n_power_iterations):
            self._u.copy_(F.normalize(matrix.mv(self._v), dim=0, eps=self.eps))
            self._v.copy_(F.normalize(matrix.mH.mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight):
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # later iterations write into the buffers
        return weight / u.vdot(matrix.mv(v))

    def right_inverse(self, value):
        """The value, which is taken to be normalized already."""
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divide a tensor of a module by its largest singular value.

    >>> _ = torch.manual_seed(0); layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(20, 40))
    >>> 0.99 < torch.linalg.matrix_norm(layer.weight, 2).item() < 1.05
    True
    """
    weight = _checked_weight(module, name)
    dim = default_dim(module) if dim is None else dim
    return parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
