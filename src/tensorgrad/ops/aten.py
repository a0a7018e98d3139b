"""`torch.ops.aten`: the operations that PyTorch has under this name only."""

from tensorgrad.ops.index import namespace

__getattr__, __dir__ = namespace("ops.aten", globals())
