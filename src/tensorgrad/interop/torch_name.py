"""Let `import torch` mean tensorgrad, so that a program written for PyTorch runs unchanged.

A finder at the front of the import system answers for `torch` and everything below it with the module of the same
path below `tensorgrad`: the very module, not a copy. What tensorgrad lacks stays missing, as an ordinary ImportError.
"""

import importlib
import importlib.util
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_OURS = "tensorgrad"
_THEIRS = "torch"


class TorchName(MetaPathFinder, Loader):
    """The agreement that `torch` means tensorgrad: `remove()` ends it, and so does leaving a `with` block."""

    def find_spec(self, fullname, path=None, target=None):
        """Answer the import system: a spec for `torch` and its modules, None for all else and for what is missing."""
        if fullname != _THEIRS and not fullname.startswith(_THEIRS + "."):
            return None
        ours = importlib.util.find_spec(_ours(fullname))
        if ours is None:
            return None
        return ModuleSpec(fullname, self, origin=ours.origin, is_package=ours.submodule_search_locations is not None)

    def create_module(self, spec):
        """Leave it to the import system to make an empty module, which `exec_module` then replaces."""
        return None

    def exec_module(self, module):
        """Put our module in the place of the empty one; the import system takes what it finds there."""
        sys.modules[module.__name__] = importlib.import_module(_ours(module.__name__))

    def remove(self):
        """Let `torch` mean PyTorch again, or nothing; a second call does nothing.

        >>> from tensorgrad.interop import install_as_torch
        >>> name = install_as_torch()
        >>> name.remove()
        >>> "torch" in sys.modules and sys.modules["torch"] is tensorgrad
        False
        """
        if self not in sys.meta_path:
            return
        sys.meta_path.remove(self)
        for name in [name for name in sys.modules if name == _THEIRS or name.startswith(_THEIRS + ".")]:
            del sys.modules[name]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


def install_as_torch():
    """Make `import torch` import tensorgrad from now on, in this process; returns a handle with `remove()`.

    >>> from tensorgrad.interop import install_as_torch
    >>> with install_as_torch():
    ...     import torch
    ...     torch is tensorgrad
    True
    """
    present = sys.modules.get(_THEIRS)
    if present is not None and present is not sys.modules[_OURS]:
        raise RuntimeError(
            "PyTorch is imported already, so the name torch is taken in this process; "
            "call install_as_torch() before anything imports torch, or start the program with `tensorgrad run`"
        )
    for finder in sys.meta_path:
        if isinstance(finder, TorchName):
            return finder
    finder = TorchName()
    sys.meta_path.insert(0, finder)
    return finder


def explain(error):
    """Add to an error a line that says what a program asked of `torch` and tensorgrad lacks, if that is the cause."""
    line = _missing(error)
    if line is not None:
        error.add_note(f"{line} This program runs on tensorgrad in the place of PyTorch.")


def _missing(error):
    if isinstance(error, ModuleNotFoundError):
        name = error.name or ""
        if name.startswith((_THEIRS + ".", _OURS + ".")):
            return f"tensorgrad has no module {_theirs(name)}."
    elif isinstance(error, ImportError):
        if (error.name or "").partition(".")[0] in (_THEIRS, _OURS):
            return f"tensorgrad's {_theirs(error.name)} does not have that name."
    elif isinstance(error, AttributeError) and error.name:
        owner = error.obj
        if isinstance(owner, ModuleType) and owner.__name__.partition(".")[0] == _OURS:
            return f"tensorgrad has no {_theirs(owner.__name__)}.{error.name}."
        kind = type(owner)  # a class of the program's own may derive from ours: what it lacks is its own affair
        if kind.__module__.partition(".")[0] == _OURS:
            return f"tensorgrad's {kind.__name__} has no {error.name}."
    return None


def _ours(name):
    return _OURS + name[len(_THEIRS) :]


def _theirs(name):
    return _THEIRS + name[len(_OURS) :] if name.startswith(_OURS) else name
