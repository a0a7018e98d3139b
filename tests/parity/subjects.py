"""The two sides of a comparison, spoken to in one way: the subject (tensorgrad) and the reference (PyTorch).

A `Side` carries sample inputs over from PyTorch (values, dtype, strides, offset, shared memory, requires_grad, dtypes,
devices, generators, memory formats, nested in lists, tuples and dicts), brings results back, and finds the function
that an OpInfo means. The reference is a side too, so whatever a check does, it does to both alike.
"""

import functools
import importlib
import types

import ml_dtypes
import numpy as np
import torch
from torch.testing._internal.opinfo.core import SampleInput

DTYPE_NAME_OF = {
    getattr(torch, name): name
    for name in (
        *("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
        *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    )
}
FORMATS = {
    torch.strided: "strided",
    torch.sparse_coo: "sparse_coo",
    torch.contiguous_format: "contiguous_format",
    torch.preserve_format: "preserve_format",
    torch.channels_last: "channels_last",
    torch.channels_last_3d: "channels_last_3d",
}


class Difference(Exception):
    """The subject does not do what PyTorch does; `kind` groups the reasons."""

    def __init__(self, kind, text):
        super().__init__(f"{kind}: {text}")
        self.kind, self.text = kind, text


class Differences(Exception):
    """Several at once: each form of an operation is compared, whatever became of the one before."""

    def __init__(self, found):
        super().__init__(f"{len(found)} differences")
        self.found = found


class Inapplicable(Exception):
    """This sample cannot be compared, through no fault of the subject."""


def tensors_in(value, kind=torch.Tensor):
    """Every tensor in nested lists, tuples and dicts, in order."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_in(item, kind)
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item, kind)


class Side:
    """One library under its module; `module.<PyTorch's name>` is how everything in it is found.

    The reference takes PyTorch's callables as they are; a subject finds its own, also when the subject is PyTorch.
    """

    def __init__(self, name, reference=False):
        self.name, self.is_reference, self.is_torch = name, reference, name == "torch"
        self.module = importlib.import_module(name)
        self._rebound = {}

    def tensors(self, value):
        return list(tensors_in(value, self.module.Tensor))

    # ---- finding functions ----------------------------------------------------------------------------------------

    def find(self, dotted):
        """The attribute a user would write after the module's name."""
        value, path = self.module, self.name
        for part in dotted.removeprefix("torch.").split("."):
            try:
                value = getattr(value, part)
            except AttributeError:
                try:
                    value = importlib.import_module(f"{path}.{part}")
                except (ImportError, AttributeError):
                    raise Difference("missing", f"{self.name}.{dotted}") from None
            path += f".{part}"
        return value

    def method(self, name):
        """The method as a function of the tensor."""
        found = getattr(self.module.Tensor, name, None)
        if found is None:
            raise Difference("missing", f"Tensor.{name}")
        return found

    def function(self, op, name):
        """This side's counterpart of PyTorch's callable `op`, which its OpInfo calls `name`."""
        if self.is_reference:
            return op
        if isinstance(op, functools.partial):
            return functools.partial(self.function(op.func, name), *op.args, **op.keywords)
        if isinstance(op, types.FunctionType) and op.__module__.startswith("torch.testing"):
            return self.rebind(op)
        if isinstance(op, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
            short = name.removeprefix("torch.ops.aten.").split(".")[0]
            try:
                return self.find(f"ops.aten.{short}")
            except Difference:
                return self.find(short)
        short = getattr(op, "__name__", None)
        if op is getattr(torch.Tensor, str(short), None):
            return self.method(short)
        if getattr(op, "__module__", None) in ("_operator", "operator"):
            return op
        return self.find(name)

    def rebind(self, function):
        """PyTorch's own test function with every `torch` in it meaning this side."""
        if self.is_reference:
            return function
        if function.__name__ == "wrapper_set_seed":
            return self.seeded
        if function in self._rebound:
            return self._rebound[function]
        scope = dict(function.__globals__)
        cells = tuple(types.CellType() for _ in function.__closure__ or ())
        copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells)
        copy.__kwdefaults__ = function.__kwdefaults__
        self._rebound[function] = copy  # before looking inside: functions may name themselves
        for name in _names_in(function.__code__) & scope.keys():
            scope[name] = self._rebind_value(scope[name])
        for cell, original in zip(cells, function.__closure__ or ()):
            cell.cell_contents = self._rebind_value(original.cell_contents)
        return copy

    def _rebind_value(self, value):
        if value is torch:
            return self.module
        if isinstance(value, types.FunctionType) and value.__module__.startswith("torch.testing"):
            return self.rebind(value)
        return value

    def seeded(self, function, *args, **kwargs):
        """What PyTorch's tests do around a random operation: the same seed before each call."""
        self.module.manual_seed(42)
        return function(*args, **kwargs)

    # ---- values over and back -------------------------------------------------------------------------------------

    def carry(self, value, on_tensor=None):
        """This side's copy of a value of PyTorch's. Tensors that share memory there share it here.

        `on_tensor(original, copy)` may replace each tensor, for instance by a dual one, and sees which they are.
        """
        return self._carry(value, on_tensor or (lambda original, copy: copy), {})

    def _carry(self, value, on_tensor, memory):
        if isinstance(value, torch.Tensor):
            key = ("tensor", id(value))
            if key not in memory:
                memory[key] = on_tensor(value, self._carry_tensor(value, memory))
            return memory[key]
        if value is None or isinstance(value, bool | int | float | complex | str | type(...)):
            return value
        if isinstance(value, torch.Size):
            return self.module.Size(value)
        if type(value) in (list, tuple):
            return type(value)(self._carry(item, on_tensor, memory) for item in value)
        if isinstance(value, dict):
            return {key: self._carry(item, on_tensor, memory) for key, item in value.items()}
        if isinstance(value, slice):
            return slice(*(self._carry(part, on_tensor, memory) for part in (value.start, value.stop, value.step)))
        if isinstance(value, torch.dtype):
            return self.dtype(value)
        if isinstance(value, torch.layout | torch.memory_format):
            if value not in FORMATS:
                raise Inapplicable(str(value))
            return self.find(FORMATS[value])
        if isinstance(value, torch.device):
            return self.module.device(str(value))
        if isinstance(value, torch.Generator):
            return self.module.Generator().manual_seed(value.initial_seed())
        if isinstance(value, types.FunctionType) and value.__module__.startswith("torch.testing"):
            return self.rebind(value)
        kind = type(value)
        if kind.__module__.startswith("torch.nn.modules"):  # distances and options given as an argument
            return self._carry_module(kind, value)
        return value

    def _carry_module(self, kind, value):
        if self.is_torch:
            return value
        fields = getattr(value, "__dataclass_fields__", None)
        if fields is None:
            return self.find(f"nn.{kind.__name__}")()
        return self.find(f"nn.{kind.__name__}")(**{name: self.carry(getattr(value, name)) for name in fields})

    def dtype(self, dtype):
        name = DTYPE_NAME_OF.get(dtype)
        if name is None:
            raise Inapplicable(f"{dtype} is not a dtype of tensorgrad")
        return getattr(self.module, name)

    def _carry_tensor(self, tensor, memory):
        if tensor.layout != torch.strided or tensor.device.type != "cpu" or tensor.is_quantized:
            raise Inapplicable(f"a {tensor.layout} tensor on {tensor.device.type}")
        if tensor.dtype not in DTYPE_NAME_OF:
            raise Inapplicable(f"{tensor.dtype} is not a dtype of tensorgrad")
        tensor_data = tensor.detach().resolve_conj().resolve_neg()
        memory["data", id(tensor)] = tensor_data  # kept, or its address could come again
        storage = tensor_data.untyped_storage()
        count = storage.nbytes() // tensor.element_size()
        key = ("storage", storage.data_ptr(), tensor.dtype)
        if count == 0:
            copy = self._from_array(np.zeros(tuple(tensor.shape), _numpy_dtype(tensor.dtype)))
        elif key in memory:
            whole = memory[key].detach()
            copy = whole.as_strided(tensor.shape, tensor_data.stride(), tensor_data.storage_offset()).detach()
        else:
            flat = to_array(torch.empty(0, dtype=tensor.dtype).set_(storage, 0, (count,)))
            if tensor_data.is_contiguous() and tensor_data.numel() == count:
                copy = memory[key] = self._from_array(flat.reshape(tuple(tensor.shape)))
            else:
                memory[key] = whole = self._from_array(flat)
                copy = whole.as_strided(tensor.shape, tensor_data.stride(), tensor_data.storage_offset()).detach()
        return copy.requires_grad_() if tensor.requires_grad else copy

    def _from_array(self, array):
        if self.is_torch:
            return from_array(array)
        return self.module.from_numpy(array)

    def bring(self, value):
        """PyTorch's form of a value of this side: tensors become plain contiguous copies."""
        if isinstance(value, self.module.Tensor):
            return value.detach() if self.is_torch else from_array(self._to_array(value))
        if isinstance(value, torch.Size) or (not self.is_torch and isinstance(value, self.module.Size)):
            return torch.Size(value)
        if isinstance(value, list):
            return [self.bring(item) for item in value]
        if isinstance(value, tuple):
            return tuple(self.bring(item) for item in value)
        return value

    def _to_array(self, tensor):
        tensor = tensor.detach()
        if tensor.dtype == self.module.bfloat16:
            return tensor.view(self.module.int16).numpy().copy().view(ml_dtypes.bfloat16)
        return np.array(tensor.numpy(), order="C")

    def name_of(self, dtype):
        """A dtype of this side by PyTorch's short name."""
        return str(dtype).rpartition(".")[2]


def _names_in(code):
    """Global names a function reads, those in functions inside it too."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names_in(constant)
    return names


def _numpy_dtype(dtype):
    return ml_dtypes.bfloat16 if dtype == torch.bfloat16 else np.dtype(DTYPE_NAME_OF[dtype])


def to_array(tensor):
    """A NumPy copy of a tensor of PyTorch's."""
    if tensor.dtype == torch.bfloat16:
        return tensor.contiguous().view(torch.int16).numpy().copy().view(ml_dtypes.bfloat16)
    return tensor.numpy().copy()


def from_array(array):
    """A tensor of PyTorch's over a NumPy array."""
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def describe(value):
    """A sample's argument in a few characters: `float32[2,3]`, with strides when they are not the usual ones."""
    if isinstance(value, torch.Tensor):
        name = DTYPE_NAME_OF.get(value.dtype, str(value.dtype))
        sizes = ",".join(map(str, value.shape))
        if value.layout != torch.strided or value.device.type != "cpu":
            return f"{name}[{sizes} {value.layout} {value.device.type}]"
        if not value.is_contiguous():
            sizes += " strides " + ",".join(map(str, value.stride()))
        number = f"={value.item():.6g}" if value.numel() == 1 and value.dtype != torch.bool else ""
        return f"{name}[{sizes}]{number}"
    if isinstance(value, torch.Size):
        return str(tuple(value))
    if isinstance(value, list):
        return "[" + ", ".join(map(describe, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(describe, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {describe(item)}" for key, item in value.items()) + "}"
    return repr(value)


def describe_call(name, sample):
    if not isinstance(sample, SampleInput):
        return f"{name}({describe(sample)})"
    parts = [describe(sample.input)] + [describe(arg) for arg in sample.args]
    parts += [f"{key}={describe(value)}" for key, value in sample.kwargs.items()]
    text = f"{name}({', '.join(parts)})"
    return text if len(text) <= 300 else text[:297] + "..."
