"""Tensors in NumPy's archives of arrays, as numpy.savez writes them and numpy.load reads them."""

import os
import zipfile
import zlib
from collections.abc import Mapping

import numpy as np

from tensorgrad import dtypes
from tensorgrad.interop.archive import UNREADABLE
from tensorgrad.interop.atomic import replacing
from tensorgrad.tensor import Tensor, wrap

KNOWN = {d.numpy for d in dtypes.DTYPES}


def save_file(tensors: dict, filename: str | os.PathLike, compressed: bool = False) -> None:
    """Write tensors, a state dict for instance, under their names into an .npz file. Killed, an older file stays whole.

    bfloat16, which NumPy lacks, is written as two plain bytes a number, and read back as what it was.

    >>> from tensorgrad.interop import npz
    >>> import tempfile, os; path = os.path.join(tempfile.mkdtemp(), "model.npz")
    >>> npz.save_file(torch.nn.Linear(3, 2).state_dict(), path); import numpy; sorted(numpy.load(path).files)
    ['bias', 'weight']
    """
    if not isinstance(tensors, Mapping):
        raise TypeError(f"expected a dict of tensors by their names, got {type(tensors).__name__}")
    arrays = {}
    for name, value in tensors.items():
        array = value.detach().resolve_conj()._array if isinstance(value, Tensor) else value
        if not isinstance(name, str) or not isinstance(array, (np.ndarray, np.generic, bool, int, float, complex)):
            raise TypeError(
                f"entry {name!r} is {type(value).__name__}: an .npz file holds tensors, arrays and numbers by names that "
                "are text. torch.save takes structures of any kind."
            )
        array = np.asarray(array)
        if array.dtype.hasobject or array.dtype not in KNOWN:
            raise TypeError(f"entry {name!r} is of dtype {array.dtype}, which no tensor has")
        if name in ("file", "") or "\0" in name:
            raise ValueError(f"{name!r} cannot be a name in an .npz file")
        arrays[name] = array
    with replacing(filename) as file:
        (np.savez_compressed if compressed else np.savez)(file, **arrays)


def load_file(filename: str | os.PathLike) -> dict[str, Tensor]:
    """The arrays of an .npz file as tensors by their names. Nothing in the file is run.

    >>> from tensorgrad.interop import npz
    >>> import tempfile, os; path = os.path.join(tempfile.mkdtemp(), "model.npz")
    >>> import numpy; numpy.savez(path, steps=[1, 2]); npz.load_file(path)
    {'steps': tensor([1, 2])}
    """
    made = {}
    try:
        with zipfile.ZipFile(filename) as archive:
            for info in archive.infolist():
                with archive.open(info) as file:
                    made[info.filename.removesuffix(".npy")] = tensor_of(np.lib.format.read_array(file), info.filename)
    except FileNotFoundError:
        raise
    except (*UNREADABLE, TypeError, KeyError, SyntaxError, zlib.error) as error:
        raise RuntimeError(f"{os.fspath(filename)} cannot be read as an .npz file: {error}") from None
    return made


def tensor_of(array, name):
    """A tensor of an array as it was read."""
    if array.dtype.kind == "V" and array.dtype.itemsize == 2 and array.dtype.names is None:
        array = array.view(dtypes.bfloat16.numpy)
    elif not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype not in KNOWN:
        raise ValueError(f"{name} is of dtype {array.dtype}, which no tensor has")
    return wrap(np.asarray(array))
