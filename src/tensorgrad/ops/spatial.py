"""What functions over windows in space share: arguments with a number per dimension, and rows that become samples."""

from tensorgrad.ops.fitting import INTS, wrong_arguments


def is_int(value):
    """Whether a value counts as an int in a list of sizes."""
    return hasattr(value, "__index__") and not isinstance(value, bool)


def numbers_of(value, count, call, complaint):
    """One int, or a list of one or `count` of them, as a tuple of `count` ints.

    call: the function and its arguments, for the TypeError about other things; complaint(list): what is said of another
    number of them.
    """
    if type(value) is int:
        return (value,) * count
    if type(value) is tuple and len(value) == count and INTS.issuperset(map(type, value)):
        return value
    if isinstance(value, (tuple, list)) and all(is_int(n) for n in value):
        if len(value) == count:
            return tuple([n.__index__() for n in value])
        if len(value) == 1:
            return (value[0].__index__(),) * count
        raise RuntimeError(complaint(list(value)))
    if is_int(value):
        return (value.__index__(),) * count
    raise wrong_arguments(*call)


def merged(value):
    """All rows of a batch of samples as one batch, for vmap: (rows, samples, ...) as (rows * samples, ...)."""
    rows, samples, *rest = value._spec.shape
    return value.reshape((rows * samples, *rest))


def split(value, rows):
    """The reverse."""
    samples, *rest = value._spec.shape
    return value.reshape((rows, samples // rows, *rest))


def side_by_side(value, dim=1):
    """All rows beside one another along a dimension, for vmap over groups: the channels of all rows."""
    return value.movedim(0, dim).flatten(dim, dim + 1)


def apart(value, rows, dim=1):
    """The reverse, the rows first."""
    return value.unflatten(dim, (rows, -1) if value._spec.size else (rows, value._spec.shape[dim] // rows)).movedim(
        dim, 0
    )
