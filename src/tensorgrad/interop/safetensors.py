"""Files of named tensors in the safetensors format, with the names of the package `safetensors`, which is not needed.

A file is the length of a header (8 bytes), the header (JSON: name, dtype, shape, place of each tensor) and the numbers.
Reading maps the file: opening one takes no time, and memory is read where a tensor is used. Changes stay in memory.
"""

import json
import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from tensorgrad import dtypes
from tensorgrad.interop.atomic import replacing
from tensorgrad.tensor import Tensor, wrap

DTYPES = {
    "F64": dtypes.float64, "F32": dtypes.float32, "F16": dtypes.float16, "BF16": dtypes.bfloat16, "C64": dtypes.complex64,
    "I64": dtypes.int64, "I32": dtypes.int32, "I16": dtypes.int16, "I8": dtypes.int8, "U64": dtypes.uint64,
    "U32": dtypes.uint32, "U16": dtypes.uint16, "U8": dtypes.uint8, "BOOL": dtypes.bool_,
}  # fmt: skip
NAMES = {d: name for name, d in DTYPES.items()}
ORDER = [
    "BOOL",
    "U8",
    "I8",
    "I16",
    "U16",
    "F16",
    "BF16",
    "I32",
    "U32",
    "F32",
    "C64",
    "F64",
    "I64",
    "U64",
]  # widest last
MOST_HEADER = 100_000_000


class SafetensorError(Exception):
    """A file that is no safetensors file, or a tensor that it does not hold."""


def broken(why):
    return SafetensorError(f"Error while deserializing: {why}")


# Writing


def save_file(tensors: dict, filename: str | os.PathLike, metadata: dict[str, str] | None = None) -> None:
    """Write tensors under their names into a file. Killed at any moment, an older file stays whole.

    >>> from tensorgrad.interop.safetensors import load_file, save_file
    >>> import tempfile, os; path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> save_file({"weight": torch.ones(2)}, path); load_file(path)
    {'weight': tensor([1., 1.])}
    """
    header, arrays = described(tensors, metadata)
    with replacing(filename) as file:
        file.write(header)
        for array in arrays:
            file.write(array.reshape(-1).view(np.uint8).data)


def save(tensors: dict, metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of such a file.

    >>> from tensorgrad.interop.safetensors import load, save
    >>> load(save({"steps": torch.arange(3)}))
    {'steps': tensor([0, 1, 2])}
    """
    header, arrays = described(tensors, metadata)
    return b"".join([header, *(array.tobytes() for array in arrays)])


def described(tensors, metadata):
    """(header as bytes, arrays in the order in which they are written)."""
    if not isinstance(tensors, Mapping):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    for name, tensor in tensors.items():
        if not isinstance(name, str) or not isinstance(tensor, Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor)}")
        check(name, tensor)
    shared = sharing(tensors)
    if shared:
        raise RuntimeError(
            f"Some tensors share memory, this will lead to duplicate memory on disk and potential differences when loading "
            f"them again: {shared}.\nSave one name of each, or a clone() under each; torch.save keeps what is shared."
        )
    facts, arrays, end = {}, [], 0
    if metadata is not None:
        if not all(isinstance(text, str) for pair in metadata.items() for text in pair):
            raise TypeError("metadata must be a dict of text by text")
        facts["__metadata__"] = dict(metadata)
    widest = {name: ORDER.index(NAMES[tensor._spec.dtype]) for name, tensor in tensors.items()}
    for name in sorted(tensors, key=lambda name: (-widest[name], name)):
        array = np.ascontiguousarray(tensors[name]._array)
        facts[name] = {
            "dtype": NAMES[tensors[name]._spec.dtype],
            "shape": list(tensors[name].shape),
            "data_offsets": [end, end + array.nbytes],
        }
        arrays.append(array)
        end += array.nbytes
    header = json.dumps(facts, separators=(",", ":"), ensure_ascii=False).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header, arrays


def sharing(tensors):
    """Sets of names whose tensors overlap in memory."""
    spans = sorted((t._array.ctypes.data, t._array.nbytes, name) for name, t in tensors.items() if t._spec.size)
    found, reach = [set()], 0
    for begin, size, name in spans:
        if begin >= reach:
            found.append(set())
        found[-1].add(name)
        reach = max(reach, begin + size)
    return [names for names in found if len(names) > 1]


def check(name, tensor):
    """Refuse a tensor that the format cannot hold."""
    if name == "__metadata__":
        raise ValueError("`__metadata__` cannot be the name of a tensor: the format keeps it for text")
    if type(tensor._array) is not np.ndarray:
        raise RuntimeError(f"`{name}` is inside vmap, grad or another transform and cannot be saved")
    if tensor._spec.dtype not in NAMES:
        raise SafetensorError(f"`{name}` is of dtype {tensor.dtype}, which the format does not have")
    if not tensor.is_contiguous():
        raise ValueError(
            f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. It either means you are trying "
            "to save tensors which are reference of each other in which case it's recommended to save only the full "
            "tensors, and reslice at load time, or simply call `.contiguous()` on your tensor to pack it before saving."
        )


# Reading


def load_file(filename: str | os.PathLike, device: str = "cpu") -> dict[str, Tensor]:
    """The tensors of a file by their names; the file is mapped, and read where they are used.

    >>> from tensorgrad.interop.safetensors import load_file, save_file
    >>> import tempfile, os; path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> save_file({"weight": torch.zeros(1, 2, dtype=torch.bfloat16)}, path); load_file(path)["weight"].dtype
    tensorgrad.bfloat16
    """
    with safe_open(filename, "pt", device) as file:
        return {name: file.get_tensor(name) for name in file.offset_keys()}


def load(data: bytes) -> dict[str, Tensor]:
    """The tensors in the bytes of a file.

    >>> from tensorgrad.interop.safetensors import load, save
    >>> load(save({}))
    {}
    """
    memory = np.frombuffer(bytearray(data), np.uint8)
    _, places, start = header_of(memory)
    return {name: wrap(array_at(memory, start, place)) for name, place in places.items()}


class safe_open:
    """A file, opened to read single tensors, or parts of them: `with safe_open(path, framework="pt") as f: ...`

    >>> from tensorgrad.interop.safetensors import safe_open, save_file
    >>> import tempfile, os; path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> save_file({"table": torch.arange(6).reshape(3, 2)}, path, {"epoch": "3"})
    >>> with safe_open(path, framework="pt") as file:
    ...     file.keys(), file.metadata(), file.get_slice("table")[1:, 0]
    (['table'], {'epoch': '3'}, tensor([2, 4]))
    """

    def __init__(self, filename: str | os.PathLike, framework: str = "pt", device: Any = "cpu"):
        if framework not in ("pt", "torch", "pytorch", "np", "numpy"):
            raise NotImplementedError(
                f"framework={framework!r} is not supported: 'pt' gives tensors, 'np' NumPy's arrays"
            )
        dtypes.check_device(device)
        self._wrapped = wrap if framework in ("pt", "torch", "pytorch") else np.asarray
        if not os.path.exists(filename):
            raise FileNotFoundError(f'No such file or directory: "{os.fspath(filename)}"')
        if os.path.getsize(filename) < 8:
            raise broken("header too small")
        self._memory: np.ndarray | None = np.memmap(filename, np.uint8, "c")
        self._metadata, self._places, self._start = header_of(self._memory)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._memory = None

    def keys(self) -> list[str]:
        """The names of the tensors, sorted."""
        return sorted(self._places)

    def offset_keys(self) -> list[str]:
        """The names in the order of the file."""
        return list(self._places)

    def metadata(self) -> dict[str, str] | None:
        """The text that was saved along, or None."""
        return self._metadata

    def get_tensor(self, name: str) -> Any:
        """One tensor."""
        return self._wrapped(self._array(name))

    def get_slice(self, name: str) -> "Slice":
        """One tensor to index: only what is asked for is read."""
        return Slice(self, self._place(name), self._array(name))

    def _place(self, name):
        if name not in self._places:
            raise SafetensorError(f"File does not contain tensor {name}")
        return self._places[name]

    def _array(self, name):
        if self._memory is None:
            raise SafetensorError("File is closed")
        return array_at(self._memory, self._start, self._place(name))


class Slice:
    """A tensor in a file that is read only where it is indexed."""

    def __init__(self, file, place, array):
        self._file, self._place, self._array = file, place, array

    def get_shape(self) -> list[int]:
        """The shape of the whole tensor."""
        return list(self._array.shape)

    def get_dtype(self) -> str:
        """The dtype as the format calls it."""
        return NAMES[self._place[0]]

    def __getitem__(self, index):
        return self._file._wrapped(self._array)[index]


def array_at(memory, start, place):
    """The array of one tensor, in the file's memory."""
    d, shape, (begin, end) = place
    raw = np.frombuffer(memory.data[start + begin : start + end], np.uint8)  # through a memoryview: its own storage
    if raw.ctypes.data % d.itemsize:
        raw = raw.copy()
    return raw.view(d.numpy).reshape(shape) if raw.size else np.empty(shape, d.numpy)


def header_of(memory):
    """(metadata, places of the tensors by name in the order of the file, where the numbers begin), checked."""
    if len(memory) < 8:
        raise broken("header too small")
    length = int.from_bytes(memory[:8].tobytes(), "little")
    if length > MOST_HEADER:
        raise broken("header too large")
    if length + 8 > len(memory):
        raise broken("invalid header length")
    text = memory[8 : 8 + length].tobytes()
    if not text.startswith(b"{"):
        raise broken("invalid header start")
    try:
        facts = json.loads(text.decode(), object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise broken(f"invalid JSON in header: {error}") from None
    metadata = facts.pop("__metadata__", None)
    if metadata is not None and not (isinstance(metadata, dict) and all(isinstance(v, str) for v in metadata.values())):
        raise broken("__metadata__ must hold text by text")
    places = {name: place_of(name, fact) for name, fact in facts.items()}
    places = dict(sorted(places.items(), key=lambda entry: entry[1][2]))
    end = 0
    for name, (_, _, (first, last)) in places.items():
        if first != end:
            raise broken(f"invalid offset for tensor `{name}`: it begins at {first}, and the one before ends at {end}")
        end = last
    if end != len(memory) - 8 - length:
        raise broken(
            f"incomplete metadata, file not fully covered: {len(memory) - 8 - length} bytes for tensors of {end}"
        )
    return metadata, places, 8 + length


def once(pairs):
    """A JSON object, in which no name may come twice."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name comes twice")
    return made


def place_of(name, fact):
    """(dtype, shape, (first byte, end)) of one entry."""
    if not isinstance(fact, dict) or {*fact} != {"dtype", "shape", "data_offsets"}:
        raise broken(f"the entry of `{name}` must say dtype, shape and data_offsets")
    d, shape, offsets = fact["dtype"], fact["shape"], fact["data_offsets"]
    if not isinstance(d, str) or d not in DTYPES:
        raise SafetensorError(f"`{name}` is of dtype {d}, which is not supported: {', '.join(DTYPES)} are")
    for numbers in (shape, offsets):
        if not isinstance(numbers, list) or not all(type(n) is int and 0 <= n < 2**63 for n in numbers):
            raise broken(f"shape and data_offsets of `{name}` must be lists of integers")
    if len(shape) > 64:
        raise broken(f"`{name}` has {len(shape)} dimensions, and a tensor at most 64")
    if len(offsets) != 2 or offsets[1] - offsets[0] != math.prod(shape) * DTYPES[d].itemsize:
        raise broken(f"tensor info invalid: `{name}` of shape {shape} and dtype {d} does not fill {offsets}")
    return DTYPES[d], tuple(shape), tuple(offsets)
