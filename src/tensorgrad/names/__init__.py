"""Dimensions with names.

>>> images = torch.ones(2, 3, 4, names=("N", "C", "D"))
>>> images.sum("C").names
('N', 'D')
>>> (images @ torch.ones(4, 5, names=("in", "out"))).names
('N', 'C', 'out')

A tensor with names is to the engine what a value of a transform is: its array is a `Named`, which the fast path leaves to the
slow one, so that tensors without names pay nothing. What is where:

    values.py       what a name is, Named, and how a tensor gets and loses its names
    rules.py        from the names of the operands to those of the result: one rule a kind of operation
    table.py        which operation has which rule
    dispatch.py     takes the names off, lets the operation compute, and puts the names of the rule on
    faces.py        functions and methods that take dimensions by name, from the first name on
    methods.py      rename, refine_names, align_to, flatten to a name, and the rest of what only names can do
    einsum.py       contractions, spelled by name
    differentiation.py, transforms.py    names through backward, and through vmap, jvp and Jacobians

An operation that has no rule says so. Names go where tensors go: a gradient has the names of its tensor, a Jacobian those
of both sides, and inside `vmap(f, in_dims="batch")` a row has the other names.
"""

from tensorgrad.names.values import check_names, named, names_of, strip, unify

__all__ = ["check_names", "named", "names_of", "strip", "unify"]
