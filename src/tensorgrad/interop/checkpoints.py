"""Files of tensors in PyTorch's formats: `torch.save` and `torch.load` of either library read what the other wrote.

Such a file is a zip archive: `data.pkl` describes the objects, `data/0`, `data/1` ... are the storages, the memory that
tensors share. `data.pkl` names PyTorch's functions; here they are names only, and nothing of PyTorch is used. The format
before PyTorch 1.6, pickles one behind the other and then the storages, is read too.
"""

import codecs
import contextlib
import io
import os
import pickle
import zlib
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np

from tensorgrad import dtypes
from tensorgrad.interop import safe_pickle
from tensorgrad.interop.archive import ALIGNMENT, DAMAGED, ArchiveReader, ArchiveWriter, read_array
from tensorgrad.interop.atomic import replacing
from tensorgrad.interop.safe_pickle import Known, UnpicklingError
from tensorgrad.ops import fitting
from tensorgrad.spec import Size
from tensorgrad.tensor import Tensor, wrap

STORAGES = {
    "FloatStorage": dtypes.float32, "DoubleStorage": dtypes.float64, "HalfStorage": dtypes.float16,
    "BFloat16Storage": dtypes.bfloat16, "LongStorage": dtypes.int64, "IntStorage": dtypes.int32,
    "ShortStorage": dtypes.int16, "CharStorage": dtypes.int8, "ByteStorage": dtypes.uint8, "BoolStorage": dtypes.bool_,
    "ComplexFloatStorage": dtypes.complex64, "ComplexDoubleStorage": dtypes.complex128,
}  # fmt: skip
STORAGE_OF = {d: name for name, d in STORAGES.items()}
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


_Pickler: Any = pickle._Pickler  # the one in Python, which can write names that do not exist here


class Writer(_Pickler):
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
        elif getattr(obj, "__module__", "").partition(".")[0] == "tensorgrad":
            self.save_global(Name(*safe_pickle.public_name(obj.__module__, obj.__qualname__).rsplit(".", 1)))
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
        elif type(obj) is bytes and not obj:
            obj = Rebuilt(codecs.encode, ("", "latin1"))  # PyTorch refuses what pickle would write
        return super().save(obj, save_persistent_id)

    def reduce_tensor(self, tensor):
        """The call that makes the tensor again."""
        if type(tensor._array) is not np.ndarray:
            if tensor._spec.names is not None:
                raise RuntimeError(
                    "NYI: Named tensors don't support serialization. Please drop names via `tensor = tensor.rename(None)` "
                    "before serialization."
                )
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
        if state or type(tensor) is not Tensor:
            return WITH_STATE, (rebuild, type(tensor), arguments, state)
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
    """An object, as the call that makes it."""

    def __init__(self, function, arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


def write_archive(obj, file, stem):
    """Write an object into an open file."""
    described = io.BytesIO()
    writer = Writer(described)
    writer.dump(obj)
    with ArchiveWriter(file, stem) as archive:
        archive.record("data.pkl", described.getvalue())
        archive.record(".format_version", b"1")
        archive.record(".storage_alignment", str(ALIGNMENT).encode())
        archive.record("byteorder", b"little")
        for number, raw in enumerate(writer.storages):
            archive.record(f"data/{number}", raw.data)
        archive.record("version", b"3\n")
        archive.record(".data/serialization_id", str(zlib.crc32(described.getvalue())).encode().rjust(40, b"0"))


def save(obj, f):
    """Write an object into a path or an open file."""
    if hasattr(f, "write"):
        write_archive(obj, f, "archive")
    elif isinstance(f, (str, os.PathLike)):
        with replacing(f) as file:
            write_archive(obj, file, Path(f).stem or "archive")
    else:
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")


# Reading


class Storage:
    """The memory of a storage that was read, as bytes."""

    def __init__(self, raw, dtype):
        self.raw, self.dtype = raw, dtype

    def nbytes(self):
        return self.raw.nbytes

    def size(self):
        return self.raw.nbytes // self.dtype.itemsize


def load(f, map_location=None, mapped=False, trusted=()):
    """The object in a path or an open file."""
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            mapping = None
            if mapped and os.fstat(file.fileno()).st_size:
                mapping = np.memmap(file, np.uint8, "c")  # changes stay in memory
                file.seek(0)
            return Reader(file, mapping, map_location, trusted).result()
    for name in ("seek", "tell", "read"):
        if not hasattr(f, name):
            raise AttributeError(
                f"'{type(f).__name__}' object has no attribute '{name}'. You can only torch.load from a file that is "
                "seekable. Please pre-load the data into a buffer like io.BytesIO and try to load from it instead."
            )
    if mapped:
        raise ValueError("f must be a file path in order to use the mmap argument")
    return Reader(f, None, map_location, trusted).result()


def names_beyond(f):
    """The names in a file that `load` would refuse."""
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(open(f, "rb")) if isinstance(f, (str, os.PathLike)) else f
        described = ArchiveReader(file).read("data.pkl").tobytes()
    return [name for name in safe_pickle.names_in(described) if name not in ALLOWED]


MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
BEFORE_1_6 = (
    "mmap can only be used with files saved with `torch.save(_use_new_zipfile_serialization=True), please torch.save your "
    "checkpoint with this option in order to use mmap."
)


class Reader:
    """Reads a file in either format."""

    def __init__(self, file, mapping, map_location, trusted):
        self.file, self.mapping, self.map_location = file, mapping, map_location
        self.known = {**ALLOWED, **{name: Known(name, build=cls, value=cls) for name, cls in trusted}}
        self.storages = {}

    def result(self):
        """The object, by the format that the first bytes tell of."""
        start = self.file.tell()
        head = self.file.read(4)
        self.file.seek(start)
        if not head:
            raise EOFError("Ran out of input")
        if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
            return self.from_archive(io.BytesIO(self.file.read()) if start else self.file)
        if head[:1] == b"\x80":
            return self.from_pickles()
        raise UnpicklingError(
            "Weights only load failed. The file begins neither like a zip archive nor like a pickle: torch.save did not "
            f"write it. Its first bytes are {head!r}."
        )

    def from_archive(self, file):
        archive = ArchiveReader(file, self.mapping)
        swapped = archive.has("byteorder") and archive.read("byteorder").tobytes() == b"big"

        def storage_of(pid):
            d, key, location, count = stored(pid, 5)
            if key not in self.storages:
                raw = archive.read_or_map(f"data/{key}")
                if raw.ctypes.data % 16:  # a file that is mapped and was not aligned
                    raw = raw.copy()
                if swapped and d.itemsize > 1:
                    unit = d.itemsize // 2 if d.is_complex else d.itemsize
                    raw = raw[: len(raw) // unit * unit].reshape(-1, unit)[:, ::-1].reshape(-1).copy()
                self.add_storage(key, raw, d, location)
            return self.checked(key, d, count)

        return safe_pickle.loads(archive.read("data.pkl").tobytes(), self.known, storage_of)

    def from_pickles(self):
        """The format before PyTorch 1.6: pickles, then for each storage its length and its bytes."""
        if self.mapping is not None:
            raise RuntimeError(BEFORE_1_6)
        data = self.file.read()
        magic, place = safe_pickle.load_first(data, self.known)
        if type(magic) is not int or magic != MAGIC:
            raise UnpicklingError("Weights only load failed. Invalid magic number; corrupt file?")
        protocol, place = safe_pickle.load_first(data, self.known, place=place)
        if protocol != PROTOCOL:
            raise UnpicklingError(f"Weights only load failed. Invalid protocol version: {protocol}")
        system, place = safe_pickle.load_first(data, self.known, place=place)
        if type(system) is not dict or system.get("little_endian") is not True:
            raise NotImplementedError(
                "this file was written on a machine of other byte order: load and save it with PyTorch"
            )

        def storage_of(pid):
            d, key, location, count = stored(pid, 6)
            if pid[5] is not None:
                raise NotImplementedError(
                    "this file is of PyTorch 0.1, with views of storages: save it again with PyTorch"
                )
            if key not in self.storages:
                if not 0 <= count * d.itemsize <= len(data):
                    raise safe_pickle.broken(f"storage {key} is larger than the file")
                self.add_storage(key, np.zeros(count * d.itemsize, np.uint8), d, location)
            return self.checked(key, d, count)

        result, place = safe_pickle.load_first(data, self.known, storage_of, place)
        keys, place = safe_pickle.load_first(data, self.known, place=place)
        if type(keys) is not list or not all(type(key) is str for key in keys) or {*keys} != {*self.storages}:
            raise safe_pickle.broken("it lists other storages than its tensors use")
        rest = io.BytesIO(data[place:])
        for key in keys:
            raw, storage = read_array(rest, 8), self.storages[key]
            if len(raw) < 8 or int(raw.view("<i8")[0]) * storage.dtype.itemsize != len(storage.raw):
                raise safe_pickle.broken(f"storage {key} is missing or has another length than its tensors expect")
            found = read_array(rest, len(storage.raw))
            if len(found) < len(storage.raw):
                raise safe_pickle.broken(f"it ends within storage {key}")
            storage.raw[:] = found
        return result

    def add_storage(self, key, raw, dtype, location):
        storage = Storage(raw, dtype)
        placed(storage, location, self.map_location)
        self.storages[key] = storage

    def checked(self, key, dtype, count):
        """The storage, which must be as large as the pickle says."""
        storage = self.storages[key]
        if count < 0 or count * dtype.itemsize > storage.raw.nbytes:
            raise RuntimeError(f"{DAMAGED}storage {key} has {storage.raw.nbytes} bytes, not {count * dtype.itemsize}")
        return storage if storage.dtype is dtype else Storage(storage.raw, dtype)


def stored(pid, length):
    """(dtype, key, location, number of elements) of what a pickle says of a storage."""
    if type(pid) is tuple and len(pid) == length and pid[0] == "storage" and type(pid[1]) is Known:
        d, (key, location, count) = pid[1].dtype, pid[2:5]
        if isinstance(d, dtypes.dtype) and type(key) is str and type(location) is str and type(count) is int:
            return d, key, location, count
    raise UnpicklingError("Weights only load failed. persistent_load: unknown persistent id")


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
        array = np.ndarray(size, d.numpy, storage.raw, offset * d.itemsize, [s * d.itemsize for s in stride])
    made = wrap(array)
    if metadata and isinstance(metadata, dict):
        made = made.conj() if metadata.get("conj") else made
        made = -made if metadata.get("neg") else made
    return made.requires_grad_() if requires_grad is True else made


def rebuild_v3(storage, offset, size, stride, requires_grad, hooks, dtype, metadata=None):
    return rebuild(storage, offset, size, stride, requires_grad, hooks, metadata, dtype)


def rebuild_parameter(data, requires_grad=True, hooks=None, state=None):
    from tensorgrad.nn.parameter import Parameter

    if not isinstance(data, Tensor):
        raise safe_pickle.broken("a parameter without tensor")
    return with_state(Parameter(data, requires_grad is True), state)


def rebuild_with_state(function, kind, arguments, state):
    if type(function) is not Known or function.build not in (rebuild, rebuild_v3) or type(arguments) is not tuple:
        raise safe_pickle.broken("a tensor built by something else")
    made = function.build(*arguments)
    if not (isinstance(kind, type) and issubclass(kind, Tensor)):  # another than Tensor is one that the user trusts
        raise safe_pickle.broken("a tensor of a class that is none")
    return with_state(made if kind is Tensor else made.as_subclass(kind), state)


MARKS = ("_is_param", "_is_buffer")


def with_state(tensor, state):
    """A tensor with the attributes that the user gave it."""
    if isinstance(state, tuple) and len(state) == 2:
        state = state[0]
    if isinstance(state, dict):
        tensor.__dict__.update(
            {k: v for k, v in state.items() if isinstance(k, str) and (not k.startswith("_") or k in MARKS)}
        )
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
    yield Known("torch.Tensor", value=Tensor)
    yield Known("torch.Size", lambda dims=(): Size(integers(dims)))
    yield Known("torch.device", safe_pickle.plain(dtypes.device, str, int))
    yield Known("torch.serialization._get_layout", safe_pickle.plain(layout, str))
    yield Known("torch.storage.UntypedStorage", dtype=dtypes.uint8)
    for name, d in STORAGES.items():
        yield Known(f"torch.{name}", dtype=d)
        yield Known(f"torch.storage.{name}", dtype=d)
    for d in dtypes.DTYPES:
        yield Known(f"torch.{d.name}", value=d)


ALLOWED = {**safe_pickle.PYTHON, **{known.name: known for known in known_names()}}
