"""PyTorch's `torch.accelerator`: there is none.

>>> device = torch.accelerator.current_accelerator() or torch.device("cpu")
>>> device
device(type='cpu')
"""

__all__ = ["current_accelerator", "current_device_index", "device_count", "empty_cache", "is_available",
           "set_device_index", "synchronize"]  # fmt: skip
_ABSENT = "Cannot access accelerator device when none is available."


def is_available():
    """Whether there is a device beside the CPU.

    >>> torch.accelerator.is_available()
    False
    """
    return False


def current_accelerator(check_available=False):
    """The device beside the CPU, or None.

    >>> print(torch.accelerator.current_accelerator())
    None
    """
    return None


def device_count():
    """How many such devices there are.

    >>> torch.accelerator.device_count()
    0
    """
    return 0


def _absent(name):
    def function(*args, **kwargs):
        raise RuntimeError(_ABSENT)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""torch.accelerator.{name} needs a device beside the CPU.

    >>> torch.accelerator.{name}()
    Traceback (most recent call last):
    RuntimeError: {_ABSENT}
    """
    return function


current_device_index, set_device_index = _absent("current_device_index"), _absent("set_device_index")
empty_cache, synchronize = _absent("empty_cache"), _absent("synchronize")
