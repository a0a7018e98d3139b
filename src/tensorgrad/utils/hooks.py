"""What the functions that register hooks return, under PyTorch's module path.

>>> handle = torch.nn.ReLU().register_forward_hook(lambda module, args, output: None)
>>> isinstance(handle, torch.utils.hooks.RemovableHandle)
True
"""

from tensorgrad.autograd.graph import RemovableHandle

__all__ = ["RemovableHandle"]
