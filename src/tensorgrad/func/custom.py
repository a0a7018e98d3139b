"""`autograd.Function` inside transforms: its own vmap rule or one made from its methods, and its jvp.

On the tape of a level a Function is recorded as outside, with its own backward. What differs is how its outputs are
computed from the tensors inside the payloads, where graphs of outer gradients may be.
"""

from typing import NamedTuple

from tensorgrad.autograd.function import Function
from tensorgrad.func.batching import ESCAPED, Batched, everywhere, rows
from tensorgrad.func.forward import Dual, dual
from tensorgrad.func.levels import Level, Payload, entered, nodes_of
from tensorgrad.tensor import Tensor

NO_CONTEXT = (
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override the "
    "setup_context staticmethod. For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"
)
NO_RULE = (
    "You tried to vmap over {name}, but it does not have vmap support. Please override and implement the vmap staticmethod "
    "or set generate_vmap_rule=True. For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"
)


class VmapInfo(NamedTuple):
    """What the `vmap` staticmethod of a Function is told: how many rows there are, and how to draw random numbers."""

    batch_size: int
    randomness: str


def on_tape(owner, function, inputs, compute):
    """(outputs, ctx) of a Function on the tape of a level."""
    edges = tuple(nodes_of(inputs, owner))
    if function.setup_context is Function.setup_context and any(edge is not None for edge in edges):
        raise RuntimeError(NO_CONTEXT)
    recording = owner.recording
    results = compute()
    if all(edge is None for edge in edges) or not recording:
        return results, None
    owner.recording = False  # what setup_context does is no part of the graph
    try:
        return function.run(inputs, {}, edges, lambda: results)
    finally:
        owner.recording = recording


# vmap


def batched_function(owner, function, inputs):
    """Apply a Function to rows."""
    if not owner.alive:
        raise RuntimeError(ESCAPED)
    values, batched = [], []
    for value in inputs:
        payload = value._array if isinstance(value, Tensor) else None
        mine = isinstance(payload, Batched) and payload.owner is owner
        values.append(payload.inner if mine else value)
        batched.append(mine and payload.batched)

    def compute():
        if not any(batched):
            return lifted(function.apply(*values), lambda out: rows(out, owner, False))
        if function.vmap is not Function.vmap:
            if function.generate_vmap_rule:
                raise RuntimeError(
                    f"You tried to vmap over {function.__name__}, but it has both generate_vmap_rule=True and an overridden "
                    "vmap staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to "
                    "avoid ambiguity."
                )
            return by_own_rule(owner, function, values, batched)
        if not function.generate_vmap_rule:
            raise RuntimeError(NO_RULE.format(name=function.__name__))
        if function.setup_context is Function.setup_context:
            raise RuntimeError(NO_CONTEXT)
        return lifted(mapped(function, owner, tuple(batched)).apply(*values), lambda out: rows(out, owner))

    return on_tape(owner, function, inputs, compute)[0]


def lifted(outputs, lift):
    if isinstance(outputs, tuple):
        return tuple(lift(out) if isinstance(out, Tensor) else out for out in outputs)
    return lift(outputs) if isinstance(outputs, Tensor) else outputs


def by_own_rule(owner, function, values, batched):
    from tensorgrad.func.vmap import to_front

    info = VmapInfo(owner.size, owner.randomness)
    returned = function.vmap(info, tuple(0 if b else None for b in batched), *values)
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise RuntimeError(
            f"Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible "
            f"with the output: {function.__name__}.vmap returned {type(returned).__name__}."
        )
    outputs, dims = returned
    if not isinstance(outputs, tuple):
        dims = dims[0] if isinstance(dims, tuple) else dims
        return rows(outputs if dims is None else to_front(outputs, dims % outputs.dim()), owner, dims is not None)
    dims = dims if isinstance(dims, tuple) else (dims,) * len(outputs)
    return tuple(
        out if not isinstance(out, Tensor) else rows(out if d is None else to_front(out, d % out.dim()), owner, d is not None)
        for out, d in zip(outputs, dims, strict=True)
    )  # fmt: skip


def mapped(function, owner, batched):
    """The Function that does to all rows what `function` does to one: its methods run on rows, each in a level of its own."""
    size = owner.size

    def fresh():
        return entered(Level("vmap", Batched, size, owner.randomness))

    def whole(value, level):
        """All rows of a tensor as seen inside a level."""
        payload = value._array if isinstance(value, Tensor) else None
        if isinstance(payload, Batched) and payload.owner is level:
            return payload.inner if payload.batched else everywhere(payload.inner, size)
        return everywhere(value, size) if isinstance(value, Tensor) else value

    def one(values, level, flags=None):
        """Tensors as one row sees them."""
        flags = (True,) * len(values) if flags is None else flags
        return tuple(rows(v, level, b) if isinstance(v, Tensor) else v for v, b in zip(values, flags, strict=True))

    def run(method, ctx, values, flags=None):
        with fresh() as level:
            seen = ctx.seen.opened(ctx, lambda saved: one(saved, level))
            results = method(seen, *one(values, level, flags))
            results = results if isinstance(results, tuple) else (results,)
            return tuple(None if r is None else whole(r, level) for r in results)

    class Mapped(Function):
        @staticmethod
        def forward(*values):
            with fresh() as level:
                return lifted(function.forward(*one(values, level, batched)), lambda out: whole(out, level))

        @staticmethod
        def setup_context(ctx, inputs, output):
            with fresh() as level:
                ctx.seen = RowsContext(ctx, lambda value: whole(value, level))
                seen_output = one(output, level) if isinstance(output, tuple) else one((output,), level)[0]
                function.setup_context(ctx.seen, one(inputs, level, batched), seen_output)
                ctx.seen.__dict__.update(_ctx=None)  # no cycle: it is handed in again when it is used

        @staticmethod
        def backward(ctx, *gradients):
            results = run(function.backward, ctx, gradients)
            return tuple(None if r is None else r if b else r.sum(0) for r, b in zip(results, batched, strict=True))

        @staticmethod
        def jvp(ctx, *tangents):
            moved = run(function.jvp, ctx, tangents, batched)
            return moved if len(moved) > 1 else moved[0]

    Mapped.__name__ = Mapped.__qualname__ = f"Vmapped{function.__name__}"
    return Mapped


class RowsContext:
    """The ctx that a Function's methods see while they run on rows: what they save is kept as all rows."""

    def __init__(self, ctx, whole):
        self.__dict__.update(_ctx=ctx, _whole=whole, _rows=None)

    def opened(self, ctx, as_rows):
        """The same for reading, in another level."""
        twin = RowsContext(ctx, None)
        twin.__dict__.update({**self.__dict__, "_ctx": ctx, "_rows": as_rows})
        return twin

    def save_for_backward(self, *tensors):
        self._ctx.save_for_backward(*[self._whole(t) for t in tensors])

    def save_for_forward(self, *tensors):
        self._ctx.save_for_forward(*[self._whole(t) for t in tensors])

    def mark_non_differentiable(self, *tensors):
        self._ctx.mark_non_differentiable(*[self._whole(t) for t in tensors])

    def set_materialize_grads(self, value):
        self._ctx.set_materialize_grads(value)

    @property
    def saved_tensors(self):
        return self._rows(self._ctx.saved_tensors)

    @property
    def needs_input_grad(self):
        return self._ctx.needs_input_grad


# Forward mode


def dual_function(owner, function, inputs):
    """Apply a Function to dual tensors, by its jvp."""
    primals, tangents = [], []
    for value in inputs:
        payload = value._array if isinstance(value, Tensor) else None
        mine = isinstance(payload, Dual) and payload.owner is owner
        primals.append(payload.primal if mine else value)
        tangents.append(payload.tangent if mine else None)
    moving = owner.alive and any(t is not None for t in tangents)

    def compute():
        if not moving:
            return lifted(function.apply(*primals), lambda out: dual(out, None, owner))
        outputs, ctx = with_context(function, primals)
        if ctx.materialize_grads:
            given = [
                p.new_zeros(p.shape) if t is None and isinstance(p, Tensor) else t for p, t in zip(primals, tangents, strict=True)
            ]  # fmt: skip
        else:
            given = tangents
        ctx.moving = True
        try:
            moved = function.jvp(ctx, *given)
        finally:
            ctx.moving = False
        if not isinstance(outputs, tuple):
            return dual(outputs, checked_tangent(outputs, moved[0] if isinstance(moved, tuple) else moved), owner)
        moved = moved if isinstance(moved, tuple) else (moved,)
        if len(moved) != len(outputs):
            raise RuntimeError(
                f"{function.__name__}.jvp returned an incorrect number of tangents (expected {len(outputs)}, got {len(moved)})"
            )
        return tuple(
            dual(out, checked_tangent(out, t), owner) if isinstance(out, Tensor) else out
            for out, t in zip(outputs, moved, strict=True)
        )

    return on_tape(owner, function, inputs, compute)[0]


def with_context(function, primals):
    """(outputs, ctx) of a Function on what may be values of other transforms."""
    payloads = [v._array for v in primals if isinstance(v, Tensor) and isinstance(v._array, Payload)]
    if not payloads:
        return function.run(tuple(primals), {})
    if function.setup_context is Function.setup_context:
        raise RuntimeError(NO_CONTEXT)
    outputs = function.apply(*primals)
    ctx = function._backward_cls()
    ctx.needs_input_grad = (False,) * len(primals)
    function.setup_context(ctx, tuple(primals), outputs)
    return outputs, ctx


def checked_tangent(out, tangent):
    if tangent is None:
        return None
    if not isinstance(tangent, Tensor):
        raise RuntimeError(f"expected Variable or None (got {type(tangent).__name__})")
    if tangent._spec.shape != out._spec.shape:
        raise RuntimeError(
            f"jvp returned a tangent of size {list(tangent.shape)} for an output of size {list(out.shape)}: they must be the same"
        )
    return tangent
