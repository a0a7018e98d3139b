"""What this installation is made of: the first thing to look at when it behaves unlike another."""

import importlib.metadata
import os
import platform
import sys
from pathlib import Path

import numpy

_EXTRAS = {"jit": "llvmlite", "scipy": "scipy", "cuda": "cupy"}


def facts():
    """Return pairs of a name and a text: versions, processor, threads, BLAS, extras.

    >>> from tensorgrad.info import facts
    >>> [name for name, _ in facts()][:3]
    ['tensorgrad', 'Python', 'system']
    """
    import tensorgrad

    pairs = [
        ("tensorgrad", f"{tensorgrad.__version__} in {Path(__file__).parent}"),
        ("Python", f"{platform.python_version()} ({platform.python_implementation()}) in {sys.prefix}"),
        ("system", platform.platform()),
        ("processor", f"{_processor()}, {_usable_cores()} cores for this process"),
        ("NumPy", f"{numpy.__version__}, BLAS: {_blas()}"),
        ("ml_dtypes", _version("ml_dtypes")),
    ]
    pairs += [(f"[{extra}]", _version(name)) for extra, name in _EXTRAS.items()]
    pairs.append(("PyTorch", f"{_version('torch')} (only for comparison)"))
    return pairs


def _version(distribution):
    names = [distribution]
    if distribution == "cupy":
        names = ["cupy", "cupy-cuda12x", "cupy-cuda13x"]
    for name in names:
        try:
            return f"{name} {importlib.metadata.version(name)}"
        except importlib.metadata.PackageNotFoundError:
            continue
    return f"{distribution} is not installed"


def _processor():
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _usable_cores():
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _blas():
    blas = numpy.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})
    words = [blas.get("name", "unknown"), blas.get("version", "")]
    limits = [
        f"{name}={os.environ[name]}" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS") if name in os.environ
    ]
    return " ".join(word for word in [*words, *limits] if word)
