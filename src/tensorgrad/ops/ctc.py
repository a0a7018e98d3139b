"""ctc_loss: how unlikely a sequence makes a target that is written more slowly, with blanks and repetitions."""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.backends import ctc as kernels
from tensorgrad.func.batching import all_batched
from tensorgrad.ops import fitting
from tensorgrad.ops.both import number, tensors, xp
from tensorgrad.ops.fitting import check_tensor
from tensorgrad.ops.losses import reduced
from tensorgrad.ops.primitive import Primitive, wrap

PUBLIC = {"": "ctc_loss=torch_ctc_loss _ctc_loss", "nn.functional": "ctc_loss"}
CHECKING = "(while checking arguments for ctc_loss_allocate_outputs)"


def _side_by_side(apply, values, batched, params, size):
    """vmap: all rows as one batch of samples."""
    plan, *rest = params
    values = [_joined(value, axis) for value, axis in zip(all_batched(values, batched, size), AXES[len(values)])]
    results = apply(tuple(values), (plan.repeated(size), *rest))
    if isinstance(results, tuple):
        return tuple(r.reshape(size, -1, *r._spec.shape[1:]) for r in results)
    return results.reshape(results._spec.shape[0], size, -1, results._spec.shape[-1]).movedim(1, 0)


AXES = {1: (1,), 3: (0, 1, 0)}  # where the samples are in log_probs; in g, log_probs and log_alpha


def _joined(value, axis):
    return value.movedim(0, axis).flatten(axis, axis + 1)


@number
def ctc_gradient(g, log_probs, log_alpha, plan, zero_infinity):
    """The gradient of the log-probabilities for that of each loss."""
    result = kernels.slopes(log_probs, log_alpha, plan, zero_infinity)
    result *= g[:, None]
    return result


def _no_second(g):
    raise NotImplementedError(
        "derivative for aten::_ctc_loss_backward is not implemented\n"
        "ctc_loss has a first derivative only: leave create_graph=True out."
    )


_ctc_gradient = Primitive(
    "ctc_gradient", ctc_gradient, arity=3, fresh=True, batch=_side_by_side, node="CtcLossBackwardBackward0",
    rules={
        "g": lambda h, g_spec, log_probs, log_alpha, plan, zero_infinity: (
            h * _ctc_gradient(h.new_ones(g_spec.shape), log_probs, log_alpha, plan, zero_infinity)).sum((0, 2)),
        "log_probs": _no_second,
    },
    on_tensors=True,
)  # fmt: skip
tensors["ctc_gradient"] = lambda *args: _ctc_gradient(*args)
_ctc = Primitive(
    "ctc_loss", lambda log_probs, plan, zero_infinity: kernels.forward(log_probs, plan), count=2, fresh=True,
    batch=_side_by_side,
    pushforward=lambda t, log_probs, out, plan, zero_infinity: (
        (t * _ctc_gradient(out[0].new_ones(out[0].shape), log_probs, out[1], plan, zero_infinity)).sum((0, 2)), None),
    pullback=lambda g, log_probs, out, plan, zero_infinity: None if g[0] is None else xp.ctc_gradient(
        g[0], log_probs, out[1], plan, zero_infinity),
)  # fmt: skip


def _lengths(name, given, samples):
    """Lengths, a tensor or a tuple of ints, as an array."""
    if isinstance(given, fitting.Tensor):
        if given._spec.dtype.category != dtypes.INTEGER:
            raise RuntimeError(f"{name} must be integral")
        if type(given._array) is not np.ndarray:
            raise NotImplementedError(f"ctc_loss: {name} cannot be mapped over: give all rows the same")
        given = given._array.reshape(-1)
    lengths = np.asarray(given, np.int64)
    if lengths.shape != (samples,):
        raise RuntimeError(
            f"{name} must be of size batch_size\nThere are {samples} samples and {lengths.size} lengths."
        )
    return lengths


def _plan(log_probs, targets, input_lengths, target_lengths, blank):
    """The Plan of a call, after PyTorch's checks."""
    time, samples, classes = log_probs._spec.shape
    if not samples or not time:
        raise RuntimeError("log_probs tensor must not be empty")
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    inputs, wanted = (
        _lengths("input_lengths", input_lengths, samples),
        _lengths("target_lengths", target_lengths, samples),
    )
    for name, lengths, most in (("input_lengths", inputs, time), ("target_lengths", wanted, None)):
        if lengths.min() < 0:
            raise RuntimeError(f"Expected {name} to have value at least 0, but got value {lengths.min()} {CHECKING}")
        if most is not None and lengths.max() > most:
            raise RuntimeError(
                f"Expected {name} to have value at most {most}, but got value {lengths.max()} {CHECKING}"
            )
    if type(targets._array) is not np.ndarray:
        raise NotImplementedError("ctc_loss: targets cannot be mapped over: give all rows the same")
    labels, longest = targets._array, int(wanted.max())
    used = np.arange(longest) < wanted[:, None]
    if labels.ndim == 1:
        if labels.size != wanted.sum():
            raise RuntimeError(
                f"Expected tensor to have size {wanted.sum()} at dimension 0, but got size {labels.size} for argument #2 "
                f"'targets' {CHECKING}"
            )
        padded = np.full((samples, longest), blank, np.int64)
        padded[used] = labels
    elif labels.ndim == 2:
        if len(labels) != samples:
            raise RuntimeError(
                f"Expected tensor to have size {samples} at dimension 0, but got size {len(labels)} for argument #2 "
                f"'targets' {CHECKING}"
            )
        if labels.shape[1] < longest:
            raise RuntimeError(
                f"Expected tensor to have size at least {longest} at dimension 1, but got size {labels.shape[1]} for "
                f"argument #2 'targets' {CHECKING}"
            )
        padded = np.where(used, labels[:, :longest], blank).astype(np.int64)
    else:
        raise RuntimeError(
            f"Expected 1 to 2 dimensions, but got {labels.ndim}-dimensional tensor for argument #2 'targets' {CHECKING}"
        )
    if padded.size and (padded.min() < 0 or padded.max() >= classes):
        wrong = padded.min() if padded.min() < 0 else padded.max()
        raise RuntimeError(f"ctc_loss: targets must be in label range [0, {classes - 1}], but got label {wrong}")
    return kernels.Plan(padded, inputs, wanted, blank)


def _checked(log_probs, targets, input_lengths, target_lengths, blank):
    check_tensor("ctc_loss", log_probs, "log_probs")
    check_tensor("ctc_loss", targets, "targets", 2)
    for lengths in (input_lengths, target_lengths):
        if isinstance(lengths, fitting.Tensor) != isinstance(input_lengths, fitting.Tensor) or not (
            isinstance(lengths, (fitting.Tensor, tuple, list))
        ):
            got = ", ".join(map(fitting.kind_name, (log_probs, targets, input_lengths, target_lengths)))
            raise TypeError(
                f"ctc_loss() received an invalid combination of arguments - got ({got}): give both lengths as tensors or "
                "both as tuples of ints"
            )
    if log_probs._spec.dtype not in (dtypes.float32, dtypes.float64):
        raise NotImplementedError(f"\"ctc_loss_cpu\" not implemented for '{log_probs._spec.dtype.title}'")
    if len(log_probs._spec.shape) != 3:
        raise RuntimeError(
            f"Expected 3-dimensional tensor, but got {len(log_probs._spec.shape)}-dimensional tensor for argument #1 "
            f"'log_probs' {CHECKING}"
        )
    return _plan(log_probs, targets, input_lengths, target_lengths, blank)


def _ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, zero_infinity=False):
    """(loss of each sample, log-probabilities of all ways to each state): what ctc_loss is made of.

    >>> log_probs = torch.tensor([[[0.5, 0.5]], [[0.5, 0.5]]]).log()
    >>> torch._ctc_loss(log_probs, torch.tensor([[1]]), (2,), (1,))[0]
    tensor([0.2877])
    """
    loss, log_alpha = _ctc(
        log_probs, _checked(log_probs, targets, input_lengths, target_lengths, blank), bool(zero_infinity)
    )
    return loss, log_alpha.detach().to(log_probs.dtype)


def _loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity):
    check_tensor("ctc_loss", log_probs, "log_probs")
    single = len(log_probs._spec.shape) == 2 and not (
        isinstance(targets, fitting.Tensor) and len(targets._spec.shape) == 2 and targets._spec.shape[0] != 1
    )
    whole = log_probs.unsqueeze(1) if single else log_probs
    plan = _checked(whole, targets, input_lengths, target_lengths, blank)
    loss = _ctc(whole, plan, bool(zero_infinity))[0]
    if zero_infinity:
        loss = loss.masked_fill(loss == np.inf, 0)
    if reduction == "mean":
        lengths = np.maximum(plan.target_lengths, 1).astype(loss._spec.dtype.numpy)
        return (loss / wrap(lengths)).mean()
    if single:
        loss = loss.squeeze(0)
    return reduced(loss, reduction)


def torch_ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=0, zero_infinity=False):
    """`nn.functional.ctc_loss` with its reduction as a number: 0 none, 1 mean, 2 sum.

    >>> log_probs = torch.tensor([[[0.5, 0.5]], [[0.5, 0.5]]]).log()
    >>> torch.ctc_loss(log_probs, torch.tensor([[1]]), (2,), (1,))
    tensor([0.2877])
    """
    if reduction not in (0, 1, 2):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    reduction = ("none", "mean", "sum")[reduction]
    return _loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """How unlikely log-probabilities (time, samples, classes) make each target: summed over all its alignments.

    >>> log_probs = torch.tensor([[[0.5, 0.5]], [[0.5, 0.5]]]).log()
    >>> torch.nn.functional.ctc_loss(log_probs, torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1])).exp()
    tensor(1.3333)
    """
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)
