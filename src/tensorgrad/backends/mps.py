"""PyTorch's `torch.backends.mps`: Apple's GPUs are not used.

>>> torch.backends.mps.is_available(), torch.backends.mps.is_built()
(False, False)
"""


def is_available():
    """Whether Apple's GPU can be used.

    >>> torch.backends.mps.is_available()
    False
    """
    return False


def is_built():
    """Whether there is code for Apple's GPU.

    >>> torch.backends.mps.is_built()
    False
    """
    return False
