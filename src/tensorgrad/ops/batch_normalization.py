"""Normalization by channels over a batch (batch_norm) or over each sample (instance_norm), with running statistics.

The node is that of normalization.py; what is added is the running statistics: updated in training, used in evaluation.
"""

import math

from tensorgrad.autograd.modes import no_grad
from tensorgrad.dtypes import uint8
from tensorgrad.ops.fitting import check_tensor
from tensorgrad.ops.forms import takes_out
from tensorgrad.ops.normalization import _declared, _statistics, check_parameters

PUBLIC = {
    "": "batch_norm=torch_batch_norm instance_norm=torch_instance_norm native_batch_norm _native_batch_norm_legit "
    "_batch_norm_with_update",
    "nn.functional": "batch_norm instance_norm",
    "ops.aten": "native_batch_norm _native_batch_norm_legit _batch_norm_with_update",
}

_batch = _declared("batch", "NativeBatchNormBackward0")
_instance = _declared("instance", "ViewBackward0")
_with_update = _declared("batch_with_update", "BatchNormWithUpdateBackward0")
_legit = _declared("batch_legit", "NativeBatchNormLegitBackward0")


def _check(name, input, weight, bias, mean, var, training):
    check_tensor(name, input)
    shape = input._spec.shape
    channels = shape[1] if len(shape) > 1 else 0
    for word, t in (("running_mean", mean), ("running_var", var)):
        if t is None and not training:
            raise RuntimeError(f"{word} must be defined in evaluation mode")
    for word, t in (("running_mean", mean), ("running_var", var), ("weight", weight), ("bias", bias)):
        if t is not None and check_tensor(name, t, word)._spec.size != channels:
            raise RuntimeError(f"{word} should contain {channels} elements not {t._spec.size}")
    if len(shape) < 2 and input._spec.size:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    check_parameters(input, "batch_norm", weight, bias, mean, var)


def _normalized(primitive, input, weight, bias, mean, var, training, momentum, eps):
    """(normalized, mean, 1 / deviation) of a batch; in training the running statistics move on."""
    if not training:
        return primitive(input, weight, bias, mean, var, "batch", 0, eps)[:3]
    out, batch_mean, rstd, batch_var = primitive(input, weight, bias, None, None, "batch", 0, eps)
    if mean is not None or var is not None:
        shape = input._spec.shape
        count = math.prod(shape[:1]) * math.prod(shape[2:])
        if not count:
            return out, batch_mean, rstd
        with no_grad():
            if mean is not None:
                _move(mean, batch_mean.detach(), momentum)
            if var is not None:
                _move(var, batch_var.detach() * (count / max(count - 1, 1)), momentum)
    return out, batch_mean, rstd


def _move(running, value, momentum):
    """An exponential average."""
    if value._spec.dtype is running._spec.dtype:
        running.mul_(1 - momentum).add_(value, alpha=momentum)
    else:  # half types are computed in float32
        running.copy_(running.to(value.dtype) * (1 - momentum) + value * momentum)


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05):
    """Mean 0 and variance 1 in each channel, over the batch in training, by running statistics otherwise.

    >>> x = torch.tensor([[1.], [3.]])
    >>> torch.nn.functional.batch_norm(x, None, None, training=True, eps=1e-12)
    tensor([[-1.],
            [ 1.]])
    """
    check_tensor("batch_norm", input)
    if training:
        if eps <= 0.0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
        shape = input._spec.shape
        if shape and shape[0] * math.prod(shape[2:]) == 1:
            raise ValueError(
                f"Expected more than 1 value per channel when training, got input size torch.Size({list(shape)})"
            )
    _check("batch_norm", input, weight, bias, running_mean, running_var, training)
    if not training or (running_mean is None and running_var is None):
        return _batch.apply((input, weight, bias, running_mean, running_var), ("batch", 0, eps), 1)[0]
    return _normalized(_batch, input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


def torch_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled=True):
    """Mean 0 and variance 1 in each channel: `nn.functional.batch_norm` with its arguments in another order.

    >>> torch.batch_norm(torch.tensor([[1.], [3.]]), None, None, None, None, True, 0.1, 0., False).flatten()
    tensor([-1.,  1.])
    """
    _check("batch_norm", input, weight, bias, running_mean, running_var, training)
    return _normalized(_batch, input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


def _with_statistics(primitive, input, weight, bias, mean, var, training, momentum, eps):
    out, batch_mean, rstd = _normalized(primitive, input, weight, bias, mean, var, training, momentum, eps)
    if not training:
        batch_mean = rstd = input.detach().new_empty(0)
    statistics = _statistics(input, weight, batch_mean.detach(), rstd.detach())
    return (out, *statistics)


@takes_out
def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """`batch_norm` with the means and the inverse deviations of the batch.

    >>> torch.native_batch_norm(torch.tensor([[1.], [3.]]), None, None, None, None, True, 0.1, 0.)[1:]
    (tensor([2.]), tensor([1.]))
    """
    _check("native_batch_norm", input, weight, bias, running_mean, running_var, training)
    return _with_statistics(_batch, input, weight, bias, running_mean, running_var, training, momentum, eps)


@takes_out
def _native_batch_norm_legit(input, weight, bias, *rest, **named):
    """`native_batch_norm`, also without running statistics: (..., training, momentum, eps).

    >>> torch._native_batch_norm_legit(torch.tensor([[1.], [3.]]), None, None, True, 0.1, 0.)[1:]
    (tensor([2.]), tensor([1.]))
    """
    words = ["running_mean", "running_var", "training", "momentum", "eps"]
    if (rest and isinstance(rest[0], bool)) or (not rest and "running_mean" not in named):
        words = words[2:]
    given = dict(zip(words, rest, strict=False)) | named
    mean, var = given.get("running_mean"), given.get("running_var")
    training, momentum, eps = given["training"], given["momentum"], given["eps"]
    _check("_native_batch_norm_legit", input, weight, bias, mean, var, training)
    return _with_statistics(_legit, input, weight, bias, mean, var, training, momentum, eps)


@takes_out
def _batch_norm_with_update(input, weight, bias, running_mean, running_var, momentum, eps):
    """`native_batch_norm` in training, with an empty reserve as fourth result.

    >>> mean, var = torch.zeros(1), torch.ones(1)
    >>> torch._batch_norm_with_update(torch.tensor([[1.], [3.]]), None, None, mean, var, 0.1, 0.)[1:]
    (tensor([2.]), tensor([1.]), tensor([], dtype=tensorgrad.uint8))
    """
    _check("_batch_norm_with_update", input, weight, bias, running_mean, running_var, True)
    found = _with_statistics(_with_update, input, weight, bias, running_mean, running_var, True, momentum, eps)
    return (*found, input.detach().new_empty(0, dtype=uint8))


# Each sample by itself


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1,
                  eps=1e-05):  # fmt: skip
    """Mean 0 and variance 1 in each channel of each sample.

    >>> torch.nn.functional.instance_norm(torch.tensor([[[1., 3.]]]), eps=0.)
    tensor([[[-1.,  1.]]])
    """
    check_tensor("instance_norm", input)
    shape = input._spec.shape
    if use_input_stats and math.prod(shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size torch.Size({list(shape)})"
        )
    return torch_instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps)


def torch_instance_norm(
    input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled=True
):
    """Mean 0 and variance 1 in each channel of each sample: `nn.functional.instance_norm` in another order.

    >>> torch.instance_norm(torch.tensor([[[1., 3.]]]), None, None, None, None, True, 0.1, 0., False)
    tensor([[[-1.,  1.]]])
    """
    check_tensor("instance_norm", input)
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
        return torch_batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)
    shape = input._spec.shape
    _check("instance_norm", input, weight, bias, running_mean, running_var, True)
    out, mean, _, var = _instance(input, weight, bias, None, None, "group", shape[1], eps)
    if running_mean is not None or running_var is not None:
        count = math.prod(shape[2:])
        with no_grad():
            if running_mean is not None:
                _move(running_mean, mean.detach().mean(0), momentum)
            if running_var is not None:
                var = var.detach().reshape(shape[0], shape[1]).mean(0)
                _move(running_var, var * (count / max(count - 1, 1)), momentum)
    return out
