"""What only names can do: give them, change them, and bring dimensions into the order that they say."""

import itertools
import math

from tensorgrad.names.dispatch import Stripped
from tensorgrad.names.values import check_distinct, check_name, check_names, named, names_of, one, place_of, shown
from tensorgrad.ops.fitting import dim_of
from tensorgrad.ops.reshaping import flatten as flatten_dims
from tensorgrad.ops.reshaping import permute, unsqueeze
from tensorgrad.ops.reshaping import unflatten as unflatten_dim
from tensorgrad.ops.shape import _alias

ELLIPSIS = (..., "...")


def viewed(tensor, compute, names):
    """A view of the tensor, computed without names, that has these."""
    stripped = Stripped()
    return stripped.restored(compute(stripped.of(tensor)), names)


def with_names(tensor, names):
    """The tensor under other names: a view of it."""
    return viewed(tensor, lambda t: _alias(t, ((...,),)), names)


def given(names):
    """f('N', 'C'), f(['N', 'C']) and f(('N', 'C')) alike."""
    return tuple(names[0]) if len(names) == 1 and isinstance(names[0], (tuple, list)) else names


def globbed(names, own, function):
    """Names in which `...` stands for those that the tensor has there."""
    places = [i for i, name in enumerate(names) if name in ELLIPSIS]
    if len(places) > 1:
        raise RuntimeError(
            f"{function}: More than one Ellipsis ('...') found in names ({names}). This function supports up to one Ellipsis."
        )
    if not places:
        return tuple(names)
    before, after = names[: places[0]], names[places[0] + 1 :]
    return (*before, *own[len(before) : len(own) - len(after)], *after)


def new_names(tensor, names, changes, function):
    """What `rename` makes of the names of a tensor."""
    own = names_of(tensor)
    if names and changes:
        raise RuntimeError(
            f"{function}: This function takes either positional args or keyword args, but not both. Use "
            f"tensor.{function}(*names) to name dims and tensor.{function}(**rename_map) to rename dims."
        )
    if not changes:
        if len(names) == 1 and names[0] is None:
            return (None,) * len(own)
        return check_names(globbed(given(names), own, function), len(own))
    for old, new in changes.items():
        if old not in own:
            raise RuntimeError(
                f"{function}: Tried to rename dim '{old}' to dim {new} in Tensor{shown(own)} but dim '{old}' does not exist"
            )
    return check_names([changes.get(name, name) if name is not None else None for name in own], len(own))


def has_names(self):
    """Whether any dimension has a name.

    >>> torch.ones(2, names=("N",)).has_names(), torch.ones(2).has_names()
    (True, False)
    """
    return self._spec.names is not None


def rename(self, /, *names, **rename_map):
    """The tensor with other names: all of them, some by `old="new"`, or none (`None`). It shares memory and graph.

    >>> x = torch.ones(2, 3, names=("N", "C"))
    >>> x.rename(N="batch").names, x.rename("a", "b").names, x.rename(None).names
    (('batch', 'C'), ('a', 'b'), (None, None))
    """
    return with_names(self, new_names(self, names, rename_map, "rename"))


def rename_(self, /, *names, **rename_map):
    """The in-place form of `rename`.

    >>> x = torch.ones(2, 3); x.rename_("N", "C").names
    ('N', 'C')
    """
    return named(self, new_names(self, names, rename_map, "rename_"))


def refine_names(self, *names):
    """The tensor with names where it has none yet; `...` stands for dimensions that stay as they are.

    >>> torch.ones(2, 3, 4, names=("N", None, None)).refine_names("N", ..., "W").names
    ('N', None, 'W')
    """
    own = names_of(self)
    names = globbed(given(names), own, "refine_names")
    coerce = f"refine_names: cannot coerce Tensor{shown(own)} to Tensor{shown(names)} because"
    if len(names) != len(own):
        raise RuntimeError(f"{coerce} they have a different number of dims ({len(own)} and {len(names)} respectively).")
    names = check_names(names, len(own))
    for place, (old, new) in enumerate(zip(own, names, strict=True)):
        if old is not None and old != new:
            relation = "more specific than" if new is None else "different from"
            raise RuntimeError(f"{coerce} {one(old)} is {relation} {one(new)} at index {place}")
    return with_names(self, names)


def align_to(self, *names):
    """The dimensions in the order of `names`: those that the tensor has not are new, of size 1; `...` stands for the rest.

    >>> x = torch.ones(2, 3, 4, names=("N", "C", "L"))
    >>> x.align_to("L", "N", "C").shape, x.align_to("C", ...).names, x.align_to("N", "C", "H", "L").shape
    (tensorgrad.Size([4, 2, 3]), ('C', 'N', 'L'), tensorgrad.Size([2, 3, 1, 4]))
    """
    own, names = names_of(self), given(names)
    dots = [i for i, name in enumerate(names) if name in ELLIPSIS]
    if len(dots) > 1:
        globbed(names, own, "align_to")
    wanted = [name for name in names if name not in ELLIPSIS]
    for name in wanted:
        if name is None:
            raise RuntimeError(
                f"align_to: the desired order of dimensions cannot contain a None name, got {shown(wanted)}"
            )
        check_name(name)
    if len(set(wanted)) != len(wanted):
        check_distinct(wanted)
    if not dots:
        for place, name in enumerate(own):
            if name is None:
                raise RuntimeError(
                    f"align_to: All input dims must be named. Found unnamed dim at index {place} of Tensor{shown(own)}"
                )
            if name not in wanted:
                raise RuntimeError(
                    f"align_to: Cannot find dim {one(name)} from Tensor{shown(own)} in desired alignment {shown(wanted)}."
                    "\nThe order must hold every dim of the tensor; `...` stands for the rest."
                )
    rest = [place for place, name in enumerate(own) if name not in wanted]
    order = [own.index(name) if name in own else None for name in wanted]
    if dots:
        order[dots[0] : dots[0]] = rest
        wanted[dots[0] : dots[0]] = [own[place] for place in rest]

    def aligned(tensor):
        tensor = permute(tensor, [place for place in order if place is not None])
        for position, place in enumerate(order):
            if place is None:
                tensor = unsqueeze(tensor, position)
        return tensor

    return viewed(self, aligned, wanted)


def align_as(self, other):
    """The dimensions in the order of those of another tensor.

    >>> scale = torch.ones(3, names=("C",))
    >>> scale.align_as(torch.ones(2, 3, 4, names=("N", "C", "L"))).shape
    tensorgrad.Size([1, 3, 1])
    """
    return align_to(self, *names_of(other))


def align_tensors(*tensors):
    """All tensors with the dimensions of that which has most.

    >>> a, b = torch.ones(2, 3, names=("N", "C")), torch.ones(3, names=("C",))
    >>> [t.shape for t in torch.align_tensors(a, b)]
    [tensorgrad.Size([2, 3]), tensorgrad.Size([1, 3])]
    """
    tensors = given(tensors)
    longest = max(tensors, key=lambda t: len(t._spec.shape), default=None)
    return tuple(align_as(t, longest) for t in tensors)


def flatten(function, input, *args, **kwargs):
    """flatten(dims, out_dim), flatten(start_dim, end_dim, out_dim): several dimensions become one with a name."""
    own = names_of(input)
    words = dict(zip(("start_dim", "end_dim", "out_dim"), args, strict=False), **kwargs)
    if len(args) == 2 and isinstance(args[0], (tuple, list)):
        words = {"dims": args[0], "out_dim": args[1]}
    if words.get("out_dim") is None:
        return NotImplemented
    dims = words.get("dims")
    if dims is None:
        dims = (words.get("start_dim", 0), words.get("end_dim", -1))
        first, last = (place_of(d, own) if isinstance(d, str) else dim_of(d, len(own)) for d in dims)
        if first > last:
            raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    else:
        if not dims:
            raise RuntimeError("flatten(tensor, dims, out_dim): dims cannot be empty")
        places = [place_of(d, own) if isinstance(d, str) else dim_of(d, len(own)) for d in dims]
        if any(b != a + 1 for a, b in itertools.pairwise(places)):
            raise RuntimeError(
                f"flatten(tensor, dims, out_dim): dims {shown(dims)} must be consecutive in Tensor{shown(own)}. Bring them "
                "together with align_to."
            )
        first, last = places[0], places[-1]
    names = check_names((*own[:first], words["out_dim"], *own[last + 1 :]), len(own) - (last - first))
    return viewed(input, lambda t: flatten_dims(t, first, last), names)


def unflatten(function, input, dim, sizes=None, names=None, namedshape=None):
    """unflatten(dim, (('C', 2), ...)): one dimension becomes several with names."""
    sizes = namedshape if sizes is None else sizes
    if sizes is None or (hasattr(sizes, "__len__") and not len(sizes)):
        raise RuntimeError("unflatten: sizes must be non-empty")
    pairs = list(sizes.items()) if isinstance(sizes, dict) else list(sizes) if isinstance(sizes, (tuple, list)) else []
    if names is None:
        if not pairs or not all(isinstance(p, (tuple, list)) and len(p) == 2 for p in pairs):
            if isinstance(dim, str):
                raise TypeError(
                    "unflatten(): argument 'dim' (position 1) must be int, not str\nWith a name for a dim, give the new ones as "
                    f"pairs of a name and a size, not {sizes}."
                )
            if input._spec.names is not None:
                raise RuntimeError(
                    "unflatten: input is a named tensor but no names were given for unflattened sizes\nGive them as pairs: "
                    f"(('C', 2), ...), not {sizes}."
                )
            return NotImplemented
        names, sizes = zip(*pairs, strict=True)
    own = names_of(input)
    place = place_of(dim, own) if isinstance(dim, str) else dim_of(dim, len(own))
    known = math.prod(n for n in sizes if n != -1)
    n = input._spec.shape[place]
    if not known and not n and -1 in sizes:
        raise RuntimeError(
            f"unflatten: cannot make sizes {list(sizes)} of dim {place} ({one(own[place])}: 0) because the unspecified dimension "
            "size -1 can be any value and is ambiguous"
        )
    if known != n and (-1 not in sizes or not known or n % known):
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {place} ({one(own[place])}: {n}) in "
            f"Tensor{shown(own)}"
        )
    new = check_names((*own[:place], *names, *own[place + 1 :]), len(own) + len(names) - 1)
    return viewed(input, lambda t: unflatten_dim(t, place, tuple(sizes)), new)


class Methods:
    """Names as methods."""

    has_names, rename, rename_, refine_names = has_names, rename, rename_, refine_names
    align_to, align_as = align_to, align_as
