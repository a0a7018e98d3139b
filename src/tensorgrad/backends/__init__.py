"""Where numbers live: arrays in, arrays out; knows nothing of Tensor.

PyTorch's `torch.backends` has the same name: its settings of libraries that are not used here, `cudnn`, `cuda`, `mkl`,
`mkldnn`, `mps`, `openmp`, `mha`, `opt_einsum` and `cpu`, can be read and set, so that programs which do so run.

>>> torch.backends.cudnn.benchmark = True
>>> torch.backends.cudnn.is_available(), torch.backends.mps.is_available()
(False, False)
"""

import importlib

from tensorgrad.backends import memory

_SETTINGS = ("cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "openmp", "opt_einsum")

memory.keep_freed()


def __getattr__(name):
    if name in _SETTINGS:
        return importlib.import_module(f"tensorgrad.backends.{name}")
    raise AttributeError(f"module 'tensorgrad.backends' has no attribute '{name}'")
