"""How gradients flow: PyTorch's `torch.autograd`, whole."""

from tensorgrad.autograd.differentiate import backward, grad
from tensorgrad.autograd.modes import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["backward", "enable_grad", "grad", "inference_mode", "no_grad", "set_grad_enabled"]
