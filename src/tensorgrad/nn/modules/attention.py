"""Attention with several heads. Public in nn.modules.activation, as in PyTorch."""

from tensorgrad.nn import functional as F
from tensorgrad.nn import init
from tensorgrad.nn.modules.linear import NonDynamicallyQuantizableLinear
from tensorgrad.nn.modules.module import Module
from tensorgrad.nn.parameter import Parameter
from tensorgrad.ops.creation import empty

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Attention with several heads over projections of queries, keys and values.

    >>> x = torch.ones(5, 2, 8); y, weights = torch.nn.MultiheadAttention(8, 2)(x, x, x); y.shape, weights.shape
    (tensorgrad.Size([5, 2, 8]), tensorgrad.Size([2, 5, 5]))
    """

    __constants__ = ["batch_first"]

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None,
                 vdim=None, batch_first=False, device=None, dtype=None):  # fmt: skip
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        self.embed_dim, self.kdim = embed_dim, embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads, self.dropout, self.batch_first = num_heads, dropout, batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def made(*shape):
            return Parameter(empty(shape, device=device, dtype=dtype))

        together = self._qkv_same_embed_dim  # one matrix projects queries, keys and values
        self.register_parameter("in_proj_weight", made(3 * embed_dim, embed_dim) if together else None)
        self.register_parameter("q_proj_weight", None if together else made(embed_dim, embed_dim))
        self.register_parameter("k_proj_weight", None if together else made(embed_dim, self.kdim))
        self.register_parameter("v_proj_weight", None if together else made(embed_dim, self.vdim))
        self.register_parameter("in_proj_bias", made(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        self.bias_k, self.bias_v = (made(1, 1, embed_dim), made(1, 1, embed_dim)) if add_bias_kv else (None, None)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self):
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if getattr(self, name) is not None:
                init.xavier_uniform_(getattr(self, name))
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def __setstate__(self, state):
        state.setdefault("_qkv_same_embed_dim", True)
        super().__setstate__(state)

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,
                average_attn_weights=True, is_causal=False):  # fmt: skip
        batched = query.dim() == 3
        turned = self.batch_first and batched
        if turned:  # equal tensors stay one, so that one product projects them all
            if key is value:
                query, key = (
                    (query.transpose(0, 1),) * 2 if query is key else (query.transpose(0, 1), key.transpose(0, 1))
                )
                value = key
            else:
                query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        apart = not self._qkv_same_embed_dim
        result, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k,
            self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, training=self.training,
            key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            use_separate_proj_weight=apart, q_proj_weight=self.q_proj_weight, k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight, average_attn_weights=average_attn_weights, is_causal=is_causal,
        )  # fmt: skip
        return (result.transpose(1, 0) if turned else result), weights

    def merge_masks(self, attn_mask, key_padding_mask, query):
        """One mask of both, and which kind it is: (mask, 0, 1 or 2).

        >>> torch.nn.MultiheadAttention(8, 2).merge_masks(None, None, torch.ones(1, 2, 8))
        (None, None)
        """
        if key_padding_mask is None:
            return (None, None) if attn_mask is None else (attn_mask, 0)
        if attn_mask is None:
            return key_padding_mask, 1
        batch, length, _ = query.shape
        if attn_mask.dim() == 3:
            wide = attn_mask.view(batch, -1, length, length)
        else:
            wide = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        return wide + key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1), 2


MultiheadAttention.__module__ = "tensorgrad.nn.modules.activation"  # pickled under the path that PyTorch has for it
