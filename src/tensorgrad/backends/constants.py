"""Numbers as arrays without dimensions: beside them NumPy's operations on small arrays take half the time."""

import functools

import numpy as np


@functools.lru_cache(maxsize=1024)
def constant(number, dtype):
    """A number as a read-only array of no dimension.

    >>> constant(2, np.dtype(np.float32))
    array(2., dtype=float32)
    """
    array = np.array(number, dtype)
    array.flags.writeable = False
    return array
