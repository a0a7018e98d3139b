"""A convolution or linear layer and the batch normalization after it, as one layer for evaluation."""

import copy

from tensorgrad.nn.parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def fuse_conv_bn_eval(conv, bn, transpose: bool = False):
    """One convolution that computes what a convolution and its batch normalization do in evaluation.

    >>> conv, norm = torch.nn.Conv2d(3, 4, 3).eval(), torch.nn.BatchNorm2d(4).eval()
    >>> norm.running_mean.normal_(); norm.running_var.uniform_(0.5, 2)  # doctest: +ELLIPSIS
    tensor(...)
    tensor(...)
    >>> fused, x = torch.nn.utils.fuse_conv_bn_eval(conv, norm), torch.randn(2, 3, 5, 5)
    >>> torch.allclose(fused(x), norm(conv(x)), atol=1e-5)
    True
    """
    fused = _fused(conv, bn)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose: bool = False):
    """(weight, bias) of the convolution that stands for a convolution and a batch normalization.

    >>> weight, one = torch.ones(1, 1, 1), torch.ones(1)
    >>> w, b = torch.nn.utils.fuse_conv_bn_weights(weight, None, one, 4 * one, 0., None, None)
    >>> w.item(), b.item()
    (0.5, -0.5)
    """
    channels = 1 if transpose else 0
    shape = [-1 if dim == channels else 1 for dim in range(conv_w.dim())]
    return _folded(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_linear_bn_eval(linear, bn):
    """One linear layer that computes what a linear layer and its batch normalization do in evaluation.

    >>> linear, norm = torch.nn.Linear(3, 4).eval(), torch.nn.BatchNorm1d(4).eval()
    >>> fused, x = torch.nn.utils.fuse_linear_bn_eval(linear, norm), torch.randn(2, 3)
    >>> torch.allclose(fused(x), norm(linear(x)), atol=1e-5)
    True
    """
    fused = _fused(linear, bn, linear.out_features)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """(weight, bias) of the linear layer that stands for a linear layer and a batch normalization.

    >>> one = torch.ones(1)
    >>> w, b = torch.nn.utils.fuse_linear_bn_weights(torch.ones(1, 1), one, one, 4 * one, 0., one, 3 * one)
    >>> w.item(), b.item()
    (0.5, 3.0)
    """
    return _folded(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, (-1, 1))


def _fused(layer, bn, features=None):
    """A copy of the layer, after the checks."""
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if features is not None and bn.num_features not in (features, 1):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, "
            f"got linear.out_features={features} and bn.num_features={bn.num_features}"
        )
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    return copy.deepcopy(layer)


def _folded(weight, bias, mean, variance, eps, scale, shift, shape):
    """(weight, bias) times what the normalization multiplies each channel by, and moved by what it adds."""
    if bias is None:
        bias = mean.new_zeros(mean.shape)
    factor = (variance + eps).rsqrt()
    factor = factor if scale is None else scale * factor
    shifted = (bias - mean) * factor
    if shift is not None:
        shifted = shifted + shift
    folded = (weight * factor.reshape(shape)).to(weight.dtype)
    return (Parameter(folded, weight.requires_grad), Parameter(shifted.to(bias.dtype), bias.requires_grad))
