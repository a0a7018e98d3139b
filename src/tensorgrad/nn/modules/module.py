"""Module: an object that owns parameters, buffers and other modules, and computes with them.

What it owns stands in three dictionaries, `_parameters`, `_buffers` and `_modules`; assigning an attribute sorts it into
one of them. Everything else about a module is in the mixins of its class line, one responsibility each.
"""

from collections import OrderedDict

from tensorgrad.nn.modules._convert import ConvertMixin
from tensorgrad.nn.modules._hooks import (
    HooksMixin,
    call_with_hooks,
    everywhere,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from tensorgrad.nn.modules._members import MembersMixin
from tensorgrad.nn.modules._state import StateMixin
from tensorgrad.nn.parameter import Buffer, Parameter
from tensorgrad.tensor import Tensor

__all__ = ["Module", "register_module_backward_hook", "register_module_buffer_registration_hook",
           "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
           "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
           "register_module_parameter_registration_hook"]  # fmt: skip

_DICTIONARIES = ("_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs",
                 "_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs",
                 "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks",
                 "_load_state_dict_post_hooks")  # fmt: skip


class Module(MembersMixin, HooksMixin, StateMixin, ConvertMixin):
    """The base of all layers and models.

    >>> class Doubled(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layer = torch.nn.Linear(2, 1)
    ...     def forward(self, x):
    ...         return 2 * self.layer(x)
    >>> Doubled()
    Doubled(
      (layer): Linear(in_features=2, out_features=1, bias=True)
    )
    """

    dump_patches = False
    _version = 1
    call_super_init = False
    training: bool

    def __init__(self, *args, **kwargs):
        if not self.call_super_init:
            if kwargs:
                name = next(iter(kwargs))
                raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{name}'")
            if args:
                raise TypeError(
                    f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
                )
        members = self.__dict__
        members["training"] = True
        members["_parameters"], members["_buffers"], members["_modules"] = {}, {}, {}
        members["_non_persistent_buffers_set"] = set()
        members["_is_full_backward_hook"] = None
        for name in _DICTIONARIES:
            members[name] = OrderedDict()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *input):
        """What the module computes: subclasses say it.

        >>> torch.nn.ReLU().forward(torch.tensor([-1., 1.]))
        tensor([0., 1.])
        """
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args, **kwargs):
        if (
            self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks
            or everywhere.calls
        ):  # fmt: skip
            return call_with_hooks(self, args, kwargs)
        return self.forward(*args, **kwargs)

    _call_impl = _wrapped_call_impl = __call__

    # What a module owns

    def __getattr__(self, name):
        if name != "_parameters" and "_parameters" in self.__dict__:
            owned = self._parameters
            if name in owned:
                return owned[name]
            owned = self._modules
            if name in owned:
                return owned[name]
            owned = self._buffers
            if name in owned:
                return owned[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        members = self.__dict__
        parameters = members.get("_parameters")
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            _forget(self, name, members, "_buffers", "_modules")
            self.register_parameter(name, value)
            return
        if parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{kind_of(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
            return
        modules = members.get("_modules")
        if isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            _forget(self, name, members, "_parameters", "_buffers")
            modules[name] = _registered(self, everywhere.modules, name, value, Module)
            return
        if modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{kind_of(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            modules[name] = None
            return
        buffers = members.get("_buffers")
        if isinstance(value, Tensor) or value is None:
            marked = isinstance(value, Buffer)
            if buffers is None:
                if marked:
                    raise AttributeError("cannot assign buffer before Module.__init__() call")
            elif name in buffers or marked:
                if marked and name not in buffers:
                    _forget(self, name, members, "_parameters", "_modules")
                    self.register_buffer(name, value, value.persistent)
                else:
                    buffers[name] = _registered(self, everywhere.buffers, name, value, Tensor)
                return
        elif buffers is not None and name in buffers:
            raise TypeError(
                f"cannot assign '{kind_of(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)"
            )
        object.__setattr__(self, name, value)

    def __delattr__(self, name):
        members = self.__dict__
        for owner in ("_parameters", "_buffers", "_modules"):
            if name in members.get(owner, ()):
                del members[owner][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def register_parameter(self, name, param):
        """Own a parameter (or None, in the place of one).

        >>> module = torch.nn.Module(); module.register_parameter("scale", torch.nn.Parameter(torch.ones(1))); module.scale
        Parameter containing:
        tensor([1.], requires_grad=True)
        """
        _check_name(self, "parameter", name, "_parameters")
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{kind_of(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
                )
            if not param.is_leaf:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To "
                    f"express '{name}' as a function of another Tensor, compute the value in the forward() method."
                )
            param = _registered(self, everywhere.parameters, name, param, Parameter)
        self._parameters[name] = param

    def register_buffer(self, name, tensor, persistent=True):
        """Own a tensor that is no parameter, such as a running mean; not persistent: it stays out of the state_dict.

        >>> module = torch.nn.Module(); module.register_buffer("mean", torch.zeros(2)); module.mean
        tensor([0., 0.])
        """
        _check_name(self, "buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{kind_of(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = _registered(self, everywhere.buffers, name, tensor, Tensor)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name, module):
        """Own another module.

        >>> model = torch.nn.Module(); model.add_module("first", torch.nn.ReLU()); model.first
        ReLU()
        """
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{kind_of(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {kind_of(name)}")
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'module name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError('module name can\'t be empty string ""')
        self._modules[name] = _registered(self, everywhere.modules, name, module, Module)

    register_module = add_module

    # Copies and pickles

    def __getstate__(self):
        return self.__dict__.copy()

    def __setstate__(self, state):
        self.__dict__.update(state)
        for name in _DICTIONARIES:
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    def compile(self, *args, **kwargs):
        """Run forward through `tensorgrad.compile` from now on."""
        import tensorgrad

        object.__setattr__(self, "forward", tensorgrad.compile(self.forward, *args, **kwargs))

    # Printing

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        """What a subclass prints between its parentheses.

        >>> torch.nn.Linear(2, 3).extra_repr()
        'in_features=2, out_features=3, bias=True'
        """
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {indented(repr(module), 2)}" for name, module in self._modules.items()]
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({''.join(lines)})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"

    def __dir__(self):
        owned = [*self._parameters, *self._modules, *self._buffers]
        names = {*dir(type(self)), *self.__dict__, *owned}
        return sorted(name for name in names if not name[:1].isdigit())


T_destination = dict


def indented(text, spaces):
    """A text whose lines after the first stand further in."""
    return text.replace("\n", "\n" + " " * spaces)


def kind_of(value):
    """The name of a value's type as PyTorch's errors spell it: a tensor's with its dtype."""
    if isinstance(value, Tensor):
        return f"torch.{value.dtype.title}Tensor"
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}".replace("tensorgrad.", "torch.", 1)
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _check_name(module, what, name, owner):
    if owner not in module.__dict__:
        raise AttributeError(f"cannot assign {what} before Module.__init__() call")
    if not isinstance(name, str):
        raise TypeError(f"{what} name should be a string. Got {kind_of(name)}")
    if "." in name:
        raise KeyError(f'{what} name can\'t contain "."')
    if name == "":
        raise KeyError(f'{what} name can\'t be empty string ""')
    if hasattr(module, name) and name not in module.__dict__[owner]:
        raise KeyError(f"attribute '{name}' already exists")


def _forget(module, name, members, *owners):
    """Take a name out of everything but the dictionary that it goes to."""
    members.pop(name, None)
    for owner in owners:
        members[owner].pop(name, None)
    module._non_persistent_buffers_set.discard(name)


def _registered(module, hooks, name, value, kind):
    """What is registered after the hooks of all modules have seen it."""
    for hook in hooks.values():
        replaced = hook(module, name, value)
        if replaced is not None:
            if not isinstance(replaced, kind):
                raise TypeError(f"Expected {kind.__name__}, got {type(replaced).__name__}")
            value = replaced
    return value
