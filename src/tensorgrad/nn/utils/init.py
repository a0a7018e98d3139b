"""Modules made without filling their parameters, because a checkpoint will."""

import inspect

from tensorgrad import random
from tensorgrad.nn import init

__all__ = ["skip_init"]


def skip_init(module_cls, *args, **kwargs):
    """A module whose parameters have been given memory but no values; no random number is drawn.

    >>> torch.nn.utils.skip_init(torch.nn.Linear, 1000, 2).weight.shape
    tensorgrad.Size([2, 1000])
    """
    from tensorgrad.nn import Module

    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    with init.unfilled(), random.fork_rng():
        return module_cls(*args, **kwargs)
