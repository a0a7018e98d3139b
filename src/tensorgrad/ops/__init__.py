"""What a tensor can do, one file a family. Declare your own operations with what is here (docs/extending.md).

>>> cube = torch.ops.unary("cube", lambda x: x * x * x, slope=lambda x: 3 * x * x)
>>> x = torch.tensor(2., requires_grad=True); cube(x).backward(); x.grad
tensor(12.)
"""

_HOMES = {"unary": "pointwise", "binary": "pointwise", "inplace": "pointwise", "Primitive": "primitive", "xp": "both",
          "PRIMITIVES": "primitive", "takes_out": "forms", "inplace_of": "forms"}  # fmt: skip
__all__ = [*_HOMES]


def __getattr__(name):
    import importlib

    if name == "aten":
        return importlib.import_module("tensorgrad.ops.aten")
    if name in _HOMES:
        return getattr(importlib.import_module("tensorgrad.ops." + _HOMES[name]), name)
    raise AttributeError(f"module 'tensorgrad.ops' has no attribute '{name}'")
