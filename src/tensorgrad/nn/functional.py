"""The functions of neural networks, under PyTorch's names."""

from tensorgrad.ops.elementwise import gelu, relu, sigmoid, tanh
from tensorgrad.ops.losses import cross_entropy, mse_loss, nll_loss
from tensorgrad.ops.matmul import linear
from tensorgrad.ops.reduction import log_softmax, softmax

__all__ = [
    "cross_entropy",
    "gelu",
    "linear",
    "log_softmax",
    "mse_loss",
    "nll_loss",
    "relu",
    "sigmoid",
    "softmax",
    "tanh",
]
