"""The functions of neural networks, under PyTorch's names. The operations are in the families of ops/."""

from tensorgrad.ops.elementwise import gelu, relu, sigmoid, tanh
from tensorgrad.ops.index import namespace
from tensorgrad.ops.matmul import linear
from tensorgrad.ops.reduction import log_softmax, softmax

__all__ = ["gelu", "linear", "log_softmax", "relu", "sigmoid", "softmax", "tanh"]
__getattr__, __dir__ = namespace("nn.functional", globals())
