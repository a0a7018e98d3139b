"""How a worker hands a batch to the loader: its arrays through shared memory, all else pickled.

One batch is one segment of shared memory. The worker makes it, writes the arrays and tells its name; the loader opens it,
unlinks it at once, and the batch's tensors lie in it: nothing is copied. It is unmapped when the last of them is gone.
Names are numbered, so that the loader finds and unlinks what a killed worker left behind.
"""

import io
import math
import pickle
from multiprocessing import shared_memory

import numpy as np

from tensorgrad.tensor import Tensor, wrap

LEAST = 1 << 16  # smaller batches go through the pipe: making a segment costs more than copying them
ALIGNMENT = 64
MOST_OPEN = 256  # each open segment holds a file descriptor: if a program keeps more batches than that, they are copied


class Segment(shared_memory.SharedMemory):
    """Shared memory that may still be in use when the interpreter ends."""

    def __del__(self):
        try:
            super().__del__()
        except BufferError:
            pass


class Packer(pickle.Pickler):
    """Pickles a batch without its arrays, which it collects."""

    def __init__(self, file, arrays):
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.arrays = arrays

    def persistent_id(self, value):
        if type(value) is Tensor and type(value._array) is np.ndarray and value.is_leaf and not value.__dict__:
            array, kind = value._array, "leaf" if value.requires_grad else "tensor"
        elif type(value) is np.ndarray and value.dtype.kind not in "OV":
            array, kind = value, "array"
        else:
            return None
        self.arrays.append(array)
        return kind, len(self.arrays) - 1, array.shape, array.dtype


class Unpacker(pickle.Unpickler):
    """The other way round: `places` holds the offset of each array in `memory`."""

    def __init__(self, file, memory, places):
        super().__init__(file)
        self.memory, self.places = np.frombuffer(memory, np.uint8), places  # it holds the memory: close() waits for it

    def persistent_load(self, pid):
        kind, index, shape, dtype = pid
        place, size = self.places[index], math.prod(shape) * dtype.itemsize
        array = self.memory[place : place + size].view(dtype).reshape(shape)
        if kind == "array":
            return array
        return wrap(array).requires_grad_() if kind == "leaf" else wrap(array)


def pack(batch, name):
    """(name of the segment or None, what else must be sent) for a batch; `name` makes the name of a new segment."""
    file, arrays = io.BytesIO(), []
    Packer(file, arrays).dump(batch)
    places, end = [], 0
    for array in arrays:
        places.append(end)
        end += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
    if end < LEAST:
        memory = bytearray(end)
        write(arrays, places, memory)
        return None, (file.getvalue(), places, memory)
    segment = Segment(name(), create=True, size=end)
    try:
        write(arrays, places, segment.buf)
    except BaseException:
        segment.close()
        segment.unlink()
        raise
    segment.close()
    return segment.name, (file.getvalue(), places, end)


def write(arrays, places, memory):
    for array, place in zip(arrays, places):
        np.copyto(np.ndarray(array.shape, array.dtype, memory, place), array)


_open = []  # segments whose arrays may still be in use


def unpack(name, rest):
    """The batch that was packed."""
    pickled, places, memory = rest
    if name is not None:
        release()
        segment = Segment(name)
        segment.unlink()
        if len(_open) < MOST_OPEN:
            _open.append(segment)
            memory = segment.buf
        else:
            memory = bytearray(segment.buf[:memory])
            segment.close()
    return Unpacker(io.BytesIO(pickled), memory, places).load()


def release():
    """Close the segments that nothing uses any more."""
    still = []
    for segment in _open:
        try:
            segment.close()
        except BufferError:
            still.append(segment)
    _open[:] = still


def discard(name):
    """Unlink a segment that nobody will use, if it exists."""
    try:
        segment = Segment(name)
    except (FileNotFoundError, ValueError):
        return False
    segment.close()
    segment.unlink()
    return True
