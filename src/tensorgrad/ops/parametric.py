"""Pointwise operations of one tensor with numbers beside it, such as leaky_relu with its slope.

    _leaky_relu = parametric("leaky_relu", kernel, slope=lambda x, negative_slope: ..., params="negative_slope")
    _leaky_relu(x, 0.01)

The kernel takes the array and then the numbers; the slope names what it needs of `x`, `y` and the numbers.
"""

import numpy as np

from tensorgrad.autograd.graph import tick
from tensorgrad.autograd.modes import mode, state
from tensorgrad.autograd.views import check_saved
from tensorgrad.backends import native
from tensorgrad.ops import fitting
from tensorgrad.ops.pointwise import FastUnary, Pointwise, published, times_on_tensors
from tensorgrad.ops.primitive import wrap
from tensorgrad.spec import known_specs, spec_of

ndarray, new = np.ndarray, object.__new__


def parametric(name, kernel, slope=None, params="", *, promote="same", node=None, doc=None, **options):
    """Declare such an operation; returns its function (input, *numbers, out=None), whose `inplace` writes into the input.

    >>> shifted = tensorgrad.ops.parametric.parametric("shifted", lambda x, by: x + by, lambda: 1, "by")
    >>> shifted(torch.tensor([1., 2.]), 3)
    tensor([4., 5.])
    """
    params = tuple(params.split())
    slopes = None if slope is None else (slope,)
    kernel = native.fused(kernel)
    pulled = None if slope is None else native.fused_gradient(slope)
    primitive = Pointwise(name, kernel, slopes, ("x",), params=params, promote=promote, node=node, **options)
    words = slope.__code__.co_varnames[: slope.__code__.co_argcount] if slope else ()
    x_at = words.index("x") if "x" in words else None
    y_at = words.index("y") if "y" in words else None
    saves = [-1 if word == "x" else -2 if word == "y" else params.index(word) for word in words]
    quick = primitive.floating and promote != "bool" and options.get("pullback") is None

    class FastParametric(FastUnary):
        __slots__ = ()
        frees = x_at is not None or y_at is not None
        saved_outputs = () if y_at is None else (y_at,)
        saved_names = {{"x": "self", "y": "result"}.get(word, word): at for at, word in enumerate(words)}

        def backward(self, g, saved):
            values = list(saved)
            if x_at is not None:
                x = values[x_at]
                if x._alias is not None:
                    check_saved(x, self)
                values[x_at] = x._array
            return (pulled(g, *values),)

        def backward_tensors(self, g, saved):
            return (times_on_tensors(g, slope(*[self.opened(value) for value in saved])),)

        def opened(self, value):
            return value if value is None or fitting.is_number(value) else self.tensor_of(value)

        def show_saved(self, position):
            return self.opened(self.saved[position])

        def generalize(self):
            values = dict(zip(words, self.saved, strict=True))
            x = wrap(values["y"]) if x_at is None else values["x"]
            numbers = tuple(values.get(word) for word in params)
            self.saved = primitive.saver()((x,), numbers, self.edges, values.get("y"))
            self.__class__ = primitive.node_class

    FastParametric.primitive = primitive
    FastParametric.__name__ = FastParametric.__qualname__ = primitive.node_name

    def checked(input, numbers):
        fitting.check_tensor(name, input)
        return tuple(
            number_of(name, word, number, i + 2) for i, (word, number) in enumerate(zip(params, numbers, strict=True))
        )

    def function(input, *numbers, out=None):
        try:
            spec = input._spec
        except AttributeError:
            raise fitting.must_be_tensor(name, input) from None
        for number in numbers:
            if type(number) is not float and type(number) is not int and number is not None:
                numbers = checked(input, numbers)
        if spec.fast and quick and out is None and not mode.special:
            array = kernel(input._array, *numbers)
            if type(array) is not ndarray:
                array = np.asarray(array)
            result = new(fitting.Tensor)
            result._array, result._alias = array, None
            result._spec = known_specs.get((array.shape, array.dtype)) or spec_of(array)
            edge = input._node
            if edge is None or slope is None or (mode.quiet and not state.recording):
                result._node = None
                return result
            result._node = node = new(FastParametric)
            node.seq, node.edges, node.extra = tick(), (edge,), None
            node.saved = tuple([input if at == -1 else array if at == -2 else numbers[at] for at in saves])
            return result
        return primitive.slow((input,), out, numbers)

    def inplace(input, *numbers):
        return primitive.write((input,), checked(input, numbers))

    published(function, name, primitive, doc)
    function.inplace = inplace
    return function


def number_of(name, word, value, position):
    """A Python number; a 0-d tensor that needs no gradient counts as one, None stays None."""
    if value is None or fitting.is_number(value):
        return value
    if isinstance(value, fitting.Tensor) and not value._spec.shape and value._node is None:
        return value.item()
    raise TypeError(f"{name}(): argument '{word}' (position {position}) must be Number, not {fitting.kind_name(value)}")
