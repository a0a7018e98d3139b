"""PyTorch's `torch.cuda` on a machine without a GPU, which is what every machine is to NumPy.

Questions are answered (`is_available()`, `device_count()`), what has nothing to do does nothing (`empty_cache()`, seeds for
every GPU there is), and what needs a device raises PyTorch's error.

>>> device = "cuda" if torch.cuda.is_available() else "cpu"
>>> device
'cpu'
"""

import importlib
from collections import OrderedDict

from tensorgrad import dtypes

has_half, has_magma = True, False
default_generators = ()


class OutOfMemoryError(RuntimeError):
    """A GPU has no memory left; no GPU, so nothing here raises it.

    >>> issubclass(torch.cuda.OutOfMemoryError, RuntimeError)
    True
    """


AcceleratorError = type("AcceleratorError", (RuntimeError,), {"__doc__": "A call to a GPU failed; never raised here."})


def is_available() -> bool:
    """Whether there is a GPU to compute on.

    >>> torch.cuda.is_available()
    False
    """
    return False


def is_initialized() -> bool:
    """Whether the state of the GPUs has been set up.

    >>> torch.cuda.is_initialized()
    False
    """
    return False


def device_count() -> int:
    """How many GPUs there are.

    >>> torch.cuda.device_count()
    0
    """
    return 0


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the GPU computes in bfloat16.

    >>> torch.cuda.is_bf16_supported()
    False
    """
    return False


def is_tf32_supported() -> bool:
    """Whether the GPU computes in TensorFloat32.

    >>> torch.cuda.is_tf32_supported()
    False
    """
    return False


def get_arch_list() -> list:
    """The kinds of GPU that there is code for.

    >>> torch.cuda.get_arch_list()
    []
    """
    return []


def get_gencode_flags() -> str:
    """The compiler flags of that code.

    >>> torch.cuda.get_gencode_flags()
    ''
    """
    return ""


def empty_cache() -> None:
    """Give cached memory of the GPU back: there is none.

    >>> torch.cuda.empty_cache()
    """


def manual_seed(seed: int) -> None:
    """Seed the GPU's generator, if there is a GPU.

    >>> torch.cuda.manual_seed(0)
    """
    int(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all GPUs, of which there are none.

    >>> torch.cuda.manual_seed_all(0)
    """
    int(seed)


def seed() -> None:
    """Seed the GPU's generator by chance, if there is a GPU.

    >>> torch.cuda.seed()
    """


def seed_all() -> None:
    """Seed the generators of all GPUs by chance.

    >>> torch.cuda.seed_all()
    """


def get_rng_state_all() -> list:
    """The states of the generators of all GPUs.

    >>> torch.cuda.get_rng_state_all()
    []
    """
    return []


def set_rng_state(new_state, device="cuda") -> None:
    """Set the state of a GPU's generator, once there is a GPU.

    >>> torch.cuda.set_rng_state(torch.get_rng_state())
    """


def set_rng_state_all(new_states) -> None:
    """Set the states of the generators of all GPUs.

    >>> torch.cuda.set_rng_state_all([])
    """
    for state in new_states:
        set_rng_state(state)


def memory_allocated(device=None) -> int:
    """How many bytes of a GPU tensors take.

    >>> torch.cuda.memory_allocated()
    0
    """
    return 0


def memory_stats(device=None) -> OrderedDict:
    """Counts about the memory of a GPU.

    >>> len(torch.cuda.memory_stats())
    0
    """
    return OrderedDict()


max_memory_allocated = memory_reserved = max_memory_reserved = memory_cached = max_memory_cached = memory_allocated
host_memory_stats = memory_stats


def _index(device):
    """The number of a GPU; ValueError for a device that is none."""
    if isinstance(device, int):
        return device
    where = dtypes.device(device)
    if where.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {where}")
    return 0 if where.index is None else where.index


def set_device(device) -> None:
    """Make a GPU the current one; a negative number changes nothing.

    >>> torch.cuda.set_device(-1)
    """
    if _index(device) >= 0:
        dtypes.check_device("cuda")


class device:
    """`with torch.cuda.device(0):` another GPU is the current one; a negative number changes nothing.

    >>> with torch.cuda.device(-1):
    ...     pass
    """

    def __init__(self, device):
        self.idx = _index(device) if device is not None else 0

    def __enter__(self):
        if self.idx >= 0:
            raise RuntimeError("PyTorch was compiled without CUDA support: tensorgrad computes on the CPU")

    def __exit__(self, *_):
        return False


class device_of(device):
    """The GPU of a tensor is the current one; a tensor on the CPU changes nothing.

    >>> with torch.cuda.device_of(torch.ones(1)):
    ...     pass
    """

    def __init__(self, obj):
        super().__init__(-1)


class StreamContext:
    """A stream of the GPU is the current one; None changes nothing.

    >>> with torch.cuda.stream(None):
    ...     pass
    """

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        return None

    def __exit__(self, *_):
        return False


def stream(stream) -> StreamContext:
    """`with torch.cuda.stream(s):` what follows runs in a stream of the GPU; None changes nothing.

    >>> with torch.cuda.stream(None):
    ...     pass
    """
    return StreamContext(stream)


def set_stream(stream) -> None:
    """Make a stream the current one; None changes nothing.

    >>> torch.cuda.set_stream(None)
    """


class Stream:
    """A queue of work for the GPU.

    >>> torch.cuda.Stream()
    Traceback (most recent call last):
    RuntimeError: torch.cuda.Stream requires CUDA support
    """

    def __new__(cls, *args, **kwargs):
        raise RuntimeError("torch.cuda.Stream requires CUDA support")


class Event:
    """A mark in a stream of the GPU.

    >>> torch.cuda.Event()
    Traceback (most recent call last):
    RuntimeError: Tried to instantiate dummy base class Event
    """

    def __new__(cls, *args, **kwargs):
        raise RuntimeError(f"Tried to instantiate dummy base class {cls.__name__}")


class CUDAGraph(Event):
    """Recorded work for the GPU.

    >>> torch.cuda.CUDAGraph()
    Traceback (most recent call last):
    RuntimeError: Tried to instantiate dummy base class CUDAGraph
    """


class graph(Stream):
    """Record work for the GPU.

    >>> torch.cuda.graph(None)
    Traceback (most recent call last):
    RuntimeError: torch.cuda.Stream requires CUDA support
    """


def _needs_a_device(name):
    """A function that only a machine with a GPU can answer."""

    def function(*args, **kwargs):
        dtypes.check_device("cuda")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""torch.cuda.{name} needs a GPU.

    >>> torch.cuda.{name}()
    Traceback (most recent call last):
    AssertionError: Torch not compiled with CUDA enabled
    This tensorgrad computes with NumPy on the CPU: use device='cpu'.
    """
    return function


# What asks a GPU
_ASKING = (
    "init synchronize current_device current_stream default_stream get_device_name get_device_capability "
    "get_device_properties get_rng_state initial_seed ipc_collect mem_get_info memory_summary memory_snapshot "
    "reset_peak_memory_stats reset_max_memory_allocated reset_max_memory_cached reset_accumulated_memory_stats "
    "can_device_access_peer get_per_process_memory_fraction set_per_process_memory_fraction get_sync_debug_mode "
    "set_sync_debug_mode cudart current_blas_handle graph_pool_handle make_graphed_callables"
)
for _name in _ASKING.split():
    globals()[_name] = _needs_a_device(_name)


def _tensor_type(name):
    """A type of tensors on GPUs: nothing is an instance of it."""

    def make(cls, *args, **kwargs):
        raise TypeError(f"type torch.cuda.{name} not available. Torch not compiled with CUDA enabled.")

    return type(name, (), {"__new__": make, "__doc__": "A tensor on a GPU: there is none.", "__module__": __name__})


for _name in ("Float", "Double", "Half", "BFloat16", "Byte", "Char", "Short", "Int", "Long", "Bool"):
    globals()[_name + "Tensor"] = _tensor_type(_name + "Tensor")


def __getattr__(name):
    if name == "amp":
        return importlib.import_module("tensorgrad.cuda.amp")
    raise AttributeError(f"module 'tensorgrad.cuda' has no attribute '{name}'")
