"""What passed of PyTorch's list of modules still passes: weights, outputs, gradients, text, state and errors.

`passing_modules.json` holds what passed when `python -m tests.parity.modules --write` was last run; it may only grow.
"""

import warnings

import pytest

from . import modules
from .subjects import Side

RECORD = modules.recorded()
RESULTS = {}


@pytest.fixture(scope="module", autouse=True)
def told(request):
    """Prints the totals at the end (shown with -s)."""
    yield
    print("\n" + modules.summary(RESULTS))


@pytest.mark.parametrize("name", sorted(RECORD))
def test_what_passed_still_passes(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        failures, counts = modules.judge(name, Side("tensorgrad"))
    RESULTS[name] = modules.passed(failures, counts)
    lost = [check for check in RECORD[name] if check not in RESULTS[name]]
    told = [f"{check}: {text}\n    {type(error).__name__}: {error}" for check, text, error in failures if check in lost]
    assert not lost, "\n".join([f"passed before, and no more: {', '.join(lost)}", *told[:5]])


def test_every_module_of_pytorch_is_recorded():
    assert sorted(RECORD) == sorted(modules.MODULES)
