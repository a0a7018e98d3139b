"""Making tensors: filled with one value, and the `_like` and `new_` forms. From data: data.py; counted: counting.py."""

import builtins

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops import fitting
from tensorgrad.ops.arguments import int_argument
from tensorgrad.ops.counting import arange, linspace, logspace, range  # noqa: F401
from tensorgrad.ops.data import (  # noqa: F401
    array_of,
    as_tensor,
    asarray,
    dtype_beside_out,
    finished,
    from_dlpack,
    from_numpy,
    frombuffer,
    numpy_dtype,
    scalar_tensor,
    tensor,
)  # fmt: skip
from tensorgrad.ops.fitting import check_tensor, is_number, sizes_of
from tensorgrad.ops.primitive import wrap

ndarray = np.ndarray


def _shape(size, name):
    shape = sizes_of(size, name)
    for n in shape:
        if n < 0:
            if name == "zeros":
                raise RuntimeError("zeros: Dimension size must be non-negative.")
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
            raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
        array = make(_shape(size, name), dtype_beside_out(dtype, out, None, name).numpy)
        if out is not None:
            return fitting.store(out, wrap(array))
        result = finished(array, None, device, requires_grad, layout, pin_memory, names)
        if memory_format in (dtypes.channels_last, dtypes.channels_last_3d):
            result = result.contiguous(memory_format=memory_format)
        return result

    def like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, pin_memory=False):
        check_tensor(name + "_like", input)
        if type(input._array) is not ndarray:
            return input._array.like(name, input, dtype)
        array = (
            np.empty_like(
                input._array, numpy_dtype(dtype, input._spec.dtype), "C" if 0 in input._array.strides else "K"
            )
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
    if isinstance(fill_value, fitting.Tensor) and not fill_value._spec.shape:
        dtype, fill_value = dtype or fill_value._spec.dtype, fill_value.item()
    if not is_number(fill_value):
        raise TypeError(f"full(): argument 'fill_value' (position 2) must be Number, not {type(fill_value).__name__}")
    d = dtype_beside_out(dtype, out, dtypes.of_number(fill_value), "full")
    array = np.full(_shape((size,), "full"), fitting.exact_number(fill_value, d, halves=False))
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
        return self._array.fresh(
            lambda shape: full(shape, fill_value, dtype=dtype or self._spec.dtype), sizes_of((size,), "new_full")
        )
    return full(size, fill_value, dtype=dtype or self._spec.dtype, device=device, requires_grad=requires_grad)


def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
    """A copy of the data, of this tensor's dtype.

    >>> torch.zeros(1).new_tensor([1, 2])
    tensor([1., 2.])
    """
    return tensor(data, dtype=dtype or self._spec.dtype, device=device, requires_grad=requires_grad)


def eye(
    n, m=None, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, names=None
):
    """Ones on the diagonal, zeros elsewhere.

    >>> torch.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    n, m = int_argument("eye", "n", 1, n), None if m is None else int_argument("eye", "m", 2, m)
    if n < 0 or (m is not None and m < 0):
        raise RuntimeError(f"{'n' if n < 0 else 'm'} must be greater or equal to 0, got {n if n < 0 else m}")
    array = np.eye(n, m, dtype=dtype_beside_out(dtype, out, None, "eye").numpy)
    result = finished(array, None, device, requires_grad, layout, pin_memory, names)
    return result if out is None else fitting.store(out, result)


def empty_strided(
    size, stride, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, names=None
):
    """An unset tensor with the given strides.

    >>> torch.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    if len(size) != len(stride):
        raise RuntimeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})"
        )
    if any(s < 0 for s in stride):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    count = 0 if 0 in size else 1 + builtins.sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    memory = np.empty(count, numpy_dtype(dtype))
    array = np.ndarray(tuple(size), memory.dtype, memory, 0, [s * memory.itemsize for s in stride])
    return finished(array, None, device, requires_grad, layout, pin_memory, names)


def empty_permuted(
    size, physical_layout, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, names=None
):
    """An unset tensor whose dimensions lie in memory in the order given, outermost first.

    >>> torch.empty_permuted((2, 3), (1, 0)).stride()
    (1, 2)
    """
    size, order = _shape((size,), "empty_permuted"), tuple(physical_layout)
    if len(size) != len(order):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
            f"{len(size)} is not equal to len(physical_layout) = {len(order)}"
        )
    for position, dim in enumerate(order):
        if not 0 <= dim < len(size):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {dim} at index {position}).  "
                "NB: negative dims not currently supported; file an issue if you want it."
            )
        if dim in order[:position]:
            raise RuntimeError("Duplicate dim not allowed")
    memory = np.empty([size[dim] for dim in order], numpy_dtype(dtype))
    array = memory.transpose(np.argsort(order)) if order else memory
    return finished(array, None, device, requires_grad, layout, pin_memory, names)


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
