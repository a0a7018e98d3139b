"""Batched: a tensor inside `vmap`. It looks like one row; its payload holds all rows, the mapped dimension first.

An operation on rows is done once on all of them, by the batching rule of its primitive. Pointwise operations need none:
their operands are only lined up. The other rules are in the files batching_*.py, a line or two each; a family may also give
its own with `batch=` where it declares a primitive. A rule takes

    apply    applies the primitive to tensors (in place, when the operation is in place)
    values   the operands: tensors of all rows where `batched` says so, plain tensors (the same for all rows) otherwise
    batched  a bool for each operand
    params   the parameters, which speak of one row
    size     how many rows there are

and returns the result for all rows, the mapped dimension first. There is no loop over rows anywhere.
"""

import numpy as np

from tensorgrad import spec as specs
from tensorgrad.autograd.modes import mode, state
from tensorgrad.dtypes import FLOAT
from tensorgrad.func.levels import Payload, fresh_like, lifted_spec, record, rewrite
from tensorgrad.ops.fitting import is_number, number_array
from tensorgrad.ops.pointwise import Pointwise
from tensorgrad.ops.primitive import PRIMITIVES, Primitive, wrap
from tensorgrad.tensor import Tensor

ndarray, new = np.ndarray, object.__new__

DATA_DEPENDENT = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that yet, "
    "please file an issue at https://github.com/pytorch/pytorch/issues .\n"
    "Every row of the mapped dimension would go its own way: choose between values with torch.where instead."
)
ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, please "
    "try to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch internals, "
    "please file a bug report.\nThe tensor has a value for each of the {size} rows of the mapped dimension."
)
INPLACE = (
    "vmap: {name}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more "
    "elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over in a vmap. "
    "Please try to use out-of-place operators instead of {name}. If said operator is being called inside the PyTorch "
    "framework, please file a bug report instead."
)
SHAPES = (
    "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::{name}. Please "
    "file an issue at https://github.com/pytorch/pytorch/issues if you need this feature.\n"
    "Each row would have its own number of elements."
)
DYNAMIC = {
    "mask": "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing "
    "with a boolean mask.\nEach row would have its own number of elements: use torch.where instead.",
    "masked_select": "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because "
    "for each batch this would return a differently shaped Tensor. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues if you need this feature.\nUse torch.where instead.",
}
ESCAPED = (
    "Either your tensor may have escaped from inside a function being vmapped and this is a user error (see "
    "https://pytorch.org/functorch/stable/ux_limitations.html), or there is an internal functorch error in `gen_vmap_plumbing` "
    "Please file an issue if it looks like the latter"
)
RANDOM = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness "
    "flags on vmap or perform the randomness operation out of vmap"
)


class Batched(Payload):
    """All rows of a tensor that looks like one of them, or (`batched` false) a tensor that is the same for all rows."""

    __slots__ = ("batched", "inner")

    def apply(self, primitive, inputs, params, inplace=False):
        """Do on all rows what is asked of one."""
        owner = self.owner
        if not owner.alive:
            raise RuntimeError(ESCAPED)
        values, batched, edges, mapped, recorded = [], [], [], False, owner.grads and primitive.view
        for tensor in inputs:
            if isinstance(tensor, Tensor) and type(payload := tensor._array) is Batched and payload.owner is owner:
                values.append(payload.inner)
                batched.append(payload.batched)
                edges.append(node := tensor._node)
                if payload.batched:
                    mapped = True
                if node is not None:
                    recorded = True
            else:
                values.append(tensor)
                batched.append(False)
                edges.append(None)
        if inplace:
            return self.write(primitive, inputs, values, batched, params)
        if mapped:
            result = (primitive.batching or rule_of(primitive))(primitive.apply, values, batched, params, owner.size)
        else:
            result = primitive.apply(tuple(values), params)
        if type(result) is Tensor:
            result = rows(result, owner, mapped)
            if recorded:
                record(owner, primitive, inputs, params, (result,), False, edges)
            return result
        results = tuple(rows(r, owner, mapped) for r in result)
        if recorded:
            record(owner, primitive, inputs, params, results, True, edges)
        return results

    def write(self, primitive, inputs, values, batched, params):
        """The same in place."""
        owner, target = self.owner, inputs[0]
        if not batched[0] and True in batched:
            name = primitive.name if primitive.name in ("fill", "index_put") else None
            raise RuntimeError(INPLACE.format(name=name + "_" if name else "inplace arithmetic"))
        if not isinstance(target._array, Batched) or target._array.owner is not owner:
            become_lifted(target, owner)
            values[0] = target._array.inner

        def write():
            if batched[0]:
                rule_of(primitive)(primitive.rewrite, values, batched, params, owner.size)
            else:
                primitive.rewrite(tuple(values), params)

        return rewrite(owner, primitive, inputs, params, write)

    def pull_elements(self, primitive, edges, g, values, specs):
        """The gradients of an operation on elements, on the numbers of all rows at once; None where that is not all."""
        owner, shape, dtype, arrays = self.owner, g._spec.shape, g._spec.dtype, []
        if owner.recording or mode.special:
            return None
        for value in (g, *values):
            if isinstance(value, Tensor):
                payload = value._array
                if type(payload) is Batched and payload.owner is owner:
                    if payload.batched and value._spec.shape != shape:
                        return None
                    value = payload.inner
                spec = value._spec
                if not spec.plain or spec.dtype is not dtype or (value._node is not None and state.recording):
                    return None
                value = value._array
            arrays.append(value)
        for spec, edge in zip(specs, edges, strict=True):
            if edge is not None and spec.shape != shape:
                return None
        gradients = Primitive.pull(primitive, edges, arrays[0], arrays[1:], None, None)
        return [None if a is None else rows(wrap(a), owner, np.ndim(a) > len(shape)) for a in gradients]

    @staticmethod
    def lift(tensor, owner):
        return rows(tensor, owner, False)

    def plain(self, tensor):
        """The tensor without this payload, where it says nothing."""
        return tensor if self.batched else self.inner

    def viewable(self, shape):
        from tensorgrad.ops.shape import viewable

        return viewable(self.inner._array, (self.owner.size, *shape) if self.batched else shape)

    def detach(self, tensor):
        return rows(self.inner.detach(), self.owner, self.batched)

    def like(self, name, tensor, dtype=None):
        """zeros_like, ones_like, empty_like: memory for every row."""
        import tensorgrad

        return rows(getattr(tensorgrad, name + "_like")(self.inner, dtype=dtype), self.owner, self.batched)

    def fresh(self, make, shape):
        """new_zeros and its relatives: `make(shape)` with memory for every row."""
        shape = (self.owner.size, *shape) if self.batched else shape
        return rows(fresh_like(self.inner, make, shape), self.owner, self.batched)

    def inside(self):
        """The tensors in this payload."""
        return (self.inner,)

    def apply_function(self, function, inputs):
        from tensorgrad.func.custom import batched_function

        return batched_function(self.owner, function, inputs)

    def show(self, tensor):
        text = repr(self.inner.detach()).replace("\n", "\n    ")
        dim = "bdim=0, " if self.batched else ""
        return f"BatchedTensor(lvl={self.owner.depth}, {dim}value=\n    {text}\n)"

    def item(self):
        if not self.batched:
            return self.inner.item()
        raise RuntimeError(ITEM.format(size=self.owner.size))

    def truth(self):
        if not self.batched:
            return bool(self.inner)
        raise RuntimeError(DATA_DEPENDENT)

    def dynamic(self, name):
        if not self.batched:
            return self.inner
        raise RuntimeError(DYNAMIC.get(name) or SHAPES.format(name=name))

    def numpy(self, tensor=None):
        if not self.batched:
            return self.inner.numpy()
        raise self.no_numbers()

    def tolist(self):
        if not self.batched:
            return self.inner.tolist()
        raise self.no_numbers()

    def no_numbers(self):
        return RuntimeError(
            f"{super().no_numbers()}\nThe numbers of a tensor inside vmap belong to all {self.owner.size} rows of the mapped "
            "dimension: return the tensor from the mapped function to see them."
        )


def rows(inner, owner, batched=True):
    """The tensor that looks like one row of `inner` (or like `inner`, the same for all rows)."""
    payload, tensor, known = new(Batched), new(Tensor), inner._spec.variants
    payload.inner, payload.owner, payload.level, payload.batched = inner, owner, owner.number, batched
    spec = known.get("row" if batched else "lifted") if known is not None else None
    if spec is None:
        spec = row_spec(inner._spec) if batched else lifted_spec(inner._spec)
    payload.spec = tensor._spec = spec
    tensor._array = payload
    tensor._node = tensor._alias = None
    return tensor


def row_spec(spec):
    """The Spec of one row of tensors of this Spec."""
    variants = spec.variants
    if variants is None:
        variants = spec.variants = {}
    found = variants.get("row")
    if found is None:
        plain = specs.spec_for(tuple(spec.shape[1:]), spec.dtype)
        found = variants["row"] = plain.variant(transformed=True, inference=spec.inference)
    return found


def all_rows_spec(spec, size):
    """The Spec of `size` rows of tensors of this Spec."""
    return specs.spec_for((size, *spec.shape), spec.dtype)


def become_lifted(tensor, owner):
    """Make a tensor, in place, one of this level that is the same for all rows: it is about to depend on one."""
    from tensorgrad.func.forward import become

    become(tensor, lambda inner: rows(inner, owner, False)._array)


# Rules

RULES = {}  # name of a primitive -> batching rule


def rule(*names):
    """Declare the batching rule of primitives, by name."""

    def declare(function):
        for name in names:
            RULES[name] = function
        return function

    return declare


def rule_of(primitive):
    """The batching rule of a primitive, looked up once."""
    if primitive.batching is not None:
        return primitive.batching
    found = primitive.batch
    if isinstance(found, str):
        found = NAMED[found](primitive)
    if found is None and isinstance(primitive, Pointwise):
        found = pointwise_rule(primitive)
    if found is None:
        load_rules()
        found = RULES.get(primitive.name) or RULES.get(primitive.original)
    if found is None:
        raise NotImplementedError(
            f"vmap: the operation '{primitive.name}' has no batching rule, so it cannot be mapped over a dimension"
        )
    primitive.batching = found
    return found


def load_rules():
    """The rules of the operations that are no pointwise ones."""
    from tensorgrad.func import batching_indexing, batching_linear, batching_reduction, batching_shape  # noqa: F401


# Pointwise operations


def pointwise_rule(primitive):
    """Line up the operands; where all are plain arrays of one dtype, the kernel is called right here."""
    kernel, plain, apply = (
        primitive.kernel,
        primitive.promote != "bool" and primitive.floating and type(primitive) is Pointwise,
        primitive.apply,
    )

    def batch(how, values, batched, params, size):
        here = plain and not mode.special and how == apply
        if len(values) == 2:
            a, b = values
            if type(b) is not Tensor or type(a) is not Tensor:
                if (
                    here
                    and is_number(b)
                    and a._spec.plain
                    and (a._node is None or (mode.quiet and not state.recording))
                ):
                    return wrap(kernel(a._array, number_array(b, a._spec.dtype), *params))
                return how((a, b), params)
            one, other = a._spec, b._spec
            m, n = len(one.shape) - batched[0], len(other.shape) - batched[1]
            if m < n and batched[0]:
                a = padded(a, n)
            elif n < m and batched[1]:
                b = padded(b, m)
            if one.dtype is not other.dtype:
                if (m == 0) != (n == 0):
                    a, b = promoted(primitive, (a, b), (m, n))
            elif (
                here and one.plain and other.plain
                and ((a._node is None and b._node is None) or (mode.quiet and not state.recording))
            ):  # fmt: skip
                try:
                    return wrap(kernel(a._array, b._array, *params))
                except ValueError:
                    pass  # shapes that do not broadcast: told below
            return how((a, b), params)
        if len(values) == 1:
            (a,) = values
            if here and a._spec.plain and (a._node is None or (mode.quiet and not state.recording)):
                return wrap(kernel(a._array, *params))
            return how(values, params)
        ranks = [len(v._spec.shape) - b if isinstance(v, Tensor) else 0 for v, b in zip(values, batched, strict=True)]
        rank = max(ranks)
        lined = [padded(v, rank) if b and r < rank else v for v, b, r in zip(values, batched, ranks, strict=True)]
        dtypes = {v._spec.dtype for v in lined if isinstance(v, Tensor)}
        if len(dtypes) > 1 and 0 in ranks and rank:
            lined = promoted(primitive, lined, ranks)
        return how(tuple(lined), params)

    return batch


def padded(value, rank):
    """All rows, each with dimensions of size 1 in front until it has this many."""
    shape = value._spec.shape
    return VIEW.apply((value,), ((shape[0], *(1,) * (rank + 1 - len(shape)), *shape[1:]),))


def promoted(primitive, values, ranks):
    """Operands of several dtypes in the dtype that one row would be computed in: there a row may be a mere number."""
    samples = [
        v if not isinstance(v, Tensor) else wrap(np.empty((1,) * rank, v._spec.dtype.numpy))
        for v, rank in zip(values, ranks, strict=True)
    ]
    wanted, found = primitive.common_dtype(samples), primitive.common_dtype(values)
    if wanted is found or (primitive.promote == "float" and wanted.category < FLOAT):
        return tuple(values)
    return tuple(
        v.to(wanted) if isinstance(v, Tensor) and word != "condition" else v
        for word, v in zip(primitive.inputs, values, strict=True)
    )


VIEW = PRIMITIVES["unsafe_view"]


# Helpers for rules


def everywhere(value, size):
    """A tensor that is the same for all rows, as all rows (without a copy)."""
    shape = tuple(value._spec.shape)
    return PRIMITIVES["expand"].apply((value,), ((size, *shape),))


def all_batched(values, batched, size):
    """Every operand as all rows."""
    return tuple(
        v if b or not isinstance(v, Tensor) else everywhere(v, size) for v, b in zip(values, batched, strict=True)
    )


def shifted(dim):
    """A dimension (or several, or None) of a row as one of all rows."""
    if isinstance(dim, (tuple, list)):
        return tuple(d + 1 for d in dim)
    return dim + 1


DIM_NAMES = ("dim", "dims", "dim0", "dim1", "dim2")


def over_dims(primitive):
    """The rule of an operation whose parameters called dim, dims, ... count from the front."""
    places = [i for i, name in enumerate(primitive.params) if name in DIM_NAMES]

    def batch(apply, values, batched, params, size):
        moved = list(params)
        for i in places:
            moved[i] = shifted(moved[i])
        values = all_batched(values, batched, size)
        if len(values[0]._spec.shape) > 1 or all(moved[i] == () for i in places):
            return apply(values, tuple(moved))
        wide = tuple(
            PRIMITIVES["view"].apply((v,), ((size, 1),)) if isinstance(v, Tensor) else v for v in values
        )  # rows of one number
        result = apply(wide, tuple(moved))
        return narrow(result, size) if isinstance(result, Tensor) else tuple(narrow(r, size) for r in result)

    return batch


def narrow(value, size):
    return value if len(value._spec.shape) == 1 else VIEW.apply((value,), ((size,),))


def leading(apply, values, batched, params, size):
    """The rule of an operation whose kernel takes leading dimensions as a batch: nothing to do."""
    return apply(all_batched(values, batched, size), params)


def leading_of(*cores):
    """The same for several operands whose leading dimensions broadcast; `cores`: how many dimensions of each are its own."""

    def batch(apply, values, batched, params, size):
        ranks = [
            len(v._spec.shape) - b - core if v is not None else 0
            for v, b, core in zip(values, batched, cores, strict=True)
        ]
        rank = max(ranks)
        lined = [
            padded(v, rank + core) if v is not None and b and r < rank else v
            for v, b, r, core in zip(values, batched, ranks, cores, strict=True)
        ]
        return apply(tuple(lined), params)

    return batch


NAMED = {"leading": lambda primitive: leading, "dims": over_dims}
