"""Losses, each one node: mean squared error and cross entropy."""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops.both import number, xp
from tensorgrad.ops.fitting import check_tensor
from tensorgrad.ops.primitive import Primitive
from tensorgrad.ops.softmax import log_softmax

PUBLIC = {"nn.functional": "mse_loss nll_loss cross_entropy"}


def reduced(loss, reduction):
    """A loss per element, its mean or its sum."""
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"{reduction} is not a valid value for reduction")


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The mean of the squared differences.

    >>> torch.nn.functional.mse_loss(torch.tensor([1., 2.]), torch.tensor([1., 4.]))
    tensor(2.)
    """
    check_tensor("mse_loss", input)
    check_tensor("mse_loss", target, "target", 2)
    reduction = legacy_reduction(size_average, reduce, reduction)
    if input.shape != target.shape:
        import warnings

        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will likely "
            "lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=2,
        )
    if weight is not None:
        return reduced(weight * (input - target) ** 2, reduction)
    if (
        input.shape == target.shape
        and input._spec.dtype is target._spec.dtype
        and input._spec.fast
        and reduction != "none"
    ):
        return _mse(input, target, reduction)
    return reduced((input - target) ** 2, reduction)


def legacy_reduction(size_average, reduce, reduction):
    """PyTorch's old arguments size_average and reduce as a reduction."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def _mse_kernel(a, b, reduction):
    d = (a - b).reshape(-1)
    total = np.dot(d, d) if d.dtype.itemsize != 2 else np.add.reduce((d * d).astype(np.float32)).astype(d.dtype)
    return total / np.asarray(d.size, d.dtype) if reduction == "mean" else total


def _mse_scale(g, reduction, spec):
    return g * (2.0 / max(spec.size, 1) if reduction == "mean" else 2.0)


_mse = Primitive(
    "mse_loss", _mse_kernel, arity=2, fresh=True,
    rules={
        "a": lambda g, a, b, a_spec, reduction: _mse_scale(g, reduction, a_spec) * (a - b),
        "b": lambda g, a, b, a_spec, reduction: _mse_scale(g, reduction, a_spec) * (b - a),
    },
)  # fmt: skip


# Cross entropy with class indices: the log-softmax, the picked entries and their weighted mean as one node.


def _picked(logits, target, weight, ignore_index):
    """Indices made safe, the weight of each place (0 where ignored)."""
    valid = target != ignore_index
    safe = np.where(valid, target, 0)
    w = valid.astype(logits.dtype) if weight is None else np.where(valid, weight[safe], 0).astype(logits.dtype)
    return safe, w


def _nll_kernel(logp, target, weight, ignore_index, reduction):
    safe, w = _picked(logp, target, weight, ignore_index)
    loss = -np.take_along_axis(logp, np.expand_dims(safe, 1), 1).squeeze(1) * w
    if reduction == "none":
        return loss
    total = np.add.reduce(loss, axis=None)
    return total if reduction == "sum" else total / np.add.reduce(w, axis=None)


@number
def nll_back(g, logp, target, weight, ignore_index, reduction):
    safe, w = _picked(logp, target, weight, ignore_index)
    scale = -w * g if reduction != "mean" else -w * (g / np.add.reduce(w, axis=None))
    whole = np.zeros_like(logp)
    np.put_along_axis(whole, np.expand_dims(safe, 1), np.expand_dims(scale, 1), 1)
    return whole


_nll_back = Primitive(
    "nll_back", lambda g, logp, target, weight, ignore_index, reduction: nll_back(g, logp, target, weight, ignore_index, reduction),
    arity=4, params=("ignore_index", "reduction"), fresh=True, on_tensors=True,
    rules={"g": lambda h, logp, target, weight, ignore_index, reduction: -_pick_sum(h, target, weight, ignore_index, reduction)},
)  # fmt: skip


def _pick_sum(h, target, weight, ignore_index, reduction):
    valid = target != ignore_index
    safe = target.masked_fill(~valid, 0)
    w = valid.to(h.dtype) if weight is None else weight[safe] * valid
    picked = h.gather(1, safe.unsqueeze(1)).squeeze(1) * w
    if reduction == "none":
        return picked
    return picked.sum() if reduction == "sum" else picked.sum() / w.sum()


_nll = Primitive(
    "nll_loss", _nll_kernel, arity=3, fresh=True,
    rules={"logp": lambda g, logp, target, weight, ignore_index, reduction: xp.nll_back(g, logp, target, weight, ignore_index, reduction)},
)  # fmt: skip


def _check_classes(input, target, ignore_index):
    n = input.shape[1]
    array = target._array
    if type(array) is np.ndarray and array.size:
        wrong = (array != ignore_index) & ((array < 0) | (array >= n))
        if wrong.any():
            raise IndexError(f"Target {array[wrong].reshape(-1)[0]} is out of bounds.")


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """The mean of minus the log-probability of the right class.

    >>> torch.nn.functional.nll_loss(torch.log(torch.tensor([[0.25, 0.75]])), torch.tensor([1]))
    tensor(0.2877)
    """
    check_tensor("nll_loss", input)
    check_tensor("nll_loss", target, "target", 2)
    reduction = legacy_reduction(size_average, reduce, reduction)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    single = len(input.shape) == 1
    if single:
        input, target = input.unsqueeze(0), target.unsqueeze(0)
    if len(input.shape) < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {len(input.shape)})")
    if target._spec.dtype not in (dtypes.int64, dtypes.uint8, dtypes.int32):
        raise RuntimeError(f"expected scalar type Long but found {target._spec.dtype.title}")
    if len(target.shape) != len(input.shape) - 1 or target.shape[0] != input.shape[0]:
        if len(input.shape) == 2 and target.shape and target.shape[0] != input.shape[0]:
            raise ValueError(
                f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({target.shape[0]})."
            )
        raise RuntimeError(f"size mismatch (got input: {list(input.shape)} , target: {list(target.shape)})")
    if target.shape[1:] != input.shape[2:]:
        raise RuntimeError(f"size mismatch (got input: {list(input.shape)} , target: {list(target.shape)})")
    if weight is not None and (len(weight.shape) != 1 or weight.shape[0] != input.shape[1]):
        raise RuntimeError(
            f"weight tensor should be defined either for all {input.shape[1]} classes or no classes but got weight tensor of "
            f"shape: {list(weight.shape)}"
        )
    _check_classes(input, target, ignore_index)
    result = _nll(input, target, weight, ignore_index, reduction)
    return result.squeeze(0) if single and reduction == "none" else result


def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean",
                  label_smoothing=0.0):  # fmt: skip
    """The cross entropy between logits and classes (or class probabilities).

    >>> torch.nn.functional.cross_entropy(torch.tensor([[0., 0.]]), torch.tensor([1]))
    tensor(0.6931)
    """
    check_tensor("cross_entropy_loss", input)
    check_tensor("cross_entropy_loss", target, "target", 2)
    reduction = legacy_reduction(size_average, reduce, reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    dim = 0 if len(input.shape) == 1 else 1
    if input.shape == target.shape and target._spec.dtype.category >= dtypes.FLOAT:
        n = input.shape[dim]
        if label_smoothing:
            target = target * (1 - label_smoothing) + label_smoothing / n
        logp = log_softmax(input, dim)
        if weight is not None:
            logp = logp * weight.reshape([n if d == dim else 1 for d in range(len(input.shape))])
        loss = -(logp * target).sum(dim)
        if reduction == "mean":
            return loss.sum() / (input._spec.size // n)
        return reduced(loss, reduction)
    logp = log_softmax(input, dim)
    loss = nll_loss(logp, target, weight, None, ignore_index, None, reduction)
    if not label_smoothing:
        return loss
    if dim == 0:
        logp, target = logp.unsqueeze(0), target.unsqueeze(0)
    n = input.shape[dim]
    valid = target != ignore_index
    wide = logp if weight is None else logp * weight.reshape([n if d == 1 else 1 for d in range(len(logp.shape))])
    smooth = -wide.sum(1).masked_fill(~valid, 0)
    if reduction == "mean":
        scale = valid.to(logp.dtype).sum() if weight is None else (weight[target.masked_fill(~valid, 0)] * valid).sum()
        smooth = smooth.sum() / scale
    elif reduction == "sum":
        smooth = smooth.sum()
    elif dim == 0:
        smooth = smooth.squeeze(0)
    return loss * (1 - label_smoothing) + smooth * (label_smoothing / n)
