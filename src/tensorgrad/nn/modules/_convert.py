"""Changing what a module's tensors are: dtype, device, memory format, whether they require gradients."""

import warnings

from tensorgrad import dtypes
from tensorgrad.autograd import modes
from tensorgrad.dtypes import FLOAT
from tensorgrad.nn.parameter import is_lazy
from tensorgrad.tensor import Tensor


class ConvertMixin:
    """`to` and its kin: they change a module's tensors in place and return the module."""

    def _apply(self, fn, recurse=True):
        if recurse:
            for module in self.children():
                module._apply(fn)
        for parameter in self._parameters.values():
            if parameter is None:
                continue
            with modes.no_grad():
                parameter.data = fn(parameter.detach() if not is_lazy(parameter) else parameter.data)
                if parameter.grad is not None:
                    gradient = parameter.grad
                    gradient.data = fn(gradient.detach())
        for name, buffer in self._buffers.items():
            if buffer is not None:
                if is_lazy(buffer):
                    buffer.data = fn(buffer.data)
                else:
                    self._buffers[name] = fn(buffer)
        return self

    def apply(self, fn):
        """Call `fn(module)` for every submodule, then for this one.

        >>> _ = torch.nn.Sequential(torch.nn.ReLU()).apply(lambda module: print(type(module).__name__))
        ReLU
        Sequential
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def to(self, *args, **kwargs):
        """Bring the floating-point tensors to a dtype: `to(dtype)`, `to(device)`, `to(device, dtype)` or `to(tensor)`.

        >>> torch.nn.Linear(2, 2).to(torch.float64).weight.dtype
        tensorgrad.float64
        """
        dtype, memory_format = _target(args, kwargs)
        if dtype is not None:
            if dtype.category < FLOAT:
                raise TypeError(
                    f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
                )
            if dtype.is_complex:
                warnings.warn(
                    "Complex modules are a new feature under active development whose design may change, and some modules "
                    "might not work as expected when using complex tensors as parameters or buffers. Please file an issue at "
                    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a complex module does not work "
                    "as expected.",
                    stacklevel=2,
                )

        def convert(tensor):
            if dtype is not None and tensor.dtype.category >= FLOAT:
                tensor = tensor.to(dtype)
            if memory_format is not None and tensor.dim() == (5 if memory_format is dtypes.channels_last_3d else 4):
                tensor = tensor.contiguous(memory_format=memory_format)
            return tensor

        return self._apply(convert)

    def type(self, dst_type):
        """Bring all parameters and buffers to a dtype.

        >>> torch.nn.Linear(2, 2).type(torch.float64).weight.dtype
        tensorgrad.float64
        """
        return self._apply(lambda tensor: tensor.type(dst_type))

    def _floating(self, dtype):
        return self._apply(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor)

    def float(self):
        """Bring the floating-point tensors to float32.

        >>> torch.nn.Linear(2, 2).double().float().weight.dtype
        tensorgrad.float32
        """
        return self._floating(dtypes.float32)

    def double(self):
        """Bring the floating-point tensors to float64.

        >>> torch.nn.Linear(2, 2).double().weight.dtype
        tensorgrad.float64
        """
        return self._floating(dtypes.float64)

    def half(self):
        """Bring the floating-point tensors to float16.

        >>> torch.nn.Linear(2, 2).half().weight.dtype
        tensorgrad.float16
        """
        return self._floating(dtypes.float16)

    def bfloat16(self):
        """Bring the floating-point tensors to bfloat16.

        >>> torch.nn.Linear(2, 2).bfloat16().weight.dtype
        tensorgrad.bfloat16
        """
        return self._floating(dtypes.bfloat16)

    def cpu(self):
        """The module: its tensors are on the CPU.

        >>> torch.nn.ReLU().cpu()
        ReLU()
        """
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device=None):
        """Move the tensors to a GPU.

        >>> torch.nn.Linear(1, 1).cuda()
        Traceback (most recent call last):
        AssertionError: Torch not compiled with CUDA enabled
        This tensorgrad computes with NumPy on the CPU: use device='cpu'.
        """
        return self._apply(lambda tensor: tensor.cuda(device))

    def xpu(self, device=None):
        """Move the tensors to a GPU of Intel's.

        >>> torch.nn.Linear(1, 1).xpu()
        Traceback (most recent call last):
        AssertionError: Torch not compiled with XPU enabled
        """
        raise AssertionError("Torch not compiled with XPU enabled")

    def to_empty(self, *, device, recurse=True):
        """Replace the tensors by fresh memory, whose values are anything.

        >>> torch.nn.Linear(3, 2).to_empty(device="cpu").weight.shape
        tensorgrad.Size([2, 3])
        """
        dtypes.check_device(device)
        from tensorgrad.ops.creation import empty_like

        return self._apply(lambda tensor: empty_like(tensor), recurse=recurse)

    def share_memory(self):
        """Let other processes share the tensors' memory.

        >>> torch.nn.ReLU().share_memory()
        ReLU()
        """
        return self._apply(lambda tensor: tensor.share_memory_())

    def train(self, mode=True):
        """Set this module and all below it to training (or not).

        >>> torch.nn.Dropout().train(False).training
        False
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """Set this module and all below it to evaluation.

        >>> torch.nn.Dropout().eval()(torch.ones(3))
        tensor([1., 1., 1.])
        """
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Record what is done with the parameters (or not).

        >>> torch.nn.Linear(1, 1).requires_grad_(False).weight.requires_grad
        False
        """
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Forget the gradients of the parameters, or set them to zero.

        >>> layer = torch.nn.Linear(1, 1); layer(torch.ones(1)).backward(); layer.zero_grad(); print(layer.weight.grad)
        None
        """
        for parameter in self.parameters():
            gradient = parameter.grad
            if gradient is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                gradient.detach_() if gradient.grad_fn is not None else gradient.requires_grad_(False)
                gradient.zero_()


def _target(args, kwargs):
    """(dtype, memory_format) that the arguments of `to` ask for; the device is checked."""
    kwargs = dict(kwargs)
    given = list(args)
    memory_format, tensor = kwargs.pop("memory_format", None), kwargs.pop("tensor", None)
    device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
    kwargs.pop("non_blocking", None), kwargs.pop("copy", None)
    if given and isinstance(given[0], Tensor):
        tensor = given.pop(0)
    elif given and isinstance(given[0], dtypes.dtype):
        dtype = given.pop(0)
    elif given and not isinstance(given[0], bool):
        device = given.pop(0)
        if given and (given[0] is None or isinstance(given[0], dtypes.dtype)):
            dtype = given.pop(0)
    if kwargs or len(given) > 2 or any(not isinstance(flag, bool) for flag in given):
        kinds = [type(arg).__name__ for arg in args] + [f"{name}={type(arg).__name__}" for name, arg in kwargs.items()]
        raise TypeError(
            f"to() received an invalid combination of arguments - got ({', '.join(kinds)}), but expected one of:\n"
            " * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool copy = False, *, "
            "torch.memory_format memory_format = None)\n * (torch.dtype dtype, bool non_blocking = False, bool copy = False, "
            "*, torch.memory_format memory_format = None)\n * (Tensor tensor, bool non_blocking = False, bool copy = False, "
            "*, torch.memory_format memory_format = None)\n"
        )
    if tensor is not None:
        return tensor.dtype, memory_format
    dtypes.check_device(device)
    return dtype, memory_format
