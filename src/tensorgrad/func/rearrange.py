"""rearrange: dimensions split, joined and put in order as a pattern says, after einops.

>>> from tensorgrad.func import rearrange
>>> rearrange(torch.arange(6).reshape(2, 3), "a b -> b a")
tensor([[0, 3],
        [1, 4],
        [2, 5]])
"""

import re

from tensorgrad.tensor import Tensor

TOKEN = re.compile(r"\s*(\.\.\.|[A-Za-z_]\w*|1|[()]|\S)")


def parsed(side):
    """A side of a pattern: a list of names, "..." and groups (tuples of names; () and 1 are dimensions of size 1)."""
    items, group, seen = [], None, set()
    for token in TOKEN.findall(side):
        if token == "(":
            if group is not None:
                raise ValueError("Axis composition is one-level (brackets inside brackets not allowed)")
            group = []
        elif token == ")":
            if group is None:
                raise ValueError("Brackets are not balanced")
            items.append(tuple(group))
            group = None
        elif token == "1":
            if group is None:
                items.append(())
        elif token == "..." or token.isidentifier():
            if token in seen:
                what = "Expression may only contain one ellipsis" if token == "..." else (
                    f"Indexing expression contains duplicate dimension '{token}'"
                )  # fmt: skip
                raise ValueError(what)
            seen.add(token)
            (items if group is None else group).append(token)
        else:
            raise ValueError(f"Unknown character '{token}'")
    if group is not None:
        raise ValueError("Brackets are not balanced")
    return items, seen


def rearrange(tensor, pattern, **axes_lengths):
    """The tensor with its dimensions split, joined, ordered, added or dropped (of size 1) as the pattern says.

    >>> torch.func.rearrange(torch.ones(2, 3, 8), "b c (h w) -> (b h) c w", h=4).shape
    tensorgrad.Size([8, 3, 2])
    """
    if not isinstance(tensor, Tensor):
        from tensorgrad.ops.shape import stack

        tensor = stack(list(tensor))
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    (left, left_names), (right, right_names) = map(parsed, sides)
    if left_names != right_names:
        raise ValueError(
            f"Identifiers only on one side of rearrange expression (should be on both): {left_names ^ right_names}"
        )
    unknown = set(axes_lengths) - left_names
    if unknown:
        raise ValueError(f"Identifiers not found in rearrange expression: {unknown}")
    left, rest = spread(left, tensor.dim(), pattern)
    right = [name for item in right for name in (rest if item == "..." else [item])]
    right = [
        tuple(n for part in i for n in (rest if part == "..." else [part])) if isinstance(i, tuple) else i
        for i in right
    ]
    sizes = sizes_of(left, tensor.shape, axes_lengths)
    names = [name for item in left for name in (item if isinstance(item, tuple) else (item,))]
    apart = tensor.reshape([sizes[name] for name in names])
    order = [name for item in right for name in (item if isinstance(item, tuple) else (item,))]
    moved = apart.permute([names.index(name) for name in order]) if order else apart
    shape = []
    for item in right:
        size = 1
        for name in item if isinstance(item, tuple) else (item,):
            size *= sizes[name]
        shape.append(size)
    return moved.reshape(shape)


def spread(items, ndim, pattern):
    """(items with a name for each dimension that the ellipsis stands for, those names)."""
    missing = ndim - len(items)
    if "..." not in items:
        if any(isinstance(item, tuple) and "..." in item for item in items):
            raise ValueError("Ellipsis is not allowed inside parentheses on the left side of a pattern")
        if missing:
            raise ValueError(
                f"Number of dimensions in pattern ({len(items)}) and tensor ({ndim}) must be equal: {pattern!r}"
            )
        return items, []
    missing += 1
    if missing < 0:
        raise ValueError(f"A tensor of {ndim} dimensions has too few for the pattern {pattern!r}")
    rest = [f"... {i}" for i in range(missing)]
    at = items.index("...")
    return [*items[:at], *rest, *items[at + 1 :]], rest


def sizes_of(items, shape, given):
    """The size of each name, told or found."""
    sizes = dict(given)
    for item, size in zip(items, shape, strict=True):
        if not isinstance(item, tuple):
            if sizes.setdefault(item, size) != size:
                raise ValueError(f"'{item}' is {sizes[item]} by its keyword, but {size} in the tensor")
            continue
        known, unknown = 1, [name for name in item if name not in sizes]
        for name in item:
            known *= sizes.get(name, 1)
        if len(unknown) > 1:
            raise ValueError(f"cannot infer the sizes of two dimensions at once {unknown[0]} and {unknown[1]}")
        if (known == 0 and size) or (size % known if known else 0) or (not unknown and known != size):
            told = tuple(sizes.get(name, "?") for name in item)
            raise ValueError(f"inferred dimension does not evenly fit into larger dimension: {size} vs {told}")
        if unknown:
            sizes[unknown[0]] = size // known if known else 0
    return sizes
