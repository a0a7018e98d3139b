"""Fourier transforms. Three of them are computed, complex to complex, real to (half) complex and half complex to real;
the eighteen public functions lay out their input for one of these.

The transform is linear. Its transpose is the transform in the other direction with the same factor in front, so the norms
"backward" and "forward" change places. Half a spectrum stands for the other half too, its mirror image: what is summed over
the whole spectrum counts twice what has a mirror image.
"""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops import fitting
from tensorgrad.ops.arguments import int_argument, wrong_type
from tensorgrad.ops.both import number, xp
from tensorgrad.ops.both import tensors as tensor_functions
from tensorgrad.ops.creation import arange, finished
from tensorgrad.ops.fitting import dim_of
from tensorgrad.ops.forms import takes_out
from tensorgrad.ops.parts import narrow
from tensorgrad.ops.primitive import Primitive, wrap
from tensorgrad.ops.shape import conj, roll

PUBLIC = {
    "fft": "fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 hfft2 ihfft2 fftn ifftn rfftn irfftn hfftn ihfftn "
    "fftfreq rfftfreq fftshift ifftshift"
}
# The norm that keeps the factor when the direction turns round.
OTHER = {"backward": "forward", "forward": "backward", "ortho": "ortho"}

# The three transforms


@number
def fourier(x, dims, norm, inverse):
    """Complex (or real) to complex."""
    if len(dims) == 1:
        return (np.fft.ifft if inverse else np.fft.fft)(x, axis=dims[0], norm=norm)
    return (np.fft.ifftn if inverse else np.fft.fftn)(x, axes=dims, norm=norm) if dims else x.copy()


@number
def half_spectrum(x, dims, norm):
    """Real to complex, of the last of `dims` only the first half."""
    if len(dims) == 1:
        return np.fft.rfft(x, axis=dims[0], norm=norm)
    return np.fft.rfftn(x, axes=dims, norm=norm)


@number
def from_half(x, dims, norm, n):
    """Complex to real; the last of `dims` is the first half of a spectrum of n."""
    if len(dims) == 1:
        return np.fft.irfft(x, n, dims[0], norm)
    return np.fft.irfftn(x, [*(x.shape[dim] for dim in dims[:-1]), n], dims, norm)


def _mirrored(g, dim, n, factor):
    """g with the places along `dim` that have a mirror image in a spectrum of n multiplied by a factor."""
    real = g.dtype.to_real() if isinstance(g, fitting.Tensor) else None
    weights = np.full(n // 2 + 1, factor, g.real.dtype if real is None else real.numpy)
    weights[0] = 1
    if n % 2 == 0:
        weights[-1] = 1
    weights = weights.reshape((-1,) + (1,) * (len(g.shape) - dim - 1))
    return g * (weights if real is None else wrap(weights))


def _real(g):
    return g.real


_c2c = Primitive(
    "fft_c2c", fourier, fresh=True, batch="dims", node="FftC2CBackward0",
    transpose=lambda g, dims, norm, inverse: xp.fourier(g, dims, OTHER[norm], not inverse),
)  # fmt: skip
_r2c_whole = Primitive(
    "fft_r2c", fourier, fresh=True, batch="dims", node="FftR2CBackward0",
    transpose=lambda g, dims, norm, inverse: _real(xp.fourier(g, dims, OTHER[norm], not inverse)),
)  # fmt: skip
_r2c = Primitive(
    "fft_r2c_half", half_spectrum, fresh=True, batch="dims", node="FftR2CBackward0",
    transpose=lambda g, x, dims, norm: xp.from_half(
        _mirrored(g, dims[-1], x.shape[dims[-1]], 0.5), dims, OTHER[norm], x.shape[dims[-1]]
    ),
)  # fmt: skip
_c2r = Primitive(
    "fft_c2r", from_half, fresh=True, batch="dims", node="FftC2RBackward0",
    transpose=lambda g, dims, norm, n: _mirrored(xp.half_spectrum(g, dims, OTHER[norm]), dims[-1], n, 2.0),
)  # fmt: skip
tensor_functions.update(
    fourier=lambda x, dims, norm, inverse: _c2c(x, dims, norm, inverse),
    half_spectrum=lambda x, dims, norm: _r2c(x, dims, norm),
    from_half=lambda x, dims, norm, n: _c2r(x, dims, norm, n),
)

# Arguments


def _norm_of(norm):
    """The name of a norm, checked."""
    if norm is None:
        return "backward"
    if norm not in OTHER:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return norm


def _prepared(name, x, real=False, complex=False):
    """A tensor in a dtype that can be transformed."""
    if not isinstance(x, fitting.Tensor):
        raise fitting.must_be_tensor("fft_" + name, x)
    d = x._spec.dtype
    if real and d.is_complex:
        raise RuntimeError(f"{name} expects a real input tensor, but got {d.title}")
    if d.itemsize == 2 and d.category == dtypes.FLOAT:
        raise RuntimeError(f"Unsupported dtype {d.title}")
    if d.category < dtypes.FLOAT:
        x = x.to(dtypes.get_default_dtype())
    return x.to(x._spec.dtype.to_complex()) if complex and not x._spec.dtype.is_complex else x


def _along(name, x, n, dim):
    """(dim, or the error of a tensor that has none; n as an int or None)."""
    shape = x._spec.shape
    if not shape:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return dim_of(dim, len(shape), "fft_" + name), None if n is None else int_argument("fft_" + name, "n", 2, n)


def _sized(x, dim, n):
    """The tensor with n numbers along a dimension: the first n, or with zeros behind."""
    from tensorgrad.ops.padding import constant_pad_nd

    have = x.shape[dim]
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    if n < have:
        return narrow(x, dim, 0, n)
    return x if n == have else constant_pad_nd(x, (0, 0) * (len(x.shape) - dim - 1) + (0, n - have))


def _dims_and_sizes(name, x, s, dim):
    """The dims to transform, and the sizes that were asked for (None: as they are)."""
    ndim = len(x._spec.shape)
    if dim is None:
        if s is None:
            return tuple(range(ndim)), (None,) * ndim
        if len(s) > ndim:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {ndim} dimensions.")
        dims = tuple(range(ndim - len(s), ndim))
    else:
        dims = tuple(dim_of(d, ndim) for d in ((dim,) if isinstance(dim, int) else dim))
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
    if s is None:
        return dims, (None,) * len(dims)
    s = (s,) if isinstance(s, int) else tuple(s)
    if len(s) != len(dims):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    return dims, tuple(None if n == -1 else n for n in s)


def _all_sized(x, dims, sizes):
    for dim, n in zip(dims, sizes, strict=True):
        x = _sized(x, dim, x.shape[dim] if n is None else n)
    return x


# Complex to complex


def _whole(x, dims, norm, inverse):
    """Of real numbers too: a node of its own, since their gradient is real."""
    return (_c2c if x._spec.dtype.is_complex else _r2c_whole)(x, dims, norm, inverse)


def _one_whole(name, input, n, dim, norm, inverse):
    norm, x = _norm_of(norm), _prepared(name, input)
    dim, n = _along(name, x, n, dim)
    return _whole(_sized(x, dim, x.shape[dim] if n is None else n), (dim,), norm, inverse)


def _several_whole(name, input, s, dim, norm, inverse):
    norm, x = _norm_of(norm), _prepared(name, input)
    dims, sizes = _dims_and_sizes(name, x, s, dim)
    x = _all_sized(x, dims, sizes)
    return _whole(x, dims, norm, inverse) if dims else x.to(x._spec.dtype.to_complex(), copy=True)


# Real to half a spectrum, and back


def _halves(name, input, s, dim, norm, adjoint=False):
    """rfft and its relatives; `adjoint`: those of ihfft, which are conjugate, and inverse in the other dimensions."""
    norm, x = _norm_of(norm), _prepared(name, input, real=True)
    dims, sizes = _dims_and_sizes(name, x, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    x = _all_sized(x, dims, sizes)
    if not adjoint:
        return _r2c(x, dims, norm)
    y = conj(_r2c(x, dims[-1:], OTHER[norm]))
    return _c2c(y, dims[:-1], norm, True) if len(dims) > 1 else y


def _reals(name, input, s, dim, norm, adjoint=False):
    """irfft and its relatives; `adjoint`: those of hfft, of conjugates, and forward in the other dimensions."""
    norm, x = _norm_of(norm), _prepared(name, input, complex=True)
    dims, sizes = _dims_and_sizes(name, x, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    last = dims[-1]
    n = 2 * (x.shape[last] - 1) if sizes[-1] is None else sizes[-1]
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    x = _all_sized(x, dims, (*sizes[:-1], n // 2 + 1))
    if not adjoint:
        return _c2r(x, dims, norm, n)
    if len(dims) > 1:
        x = _c2c(x, dims[:-1], norm, False)
    return _c2r(conj(x), (last,), OTHER[norm], n)


def _one(name, function, input, n, dim, norm, adjoint=False):
    if not isinstance(input, fitting.Tensor):
        raise fitting.must_be_tensor("fft_" + name, input)
    dim, n = _along(name, input, n, dim)
    return function(name, input, None if n is None else (n,), (dim,), norm, adjoint)


# The public functions


def _check_out(name, out, complex):
    if out is not None and out._spec.dtype.is_complex != complex:
        kind = "complex" if complex else "floating point"
        raise RuntimeError(f"{name} expects a {kind} output tensor, but got {out._spec.dtype.title}")


def public(name, signature, compute, doc, complex=True):
    """A public function: `compute(name, input, size, dim, norm)` with the defaults that `signature` tells."""
    size, default = signature

    def function(input, *args, out=None, **named):
        if isinstance(out, fitting.Tensor):
            _check_out(name, out, complex)
        given = dict(zip((size, "dim", "norm"), args, strict=False))
        for word, value in named.items():
            if word not in (size, "dim", "norm") or word in given:
                raise TypeError(f"fft_{name}() got an unexpected keyword argument '{word}'")
            given[word] = value
        if len(args) > 3:
            raise TypeError(f"fft_{name}() takes 4 positional arguments but {len(args) + 1} were given")
        return with_out(input, given.get(size), given.get("dim", default), given.get("norm"), out=out)

    def plain(input, size, dim, norm):
        return compute(name, input, size, dim, norm)

    function.__name__ = function.__qualname__ = plain.__name__ = name
    function.__doc__ = doc
    with_out = takes_out(plain)
    return function


ONE, TWO, SEVERAL = ("n", -1), ("s", (-2, -1)), ("s", None)

fft = public("fft", ONE, lambda *call: _one_whole(*call, False), """The spectrum of a signal.

    >>> torch.fft.fft(torch.tensor([1., 2., 3., 4.]))
    tensor([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """)  # fmt: skip
ifft = public("ifft", ONE, lambda *call: _one_whole(*call, True), """The signal of a spectrum.

    >>> torch.fft.ifft(torch.tensor([4., 0., 0., 0.]))
    tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """)  # fmt: skip
fft2 = public("fft2", TWO, lambda *call: _several_whole(*call, False), """The spectrum of an image.

    >>> torch.fft.fft2(torch.eye(2))
    tensor([[2.+0.j, 0.+0.j],
            [0.+0.j, 2.+0.j]])
    """)  # fmt: skip
ifft2 = public("ifft2", TWO, lambda *call: _several_whole(*call, True), """The image of a spectrum.

    >>> torch.fft.ifft2(torch.eye(2) * 4)
    tensor([[2.+0.j, 0.+0.j],
            [0.+0.j, 2.+0.j]])
    """)  # fmt: skip
fftn = public("fftn", SEVERAL, lambda *call: _several_whole(*call, False), """The spectrum in several dimensions.

    >>> torch.fft.fftn(torch.eye(2))
    tensor([[2.+0.j, 0.+0.j],
            [0.+0.j, 2.+0.j]])
    """)  # fmt: skip
ifftn = public("ifftn", SEVERAL, lambda *call: _several_whole(*call, True), """The signal of a spectrum in several dimensions.

    >>> torch.fft.ifftn(torch.eye(2) * 4)
    tensor([[2.+0.j, 0.+0.j],
            [0.+0.j, 2.+0.j]])
    """)  # fmt: skip
rfft = public("rfft", ONE, lambda name, *call: _one(name, _halves, *call), """Half the spectrum of a real signal.

    >>> torch.fft.rfft(torch.tensor([1., 2., 3., 4.]))
    tensor([10.+0.j, -2.+2.j, -2.+0.j])
    """)  # fmt: skip
irfft = public("irfft", ONE, lambda name, *call: _one(name, _reals, *call), """The real signal of half a spectrum.

    >>> torch.fft.irfft(torch.tensor([10 + 0j, -2 + 2j, -2 + 0j]))
    tensor([1., 2., 3., 4.])
    """, complex=False)  # fmt: skip
rfft2 = public("rfft2", TWO, _halves, """Half the spectrum of a real image.

    >>> torch.fft.rfft2(torch.eye(2))
    tensor([[2.+0.j, 0.+0.j],
            [0.+0.j, 2.+0.j]])
    """)  # fmt: skip
irfft2 = public("irfft2", TWO, _reals, """The real image of half a spectrum.

    >>> torch.fft.irfft2(torch.eye(2) * 4)
    tensor([[2., 0.],
            [0., 2.]])
    """, complex=False)  # fmt: skip
rfftn = public("rfftn", SEVERAL, _halves, """Half the spectrum of real numbers in several dimensions.

    >>> torch.fft.rfftn(torch.eye(2))
    tensor([[2.+0.j, 0.+0.j],
            [0.+0.j, 2.+0.j]])
    """)  # fmt: skip
irfftn = public("irfftn", SEVERAL, _reals, """The real numbers of half a spectrum in several dimensions.

    >>> torch.fft.irfftn(torch.eye(2) * 4)
    tensor([[2., 0.],
            [0., 2.]])
    """, complex=False)  # fmt: skip
hfft = public("hfft", ONE, lambda name, *call: _one(name, _reals, *call, True), """The real spectrum of half a mirrored signal.

    >>> torch.fft.hfft(torch.tensor([1., 2., 3.]))
    tensor([ 8., -2.,  0., -2.])
    """, complex=False)  # fmt: skip
ihfft = public("ihfft", ONE, lambda name, *call: _one(name, _halves, *call, True), """Half the signal of a real spectrum.

    >>> torch.fft.ihfft(torch.tensor([8., -2., 0., -2.]))
    tensor([1.-0.j, 2.-0.j, 3.-0.j])
    """)  # fmt: skip
hfft2 = public("hfft2", TWO, lambda *call: _reals(*call, True), """The real spectrum of half an image that mirrors itself.

    >>> torch.fft.hfft2(torch.eye(2))
    tensor([[2., 0.],
            [0., 2.]])
    """, complex=False)  # fmt: skip
ihfft2 = public("ihfft2", TWO, lambda *call: _halves(*call, True), """Half the image of a real spectrum.

    >>> torch.fft.ihfft2(torch.eye(2) * 4).shape
    tensorgrad.Size([2, 2])
    """)  # fmt: skip
hfftn = public("hfftn", SEVERAL, lambda *call: _reals(*call, True), """The real spectrum of half a signal that mirrors itself.

    >>> torch.fft.hfftn(torch.eye(2))
    tensor([[2., 0.],
            [0., 2.]])
    """, complex=False)  # fmt: skip
ihfftn = public("ihfftn", SEVERAL, lambda *call: _halves(*call, True), """Half the signal of a real spectrum, in several dimensions.

    >>> torch.fft.ihfftn(torch.eye(2) * 4).shape
    tensorgrad.Size([2, 2])
    """)  # fmt: skip

# Frequencies


def _frequencies(name, n, d, half, out, dtype, layout, device, requires_grad, pin_memory):
    n = int_argument("fft_" + name, "n", 1, n)
    if not fitting.is_number(d):
        raise wrong_type("fft_" + name, "d", 2, "float", d)
    kind = dtype or (out._spec.dtype if out is not None else dtypes.get_default_dtype())
    if kind.category < dtypes.FLOAT:
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    counted = arange(n // 2 + 1 if half else n, dtype=kind)._array
    if not half:
        counted[(n + 1) // 2 :] -= np.asarray(n, counted.dtype)
    factor = np.float64(1.0) / np.float64(n * d)
    result = (counted.astype(np.float32 if kind.itemsize == 2 else counted.dtype) * factor).astype(kind.numpy)
    result = finished(result, None, device, requires_grad, layout, pin_memory)
    return result if out is None else fitting.store(out, result)


def fftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """The frequencies that `fft` of n numbers, d apart, tells of.

    >>> torch.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    return _frequencies("fftfreq", n, d, False, out, dtype, layout, device, requires_grad, pin_memory)


def rfftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """The frequencies that `rfft` of n numbers, d apart, tells of.

    >>> torch.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    return _frequencies("rfftfreq", n, d, True, out, dtype, layout, device, requires_grad, pin_memory)


def _shifted(name, input, dim, shift):
    shape = fitting.check_tensor("fft_" + name, input)._spec.shape
    dims = range(len(shape)) if dim is None else (dim,) if isinstance(dim, int) else dim
    dims = tuple(dim_of(d, len(shape)) for d in dims)
    return roll(input, tuple(shift(shape[d]) for d in dims), dims)


def fftshift(input, dim=None):
    """The frequency 0 moved to the middle.

    >>> torch.fft.fftshift(torch.tensor([0, 1, -2, -1]))
    tensor([-2, -1,  0,  1])
    """
    return _shifted("fftshift", input, dim, lambda n: n // 2)


def ifftshift(input, dim=None):
    """The frequency 0 moved back to the front.

    >>> torch.fft.ifftshift(torch.tensor([-2, -1, 0, 1]))
    tensor([ 0,  1, -2, -1])
    """
    return _shifted("ifftshift", input, dim, lambda n: (n + 1) // 2)
