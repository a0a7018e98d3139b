"""What the tests talk to: `torch` here is tensorgrad.

TENSORGRAD_SUBJECT=torch runs the same tests against PyTorch itself, which is how every expectation in them is checked.
"""

import contextlib
import importlib
import os
import re

import pytest

torch = importlib.import_module(os.environ.get("TENSORGRAD_SUBJECT", "tensorgrad"))

IS_TORCH = torch.__name__ == "torch"


def spoken(value):
    """The text of a value or an error as PyTorch would write it: dtypes and types under PyTorch's name."""
    return re.sub(r"\btensorgrad\.", "torch.", str(value))


@contextlib.contextmanager
def raises(kind, *words):
    """Expect an error of exactly this kind of PyTorch's, whose message holds every one of these pieces."""
    with pytest.raises(kind) as caught:
        yield caught
    message = spoken(caught.value)
    for piece in words:
        assert piece in message, f"expected {piece!r} in {message!r}"


def needs(*names):
    """Skip a test until these operations, which the table gains later, are functions or methods of the library."""
    missing = [name for name in names if not (hasattr(torch, name) or hasattr(torch.Tensor, name))]
    return pytest.mark.skipif(bool(missing), reason=f"not there yet: {', '.join(missing)}")


def close(value, expected, tolerance=1e-6):
    """True when a tensor has the numbers of a nested list, and its shape."""
    return (
        torch.allclose(value, torch.tensor(expected, dtype=value.dtype), rtol=tolerance, atol=tolerance)
        and value.shape == torch.tensor(expected).shape
    )
