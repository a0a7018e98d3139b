"""Tensors that a module owns: Parameter, Buffer, and their uninitialized kinds, whose shape the first input decides."""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.autograd.graph import AccumulateGrad
from tensorgrad.ops.primitive import wrap
from tensorgrad.tensor import Tensor

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]


class _ParameterKind(type(Tensor)):
    """A tensor of a user's own subclass stays that subclass as a parameter, and still is one."""

    def __instancecheck__(cls, instance):
        if type.__instancecheck__(cls, instance):
            return True
        return cls is Parameter and isinstance(instance, Tensor) and instance.__dict__.get("_is_param", False)


class Parameter(Tensor, metaclass=_ParameterKind):
    """A tensor that a module registers as its parameter when it is assigned to it.

    >>> torch.nn.Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __slots__ = ()

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = wrap(np.empty(0, dtypes.get_default_dtype().numpy))
        detached = data.detach()
        if requires_grad and detached.dtype.category < dtypes.FLOAT:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        if type(data) is Tensor or type(data) is Parameter:
            made = detached.as_subclass(cls)
        else:
            made = detached.as_subclass(type(data))
            made.__dict__.update(data.__dict__)
            made._is_param = True
        if requires_grad:
            made._node = AccumulateGrad(made)
        return made

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self, *, tensor_contents=None):
        return "Parameter containing:\n" + super().__repr__()


class _BufferKind(type(Tensor)):
    """A buffer is a plain tensor with a mark."""

    def __instancecheck__(cls, instance):
        if type.__instancecheck__(cls, instance):
            return True
        return cls is Buffer and isinstance(instance, Tensor) and instance.__dict__.get("_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferKind):
    """A tensor that a module registers as its buffer when it is assigned to it.

    >>> module = torch.nn.Module(); module.mean = torch.nn.Buffer(torch.zeros(1))
    >>> list(module.state_dict())
    ['mean']
    """

    __slots__ = ()

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = wrap(np.empty(0, dtypes.get_default_dtype().numpy))
        made = data.detach()
        made._node = data._node
        made._is_buffer, made.persistent = True, persistent
        return made


_memory = Tensor.__dict__["_array"]


class _Uninitialized:
    """A tensor without a shape; `materialize` gives it one and makes it what it stands for."""

    __slots__ = ()

    @property
    def _array(self):  # every operation asks for it
        raise ValueError(
            "Attempted to use an uninitialized parameter in an operation. This error happens when you are using a "
            f"`LazyModule` or explicitly manipulating `torch.nn.parameter.{type(self).__name__}` objects. When using "
            "LazyModules Call `forward` with a dummy batch to initialize the parameters before calling torch functions"
        )

    @_array.setter
    def _array(self, array):
        _memory.__set__(self, array)

    @property
    def data(self):
        return wrap(_memory.__get__(self))

    data = data.setter(Tensor.data.fset)

    def materialize(self, shape, device=None, dtype=None):
        """Give this tensor a shape and fresh memory, in place.

        >>> p = torch.nn.UninitializedParameter(); p.materialize((2, 3)); type(p).__name__, p.shape
        ('Parameter', tensorgrad.Size([2, 3]))
        """
        from tensorgrad.ops.creation import empty

        dtypes.check_device(device)
        self.data = empty(shape, dtype=dtype or self.dtype)
        self.__class__ = self._becomes

    @property
    def shape(self):
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` to "
            "initialize the parameters before accessing their attributes."
        )

    def size(self, dim=None):
        return super().shape if dim is None else super().size(dim)

    def share_memory_(self):
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`."
        )

    def __repr__(self, *, tensor_contents=None):
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol):
        return type(self), (self.requires_grad, None, self.dtype)


UninitializedTensorMixin = _Uninitialized  # PyTorch's name


class UninitializedParameter(_Uninitialized, Parameter):
    """A parameter whose shape is not known yet.

    >>> torch.nn.UninitializedParameter()
    <UninitializedParameter>
    """

    __slots__ = ()
    _becomes = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        dtypes.check_device(device)
        made = wrap(np.empty(0, (dtype or dtypes.get_default_dtype()).numpy)).as_subclass(cls)
        return made.requires_grad_(requires_grad)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, None, self.dtype)
        return memo[id(self)]


class UninitializedBuffer(_Uninitialized, Tensor):
    """A buffer whose shape is not known yet.

    >>> torch.nn.UninitializedBuffer()
    <UninitializedBuffer>
    """

    __slots__ = ()
    _becomes = Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        dtypes.check_device(device)
        made = wrap(np.empty(0, (dtype or dtypes.get_default_dtype()).numpy)).as_subclass(cls)
        made._is_buffer, made.persistent = True, persistent
        return made.requires_grad_(requires_grad)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, None, self.dtype, self.persistent)
        return memo[id(self)]


def is_lazy(param):
    """Whether a parameter or buffer has no shape yet.

    >>> torch.nn.parameter.is_lazy(torch.nn.Parameter(torch.ones(1)))
    False
    """
    return isinstance(param, _Uninitialized)
