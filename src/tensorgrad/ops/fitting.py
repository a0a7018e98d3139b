"""Small things that every operation shares: undoing broadcasts, numbers as arrays, dims, `out=`, errors in PyTorch's words."""

import functools

import numpy as np

from tensorgrad import dtypes
from tensorgrad.autograd import modes
from tensorgrad.autograd.graph import extra_of
from tensorgrad.autograd.modes import state
from tensorgrad.autograd.views import alias_of, check_saved
from tensorgrad.backends.summing import sums

Tensor = wrap = None  # set by tensorgrad.tensor
interceptors = []  # while mode.special: functions (primitive, inputs, params) -> result or None (autocast, tracing)
autocast = lowered = lambda *_: None  # what autocast makes of an application, of operands: set by ops.casting
writers = []  # the same for operations in place (tracing)
watchers = []  # while mode.special: functions (tensor, reading) of a tensor that Python reads, or gives other memory (tracing)

INFERENCE_SAVED = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
    "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or "
    "use `torch.no_grad()` instead of `torch.inference_mode()`."
)

# Numbers


def is_number(value):
    """Python and NumPy numbers, which PyTorch's operations take beside tensors."""
    return isinstance(value, (int, float, complex, np.number, np.bool_))


_constants = {}


def number_array(number, dtype):
    """A number as a 0-d array: NumPy handles those twice as fast as Python numbers, so the last ones are kept."""
    key = number, dtype
    found = _constants.get(key)
    if found is None:
        try:
            found = np.array(number, dtype.numpy)
        except OverflowError:
            if isinstance(number, int) and dtype.category == dtypes.INTEGER and not -(2**63) <= number < 2**64:
                raise RuntimeError("Overflow when unpacking long long") from None
            found = np.array(number).astype(dtype.numpy)
        if number == 0 or number != number:  # 0.0 and -0.0 are one key
            return found
        if len(_constants) > 4096:
            _constants.clear()
        found.flags.writeable = False
        _constants[key] = found
    return found


def exact_number(number, dtype, halves=True):
    """A number as a 0-d array of a dtype that must have a place for it; unsigned integers take negative ones, as in C.

    halves: whether a number that is too large for a half type is refused too, rather than infinite.
    """
    fits, d = True, dtype.numpy
    if (type(number) is float or type(number) is int) and dtype.itemsize > 2 and -1e18 < number < 1e18:
        if dtype.category == dtypes.FLOAT:
            return number_array(number, dtype)
        if type(number) is int and dtype is dtypes.int64:
            return np.array(number, d)
    if isinstance(number, (complex, np.complexfloating)):
        fits = dtype.is_complex or not number.imag
        number = number if dtype.is_complex or not fits else number.real
    elif dtype.category == dtypes.INTEGER:
        info = np.iinfo(d)
        least = info.min if info.min or isinstance(number, (float, np.floating)) else -info.max
        fits = number == number and least <= number <= info.max
        if fits and number < info.min:
            number = int(number) & info.max
    elif dtype.category >= dtypes.FLOAT and dtype is not dtypes.float64 and dtype is not dtypes.complex128:
        most = dtypes.finfo(dtype).max
        fits = abs(number) <= most or number != number or abs(number) == float("inf")
        fits = fits or (dtype.itemsize == 2 and not halves)
    if not fits:
        raise RuntimeError(
            f"value cannot be converted to type {c_type(dtype)} without overflow\nThe value is {number!r}, the dtype {dtype}."
        )
    if dtype.category == dtypes.INTEGER:
        return np.array(int(number), d)
    return number_array(number, dtype)


def c_type(dtype):
    """How PyTorch's errors name the type of a number."""
    named = {"Long": "int64_t", "Int": "int", "Short": "int16_t", "Char": "int8_t", "Byte": "uint8_t", "Half": "c10::Half",
             "BFloat16": "c10::BFloat16", "ComplexFloat": "c10::complex<float>"}  # fmt: skip
    return named.get(dtype.title, f"{dtype.name}_t" if dtype.name.startswith("uint") else dtype.title.lower())


def certain(condition):
    """Whether a 0-d tensor is surely true: inside vmap, where every row has its own answer, it is not."""
    try:
        return bool(condition)
    except RuntimeError:
        if type(condition._array) is np.ndarray:
            raise
        return False


# Gradients that must fit their inputs


def fit_array(g, spec):
    """Sum over what was broadcast, drop the imaginary part that a real input cannot have, and match the dtype."""
    if spec is None:
        return None
    shape = spec.shape
    if np.shape(g) != shape:
        g = np.asarray(g)
        lead = g.ndim - len(shape)
        dims = (*range(lead), *(i + lead for i, n in enumerate(shape) if n == 1 and g.shape[i + lead] != 1))
        if dims:
            g = sums(g, dims, keepdims=True)
        g = g.reshape(shape) if g.shape != shape and g.size == spec.size else np.broadcast_to(g, shape)
    if g.dtype != spec.dtype.numpy:
        if g.dtype.kind == "c" and not spec.dtype.is_complex:
            g = g.real
        g = g.astype(spec.dtype.numpy)
    return g


def fit_tensor(g, spec):
    """The same on Tensors."""
    if spec is None:
        return None
    if tuple(g.shape) != spec.shape:
        have, wanted = g._spec.shape, spec.shape
        wider = len(have) > len(wanted) or any(n != 1 == m for n, m in zip(have[::-1], wanted[::-1]))
        g = g.sum_to_size(wanted) if wider else g.expand(wanted)
    if g._spec.dtype is not spec.dtype:
        if g._spec.dtype.is_complex and not spec.dtype.is_complex:
            g = g.real
        g = g.to(spec.dtype)
    return g


# Dimensions


def dim_of(dim, ndim, name=None):
    """A dimension counted from the front; PyTorch's IndexError when there is no such one."""
    if type(dim) is not int:
        if isinstance(dim, str):  # what has names knows its dimensions before (names/faces.py)
            raise RuntimeError(f"Name '{dim}' not found in Tensor[{', '.join(['None'] * ndim)}].")
        if isinstance(dim, bool) or not hasattr(dim, "__index__"):
            raise TypeError(f"{name or 'dim'}(): argument 'dim' must be int, not {type(dim).__name__}")
        dim = dim.__index__()
    limit = ndim or 1
    if not -limit <= dim < limit:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})")
    return dim + ndim if dim < 0 and ndim else (dim if ndim else 0)


def dims_of(dim, ndim, name=None):
    """One or several dimensions as a tuple counted from the front; None and () stand for all; a number has none."""
    if dim is None:
        return tuple(range(ndim))
    if isinstance(dim, (tuple, list)):
        dims = tuple(dim_of(d, ndim, name) for d in dim)
        if len(set(dims)) != len(dims):
            twice = next(d for d in dims if dims.count(d) > 1)
            raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
        return (dims if ndim else ()) or tuple(range(ndim))
    dim = dim_of(dim, ndim, name)
    return (dim,) if ndim else ()


INTS = frozenset({int})


def sizes_of(sizes, name):
    """The sizes of `f(2, 3)`, `f((2, 3))` or `f(torch.Size([2, 3]))` as a tuple of ints."""
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = sizes[0]
    if INTS.issuperset(map(type, sizes)):
        return tuple(sizes)
    out = []
    for position, size in enumerate(sizes):
        if isinstance(size, Tensor) and size._spec.size == 1 and size._spec.dtype.category == dtypes.INTEGER:
            size = size.item()
        if isinstance(size, (bool, float)) or not hasattr(size, "__index__"):
            if len(sizes) == 1 and not position:
                raise TypeError(
                    f"{name}(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}"
                )
            raise TypeError(
                f"{name}(): argument 'size' must be tuple of ints, but found element of type "
                f"{type(size).__name__} at pos {position}"
            )
        out.append(size.__index__())
    return tuple(out)


# Errors


def must_be_tensor(function, value, argument="input", position=1):
    """The TypeError for an argument that is no tensor."""
    return TypeError(
        f"{function}(): argument '{argument}' (position {position}) must be Tensor, not {kind_name(value)}"
    )


def wrong_arguments(function, arguments):
    """The TypeError for arguments of which no form of a function takes the types."""
    kinds = ", ".join("Tensor" if isinstance(a, Tensor) else kind_name(a) for a in arguments if a is not None)
    name = function.partition(".")[0].removesuffix("_min").removesuffix("_max")
    return TypeError(f"{name}() received an invalid combination of arguments - got ({kinds})")


def kind_name(value):
    """The name of a value's type as PyTorch's errors spell it: NumPy's with their module."""
    kind = type(value)
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


def check_tensor(function, value, argument="input", position=1):
    """`value`, which must be a Tensor."""
    if not isinstance(value, Tensor):
        raise must_be_tensor(function, value, argument, position)
    return value


def broadcast_error(operands):
    """PyTorch's error for shapes that do not broadcast, or None if they do."""
    shapes = [tuple(t.shape) for t in operands if isinstance(t, Tensor)]
    a = shapes[0] if shapes else ()
    for b in shapes[1:]:
        for back in range(1, min(len(a), len(b)) + 1):
            if a[-back] != b[-back] and a[-back] != 1 and b[-back] != 1:
                return RuntimeError(
                    f"The size of tensor a ({a[-back]}) must match the size of tensor b ({b[-back]}) at non-singleton "
                    f"dimension {max(len(a), len(b)) - back}\nThe shapes are {list(a)} and {list(b)}."
                )
        a = np.broadcast_shapes(a, b)
    return None


def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes broadcast to.

    >>> torch.broadcast_shapes((2, 1), (3,))
    tensorgrad.Size([2, 3])
    """
    from tensorgrad.spec import Size

    shapes = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    for shape in shapes:
        if any(n < 0 for n in shape):
            raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    try:
        return Size(np.broadcast_shapes(*shapes))
    except ValueError:
        raise RuntimeError(
            "Shape mismatch: objects cannot be broadcast to a single shape: " + ", ".join(str(list(s)) for s in shapes)
        ) from None


# Writing: in place and out=


def check_writable(target, others=()):
    """Raise if the memory of `target` cannot be written to safely while `others` are read."""
    array = target._array
    if array.size > 1 and 0 in array.strides:
        for stride, n in zip(array.strides, array.shape, strict=True):
            if stride == 0 and n > 1:
                raise RuntimeError(
                    "unsupported operation: more than one element of the written-to tensor refers to a single memory "
                    "location. Please clone() the tensor before performing the operation."
                )
    if not array.flags.writeable:
        raise RuntimeError("this tensor shares memory with a read-only NumPy array: write to a clone() of it instead")
    for other in others:
        if other is target or target._alias is None or not isinstance(other, Tensor) or other._alias is None:
            continue
        if other._alias.version is target._alias.version and _overlap_partly(array, other._array):
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                "memory location. Please clone() the tensor before performing the operation."
            )


def _overlap_partly(a, b):
    """Whether two arrays share some memory without being the same elements in the same order."""
    if not isinstance(b, np.ndarray) or not np.may_share_memory(a, b):
        return False
    same = a.ctypes.data == b.ctypes.data and a.shape == b.shape and a.strides == b.strides
    return not same and np.shares_memory(a, b, max_work=10_000) if a.size + b.size < 10_000 else not same


def check_inplace_dtype(target, dtype):
    """Raise if a result of `dtype` must not be written into `target`."""
    into = target._spec.dtype
    if into is not dtype and not dtypes.can_cast(dtype, into):
        raise RuntimeError(f"result type {dtype.title} can't be cast to the desired output type {into.title}")


def watch(tensor, reading=True):
    """While `mode.special`: Python is about to read the numbers of a tensor, or to give it another shape or memory."""
    for watcher in watchers:
        watcher(tensor, reading)


def check_result(target, array):
    """Raise if an in-place result has outgrown the tensor that it goes into."""
    if array.shape != target._array.shape:
        raise RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(array.shape)}"
        )


def write_out(out, name, operands, compute):
    """Put the result of `compute` into the tensor given as `out=`."""
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if modes.is_grad_enabled() and any(isinstance(t, Tensor) and t._node is not None for t in (*operands, out)):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    before = state.autocast
    if before is not None:
        state.autocast = None  # `out` says the dtype
    try:
        with modes.no_grad():
            result = compute()
    finally:
        if before is not None:
            state.autocast = before
    return store(out, result, operands)


def store(out, result, operands=()):
    """Write a finished result into `out`, resized if need be."""
    if not dtypes.can_cast(result._spec.dtype, out._spec.dtype):
        raise RuntimeError(
            f"result type {result._spec.dtype.title} can't be cast to the desired output type {out._spec.dtype.title}"
        )
    if type(out._array) is not np.ndarray or type(result._array) is not np.ndarray:
        store_named = getattr(result._array, "store", None) or getattr(out._array, "store", None)
        return out.copy_(result) if store_named is None else store_named(out, result, operands)
    if out._array.shape != result._array.shape:
        if out._spec.size:
            import warnings

            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does not "
                f"match the required output shape {list(result.shape)}. This behavior is deprecated, and in a future "
                "PyTorch release outputs will not be resized unless they have zero elements. You can explicitly reuse "
                "an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
                stacklevel=4,
            )
        if any(t is out for t in operands):
            raise RuntimeError(
                f"output with shape {list(out.shape)} doesn't match the broadcast shape {list(result.shape)}"
            )
        out._array = resized(out._array, result._array.shape, result._array.size)
        out._spec = wrap(out._array)._spec
    else:
        check_writable(out, operands)
    np.copyto(out._array, result._array, casting="unsafe")
    alias_of(out).version.bump()
    return out


# Saved tensors while hooks or anomaly mode are on


class Packed:
    """A saved tensor that went through the user's pack hook."""

    __slots__ = ("node_of", "packed", "spec", "unpack")

    def __init__(self, tensor, pack, unpack):
        self.unpack, self.node_of, self.spec = unpack, tensor._node, tensor._spec
        before = tensor._version
        with modes.no_grad():
            self.packed = pack(tensor)
        if tensor._version != before:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook can not be "
                "modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if you need "
                "to perform in-place operations on the input to a pack hook."
            )

    def unpacked(self, node):
        tensor = self.unpack(self.packed)
        if not isinstance(tensor, Tensor):
            raise TypeError("Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                            + type(tensor).__name__)  # fmt: skip
        result = tensor.detach()
        result._node = self.node_of if self.node_of is not None else None
        return result


def packed_value(node, position, value, pack, unpack):
    """A saved value passed through a pack hook, if it is a tensor."""
    needs = node.primitive.needs
    if isinstance(value, Tensor):
        check_saved(value, node)
        return Packed(value, pack, unpack)
    if type(value) is np.ndarray and position < len(needs) and needs[position][0] == "output":
        return PackedOutput(wrap(value), node, pack, unpack)
    return value


def on_record(node):
    """What the special modes do with a new node: pack what it saved, note where it was made."""
    if state.hooks and hasattr(node, "primitive"):
        pack, unpack = state.hooks[-1]
        node.saved = tuple([packed_value(node, i, value, pack, unpack) for i, value in enumerate(node.saved)])
    anomaly = modes._special.get("anomaly")
    if anomaly:
        import traceback

        extra_of(node).trace = "".join(traceback.format_stack()[:-3])


class PackedOutput(Packed):
    """A saved output: unpacked, it hangs on its node again, which is not kept here (that would be a cycle)."""

    __slots__ = ()

    def __init__(self, tensor, node, pack, unpack):
        super().__init__(tensor, pack, unpack)

    def unpacked(self, node):
        result = super().unpacked(node)
        result._node = node
        return result


# Memory


def owner(array):
    """The array that owns the memory of `array`: the storage."""
    while (base := array.base) is not None:
        if not isinstance(base, np.ndarray):
            base = getattr(base, "base", None)  # NumPy's as_strided leaves a stand-in between
            if not isinstance(base, np.ndarray):
                break
        array = base
    return array


def resized(array, shape, size):
    """An array of another shape that begins where `array` does, in the same memory if that has room."""
    memory = owner(array)
    if memory.dtype == array.dtype and memory.flags.forc:
        memory = memory.ravel(order="K")
        start = (array.ctypes.data - memory.ctypes.data) // array.itemsize if array.size else 0
        if start + size <= memory.size:
            return memory[start : start + size].reshape(shape)
    fresh, flat = np.empty(size, array.dtype), array.reshape(-1)
    fresh[: flat.size] = flat[:size]
    return fresh.reshape(shape)


def torch_strides(array):
    """Strides in elements, with PyTorch's values where NumPy leaves them open: new dimensions of size 1, empty arrays."""
    itemsize = array.dtype.itemsize
    if array.size == 0:
        strides, step = [], 1
        for n in reversed(array.shape):
            strides.append(step)
            step *= max(n, 1)
        return tuple(reversed(strides))
    strides = [s // itemsize for s in array.strides]
    for dim in reversed(range(array.ndim)):
        if array.shape[dim] == 1 and strides[dim] == 0:
            strides[dim] = strides[dim + 1] * array.shape[dim + 1] if dim + 1 < array.ndim else 1
    return tuple(strides)


def with_axis(function):
    """Let a function that takes `dim` and `keepdim` also take NumPy's words `axis` and `keepdims`, as PyTorch's do."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        if "axis" in kwargs:
            kwargs["dim"] = kwargs.pop("axis")
        if "keepdims" in kwargs:
            kwargs["keepdim"] = kwargs.pop("keepdims")
        return function(*args, **kwargs)

    return wrapper
