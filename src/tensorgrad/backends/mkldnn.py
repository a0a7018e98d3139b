"""PyTorch's `torch.backends.mkldnn`: settings that are kept, of a library that is not used.

>>> torch.backends.mkldnn.is_available()
False
"""

from tensorgrad.backends._flags import switches
from tensorgrad.backends.mkl import verbose

__all__ = ["flags", "is_available", "set_flags", "verbose"]

VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2
enabled, deterministic, allow_tf32, fp32_precision = True, False, True, "none"
set_flags, flags = switches(__name__, "enabled", "deterministic", "allow_tf32", "fp32_precision")


def is_available():
    """Whether oneDNN can be used.

    >>> torch.backends.mkldnn.is_available()
    False
    """
    return False
