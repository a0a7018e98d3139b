"""Rewriting a graph of Values so that less has to be done: results are computed in the order in which they will lie."""

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
