"""Losses between numbers: squared, absolute and Huber errors, binary cross entropy, divergences. Each is one node.

Losses over classes are in classification.py, those over pairs and triples of vectors in similarity.py.
"""

import functools
import math
import warnings

import numpy as np

from tensorgrad import dtypes
from tensorgrad.backends import crew, native
from tensorgrad.backends.summing import row_dots
from tensorgrad.ops import fitting
from tensorgrad.ops.both import special_kernel, xp
from tensorgrad.ops.fitting import check_tensor
from tensorgrad.ops.pointwise import Pointwise
from tensorgrad.ops.primitive import Primitive
from tensorgrad.spec import LARGE

PUBLIC = {
    "nn.functional": """binary_cross_entropy binary_cross_entropy_with_logits gaussian_nll_loss huber_loss kl_div l1_loss mse_loss
        poisson_nll_loss smooth_l1_loss soft_margin_loss""",
}
REDUCTIONS = ("none", "mean", "sum")


class PairLoss:
    """A loss of each input and its target, and their mean or sum: one node with one gradient, whatever the reduction.

    The kernel and its slopes, for `a` (the input) and `b` (the target), speak of elements; `total` may sum them faster.
    """

    def __init__(self, name, kernel, slopes, params="", *, total=None, integer=False, **options):
        params = tuple(params.split())
        options = {"integer": integer, "boolean": False, "complex": False, **options}
        self.each = Pointwise(name, kernel, slopes, ("a", "b"), params=params, **options)

        def whole(a, b, *numbers):
            loss = np.add.reduce(kernel(a, b, *numbers[:-1]), axis=None) if total is None else total(a, b)
            return loss / loss.dtype.type(a.size) if numbers[-1] == "mean" else loss

        rules = {word: _averaged(slope) for word, slope in zip("ab", slopes, strict=True)}
        self.whole = Primitive(
            f"{name}_reduced", whole, rules=rules, arity=2, inputs=("a", "b"), params=(*params, "reduction"),
            node=self.each.node_name, fresh=True,
        )  # fmt: skip

    def __call__(self, input, target, reduction, *numbers):
        spec = input._spec
        if reduction != "none" and spec is target._spec and spec.plain:
            if reduction not in REDUCTIONS:
                raise ValueError(f"{reduction} is not a valid value for reduction")
            return self.whole.apply((input, target), (*numbers, reduction))
        return reduced(self.each.slow((input, target), None, numbers), reduction)


def _averaged(slope):
    """The gradient of a mean or sum from the slope of an element."""
    pulled = native.fused_gradient(slope)

    def rule(g, *values):
        *values, reduction, spec = values
        if reduction == "mean":
            g = g / max(spec.size, 1)
        return pulled(np.asarray(g) if isinstance(g, np.generic) else g, *values)

    rule.words = (*slope.__code__.co_varnames[: slope.__code__.co_argcount], "reduction", "a_spec")
    return rule


def in_single(function):
    """Let a function that is made of several operations take half types: computed in float32, rounded once."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        found = {x._spec.dtype for x in (*args, *kwargs.values()) if isinstance(x, fitting.Tensor)}
        found = {dtype for dtype in found if dtype.is_floating_point}
        if len(found) != 1 or next(iter(found)).itemsize != 2:
            return function(*args, **kwargs)
        (half,) = found
        raised = [x.to(dtypes.float32) if _is_half(x) else x for x in args]
        return function(*raised, **{word: x.to(dtypes.float32) if _is_half(x) else x for word, x in kwargs.items()}).to(
            half
        )

    return wrapper


def _is_half(x):
    return isinstance(x, fitting.Tensor) and x._spec.dtype.is_floating_point and x._spec.dtype.itemsize == 2


def reduced(loss, reduction):
    """A loss per element, its mean or its sum."""
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"{reduction} is not a valid value for reduction")


def legacy_reduction(size_average, reduce, reduction):
    """PyTorch's old arguments size_average and reduce as a reduction."""
    if size_average is None and reduce is None:
        return reduction
    new = "none" if reduce is False else "sum" if size_average is False else "mean"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{new}' instead.", stacklevel=3
    )
    return new


def _check_pair(name, input, target):
    """Two tensors; PyTorch warns where they will be broadcast."""
    check_tensor(name, input)
    check_tensor(name, target, "target", 2)
    if input._spec.shape != target._spec.shape:
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will likely "
            "lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )


def _weighted(loss, input, weight, reduction):
    """A loss of elements with a weight each; their mean is over the sum of the weights."""
    if weight._spec.shape != input._spec.shape:
        raise ValueError("Weights and input must have the same size.")
    loss = loss * weight
    return loss.sum() / weight.sum() if reduction == "mean" else reduced(loss, reduction)


# Errors: squared, absolute, and in between


def _sum_of_squares(a, b):
    if type(a) is np.ndarray and a.size >= LARGE and a.flags.c_contiguous and b.flags.c_contiguous:
        a, b, size = a.reshape(-1), b.reshape(-1), a.size
        totals = np.empty(-(-size // crew.BLOCK), a.dtype)

        def work(low, high):
            for start in range(low, high, crew.BLOCK):
                part = slice(start, min(start + crew.BLOCK, high))
                difference = a[part] - b[part]
                totals[start // crew.BLOCK] = row_dots(difference, difference)

        crew.share(work, size, crew.BLOCK)
        return np.add.reduce(totals)
    difference = (a - b).reshape(-1)
    return np.dot(difference, difference)


_mse = PairLoss(
    "mse_loss",
    lambda a, b: np.square(a - b),
    (lambda a, b: (a - b) * 2, lambda a, b: (b - a) * 2),
    total=_sum_of_squares,
)
_l1 = PairLoss("l1_loss", lambda a, b: np.abs(a - b), (lambda a, b: xp.sign(a - b), lambda a, b: xp.sign(b - a)))


def _huber_kernel(a, b, delta):
    """Half the square up to delta, a straight line beyond."""
    distance = np.abs(a - b)
    return np.minimum(distance, delta) * (distance - 0.5 * np.minimum(distance, delta))


_huber = PairLoss(
    "huber_loss", _huber_kernel,
    (lambda a, b, delta: xp.clip(a - b, -delta, delta), lambda a, b, delta: xp.clip(b - a, -delta, delta)), "delta",
)  # fmt: skip
_smooth_l1 = PairLoss(
    "smooth_l1_loss", lambda a, b, beta: _huber_kernel(a, b, beta) / beta,
    (lambda a, b, beta: xp.clip((a - b) / beta, -1, 1), lambda a, b, beta: xp.clip((b - a) / beta, -1, 1)), "beta",
    node="SmoothL1LossBackward0",
)  # fmt: skip


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The mean of the squared differences.

    >>> torch.nn.functional.mse_loss(torch.tensor([1., 2.]), torch.tensor([1., 4.]))
    tensor(2.)
    """
    _check_pair("mse_loss", input, target)
    reduction = legacy_reduction(size_average, reduce, reduction)
    if weight is None:
        return _mse(input, target, reduction)
    return _weighted(_mse(input, target, "none"), input, weight, reduction)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The mean of the sizes of the differences.

    >>> torch.nn.functional.l1_loss(torch.tensor([1., 2.]), torch.tensor([1., 4.]))
    tensor(1.)
    """
    _check_pair("l1_loss", input, target)
    reduction = legacy_reduction(size_average, reduce, reduction)
    if weight is not None:
        return _weighted((input - target).abs(), input, weight, reduction)
    if dtypes.result_dtype((input, target)).is_floating_point:
        return _l1(input, target, reduction)
    return reduced((input - target).abs(), reduction)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """The mean of the squared differences over 2 beta where they are below beta, else of their sizes less beta / 2.

    >>> torch.nn.functional.smooth_l1_loss(torch.tensor([1., 2.]), torch.tensor([1.5, 4.]), reduction="none")
    tensor([0.1250, 1.5000])
    """
    _check_pair("smooth_l1_loss", input, target)
    reduction = legacy_reduction(size_average, reduce, reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return _smooth_l1(input, target, reduction, beta) if beta else reduced((input - target).abs(), reduction)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """The mean of half the squared differences where they are below delta, else of delta times (their size - delta / 2).

    >>> torch.nn.functional.huber_loss(torch.tensor([1., 2.]), torch.tensor([1.5, 5.]), delta=2., reduction="none")
    tensor([0.1250, 4.0000])
    """
    _check_pair("huber_loss", input, target)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if weight is None:
        return _huber(input, target, reduction, delta)
    if weight._spec.shape != input._spec.shape:
        raise ValueError("Weights and input must have the same size.")
    return reduced(_huber(input, target, "none", delta) * weight, reduction)


# Probabilities of yes and no


def _bce_kernel(a, b):
    """Logarithms are cut off at -100, so that a certain mistake has a finite loss."""
    yes, no = np.maximum(np.log(a), -100), np.maximum(np.log1p(-a), -100)
    yes -= no
    yes *= b
    yes += no
    return -yes


_bce = PairLoss(
    "binary_cross_entropy", _bce_kernel,
    (lambda a, b: (a - b) / xp.clip((1 - a) * a, 1e-12, None), lambda a: xp.log1p(-a) - xp.log(a)),
)  # fmt: skip


def _logits_kernel(a, b):
    """max(a, 0) - a b + log(1 + exp(-|a|))."""
    loss = np.log1p(np.exp(-np.abs(a)))
    loss += np.maximum(a, 0)
    loss -= a * b
    return loss


_bce_logits = PairLoss(
    "binary_cross_entropy_with_logits", _logits_kernel, (lambda a, b: xp.sigmoid(a) - b, lambda a: -a)
)


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The mean of minus the logarithm of the probability given to what is the case.

    >>> torch.nn.functional.binary_cross_entropy(torch.tensor([0.5, 0.25]), torch.tensor([1., 0.]), reduction="none")
    tensor([0.6931, 0.2877])
    """
    check_tensor("binary_cross_entropy", input)
    check_tensor("binary_cross_entropy", target, "target", 2)
    reduction = legacy_reduction(size_average, reduce, reduction)
    if input._spec.shape != target._spec.shape:
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is deprecated. "
            "Please ensure they have the same size."
        )
    if input._spec.dtype is not target._spec.dtype:
        raise RuntimeError(f"Found dtype {target._spec.dtype.title} but expected {input._spec.dtype.title}")
    array = input._array
    if type(array) is np.ndarray and array.size and not (array.min() >= 0 and array.max() <= 1):
        raise RuntimeError("all elements of input should be between 0 and 1")
    if weight is None:
        return _bce(input, target, reduction)
    return reduced(_bce(input, target, "none") * weight, reduction)


def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean",
                                     pos_weight=None):  # fmt: skip
    """binary_cross_entropy of sigmoid(input), exact for any input.

    >>> torch.nn.functional.binary_cross_entropy_with_logits(torch.tensor([0., 100.]), torch.tensor([1., 0.]))
    tensor(50.3466)
    """
    check_tensor("binary_cross_entropy_with_logits", input)
    check_tensor("binary_cross_entropy_with_logits", target, "target", 2)
    reduction = legacy_reduction(size_average, reduce, reduction)
    if input._spec.shape != target._spec.shape:
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    if input._spec.dtype.category > target._spec.dtype.category:
        raise RuntimeError(
            f"result type {input._spec.dtype.title} can't be cast to the desired output type {target._spec.dtype.title}"
        )
    if weight is None and pos_weight is None:
        return _bce_logits(input, target, reduction)
    if pos_weight is None:
        loss = _bce_logits(input, target, "none")
    else:
        from tensorgrad.ops.activation import logsigmoid

        loss = (1 - target) * input - ((pos_weight - 1) * target + 1) * logsigmoid(input)
    return reduced(loss if weight is None else loss * weight, reduction)


# Distances between distributions

_xlogy = special_kernel("xlogy")
_kl = PairLoss("kl_div", lambda a, b: _xlogy(b, b) - b * a, (lambda b: -b, lambda a, b: xp.log(b) + 1 - a))
_kl_log = PairLoss(
    "kl_div_log_target", lambda a, b: np.exp(b) * (b - a), (lambda b: -xp.exp(b), lambda a, b: xp.exp(b) * (b - a + 1)),
    node="KlDivBackward0",
)  # fmt: skip


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """The mean of target (log(target) - input): how far probabilities are from those whose logarithms `input` holds.

    >>> torch.nn.functional.kl_div(torch.tensor([0.5, 0.5]).log(), torch.tensor([0.25, 0.75]), reduction="sum")
    tensor(0.1308)
    """
    check_tensor("kl_div", input)
    check_tensor("kl_div", target, "target", 2)
    if size_average is None and reduce is None and reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
            stacklevel=2,
        )
    reduction = legacy_reduction(size_average, reduce, reduction)
    if input._spec.dtype.category <= dtypes.INTEGER and target._spec.dtype.category <= dtypes.INTEGER:
        raise RuntimeError("kl_div: Integral inputs not supported.")
    divergence = _kl_log if log_target else _kl
    if reduction != "batchmean":
        return divergence(input, target, reduction)
    total = divergence(input, target, "sum")
    return total / input._spec.shape[0] if input._spec.shape else total


_poisson_log = PairLoss(
    "poisson_nll_loss_log", lambda a, b: np.exp(a) - a * b, (lambda a, b: xp.exp(a) - b, lambda a: -a),
    integer=True, promote="float", node="PoissonNllLossBackward0",
)  # fmt: skip
_poisson = PairLoss(
    "poisson_nll_loss", lambda a, b, eps: a - b * np.log(a + eps),
    (lambda a, b, eps: 1 - b / (a + eps), lambda a, eps: -xp.log(a + eps)), "eps", integer=True, promote="float",
)  # fmt: skip


@in_single
def poisson_nll_loss(
    input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"
):
    """The mean of minus the logarithm of a Poisson distribution's probability of the target, its constant part left out
    (unless `full`, which takes Stirling's approximation of it).

    >>> torch.nn.functional.poisson_nll_loss(torch.tensor([0., 1.]), torch.tensor([1., 2.]), reduction="none")
    tensor([1.0000, 0.7183])
    """
    check_tensor("poisson_nll_loss", input)
    check_tensor("poisson_nll_loss", target, "target", 2)
    reduction = legacy_reduction(size_average, reduce, reduction)
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    form, numbers = (_poisson_log, ()) if log_input else (_poisson, (eps,))
    if not full:
        return form(input, target, reduction, *numbers)
    stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
    return reduced(form(input, target, "none", *numbers) + stirling.masked_fill(target <= 1, 0), reduction)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """The mean of minus the logarithm of a normal distribution's density at the target.

    >>> torch.nn.functional.gaussian_nll_loss(torch.tensor([0., 1.]), torch.tensor([1., 1.]), torch.tensor([1., 1.]))
    tensor(0.2500)
    """
    check_tensor("gaussian_nll_loss", input)
    check_tensor("gaussian_nll_loss", target, "target", 2)
    if isinstance(var, float):
        var = input.new_full((), var).expand(input._spec.shape)
    check_tensor("gaussian_nll_loss", var, "var", 3)
    array = var._array
    if type(array) is np.ndarray and (array < 0).any():
        raise ValueError("var has negative entry/entries")
    shape, sizes = input._spec.shape, var._spec.shape
    if sizes != shape:
        if shape[:-1] == sizes:
            var = var.unsqueeze(-1)
        elif len(shape) != len(sizes) or sum(n for m, n in zip(shape, sizes, strict=True) if m != n) != 1:
            raise ValueError("var is of incorrect size")
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not valid")
    raised = var + (var.detach().clamp(min=eps) - var.detach())  # cut off below, with the gradient of what is not
    loss = 0.5 * (raised.log() + (input - target) ** 2 / raised)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def _soft_margin_slope(a, b):
    return -b * xp.sigmoid(-a * b)


_soft_margin = PairLoss(
    "soft_margin_loss", lambda a, b: np.log1p(np.exp(-a * b)),
    (lambda a, b: _soft_margin_slope(a, b), lambda a, b: _soft_margin_slope(b, a)),
)  # fmt: skip


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """The mean of log(1 + exp(-target input)), for targets 1 and -1.

    >>> torch.nn.functional.soft_margin_loss(torch.tensor([0., 2.]), torch.tensor([1., -1.]), reduction="none")
    tensor([0.6931, 2.1269])
    """
    check_tensor("soft_margin_loss", input)
    check_tensor("soft_margin_loss", target, "target", 2)
    reduction = legacy_reduction(size_average, reduce, reduction)
    if broken := fitting.broadcast_error((input, target)):
        raise broken
    if np.broadcast_shapes(input._spec.shape, target._spec.shape) != tuple(input._spec.shape):
        raise RuntimeError(
            f"output with shape {list(input.shape)} doesn't match the broadcast shape "
            f"{list(np.broadcast_shapes(input._spec.shape, target._spec.shape))}"
        )
    if input._spec.dtype.category < dtypes.FLOAT:
        raise RuntimeError(f"result type Float can't be cast to the desired output type {input._spec.dtype.title}")
    return _soft_margin(input, target, reduction)
