"""Dropout: numbers (or whole channels) set to zero at random, and the rest scaled up so that the mean stays.

One primitive that keeps a mask of one byte a number. The masks are PyTorch's for PyTorch's seeds.
"""

import functools
import warnings

import numpy as np

from tensorgrad import dtypes
from tensorgrad import random as source
from tensorgrad.ops import fitting
from tensorgrad.ops import random_primitives as primitives
from tensorgrad.ops.both import number, xp
from tensorgrad.ops.both import tensors as tensor_functions
from tensorgrad.ops.creation import ones
from tensorgrad.ops.fitting import check_tensor
from tensorgrad.ops.primitive import Primitive

PUBLIC = {
    "": "dropout=_dropout dropout_=_dropout_ alpha_dropout=_alpha_dropout alpha_dropout_=_alpha_dropout_ "
    "feature_dropout feature_dropout_ feature_alpha_dropout=_feature_alpha_dropout "
    "feature_alpha_dropout_=_feature_alpha_dropout_ native_dropout",
    "nn.functional": "dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout",
    "ops.aten": "native_dropout_backward",
}
BOOL = np.dtype(bool)
ALPHA = 1.7580993408473766  # minus the value that SELU comes close to for very negative numbers


@number
def masked_scaled(x, mask, scale):
    """x where the mask is, times a factor; zero elsewhere (NaN where x is not finite)."""
    kept = np.asarray(x * mask)
    return np.multiply(kept, np.asarray(scale, x.dtype), out=kept)


_masked_scaled = Primitive(
    "dropout", masked_scaled, arity=2, node="MulBackward0", multilinear=True, fresh=True, batch="leading",
    rules={"x": lambda g, mask, scale: xp.masked_scaled(g, mask, scale)},
)  # fmt: skip
tensor_functions["masked_scaled"] = _masked_scaled


def _mask(x, keep, shape=None):
    """A mask that is true with probability `keep`, drawn in the order of memory, as PyTorch's is."""
    array, order = x._array, None
    if shape is None:
        shape = tuple(x._spec.shape)
        if type(array) is np.ndarray and not array.flags.c_contiguous:
            place, order = primitives._by_memory(array)
            shape = place.shape
    params = source.default_generator, "bernoulli", shape, BOOL, (keep,)
    mask = primitives.draw(primitives.fresh, (), params)
    return mask if order is None else mask.permute(tuple(np.argsort(order).tolist()))


def _channels(x):
    """The shape of a mask with one number a channel."""
    shape = x._spec.shape
    if len(shape) < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return (*shape[:2], *(1,) * (len(shape) - 2))


def _check_dtype(x):
    d = x._spec.dtype
    if d.is_complex:
        raise NotImplementedError(f"\"bernoulli_scalar_cpu_\" not implemented for '{d.title}'")
    if d.category < dtypes.FLOAT:
        raise RuntimeError(f"result type Float can't be cast to the desired output type {d.title}")


def _checked_probability(name, x, p, error):
    check_tensor(name, x)
    if not 0 <= p <= 1:
        raise error(f"dropout probability has to be between 0 and 1, but got {p}")
    return float(p)


@functools.lru_cache
def _scale(p, dtype):
    """1 / (1 - p), rounded as numbers of a dtype are."""
    kind = np.float32 if dtype.itemsize == 2 else dtype.numpy.type
    return np.asarray(kind(1) / kind(1 - p)).astype(dtype.numpy)


def _drop(name, x, p, train, feature=False, alpha=False, inplace=False, error=RuntimeError):
    """All dropouts: what is drawn (numbers or channels), and what replaces it (zero, or SELU's limit)."""
    p = _checked_probability(name, x, p, error)
    if p == 0 or not train or not x._spec.size:
        return x
    if p == 1:
        zero = fitting.number_array(0, x._spec.dtype).item()
        return x.mul_(zero) if inplace else x * zero
    _check_dtype(x)
    mask = _mask(x, 1 - p, _channels(x) if feature else None)
    if not alpha:
        scale = _scale(p, x._spec.dtype)
        return _masked_scaled.inplace((x, mask), (scale,)) if inplace else _masked_scaled(x, mask, scale)
    a = 1 / ((ALPHA * ALPHA * p + 1) * (1 - p)) ** 0.5
    shift = (mask.to(x._spec.dtype) - 1) * (ALPHA * a) + ALPHA * a * p
    if inplace:
        return _masked_scaled.inplace((x, mask), (a,)).add_(shift)
    return _masked_scaled(x, mask, a) + shift


def form(name, doc, **how):
    """A dropout of torch itself: (input, p, train)."""

    def function(input, p, train):
        return _drop(name, input, p, train, **how)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


_dropout = form("dropout", """Numbers set to zero with probability p, the rest divided by 1 - p.

    >>> _ = torch.manual_seed(0); torch.dropout(torch.ones(4), 0.5, True)
    tensor([0., 0., 2., 0.])
    """)  # fmt: skip
_dropout_ = form("dropout_", "The in-place form of `dropout`.", inplace=True)
feature_dropout = form("feature_dropout", """Channels (the second dimension) set to zero with probability p.

    >>> _ = torch.manual_seed(0); torch.feature_dropout(torch.ones(1, 3, 2), 0.5, True)
    tensor([[[0., 0.],
             [0., 0.],
             [2., 2.]]])
    """, feature=True)  # fmt: skip
feature_dropout_ = form("feature_dropout_", "The in-place form of `feature_dropout`.", feature=True, inplace=True)
_alpha_dropout = form("alpha_dropout", """Dropout for networks of SELUs: mean and variance stay.

    >>> _ = torch.manual_seed(0); torch.alpha_dropout(torch.zeros(4), 0.5, True)
    tensor([-0.7792, -0.7792,  0.7792, -0.7792])
    """, alpha=True)  # fmt: skip
_alpha_dropout_ = form("alpha_dropout_", "The in-place form of `alpha_dropout`.", alpha=True, inplace=True)
_feature_alpha_dropout = form("feature_alpha_dropout", """Dropout of channels for networks of SELUs.

    >>> _ = torch.manual_seed(0); torch.feature_alpha_dropout(torch.zeros(1, 3, 1), 0.5, True).flatten()
    tensor([-0.7792, -0.7792,  0.7792])
    """, feature=True, alpha=True)  # fmt: skip
_feature_alpha_dropout_ = form(
    "feature_alpha_dropout_", "The in-place form of `feature_alpha_dropout`.", feature=True, alpha=True, inplace=True
)


def native_dropout(input, p, train):
    """Dropout, and the mask of what was kept.

    >>> _ = torch.manual_seed(0); torch.native_dropout(torch.ones(4), 0.5, True)
    (tensor([0., 0., 2., 0.]), tensor([False, False,  True, False]))
    """
    check_tensor("native_dropout", input)
    if not input._spec.size:
        return input.clone(), ones(tuple(input.shape), dtype=dtypes.bool_)
    if train is False:
        return input.clone(), ones(tuple(input.shape), dtype=dtypes.bool_)
    _check_dtype(input)
    mask = _mask(input, 1 - p)
    return _masked_scaled(input, mask, 1 / (1 - p) if p != 1 else 0.0), mask


def native_dropout_backward(grad_output, mask, scale):
    """The gradient of `native_dropout`.

    >>> torch.ops.aten.native_dropout_backward(torch.ones(2), torch.tensor([True, False]), 2.)
    tensor([2., 0.])
    """
    check_tensor("native_dropout_backward", grad_output, "grad_output")
    return grad_output * mask * scale


# torch.nn.functional


def dropout(input, p=0.5, training=True, inplace=False):
    """Numbers set to zero with probability p, the rest divided by 1 - p; without `training`, the input itself.

    >>> _ = torch.manual_seed(0); torch.nn.functional.dropout(torch.ones(4))
    tensor([0., 0., 2., 0.])
    """
    return _drop("dropout", input, p, training, inplace=inplace, error=ValueError)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout for networks of SELUs: mean and variance stay.

    >>> _ = torch.manual_seed(0); torch.nn.functional.alpha_dropout(torch.zeros(4), training=True)
    tensor([-0.7792, -0.7792,  0.7792, -0.7792])
    """
    return _drop("alpha_dropout", input, p, training, alpha=True, inplace=inplace, error=ValueError)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout of channels for networks of SELUs.

    >>> _ = torch.manual_seed(0); torch.nn.functional.feature_alpha_dropout(torch.zeros(1, 3, 1), training=True).flatten()
    tensor([-0.7792, -0.7792,  0.7792])
    """
    return _drop(
        "feature_alpha_dropout", input, p, training, feature=True, alpha=True, inplace=inplace, error=ValueError
    )


def _channel_dropout(name, input, p, training, inplace, batched):
    _checked_probability(name, input, p, ValueError)
    if batched:
        return _drop(name, input, p, training, feature=True, inplace=inplace, error=ValueError)
    result = _drop(
        name, input.unsqueeze_(0) if inplace else input.unsqueeze(0), p, training, feature=True, inplace=inplace,
        error=ValueError,
    )  # fmt: skip
    return result.squeeze_(0) if inplace else result.squeeze(0)


def dropout1d(input, p=0.5, training=True, inplace=False):
    """Channels of signals (batch, channel, length) set to zero with probability p.

    >>> _ = torch.manual_seed(0); torch.nn.functional.dropout1d(torch.ones(3, 2))
    tensor([[0., 0.],
            [0., 0.],
            [2., 2.]])
    """
    _checked_probability("dropout1d", input, p, ValueError)
    ndim = len(input._spec.shape)
    if ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {ndim}D input. Note that dropout1d exists to provide "
            "channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension "
            "(i.e. 2D or 3D inputs)."
        )
    return _channel_dropout("dropout1d", input, p, training, inplace, ndim == 3)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """Channels of images (batch, channel, height, width) set to zero with probability p.

    >>> _ = torch.manual_seed(0); torch.nn.functional.dropout2d(torch.ones(1, 3, 1, 2))[0, :, 0]
    tensor([[0., 0.],
            [0., 0.],
            [2., 2.]])
    """
    _checked_probability("dropout2d", input, p, ValueError)
    ndim = len(input._spec.shape)
    if ndim not in (3, 4):
        warnings.warn(
            f"dropout2d: Received a {ndim}-D input to dropout2d, which is deprecated and will result in an error in a future "
            "release. To retain the behavior and silence this warning, please use dropout instead. Note that dropout2d "
            "exists to provide channel-wise dropout on inputs with 2 spatial dimensions, a channel dimension, and an "
            "optional batch dimension (i.e. 3D or 4D inputs).",
            stacklevel=2,
        )
    if ndim == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - "
            "input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future "
            "release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D "
            "channel-wise dropout behavior, please switch to using dropout1d instead.",
            stacklevel=2,
        )
    return _channel_dropout("dropout2d", input, p, training, inplace, True)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """Channels of volumes (batch, channel, depth, height, width) set to zero with probability p.

    >>> _ = torch.manual_seed(0); torch.nn.functional.dropout3d(torch.ones(1, 3, 1, 1, 1)).flatten()
    tensor([0., 0., 2.])
    """
    _checked_probability("dropout3d", input, p, ValueError)
    ndim = len(input._spec.shape)
    if ndim not in (4, 5):
        warnings.warn(
            f"dropout3d: Received a {ndim}-D input to dropout3d, which is deprecated and will result in an error in a future "
            "release. To retain the behavior and silence this warning, please use dropout instead. Note that dropout3d "
            "exists to provide channel-wise dropout on inputs with 3 spatial dimensions, a channel dimension, and an "
            "optional batch dimension (i.e. 4D or 5D inputs).",
            stacklevel=2,
        )
    return _channel_dropout("dropout3d", input, p, training, inplace, ndim == 5)
