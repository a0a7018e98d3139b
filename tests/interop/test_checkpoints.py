"""torch.save and torch.load: what goes in comes out, and errors say what went wrong."""

import collections
import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from subject import IS_TORCH, raises, torch

DTYPES = ["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "bfloat16",
          "float32", "float64", "complex64", "complex128"]  # fmt: skip
Pair = collections.namedtuple("Pair", "x y")


def stored(obj):
    file = io.BytesIO()
    torch.save(obj, file)
    file.seek(0)
    return file


def again(obj, **options):
    return torch.load(stored(obj), **options)


@pytest.mark.parametrize("name", DTYPES)
def test_a_tensor_of_every_dtype(name):
    for x in (
        torch.tensor([[0, 1, 1], [1, 0, 1]]).to(getattr(torch, name)),
        torch.ones((), dtype=getattr(torch, name)),
    ):
        y = again(x)
        assert y.dtype is x.dtype and y.shape == x.shape and y.tolist() == x.tolist()
        assert not y.requires_grad


def test_memory_is_shared_and_strided_as_before():
    x = torch.arange(12.0).reshape(3, 4)
    got = again({"x": x, "turned": x.t(), "row": x[1], "wide": x[:1].expand(5, 4), "odd": x[:, 1::2], "one": x[2, 3]})
    assert got["turned"].stride() == (1, 4) and got["wide"].stride() == (0, 1) and got["odd"].stride() == (4, 2)
    assert got["row"].storage_offset() == 4 and got["one"].shape == ()
    got["x"].zero_()
    assert all(not t.any() for t in got.values())


def test_one_object_stays_one_object():
    x = torch.ones(2)
    a, b = again([x, x])
    assert a is b


def test_structures():
    obj = {
        "numbers": [1, -3, 2**40, -(2**70), 1.5, float("inf"), True, None, 2 + 1j],
        "text": ["", "plain", "ünïcode 😀", b"bytes", bytearray(b"xy"), "long" * 1000],
        "nested": {1: (1, (2, (3, ()))), ("a", 2): [[[]]], None: {"s": {1, 2}, "d": {}}},
        "ordered": collections.OrderedDict([("b", 1), ("a", 2)]),
        "counted": collections.Counter("aab"),
        "others": [torch.float16, torch.Size([2, 3]), torch.device("cpu"), torch.strided],
    }
    got = again(obj)
    assert got == obj and list(got["ordered"]) == ["b", "a"]
    assert [type(v) for v in got["others"]] == [type(v) for v in obj["others"]]
    assert [type(v) for v in got.values()] == [type(v) for v in obj.values()]
    if not IS_TORCH:  # which refuses it
        assert again({frozenset("a"): b""}) == {frozenset("a"): b""}


def test_a_list_that_holds_itself():
    loop = [1]
    loop.append(loop)
    got = again(loop)
    assert got[1] is got and got[0] == 1


def test_gradients_and_parameters():
    leaf, parameter = torch.ones(2, requires_grad=True), torch.nn.Parameter(torch.ones(2), requires_grad=False)
    (leaf * 3).sum().backward()
    one, other, result = again([leaf, parameter, leaf * 2])
    assert one.requires_grad and one.is_leaf and one.grad is None
    assert type(other) is torch.nn.Parameter and not other.requires_grad
    assert result.is_leaf and result.requires_grad
    marked = torch.ones(2)
    marked.note = "mine"
    assert again(marked).note == "mine"
    lazy = torch.ones(3, dtype=torch.complex64).mul(1j).conj()
    assert again(lazy).tolist() == [-1j] * 3


def test_a_model_and_its_optimizer_go_on_where_they_stopped(tmp_path):
    def fresh():
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
        return model, torch.optim.AdamW(model.parameters(), lr=0.1, amsgrad=True)

    def steps(model, optimizer, count):
        for _ in range(count):
            optimizer.zero_grad()
            loss = model(torch.randn(8, 3)).pow(2).sum()
            loss.backward()
            optimizer.step()
        return loss.item()

    model, optimizer = fresh()
    steps(model, optimizer, 3)
    kept = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "rng": torch.get_rng_state()}
    torch.save(kept, tmp_path / "state.pt")
    expected = steps(model, optimizer, 3)
    model, optimizer = fresh()
    found = torch.load(tmp_path / "state.pt")
    model.load_state_dict(found["model"])
    optimizer.load_state_dict(found["optimizer"])
    torch.set_rng_state(found["rng"])
    assert steps(model, optimizer, 3) == expected
    assert found["model"]._metadata[""] == {"version": 1}


def test_paths_and_open_files(tmp_path):
    path = tmp_path / "a.pt"
    torch.save(1, path)
    torch.save(2, str(path))
    assert torch.load(str(path)) == 2 and os.listdir(tmp_path) == ["a.pt"]
    assert zipfile.ZipFile(path).namelist()[0] == "a/data.pkl"
    file = io.BytesIO()
    file.write(b"before")
    torch.save(torch.ones(3), file)
    file.seek(6)
    assert torch.load(file).tolist() == [1] * 3
    with raises(RuntimeError, "Parent directory ", "nowhere does not exist"):
        torch.save(1, tmp_path / "nowhere" / "b.pt")
    with raises(AttributeError, "expected 'f' to be string, path, or a file-like object with a 'write' attribute"):
        torch.save(1, 3)
    with raises(AttributeError, "'int' object has no attribute 'seek'. You can only torch.load from a file that is"):
        torch.load(3)
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "none.pt")
    with pytest.raises(EOFError):
        torch.load(io.BytesIO())


def test_a_link_is_followed_and_the_mode_kept(tmp_path):
    path, link = tmp_path / "real.pt", tmp_path / "link.pt"
    torch.save(1, path)
    path.chmod(0o600)
    link.symlink_to(path)
    torch.save(2, link)
    assert link.is_symlink() and torch.load(path) == 2 and path.stat().st_mode & 0o777 == 0o600


def test_what_fails_to_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.pt"
    torch.save("old", path)
    with pytest.raises((AttributeError, TypeError, Exception), match="pickle"):
        torch.save({"x": torch.ones(2), "f": lambda x: x}, path)
    if not IS_TORCH:  # which opens the file first
        assert torch.load(path) == "old" and os.listdir(tmp_path) == ["a.pt"]


def test_a_mapped_file(tmp_path):
    path = tmp_path / "a.pt"
    x = torch.arange(1000.0)
    torch.save({"x": x, "y": x[10:20], "h": torch.ones(3, dtype=torch.int16)}, path)
    before = path.read_bytes()
    got = torch.load(path, mmap=True)
    assert torch.equal(got["x"], x) and got["y"][0] == 10 and got["h"].tolist() == [1] * 3
    got["x"].mul_(2)
    assert got["y"][0] == 20 and path.read_bytes() == before
    if not IS_TORCH:  # which crashes
        torch.save({"x": got["x"]}, path)  # over the file that is mapped
        assert got["y"][1] == 22 and torch.load(path)["x"][10] == 20
    with raises((RuntimeError, ValueError), "f must be a "):
        torch.load(io.BytesIO(before), mmap=True)


def test_places_of_tensors():
    file = stored(torch.ones(2)).getvalue()
    for where in ("cpu", torch.device("cpu"), {"cpu": "cpu"}, {}, lambda storage, place: storage):
        assert torch.load(io.BytesIO(file), map_location=where).tolist() == [1, 1]
    seen = []
    torch.load(io.BytesIO(file), map_location=lambda storage, place: seen.append((place, storage.nbytes())))
    assert seen == [("cpu", 8)]
    moved = file.replace(b"X\x03\0\0\0cpu", b"X\x06\0\0\0cuda:0")
    if not IS_TORCH:
        with raises(RuntimeError, "Attempting to deserialize object on a CUDA device but torch.cuda.is_available()"):
            torch.load(with_pickle(file, lambda data: data.replace(b"X\x03\0\0\0cpu", b"X\x06\0\0\0cuda:0")))
        assert moved != file


def with_pickle(file, change):
    """The same archive with another data.pkl."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(file)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(old.read(name)) if name.endswith("data.pkl") else old.read(name))
    out.seek(0)
    return out


class Settings:
    def __init__(self, rate):
        self.rate, self.weight = rate, torch.ones(2)


class Mine(torch.Tensor):
    pass


@pytest.mark.parametrize("weights_only", [None, True] if IS_TORCH else [None, True, False])
def test_classes_must_be_allowed(weights_only):
    file = stored({"settings": Settings(0.5)})
    with raises(Exception, "Weights only load failed", f"add_safe_globals([{__name__}.Settings])"):
        torch.load(file, weights_only=weights_only)
    file.seek(0)
    with torch.serialization.safe_globals([Settings]):
        got = torch.load(file, weights_only=weights_only)["settings"]
    assert type(got) is Settings and got.rate == 0.5 and got.weight.tolist() == [1, 1]
    assert Settings not in torch.serialization.get_safe_globals()


def test_numpys_arrays_and_numbers_when_allowed():
    obj = {"accuracy": np.float64(0.5), "losses": np.arange(3), "x": torch.ones(2)}
    with raises(Exception, "numpy._core.multiarray.scalar"):
        again(obj)
    core = np._core.multiarray
    with torch.serialization.safe_globals(
        [core.scalar, core._reconstruct, np.dtype, np.ndarray, type(np.dtype("f8")), type(np.dtype("i8"))]
    ):
        got = again(obj)
    assert got["accuracy"] == 0.5 and type(got["accuracy"]) is np.float64 and got["losses"].tolist() == [0, 1, 2]


def test_the_names_that_a_file_needs():
    unsafe = torch.serialization.get_unsafe_globals_in_checkpoint
    assert unsafe(stored({"a": torch.ones(2), "b": [1, torch.float32]})) == []
    model = [Settings(1), torch.nn.Linear(1, 1)]
    names = {f"{__name__}.Settings", "torch.nn.modules.linear.Linear"}
    assert names <= set(unsafe(stored(model)))
    with torch.serialization.safe_globals([Settings]):
        assert f"{__name__}.Settings" not in unsafe(stored(model))


def test_subclasses_of_tensor_and_whole_models():
    file = stored(torch.ones(2).as_subclass(Mine))
    with raises(Exception, "Mine"):
        torch.load(file)
    file.seek(0)
    with torch.serialization.safe_globals([Mine]):
        assert type(torch.load(file)) is Mine
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh())
    file = stored(model)
    with raises(Exception, "Sequential", "add_safe_globals"):
        torch.load(file)
    file.seek(0)
    with torch.serialization.safe_globals([torch.nn.Sequential, torch.nn.Linear, torch.nn.Tanh]):
        got = torch.load(file)
    assert torch.equal(got(torch.ones(1, 2)), model(torch.ones(1, 2))) and repr(got) == repr(model)


@pytest.mark.skipif(IS_TORCH, reason="the words are tensorgrad's")
def test_what_cannot_be_saved_or_read_says_so():
    with raises(RuntimeError, "inside vmap"):
        torch.func.vmap(lambda x: torch.save(x, io.BytesIO()))(torch.ones(2))
    with raises(RuntimeError, "view the same data as different types", "clone()"):
        x = torch.ones(4)
        torch.save([x, x.view(torch.int32)], io.BytesIO())
    with raises(NotImplementedError, "pickle_protocol=4 is not supported"):
        torch.save(1, io.BytesIO(), pickle_protocol=4)
    with raises(NotImplementedError, "_use_new_zipfile_serialization=False"):
        torch.save(1, io.BytesIO(), _use_new_zipfile_serialization=False)
    with raises(RuntimeError, "Can not safely load weights when explicit pickle_module is specified"):
        torch.load(stored(1), pickle_module=io)
    with raises(NotImplementedError, "load() does not support fix_imports"):
        torch.load(stored(1), fix_imports=False)
    sparse = with_pickle(stored(1).getvalue(), lambda _: b"\x80\x02ctorch._utils\n_rebuild_sparse_tensor\n.")
    with raises(Exception, "GLOBAL torch._utils._rebuild_sparse_tensor: tensorgrad has nothing of that name"):
        torch.load(sparse)
    file = Path(np.__file__)
    with raises(Exception, "Weights only load failed. The file begins neither like a zip archive nor like a pickle"):
        torch.load(file)
    script = io.BytesIO()
    with zipfile.ZipFile(script, "w") as archive:
        archive.writestr("m/data.pkl", b"\x80\x02K\x01.")
        archive.writestr("m/constants.pkl", b"")
    with raises(RuntimeError, "Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``"):
        torch.load(io.BytesIO(script.getvalue()))


@pytest.mark.skipif(IS_TORCH, reason="of tensorgrad's file")
def test_storages_are_aligned_and_other_byte_order_is_read():
    file = stored([torch.ones(3), torch.arange(5), torch.ones(7)]).getvalue()
    with zipfile.ZipFile(io.BytesIO(file)) as archive:
        for info in archive.infolist():
            if "/data/" in info.filename:
                lengths = np.frombuffer(file, "<u2", 2, info.header_offset + 26)
                assert (info.header_offset + 30 + lengths.sum()) % 64 == 0
    big = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(file)) as old, zipfile.ZipFile(big, "w") as new:
        for name in old.namelist():
            data = {"archive/byteorder": b"big", "archive/data/1": np.arange(5, dtype=">i8").tobytes()}.get(name)
            new.writestr(name, old.read(name) if data is None else data)
    big.seek(0)
    assert torch.load(big)[1].tolist() == [0, 1, 2, 3, 4]
