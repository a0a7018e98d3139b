"""PyTorch's `torch.backends.cpu`: what the processor can do.

>>> torch.backends.cpu.get_cpu_capability() in ("AVX512", "AVX2", "DEFAULT")
True
"""


def get_cpu_capability():
    """The widest vectors of the processor, in PyTorch's words.

    >>> torch.backends.cpu.get_cpu_capability() in ("AVX512", "AVX2", "DEFAULT")
    True
    """
    from numpy._core._multiarray_umath import __cpu_features__ as features

    if features.get("AVX512F") and features.get("AVX512BW"):
        return "AVX512"
    return "AVX2" if features.get("AVX2") else "DEFAULT"
