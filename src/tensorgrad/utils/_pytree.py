"""Nested containers of values: lists, tuples, dicts, named tuples, dataclasses, and what users register.

`tree_flatten` takes a structure apart into its leaves and a TreeSpec, `tree_unflatten` puts it together again.
"""

import dataclasses
from collections import OrderedDict, defaultdict, deque

NODES = {}  # type -> (flatten, unflatten)
_leaves = set()  # types that are known not to be taken apart


def register_pytree_node(cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, to_dumpable_context=None,
                         from_dumpable_context=None, flatten_with_keys_fn=None):  # fmt: skip
    """Let values of `cls` be taken apart: flatten_fn(value) gives (children, context), unflatten_fn(children, context) the
    value again. The other arguments belong to PyTorch's serialization of structures, which is not there.

    >>> from tensorgrad.utils import _pytree
    >>> class Pair:
    ...     def __init__(self, a, b): self.a, self.b = a, b
    >>> _pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda children, _: Pair(*children))
    >>> _pytree.tree_leaves([Pair(1, 2), 3])
    [1, 2, 3]
    """
    if cls in NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    NODES[cls] = flatten_fn, unflatten_fn
    _leaves.discard(cls)


def register_dataclass(cls, *, field_names=None, drop_field_names=None, serialized_type_name=None):
    """Let instances of a dataclass be taken apart by these fields only; without this, all its fields are taken.

    >>> import dataclasses
    >>> from tensorgrad.utils import _pytree
    >>> @dataclasses.dataclass
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> _pytree.register_dataclass(Point, field_names=["x"], drop_field_names=["y"])
    >>> _pytree.tree_leaves(Point(1, 2))
    [1]
    """
    names = [f.name for f in dataclasses.fields(cls) if f.init] if field_names is None else list(field_names)
    names = [name for name in names if name not in (drop_field_names or ())]
    register_pytree_node(
        cls,
        lambda value: ([getattr(value, name) for name in names], None),
        lambda children, _: cls(**dict(zip(names, children, strict=True))),
    )


def _sorted_out(value):
    return list(value.values()), list(value)


NODES[dict] = _sorted_out, lambda children, keys: dict(zip(keys, children, strict=True))
NODES[OrderedDict] = _sorted_out, lambda children, keys: OrderedDict(zip(keys, children, strict=True))
NODES[defaultdict] = (
    lambda value: (list(value.values()), [value.default_factory, list(value)]),
    lambda children, context: defaultdict(context[0], zip(context[1], children, strict=True)),
)
NODES[list] = lambda value: (value, None), lambda children, _: list(children)
NODES[tuple] = lambda value: (value, None), lambda children, _: tuple(children)
NODES[deque] = lambda value: (list(value), value.maxlen), lambda children, maxlen: deque(children, maxlen)
_NAMED_TUPLE = lambda value: (list(value), type(value)), lambda children, cls: cls(*children)
_RETURN_TYPE = lambda value: (list(value), type(value)), lambda children, cls: cls(children)


def _dataclass_node(cls):
    names = [f.name for f in dataclasses.fields(cls)]

    def unflatten(children, cls):
        value = object.__new__(cls)
        for name, child in zip(names, children, strict=True):
            object.__setattr__(value, name, child)
        return value

    return lambda value: ([getattr(value, name) for name in names], cls), unflatten


def _node_of(value):
    """(kind, flatten, unflatten) of a container, or None of a leaf."""
    cls = type(value)
    if cls in _leaves:
        return None
    found = NODES.get(cls)
    if found is not None:
        return cls, *found
    if isinstance(value, tuple):
        if hasattr(cls, "_fields"):
            return _namedtuple, *_NAMED_TUPLE
        return cls, *_RETURN_TYPE
    if dataclasses.is_dataclass(cls):
        found = NODES[cls] = _dataclass_node(cls)
        return cls, *found
    _leaves.add(cls)
    return None


class _namedtuple:
    """The kind of all named tuples; which one is their context."""

    __name__ = "namedtuple"


class TreeSpec:
    """The structure of a nested value: what it is made of, without the leaves."""

    __slots__ = ("children_specs", "context", "num_leaves", "type", "unflatten")

    def __init__(self, type, context, children_specs, unflatten=None):
        self.type, self.context, self.children_specs, self.unflatten = type, context, children_specs, unflatten
        self.num_leaves = 1 if type is None else sum([child.num_leaves for child in children_specs])

    @property
    def num_children(self):
        return len(self.children_specs)

    @property
    def num_nodes(self):
        return 1 + sum(child.num_nodes for child in self.children_specs)

    def is_leaf(self):
        return self.type is None

    def __eq__(self, other):
        if self is other:
            return True
        return (
            isinstance(other, TreeSpec) and self.type is other.type and self.context == other.context
            and self.children_specs == other.children_specs
        )  # fmt: skip

    def __hash__(self):
        return hash((self.type, repr(self.context), tuple(self.children_specs)))

    def __repr__(self, indent=0):
        if self.type is None:
            return "*"
        inner = (",\n" + " " * (indent + 2)).join(child.__repr__(indent + 2) for child in self.children_specs)
        name = "namedtuple" if self.type is _namedtuple else self.type.__name__
        return f"TreeSpec({name}, {self.context}, [{inner}])"


LeafSpec = TreeSpec(None, None, [])


def tree_flatten(tree, is_leaf=None):
    """The leaves of a structure, in order, and the structure without them.

    >>> from tensorgrad.utils import _pytree
    >>> leaves, spec = _pytree.tree_flatten({"a": 1, "b": (2, 3)}); leaves
    [1, 2, 3]
    """
    leaves = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree, leaves, is_leaf):
    if type(tree) in _leaves:
        leaves.append(tree)
        return LeafSpec
    node = None if is_leaf is not None and is_leaf(tree) else _node_of(tree)
    if node is None:
        leaves.append(tree)
        return LeafSpec
    kind, flatten, unflatten = node
    children, context = flatten(tree)
    return TreeSpec(kind, context, [_flatten(child, leaves, is_leaf) for child in children], unflatten)


def tree_unflatten(leaves, treespec):
    """The structure with these leaves.

    >>> from tensorgrad.utils import _pytree
    >>> _, spec = _pytree.tree_flatten({"a": 1, "b": (2, 3)}); _pytree.tree_unflatten([10, 20, 30], spec)
    {'a': 10, 'b': (20, 30)}
    """
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten(leaves, treespec): `leaves` has length {len(leaves)} but the spec refers to a pytree that holds "
            f"{treespec.num_leaves} items ({treespec})."
        )
    return _unflatten(iter(leaves), treespec)


def _unflatten(leaves, spec):
    if spec.type is None:
        return next(leaves)
    children = [next(leaves) if child.type is None else _unflatten(leaves, child) for child in spec.children_specs]
    return spec.unflatten(children, spec.context)


def tree_leaves(tree, is_leaf=None):
    """The leaves of a structure.

    >>> from tensorgrad.utils import _pytree
    >>> _pytree.tree_leaves([1, (2, {"a": 3})])
    [1, 2, 3]
    """
    return tree_flatten(tree, is_leaf)[0]


tree_iter = tree_leaves


def tree_structure(tree, is_leaf=None):
    """The structure without its leaves.

    >>> from tensorgrad.utils import _pytree
    >>> _pytree.tree_structure((1, 2)) == _pytree.tree_structure((3, 4))
    True
    """
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func, tree, *rests, is_leaf=None):
    """The structure with `func` of each leaf (and of the leaves in the same places of the others).

    >>> from tensorgrad.utils import _pytree
    >>> _pytree.tree_map(lambda a, b: a * b, [1, (2, 3)], [10, (20, 30)])
    [10, (40, 90)]
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [_leaves_below(rest, spec) for rest in rests]
    return tree_unflatten([func(*each) for each in zip(leaves, *others, strict=True)], spec)


def _leaves_below(tree, spec):
    """What `tree` has where `spec` has leaves."""
    if spec.type is None:
        return [tree]
    node = _node_of(tree)
    children = None if node is None else list(node[1](tree)[0])
    if node is None or node[0] is not spec.type or len(children) != len(spec.children_specs):
        raise ValueError(f"Node type or arity mismatch: expected {spec}, but got {tree_structure(tree)}.")
    return [
        leaf for child, below in zip(children, spec.children_specs, strict=True) for leaf in _leaves_below(child, below)
    ]


def tree_map_(func, tree, *rests, is_leaf=None):
    """Call `func` with each leaf, and return the structure as it is.

    >>> from tensorgrad.utils import _pytree
    >>> _pytree.tree_map_(print, [1, 2])
    1
    2
    [1, 2]
    """
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """The structure with `func` of each leaf of a type (or that a predicate picks); the others stay.

    >>> from tensorgrad.utils import _pytree
    >>> _pytree.tree_map_only(int, lambda v: -v, [1, "a"])
    [-1, 'a']
    """
    return tree_map(_only(type_or_types_or_pred, func), tree, is_leaf=is_leaf)


def _only(kind, func):
    test = kind if callable(kind) and not isinstance(kind, type) else lambda value: isinstance(value, kind)
    return lambda value: func(value) if test(value) else value


def tree_all(pred, tree, is_leaf=None):
    """Whether `pred` holds for every leaf.

    >>> from tensorgrad.utils import _pytree
    >>> _pytree.tree_all(lambda v: v > 0, [1, (2, -3)])
    False
    """
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether `pred` holds for any leaf.

    >>> from tensorgrad.utils import _pytree
    >>> _pytree.tree_any(lambda v: v < 0, [1, (2, -3)])
    True
    """
    return any(map(pred, tree_leaves(tree, is_leaf)))


def treespec_pprint(treespec):
    """A structure as the value it is the structure of, with a star for each leaf.

    >>> from tensorgrad.utils import _pytree
    >>> _pytree.treespec_pprint(_pytree.tree_structure((1, [2])))
    '(*, [*])'
    """

    class Star:
        def __repr__(self):
            return "*"

    return repr(tree_unflatten([Star()] * treespec.num_leaves, treespec))


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """The leaves of `tree` spread over a deeper structure: one for each leaf of that, or None if they do not fit."""
    if type(tree) in _leaves or (is_leaf is not None and is_leaf(tree)) or (node := _node_of(tree)) is None:
        return [tree] * treespec.num_leaves
    if treespec.type is None:
        return None
    kind, flatten, _ = node
    children, context = flatten(tree)
    if kind is not treespec.type or context != treespec.context or len(children) != len(treespec.children_specs):
        return None
    result = []
    for child, spec in zip(children, treespec.children_specs, strict=True):
        part = _broadcast_to_and_flatten(child, spec, is_leaf)
        if part is None:
            return None
        result.extend(part)
    return result
