"""Linear algebra: PyTorch's `torch.linalg`. The operations are in ops/linalg.py and ops/decompositions.py.

>>> torch.linalg.det(torch.tensor([[1., 2.], [3., 4.]]))
tensor(-2.)
"""

from tensorgrad.ops.index import namespace

__getattr__, __dir__ = namespace("linalg", globals())
