"""Comparing results and making inputs in tests, under PyTorch's names.

>>> torch.testing.assert_close(torch.tensor([1.]), torch.tensor([1.0000001]))
"""

from tensorgrad.testing._comparison import assert_allclose, assert_close
from tensorgrad.testing._creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
