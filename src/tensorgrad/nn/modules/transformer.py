"""The Transformer: encoder, decoder, and their layers."""

import copy
import warnings

from tensorgrad import dtypes
from tensorgrad.nn import functional as F
from tensorgrad.nn import init
from tensorgrad.nn.modules.activation import MultiheadAttention
from tensorgrad.nn.modules.container import ModuleList
from tensorgrad.nn.modules.dropout import Dropout
from tensorgrad.nn.modules.linear import Linear
from tensorgrad.nn.modules.module import Module
from tensorgrad.nn.modules.normalization import LayerNorm

__all__ = ["Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
           "TransformerEncoderLayer"]  # fmt: skip


def _activation(activation):
    """The function that "relu" or "gelu" names."""
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(F, activation)


def _mask_like(mask, name, other, tensor, check_other=True):
    """A mask of numbers to be added; a boolean one becomes minus infinity where it is True."""
    if mask is None:
        return None
    if mask.dtype is not dtypes.bool_ and not mask.dtype.is_floating_point:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if check_other and other is not None and other.dtype is not mask.dtype:
        warnings.warn(
            f"Support for mismatched {name} and {'attn_mask' if 'key' in name else 'src_key_padding_mask'} is deprecated. Use "
            "same type for both instead.",
            stacklevel=3,
        )
    if mask.dtype is dtypes.bool_:
        return tensor.new_zeros(mask.shape).masked_fill_(mask, float("-inf"))
    return mask


def _is_causal(mask, is_causal, length):
    """Whether a mask hides exactly what comes later."""
    if is_causal is not None or mask is None:
        return bool(is_causal)
    expected = Transformer.generate_square_subsequent_mask(length, dtype=mask.dtype)
    return mask.shape == expected.shape and bool((mask == expected).all())


class _Layer(Module):
    """What encoder and decoder layers share: normalization before or after each block, and the feed-forward block."""

    __constants__ = ["norm_first"]

    def __setstate__(self, state):
        super().__setstate__(state)
        if not hasattr(self, "activation"):
            self.activation = F.relu

    def _attend(self, attention, query, memory, mask, padding, is_causal):
        return attention(
            query, memory, memory, attn_mask=mask, key_padding_mask=padding, is_causal=is_causal, need_weights=False
        )[0]


class TransformerEncoderLayer(_Layer):
    """Self-attention, then two linear layers, each with a shortcut around it.

    >>> torch.nn.TransformerEncoderLayer(d_model=8, nhead=2, dropout=0.)(torch.ones(5, 2, 8)).shape
    tensorgrad.Size([5, 2, 8])
    """

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5,
                 batch_first=False, norm_first=False, bias=True, device=None, dtype=None):  # fmt: skip
        super().__init__()
        made = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **made)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **made)
        self.norm_first = norm_first
        self.norm1, self.norm2 = (LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **made) for _ in range(2))
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.activation = _activation(activation)
        kinds = {id(F.relu): 1, id(F.gelu): 2}
        self.activation_relu_or_gelu = kinds.get(id(self.activation), 0)

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        padding = _mask_like(src_key_padding_mask, "src_key_padding_mask", src_mask, src)
        mask = _mask_like(src_mask, "src_mask", None, src, check_other=False)
        if self.norm_first:
            src = src + self._sa_block(self.norm1(src), mask, padding, is_causal)
            return src + self._ff_block(self.norm2(src))
        src = self.norm1(src + self._sa_block(src, mask, padding, is_causal))
        return self.norm2(src + self._ff_block(src))

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        return self.dropout1(self._attend(self.self_attn, x, x, attn_mask, key_padding_mask, is_causal))

    def _ff_block(self, x):
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to what the encoder gave, then two linear layers.

    >>> layer = torch.nn.TransformerDecoderLayer(d_model=8, nhead=2, dropout=0.)
    >>> layer(torch.ones(5, 2, 8), torch.ones(3, 2, 8)).shape
    tensorgrad.Size([5, 2, 8])
    """

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5,
                 batch_first=False, norm_first=False, bias=True, device=None, dtype=None):  # fmt: skip
        super().__init__()
        made = {"device": device, "dtype": dtype}
        attention = {"dropout": dropout, "batch_first": batch_first, "bias": bias, **made}
        self.self_attn = MultiheadAttention(d_model, nhead, **attention)
        self.multihead_attn = MultiheadAttention(d_model, nhead, **attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **made)
        self.norm_first = norm_first
        for name in ("norm1", "norm2", "norm3"):
            self.add_module(name, LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **made))
        for name in ("dropout1", "dropout2", "dropout3"):
            self.add_module(name, Dropout(dropout))
        self.activation = _activation(activation)

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None,
                memory_key_padding_mask=None, tgt_is_causal=False, memory_is_causal=False):  # fmt: skip
        own = tgt_mask, tgt_key_padding_mask, tgt_is_causal
        other = memory, memory_mask, memory_key_padding_mask, memory_is_causal
        if self.norm_first:
            tgt = tgt + self._sa_block(self.norm1(tgt), *own)
            tgt = tgt + self._mha_block(self.norm2(tgt), *other)
            return tgt + self._ff_block(self.norm3(tgt))
        tgt = self.norm1(tgt + self._sa_block(tgt, *own))
        tgt = self.norm2(tgt + self._mha_block(tgt, *other))
        return self.norm3(tgt + self._ff_block(tgt))

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        return self.dropout1(self._attend(self.self_attn, x, x, attn_mask, key_padding_mask, is_causal))

    def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
        return self.dropout2(self._attend(self.multihead_attn, x, mem, attn_mask, key_padding_mask, is_causal))

    def _ff_block(self, x):
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))


def _clones(module, count):
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


class TransformerEncoder(Module):
    """Several encoder layers, each starting as a copy of one.

    >>> layer = torch.nn.TransformerEncoderLayer(d_model=8, nhead=2, batch_first=True)
    >>> torch.nn.TransformerEncoder(layer, num_layers=2)(torch.ones(2, 5, 8)).shape
    tensorgrad.Size([2, 5, 8])
    """

    __constants__ = ["norm"]

    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__()
        self.layers = _clones(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check
        self.use_nested_tensor = False  # there are none: padded places are computed like the others
        if enable_nested_tensor:
            reason = _why_not_nested(encoder_layer)
            if reason:
                warnings.warn(
                    f"enable_nested_tensor is True, but self.use_nested_tensor is False because {reason}", stacklevel=2
                )

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        padding = _mask_like(src_key_padding_mask, "src_key_padding_mask", mask, src)
        mask = _mask_like(mask, "mask", None, src, check_other=False)
        first = self.layers[0].self_attn.batch_first
        is_causal = _is_causal(mask, is_causal, src.shape[1 if first and src.dim() == 3 else 0])
        for layer in self.layers:
            src = layer(src, src_mask=mask, is_causal=is_causal, src_key_padding_mask=padding)
        return src if self.norm is None else self.norm(src)


def _why_not_nested(layer):
    """Why PyTorch would not take the path of nested tensors for this layer; "" if it would."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    if layer.norm_first:
        return "encoder_layer.norm_first was True"
    if not layer.self_attn.batch_first:
        return "encoder_layer.self_attn.batch_first was not True(use batch_first for better inference performance)"
    if not layer.self_attn._qkv_same_embed_dim:
        return "encoder_layer.self_attn._qkv_same_embed_dim was not True"
    if layer.self_attn.in_proj_bias is None:
        return "encoder_layer.self_attn was passed bias=False"
    if not layer.activation_relu_or_gelu:
        return "encoder_layer.activation_relu_or_gelu was not True"
    if layer.norm1.eps != layer.norm2.eps:
        return "encoder_layer.norm1.eps was not equal to encoder_layer.norm2.eps"
    if layer.self_attn.num_heads % 2 == 1:
        return "encoder_layer.self_attn.num_heads is odd"
    return ""


class TransformerDecoder(Module):
    """Several decoder layers, each starting as a copy of one.

    >>> layer = torch.nn.TransformerDecoderLayer(d_model=8, nhead=2)
    >>> torch.nn.TransformerDecoder(layer, num_layers=2)(torch.ones(5, 2, 8), torch.ones(3, 2, 8)).shape
    tensorgrad.Size([5, 2, 8])
    """

    __constants__ = ["norm"]

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = _clones(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None,
                memory_key_padding_mask=None, tgt_is_causal=None, memory_is_causal=False):  # fmt: skip
        first = self.layers[0].self_attn.batch_first
        tgt_is_causal = _is_causal(tgt_mask, tgt_is_causal, tgt.shape[1 if first and tgt.dim() == 3 else 0])
        for layer in self.layers:
            tgt = layer(
                tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
                memory_is_causal=memory_is_causal,
            )  # fmt: skip
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder.

    >>> model = torch.nn.Transformer(8, 2, 1, 1, 16); model(torch.ones(5, 2, 8), torch.ones(3, 2, 8)).shape
    tensorgrad.Size([3, 2, 8])
    """

    def __init__(self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048, dropout=0.1,
                 activation=F.relu, custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5, batch_first=False,
                 norm_first=False, bias=True, device=None, dtype=None):  # fmt: skip
        super().__init__()
        made = {"device": device, "dtype": dtype}
        sizes = d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias
        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            layer = TransformerEncoderLayer(*sizes, **made)
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **made)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, norm)
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            layer = TransformerDecoderLayer(*sizes, **made)
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **made)
            self.decoder = TransformerDecoder(layer, num_decoder_layers, norm)
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self):
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None,
                tgt_key_padding_mask=None, memory_key_padding_mask=None, src_is_causal=None, tgt_is_causal=None,
                memory_is_causal=False):  # fmt: skip
        batched = src.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if batched and src.size(batch_dim) != tgt.size(batch_dim):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal,
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """The mask that hides what comes later: minus infinity above the diagonal.

        >>> torch.nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        from tensorgrad.ops.creation import full

        return full((sz, sz), float("-inf"), dtype=dtype or dtypes.get_default_dtype(), device=device).triu(1)
