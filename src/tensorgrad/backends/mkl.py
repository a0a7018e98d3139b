"""PyTorch's `torch.backends.mkl`: products of matrices come from NumPy's BLAS, whichever that is.

>>> torch.backends.mkl.is_available()
False
"""

VERBOSE_OFF, VERBOSE_ON = 0, 1


def is_available():
    """Whether MKL is used by name.

    >>> torch.backends.mkl.is_available()
    False
    """
    return False


class verbose:
    """Let MKL tell what it does: without MKL nothing is told.

    >>> with torch.backends.mkl.verbose(torch.backends.mkl.VERBOSE_ON):
    ...     pass
    """

    def __init__(self, enable):
        self.enable = enable

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False
