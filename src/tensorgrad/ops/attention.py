"""Attention: scaled_dot_product_attention as one operation, and multi_head_attention_forward around it.

The kernel (backends/attention.py) never holds all scores. What it does not do (dropout, derivatives of derivatives,
transforms) is done by matmul and softmax.
"""

import math
import warnings

import numpy as np

from tensorgrad import dtypes
from tensorgrad.backends import attention as kernels
from tensorgrad.ops import composed, fitting
from tensorgrad.ops.creation import ones, zeros
from tensorgrad.ops.dropout import dropout
from tensorgrad.ops.fitting import broadcast_shapes, check_tensor
from tensorgrad.ops.joining import cat
from tensorgrad.ops.matmul import bmm, linear, matmul
from tensorgrad.ops.primitive import Primitive, recording
from tensorgrad.ops.products import baddbmm
from tensorgrad.ops.softmax import _safe_softmax, softmax

PUBLIC = {"nn.functional": "scaled_dot_product_attention multi_head_attention_forward"}
NOTHING = np.empty(0, np.float32)


def _kernel(q, k, v, mask, causal, scale):
    if not isinstance(q, np.ndarray):
        raise NotImplementedError("blocks of scores")
    return kernels.attend(q, k, v, mask, causal, scale)


def _pullback(g, q, k, v, mask, out, wanted, causal, scale):
    g = g[0]
    if isinstance(q, np.ndarray):
        return kernels.attend_backward(g, q, k, v, mask, out[1], causal, scale, wanted)
    if recording() or not composed.has_kernel((g, q, k, v, mask)):
        attend = lambda *operands: (_composed(*operands, causal, scale, 0.0),)
        return composed.gradients(attend, (q, k, v, mask), (g,), wanted)
    found = iter(_gradient(g, q, k, v, mask, out[1], causal, scale, wanted))
    return [next(found) if want else None for want in wanted]


def _gradient_kernel(g, q, k, v, mask, sums, causal, scale, wanted):
    if not isinstance(q, np.ndarray):
        raise NotImplementedError("blocks of scores")
    found = kernels.attend_backward(g, q, k, v, mask, sums, causal, scale, wanted)
    return tuple(x for x in found if x is not None)


class Attention(Primitive):
    """Of its results only what is known of the queries' scores is saved."""

    @property
    def node_class(self):
        made = super().node_class
        made.saved_outputs = ()
        return made

    def record(self, inputs, params, edges, out):
        return super().record(inputs, params, edges, (NOTHING, out[1]))


_attention = Attention(
    "scaled_dot_product_attention", _kernel, arity=4, fresh=True, count=2, pullback=_pullback,
    inputs=("q", "k", "v", "mask"), params=("causal", "scale"), node="ScaledDotProductFlashAttentionForCpuBackward0",
)  # fmt: skip
_gradient = Primitive(
    "scaled_dot_product_attention_gradient", _gradient_kernel, arity=6, params=("causal", "scale", "wanted"),
    inputs=("g", "q", "k", "v", "mask", "sums"),
)  # fmt: skip


def _composed(q, k, v, mask, causal, scale, p):
    """The same in tensor operations, with all scores at once."""
    given = q._spec.dtype
    if given.itemsize == 2:
        wide = lambda t: t if t is None or t._spec.dtype is dtypes.bool_ else t.to(dtypes.float32)
        return _composed(wide(q), wide(k), wide(v), wide(mask), causal, scale, p).to(given)
    scores = matmul(q * scale, k.transpose(-2, -1))
    if causal:
        hidden = ones(tuple(scores.shape[-2:]), dtype=dtypes.bool_).triu(1)
        scores = scores.masked_fill(hidden, -math.inf)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask._spec.dtype is dtypes.bool_ else scores + mask
    weights = softmax(scores, -1) if mask is None else _safe_softmax(scores, -1)
    return matmul(dropout(weights, p) if p else weights, v)


def _check(query, key, value, mask, p, gqa):
    for position, (word, t) in enumerate((("query", query), ("key", key), ("value", value))):
        check_tensor("scaled_dot_product_attention", t, word, position + 1)
    q, k, v = query._spec, key._spec, value._spec
    if q.dtype is not k.dtype or q.dtype is not v.dtype:
        names = [
            str(s.dtype).rpartition(".")[2].replace("float64", "double").replace("float32", "float") for s in (q, k, v)
        ]
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {names[0]} key.dtype: {names[1]} and "
            f"value.dtype: {names[2]} instead."
        )
    if min(len(s.shape) for s in (q, k, v)) < 2:
        raise RuntimeError(
            f"Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {len(q.shape)} "
            f"key.dim: {len(k.shape)} and value.dim: {len(v.shape)} instead."
        )
    if not q.dtype.is_floating_point:
        if q.dtype.is_complex:
            raise NotImplementedError(f"\"softmax_lastdim_kernel_impl\" not implemented for '{q.dtype.title}'")
        raise RuntimeError(f"expected scalar type Float but found {q.dtype.title}")
    if mask is not None:
        check_tensor("scaled_dot_product_attention", mask, "attn_mask", 4)
        if mask._spec.dtype not in (dtypes.bool_, q.dtype) and not (
            q.dtype.itemsize == 2 and mask._spec.dtype is dtypes.float32
        ):
            names = [str(t._spec.dtype).rpartition(".")[2].replace("float64", "double").replace("float32", "float")
                     .replace("int32", "int").replace("int64", "long int") for t in (mask, query)]  # fmt: skip
            raise RuntimeError(
                "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
                f"{names[0]} and  query.dtype: {names[1]} instead."
            )
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    if gqa:
        if min(len(s.shape) for s in (q, k, v)) < 3:
            raise IndexError("Dimension out of range (expected to be in range of [-2, 1], but got -3)")
        if not k.shape[-3] or not v.shape[-3] or q.shape[-3] % k.shape[-3] or q.shape[-3] % v.shape[-3]:
            raise RuntimeError(
                "Number of heads in key and value must divide the number of heads in query, but got "
                f"{k.shape[-3]}, {v.shape[-3]} and {q.shape[-3]}"
            )
    if q.shape[-1] != k.shape[-1]:
        raise RuntimeError(
            f"Expected query and key to have the same last dimension, but got {list(q.shape)} and {list(k.shape)}"
        )
    if k.shape[-2] != v.shape[-2]:
        raise RuntimeError(
            f"Expected key and value to have the same number of places, but got {list(k.shape)} and {list(v.shape)}"
        )


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None,
                                 enable_gqa=False):  # fmt: skip
    """softmax(scale * query key^T + mask) value, without ever holding all scores.

    >>> q, k, v = torch.zeros(1, 2), torch.zeros(2, 2), torch.tensor([[1.], [3.]])
    >>> torch.nn.functional.scaled_dot_product_attention(q, k, v)
    tensor([[2.]])
    >>> torch.nn.functional.scaled_dot_product_attention(q, k, v, torch.tensor([[True, False]]))
    tensor([[1.]])
    """
    _check(query, key, value, attn_mask, dropout_p, enable_gqa)
    if scale is None:
        scale = 1 / math.sqrt(query._spec.shape[-1]) if query._spec.shape[-1] else math.inf
    grouped = enable_gqa and not query._spec.shape[-3] == key._spec.shape[-3] == value._spec.shape[-3]
    if grouped:
        query, key, value, attn_mask = _grouped(query, key, value, attn_mask)
    lead = [t._spec.shape[:-2] for t in (query, key, value)]
    scores = (query._spec.shape[-2], key._spec.shape[-2])
    if lead[0] != lead[1] or lead[0] != lead[2] or attn_mask is not None:
        _check_shapes(query, key, value, attn_mask, scores)
    if dropout_p or not composed.has_kernel((query, key, value, attn_mask)) or not query._spec.shape[-1]:
        result = _composed(query, key, value, attn_mask, is_causal, scale, dropout_p)
    else:
        result = _attention(query, key, value, attn_mask, bool(is_causal), float(scale))[0]
    return result.flatten(-4, -3) if grouped else result


def _check_shapes(query, key, value, mask, scores):
    """Raise unless the leading dimensions broadcast, and the mask to the scores."""
    for t, shape in ((key, query._spec.shape[:-2]), (value, query._spec.shape[:-2])):
        _broadcasting(shape, t._spec.shape[:-2])
    if mask is not None:
        lead = broadcast_shapes(query._spec.shape[:-2], key._spec.shape[:-2])
        _broadcasting((*lead, *scores), mask._spec.shape)
        if len(mask._spec.shape) > len(lead) + 2 or any(
            n != m != 1 for n, m in zip((*lead, *scores)[::-1], mask._spec.shape[::-1], strict=False)
        ):
            raise RuntimeError(
                f"The shape of attn_mask, {list(mask._spec.shape)}, must broadcast to that of the scores, {[*lead, *scores]}"
            )


def _broadcasting(one, other):
    for back in range(1, min(len(one), len(other)) + 1):
        if one[-back] != other[-back] and 1 not in (one[-back], other[-back]):
            raise RuntimeError(
                f"The size of tensor a ({one[-back]}) must match the size of tensor b ({other[-back]}) at non-singleton "
                f"dimension {max(len(one), len(other)) - back}"
            )


def _grouped(query, key, value, mask):
    """Heads of queries beside the head of keys and values that they share, in a dimension of their own."""
    heads, groups = query._spec.shape[-3], key._spec.shape[-3]
    if value._spec.shape[-3] != groups:
        key, value = (t.repeat_interleave(heads // t._spec.shape[-3], -3) for t in (key, value))
        groups = heads
    query = query.unflatten(-3, (groups, heads // groups))
    if mask is not None and len(mask._spec.shape) > 2:
        mask = mask.unsqueeze(-3) if mask._spec.shape[-3] == 1 else mask.unflatten(-3, (groups, heads // groups))
    return query, key.unsqueeze(-3), value.unsqueeze(-3), mask


# Several heads


def _check_heads(query, key, value, padding, mask, heads):
    """Whether the input is a batch; AssertionError for what is neither that nor one sample."""
    kinds = {3: ("batched (3-D)", 3, 2), 2: ("unbatched (2-D)", 2, 1)}
    if query.dim() not in kinds:
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query tensor"
        )
    kind, dims, padding_dims = kinds[query.dim()]
    if key.dim() != dims or value.dim() != dims:
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {dims}-D but found {key.dim()}-D and {value.dim()}-D "
            "tensors respectively"
        )
    if padding is not None and padding.dim() != padding_dims:
        raise AssertionError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {padding_dims}-D but found "
            f"{padding.dim()}-D tensor instead"
        )
    if mask is not None and mask.dim() not in (2, 3):
        raise AssertionError(
            f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {mask.dim()}-D tensor instead"
        )
    if mask is not None and dims == 2 and mask.dim() == 3:
        wanted = heads, query.shape[0], key.shape[0]
        if tuple(mask.shape) != wanted:
            raise AssertionError(f"Expected `attn_mask` shape to be {wanted} but got {mask.shape}")
    return dims == 3


def _added(mask, name, dtype):
    """A mask as numbers to be added: minus infinity where a boolean one is True."""
    if mask is None or mask.dtype.is_floating_point:
        return mask
    if mask.dtype is not dtypes.bool_:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    return zeros(tuple(mask.shape), dtype=dtype).masked_fill(mask, -math.inf)


def _projected(query, key, value, weight, bias, weights):
    """Queries, keys and values after their layers; what is one tensor goes through one product."""
    width = query.shape[-1]
    if weight is None:
        biases = (None, None, None) if bias is None else bias.chunk(3)
        return [linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)]
    if query is key and key is value:
        return linear(query, weight, bias).split(width, -1)
    if key is value:
        parts = (None, None) if bias is None else bias.split([width, 2 * width])
        first, both = weight.split([width, 2 * width])
        return [linear(query, first, parts[0]), *linear(key, both, parts[1]).split(width, -1)]
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return [linear(x, w, b) for x, w, b in zip((query, key, value), weight.chunk(3), biases, strict=True)]


def _heads(x, batch, heads, width):
    """(places, batch, heads * width) as (batch, heads, places, width)."""
    return x.reshape(x.shape[0], batch, heads, width).permute(1, 2, 0, 3)


def _static(x, name, count, width):
    if x.size(0) != count:
        raise AssertionError(f"expecting {name}.size(0) of {count}, but got {x.size(0)}")
    if x.size(2) != width:
        raise AssertionError(f"expecting {name}.size(2) of {width}, but got {x.size(2)}")
    return x


def _wider(mask):
    """A mask for one more key, which everyone may see."""
    return None if mask is None else cat((mask, mask.new_zeros((*mask.shape[:-1], 1))), -1)


def multi_head_attention_forward(query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v,
                                 add_zero_attn, dropout_p, out_proj_weight, out_proj_bias, training=True,
                                 key_padding_mask=None, need_weights=True, attn_mask=None, use_separate_proj_weight=False,
                                 q_proj_weight=None, k_proj_weight=None, v_proj_weight=None, static_k=None, static_v=None,
                                 average_attn_weights=True, is_causal=False):  # fmt: skip
    """Attention of several heads over projections: (result, weights or None), for inputs (places, batch, width).

    >>> x, w = torch.ones(2, 1, 2), torch.eye(2)
    >>> f = torch.nn.functional.multi_head_attention_forward
    >>> y, weights = f(x, x, x, 2, 1, torch.cat([w, w, w]), None, None, None, False, 0., w, None)
    >>> y.flatten(), weights
    (tensor([1., 1., 1., 1.]), tensor([[[0.5000, 0.5000],
             [0.5000, 0.5000]]]))
    """
    batched = _check_heads(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        same = key is value, query is key
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        value = key if same[0] else value
        query = key if same[1] else query
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    queries, batch, width = query.shape
    if key_padding_mask is not None and attn_mask is not None and key_padding_mask.dtype is not attn_mask.dtype:
        warnings.warn(
            "Support for mismatched key_padding_mask and attn_mask is deprecated. Use same type for both instead.",
            stacklevel=2,
        )
    padding = _added(key_padding_mask, "key_padding_mask", query.dtype)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    is_causal = is_causal and padding is None
    mask = None if is_causal and not need_weights else _added(attn_mask, "attn_mask", query.dtype)
    if width != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}")
    each = width // num_heads
    if each * num_heads != width:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight and key.shape[:2] != value.shape[:2]:
        raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
    if not use_separate_proj_weight and key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    if mask is not None:
        wanted = (batch * num_heads, queries, key.shape[0])[-mask.dim() :]
        if tuple(mask.shape) != wanted:
            raise RuntimeError(f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {wanted}.")
        mask = mask.reshape(batch, num_heads, *wanted[1:]) if mask.dim() == 3 else mask
    weights = q_proj_weight, k_proj_weight, v_proj_weight
    together = None if use_separate_proj_weight else in_proj_weight
    q, k, v = _projected(query, key, value, together, in_proj_bias, weights)
    if (bias_k is None) != (bias_v is None):
        raise AssertionError(
            f"bias_{'v' if bias_k is None else 'k'} is set but bias_{'k' if bias_k is None else 'v'} is None"
        )
    if bias_k is not None:
        for name, static in (("key", static_k), ("value", static_v)):
            if static is not None:
                raise AssertionError(f"bias cannot be added to static {name}.")
        k, v = (cat((x, bias.repeat(1, batch, 1))) for x, bias in ((k, bias_k), (v, bias_v)))
        mask, padding = _wider(mask), _wider(padding)
    q, k, v = (_heads(x, batch, num_heads, each) for x in (q, k, v))
    if static_k is not None:
        k = _static(static_k, "static_k", batch * num_heads, each).reshape(batch, num_heads, -1, each)
    if static_v is not None:
        v = _static(static_v, "static_v", batch * num_heads, each).reshape(batch, num_heads, -1, each)
    if add_zero_attn:
        k, v = (cat((x, x.new_zeros((batch, num_heads, 1, each))), 2) for x in (k, v))
        mask, padding = _wider(mask), _wider(padding)
    keys = k.shape[2]
    if padding is not None:
        if tuple(padding.shape) != (batch, keys):
            where, found, wanted = (
                (0, padding.shape[0], batch) if padding.shape[0] != batch else (1, padding.shape[1], keys)
            )
            raise AssertionError(f"expecting key_padding_mask.shape[{where}] to be {wanted}, but got {found}")
        padding = padding.reshape(batch, 1, 1, keys)
        mask = padding if mask is None else mask + padding
    p = dropout_p if training else 0.0
    if not need_weights:
        result, shown = scaled_dot_product_attention(q, k, v, mask, p, is_causal), None
    else:
        result, shown = _weighted(q, k, v, mask, p)
    result = result.permute(2, 0, 1, 3).reshape(queries * batch, width)
    result = linear(result, out_proj_weight, out_proj_bias)
    result = result.reshape(queries, batch, result.shape[1])
    if shown is not None and average_attn_weights:
        shown = shown.mean(1)
    if not batched:
        result, shown = result.squeeze(1), None if shown is None else shown.squeeze(0)
    return result, shown


def _weighted(q, k, v, mask, p):
    """(result, weights): all weights, because they are asked for."""
    batch, heads, queries, width = q.shape
    flat = lambda x: x.reshape(batch * heads, *x.shape[2:])
    q, k = flat(q) * math.sqrt(1 / width), flat(k).transpose(1, 2)
    if mask is None:
        scores = bmm(q, k)
    else:
        mask = flat(mask.expand(batch, heads, queries, k.shape[2])) if mask.dim() == 4 else mask
        scores = baddbmm(*(fitting.lowered(mask, q, k) or (mask, q, k)))
    weights = softmax(scores.reshape(batch, heads, queries, -1), -1)
    if p:
        weights = dropout(weights, p)
    return bmm(flat(weights), flat(v)).reshape(batch, heads, queries, -1), weights
