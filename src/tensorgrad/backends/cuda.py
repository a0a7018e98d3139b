"""PyTorch's `torch.backends.cuda`: settings for GPUs, which are kept.

>>> torch.backends.cuda.matmul.allow_tf32 = True
>>> torch.backends.cuda.is_built()
False
"""

import contextlib


class _Matmul:
    """Settings of matrix products on GPUs."""

    __slots__ = ("allow_bf16_reduced_precision_reduction", "allow_fp16_accumulation",
                 "allow_fp16_reduced_precision_reduction", "allow_tf32", "fp32_precision")  # fmt: skip

    def __init__(self):
        self.allow_fp16_reduced_precision_reduction = self.allow_bf16_reduced_precision_reduction = True
        self.allow_tf32 = self.allow_fp16_accumulation = False
        self.fp32_precision = "none"


matmul = _Matmul()
_kernels = {"cudnn": True, "flash": True, "math": True, "mem_efficient": True}


def is_built():
    """Whether there is code for GPUs.

    >>> torch.backends.cuda.is_built()
    False
    """
    return False


def _asking(kernel):
    def enabled():
        return _kernels[kernel]

    enabled.__name__ = enabled.__qualname__ = f"{kernel}_sdp_enabled"
    enabled.__doc__ = f"""Whether attention may use the kernel "{kernel}": kept, but there is one kernel for all.

    >>> torch.backends.cuda.{kernel}_sdp_enabled()
    True
    """
    return enabled


def _setting(kernel):
    def enable(enabled):
        _kernels[kernel] = bool(enabled)

    enable.__name__ = enable.__qualname__ = f"enable_{kernel}_sdp"
    enable.__doc__ = f"""Let attention use the kernel "{kernel}", or not: kept, but there is one kernel for all.

    >>> torch.backends.cuda.enable_{kernel}_sdp(True)
    """
    return enable


cudnn_sdp_enabled, enable_cudnn_sdp = _asking("cudnn"), _setting("cudnn")
flash_sdp_enabled, enable_flash_sdp = _asking("flash"), _setting("flash")
math_sdp_enabled, enable_math_sdp = _asking("math"), _setting("math")
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = _asking("mem_efficient"), _setting("mem_efficient")


@contextlib.contextmanager
def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """Choose attention kernels for a while: kept, but there is one kernel for all.

    >>> with torch.backends.cuda.sdp_kernel(enable_flash=False):
    ...     torch.backends.cuda.flash_sdp_enabled()
    False
    """
    before = dict(_kernels)
    _kernels.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield {}
    finally:
        _kernels.update(before)


def is_flash_attention_available():
    """Whether there is FlashAttention for a GPU.

    >>> torch.backends.cuda.is_flash_attention_available()
    False
    """
    return False
