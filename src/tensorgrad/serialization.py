"""save and load: objects with tensors in PyTorch's file format. Loading runs nothing out of the file."""

import contextlib

from tensorgrad.interop import checkpoints
from tensorgrad.interop.safe_pickle import public_name

_trusted = {}  # "module.name" -> class, as the user said


def save(obj, f, pickle_module=None, pickle_protocol=2, _use_new_zipfile_serialization=True,
         _disable_byteorder_record=False):  # fmt: skip
    """Write an object with tensors into a file, in PyTorch's format. Killed at any moment, an older file stays whole.

    >>> import io; file = io.BytesIO()
    >>> torch.save({"weight": torch.ones(2), "epoch": 3}, file); position = file.seek(0)
    >>> torch.load(file)
    {'weight': tensor([1., 1.]), 'epoch': 3}
    """
    if pickle_module is not None and pickle_module.__name__ != "pickle":
        raise NotImplementedError(
            f"pickle_module={pickle_module.__name__} is not supported: only Python's own pickle is"
        )
    if pickle_protocol != 2:
        raise NotImplementedError(f"pickle_protocol={pickle_protocol} is not supported: PyTorch reads protocol 2")
    if not _use_new_zipfile_serialization:
        raise NotImplementedError(
            "_use_new_zipfile_serialization=False, the format before PyTorch 1.6, is not supported"
        )
    checkpoints.save(obj, f)


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    """Read what `save` of this library or of PyTorch wrote: tensors, parameters, containers, numbers and text.

    Nothing in the file is run, also with `weights_only=False`: other classes must be allowed with
    `torch.serialization.add_safe_globals`. `mmap=True` maps the file: memory is read when it is used, and changes do
    not reach the file.

    >>> import io; file = io.BytesIO()
    >>> torch.save([torch.eye(2), "text"], file); position = file.seek(0)
    >>> torch.load(file, map_location="cpu")[1]
    'text'
    """
    if pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if pickle_load_args and set(pickle_load_args) != {"encoding"}:
        raise NotImplementedError(f"load() does not support {', '.join(pickle_load_args)}")
    return checkpoints.load(f, map_location, bool(mmap), tuple(_trusted.items()))


def add_safe_globals(safe_globals):
    """Let `load` build objects of these classes, which are then trusted with what the file says.

    >>> class Settings: pass
    >>> torch.serialization.add_safe_globals([Settings]); torch.serialization.get_safe_globals()[-1].__name__
    'Settings'
    >>> torch.serialization.clear_safe_globals()
    """
    for entry in safe_globals:
        if isinstance(entry, tuple):
            cls, name = entry
        else:
            cls, name = entry, public_name(entry.__module__, entry.__qualname__)
        _trusted[name] = cls


def get_safe_globals():
    """The classes that `load` may build.

    >>> torch.serialization.get_safe_globals()
    []
    """
    return list(_trusted.values())


def clear_safe_globals():
    """Trust no class any more."""
    _trusted.clear()


@contextlib.contextmanager
def safe_globals(classes):
    """Trust classes inside of a `with` block.

    >>> class Settings: pass
    >>> with torch.serialization.safe_globals([Settings]):
    ...     len(torch.serialization.get_safe_globals())
    1
    """
    before = dict(_trusted)
    add_safe_globals(classes)
    try:
        yield
    finally:
        _trusted.clear()
        _trusted.update(before)


def get_unsafe_globals_in_checkpoint(f):
    """The names of classes and functions in a file that `load` would refuse, unless they are allowed.

    >>> import io; file = io.BytesIO()
    >>> torch.save(torch.nn.ReLU(), file)
    >>> torch.serialization.get_unsafe_globals_in_checkpoint(file)
    ['torch.nn.modules.activation.ReLU']
    """
    return [name for name in checkpoints.names_beyond(f) if name not in _trusted]
