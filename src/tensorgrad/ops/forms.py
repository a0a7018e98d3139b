"""The other forms of a function that is made of operations: with `out=`, in place, with numbers for tensors.

@takes_out
def hypot2(input, other): ...

hypot2_ = inplace_of(hypot2)
"""

import functools

from tensorgrad import dtypes
from tensorgrad.autograd import modes
from tensorgrad.ops import fitting
from tensorgrad.ops.fitting import check_inplace_dtype, store


def takes_out(function):
    """Let a function also take `out=`: a tensor, or a tuple of them where it returns several."""
    name = function.__name__

    @functools.wraps(function)
    def wrapper(*args, out=None, **kwargs):
        if out is None:
            return function(*args, **kwargs)
        targets = tuple(out) if isinstance(out, (tuple, list)) else (out,)
        for target in targets:
            fitting.check_tensor(name, target, "out")
        operands = [t for t in (*_flat(args), *_flat(kwargs.values())) if isinstance(t, fitting.Tensor)]
        if modes.is_grad_enabled() and any(t._node is not None for t in (*operands, *targets)):
            raise RuntimeError(
                f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                "arguments requires grad."
            )
        with modes.no_grad():
            result = function(*args, **kwargs)
        if isinstance(result, fitting.Tensor):
            if isinstance(out, (tuple, list)):
                raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
            return store(out, result, operands)
        if not isinstance(out, (tuple, list)) or len(targets) != len(result):
            raise TypeError(f"{name}(): argument 'out' must be tuple of {len(result)} Tensors")
        for target, part in zip(targets, result, strict=True):
            store(target, part, operands)
        return type(result)(targets)

    return wrapper


def _flat(values):
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from value
        else:
            yield value


def inplace_of(function, name=None):
    """The in-place form of a function that returns a new tensor of its first argument's shape."""
    name = name or function.__name__ + "_"

    def write(self, *args, **kwargs):
        fitting.check_tensor(name, self)
        source = self.clone() if self._node is not None and modes.is_grad_enabled() else self
        result = function(source, *args, **kwargs)
        check_inplace_dtype(self, result._spec.dtype)
        if result._spec.shape != self._spec.shape:
            raise RuntimeError(
                f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(result.shape)}"
            )
        return self.copy_(result)

    write.__name__ = write.__qualname__ = name
    write.__doc__ = f"The in-place form of `{name[:-1]}`."
    return write


def promoted(*tensors):
    """The tensors in the dtype that they have in common, as PyTorch promotes."""
    common = dtypes.result_dtype(tensors)
    return tuple(t if t._spec.dtype is common else t.to(common) for t in tensors)


def floating(tensor):
    """The tensor, an integer one in the default floating dtype."""
    return tensor if tensor._spec.dtype.category >= dtypes.FLOAT else tensor.to(dtypes.get_default_dtype())
