"""autocast, and the switches of each thread that it sets. What it does to operations is in ops/casting.py."""

import functools
import threading
import warnings

import numpy as np

from tensorgrad import dtypes
from tensorgrad.autograd.modes import hold_special, release_special, state
from tensorgrad.ops import casting  # noqa: F401 (operations ask it from now on)
from tensorgrad.tensor import Tensor

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]


class _Switches(threading.local):
    """What one thread has switched on, for each type of device; only the CPU's has an effect."""

    def __init__(self):
        self.enabled, self.dtypes = {}, {"cpu": dtypes.bfloat16, "xla": dtypes.bfloat16}
        self.nesting, self.cache = 0, True


_switches = _Switches()
LOWER = (dtypes.bfloat16, dtypes.float16)


def _type_of(device_type):
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    return dtypes.device(device_type).type


def is_autocast_available(device_type: str) -> bool:
    """Whether there is autocast for a type of device.

    >>> torch.amp.is_autocast_available("cpu")
    True
    """
    return _type_of(device_type) in ("cpu", "cuda", "mtia", "maia", "xpu", "ipu", "hpu", "xla", "mps", "privateuseone")


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether operations on a type of device are cast right now; without an argument, on a GPU.

    >>> torch.is_autocast_enabled("cpu")
    False
    """
    return _switches.enabled.get("cuda" if device_type is None else _type_of(device_type), False)


def set_autocast_enabled(device_type, enabled: bool | None = None) -> None:
    """Cast the operations on a type of device from now on, or do not.

    >>> torch.set_autocast_enabled("cpu", True); torch.is_autocast_enabled("cpu")
    True
    >>> torch.set_autocast_enabled("cpu", False)
    """
    if enabled is None:
        device_type, enabled = "cuda", device_type
    _switches.enabled[_type_of(device_type)] = bool(enabled)
    _apply()


def get_autocast_dtype(device_type: str) -> dtypes.dtype:
    """The lower dtype for a type of device.

    >>> torch.get_autocast_dtype("cpu")
    tensorgrad.bfloat16
    """
    kind = _type_of(device_type)
    if not is_autocast_available(kind):
        raise RuntimeError("unsupported scalarType")
    return _switches.dtypes.get(kind, dtypes.float16)


def set_autocast_dtype(device_type: str, dtype: dtypes.dtype) -> None:
    """Set the lower dtype for a type of device.

    >>> torch.set_autocast_dtype("cpu", torch.bfloat16)
    """
    _switches.dtypes[_type_of(device_type)] = dtype
    _apply()


def is_autocast_cache_enabled() -> bool:
    """Whether a parameter is cast once and kept until autocast is left.

    >>> torch.is_autocast_cache_enabled()
    True
    """
    return _switches.cache


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Keep the parameters that were cast, or do not.

    >>> torch.set_autocast_cache_enabled(True)
    """
    _switches.cache = bool(enabled)
    _apply()


def autocast_increment_nesting() -> int:
    """Enter one autocast more; how deep that is.

    >>> torch.autocast_increment_nesting(), torch.autocast_decrement_nesting()
    (1, 0)
    """
    _switches.nesting += 1
    return _switches.nesting


def autocast_decrement_nesting() -> int:
    """Leave one autocast; how many are left.

    >>> torch.autocast_increment_nesting(), torch.autocast_decrement_nesting()
    (1, 0)
    """
    _switches.nesting -= 1
    return _switches.nesting


def clear_autocast_cache() -> None:
    """Forget the parameters that were cast.

    >>> torch.clear_autocast_cache()
    """
    if state.autocast_cache:
        state.autocast_cache = {}


def _old_name(name, function, device):
    """A function of before the type of device became an argument."""

    def old(*args):
        warnings.warn(
            f"torch.{name}() is deprecated. Please use torch.{function.__name__}('{device}') instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        return function(device, *args)

    old.__name__ = old.__qualname__ = name
    old.__doc__ = f"The older form of `{function.__name__}('{device}')`."
    return old


is_autocast_cpu_enabled = _old_name("is_autocast_cpu_enabled", is_autocast_enabled, "cpu")
set_autocast_cpu_enabled = _old_name("set_autocast_cpu_enabled", set_autocast_enabled, "cpu")
get_autocast_cpu_dtype = _old_name("get_autocast_cpu_dtype", get_autocast_dtype, "cpu")
set_autocast_cpu_dtype = _old_name("set_autocast_cpu_dtype", set_autocast_dtype, "cpu")
get_autocast_gpu_dtype = _old_name("get_autocast_gpu_dtype", get_autocast_dtype, "cuda")
set_autocast_gpu_dtype = _old_name("set_autocast_gpu_dtype", set_autocast_dtype, "cuda")


def _apply():
    """Tell the operations of this thread what is switched on."""
    dtype = _switches.dtypes["cpu"] if _switches.enabled.get("cpu") else None
    if (state.autocast is None) != (dtype is None):
        (release_special if dtype is None else hold_special)("autocast")
    state.autocast = dtype
    if not _switches.cache:
        state.autocast_cache = None
    elif state.autocast_cache is None:
        state.autocast_cache = {}


class autocast:
    """Compute in a lower dtype what bears it: a context manager, or a decorator.

    On the CPU products of matrices, convolutions and linear layers are computed in bfloat16 (or float16), losses,
    decompositions and some others in float32; the rest in the dtype of its operands.

    >>> layer = torch.nn.Linear(2, 3)
    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     out = layer(torch.ones(1, 2))
    >>> out.dtype, layer.weight.dtype
    (tensorgrad.bfloat16, tensorgrad.float32)
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        kind = _type_of(device_type)
        self.device = device_type
        if not is_autocast_available(kind):
            raise RuntimeError("unsupported scalarType")
        self.fast_dtype = get_autocast_dtype(kind) if dtype is None else dtype
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        if kind == "cuda" and enabled:
            warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=2)
            enabled = False
        elif kind == "cpu" and enabled and self.fast_dtype not in LOWER:
            warnings.warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled

    def __enter__(self):
        kind = dtypes.device(self.device).type
        self.prev = is_autocast_enabled(kind)
        self.prev_fastdtype = get_autocast_dtype(kind)
        self.prev_cache_enabled = _switches.cache
        _switches.enabled[kind], _switches.dtypes[kind] = bool(self._enabled), self.fast_dtype
        _switches.cache = self._cache_enabled
        _apply()
        autocast_increment_nesting()
        return self

    def __exit__(self, *_):
        if autocast_decrement_nesting() == 0:
            clear_autocast_cache()
        kind = dtypes.device(self.device).type
        _switches.enabled[kind], _switches.dtypes[kind] = self.prev, self.prev_fastdtype
        _switches.cache = self.prev_cache_enabled
        _apply()
        return False

    def __call__(self, func):
        return autocast_decorator(self, func)


def autocast_decorator(autocast_instance, func):
    """A function inside an autocast.

    >>> product = torch.amp.autocast_mode.autocast_decorator(torch.autocast("cpu"), torch.mm)
    >>> product(torch.ones(1, 1), torch.ones(1, 1)).dtype
    tensorgrad.bfloat16
    """

    @functools.wraps(func)
    def decorated(*args, **kwargs):
        with autocast_instance:
            return func(*args, **kwargs)

    return decorated


# For functions with derivatives of their own


def _cast(value, device_type, dtype):
    """A value, or what it holds, with its floating-point tensors in a dtype."""
    if isinstance(value, Tensor):
        eligible = value.is_floating_point() and value.device.type == device_type and value.dtype is not dtypes.float64
        return value.to(dtype) if eligible else value
    if isinstance(value, (str, np.ndarray)):
        return value
    if isinstance(value, dict):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        items = [_cast(item, device_type, dtype) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def custom_fwd(fwd=None, *, device_type: str, cast_inputs=None):
    """Decorate `forward` of an autograd.Function: `backward` will run in its state of autocast, or, with `cast_inputs`, its
    floating-point tensors come in that dtype and autocast is off inside.

    >>> class Twice(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...     @staticmethod
    ...     @torch.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         return 2 * g
    >>> with torch.autocast("cpu"):
    ...     Twice.apply(torch.ones(1, dtype=torch.bfloat16)).dtype
    tensorgrad.float32
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(*args, **kwargs):
        ctx, on = args[0], is_autocast_enabled(device_type)
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = on and cast_inputs is None
        if cast_inputs is None or not on:
            return fwd(*args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return decorated


def custom_bwd(bwd=None, *, device_type: str):
    """Decorate `backward` of an autograd.Function whose `forward` has `custom_fwd`: it runs in the same state of autocast.

    >>> decorated = torch.amp.custom_bwd(lambda ctx, g: g, device_type="cpu")
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args, **kwargs):
        ctx = args[0]
        with autocast(device_type=device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(*args, **kwargs)

    return decorated
