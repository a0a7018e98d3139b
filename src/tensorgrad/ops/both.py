"""`xp`: the functions that derivative rules are written in. They take bare arrays (a plain backward pass) and Tensors
(a recorded one), and are named as the public functions are.

    sin = unary("sin", np.sin, slope=lambda x: xp.cos(x))
"""

import numpy as np

from tensorgrad.backends.constants import constant

Tensor = wrap = None  # set by tensorgrad.tensor

NUMPY_NAMES = {"pow": "power", "neg": "negative", "asin": "arcsin", "acos": "arccos", "atan": "arctan"}


class Functions:
    """Looks a function up by name in NumPy for arrays, in tensorgrad for Tensors, once."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        on_arrays = arrays.get(name) or getattr(np, NUMPY_NAMES.get(name, name))
        on_values = None

        def function(*args, **kwargs):
            nonlocal on_values
            for arg in args:
                if isinstance(arg, Tensor):
                    if on_values is None:
                        on_values = on_tensors(name)
                    return on_values(*args, **kwargs)
            return on_arrays(*args, **kwargs)

        function.__name__ = name
        setattr(self, name, function)
        return function


arrays = {}  # name -> array function, for what NumPy lacks (families add theirs)


tensors = {}  # name -> Tensor function, for what has no public function of that name


def on_tensors(name):
    import tensorgrad
    from tensorgrad.ops.primitive import PRIMITIVES

    return tensors.get(name) or PRIMITIVES.get(name) or getattr(tensorgrad, name)


def number(function):
    """Declare the array side of a function that NumPy has not: `@number` above it, under its public name."""
    arrays[function.__name__] = function
    return function


xp = Functions()


def special_kernel(name):
    """The kernel `name` of backends/special.py, also for xp; that file is imported when the kernel is first called."""

    def kernel(*arrays):
        from tensorgrad.backends import special

        recorded = getattr(arrays[0], "function", None)  # of a Symbol (kernels/symbol.py)
        if recorded is not None:
            return recorded(name)
        return getattr(special, name)(*arrays)

    kernel.__name__ = name
    return number(kernel)


@number
def zeros_like(x):
    return np.zeros_like(x)


@number
def sigmoid(x, out=None):
    one = constant(1, x.dtype) if type(x) is np.ndarray else 1
    y = np.negative(x, out=np.empty_like(x) if out is None else out)
    np.exp(y, out=y)
    y += one
    return np.divide(one, y, out=y)


@number
def tanh_slope(y, out=None):
    """1 - y * y, the slope of tanh where it is y."""
    square = np.multiply(y, y, out=np.empty_like(y) if out is None else out)
    return np.subtract(1, square, out=square)


@number
def choose(condition, a, b, like):
    """`a` where the condition holds, else `b`, either of them a number or as large as `like`, in the dtype of `like`."""
    kind = like.dtype.type
    if isinstance(b, np.ndarray) and not condition.any():
        return b
    if not isinstance(a, (int, float)) or not isinstance(b, (int, float)) or a - a != 0 or b - b != 0:
        # a Symbol (kernels/symbol.py) stands for an array that is not there
        return np.where(condition, *[v if hasattr(v, "graph") else np.asarray(v, like.dtype) for v in (a, b)])
    if b == 0:  # arithmetic is ten times as fast as a branch for each element
        return np.multiply(condition, kind(a))
    result = np.multiply(condition, kind(a))
    result += np.multiply(np.logical_not(condition), kind(b))
    return result


def _choose_tensors(condition, a, b, like):
    from tensorgrad import where
    from tensorgrad.ops.fitting import number_array

    a, b = (x if isinstance(x, Tensor) else wrap(number_array(x, like._spec.dtype)) for x in (a, b))
    return where(condition, a, b)


tensors["choose"] = _choose_tensors


@number
def expand(x, shape):
    """A view of `x` repeated along new or single dimensions; ten times as fast as np.broadcast_to."""
    if isinstance(x, (np.generic, int, float)):
        x = np.asarray(x)
    lead = len(shape) - x.ndim
    if not x.ndim and type(x) is np.ndarray and x.dtype.kind != "V":
        return np.ndarray(shape, x.dtype, x, 0, (0,) * lead)
    if not x.flags.c_contiguous or x.dtype.kind == "V":
        if shape == (1,) * lead + x.shape:  # nothing is repeated, so it may be written to
            return x[(*(None,) * lead, ...)]
        return np.broadcast_to(x, shape)
    strides = [0] * lead + [
        stride if n == m else 0 for n, m, stride in zip(x.shape, shape[lead:], x.strides, strict=True)
    ]
    return np.ndarray(shape, x.dtype, x, 0, strides)


@number
def permute(x, dims):
    return x.transpose(dims)


@number
def reshape(x, shape):
    return x.reshape(shape)


@number
def conj(x):
    return x.conj() if x.dtype.kind == "c" else x


tensors["conj"] = lambda x: x.conj()  # the primitive would be applied to real tensors too


@number
def unsqueeze(x, dim):
    return np.expand_dims(x, dim)


@number
def sign(x):
    """-1, 0 or 1; 0 for NaN too, as PyTorch has it."""
    y = np.sign(x)
    if isinstance(y, np.ndarray) and y.dtype.kind == "f" and (nan := y != y).any():
        y[nan] = 0
    return y


@number
def sum_dims(x, dims, keepdim):
    return np.add.reduce(x, axis=dims, keepdims=keepdim)
