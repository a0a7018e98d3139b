"""Tensor: an array, how it was made, and what it shares. What it can do comes from the mixins in its class line.

A Tensor is four fields: `_array` (a NumPy array, or a value of a transform), `_spec` (shape and dtype, see spec.py),
`_node` (the Node that made it; AccumulateGrad for a leaf that requires a gradient; else None) and `_alias` (what it shares
memory with, see autograd/views.py; None until it shares anything).
"""

import operator
import weakref

import numpy as np

from tensorgrad import dtypes, printing
from tensorgrad.autograd import differentiate, engine
from tensorgrad.autograd.graph import AccumulateGrad, Pick, RemovableHandle, extra_of
from tensorgrad.autograd import modes
from tensorgrad.autograd.modes import mode, state
from tensorgrad.autograd.views import BrokenView, share_detached
from tensorgrad.dtypes import cpu
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


class LayoutMixin:
    """Where a tensor's numbers lie and what they are: nothing here computes."""

    __slots__ = ()

    @property
    def shape(self):
        """The size of each dimension.

        >>> torch.ones(2, 3).shape
        tensorgrad.Size([2, 3])
        """
        return self._spec.shape

    def size(self, dim=None):
        """The shape, or the size of one dimension.

        >>> torch.ones(2, 3).size(-1)
        3
        """
        shape = self._spec.shape
        return shape if dim is None else shape[fitting.dim_of(dim, len(shape), "size")]

    @property
    def dtype(self):
        """The format of the numbers.

        >>> torch.ones(2).dtype
        tensorgrad.float32
        """
        return self._spec.dtype

    @property
    def device(self):
        """Where the tensor lives.

        >>> torch.ones(2).device
        device(type='cpu')
        """
        return cpu

    @property
    def layout(self):
        """Always `strided`.

        >>> torch.ones(2).layout
        tensorgrad.strided
        """
        return dtypes.strided

    is_cuda = is_sparse = is_quantized = is_mkldnn = is_meta = is_nested = is_mps = is_xpu = is_sparse_csr = False
    is_cpu = True

    @property
    def ndim(self):
        """How many dimensions.

        >>> torch.ones(2, 3).ndim
        2
        """
        return len(self._spec.shape)

    def dim(self):
        """How many dimensions.

        >>> torch.ones(2, 3).dim()
        2
        """
        return len(self._spec.shape)

    ndimension = dim

    def numel(self):
        """How many elements.

        >>> torch.ones(2, 3).numel()
        6
        """
        return self._spec.size

    nelement = numel

    @property
    def itemsize(self):
        """Bytes of one element.

        >>> torch.ones(2).itemsize
        4
        """
        return self._spec.dtype.itemsize

    def element_size(self):
        """Bytes of one element.

        >>> torch.ones(2, dtype=torch.float64).element_size()
        8
        """
        return self._spec.dtype.itemsize

    @property
    def nbytes(self):
        """Bytes of all elements.

        >>> torch.ones(2, 3).nbytes
        24
        """
        return self._spec.size * self._spec.dtype.itemsize

    def stride(self, dim=None):
        """How many elements to step over in memory for the next index, of all dimensions or of one.

        >>> torch.ones(2, 3).stride()
        (3, 1)
        """
        strides = fitting.torch_strides(self._array)
        return strides if dim is None else strides[fitting.dim_of(dim, len(strides), "stride")]

    def storage_offset(self):
        """Where the first element lies in the storage, in elements.

        >>> torch.arange(4)[2:].storage_offset()
        2
        """
        return (
            (self.data_ptr() - fitting.owner(self._array).ctypes.data) // self._spec.dtype.itemsize
            if self._spec.size
            else 0
        )

    def data_ptr(self):
        """The address of the first element.

        >>> x = torch.ones(2); x.data_ptr() == x.view(1, 2).data_ptr()
        True
        """
        return (
            self._array.__array_interface__["data"][0]
            if self._spec.dtype is not dtypes.bfloat16
            else self._array.ctypes.data
        )

    def untyped_storage(self):
        """The memory that this tensor and its views share.

        >>> torch.ones(2, 3)[1].untyped_storage().nbytes()
        24
        """
        return Storage(fitting.owner(self._array), dtypes.uint8)

    def storage(self):
        """The memory that this tensor and its views share, counted in elements.

        >>> torch.ones(2, 3)[1].storage().size()
        6
        """
        return Storage(fitting.owner(self._array), self._spec.dtype)

    _typed_storage = storage

    def is_contiguous(self, memory_format=dtypes.contiguous_format):
        """Whether the elements lie in memory in the order of their indices.

        >>> torch.ones(2, 3).t().is_contiguous()
        False
        """
        array = self._array
        if type(array) is not ndarray and memory_format in (dtypes.channels_last, dtypes.channels_last_3d):
            return False  # what transforms hold lies in order
        if memory_format is dtypes.channels_last:
            return array.ndim == 4 and array.transpose(0, 2, 3, 1).flags.c_contiguous
        if memory_format is dtypes.channels_last_3d:
            return array.ndim == 5 and array.transpose(0, 2, 3, 4, 1).flags.c_contiguous
        return array.flags.c_contiguous

    def is_floating_point(self):
        """Whether the dtype is a real floating one.

        >>> torch.ones(1).is_floating_point()
        True
        """
        return self._spec.dtype.is_floating_point

    def is_complex(self):
        """Whether the dtype is complex.

        >>> torch.ones(1).is_complex()
        False
        """
        return self._spec.dtype.is_complex

    def is_signed(self):
        """Whether the dtype has negative numbers.

        >>> torch.ones(1).is_signed()
        True
        """
        return self._spec.dtype.is_signed

    def is_conj(self):
        """Always False: conjugates are computed at once.

        >>> torch.ones(1).is_conj()
        False
        """
        return False

    is_neg = is_conj

    def is_inference(self):
        """Whether the tensor was made in inference mode.

        >>> torch.ones(1).is_inference()
        False
        """
        return self._spec.inference

    def get_device(self):
        """-1, the number of the CPU.

        >>> torch.ones(1).get_device()
        -1
        """
        return -1

    def is_shared(self):
        """Whether the memory is shared with other processes.

        >>> torch.ones(1).is_shared()
        False
        """
        return False

    def is_pinned(self, device=None):
        """Always False.

        >>> torch.ones(1).is_pinned()
        False
        """
        return False


class Storage:
    """The memory behind a tensor and its views."""

    def __init__(self, owner, dtype):
        self._owner, self.dtype = owner, dtype

    def data_ptr(self):
        return self._owner.ctypes.data

    def nbytes(self):
        return self._owner.nbytes

    def size(self):
        return self._owner.nbytes // self.dtype.itemsize

    __len__ = size

    def element_size(self):
        return self.dtype.itemsize

    def tolist(self):
        return self._flat().tolist()

    def __getitem__(self, index):
        return self._flat()[index].item()

    def _flat(self):
        flat = np.ndarray((self.size(),), self.dtype.numpy, self._owner.data if self._owner.flags.c_contiguous else
                          self._owner.ravel(order="K"))  # fmt: skip
        return flat

    def __eq__(self, other):
        return isinstance(other, Storage) and self.data_ptr() == other.data_ptr()

    def __hash__(self):
        return hash(self.data_ptr())


class AutogradMixin:
    """Gradients: what a tensor knows of the graph that made it."""

    __slots__ = ()

    @property
    def requires_grad(self):
        """Whether operations on this tensor are recorded.

        >>> torch.ones(1).requires_grad
        False
        """
        return self._node is not None

    @requires_grad.setter
    def requires_grad(self, value):
        if not isinstance(value, bool):
            raise RuntimeError("requires_grad must be a bool")
        node = self._node
        if node is not None and type(node) is not AccumulateGrad:
            if not value:
                raise RuntimeError(
                    "you can only change requires_grad flags of leaf variables. If you want to use a computed variable "
                    "in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
                )
            return
        if value and node is None:
            if self._spec.dtype.category < dtypes.FLOAT:
                raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
            if self._spec.inference and not state.inference:
                raise RuntimeError(
                    "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
                )
            self._node = AccumulateGrad(self)
            self._node.grad = self.__dict__.pop("_grad", None)
        elif not value and node is not None:
            self._node = None
            if node.grad is not None:
                self.__dict__["_grad"] = node.grad

    def requires_grad_(self, requires_grad=True):
        """Record operations on this tensor from now on (or no longer).

        >>> x = torch.ones(1).requires_grad_(); x
        tensor([1.], requires_grad=True)
        """
        if requires_grad and self._spec.dtype.category < dtypes.FLOAT:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        self.requires_grad = requires_grad
        return self

    @property
    def grad(self):
        """The gradient that backward passes have added up, or None.

        >>> x = torch.tensor(3., requires_grad=True); (x * x).backward(); x.grad
        tensor(6.)
        """
        node = self._node
        if type(node) is AccumulateGrad:
            return node.grad
        if node is not None and "_grad" not in self.__dict__ and not self.retains_grad:
            import warnings

            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't "
                "be populated during autograd.backward(). If you indeed want the .grad field to be populated for a "
                "non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by "
                "mistake, make sure you access the leaf Tensor instead.",
                stacklevel=2,
            )
        return self.__dict__.get("_grad")

    @grad.setter
    def grad(self, value):
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(
                    f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}"
                )
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            if value._spec.dtype is not self._spec.dtype:
                given = {"Double": "double", "Float": "float", "Half": "c10::Half"}.get(
                    value._spec.dtype.title, value._spec.dtype.title
                )
                raise RuntimeError(
                    f"attempting to assign a gradient with dtype '{given}' to a tensor with grad_dtype "
                    f"'{self._spec.dtype.title}'. The gradient must match the tensor's grad_dtype."
                )
            if value.shape != self.shape:
                raise RuntimeError(
                    f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size '{list(self.shape)}'. "
                    "Please ensure that the gradient and the tensor are the same size"
                )
        if type(self._node) is AccumulateGrad:
            if mode.special and "trace" in modes._special:
                from tensorgrad.compiler.trace import gradient_set

                gradient_set(self._node)
            self._node.grad = value
        elif value is None:
            self.__dict__.pop("_grad", None)
        else:
            self.__dict__["_grad"] = value

    @grad.deleter
    def grad(self):
        self.grad = None

    @property
    def grad_fn(self):
        """The operation that made this tensor, or None for a leaf.

        >>> x = torch.ones(1, requires_grad=True); (x * 2).grad_fn.name()
        'MulBackward0'
        """
        node = self._node
        if node is None or type(node) is AccumulateGrad:
            return None
        if type(node) is BrokenView:
            node.backward()
        return node.parent if type(node) is Pick else node

    @property
    def output_nr(self):
        """Which output of its operation this tensor is.

        >>> torch.ones(4, requires_grad=True).split(2)[1].output_nr
        1
        """
        return self._node.index if type(self._node) is Pick else 0

    @property
    def is_leaf(self):
        """Whether the tensor was made by the user rather than by a recorded operation.

        >>> torch.ones(1, requires_grad=True).is_leaf
        True
        """
        return self._node is None or type(self._node) is AccumulateGrad

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Add the gradients of this tensor with respect to the leaves to their `.grad`.

        >>> x = torch.tensor([1., 2.], requires_grad=True); (x * x).sum().backward(); x.grad
        tensor([2., 4.])
        """
        differentiate.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def retain_grad(self):
        """Keep the gradient of this tensor in `.grad` although it is no leaf.

        >>> x = torch.ones(1, requires_grad=True); y = x * 2; y.retain_grad(); (y * 3).backward(); y.grad
        tensor([3.])
        """
        if self._node is None:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if type(self._node) is not AccumulateGrad and not self.retains_grad:
            extra_of(self._node).retains = weakref.ref(self)

    @property
    def retains_grad(self):
        """Whether `retain_grad` was called on this tensor, and it is no leaf.

        >>> torch.ones(1, requires_grad=True).retains_grad
        False
        """
        node = self._node
        if node is None or node.extra is None or node.extra.retains is None:
            return False
        return node.extra.retains() is self

    def register_hook(self, hook):
        """Call `hook(grad)` with each gradient of this tensor; what it returns replaces the gradient.

        >>> x = torch.ones(1, requires_grad=True); handle = x.register_hook(lambda g: g * 10)
        >>> (x * 2).backward(); x.grad
        tensor([20.])
        """
        if self._node is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        return RemovableHandle(extra_of(self._node).tensor_hooks, hook)

    def register_post_accumulate_grad_hook(self, hook):
        """Call `hook(tensor)` each time a gradient has been added to `.grad` of this leaf.

        >>> x = torch.ones(1, requires_grad=True)
        >>> handle = x.register_post_accumulate_grad_hook(lambda p: print(p.grad))
        >>> (x * 2).backward()
        tensor([2.])
        """
        if self._node is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if type(self._node) is not AccumulateGrad:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        if self._node.post_hooks is None:
            self._node.post_hooks = {}
        return RemovableHandle(self._node.post_hooks, hook)

    def detach(self):
        """The same memory, cut from the graph.

        >>> torch.ones(1, requires_grad=True).detach()
        tensor([1.])
        """
        if type(self._array) is not ndarray:
            return self._array.detach(self)
        result = wrap(self._array)
        result._spec = self._spec
        share_detached(result, self)
        return result

    def detach_(self):
        """Cut this tensor from the graph: it becomes a leaf.

        >>> y = torch.ones(1, requires_grad=True) * 2; y.detach_()
        tensor([2.])
        """
        if self._alias is not None and self._alias.base is not None:
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
                "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
                "detach_() cannot be called on these gradients."
            )
        grad = self._node.grad if type(self._node) is AccumulateGrad else None
        self._node = None
        if grad is not None:
            self.__dict__["_grad"] = grad
        return self

    @property
    def data(self):
        """The same memory, outside of the graph and of version counting.

        >>> torch.ones(1, requires_grad=True).data
        tensor([1.])
        """
        result = wrap(self._array)
        result._spec = self._spec
        return result

    @data.setter
    def data(self, value):
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if self._node is not None and value._spec.dtype.category < dtypes.FLOAT:
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        self._array, self._spec = value._array, value._spec

    @property
    def _version(self):
        if self._spec.inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        return 0 if self._alias is None else self._alias.version.count

    @property
    def _base(self):
        return None if self._alias is None else self._alias.base

    def _is_view(self):
        return self._base is not None

    def is_set_to(self, other):
        """Whether both are the same view of the same memory.

        >>> x = torch.ones(2); x.is_set_to(x.view(2))
        True
        """
        return self.data_ptr() == other.data_ptr() and self.shape == other.shape and self.stride() == other.stride()


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
    suffixes = []
    node = tensor.grad_fn
    if node is not None:
        suffixes.append(f"grad_fn=<{node.name()}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    if tensor._spec.names is not None:
        suffixes.append(f"names={tensor._spec.names}")
    array = tensor._array
    if type(array) is not ndarray:
        return array.show(tensor)
    d = tensor._spec.dtype
    default = dtypes.get_default_dtype()
    plain = d in (default, default.to_complex(), dtypes.int64, dtypes.bool_)
    return printing.format_tensor(array, dtype_name=repr(d), default_float=plain, suffixes=tuple(suffixes))


Tensor.__module__ = "tensorgrad"
for module in (primitive, pointwise, fitting, engine, differentiate, both):
    module.Tensor, module.wrap = Tensor, wrap
