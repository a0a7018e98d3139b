"""A process that is killed while it saves leaves the old file or the new one, whole."""

import os
import random
import signal
import time

import numpy as np
import pytest
from subject import IS_TORCH, torch

from tensorgrad.interop import npz, safetensors

pytestmark = [
    pytest.mark.skipif(IS_TORCH or not hasattr(os, "fork"), reason="PyTorch writes over the old file"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]
SIZE = 50_000
FORMATS = {
    "pt": (lambda number, path: torch.save(state(number), path), torch.load),
    "safetensors": (lambda number, path: safetensors.save_file(state(number), path), safetensors.load_file),
    "npz": (lambda number, path: npz.save_file(state(number), path), npz.load_file),
}


def state(number):
    return {"a": torch.full((SIZE,), float(number)), "b": torch.full((SIZE,), float(-number))}


def whole(path, load):
    """The number of the state in a file, which must be complete."""
    got = load(path)
    number = got["a"][0].item()
    assert np.all(got["a"].numpy() == number) and np.all(got["b"].numpy() == -number)
    assert len(got["a"]) == len(got["b"]) == SIZE
    return number


def save_without_end(path, save, start):
    """A process that saves one state after the other."""
    pid = os.fork()
    if pid == 0:
        try:
            for number in range(start, start + 10**6):
                save(number, path)
        finally:
            os._exit(1)
    return pid


@pytest.mark.parametrize(("format", "kills"), [("pt", 200), ("safetensors", 40), ("npz", 40)])
def test_killed_while_saving(tmp_path, format, kills):
    save, load = FORMATS[format]
    path, draw, seen, partial = tmp_path / f"state.{format}", random.Random(0), set(), 0
    start = time.perf_counter()
    save(0, path)
    longest = min(0.004 + 4 * (time.perf_counter() - start), 0.05)
    for round in range(kills):
        pid = save_without_end(path, save, start=round * 1000)
        time.sleep(draw.uniform(0.001, longest))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        seen.add(whole(path, load))
        partial += len(os.listdir(tmp_path)) > 1
        assert len(os.listdir(tmp_path)) <= 2  # what the one before left is gone
    assert len(seen) > 3 and partial  # some saves went through, and others were cut short
    save(-1, path)
    assert whole(path, load) == -1 and os.listdir(tmp_path) == [path.name]


def test_a_partial_file_of_a_living_process_stays(tmp_path):
    path = tmp_path / "a.pt"
    mine, gone = tmp_path / f".a.pt.{os.getpid()}-00.partial", tmp_path / ".a.pt.4194303-00.partial"
    other = tmp_path / ".b.pt.4194303-00.partial"
    for file in (mine, gone, other):
        file.touch()
    torch.save(1, path)
    assert {file.name for file in tmp_path.iterdir()} == {path.name, mine.name, other.name}


def test_an_interrupted_save_leaves_nothing(tmp_path, monkeypatch):
    path = tmp_path / "a.pt"
    torch.save("old", path)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        torch.save("new", path)
    assert torch.load(path) == "old" and os.listdir(tmp_path) == ["a.pt"]


def test_writing_into_a_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    pid = os.fork()
    if pid == 0:
        try:
            torch.save(torch.ones(3), path)
        finally:
            os._exit(0)
    data = path.read_bytes()
    os.waitpid(pid, 0)
    (tmp_path / "copy").write_bytes(data)
    assert torch.load(tmp_path / "copy").tolist() == [1, 1, 1] and path.is_fifo()
