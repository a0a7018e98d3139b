"""tensorgrad: PyTorch's autograd in Python that can be read, on NumPy.

>>> import tensorgrad as torch
>>> x = torch.tensor([0.5, 0.75], requires_grad=True)
>>> y = torch.log(x[0] * x[1]) * torch.sin(x[1])
>>> y.backward()
>>> x.grad
tensor([1.3633, 0.1912])
"""

import builtins as _builtins
import importlib as _importlib
import os as _os
import warnings as _warnings

# OpenBLAS's threads wait for the next product by turning round and round, for 20 ms, on the cores that everything between
# two products needs: a training step of matrices and loops takes twice the time. 2 ** 16 ticks of the clock, some twenty
# microseconds, keep them awake between products that follow at once. OpenBLAS reads this once, when NumPy is imported.
_os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")

from tensorgrad import dtypes as _dtypes
from tensorgrad.autograd.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)  # fmt: skip
from tensorgrad.dtypes import (
    bfloat16,
    can_cast,
    cdouble,
    cfloat,
    channels_last,
    channels_last_3d,
    complex64,
    complex128,
    contiguous_format,
    device,
    double,
    dtype,
    finfo,
    float16,
    float32,
    float64,
    get_default_dtype,
    half,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    layout,
    long,
    memory_format,
    preserve_format,
    promote_types,
    result_type,
    set_default_dtype,
    short,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
    uint8,
    uint16,
    uint32,
    uint64,
)  # fmt: skip
from tensorgrad.ops import (
    arithmetic,
    comparison,
    creation,
    elementwise,
    indexing,
    losses,
    reduction,
    shape,
)  # isort: skip
from tensorgrad.ops import (
    matmul as _matmul,
)
from tensorgrad.ops import (
    random as _random,
)
from tensorgrad.ops.fitting import broadcast_shapes
from tensorgrad.ops.index import NAMES as _NAMES
from tensorgrad.ops.index import find as _find
from tensorgrad.printing import get_printoptions, set_printoptions
from tensorgrad.random import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from tensorgrad.spec import Size
from tensorgrad.tensor import Tensor

__version__ = "0.1.0"

bool, int, float = _dtypes.bool_, _dtypes.int_, _dtypes.float_
cpu_device = _dtypes.cpu
inf, nan, pi, e = _builtins.float("inf"), _builtins.float("nan"), 3.141592653589793, 2.718281828459045
newaxis = None

# NumPy tells of overflow and division by zero; PyTorch does not. Only warnings out of this package are silenced.
_warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"tensorgrad\.")

# Every public function of a family is public here under its own name; what families share is not.
_SHARED = {
    f"tensorgrad.ops.{_name}"
    for _name in ("fitting", "primitive", "both", "dims", "choices", "results", "forms", "outs")
}
for _module in (arithmetic, comparison, creation, elementwise, indexing, _matmul, _random, reduction, shape):
    for _name, _value in vars(_module).items():
        if (
            not _name.startswith("_")
            and callable(_value)
            and getattr(_value, "__module__", "").startswith("tensorgrad.ops")
            and _value.__module__ not in _SHARED
            and _name not in ("number", "xp", "tensors")
            and not isinstance(_value, type)
        ):
            globals()[_name] = _value

_LAZY = {"autograd", "func", "nn", "optim", "utils", "linalg", "fft", "special", "distributions", "kernels", "show", "interop",
         "data", "testing", "backends", "compiler", "amp", "cuda", "cpu", "ops", "signal", "masked", "serialization", "version",
         "types", "accelerator", "mps", "xpu"}  # fmt: skip


# Public functions of such rooms
_ELSEWHERE = {
    "func": "vmap",
    "compiler": "compile",
    "serialization": "save load",
    "amp": "autocast",
    "amp.autocast_mode": "is_autocast_enabled set_autocast_enabled get_autocast_dtype set_autocast_dtype "
    "is_autocast_cache_enabled set_autocast_cache_enabled autocast_increment_nesting autocast_decrement_nesting "
    "clear_autocast_cache is_autocast_cpu_enabled set_autocast_cpu_enabled get_autocast_cpu_dtype "
    "set_autocast_cpu_dtype get_autocast_gpu_dtype set_autocast_gpu_dtype",
    "autograd.anomaly": "is_anomaly_enabled is_anomaly_check_nan_enabled",
    "settings": "get_num_threads set_num_threads get_num_interop_threads set_num_interop_threads "
    "get_float32_matmul_precision set_float32_matmul_precision use_deterministic_algorithms "
    "are_deterministic_algorithms_enabled is_deterministic_algorithms_warn_only_enabled set_deterministic_debug_mode "
    "get_deterministic_debug_mode set_warn_always is_warn_always_enabled set_flush_denormal set_default_device "
    "get_default_device set_default_tensor_type",
    "legacy": "FloatTensor DoubleTensor HalfTensor BFloat16Tensor ByteTensor CharTensor ShortTensor IntTensor LongTensor "
    "BoolTensor",
}
_ELSEWHERE = {_name: _room for _room, _names in _ELSEWHERE.items() for _name in _names.split()}

# Methods that PyTorch also has as functions.
_METHODS = (
    "abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ as_strided_ asin_ asinh_ atan_ atanh_ ceil_ "
    "clamp_ clamp_max_ clamp_min_ clip_ cos_ cosh_ deg2rad_ detach detach_ erf_ erfc_ exp2_ exp_ expm1_ fix_ floor_ frac_ "
    "gcd_ get_device i0_ is_conj is_inference is_neg is_signed lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ "
    "negative_ rad2deg_ reciprocal_ round_ rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ trunc_ xlogy_"
)
_METHODS = frozenset(_METHODS.split())

# What PyTorch has and tensorgrad has not: the error says so.
_OUT = {"sparse tensors": "sparse sparse_coo_tensor sparse_csr_tensor sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor "
                          "sparse_compressed_tensor spmm smm hspmm dsmm sspaddmm saddmm",
        "quantized tensors": "quantize_per_tensor quantize_per_channel quantize_per_tensor_dynamic dequantize ao quantization "
                             "qint8 quint8 qint32 fake_quantize_per_tensor_affine fake_quantize_per_channel_affine",
        "nested tensors": "nested jagged",
        "TorchScript, graph capture or export": "jit export onnx fx",
        "distributed training": "distributed",
        "tensors in memory shared by processes (utils.data loads batches in processes of its own)": "multiprocessing",
        "downloads of models": "hub",
        "__torch_function__ and dispatcher overrides": "overrides library",
        "profiler (compile(..., explain=True) times kernels)": "profiler"}  # fmt: skip
_OUT = {_name: _what for _what, _names in _OUT.items() for _name in _names.split()}


def __getattr__(name):
    """Rooms that not every program enters are imported when they are first named."""
    if name in _LAZY:
        return _importlib.import_module(f"tensorgrad.{name}")
    if name in _ELSEWHERE:
        return getattr(_importlib.import_module(f"tensorgrad.{_ELSEWHERE[name]}"), name)
    if name in _METHODS:
        return getattr(Tensor, name)
    if name in _OUT:
        raise AttributeError(f"module 'tensorgrad' has no attribute '{name}': tensorgrad has no {_OUT[name]}")
    if name.startswith("__"):
        raise AttributeError(f"module 'tensorgrad' has no attribute '{name}'")
    value = globals()[name] = _find("", name)
    return value


def __dir__():
    return sorted({*globals(), *_LAZY, *_NAMES.get("", ()), *_ELSEWHERE, *_METHODS})


def is_tensor(obj):
    """Whether an object is a Tensor.

    >>> torch.is_tensor(torch.ones(1)), torch.is_tensor([1])
    (True, False)
    """
    return isinstance(obj, Tensor)


def is_floating_point(input):
    """Whether the dtype of a tensor is a real floating one.

    >>> torch.is_floating_point(torch.ones(1))
    True
    """
    return input.is_floating_point()


def is_complex(input):
    """Whether the dtype of a tensor is complex.

    >>> torch.is_complex(torch.ones(1))
    False
    """
    return input.is_complex()


def is_nonzero(input):
    """Whether the only element of a tensor is not zero.

    >>> torch.is_nonzero(torch.tensor([0.]))
    False
    """
    if input.numel() != 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return input.item() != 0


def numel(input):
    """How many elements a tensor has.

    >>> torch.numel(torch.ones(2, 3))
    6
    """
    return input.numel()


from tensorgrad import autograd  # noqa: E402
from tensorgrad.autograd.gradcheck import gradcheck as _gradcheck  # noqa: E402
from tensorgrad.autograd.gradcheck import gradgradcheck as _gradgradcheck  # noqa: E402

autograd.gradcheck, autograd.gradgradcheck = (
    _gradcheck,
    _gradgradcheck,
)  # the functions, as in PyTorch, not their module
