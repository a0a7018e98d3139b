"""Reductions that leave out masked elements: PyTorch's `torch.masked`. The operations are in ops/masked.py."""

from tensorgrad.ops.index import namespace

__getattr__, __dir__ = namespace("masked", globals())
