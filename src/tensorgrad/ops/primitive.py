"""How an operation is declared: its kernel on arrays and its derivative, side by side, once.

    exp    = unary("exp", np.exp, slope=lambda y: y)                  pointwise: dy = slope * dx
    mul    = binary("mul", np.multiply, slopes=(lambda b: b, lambda a: a))
    _sum   = Primitive("sum", kernel, transpose=lambda g, x, dim, keepdim: ...)         linear
    matmul = Primitive("matmul", np.matmul, rules={"a": lambda g, b: ..., "b": lambda g, a: ...})      bilinear
    svd    = Primitive("svd", kernel, pullback=lambda g, out, ...: ..., on_tensors=True)     anything else

A rule says by the names of its parameters what it needs saved: `g` is the gradient that arrives; an input of the kernel
by its name; `x` and `y` (unary), `a`, `b` and `out`; `x_spec` only the shape and dtype of input x; any parameter of the
kernel; `wanted`, for which inputs a gradient is asked. Nothing else is kept.

Rules run on bare arrays in a plain backward pass and on Tensors when that pass is recorded, so they are written in
operators and in `xp`, whose functions take both. With `on_tensors=True` a rule always gets Tensors.
"""

import numpy as np

from tensorgrad.autograd.graph import Node, Pick, tick
from tensorgrad.autograd.modes import mode, state
from tensorgrad.autograd.views import BrokenView, alias_of, check_inplace, check_saved, overwritten, rebase, share
from tensorgrad.dtypes import FLOAT
from tensorgrad.ops import fitting
from tensorgrad.ops.fitting import check_writable, fit_array, fit_tensor
from tensorgrad.spec import known_specs, spec_of

ndarray, new = np.ndarray, object.__new__
Tensor = None  # set by tensorgrad.tensor, whose class is built of the mixins that use this file
PRIMITIVES = {}  # name -> Primitive: what transforms, the compiler and the curious look up


def wrap(array):
    """A Tensor around an array; a NumPy scalar becomes a 0-d array."""
    if type(array) is not ndarray:
        array = np.asarray(array) if not hasattr(array, "spec") else array
    tensor = new(Tensor)
    tensor._array = array
    tensor._spec = spec_of(array) if type(array) is ndarray else array.spec
    tensor._node = tensor._alias = None
    return tensor


def recording():
    """Whether this thread records operations."""
    return not mode.quiet or state.recording


class Primitive:
    """An operation that knows its own derivative.

    kernel(*arrays, *params) computes on bare arrays; the first `arity` names of its signature are the tensors
    (`arity=None`: the operation takes a tuple of tensors). The derivative is one of: rules (input name -> rule),
    transpose (the rule of a linear operation in one input, whose own name then means its Spec), or pullback (returns
    the gradients of all inputs). view: the result shares memory. mutates: the kernel writes into its first array.
    """

    def __init__(self, name, kernel, *, rules=None, transpose=None, pullback=None, arity=1, params=None, inputs=None,
                 node=None, on_tensors=False, fit=False, view=False, mutates=False, fresh=False, passes=False, count=None,
                 integer_outputs=(), pushforward=None, batch=None, linear=None, multilinear=False, rest_from=1,
                 shown=None, uses=None):  # fmt: skip
        code = getattr(kernel, "__code__", None)
        names = code.co_varnames[: code.co_argcount] if code else ()
        self.name, self.kernel, self.arity = name, kernel, arity
        self.original = name  # a variant keeps it
        self.inputs = inputs or (names[:arity] if arity is not None else ("tensors",))
        self.params = params if params is not None else (names[arity:] if arity is not None else names[1:])
        self.linear = transpose is not None if linear is None else linear
        if transpose is not None:
            rules = {self.inputs[0]: transpose}
        self.rules, self.pullback, self.on_tensors, self.fit = rules, pullback, on_tensors, fit
        self.view, self.mutates, self.count, self.integer_outputs = view, mutates, count, integer_outputs
        self.pushforward, self.batch, self.multilinear = pushforward, batch, multilinear
        self.node_name = node or "".join(part.capitalize() for part in name.split("_")) + "Backward0"
        self.fresh, self.passes = fresh, passes  # only what says so: a rule may hand `g` on, or a view of it
        self.rest_from, self._class, self._saver = rest_from, None, None
        self.batching = None  # the rule of vmap, looked up when it is first needed
        self.uses = uses  # of several outputs, those that the rules read: the others are not kept, and may be changed
        self.shown = shown or {}  # input or parameter -> the name that `_saved_NAME` shows it under
        self.plan()
        PRIMITIVES[name] = self

    def variant(self, name, node):
        """The same operation under another node name: PyTorch numbers the overloads of a function."""
        twin = new(type(self))
        twin.__dict__.update(self.__dict__)
        twin.name, twin.node_name, twin._class, twin.batching = name, node, None, None
        PRIMITIVES[name] = twin
        return twin

    def plan(self):
        """From the names of the rules' parameters: what to save, and which saved values each rule takes."""
        if self.pullback is not None:
            rules = [self.pullback]
        else:
            rules = [(self.rules or {}).get(name) for name in self.inputs]
        needs = []  # (kind, key, positions of the inputs whose gradient needs it)
        self.plans = []  # per rule: (rule, indexes into the saved values)
        for position, rule in enumerate(rules):
            if rule is None:
                self.plans.append(None)
                continue
            takes = []
            words = getattr(rule, "words", None)  # a rule made of a slope says its own
            for word in rule.__code__.co_varnames[1 : rule.__code__.co_argcount] if words is None else words:
                kind = self.kind_of(word)
                index = next((i for i, (known, _) in enumerate(needs) if known == kind), len(needs))
                if index == len(needs):
                    needs.append((kind, set()))
                needs[index][1].add(position)
                takes.append(index)
            self.plans.append((rule, tuple(takes)))
        if not any(self.plans):
            self.plans = []
        self.needs = [(*kind, tuple(users)) for kind, users in needs]
        self.saves_input = any(kind == "input" and key == 0 for kind, key, _ in self.needs)
        self.saves_output = any(kind == "output" for kind, _, _ in self.needs)
        self.opens = tuple(i for i, need in enumerate(self.needs) if need[0] in ("input", "output", "rest"))

    def kind_of(self, word):
        """What a rule's parameter name means."""
        if word in ("out", "y") and word not in self.inputs and word not in self.params:
            return "output", 0
        if word in self.inputs:
            return ("spec" if self.linear else "input"), self.inputs.index(word)
        if word.endswith("_spec") and word[:-5] in self.inputs:
            return "spec", self.inputs.index(word[:-5])
        if word in self.params:
            return "param", self.params.index(word)
        if word == "wanted" or (self.arity is None and word in ("specs", "rest")):
            return word, 0
        raise TypeError(f"a rule of {self.name} asks for '{word}', which is neither an input nor a parameter")

    @property
    def node_class(self):
        if self._class is None:
            members = {
                "__slots__": ("count",) if self.count else (),
                "primitive": self,
                "fresh": self.fresh,
                "passes": self.passes,
                "saved_names": {},
            }
            for position, (kind, key, _) in enumerate(self.needs):
                if kind == "input":
                    name = self.inputs[key]
                    word = self.shown.get(name) or {"x": "self", "a": "self", "b": "other"}.get(name, name)
                else:
                    word = {"output": "result", "param": self.params[key] if kind == "param" else ""}.get(kind)
                    word = self.shown.get(word, word)
                if word:
                    members["saved_names"][word] = position
            if self.saves_output:
                members["saved_outputs"] = tuple(range(8)) if self.uses is None else self.uses
            members["frees"] = any(kind in ("input", "output", "rest") for kind, _, _ in self.needs)
            self._class = type(self.node_name, (PrimitiveNode,), members)
        return self._class

    # Applying

    def __call__(self, *args):
        arity = self.arity
        if arity == 1 and not mode.special:
            return self.apply_one(args[:1], args[1:])
        if arity is None:
            return self.apply(tuple(args[0]), args[1:])
        return self.apply(args[:arity], args[arity:])

    def apply(self, inputs, params, most=None):
        """Compute, and record when an input requires a gradient. most: of several results no more are asked for."""
        if self.arity == 1 and not mode.special:
            return self.apply_one(inputs, params)
        arrays, edges, recorded = [], [], False
        for tensor in inputs:
            if tensor is None:
                arrays.append(None)
                edges.append(None)
                continue
            array, edge = tensor._array, tensor._node
            if type(array) is not ndarray:
                return transformed(self, inputs, params)
            arrays.append(array)
            edges.append(edge)
            if edge is not None:
                recorded = True
        if mode.special:
            intercepted = intercept(self, inputs, params)
            if intercepted is not None:
                return intercepted
        out = self.kernel(arrays, *params) if self.arity is None else self.kernel(*arrays, *params)
        return self.finish(inputs, params, edges, recorded, out, most)

    def apply_one(self, inputs, params):
        """The same for one input, while nothing special is on."""
        (x,) = inputs
        array, edge = x._array, x._node
        if type(array) is not ndarray:
            return array.apply(self, inputs, params)
        return self.finish(inputs, params, (edge,), edge is not None, self.kernel(array, *params))

    def finish(self, inputs, params, edges, recorded, out, most=None):
        """What the kernel computed, as Tensors that hang on a node if any input does."""
        recorded = recorded and bool(self.plans) and (not mode.quiet or state.recording)
        if type(out) is not ndarray:
            if type(out) is tuple or type(out) is list:
                return self.finish_several(inputs, params, edges, recorded, out, most)
            out = np.asarray(out)
        result = new(Tensor)
        result._array, result._node, result._alias = out, None, None
        result._spec = spec = known_specs.get((out.shape, out.dtype)) or spec_of(out)
        if self.view:
            share(result, inputs[0], (self, params, inputs[0]._spec))
        if recorded and spec.dtype.category >= FLOAT:
            result._node = self.record(inputs, params, edges, out)
        return result if not mode.special else settled(result)

    def finish_several(self, inputs, params, edges, recorded, out, most=None):
        """The results of an operation with several outputs: each hangs on a Pick of the one node."""
        results = [wrap(o) for o in out[:most]]
        if self.view:
            for i, result in enumerate(results):
                share(result, inputs[0], (piece_of(self, i), params, inputs[0]._spec), multiple=True)
        if recorded:
            node = self.record(inputs, params, edges, tuple(out))
            node.count = len(out)
            for i, result in enumerate(results):
                if result._spec.dtype.category >= FLOAT:
                    result._node = Pick(node, i)
        return tuple(results) if not mode.special else tuple(settled(r) for r in results)

    def record(self, inputs, params, edges, out):
        """The node of this application: its edges, and what its rules need."""
        node = new(self._class or self.node_class)
        node.seq, node.edges, node.extra = tick(), tuple(edges), None
        node.saved = (self._saver or self.saver())(inputs, params, edges, out)
        if mode.careful:
            check_recorded(node)
        if mode.special:
            fitting.on_record(node)
        return node

    def shown_edges(self, edges):
        """Those of the inputs that can have a gradient at all: not of a mask, nor of a number that stands for a tensor."""
        if self.name.endswith(".number"):
            return tuple([edge for edge in edges if edge is not None])
        if self.pullback is not None or len(self.plans) != len(edges):
            return edges
        return tuple(
            [edge for edge, plan in zip(edges, self.plans, strict=True) if plan is not None or edge is not None]
        )

    def saver(self):
        """The function (inputs, params, edges, out) -> saved values: `needs` written as one expression and compiled."""
        terms, outputs = [], "out"
        if self.uses is not None:
            outputs = "".join(f"out[{i}], " if i in self.uses else "None, " for i in range(max(self.uses) + 1))
        for kind, key, users in self.needs:
            if kind == "input":
                asked = " or ".join(f"edges[{user}] is not None" for user in users)
                needed = self.arity == 1 or self.pullback is not None
                terms.append(f"inputs[{key}]" if needed else f"inputs[{key}] if {asked} else None")
            else:
                terms.append(
                    {
                        "param": f"params[{key}]",
                        "output": outputs if self.uses is None else f"({outputs})",
                        "spec": f"None if inputs[{key}] is None else inputs[{key}]._spec",
                        "wanted": "tuple([edge is not None for edge in edges])",
                        "specs": "tuple([None if t is None else t._spec for t in inputs])",
                        "rest": f"Several(inputs[{self.rest_from}:])",  # what chooses places, not what is moved
                    }[kind]
                )
        if self.fit:
            terms.append("tuple([getattr(t, '_spec', None) for t in inputs])")
        source = f"lambda inputs, params, edges, out: ({''.join(term + ', ' for term in terms)})"
        self._saver = eval(source, {"Several": Several})
        return self._saver

    def inplace(self, inputs, params, compute=None):
        """Write the result into the first input, and rewrite its history."""
        target = inputs[0]
        if mode.special:
            for writer in fitting.writers:
                if writer(self, inputs, params):
                    return target
        if type(target._array) is not ndarray or any(
            isinstance(t, Tensor) and type(t._array) is not ndarray for t in inputs
        ):
            return transformed(self, inputs, params, inplace=True)
        edges = [t._node if isinstance(t, Tensor) else None for t in inputs]
        recorded = recording() and any(edge is not None for edge in edges) and target._spec.dtype.category >= FLOAT
        check_inplace(target, recorded)
        check_writable(target, inputs[1:])
        old = target
        if recorded and self.saves_input:
            old = shallow(target)
            old._array = target._array.copy()
        arrays = [t._array if isinstance(t, Tensor) else t for t in inputs]
        if compute is None and self.arity is None:
            self.kernel(arrays, *params, True)
        elif self.mutates:
            self.kernel(*arrays, *params, True)
        else:
            out = self.kernel(*arrays, *params) if compute is None else compute()
            fitting.check_result(target, out)
            if out is not target._array:
                np.copyto(target._array, out, casting="unsafe")
        alias_of(target).version.bump()
        if recorded:
            output = target._array if self.saves_output else None
            others = [overwritten(t) if shares_memory(t, target) else t for t in inputs[1:]]
            rebase(target, self.record((old, *others), params, edges, output))
        return target

    def rewrite(self, inputs, params):
        """The in-place form, as a transform asks for it."""
        return self.inplace(inputs, params)

    def recorder(self, inputs):
        """The variant of this primitive whose node an application to these operands gets."""
        return self

    # The derivative

    def pull(self, edges, g, values, specs, fit):
        """The gradients of the inputs, given the saved values as arrays or as Tensors."""
        if self.pullback is not None:
            rule, takes = self.plans[0]
            gradients = rule(g, *[values[i] for i in takes])
            return gradients if isinstance(gradients, (tuple, list)) else (gradients,)
        gradients = []
        for position, edge in enumerate(edges):
            plan = self.plans[position]
            if edge is None or plan is None:
                gradients.append(None)
                continue
            rule, takes = plan
            gradient = rule(g, *[values[i] for i in takes])
            if fit is not None and gradient is not None:
                gradient = fit(gradient, specs[position])
            gradients.append(gradient)
        return gradients

    # As steps of a view (autograd.views)

    def on(self, value, params):
        """Apply to an array or to a Tensor."""
        return self.kernel(value, *params) if type(value) is ndarray else self.apply((value,), params)

    def transposed(self, g, spec, params):
        """The gradient of a linear view's input from the gradient of its output."""
        rule, takes = self.plans[0]
        values = []
        for i in takes:
            kind, key, _ = self.needs[i]
            values.append(spec if kind == "spec" else params[key])
        return rule(g, *values)

    def __repr__(self):
        return f"<primitive {self.name}>"


class piece_of:
    """One output of a view operation with several (split, unbind), as a step from a base to a view."""

    def __init__(self, primitive, index):
        self.primitive, self.index = primitive, index

    def on(self, value, params):
        return self.primitive.on(value, params)[self.index]

    def transposed(self, g, spec, params):
        parts = list(self.primitive.on(np.empty(spec.shape, np.bool_), params))
        return self.primitive.transposed([g if i == self.index else None for i in range(len(parts))], spec, params)


class Several(tuple):
    """Several saved inputs of an operation that takes any number."""

    __slots__ = ()


class PrimitiveNode(Node):
    """The node of a Primitive's application."""

    __slots__ = ()
    primitive = None

    def backward(self, g, saved):
        primitive = self.primitive
        if primitive.on_tensors:
            g = [None if p is None else wrap(p) for p in g] if type(g) is list else wrap(g)
            out = self.backward_tensors(g, saved)
            return tuple(None if t is None else t._array for t in out)
        values = list(saved)
        for position in primitive.opens:
            value = values[position]
            if isinstance(value, Tensor):
                if value._alias is not None:
                    check_saved(value, self)
                values[position] = value._array
            elif isinstance(value, fitting.Packed):
                values[position] = value.unpacked(self)._array
            elif type(value) is Several:
                values[position] = tuple([None if t is None else (check_saved(t, self), t._array)[1] for t in value])
        if primitive.fit:
            specs = values.pop()
            return primitive.pull(self.edges, g, values, specs, fit_array)
        return primitive.pull(self.edges, g, values, None, None)

    def backward_tensors(self, g, saved):
        primitive, values = self.primitive, []
        for position, value in enumerate(saved):
            if isinstance(value, Tensor):
                check_saved(value, self)
            elif isinstance(value, fitting.Packed):
                value = value.unpacked(self)
            elif position < len(primitive.needs) and primitive.needs[position][0] == "output" and value is not None:
                value = self.output(value)
            values.append(value)
        if primitive.fit:
            specs = values.pop()
            return primitive.pull(self.edges, g, values, specs, fit_tensor)
        return primitive.pull(self.edges, g, values, None, None)

    def output(self, value):
        """A saved output as a Tensor that is part of the graph again."""
        if type(value) is tuple:
            parts = []
            for index, array in enumerate(value):
                if array is None:
                    parts.append(None)
                    continue
                part = wrap(array)
                part._node = Pick(self, index) if part._spec.dtype.category >= FLOAT else None
                parts.append(part)
            return tuple(parts)
        result = wrap(value)
        result._node = self
        return result

    def show_saved(self, position):
        """A saved value for a curious user."""
        value = self.saved[position]
        if isinstance(value, fitting.Packed):
            return value.unpacked(self)
        if isinstance(value, Tensor):
            check_saved(value, self)
            return value
        if type(value) is ndarray:
            return self.output(value)
        return value


def transformed(primitive, inputs, params, inplace=False):
    """Hand an operation to the innermost transform among its operands (their payload with the highest level)."""
    if mode.special and not inplace and (cast := fitting.autocast(primitive, inputs, params)) is not None:
        return cast
    top = None
    for tensor in inputs:
        if isinstance(tensor, Tensor):
            payload = tensor._array
            if type(payload) is not ndarray and (top is None or payload.level > top.level):
                top = payload
    return top.apply(primitive, inputs, params, inplace=inplace)


def intercept(primitive, inputs, params):
    """While `mode.special`: let autocast or tracing take an operation (they replace this in `fitting.interceptors`)."""
    for interceptor in fitting.interceptors:
        result = interceptor(primitive, inputs, params)
        if result is not None:
            return result
    return None


def settled(result):
    """A result made while `mode.special`: inference tensors are marked, but a view is what its base is."""
    if state.inference and result._node is None:
        base = result._alias.base if result._alias is not None else None
        if base is None or base._spec.inference:
            result._spec = result._spec.variant(inference=True)
    return result


def check_recorded(node):
    """Raise for what must not be recorded: saved inference tensors, and views broken by a write to their base."""
    for edge in node.edges:
        if type(edge) is BrokenView:
            edge.backward()
    for value in node.saved:
        if isinstance(value, Tensor) and value._spec.inference:
            raise RuntimeError(fitting.INFERENCE_SAVED)


def shares_memory(value, target):
    """Whether an operand of an in-place operation lies in the memory that was written."""
    if value is target:
        return True
    return (
        isinstance(value, Tensor) and value._alias is not None and target._alias is not None
        and value._alias.version is target._alias.version
    )  # fmt: skip


def shallow(tensor):
    """Another Tensor object with the same array and node, and no share in versions."""
    twin = new(Tensor)
    twin._array, twin._spec, twin._node, twin._alias = tensor._array, tensor._spec, tensor._node, None
    return twin
