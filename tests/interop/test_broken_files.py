"""Files that were cut, changed or made to do harm: a clear error or a correct load, never a crash, never code run."""

import io
import pickle
import random
import struct
import time
import zipfile

import pytest
from subject import IS_TORCH, torch

pytestmark = pytest.mark.skipif(IS_TORCH, reason="PyTorch checks less")
CLEAR = (RuntimeError, pickle.UnpicklingError, NotImplementedError)


def example():
    x = torch.arange(6.0).reshape(2, 3)
    return {"x": x, "t": x.t(), "n": {"lr": 0.1, "steps": [1, 2, (3, None)]}, "p": torch.nn.Parameter(torch.ones(2)),
            "u": torch.ones(3, dtype=torch.uint16), "text": "abc", "size": torch.Size([1])}  # fmt: skip


def archive(obj):
    file = io.BytesIO()
    torch.save(obj, file)
    return file.getvalue()


def archive_of_pickle(data, *storages):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("archive/data.pkl", data)
        for number, raw in enumerate(storages):
            made.writestr(f"archive/data/{number}", raw)
    return file.getvalue()


def same(a, b):
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return a == b


def loads(data, path=None):
    if path is None:
        return torch.load(io.BytesIO(data))
    path.write_bytes(data)
    return torch.load(path, mmap=True)


def test_every_cut_is_an_error(tmp_path):
    whole = archive(example())
    with pytest.raises(EOFError, match="Ran out of input"):
        loads(b"")
    for length in range(1, len(whole)):
        with pytest.raises(CLEAR) as caught:
            loads(whole[:length])
        assert len(str(caught.value)) > 10, length
    for length in range(1, len(whole), 41):
        with pytest.raises(CLEAR):
            loads(whole[:length], tmp_path / "a.pt")


def flipped(data, draw):
    place = draw.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << draw.randrange(8))]) + data[place + 1 :]


def test_a_thousand_flipped_bits():
    obj, draw, errors = example(), random.Random(0), 0
    whole = archive(obj)
    for _ in range(1000):
        try:
            got = loads(flipped(whole, draw))
        except CLEAR as error:
            errors += 1
            assert str(error)
        else:
            assert same(obj, got)
    assert 300 < errors < 1000


def test_changes_that_no_checksum_tells_of(tmp_path):
    """The pickle itself is changed, and the archive made anew around it; or the file is mapped, and so not checked."""
    obj, draw = example(), random.Random(1)
    whole = archive(obj)
    with zipfile.ZipFile(io.BytesIO(whole)) as made:
        described, *storages = (made.read(f"archive/{name}") for name in ("data.pkl", "data/0", "data/1", "data/2"))
    loaded = 0
    for count in [1] * 1500 + [3] * 500:
        data = described
        for _ in range(count):
            data = flipped(data, draw)
        try:
            loads(archive_of_pickle(data, *storages))
            loaded += 1
        except CLEAR as error:
            assert str(error)
    assert 0 < loaded < 1000
    for _ in range(100):
        try:
            loads(flipped(whole, draw), tmp_path / "a.pt")
        except CLEAR:
            pass


def test_random_bytes_as_a_pickle():
    draw = random.Random(2)
    opcodes = b"\x80\x02(.0124FIJKLMNPQRSTUVX]abcdeghijlopqrstu})" + bytes(range(0x80, 0x99))
    for _ in range(3000):
        data = b"\x80\x02" + bytes(draw.choice(opcodes) for _ in range(draw.randrange(40))) + b"."
        try:
            loads(archive_of_pickle(data))
        except CLEAR as error:
            assert str(error)


def harm(path):
    """Pickles that would make a file if their code ran."""
    text = f"open({str(path)!r}, 'w')"
    quoted = b"X" + struct.pack("<I", len(text)) + text.encode()
    short = b"\x8c" + bytes([len(text)]) + text.encode()
    for module, name in (("builtins", "eval"), ("__builtin__", "eval"), ("builtins", "exec"), ("os", "system"),
                         ("posix", "system"), ("subprocess", "getoutput"), ("numpy.testing._private.utils", "runstring"),
                         ("torch.serialization", "load"), ("tensorgrad.serialization", "load"), ("pickle", "loads"),
                         ("functools", "partial"), ("builtins", "getattr"), ("torch", "compile"),
                         ("importlib", "import_module"), ("codecs", "decode")):  # fmt: skip
        named = b"c" + module.encode() + b"\n" + name.encode() + b"\n"
        yield b"\x80\x02" + named + quoted + b"\x85R."
        yield b"\x80\x02" + named + b"(" + quoted + b"tR."
        yield b"\x80\x02" + named + quoted + b"\x85\x81."  # NEWOBJ
        yield b"\x80\x02}" + named + b"b."
        yield b"(" + quoted + b"i" + module.encode() + b"\n" + name.encode() + b"\n."  # INST
        yield b"(" + named + quoted + b"o."  # OBJ
        strings = b"".join(b"\x8c" + bytes([len(s)]) + s.encode() for s in (module, name))
        yield b"\x80\x04" + strings + b"\x93" + short + b"\x85R."
        yield b"\x80\x04" + strings + b"\x93" + short + b"\x85}\x92."  # NEWOBJ_EX
    yield b"\x80\x02ctorch\nTensor.map_\n" + quoted + b"\x85R."
    yield b"\x80\x02ctorch\nTensor\n" + quoted + b"\x85R."
    yield (
        b"\x80\x02ccollections\nOrderedDict\n)R}X\x0b\0\0\0__setitem__" + quoted + b"sb."
    )  # may load: text is only text


def test_no_code_of_a_file_runs(tmp_path):
    path, refused = tmp_path / "harm", 0
    for data in harm(path):
        for file in (archive_of_pickle(data), b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19." + data, data):
            try:
                loads(file)
            except CLEAR as error:
                refused += 1
                assert str(error)
        assert not path.exists()
    assert refused > 300


class Evil:
    def __reduce__(self):
        return exec, ("raise SystemExit('code ran')",)


def test_the_error_names_what_was_refused():
    for obj in (Evil(), {"a": [Evil()]}):
        data = pickle.dumps(obj, 2)
        with pytest.raises(
            pickle.UnpicklingError, match=r"Unsupported global: GLOBAL builtins.exec was not an allowed"
        ):
            loads(archive_of_pickle(data))
        with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
            loads(data)


def tensor_pickle(count=4, offset=0, size=(2, 2), stride=(2, 1), key="0"):
    """The pickle of one float32 tensor."""

    def integers(values):
        return b"(" + b"".join(b"\x8a\x08" + struct.pack("<q", v) for v in values) + b"t"

    return (
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\0" + key.encode()
        + b"X\x03\0\0\0cpu\x8a\x08" + struct.pack("<q", count) + b"tQ\x8a\x08" + struct.pack("<q", offset)
        + integers(size) + integers(stride) + b"\x89ccollections\nOrderedDict\n)RtR."
    )  # fmt: skip


def test_tensors_stay_inside_their_storage():
    raw = bytes(16)
    assert loads(archive_of_pickle(tensor_pickle(), raw)).tolist() == [[0, 0], [0, 0]]
    for wrong in ({"offset": 1}, {"offset": -1}, {"size": (2, 3)}, {"stride": (3, 1)}, {"stride": (-2, 1)},
                  {"size": (-1, 2)}, {"size": (2**62, 2**62)}, {"count": 2**60}, {"count": -1}, {"size": (2,)},
                  {"offset": 2**62}, {"stride": (2**62, 2**62)}, {"key": "1"}, {"key": "/"}):  # fmt: skip
        with pytest.raises(CLEAR):
            loads(archive_of_pickle(tensor_pickle(**wrong), raw))
    assert loads(archive_of_pickle(tensor_pickle(size=(0, 5)), raw)).shape == (0, 5)


def test_bombs_end_soon():
    start = time.perf_counter()
    deep = b"\x80\x02)" + b"\x85" * 200_000
    doubled = b"\x80\x02)" + b"q\0h\0\x86" * 100
    for data in (deep + b".", doubled + b"."):
        loads(archive_of_pickle(data))  # building is harmless
    for data in (b"\x80\x02}" + deep[2:] + b"K\x01s.", b"\x80\x02}" + doubled[2:] + b"K\x01s.",
                 b"\x80\x04\x8f(" + deep[2:] + b"\x90.", b"\x80\x02cbuiltins\nset\n]" + doubled[2:] + b"a\x85R.",
                 b"\x80\x02ccollections\nOrderedDict\n]" + deep[2:] + b"K\x01\x86a\x85R.",
                 b"\x80\x02X\xff\xff\xff\x7fabc.",
                 b"\x80\x02B\xff\xff\xff\x7fabc.", b"\x80\x02" + b"(" * 200_000 + b"."):  # fmt: skip
        with pytest.raises(CLEAR):
            loads(archive_of_pickle(data))
    assert time.perf_counter() - start < 10
