"""PyTorch's `torch.backends.cudnn`: settings that are kept, of a library that is not used.

>>> torch.backends.cudnn.deterministic = True
>>> with torch.backends.cudnn.flags(benchmark=True):
...     torch.backends.cudnn.benchmark
True
"""

from tensorgrad.backends._flags import switches

enabled, benchmark, benchmark_limit, deterministic, allow_tf32, fp32_precision = True, False, None, False, True, "none"
set_flags, flags = switches(__name__, "enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32",
                            "fp32_precision")  # fmt: skip


def is_available():
    """Whether cuDNN can be used.

    >>> torch.backends.cudnn.is_available()
    False
    """
    return False


def version():
    """The version of cuDNN: none.

    >>> print(torch.backends.cudnn.version())
    None
    """
    return None


def is_acceptable(tensor):
    """Whether cuDNN could work on a tensor.

    >>> torch.backends.cudnn.is_acceptable(torch.ones(1))
    False
    """
    return False
