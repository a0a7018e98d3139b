"""What autocast does to operations, with PyTorch's lists for the CPU: some are computed in bfloat16, some in float32.

While no thread is inside autocast this file is not asked: primitives come here from the slow path that `mode.special`
opens, and the functions listed below are wrapped when they are looked up (ops/index.py). Products of matrices, which are
called most, are not wrapped: the branch that would refuse operands of different dtypes asks `lowered` first.
"""

import functools
import sys

from tensorgrad import dtypes
from tensorgrad.autograd.graph import AccumulateGrad
from tensorgrad.autograd.modes import mode, state
from tensorgrad.ops import fitting
from tensorgrad.ops.primitive import PRIMITIVES as TABLE
from tensorgrad.tensor import Tensor

LOWER, WIDE, WIDEST = "computed in the dtype of autocast", "computed in float32", "computed in the widest dtype"

# Operations that are one primitive: by the name of that

_ONE_PRIMITIVE = (
    "average_pool3d adaptive_average_pool3d max_pool3d max_unpool max_unpool3d fractional_max_pool fractional_max_pool3d "
    "adaptive_max_pool3d binary_cross_entropy_reduced binary_cross_entropy binary_cross_entropy_with_logits_reduced "
    "binary_cross_entropy_with_logits grid_sampler_2d grid_sampler_3d prod prod_dim cdist mse_loss_reduced mse_loss nll_loss "
    "nll_loss2d poisson_nll_loss_log_reduced poisson_nll_loss_log poisson_nll_loss_reduced poisson_nll_loss "
    "smooth_l1_loss_reduced smooth_l1_loss cross_entropy l1_loss_reduced l1_loss huber_loss_reduced huber_loss "
    "soft_margin_loss_reduced soft_margin_loss kl_div_reduced kl_div ctc_loss"
)
_PADS = ("pad reflect 1", "pad reflect 2", "pad replicate 1", "pad replicate 2", "pad replicate 3")
PRIMITIVES = {
    **dict.fromkeys(["mm", "matmul", "linear", "linear_half", "prelu"], LOWER),
    **dict.fromkeys([*_ONE_PRIMITIVE.split(), *_PADS], WIDE),
}

# Public functions of several primitives, or with checks of their own: by namespace ("Tensor": the methods)

_FACTORIZATIONS = ("cholesky cholesky_inverse cholesky_solve inverse lu_solve orgqr ormqr pinverse geqrf qr svd "
                   "triangular_solve")  # fmt: skip
_LOSSES = "cosine_embedding_loss hinge_embedding_loss margin_ranking_loss triplet_margin_loss ctc_loss kl_div"
_WIDE = {
    "": f"polar quantile nanquantile stft trace cdist {_FACTORIZATIONS} {_LOSSES} binary_cross_entropy_with_logits "
    "poisson_nll_loss",
    "Tensor": f"quantile nanquantile stft trace {_FACTORIZATIONS}",
    "nn.functional": f"{_LOSSES} multi_margin_loss multilabel_margin_loss binary_cross_entropy cross_entropy nll_loss "
    "linear_cross_entropy grid_sample avg_pool3d adaptive_avg_pool3d max_pool3d max_unpool2d max_unpool3d "
    "fractional_max_pool2d fractional_max_pool3d adaptive_max_pool3d binary_cross_entropy_with_logits poisson_nll_loss",
    "linalg": "cond matrix_rank solve cholesky svdvals eigvals eigvalsh inv householder_product tensorinv tensorsolve qr "
    "cholesky_ex svd eig eigh lstsq inv_ex",
    "fft": "fft ifft rfft irfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn hfft ihfft hfft2 ihfft2 hfftn ihfftn",
}
_CONVOLUTIONS = "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc"
_PRODUCTS = "addmm addbmm baddbmm einsum tensordot chain_matmul"
_LOWER = {
    "": f"{_CONVOLUTIONS} {_PRODUCTS} prelu lstm rnn_tanh rnn_relu rnn_tanh_cell rnn_relu_cell",
    "Tensor": "addmm addbmm baddbmm prelu",
    "nn.functional": f"{_CONVOLUTIONS} prelu scaled_dot_product_attention",
    "linalg": "vecdot multi_dot",
}
_WIDEST = {"": "index_copy", "Tensor": "index_copy"}


def _table():
    table = {}
    for kind, lists in ((WIDE, _WIDE), (LOWER, _LOWER), (WIDEST, _WIDEST)):
        for space, words in lists.items():
            table.setdefault(space, {}).update(dict.fromkeys(words.split(), kind))
    return table


FUNCTIONS = _table()


def published(space, name, function):
    """The function as programs see it: one that obeys autocast, if it is in PyTorch's lists."""
    kind = FUNCTIONS[space].get(name) if space in FUNCTIONS else None
    if kind is None or not callable(function) or hasattr(function, "obeys"):
        return function

    @functools.wraps(function)
    def obeying(*args, **kwargs):
        if mode.special and state.autocast is not None:
            return _obey(kind, function, args, kwargs)
        return function(*args, **kwargs)

    obeying.obeys = kind
    family = vars(sys.modules[function.__module__])
    if family.get(function.__name__) is function:  # where pickles look for it
        family[function.__name__] = obeying
    return obeying


def _obey(kind, function, args, kwargs):
    """Call a function on operands in the dtype that is meant for it; inside it nothing is cast any more."""
    if kwargs.get("out") is None:
        dtype = state.autocast if kind is LOWER else dtypes.float32
        if kind is not WIDEST or any(isinstance(t, Tensor) and t._spec.dtype is dtype for t in args):
            args = tuple([_cast(value, dtype) for value in args])
            kwargs = {name: _cast(value, dtype) for name, value in kwargs.items()}
    before, state.autocast = state.autocast, None
    try:
        return function(*args, **kwargs)
    finally:
        state.autocast = before


# Casting


def _casts(value, dtype):
    """Whether autocast changes the dtype of a value: floating-point tensors, but no float64."""
    if not isinstance(value, Tensor):
        return False
    have = value._spec.dtype
    return have is not dtype and have.is_floating_point and have is not dtypes.float64


def _cast(value, dtype):
    """A value with all its tensors in a dtype. Parameters are cast once until autocast is left."""
    if isinstance(value, Tensor):
        return _cast_tensor(value, dtype) if _casts(value, dtype) else value
    if type(value) in (list, tuple):
        return type(value)([_cast(item, dtype) for item in value])
    return value


def _cast_tensor(tensor, dtype):
    keep = (
        state.autocast_cache is not None and dtype is state.autocast and tensor._spec.dtype is dtypes.float32
        and type(tensor._node) is AccumulateGrad and tensor._base is None and not tensor._spec.inference
    )  # fmt: skip
    if not keep:
        return tensor.to(dtype)
    key, version = (id(tensor), state.recording), tensor._version
    found = state.autocast_cache.get(key)
    if found is None or found[1] != version:
        found = state.autocast_cache[key] = tensor, version, tensor.to(dtype)
    return found[2]


def lowered(*operands):
    """Operands of different dtypes in the dtype of autocast, if that is on and changes any; else None."""
    dtype = state.autocast
    if dtype is None or not any(_casts(operand, dtype) for operand in operands):
        return None
    return tuple([_cast(operand, dtype) for operand in operands])


def intercept(primitive, inputs, params):
    """What autocast makes of a primitive's application; None when it does not care, or nothing is to be cast."""
    dtype = state.autocast
    if dtype is None:
        return None
    kind = PRIMITIVES.get(primitive.name)
    if kind is None:
        return None
    if kind is WIDE:
        dtype = dtypes.float32
    if not any(_casts(tensor, dtype) for tensor in inputs):
        return None
    if primitive.name == "linear":  # whose gradients in half precision another variant rounds
        primitive = TABLE["linear_half"]
    return primitive.apply(tuple([_cast(tensor, dtype) for tensor in inputs]), params)


fitting.interceptors.insert(0, intercept)
fitting.autocast, fitting.lowered = intercept, lowered
