"""The names of x[...]: an int takes a dimension away, a slice keeps it, None makes one, tensors give those they have."""

import numpy as np

from tensorgrad.names.values import names_of, strip, unify
from tensorgrad.ops.primitive import wrap
from tensorgrad.tensor import Tensor


def indexed(call):
    """x[...]: an int takes a dimension away, a slice keeps it, None makes one, tensors give those they have."""
    names, index = call.own, call.get("index")
    return index_names(names, index, call.tensors()[0].shape)


def index_names(names, index, shape):
    items = index if type(index) is tuple else (index,)
    if isinstance(index, list):
        items = (
            (wrap(np.asarray(index)),) if not any(isinstance(i, (slice, list, Tensor)) for i in index) else tuple(index)
        )
    used = sum(consumes(i) for i in items)
    out, picks, place, dim = [], [], None, 0
    for position, item in enumerate(items):
        if item is Ellipsis:
            skip = len(names) - used
            out += names[dim : dim + skip]
            dim += skip
        elif item is None or isinstance(item, (bool, np.bool_)):
            out.append(None)
        elif isinstance(item, slice):
            out.append(names[dim])
            dim += 1
        elif isinstance(item, Tensor) and not item._spec.shape and item._spec.dtype.category == 1:
            dim += 1
        elif isinstance(item, (Tensor, list, tuple, np.ndarray)):
            apart = place is not None and picks[-1][0] != position - 1
            place = 0 if apart else len(out) if place is None else place
            wide = consumes(item)
            rank, own = pick(item)
            picks.append(
                (position, own if own is not None else (names[dim] if rank == 1 and wide == 1 else None,) * rank)
            )
            dim += wide
        else:
            dim += 1
    out += names[dim:]
    if picks:
        lead = (None,) * max(len(own) for _, own in picks) if len(picks) > 1 else picks[0][1]
        for _, own in picks if len(picks) > 1 else ():
            lead = unify(lead, own) if all(n not in names for n in own if n) else lead
        out[place:place] = lead
    return tuple(out)


def consumes(item):
    """How many dimensions an item of an index takes."""
    if item is None or item is Ellipsis or isinstance(item, (bool, np.bool_)):
        return 0
    if isinstance(item, Tensor) and item._spec.dtype.category == 0:
        return len(item._spec.shape)
    if isinstance(item, np.ndarray) and item.dtype == bool:
        return item.ndim
    return 1


def pick(item):
    """(how many dimensions a picking index gives, its names or None)."""
    if isinstance(item, Tensor):
        if item._spec.dtype.category == 0:
            return 1, None
        return len(item._spec.shape), item._spec.names
    array = np.asarray([strip(i).numpy() if isinstance(i, Tensor) else i for i in item])
    return (1 if array.dtype == bool else array.ndim), None


def assigned(call):
    """x[...] = value: the value's names must go with those of what it replaces."""
    value, target = call.get("value"), call.tensors()[0]
    if isinstance(value, Tensor) and value._spec.names is not None:
        part = index_names(call.own, call.get("index"), target.shape)
        names = names_of(value)
        unify(part, names[len(names) - len(part) :] if len(names) > len(part) else names, "assign")
    return call.own
