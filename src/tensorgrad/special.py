"""Special functions: PyTorch's `torch.special`. The operations are in ops/special.py.

>>> torch.special.entr(torch.tensor([0., 1.]))
tensor([0., -0.])
"""

from tensorgrad.ops.index import namespace

__getattr__, __dir__ = namespace("special", globals())
