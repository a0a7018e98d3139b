"""safetensors files without the package of that name, and NumPy's archives."""

import json
import os
import random
import time
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from subject import IS_TORCH, close, raises, torch

from tensorgrad.interop import npz, safetensors
from tensorgrad.interop.safetensors import SafetensorError

pytestmark = pytest.mark.skipif(IS_TORCH, reason="of tensorgrad alone")


def example():
    return {f"{name}.é": torch.arange(6).reshape(2, 3).to(d) for d, name in
            ((getattr(torch, name), name) for name in
             ("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "bfloat16",
              "float32", "float64", "complex64"))} | {"empty": torch.ones(0, 3), "number": torch.tensor(2.5)}  # fmt: skip


def same(a, b):
    return a.keys() == b.keys() and all(
        a[k].dtype is b[k].dtype and a[k].shape == b[k].shape and a[k].tolist() == b[k].tolist() for k in a
    )


def test_every_dtype_there_and_back(tmp_path):
    path = tmp_path / "a.safetensors"
    safetensors.save_file(example(), path, {"made": "here"})
    assert same(safetensors.load_file(path), example())
    assert same(safetensors.load(path.read_bytes()), example())
    assert path.read_bytes() == safetensors.save(example(), {"made": "here"})
    with safetensors.safe_open(path, framework="np") as file:
        assert file.metadata() == {"made": "here"} and set(file.keys()) == set(example())
        array = file.get_tensor("bfloat16.é")
        assert type(array) is np.ndarray and array.dtype == ml_dtypes.bfloat16
        part = file.get_slice("float32.é")
        assert part.get_shape() == [2, 3] and part.get_dtype() == "F32" and part[1:, ::2].tolist() == [[3, 5]]
    with raises(SafetensorError, "closed"):
        file.get_tensor("number")


def test_the_layout_is_the_formats():
    data = safetensors.save({"b": torch.tensor([1, 2], dtype=torch.int16), "a": torch.tensor([1.0])})
    length = int.from_bytes(data[:8], "little")
    assert length % 8 == 0 and json.loads(data[8 : 8 + length]) == {
        "a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
        "b": {"dtype": "I16", "shape": [2], "data_offsets": [4, 8]},
    }
    assert data[8 + length :] == np.float32(1).tobytes() + b"\1\0\2\0"


def test_a_model(tmp_path):
    path = tmp_path / "model.safetensors"
    model, other = (torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)) for _ in range(2))
    safetensors.save_file(model.state_dict(), path)
    other.load_state_dict(safetensors.load_file(path))
    x = torch.randn(5, 3)
    assert torch.equal(model(x), other(x))


def test_changes_stay_in_memory_and_saving_over_the_mapped_file_works(tmp_path):
    path = tmp_path / "a.safetensors"
    safetensors.save_file({"a": torch.arange(4.0), "b": torch.ones(2)}, path)
    first, second = safetensors.load_file(path), safetensors.load_file(path)
    first["a"].add_(1)
    assert close(second["a"], [0.0, 1, 2, 3])
    safetensors.save_file({"a": first["a"]}, path)
    assert close(first["a"], [1.0, 2, 3, 4]) and close(safetensors.load_file(path)["a"], [1.0, 2, 3, 4])
    torch.save(first, tmp_path / "a.pt")  # each with its own storage, not the whole file
    assert torch.load(tmp_path / "a.pt")["b"].untyped_storage().nbytes() == 8


def in_memory():
    """How many bytes of this process lie in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the measure is Linux's")
def test_a_large_file_opens_at_once_and_is_read_where_it_is_used(tmp_path):
    path, count, rows = tmp_path / "large.safetensors", 64, 4096
    size = rows * 1024 * 4
    facts = {f"layer{i}": {"dtype": "F32", "shape": [rows, 1024], "data_offsets": [i * size, (i + 1) * size]}
             for i in range(count)}  # fmt: skip
    header = json.dumps(facts).encode()
    header += b" " * (-len(header) % 8)
    with open(path, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + count * size)  # 1 GB of zeros that take no room on the disk
    assert path.stat().st_size > 2**30

    def opened():
        start = time.perf_counter()
        tensors = safetensors.load_file(path)
        return time.perf_counter() - start, tensors

    before = in_memory()
    seconds, tensors = min((opened() for _ in range(3)), key=lambda pair: pair[0])
    assert seconds < 0.1
    assert tensors["layer7"][5].sum() == 0 and tensors["layer63"][-1, -1] == 0
    assert in_memory() - before < 50e6
    assert tensors["layer8"].sum() == 0 and in_memory() - before > 10e6  # read when it is used


def test_what_cannot_be_saved():
    x = torch.ones(2, 3)
    with raises(RuntimeError, "Some tensors share memory", "'a'", "'b'", "clone()"):
        safetensors.save({"a": x, "b": x[0]})
    assert set(safetensors.load(safetensors.save({"a": x[0], "b": x[1]}))) == {"a", "b"}  # they do not overlap
    with raises(ValueError, "You are trying to save a non contiguous tensor: `a`"):
        safetensors.save({"a": x.t()})
    with raises(ValueError, "Key `a` is invalid, expected torch.Tensor but received <class 'int'>"):
        safetensors.save({"a": 3})
    with raises(ValueError, "Expected a dict of [str, torch.Tensor] but received <class 'list'>"):
        safetensors.save([x])
    with raises(SafetensorError, "complex128"):
        safetensors.save({"a": torch.ones(1, dtype=torch.complex128)})
    with raises(TypeError, "metadata"):
        safetensors.save({"a": x}, {"epoch": 3})


def file_of(facts, data=b"", length=None):
    header = facts if isinstance(facts, bytes) else json.dumps(facts).encode()
    return (len(header) if length is None else length).to_bytes(8, "little") + header + data


def entry(dtype="F32", shape=(1,), offsets=(0, 4), **more):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets), **more}


@pytest.mark.parametrize(("data", "words"), [
    (b"", "header too small"), (b"\0" * 7, "header too small"), (bytes(8), "invalid header start"),
    (file_of({}, length=3), "invalid header length"), (file_of({}, length=2**40), "header too large"),
    (file_of(b"[]"), "invalid header start"), (file_of(b"{a}"), "invalid JSON"), (file_of(b"{\xff}"), "invalid JSON"),
    (file_of(b'{"a":' * 50_000), "invalid JSON"), (file_of({}, b"x"), "not fully covered"),
    (file_of({"a": entry()}), "not fully covered"), (file_of({"a": entry()}, b"12345"), "not fully covered"),
    (file_of({"a": entry(offsets=(1, 5))}, b"12345"), "invalid offset for tensor `a`"),
    (file_of({"a": entry(), "b": entry()}, b"1234"), "invalid offset for tensor `b`"),
    (file_of({"a": entry(shape=(2,))}, b"1234"), "`a` of shape [2]"), (file_of({"a": entry(dtype="F7")}, b"1234"), "F7"),
    (file_of({"a": entry(shape=(-1,))}, b"1234"), "integers"), (file_of({"a": entry(shape=(1.0,))}, b"1234"), "integers"),
    (file_of({"a": entry(shape=(True,))}, b"1234"), "integers"), (file_of({"a": entry(offsets=(4, 0))}, b"1234"), "`a`"),
    (file_of({"a": entry(offsets=(0,))}, b"1234"), "`a`"), (file_of({"a": entry(more=1)}, b"1234"), "must say dtype"),
    (file_of({"a": 3}), "must say dtype"), (file_of({"__metadata__": {"a": 3}}), "__metadata__"),
    (file_of(b'{"a":' + json.dumps(entry()).encode() + b',"a":' + json.dumps(entry()).encode() + b"}", b"1234"), "twice"),
    (file_of({"a": entry(shape=(2**62, 4), offsets=(0, 2**62))}, b"1234"), "`a`"),
    (file_of({"a": entry(shape=[1] * 100)}, b"1234"), "dimensions"),
])  # fmt: skip
def test_malformed_files_are_refused(tmp_path, data, words):
    path = tmp_path / "a.safetensors"
    path.write_bytes(data)
    for load in (lambda: safetensors.load(data), lambda: safetensors.load_file(path)):
        with raises(SafetensorError, words):
            load()


def test_cuts_and_flips(tmp_path):
    data, draw = safetensors.save(example()), random.Random(0)
    for length in range(len(data)):
        with pytest.raises(SafetensorError):
            safetensors.load(data[:length])
    for _ in range(1000):
        place = draw.randrange(len(data))
        changed = bytearray(data)
        changed[place] ^= 1 << draw.randrange(8)
        try:
            safetensors.load(changed)
        except SafetensorError as error:
            assert str(error)


def test_files_that_are_not_there(tmp_path):
    with raises(FileNotFoundError, "none.safetensors"):
        safetensors.load_file(tmp_path / "none.safetensors")
    with raises(NotImplementedError, "framework='tf'"):
        safetensors.safe_open(tmp_path / "none.safetensors", framework="tf")


def test_npz_there_and_back(tmp_path):
    path = tmp_path / "a.npz"
    for compressed in (False, True):
        npz.save_file(
            example() | {"wide": torch.eye(3).t()[::2], "c": torch.ones(2, dtype=torch.complex128)}, path, compressed
        )
        got = npz.load_file(path)
        assert got.pop("wide").tolist() == [[1, 0, 0], [0, 0, 1]] and got.pop("c").dtype is torch.complex128
        assert same(got, example())
    with np.load(path) as file:
        assert file["float32.é"].tolist() == [[0, 1, 2], [3, 4, 5]]
    model = torch.nn.Linear(3, 2)
    npz.save_file(model.state_dict(), path)
    torch.nn.Linear(3, 2).load_state_dict(npz.load_file(path))
    np.savez(path, big=np.arange(3, dtype=">i4"), number=1.5, view=np.eye(2).T)
    got = npz.load_file(path)
    assert got["big"].tolist() == [0, 1, 2] and got["number"].item() == 1.5 and got["view"].dtype is torch.float64


def test_npz_refuses_what_is_no_array(tmp_path):
    path = tmp_path / "a.npz"
    with raises(TypeError, "entry 'state' is dict"):
        npz.save_file({"state": {}}, path)
    with raises(TypeError, "entry 'names' is of dtype <U1"):
        npz.save_file({"names": np.array(["a"])}, path)
    with raises(TypeError, "expected a dict of tensors"):
        npz.save_file([torch.ones(1)], path)
    assert os.listdir(tmp_path) == []
    np.savez(path, words=np.array(["a"]))
    with raises(RuntimeError, "cannot be read as an .npz file", "dtype <U1"):
        npz.load_file(path)
    np.savez(path, code=np.array([print], dtype=object))
    with raises(RuntimeError, "cannot be read as an .npz file", "Object arrays cannot be loaded"):
        npz.load_file(path)
    path.write_bytes(b"text")
    with raises(RuntimeError, "cannot be read as an .npz file"):
        npz.load_file(path)


def test_npz_cut_and_flipped(tmp_path):
    path, draw = tmp_path / "a.npz", random.Random(0)
    for compressed in (False, True):
        npz.save_file({"a": torch.arange(20.0), "b": torch.ones(3, dtype=torch.bfloat16)}, path, compressed)
        data = path.read_bytes()
        for length in range(len(data)):
            path.write_bytes(data[:length])
            with pytest.raises(RuntimeError):
                npz.load_file(path)
        for _ in range(500):
            place = draw.randrange(len(data))
            path.write_bytes(data[:place] + bytes([data[place] ^ (1 << draw.randrange(8))]) + data[place + 1 :])
            try:
                npz.load_file(path)
            except RuntimeError as error:
                assert "cannot be read as an .npz file" in str(error)
