"""Dimensions with names.

>>> images = torch.ones(2, 3, 4, names=("N", "C", "D"))
>>> images.sum("C").names
('N', 'D')
>>> (images @ torch.ones(4, 5, names=("in", "out"))).names
('N', 'C', 'out')

The names of a tensor are part of its Spec (spec.py): a Spec with names is another one than without, and never takes the fast
path, so that tensors without names pay nothing. What is where:

    values.py     what a name is; a tensor with names, and the same without
    rules.py      from the names of the operands to those of the result: one rule a kind of operation
    dispatch.py   takes the names off, lets the operation compute, and puts the names of the rule on
    methods.py    rename, refine_names, align_to, flatten to a name, and the rest of what only names can do

An operation that has no rule says so. Names go where tensors go: a gradient has the names of its tensor, a Jacobian those
of both sides, and inside `vmap(f, in_dims="batch")` a row has the other names.
"""

from tensorgrad.names.values import named, names_of, strip, unify

__all__ = ["named", "names_of", "strip", "unify"]
