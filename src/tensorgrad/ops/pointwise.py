"""Pointwise operations: one number out for each number in, and the hot path of the whole engine.

`unary` and `binary` return the public function of an operation as a closure that holds all it needs. Its usual case, one
shape and one real floating dtype, is decided by a single identity test (see spec.py); everything else, promotion,
integers, complex numbers, large arrays, transforms, modes, goes to `Pointwise.slow`. What is repeated here is repeated
because a Python call costs a tenth of a small operation.
"""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.autograd.graph import Node, tick
from tensorgrad.autograd.modes import mode, state
from tensorgrad.autograd.views import alias_of, check_saved
from tensorgrad.backends import native
from tensorgrad.backends.choosing import times
from tensorgrad.dtypes import FLOAT, result_dtype
from tensorgrad.ops import fitting
from tensorgrad.ops.fitting import broadcast_error, is_number, must_be_tensor, number_array, write_out
from tensorgrad.ops.primitive import Primitive, intercept, settled, transformed, wrap
from tensorgrad.spec import LARGE

ndarray, asarray, new = np.ndarray, np.asarray, object.__new__
FLOAT32 = np.dtype(np.float32)
Tensor = None  # set by tensorgrad.tensor


class Pointwise(Primitive):
    """A Primitive on elements: broadcasts, promotes, and has a fast path.

    promote: "same" (the common dtype), "whole" (bool becomes int64), "float" (integers become floats), "bool" (compares in
    the common dtype).
    params: numbers that the kernel takes after its operands and that slopes may name (see parametric.py). Half types are
    computed in float32 and rounded once; `halves=False`: the kernel is about the very bits of a number.
    wide: beside half types a number, or a 0-d tensor as second operand, is not rounded to the half type.
    """

    numbers = "either"
    wide = False

    def __init__(self, name, kernel, slopes, inputs, *, promote="same", integer=True, boolean=True, floating=True,
                 complex=True, conjugate=True, check=None, number_node=None, pullback=None, params=(), halves=True,
                 **options):  # fmt: skip
        self.slopes, self.promote, self.complex, self.check, self.halves = slopes, promote, complex, check, halves
        if pullback is not None:  # not holomorphic: the rule for complex numbers is no slope
            pullback.words = pullback.__code__.co_varnames[1 : pullback.__code__.co_argcount]
        self.integer, self.boolean, self.floating = integer, boolean, floating
        self.holomorphic = pullback is None and conjugate
        rules = {}
        for word, slope in zip(inputs, slopes or (), strict=False):
            if slope is not None:
                rules[word] = pullback or slope_rule(slope, conjugate)
        options.setdefault("fresh", pullback is None and all(rule.words for rule in rules.values()))
        super().__init__(
            name, kernel, rules=rules, inputs=inputs, arity=len(inputs), params=params, fit=True, **options
        )
        self.with_number = self.variant(name + ".number", number_node) if number_node else self
        self.with_number.with_number = self.with_number

    def slow(self, operands, out=None, params=()):
        """Everything that the fast path does not do: promotion, broadcasting, numbers, transforms, out=."""
        if out is not None:
            return write_out(out, self.name, operands, lambda: self.slow(operands, None, params))
        for operand in operands:
            if isinstance(operand, Tensor) and type(operand._array) is not ndarray:
                return transformed(self, operands, params)
        if mode.special:
            intercepted = intercept(self, operands, params)
            if intercepted is not None:
                return intercepted
        result = wrap(self.compute(operands, params))
        if self.plans and (not mode.quiet or state.recording) and result._spec.dtype.category >= FLOAT:
            edges = [t._node if isinstance(t, Tensor) else None for t in operands]
            if edges.count(None) != len(edges):
                result._node = self.recorder(operands).record(operands, params, edges, result._array)
        return result if not mode.special else settled(result)

    def __call__(self, *args):
        return self.slow(args[: self.arity], None, args[self.arity :])

    def apply(self, inputs, params):
        return self.slow(inputs, None, params)

    def broadcast(self, a, b):
        """Two plain tensors of one dtype and different shapes."""
        try:
            array = self.kernel(a._array, b._array)
        except ValueError as error:
            raise broadcast_error((a, b)) or error from None
        result, left, right = wrap(array), a._node, b._node
        if (left is not None or right is not None) and self.plans and (not mode.quiet or state.recording):
            result._node = self.record((a, b), (), (left, right), result._array)
        return result

    def compute(self, operands, params=()):
        """The result as an array, promoted and broadcast as PyTorch does."""
        if self.check is not None:
            self.check(operands)
        common = self.common_dtype(operands)
        arrays = []
        half = self.halves and common.itemsize == 2 and common.category == FLOAT
        scalar = dtypes.float32 if half and self.wide else common
        for operand in operands:
            if isinstance(operand, Tensor):
                array, dtype = operand._array, common if operand._spec.shape or not arrays else scalar
                arrays.append(array if operand._spec.dtype is dtype else array.astype(dtype.numpy))
            elif is_number(operand):
                arrays.append(number_array(operand, scalar))
            else:
                raise fitting.wrong_arguments(self.name, operands)
        if half:
            arrays = [array.astype(FLOAT32) for array in arrays]
        try:
            if (arrays[0].size >= LARGE or arrays[-1].size >= LARGE) and type(arrays[0]) is ndarray:
                result = native.large(self.kernel, arrays, params)
            else:
                result = self.kernel(*arrays, *params)
        except ValueError as error:
            raise broadcast_error(operands) or error from None
        except TypeError:
            raise NotImplementedError(f"\"{self.name}_cpu\" not implemented for '{common.title}'") from None
        if type(result) is not ndarray:
            result = asarray(result)
        if self.promote == "bool" or result.dtype == common.numpy or result.dtype.kind == "b":
            return result
        return result if common.is_complex and result.dtype.kind == "f" else result.astype(common.numpy)

    def common_dtype(self, operands):
        first, other = operands[0], operands[-1]
        if len(operands) > 2 or type(first) is not Tensor:
            common = result_dtype(operands)
        else:
            common, kind = first._spec.dtype, type(other)
            if not (other._spec.dtype is common if kind is Tensor else kind is int and common.category):
                common = result_dtype(operands)
        if self.promote == "float" and common.category < FLOAT:
            return dtypes.get_default_dtype()
        if self.promote == "whole" and common.category == 0:
            return dtypes.int64
        if (
            (common.category == 1 and not self.integer)
            or (common.category == 0 and not self.boolean)
            or (common.category >= FLOAT and not self.floating)
            or (common.is_complex and not self.complex)
        ):
            raise NotImplementedError(f"\"{self.name}_cpu\" not implemented for '{common.title}'")
        return common

    def write(self, operands, params=()):
        """The in-place form."""
        target = operands[0]
        fitting.check_inplace_dtype(target, self.result_dtype(operands))
        return self.inplace(operands, params, compute=lambda: self.compute(operands, params))

    def rewrite(self, inputs, params):
        return self.write(inputs, params)

    def pull(self, edges, g, values, specs, fit):
        if fit is fitting.fit_array and g.dtype.itemsize == 2:  # half types here too
            g, values = g.astype(FLOAT32), [widened(value) for value in values]
        elif fit is fitting.fit_tensor and values:
            for value in (g, *values):
                if isinstance(value, Tensor) and type(value._array) is not ndarray:
                    gradients = value._array.pull_elements(self, edges, g, values, specs)
                    if gradients is not None:
                        return gradients
                    break
        return super().pull(edges, g, values, specs, fit)

    def recorder(self, inputs):
        return self if isinstance(inputs[-1], Tensor) else self.with_number

    def result_dtype(self, operands):
        return dtypes.bool_ if self.promote == "bool" else self.common_dtype(operands)


def widened(value):
    """A half-precision array as float32; anything else as it is."""
    return (
        value.astype(FLOAT32)
        if type(value) is ndarray and value.dtype.itemsize == 2 and value.dtype.kind in "fV"
        else value
    )


def times_on_tensors(g, slope):
    """g times a slope; where the slope is a mask, what it leaves out is 0."""
    if isinstance(slope, Tensor) and slope._spec.dtype is dtypes.bool_:
        from tensorgrad import where

        return where(slope, g, 0)
    return g * slope


def slope_rule(slope, conjugate):
    """The gradient rule of a slope: g times its conjugate."""
    words = slope.__code__.co_varnames[: slope.__code__.co_argcount]
    pulled = native.fused_gradient(slope)

    def rule(g, *values):
        if words and type(g) is ndarray and g.size >= LARGE and g.dtype.kind == "f":
            return pulled(g, *values)
        factor = slope(*values)
        if type(factor) is int and factor == 1:
            return g * 1 if words else g  # new memory where the node says so (x * 1), else the same
        if isinstance(factor, Tensor):
            if conjugate and factor._spec.dtype.is_complex:
                factor = factor.conj()
            return times_on_tensors(g, factor)
        elif conjugate and (type(factor) is complex or getattr(factor, "dtype", FLOAT32).kind == "c"):
            factor = factor.conjugate()
        return times(g, factor)

    rule.words = words
    return rule


def unary(name, kernel, slope=None, *, doc=None, promote="float", node=None, **options):
    """Declare a pointwise operation of one tensor; returns its public function.

    >>> cube = tensorgrad.ops.unary("cube", lambda x: x * x * x, slope=lambda x: 3 * x * x)
    >>> x = torch.tensor(2., requires_grad=True); cube(x).backward(); x.grad
    tensor(12.)
    """
    if not isinstance(kernel, np.ufunc) and promote != "bool":
        kernel = native.fused(kernel)
    primitive = Pointwise(
        name, kernel, None if slope is None else (slope,), ("x",), promote=promote, node=node, **options
    )
    words = slope.__code__.co_varnames[: slope.__code__.co_argcount] if slope else ()
    saves_x, saves_y = "x" in words, "y" in words
    fast = promote != "bool" and primitive.floating
    if slope is not None:
        fast_class = type(
            primitive.node_name,
            (FastUnary,),
            {
                "__slots__": (),
                "primitive": primitive,
                "slope": staticmethod(slope),
                "pulled": staticmethod(native.fused_gradient(slope)),
                "saved_outputs": (0,) if saves_y else (),
                "frees": saves_x or saves_y,
                "backward": {
                    "x": FastUnary.from_x,
                    "y": FastUnary.from_y,
                    "xy": FastUnary.from_xy,
                    "": FastUnary.from_none,
                }["x" * saves_x + "y" * saves_y],
                "saved_names": dict(zip(["self"] * saves_x + ["result"] * saves_y, (0, 1), strict=False)),
            },
        )

    def function(input, *, out=None):
        try:
            spec = input._spec
        except AttributeError:
            raise must_be_tensor(name, input) from None
        if spec.fast and fast and out is None and not mode.special:
            array = kernel(input._array)
            if type(array) is not ndarray:
                array = asarray(array)
            result = new(Tensor)
            result._array, result._spec, result._alias = array, spec, None
            edge = input._node
            if edge is None or slope is None or (mode.quiet and not state.recording):
                result._node = None
                return result
            result._node = node = new(fast_class)
            node.seq, node.edges, node.extra = tick(), (edge,), None
            if saves_x:
                node.saved = (input, array) if saves_y else (input,)
            else:
                node.saved = (array,) if saves_y else ()
            return result
        return primitive.slow((input,), out)

    return published(function, name, primitive, doc)


class FastUnary(Node):
    """The node of a unary operation on the fast path: one real floating array, same shape and dtype in and out."""

    __slots__ = ()
    fresh = True

    def from_x(self, g, saved):
        (x,) = saved
        if x._alias is not None:
            check_saved(x, self)
        return (self.pulled(g, x._array),)

    def from_y(self, g, saved):
        return (self.pulled(g, saved[0]),)

    def from_xy(self, g, saved):
        x, y = saved
        if x._alias is not None:
            check_saved(x, self)
        return (self.pulled(g, x._array, y),)

    def from_none(self, g, saved):
        return (g * self.slope(),)

    def backward_tensors(self, g, saved):
        return (times_on_tensors(g, self.slope(*[self.tensor_of(value) for value in saved])),)

    def tensor_of(self, value):
        if type(value) is ndarray:
            result = wrap(value)
            result._node = self
            return result
        check_saved(value, self)
        return value

    def show_saved(self, position):
        return self.tensor_of(self.saved[position])

    def generalize(self):
        x = self.saved[0] if "self" in self.saved_names else None
        y = self.saved[-1] if "result" in self.saved_names else None
        self.saved = self.primitive.saver()((wrap(y) if x is None else x,), (), self.edges, y)
        self.__class__ = self.primitive.node_class


def binary(name, kernel, slopes=None, *, doc=None, promote="same", node=None, numbers="either", **options):
    """Declare a pointwise operation of two operands; returns its public function.

    numbers: which operand of the function may be a Python number ("either", "second" or "none"); an operator's may.

    >>> hypotenuse_squared = tensorgrad.ops.binary(
    ...     "hypotenuse_squared", lambda a, b: a * a + b * b, slopes=(lambda a: 2 * a, lambda b: 2 * b))
    >>> hypotenuse_squared(torch.tensor(3.), torch.tensor(4.))
    tensor(25.)
    """
    primitive = Pointwise(name, kernel, slopes, ("a", "b"), promote=promote, node=node, **options)
    primitive.numbers = numbers
    words = [s.__code__.co_varnames[: s.__code__.co_argcount] if s else () for s in slopes] if slopes else [(), ()]
    # Which operand each gradient needs: [left needs a, left needs b, right needs a, right needs b].
    uses_a, uses_b = ["a" in w for w in words], ["b" in w for w in words]
    saves_out = any("out" in w for w in words)
    fast = promote != "bool" and primitive.floating
    fast_number = fast and numbers != "none"
    left_a, right_a, left_b, right_b = *uses_a, *uses_b
    saves_any = any((*uses_a, *uses_b, saves_out))
    fast_class = number_class = None
    if slopes:
        fast_class = fast_binary_class(primitive, slopes, words)
        number_class = fast_binary_class(primitive.with_number, slopes, (words[0], ()), number=True)

    def build(fallback):
        def function(input, other, *, out=None):
            kind = type(other)
            if kind is Tensor or (kind is not float and kind is not int and isinstance(other, Tensor)):  # a Parameter
                try:
                    spec = input._spec
                except AttributeError:
                    return fallback(input, other, out)
                if spec is other._spec and spec.fast and fast and out is None and not mode.special:
                    array = kernel(input._array, other._array)
                    if type(array) is not ndarray:
                        array = asarray(array)
                    result = new(Tensor)
                    result._array, result._spec, result._alias = array, spec, None
                    left, right = input._node, other._node
                    if (left is None and right is None) or fast_class is None or (mode.quiet and not state.recording):
                        result._node = None
                        return result
                    result._node = node = new(fast_class)
                    node.seq, node.edges, node.extra = tick(), (left, right), None
                    if saves_any:
                        a = (left_a and left is not None) or (right_a and right is not None)
                        b = (left_b and left is not None) or (right_b and right is not None)
                        node.saved = (input if a else None, other if b else None, array if saves_out else None)
                    else:
                        node.saved = ()
                    return result
                mixed = other._spec
                if spec.dtype is mixed.dtype and spec.fast and mixed.fast and fast and out is None and not mode.special:
                    return primitive.broadcast(input, other)
            elif (kind is float or kind is int) and out is None and not mode.special and fast_number:
                try:
                    spec = input._spec
                except AttributeError:
                    return fallback(input, other, out)
                if spec.fast:
                    constant = number_array(other, spec.dtype)
                    array = kernel(input._array, constant)
                    if type(array) is not ndarray:
                        array = asarray(array)
                    result = new(Tensor)
                    result._array, result._spec, result._alias = array, spec, None
                    left = input._node
                    if left is None or fast_class is None or (mode.quiet and not state.recording):
                        result._node = None
                        return result
                    result._node = node = new(number_class)
                    node.seq, node.edges, node.extra = tick(), (left, None), None
                    node.saved = (
                        (input if left_a else None, constant, array if saves_out else None) if saves_any else ()
                    )
                    return result
            return fallback(input, other, out)

        return function

    def as_function(input, other, out):
        if not isinstance(input, Tensor) and not (
            numbers == "either" and isinstance(other, Tensor) and is_number(input)
        ):
            raise must_be_tensor(name, input)
        if not isinstance(other, Tensor) and (numbers == "none" or not is_number(other)):
            raise must_be_tensor(name, other, "other", 2)
        return primitive.slow((input, other), out)

    def as_operator(input, other, out):
        if isinstance(other, Tensor) or is_number(other):
            return primitive.slow((input, other), out)
        if isinstance(other, ndarray):  # PyTorch's operators take NumPy arrays, its functions do not
            return primitive.slow((input, wrap(other)), out)
        return NotImplemented

    function = published(build(as_function), name, primitive, doc)
    function.operator = published(build(as_operator), name, primitive, doc)
    return function


def fast_binary_class(primitive, slopes, words, number=False):
    """The node of a binary operation on the fast path, specialised by what its slopes need."""
    left, right = slopes
    needed = set(words[0]) | set(words[1])
    members = {"__slots__": (), "primitive": primitive, "fresh": True, "slopes": slopes, "words": words,
               "frees": bool(needed - {"b"} if number else needed)}  # fmt: skip
    if not words[0] and not words[1] and not (number and right is not None and right.__code__.co_argcount):
        members["fresh"] = False
        plus_left, plus_right = left is not None and left() == 1, right is not None and right() == 1

        def backward_constant(self, g, saved):
            first, second = self.edges
            return (
                None if first is None else g if plus_left else g * left(),
                None if second is None else g if plus_right else g * right(),
            )

        backward = backward_constant

    elif words[0] == ("b",) and words[1] == ("a",):

        def backward_crossed(self, g, saved):
            a, b, _ = saved
            if b is None:
                if a._alias is not None:
                    check_saved(a, self)
                return None, g * right(a._array)
            if type(b) is not ndarray:
                if b._alias is not None:
                    check_saved(b, self)
                b = b._array
            if a is None or self.edges[1] is None:
                return g * left(b), None
            if a._alias is not None:
                check_saved(a, self)
            return g * left(b), g * right(a._array)

        backward = backward_crossed

    else:

        def backward_general(self, g, saved):
            a, b, out = saved
            if a is not None:
                if a._alias is not None:
                    check_saved(a, self)
                a = a._array
            if b is not None and type(b) is not ndarray:
                if b._alias is not None:
                    check_saved(b, self)
                b = b._array
            values = {"a": a, "b": b, "out": out}
            first, second = self.edges
            return (
                None if first is None or left is None else times(g, left(*[values[w] for w in words[0]])),
                None if second is None or right is None else times(g, right(*[values[w] for w in words[1]])),
            )

        backward = backward_general

    members["backward"] = backward
    if any("out" in w for w in words):
        members["saved_outputs"] = (0,)
    names = {"a": "self", "b": "other", "out": "result"} | primitive.shown
    members["saved_names"] = {names[w]: p for p, w in enumerate(("a", "b", "out")) if w in (*words[0], *words[1])}
    return type(primitive.node_name, (FastBinary,), members)


class FastBinary(Node):
    """The node of a binary operation on the fast path: operands of one shape and one real floating dtype, or a float."""

    __slots__ = ()

    def backward_tensors(self, g, saved):
        values = dict(zip(("a", "b", "out"), [self.tensor_of(value) for value in saved], strict=False))
        gradients = []
        for edge, slope, words in zip(self.edges, self.slopes, self.words, strict=True):
            wanted = edge is not None and slope is not None
            gradients.append(times_on_tensors(g, slope(*[values[w] for w in words])) if wanted else None)
        return gradients

    def tensor_of(self, value, output=False):
        if value is None:
            return None
        if type(value) is ndarray:
            if value.ndim == 0 and self.saved[1] is value:  # the number of `x * 2.5`
                return value.item()
            result = wrap(value)
            result._node = self
            return result
        check_saved(value, self)
        return value

    def show_saved(self, position):
        value = self.tensor_of(self.saved[position])
        return int(value) if type(value) is float and value.is_integer() else value

    def generalize(self):
        a, b, out = self.saved
        like = a if a is not None else wrap(out) if out is not None else b if isinstance(b, Tensor) else None
        number = type(b) is ndarray
        operands = (like if a is None else a, b.item() if number else like if b is None else b)
        self.saved = self.primitive.saver()(operands, (), self.edges, out)
        self.__class__ = self.primitive.node_class


def published(function, name, primitive, doc):
    """Give a generated function its name, docstring and primitive."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.primitive = primitive
    return function


# Forms of a pointwise function: operators (`function.operator`), reflected operators, in-place.


def reflected(function):
    """The form for `2 - x`."""

    def operate(self, other):
        if is_number(other) or isinstance(other, Tensor):
            return function(other, self)
        return NotImplemented

    return operate


def inplace(function):
    """The in-place form of a pointwise function, for example `mul_` of `mul`.

    >>> x = torch.ones(2); x.mul_(3)
    tensor([3., 3.])
    """
    primitive = function.primitive
    name, kernel = primitive.name + "_", primitive.kernel
    fast = primitive.arity == 2 and isinstance(kernel, np.ufunc) and primitive.promote != "bool"

    def write(self, *others):
        spec, alias = self._spec, self._alias
        if (
            spec.fast and fast and len(others) == 1 and not mode.special and (alias is None or alias.base is None)
            and (self._node is None or (mode.quiet and not state.recording))
        ):  # fmt: skip
            (other,), array = others, self._array
            if (type(other) is float or type(other) is int) and primitive.numbers != "none":
                other = number_array(other, spec.dtype)
            elif (
                type(other) is Tensor and other._spec is spec and (alias is None or other._alias is None)
                and (other._node is None or (mode.quiet and not state.recording))
            ):  # fmt: skip
                other = other._array
            if type(other) is ndarray and array.flags.carray:
                kernel(array, other, array)
                alias_of(self).version.bump()
                return self
        for position, other in enumerate(others):
            if not isinstance(other, Tensor) and (primitive.numbers == "none" or not is_number(other)):
                raise must_be_tensor(name, other, "other", position + 1)
        if 1 + len(others) != primitive.arity:
            raise TypeError(f"{name}() takes {primitive.arity - 1} positional arguments ({len(others)} given)")
        return primitive.write((self, *others))

    write.__name__ = write.__qualname__ = name
    write.__doc__ = f"The in-place form of `{primitive.name}`."
    return write
