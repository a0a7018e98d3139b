"""The functions of neural networks, under PyTorch's names. The operations are in the families of ops/."""

from tensorgrad.ops.elementwise import gelu, sigmoid, tanh
from tensorgrad.ops.index import namespace
from tensorgrad.ops.matmul import linear

__all__ = ["gelu", "linear", "sigmoid", "tanh"]
__getattr__, __dir__ = namespace("nn.functional", globals())
