"""Modules that hold others: Sequential, ModuleList, ModuleDict."""

import operator
from collections import OrderedDict
from collections import abc as containers

from tensorgrad.nn.modules._parameters import ParameterDict, ParameterList, pairs_of
from tensorgrad.nn.modules.module import Module, indented

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class Container(Module):
    """The old name of a module that only holds others."""

    def __init__(self, **kwargs):
        import warnings

        super().__init__()
        warnings.warn(
            "nn.Container is deprecated. All of it's functionality is now implemented in nn.Module. Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Numbered(Module):
    """What Sequential and ModuleList share: submodules under the names "0", "1", ..."""

    def _name_at(self, index):
        index, count = operator.index(index), len(self._modules)
        if not -count <= index < count:
            raise IndexError(f"index {index} is out of range")
        return str(index % count)

    def _renumber(self, modules):
        self._modules = {str(i): module for i, module in enumerate(modules)}

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __setitem__(self, index, module):
        setattr(self, self._name_at(index), module)

    def __delitem__(self, index):
        modules = list(self._modules.values())
        if not isinstance(index, slice):
            index = int(self._name_at(index))
        del modules[index]
        self._renumber(modules)

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, module):
        """Add a module at the end.

        >>> torch.nn.Sequential(torch.nn.ReLU()).append(torch.nn.Tanh())
        Sequential(
          (0): ReLU()
          (1): Tanh()
        )
        """
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key):
        """Take a module out.

        >>> torch.nn.ModuleList([torch.nn.ReLU(), torch.nn.Tanh()]).pop(0)
        ReLU()
        """
        found = self._modules[self._name_at(key)]
        del self[key]
        return found


class Sequential(_Numbered):
    """Modules one after the other.

    >>> torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Flatten(0))(torch.tensor([[-1., 1.]]))
    tensor([0., 1.])
    """

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for position, module in enumerate(args):
                self.add_module(str(position), module)

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input

    def _name_at(self, index):
        names, index = list(self._modules), operator.index(index)
        if not -len(names) <= index < len(names):
            raise IndexError(f"index {index} is out of range")
        return names[index]

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self.__class__(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._name_at(index)]

    def __delitem__(self, index):
        names = list(self._modules)[index] if isinstance(index, slice) else [self._name_at(index)]
        for name in names:
            delattr(self, name)
        self._renumber(self._modules.values())

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)

    def __iadd__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        for module in list(other):
            self.append(module)
        return self

    def __mul__(self, other):
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        return Sequential(*[module for _ in range(other) for module in self])

    __rmul__ = __mul__

    def __imul__(self, other):
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        modules = list(self)
        for _ in range(other - 1):
            for module in modules:
                self.append(module)
        return self

    def insert(self, index, module):
        """Put a module before another.

        >>> torch.nn.Sequential(torch.nn.ReLU()).insert(0, torch.nn.Tanh())
        Sequential(
          (0): Tanh()
          (1): ReLU()
        )
        """
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        count = len(self._modules)
        if not -count <= index <= count:
            raise IndexError(f"Index out of range: {index}")
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def extend(self, sequential):
        """Add several modules at the end.

        >>> len(torch.nn.Sequential(torch.nn.ReLU()).extend([torch.nn.Tanh(), torch.nn.ReLU()]))
        3
        """
        for module in sequential:
            self.append(module)
        return self


class ModuleList(_Numbered):
    """A list of modules, whose parameters are its parameters.

    >>> torch.nn.ModuleList([torch.nn.ReLU()])
    ModuleList(
      (0): ReLU()
    )
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self.__class__(list(self._modules.values())[index])
        return self._modules[self._name_at(index)]

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        return ModuleList([*self, *other])

    def insert(self, index, module):
        """Put a module before another.

        >>> modules = torch.nn.ModuleList([torch.nn.ReLU()]); modules.insert(0, torch.nn.Tanh()); modules[0]
        Tanh()
        """
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._renumber(modules)

    def extend(self, modules):
        """Add several modules at the end.

        >>> len(torch.nn.ModuleList().extend([torch.nn.ReLU(), torch.nn.Tanh()]))
        2
        """
        if not isinstance(modules, containers.Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def __repr__(self):
        """Equal neighbours are counted rather than printed again."""
        runs = []  # [first, last, text]
        for position, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1][1] = position
            else:
                runs.append([position, position, text])
        if not runs:
            return self._get_name() + "()"
        lines = []
        for first, last, text in runs:
            label = f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}"
            lines.append(indented(label, 2))
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """A dictionary of modules, whose parameters are its parameters.

    >>> torch.nn.ModuleDict({"act": torch.nn.ReLU()})["act"]
    ReLU()
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Take all modules out.

        >>> modules = torch.nn.ModuleDict({"act": torch.nn.ReLU()}); modules.clear(); len(modules)
        0
        """
        self._modules.clear()

    def pop(self, key):
        """Take a module out.

        >>> torch.nn.ModuleDict({"act": torch.nn.ReLU()}).pop("act")
        ReLU()
        """
        found = self[key]
        del self[key]
        return found

    def keys(self):
        """The names.

        >>> list(torch.nn.ModuleDict({"act": torch.nn.ReLU()}).keys())
        ['act']
        """
        return self._modules.keys()

    def items(self):
        """Names and modules.

        >>> list(torch.nn.ModuleDict({"act": torch.nn.ReLU()}).items())
        [('act', ReLU())]
        """
        return self._modules.items()

    def values(self):
        """The modules.

        >>> list(torch.nn.ModuleDict({"act": torch.nn.ReLU()}).values())
        [ReLU()]
        """
        return self._modules.values()

    def update(self, modules):
        """Add the modules of a mapping or of pairs; those of the same name are replaced.

        >>> modules = torch.nn.ModuleDict(); modules.update([("act", torch.nn.ReLU())]); list(modules)
        ['act']
        """
        for key, module in pairs_of(modules, "ModuleDict", "ModuleDict"):
            self[key] = module
