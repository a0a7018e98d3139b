"""The primitives that draw random numbers, and the one way to them, which a transform can watch.

All draws go through `draw`, so that a transform can decide them: vmap makes different numbers for each example, or
the same, or refuses. It appends to `interceptors` a function (primitive, inputs, params, inplace) -> Tensor, or None to
leave the draw alone. Draws from transformed tensors (`bernoulli(p)`, `x.normal_()`) reach the transform by its payload
too; draws without inputs reach it only here. Those are `rand` and its like, whose primitive is `fresh` with params
(generator, distribution, shape, dtype, numbers), and `randperm`: `permutation` with (generator, count, dtype).

A fill draws in the order of memory, not of indices, as PyTorch does: `x.t().uniform_()` is `x.uniform_().t()`.
"""

import numpy as np

from tensorgrad.ops.both import xp
from tensorgrad.ops.primitive import Primitive

interceptors = []  # innermost last


def draw(primitive, inputs, params, inplace=False):
    """Every random number comes through here: apply a random primitive, unless an interceptor takes it."""
    for interceptor in interceptors[::-1]:
        result = interceptor(primitive, inputs, params, inplace)
        if result is not None:
            return result
    return primitive.inplace(inputs, params) if inplace else primitive.apply(inputs, params)


# The primitives: numbers have no derivative, so the gradients are zero


def _zero(g):
    return xp.zeros_like(g)


def _fresh_kernel(generator, distribution, shape, dtype, numbers):
    return generator.draw(distribution, shape, dtype, *numbers)


fresh = Primitive("random", _fresh_kernel, arity=0)
permutation = Primitive("randperm", lambda generator, count, dtype: generator.draw("randperm", count, dtype), arity=0)


def _by_memory(array):
    """The array with its dimensions in the order they have in memory, and that order."""
    order = range(array.ndim)
    if array.flags.c_contiguous:
        return array, order
    order = sorted(order, key=lambda dim: -array.strides[dim])
    return array.transpose(order), order


def _filling(name, distribution, node):
    """The primitive that fills a tensor with numbers of a distribution, a method of backends.random.Stream."""

    def kernel(x, generator, numbers, inplace=False):
        x = x if inplace else np.empty_like(x)
        place, _ = _by_memory(x)
        if distribution == "normal":
            numbers = (*numbers, x.flags.c_contiguous)
        place[...] = generator.draw(distribution, place.shape, x.dtype, *numbers)
        return x

    return Primitive(name, kernel, mutates=True, node=node, rules={"x": _zero})


uniform = _filling("uniform_", "uniform", "UniformBackward0")
normal = _filling("normal_", "normal", "NormalBackward0")
integers_between = _filling("random_from_to", "randint", "RandomBackward0")
integers_below = integers_between.variant("random_to", "RandomBackward1")
integers = _filling("random_", "random", "RandomBackward2")
bernoulli_number = _filling("bernoulli_", "bernoulli", "BernoulliBackward2")
exponential = _filling("exponential_", "exponential", "ExponentialBackward0")
cauchy = _filling("cauchy_", "cauchy", "CauchyBackward0")
log_normal = _filling("log_normal_", "log_normal", "LogNormalBackward0")
geometric = _filling("geometric_", "geometric", "GeometricBackward0")


def _bernoulli_tensor_kernel(x, p, generator, inplace=False):
    x = x if inplace else np.empty_like(x)
    place, order = _by_memory(x)
    place[...] = generator.draw("bernoulli", place.shape, x.dtype, np.broadcast_to(p, x.shape).transpose(tuple(order)))
    return x


bernoulli_tensor = Primitive(
    "bernoulli_tensor_", _bernoulli_tensor_kernel, arity=2, mutates=True, node="BernoulliBackward1", fit=True,
    params=("generator",), rules={"x": _zero, "p": _zero},
)  # fmt: skip
bernoulli = Primitive(
    "bernoulli", lambda x, generator: generator.draw("bernoulli", x.shape, x.dtype, x), rules={"x": _zero}
)
normal_mean = Primitive(
    "normal_mean", lambda x, std, generator: generator.draw("normal_around", x, std),
    node="NormalBackward1", rules={"x": _zero},
)  # fmt: skip
normal_std = Primitive(
    "normal_std", lambda x, mean, generator: generator.draw("normal_around", mean, x),
    node="NormalBackward2", rules={"x": _zero},
)  # fmt: skip
normal_both = Primitive(
    "normal_mean_std", lambda a, b, generator: generator.draw("normal_around", a, b), arity=2, fit=True,
    node="NormalBackward3", rules={"a": _zero, "b": _zero},
)  # fmt: skip
poisson = Primitive("poisson", lambda x, generator: generator.draw("poisson", x), rules={"x": _zero})
multinomial = Primitive(
    "multinomial",
    lambda x, samples, replacement, generator: np.ascontiguousarray(
        generator.draw("multinomial", x, samples, replacement)
    ),
)


def _no_derivative(name):
    def rule(g):
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    return rule


binomial = Primitive(
    "binomial", lambda a, b, generator: generator.draw("binomial", a, b), arity=2, node="NotImplemented",
    rules={"a": _no_derivative("binomial"), "b": _no_derivative("binomial")},
)  # fmt: skip
bernoulli_like = Primitive(
    "bernoulli_like", lambda x, p, generator: generator.draw("bernoulli", x.shape, x.dtype, p), node="NotImplemented",
    rules={"x": _no_derivative("bernoulli")},
)  # fmt: skip

FILLS = {"uniform": uniform, "normal": normal, "randint": integers_between}  # that `out=` is filled with
