"""Anomaly mode: every node remembers where it was made, and a NaN in the backward pass names the operation that made it."""

import warnings

from tensorgrad.autograd.modes import _special, hold_special, release_special

check_nan = True


def is_anomaly_enabled():
    """Whether anomaly mode is on.

    >>> torch.is_anomaly_enabled()
    False
    """
    return "anomaly" in _special


def is_anomaly_check_nan_enabled():
    """Whether anomaly mode looks for NaN.

    >>> torch.is_anomaly_check_nan_enabled()
    True
    """
    return check_nan


def _switch(on, nan):
    global check_nan
    check_nan = nan
    if on and not is_anomaly_enabled():
        hold_special("anomaly")
    elif not on and is_anomaly_enabled():
        release_special("anomaly")


class set_detect_anomaly:
    """Switch anomaly mode on or off, at once and as a context manager.

    >>> with torch.autograd.set_detect_anomaly(True):
    ...     torch.is_anomaly_enabled()
    True
    """

    def __init__(self, mode, check_nan=True):
        self.previous = is_anomaly_enabled(), is_anomaly_check_nan_enabled()
        _switch(mode, check_nan)

    def __enter__(self):
        return None

    def __exit__(self, *_):
        _switch(*self.previous)


class detect_anomaly(set_detect_anomaly):
    """Anomaly mode as a context manager.

    >>> with torch.autograd.set_detect_anomaly(True, check_nan=False):
    ...     torch.is_anomaly_check_nan_enabled()
    False
    """

    def __init__(self, check_nan=True):
        self.target = check_nan
        self.previous = is_anomaly_enabled(), is_anomaly_check_nan_enabled()
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self):
        self.previous = is_anomaly_enabled(), is_anomaly_check_nan_enabled()
        _switch(True, self.target)
