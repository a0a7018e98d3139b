"""The older names of autocast and GradScaler for GPUs; without a GPU both are switched off, with a warning."""

import functools
import warnings

from tensorgrad import amp, dtypes

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


def _deprecated(old, new):
    warnings.warn(f"`torch.cuda.amp.{old}` is deprecated. Please use `torch.amp.{new}` instead.", FutureWarning, 3)


class autocast(amp.autocast):
    """The older name of `torch.amp.autocast("cuda")`.

    >>> import warnings; warnings.simplefilter("ignore")
    >>> with torch.cuda.amp.autocast():
    ...     torch.is_autocast_enabled("cuda")
    False
    """

    def __init__(self, enabled=True, dtype=dtypes.float16, cache_enabled=True):
        _deprecated("autocast(args...)", "autocast('cuda', args...)")
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(amp.GradScaler):
    """The older name of `torch.amp.GradScaler("cuda")`.

    >>> import warnings; warnings.simplefilter("ignore")
    >>> torch.cuda.amp.GradScaler().is_enabled()
    False
    """

    def __init__(self, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        _deprecated("GradScaler(args...)", "GradScaler('cuda', args...)")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd=None, *, cast_inputs=None):
    """The older name of `torch.amp.custom_fwd(device_type="cuda")`."""
    _deprecated("custom_fwd(args...)", "custom_fwd(args..., device_type='cuda')")
    return functools.partial(amp.custom_fwd, device_type="cuda")(fwd, cast_inputs=cast_inputs)


def custom_bwd(bwd):
    """The older name of `torch.amp.custom_bwd(device_type="cuda")`."""
    _deprecated("custom_bwd(args...)", "custom_bwd(args..., device_type='cuda')")
    return functools.partial(amp.custom_bwd, device_type="cuda")(bwd)
