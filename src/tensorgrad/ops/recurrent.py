"""Recurrent networks: lstm, gru, rnn_tanh and rnn_relu over whole sequences, and their cells for one step.

A layer in one direction is one operation, whose kernel walks all steps (backends/recurrent.py); layers and directions are
put together here. Derivatives of derivatives, vmap and forward mode take the same steps in tensor operations.
"""

import itertools

import numpy as np

from tensorgrad.backends import recurrent as kernels
from tensorgrad.ops import composed
from tensorgrad.ops.dropout import _dropout
from tensorgrad.ops.fitting import Tensor, check_tensor, kind_name
from tensorgrad.ops.joining import cat, stack
from tensorgrad.ops.matmul import linear, matmul
from tensorgrad.ops.primitive import Primitive, recording

PUBLIC = {"": "lstm gru rnn_tanh rnn_relu lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell"}
GATED = ("lstm", "gru")
NOTHING = np.empty(0, np.float32)

# One layer, in one direction


def _kernel(x, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr, cell, sizes, reverse):
    if not isinstance(x, np.ndarray):
        raise NotImplementedError("a loop over steps")
    return kernels.forward(x, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr, cell, sizes, reverse)


def _pullback(g, x, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr, out, wanted, cell, sizes, reverse):
    inputs = x, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr
    arrived = [*g[:3], *(None,) * (3 - len(g))]
    if isinstance(x, np.ndarray):
        return kernels.backward(*arrived, *inputs, out[0], *out[3:], cell, sizes, reverse, wanted)
    if recording() or not composed.has_kernel([*arrived, *inputs]):
        steps = lambda *operands: _composed(*operands, cell, sizes, reverse)
        arrived[2] = None if cell != "lstm" else arrived[2]
        return composed.gradients(steps, inputs, arrived, wanted)
    wanted = tuple([want and t is not None for want, t in zip(wanted, inputs, strict=True)])
    kept = out[3:] if cell in GATED else (None, None)
    found = iter(_gradient(*arrived, *inputs, out[0], *kept, cell, sizes, reverse, wanted))
    return [next(found) if want else None for want in wanted]


def _gradient_kernel(
    gy, gh, gc, x, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr, states, gates, kept, cell, sizes, reverse, wanted
):
    if not isinstance(x, np.ndarray):
        raise NotImplementedError("a loop over steps")
    found = kernels.backward(
        gy, gh, gc, x, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr, states, gates, kept, cell, sizes, reverse, wanted
    )
    return tuple(g for g, want in zip(found, wanted, strict=True) if want)


class Recurrence(Primitive):
    """Of its results the states of all steps are saved, with the gates and what is kept beside them where there are gates."""

    @property
    def node_class(self):
        made = super().node_class
        made.saved_outputs = (0, 3, 4)
        return made

    def record(self, inputs, params, edges, out):
        kept = out[3:] if params[0] in GATED else (NOTHING, NOTHING)
        return super().record(inputs, params, edges, (out[0], NOTHING, NOTHING, *kept))


_layer = Recurrence(
    "rnn_layer", _kernel, arity=8, inputs=("x", "h0", "c0", "w_ih", "w_hh", "b_ih", "b_hh", "w_hr"),
    params=("cell", "sizes", "reverse"), pullback=_pullback, count=5, fresh=True,
)  # fmt: skip
_gradient = Primitive(
    "rnn_layer_gradient", _gradient_kernel, arity=14, params=("cell", "sizes", "reverse", "wanted"),
    inputs=("gy", "gh", "gc", "x", "h0", "c0", "w_ih", "w_hh", "b_ih", "b_hh", "w_hr", "states", "gates", "kept"),
)  # fmt: skip


def _composed(x, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, cell, sizes, reverse):
    """The same in tensor operations: (states of all steps, last state, last memory)."""
    whole = linear(x, w_ih, b_ih)
    parts = list(whole.unbind(0) if sizes is None else whole.split(list(sizes), 0))
    step, states = _COMPOSED[cell], [None] * len(parts)
    for t in reversed(range(len(parts))) if reverse else range(len(parts)):
        n, batch = parts[t].shape[0], h.shape[0]
        before = (h, c) if n == batch else (h[:n], None if c is None else c[:n])
        after = step(parts[t], *before, w_hh, b_hh, w_hr)
        states[t] = after[0]
        if n != batch:
            after = [None if old is None else cat((new, old[n:])) for new, old in zip(after, (h, c), strict=True)]
        h, c = after
    return (stack(states) if sizes is None else cat(states)), h, c


def _lstm_step(gates, h, c, w_hh, b_hh, w_hr):
    i, f, g, o = (gates + linear(h, w_hh, b_hh)).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    h = o.sigmoid() * c.tanh()
    return (h if w_hr is None else matmul(h, w_hr.t())), c


def _gru_step(gates, h, c, w_hh, b_hh, w_hr):
    r, z, n = gates.chunk(3, -1)
    own_r, own_z, own_n = linear(h, w_hh, b_hh).chunk(3, -1)
    n = (n + (r + own_r).sigmoid() * own_n).tanh()
    return (h - n) * (z + own_z).sigmoid() + n, None


def _plain_step(function):
    return lambda gates, h, c, w_hh, b_hh, w_hr: (function(gates + linear(h, w_hh, b_hh)), None)


_COMPOSED = {"lstm": _lstm_step, "gru": _gru_step, "tanh": _plain_step(Tensor.tanh), "relu": _plain_step(Tensor.relu)}


def _run(x, h0, c0, weights, cell, sizes, reverse):
    """(states of all steps, last state, last memory) of one layer in one direction."""
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    inputs = x, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr
    if not composed.has_kernel(inputs):
        return _composed(*inputs, cell, sizes, reverse)
    return _layer(*inputs, cell, sizes, reverse)[:3]


# What is wrong


def _check(name, cell, x, h, c, weights, sizes):
    """Raise for shapes and dtypes that do not fit together."""
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    for t in (x, h, c, *weights):
        if t is not None and t._spec.dtype is not x._spec.dtype:
            raise RuntimeError(
                f"{name}: expected input, states and weights to have the same dtype, but got {x._spec.dtype} and {t._spec.dtype}"
            )
    if not x._spec.dtype.is_floating_point:
        raise NotImplementedError(f"\"{name}\" not implemented for '{x._spec.dtype.title}'")
    rows, hidden = tuple(w_ih._spec.shape), w_hh._spec.shape[0] // kernels.GATES[cell]
    width = hidden if w_hr is None else w_hr._spec.shape[0]
    batch = x._spec.shape[1] if sizes is None else sizes[0]
    if x._spec.shape[-1] != rows[1]:
        count = x._spec.size // (x._spec.shape[-1] or 1)
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({count}x{x._spec.shape[-1]} and {rows[1]}x{rows[0]})"
        )
    gates = hidden * kernels.GATES[cell]
    wanted = {
        "hx[0]": (h, (batch, width)), "hx[1]": (c, (batch, hidden)), "weight_ih": (w_ih, (gates, rows[1])),
        "weight_hh": (w_hh, (gates, width)), "weight_hr": (w_hr, (width, hidden)),
        "bias_ih": (b_ih, rows[:1]), "bias_hh": (b_hh, rows[:1]),
    }  # fmt: skip
    for word, (t, shape) in wanted.items():
        if t is not None and tuple(t._spec.shape) != shape:
            raise RuntimeError(f"{name}: Expected {word} size {shape}, got {list(t._spec.shape)}")


# All layers

WORDS = ("has_biases", "num_layers", "dropout", "train", "bidirectional")


def _arguments(name, args, kwargs):
    """The arguments of either form: (input, hx, params, ..., batch_first) or (data, batch_sizes, hx, params, ...)."""
    packed = "batch_sizes" in kwargs or (len(args) > 2 and isinstance(args[1], Tensor)
                                         and (name == "lstm" or isinstance(args[2], Tensor)))  # fmt: skip
    words = (
        ("data", "batch_sizes", "hx", "params", *WORDS) if packed else ("input", "hx", "params", *WORDS, "batch_first")
    )
    given = dict(zip(words, args, strict=False))
    if len(args) > len(words) or {*given} & {*kwargs} or {*given, *kwargs} != {*words}:
        kinds = ", ".join([*map(kind_name, args), *(f"{k}={kind_name(v)}" for k, v in kwargs.items())])
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({kinds}), but expected one of:\n"
            f" * (Tensor data, Tensor batch_sizes, {_HX[name]} hx, tuple of Tensors params, bool has_biases, int num_layers, "
            "float dropout, bool train, bool bidirectional)\n"
            f" * (Tensor input, {_HX[name]} hx, tuple of Tensors params, bool has_biases, int num_layers, float dropout, "
            "bool train, bool bidirectional, bool batch_first)"
        )
    given.update(kwargs)
    return packed, given


_HX = {"lstm": "tuple of Tensors", "gru": "Tensor", "rnn_tanh": "Tensor", "rnn_relu": "Tensor"}


def _layers(name, cell, args, kwargs):
    """(output, last states, last memories or None)."""
    packed, given = _arguments(name, args, kwargs)
    x = check_tensor(name, given["data"] if packed else given["input"], "data" if packed else "input")
    hx = given["hx"]
    if cell == "lstm":
        if not isinstance(hx, (tuple, list)) or len(hx) != 2:
            raise RuntimeError("lstm expects two hidden states")
        h, c = (check_tensor(name, t, "hx", 2) for t in hx)
    else:
        h, c = check_tensor(name, hx, "hx", 2), None
    sizes = None
    if packed:
        sizes = tuple(check_tensor(name, given["batch_sizes"], "batch_sizes", 2).tolist())
        if not sizes or any(a < b for a, b in itertools.pairwise(sizes)) or sum(sizes) != len(x):
            raise RuntimeError(
                f"{name}: batch_sizes must not grow and add up to the rows of the data, but got {list(sizes)} for {len(x)} rows"
            )
    turned = not packed and given["batch_first"]
    if turned:
        x = x.transpose(0, 1)
    if not packed and len(x._spec.shape) != 3:
        raise RuntimeError(f"input must have 3 dimensions, got {len(x._spec.shape)}")
    if not packed and not x._spec.shape[0]:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    directions = 2 if given["bidirectional"] else 1
    weights = _weights(name, cell, given, h, c)
    last_h, last_c, p = [], [], float(given["dropout"])
    for layer in range(given["num_layers"]):
        outputs = []
        for direction in range(directions):
            number = layer * directions + direction
            start = h[number], None if c is None else c[number]
            _check(name, cell, x, *start, weights[number], sizes)
            y, end_h, end_c = _run(x, *start, weights[number], cell, sizes, direction == 1)
            outputs.append(y)
            last_h.append(end_h)
            last_c.append(end_c)
        x = outputs[0] if directions == 1 else cat(outputs, -1)
        if p and given["train"] and layer + 1 < given["num_layers"]:
            x = _dropout(x, p, True)
    if x._node is not None:
        x = x.clone()  # the user's own: here it may be written to, as in PyTorch, while the states are needed
    gathered = lambda ends: ends[0].unsqueeze(0) if len(ends) == 1 else stack(ends)
    return x.transpose(0, 1) if turned else x, gathered(last_h), gathered(last_c) if cell == "lstm" else None


def _weights(name, cell, given, h, c):
    """The weights of each layer and direction: [(w_ih, w_hh, b_ih, b_hh, w_hr)], None for what there is not."""
    params, biases = given["params"], bool(given["has_biases"])
    count = given["num_layers"] * (2 if given["bidirectional"] else 1)
    if not isinstance(params, (tuple, list)):
        raise TypeError(f"{name}(): argument 'params' must be tuple of Tensors, not {kind_name(params)}")
    for position, t in enumerate((h, c)):
        if t is not None and (len(t._spec.shape) != 3 or t._spec.shape[0] != count):
            raise RuntimeError(
                f"{name}: Expected hx[{position}] to have {count} states of a batch, got {list(t._spec.shape)}"
            )
    projected = cell == "lstm" and h._spec.shape[2] != c._spec.shape[2]
    each = 2 + 2 * biases + projected
    if len(params) != each * count:
        raise RuntimeError(
            f"{name}: Expected {each * count} weights ({each} for each layer and direction), got {len(params)}"
        )
    found = []
    for start in range(0, len(params), each):
        some = [check_tensor(name, t, "params", 3) for t in params[start : start + each]]
        found.append((*some[:2], *(some[2:4] if biases else (None, None)), some[-1] if projected else None))
    return found


def lstm(*args, **kwargs):
    """Long short-term memory over whole sequences: (output, last states, last memories).

    Called as lstm(input, (h0, c0), params, has_biases, num_layers, dropout, train, bidirectional, batch_first), or, for
    packed sequences, lstm(data, batch_sizes, (h0, c0), params, has_biases, num_layers, dropout, train, bidirectional).

    >>> x, start, weights = torch.ones(3, 1, 1), torch.zeros(1, 1, 1), (torch.ones(4, 1), torch.zeros(4, 1))
    >>> torch.lstm(x, (start, start), weights, False, 1, 0., False, False, False)[0].flatten()
    tensor([0.3696, 0.5453, 0.6225])
    """
    return _layers("lstm", "lstm", args, kwargs)


def gru(*args, **kwargs):
    """Gated recurrent units over whole sequences: (output, last states).

    Called as gru(input, h0, params, has_biases, num_layers, dropout, train, bidirectional, batch_first), or, for packed
    sequences, gru(data, batch_sizes, h0, params, has_biases, num_layers, dropout, train, bidirectional).

    >>> x, start, weights = torch.ones(3, 1, 1), torch.zeros(1, 1, 1), (torch.ones(3, 1), torch.zeros(3, 1))
    >>> torch.gru(x, start, weights, False, 1, 0., False, False, False)[0].flatten()
    tensor([0.2048, 0.3546, 0.4640])
    """
    return _layers("gru", "gru", args, kwargs)[:2]


def rnn_tanh(*args, **kwargs):
    """tanh(W x + U h) over whole sequences: (output, last states).

    Called as rnn_tanh(input, h0, params, has_biases, num_layers, dropout, train, bidirectional, batch_first), or, for packed
    sequences, rnn_tanh(data, batch_sizes, h0, params, has_biases, num_layers, dropout, train, bidirectional).

    >>> x, start, weights = torch.ones(2, 1, 1), torch.zeros(1, 1, 1), (torch.ones(1, 1), torch.ones(1, 1))
    >>> torch.rnn_tanh(x, start, weights, False, 1, 0., False, False, False)[0].flatten()
    tensor([0.7616, 0.9427])
    """
    return _layers("rnn_tanh", "tanh", args, kwargs)[:2]


def rnn_relu(*args, **kwargs):
    """relu(W x + U h) over whole sequences: (output, last states).

    Called as rnn_relu(input, h0, params, has_biases, num_layers, dropout, train, bidirectional, batch_first), or, for packed
    sequences, rnn_relu(data, batch_sizes, h0, params, has_biases, num_layers, dropout, train, bidirectional).

    >>> x, start, weights = torch.ones(2, 1, 1), torch.zeros(1, 1, 1), (torch.ones(1, 1), torch.ones(1, 1))
    >>> torch.rnn_relu(x, start, weights, False, 1, 0., False, False, False)[0].flatten()
    tensor([1., 2.])
    """
    return _layers("rnn_relu", "relu", args, kwargs)[:2]


# One step


def _cell(name, cell, input, states, w_ih, w_hh, b_ih, b_hh):
    """(state, memory) after one step of a batch."""
    check_tensor(name, input)
    for state in states:
        check_tensor(name, state, "hx", 2)
    for word, t, position in (("w_ih", w_ih, 3), ("w_hh", w_hh, 4)):
        check_tensor(name, t, word, position)
    if len(input._spec.shape) != 2 or any(len(state._spec.shape) != 2 for state in states):
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    if input._spec.shape[1] != w_ih._spec.shape[1]:
        raise RuntimeError(
            f"input has inconsistent input_size: got {input._spec.shape[1]} expected {w_ih._spec.shape[1]}"
        )
    for position, state in enumerate(states):
        batch, size = state._spec.shape
        if batch != input._spec.shape[0]:
            raise RuntimeError(
                f"Input batch size {input._spec.shape[0]} doesn't match hidden{position} batch size {batch}"
            )
        if size != w_hh._spec.shape[1]:
            raise RuntimeError(
                f"hidden{position} has inconsistent hidden_size: got {size}, expected {w_hh._spec.shape[1]}"
            )
    h, c = states if len(states) == 2 else (states[0], None)
    if (b_ih is None) != (b_hh is None):  # as if the other were zero
        b_ih, b_hh = (t if t is not None else w_ih.new_zeros(w_ih._spec.shape[0]) for t in (b_ih, b_hh))
    weights, sizes = (w_ih, w_hh, b_ih, b_hh, None), (input._spec.shape[0],)
    _check(name, cell, input, h, c, weights, sizes)
    return _run(input, h, c, weights, cell, sizes, False)[1:]


def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of an LSTM: (state, memory).

    >>> state, w_ih, w_hh = torch.zeros(1, 1), torch.ones(4, 1), torch.ones(4, 1)
    >>> torch.lstm_cell(torch.ones(1, 1), (state, state), w_ih, w_hh)
    (tensor([[0.3696]]), tensor([[0.5568]]))
    """
    if not isinstance(hx, (tuple, list)) or len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    return _cell("lstm_cell", "lstm", input, tuple(hx), w_ih, w_hh, b_ih, b_hh)


def gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of gated recurrent units.

    >>> torch.gru_cell(torch.ones(1, 1), torch.zeros(1, 1), torch.ones(3, 1), torch.ones(3, 1))
    tensor([[0.2048]])
    """
    return _cell("gru_cell", "gru", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """tanh(W x + U h).

    >>> torch.rnn_tanh_cell(torch.ones(1, 1), torch.zeros(1, 1), torch.ones(1, 1), torch.ones(1, 1))
    tensor([[0.7616]])
    """
    return _cell("rnn_tanh_cell", "tanh", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def rnn_relu_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """relu(W x + U h).

    >>> torch.rnn_relu_cell(torch.ones(1, 1), torch.zeros(1, 1), torch.ones(1, 1), torch.ones(1, 1))
    tensor([[1.]])
    """
    return _cell("rnn_relu_cell", "relu", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]
