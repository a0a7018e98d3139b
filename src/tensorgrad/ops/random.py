"""Random tensors: PyTorch's numbers for PyTorch's seeds. The generators are in tensorgrad/random.py."""

import operator

import numpy as np

from tensorgrad import dtypes
from tensorgrad import random as source
from tensorgrad.autograd import modes
from tensorgrad.ops import creation, data, fitting
from tensorgrad.ops import random_primitives as primitives
from tensorgrad.ops.arguments import float_argument, int_argument, is_int, no_such_call

ndarray = np.ndarray

# Arguments


def _generator(name, generator):
    if generator is None:
        return source.default_generator
    if not isinstance(generator, source.Generator):
        raise TypeError(f"{name}(): argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    return generator


# New tensors


def _new(name, shape, draw, fill, out, dtype, default, options):
    """A new tensor from `draw(NumPy dtype)`, or `fill(out)`; the options are those of `creation.finished`."""
    requires_grad = options[1]
    if out is None:
        result = draw(creation.numpy_dtype(dtype, default))
        if type(result._array) is ndarray:
            return creation.finished(result._array, None, *options)
        result = data.with_names(result, options[-1])
        return result.requires_grad_() if requires_grad else result
    if isinstance(out, fitting.Tensor):
        creation.dtype_beside_out(dtype, out, None, name)
    _write(f"aten::{name}", out, (), shape, fill)
    return out.requires_grad_() if requires_grad else out


def _write(name, out, operands, shape, fill):
    """Give `out` a shape and let `fill` write into it: PyTorch draws in the dtype and the memory order of `out`."""
    if not isinstance(out, fitting.Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if modes.is_grad_enabled() and any(tensor._node is not None for tensor in (out, *operands)):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    with modes.no_grad():
        if out._spec.shape != shape:
            out.resize_(shape)
        fill(out)
    return out


def _made(name, distribution, shape, numbers, generator, out, dtype, default, options):
    """A new tensor, or `out`, of numbers from a distribution."""
    generator = _generator(name, generator)

    def draw(array_dtype):
        return primitives.draw(primitives.fresh, (), (generator, distribution, shape, array_dtype, numbers))

    def fill(out):
        primitives.draw(primitives.FILLS[distribution], (out,), (generator, numbers), inplace=True)

    return _new(name, shape, draw, fill, out, dtype, default, options)


def _sized(name, size, more):
    """The shape that `f(2, 3)`, `f((2, 3))` or `f(size=(2, 3))` asks for."""
    if "size" in more and not size:
        size = (more.pop("size"),)
    if more or not size or (len(size) > 1 and isinstance(size[0], (tuple, list))):
        raise no_such_call(name, size, more, "tuple of ints size, *, Generator generator, Tensor out, dtype dtype")
    return creation._shape(size, name)


def rand(*size, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
         names=None, **more):  # fmt: skip
    """Numbers spread evenly from 0 to 1, 1 not included.

    >>> _ = torch.manual_seed(0); torch.rand(2, 2)
    tensor([[0.4963, 0.7682],
            [0.0885, 0.1320]])
    """
    shape = _sized("rand", size, more)
    options = device, requires_grad, layout, pin_memory, names
    return _made("rand", "uniform", shape, (), generator, out, dtype, None, options)


def randn(*size, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
          names=None, **more):  # fmt: skip
    """Normal numbers with mean 0 and deviation 1.

    >>> _ = torch.manual_seed(0); torch.randn(3)
    tensor([ 1.5410, -0.2934, -2.1788])
    """
    shape = _sized("randn", size, more)
    options = device, requires_grad, layout, pin_memory, names
    return _made("randn", "normal", shape, (0.0, 1.0), generator, out, dtype, None, options)


def _range(name, args, low, high):
    """(low, high) of `randint(high, ...)` and `randint(low, high, ...)`, with either by name."""
    if len(args) + (low is not None) + (high is not None) > 2 or (low is not None and args and high is not None):
        return None
    if len(args) == 2:
        low, high = args
    elif args and high is not None:
        low = args[0]
    elif args:
        high = args[0]
    if low is None:
        return None if high is None else (0, int_argument(name, "high", 1 if name == "randint" else 2, high))
    return (operator.index(low), operator.index(high)) if is_int(low) and is_int(high) else None


def randint(*args, low=None, high=None, size=None, generator=None, out=None, dtype=None, layout=None, device=None,
            requires_grad=False, pin_memory=False, names=None):  # fmt: skip
    """Integers from low (0) to high, high not included: `randint(high, size)` or `randint(low, high, size)`.

    >>> _ = torch.manual_seed(0); torch.randint(0, 10, (5,))
    tensor([4, 9, 3, 0, 3])
    """
    given = args
    if size is None and len(args) > 1:
        *args, size = args
        if len(args) == 1 and not isinstance(size, (tuple, list)):
            raise TypeError(f"randint(): argument 'size' (position 2) must be tuple of ints, not {type(size).__name__}")
    limits = _range("randint", args, low, high) if isinstance(size, (tuple, list)) else None
    if limits is None:
        named = {"low": low, "high": high, "size": size if len(given) < 2 else None}
        named = {key: value for key, value in named.items() if value is not None}
        raise no_such_call(
            "randint", given, named, "int high, tuple of ints size", "int low, int high, tuple of ints size"
        )
    shape = creation._shape((size,), "randint")
    options = device, requires_grad, layout, pin_memory, names
    return _made("randint", "randint", shape, limits, generator, out, dtype, dtypes.int64, options)


def randperm(n, *, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
             pin_memory=False, names=None):  # fmt: skip
    """The integers below n in random order.

    >>> _ = torch.manual_seed(0); torch.randperm(5)
    tensor([4, 0, 1, 3, 2])
    """
    generator, n = _generator("randperm", generator), int_argument("randperm", "n", 1, n)
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")

    def draw(array_dtype):
        return primitives.draw(primitives.permutation, (), (generator, n, array_dtype))

    def fill(out):
        out.copy_(draw(out._spec.dtype.numpy))

    options = device, requires_grad, layout, pin_memory, names
    return _new("randperm", (n,), draw, fill, out, dtype, dtypes.int64, options)


def _like(name, input, fill, numbers, generator, requires_grad, **options):
    """A new tensor in the shape of another, filled; `options` are those of `empty_like`."""
    generator = _generator(name, generator)
    fitting.check_tensor(name, input)
    result = creation.empty_like(input, **options)
    primitives.draw(fill, (result,), (generator, numbers), inplace=True)
    return result.requires_grad_() if requires_grad else result


def rand_like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None,
              pin_memory=False):  # fmt: skip
    """Numbers from 0 to 1 in the shape of another tensor.

    >>> _ = torch.manual_seed(0); torch.rand_like(torch.zeros(2))
    tensor([0.4963, 0.7682])
    """
    return _like("rand_like", input, primitives.uniform, (), generator, requires_grad, dtype=dtype, layout=layout,
                 device=device, memory_format=memory_format, pin_memory=pin_memory)  # fmt: skip


def randn_like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None,
               pin_memory=False):  # fmt: skip
    """Normal numbers in the shape of another tensor.

    >>> _ = torch.manual_seed(0); torch.randn_like(torch.zeros(2))
    tensor([ 1.5410, -0.2934])
    """
    return _like("randn_like", input, primitives.normal, (0.0, 1.0), generator, requires_grad, dtype=dtype,
                 layout=layout, device=device, memory_format=memory_format, pin_memory=pin_memory)  # fmt: skip


def randint_like(input, *args, low=None, high=None, generator=None, dtype=None, layout=None, device=None,
                 requires_grad=False, memory_format=None, pin_memory=False):  # fmt: skip
    """Integers from low (0) to high, high not included, in the shape of another tensor.

    >>> _ = torch.manual_seed(0); torch.randint_like(torch.zeros(3), 10)
    tensor([4., 9., 3.])
    """
    fitting.check_tensor("randint_like", input)
    limits = _range("randint_like", args, low, high)
    if limits is None:
        raise no_such_call(
            "randint_like", (input, *args), {}, "Tensor input, int high", "Tensor input, int low, int high"
        )
    return _like("randint_like", input, primitives.integers_between, limits, generator, requires_grad, dtype=dtype,
                 layout=layout, device=device, memory_format=memory_format, pin_memory=pin_memory)  # fmt: skip


# Numbers that depend on tensors


def normal(mean=0.0, std=1.0, size=None, *, generator=None, out=None, dtype=None, layout=None, device=None,
           requires_grad=False, pin_memory=False, names=None):  # fmt: skip
    """Normal numbers, whose means or deviations (or both) may be tensors; of two numbers, give the size.

    >>> _ = torch.manual_seed(0); torch.normal(torch.tensor([10., 20.]), 0.5)
    tensor([10.7705, 19.8533])
    """
    tensors = [isinstance(x, fitting.Tensor) for x in (mean, std)]
    numbers = [fitting.is_number(x) and not isinstance(x, complex) for x in (mean, std)]
    if size is not None:
        if not isinstance(size, (tuple, list)) or any(
            (t and (x._spec.shape or x._node is not None)) or not (t or n)
            for x, t, n in zip((mean, std), tensors, numbers, strict=True)
        ):
            raise no_such_call("normal", (mean, std), {"size": size}, *_NORMAL_FORMS)
        limits = float_argument("normal", "mean", 1, mean), float_argument("normal", "std", 2, std)
        shape, options = creation._shape((size,), "normal"), (device, requires_grad, layout, pin_memory, names)
        return _made("normal", "normal", shape, limits, generator, out, dtype, None, options)
    if not any(tensors) or not all(t or n for t, n in zip(tensors, numbers, strict=True)):
        raise no_such_call("normal", (mean, std), {}, *_NORMAL_FORMS)
    generator = _generator("normal", generator)
    if out is not None:
        return _normal_into(out, mean, std, generator)
    if all(tensors):
        return primitives.draw(primitives.normal_both, (mean, std), (generator,))
    if tensors[0]:
        return primitives.draw(primitives.normal_mean, (mean,), (std, generator))
    return primitives.draw(primitives.normal_std, (std,), (mean, generator))


def _normal_into(out, mean, std, generator):
    """`normal` of at least one tensor with `out=`: drawn in the dtype of `out`, which may be larger than one tensor."""
    operands = [x for x in (mean, std) if isinstance(x, fitting.Tensor)]
    sized = operands if len(operands) == 2 or not isinstance(out, fitting.Tensor) else [*operands, out]
    if broken := fitting.broadcast_error(sized):
        raise broken
    deviation = 1.0 if std is operands[-1] else std

    def fill(out):
        primitives.draw(primitives.normal, (out,), (generator, (0.0, deviation)), inplace=True)
        if std is operands[-1]:
            out.mul_(std)
        out.add_(mean)

    return _write("normal", out, operands, fitting.broadcast_shapes(*(x.shape for x in sized)), fill)


_NORMAL_FORMS = (
    "Tensor mean, Tensor std, *, Generator generator, Tensor out",
    "Tensor mean, float std = 1, *, Generator generator, Tensor out",
    "float mean, Tensor std, *, Generator generator, Tensor out",
    "float mean, float std, tuple of ints size, *, Generator generator, Tensor out, dtype dtype, bool requires_grad",
)


def bernoulli(input, p=None, *, generator=None, out=None):
    """Ones and zeros: one with the probability that `input` tells for each place, or with probability p.

    >>> _ = torch.manual_seed(0); torch.bernoulli(torch.tensor([0.1, 0.5, 0.9]))
    tensor([0., 0., 1.])
    """
    fitting.check_tensor("bernoulli", input)
    generator = _generator("bernoulli", generator)
    if p is None and out is None:
        return primitives.draw(primitives.bernoulli, (input,), (generator,))
    if p is None:
        return _write(
            "bernoulli", out, (input,), input._spec.shape,
            lambda out: primitives.draw(primitives.bernoulli_tensor, (out, input), (generator,), inplace=True),
        )  # fmt: skip
    if not fitting.is_number(p) or out is not None:
        named = {} if out is None else {"out": out}
        raise no_such_call("bernoulli", (input, p), named, "Tensor input, *, Generator generator, Tensor out",
                            "Tensor input, float p, *, Generator generator")  # fmt: skip
    return primitives.draw(primitives.bernoulli_like, (input,), (p, generator))


def multinomial(input, num_samples, replacement=False, *, generator=None, out=None):
    """Places drawn by weight, from one row of weights or from each of several.

    >>> _ = torch.manual_seed(0); torch.multinomial(torch.tensor([1., 2., 3., 4.]), 3)
    tensor([2, 1, 3])
    """
    fitting.check_tensor("multinomial", input)
    num_samples = int_argument("multinomial", "num_samples", 2, num_samples)
    generator = _generator("multinomial", generator)
    if isinstance(out, fitting.Tensor) and out._spec.dtype is not dtypes.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {out._spec.dtype.title}")
    result = primitives.draw(primitives.multinomial, (input,), (num_samples, replacement, generator))
    return result if out is None else _write("multinomial", out, (), result._spec.shape, lambda out: out.copy_(result))


def poisson(input, generator=None):
    """How often something happens, for each expected number of times.

    >>> _ = torch.manual_seed(0); torch.poisson(torch.tensor([0., 2., 40.]))
    tensor([ 0.,  6., 37.])
    """
    fitting.check_tensor("poisson", input)
    return primitives.draw(primitives.poisson, (input,), (_generator("poisson", generator),))


def binomial(count, prob, generator=None):
    """How many of `count` trials succeed, each with its chance.

    >>> _ = torch.manual_seed(0); torch.binomial(torch.tensor([10., 100.]), torch.tensor([0.5, 0.3]))
    tensor([ 7., 31.])
    """
    fitting.check_tensor("binomial", count, "count")
    fitting.check_tensor("binomial", prob, "prob", 2)
    return primitives.draw(primitives.binomial, (count, prob), (_generator("binomial", generator),))


# Filling in place


def _fill(name, fill, target, numbers, generator):
    return primitives.draw(fill, (target,), (_generator(name, generator), numbers), inplace=True)


class RandomMixin:
    """Random fills as methods."""

    __slots__ = ()

    bernoulli, multinomial = bernoulli, multinomial

    def uniform_(self, *args, generator=None, **named):
        """Fill with numbers spread evenly between two numbers (`from`, 0; `to`, 1).

        >>> _ = torch.manual_seed(0); torch.zeros(3).uniform_(-1, 1)
        tensor([-0.0075,  0.5364, -0.8230])
        """
        # `from` cannot be the name of a parameter in Python.
        low, high = _two("uniform_", args, named, ("from", "to"), (0.0, 1.0))
        limits = float_argument("uniform_", "from", 1, low), float_argument("uniform_", "to", 2, high)
        return _fill("uniform_", primitives.uniform, self, limits, generator)

    def normal_(self, mean=0.0, std=1.0, *, generator=None):
        """Fill with normal numbers.

        >>> _ = torch.manual_seed(0); torch.zeros(3).normal_()
        tensor([ 1.5410, -0.2934, -2.1788])
        """
        numbers = float_argument("normal_", "mean", 1, mean), float_argument("normal_", "std", 2, std)
        return _fill("normal_", primitives.normal, self, numbers, generator)

    def random_(self, *args, generator=None, **named):
        """Fill with integers: below `to`, from `from` to below `to`, or all that the dtype counts without a gap.

        >>> _ = torch.manual_seed(0); torch.zeros(5).random_(10)
        tensor([4., 9., 3., 0., 3.])
        """
        if len(args) > 2:
            raise TypeError(f"random_() takes 2 positional arguments but {len(args)} were given")
        if len(args) == 1 and not named:
            low, high = None, args[0]
        else:
            low, high = _two("random_", args, named, ("from", "to"), (None, None))
        given = [*args, *named.values()]
        if (given and not is_int(given[0])) or not (high is None or is_int(high)):
            raise no_such_call("random_", args, named, "*, Generator generator", "int from, int to", "int to")
        if not given:
            return _fill("random_", primitives.integers, self, (), generator)
        high = None if high is None else operator.index(high)
        if low is None:
            return _fill("random_", primitives.integers_below, self, (0, high), generator)
        return _fill("random_", primitives.integers_between, self, (operator.index(low), high), generator)

    def bernoulli_(self, p=0.5, *, generator=None):
        """Fill with ones (with probability p, a number or a tensor) and zeros.

        >>> _ = torch.manual_seed(0); torch.zeros(5).bernoulli_(0.8)
        tensor([0., 1., 1., 0., 1.])
        """
        if isinstance(p, fitting.Tensor):
            p.detach().expand(self._spec.shape)  # raises the error of a shape that does not fit
            generator = _generator("bernoulli_", generator)
            return primitives.draw(primitives.bernoulli_tensor, (self, p), (generator,), inplace=True)
        if not fitting.is_number(p) or isinstance(p, complex):
            raise no_such_call(
                "bernoulli_", (p,), {}, "Tensor p, *, Generator generator", "float p = 0.5, *, Generator generator"
            )
        return _fill("bernoulli_", primitives.bernoulli_number, self, (p,), generator)

    def exponential_(self, lambd=1.0, *, generator=None):
        """Fill with waiting times at a rate.

        >>> _ = torch.manual_seed(0); torch.zeros(2).exponential_()
        tensor([3.5083, 1.2304])
        """
        numbers = (float_argument("exponential_", "lambd", 1, lambd),)
        return _fill("exponential_", primitives.exponential, self, numbers, generator)

    def cauchy_(self, median=0.0, sigma=1.0, *, generator=None):
        """Fill with Cauchy numbers.

        >>> _ = torch.manual_seed(0); torch.zeros(2).cauchy_()
        tensor([10.5977,  0.7648])
        """
        numbers = float_argument("cauchy_", "median", 1, median), float_argument("cauchy_", "sigma", 2, sigma)
        return _fill("cauchy_", primitives.cauchy, self, numbers, generator)

    def log_normal_(self, mean=1.0, std=2.0, *, generator=None):
        """Fill with exponentials of normal numbers.

        >>> _ = torch.manual_seed(0); torch.zeros(2).log_normal_()
        tensor([59.2634,  1.5116])
        """
        numbers = float_argument("log_normal_", "mean", 1, mean), float_argument("log_normal_", "std", 2, std)
        return _fill("log_normal_", primitives.log_normal, self, numbers, generator)

    def geometric_(self, p, *, generator=None):
        """Fill with the number of trials up to the first success, each of probability p.

        >>> _ = torch.manual_seed(0); torch.zeros(5).geometric_(0.5)
        tensor([1., 1., 2., 1., 1.])
        """
        return _fill("geometric_", primitives.geometric, self, (float_argument("geometric_", "p", 1, p),), generator)


def _two(name, args, named, names, defaults):
    """Two numbers given by place or by name, one of whose names Python keeps for itself."""
    if len(args) > 2:
        raise TypeError(f"{name}() takes from 0 to 2 positional arguments but {len(args)} were given")
    values = dict(zip(names, defaults, strict=True))
    values.update(zip(names, args, strict=False))
    for key, value in named.items():
        if key not in values:
            raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
        values[key] = value
    return values.values()
