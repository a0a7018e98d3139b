"""Containers of parameters: ParameterList and ParameterDict. Public in nn.modules.container, as in PyTorch."""

import operator
from collections import abc as containers

from tensorgrad.nn.modules.module import Module
from tensorgrad.nn.parameter import Parameter
from tensorgrad.tensor import Tensor


def _owned(value):
    """A plain tensor becomes a parameter."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


class ParameterList(Module):
    """A list of parameters; tensors that are put in become parameters.

    >>> torch.nn.ParameterList([torch.ones(2)])
    ParameterList(  (0): Parameter containing: [torch.float32 of size 2])
    """

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def _name_at(self, index):
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range")
        return str(index + len(self) if index < 0 else index)

    def __getitem__(self, index):
        if isinstance(index, slice):
            made = type(self)()
            for position in range(*index.indices(len(self))):
                made.append(self[position])
            return made
        return getattr(self, self._name_at(index))

    def __setitem__(self, index, value):
        setattr(self, self._name_at(index), _owned(value))

    def __len__(self):
        return self._size

    def __iter__(self):
        return iter([self[position] for position in range(len(self))])

    def __iadd__(self, values):
        return self.extend(values)

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value):
        """Add a value at the end.

        >>> len(torch.nn.ParameterList().append(torch.ones(2)))
        1
        """
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values):
        """Add several values at the end.

        >>> len(torch.nn.ParameterList().extend([torch.ones(2), torch.ones(3)]))
        2
        """
        if not isinstance(values, containers.Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self):
        return "\n".join(f"  ({position}): {_described(value, repr)}" for position, value in enumerate(self))

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary of parameters; tensors that are put in become parameters.

    >>> torch.nn.ParameterDict({"scale": torch.ones(2)})["scale"].requires_grad
    True
    """

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def _name_of(self, key):
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string "
                f"(type is '{type(key).__name__}'). Open an issue on github if you need non-string keys."
            )
        return key

    def __getitem__(self, key):
        return getattr(self, self._name_of(key))

    def __setitem__(self, key, value):
        self._keys[key] = None
        setattr(self, self._name_of(key), _owned(value))

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, self._name_of(key))

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(list(self._keys))

    def __contains__(self, key):
        return key in self._keys

    def copy(self):
        """Another dictionary with the same parameters.

        >>> list(torch.nn.ParameterDict({"scale": torch.ones(2)}).copy())
        ['scale']
        """
        return ParameterDict({key: self[key] for key in self._keys})

    def setdefault(self, key, default=None):
        """The value of a key, put there first if there is none.

        >>> torch.nn.ParameterDict().setdefault("scale", torch.ones(1)).requires_grad
        True
        """
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self):
        """Take all values out.

        >>> d = torch.nn.ParameterDict({"scale": torch.ones(2)}); d.clear(); len(d)
        0
        """
        for key in list(self._keys):
            del self[key]

    def pop(self, key):
        """Take a value out.

        >>> torch.nn.ParameterDict({"scale": torch.ones(2)}).pop("scale").shape
        tensorgrad.Size([2])
        """
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Take the last key and value out.

        >>> torch.nn.ParameterDict({"scale": torch.ones(2)}).popitem()[0]
        'scale'
        """
        key, _ = self._keys.popitem()
        self._keys[key] = None
        return key, self.pop(key)

    def get(self, key, default=None):
        """The value of a key, or the default.

        >>> torch.nn.ParameterDict().get("scale", 3)
        3
        """
        return self[key] if key in self else default  # noqa: SIM401

    def fromkeys(self, keys, default=None):
        """A dictionary with these keys, all with one value.

        >>> list(torch.nn.ParameterDict().fromkeys(["a", "b"], torch.ones(1)))
        ['a', 'b']
        """
        return ParameterDict((key, default) for key in keys)

    def keys(self):
        """The keys.

        >>> list(torch.nn.ParameterDict({"scale": torch.ones(2)}).keys())
        ['scale']
        """
        return self._keys.keys()

    def items(self):
        """Keys and values.

        >>> [key for key, value in torch.nn.ParameterDict({"scale": torch.ones(2)}).items()]
        ['scale']
        """
        return ((key, self[key]) for key in self._keys)

    def values(self):
        """The values.

        >>> [value.shape for value in torch.nn.ParameterDict({"scale": torch.ones(2)}).values()]
        [tensorgrad.Size([2])]
        """
        return (self[key] for key in self._keys)

    def update(self, parameters):
        """Add the values of a mapping or of pairs; those of the same key are replaced.

        >>> d = torch.nn.ParameterDict(); d.update([("scale", torch.ones(2))]); list(d)
        ['scale']
        """
        for key, value in pairs_of(parameters, "ParametersDict", "ParameterDict"):
            self[key] = value

    def extra_repr(self):
        return "\n".join(
            f"  ({key}): {_described(value, lambda dtype: f'torch.{dtype.title}Tensor')}" for key, value in self.items()
        )

    def __call__(self, input):
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other):
        return ParameterDict({**dict(self.items()), **dict(other.items())})

    def __ror__(self, other):
        return ParameterDict({**dict(other.items()), **dict(self.items())})

    def __ior__(self, other):
        self.update(other)
        return self


def _described(value, dtype_name):
    """One line about a value: `Parameter containing: [torch.float32 of size 2x3]`."""
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    size = "x".join(str(n) for n in value.shape)
    name = dtype_name(value.dtype).replace("tensorgrad.", "torch.")
    return f"{'Parameter' if isinstance(value, Parameter) else 'Tensor'} containing: [{name} of size {size}]"


def pairs_of(source, kind, update):
    """The (key, value) pairs of a mapping or an iterable of pairs, or PyTorch's errors."""
    if not isinstance(source, containers.Iterable):
        raise TypeError(
            f"{kind}.update should be called with an iterable of key/value pairs, but got {type(source).__name__}"
        )
    if hasattr(source, "items"):
        yield from source.items()
        return
    for position, pair in enumerate(source):
        if not isinstance(pair, containers.Iterable):
            raise TypeError(f"{update} update sequence element #{position} should be Iterable; is{type(pair).__name__}")
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(f"{update} update sequence element #{position} has length {len(pair)}; 2 is required")
        yield pair


for _kind in (ParameterList, ParameterDict):  # pickled under the path that PyTorch has for them
    _kind.__module__ = "tensorgrad.nn.modules.container"
