"""Every program in `examples/` runs on its own: a short training, its words, and a page with the curve."""

import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from subject import IS_TORCH

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
pytestmark = pytest.mark.skipif(IS_TORCH, reason="compared with PyTorch's curves in tests/parity/test_curves.py")


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_an_example_trains_and_draws(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    specification = importlib.util.spec_from_file_location(path.stem, path)
    example = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(example)
    example.main(steps=4)
    page = (tmp_path / f"{path.stem}.html").read_text()
    assert "<svg" in page and "http" not in page
    assert f"{path.stem}.html" in capsys.readouterr().out
    assert f"python examples/{path.name}" in example.__doc__
    assert inspect.signature(example.main).parameters["steps"].default >= 100


def test_an_example_as_a_program(tmp_path):
    path = next(path for path in EXAMPLES if path.stem == "two_moons")
    done = subprocess.run([sys.executable, path], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    accuracy = re.search(r"accuracy  ([\d.]+)%", done.stdout)
    assert accuracy and float(accuracy[1]) > 95
    assert (tmp_path / "two_moons.html").exists()


def test_there_are_eight():
    assert len(EXAMPLES) >= 8
