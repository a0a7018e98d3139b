"""How special functions are computed on arrays: block by block, each range of the argument with its own polynomial.

The functions are next door: `special_errors`, `special_gamma`, `special_bessel` and the others that `special` lists.
Their tables are Chebyshev coefficients, found by sampling the function at 45 digits and leaving out the tail that the
precision cannot see. Arrays in, arrays out: nothing here knows what a tensor is.
"""

import functools
import math
from typing import Any

import numpy as np

BLOCK = 65536  # bytes at a time: a block and its temporaries stay in the processor's cache
FEW = 96  # up to here a loop over Python's math module is quicker than a row of NumPy calls

FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)


def elementwise(kernel=None, *, few=None, wide=False, half_as_is=False, complex_too=False) -> Any:
    """Make a function of arrays from a kernel that sees one flat block of float32 or float64 numbers of each argument.

    The arguments have one floating-point dtype and shapes that broadcast. Half types are computed in float32 and
    rounded, unless `half_as_is`; with `wide`, all is computed in float64. `few` is the same function of one Python
    float. Keywords are the kernel's own, but for `out`, an array for the result.

    >>> import numpy as np
    >>> halve = elementwise(lambda x: x / 2)
    >>> halve(np.array([[1.0, 2.0]], np.float16))
    array([[0.5, 1. ]], dtype=float16)
    """
    if kernel is None:
        return functools.partial(elementwise, few=few, wide=wide, half_as_is=half_as_is, complex_too=complex_too)

    @functools.wraps(kernel)
    @np.errstate(all="ignore")
    def function(*arrays, out=None, **options) -> np.ndarray:
        first = arrays[0]
        dtype, size = first.dtype, first.size
        working = FLOAT64 if wide else dtype
        if dtype is not FLOAT32 and dtype is not FLOAT64:
            if dtype.itemsize == 2 and (dtype.kind == "f" or dtype.name == "bfloat16"):
                working = FLOAT64 if wide else dtype if half_as_is else FLOAT32
            elif dtype not in (FLOAT32, FLOAT64) and not (complex_too and dtype.kind == "c"):
                raise TypeError(f"{kernel.__name__} takes floating-point arrays, not {dtype}")
        if few is not None and size <= FEW:
            try:
                result = np.array([few(number) for number in first.ravel().tolist()], dtype)
            except (ValueError, OverflowError):  # a pole, or a result too large: the kernel knows what comes there
                pass
            else:
                return _deliver(result.reshape(first.shape), out)
        flat, shape, strided = _flatten(arrays)
        size = flat[0].size
        length = BLOCK // working.itemsize
        if size <= length:
            if working is dtype:
                result = kernel(*flat, **options)
            else:
                result = kernel(*[array.astype(working) for array in flat], **options).astype(dtype)
        else:
            result = np.empty(size, dtype)
            for start in range(0, size, length):
                block = slice(start, start + length)
                result[block] = kernel(*[array[block].astype(working, copy=False) for array in flat], **options)
        if strided:
            ordered = np.empty_like(first)  # keeps the order of the axes in memory
            ordered.ravel(order="K")[...] = result
            result = ordered
        return _deliver(result.reshape(shape), out)

    return function


def _deliver(result, out) -> np.ndarray:
    """The result itself, or `out` with the result in it."""
    if out is None:
        return result
    out[...] = result
    return out


def _flatten(arrays):
    """The arguments as rows of one length, the shape they stand for, and whether they run in another order than C's."""
    first = arrays[0]
    if len(arrays) == 1 and first.flags.c_contiguous:
        return (first.reshape(-1),), first.shape, False
    if len(arrays) > 1:
        if any(array.dtype != first.dtype for array in arrays):
            raise TypeError(f"expected arrays of one dtype, not {', '.join(str(array.dtype) for array in arrays)}")
        shape = np.broadcast_shapes(*[array.shape for array in arrays])
        if any(array.shape != shape or array.strides != first.strides for array in arrays):
            size = math.prod(shape)
            flat = [
                np.broadcast_to(array.reshape(1), (size,)) if array.size == 1 else np.broadcast_to(array, shape).ravel()
                for array in arrays
            ]
            return flat, shape, False
    if first.flags.c_contiguous or 0 in first.strides:
        return [array.reshape(-1) for array in arrays], first.shape, False
    return [array.copy(order="K").ravel(order="K") for array in arrays], first.shape, True


def by_range(key, cuts, functions, *arrays) -> np.ndarray:
    """Apply to each number the function of the range its key lies in; the last range also takes the NaNs.

    The ranges are below the first cut, from each cut to the next, and from the last cut on. `arrays` are what the
    functions are called with, the key itself if there are none.

    >>> import numpy as np
    >>> by_range(np.array([-2.0, 3.0, np.nan]), (0.0,), (np.square, np.sqrt))
    array([4.        , 1.73205081,        nan])
    """
    arrays = arrays or (key,)
    parts = []
    at_least = True
    for index, function in enumerate(functions):
        if index < len(cuts):
            below = key < cuts[index]
            inside = below & at_least
            at_least = ~below
        else:
            inside = at_least
        where = np.flatnonzero(inside)
        if where.size == key.size:  # also where there is nothing at all
            return function(*arrays)
        if where.size:
            parts.append((where, function(*[array.take(where) for array in arrays])))
    result = np.empty(key.shape, parts[0][1].dtype)
    for where, part in parts:
        result[where] = part
    return result


class Chebyshev:
    """A polynomial on [low, high], written as a sum of Chebyshev polynomials; float32 needs only the first terms.

    It is evaluated in powers of the variable scaled to [-1, 1], as accurate for coefficients that fall this fast.

    >>> import numpy as np
    >>> Chebyshev(0, 4, 2, "1 0.5 0.25")(np.array([0.0, 2.0, 4.0]))
    array([0.75, 0.75, 1.75])
    """

    def __init__(self, low, high, single_terms, coefficients):
        self.low, self.high, self.single_terms, self.coefficients = low, high, single_terms, coefficients
        self.constants = {}

    def __call__(self, x):
        constants = self.constants.get(x.dtype.char) or self._prepare(x.dtype)
        scale, shift, first, second, *others = constants
        scaled = x * scale
        scaled += shift
        result = scaled * first
        result += second
        for coefficient in others:
            result *= scaled
            result += coefficient
        return result

    def _prepare(self, dtype):
        """What scales x, then the coefficients of the powers from the highest down, as arrays of no dimension."""
        coefficients = [float(word) for word in self.coefficients.split()]
        if dtype == FLOAT32:
            coefficients = coefficients[: self.single_terms]
        terms = [[] for _ in coefficients]
        before, chebyshev = [0, 1], [1]  # T(-1) = T(1), T(0); whole numbers, so exact
        for coefficient in coefficients:
            for power, factor in enumerate(chebyshev):
                terms[power].append(coefficient * factor)
            doubled = [0, *(2 * factor for factor in chebyshev)]
            following = [a - b for a, b in zip(doubled, before + [0] * (len(doubled) - len(before)))]
            before, chebyshev = chebyshev, following
        powers = [math.fsum(numbers) for numbers in reversed(terms)]
        width = self.high - self.low
        numbers = [2 / width, -(self.high + self.low) / width, *powers]
        self.constants[dtype.char] = constants = tuple(np.array(number, dtype) for number in numbers)
        return constants


def exp_square(x, factor):
    """exp(factor * x²) for factor 1, -1 or -1/2, to the last digits also where x² is large.

    >>> import numpy as np
    >>> exp_square(np.array([20.125]), -1.0)
    array([1.27042484e-176])
    """
    x = np.minimum(np.abs(x), 60)  # the result is 0 or infinite long before
    bits, mask = (
        (np.uint32, np.uint32(0xFFFFF000)) if x.dtype == FLOAT32 else (np.uint64, np.uint64(0xFFFFFFFFF8000000))
    )
    high = (x.view(bits) & mask).view(x.dtype)  # few enough digits that its square is exact
    square = x * x
    error = high * high
    error -= square
    rest = x - high
    x += high
    rest *= x
    error += rest  # now square + error is x² to twice the digits
    square *= factor
    result = np.exp(square, out=square)
    error *= factor
    error += 1  # exp of what is so small
    result *= error
    return result
