"""Number formats, how they combine, and where tensors live.

A `dtype` is PyTorch's name for a number format together with the NumPy dtype that holds it. Promotion follows PyTorch,
not NumPy: tensors with dimensions outweigh 0-d tensors, which outweigh Python numbers, unless the category
(bool < integer < float < complex) of the weaker operand is higher.
"""

import numpy as np

BOOL, INTEGER, FLOAT, COMPLEX = range(4)


class dtype:
    """A number format, for example `tensorgrad.float32`.

    >>> torch.float32.itemsize, torch.float32.is_floating_point
    (4, True)
    """

    __slots__ = ("category", "is_complex", "is_floating_point", "is_signed", "itemsize", "name", "numpy", "title")

    def __init__(self, name, title, category, itemsize, is_signed=True):
        self.name, self.title, self.category, self.itemsize, self.is_signed = name, title, category, itemsize, is_signed
        self.is_floating_point, self.is_complex = category == FLOAT, category == COMPLEX
        if name != "bfloat16":
            self.numpy = np.dtype(name)

    def __getattr__(self, name):
        # Only bfloat16 comes here, once: importing ml_dtypes takes longer than all the rest of tensorgrad.
        if name != "numpy":
            raise AttributeError(f"'torch.dtype' object has no attribute '{name}'")
        import ml_dtypes

        self.numpy = np.dtype(ml_dtypes.bfloat16)
        return self.numpy

    def __repr__(self):
        return f"tensorgrad.{self.name}"

    def __reduce__(self):
        return by_name, (self.name,)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def to_real(self):
        """The dtype of the real part.

        >>> torch.complex64.to_real()
        tensorgrad.float32
        """
        return _TO_REAL.get(self, self)

    def to_complex(self):
        """The complex dtype whose parts have this dtype.

        >>> torch.float64.to_complex()
        tensorgrad.complex128
        """
        return _TO_COMPLEX.get(self, self if self.is_complex else complex64)


uint8 = dtype("uint8", "Byte", INTEGER, 1, False)
int8 = dtype("int8", "Char", INTEGER, 1)
int16 = dtype("int16", "Short", INTEGER, 2)
int32 = dtype("int32", "Int", INTEGER, 4)
int64 = dtype("int64", "Long", INTEGER, 8)
uint16 = dtype("uint16", "UInt16", INTEGER, 2, False)
uint32 = dtype("uint32", "UInt32", INTEGER, 4, False)
uint64 = dtype("uint64", "UInt64", INTEGER, 8, False)
float16 = dtype("float16", "Half", FLOAT, 2)
bfloat16 = dtype("bfloat16", "BFloat16", FLOAT, 2)
float32 = dtype("float32", "Float", FLOAT, 4)
float64 = dtype("float64", "Double", FLOAT, 8)
complex64 = dtype("complex64", "ComplexFloat", COMPLEX, 8)
complex128 = dtype("complex128", "ComplexDouble", COMPLEX, 16)
bool_ = dtype("bool", "Bool", BOOL, 1, False)
half, float_, double, short, int_, long, cfloat, cdouble = (
    float16, float32, float64, int16, int32, int64, complex64, complex128)  # fmt: skip
DTYPES = (uint8, int8, int16, int32, int64, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64,
          complex128, bool_)  # fmt: skip

_TO_REAL = {complex64: float32, complex128: float64}
_TO_COMPLEX = {float32: complex64, float64: complex128}
_OF_NUMPY = {d.numpy: d for d in DTYPES if d is not bfloat16}
_UNSIGNED_ONLY = {uint16, uint32, uint64}
_default = float32


def by_name(name):
    """The dtype called `name`, for unpickling."""
    return next(d for d in DTYPES if d.name == name)


def of_numpy(numpy_dtype):
    """The dtype that a NumPy dtype holds, or PyTorch's TypeError."""
    found = _OF_NUMPY.get(numpy_dtype)
    if found is None:
        if numpy_dtype.name == "bfloat16":
            found = _OF_NUMPY[numpy_dtype] = bfloat16
        else:
            kind = numpy_dtype.type.__name__
            raise TypeError(
                f"can't convert np.ndarray of type numpy.{kind}. The only supported types are: float64, float32, "
                "float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
            )
    return found


def get_default_dtype():
    """The dtype of a tensor made of Python floats.

    >>> torch.get_default_dtype()
    tensorgrad.float32
    """
    return _default


def set_default_dtype(d):
    """Make `d` the dtype of tensors made of Python floats.

    >>> torch.set_default_dtype(torch.float64); torch.tensor(1.5).dtype
    tensorgrad.float64
    >>> torch.set_default_dtype(torch.float32)
    """
    global _default
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, but got {d}")
    _default = d


def default_complex():
    """The complex twin of the default dtype."""
    return _default.to_complex()


def promote_types(type1, type2):
    """The smallest dtype that both dtypes convert to.

    >>> torch.promote_types(torch.int32, torch.float16)
    tensorgrad.float16
    """
    if type1 is type2:
        return type1
    low, high = (type1, type2) if type1.category <= type2.category else (type2, type1)
    if (type1 in _UNSIGNED_ONLY or type2 in _UNSIGNED_ONLY) and (
        BOOL in (type1.category, type2.category) or high.category > FLOAT
    ):
        raise RuntimeError(
            "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            f"{type1.title} and {type2.title}"
        )
    if low.category == BOOL:
        return high
    if low.category == INTEGER:
        if high.category != INTEGER:
            return high
        if type1 in _UNSIGNED_ONLY or type2 in _UNSIGNED_ONLY:
            raise RuntimeError(
                "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
                f"{type1.title} and {type2.title}"
            )
        if uint8 in (low, high):
            other = high if low is uint8 else low
            return int16 if other is int8 else other
        return max(low, high, key=lambda d: d.itemsize)
    if low.category == FLOAT and high.category == COMPLEX:
        return complex128 if low is float64 else high
    if low.itemsize == high.itemsize:  # float16 with bfloat16
        return float32
    return max(low, high, key=lambda d: d.itemsize)


def of_number(number):
    """The dtype that a Python number stands for: bool, int64, the default dtype or its complex twin."""
    if isinstance(number, (bool, np.bool_)):
        return bool_
    if isinstance(number, (int, np.integer)):
        return int64
    return _default if isinstance(number, (float, np.floating)) else default_complex()


def result_dtype(operands):
    """The dtype of an operation over Tensors and Python numbers, by PyTorch's three ranks of operands."""
    ranks = [None, None, None]  # tensors with dimensions, 0-d tensors, numbers
    for operand in operands:
        spec = getattr(operand, "_spec", None)
        if spec is None:
            rank, d = 2, of_number(operand)
        else:
            rank, d = (0 if spec.shape else 1), spec.dtype
        ranks[rank] = d if ranks[rank] is None else promote_types(ranks[rank], d)
    result = ranks[0]
    for weaker in ranks[1:]:
        if weaker is None:
            continue
        if result is None:
            result = weaker
        elif weaker.category > result.category:
            # The category comes from the weaker operand; with a complex one a float keeps its size.
            result = result.to_complex() if weaker.category == COMPLEX and result.category == FLOAT else weaker
    return result


def result_type(tensor1, tensor2):
    """The dtype that an operation between two tensors or numbers has.

    >>> torch.result_type(torch.tensor([1, 2], dtype=torch.int32), 1.0)
    tensorgrad.float32
    """
    return result_dtype((tensor1, tensor2))


def can_cast(from_, to):
    """Whether a result of dtype `from_` may be written into a tensor of dtype `to`.

    >>> torch.can_cast(torch.float64, torch.int32)
    False
    """
    if to is bool_ and from_ is not bool_:
        return False
    if from_.category == INTEGER and from_.is_signed and to is not bool_ and to.category == INTEGER:
        return True
    return from_.category <= to.category


class finfo:
    """The limits of a floating-point dtype.

    >>> torch.finfo(torch.float16).max
    65504.0
    """

    def __init__(self, dtype=None):
        dtype = _default if dtype is None else dtype
        if dtype.category < FLOAT:
            raise TypeError(
                f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{_short(dtype)}'"
            )
        real = dtype.to_real()
        if real is bfloat16:
            import ml_dtypes

            info = ml_dtypes.finfo(real.numpy)
        else:
            info = np.finfo(real.numpy)
        self.dtype, self.bits = real.name, real.itemsize * 8
        self.min, self.max, self.eps = float(info.min), float(info.max), float(info.eps)
        self.smallest_normal = self.tiny = float(info.smallest_normal)
        self.resolution = float(f"{float(info.resolution):.1g}")

    def __repr__(self):
        fields = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return "finfo(" + ", ".join(f"{f}={getattr(self, f):g}" for f in fields) + f", dtype={self.dtype})"


class iinfo:
    """The limits of an integer dtype.

    >>> torch.iinfo(torch.int8)
    iinfo(min=-128, max=127, dtype=int8)
    """

    def __init__(self, dtype):
        if dtype.category != INTEGER:
            raise TypeError(
                f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{_short(dtype)}'"
            )
        info = np.iinfo(dtype.numpy)
        self.dtype, self.bits, self.min, self.max = dtype.name, info.bits, int(info.min), int(info.max)

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


def _short(d):
    return d.title


class layout:
    """How the numbers of a tensor lie in memory: `strided`. The sparse ones have a name, so that they can be refused."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"tensorgrad.{self.name}"


class memory_format:
    """An order of the dimensions in memory, for example `tensorgrad.channels_last`."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"tensorgrad.{self.name}"


strided = layout("strided")
sparse_coo, sparse_csr, sparse_csc = layout("sparse_coo"), layout("sparse_csr"), layout("sparse_csc")
sparse_bsr, sparse_bsc = layout("sparse_bsr"), layout("sparse_bsc")
contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")


class device:
    """Where a tensor lives. The only one there is at present is `cpu`.

    >>> torch.device("cpu")
    device(type='cpu')
    """

    __slots__ = ("index", "type")
    KINDS = ("cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, "
             "hpu, mtia, privateuseone")  # fmt: skip

    def __new__(cls, type, index=None):
        if isinstance(type, device):
            return type
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' (position 1) must be str, not {type.__class__.__name__}")
        kind, _, number = type.partition(":")
        if kind not in cls.KINDS.split(", "):
            raise RuntimeError(f"Expected one of {cls.KINDS} device type at start of device string: {kind}")
        if number and not number.isdigit():
            raise RuntimeError(f"Invalid device string: '{type}'")
        self = object.__new__(cls)
        self.type, self.index = kind, int(number) if number else index
        return self

    def __repr__(self):
        return (
            f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"
        )

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other):
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self):
        return hash((self.type, self.index))

    def __reduce__(self):
        return device, (str(self),)

    def __enter__(self):
        check_device(self)
        return self

    def __exit__(self, *_):
        return None


cpu = device("cpu")


def check_device(where):
    """`where` as a device; raises for every device that tensorgrad cannot use."""
    if where is None or where is cpu:
        return cpu
    where = device(where)
    if where.type == "cuda":
        raise AssertionError(
            "Torch not compiled with CUDA enabled\nThis tensorgrad computes with NumPy on the CPU: use device='cpu'."
        )
    if where.type != "cpu":
        raise NotImplementedError(f"device '{where}' is not supported: tensorgrad computes on 'cpu'")
    return where
