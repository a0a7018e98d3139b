"""Rewriting a graph of Values so that less has to be done: numbers are computed in the order and the shape in which they
are used, so that more of them stay in one loop.
"""

from tensorgrad.kernels.schedule import contiguous, reshaped_strides
from tensorgrad.kernels.values import STRUCTURAL, in_order


def turned(graph, roots, others=()):
    """The roots, where those that are a permutation of what is computed element by element are computed permuted.

    So that (a * b).T costs one loop, not a loop and a copy.
    """
    if not any(root.op == "permute" for root in roots):
        return roots
    uses = {}
    for value in in_order([*roots, *others]):
        for arg in value.args:
            uses[arg] = uses.get(arg, 0) + 1
    for root in (*roots, *others):
        uses[root] = uses.get(root, 0) + 1
    return [
        push(graph, root.args[0], root.attr, uses) if root.op == "permute" and uses[root] == 1 else root
        for root in roots
    ]


def push(graph, value, axes, uses):
    """permute(value, axes), with the permutation moved to where the numbers come from."""
    if value.op in STRUCTURAL or uses[value] != 1:
        return graph.permute(value, axes)
    args = [a if a.op == "const" else push(graph, a, axes, uses) for a in value.args]
    return graph.make(value.op, args, tuple(value.shape[a] for a in axes), value.dtype, value.attr)


def unfolded(graph, roots):
    """The roots, where what is only used in another shape is computed in that shape.

    A layer adds its bias to a matrix and its activation works on (batch, time, width): one loop does both.
    """
    order, users = in_order(roots), {}
    for value in order:
        for arg in value.args:
            users.setdefault(arg, []).append(value)
    kept, shapes = set(roots), {}

    def asked(user):
        """The shape in which a user wants its arguments."""
        if user.op != "reshape" or user in kept:
            return shapes.get(user, user.shape if user.op == "reshape" else None)
        behind = {shapes.get(u) for u in users.get(user, ())}
        shape = behind.pop() if len(behind) == 1 else None
        return user.shape if shape is None else shape

    for value in reversed(order):
        if value.op in STRUCTURAL or value in kept or value not in users:
            continue
        wanted = set(map(asked, users[value]))
        shape = wanted.pop() if len(wanted) == 1 else None
        if shape is not None and shape != value.shape and all(fits(arg, shape) for arg in value.args):
            shapes[value] = shape
    if not shapes:
        return roots
    made = {}
    for value in order:
        args = [made[a] for a in value.args]
        shape = shapes.get(value)
        if shape is not None:
            args = [a if a.op == "const" else graph.reshape(a, shape) for a in args]
            made[value] = graph.make(value.op, args, shape, value.dtype, value.attr)
        elif value.op == "reshape":
            made[value] = graph.reshape(args[0], value.shape)
        elif all(new is old for new, old in zip(args, value.args, strict=True)):
            made[value] = value
        else:
            made[value] = graph.make(value.op, args, value.shape, value.dtype, value.attr)
    return [made[root] for root in roots]


def fits(value, shape):
    """Whether a Value can be seen in another shape without a copy, if what it is made of lies contiguously."""
    if value.op == "const":
        return True
    strides = strides_of(value)
    return strides is not None and reshaped_strides(value.shape, strides, shape) is not None


def strides_of(value):
    """The strides in which a Value is seen where it, or what it is a view of, lies contiguously; None if in none."""
    if value.op == "iota":
        return None
    if value.op == "permute":
        under = strides_of(value.args[0])
        return None if under is None else [under[a] for a in value.attr]
    if value.op == "expand":
        inner = value.args[0]
        under = strides_of(inner) if inner.op != "const" else [0] * len(inner.shape)
        if under is None:
            return None
        lead = len(value.shape) - len(inner.shape)
        return [0] * lead + [0 if n == 1 else s for n, s in zip(inner.shape, under, strict=True)]
    if value.op == "slice":
        under = strides_of(value.args[0])
        return None if under is None else [s * step for s, step in zip(under, value.attr[1], strict=True)]
    if value.op == "reshape":
        under = strides_of(value.args[0])
        return None if under is None else reshaped_strides(value.args[0].shape, under, value.shape)
    return contiguous(value.shape)
