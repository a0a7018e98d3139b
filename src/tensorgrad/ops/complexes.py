"""Complex numbers seen as pairs of reals, and conjugates."""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.autograd.modes import state
from tensorgrad.ops.both import xp
from tensorgrad.ops.fitting import check_tensor
from tensorgrad.ops.pointwise import Pointwise
from tensorgrad.ops.primitive import Primitive
from tensorgrad.ops.reshaping import transpose

_view_as_real = Primitive(
    "view_as_real", lambda x: x.reshape(*x.shape, 1).view(x.real.dtype) if x.flags.c_contiguous else _pairs(x),
    transpose=lambda g: view_as_complex(g), view=True, on_tensors=True,
)  # fmt: skip
_view_as_complex = Primitive(
    "view_as_complex", lambda x: x.view(np.complex64 if x.dtype == np.float32 else np.complex128)[..., 0],
    transpose=lambda g: view_as_real(g), view=True, on_tensors=True,
)  # fmt: skip


def _pairs(x):
    half = x.dtype.itemsize // 2
    return np.lib.stride_tricks.as_strided(x.real, (*x.shape, 2), (*x.strides, half))


def view_as_real(input):
    """A complex tensor as reals, with a last dimension of real and imaginary part.

    >>> torch.view_as_real(torch.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    if not input._spec.dtype.is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return _view_as_real(input)


def view_as_complex(input):
    """Reals with a last dimension of size 2 as complex numbers.

    >>> torch.view_as_complex(torch.tensor([[1., 2.]]))
    tensor([1.+2.j])
    """
    if input._spec.dtype.itemsize == 2 and state.autocast is not None:
        return view_as_complex(input.to(dtypes.float32))
    if input._spec.dtype not in (dtypes.float32, dtypes.float64, dtypes.float16):
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            + input._spec.dtype.title
        )
    if input._spec.dtype is dtypes.float16:
        raise NotImplementedError("view_as_complex of float16 would be complex32, which NumPy does not have")
    if not input._spec.shape:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if input.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if input._array.strides[-1] != input._spec.dtype.itemsize:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % (2 * input._spec.dtype.itemsize) for s in input._array.strides[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    return _view_as_complex(input)


_conj_physical = Pointwise(
    "conj_physical", lambda x: np.conj(x) if x.dtype.kind == "c" else x.copy(), (lambda: 1,), ("x",),
    pullback=lambda g: xp.conj(g),
)  # fmt: skip
_real = Primitive("real", lambda x: x.real, transpose=lambda g, x: g.to(x.dtype), view=True, on_tensors=True)
_imag = Primitive("imag", lambda x: x.imag, transpose=lambda g, x: g.to(x.dtype) * 1j, view=True, on_tensors=True)
_conj = Primitive("conj", np.conj, inputs=("x",), params=(), rules={"x": lambda g: xp.conj(g)}, linear=False)


def real(input):
    """A view of the real parts.

    >>> torch.real(torch.tensor([1 + 2j]))
    tensor([1.])
    """
    return _real(input) if input._spec.dtype.is_complex else input


def imag(input):
    """A view of the imaginary parts.

    >>> torch.imag(torch.tensor([1 + 2j]))
    tensor([2.])
    """
    if not input._spec.dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return _imag(input)


def conj(input):
    """The complex conjugates; a real tensor is returned as it is.

    >>> torch.conj(torch.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return _conj(input) if input._spec.dtype.is_complex else input


def conj_physical(input, *, out=None):
    """The complex conjugates, computed at once.

    >>> torch.conj_physical(torch.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    check_tensor("conj_physical", input)
    return input if out is None and not input._spec.dtype.is_complex else _conj_physical.slow((input,), out)


def conj_physical_(input):
    """The in-place form of `conj_physical`."""
    return _conj_physical.write((input,))


def adjoint(input):
    """The last two dimensions swapped, and conjugated.

    >>> torch.adjoint(torch.tensor([[1 + 2j]]))
    tensor([[1.-2.j]])
    """
    if len(input.shape) < 2:
        raise RuntimeError(
            f"tensor.adjoint() is only supported on matrices or batches of matrices. Got {len(input.shape)}-D tensor."
        )
    return conj(transpose(input, -2, -1))
