"""Forward mode by hand: PyTorch's `torch.autograd.forward_ad`. What a dual tensor is stands in func/forward.py.

>>> import tensorgrad.autograd.forward_ad as fwAD
>>> with fwAD.dual_level():
...     x = fwAD.make_dual(torch.tensor(2.), torch.tensor(1.))
...     fwAD.unpack_dual(x ** 3).tangent
tensor(12.)
"""

from typing import NamedTuple

from tensorgrad.autograd.modes import _Switch
from tensorgrad.dtypes import FLOAT
from tensorgrad.func import forward
from tensorgrad.func.levels import entered, stack
from tensorgrad.tensor import Tensor

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

_entered = []  # of the levels entered by hand: the context managers that leave them


class UnpackedDualTensor(NamedTuple):
    """The two parts of a dual tensor: `primal` and `tangent` (None if it has none)."""

    primal: Tensor
    tangent: Tensor | None


def _current():
    """The innermost level of forward mode by hand, or None."""
    return next((level for level in reversed(stack.levels) if level.kind == "dual"), None)


def enter_dual_level():
    """Begin a level of forward mode; returns its number.

    >>> from tensorgrad.autograd import forward_ad
    >>> level = forward_ad.enter_dual_level(); forward_ad.exit_dual_level(); level
    0
    """
    if _current() is not None:
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment.\nUse func.jvp, which nests in any order."
        )
    manager = entered(forward.dual_level())
    manager.__enter__()
    _entered.append(manager)
    return 0


def exit_dual_level(*, level=None):
    """End the level of forward mode: tangents made in it are gone.

    >>> from tensorgrad.autograd import forward_ad
    >>> number = forward_ad.enter_dual_level()
    >>> forward_ad.exit_dual_level()
    """
    if _current() is None:
        raise RuntimeError("Dual level must be a positive number.\nNo level is active: enter_dual_level() first.")
    if level not in (None, 0):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    _entered.pop().__exit__()


class dual_level(_Switch):
    """`with dual_level():` tensors may be given tangents, and operations carry them along.

    >>> from tensorgrad.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(torch.ones(2), torch.tensor([1., 0.]))
    ...     forward_ad.unpack_dual(x * 3).tangent
    tensor([3., 0.])
    """

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, *_):
        exit_dual_level()


def make_dual(tensor, tangent, *, level=None):
    """A tensor that moves along `tangent`.

    >>> from tensorgrad.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(torch.tensor(0.), torch.tensor(1.))
    ...     forward_ad.unpack_dual(torch.sin(x)).tangent
    tensor(1.)
    """
    owner = _current()
    if owner is None:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for name, value in (("primal", tensor), ("tangent", tangent)):
        if not isinstance(value, Tensor):
            raise TypeError(f"make_dual(): argument '{name}' must be Tensor, not {type(value).__name__}")
        if value._spec.dtype.category < FLOAT:
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {value.dtype}")
    if tensor._spec.shape != tangent._spec.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )
    payload = tensor._array
    if isinstance(payload, forward.Dual) and payload.owner is owner:
        if payload.tangent is not None:
            raise RuntimeError(
                "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not "
                "supported."
            )
        tensor = payload.primal
    return forward.dual(tensor, tangent, owner)


def unpack_dual(tensor, *, level=None):
    """The value and the tangent of a dual tensor; the tangent is None where there is none.

    >>> from tensorgrad.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     forward_ad.unpack_dual(torch.ones(1))
    UnpackedDualTensor(primal=tensor([1.]), tangent=None)
    """
    owner, payload = _current(), tensor._array
    if owner is None or not isinstance(payload, forward.Dual):
        return UnpackedDualTensor(tensor, None)
    if payload.owner is not owner:
        return UnpackedDualTensor(payload.primal, None)
    return UnpackedDualTensor(payload.primal, payload.tangent)
