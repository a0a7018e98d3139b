"""Memory that was freed is kept for the next array: fresh pages cost more than the arithmetic on them.

glibc gives every block above 128 kB to 32 MB back to the system as soon as it is free, and the system hands out the next
one page by page, cleared. A chain of operations on a million numbers spends two thirds of its time so. With higher
thresholds blocks below `MAPPED` stay with the process, up to `KEPT` of them unused at the end of its memory.
The environment's MALLOC_MMAP_THRESHOLD_ and MALLOC_TRIM_THRESHOLD_ (glibc's own) go before.
"""

import os
import sys

MAPPED, KEPT = 128 << 20, 256 << 20  # bytes
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h


def keep_freed():
    """Raise the thresholds, where malloc is glibc's; True if it was done."""
    if sys.platform != "linux" or any(f"MALLOC_{name}_THRESHOLD_" in os.environ for name in ("MMAP", "TRIM")):
        return False
    import ctypes

    try:
        mallopt = ctypes.CDLL(None).mallopt
        return bool(mallopt(M_MMAP_THRESHOLD, MAPPED) and mallopt(M_TRIM_THRESHOLD, KEPT))
    except (OSError, AttributeError):
        return False
