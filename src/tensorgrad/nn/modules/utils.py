"""Small things that several layers share: a number for every dimension."""

from collections.abc import Iterable


def ntuple(n, value):
    """A value for each of n dimensions, from one value or from n.

    >>> from tensorgrad.nn.modules.utils import ntuple
    >>> ntuple(2, 3), ntuple(2, (1, 2))
    ((3, 3), (1, 2))
    """
    return tuple(value) if isinstance(value, Iterable) else (value,) * n


def _single(value):
    return ntuple(1, value)


def _pair(value):
    return ntuple(2, value)


def _triple(value):
    return ntuple(3, value)


def _quadruple(value):
    return ntuple(4, value)


def _reverse_repeat_tuple(values, n):
    """Each value n times, the last value first: the order in which `pad` takes its sizes."""
    return tuple(value for value in reversed(values) for _ in range(n))
