"""PyTorch's `torch.xpu`: Intel's GPUs are not used.

>>> torch.xpu.is_available(), torch.xpu.device_count()
(False, 0)
"""


def is_available():
    """Whether there is a GPU of Intel's to compute on.

    >>> torch.xpu.is_available()
    False
    """
    return False


def device_count():
    """How many of Intel's GPUs there are.

    >>> torch.xpu.device_count()
    0
    """
    return 0


def manual_seed(seed):
    """Seed the GPU's generator, if there is a GPU.

    >>> torch.xpu.manual_seed(0)
    """
    int(seed)


manual_seed_all = manual_seed
