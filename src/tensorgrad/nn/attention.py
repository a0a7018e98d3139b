"""Which kernel computes `scaled_dot_product_attention`: PyTorch's `torch.nn.attention`. Here one kernel does all, so the choice
changes nothing but is kept, and what could not run at all is refused.

>>> from tensorgrad.nn.attention import SDPBackend, sdpa_kernel
>>> q = torch.ones(1, 1, 2, 2)
>>> with sdpa_kernel(SDPBackend.MATH):
...     torch.nn.functional.scaled_dot_product_attention(q, q, q).shape
tensorgrad.Size([1, 1, 2, 2])
"""

import contextlib
from collections.abc import Iterable
from enum import IntEnum

from tensorgrad.backends import cuda

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(IntEnum):
    """PyTorch's kernels for attention.

    >>> torch.nn.attention.SDPBackend.MATH
    <SDPBackend.MATH: 0>
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_ON_CPU = (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION)


@contextlib.contextmanager
def sdpa_kernel(backends, set_priority=False):
    """Within this, only these kernels may be used.

    >>> with torch.nn.attention.sdpa_kernel([torch.nn.attention.SDPBackend.FLASH_ATTENTION]):
    ...     torch.backends.cuda.math_sdp_enabled()
    False
    """
    if not isinstance(backends, (SDPBackend, Iterable)):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances")
    chosen = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not any(backend in _ON_CPU for backend in chosen):
        raise RuntimeError(
            "No viable backend for scaled_dot_product_attention was found. This is likely due to turning off both the math "
            "kernel and the fused kernels: on the CPU, name SDPBackend.MATH or SDPBackend.FLASH_ATTENTION."
        )
    with cuda.sdp_kernel(
        SDPBackend.FLASH_ATTENTION in chosen, SDPBackend.MATH in chosen, SDPBackend.EFFICIENT_ATTENTION in chosen,
        SDPBackend.CUDNN_ATTENTION in chosen,
    ):  # fmt: skip
        yield {}
