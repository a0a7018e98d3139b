"""What a Tensor knows of the graph that made it: requires_grad, grad, grad_fn, hooks, backward, detach."""

import warnings
import weakref

import numpy as np

from tensorgrad import dtypes
from tensorgrad.autograd import differentiate, modes
from tensorgrad.autograd.graph import AccumulateGrad, Pick, RemovableHandle, extra_of
from tensorgrad.autograd.modes import mode, state
from tensorgrad.autograd.views import BrokenView, share_detached

ndarray = np.ndarray
Tensor = wrap = None  # set by tensorgrad.tensor, whose class is built of this mixin


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
            if mode.special and "trace" in modes._special:
                from tensorgrad.compiler.trace import gradient_read

                gradient_read(node)
            return node.grad
        if node is not None and "_grad" not in self.__dict__ and not self.retains_grad:
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
        if mode.special and "trace" in modes._special:
            from tensorgrad.compiler.trace import data_set

            if data_set(self, value):
                return
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
