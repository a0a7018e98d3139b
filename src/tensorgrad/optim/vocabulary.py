"""The few operations that updates are written in, once on bare arrays and once on Tensors.

An update rule (see sgd.py, adam.py ...) is one function of `do`, the vocabulary. On arrays it works in place on flat
memory with scratch arrays that are made once. On Tensors the same rule is recorded, for `differentiable=True`.

Verbs change their first operand, a parameter or a state. Nouns return something new to work with; participles (`divided`)
use up such an intermediate value: arrays are overwritten, Tensors are not, since a derivative may need them.
"""

import numpy as np

from tensorgrad.autograd.modes import state
from tensorgrad.tensor import Tensor

_add, _subtract, _multiply, _divide = np.add, np.subtract, np.multiply, np.divide


class OnArrays:
    """On flat arrays of one length and dtype. What a noun returns is scratch memory, good until `start`."""

    __slots__ = ("dtype", "scratch", "size", "used")

    def __init__(self, size, dtype):
        self.size, self.dtype, self.scratch, self.used = size, dtype, [np.empty(size, dtype)], 0

    def start(self):
        """All scratch arrays are free again; returns the vocabulary."""
        self.used = 0
        return self

    def _take(self):
        """A scratch array. One more always exists, which operations use for a moment."""
        used = self.used = self.used + 1
        if used == len(self.scratch):
            self.scratch.append(np.empty(self.size, self.dtype))
        return self.scratch[used - 1]

    # In place

    def scale(self, x, factor):
        _multiply(x, factor, x)

    def copy(self, x, y):
        np.copyto(x, y)

    begin = copy  # a state's first value, which has no history

    def add(self, x, y, factor=1):
        """x += factor * y"""
        if factor == 1:
            _add(x, y, x)
        elif factor == -1:
            _subtract(x, y, x)
        else:
            _add(x, _multiply(y, factor, self.scratch[self.used]), x)

    def add_product(self, x, a, b, factor=1):
        """x += factor * a * b"""
        product = self.scratch[self.used]
        if factor == 1:
            _multiply(a, b, product)
        else:
            _multiply(_multiply(a, factor, product), b, product)
        _add(x, product, x)

    def add_quotient(self, x, a, b, factor=1):
        """x += factor * a / b"""
        quotient = self.scratch[self.used]
        if factor == 1:
            _divide(a, b, quotient)
        else:
            _divide(_multiply(a, factor, quotient), b, quotient)
        _add(x, quotient, x)

    def approach(self, x, goal, weight):
        """x += weight * (goal - x), exact at both ends"""
        gap = _subtract(goal, x, self.scratch[self.used])
        if weight < 0.5:
            _add(x, _multiply(gap, weight, gap), x)
        else:
            _subtract(goal, _multiply(gap, 1 - weight, gap), x)

    def raise_to(self, x, y):
        """x = max(x, y)"""
        np.maximum(x, y, out=x)

    def change(self, x, factor, low, high):
        """x *= factor, kept within limits"""
        np.minimum(np.maximum(_multiply(x, factor, x), low, out=x), high, out=x)

    # Using up

    def shifted(self, x, number):
        return _add(x, number, x)

    def divided(self, x, y):
        return _divide(x, y, x)

    def multiplied(self, x, y):
        return _multiply(x, y, x)

    # New

    def negative(self, x):
        return np.negative(x, self._take())

    def root(self, x):
        return np.sqrt(x, self._take())

    def absolute(self, x):
        return np.absolute(x, self._take())

    def sign(self, x):
        return np.sign(x, self._take())

    def product(self, x, y):
        return _multiply(x, y, self._take())

    def sum(self, x, y, factor=1):
        """x + factor * y"""
        out = self._take()
        if factor == 1:
            return _add(x, y, out)
        return _add(x, _multiply(y, factor, out), out)

    def by_sign(self, x, below, zero, above):
        """One of three numbers or arrays by the sign of x; what is not a number takes `zero`."""
        return np.where(x > 0, above, np.where(x < 0, below, zero)).astype(self.dtype, copy=False)


class OnTensors:
    """On Tensors: recorded while gradients are. Operands that a later step changes in place are cloned first."""

    def start(self):
        return self

    def scale(self, x, factor):
        x.mul_(factor)

    def copy(self, x, y):
        x.copy_(y)

    def begin(self, x, y):
        x.copy_(y.detach())

    def add(self, x, y, factor=1):
        x.add_(y if isinstance(factor, (int, float)) and factor == 1 else kept(y) * factor)

    def add_product(self, x, a, b, factor=1):
        x.add_(kept(a) * kept(b) * factor)

    def add_quotient(self, x, a, b, factor=1):
        x.add_(kept(a) / kept(b) * factor)

    def approach(self, x, goal, weight):
        x.add_((goal - x) * weight)

    def raise_to(self, x, y):
        x.copy_(x.clone().maximum(kept(y)))

    def change(self, x, factor, low, high):
        x.copy_((kept(x) * factor).clamp(low, high))

    def shifted(self, x, number):
        return x + number

    def divided(self, x, y):
        return x / y

    def multiplied(self, x, y):
        return x * kept(y)

    def negative(self, x):
        return -x

    def root(self, x):
        return kept(x).sqrt()

    def absolute(self, x):
        return kept(x).abs()

    def sign(self, x):
        return x.sign()

    def product(self, x, y):
        return kept(x) * kept(y)

    def sum(self, x, y, factor=1):
        return x + (y if isinstance(factor, (int, float)) and factor == 1 else kept(y) * factor)

    def by_sign(self, x, below, zero, above):
        zeros = x * 0
        return (zeros + above).where(x > 0, (zeros + below).where(x < 0, zeros + zero))


def wide(x):
    """A Tensor of half precision in float32; anything else as it is."""
    return x.float() if isinstance(x, Tensor) else x


def rounded(number, x):
    """A number as the dtype of a Tensor has it: PyTorch's `alpha`."""
    return float(x._spec.dtype.numpy.type(number)) if isinstance(number, (int, float)) else number


class OnHalf(OnTensors):
    """On Tensors of half precision: each word computes in float32 and rounds its result, as PyTorch's operations do."""

    def scale(self, x, factor):
        x.copy_(wide(x) * factor)

    def add(self, x, y, factor=1):
        x.copy_(wide(x) + wide(y) * rounded(factor, x))

    def add_product(self, x, a, b, factor=1):
        x.copy_(wide(x) + wide(a) * factor * wide(b))

    def add_quotient(self, x, a, b, factor=1):
        x.copy_(wide(x) + wide(a) * factor / wide(b))

    def approach(self, x, goal, weight):
        x.copy_(wide(x).lerp(wide(goal), weight))

    def change(self, x, factor, low, high):
        self.scale(x, wide(factor.to(x.dtype)))
        x.clamp_(low, high)

    def shifted(self, x, number):
        return (wide(x) + number).to(x.dtype)

    def divided(self, x, y):
        return (wide(x) / wide(y)).to(x.dtype)

    def sum(self, x, y, factor=1):
        return (wide(x) + wide(y) * rounded(factor, x)).to(x.dtype)

    def product(self, x, y):
        return wide(x) * wide(y)  # in float32: what it becomes part of is rounded


def kept(x):
    """A copy that is safe to be saved for the derivative, while gradients are recorded."""
    return x.clone() if state.recording and isinstance(x, Tensor) else x
