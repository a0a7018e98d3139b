"""Settings for every test: doctests see `torch` and `tensorgrad`; comparisons with PyTorch need PyTorch."""

import importlib.util

import pytest

collect_ignore = [] if importlib.util.find_spec("torch") else ["tests/parity"]


@pytest.fixture(scope="session", autouse=True)
def doctest_names(doctest_namespace):
    """In a docstring's example both names mean tensorgrad."""
    import tensorgrad

    doctest_namespace["torch"] = doctest_namespace["tensorgrad"] = tensorgrad
