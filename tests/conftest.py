"""Shared by all tests: the module under test, and a clean state after each test."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import subject


@pytest.fixture(name="torch")
def subject_module():
    """The module under test: tensorgrad, or PyTorch when TENSORGRAD_SUBJECT=torch."""
    return subject.torch


@pytest.fixture(autouse=True)
def clean_state():
    """Each test starts from the same seed and leaves the modes as it found them."""
    module = subject.torch
    module.manual_seed(0)
    default = module.get_default_dtype()
    yield
    assert module.is_grad_enabled(), "a test left gradients switched off"
    assert module.get_default_dtype() == default, "a test left another default dtype"
