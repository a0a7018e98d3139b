"""Zip archives as PyTorch writes them: records that are not compressed and begin where memory can be mapped."""

import io
import os
import struct
import zipfile
import zlib
from typing import Any

import numpy as np

ALIGNMENT = 64
DAMAGED = "PytorchStreamReader failed reading zip archive: "
UNREADABLE = (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError, struct.error, OSError, MemoryError, EOFError,
              IndexError, RecursionError, RuntimeError)  # fmt: skip


class ArchiveWriter:
    """Writes records into an open file, below one folder named `stem`."""

    def __init__(self, file, stem):
        self.file, self.stem, self.buffer = file, stem, None
        if position_of(file):  # offsets in an archive count from its beginning
            self.buffer = file = io.BytesIO()
        self.archive: Any = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True)

    def record(self, name, data):
        """Add a record, preceded by as much padding as it takes to align it."""
        info = zipfile.ZipInfo(f"{self.stem}/{name}")
        start = self.archive.fp.tell() + 30 + len(info.filename.encode()) + 4
        if len(data) * 1.05 > zipfile.ZIP64_LIMIT:
            start += 20  # zipfile tells of large records in a field of its own
        padding = -start % ALIGNMENT
        info.extra = struct.pack("<HH", 0x4246, padding) + b"Z" * padding
        self.archive.writestr(info, data)

    def __enter__(self):
        return self

    def __exit__(self, kind, *error):
        if kind is None:
            self.archive.close()
            if self.buffer is not None:
                self.file.write(self.buffer.getbuffer())
        else:
            self.archive._didModify = False  # no directory at the end of half an archive
            self.archive.close()


def position_of(file):
    """Where an open file stands, or 0 if it cannot say."""
    try:
        return file.tell()
    except (AttributeError, OSError):
        return 0


class ArchiveReader:
    """The records of an archive, read where they lie. With `mapped`, the whole file as bytes, they are not read at all."""

    def __init__(self, file, mapped=None):
        self.file, self.mapped = file, mapped
        self.length = file.seek(0, os.SEEK_END)
        try:
            with zipfile.ZipFile(file) as archive:
                self.records = {info.filename: info for info in archive.infolist()}
        except UNREADABLE as error:
            raise RuntimeError(f"{DAMAGED}failed finding central directory\n{error}: was the file cut?") from None
        described = [name for name in self.records if name.endswith("/data.pkl") and name.count("/") == 1]
        if len(described) != 1:
            raise RuntimeError(
                f"{DAMAGED}it must hold one data.pkl, not {len(described)}, so torch.save did not write it"
            )
        self.stem = described[0].partition("/")[0]
        if self.has("constants.pkl"):
            raise RuntimeError(
                "Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. In PyTorch, load it "
                "with torch.jit.load and save its state_dict()."
            )

    def has(self, name):
        """Whether there is a record of this name."""
        return f"{self.stem}/{name}" in self.records

    def span(self, name):
        """(first byte, length, checksum) of a record."""
        info = self.records.get(f"{self.stem}/{name}")
        if info is None:
            raise RuntimeError(f"{DAMAGED}file not found: {self.stem}/{name}")
        if not 0 <= info.header_offset < self.length:
            raise RuntimeError(f"{DAMAGED}record {name} is damaged")
        self.file.seek(info.header_offset)
        header = self.file.read(30)
        if len(header) < 30 or header[:4] != b"PK\x03\x04":
            raise RuntimeError(f"{DAMAGED}record {name} is damaged")
        of_name, of_extra = struct.unpack("<HH", header[26:30])
        if self.file.read(of_name) != info.filename.encode():
            raise RuntimeError(f"{DAMAGED}record {name} is damaged: it bears another name")
        start = info.header_offset + 30 + of_name + of_extra
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise RuntimeError(f"{DAMAGED}record {name} is compressed")
        if start + info.file_size > self.length:
            raise RuntimeError(f"{DAMAGED}record {name} ends behind the end of the file: it was cut")
        return start, info.file_size, info.CRC

    def read(self, name):
        """A record as a new array of bytes, checked."""
        start, size, checksum = self.span(name)
        self.file.seek(start)
        raw = read_array(self.file, size)
        if len(raw) < size:
            raise RuntimeError(f"{DAMAGED}record {name} ends too early")
        if zlib.crc32(raw.data) != checksum:
            raise RuntimeError(f"{DAMAGED}record {name} is damaged: its checksum is wrong")
        return raw

    def read_or_map(self, name):
        """The same, or a piece of the mapped file: read only when it is used, and so unchecked."""
        if self.mapped is None:
            return self.read(name)
        start, size, _ = self.span(name)
        return np.frombuffer(self.mapped.data[start : start + size], np.uint8)  # a storage of its own


def read_array(file, size):
    """The next `size` bytes of an open file, or fewer at its end, as a new array."""
    raw = np.empty(size, np.uint8)
    view, done = raw.data, 0
    while done < size:
        if hasattr(file, "readinto"):
            count = file.readinto(view[done:]) or 0
        else:
            piece = file.read(size - done)
            count = len(piece)
            view[done : done + count] = piece
        if not count:
            break
        done += count
    return raw[:done]
