"""PyTorch's `torch.backends.opt_einsum`: settings that are kept, of a library that is not used.

>>> torch.backends.opt_einsum.is_available()
False
"""

from tensorgrad.backends._flags import switches

enabled, strategy = False, None
set_flags, flags = switches(__name__, "enabled", "strategy")


def is_available():
    """Whether opt_einsum is used.

    >>> torch.backends.opt_einsum.is_available()
    False
    """
    return False


def get_opt_einsum():
    """The module opt_einsum: none.

    >>> print(torch.backends.opt_einsum.get_opt_einsum())
    None
    """
    return None
