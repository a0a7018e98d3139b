"""The short-time Fourier transform, which tells how the spectrum of a signal changes, and the way back."""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.autograd.views import type_name
from tensorgrad.ops import fitting
from tensorgrad.ops.fft import _c2c, _c2r, _r2c, _r2c_whole
from tensorgrad.ops.padding import constant_pad_nd
from tensorgrad.ops.parts import _window_sum
from tensorgrad.ops.primitive import wrap
from tensorgrad.ops.shape import view_as_real
from tensorgrad.spec import spec_for

PUBLIC = {"": "stft istft"}
PADDINGS = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _described(name, x, window, **options):
    """The call, as PyTorch's errors begin with it."""

    def shown(value):
        return int(value) if isinstance(value, bool) else value

    kind = type_name(x._spec)[1:-1].split(" ", 1)[0]
    faded = "None" if window is None else f"torch.{window._spec.dtype.title}Tensor{{{list(window.shape)}}}"
    sizes = {word: shown(value) for word, value in options.items()}
    first = ", ".join(f"{word}={sizes.pop(word)}" for word in ("n_fft", "hop_length", "win_length"))
    rest = ", ".join(f"{word}={value}" for word, value in sizes.items())
    return f"{name}({kind}{list(x.shape)}, {first}, window={faded}, {rest}) "


def _extended(x, margin, mode):
    """A signal with a margin at both ends, made of its own numbers."""
    if mode == "constant":
        return constant_pad_nd(x, (margin, margin))
    if mode not in PADDINGS:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    n = x.shape[-1]
    if (mode == "reflect" and margin >= n) or (mode == "circular" and margin > n):
        raise RuntimeError(
            "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
            f"({margin}, {margin}) at dimension {len(x.shape)} of input {[1] * (3 - len(x.shape)) + list(x.shape)}"
        )
    places = np.pad(np.arange(n), margin, PADDINGS[mode])
    return x.index_select(-1, wrap(places))


def _widened(window, n_fft):
    """A window with zeros at both ends, n_fft long."""
    missing = n_fft - window.shape[0]
    return constant_pad_nd(window, (missing // 2, missing - missing // 2)) if missing else window


def stft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False,
         onesided=None, return_complex=None, align_to_window=None):  # fmt: skip
    """The spectra of pieces of a signal, n_fft long and hop_length apart: frequencies down, time to the right.

    >>> torch.stft(torch.ones(8), 4, return_complex=True, center=False, hop_length=2).shape
    tensorgrad.Size([3, 3])
    """
    x = fitting.check_tensor("stft", input)
    if align_to_window is not None and center:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if center:
        x = _extended(x, n_fft // 2, pad_mode)
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    complex_window = window is not None and window._spec.dtype.is_complex
    is_complex = x._spec.dtype.is_complex or complex_window
    if return_complex is None:
        if not is_complex:
            raise RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will further require that "
                "return_complex=True in a future PyTorch release."
            )
        return_complex = True
    call = _described("stft", x, window, n_fft=n_fft, hop_length=hop, win_length=length, normalized=normalized,
                      onesided=onesided, return_complex=return_complex, align_to_window=align_to_window)  # fmt: skip
    shape = x._spec.shape
    if x._spec.dtype.category < dtypes.FLOAT:
        raise RuntimeError(call + ": expected a tensor of floating point or complex values")
    if len(shape) not in (1, 2):
        raise RuntimeError(call + ": expected a 1D or 2D tensor")
    if not 0 < n_fft <= shape[-1]:
        raise RuntimeError(call + f": expected 0 < n_fft < {shape[-1]}, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(call + f": expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(call + f": expected 0 < win_length <= n_fft, but got win_length={length}")
    if window is not None and tuple(window.shape) != (length,):
        raise RuntimeError(
            call + f": expected a 1D window tensor of size equal to win_length={length}, but got window with size "
            f"{list(window.shape)}"
        )
    if is_complex and onesided:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if x._spec.dtype.itemsize == 2:
        raise RuntimeError(f"MKL FFT doesn't support tensors of type: {x._spec.dtype.title}")
    if align_to_window and length < n_fft:  # the pieces are counted by the window: what is beyond it may be outside
        before = (n_fft - length) // 2
        x = constant_pad_nd(x, (before, n_fft - length - before))
    pieces = x.unfold(-1, n_fft, hop)
    if window is not None:
        pieces = pieces * _widened(window, n_fft)
    elif length < n_fft:
        pieces = pieces * _widened(wrap(np.ones(length, x._spec.dtype.to_real().numpy)), n_fft)
    dims, norm = (len(pieces.shape) - 1,), "ortho" if normalized else "backward"
    if is_complex:
        spectra = _c2c(pieces, dims, norm, False)
    else:
        spectra = (
            _r2c_whole(pieces, dims, norm, False) if onesided is not None and not onesided else _r2c(pieces, dims, norm)
        )
    spectra = spectra.transpose(-1, -2)
    return spectra if return_complex else view_as_real(spectra)


def istft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None,
          length=None, return_complex=False):  # fmt: skip
    """The signal of a short-time Fourier transform: the pieces added up, divided by the windows added up.

    >>> x = torch.arange(8.); torch.istft(torch.stft(x, 4, return_complex=True), 4)
    tensor([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    x = fitting.check_tensor("istft", input)
    width = n_fft if win_length is None else win_length
    hop = n_fft // 4 if hop_length is None else hop_length
    if not x._spec.dtype.is_complex:
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    call = _described("istft", x, window, n_fft=n_fft, hop_length=hop, win_length=width, center=center,
                      normalized=normalized, onesided=onesided, length=length, return_complex=return_complex)  # fmt: skip
    shape = x._spec.shape
    if not x._spec.size:
        raise RuntimeError(call + ": input tensor cannot be empty.")
    if len(shape) not in (2, 3):
        if len(shape) < 2:
            fitting.dim_of(-2, len(shape))
        raise RuntimeError(call + f": expected a tensor with 2 or 3 dimensions, but got {len(shape)}")
    half = shape[-2] != n_fft if onesided is None else onesided
    if half and shape[-2] != n_fft // 2 + 1:
        raise RuntimeError(
            call
            + ": expected the frequency dimension (3rd to the last) of the input tensor to match n_fft / 2 + 1 when "
            f"onesided=True, but got {shape[-2]}"
        )
    if not half and shape[-2] != n_fft:
        raise RuntimeError(
            call + ": expected the frequency dimension (3rd to the last) of the input tensor to match n_fft when "
            f"onesided=False, but got {shape[-2]}"
        )
    if not 0 < hop <= width:
        raise RuntimeError(call + ": expected 0 < hop_length <= win_length")
    if not 0 < width <= n_fft:
        raise RuntimeError(call + ": expected 0 < win_length <= n_fft")
    if window is not None and tuple(window.shape) != (width,):
        raise RuntimeError(call + ": Invalid window shape. window has to be 1D and length of `win_length`")
    if return_complex and half:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if window is not None and window._spec.dtype.is_complex and not return_complex:
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    if window is None:
        window = wrap(np.ones(width, x._spec.dtype.to_real().numpy))
    window, norm = _widened(window, n_fft), "ortho" if normalized else "backward"
    spectra = x.transpose(-1, -2)
    dims = (len(shape) - 1,)
    if return_complex:
        pieces = _c2c(spectra, dims, norm, True)
    else:
        pieces = _c2r(spectra if half else spectra[..., : n_fft // 2 + 1], dims, norm, n_fft)
    count = shape[-1]
    total = n_fft + hop * (count - 1)

    def added(pieces):
        lead = tuple(pieces.shape[:-2])
        return _window_sum(pieces, spec_for((*lead, total), pieces._spec.dtype), len(lead), n_fft, hop)

    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - n_fft // 2 if center else total
    signal = added(pieces * window)[..., start:end]
    envelope = added((window * window).expand(count, n_fft))[start:end]
    least = envelope.detach().abs().min() if envelope.numel() else None
    if least is not None and not bool(least > 1e-11):
        raise RuntimeError(call + "window overlap add min: 1")
    signal = signal / envelope
    if end > total:
        import warnings

        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. "
            "Please check your center and hop_length settings.",
            stacklevel=2,
        )
        signal = constant_pad_nd(signal, (0, end - total))
    return signal


class Methods:
    """The same as methods."""

    stft, istft = stft, istft
