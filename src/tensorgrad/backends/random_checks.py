"""What PyTorch refuses to draw, in its words, and what its random kernels know of dtypes. The drawing: random.py."""

import functools
import operator
import warnings

import numpy as np

from .precision import is_half

# As PyTorch's messages call a dtype: its own name, and the compiler's
NAMES = {
    "bool": ("Bool", "bool"),
    "uint8": ("Byte", "unsigned char"),
    "int8": ("Char", "signed char"),
    "int16": ("Short", "short int"),
    "int32": ("Int", "int"),
    "int64": ("Long", "long int"),
    "uint16": ("UInt16", "short unsigned int"),
    "uint32": ("UInt32", "unsigned int"),
    "uint64": ("UInt64", "long unsigned int"),
    "float16": ("Half", "c10::Half"),
    "bfloat16": ("BFloat16", "c10::BFloat16"),
    "float32": ("Float", "float"),
    "float64": ("Double", "double"),
    "complex64": ("ComplexFloat", "c10::complex<float>"),
    "complex128": ("ComplexDouble", "c10::complex<double>"),
}
LARGEST = {"float16": 65504.0, "bfloat16": (2 - 2.0**-7) * 2.0**127, "float32": (2 - 2.0**-23) * 2.0**127}
LARGEST["float64"] = (2 - 2.0**-52) * 2.0**1023
SMALLEST = {"float32": 2.0**-126, "float64": 2.0**-1022}  # that are normal numbers
DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}  # binary, of the mantissa
FLOATS = frozenset(DIGITS)
INTEGERS = frozenset(("uint8", "int8", "int16", "int32", "int64"))
BOTH = FLOATS | INTEGERS


name_of = functools.cache(operator.attrgetter("name"))  # of a dtype; NumPy takes 2 us to spell it


def spoken(dtype, spelling: int = 0) -> str:
    """A dtype as PyTorch's messages call it: 0 by its own name, 1 by the compiler's.

    >>> spoken(np.dtype(np.int64)), spoken(np.dtype(np.int64), 1)
    ('Long', 'long int')
    """
    name = name_of(dtype)
    return NAMES.get(name, (name, name))[spelling]


def narrowed(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Float64 or int64 numbers in another dtype, by way of float32 for half types, as C++ casts them.

    >>> narrowed(np.array([1.0, 300.0]), np.dtype(np.float16))
    array([  1., 300.], dtype=float16)
    """
    if values.dtype == dtype:
        return values
    if dtype.kind in "iu":
        return (values.astype(np.int64) if values.dtype.kind == "f" else values).astype(dtype, copy=False)
    with np.errstate(over="ignore"):  # what is too large becomes infinite, in silence
        return (values.astype(np.float32) if is_half(dtype) else values).astype(dtype)


def require(dtype, known, kernel):
    """Refuse a dtype that this kernel of PyTorch does not know."""
    if name_of(dtype) not in known:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{spoken(dtype)}'")


def require_float(dtype, distribution, spelling):
    """Refuse a dtype without fractions."""
    if name_of(dtype) not in FLOATS:
        name = spoken(dtype, spelling)
        raise RuntimeError(
            f"{distribution} distribution is a continuous probability distribution. "
            f"dtype must be a floating point but you specified {name}"
        )


def check_uniform(dtype, low, high):
    """Refuse bounds that the dtype does not hold, or in the wrong order."""
    require(dtype, FLOATS, "check_uniform_bounds")
    largest = LARGEST[name_of(dtype)]
    if -largest <= low <= high <= largest and high - low <= largest:
        return
    name, compiler_name = NAMES[name_of(dtype)]
    for bound, value in (("from", low), ("to", high)):
        if not -largest <= value <= largest:
            raise RuntimeError(f"{bound} is out of bounds for {compiler_name}")
    if not low <= high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    raise RuntimeError(
        f"uniform_ expects to-from <= std::numeric_limits<{name}>::max(), but found to={high:g} and from={low:g} "
        "which result in to-from to exceed the limit"
    )


def integer_bounds(dtype, low, high):
    """The first and the last integer to draw, both of which the dtype can hold."""
    name = name_of(dtype)
    if name not in NAMES or dtype.kind == "c":
        kernel = "random_from_to_impl" if high is None else "check_random_bounds"
        raise RuntimeError(f"{kernel} handles only integral, floating-point and boolean types")
    for value in (low, high):
        if value is not None and not -(1 << 63) <= value < 1 << 63:
            raise ValueError("Overflow when unpacking long long")
    if high is not None and low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if name in FLOATS:
        digits = DIGITS[name]
        low = _representable_from(dtype, low, digits)
        if high is None:
            last = 1 << digits
            if low >= last:
                raise RuntimeError(
                    "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, "
                    f"but got from={low} > to_inc={last}"
                )
        else:
            high = _representable_to(dtype, high, digits)
            if low >= high:
                raise RuntimeError(
                    "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, "
                    f"but got from={low} >= to={high}"
                )
            last = high - 1
        smallest, largest = -LARGEST[name], LARGEST[name]
    else:
        smallest, largest = (0, 1) if name == "bool" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
        last = largest if high is None else high - 1
        if name == "uint64":
            largest = (1 << 63) - 1
    for bound, value in (("from", low), ("to - 1", last)):
        if not smallest <= value <= largest:
            raise RuntimeError(f"{bound} is out of bounds for {NAMES[name][1]}")
        if name in FLOATS and abs(value) > 1 << digits:
            warnings.warn(
                f"{bound} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations {NAMES[name][1]} "
                "can support discrete uniform distribution only within this range. This warning will become an error "
                "in version 1.7 release, please fix the code in advance",
                UserWarning,
                stacklevel=4,
            )
    return low, last


def _rounded(dtype, value):
    """An integer after a visit to a floating-point dtype; too large a number comes back as the smallest integer."""
    number = float(narrowed(np.array(value, np.int64), dtype))
    return int(number) if abs(number) < 2.0**63 else -(1 << 63)


def _representable_from(dtype, low, digits):
    """The next integer up from which on the dtype cannot round below `low`."""
    after = _rounded(dtype, low + 1)
    return low if after >= low else after + (1 << (abs(low + 1).bit_length() - digits))


def _representable_to(dtype, high, digits):
    """The next integer down below which the dtype cannot round up to `high`."""
    before = _rounded(dtype, high - 1)
    return high if before < high else before - (1 << (abs(high - 1).bit_length() - digits))


def check_permutation(count, dtype):
    """Refuse a dtype that cannot count so far."""
    require(dtype, BOTH, "randperm")
    name = name_of(dtype)
    if name in ("float16", "float32", "float64") and count > (1 << DIGITS[name]) + 1:
        limit = "2049" if name == "float16" else f"2^{DIGITS[name]}+1"
        raise RuntimeError(f"n cannot be greater than {limit} for {NAMES[name][0]} type.")
    if name in INTEGERS and count - 1 > np.iinfo(dtype).max:
        raise RuntimeError(f"value cannot be converted to type {name}_t without overflow")


def check_bernoulli(p):
    """Refuse what is no probability."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")


def check_binomial(counts, chances):
    """Refuse dtypes that PyTorch does not draw binomial numbers of."""
    for name, array in (("count", counts), ("prob", chances)):
        if name_of(array.dtype) not in FLOATS:
            raise ValueError(f"binomial only supports floating-point dtypes for {name}, got: {spoken(array.dtype)}")
    require(counts.dtype, SMALLEST, "binomial_cpu")
    if chances.dtype != counts.dtype:
        raise RuntimeError(f"Found dtype {spoken(chances.dtype)} but expected {spoken(counts.dtype)}")


def check_multinomial(weights, samples, replacement):
    """Refuse weights and numbers of samples that nothing can be drawn from."""
    if not 0 < weights.ndim <= 2:
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if name_of(weights.dtype) not in FLOATS:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {spoken(weights.dtype)}")
    if samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and samples > weights.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if weights.shape[-1] > 1 << 24:
        raise RuntimeError("number of categories cannot exceed 2^24")
    if not weights.shape[-1]:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    if not ((weights >= 0) & (weights < np.inf)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (weights.astype(np.float64).sum(-1) == 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


def common_shape(first, second):
    """The shape of two operands broadcast together."""
    try:
        return np.broadcast_shapes(first, second)
    except ValueError:
        for back in range(1, min(len(first), len(second)) + 1):
            a, b = first[-back], second[-back]
            if a != b and 1 not in (a, b):
                break
        raise RuntimeError(
            f"The size of tensor a ({a}) must match the size of tensor b ({b}) "
            f"at non-singleton dimension {max(len(first), len(second)) - back}"
        ) from None


def expanded(array, shape):
    """An array broadcast to a shape."""
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        dim = max(i for i in range(-min(array.ndim, len(shape)), 0) if array.shape[i] not in (1, shape[i]))
        raise RuntimeError(
            f"The expanded size of the tensor ({shape[dim]}) must match the existing size ({array.shape[dim]}) "
            f"at non-singleton dimension {len(shape) + dim}.  "
            f"Target sizes: {list(shape)}.  Tensor sizes: {list(array.shape)}"
        ) from None
