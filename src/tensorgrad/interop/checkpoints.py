"""Files of tensors in PyTorch's zip format: `torch.save` and `torch.load` of either library read what the other wrote.

Such a file is an uncompressed zip archive: `data.pkl` describes the objects, `data/0`, `data/1` ... are the storages, the
memory that tensors share. `data.pkl` names PyTorch's functions; here they are names only, and nothing of PyTorch is used.
"""

import contextlib
import io
import os
import pickle
import shutil
import struct
import zipfile
import zlib
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np

from tensorgrad import dtypes
from tensorgrad.interop import safe_pickle
from tensorgrad.interop.safe_pickle import Known, UnpicklingError
from tensorgrad.ops import fitting
from tensorgrad.spec import Size
from tensorgrad.tensor import Tensor, wrap

ALIGNMENT = 64
STORAGES = {
    "FloatStorage": dtypes.float32, "DoubleStorage": dtypes.float64, "HalfStorage": dtypes.float16,
    "BFloat16Storage": dtypes.bfloat16, "LongStorage": dtypes.int64, "IntStorage": dtypes.int32,
    "ShortStorage": dtypes.int16, "CharStorage": dtypes.int8, "ByteStorage": dtypes.uint8, "BoolStorage": dtypes.bool_,
    "ComplexFloatStorage": dtypes.complex64, "ComplexDoubleStorage": dtypes.complex128,
}  # fmt: skip
STORAGE_OF = {d: name for name, d in STORAGES.items()}
DAMAGED = "PytorchStreamReader failed reading zip archive: "
ON_GPU = (
    "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running on a "
    "CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
)


# Writing


class Name:
    """A function or class of PyTorch's that the pickle names."""

    def __init__(self, module, name):
        self.module, self.name = module, name

    def __call__(self, *arguments):
        """Only here because pickle asks whether it could be called."""
        raise NotImplementedError(self.name)


TENSOR_V2, TENSOR_V3 = Name("torch._utils", "_rebuild_tensor_v2"), Name("torch._utils", "_rebuild_tensor_v3")
PARAMETER = Name("torch._utils", "_rebuild_parameter")
PARAMETER_WITH_STATE = Name("torch._utils", "_rebuild_parameter_with_state")
WITH_STATE, TENSOR = Name("torch._tensor", "_rebuild_from_type_v2"), Name("torch", "Tensor")
SIZE, DEVICE, LAYOUT = Name("torch", "Size"), Name("torch", "device"), Name("torch.serialization", "_get_layout")
UNTYPED = Name("torch.storage", "UntypedStorage")
NAMES = {d: Name("torch", d.name) for d in dtypes.DTYPES}
STORAGE_NAMES = {d: Name("torch", name) for d, name in STORAGE_OF.items()}


class Stored:
    """Stands in the pickle for a storage."""

    def __init__(self, pid):
        self.pid = pid


class Writer(pickle._Pickler):
    """Pickles objects with PyTorch's names, and collects the memory of tensors in `storages`."""

    def __init__(self, file):
        super().__init__(file, 2)
        self.storages, self.keys, self.alive = [], {}, []

    def persistent_id(self, obj):
        return obj.pid if type(obj) is Stored else None

    def save_global(self, obj, name=None):
        if type(obj) is Name:
            self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
            self.memoize(obj)
        else:
            super().save_global(obj, name)

    def reducer_override(self, obj):
        if isinstance(obj, Tensor):
            return self.reduce_tensor(obj)
        if type(obj) is Name:
            return obj.name
        if isinstance(obj, Size):
            return SIZE, (tuple(obj),)
        if type(obj) is dtypes.device:
            return DEVICE, (obj.type,) if obj.index is None else (obj.type, obj.index)
        if obj is dtypes.strided:
            return LAYOUT, ("torch.strided",)
        return NotImplemented

    def save(self, obj, save_persistent_id=True):
        if type(obj) is dtypes.dtype:
            obj = NAMES[obj]
        elif obj is Tensor:
            obj = TENSOR
        return super().save(obj, save_persistent_id)

    def reduce_tensor(self, tensor):
        """The call that makes the tensor again."""
        if type(tensor._array) is not np.ndarray:
            raise RuntimeError("a tensor inside vmap, grad or another transform cannot be saved")
        stored, offset, strides = self.storage_of(tensor)
        d, hooks = tensor._spec.dtype, OrderedDict()
        is_parameter = type(tensor).__name__ == "Parameter"
        arguments: tuple[Any, ...] = (stored, offset, tuple(tensor.shape), strides,
                                      tensor.requires_grad and not is_parameter, hooks)  # fmt: skip
        if d in STORAGE_OF:
            rebuild = TENSOR_V2
        else:
            rebuild, arguments = TENSOR_V3, (*arguments, d)
        state = {name: value for name, value in vars(tensor).items() if name != "_grad"}
        if is_parameter:
            data = Rebuilt(rebuild, arguments)
            if state:
                return PARAMETER_WITH_STATE, (data, tensor.requires_grad, hooks, state)
            return PARAMETER, (data, tensor.requires_grad, hooks)
        if state:
            return WITH_STATE, (rebuild, TENSOR, arguments, state)
        return rebuild, arguments

    def storage_of(self, tensor):
        """(storage, offset and strides in its elements) of a tensor: tensors that share memory share the storage."""
        array, d = tensor._array, tensor._spec.dtype
        owner, size = fitting.owner(array), d.itemsize
        distance = array.ctypes.data - owner.ctypes.data
        whole = owner.flags.c_contiguous or owner.flags.f_contiguous
        if not whole or distance % size or owner.nbytes % size or any(s < 0 or s % size for s in array.strides):
            array = owner = np.ascontiguousarray(array)  # memory that no storage can describe
            self.alive.append(array)
            distance = 0
        strides = fitting.torch_strides(array)
        key = owner.ctypes.data if owner.nbytes else id(owner)
        known = self.keys.get(key)
        typed = d in STORAGE_OF
        if known is None:
            raw = owner.reshape(-1) if owner.flags.c_contiguous else owner.T.reshape(-1)
            raw = np.ascontiguousarray(raw).view(np.uint8) if raw.size else np.empty(0, np.uint8)
            known = self.keys[key] = (str(len(self.storages)), d if typed else None)
            self.storages.append(raw)
            self.alive.append(owner)
        elif known[1] is not (d if typed else None):
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different types"
                f"\nOne is seen as {known[1]} and as {d}: save a clone() of one of them."
            )
        kind, count = (STORAGE_NAMES[d], owner.nbytes // size) if typed else (UNTYPED, owner.nbytes)
        return Stored(("storage", kind, known[0], "cpu", count)), distance // size if array.size else 0, strides


class Rebuilt:
    """A tensor inside of a Parameter, as the call that makes it."""

    def __init__(self, function, arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


def write_archive(obj, file, stem):
    """Write the zip archive into an open file."""
    described = io.BytesIO()
    writer = Writer(described)
    writer.dump(obj)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:

        def record(name, data):
            info = zipfile.ZipInfo(f"{stem}/{name}")
            try:
                start = archive.fp.tell() + 30 + len(info.filename.encode()) + 4
                padding = -start % ALIGNMENT
                info.extra = struct.pack("<HH", 0x4246, padding) + b"Z" * padding  # so that it can be mapped
            except (AttributeError, OSError):
                pass
            archive.writestr(info, data)

        record("data.pkl", described.getvalue())
        record(".format_version", b"1")
        record(".storage_alignment", str(ALIGNMENT).encode())
        record("byteorder", b"little")
        for number, raw in enumerate(writer.storages):
            record(f"data/{number}", memoryview(raw))
        record("version", b"3\n")
        record(".data/serialization_id", str(zlib.crc32(described.getvalue())).encode().rjust(40, b"0"))


@contextlib.contextmanager
def replacing(path):
    """An open file that takes the place of `path` when it is complete. Killed before, the old file is whole."""
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():  # a pipe, a device
        with open(path, "wb") as file:
            yield file
        return
    for old in path.parent.glob(f".{glob_free(path.name)}.*.partial"):  # what a killed process left
        pid = old.name.rsplit(".", 2)[1].partition("-")[0]
        if not (pid.isdigit() and is_running(int(pid))):
            old.unlink(missing_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.partial")
    try:
        with open(partial, "wb") as file:
            yield file
        if path.exists():
            shutil.copymode(path, partial)
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def glob_free(name):
    return "".join(f"[{c}]" if c in "[]*?" else c for c in name)


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def save(obj, f):
    """Write an object into a path or an open file."""
    if hasattr(f, "write"):
        write_archive(obj, f, "archive")
    else:
        with replacing(f) as file:
            write_archive(obj, file, Path(f).stem or "archive")


# Reading


class Storage:
    """The memory of a storage that was read, as bytes."""

    def __init__(self, raw, dtype):
        self.raw, self.dtype = raw, dtype

    def nbytes(self):
        return self.raw.nbytes

    def size(self):
        return self.raw.nbytes // self.dtype.itemsize


class Archive:
    """The records of a zip archive, read where they lie."""

    def __init__(self, file, mapped=None):
        self.file, self.mapped = file, mapped
        file.seek(0, 2)
        self.length = file.tell()
        try:
            with zipfile.ZipFile(file) as archive:
                self.records = {info.filename: info for info in archive.infolist()}
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError, struct.error, OSError, MemoryError,
                EOFError, IndexError, RecursionError, UnicodeError) as error:  # fmt: skip
            raise RuntimeError(f"{DAMAGED}failed finding central directory\n{error}") from None
        described = [name for name in self.records if name.endswith("/data.pkl") and name.count("/") == 1]
        if not described:
            raise RuntimeError(f"{DAMAGED}it holds no data.pkl, so torch.save did not write it")
        self.stem = described[0].partition("/")[0]

    def has(self, name):
        return f"{self.stem}/{name}" in self.records

    def span(self, name):
        """(first byte, length, checksum) of a record."""
        info = self.records.get(f"{self.stem}/{name}")
        if info is None:
            raise RuntimeError(f"{DAMAGED}file not found: {self.stem}/{name}")
        self.file.seek(info.header_offset)
        header = self.file.read(30)
        if len(header) < 30 or header[:4] != b"PK\x03\x04":
            raise RuntimeError(f"{DAMAGED}record {name} is damaged")
        start = info.header_offset + 30 + sum(struct.unpack("<HH", header[26:30]))
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise RuntimeError(f"{DAMAGED}record {name} is compressed")
        if start + info.file_size > self.length:
            raise RuntimeError(f"{DAMAGED}record {name} ends behind the end of the file: it was cut")
        return start, info.file_size, info.CRC

    def read(self, name):
        """A record as a new array of bytes, checked."""
        start, size, checksum = self.span(name)
        raw = np.empty(size, np.uint8)
        self.file.seek(start)
        view, done = memoryview(raw), 0
        while done < size:
            if hasattr(self.file, "readinto"):
                count = self.file.readinto(view[done:])
            else:
                piece = self.file.read(size - done)
                count = len(piece)
                view[done : done + count] = piece
            if not count:
                raise RuntimeError(f"{DAMAGED}record {name} ends too early")
            done += count
        if zlib.crc32(view) != checksum:
            raise RuntimeError(f"{DAMAGED}record {name} is damaged: its checksum is wrong")
        return raw

    def read_or_map(self, name):
        """The same, or a piece of the mapped file: read only when it is used, and so unchecked."""
        if self.mapped is None:
            return self.read(name)
        start, size, _ = self.span(name)
        return self.mapped[start : start + size]


def load(f, map_location=None, mapped=False, trusted=()):
    """The object in a path or an open file."""
    if hasattr(f, "read"):
        if mapped:
            raise ValueError("f must be a string filename in order to use mmap argument")
        return read_archive(f, None, map_location, trusted)
    with open(f, "rb") as file:
        mapping = None
        if mapped and os.fstat(file.fileno()).st_size:
            mapping = np.memmap(file, np.uint8, "c")  # changes stay in memory
        return read_archive(file, mapping, map_location, trusted)


def read_archive(file, mapping, map_location, trusted):
    start = file.tell()
    head = file.read(4)
    file.seek(start)
    if not head:
        raise EOFError("Ran out of input")
    if head[:4] not in (b"PK\x03\x04", b"PK\x05\x06"):
        if head[:1] == b"\x80":
            raise NotImplementedError(
                "this file is in the format that PyTorch wrote before version 1.6, which is not read here: load it with "
                "PyTorch and save it again"
            )
        raise RuntimeError(f"{DAMAGED}failed finding central directory\nThe file does not begin like a zip archive.")
    if start:
        file = io.BytesIO(file.read())
    archive = Archive(file, mapping)
    swapped = archive.has("byteorder") and archive.read("byteorder").tobytes() == b"big"
    storages = {}

    def persistent_load(pid):
        if type(pid) is not tuple or len(pid) != 5 or pid[0] != "storage" or type(pid[1]) is not Known:
            raise UnpicklingError("Weights only load failed. persistent_load: unknown persistent id")
        _, kind, key, location, count = pid
        d = kind.cls if isinstance(kind.cls, dtypes.dtype) else None
        if d is None or type(key) is not str or type(count) is not int or type(location) is not str:
            raise UnpicklingError("Weights only load failed. persistent_load: unknown persistent id")
        if key not in storages:
            raw = archive.read_or_map(f"data/{key}")
            if swapped and d.itemsize > 1:
                unit = d.itemsize // 2 if d.is_complex else d.itemsize
                raw = raw.reshape(-1, unit)[:, ::-1].reshape(-1).copy()
            storage = Storage(raw, d)
            placed(storage, location, map_location)
            storages[key] = storage
        storage = storages[key]
        if count < 0 or count * d.itemsize > storage.raw.nbytes:
            raise RuntimeError(f"{DAMAGED}storage {key} has {storage.raw.nbytes} bytes, not {count * d.itemsize}")
        return storage

    known = {**ALLOWED, **{name: Known(name, build=cls, cls=cls) for name, cls in trusted}}
    return safe_pickle.loads(archive.read("data.pkl").tobytes(), known, persistent_load)


def placed(storage, location, map_location):
    """Check that a storage may go where the file, or the caller, wants it."""
    if callable(map_location):
        if map_location(storage, location) is not None:
            return
    elif isinstance(map_location, dict):
        location = map_location.get(location, location)
    elif map_location is not None:
        location = map_location
    where = dtypes.device(str(location))
    if where.type == "cuda":
        raise RuntimeError(ON_GPU)
    if where.type != "cpu":
        raise RuntimeError(f"don't know how to restore data location of a tensor that was on {location}: "
                           "use map_location='cpu'")  # fmt: skip


def integers(values):
    if not isinstance(values, (tuple, list)) or not all(type(v) is int for v in values):
        raise safe_pickle.broken("sizes that are no integers")
    return tuple(values)


def rebuild(storage, offset, size, stride, requires_grad=False, hooks=None, metadata=None, dtype=None):
    """A tensor in a storage. Every element must lie inside."""
    if type(storage) is not Storage or type(offset) is not int:
        raise safe_pickle.broken("a tensor without storage")
    d, size, stride = dtype or storage.dtype, integers(size), integers(stride)
    if not isinstance(d, dtypes.dtype):
        raise safe_pickle.broken("a tensor without dtype")
    if len(size) != len(stride) or offset < 0 or min(size, default=0) < 0 or min(stride, default=0) < 0:
        raise safe_pickle.broken("a tensor of impossible sizes")
    count = storage.raw.nbytes // d.itemsize
    empty = 0 in size
    last = offset + sum((n - 1) * step for n, step in zip(size, stride))
    if not empty and last >= count:
        raise safe_pickle.broken(
            f"a tensor of size {list(size)} with strides {list(stride)} at {offset} goes beyond its {count} elements"
        )
    if empty:
        array = np.empty(size, d.numpy)
    else:
        raw = storage.raw
        if raw.ctypes.data % d.itemsize:
            raw = raw.copy()
        array = np.ndarray(size, d.numpy, raw, offset * d.itemsize, [s * d.itemsize for s in stride])
    made = wrap(array)
    if metadata and isinstance(metadata, dict):
        made = made.conj() if metadata.get("conj") else made
        made = -made if metadata.get("neg") else made
    return made.requires_grad_() if requires_grad is True else made


def rebuild_v3(storage, offset, size, stride, requires_grad, hooks, dtype, metadata=None):
    return rebuild(storage, offset, size, stride, requires_grad, hooks, metadata, dtype)


def rebuild_parameter(data, requires_grad=True, hooks=None, state=None):
    from tensorgrad.nn import Parameter

    if not isinstance(data, Tensor):
        raise safe_pickle.broken("a parameter without tensor")
    return with_state(Parameter(data, requires_grad is True), state)


def rebuild_with_state(function, kind, arguments, state):
    if type(function) is not Known or function.build not in (rebuild, rebuild_v3) or type(arguments) is not tuple:
        raise safe_pickle.broken("a tensor built by something else")
    return with_state(function.build(*arguments), state)


def with_state(tensor, state):
    """A tensor with the attributes that the user gave it."""
    if isinstance(state, tuple) and len(state) == 2:
        state = state[0]
    if isinstance(state, dict):
        tensor.__dict__.update({k: v for k, v in state.items() if isinstance(k, str) and not k.startswith("_")})
    return tensor


def layout(name):
    if name != "torch.strided":
        raise NotImplementedError(f"tensors of layout {name} are not supported")
    return dtypes.strided


def known_names():
    """What a file may name beside Python's containers."""
    yield Known("torch._utils._rebuild_tensor", rebuild)
    yield Known("torch._utils._rebuild_tensor_v2", rebuild)
    yield Known("torch._utils._rebuild_tensor_v3", rebuild_v3)
    yield Known("torch._utils._rebuild_parameter", rebuild_parameter)
    yield Known("torch._utils._rebuild_parameter_with_state", rebuild_parameter)
    yield Known("torch._tensor._rebuild_from_type_v2", rebuild_with_state)
    yield Known("torch.nn.parameter.Parameter")
    yield Known("torch.Tensor")
    yield Known("torch.Size", lambda dims=(): Size(integers(dims)))
    yield Known("torch.device", safe_pickle.plain(dtypes.device, str, int))
    yield Known("torch.serialization._get_layout", safe_pickle.plain(layout, str))
    yield Known("torch.storage.UntypedStorage", cls=dtypes.uint8)
    for name, d in STORAGES.items():
        yield Known(f"torch.{name}", cls=d)
        yield Known(f"torch.storage.{name}", cls=d)
    for d in dtypes.DTYPES:
        yield Known(f"torch.{d.name}", value=d)


ALLOWED = {**safe_pickle.PYTHON, **{known.name: known for known in known_names()}}
