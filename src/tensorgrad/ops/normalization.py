"""Normalization by layers, groups and size: layer_norm, group_norm, rms_norm, local_response_norm, normalize.

Layer, group and batch normalization (batch_normalization.py) are one operation on different arrangements of the input as
(A, B, J, K), see backends/normalization.py: one node that keeps its input and the statistics. Derivatives of derivatives
are taken of the same formulas in tensor operations.
"""

import functools
import math

import numpy as np

from tensorgrad import dtypes
from tensorgrad.autograd.modes import no_grad
from tensorgrad.backends import normalization as kernels
from tensorgrad.backends.precision import is_half
from tensorgrad.ops.fitting import check_tensor, kind_name
from tensorgrad.ops.forms import takes_out
from tensorgrad.ops.primitive import Primitive, wrap
from tensorgrad.ops.spatial import apart, is_int, merged, side_by_side, split

PUBLIC = {
    "": "layer_norm=torch_layer_norm native_layer_norm group_norm=torch_group_norm native_group_norm rms_norm",
    "nn.functional": "layer_norm group_norm rms_norm local_response_norm normalize",
    "ops.aten": "native_layer_norm native_group_norm",
}
NOTHING = np.empty(0, np.float32)

# Arrangements: the shape (A, B, J, K) of the input, that of its scale, how often the scale is repeated along B, and the
# shape of the statistics


@functools.lru_cache(maxsize=256)
def arranged(kind, shape, count):
    if kind == "layer":  # count: how many dimensions are normalized
        lead, rest = shape[: len(shape) - count], math.prod(shape[len(shape) - count :])
        return (1, math.prod(lead), 1, rest), (1, 1, 1, rest), 1, (*lead, *(1,) * count)
    samples, channels = shape[:2] if len(shape) > 1 else (1, 0)
    places = math.prod(shape[2:])
    if kind == "batch":
        return (samples, channels, 1, places), (1, channels, 1, 1), 1, (channels,)
    return (
        (1, samples * count, channels // count, places), (1, count, channels // count, 1), samples, (samples, count)
    )  # fmt: skip


def _scale(w, shape, times):
    """A scale or shift in its arrangement: of an array or of a Tensor."""
    if w is None:
        return None
    w = w.reshape(shape)
    if times == 1:
        return w
    return np.tile(w, (1, times, 1, 1)) if isinstance(w, np.ndarray) else w.repeat(1, times, 1, 1)


def _kernel(x, w, b, mean, var, kind, count, eps):
    shape, scale, times, statistics = arranged(kind, x.shape, count)
    rstd = None
    if mean is not None:
        work = np.float32 if is_half(x.dtype) else x.dtype
        mean, rstd = mean.astype(work, copy=False), 1 / np.sqrt(var.astype(work, copy=False) + eps)
    out, mean, rstd, variance = kernels.normalize(
        x.reshape(shape), _scale(w, scale, times), _scale(b, scale, times), eps, mean, rstd
    )
    variance = NOTHING if variance is None else variance
    return out.reshape(x.shape), mean.reshape(statistics), rstd.reshape(statistics), variance


def _pullback(g, x, w, b, mean, var, out, wanted, kind, count, eps):
    if not isinstance(x, np.ndarray):
        return _pullback_tensors(g, x, w, b, mean, var, wanted, kind, count, eps)
    if g[0] is None or g[1] is not None or g[2] is not None:  # rare: the statistics are used as results
        with no_grad():
            tensors = [
                [None if p is None else wrap(p) for p in g],
                *(None if p is None else wrap(p) for p in (x, w, b, mean, var)),
            ]
            found = _pullback_tensors(*tensors, wanted, kind, count, eps)
        return [None if t is None else t._array for t in found]
    shape, scale, times, _ = arranged(kind, x.shape, count)
    gx, gw, gb = kernels.normalize_gradient(
        g[0].reshape(shape), x.reshape(shape), _scale(w, scale, times), out[1].reshape(-1), out[2].reshape(-1),
        wanted[:3], mean is not None, scale[3] != 1,
    )  # fmt: skip
    return (
        (None if gx is None else gx.reshape(x.shape)),
        _unscale(gw, w, scale, times),
        _unscale(gb, b, scale, times),
        None,
        None,
    )


def _unscale(g, w, scale, times):
    """The gradient of a scale in its own shape and dtype."""
    if g is None:
        return None
    if g.shape[1] != scale[1]:  # groups that share it
        g = np.add.reduce(g.reshape(g.shape[1] // scale[1], *scale[1:]), 0)
    return g.reshape(w.shape).astype(w.dtype, copy=False)


def _parts(x, w, mean, var, kind, count, eps):
    """In tensor operations: the normalized input in its arrangement, 1 / deviation, the scale, and the mean over a group."""
    shape, scale, times, _ = arranged(kind, tuple(x.shape), count)
    four = x.reshape(shape)
    average = lambda t: t.mean((0, 2, 3), keepdim=True)
    if mean is not None:
        centred, spread = four - mean.reshape(1, -1, 1, 1), var.reshape(1, -1, 1, 1)
    else:
        centred = four - average(four)
        spread = average(centred * centred)
    rstd = (spread + eps).rsqrt()
    return centred * rstd, rstd, _scale(w, scale, times), average


def _summed(t, w, scale, times):
    """The sum of a tensor in its arrangement over all that shares a scale."""
    if times != 1:
        t = t.sum(3, keepdim=True).reshape(times, *scale[1:]).sum(0, keepdim=True)
    return t.sum_to_size(scale).reshape(w.shape).to(w.dtype)


def _pullback_tensors(g, x, w, b, mean, var, wanted, kind, count, eps):
    g = list(g)
    shape, scale, times, _ = arranged(kind, tuple(x.shape), count)
    normal, rstd, factor, average = _parts(x, w, mean, var, kind, count, eps)
    slope = normal.new_zeros(shape) if g[0] is None else g[0].reshape(shape)
    gw = _summed(slope * normal, w, scale, times) if wanted[1] else None
    gb = _summed(slope, b, scale, times) if wanted[2] else None
    gx = None
    if wanted[0]:
        slope = slope if factor is None else slope * factor
        if mean is not None:
            gx = slope * rstd
        else:
            gx = (slope - average(slope) - normal * average(slope * normal)) * rstd
            size = shape[0] * shape[2] * shape[3]
            if g[1] is not None:
                gx = gx + g[1].reshape(1, -1, 1, 1) / size
            if g[2] is not None:
                gx = gx - g[2].reshape(1, -1, 1, 1) * rstd * rstd * normal / size
        gx = gx.reshape(x.shape).to(x.dtype)
    return gx, gw, gb, None, None


def _pushforward(t_x, t_w, t_b, x, w, b, mean, var, out, kind, count, eps):
    """The tangent: normalizing is its own transpose but for the scale."""
    shape, scale, times, statistics = arranged(kind, tuple(x.shape), count)
    normal, rstd, factor, average = _parts(x, w, mean, var, kind, count, eps)
    total = t_mean = t_rstd = None
    if t_x is not None:
        move = t_x.reshape(shape)
        if mean is not None:
            total = move * rstd
        else:
            middle, along = average(move), average(move * normal)
            total = (move - middle - normal * along) * rstd
            t_mean, t_rstd = middle.reshape(statistics), (-rstd * rstd * along).reshape(statistics)
        total = total if factor is None else total * factor
    if t_w is not None:
        part = normal * _scale(t_w, scale, times)
        total = part if total is None else total + part
    if t_b is not None:
        part = _scale(t_b, scale, times)
        total = part.expand(shape) if total is None else total + part
    return (None if total is None else total.reshape(x.shape).to(x.dtype)), t_mean, t_rstd, None


def _batch(apply, values, batched, params, rows):
    """vmap: more rows, samples or channels; a scale of each row's own is applied afterwards."""
    x, w, b, mean, var = values
    kind, count, _ = params
    if not batched[0] and kind != "batch":
        x = x.unsqueeze(0).expand(rows, *x._spec.shape)
    if kind == "batch":
        x = side_by_side(x) if batched[0] else x.repeat(1, rows, *(1,) * (len(x._spec.shape) - 2))
        w, b, mean, var = [
            None if t is None else t.reshape(-1) if there else t.repeat(rows)
            for t, there in zip((w, b, mean, var), batched[1:], strict=True)
        ]
        out, mean, rstd, variance = apply((x, w, b, mean, var), params)
        return apart(out, rows), mean.reshape(rows, -1), rstd.reshape(rows, -1), variance.reshape(rows, -1)
    outside = batched[1] or batched[2]
    inner = (None, None) if outside else (w, b)
    out, mean, rstd, variance = apply((merged(x) if kind == "group" else x, *inner, None, None), params)
    if kind == "group":
        out, mean, rstd = (split(t, rows) for t in (out, mean, rstd))
    if outside:
        rank = len(out._spec.shape) - 1
        places = (1, -1, *(1,) * (rank - 2)) if kind == "group" else tuple(out._spec.shape[rank + 1 - count :])
        lead = (1,) * (rank - len(places)) if kind == "layer" else ()
        fit = lambda t, there: t.reshape((rows if there else 1, *lead, *places))
        out = out if w is None else out * fit(w, batched[1])
        out = out if b is None else out + fit(b, batched[2])
    return out, mean, rstd, variance.reshape(rows, -1)


def _declared(kind, node):
    return Primitive(
        kind + "_norm", _kernel, arity=5, params=("kind", "count", "eps"), inputs=("x", "w", "b", "mean", "var"), fresh=True,
        count=4, uses=(1, 2), node=node, pullback=_pullback, pushforward=_pushforward, batch=_batch,
    )  # fmt: skip


_layer = _declared("layer", "NativeLayerNormBackward0")
_group = _declared("group", "NativeGroupNormBackward0")

# Layers


def _shape_of(name, normalized_shape):
    if type(normalized_shape) is tuple and {*map(type, normalized_shape)} == {int}:
        return normalized_shape
    if not isinstance(normalized_shape, (tuple, list)) or not all(is_int(n) for n in normalized_shape):
        raise TypeError(
            f"{name}(): argument 'normalized_shape' (position 2) must be tuple of ints, not {kind_name(normalized_shape)}"
        )
    return tuple([int(n) for n in normalized_shape])


def _check_layer(name, input, normalized_shape, weight, bias, star="*, ", what=None):
    """How many dimensions are normalized; what: PyTorch's name of the kernel that is particular about dtypes."""
    specs = [
        None if t is None else check_tensor(name, t, word)._spec
        for word, t in (("input", input), ("weight", weight), ("bias", bias))
    ]
    return _count(_shape_of(name, normalized_shape), *specs, star, what)


@functools.lru_cache(maxsize=256)
def _count(wanted, input, weight, bias, star, what):
    if not wanted:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    for word, spec in (("weight", weight), ("bias", bias)):
        if spec is not None and tuple(spec.shape) != wanted:
            raise RuntimeError(
                f"Expected {word} to be of same shape as normalized_shape, but got {word} of shape {list(spec.shape)} and "
                f"normalized_shape = {list(wanted)}"
            )
    shape = tuple(input.shape)
    if len(shape) < len(wanted) or shape[len(shape) - len(wanted) :] != wanted:
        sizes = ", ".join(str(n) for n in wanted)
        raise RuntimeError(
            f"Given normalized_shape={list(wanted)}, expected input with shape [{star}{sizes}], but got input of size{list(shape)}"
        )
    if what is not None:
        _check_dtypes(what, input.dtype, weight, bias)
    return len(wanted)


def check_parameters(input, what, *parameters):
    """The dtypes of an input and its parameters, as PyTorch allows them: all alike, or float32 beside half types."""
    _check_dtypes(what, input._spec.dtype, *[None if t is None else t._spec for t in parameters])


def _check_dtypes(what, dtype, *specs):
    if not dtype.is_floating_point:
        raise NotImplementedError(f"\"{what}\" not implemented for '{dtype.title}'")
    for spec in specs:
        if spec is not None and spec.dtype is not dtype:
            if dtype.itemsize == 2 and spec.dtype is dtypes.float32:
                continue
            raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05):
    """Mean 0 and variance 1 over the last dimensions, then scaled and shifted.

    >>> torch.nn.functional.layer_norm(torch.tensor([[1., 2., 3.]]), (3,))
    tensor([[-1.2247,  0.0000,  1.2247]])
    """
    count = _check_layer("layer_norm", input, normalized_shape, weight, bias, what="LayerNormKernelImpl")
    return _layer.apply((input, weight, bias, None, None), ("layer", count, eps), 1)[0]


def torch_layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05, cudnn_enable=True):
    """Mean 0 and variance 1 over the last dimensions, then scaled and shifted.

    >>> torch.layer_norm(torch.tensor([[1., 2., 3.]]), (3,))
    tensor([[-1.2247,  0.0000,  1.2247]])
    """
    return layer_norm(input, normalized_shape, weight, bias, eps)


def _statistics(input, weight, *statistics):
    """Statistics in the dtype that PyTorch gives them: the parameters'."""
    dtype = input._spec.dtype if weight is None else weight._spec.dtype
    return [t if t._spec.dtype is dtype else t.to(dtype) for t in statistics]


def native_layer_norm(input, normalized_shape, weight, bias, eps):
    """`layer_norm` with the means and the inverse deviations.

    >>> torch.native_layer_norm(torch.tensor([[1., 3.]]), (2,), None, None, 0.)
    (tensor([[-1.,  1.]]), tensor([[2.]]), tensor([[1.]]))
    """
    count = _check_layer("native_layer_norm", input, normalized_shape, weight, bias, what="LayerNormKernelImpl")
    out, mean, rstd, _ = _layer(input, weight, bias, None, None, "layer", count, eps)
    return (out, *_statistics(input, weight, mean.detach(), rstd.detach()))


# Groups of channels


def _check_group(input, groups, weight, bias):
    check_tensor("group_norm", input)
    shape = input._spec.shape
    if len(shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    if groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {groups}")
    if shape[1] % groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(shape)} and num_groups={groups}"
        )
    for word, t in (("weight", weight), ("bias", bias)):
        if t is not None and tuple(check_tensor("group_norm", t, word)._spec.shape) != (shape[1],):
            raise RuntimeError(
                f"Expected {word} to be a vector of size equal to the number of channels in input, but got {word} of shape "
                f"{list(t.shape)} and input of shape {list(shape)}"
            )
    check_parameters(input, "GroupNormKernelImpl", weight, bias)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05):
    """Mean 0 and variance 1 in each group of channels of each sample, then scaled and shifted by channel.

    >>> torch.nn.functional.group_norm(torch.tensor([[1., 3., 5., 9.]]), 2, eps=0.)
    tensor([[-1.,  1., -1.,  1.]])
    """
    check_tensor("group_norm", input)
    shape = input._spec.shape
    if len(shape) >= 2 and num_groups > 0 and shape[0] * shape[1] // num_groups * math.prod(shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {list(shape)}")
    _check_group(input, num_groups, weight, bias)
    return _group.apply((input, weight, bias, None, None), ("group", num_groups, eps), 1)[0]


def torch_group_norm(input, num_groups, weight=None, bias=None, eps=1e-05, cudnn_enabled=True):
    """Mean 0 and variance 1 in each group of channels of each sample.

    >>> torch.group_norm(torch.tensor([[1., 3., 5., 9.]]), 2, eps=0.)
    tensor([[-1.,  1., -1.,  1.]])
    """
    return group_norm(input, num_groups, weight, bias, eps)


def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    """`group_norm` with the means and the inverse deviations.

    >>> torch.native_group_norm(torch.tensor([[1., 3.]]), None, None, 1, 2, 1, 1, 0.)
    (tensor([[-1.,  1.]]), tensor([[2.]]), tensor([[1.]]))
    """
    _check_group(input, group, weight, bias)
    out, mean, rstd, _ = _group(input, weight, bias, None, None, "group", group, eps)
    return (out, *_statistics(input, weight, mean, rstd))


# Size


def _rms_kernel(x, w, count, eps):
    lead, size = x.shape[: x.ndim - count], math.prod(x.shape[x.ndim - count :])
    rows = x.reshape(math.prod(lead), size)
    out, rstd = kernels.normalize_by_size(rows, None if w is None else w.reshape(-1), eps)
    return out.reshape(x.shape), rstd.reshape(*lead, *(1,) * count)


def _rms_pullback(g, x, w, out, wanted, count, eps):
    if isinstance(x, np.ndarray) and g[0] is not None and g[1] is None:
        rstd = out[1].reshape(-1, 1)
        rows = lambda t: t.reshape(len(rstd), math.prod(x.shape[x.ndim - count :]))
        flat = None if w is None else w.reshape(-1)
        gx, gw = kernels.normalize_by_size_gradient(rows(g[0]), rows(x), flat, rstd, wanted)
        return _like(gx, x), _like(gw, w)
    dims = tuple(range(-count, 0))
    rstd = ((x * x).mean(dims, keepdim=True) + eps).rsqrt()
    normal, slope = x * rstd, g[0] if w is None else g[0] * w
    gx = (slope - normal * (slope * normal).mean(dims, keepdim=True)) * rstd if wanted[0] else None
    return gx, (g[0] * normal).sum_to_size(w.shape).to(w.dtype) if wanted[1] else None


def _like(g, x):
    return None if g is None else g.reshape(x.shape).astype(x.dtype, copy=False)


def _rms_pushforward(t_x, t_w, x, w, count, eps):
    dims = tuple(range(-count, 0))
    rstd = ((x * x).mean(dims, keepdim=True) + eps).rsqrt()
    normal, total = x * rstd, None
    if t_x is not None:
        total = (t_x - normal * (t_x * normal).mean(dims, keepdim=True)) * rstd
        total = total if w is None else total * w
    if t_w is not None:
        total = normal * t_w if total is None else total + normal * t_w
    return total, None


def _rms_batch(apply, values, batched, params, rows):
    x, w = values
    x = x if batched[0] else x.unsqueeze(0).expand(rows, *x._spec.shape)
    out, rstd = apply((x, None if batched[1] else w), params)
    if batched[1]:
        out = out * w.reshape((rows, *(1,) * (len(x._spec.shape) - len(w._spec.shape)), *w._spec.shape[1:]))
    return out, rstd


_rms = Primitive(
    "rms_norm", _rms_kernel, arity=2, fresh=True, count=2, uses=(1,), node="MulBackward0", pullback=_rms_pullback,
    pushforward=_rms_pushforward, batch=_rms_batch,
)  # fmt: skip


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """Mean square 1 over the last dimensions, then scaled.

    >>> torch.rms_norm(torch.tensor([[3., 4.]]), (2,))
    tensor([[0.8485, 1.1314]])
    """
    count = _check_layer("rms_norm", input, normalized_shape, weight, None, star="*")
    dtype = input._spec.dtype
    if dtype.category < dtypes.FLOAT:
        raise NotImplementedError(f"\"rms_norm\" not implemented for '{dtype.title}'")
    if eps is None:
        eps = dtypes.finfo(dtype).eps
    if not dtype.is_complex:
        return _rms.apply((input, weight), (count, eps), 1)[0]
    size = (input * input).mean(tuple(range(-count, 0)), keepdim=True)
    out = input * (size + eps).rsqrt()
    return out if weight is None else out * weight


def local_response_norm(input, size, alpha=0.0001, beta=0.75, k=1.0):
    """Divide each number by a power of the mean square of its neighbours among the channels.

    >>> torch.nn.functional.local_response_norm(torch.ones(1, 2, 1), 2, alpha=1., beta=1.).flatten()
    tensor([0.6667, 0.5000])
    """
    from tensorgrad.ops.pooling import _average_pool

    check_tensor("local_response_norm", input)
    shape = input._spec.shape
    if len(shape) < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {len(shape)} dimensions)")
    if not input._spec.size:
        return input
    lines = (input * input).reshape(shape[0], shape[1], -1)  # windows over the channels
    mean = _average_pool(lines, (size, 1), (1, 1), (size // 2, 0), tuple(lines._spec.shape[1:]), True, size)
    return input / (mean.reshape(shape) * alpha + k) ** beta


@takes_out
def normalize(input, p=2.0, dim=1, eps=1e-12):
    """Divide by the p-norm along a dimension (or several).

    >>> torch.nn.functional.normalize(torch.tensor([[3., 4.]]))
    tensor([[0.6000, 0.8000]])
    """
    from tensorgrad import norm

    check_tensor("normalize", input)
    return input / norm(input, p, dim, True).clamp_min(eps)
