"""Whether arrays that a program writes to lie over others: a program takes for granted that they do not."""


class Overlap:
    """Looks at the arrays of some inputs, of which some are written."""

    def __init__(self, written, present):
        self.written, self.present = set(written), present

    def found(self, arrays):
        """Whether an array that is written shares memory with another one, or with itself."""
        spans = sorted([(*span(arrays[n]), n) for n in self.present if arrays[n].size])
        high = 0  # where the arrays so far end
        reach = 0  # where the written arrays so far end
        for low, end, number in spans:
            writes = number in self.written
            if (writes and low < high) or low < reach:
                return True
            high = max(high, end)
            if writes:
                reach = max(reach, end)
                if not apart(arrays[number]):
                    return True
        return False


def span(array):
    """The addresses that an array lies between."""
    low = array.__array_interface__["data"][0]
    if array.flags.forc:
        return low, low + array.nbytes
    steps = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
    return low + sum(s for s in steps if s < 0), low + sum(s for s in steps if s > 0) + array.itemsize


def apart(array):
    """Whether no two elements of an array share memory."""
    if array.flags.forc:
        return True
    reach = array.itemsize
    for step, n in sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if step < reach:
            return False
        reach = step * (n - 1) + reach
    return True


def same_memory(one, other):
    """Whether two tensors are the same numbers in memory."""
    a, b = one._array, other._array
    return a is b or (
        a.__array_interface__["data"] == b.__array_interface__["data"] and a.strides == b.strides and a.shape == b.shape
    )
