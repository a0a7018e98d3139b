"""Making tensors: from Python and NumPy data, filled, counted; and the `_like` and `new_` forms."""

import builtins
import math

import numpy as np

from tensorgrad import dtypes
from tensorgrad.autograd.modes import mode, state
from tensorgrad.ops import fitting
from tensorgrad.ops.fitting import check_tensor, is_number, sizes_of
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
    if names is not None:
        raise NotImplementedError("names= is not supported yet")
    result = wrap(array)
    if requires_grad:
        if result._spec.dtype.category < dtypes.FLOAT:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        result.requires_grad_()
    if mode.special and state.inference:
        result._spec = result._spec.variant(inference=True)
    return result


def numpy_dtype(dtype, default=None, name="tensor"):
    """The NumPy dtype for a dtype argument."""
    if dtype is None:
        return (default or dtypes.get_default_dtype()).numpy
    if not isinstance(dtype, dtypes.dtype):
        if dtype in (builtins.float, builtins.int, builtins.bool, builtins.complex):
            return PYTHON_TYPES[dtype].numpy
        raise TypeError(f"{name}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    return dtype.numpy


PYTHON_TYPES = {builtins.float: dtypes.float64, builtins.int: dtypes.int64, builtins.bool: dtypes.bool_,
                builtins.complex: dtypes.complex128}  # fmt: skip

# From data


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
        if isinstance(value, (builtins.int, np.integer)) and not -(2**63) <= value < 2**64:
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
        raise TypeError(f"not a sequence: expected one of length {shape[dim]} at dim {dim}, got a {type(data).__name__}")
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


# Filled


def _shape(size, name):
    shape = sizes_of(size, name)
    for n in shape:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(shape)}")
    return shape


def _filled(name, make, doc):
    def function(*size, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
                 memory_format=None, names=None, **kwargs):  # fmt: skip
        if "size" in kwargs:
            size = (kwargs.pop("size"),)
        if kwargs:
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(kwargs))}'")
        if not size:
            raise TypeError(f"{name}() received an invalid combination of arguments - got (), but expected a size")
        array = make(_shape(size, name), numpy_dtype(dtype, None, name))
        if out is not None:
            return fitting.store(out, wrap(array.astype(out._spec.dtype.numpy, copy=False)))
        result = finished(array, None, device, requires_grad, layout, pin_memory, names)
        if memory_format in (dtypes.channels_last, dtypes.channels_last_3d):
            result = result.contiguous(memory_format=memory_format)
        return result

    def like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, pin_memory=False):
        check_tensor(name + "_like", input)
        if type(input._array) is not ndarray:
            return input._array.like(name, input, dtype)
        array = (
            np.empty_like(input._array, numpy_dtype(dtype, input._spec.dtype))
            if (memory_format in (None, dtypes.preserve_format))
            else np.empty(input.shape, numpy_dtype(dtype, input._spec.dtype))
        )
        if name != "empty":
            array[...] = name == "ones"
        result = finished(array, None, device, requires_grad, layout, pin_memory)
        if memory_format in (dtypes.channels_last, dtypes.channels_last_3d):
            result = result.contiguous(memory_format=memory_format)
        return result

    def new(self, *size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False, **kwargs):
        if "size" in kwargs:
            size = (kwargs["size"],)
        shape, kind = _shape(size or ((),), "new_" + name), numpy_dtype(dtype, self._spec.dtype)
        if type(self._array) is not ndarray:  # inside vmap: memory for every row
            return self._array.fresh(lambda shape: wrap(make(shape, kind)), shape)
        return finished(make(shape, kind), None, device, requires_grad, layout, pin_memory)

    function.__name__ = function.__qualname__ = name
    like.__name__ = like.__qualname__ = name + "_like"
    new.__name__ = new.__qualname__ = "new_" + name
    function.__doc__, like.__doc__, new.__doc__ = doc
    return function, like, new


zeros, zeros_like, new_zeros = _filled("zeros", np.zeros, ("""A tensor of zeros.

    >>> torch.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """, """Zeros in the shape of another tensor.

    >>> torch.zeros_like(torch.ones(2))
    tensor([0., 0.])
    """, """Zeros of this tensor's dtype.

    >>> torch.ones(1, dtype=torch.int64).new_zeros(2)
    tensor([0, 0])
    """))  # fmt: skip
ones, ones_like, new_ones = _filled("ones", np.ones, ("""A tensor of ones.

    >>> torch.ones(2)
    tensor([1., 1.])
    """, """Ones in the shape of another tensor.

    >>> torch.ones_like(torch.zeros(2))
    tensor([1., 1.])
    """, """Ones of this tensor's dtype.

    >>> torch.zeros(1, dtype=torch.int64).new_ones(2)
    tensor([1, 1])
    """))  # fmt: skip
empty, empty_like, new_empty = _filled("empty", np.empty, ("""A tensor whose elements are not set.

    >>> torch.empty(2, 3).shape
    tensorgrad.Size([2, 3])
    """, """An unset tensor in the shape of another.

    >>> torch.empty_like(torch.zeros(2)).shape
    tensorgrad.Size([2])
    """, """An unset tensor of this tensor's dtype.

    >>> torch.zeros(1).new_empty(2).shape
    tensorgrad.Size([2])
    """))  # fmt: skip


def full(
    size,
    fill_value,
    *,
    out=None,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    pin_memory=False,
    names=None,
):
    """A tensor with one value everywhere.

    >>> torch.full((2,), 7)
    tensor([7, 7])
    """
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
    if isinstance(fill_value, fitting.Tensor):
        dtype, fill_value = dtype or fill_value._spec.dtype, fill_value.item()
    if not is_number(fill_value):
        raise TypeError(f"full(): argument 'fill_value' (position 2) must be Number, not {type(fill_value).__name__}")
    d = dtype or dtypes.of_number(fill_value)
    array = np.full(_shape((size,), "full"), fitting.number_array(fill_value, d))
    if out is not None:
        return fitting.store(out, wrap(array))
    return finished(array, None, device, requires_grad, layout, pin_memory, names)


def full_like(input, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """One value everywhere, in the shape of another tensor.

    >>> torch.full_like(torch.zeros(2), 7)
    tensor([7., 7.])
    """
    result = empty_like(input, dtype=dtype, layout=layout, device=device, memory_format=memory_format)
    result.fill_(fill_value)
    return result.requires_grad_() if requires_grad else result


def new_full(self, size, fill_value, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """One value everywhere, of this tensor's dtype.

    >>> torch.zeros(1).new_full((2,), 3)
    tensor([3., 3.])
    """
    if type(self._array) is not ndarray:
        return self._array.fresh(lambda shape: full(shape, fill_value, dtype=dtype or self._spec.dtype), sizes_of((size,), "new_full"))
    return full(size, fill_value, dtype=dtype or self._spec.dtype, device=device, requires_grad=requires_grad)


def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
    """A copy of the data, of this tensor's dtype.

    >>> torch.zeros(1).new_tensor([1, 2])
    tensor([1., 2.])
    """
    return tensor(data, dtype=dtype or self._spec.dtype, device=device, requires_grad=requires_grad)


# Counted


def _plain(value):
    return value.item() if isinstance(value, fitting.Tensor) else value


def arange(*args, start=None, end=None, step=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
           pin_memory=False, names=None):  # fmt: skip
    """Numbers from start (0) to end, end not included, step (1) apart.

    >>> torch.arange(1, 4)
    tensor([1, 2, 3])
    """
    args = [_plain(a) for a in args]
    if len(args) == 1:
        end = args[0] if end is None else end
        start = start if end is not args[0] else (start if start is not None else 0)
        if end is not args[0]:
            start = args[0]
    elif args:
        start, end, step = (*args, step)[:3]
    start, end, step = (_plain(0 if start is None else start), _plain(end), _plain(1 if step is None else step))
    if end is None or not all(is_number(v) for v in (start, end, step)):
        raise TypeError("arange() received an invalid combination of arguments: it takes numbers (start, end, step)")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) / step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    count = math.ceil((end - start) / step)
    whole = all(isinstance(v, (builtins.int, np.integer)) for v in (start, end, step))
    d = dtype or (out._spec.dtype if out is not None else dtypes.int64 if whole else dtypes.get_default_dtype())
    if whole:
        array = np.arange(start, start + count * step, step, dtype=np.int64).astype(d.numpy, copy=False)
    else:
        array = (start + np.arange(count) * step).astype(numpy_dtype(d))
    if out is not None:
        return fitting.store(out, wrap(array))
    return finished(array, None, device, requires_grad, layout, pin_memory, names)


def range(start, end=None, step=1, *, out=None, dtype=None, device=None, requires_grad=False):
    """Numbers from start to end, end included (PyTorch's deprecated relative of arange).

    >>> torch.range(1, 3)
    tensor([1., 2., 3.])
    """
    if end is None:
        start, end = 0, start
    count = math.floor((end - start) / step) + 1
    array = (start + np.arange(count) * step).astype(numpy_dtype(dtype))
    result = finished(array, None, device, requires_grad)
    return result if out is None else fitting.store(out, result)


def linspace(
    start, end, steps, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """`steps` numbers from start to end, both included, evenly spaced.

    >>> torch.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    result = finished(
        _spaced(_plain(start), _plain(end), _plain(steps), "linspace", dtype), None, device, requires_grad, layout
    )
    return result if out is None else fitting.store(out, result)


def _spaced(start, end, steps, name, dtype):
    """PyTorch's way: the first half is counted from the start, the second from the end, in the dtype of the result."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    complex_ends = isinstance(start, builtins.complex) or isinstance(end, builtins.complex)
    d = dtype or (dtypes.default_complex() if complex_ends else dtypes.get_default_dtype())
    kind = (
        d.numpy
        if d.category >= dtypes.FLOAT and d.itemsize != 2
        else np.dtype(np.float64 if d.category < 2 else np.float32)
    )
    if steps == 1:
        return np.array([start]).astype(d.numpy)
    first, last = kind.type(start), kind.type(end)
    if d.category == dtypes.INTEGER:
        first, last = np.float64(start), np.float64(end)
    step = (last - first) / kind.type(builtins.max(steps - 1, 1))
    places = np.arange(steps)
    up, down = first + step * places.astype(kind), last - step * (steps - 1 - places).astype(kind)
    return np.where(places < steps // 2, up, down).astype(d.numpy)


def logspace(start, end, steps, base=10.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False,
             pin_memory=False):  # fmt: skip
    """`steps` powers of `base`, with exponents from start to end evenly spaced.

    >>> torch.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    d = dtype or dtypes.get_default_dtype()
    exponents = _spaced(
        _plain(start), _plain(end), _plain(steps), "logspace", d if d.category >= dtypes.FLOAT else dtypes.float64
    )
    array = np.power(exponents.dtype.type(base), exponents).astype(d.numpy)
    result = finished(array, None, device, requires_grad, layout)
    return result if out is None else fitting.store(out, result)


def eye(n, m=None, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Ones on the diagonal, zeros elsewhere.

    >>> torch.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    if n < 0 or (m is not None and m < 0):
        raise RuntimeError(f"{'n' if n < 0 else 'm'} must be greater or equal to 0, got {n if n < 0 else m}")
    result = finished(np.eye(n, m, dtype=numpy_dtype(dtype)), None, device, requires_grad, layout)
    return result if out is None else fitting.store(out, result)


def complex(real, imag, *, out=None):
    """A complex tensor of real and imaginary parts.

    >>> torch.complex(torch.tensor([1.]), torch.tensor([2.]))
    tensor([1.+2.j])
    """
    for x in (real, imag):
        if x._spec.dtype not in (dtypes.float32, dtypes.float64, dtypes.float16):
            raise RuntimeError(
                f"Expected both inputs to be Half, Float or Double tensors but got {real._spec.dtype.title} and {imag._spec.dtype.title}"
            )
    if real._spec.dtype is not imag._spec.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {real._spec.dtype.title} but got scalar type {imag._spec.dtype.title} for second argument"
        )
    kind = real._spec.dtype.to_complex()
    result = real.to(kind) + imag.to(kind) * 1j
    return result if out is None else fitting.store(out, result)


def empty_strided(size, stride, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """An unset tensor with the given strides.

    >>> torch.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    count = 0 if 0 in size else 1 + builtins.sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    memory = np.empty(count, numpy_dtype(dtype))
    array = np.ndarray(tuple(size), memory.dtype, memory, 0, [s * memory.itemsize for s in stride])
    return finished(array, None, device, requires_grad)


class CreationMixin:
    """New tensors of this tensor's dtype."""

    __slots__ = ()

    new_zeros, new_ones, new_empty, new_full, new_tensor = new_zeros, new_ones, new_empty, new_full, new_tensor

    def new_empty_strided(self, size, stride, *, dtype=None, device=None, requires_grad=False):
        """An unset tensor of this tensor's dtype with the given strides.

        >>> torch.zeros(1).new_empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
        """
        return empty_strided(size, stride, dtype=dtype or self._spec.dtype, requires_grad=requires_grad)
