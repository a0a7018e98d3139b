"""How gradients flow: PyTorch's `torch.autograd`, whole."""

import importlib

from tensorgrad.autograd.differentiate import backward, grad
from tensorgrad.autograd.modes import enable_grad, inference_mode, no_grad, set_grad_enabled

_HOMES = {"Function": "function", "detect_anomaly": "anomaly", "set_detect_anomaly": "anomaly", "Variable": "variable"}

_ROOMS = {"function", "anomaly", "functional", "forward_ad", "graph", "grad_mode"}


def __getattr__(name):
    """What not every program needs is imported when it is first named."""
    if name in _HOMES:
        value = getattr(importlib.import_module(f"tensorgrad.autograd.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    if name in _ROOMS:
        try:
            return importlib.import_module(f"tensorgrad.autograd.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"tensorgrad.autograd.{name}":
                raise
    raise AttributeError(f"module 'tensorgrad.autograd' has no attribute '{name}'")


__all__ = ["Function", "backward", "detect_anomaly", "enable_grad", "grad", "gradcheck", "gradgradcheck", "inference_mode",
           "no_grad", "set_detect_anomaly", "set_grad_enabled"]  # fmt: skip
