"""Older names that programs still use: losses whose reduction is a number, norms, vander, fill_diagonal_, resize_as_, `new`;
and what PyTorch has removed, or has for sparse tensors only, each with an error that says so.
"""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops import fitting
from tensorgrad.ops.fitting import check_tensor

PUBLIC = {
    "": """binary_cross_entropy_with_logits cosine_embedding_loss hinge_embedding_loss kl_div margin_ranking_loss
        poisson_nll_loss triplet_margin_loss frobenius_norm nuclear_norm vander typename is_same_size is_distributed
        resize_as_ eig lstsq solve symeig matrix_rank""",
}


# Losses


def _reduction(name, reduction):
    """The word for a reduction's number."""
    if isinstance(reduction, bool) or not isinstance(reduction, int):
        raise TypeError(f"{name}(): argument 'reduction' must be int, not {fitting.kind_name(reduction)}")
    return {1: "mean", 2: "sum"}.get(reduction, "none")


def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction=0):
    """`nn.functional.binary_cross_entropy_with_logits` with its reduction as a number: 0 none, 1 mean, 2 sum.

    >>> torch.binary_cross_entropy_with_logits(torch.zeros(2), torch.ones(2))
    tensor([0.6931, 0.6931])
    """
    from tensorgrad.ops.losses import binary_cross_entropy_with_logits as loss

    reduction = _reduction("binary_cross_entropy_with_logits", reduction)
    return loss(input, target, weight, reduction=reduction, pos_weight=pos_weight)


def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=0):
    """`nn.functional.cosine_embedding_loss` with its reduction as a number.

    >>> torch.cosine_embedding_loss(torch.tensor([[1., 0.]]), torch.tensor([[0., 1.]]), torch.tensor([1]))
    tensor([1.])
    """
    from tensorgrad.ops.similarity import cosine_embedding_loss as loss

    return loss(input1, input2, target, margin, reduction=_reduction("cosine_embedding_loss", reduction))


def hinge_embedding_loss(input, target, margin=1.0, reduction=0):
    """`nn.functional.hinge_embedding_loss` with its reduction as a number.

    >>> torch.hinge_embedding_loss(torch.tensor([0.25, 0.25]), torch.tensor([1, -1]))
    tensor([0.2500, 0.7500])
    """
    from tensorgrad.ops.similarity import hinge_embedding_loss as loss

    return loss(input, target, margin, reduction=_reduction("hinge_embedding_loss", reduction))


def kl_div(input, target, reduction=0, *, log_target=False):
    """`nn.functional.kl_div` with its reduction as a number.

    >>> torch.kl_div(torch.tensor([0.]), torch.tensor([1.]))
    tensor([0.])
    """
    from tensorgrad.ops.losses import kl_div as loss

    return loss(input, target, reduction=_reduction("kl_div", reduction), log_target=log_target)


def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=0):
    """`nn.functional.margin_ranking_loss` with its reduction as a number.

    >>> torch.margin_ranking_loss(torch.tensor([1.]), torch.tensor([3.]), torch.tensor([1.]))
    tensor([2.])
    """
    from tensorgrad.ops.similarity import margin_ranking_loss as loss

    return loss(input1, input2, target, margin, reduction=_reduction("margin_ranking_loss", reduction))


def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    """`nn.functional.poisson_nll_loss` with its reduction as a number.

    >>> torch.poisson_nll_loss(torch.tensor([0.]), torch.tensor([2.]), True, False, 1e-8, 1)
    tensor(1.)
    """
    from tensorgrad.ops.losses import poisson_nll_loss as loss

    return loss(input, target, log_input, full, eps=eps, reduction=_reduction("poisson_nll_loss", reduction))


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction=0):
    """`nn.functional.triplet_margin_loss` with its reduction as a number.

    >>> torch.triplet_margin_loss(torch.tensor([[0.]]), torch.tensor([[1.]]), torch.tensor([[1.]]))
    tensor([1.])
    """
    from tensorgrad.ops.similarity import triplet_margin_loss as loss

    reduction = _reduction("triplet_margin_loss", reduction)
    return loss(anchor, positive, negative, margin, p, eps, swap, reduction=reduction)


# Norms and matrices


def frobenius_norm(input, dim, keepdim=False, *, out=None):
    """The root of the sum of squares over one or two dimensions; over all of them when `dim` is empty.

    >>> torch.frobenius_norm(torch.tensor([[3., 0.], [0., 4.]]), (0, 1))
    tensor(5.)
    """
    from tensorgrad.ops.norms import vector_norm

    check_tensor("frobenius_norm", input)
    return vector_norm(input, 2, dim if isinstance(dim, int) or dim else None, keepdim, out=out)


def nuclear_norm(input, dim=None, keepdim=False, *, out=None):
    """The sum of the singular values of a matrix, or of those in two dimensions.

    >>> torch.nuclear_norm(torch.tensor([[3., 0.], [0., 4.]]))
    tensor(7.)
    """
    from tensorgrad.ops.norms import matrix_norm

    check_tensor("nuclear_norm", input)
    if isinstance(dim, bool):
        dim, keepdim = None, dim
    return matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim, out=out)


def vander(x, N=None, increasing=False):
    """The matrix whose columns are powers of the elements of a vector, the highest first.

    >>> torch.vander(torch.tensor([1, 2]), 3)
    tensor([[1, 1, 1],
            [4, 2, 1]])
    """
    from tensorgrad.ops.linalg import vander as increasing_powers

    check_tensor("vander", x, "x")
    if len(x.shape) != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x.shape[0] if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    if x._spec.dtype.category < dtypes.FLOAT:
        x = x.to(dtypes.int64)
    if not count:
        return x.new_empty((x.shape[0], 0))
    powers = increasing_powers(x, N=count) if count > 1 else x.new_ones((x.shape[0], 1))
    return powers if increasing else powers.flip(1)


# Facts


def typename(obj):
    """The name of the type of an object; of a tensor, with its dtype.

    >>> torch.typename(torch.ones(1)), torch.typename(3)
    ('torch.FloatTensor', 'int')
    """
    if isinstance(obj, fitting.Tensor):
        return obj.type()
    kind = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(kind, "__module__", "") or ""
    return kind.__qualname__ if module in ("", "builtins", "__builtin__") else f"{module}.{kind.__qualname__}"


def is_same_size(input, other):
    """Whether two tensors have the same shape.

    >>> torch.is_same_size(torch.ones(2), torch.zeros(2))
    True
    """
    check_tensor("is_same_size", input)
    check_tensor("is_same_size", other, "other", 2)
    return input.shape == other.shape


def is_distributed(input):
    """Whether a tensor is spread over several machines: no tensor is.

    >>> torch.is_distributed(torch.ones(2))
    False
    """
    check_tensor("is_distributed", input)
    return False


def resize_as_(input, the_template, *, memory_format=None):
    """Give a tensor the size of another in place, keeping the elements that fit.

    >>> torch.arange(4).resize_as_(torch.zeros(2))
    tensor([0, 1])
    """
    check_tensor("resize_as_", input)
    check_tensor("resize_as_", the_template, "the_template", 2)
    return input.resize_(tuple(the_template.shape), memory_format=memory_format)


# What PyTorch has removed

REMOVED = "This function was deprecated since version 1.9 and is now removed.\nUse "


def _removed(name, instead):
    def function(input, *args, **kwargs):
        raise RuntimeError(f"{REMOVED}{instead}.")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Removed from PyTorch: use {instead}.

    >>> torch.{name}(torch.eye(2))
    Traceback (most recent call last):
    RuntimeError: This function was deprecated since version 1.9 and is now removed.
    Use {instead}.
    """
    return function


eig = _removed("eig", "torch.linalg.eig, whose results are complex")
lstsq = _removed("lstsq", "torch.linalg.lstsq, with its arguments the other way round")
solve = _removed("solve", "torch.linalg.solve, with its arguments the other way round")
symeig = _removed("symeig", "torch.linalg.eigh or torch.linalg.eigvalsh, which read the lower triangle")
matrix_rank = _removed("matrix_rank", "torch.linalg.matrix_rank")


def _sparse_only(name, expected):
    def method(self, *args, **kwargs):
        raise RuntimeError(
            f"{name} expected {expected} but got Strided\nSparse tensors are not supported: every tensor here is strided."
        )

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Of sparse tensors, which are not supported: `{name}` raises an error."
    return method


class Methods:
    """The methods of these."""

    is_same_size, is_distributed, resize_as_ = is_same_size, is_distributed, resize_as_
    eig, lstsq, solve, symeig = eig, lstsq, solve, symeig
    coalesce, indices, is_coalesced = (
        _sparse_only(name, "sparse coordinate tensor layout") for name in ("coalesce", "indices", "is_coalesced"))  # fmt: skip
    values = _sparse_only("values", "sparse tensor layout")
    crow_indices, col_indices = (
        _sparse_only(name, "sparse row compressed tensor layout") for name in ("crow_indices", "col_indices"))  # fmt: skip

    def is_nonzero(self):
        """Whether the only element is not zero.

        >>> torch.tensor([0.]).is_nonzero()
        False
        """
        if self._spec.size != 1:
            told = "more than one value" if self._spec.size else "no values"
            raise RuntimeError(f"Boolean value of Tensor with {told} is ambiguous")
        return self.item() != 0

    def fill_diagonal_(self, fill_value, wrap=False):
        """Write a number on the diagonal in place; with `wrap`, again below the square of a tall matrix.

        >>> torch.zeros(2, 2).fill_diagonal_(5)
        tensor([[5., 0.],
                [0., 5.]])
        """
        shape = tuple(self.shape)
        if len(shape) < 2:
            raise RuntimeError("dimensions must larger than 1")
        if len(shape) > 2 and len(set(shape)) > 1:
            raise RuntimeError(f"all dimensions of input must be of equal length\nThe shape is {list(shape)}.")
        if len(shape) > 2:
            line = self
            for _ in range(len(shape) - 1):
                line = line.diagonal(0, 0, -1)
            line.fill_(fill_value)
            return self
        rows, columns = shape
        for first in range(0, rows if wrap else 1, columns + 1):
            self.narrow(0, first, min(columns, rows - first)).diagonal().fill_(fill_value)
        return self

    def new(self, *args):
        """A tensor of this dtype: of sizes, with uninitialized numbers; or of the numbers of a list or tensor.

        >>> torch.ones(1).new([1, 2]), torch.ones(1).new(2, 3).shape
        (tensor([1., 2.]), tensorgrad.Size([2, 3]))
        """
        from tensorgrad.spec import Size

        if not args:
            return self.new_empty((0,))
        if len(args) == 1 and isinstance(args[0], Size):
            return self.new_empty(tuple(args[0]))
        if len(args) == 1 and isinstance(args[0], (fitting.Tensor, list, tuple, np.ndarray)):
            given = args[0]
            return given.detach().to(self.dtype) if isinstance(given, fitting.Tensor) else self.new_tensor(given)
        return self.new_empty(fitting.sizes_of(args, "new"))

    def share_memory_(self):
        """Memory that several processes write to: not supported, so this raises an error (utils.data shares its own).

        >>> torch.ones(1).share_memory_()
        Traceback (most recent call last):
        NotImplementedError: share_memory_: tensors in memory shared by processes are not supported
        """
        raise NotImplementedError("share_memory_: tensors in memory shared by processes are not supported")

    def pin_memory(self, device=None):
        """Memory that a GPU reads directly: there is none here.

        >>> torch.ones(1).pin_memory()
        Traceback (most recent call last):
        RuntimeError: Cannot access accelerator device when none is available.
        """
        raise RuntimeError("Cannot access accelerator device when none is available.")

    def dim_order(self, *, ambiguity_check=False):
        """The dimensions in the order in which they lie in memory, the widest steps first.

        >>> torch.ones(2, 3).t().dim_order()
        (1, 0)
        """
        strides = self.stride()
        return tuple(sorted(range(len(strides)), key=lambda d: (-strides[d], d)))

    def chalf(self, *, memory_format=None):
        """Complex numbers of two half-precision numbers, which NumPy does not have: raises an error.

        >>> torch.ones(1).chalf()
        Traceback (most recent call last):
        NotImplementedError: chalf: torch.complex32 is not supported, NumPy has no such type; use cfloat()
        """
        raise NotImplementedError("chalf: torch.complex32 is not supported, NumPy has no such type; use cfloat()")

    def const_data_ptr(self):
        """The address of the first element.

        >>> x = torch.ones(1); x.const_data_ptr() == x.data_ptr()
        True
        """
        return self.data_ptr()

    def sparse_dim(self):
        """How many dimensions are sparse: none.

        >>> torch.ones(2, 3).sparse_dim()
        0
        """
        return 0

    def dense_dim(self):
        """How many dimensions are dense: all.

        >>> torch.ones(2, 3).dense_dim()
        2
        """
        return len(self.shape)
