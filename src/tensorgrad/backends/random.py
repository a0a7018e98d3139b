"""PyTorch's CPU random numbers on bare arrays: after the same seed, the same numbers. Knows nothing of Tensor.

Which algorithm for what (facts checked against PyTorch 2.13; words, fractions and the fused w * scale + shift: mt19937.py):
- uniform: a fraction times (high - low) plus low, fused, in float32 also for half types; a result equal to high becomes low.
- normal, 16 numbers or more: blocks of 16 fractions (box_muller.py); if the size is no multiple of 16, the last 16 numbers
  are drawn again. Fewer, or not contiguous: pairs of float64 numbers, the second of which waits for the next call.
  Complex: twice as many real ones with std / sqrt(2).
- integers: base + word % range, with 64-bit words from a range of 2**28.
- permutation: for i in 0 .. n - 2 swap i with i + word % (n - i).
- bernoulli: float64 fraction < p; where p is an array of another dtype than float64, float32 fraction < p.
- exponential, cauchy, geometric: the inverse distribution function of a float64 fraction, in float64.
- log_normal: exp of a normal number made in pairs, whatever the size.
- multinomial: fractions looked up in the summed weights; without replacement, or for one sample, the largest of
  weight / exponential number.
- poisson, binomial, standard_gamma, dirichlet: rejection.py.

Float64 results go through the C library one by one (`math`), as PyTorch's do; for narrower ones NumPy's functions do, since
rounding hides their last bit. Every method returns a new array: `shape` and `dtype` first, then the distribution's numbers.
"""

import math
import operator
import warnings

import numpy as np

from .box_muller import c_library, normal_pairs, normals_double, normals_single
from .mt19937 import BLOCK, WORDS, MersenneTwister, affine32, affine64, entropy
from .precision import is_half
from .rejection import binomial_numbers, gamma_numbers, one_by_one, poisson_numbers

DEFAULT_SEED = 67280421310721  # of a new torch.Generator
STATE = np.dtype(  # PyTorch's get_state, byte for byte
    {
        "names": ["seed", "left", "seeded", "next", "words", "normal", "has_normal"],
        "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", WORDS), "<f8", "<i4"],
        "offsets": [0, 8, 12, 16, 24, 5024, 5040],
        "itemsize": 5056,
    }
)
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
UNSIGNED = frozenset(("uint16", "uint32", "uint64"))
BOTH = FLOATS | INTEGERS


def narrowed(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Float64 or int64 numbers in another dtype, by way of float32 for half types, as C++ casts them.

    >>> narrowed(np.array([1.0, 300.0]), np.dtype(np.float16))
    array([  1., 300.], dtype=float16)
    """
    if is_half(dtype):
        with np.errstate(over="ignore"):
            return values.astype(np.float32).astype(dtype)
    elif dtype.kind in "iu" and values.dtype.kind == "f":
        values = values.astype(np.int64)
    return values.astype(dtype, copy=False)


def _require(dtype, known, kernel):
    if dtype.name not in known:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{NAMES.get(dtype.name, (dtype.name,))[0]}'")


def _require_float(dtype, distribution, spelling):
    if dtype.name not in FLOATS:
        name = NAMES.get(dtype.name, (dtype.name,) * 2)[spelling]
        raise RuntimeError(
            f"{distribution} distribution is a continuous probability distribution. "
            f"dtype must be a floating point but you specified {name}"
        )


class Stream(MersenneTwister):
    """The numbers of one generator: what a torch.Generator holds.

    >>> stream = Stream(0)
    >>> stream.uniform((2, 2), np.float32)
    array([[0.4962566 , 0.7682218 ],
           [0.08847743, 0.13203049]], dtype=float32)
    >>> stream.normal((2,), np.float32)
    array([-0.3887165 , -0.93569356], dtype=float32)
    """

    __slots__ = ("_spare",)

    def __init__(self, seed: int = DEFAULT_SEED):
        self.seed(seed)

    # The generator: seeds and states

    def seed(self, value: int) -> None:
        """Start again from a seed, an integer of 64 bits; a negative one counts from 2**64.

        >>> stream = Stream()
        >>> stream.seed(-1)
        >>> stream.initial_seed == 2**64 - 1
        True
        """
        if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
            raise RuntimeError(f"manual_seed expected a long, but got {type(value).__name__}")
        value = operator.index(value)
        if not -(1 << 63) <= value < 1 << 64:
            raise ValueError("Overflow when unpacking long long")
        self._start(value % (1 << 64))
        self._spare = None

    @property
    def initial_seed(self) -> int:
        """The seed the stream started from.

        >>> Stream(5).initial_seed
        5
        """
        return self._seed

    def reseed(self) -> int:
        """Start again from a seed nobody can foresee, and return it.

        >>> stream = Stream(0)
        >>> stream.reseed() == stream.initial_seed
        True
        """
        self.seed(entropy())
        return self._seed

    def state(self) -> np.ndarray:
        """All that decides the numbers to come, as the 5056 bytes of PyTorch's `get_state`.

        >>> Stream(0).state().shape
        (5056,)
        """
        words, position = self._position()
        state = np.zeros(1, STATE)
        state["seed"], state["seeded"], state["words"] = self._seed, 1, words
        state["left"], state["next"] = (WORDS + 1 - position if position else 1), position
        if self._spare is not None:
            state["normal"], state["has_normal"] = self._spare, 1
        return state.view(np.uint8)

    def set_state(self, state: np.ndarray) -> None:
        """Continue where another stream, or PyTorch's generator, stood when it gave this state.

        >>> first, second = Stream(0), Stream(1)
        >>> second.set_state(first.state())
        >>> second.uniform((1,), np.float32) == first.uniform((1,), np.float32)
        array([ True])
        """
        if not isinstance(state, np.ndarray):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(state).__name__}")
        if state.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if state.size != STATE.itemsize:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE.itemsize} "
                f"but found the input RNG state size to be {state.size}"
            )
        state = np.ascontiguousarray(state).reshape(-1).view(STATE)[0]
        left, position = int(state["left"]), int(state["next"])
        if left == 1:  # nothing left of this block of words, wherever its end is
            position = position and WORDS
        elif left + position != WORDS + 1:
            position = -1
        if not state["seeded"] or not 0 < left <= WORDS or not 0 <= position <= WORDS:
            raise RuntimeError("Invalid mt19937 state")
        self._move(int(state["seed"]), state["words"].astype(np.uint32), position)
        self._spare = float(state["normal"]) if state["has_normal"] else None

    def copy(self) -> "Stream":
        """Another stream at the same place.

        >>> stream = Stream(0)
        >>> bool(stream.copy().words(1) == stream.words(1))
        True
        """
        other = Stream(self._seed)
        other.set_state(self.state())
        return other

    # Continuous distributions

    def uniform(self, shape, dtype, low: float = 0.0, high: float = 1.0) -> np.ndarray:
        """Numbers between `low` and `high`: `uniform_`, `rand`.

        >>> Stream(0).uniform((3,), np.float32, -1, 1)
        array([-0.00748682,  0.5364436 , -0.8230451 ], dtype=float32)
        """
        dtype = np.dtype(dtype)
        count = math.prod(shape)
        if dtype == np.float32 and low == 0 and high == 1:
            return self.fractions32(count).reshape(shape)
        if dtype.kind == "c":
            return self.uniform((2 * count,), _part(dtype), low, high).view(dtype).reshape(shape)
        _check_uniform(dtype, low, high)
        if dtype == np.float64:
            scale, shift = float(high) - float(low), float(low)
            values = self.fractions64(count, scale, shift) if scale != 1 or shift else self.fractions64(count)
            reaches_high = affine64(1 - 2.0**-53, scale, shift) == high
        else:
            shift = float(np.float32(low))
            scale = float(np.float32(high) - np.float32(low))
            values = self.fractions32(count, scale, shift).astype(dtype, copy=False)
            top = affine32(np.float64(1 - 2.0**-24), scale, shift).astype(dtype)
            reaches_high = top == np.float32(high).astype(dtype)
        if reaches_high:
            values[values == narrowed(np.float64(high), dtype)] = narrowed(np.float64(low), dtype)
        return values.reshape(shape)

    def normal(self, shape, dtype, mean: float = 0.0, std: float = 1.0, contiguous: bool = True) -> np.ndarray:
        """Normal numbers: `normal_`, `randn`. `contiguous=False` gives those that a strided tensor gets, pair by pair.

        >>> Stream(0).normal((3,), np.float32)
        array([ 1.540996 , -0.2934289, -2.1787894], dtype=float32)
        """
        if not std >= 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
        dtype = np.dtype(dtype)
        count = math.prod(shape)
        if not count:
            return np.empty(shape, dtype)
        if dtype.kind == "c":
            std = std / math.sqrt(2)
            return self.normal((2 * count,), _part(dtype), mean, std, contiguous).view(dtype).reshape(shape)
        _require(dtype, FLOATS, "normal_kernel_cpu")
        if count < 16 or not contiguous:
            values = narrowed(affine64(self._normals(count), float(std), float(mean)), dtype)
        elif dtype == np.float64:
            values = affine64(self._blocks(count, count, self.fractions64, normals_double), float(std), float(mean))
        else:
            # Half types throw nothing away: they draw a block only when it is whole.
            drawn = count if dtype == np.float32 else count - count % 16
            values = self._blocks(count, drawn, self.fractions32, normals_single)
            if mean != 0 or std != 1:
                values = affine32(values.astype(np.float64), float(np.float32(std)), float(np.float32(mean)))
            values = values.astype(dtype, copy=False)
        return values.reshape(shape)

    def _blocks(self, count, drawn, fractions, to_normals):
        """Standard normal numbers in blocks of 16; where 16 do not divide the count, the last 16 are drawn again."""
        values = np.empty(count, fractions(0).dtype) if drawn < count else fractions(drawn)
        whole = count - count % 16
        if drawn < count:
            values[:whole] = fractions(drawn)
        to_normals(values[:whole])
        if whole < count:
            tail = fractions(16)
            to_normals(tail)
            values[-16:] = tail
        return values

    def _normals(self, count):
        """Standard normal numbers in pairs, float64; the second of a pair waits for the next call if it is not needed."""
        spare = self._spare
        missing = count - (spare is not None)
        fractions = self.fractions64(missing + missing % 2)
        if count <= 16:
            values = [] if spare is None else [spare]
            numbers = iter(fractions.tolist())
            for first, second in zip(numbers, numbers):
                radius = math.sqrt(-2.0 * math.log1p(-second))
                angle = 2.0 * math.pi * first
                values += (radius * math.cos(angle), radius * math.sin(angle))
            values = np.array(values)
        else:
            values = normal_pairs(fractions)
            if spare is not None:
                values = np.concatenate([[spare], values])
        self._spare = float(values[-1]) if missing % 2 else None
        return values[:count]

    def normal_around(self, mean, std) -> np.ndarray:
        """A normal number for each mean and each deviation, of which one at least is an array: `torch.normal`.

        >>> Stream(0).normal_around(np.float32([10, 20]), 0.5)
        array([10.770498, 19.853285], dtype=float32)
        """
        if isinstance(std, np.ndarray):
            if std.dtype.kind == "c":
                raise RuntimeError("normal expects standard deviation to be non-complex")
            if std.size and not std.min() >= 0:
                raise RuntimeError("normal expects all elements of std >= 0.0")
            if not isinstance(mean, np.ndarray):
                mean = np.array(mean).astype(std.dtype)
            shape = _common_shape(mean.shape, std.shape)
            values = self.normal(shape, mean.dtype)
            values = (values * std).astype(mean.dtype, copy=False)
        else:
            values = self.normal(mean.shape, mean.dtype, 0.0, std)
        return (values + mean).astype(mean.dtype, copy=False)

    def exponential(self, shape, dtype, rate: float = 1.0) -> np.ndarray:
        """Waiting times at a rate: `exponential_`.

        >>> Stream(0).exponential((2,), np.float32)
        array([3.508326 , 1.2303898], dtype=float32)
        """
        if not rate > 0:
            raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate:g}")
        dtype = np.dtype(dtype)
        _require_float(dtype, "Exponential", 0)
        factor = -1.0 / float(rate)
        return self._each(shape, dtype, lambda u: factor * _function("log1p", -u, dtype))

    def cauchy(self, shape, dtype, median: float = 0.0, sigma: float = 1.0) -> np.ndarray:
        """Cauchy numbers: `cauchy_`.

        >>> Stream(0).cauchy((2,), np.float32)
        array([10.597842 ,  0.7654897], dtype=float32)
        """
        if not sigma > 0:
            raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
        dtype = np.dtype(dtype)
        _require_float(dtype, "Cauchy", 1)
        median, sigma = float(median), float(sigma)
        return self._each(
            shape, dtype, lambda u: affine64(_function("tan", math.pi * (u - 0.5), dtype), sigma, median)
        )

    def log_normal(self, shape, dtype, mean: float = 1.0, std: float = 2.0) -> np.ndarray:
        """The exponential of normal numbers: `log_normal_`.

        >>> Stream(0).log_normal((2,), np.float32)
        array([59.264435 ,  1.5116037], dtype=float32)
        """
        if not std > 0:
            raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
        dtype = np.dtype(dtype)
        if not math.prod(shape):
            return np.empty(shape, dtype)
        _require(dtype, FLOATS, "log_normal_cpu")
        values = affine64(self._normals(math.prod(shape)), float(std), float(mean))
        with np.errstate(over="ignore"):
            # The C library's exp overflows to infinity; Python's raises.
            values = np.exp(values) if values.max() > 709 else _function("exp", values, dtype)
            return narrowed(values, dtype).reshape(shape)

    def _each(self, shape, dtype, transform):
        """A number for each float64 fraction."""
        out = np.empty(shape, dtype)
        flat = out.reshape(-1)
        with np.errstate(all="ignore"):  # an infinite or overflowing number is what PyTorch gives too
            for start in range(0, flat.size, BLOCK):
                part = flat[start : start + BLOCK]
                part[...] = narrowed(transform(self.fractions64(part.size)), dtype)
        return out

    # Integers and choices

    def random(self, shape, dtype) -> np.ndarray:
        """Integers from 0 to all that the dtype counts without a gap: `random_` without bounds.

        >>> Stream(0).random((2,), np.uint8)
        array([44, 47], dtype=uint8)
        """
        dtype = np.dtype(dtype)
        count = math.prod(shape)
        if not count:
            return np.empty(shape, dtype)
        _require(dtype, BOTH | {"bool"}, "random_kernel_cpu")
        if dtype.kind == "b":
            span = 2
        elif dtype.name in FLOATS:
            span = (1 << DIGITS[dtype.name]) + 1
        else:
            span = int(np.iinfo(dtype).max) + 1
        return self._integers(shape, dtype, 0, span, wide=dtype.name in ("int64", "float64"))

    def randint(self, shape, dtype, low: int, high: int | None) -> np.ndarray:
        """Integers from `low` to below `high`, or to the largest of the dtype: `randint`, `random_(from, to)`.

        >>> Stream(0).randint((5,), np.int64, 0, 10)
        array([4, 9, 3, 0, 3])
        """
        dtype = np.dtype(dtype)
        low = operator.index(low)
        lowest = -(1 << 63)
        if high is None and low == lowest:  # every 64-bit integer
            _require(dtype, BOTH - {"float16"}, "random_full_64_bits_range_kernel_cpu")
            if dtype.name not in ("int64", "float64", "float32", "bfloat16"):
                raise RuntimeError(
                    "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16"
                )
            return narrowed(self.words64(math.prod(shape)).view(np.int64), dtype).reshape(shape)
        low, last = _integer_bounds(dtype, low, None if high is None else operator.index(high))
        span = last - low + 1
        return self._integers(shape, dtype, low, span, wide=span >= 1 << 28)

    def _integers(self, shape, dtype, low, span, wide):
        out = np.empty(shape, dtype)
        flat = out.reshape(-1)
        for start in range(0, flat.size, BLOCK):
            part = flat[start : start + BLOCK]
            words = self.words64(part.size) if wide else self.words(part.size)
            if span & (span - 1) == 0:
                words &= words.dtype.type(span - 1)
            else:
                span_word = words.dtype.type(span)  # quotient, product, difference: faster than NumPy's remainder
                words -= words // span_word * span_word
            if low:
                words = words.astype(np.uint64, copy=False)
                words += np.uint64(low % (1 << 64))
            part[...] = narrowed(words.view(np.int64) if words.itemsize == 8 else words, dtype)
        return out

    def randperm(self, count: int, dtype=np.int64) -> np.ndarray:
        """The integers below `count` in random order: `randperm`.

        >>> Stream(0).randperm(5)
        array([4, 1, 2, 0, 3])
        """
        dtype = np.dtype(dtype)
        count = operator.index(count)
        if count < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {count}: [{count}]")
        _check_permutation(count, dtype)
        if count < 2:
            return np.zeros(count, dtype)
        left = np.arange(count, 1, -1)
        words = self.words(count - 1) if count < (1 << 32) // 20 else self.words64(count - 1)
        partners = (words % left.astype(words.dtype)).astype(np.int64)
        partners += np.arange(count - 1)
        order = list(range(count))
        for place, partner in enumerate(partners.tolist()):
            order[place], order[partner] = order[partner], order[place]
        return narrowed(np.array(order), dtype)

    def bernoulli(self, shape, dtype, p=0.5) -> np.ndarray:
        """One with probability `p`, a number or an array, and zero otherwise: `bernoulli_`, `bernoulli`, dropout.

        >>> Stream(0).bernoulli((5,), np.float32, 0.8)
        array([0., 1., 0., 1., 1.], dtype=float32)
        """
        dtype = np.dtype(dtype)
        count = math.prod(shape)
        if not isinstance(p, np.ndarray):
            if not 0 <= p <= 1:
                raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
            if count:
                _require(dtype, BOTH | {"bool"}, "bernoulli_scalar_cpu_")
            p = float(p)
            return self._each(shape, np.dtype(bool), lambda u: u < p).astype(dtype, copy=False)
        if not count:
            return np.empty(shape, dtype)
        _require(dtype, BOTH | {"bool"}, "bernoulli_tensor_cpu_self_")
        _require(p.dtype, FLOATS, "bernoulli_tensor_cpu_p_")
        p = _expanded(p, shape)
        if not ((p >= 0) & (p <= 1)).all():
            raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false. Probabilities lie in [0, 1].")
        if p.dtype == np.float64:
            chosen = self.fractions64(count).reshape(shape) < p
        else:
            chosen = self.fractions32(count).reshape(shape) < p.astype(np.float32)
        return chosen.astype(dtype)

    def geometric(self, shape, dtype, p: float) -> np.ndarray:
        """The number of trials up to the first success, each of probability `p`: `geometric_`.

        >>> Stream(0).geometric((5,), np.int64, 0.5)
        array([1, 1, 2, 1, 1])
        """
        if not 0 < p < 1:
            raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
        dtype = np.dtype(dtype)
        if math.prod(shape):
            _require(dtype, BOTH, "geometric_cpu")
        log_miss = math.log1p(-float(p))
        return self._each(shape, dtype, lambda u: np.ceil(np.log(u) / log_miss))

    def multinomial(self, weights: np.ndarray, samples: int, replacement: bool = False) -> np.ndarray:
        """Places drawn by weight, from one row of weights or from each of several: `multinomial`.

        >>> Stream(0).multinomial(np.float32([1, 2, 3, 4]), 3)
        array([2, 3, 1])
        """
        _check_multinomial(weights, samples, replacement)
        rows = weights.reshape(-1, weights.shape[-1])
        shape = (*weights.shape[:-1], samples)
        if not rows.size:
            return np.empty(shape, np.int64)
        if replacement and samples > 1:
            return np.stack([self._choices(row, samples) for row in rows]).reshape(shape)
        scores = (rows / self.exponential(rows.shape, rows.dtype)).astype(np.float32 if is_half(rows.dtype) else rows.dtype)
        if samples == 1:
            return scores.argmax(-1).reshape(shape)
        return np.argsort(-scores, axis=-1, kind="stable")[:, :samples].reshape(shape)

    def _choices(self, row, samples):
        """Where fractions fall among the summed weights."""
        sums = np.cumsum(row.astype(np.float32) if is_half(row.dtype) else row)
        if not sums[-1] > 0:
            raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
        sums /= sums[-1]
        sums[-1] = 1
        return np.searchsorted(sums.astype(np.float64), self.fractions64(samples))

    # Numbers by rejection

    def poisson(self, rates: np.ndarray) -> np.ndarray:
        """How often something happens, for each rate: `poisson`.

        >>> Stream(0).poisson(np.float32([0, 2, 40]))
        array([ 0.,  2., 37.], dtype=float32)
        """
        _require(rates.dtype, FLOATS, "poisson_cpu")
        flat = rates.astype(np.float64).ravel()
        if not (flat >= 0).all():
            raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
        numbers = np.zeros(flat.size, np.int64)
        busy = flat > 0
        left = [0]
        numbers[busy] = poisson_numbers(flat[busy].tolist(), one_by_one(self, left).__next__, left)
        return narrowed(numbers, rates.dtype).reshape(rates.shape)

    def binomial(self, counts: np.ndarray, chances: np.ndarray) -> np.ndarray:
        """How many of `counts` trials succeed, each with its chance: `binomial`.

        >>> Stream(0).binomial(np.float32([10, 100]), np.float32([0.5, 0.3]))
        array([ 7., 29.], dtype=float32)
        """
        for name, array in (("count", counts), ("prob", chances)):
            if array.dtype.name not in FLOATS:
                kind = NAMES.get(array.dtype.name, (array.dtype.name,))[0]
                raise ValueError(f"binomial only supports floating-point dtypes for {name}, got: {kind}")
        _require(counts.dtype, SMALLEST, "binomial_cpu")
        if chances.dtype != counts.dtype:
            expected, found = NAMES[counts.dtype.name][0], NAMES[chances.dtype.name][0]
            raise RuntimeError(f"Found dtype {found} but expected {expected}")
        shape = _common_shape(counts.shape, chances.shape)
        count, chance = (np.broadcast_to(array, shape).ravel() for array in (counts, chances))
        # Counting failures keeps the chance up to one half.
        failing = chance > 0.5
        half = np.where(failing, (1.0 - chance.astype(np.float64)).astype(chance.dtype), chance)
        busy = (count > 0) & (chance > 0) & (chance < 1)
        left = [0]
        draws = binomial_numbers(count[busy], half[busy], one_by_one(self, left).__next__, left)
        numbers = np.where(chance >= 1, count, 0).astype(count.dtype)
        numbers[busy] = np.where(failing[busy], count[busy] - np.array(draws, count.dtype), draws)
        numbers[(count <= 0) | (chance <= 0)] = 0
        numbers[(np.isnan(count) | np.isnan(chance)) & ~(count <= 0) & ~(chance <= 0)] = np.nan
        return numbers.reshape(shape)

    def standard_gamma(self, shapes: np.ndarray) -> np.ndarray:
        """Gamma numbers of scale one for each shape parameter: `_standard_gamma`.

        >>> Stream(0).standard_gamma(np.float32([0.5, 3]))
        array([1.1147835e-06, 3.3158326e+00], dtype=float32)
        """
        _require(shapes.dtype, SMALLEST, "gamma_cpu")
        return np.maximum(self._gamma(shapes.ravel()), shapes.dtype.type(SMALLEST[shapes.dtype.name])).reshape(shapes.shape)

    def _gamma(self, flat):
        numbers = np.zeros(flat.shape, flat.dtype)
        busy = flat != 0
        left = [0]
        draws, self._spare = gamma_numbers(flat[busy], one_by_one(self, left).__next__, left, self._spare)
        numbers[busy] = draws
        return numbers

    def dirichlet(self, concentration: np.ndarray) -> np.ndarray:
        """Fractions that add up to one along the last dim: `_sample_dirichlet`.

        >>> Stream(0).dirichlet(np.float32([1, 2, 3]))
        array([0.03029547, 0.61126643, 0.35843813], dtype=float32)
        """
        dtype = concentration.dtype
        _require(dtype, SMALLEST, "dirichlet")
        gamma = np.maximum(self._gamma(concentration.astype(np.float64).ravel()), SMALLEST["float64"])
        gamma = gamma.reshape(concentration.shape)
        shares = (gamma / gamma.sum(-1, keepdims=True)).astype(dtype)
        below_one = np.nextafter(dtype.type(1), dtype.type(0))
        return shares.clip(dtype.type(SMALLEST[dtype.name]), below_one)


def _part(dtype):
    return np.dtype(np.float32 if dtype == np.complex64 else np.float64)


def _function(name, values, dtype):
    return c_library(getattr(math, name), values) if dtype == np.float64 else getattr(np, name)(values)


def _check_uniform(dtype, low, high):
    _require(dtype, FLOATS, "check_uniform_bounds")
    largest = LARGEST[dtype.name]
    name, compiler_name = NAMES[dtype.name]
    for bound, value in (("from", low), ("to", high)):
        if not -largest <= value <= largest:
            raise RuntimeError(f"{bound} is out of bounds for {compiler_name}")
    if not low <= high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > largest:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{name}>::max(), but found to={high:g} and from={low:g} "
            "which result in to-from to exceed the limit"
        )


def _integer_bounds(dtype, low, high):
    """The first and the last integer to draw, both of which the dtype can hold."""
    name = dtype.name
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


def _check_permutation(count, dtype):
    _require(dtype, BOTH, "randperm")
    name = dtype.name
    if name in ("float16", "float32", "float64") and count > (1 << DIGITS[name]) + 1:
        limit = "2049" if name == "float16" else f"2^{DIGITS[name]}+1"
        raise RuntimeError(f"n cannot be greater than {limit} for {NAMES[name][0]} type.")
    if name in INTEGERS and count - 1 > np.iinfo(dtype).max:
        raise RuntimeError(f"value cannot be converted to type {name}_t without overflow")


def _check_multinomial(weights, samples, replacement):
    if not 0 < weights.ndim <= 2:
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if weights.dtype.name not in FLOATS:
        kind = NAMES.get(weights.dtype.name, (weights.dtype.name,))[0]
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {kind}")
    if samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and samples > weights.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if weights.shape[-1] > 1 << 24:
        raise RuntimeError("number of categories cannot exceed 2^24")
    if not weights.shape[-1]:
        raise RuntimeError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.")
    if not ((weights >= 0) & (weights < np.inf)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (weights.astype(np.float64).sum(-1) == 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


def _common_shape(first, second):
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


def _expanded(array, shape):
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise RuntimeError(
            f"The expanded size of the tensor must match the existing size. "
            f"Target sizes: {list(shape)}.  Tensor sizes: {list(array.shape)}"
        ) from None
