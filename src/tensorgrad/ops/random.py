"""Random tensors: PyTorch's numbers for PyTorch's seeds. The generators are in tensorgrad/random.py.

All draws go through `_draw`, so that a transform can decide them: vmap makes different numbers for each example, or
the same, or refuses. It appends to `interceptors` a function (primitive, inputs, params, inplace) -> Tensor, or None to
leave the draw alone. Draws from transformed tensors (`bernoulli(p)`, `x.normal_()`) reach the transform by its payload
too; draws without inputs reach it only here. Those are `rand` and its like, whose primitive is `_fresh` with params
(generator, distribution, shape, dtype, numbers), and `randperm`: `_permutation` with (generator, count, dtype).

A fill draws in the order of memory, not of indices, as PyTorch does: `x.t().uniform_()` is `x.uniform_().t()`.
"""

import operator

import numpy as np

from tensorgrad import dtypes
from tensorgrad import random as source
from tensorgrad.autograd import modes
from tensorgrad.ops import creation, fitting
from tensorgrad.ops.both import xp
from tensorgrad.ops.primitive import Primitive

ndarray = np.ndarray
interceptors = []  # innermost last


def _draw(primitive, inputs, params, inplace=False):
    """Every random number comes through here: apply a random primitive, unless an interceptor takes it."""
    for interceptor in reversed(interceptors):
        result = interceptor(primitive, inputs, params, inplace)
        if result is not None:
            return result
    return primitive.inplace(inputs, params) if inplace else primitive.apply(inputs, params)


# The primitives: numbers have no derivative, so the gradients are zero


def _zero(g):
    return xp.zeros_like(g)


def _fresh_kernel(generator, distribution, shape, dtype, numbers):
    return generator.draw(distribution, shape, dtype, *numbers)


_fresh = Primitive("random", _fresh_kernel, arity=0)
_permutation = Primitive("randperm", lambda generator, count, dtype: generator.draw("randperm", count, dtype), arity=0)


def _by_memory(array):
    """The array with its dimensions in the order they have in memory, and that order."""
    order = range(array.ndim)
    if array.flags.c_contiguous:
        return array, order
    order = sorted(order, key=lambda dim: -array.strides[dim])
    return array.transpose(order), order


def _filling(name, distribution, node):
    """The primitive that fills a tensor with numbers of a distribution; `_inplace` makes the method of it."""

    def kernel(x, generator, numbers, inplace=False):
        x = x if inplace else np.empty_like(x)
        place, _ = _by_memory(x)
        if distribution == "normal":
            numbers = (*numbers, x.flags.c_contiguous)
        place[...] = generator.draw(distribution, place.shape, x.dtype, *numbers)
        return x

    return Primitive(name, kernel, mutates=True, node=node, rules={"x": _zero})


_uniform = _filling("uniform_", "uniform", "UniformBackward0")
_normal = _filling("normal_", "normal", "NormalBackward0")
_integers_between = _filling("random_from_to", "randint", "RandomBackward0")
_integers_below = _integers_between.variant("random_to", "RandomBackward1")
_integers = _filling("random_", "random", "RandomBackward2")
_bernoulli_number = _filling("bernoulli_", "bernoulli", "BernoulliBackward2")
_exponential = _filling("exponential_", "exponential", "ExponentialBackward0")
_cauchy = _filling("cauchy_", "cauchy", "CauchyBackward0")
_log_normal = _filling("log_normal_", "log_normal", "LogNormalBackward0")
_geometric = _filling("geometric_", "geometric", "GeometricBackward0")


def _bernoulli_tensor_kernel(x, p, generator, inplace=False):
    x = x if inplace else np.empty_like(x)
    place, order = _by_memory(x)
    place[...] = generator.draw("bernoulli", place.shape, x.dtype, np.broadcast_to(p, x.shape).transpose(tuple(order)))
    return x


_bernoulli_tensor = Primitive(
    "bernoulli_tensor_", _bernoulli_tensor_kernel, arity=2, mutates=True, node="BernoulliBackward1", fit=True,
    params=("generator",), rules={"x": _zero, "p": _zero},
)  # fmt: skip
_bernoulli = Primitive(
    "bernoulli", lambda x, generator: generator.draw("bernoulli", x.shape, x.dtype, x), rules={"x": _zero}
)
_normal_mean = Primitive(
    "normal_mean", lambda x, std, generator: generator.draw("normal_around", x, std),
    node="NormalBackward1", rules={"x": _zero},
)  # fmt: skip
_normal_std = Primitive(
    "normal_std", lambda x, mean, generator: generator.draw("normal_around", mean, x),
    node="NormalBackward2", rules={"x": _zero},
)  # fmt: skip
_normal_both = Primitive(
    "normal_mean_std", lambda a, b, generator: generator.draw("normal_around", a, b), arity=2, fit=True,
    node="NormalBackward3", rules={"a": _zero, "b": _zero},
)  # fmt: skip
_poisson = Primitive("poisson", lambda x, generator: generator.draw("poisson", x), rules={"x": _zero})
_multinomial = Primitive(
    "multinomial", lambda x, samples, replacement, generator: generator.draw("multinomial", x, samples, replacement)
)


def _no_derivative(name):
    def rule(g):
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    return rule


_binomial = Primitive(
    "binomial", lambda a, b, generator: generator.draw("binomial", a, b), arity=2, node="NotImplemented",
    rules={"a": _no_derivative("binomial"), "b": _no_derivative("binomial")},
)  # fmt: skip
_bernoulli_like = Primitive(
    "bernoulli_like", lambda x, p, generator: generator.draw("bernoulli", x.shape, x.dtype, p), node="NotImplemented",
    rules={"x": _no_derivative("bernoulli")},
)  # fmt: skip

FILLS = {"uniform": _uniform, "normal": _normal, "randint": _integers_between}  # that `out=` is filled with

# Arguments


def _generator(name, generator):
    if generator is None:
        return source.default_generator
    if not isinstance(generator, source.Generator):
        raise TypeError(f"{name}(): argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    return generator


def _wrong_type(name, argument, position, expected, value):
    found = type(value).__name__
    return TypeError(f"{name}(): argument '{argument}' (position {position}) must be {expected}, not {found}")


def _float(name, argument, position, value):
    """A number, or a tensor of one that has no gradient, where PyTorch takes a float."""
    if isinstance(value, fitting.Tensor) and not value._spec.shape and value._node is None:
        value = value.item()
    if not fitting.is_number(value) or isinstance(value, complex):
        raise _wrong_type(name, argument, position, "float", value)
    return value


def _is_int(value):
    if isinstance(value, fitting.Tensor):
        return value._spec.size == 1 and value._spec.dtype.category == dtypes.INTEGER
    return hasattr(value, "__index__") and not isinstance(value, (bool, np.bool_))


def _int(name, argument, position, value):
    if not _is_int(value):
        raise _wrong_type(name, argument, position, "int", value)
    return operator.index(value)


def _no_such_call(name, args, kwargs, *forms):
    """The TypeError for arguments that fit none of a function's forms."""
    got = [type(arg).__name__ for arg in args] + [f"{key}={type(arg).__name__}" for key, arg in kwargs.items()]
    lines = "".join(f"\n * ({form})" for form in forms)
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({', '.join(got)}), but expected one of:{lines}\n"
    )


# New tensors


def _new(name, draw, fill, out, dtype, default, options):
    """A new tensor from `draw(NumPy dtype)`, or `fill(out)`; the options are those of `creation.finished`."""
    requires_grad = options[1]
    if out is None:
        result = draw(creation.numpy_dtype(dtype, default))
        if type(result._array) is ndarray:
            return creation.finished(result._array, None, *options)
        return result.requires_grad_() if requires_grad else result
    if not isinstance(out, fitting.Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if dtype is not None:
        dtype = dtypes.of_numpy(creation.numpy_dtype(dtype))
        if dtype is not out._spec.dtype:
            raise RuntimeError(f"dtype {dtype.title} does not match dtype of out parameter ({out._spec.dtype.title})")
    if modes.is_grad_enabled() and out._node is not None:
        raise RuntimeError(
            f"aten::{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    with modes.no_grad():
        fill(out)
    return out.requires_grad_() if requires_grad else out


def _made(name, distribution, shape, numbers, generator, out, dtype, default, options):
    """A new tensor, or `out`, of numbers from a distribution."""
    generator = _generator(name, generator)

    def draw(array_dtype):
        return _draw(_fresh, (), (generator, distribution, shape, array_dtype, numbers))

    def fill(out):
        if out._spec.shape != shape:
            out.resize_(shape)
        _draw(FILLS[distribution], (out,), (generator, numbers), inplace=True)

    return _new(name, draw, fill, out, dtype, default, options)


def _sized(name, size, more):
    """The shape that `f(2, 3)`, `f((2, 3))` or `f(size=(2, 3))` asks for."""
    if "size" in more and not size:
        size = (more.pop("size"),)
    if more or not size or (len(size) > 1 and isinstance(size[0], (tuple, list))):
        raise _no_such_call(name, size, more, "tuple of ints size, *, Generator generator, Tensor out, dtype dtype")
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
    if high is None:
        return None
    position = 2 if low is not None else 1
    return (0 if low is None else _int(name, "low", 1, low)), _int(name, "high", position, high)


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
        named = {key: value for key, value in (("low", low), ("high", high)) if value is not None}
        raise _no_such_call(
            "randint", given, named, "int high, tuple of ints size", "int low, int high, tuple of ints size"
        )
    shape = creation._shape((size,), "randint")
    options = device, requires_grad, layout, pin_memory, names
    return _made("randint", "randint", shape, limits, generator, out, dtype, dtypes.int64, options)


def randperm(n, *, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
             pin_memory=False):  # fmt: skip
    """The integers below n in random order.

    >>> _ = torch.manual_seed(0); torch.randperm(5)
    tensor([4, 0, 1, 3, 2])
    """
    generator, n = _generator("randperm", generator), _int("randperm", "n", 1, n)

    def draw(array_dtype):
        return _draw(_permutation, (), (generator, n, array_dtype))

    def fill(out):
        result = draw(out._spec.dtype.numpy)
        if out._spec.shape != (n,):
            out.resize_((n,))
        out.copy_(result)

    options = device, requires_grad, layout, pin_memory, None
    return _new("randperm", draw, fill, out, dtype, dtypes.int64, options)


def _like(name, input, fill, numbers, generator, requires_grad, **options):
    """A new tensor in the shape of another, filled; `options` are those of `empty_like`."""
    generator = _generator(name, generator)
    fitting.check_tensor(name, input)
    result = creation.empty_like(input, **options)
    _draw(fill, (result,), (generator, numbers), inplace=True)
    return result.requires_grad_() if requires_grad else result


def rand_like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None,
              pin_memory=False):  # fmt: skip
    """Numbers from 0 to 1 in the shape of another tensor.

    >>> _ = torch.manual_seed(0); torch.rand_like(torch.zeros(2))
    tensor([0.4963, 0.7682])
    """
    return _like("rand_like", input, _uniform, (), generator, requires_grad, dtype=dtype, layout=layout, device=device,
                 memory_format=memory_format, pin_memory=pin_memory)  # fmt: skip


def randn_like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None,
               pin_memory=False):  # fmt: skip
    """Normal numbers in the shape of another tensor.

    >>> _ = torch.manual_seed(0); torch.randn_like(torch.zeros(2))
    tensor([ 1.5410, -0.2934])
    """
    return _like("randn_like", input, _normal, (0.0, 1.0), generator, requires_grad, dtype=dtype, layout=layout,
                 device=device, memory_format=memory_format, pin_memory=pin_memory)  # fmt: skip


def randint_like(input, *args, low=None, high=None, generator=None, dtype=None, layout=None, device=None,
                 requires_grad=False, memory_format=None, pin_memory=False):  # fmt: skip
    """Integers from low (0) to high, high not included, in the shape of another tensor.

    >>> _ = torch.manual_seed(0); torch.randint_like(torch.zeros(3), 10)
    tensor([4., 9., 3.])
    """
    fitting.check_tensor("randint_like", input)
    limits = _range("randint_like", args, low, high)
    if limits is None:
        raise _no_such_call(
            "randint_like", (input, *args), {}, "Tensor input, int high", "Tensor input, int low, int high"
        )
    return _like("randint_like", input, _integers_between, limits, generator, requires_grad, dtype=dtype, layout=layout,
                 device=device, memory_format=memory_format, pin_memory=pin_memory)  # fmt: skip


# Numbers that depend on tensors


def _result(name, primitive, inputs, params, out):
    """Apply a random primitive to tensors, into `out` if there is one."""
    if out is None:
        return _draw(primitive, inputs, params)
    return fitting.write_out(out, name, inputs, lambda: _draw(primitive, inputs, params))


def normal(mean=0.0, std=1.0, size=None, *, generator=None, out=None, dtype=None, layout=None, device=None,
           requires_grad=False, pin_memory=False):  # fmt: skip
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
            raise _no_such_call("normal", (mean, std), {"size": size}, *_NORMAL_FORMS)
        limits = _float("normal", "mean", 1, mean), _float("normal", "std", 2, std)
        shape, options = creation._shape((size,), "normal"), (device, requires_grad, layout, pin_memory, None)
        return _made("normal", "normal", shape, limits, generator, out, dtype, None, options)
    if not any(tensors) or not all(t or n for t, n in zip(tensors, numbers, strict=True)):
        raise _no_such_call("normal", (mean, std), {}, *_NORMAL_FORMS)
    generator = _generator("normal", generator)
    if all(tensors):
        return _result("normal", _normal_both, (mean, std), (generator,), out)
    if tensors[0]:
        return _result("normal", _normal_mean, (mean,), (std, generator), out)
    return _result("normal", _normal_std, (std,), (mean, generator), out)


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
    if p is None:
        return _result("bernoulli", _bernoulli, (input,), (generator,), out)
    if not fitting.is_number(p):
        raise _no_such_call("bernoulli", (input, p), {}, "Tensor input, *, Generator generator, Tensor out",
                            "Tensor input, float p, *, Generator generator")  # fmt: skip
    return _result("bernoulli", _bernoulli_like, (input,), (p, generator), out)


def multinomial(input, num_samples, replacement=False, *, generator=None, out=None):
    """Places drawn by weight, from one row of weights or from each of several.

    >>> _ = torch.manual_seed(0); torch.multinomial(torch.tensor([1., 2., 3., 4.]), 3)
    tensor([2, 1, 3])
    """
    fitting.check_tensor("multinomial", input)
    num_samples = _int("multinomial", "num_samples", 2, num_samples)
    generator = _generator("multinomial", generator)
    if out is not None and isinstance(out, fitting.Tensor) and out._spec.dtype is not dtypes.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {out._spec.dtype.title}")
    return _result("multinomial", _multinomial, (input,), (num_samples, replacement, generator), out)


def poisson(input, generator=None):
    """How often something happens, for each expected number of times.

    >>> _ = torch.manual_seed(0); torch.poisson(torch.tensor([0., 2., 40.]))
    tensor([ 0.,  6., 37.])
    """
    fitting.check_tensor("poisson", input)
    return _draw(_poisson, (input,), (_generator("poisson", generator),))


def binomial(count, prob, generator=None):
    """How many of `count` trials succeed, each with its chance.

    >>> _ = torch.manual_seed(0); torch.binomial(torch.tensor([10., 100.]), torch.tensor([0.5, 0.3]))
    tensor([ 7., 31.])
    """
    fitting.check_tensor("binomial", count, "count")
    fitting.check_tensor("binomial", prob, "prob", 2)
    return _draw(_binomial, (count, prob), (_generator("binomial", generator),))


# Filling in place


def _fill(name, fill, target, numbers, generator):
    return _draw(fill, (target,), (_generator(name, generator), numbers), inplace=True)


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
        limits = _float("uniform_", "from", 1, low), _float("uniform_", "to", 2, high)
        return _fill("uniform_", _uniform, self, limits, generator)

    def normal_(self, mean=0.0, std=1.0, *, generator=None):
        """Fill with normal numbers.

        >>> _ = torch.manual_seed(0); torch.zeros(3).normal_()
        tensor([ 1.5410, -0.2934, -2.1788])
        """
        numbers = _float("normal_", "mean", 1, mean), _float("normal_", "std", 2, std)
        return _fill("normal_", _normal, self, numbers, generator)

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
        if (given and not _is_int(given[0])) or not (high is None or _is_int(high)):
            raise _no_such_call("random_", args, named, "*, Generator generator", "int from, int to", "int to")
        if not given:
            return _fill("random_", _integers, self, (), generator)
        high = None if high is None else operator.index(high)
        if low is None:
            return _fill("random_", _integers_below, self, (0, high), generator)
        return _fill("random_", _integers_between, self, (operator.index(low), high), generator)

    def bernoulli_(self, p=0.5, *, generator=None):
        """Fill with ones (with probability p, a number or a tensor) and zeros.

        >>> _ = torch.manual_seed(0); torch.zeros(5).bernoulli_(0.8)
        tensor([0., 1., 1., 0., 1.])
        """
        if isinstance(p, fitting.Tensor):
            p.detach().expand(self._spec.shape)  # raises the error of a shape that does not fit
            return _draw(_bernoulli_tensor, (self, p), (_generator("bernoulli_", generator),), inplace=True)
        if not fitting.is_number(p) or isinstance(p, complex):
            raise _no_such_call(
                "bernoulli_", (p,), {}, "Tensor p, *, Generator generator", "float p = 0.5, *, Generator generator"
            )
        return _fill("bernoulli_", _bernoulli_number, self, (p,), generator)

    def exponential_(self, lambd=1.0, *, generator=None):
        """Fill with waiting times at a rate.

        >>> _ = torch.manual_seed(0); torch.zeros(2).exponential_()
        tensor([3.5083, 1.2304])
        """
        return _fill("exponential_", _exponential, self, (_float("exponential_", "lambd", 1, lambd),), generator)

    def cauchy_(self, median=0.0, sigma=1.0, *, generator=None):
        """Fill with Cauchy numbers.

        >>> _ = torch.manual_seed(0); torch.zeros(2).cauchy_()
        tensor([10.5977,  0.7648])
        """
        numbers = _float("cauchy_", "median", 1, median), _float("cauchy_", "sigma", 2, sigma)
        return _fill("cauchy_", _cauchy, self, numbers, generator)

    def log_normal_(self, mean=1.0, std=2.0, *, generator=None):
        """Fill with exponentials of normal numbers.

        >>> _ = torch.manual_seed(0); torch.zeros(2).log_normal_()
        tensor([59.2634,  1.5116])
        """
        numbers = _float("log_normal_", "mean", 1, mean), _float("log_normal_", "std", 2, std)
        return _fill("log_normal_", _log_normal, self, numbers, generator)

    def geometric_(self, p, *, generator=None):
        """Fill with the number of trials up to the first success, each of probability p.

        >>> _ = torch.manual_seed(0); torch.zeros(5).geometric_(0.5)
        tensor([1., 1., 2., 1., 1.])
        """
        return _fill("geometric_", _geometric, self, (_float("geometric_", "p", 1, p),), generator)


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
