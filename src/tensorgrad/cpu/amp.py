"""The older names of autocast and GradScaler for the CPU."""

import warnings

from tensorgrad import amp, dtypes

__all__ = ["GradScaler", "autocast"]


class autocast(amp.autocast):
    """The older name of `torch.amp.autocast("cpu")`.

    >>> import warnings; warnings.simplefilter("ignore", FutureWarning)
    >>> with torch.cpu.amp.autocast():
    ...     torch.is_autocast_enabled("cpu")
    True
    """

    def __init__(self, enabled=True, dtype=dtypes.bfloat16, cache_enabled=True):
        warnings.warn(
            "`torch.cpu.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cpu', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(amp.GradScaler):
    """The older name of `torch.amp.GradScaler("cpu")`.

    >>> import warnings; warnings.simplefilter("ignore", FutureWarning)
    >>> torch.cpu.amp.GradScaler().get_scale()
    65536.0
    """

    def __init__(self, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        warnings.warn(
            "`torch.cpu.amp.GradScaler(args...)` is deprecated. Please use `torch.amp.GradScaler('cpu', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
