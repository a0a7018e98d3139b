"""PyTorch's `torch.mps`: Apple's GPUs are not used.

>>> torch.mps.is_available(), torch.mps.device_count()
(False, 0)
"""

from tensorgrad.backends.mps import is_available

__all__ = ["device_count", "is_available", "manual_seed"]


def device_count():
    """How many of Apple's GPUs there are.

    >>> torch.mps.device_count()
    0
    """
    return 0


def manual_seed(seed):
    """Seed the GPU's generator, if there is a GPU.

    >>> torch.mps.manual_seed(0)
    """
    int(seed)
