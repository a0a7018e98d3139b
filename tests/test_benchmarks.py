"""The benchmarks' operations run, and differentiate, before anyone waits for their times."""

import sys
from pathlib import Path

import pytest

import tensorgrad as torch

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import operations


@pytest.mark.parametrize("name", operations.names()[:-1])
def test_every_case_has_a_gradient_for_all_that_it_is_made_of(name, monkeypatch):
    made = []
    monkeypatch.setattr(operations, "Inputs", lambda *args: made.append(original(*args)) or made[-1])
    forward, both = operations.prepared(torch, name, 8)
    assert forward().requires_grad
    both()
    leaves = made[0].leaves
    assert leaves and all(leaf.grad is None for leaf in leaves)
    forward().sum().backward()
    assert all(leaf.grad is not None and leaf.grad.shape == leaf.shape for leaf in leaves)


original = operations.Inputs


def test_times_and_peaks_are_measured():
    forward, both = operations.prepared(torch, "softmax", 256)
    assert 0 < operations.fastest(forward, 0.001) < 1
    assert 0.2 < operations.peak(forward, "tensorgrad") < 2
    assert operations.peak(both, "tensorgrad") > operations.peak(forward, "tensorgrad")
