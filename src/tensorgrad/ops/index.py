"""Where each public name lives, so that `import tensorgrad` need not import every family of operations.

A family says what it makes public: `PUBLIC` (namespace -> names, "" being tensorgrad itself; `a=b` publishes b as a) and a
class `Methods` with its methods of Tensor. `python -m tensorgrad.ops.index` collects that in known.py; from then on a name
is imported when it is first used.

    PUBLIC = {"": "gcd lcm", "special": "entr xlogy"}
"""

import importlib

from tensorgrad.ops.known import METHODS, NAMES

FAMILIES = (
    "mathematics", "special", "softmax", "statistics", "histograms", "quantiles", "cumulative", "differences", "segments",
    "sorting", "searching", "selection", "scattering", "slices", "masking", "filling", "arranging", "triangles",
    "copies", "products", "einsum", "norms", "matrices", "inverses", "factors", "linalg", "lowrank", "decompositions",
    "fft", "spectral", "windows", "masked", "activation", "rectifiers", "losses", "classification", "similarity", "ctc",
    "convolution", "pooling", "pooling_adaptive", "padding", "unfolding", "interpolation", "grids", "normalization",
    "batch_normalization", "embedding", "attention", "vision", "recurrent", "legacy", "dropout", "distance", "random_gamma",
    "naming",
)  # fmt: skip


def find(namespace, name):
    """A public object by its namespace and name; AttributeError when there is none."""
    try:
        module, _, attribute = NAMES[namespace][name].partition(":")
    except KeyError:
        where = f"tensorgrad.{namespace}" if namespace else "tensorgrad"
        raise AttributeError(f"module '{where}' has no attribute '{name}'") from None
    found = getattr(importlib.import_module("tensorgrad.ops." + module), attribute or name)
    return importlib.import_module("tensorgrad.ops.casting").published(namespace, name, found)


def namespace(name, scope):
    """The `__getattr__` and `__dir__` of a module whose names live in families; found names are kept in `scope`."""

    def get(attribute):
        if attribute.startswith("__"):
            raise AttributeError(f"module 'tensorgrad.{name}' has no attribute '{attribute}'")
        value = scope[attribute] = find(name, attribute)
        return value

    def listing():
        return sorted({*scope, *NAMES.get(name, ())})

    return get, listing


class LaterMethod:
    """A method whose family is imported when it is first looked up; then the method itself takes this place."""

    def __init__(self, family, name):
        self.family, self.name = family, name

    def found(self):
        """The method, from its family."""
        methods = importlib.import_module("tensorgrad.ops." + self.family).Methods
        return importlib.import_module("tensorgrad.ops.casting").published(
            "Tensor", self.name, methods.__dict__[self.name]
        )

    def __get__(self, tensor, owner):
        setattr(LaterMixin, self.name, self.found())
        return getattr(owner if tensor is None else tensor, self.name)


class LaterMixin:
    """The methods of the families that are not imported at the start."""

    __slots__ = ()


for _name, _family in METHODS.items():
    setattr(LaterMixin, _name, LaterMethod(_family, _name))


def collect():
    """(names, methods) as the families declare them; a family that cannot be imported keeps what is known of it."""
    names, methods = {}, {}
    for family in FAMILIES:
        try:
            module = importlib.import_module("tensorgrad.ops." + family)
            for word in " ".join(module.PUBLIC.values()).split():
                getattr(module, word.rpartition("=")[2])  # it must be there
        except ModuleNotFoundError as error:
            if error.name != f"tensorgrad.ops.{family}":
                raise
            continue
        except Exception as error:
            print(f"{family}: {type(error).__name__}: {error}; what was known of it is kept")
            for space, known in NAMES.items():
                kept = {name: place for name, place in known.items() if place.partition(":")[0] == family}
                names.setdefault(space, {}).update(kept)
            methods.update({name: place for name, place in METHODS.items() if place == family})
            continue
        for space, words in module.PUBLIC.items():
            for word in words.split():
                public, _, attribute = word.partition("=")
                names.setdefault(space, {})[public] = f"{family}:{attribute}" if attribute else family
        for name, value in vars(getattr(module, "Methods", object)).items():
            if hasattr(module, "Methods") and name not in ("__module__", "__doc__", "__slots__", "__dict__", "__weakref__",
                                                           "__qualname__", "__firstlineno__", "__static_attributes__"):  # fmt: skip
                methods[name] = family
            del value
    return names, methods


def text(names, methods):
    """known.py."""

    def block(table, indent):
        return "".join(f'{indent}"{name}": "{table[name]}",\n' for name in sorted(table))

    spaces = "".join(f'    "{space}": {{\n{block(names[space], " " * 8)}    }},\n' for space in sorted(names))
    return (
        '"""Which family holds each public name and method. Written by `python -m tensorgrad.ops.index`."""\n\n'
        f"NAMES = {{\n{spaces}}}\n\nMETHODS = {{\n{block(methods, '    ')}}}\n"
    )


def main():
    """Write known.py."""
    import os
    from pathlib import Path

    path = Path(__file__).with_name("known.py")
    partial = path.with_suffix(f".{os.getpid()}")
    partial.write_text(text(*collect()))
    partial.replace(path)


if __name__ == "__main__":
    main()
