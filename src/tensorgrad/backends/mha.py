"""PyTorch's `torch.backends.mha`: whether attention may take its short way in evaluation; here there is one way.

>>> torch.backends.mha.get_fastpath_enabled()
True
"""

_enabled = True


def get_fastpath_enabled():
    """Whether the short way may be taken.

    >>> torch.backends.mha.get_fastpath_enabled()
    True
    """
    return _enabled


def set_fastpath_enabled(value):
    """Let the short way be taken, or not: kept, and asked back.

    >>> torch.backends.mha.set_fastpath_enabled(True)
    """
    global _enabled
    _enabled = bool(value)
