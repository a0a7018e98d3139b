"""PyTorch's `torch.backends.openmp`: threads come from NumPy's BLAS and, with the jit extra, from compiled loops.

>>> torch.backends.openmp.is_available()
False
"""


def is_available():
    """Whether OpenMP is used.

    >>> torch.backends.openmp.is_available()
    False
    """
    return False
