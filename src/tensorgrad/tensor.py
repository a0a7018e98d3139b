"""Tensor: an array, how it was made, and what it shares. What it can do comes from the mixins in its class line.

A Tensor is four fields: `_array` (a NumPy array, or a value of a transform), `_spec` (shape and dtype, see spec.py),
`_node` (the Node that made it; AccumulateGrad for a leaf that requires a gradient; else None) and `_alias` (what it shares
memory with, see autograd/views.py; None until it shares anything).
"""

import operator

import numpy as np

from tensorgrad import dtypes, printing
from tensorgrad.autograd import differentiate, engine, mixin
from tensorgrad.autograd.graph import AccumulateGrad
from tensorgrad.autograd.mixin import AutogradMixin
from tensorgrad.layout import LayoutMixin
from tensorgrad.ops import both, fitting, pointwise, primitive
from tensorgrad.ops.arithmetic import ArithmeticMixin
from tensorgrad.ops.comparison import ComparisonMixin
from tensorgrad.ops.convert import ConvertMixin
from tensorgrad.ops.creation import CreationMixin
from tensorgrad.ops.elementwise import ElementwiseMixin
from tensorgrad.ops.filling import FillingMixin
from tensorgrad.ops.index import LaterMixin
from tensorgrad.ops.indexing import IndexingMixin
from tensorgrad.ops.matmul import MatmulMixin
from tensorgrad.ops.primitive import wrap
from tensorgrad.ops.random import RandomMixin
from tensorgrad.ops.reduction import ReductionMixin
from tensorgrad.ops.shape import ShapeMixin
from tensorgrad.spec import spec_of

ndarray = np.ndarray


class Tensor(
    LayoutMixin, AutogradMixin, ArithmeticMixin, ElementwiseMixin, ComparisonMixin, ReductionMixin, ShapeMixin,
    IndexingMixin, FillingMixin, MatmulMixin, CreationMixin, RandomMixin, ConvertMixin, LaterMixin,
):  # fmt: skip
    """An array that can be differentiated.

    >>> x = torch.tensor([0.5, 0.75], requires_grad=True)
    >>> (torch.log(x[0] * x[1]) * torch.sin(x[1])).backward(); x.grad
    tensor([1.3633, 0.1912])
    """

    __slots__ = ("__dict__", "__weakref__", "_alias", "_array", "_node", "_spec")
    __array_priority__ = 1000

    def __new__(cls, *data, device=None):
        dtypes.check_device(device)
        if len(data) == 1 and isinstance(data[0], Tensor):
            return data[0].detach() if cls is Tensor else data[0].detach().as_subclass(cls)
        if (
            len(data) == 1
            and isinstance(data[0], (list, tuple))
            and not isinstance(data[0], type(spec_of(np.empty(0)).shape))
        ):
            from tensorgrad.ops.creation import tensor

            made = tensor(data[0], dtype=dtypes.get_default_dtype())
        else:
            made = wrap(np.empty(fitting.sizes_of(data or (0,), "new"), dtypes.get_default_dtype().numpy))
        return made if cls is Tensor else made.as_subclass(cls)

    def as_subclass(self, cls):
        """The same tensor as an object of a subclass of Tensor.

        >>> class Mine(torch.Tensor): pass
        >>> type(torch.ones(1).as_subclass(Mine)).__name__
        'Mine'
        """
        made = object.__new__(cls)
        made._array, made._spec, made._node, made._alias = self._array, self._spec, self._node, self._alias
        return made

    def __repr__(self, *, tensor_contents=None):
        return show(self, tensor_contents)

    def __format__(self, spec):
        if self._spec.shape:
            return object.__format__(self, spec) if spec else repr(self)
        return format(self.item(), spec)

    def __hash__(self):
        return id(self)

    def __len__(self):
        if not self._spec.shape:
            raise TypeError("len() of a 0-d tensor")
        return self._spec.shape[0]

    def __iter__(self):
        if not self._spec.shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __reversed__(self):
        return self.flip(0) if self._spec.shape else self

    def __contains__(self, element):
        if isinstance(element, Tensor) or fitting.is_number(element):
            return bool((self == element).any().item())
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    def __bool__(self):
        if self._spec.size != 1:
            if self._spec.size == 0:
                raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self.item()) if type(self._array) is ndarray else self._array.truth()

    def __int__(self):
        return int(self.one_number())

    def __float__(self):
        value = self.one_number()
        if isinstance(value, complex) and value.imag:
            raise RuntimeError("value cannot be converted to type double without overflow")
        return float(value.real if isinstance(value, complex) else value)

    def __complex__(self):
        return complex(self.one_number())

    def __index__(self):
        if self._spec.size != 1 or self._spec.dtype.category > dtypes.INTEGER:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return operator.index(int(self.item()))

    def one_number(self):
        """The only element, or the TypeError of `float(tensor)`."""
        if self._spec.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        if dtype is not None:
            array = array.astype(dtype, copy=False)
        return array.copy() if copy else array

    def __array_wrap__(self, array, context=None, return_scalar=False):
        if array.dtype == bool:
            array = array.astype(np.uint8)
        return wrap(np.asarray(array))

    def __dlpack__(self, *, stream=None, **options):
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()

    def __copy__(self):
        return self.as_subclass(type(self))

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. "
                "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, "
                "see https://github.com/pytorch/pytorch/pull/103001"
            )
        import copy

        made = object.__new__(type(self))
        memo[id(self)] = made
        memory = fitting.owner(self._array)  # copied once, so that tensors that shared it share the copy
        if id(memory) not in memo:
            memo[id(memory)] = memory.copy(order="K")
        array, offset = memo[id(memory)], self._array.ctypes.data - memory.ctypes.data
        if self._array is not memory:
            array = np.lib.stride_tricks.as_strided(
                array.reshape(-1, order="A").view(np.uint8)[offset:][: self._array.dtype.itemsize].view(self._array.dtype),
                self._array.shape, self._array.strides,
            ) if self._array.size else self._array.copy()  # fmt: skip
        made._array, made._spec, made._node, made._alias = array, self._spec, None, None
        if self._node is not None:
            made._node = AccumulateGrad(made)
            made._node.grad = copy.deepcopy(self._node.grad, memo)
        for name, value in self.__dict__.items():
            made.__dict__[name] = copy.deepcopy(value, memo)
        return made

    def __reduce_ex__(self, protocol):
        if not self.is_leaf:
            raise RuntimeError(
                "Pickling a tensor that is part of a graph would lose the graph: pickle its detach() instead."
            )
        extras = {name: value for name, value in self.__dict__.items() if name != "_grad"}
        return rebuild, (type(self), np.asarray(self._array), self._spec.dtype.name, self.requires_grad, extras)

    def __dir__(self):
        return sorted(set(object.__dir__(self)))


def rebuild(cls, array, dtype_name, requires_grad, extras):
    """A tensor from its pickled parts."""
    made = wrap(np.array(array, copy=None))
    if cls is not Tensor:
        made = made.as_subclass(cls)
    made.__dict__.update(extras)
    return made.requires_grad_(requires_grad)


def show(tensor, contents=None):
    """The text of a tensor, as PyTorch prints it."""
    suffixes, array = [], tensor._array
    node = tensor.grad_fn
    if node is not None:
        suffixes.append(f"grad_fn=<{type(node).__name__}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    if tensor._spec.names is not None:
        suffixes.append(f"names={tensor._spec.names}")
        array = array.array if type(array.array) is ndarray else array
    if type(array) is not ndarray:
        return array.show(tensor)
    d = tensor._spec.dtype
    default = dtypes.get_default_dtype()
    plain = d in (default, default.to_complex(), dtypes.int64, dtypes.bool_)
    return printing.format_tensor(array, dtype_name=repr(d), default_float=plain, suffixes=tuple(suffixes))


Tensor.__module__ = "tensorgrad"
for module in (primitive, pointwise, fitting, engine, differentiate, mixin, both):
    module.Tensor, module.wrap = Tensor, wrap
