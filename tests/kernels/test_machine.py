"""The cache of machine code on disk, several processes, forks, and what is shown of kernels."""

import os
import subprocess
import sys

import numpy as np
import pytest

import tensorgrad as torch
from tensorgrad.kernels import machine

pytest.importorskip("llvmlite")

PROGRAM = """
import tensorgrad as torch
f = torch.compile(lambda x: torch.tanh(x) * 3 + x.sum())
print(round(f(torch.ones(100)).sum().item(), 3))
"""


def run(folder, code=PROGRAM, **environment):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env={**os.environ, "TENSORGRAD_CACHE": str(folder), **environment})  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def files(folder):
    return sorted(p.name for p in folder.iterdir())


def test_kernels_are_kept_and_found_again(tmp_path):
    first = run(tmp_path)
    kept = files(tmp_path)
    assert kept and all(name.endswith(".o") for name in kept)
    stamps = [(tmp_path / name).stat().st_mtime_ns for name in kept]
    assert run(tmp_path) == first and files(tmp_path) == kept
    assert [(tmp_path / name).stat().st_mtime_ns for name in kept] == stamps


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "other"])
def test_damaged_files_are_made_again(tmp_path, damage):
    first = run(tmp_path)
    (name,) = files(tmp_path)
    file = tmp_path / name
    good = file.read_bytes()
    bad = bytearray(good)
    bad[len(bad) // 2] ^= 0xFF
    file.write_bytes({"cut": good[: len(good) // 2], "changed": bytes(bad), "empty": b"", "other": b"x" * 5000}[damage])
    assert run(tmp_path) == first
    assert file.read_bytes() == good


def test_what_names_a_file(monkeypatch):
    from tensorgrad.kernels import machine

    engine = machine.engine()
    name = machine.content("text", engine)
    assert name == machine.content("text", engine) != machine.content("other", engine)

    class Other:
        cpu, features, binding = "another", engine.features, engine.binding

    assert machine.content("text", Other) != name
    monkeypatch.setattr("tensorgrad.__version__", "0.0.0")
    assert machine.content("text", engine) != name


def test_folders_that_cannot_be_written(tmp_path):
    first = run(tmp_path / "here")
    (tmp_path / "file").write_text("not a folder")
    assert run(tmp_path / "file") == first
    assert run("/proc/nothing") == first


def test_many_processes_fill_the_cache_at_once(tmp_path):
    environment = {**os.environ, "TENSORGRAD_CACHE": str(tmp_path)}
    workers = [
        subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(4)
    ]
    results = {worker.communicate()[0].strip() for worker in workers}
    assert len(results) == 1 and all(worker.returncode == 0 for worker in workers)
    assert len(files(tmp_path)) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_after_a_fork(tmp_path):
    code = """
import os
import tensorgrad as torch
f = torch.compile(lambda x: torch.tanh(x @ x) * 3 + x.sum())
x = torch.ones(300, 300)
before = f(x).sum().item()
child = os.fork()
if child == 0:
    same = f(x).sum().item() == before
    new = torch.compile(lambda x: torch.exp(x) + 1)(torch.zeros(500000)).sum().item() == 1000000
    os._exit(0 if same and new else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run(tmp_path, code) == "0"


def test_large_loops_on_several_threads(torch):
    """The rows of a nest are shared among threads; a sum over them is not."""
    x, y = torch.randn(700, 1100), torch.randn(1100)

    def f(x, y):
        z = torch.exp(-x * x) * y
        return z, z.sum(0), z.sum(1), z.amax()

    for found, expected in zip(torch.compile(f)(x, y), f(x, y)):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=2e-5, atol=2e-5)


def test_show(torch, capsys):
    torch.kernels.show(lambda x: torch.exp(x) * 2, torch.ones(3), what="llvm")
    torch.kernels.show(lambda x: torch.exp(x) * 2, torch.ones(3), what="assembly")
    shown = capsys.readouterr().out
    assert "define" in shown and "fmul" in shown and "ret" in shown
    with pytest.raises(ValueError, match="'python', 'llvm' or 'assembly'"):
        torch.kernels.show(lambda x: x, torch.ones(3), what="c")


def test_loops_share_as_many_threads_as_were_asked_for():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        assert machine.threads() == 1
        x = torch.randn(1_000_000)
        assert torch.allclose(torch.nn.functional.gelu(x)[:5], torch.nn.functional.gelu(x[:5]))
        torch.set_num_threads(1000)
        assert machine.threads() == machine.most_threads()
    finally:
        torch.set_num_threads(before)
