"""Views, shapes and copies: the methods of Tensor, and the way to the functions from elsewhere.

The functions are in reshaping.py (all elements), parts.py (some of them), joining.py (put together) and complexes.py.
"""

# ruff: noqa: F401
from tensorgrad.autograd.modes import mode
from tensorgrad.autograd.views import alias_of, check_inplace
from tensorgrad.ops.complexes import (
    _conj,
    _imag,
    _real,
    _view_as_complex,
    _view_as_real,
    adjoint,
    conj,
    conj_physical,
    conj_physical_,
    imag,
    real,
    view_as_complex,
    view_as_real,
)  # fmt: skip
from tensorgrad.ops.fitting import sizes_of, watch
from tensorgrad.ops.joining import (
    _cat,
    _flip,
    _roll,
    _stack,
    cat,
    concat,
    concatenate,
    flip,
    repeat,
    roll,
    stack,
    tile,
)  # fmt: skip
from tensorgrad.ops.parts import (
    _alias,
    _as_strided,
    _diagonal,
    _embed,
    _index,
    _new_axis,
    _select,
    _split,
    _split_sizes,
    _unbind,
    _unfold,
    as_strided,
    chunk,
    diagonal,
    embed,
    narrow,
    partial_view,
    select,
    split,
    unbind,
    unfold,
)  # fmt: skip
from tensorgrad.ops.primitive import recording, shallow
from tensorgrad.ops.reshaping import (
    _clone,
    _contiguous,
    _expand,
    _fit,
    _inverse,
    _permute,
    _reshape_alias,
    _squeeze,
    _t,
    _transpose,
    _unsafe_view,
    _unsqueeze,
    _view,
    broadcast_tensors,
    broadcast_to,
    clone,
    contiguous,
    expand,
    expand_as,
    flatten,
    infer_size,
    moveaxis,
    movedim,
    permute,
    ravel,
    reshape,
    reshape_as,
    squeeze,
    swapaxes,
    swapdims,
    t,
    transpose,
    unflatten,
    unsqueeze,
    view,
    view_as,
    view_dtype,
    viewable,
)  # fmt: skip


def _in_place_view(function):
    """The form of a view function that gives its own tensor the new shape, for example `t_` of `t`."""

    def reshape_self(self, *args, **kwargs):
        if mode.special:
            watch(self, reading=False)
        recorded = recording() and self._node is not None
        check_inplace(self, recorded)
        result = function(shallow(self), *args, **kwargs)
        alias = alias_of(self)
        alias.version.bump()
        if alias.base is not None:
            alias.steps = (*alias.steps, *result._alias.steps[len(alias.steps) :])
        self._array, self._spec = result._array, result._spec
        if recorded:
            self._node = result._node
        return self

    reshape_self.__name__ = reshape_self.__qualname__ = function.__name__ + "_"
    reshape_self.__doc__ = f"The in-place form of `{function.__name__}`: the tensor itself takes the new shape."
    return reshape_self


class ShapeMixin:
    """Views, shapes and copies as methods."""

    __slots__ = ()

    t_, transpose_, squeeze_, unsqueeze_, as_strided_ = map(
        _in_place_view, (t, transpose, squeeze, unsqueeze, as_strided)
    )
    swapaxes_ = swapdims_ = transpose_

    view, reshape, view_as, reshape_as, flatten, unflatten, ravel = (
        view, reshape, view_as, reshape_as, flatten, unflatten, ravel)  # fmt: skip
    permute, transpose, swapaxes, swapdims, t, movedim, moveaxis = (
        permute, transpose, transpose, transpose, t, movedim, movedim)  # fmt: skip
    expand, expand_as, broadcast_to, squeeze, unsqueeze = expand, expand_as, expand, squeeze, unsqueeze
    select, narrow, diagonal, as_strided, unfold = select, narrow, diagonal, as_strided, unfold
    split, chunk, unbind, flip, roll, repeat, tile = split, chunk, unbind, flip, roll, repeat, tile
    clone, contiguous, conj, adjoint = clone, contiguous, conj, adjoint
    real, imag = property(real), property(imag)
    conj_physical, conj_physical_ = conj_physical, conj_physical_
    split_with_sizes = split

    def resolve_conj(self):
        """The tensor itself: conjugates are computed at once.

        >>> torch.ones(1).resolve_conj()
        tensor([1.])
        """
        return self

    resolve_neg = resolve_conj

    @property
    def T(self):
        """The dimensions in reverse order.

        >>> torch.ones(2, 3).T.shape
        tensorgrad.Size([3, 2])
        """
        return _permute(self, tuple(range(len(self._spec.shape) - 1, -1, -1)))

    @property
    def mT(self):
        """The last two dimensions swapped.

        >>> torch.ones(4, 2, 3).mT.shape
        tensorgrad.Size([4, 3, 2])
        """
        if len(self.shape) < 2:
            raise RuntimeError(
                f"tensor.mT is only supported on matrices or batches of matrices. Got {len(self.shape)}-D tensor."
            )
        return transpose(self, -2, -1)

    @property
    def H(self):
        """A matrix transposed and conjugated.

        >>> torch.tensor([[1 + 2j]]).H
        tensor([[1.-2.j]])
        """
        if len(self.shape) not in (0, 2):
            raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {len(self.shape)}-D tensor.")
        return conj(t(self))

    @property
    def mH(self):
        """The last two dimensions swapped, and conjugated.

        >>> torch.tensor([[1 + 2j]]).mH
        tensor([[1.-2.j]])
        """
        return adjoint(self)

    def sum_to_size(self, *size):
        """Summed over what was broadcast, down to `size`.

        >>> torch.ones(2, 3).sum_to_size(1, 3)
        tensor([[2., 2., 2.]])
        """
        size = sizes_of(size, "sum_to_size")
        if not size:
            return self.sum()
        shape = tuple(self.shape)
        lead = len(shape) - len(size)
        dims = (*range(lead), *(i + lead for i, n in enumerate(size) if n == 1 and shape[i + lead] != 1))
        if lead < 0 or any(n not in (1, shape[i + lead]) for i, n in enumerate(size)):
            raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(shape)}}}.")
        result = self.sum(dims, keepdim=True) if dims else self
        return view(result, size) if lead else result
