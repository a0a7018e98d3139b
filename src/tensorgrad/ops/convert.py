"""Between tensors and everything else: dtypes, Python numbers and lists, NumPy arrays."""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.autograd.modes import mode
from tensorgrad.ops import fitting
from tensorgrad.ops.primitive import Primitive


def _cast(x, to):
    """An array in another dtype, with C's conversions: NaN and what is out of range do not raise."""
    if x.dtype.kind == "c" and to.kind != "c":
        if to.kind == "b":
            return x != 0
        x = x.real
    return x.astype(to, "C" if 0 in x.strides else "K")  # as PyTorch lays out what was expanded


_to_copy = Primitive(
    "to_copy", lambda x, to, order: _cast(x, to) if order == "K" else np.ascontiguousarray(_cast(x, to)),
    transpose=lambda g, x: _cast_back(g, x), node="ToCopyBackward0",
)  # fmt: skip


def _cast_back(g, spec):
    return fitting.fit_array(g, spec) if isinstance(g, (np.ndarray, np.generic)) else fitting.fit_tensor(g, spec)


def to(
    self,
    *args,
    dtype=None,
    device=None,
    non_blocking=False,
    copy=False,
    memory_format=dtypes.preserve_format,
    other=None,
):
    """The tensor with another dtype (or that of another tensor); itself when nothing changes.

    >>> torch.ones(2).to(torch.int64)
    tensor([1, 1])
    """
    for position, arg in enumerate(args):
        if isinstance(arg, dtypes.dtype):
            dtype = arg
        elif isinstance(arg, (str, dtypes.device)) or (arg is None and position == 0):
            device = arg
        elif isinstance(arg, fitting.Tensor):
            dtype = arg._spec.dtype
        elif isinstance(arg, bool):
            non_blocking, copy = (arg, copy) if position == 1 else (non_blocking, arg)
        elif arg in _PYTHON:
            dtype = _PYTHON[arg]
        elif arg is not None:
            raise TypeError(f"to() received an invalid combination of arguments - got ({type(arg).__name__})")
    if other is not None:
        dtype = other._spec.dtype
    dtypes.check_device(device)
    if dtype is None or dtype is self._spec.dtype:
        if memory_format in (dtypes.channels_last, dtypes.channels_last_3d):
            return self.contiguous(memory_format=memory_format) if not copy else self.clone(memory_format=memory_format)
        return self.clone() if copy else self
    if self._spec.dtype.is_complex and not dtype.is_complex and dtype.category:
        import warnings

        warnings.warn("Casting complex values to real discards the imaginary part", stacklevel=2)
    result = _to_copy(self, dtype.numpy, "K")
    if memory_format in (dtypes.channels_last, dtypes.channels_last_3d):
        result = result.contiguous(memory_format=memory_format)
    return result


_PYTHON = {float: dtypes.float64, int: dtypes.int64, bool: dtypes.bool_, complex: dtypes.complex128}


def _converter(name, dtype):
    def function(self, memory_format=dtypes.preserve_format):
        return to(self, dtype, memory_format=memory_format)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The tensor as {dtype.name}.

    >>> torch.ones(1).{name}().dtype
    tensorgrad.{dtype.name}
    """
    return function


class ConvertMixin:
    """Conversions as methods."""

    __slots__ = ()

    to = to
    float, double, half = (
        _converter("float", dtypes.float32),
        _converter("double", dtypes.float64),
        _converter("half", dtypes.float16),
    )
    bfloat16, int, long = (
        _converter("bfloat16", dtypes.bfloat16),
        _converter("int", dtypes.int32),
        _converter("long", dtypes.int64),
    )
    short, char, byte = (
        _converter("short", dtypes.int16),
        _converter("char", dtypes.int8),
        _converter("byte", dtypes.uint8),
    )
    bool, cfloat, cdouble = (
        _converter("bool", dtypes.bool_),
        _converter("cfloat", dtypes.complex64),
        _converter("cdouble", dtypes.complex128),
    )

    def type_as(self, other):
        """The tensor with the dtype of another.

        >>> torch.ones(1).type_as(torch.tensor(1)).dtype
        tensorgrad.int64
        """
        return to(self, other._spec.dtype)

    def type(self, dtype=None, non_blocking=False):
        """PyTorch's name of the kind of tensor, or the tensor as another kind.

        >>> torch.ones(1).type()
        'torch.FloatTensor'
        """
        if dtype is None:
            return f"torch.{self._spec.dtype.title}Tensor"
        if isinstance(dtype, str):
            title = dtype.removeprefix("torch.").removeprefix("tensorgrad.").removesuffix("Tensor")
            found = [d for d in dtypes.DTYPES if d.title == title]
            if not found:
                raise ValueError(f"invalid type: '{dtype}'")
            dtype = found[0]
        return to(self, dtype)

    def cpu(self, memory_format=None):
        """The tensor itself: it is on the CPU.

        >>> torch.ones(1).cpu()
        tensor([1.])
        """
        return self

    def cuda(self, device=None, non_blocking=False, memory_format=None):
        """Raises: tensorgrad computes on the CPU."""
        dtypes.check_device("cuda")

    def item(self):
        """The only element as a Python number.

        >>> torch.tensor([2.5]).item()
        2.5
        """
        array = self._array
        if self._spec.size != 1:
            raise RuntimeError(f"a Tensor with {self._spec.size} elements cannot be converted to Scalar")
        if mode.special:
            fitting.watch(self)
        value = array.item()
        return value if self._spec.dtype is not dtypes.bfloat16 else _FLOAT(value)

    def tolist(self):
        """The elements as nested lists of Python numbers, or the number of a 0-d tensor.

        >>> torch.tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
        """
        if type(self._array) is not np.ndarray:
            return self._array.tolist()
        if mode.special:
            fitting.watch(self)
        array = self._array
        return (array.astype(np.float32) if self._spec.dtype is dtypes.bfloat16 else array).tolist()

    def numpy(self, *, force=False):
        """The NumPy array that the tensor holds: memory is shared.

        >>> torch.ones(2).numpy()
        array([1., 1.], dtype=float32)
        """
        if self._node is not None and not force:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if type(self._array) is not np.ndarray:
            return self._array.numpy(self)
        if self._spec.dtype is dtypes.bfloat16 and not force:
            raise TypeError("Got unsupported ScalarType BFloat16")
        if mode.special:
            fitting.watch(self)
        return self._array

    def apply_(self, function):
        """Replace each element by what a Python function makes of it (slow; for tensors that need no gradient).

        >>> torch.tensor([1., 2.]).apply_(lambda v: v * 10)
        tensor([10., 20.])
        """
        if self._node is not None:
            raise RuntimeError("Can't call apply_() on Variable that requires grad. Use var.detach().apply_() instead.")
        fitting.check_writable(self)
        for index in np.ndindex(self._array.shape):
            self._array[index] = function(self._array[index].item())
        fitting.alias_of(self).version.bump()
        return self

    def map_(self, tensor, function):
        """Replace each element by what a Python function makes of it and of the element of another tensor.

        >>> torch.tensor([1., 2.]).map_(torch.tensor([10., 20.]), lambda a, b: a + b)
        tensor([11., 22.])
        """
        if self._node is not None or tensor._node is not None:
            raise RuntimeError("Can't call map_() on Variable that requires grad. Use var.detach().map_() instead.")
        others = np.broadcast_to(tensor._array, self._array.shape)
        for index in np.ndindex(self._array.shape):
            self._array[index] = function(self._array[index].item(), others[index].item())
        fitting.alias_of(self).version.bump()
        return self

    def resize_(self, *sizes, memory_format=None):
        """Give the tensor another size in place, keeping the elements that fit.

        >>> torch.arange(4).resize_(2)
        tensor([0, 1])
        """
        if self._node is not None:
            raise RuntimeError("cannot resize variables that require grad")
        shape = fitting.sizes_of(sizes, "resize_")
        size = int(np.prod(shape, dtype=np.int64))
        if mode.special:
            fitting.watch(self, reading=False)
        if type(self._array) is not np.ndarray:
            raise self._array.no_numbers()
        if shape != self._array.shape:
            self._array = fitting.resized(self._array, shape, size)
            self._spec = fitting.wrap(self._array)._spec
        return self

    def set_(self, source=None):
        """Make this tensor the same memory as `source`.

        >>> x = torch.ones(1); x.set_(torch.zeros(2))
        tensor([0., 0.])
        """
        if mode.special:
            fitting.watch(self, reading=False)
        source = fitting.wrap(np.empty(0, self._array.dtype)) if source is None else source
        self._array, self._spec = source._array, source._spec
        return self


_FLOAT = float
