"""Checkpoints: PyTorch reads what tensorgrad wrote, and the other way round. safetensors files likewise."""

import collections
import io
import os
import random

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import tensorgrad  # noqa: E402
from tensorgrad.interop import safetensors as ours  # noqa: E402

BOTH = [pytest.param(torch, tensorgrad, id="read here"), pytest.param(tensorgrad, torch, id="read by PyTorch")]
DTYPES = ["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "bfloat16",
          "float32", "float64", "complex64", "complex128"]  # fmt: skip


def carried(obj, writer, reader, **options):
    file = io.BytesIO()
    writer.save(obj, file)
    file.seek(0)
    return reader.load(file, weights_only=True, **options)


def plain(value):
    """Anything out of either library, as plain data that can be compared."""
    if isinstance(value, (torch.Tensor, tensorgrad.Tensor)):
        numbers = value.detach().tolist()
        return "tensor", str(value.dtype).split(".")[-1], tuple(value.shape), value.stride(), value.storage_offset(), (
            value.requires_grad, isinstance(value, (torch.nn.Parameter, tensorgrad.nn.Parameter)), repr(numbers))  # fmt: skip
    if isinstance(value, dict):
        return type(value), [(plain(k), plain(v)) for k, v in value.items()], plain(getattr(value, "__dict__", None))
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(v) for v in value]
    if isinstance(value, (torch.dtype, tensorgrad.dtype, torch.device, tensorgrad.device)):
        return str(value).split(".")[-1]
    return value


@pytest.mark.parametrize(("writer", "reader"), BOTH)
class TestEitherWay:
    @pytest.mark.parametrize("name", DTYPES)
    def test_dtypes(self, writer, reader, name):
        obj = [writer.tensor([[0, 1, 1], [1, 0, 1]]).to(getattr(writer, name)), writer.ones((), dtype=getattr(writer, name)),
               writer.empty((0, 3), dtype=getattr(writer, name))]  # fmt: skip
        assert plain(carried(obj, writer, reader)) == plain(obj)

    def test_shared_memory_and_strides(self, writer, reader):
        x = writer.arange(24.0).reshape(2, 3, 4)
        obj = {"x": x, "t": x.permute(2, 0, 1), "row": x[1, 2], "wide": x[:1].expand(5, 3, 4), "odd": x[:, ::2, 1::2],
               "one": x[1, 0, 3], "again": x, "apart": x.clone(), "channels": writer.ones(2, 3, 4, 5).contiguous(
                   memory_format=writer.channels_last)}  # fmt: skip
        got = carried(obj, writer, reader)
        assert plain(got) == plain(obj) and got["x"] is got["again"]
        got["x"].zero_()
        assert not any(got[name].any() for name in ("t", "row", "wide", "odd", "one")) and got["apart"].any()

    def test_structures(self, writer, reader):
        obj = {
            "numbers": [1, -1, 255, 256, -(2**31), 2**40, 2**80, -(2**80), 1.5, float("inf"), -0.0, True, None, 1 + 2j],
            "text": ["", "ünïcode 😀", "x" * 300, b"bytes", b"\xff" * 300, bytearray(b"ab")],
            "keys": {1: 2, ("a", 1): {}, None: (), 2.5: ((),)},
            "ordered": collections.OrderedDict(b=1, a=collections.OrderedDict()),
            "counter": collections.Counter("aab"),
            "set": {1, "a"},
            "others": [writer.float16, writer.bool, writer.device("cpu"), writer.Size([2, 3])],
        }
        assert plain(carried(obj, writer, reader)) == plain(obj)

    def test_parameters_gradients_attributes_lazy_bits(self, writer, reader):
        z = writer.tensor([1 + 2j, 3 - 1j])
        marked = writer.ones(2)
        marked.note = [1, "a"]
        obj = [writer.nn.Parameter(writer.ones(2)), writer.nn.Parameter(writer.ones(2), requires_grad=False),
               writer.ones(2, requires_grad=True), writer.ones(2, requires_grad=True) * 2, marked]  # fmt: skip
        got = carried(obj, writer, reader)
        assert plain(got) == plain(obj) and got[4].note == [1, "a"]
        got = [carried(t, writer, reader) for t in (z.conj(), z.conj().imag, z.imag, writer.nn.Buffer(writer.zeros(1)))]
        assert [t.tolist() for t in got] == [[1 - 2j, 3 + 1j], [-2, 1], [2, -1], [0]]

    def test_models(self, writer, reader):
        def model(library):
            nn = library.nn
            return nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3))

        writer.manual_seed(0)
        one, other = model(writer), model(reader)
        one(writer.randn(5, 1, 4, 4))
        state = carried(one.state_dict(), writer, reader)
        assert plain(state) == plain(one.state_dict())
        assert str(other.load_state_dict(state)) == "<All keys matched successfully>"
        x = np.random.default_rng(0).normal(size=(2, 1, 4, 4)).astype(np.float32)
        one.eval(), other.eval()
        a, b = one(writer.from_numpy(x)), other(reader.from_numpy(x))
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-6)

    @pytest.mark.parametrize(("name", "options"), [
        ("SGD", {"momentum": 0.9, "nesterov": True}), ("Adam", {"amsgrad": True}), ("AdamW", {}), ("Adagrad", {}),
        ("Adadelta", {}), ("Adamax", {}), ("NAdam", {}), ("RAdam", {}), ("RMSprop", {"centered": True, "momentum": 0.5}),
        ("Rprop", {}), ("ASGD", {}), ("LBFGS", {"history_size": 3, "lr": 0.1}), ("Adafactor", {})])  # fmt: skip
    def test_optimizers_go_on_in_the_other_library(self, writer, reader, name, options):
        """Three steps in one library, a checkpoint, three in the other: as six in one."""

        def fresh(library):
            weights = [
                library.tensor([[0.3, -0.7], [0.5, 0.2]], requires_grad=True),
                library.ones(2, requires_grad=True),
            ]
            groups = weights if name == "LBFGS" else [{"params": weights[:1], "lr": 0.05}, {"params": weights[1:]}]
            return weights, getattr(library.optim, name)(groups, **options)

        def steps(library, weights, optimizer, first, last):
            for step in range(first, last):

                def closure(step=step):
                    optimizer.zero_grad()
                    x = library.tensor([[0.1 * step, 1.0], [0.5, -0.2]])
                    loss = ((x @ weights[0] + weights[1]).tanh() - 0.3).pow(2).sum()
                    loss.backward()
                    return loss

                optimizer.step(closure)
            return [w.tolist() for w in weights]

        weights, optimizer = fresh(writer)
        steps(writer, weights, optimizer, 0, 3)
        state = carried({"weights": weights, "optimizer": optimizer.state_dict()}, writer, reader)
        got, continued = fresh(reader)
        with reader.no_grad():
            for mine, theirs in zip(got, state["weights"]):
                mine.copy_(theirs)
        continued.load_state_dict(state["optimizer"])
        expected = steps(writer, weights, optimizer, 3, 6)
        for mine, theirs in zip(steps(reader, got, continued, 3, 6), expected):
            np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)

    def test_whole_modules_of_allowed_classes(self, writer, reader):
        kinds = ("Sequential", "Linear", "BatchNorm1d", "Tanh")
        model = writer.nn.Sequential(writer.nn.Linear(2, 3), writer.nn.BatchNorm1d(3), writer.nn.Tanh())
        model(writer.randn(4, 2))
        with reader.serialization.safe_globals([getattr(reader.nn, kind) for kind in kinds]):
            got = carried(model.eval(), writer, reader)
        x = np.ones((2, 2), np.float32)
        assert repr(got) == repr(model)
        np.testing.assert_allclose(got(reader.from_numpy(x)).tolist(), model(writer.from_numpy(x)).tolist(), rtol=1e-6)

    def test_files_and_mapped_files(self, writer, reader, tmp_path):
        path = tmp_path / "model.pt"
        obj = {
            "a": writer.arange(100.0),
            "b": writer.ones(3, dtype=writer.int8),
            "c": writer.ones(2, dtype=writer.uint16),
        }
        writer.save(obj, path)
        for options in ({}, {"mmap": True}, {"map_location": "cpu"}, {"map_location": lambda storage, _: storage}):
            assert plain(reader.load(path, weights_only=True, **options)) == plain(obj)

    def test_random_generator_states(self, writer, reader):
        writer.manual_seed(3)
        writer.rand(5)
        reader.set_rng_state(carried(writer.get_rng_state(), writer, reader))
        assert reader.rand(3).tolist() == writer.rand(3).tolist()


def old_format(obj):
    file = io.BytesIO()
    torch.save(obj, file, _use_new_zipfile_serialization=False)
    return file.getvalue()


def test_the_format_before_1_6_is_read():
    x = torch.arange(12.0).reshape(3, 4)
    obj = {"x": x, "t": x.t(), "p": torch.nn.Parameter(torch.ones(2, dtype=torch.bfloat16)), "z": torch.ones(2).to(
        torch.complex64), "n": [1, "a", {"b": None}], "i": torch.tensor([-1, 2]), "e": torch.empty(0)}  # fmt: skip
    data = old_format(obj)
    got = tensorgrad.load(io.BytesIO(data))
    assert plain(got) == plain(obj)
    got["x"].zero_()
    assert not got["t"].any()
    assert plain(tensorgrad.load(io.BytesIO(old_format(torch.nn.Linear(2, 2).state_dict()))))
    expected = plain(obj)
    for length in range(1, len(data)):
        with pytest.raises((tensorgrad.interop.checkpoints.UnpicklingError, RuntimeError)):
            tensorgrad.load(io.BytesIO(data[:length]))
    draw = random.Random(0)
    for _ in range(1000):
        place = draw.randrange(len(data))
        changed = data[:place] + bytes([data[place] ^ (1 << draw.randrange(8))]) + data[place + 1 :]
        try:
            tensorgrad.load(io.BytesIO(changed))
        except (tensorgrad.interop.checkpoints.UnpicklingError, RuntimeError) as error:
            assert str(error)
    assert plain(tensorgrad.load(io.BytesIO(data))) == expected


def test_the_old_format_cannot_be_mapped(tmp_path):
    path = tmp_path / "old.pt"
    path.write_bytes(old_format(torch.ones(2)))
    for library in (torch, tensorgrad):
        with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
            library.load(path, mmap=True)


def test_what_pytorch_has_and_tensorgrad_lacks_is_named():
    for value, name in ((torch.ones(2).to_sparse(), "_rebuild_sparse_tensor"), (torch.ones(2, device="meta"), "meta_tensor"),
                        (torch.ones(2).to(torch.float8_e4m3fn), "float8_e4m3fn")):  # fmt: skip
        with pytest.raises(Exception, match=f"Weights only load failed.*{name}.*tensorgrad has nothing of that name"):
            carried(value, torch, tensorgrad)


def both_dicts():
    def made(library):
        tensors = {name: library.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(library, name)) for name in DTYPES[:-1]}
        return {**tensors, "empty": library.ones(0, 2), "number": library.tensor(3.5), "é": library.ones(1)}

    return made(torch), made(tensorgrad)


def test_safetensors(tmp_path):
    theirs = pytest.importorskip("safetensors.torch")
    from safetensors import safe_open

    a, b = both_dicts()
    for metadata in (None, {"ü": "x"}):
        assert theirs.save(a, metadata) == ours.save(b, metadata)
    theirs.save_file(a, tmp_path / "a", {"k": "v"})
    ours.save_file(b, tmp_path / "b", {"k": "v"})
    assert plain(ours.load_file(tmp_path / "a")) == plain(theirs.load_file(tmp_path / "b"))
    assert os.path.getsize(tmp_path / "a") == os.path.getsize(tmp_path / "b")
    with safe_open(tmp_path / "a", "pt") as one, ours.safe_open(tmp_path / "b", "pt") as other:
        assert sorted(one.keys()) == other.keys() and one.metadata() == other.metadata()
        assert one.offset_keys() == other.offset_keys()
        for name in one.keys():  # noqa: SIM118
            assert one.get_slice(name).get_shape() == other.get_slice(name).get_shape()
            assert one.get_slice(name).get_dtype() == other.get_slice(name).get_dtype()
        assert one.get_slice("float32")[:, 1:].tolist() == other.get_slice("float32")[:, 1:].tolist()


def test_safetensors_that_are_damaged_are_refused_by_both():
    theirs = pytest.importorskip("safetensors.torch")
    data, draw = theirs.save(both_dicts()[0]), random.Random(0)
    header = 8 + int.from_bytes(data[:8], "little")
    for _ in range(2000):
        changed = bytearray(data)
        changed[draw.randrange(header)] ^= 1 << draw.randrange(8)
        try:
            expected = plain(theirs.load(bytes(changed)))
        except Exception:
            with pytest.raises(ours.SafetensorError):
                ours.load(bytes(changed))
        else:
            got = plain(ours.load(bytes(changed)))
            assert sorted(got[1]) == sorted(expected[1])
