"""Windows: weights that fade a piece of a signal out at its ends. `hann_window` and its kind, and torch.signal.windows.

A symmetric window of M numbers has its peak in the middle; a periodic one is the symmetric one of M + 1 without its last.
"""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops import fitting
from tensorgrad.ops.arguments import float_argument, int_argument
from tensorgrad.ops.creation import finished

PUBLIC = {
    "": "hann_window hamming_window blackman_window bartlett_window kaiser_window",
    "signal.windows": "bartlett blackman cosine exponential gaussian general_cosine general_hamming hamming hann kaiser nuttall",
}


def _places(count, symmetric):
    """(The places 0, 1, ... of the numbers, the place of the last number of the symmetric window)."""
    return np.arange(count, dtype=np.float64), count - 1 if symmetric else count


def cosines(count, symmetric, weights):
    """The sum of cosines with alternating signs."""
    places, last = _places(count, symmetric)
    angles = 2 * np.pi / last * places
    return sum((-1) ** i * weight * np.cos(i * angles) for i, weight in enumerate(weights))


def triangle(count, symmetric):
    places, last = _places(count, symmetric)
    return 1 - np.abs(2 * places / last - 1)


def bessel(count, symmetric, beta):
    places, last = _places(count, symmetric)
    ratio = 2 * places / last - 1
    return np.i0(beta * np.sqrt(np.maximum(0, 1 - ratio * ratio))) / np.i0(beta)


# torch.hann_window and its kind


def window_function(name, compute, doc, **defaults):
    """A window in the older form: its length, whether it is periodic, and what shapes it."""

    def function(window_length, periodic=True, *shaping, dtype=None, layout=None, device=None, requires_grad=False,
                 pin_memory=False, **named):  # fmt: skip
        count = int_argument(name, "window_length", 1, window_length)
        allowed = dict(defaults)
        if len(shaping) + len(named) > len(allowed) or not all(word in allowed for word in named):
            raise TypeError(
                f"{name}() received an invalid combination of arguments: it takes {', '.join(allowed) or 'no more'}"
            )
        allowed.update(zip(allowed, shaping, strict=False))
        allowed.update(named)
        allowed = {word: float_argument(name, word, 3 + i, value) for i, (word, value) in enumerate(allowed.items())}
        if count < 0:
            raise RuntimeError(f"{name} requires non-negative window_length, got window_length={count}")
        d = dtype or dtypes.get_default_dtype()
        if not d.is_floating_point:
            raise RuntimeError(f"{name} expects floating point dtypes, got: {d.title}")
        values = compute(count, not periodic, *allowed.values()) if count > 1 else np.ones(count)
        return finished(np.asarray(values).astype(d.numpy), None, device, requires_grad, layout, pin_memory)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


hann_window = window_function("hann_window", lambda n, sym: cosines(n, sym, (0.5, 0.5)), """The Hann window, a raised cosine.

    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """)  # fmt: skip
hamming_window = window_function(
    "hamming_window", lambda n, sym, alpha, beta: cosines(n, sym, (alpha, beta)), """The Hamming window: a cosine on a step.

    >>> torch.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """, alpha=0.54, beta=0.46)  # fmt: skip
blackman_window = window_function(
    "blackman_window", lambda n, sym: cosines(n, sym, (0.42, 0.5, 0.08)), """The Blackman window, of two cosines.

    >>> torch.blackman_window(4)[1:]
    tensor([0.3400, 1.0000, 0.3400])
    """)  # fmt: skip
bartlett_window = window_function("bartlett_window", triangle, """The Bartlett window, a triangle.

    >>> torch.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """)  # fmt: skip
kaiser_window = window_function("kaiser_window", bessel, """The Kaiser window; the larger beta, the narrower.

    >>> torch.kaiser_window(4, beta=5.0)
    tensor([0.0367, 0.5529, 1.0000, 0.5529])
    """, beta=12.0)  # fmt: skip

# torch.signal.windows


def _checked(name, M, dtype, layout):
    """The dtype of a window, all else checked."""
    d = dtype or dtypes.get_default_dtype()
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not None and layout is not dtypes.strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if d not in (dtypes.float32, dtypes.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {d}")
    int_argument(name, "M", 1, M)
    return d


def _made(name, M, options, compute):
    dtype, layout, device, requires_grad = options
    d = _checked(name, M, dtype, layout)
    values = compute() if M > 1 else np.ones(M)
    return finished(np.asarray(values).astype(d.numpy), None, device, requires_grad, layout)


def bartlett(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The Bartlett window, a triangle.

    >>> torch.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return _made("bartlett", M, (dtype, layout, device, requires_grad), lambda: triangle(M, sym))


def general_cosine(M, *, a, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The sum of cosines with weights a, of alternating signs.

    >>> torch.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    _checked("general_cosine", M, dtype, layout)
    if not isinstance(a, (list, tuple)):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return _made("general_cosine", M, (dtype, layout, device, requires_grad), lambda: cosines(M, sym, a))


def general_hamming(M, *, alpha=0.54, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """A cosine on a step: alpha - (1 - alpha) cos.

    >>> torch.signal.windows.general_hamming(3, alpha=0.5)
    tensor([0., 1., 0.])
    """
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)  # fmt: skip


def hamming(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The Hamming window.

    >>> torch.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The Hann window, a raised cosine.

    >>> torch.signal.windows.hann(3)
    tensor([0., 1., 0.])
    """
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device,
                           requires_grad=requires_grad)  # fmt: skip


def blackman(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The Blackman window, of two cosines.

    >>> torch.signal.windows.blackman(5).round(decimals=4).abs()
    tensor([0.0000, 0.3400, 1.0000, 0.3400, 0.0000])
    """
    _checked("blackman", M, dtype, layout)
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)  # fmt: skip


def nuttall(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Nuttall's window, of three cosines.

    >>> torch.signal.windows.nuttall(4)
    tensor([3.6280e-04, 5.2923e-01, 5.2923e-01, 3.6280e-04])
    """
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, dtype=dtype, layout=layout,
                          device=device, requires_grad=requires_grad)  # fmt: skip


def cosine(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Half a wave.

    >>> torch.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    return _made(
        "cosine", M, (dtype, layout, device, requires_grad),
        lambda: np.sin(np.pi / (M if sym else M + 1) * (np.arange(M) + 0.5)),
    )  # fmt: skip


def exponential(M, *, center=None, tau=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Fading from a center: exp(-distance / tau).

    >>> torch.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    _checked("exponential", M, dtype, layout)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    middle = (M - 1 if sym else M) / 2 if center is None else center
    return _made("exponential", M, (dtype, layout, device, requires_grad),
                 lambda: np.exp(-np.abs(np.arange(M) - middle) / tau))  # fmt: skip


def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The bell curve of a deviation.

    >>> torch.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    _checked("gaussian", M, dtype, layout)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    middle = (M - 1 if sym else M) / 2
    return _made("gaussian", M, (dtype, layout, device, requires_grad),
                 lambda: np.exp(-0.5 * ((np.arange(M) - middle) / std) ** 2))  # fmt: skip


def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The Kaiser window; the larger beta, the narrower.

    >>> torch.signal.windows.kaiser(3)
    tensor([5.2773e-05, 1.0000e+00, 5.2773e-05])
    """
    _checked("kaiser", M, dtype, layout)
    if isinstance(beta, fitting.Tensor):
        beta = beta.item()
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return _made("kaiser", M, (dtype, layout, device, requires_grad), lambda: bessel(M, sym, beta))
