"""Tensors of a module as functions of other tensors: each time `module.weight` is read, it is computed.

A parametrized module gets a class of its own, below its former one, with a property for each parametrized tensor. The
tensors that those are computed from stand in `module.parametrizations`.

>>> class Symmetric(torch.nn.Module):
...     def forward(self, x):
...         return x.triu() + x.triu(1).T
>>> layer = torch.nn.Linear(3, 3)
>>> torch.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
ParametrizedLinear(
  in_features=3, out_features=3, bias=True
  (parametrizations): ModuleDict(
    (weight): ParametrizationList(
      (0): Symmetric()
    )
  )
)
>>> torch.equal(layer.weight, layer.weight.T)
True
"""

import collections
import contextlib
import copy

from tensorgrad.autograd import modes
from tensorgrad.nn.modules.container import ModuleDict, ModuleList
from tensorgrad.nn.parameter import Parameter
from tensorgrad.tensor import Tensor

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
           "transfer_parametrizations_and_params", "type_before_parametrizations"]  # fmt: skip

_cache_enabled = 0  # how many `cached` are entered
_cache = {}  # (id of the module, name) -> the computed tensor


@contextlib.contextmanager
def cached():
    """Within this, a parametrized tensor is computed when it is first read, and kept.

    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    >>> with torch.nn.utils.parametrize.cached():
    ...     layer.weight is layer.weight
    True
    """
    global _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, the first applied first, and the tensors that they start from: `original`, or
    `original0`, `original1`, ... where `right_inverse` gives several.

    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    >>> list(layer.parametrizations.weight._parameters)
    ['original0', 'original1']
    """

    def __init__(self, modules, original, unsafe=False):
        modules = list(modules)
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with modes.no_grad():
            start = original
            for module in reversed(modules):
                if hasattr(module, "right_inverse"):
                    try:
                        start = module.right_inverse(start)
                    except NotImplementedError:
                        pass
        if not isinstance(start, (Tensor, collections.abc.Sequence)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(start).__name__}"
            )
        self.is_tensor = isinstance(start, Tensor)
        self.ntensors = 1 if self.is_tensor else len(start)
        if self.is_tensor:
            self._start_from_one(original, start)
        else:
            self._start_from_several(original, start)
        if not unsafe:
            _check_result(self(), shape, dtype)

    def _start_from_one(self, original, start):
        if original.dtype is not start.dtype:
            raise ValueError(
                "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {start.dtype}"
            )
        _take_values(original, start)  # the same object, so that optimizers keep on training it
        _own(self, "original", original)

    def _start_from_several(self, original, start):
        for position, part in enumerate(start):
            if not isinstance(part, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                    f"Got element {position} of the sequence with type {type(part).__name__}."
                )
            if isinstance(original, Parameter):
                part = Parameter(part, original.requires_grad)
            _own(self, f"original{position}", part.requires_grad_(original.requires_grad))

    def right_inverse(self, value):
        """Set the originals so that the parametrizations give this value: what `module.weight = value` does.

        >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 1))
        >>> layer.weight = torch.tensor([[3., 4.]]); layer.parametrizations.weight.original0.item()
        5.0
        """
        with modes.no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                self._set_one(value)
            else:
                self._set_several(value)

    def _set_one(self, value):
        if not isinstance(value, Tensor):
            raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
        if value.dtype is not self.original.dtype:
            raise ValueError(
                f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has dtype "
                f"{self.original.dtype}"
            )
        _take_values(self.original, value)

    def _set_several(self, values):
        if not isinstance(values, collections.abc.Sequence):
            raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(values).__name__}.")
        if len(values) != self.ntensors:
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of length "
                f"{len(values)}."
            )
        for position, value in enumerate(values):
            original = getattr(self, f"original{position}")
            if not isinstance(value, Tensor):
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors or reference-type opaques. "
                    f"Got element {position} of type {type(value).__name__}."
                )
            if value.dtype is not original.dtype:
                raise ValueError(
                    f"Tensor {position} returned by `right_inverse` has dtype {value.dtype} while `original{position}` has "
                    f"dtype {original.dtype}"
                )
            _take_values(original, value)

    def forward(self):
        first, *others = self
        if self.is_tensor:
            value = first(self.original)
        else:
            value = first(*[getattr(self, f"original{position}") for position in range(self.ntensors)])
        for module in others:
            value = module(value)
        return value


def _own(module, name, tensor):
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _take_values(target, source):
    """Let a tensor be another's memory, and stay the same object."""
    with modes.no_grad():
        target.data = source.detach()


def _check_result(value, shape, dtype):
    if not isinstance(value, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(value).__name__}.")
    if value.dtype is not dtype:
        raise ValueError(
            "Registering a parametrization may not change the dtype of the tensor, unless `unsafe` flag is enabled.\n"
            f"unparametrized dtype: {dtype}\nparametrized dtype: {value.dtype}"
        )
    if value.shape != shape:
        raise ValueError(
            "Registering a parametrization may not change the shape of the tensor, unless `unsafe` flag is enabled.\n"
            f"unparametrized shape: {shape}\nparametrized shape: {value.shape}"
        )


# The class of a parametrized module


class _computed(property):
    """`module.name`, computed by the parametrizations of that name."""

    def __init__(self, name):
        def read(module):
            if not _cache_enabled:
                return module.parametrizations[name]()
            key = id(module), name
            if key not in _cache:
                _cache[key] = module.parametrizations[name]()
            return _cache[key]

        super().__init__(read, lambda module, value: module.parametrizations[name].right_inverse(value))


def _refuse_pickling(module):
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). See:\n"
        "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
        "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
    )


def _deepcopied(module, memo):
    """A deep copy, for which the pickling protocol is not available."""
    if id(module) not in memo:
        twin = memo[id(module)] = type(module).__new__(type(module))
        twin.__dict__.update(copy.deepcopy(module.__dict__, memo))
    return memo[id(module)]


def _class_below(kind, names):
    """A class like this one in which the tensors of these names are computed."""
    members = {"__getstate__": _refuse_pickling, **{name: _computed(name) for name in names}}
    if not hasattr(kind, "__deepcopy__"):
        members["__deepcopy__"] = _deepcopied
    return type(f"Parametrized{kind.__name__}", (kind,), members)


def is_parametrized(module, tensor_name=None):
    """Whether any tensor of a module is computed (or the one of this name).

    >>> torch.nn.utils.parametrize.is_parametrized(torch.nn.Linear(2, 2))
    False
    """
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def type_before_parametrizations(module):
    """The class of a module before any of its tensors was parametrized.

    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 1))
    >>> torch.nn.utils.parametrize.type_before_parametrizations(layer).__name__
    'Linear'
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


# Registering and removing


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """Let a tensor of a module be what another module computes from it, whenever it is read.

    `parametrization.right_inverse`, if there is one, turns the value of the tensor into what to start from; it also makes
    `module.weight = value` possible. Without `unsafe` the result must have the shape and dtype of the tensor.

    >>> class Positive(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.exp()
    ...     def right_inverse(self, y):
    ...         return y.log()
    >>> module = torch.nn.Module(); module.scale = torch.nn.Parameter(torch.ones(1))
    >>> _ = torch.nn.utils.parametrize.register_parametrization(module, "scale", Positive())
    >>> module.scale.item(), module.parametrizations.scale.original.item()
    (1.0, 0.0)
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_next(getattr(module, tensor_name), tensor_name, parametrization)
        found = module.parametrizations[tensor_name]
        found.append(parametrization)
        found.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        found = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        kind = type_before_parametrizations(module)
        if not is_parametrized(module):
            module.parametrizations = ModuleDict()
        module.parametrizations[tensor_name] = found
        module.__class__ = _class_below(kind, module.parametrizations.keys())
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'"
        )
    return module


def _check_next(value, name, parametrization):
    """Raise unless another parametrization keeps the shape and dtype of what it is given."""
    result = parametrization(value)
    if not isinstance(result, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
    for what in ("dtype", "shape"):
        if getattr(result, what) != getattr(value, what):
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless the `unsafe` flag is "
                f"enabled.\nmodule.{name}.{what}: {getattr(value, what)}\n"
                f"parametrization(module.{name}).{what}: {getattr(result, what)}"
            )
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        start = parametrization.right_inverse(result)
    except NotImplementedError:
        return
    if not isinstance(start, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(start).__name__}")
    for what in ("dtype", "shape"):
        if getattr(start, what) != getattr(value, what):
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} as module.{name}, unless "
                f"the `unsafe` flag is enabled.\nmodule.{name}.{what}: {getattr(value, what)}\n"
                f"returned {what}: {getattr(start, what)}"
            )


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Make a computed tensor a parameter (or buffer) again: with the computed value, or with the one it started from.

    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 1))
    >>> torch.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    Linear(in_features=2, out_features=1, bias=True)
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    found, kind = module.parametrizations[tensor_name], type_before_parametrizations(module)
    if found.is_tensor:
        original = found.original
        if leave_parametrized:
            with modes.no_grad():
                _take_values(original, getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence "
            "of tensors."
        )
    del module.parametrizations[tensor_name]
    if is_parametrized(module):
        module.__class__ = _class_below(kind, module.parametrizations.keys())
    else:
        del module.parametrizations
        module.__class__ = kind
    _own(module, tensor_name, original)
    return module


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Give a module the parametrizations of another, and the values of its parametrized tensors.

    >>> first = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 1))
    >>> second = torch.nn.utils.parametrize.transfer_parametrizations_and_params(first, torch.nn.Linear(2, 1))
    >>> torch.equal(first.weight, second.weight)
    True
    """
    if not is_parametrized(from_module):
        return to_module
    names = [tensor_name] if tensor_name is not None else list(from_module.parametrizations.keys())
    for name in names:
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization, unsafe=source.unsafe)
        target = to_module.parametrizations[name]
        for kept in ["original"] if source.is_tensor else [f"original{i}" for i in range(source.ntensors)]:
            setattr(target, kept, getattr(source, kept))
    return to_module
