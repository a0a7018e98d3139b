"""Dual: a tensor in forward mode. Its payload holds the value and the tangent, how the value moves.

No operation has a second set of formulas for this. The tangent of a pointwise operation is the sum of slope times tangent;
a linear operation is applied to the tangent as it is; one that is linear in each operand, to each operand's tangent in
turn. For the rest, the derivative that every operation has (its pullback) is linear in the gradient it is given, and the
pullback of that linear map is the tangent: exact, at the cost of two small backward passes. Where that costs too much a
declaration brings `pushforward=`, which names by its parameters what it needs: an input, `out`, a parameter, `t` (the
tangent of the only input), `t_a` (that of input a, None where it does not move), `tangents` (all of them).
"""

import numpy as np

from tensorgrad.autograd import modes
from tensorgrad.autograd.views import Alias, Version, follow, replaced, share
from tensorgrad.dtypes import FLOAT
from tensorgrad.func.levels import Level, Payload, lifted_spec, nodes_of, record, rewrite
from tensorgrad.ops.pointwise import Pointwise
from tensorgrad.ops.primitive import piece_of, shallow
from tensorgrad.tensor import Tensor

new = object.__new__


class Dual(Payload):
    """A value and its tangent (None: it does not move)."""

    __slots__ = ("primal", "tangent")
    follows_views = True

    def apply(self, primitive, inputs, params, inplace=False):
        """Do to the values what is asked, and find out how the result moves."""
        owner = self.owner
        primals, tangents, moving = [], [], False
        for tensor in inputs:
            payload = tensor._array if isinstance(tensor, Tensor) else None
            if type(payload) is Dual and payload.owner is owner:
                primals.append(payload.primal)
                tangents.append(payload.tangent)
                moving = moving or payload.tangent is not None
            else:
                primals.append(tensor)
                tangents.append(None)
        if not owner.alive:  # what is left of a dual tensor after its level is its value
            return primitive.rewrite(tuple(primals), params) if inplace else primitive.apply(tuple(primals), params)
        if inplace:
            return self.write(primitive, inputs, primals, tangents, params)
        out = primitive.apply(tuple(primals), params)
        moved = push_forward(primitive, primals, tangents, params, out) if moving else None
        if isinstance(out, Tensor):
            return self.result(primitive, inputs, params, (out,), (moved,), False)[0]
        return self.result(primitive, inputs, params, tuple(out), moved or (None,) * len(out), True)

    def result(self, primitive, inputs, params, outs, moved, several):
        owner = self.owner
        taped = any(node is not None for node in nodes_of(inputs, owner))
        results = tuple(
            dual(out, tangent, owner) if tangent is not None or taped or primitive.view else out
            for out, tangent in zip(outs, moved, strict=True)
        )
        if primitive.view and not owner.grads:  # a write into a view must reach the tangent of its base
            for i, result in enumerate(results):
                step = (piece_of(primitive, i) if several else primitive, params, inputs[0]._spec)
                share(result, inputs[0], step, multiple=several)
        if taped or (primitive.view and owner.grads):
            record(owner, primitive, inputs, params, results, several)
        return results

    def write(self, primitive, inputs, primals, tangents, params):
        """The same in place."""
        owner, target = self.owner, inputs[0]
        if not isinstance(target._array, Dual) or target._array.owner is not owner:
            become(target, lambda inner: dual(inner, None, owner)._array)
            primals[0] = target._array.primal
        moved = None
        if any(t is not None for t in tangents):
            # A copy: what outer levels save of the tangent's making must not change.
            before = (primals[0].clone(), *primals[1:])
            out = primitive.apply(before, params)
            moved = push_forward(primitive, before, tangents, params, out)
            if moved is not None and moved._spec.dtype is not primals[0]._spec.dtype:
                moved = moved.to(primals[0]._spec.dtype)

        def write():
            primitive.rewrite(tuple(primals), params)
            set_tangent(target, moved)

        return rewrite(owner, primitive, inputs, params, write)

    def apply_function(self, function, inputs):
        from tensorgrad.func.custom import dual_function

        return dual_function(self.owner, function, inputs)

    @staticmethod
    def lift(tensor, owner):
        return dual(tensor, None, owner)

    def inside(self):
        """The tensors in this payload."""
        return (self.primal,) if self.tangent is None else (self.primal, self.tangent)

    def plain(self, tensor):
        """The tensor without this payload, where it says nothing."""
        return tensor if self.tangent is not None else self.primal

    def viewable(self, shape):
        from tensorgrad.ops.shape import viewable

        return viewable(self.primal._array, shape)

    def detach(self, tensor):
        return self.primal.detach()

    def dynamic(self, name):
        return self.primal

    def like(self, name, tensor, dtype=None):
        import tensorgrad

        return getattr(tensorgrad, name + "_like")(self.primal, dtype=dtype)

    def fresh(self, make, shape):
        from tensorgrad.func.levels import fresh_like

        return fresh_like(self.primal, make, shape)

    def show(self, tensor):
        text = repr(self.primal)
        if self.tangent is None or not self.owner.alive:
            return text
        tangent = (
            self.tangent.item() if not self.tangent.shape and type(self.tangent._array) is np.ndarray else self.tangent
        )
        tangent = repr(tangent).replace("\n", "\n" + " " * 15)
        return (
            f"{text[:-1]}, tangent={tangent})" if not self.primal.shape else f"{text[:-1]},\n       tangent={tangent})"
        )

    def item(self):
        return self.primal.item()

    def truth(self):
        return bool(self.primal)

    def numpy(self, tensor=None):
        return self.primal.numpy()

    def tolist(self):
        return self.primal.tolist()

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.primal.detach().numpy(), dtype)


def dual(primal, tangent, owner):
    """The tensor of this value and tangent."""
    payload, tensor = new(Dual), new(Tensor)
    payload.primal, payload.tangent, payload.owner, payload.level = primal, tangent, owner, owner.number
    payload.spec = tensor._spec = lifted_spec(primal._spec)
    tensor._array = payload
    tensor._node = tensor._alias = None
    return tensor


def dual_level(kind="dual"):
    """A level of forward mode."""
    return Level(kind, Dual)


# Tangents


def push_forward(primitive, primals, tangents, params, out):
    """The tangent of a result (a tuple of them when there are several), None where it has none."""
    several = not isinstance(out, Tensor)
    if not several and out._spec.dtype.category < FLOAT:
        return None
    for position, tangent in enumerate(tangents):
        if tangent is not None and tangent._spec.dtype.category < FLOAT:
            tangents[position] = None
    if primitive.pushforward is not None:
        return given(primitive, primals, tangents, params, out)
    if isinstance(primitive, Pointwise) and is_slope(primitive, primals):
        return pointwise(primitive, primals, tangents, params, out)
    if primitive.linear:
        return linear(primitive, primals, tangents, params)
    if primitive.multilinear:
        return multilinear(primitive, primals, tangents, params)
    if not primitive.plans or all(plan is None for plan in primitive.plans):
        return None
    return transposed_twice(primitive, primals, tangents, params, out)


def is_slope(primitive, primals):
    """Whether the slopes say all: they do not where a function of complex numbers is not holomorphic."""
    return primitive.holomorphic or not any(isinstance(p, Tensor) and p._spec.dtype.is_complex for p in primals)


def pointwise(primitive, primals, tangents, params, out):
    """The sum of slope times tangent."""
    total, dtype, values = None, out._spec.dtype, None
    for slope, tangent in zip(primitive.slopes or (), tangents, strict=False):
        if tangent is None or slope is None:
            continue
        if values is None:
            values = dict(zip(primitive.inputs + primitive.params, (*primals, *params), strict=True), y=out, out=out)
        words = slope.__code__.co_varnames[: slope.__code__.co_argcount]
        factor = slope(*[values[word] for word in words])
        if tangent._spec.dtype is not dtype:
            tangent = tangent.to(dtype)
        part = tangent if type(factor) is int and factor == 1 else tangent * factor
        total = part if total is None else total + part
    if total is None:
        return None
    if total._spec.dtype is not dtype:
        total = total.to(dtype)
    return total if total._spec.shape == out._spec.shape else total.expand(out._spec.shape)


def linear(primitive, primals, tangents, params):
    """The operation itself, on the tangents: what moves not contributes zeros, and indices stay what they are."""
    moved = list(primals) if primitive.rules else [
        t.new_zeros(t._spec.shape) if isinstance(t, Tensor) and t._spec.dtype.category >= FLOAT else t for t in primals
    ]  # fmt: skip
    for position, tangent in enumerate(tangents):
        if tangent is not None:
            moved[position] = tangent
    return primitive.apply(tuple(moved), params)


def multilinear(primitive, primals, tangents, params):
    """The sum over operands of the operation with that operand's tangent in its place."""
    total = None
    for position, tangent in enumerate(tangents):
        if tangent is not None:
            part = primitive.apply((*primals[:position], tangent, *primals[position + 1 :]), params)
            total = part if total is None else total + part
    return total


def given(primitive, primals, tangents, params, out):
    """By the rule that the declaration brings."""
    rule = primitive.pushforward
    values = dict(zip(primitive.params, params, strict=True))
    values.update(out=out, y=out, tangents=tuple(tangents), tensors=tuple(primals), t=tangents[0])
    if primitive.arity is not None:
        values.update(zip(primitive.inputs, primals, strict=True))
        values.update(("t_" + name, t) for name, t in zip(primitive.inputs, tangents, strict=True))
    return rule(*[values[word] for word in rule.__code__.co_varnames[: rule.__code__.co_argcount]])


def transposed_twice(primitive, primals, tangents, params, out):
    """By way of the pullback: it is linear in the gradient that it is given, and its own pullback is the tangent."""
    from tensorgrad.func.reverse import pull, rooted_together

    several = not isinstance(out, Tensor)
    places = [i for i, t in enumerate(tangents) if t is not None]
    with modes.enable_grad():
        (*roots,) = rooted_together([primals[i] for i in places], primals)
        operands = list(primals)
        for i, root in zip(places, roots, strict=True):
            operands[i] = root
        again = primitive.apply(tuple(operands), params)
        outs = list(again) if several else [again]
        differentiable = [o for o in outs if o._node is not None]
        if not differentiable:
            return None
        probes = rooted_together([o.new_zeros(o._spec.shape) for o in differentiable], [*primals, *differentiable])
        gradients = pull(differentiable, roots, probes, create=True)
        pairs = [
            (g, tangents[i]) for g, i in zip(gradients, places, strict=True) if g is not None and g._node is not None
        ]
    moved = pull([g for g, _ in pairs], probes, [t for _, t in pairs]) if pairs else [None] * len(probes)
    moved = [o.new_zeros(o._spec.shape) if m is None else m for m, o in zip(moved, differentiable, strict=True)]
    if not several:
        return moved[0]
    rest = iter(moved)
    return tuple(next(rest) if o._node is not None else None for o in outs)


# Writing in place


def become(tensor, make):
    """Turn a plain tensor into a value of a transform, in place, with its base and all views of it.

    make(inner) gives the payload around a tensor that takes over array, graph and memory of the old one.
    """
    alias = tensor._alias
    base = tensor if alias is None or alias.base is None else alias.base
    family = [base]
    if alias is not None:
        family += [
            v
            for v in (ref() for ref in alias.version.views)
            if v is not None and v is not base and v._alias.base is base
        ]
    version, inner_base = Version(), None
    for member in family:
        inner, old = shallow(member), member._alias
        if member is base:
            inner_base = inner
            inner._alias = None if old is None else Alias(old.version)
            member._alias = Alias(version)
        else:
            inner._alias = Alias(old.version, inner_base, old.steps, old.creation)
            old.version.add_view(inner)
            member._alias = Alias(version, base, old.steps, old.creation)
            version.add_view(member)
        member._array = make(inner)
        member._spec, member._node = member._array.spec, None


def set_tangent(target, tangent):
    """Give a tensor that was written to its new tangent, and its base and all views of that theirs."""
    alias = target._alias
    base = target if alias is None or alias.base is None else alias.base
    views = [] if alias is None else [v for v in (ref() for ref in alias.version.views) if v is not None]
    if base is target:
        whole = tangent
    else:
        whole = base._array.tangent
        if whole is None and tangent is None:
            return
        primal = base._array.primal
        whole = primal.new_zeros(primal._spec.shape) if whole is None else whole
        part = follow(alias.steps, whole) * 0 if tangent is None else tangent
        whole = replaced(alias.steps, whole, part)
    base._array.tangent = whole
    for view in views:
        if view._alias.base is base and isinstance(view._array, Dual):
            view._array.tangent = None if whole is None else follow(view._alias.steps, whole)
