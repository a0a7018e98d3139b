"""PyTorch's CPU random numbers on bare arrays: after the same seed, the same numbers. Knows nothing of Tensor.

Which algorithm for what, each checked against PyTorch 2.13 (words, fractions and their fused scaling: mt19937.py):
- uniform: a fraction times (high - low) plus low, fused, for half types in float32; what comes out as high becomes low.
- normal, 16 numbers or more: blocks of 16 fractions (box_muller.py); if 16 do not divide the size, the last 16 numbers
  are drawn again. Fewer, or not contiguous: pairs of float64 numbers, of which the second waits for the next call.
  Complex: twice as many real ones with std / sqrt(2).
- random, randint: low + word % range, with 64-bit words from a range of 2**28 (random_integers.py).
- randperm: for i in 0 .. n - 2 swap i with i + word % (n - i).
- bernoulli and dropout: float64 fraction < p; where p is an array of another dtype than float64, float32 fraction < p.
- exponential, cauchy, geometric: the inverse distribution function of a float64 fraction, in float64.
- log_normal: exp of a normal number made in pairs, whatever the size.
- multinomial: fractions looked up in the summed weights; without replacement, or for one sample, the largest of
  weight / exponential number.
- poisson, binomial, standard_gamma, dirichlet: rejection.py.

Float64 results go through the C library one by one (`math`), as PyTorch's do; for narrower ones NumPy's functions do,
since rounding hides their last bit. Every method returns a new array; `shape` and `dtype` come first, then the numbers
that describe the distribution. What is refused, and in which words: random_checks.py.
"""

import math
import operator

import numpy as np

from .box_muller import c_library, normal_pairs, normals_double, normals_single
from .mt19937 import WORDS, affine32, affine64, entropy
from .precision import is_half
from .random_checks import (
    BOTH,
    FLOATS,
    SMALLEST,
    check_binomial,
    check_multinomial,
    check_uniform,
    common_shape,
    name_of,
    narrowed,
    require,
    require_float,
)
from .random_integers import Integers
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


class Stream(Integers):
    """The numbers of one generator: what a torch.Generator holds.

    >>> stream = Stream(0)
    >>> stream.uniform((2, 2), np.float32)
    array([[0.4962566 , 0.7682218 ],
           [0.08847743, 0.13203049]], dtype=float32)
    >>> stream.normal((2,), np.float32)
    array([-2.1787894 ,  0.56843126], dtype=float32)
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
        """Another stream at the same place (as `copy.copy`, `copy.deepcopy` and pickling make one).

        >>> stream = Stream(0)
        >>> bool(stream.copy().words(1) == stream.words(1))
        True
        """
        return _restored(self.state())

    def __reduce__(self):
        return _restored, (self.state(),)

    # Continuous distributions

    def uniform(self, shape, dtype, low: float = 0.0, high: float = 1.0) -> np.ndarray:
        """Numbers between `low` and `high`: `uniform_`, `rand`.

        >>> Stream(0).uniform((3,), np.float32, -1, 1)
        array([-0.00748682,  0.5364436 , -0.82304513], dtype=float32)
        """
        dtype = np.dtype(dtype)
        count = math.prod(shape)
        if low == 0 and high == 1:
            if dtype == np.float32:
                return self.fractions32(count).reshape(shape)
            if dtype == np.float64:
                return self.fractions64(count).reshape(shape)
        if dtype.kind == "c":
            return self.uniform((2 * count,), _part(dtype), low, high).view(dtype).reshape(shape)
        check_uniform(dtype, low, high)
        if dtype == np.float64:
            low, high = float(low), float(high)
            scale, unit = high - low, 2.0**-53
            values = self.fractions64(count, scale, low)
        else:
            low, high = float(np.float32(low)), float(np.float32(high))
            scale, unit = float(np.float32(high) - np.float32(low)), 2.0**-24
            values = self.fractions32(count, scale, low).astype(dtype, copy=False)
        # Where rounding can reach `high` it becomes `low`.
        if is_half(dtype) or high - (scale * (1 - unit) + low) <= abs(high) * unit:
            first, last = narrowed(np.array([low, high]), dtype)
            values[values == last] = first
        return values.reshape(shape)

    def normal(self, shape, dtype, mean: float = 0.0, std: float = 1.0, contiguous: bool = True) -> np.ndarray:
        """Normal numbers: `normal_`, `randn`. `contiguous=False` gives those that a strided tensor gets, pair by pair.

        >>> Stream(0).normal((3,), np.float32)
        array([ 1.5409961, -0.2934289, -2.1787894], dtype=float32)
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
        require(dtype, FLOATS, "normal_kernel_cpu")
        if count < 16 or not contiguous:
            values = self._normals(count)
            if mean != 0 or std != 1:
                values = affine64(values, float(std), float(mean))
            values = narrowed(values, dtype)
        elif dtype == np.float64:
            values = self._blocks(count, count, self.fractions64, normals_double)
            values = affine64(values, float(std), float(mean))
        else:
            # Half types throw nothing away: they draw a block only when it is whole.
            drawn = count if dtype == np.float32 else count & -16
            values = self._blocks(count, drawn, self.fractions32, normals_single)
            if mean != 0 or std != 1:
                std, mean = narrowed(np.array([std, mean], np.float64), np.dtype(np.float32)).tolist()
                with np.errstate(over="ignore", invalid="ignore"):
                    values = affine32(values.astype(np.float64), std, mean)
            values = values.astype(dtype, copy=False)
        return values.reshape(shape)

    def _blocks(self, count, drawn, fractions, to_normals):
        """Standard normal numbers in blocks of 16; where 16 do not divide the count, the last 16 are drawn again."""
        whole = count & -16
        if whole == count:
            values = fractions(count)
            to_normals(values)
            return values
        values = fractions(drawn + 16)
        blocks = np.concatenate([values[:whole], values[drawn:]])
        to_normals(blocks)
        values = np.empty(count, values.dtype)
        values[:whole] = blocks[:whole]
        values[-16:] = blocks[whole:]
        return values

    def _normals(self, count):
        """Standard normal numbers in pairs, float64; the last one waits for the next call if it is not needed."""
        spare = self._spare
        missing = count - (spare is not None)
        fractions = self.fractions64(missing + missing % 2)
        if count <= 16:  # so few are quicker one by one
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
            shape = common_shape(mean.shape, std.shape)
            values = self.normal(shape, mean.dtype)
            values = np.asarray(values * std).astype(mean.dtype, copy=False)
        else:
            values = self.normal(mean.shape, mean.dtype, 0.0, std)
        return np.asarray(values + mean).astype(mean.dtype, copy=False)

    def exponential(self, shape, dtype, rate: float = 1.0) -> np.ndarray:
        """Waiting times at a rate: `exponential_`.

        >>> Stream(0).exponential((2,), np.float32)
        array([3.5083263, 1.2303847], dtype=float32)
        """
        if not rate > 0:
            raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate:g}")
        dtype = np.dtype(dtype)
        require_float(dtype, "Exponential", 0)
        factor = -1.0 / float(rate)
        return self._each(shape, dtype, lambda u: factor * _function("log1p", -u, dtype))

    def cauchy(self, shape, dtype, median: float = 0.0, sigma: float = 1.0) -> np.ndarray:
        """Cauchy numbers: `cauchy_`.

        >>> Stream(0).cauchy((2,), np.float32)
        array([10.59773  ,  0.7647673], dtype=float32)
        """
        if not sigma > 0:
            raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
        dtype = np.dtype(dtype)
        require_float(dtype, "Cauchy", 1)
        median, sigma = float(median), float(sigma)
        return self._each(shape, dtype, lambda u: affine64(_function("tan", math.pi * (u - 0.5), dtype), sigma, median))

    def log_normal(self, shape, dtype, mean: float = 1.0, std: float = 2.0) -> np.ndarray:
        """The exponential of normal numbers: `log_normal_`.

        >>> Stream(0).log_normal((2,), np.float32)
        array([59.263416,  1.51156 ], dtype=float32)
        """
        if not std > 0:
            raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
        dtype = np.dtype(dtype)
        if not math.prod(shape):
            return np.empty(shape, dtype)
        require(dtype, FLOATS, "log_normal_cpu")
        values = affine64(self._normals(math.prod(shape)), float(std), float(mean))
        # The C library's exp overflows to infinity; Python's raises.
        with np.errstate(over="ignore"):
            values = np.exp(values) if values.max() > 709 else _function("exp", values, dtype)
        return narrowed(values, dtype).reshape(shape)

    def geometric(self, shape, dtype, p: float) -> np.ndarray:
        """The number of trials up to the first success, each of probability `p`: `geometric_`.

        >>> Stream(0).geometric((5,), np.int64, 0.5)
        array([1, 1, 2, 1, 1])
        """
        if not 0 < p < 1:
            raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
        dtype = np.dtype(dtype)
        if math.prod(shape):
            require(dtype, BOTH, "geometric_cpu")
        log_miss = math.log1p(-float(p))
        return self._each(shape, dtype, lambda u: np.ceil(np.log(u) / log_miss))

    def _each(self, shape, dtype, transform):
        """A number for each float64 fraction."""
        with np.errstate(all="ignore"):  # an infinite or overflowing number is what PyTorch gives too
            draw = lambda size: narrowed(transform(self.fractions64(size)), dtype)
            return self.in_blocks(math.prod(shape), dtype, draw).reshape(shape)

    # Choices and numbers by rejection

    def multinomial(self, weights: np.ndarray, samples: int, replacement: bool = False) -> np.ndarray:
        """Places drawn by weight, from one row of weights or from each of several: `multinomial`.

        >>> Stream(0).multinomial(np.float32([1, 2, 3, 4]), 3)
        array([2, 1, 3])
        """
        check_multinomial(weights, samples, replacement)
        rows = weights.reshape(-1, weights.shape[-1])
        shape = (*weights.shape[:-1], samples)
        if not rows.size:
            return np.empty(shape, np.int64)
        if replacement and samples > 1:
            return np.stack([self._choices(row, samples) for row in rows]).reshape(shape)
        if rows.strides[0] < rows.strides[1]:  # columns lie together: drawn in the order of memory
            waits = self.exponential(rows.shape[::-1], rows.dtype).T
        else:
            waits = self.exponential(rows.shape, rows.dtype)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            scores = (rows / waits).astype(np.float32 if is_half(rows.dtype) else rows.dtype)
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

    def poisson(self, rates: np.ndarray) -> np.ndarray:
        """How often something happens, for each rate: `poisson`.

        >>> Stream(0).poisson(np.float32([0, 2, 40]))
        array([ 0.,  6., 37.], dtype=float32)
        """
        require(rates.dtype, FLOATS, "poisson_cpu")
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
        array([ 7., 31.], dtype=float32)
        """
        check_binomial(counts, chances)
        shape = common_shape(counts.shape, chances.shape)
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
        array([7.8935816e-04, 1.2728435e+00], dtype=float32)
        """
        require(shapes.dtype, SMALLEST, "gamma_cpu")
        smallest = shapes.dtype.type(SMALLEST[name_of(shapes.dtype)])
        return np.maximum(self._gamma(shapes.ravel()), smallest).reshape(shapes.shape)

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
        array([0.5282044 , 0.24112464, 0.23067096], dtype=float32)
        """
        dtype = concentration.dtype
        require(dtype, SMALLEST, "dirichlet")
        gamma = np.maximum(self._gamma(concentration.astype(np.float64).ravel()), SMALLEST["float64"])
        gamma = gamma.reshape(concentration.shape)
        shares = (gamma / gamma.sum(-1, keepdims=True)).astype(dtype)
        below_one = np.nextafter(dtype.type(1), dtype.type(0))
        return shares.clip(dtype.type(SMALLEST[name_of(dtype)]), below_one)


def _restored(state):
    stream = Stream()
    stream.set_state(state)
    return stream


def _part(dtype):
    return np.dtype(np.float32 if dtype == np.complex64 else np.float64)


def _function(name, values, dtype):
    return c_library(getattr(math, name), values) if dtype == np.float64 else getattr(np, name)(values)
