"""What is known of a tensor without its numbers: shape, dtype, and whether the fast path may take it.

Specs are interned: two tensors of the same shape and dtype share one Spec object, so a single identity test tells an
operation that its operands need neither broadcasting nor promotion, and its result has that Spec too.
"""

from tensorgrad import dtypes

LARGE = 1 << 18  # numbers from which all cores share an operation on elements: it leaves the fast path

new, item_of = tuple.__new__, tuple.__getitem__


class Size(tuple):
    """The shape of a tensor: a tuple of ints that knows how many elements it makes.

    >>> torch.ones(2, 3).shape.numel()
    6
    """

    __slots__ = ()

    def __new__(cls, dims=()):
        self = super().__new__(cls, dims)
        for i, dim in enumerate(self):
            if not isinstance(dim, int) and not hasattr(dim, "__index__"):
                raise TypeError(f"torch.Size() takes an iterable of 'int' (item {i} is '{type(dim).__name__}')")
        return self

    def numel(self):
        """How many elements a tensor of this shape has."""
        count = 1
        for dim in self:
            count *= dim
        return count

    def __repr__(self):
        return f"tensorgrad.Size({list(self)})"

    def __add__(self, other):
        return Size(super().__add__(tuple(other)))

    def __getitem__(self, index):
        item = item_of(self, index)
        return new(Size, item) if type(item) is tuple else item

    def __mul__(self, times):
        return Size(super().__mul__(times))

    __rmul__ = __mul__

    def __reduce__(self):
        return Size, (tuple(self),)


class Spec:
    """Shape, dtype, names and standing of a tensor.

    plain: an array of real floating numbers, of no half type, without names or transforms; fast: such a one that is not large.
    """

    __slots__ = ("dtype", "fast", "inference", "names", "plain", "shape", "size", "variants")

    def __init__(self, shape, dtype):
        self.shape, self.dtype, self.size = Size(shape), dtype, 1
        for dim in shape:
            self.size *= dim
        self.plain = dtype.is_floating_point and dtype.itemsize > 2  # half types are computed in float32
        self.fast = self.plain and self.size < LARGE
        self.inference, self.names, self.variants = False, None, None

    def variant(self, *, inference=False, transformed=False, names=None):
        """The Spec of the same shape and dtype for a tensor that the fast path must leave alone, or with names."""
        key = (inference, transformed, names)
        if self.variants is None:
            self.variants = {}
        found = self.variants.get(key)
        if found is None:
            found = self.variants[key] = Spec(self.shape, self.dtype)
            found.plain = self.plain and not inference and not transformed
            found.fast = found.plain and self.fast
            found.inference, found.names = inference, names
        return found

    def __repr__(self):
        return f"Spec({tuple(self.shape)}, {self.dtype.name})"


known_specs = {}  # (shape, NumPy dtype) -> Spec


def spec_of(array):
    """The Spec of a NumPy array."""
    key = array.shape, array.dtype
    found = known_specs.get(key)
    return found if found is not None else make_spec(*key)


def spec_for(shape, dtype):
    """The Spec of a NumPy array of this shape and dtype."""
    key = shape, dtype.numpy
    found = known_specs.get(key)
    return found if found is not None else make_spec(*key)


def make_spec(shape, numpy_dtype):
    if len(known_specs) > 100_000:  # a program with endlessly many shapes: a new Spec only costs the fast path, once
        known_specs.clear()
    found = known_specs[shape, numpy_dtype] = Spec(shape, dtypes.of_numpy(numpy_dtype))
    return found
