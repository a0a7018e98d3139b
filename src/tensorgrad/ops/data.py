"""Making tensors of Python and NumPy data. Also what every function that makes tensors shares: `finished`, `numpy_dtype`."""

import builtins
import itertools

import numpy as np

from tensorgrad import dtypes
from tensorgrad.autograd.modes import mode, state
from tensorgrad.ops import fitting
from tensorgrad.ops.fitting import check_tensor, is_number
from tensorgrad.ops.primitive import wrap

ndarray = np.ndarray


def finished(array, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False, names=None):
    """A new tensor around `array` with what every creation function lets its caller choose."""
    if device is not None:
        dtypes.check_device(device)
    if layout is not None and layout is not dtypes.strided:
        raise NotImplementedError(f"layout {layout} is not supported: tensorgrad has only strided tensors")
    if pin_memory:
        raise RuntimeError("Cannot access accelerator device when none is available: pin_memory needs CUDA")
    result = with_names(wrap(array), names)
    if requires_grad:
        if result._spec.dtype.category < dtypes.FLOAT:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        result.requires_grad_()
    if mode.special and state.inference:
        result._spec = result._spec.variant(inference=True)
    return result


def with_names(result, names):
    """A new tensor with the names that its maker asked for."""
    if names is None or (isinstance(names, (tuple, list)) and not names):
        return result
    from tensorgrad.names import check_names, named

    return named(result, check_names(names, len(result._spec.shape)))


def numpy_dtype(dtype, default=None, name="tensor"):
    """The NumPy dtype for a dtype argument."""
    if dtype is None:
        return (default or dtypes.get_default_dtype()).numpy
    if not isinstance(dtype, dtypes.dtype):
        if dtype in (builtins.float, builtins.int, builtins.bool, builtins.complex):
            return PYTHON_TYPES[dtype].numpy
        raise TypeError(f"{name}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    return dtype.numpy


def dtype_beside_out(dtype, out, default=None, name="tensor"):
    """The dtype of a new tensor, which must be that of `out` where both are given."""
    if dtype is not None:
        dtype = dtypes.of_numpy(numpy_dtype(dtype, None, name))
    if out is None:
        return dtype or default or dtypes.get_default_dtype()
    check_tensor(name, out, "out")
    if dtype is not None and dtype is not out._spec.dtype:
        raise RuntimeError(f"dtype {dtype.title} does not match dtype of out parameter ({out._spec.dtype.title})")
    return out._spec.dtype


PYTHON_TYPES = {builtins.float: dtypes.float64, builtins.int: dtypes.int64, builtins.bool: dtypes.bool_,
                builtins.complex: dtypes.complex128}  # fmt: skip


def array_of(data, dtype=None):
    """Nested Python data as an array of its own, in the dtype PyTorch would choose."""
    if isinstance(data, fitting.Tensor):
        array = data._array
        return array.astype(array.dtype if dtype is None else dtype.numpy)
    if isinstance(data, (ndarray, np.generic)):
        return checked_array(data).astype(data.dtype.newbyteorder("=") if dtype is None else dtype.numpy)
    if is_number(data):
        return _number(data, dtype)
    if not isinstance(data, (list, tuple, builtins.range)) and not hasattr(data, "__getitem__"):
        if hasattr(data, "__array__"):
            return array_of(np.asarray(data), dtype)
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    if isinstance(data, (str, bytes, dict, set)):
        if isinstance(data, str):
            raise TypeError("new(): invalid data type 'str'")
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    if not isinstance(data, (list, tuple, builtins.range)) and hasattr(data, "__array__"):
        return array_of(np.asarray(data), dtype)
    if type(data) in _LISTS:
        array = _plain(data, dtype)
        if array is not None:
            return array
    shape = shape_of(data)
    flat = []
    _flatten(data, shape, 0, flat)
    inferred = dtype or (infer_dtype(flat) if flat else dtypes.get_default_dtype())
    _check_range(flat, inferred)
    try:
        if inferred.category == dtypes.COMPLEX:
            array = np.array(flat, np.complex128).astype(inferred.numpy)
        elif inferred.category == dtypes.BOOL:
            array = np.array([builtins.bool(v) for v in flat], bool)
        elif inferred.category == dtypes.INTEGER:
            array = _integers([builtins.int(v) for v in flat], inferred)
        else:
            array = np.array(flat, np.float64).astype(inferred.numpy)
    except TypeError:
        bad = next((v for v in flat if isinstance(v, builtins.complex)), flat[0] if flat else None)
        raise TypeError(f"must be real number, not {type(bad).__name__}") from None
    return array.reshape(shape)


_LISTS, _NUMBERS = {list, tuple}, {builtins.float, builtins.int, builtins.bool}


def _plain(data, dtype):
    """The usual case at NumPy's speed: even lists of Python's numbers, as floats, int64 or bool. None for all else."""
    first, depth = data, 0
    while type(first) in _LISTS and first and depth <= 64:  # a list may hold itself
        first, depth = first[0], depth + 1
    if type(first) not in _NUMBERS:
        return None
    shape, kinds = [len(data)], set(map(type, data))
    while kinds <= _LISTS:
        lengths = set(map(len, data))
        if len(lengths) > 1:
            return None
        shape.append(lengths.pop())
        data = list(itertools.chain.from_iterable(data))
        kinds = set(map(type, data))
    if not kinds <= _NUMBERS:
        return None
    if dtype is None:
        own = dtypes.int64 if builtins.int in kinds else dtypes.bool_
        dtype = dtypes.get_default_dtype() if builtins.float in kinds else own
    if dtype.is_floating_point:
        array = np.array(data, np.float64).astype(dtype.numpy, copy=False)
    elif (dtype is dtypes.int64 and builtins.float not in kinds) or (
        dtype is dtypes.bool_ and kinds == {builtins.bool}
    ):
        try:
            array = np.array(data, dtype.numpy)
        except OverflowError:
            return None
    else:
        return None
    return array.reshape(shape)


def _number(value, dtype):
    if dtype is None:
        if isinstance(value, np.generic):
            return np.array(value)
        dtype = dtypes.of_number(value)
    _check_range([value], dtype)
    if dtype.category < dtypes.COMPLEX and isinstance(value, (builtins.complex, np.complexfloating)):
        raise RuntimeError("value cannot be converted to type float without overflow")
    if dtype.category == dtypes.INTEGER:
        return _integers([builtins.int(value)], dtype).reshape(())
    return np.array(value).astype(dtype.numpy)


def _check_range(flat, dtype):
    """Raise for numbers that an integer dtype has no place for; unsigned ones take negative numbers, as in C."""
    if dtype.category != dtypes.INTEGER:
        return
    info = np.iinfo(dtype.numpy)
    low = info.min or -info.max
    for value in flat:
        if isinstance(value, (builtins.complex, np.complexfloating)) or low <= value <= info.max:
            continue
        if isinstance(value, (builtins.int, np.integer)) and not -(2**63) <= value < 2**63:
            raise ValueError("Overflow when unpacking long long")
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")


def _integers(numbers, dtype):
    return np.array([n & dtypes.iinfo(dtype).max if n < 0 else n for n in numbers] if dtype.name.startswith("u") else numbers,
                    dtype.numpy)  # fmt: skip


def shape_of(data):
    """The shape that the first elements of nested sequences tell."""
    shape = []
    while not is_number(data):
        if isinstance(data, fitting.Tensor):
            return (*shape, *data.shape)
        if isinstance(data, ndarray):
            return (*shape, *data.shape)
        if isinstance(data, (str, bytes)):
            if shape:
                raise ValueError("too many dimensions 'str'")
            raise TypeError("new(): invalid data type 'str'")
        try:
            n = len(data)
        except TypeError:
            if data is None or not hasattr(data, "__float__"):
                raise RuntimeError(f"Could not infer dtype of {type(data).__name__}") from None
            break
        shape.append(n)
        if len(shape) > 128:
            raise ValueError("too many dimensions 'list'")
        if not n:
            break
        data = data[0]
    return tuple(shape)


def _flatten(data, shape, dim, flat):
    """Append the numbers of nested sequences, which must have `shape`, to `flat`."""
    if dim == len(shape):
        if isinstance(data, fitting.Tensor):
            data = data.item() if data._spec.size == 1 else data
        if isinstance(data, (list, tuple)) or (
            hasattr(data, "__len__") and not is_number(data) and not isinstance(data, str)
        ):
            if isinstance(data, fitting.Tensor):
                raise ValueError(
                    f"only one element tensors can be converted to Python scalars (got {list(data.shape)})"
                )
            raise (
                TypeError(f"must be real number, not {type(data).__name__}")
                if not shape
                else ValueError(f"expected sequence of length {shape[-1]} at dim {dim - 1} (got a deeper one)")
            )
        if isinstance(data, str):
            raise TypeError("new(): invalid data type 'str'")
        if not is_number(data):
            if hasattr(data, "__float__"):
                data = builtins.float(data)
            else:
                raise (
                    RuntimeError(f"Could not infer dtype of {type(data).__name__}")
                    if not flat
                    else TypeError(f"must be real number, not {type(data).__name__}")
                )
        flat.append(data)
        return
    if isinstance(data, (fitting.Tensor, ndarray)):
        data = data.tolist()
    if isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    if not hasattr(data, "__len__"):
        raise TypeError(
            f"not a sequence: expected one of length {shape[dim]} at dim {dim}, got a {type(data).__name__}"
        )
    if len(data) != shape[dim]:
        raise ValueError(f"expected sequence of length {shape[dim]} at dim {dim} (got {len(data)})")
    for item in data:
        _flatten(item, shape, dim + 1, flat)


def infer_dtype(flat):
    """The dtype that numbers have in common; NumPy's bring their own."""
    found = None
    for kind in dict.fromkeys(type(v) for v in flat):
        own = dtypes.of_numpy(np.dtype(kind)) if issubclass(kind, np.generic) else dtypes.of_number(kind())
        found = own if found is None else dtypes.promote_types(found, own)
    return found


def checked_array(array):
    """A NumPy array that a tensor can hold, or PyTorch's error."""
    array = np.asarray(array)
    if not array.dtype.isnative and array.dtype.byteorder not in "=|":
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion between byte orders is "
            "currently not supported."
        )
    dtypes.of_numpy(array.dtype)
    if any(s < 0 for s in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
            "supported. (You can probably work around this by making a copy of your array  with array.copy().) "
        )
    return array


def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False, names=None):
    """A tensor with a copy of the data.

    >>> torch.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    if isinstance(data, fitting.Tensor):
        import warnings

        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            stacklevel=2,
        )
    if dtype is not None:
        dtype = dtypes.of_numpy(numpy_dtype(dtype))
    return finished(array_of(data, dtype), None, device, requires_grad, None, pin_memory, names)


def from_numpy(ndarray_):
    """A tensor that shares the memory of a NumPy array.

    >>> import numpy; a = numpy.zeros(2); x = torch.from_numpy(a); a[0] = 5; x
    tensor([5., 0.], dtype=tensorgrad.float64)
    """
    if not isinstance(ndarray_, ndarray):
        raise TypeError(f"expected np.ndarray (got {fitting.kind_name(ndarray_)})")
    array = checked_array(ndarray_)
    if any(s % array.itemsize for s in array.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the memory."
        )
    if not array.flags.writeable:
        import warnings

        warnings.warn(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing "
            "to this tensor will result in undefined behavior. You may want to copy the array to protect its data or make "
            "it writable before converting it to a tensor. (tensorgrad raises an error when it is written to.)",
            stacklevel=2,
        )
    return wrap(array.view(ndarray) if type(array) is not ndarray else array)


def as_tensor(data, dtype=None, device=None):
    """A tensor of the data, sharing its memory if possible.

    >>> x = torch.ones(2); torch.as_tensor(x) is x
    True
    """
    dtypes.check_device(device)
    if isinstance(data, fitting.Tensor):
        return data if dtype is None else data.to(dtype)
    if isinstance(data, ndarray):
        made = from_numpy(data)
        return made if dtype is None else made.to(dtype)
    return tensor(data, dtype=dtype)


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    """A tensor of any array-like, copied only when asked or needed.

    >>> torch.asarray([1, 2])
    tensor([1, 2])
    """
    shares = isinstance(obj, (fitting.Tensor, ndarray)) or hasattr(obj, "__dlpack__")
    if not isinstance(obj, (fitting.Tensor, ndarray)) and hasattr(obj, "__dlpack__"):
        obj = from_dlpack(obj)
    if not shares and copy is False:
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    result = as_tensor(obj, dtype, device) if shares else tensor(obj, dtype=dtype, device=device)
    if (copy and result is obj) or (copy and isinstance(obj, ndarray) and result._array is obj):
        result = result.detach().clone() if not requires_grad else result.clone()
    if copy is False and dtype is not None and getattr(obj, "dtype", dtype) is not dtype:
        raise ValueError("can't alias tensor with dtype '...' into dtype '" + str(dtype) + "'.")
    if requires_grad and not result.requires_grad:
        result = result.detach().requires_grad_()
    elif not requires_grad and result.requires_grad and copy is not None:
        result = result.detach()
    return result


def from_dlpack(ext_tensor):
    """A tensor that shares memory with any object that speaks DLPack.

    >>> import numpy; torch.from_dlpack(numpy.ones(2))
    tensor([1., 1.], dtype=tensorgrad.float64)
    """
    return wrap(np.from_dlpack(ext_tensor))


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A tensor that shares the memory of a Python buffer.

    >>> torch.frombuffer(bytearray(b"abc"), dtype=torch.uint8)
    tensor([97, 98, 99], dtype=tensorgrad.uint8)
    """
    array = np.frombuffer(buffer, dtype.numpy, count, offset)
    return finished(array, requires_grad=requires_grad)


def scalar_tensor(s, *, dtype=None, device=None, requires_grad=False):
    """A 0-d tensor of a number.

    >>> torch.scalar_tensor(3)
    tensor(3.)
    """
    return tensor(s, dtype=dtype or dtypes.get_default_dtype(), device=device, requires_grad=requires_grad)
