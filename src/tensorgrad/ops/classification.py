"""Losses over classes: cross entropy and its parts, margins between the right class and the others.

Cross entropy with class indices is one node: forward needs the logarithm of a sum and the picked entries, backward the
softmax with one subtracted at the right class.
"""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.backends import native, soft
from tensorgrad.backends.precision import computes_halves_in_single
from tensorgrad.backends.summing import sums
from tensorgrad.ops.both import expand, number, tensors, xp
from tensorgrad.ops.fitting import check_tensor
from tensorgrad.ops.losses import REDUCTIONS, in_single, legacy_reduction, reduced
from tensorgrad.ops.primitive import Primitive
from tensorgrad.ops.softmax import log_softmax

PUBLIC = {
    "nn.functional": """cross_entropy linear_cross_entropy multi_margin_loss multilabel_margin_loss
        multilabel_soft_margin_loss nll_loss""",
}

# Picking the right class: what nll_loss and cross_entropy share. The classes are in dimension 1 of (N, C, ...).


def _picked(target, weight, ignore_index, dtype):
    """Indices that are safe, the weight of each place (0 where ignored), and the sum of the weights."""
    valid = target != ignore_index
    if weight is None and np.count_nonzero(valid) == target.size:
        return target, None, dtype.type(target.size)
    safe = np.where(valid, target, 0)
    w = valid.astype(dtype) if weight is None else np.where(valid, weight[safe], 0).astype(dtype)
    return safe, w, np.add.reduce(w, axis=None)


def _at(x, indices):
    """One entry of dimension 1 for each place: as an index into x, which can be read and written."""
    rows, *places = np.indices(indices.shape, sparse=True) if indices.ndim > 1 else (np.arange(indices.size),)
    return (rows, indices, *places)


def _finished(loss, w, total, reduction):
    if w is not None:
        loss *= w
    if reduction == "none":
        return loss
    loss = np.add.reduce(loss, axis=None)
    return loss if reduction == "sum" else loss / total


def _scale(g, target, w, total, reduction, dtype):
    """What the gradient of each place is multiplied with."""
    if reduction == "mean":
        g = g / total
    return expand(np.asarray(g if w is None else g * w, dtype), target.shape)


@computes_halves_in_single
def _nll_kernel(logp, target, weight, ignore_index, reduction):
    safe, w, total = _picked(target, weight, ignore_index, logp.dtype)
    return _finished(-logp[_at(logp, safe)], w, total, reduction)


@number
@computes_halves_in_single
def nll_back(g, logp, target, weight, ignore_index, reduction):
    safe, w, total = _picked(target, weight, ignore_index, logp.dtype)
    whole = np.zeros_like(logp)
    whole[_at(logp, safe)] = -_scale(g, target, w, total, reduction, logp.dtype)
    return whole


def _weights(target, weight, ignore_index, dtype):
    """The same on Tensors: safe indices, weights of the places."""
    valid = target != ignore_index
    safe = target.masked_fill(~valid, 0)
    return safe, valid.to(dtype) if weight is None else weight.take(safe) * valid


def _spread_over(g, w, reduction):
    """The gradient of each place."""
    return g * w if reduction != "mean" else g / w.sum() * w


def _nll_back(g, logp, target, weight, ignore_index, reduction):
    safe, w = _weights(target, weight, ignore_index, logp._spec.dtype)
    whole = logp.new_zeros(logp._spec.shape)
    return whole.scatter(1, safe.unsqueeze(1), -_spread_over(g, w, reduction).unsqueeze(1))


tensors["nll_back"] = _nll_back


def _nll_forward(t, target, weight, ignore_index, reduction):
    """nll_loss is linear in its input."""
    return _nll.apply((t, target, weight), (ignore_index, reduction))


def _per_row(primitive):
    """The batching rule: all rows as one batch without reduction, then each row's mean or sum."""

    def batch(apply, values, batched, params, size):
        from tensorgrad.func.batching import all_batched

        x, target = all_batched(values[:2], batched[:2], size)
        weight, (ignore_index, reduction) = values[2], params
        if weight is not None and batched[2]:
            raise NotImplementedError(f"vmap: {primitive().name} with a weight for each row of the mapped dimension")
        loss = apply((x.flatten(0, 1), target.flatten(0, 1), weight), (ignore_index, "none"))
        loss = loss.reshape(target.shape)
        if reduction == "none":
            return loss
        loss = loss.flatten(1).sum(1)
        if reduction == "sum":
            return loss
        return loss / _weights(target, weight, ignore_index, x._spec.dtype)[1].flatten(1).sum(1)

    return batch


_nll = Primitive(
    "nll_loss", lambda x, target, weight, ignore_index, reduction: _nll_kernel(x, target, weight, ignore_index, reduction),
    arity=3, fresh=True, batch=_per_row(lambda: _nll),
    rules={"x": lambda g, x, target, weight, ignore_index, reduction: xp.nll_back(g, x, target, weight, ignore_index, reduction)},
    pushforward=lambda t_x, target, weight, ignore_index, reduction: _nll_forward(t_x, target, weight, ignore_index, reduction),
)  # fmt: skip
_nll2d = _nll.variant("nll_loss2d", "NllLoss2DBackward0")


@computes_halves_in_single
def _cross_entropy_kernel(x, target, weight, ignore_index, reduction):
    """log(sum(exp(x))) - x[target] of each place."""
    safe, w, total = _picked(target, weight, ignore_index, x.dtype)
    if x.ndim == 2 and native.suits(x):
        return _finished(-native.module("rows").soft("log_softmax", x)[_at(x, safe)], w, total, reduction)
    if x.ndim == 2 and soft.suits(x, 1):
        return _finished(soft.cross_entropy(x, safe), w, total, reduction)
    top = np.maximum.reduce(x, axis=1, keepdims=True) if x.shape[1] else np.zeros_like(x[:, :1])
    y = x - top
    np.exp(y, out=y)
    loss = np.log(sums(y, 1))
    loss += top[:, 0]
    loss -= x[_at(x, safe)]
    return _finished(loss, w, total, reduction)


@number
@computes_halves_in_single
def cross_entropy_back(g, x, target, weight, ignore_index, reduction):
    safe, w, total = _picked(target, weight, ignore_index, x.dtype)
    scale = _scale(g, target, w, total, reduction, x.dtype)
    if x.ndim == 2 and native.suits(x):
        y = native.module("rows").soft("softmax", x)
        y *= np.expand_dims(scale, 1)
        y[_at(y, safe)] -= scale
        return y
    if x.ndim == 2 and soft.suits(x, 1):
        return soft.cross_entropy_gradient(x, safe, scale)
    y = x - np.maximum.reduce(x, axis=1, keepdims=True) if x.size else x.copy()
    np.exp(y, out=y)
    y *= np.expand_dims(scale / sums(y, 1), 1)
    y[_at(y, safe)] -= scale
    return y


def _cross_entropy_back(g, x, target, weight, ignore_index, reduction):
    safe, w = _weights(target, weight, ignore_index, x._spec.dtype)
    scale = _spread_over(g, w, reduction).unsqueeze(1)
    return x.softmax(1) * scale + x.new_zeros(x._spec.shape).scatter(1, safe.unsqueeze(1), -scale)


tensors["cross_entropy_back"] = _cross_entropy_back


def _cross_entropy_forward(t, x, target, weight, ignore_index, reduction):
    moved = (t * x.softmax(1)).sum(1, keepdim=True) - t
    return _nll.apply((-moved, target, weight), (ignore_index, reduction))


_cross_entropy = Primitive(
    "cross_entropy",
    lambda x, target, weight, ignore_index, reduction: _cross_entropy_kernel(x, target, weight, ignore_index, reduction),
    arity=3, fresh=True, node="NllLossBackward0", batch=_per_row(lambda: _cross_entropy),
    rules={"x": lambda g, x, target, weight, ignore_index, reduction:
           xp.cross_entropy_back(g, x, target, weight, ignore_index, reduction)},
    pushforward=lambda t_x, x, target, weight, ignore_index, reduction:
        _cross_entropy_forward(t_x, x, target, weight, ignore_index, reduction),
)  # fmt: skip
_cross_entropy2d = _cross_entropy.variant("cross_entropy2d", "NllLoss2DBackward0")


def _known(reduction):
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def _over_classes(primitive, primitive2d, input, target, weight, ignore_index, reduction):
    """Check class indices, and apply the primitive to (N, C, ...)."""
    shape, spec = input._spec.shape, target._spec
    _known(reduction)
    if not shape:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    single = len(shape) == 1
    if single:
        if spec.size != 1 or len(spec.shape) > 1:
            raise RuntimeError(
                f"For 1D input, 1D target must have size 1, but got target size: {spec.size}" if len(spec.shape) == 1
                else f"size mismatch (got input: {list(shape)} , target: {list(spec.shape)})"
            )  # fmt: skip
        input, plain = input.unsqueeze(0), target.reshape((1,))
    else:
        plain = target
        if not spec.shape or shape[0] != spec.shape[0]:
            raise ValueError(
                f"Expected input batch_size ({shape[0]}) to match target batch_size ({spec.shape[0] if spec.shape else 0})."
            )
        if len(shape) == 2 and len(spec.shape) != 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if len(shape) > 2 and spec.shape[1:] != shape[2:]:
            raise RuntimeError(f"Expected target size {[shape[0], *shape[2:]]}, got {list(spec.shape)}")
    if spec.dtype not in (dtypes.int64, dtypes.uint8):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {spec.dtype.title}")
    if not input._spec.dtype.is_floating_point:
        raise NotImplementedError(f"\"nll_loss_out_frame\" not implemented for '{input._spec.dtype.title}'")
    classes = input._spec.shape[1]
    if weight is not None:
        check_tensor("nll_loss", weight, "weight", 3)
        if tuple(weight._spec.shape) != (classes,):
            raise RuntimeError(
                f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
                f"shape: {list(weight.shape)}"
            )
        if weight._spec.dtype is not input._spec.dtype:
            raise RuntimeError(f"expected scalar type {input._spec.dtype.title} but found {weight._spec.dtype.title}")
        weight = weight.detach()
    array = plain._array
    if type(array) is np.ndarray and not (
        array.dtype == np.int64 and np.count_nonzero(array.view(np.uint64) < classes) == array.size
    ):
        wrong = (array != ignore_index) & (
            (array < 0) | (array >= classes)
        )  # above, a number below 0 is a very large one
        if wrong.any():
            raise IndexError(f"Target {array[wrong].reshape(-1)[0]} is out of bounds.")
    if spec.dtype is dtypes.uint8:
        plain = plain.to(dtypes.int64)
    chosen = primitive if len(shape) <= 2 else primitive2d
    result = chosen.apply((input, plain, weight), (ignore_index, reduction))
    if single and reduction == "none" and not spec.shape:
        return result.squeeze(0)
    return result


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """The mean of minus the log-probability of the right class.

    >>> torch.nn.functional.nll_loss(torch.log(torch.tensor([[0.25, 0.75]])), torch.tensor([1]))
    tensor(0.2877)
    """
    check_tensor("nll_loss", input)
    check_tensor("nll_loss", target, "target", 2)
    reduction = legacy_reduction(size_average, reduce, reduction)
    return _over_classes(_nll, _nll2d, input, target, weight, ignore_index, reduction)


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
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    if input._spec.shape == target._spec.shape:
        return _with_probabilities(input, target, weight, ignore_index, reduction, label_smoothing)
    if not label_smoothing:
        return _over_classes(_cross_entropy, _cross_entropy2d, input, target, weight, ignore_index, reduction)
    dim = 0 if len(input._spec.shape) == 1 else 1
    logp = log_softmax(input, dim)
    loss = nll_loss(logp, target, weight, None, ignore_index, None, reduction)
    classes = input._spec.shape[dim]
    w = _weights(target, weight, ignore_index, logp._spec.dtype)[1]
    smooth = -(logp if weight is None else logp * _along(weight, dim, logp)).sum(dim)
    smooth = reduced(smooth.masked_fill(target == ignore_index, 0), "none" if reduction == "none" else "sum")
    if reduction == "mean":
        smooth = smooth / w.sum()
    return loss * (1 - label_smoothing) + smooth * (label_smoothing / classes)


def _along(weight, dim, like):
    """The weights of classes, lined up with their dimension."""
    return weight.reshape([-1 if d == dim else 1 for d in range(len(like._spec.shape))])


@in_single
def _with_probabilities(input, target, weight, ignore_index, reduction, label_smoothing):
    if not target._spec.dtype.is_floating_point:
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {target._spec.dtype.title}"
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    dim = 0 if len(input._spec.shape) == 1 else 1
    classes = input._spec.shape[dim]
    if weight is not None and tuple(weight._spec.shape) != (classes,):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but got weight "
            f"tensor of shape: {list(weight.shape)}"
        )
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    weighted = target if weight is None else target * _along(weight, dim, target)
    loss = -(log_softmax(input, dim) * weighted).sum(dim)
    if reduction == "mean":
        count = loss._spec.size
        return loss.sum() / count if count else loss.mean()
    return reduced(loss, reduction)


@in_single
def linear_cross_entropy(input, linear_weight, target, *, linear_bias=None, weight=None, reduction="mean", ignore_index=None,
                         label_smoothing=0.0, options=None):  # fmt: skip
    """The cross entropy of linear(input, linear_weight, linear_bias), whose classes are the rows of the weight.

    >>> F = torch.nn.functional
    >>> F.linear_cross_entropy(torch.tensor([[1., 0.]]), torch.eye(2), torch.tensor([0]))
    tensor(0.3133)
    """
    check_tensor("linear_cross_entropy", input)
    check_tensor("linear_cross_entropy", linear_weight, "linear_weight", 2)
    check_tensor("linear_cross_entropy", target, "target", 3)
    from tensorgrad.ops.matmul import linear

    rows, sizes = tuple(input._spec.shape), tuple(linear_weight._spec.shape)
    if len(rows) not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {len(rows)}")
    if len(sizes) < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {len(sizes)}")
    if rows[-1] != sizes[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{rows[-1]} and {sizes[-1]}, respectively"
        )
    if linear_bias is not None and tuple(linear_bias._spec.shape) != sizes[:-1]:
        raise RuntimeError(f"expected linear_bias shape {sizes[:-1]}, got {tuple(linear_bias._spec.shape)}")
    classes, inside = sizes[0], sizes[1:-1]
    if inside and len(rows) == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {sizes} requires batched input, (N, {rows[0]}), got "
            f"unbatched input with shape {rows}"
        )
    shape = (*rows[:-1], classes, *inside)
    if tuple(target._spec.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    if inside:
        linear_weight = linear_weight.reshape(-1, sizes[-1])
        linear_bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = linear(input, linear_weight, linear_bias)
    return cross_entropy(
        logits.reshape(shape), target, weight, None, -100 if ignore_index is None else ignore_index, None, reduction,
        label_smoothing,
    )  # fmt: skip


# Margins


def _rows_of(name, input, word="vector or matrix"):
    """The input as (N, C), and whether it was one row."""
    shape = input._spec.shape
    if len(shape) > 2 or 0 in shape[1:] or (len(shape) == 1 and not shape[0]):
        raise RuntimeError(f"Expected non-empty {word} with optional 0-dim batch size, but got: {list(shape)}")
    if not input._spec.dtype.is_floating_point:
        raise NotImplementedError(f"\"{name}_cpu_kernel\" not implemented for '{input._spec.dtype.title}'")
    return (input if len(shape) == 2 else input.reshape(1, -1)), len(shape) < 2


def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The mean over classes of what the right class lacks to the margin over each other one, to the power p.

    >>> torch.nn.functional.multi_margin_loss(torch.tensor([[0.5, 1., 0.]]), torch.tensor([1]))
    tensor(0.1667)
    """
    check_tensor("multi_margin_loss", input)
    check_tensor("multi_margin_loss", target, "target", 2)
    reduction = _known(legacy_reduction(size_average, reduce, reduction))
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and len(weight._spec.shape) != 1:
        raise ValueError("weight must be one-dimensional")
    x, single = _rows_of("multi_margin_loss", input)
    count, classes = x._spec.shape
    if len(target._spec.shape) > 1 or target._spec.size != count:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). "
            f"Expected target size [{count}], but got {list(target.shape)}. Input has shape {list(input.shape)}."
        )
    if weight is not None and weight._spec.size != classes:
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight.shape)}")
    array = target._array
    if type(array) is np.ndarray and array.size and (array.min() < 0 or array.max() >= classes):
        raise RuntimeError("target out of range")
    index = target.reshape(-1, 1)
    short = (margin - x.gather(1, index) + x).clamp_min(0)
    if p == 2:
        short = short * short
    if weight is not None:
        short = short * weight.take(index)
    loss = short.scatter(1, index, 0.0).sum(1) / classes
    return reduced(loss.reshape(target._spec.shape) if single else loss, reduction)


def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """The mean over classes of what each right class lacks to a margin of 1 over each wrong one. The right classes come
    first in the target, up to the first -1.

    >>> torch.nn.functional.multilabel_margin_loss(torch.tensor([[0.1, 0.2, 0.4]]), torch.tensor([[2, 0, -1]]))
    tensor(0.6333)
    """
    check_tensor("multilabel_margin_loss", input)
    check_tensor("multilabel_margin_loss", target, "target", 2)
    reduction = _known(legacy_reduction(size_average, reduce, reduction))
    if target._spec.dtype is not dtypes.int64:
        raise RuntimeError(f"expected scalar type Long but found {target._spec.dtype.title}")
    if target._spec.shape != input._spec.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    x, single = _rows_of("multilabel_margin_loss", input)
    classes = x._spec.shape[1]
    array = target._array
    if type(array) is np.ndarray and array.size and (array.min() < -1 or array.max() >= classes):
        raise RuntimeError("argument #2 'target' is out of range")
    index = target.reshape(x._spec.shape)
    listed = (index >= 0).to(dtypes.int64).cumprod(1) == 1  # before the first -1
    safe = index.masked_fill(~listed, 0)
    right = x.new_zeros(x._spec.shape).scatter_add(1, safe, listed.to(x._spec.dtype)) > 0
    short = (1 - x.gather(1, safe).unsqueeze(2) + x.unsqueeze(1)).clamp_min(0)  # each right class with every class
    loss = short.masked_fill(~(listed.unsqueeze(2) & ~right.unsqueeze(1)), 0).sum((1, 2)) / classes
    return reduced(loss.reshape(()) if single else loss, reduction)


@in_single
def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The mean over classes of binary cross entropy with logits.

    >>> torch.nn.functional.multilabel_soft_margin_loss(torch.tensor([[0., 2.]]), torch.tensor([[1., 0.]]))
    tensor(1.4100)
    """
    from tensorgrad.ops.activation import logsigmoid

    check_tensor("multilabel_soft_margin_loss", input)
    check_tensor("multilabel_soft_margin_loss", target, "target", 2)
    reduction = legacy_reduction(size_average, reduce, reduction)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return reduced(loss.mean(-1), reduction)
