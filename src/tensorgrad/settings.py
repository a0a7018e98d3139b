"""Settings of the whole process that PyTorch has under `torch`: threads, precision, determinism, the default device.

What has nothing to set here (numbers are always computed in full precision, every run gives the same bits) is remembered and
told again, so that a program that sets it runs on.
"""

import ctypes
import functools
import os
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np

from tensorgrad import dtypes

chosen = {"threads": None, "interop": None, "precision": "highest", "deterministic": False, "warn_only": False,
          "warn_always": False}  # fmt: skip


@functools.cache
def cores():
    """How many cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _usable():
    """Threads where none are chosen: what OMP_NUM_THREADS says, as in PyTorch, else the cores."""
    said = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(said) if said.isdecimal() and int(said) else cores()


def openblas(function):
    """A function of OpenBLAS, as NumPy's wheels ship it, to call through ctypes; None for another BLAS."""
    for folder in (Path(np.__file__).parent.parent / "numpy.libs", Path(np.__file__).parent / ".dylibs"):
        for file in folder.glob("libscipy_openblas*"):
            with suppress(OSError):
                library = ctypes.CDLL(str(file))
                for name in (f"scipy_openblas_{function}64_", f"scipy_openblas_{function}"):
                    if hasattr(library, name):
                        return getattr(library, name)
    return None


def get_num_threads() -> int:
    """How many threads an operation may use.

    >>> torch.get_num_threads() >= 1
    True
    """
    return chosen["threads"] or _usable()


def set_num_threads(num: int) -> None:
    """Let an operation use so many threads: in BLAS and in compiled loops.

    >>> before = torch.get_num_threads(); torch.set_num_threads(1); torch.get_num_threads()
    1
    >>> torch.set_num_threads(before)
    """
    if isinstance(num, bool) or not isinstance(num, int):
        raise TypeError(f"set_num_threads expects an int, but got {type(num).__name__}")
    if num < 1:
        raise RuntimeError("set_num_threads expects a positive integer")
    chosen["threads"] = num
    setter = openblas("set_num_threads")
    if setter is None:
        warnings.warn(
            "set_num_threads: NumPy's BLAS is not OpenBLAS, so its threads stay as they are; set them in the environment "
            "(MKL_NUM_THREADS, VECLIB_MAXIMUM_THREADS) before the program starts.",
            stacklevel=2,
        )
    else:
        setter(min(num, cores()))


def get_num_interop_threads() -> int:
    """How many operations may run side by side: what was set, else the number of cores. Here each thread runs its own.

    >>> torch.get_num_interop_threads() >= 1
    True
    """
    return chosen["interop"] or cores()


def set_num_interop_threads(num: int) -> None:
    """Remember how many operations may run side by side.

    >>> torch.set_num_interop_threads(torch.get_num_interop_threads())
    """
    if isinstance(num, bool) or not isinstance(num, int):
        raise TypeError(f"set_num_interop_threads expects an int, but got {type(num).__name__}")
    if num < 1:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    chosen["interop"] = num


def get_float32_matmul_precision() -> str:
    """The precision that was asked for products of float32: "highest", "high" or "medium".

    >>> torch.get_float32_matmul_precision()
    'highest'
    """
    return chosen["precision"]


def set_float32_matmul_precision(precision: str) -> None:
    """Allow less precise products of float32. On the CPU they are always computed in float32.

    >>> torch.set_float32_matmul_precision("highest")
    """
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current setting is unchanged."
        )
    chosen["precision"] = precision


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for algorithms that give the same bits at every run: all here do.

    >>> torch.use_deterministic_algorithms(True); torch.are_deterministic_algorithms_enabled()
    True
    >>> torch.use_deterministic_algorithms(False)
    """
    chosen["deterministic"], chosen["warn_only"] = bool(mode), bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """Whether deterministic algorithms were asked for.

    >>> torch.are_deterministic_algorithms_enabled()
    False
    """
    return chosen["deterministic"]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether they were asked for with a warning instead of an error.

    >>> torch.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return chosen["warn_only"]


def set_deterministic_debug_mode(debug_mode) -> None:
    """The same as `use_deterministic_algorithms`, by a level: "default" (0), "warn" (1), "error" (2).

    >>> torch.set_deterministic_debug_mode("default"); torch.get_deterministic_debug_mode()
    0
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    levels = {"default": 0, "warn": 1, "error": 2}
    level = levels.get(debug_mode) if isinstance(debug_mode, str) else debug_mode
    if level not in (0, 1, 2):
        raise RuntimeError(
            f"invalid value of debug_mode, expected one of 0 (`default`), 1 (`warn`), 2 (`error`), but got {debug_mode}"
        )
    use_deterministic_algorithms(level > 0, warn_only=level == 1)


def get_deterministic_debug_mode() -> int:
    """The level that was set: 0, 1 or 2.

    >>> torch.get_deterministic_debug_mode()
    0
    """
    return 0 if not chosen["deterministic"] else 1 if chosen["warn_only"] else 2


def set_warn_always(b: bool, /) -> None:
    """Show every warning each time rather than once.

    >>> torch.set_warn_always(False)
    """
    if not isinstance(b, bool):
        raise TypeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    if b != chosen["warn_always"]:
        warnings.filterwarnings("always" if b else "default", module=r"tensorgrad(\.|$)", category=UserWarning)
    chosen["warn_always"] = b


def is_warn_always_enabled() -> bool:
    """Whether `set_warn_always` is on.

    >>> torch.is_warn_always_enabled()
    False
    """
    return chosen["warn_always"]


def set_flush_denormal(mode: bool) -> bool:
    """Ask for tiny numbers to count as zero; False: NumPy keeps them, so nothing was changed.

    >>> torch.set_flush_denormal(True)
    False
    """
    return False


def set_default_device(device) -> None:
    """The device of new tensors: "cpu", the only one; any other raises an error.

    >>> torch.set_default_device("cpu"); torch.get_default_device()
    device(type='cpu')
    """
    dtypes.check_device(device)


def get_default_device():
    """The device of new tensors.

    >>> torch.get_default_device()
    device(type='cpu')
    """
    return dtypes.cpu


def set_default_tensor_type(t) -> None:
    """The old way to set the default dtype: `torch.DoubleTensor` or its name.

    >>> torch.set_default_tensor_type("torch.FloatTensor"); torch.get_default_dtype()
    tensorgrad.float32
    """
    from tensorgrad.legacy import TYPES

    if isinstance(t, str):
        name = t.removeprefix("torch.").removeprefix("tensorgrad.")
        if name not in TYPES:
            raise TypeError(f"invalid type object: {t}")
        t = TYPES[name]
    wanted = getattr(t, "dtype", None)
    if not isinstance(wanted, dtypes.dtype) or not wanted.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    dtypes.set_default_dtype(wanted)
