"""Operations whose kernels are no recording of NumPy's (they write into parts of arrays, or go block by block): the same
in whole arrays, for the compiler. `LOWERED[name](trace, inputs, params)` gets Symbols where the operation has tensors.
"""

import numpy as np

from tensorgrad.autograd.modes import no_grad
from tensorgrad.kernels import machine
from tensorgrad.kernels.program import HostCall
from tensorgrad.kernels.symbol import Symbol, concatenate, within
from tensorgrad.kernels.values import CannotRecord

LOWERED = {}
MOST_SCORES = 1 << 24  # more scores than these are not held all at once


def lowers(*names):
    """Declare how operations of these names are computed."""

    def declare(function):
        for name in names:
            LOWERED[name] = function
        return function

    return declare


def only_floats(*symbols):
    """Raise unless these are of one dtype that BLAS knows."""
    kinds = {s.dtype for s in symbols if s is not None}
    if len(kinds) != 1 or next(iter(kinds)) not in (np.float32, np.float64):
        raise CannotRecord(f"computed by Python for {kinds}")


@lowers("clone")
def clone(trace, inputs, params):
    return inputs[0].copy()


@lowers("to_copy")
def to_copy(trace, inputs, params):
    x, dtype = inputs[0], np.dtype(params[0])
    if "c" in (x.dtype.kind, dtype.kind) or (x.dtype.kind in "fV" and dtype.kind in "iu"):
        raise CannotRecord("what C makes of numbers that do not fit")
    return x.astype(dtype).copy()


@lowers("cat")
def cat(trace, inputs, params):
    arrays = [a for a in inputs if a.shape != (0,)] or list(inputs)
    return concatenate(arrays, params[0])


@lowers("scatter")
def scatter(trace, inputs, params):
    x, index, source = inputs
    dim = params[0] % x.ndim if x.ndim else 0
    one = tuple(1 if i == dim else n for i, n in enumerate(x.shape))
    if not x.ndim or index.shape != one:
        raise CannotRecord("several places of one row")
    within(
        index, x.shape[dim], f"index {{}} is out of bounds for dimension {dim} with size {x.shape[dim]}", RuntimeError
    )
    result = x.copy()
    np.put_along_axis(result, index, source[tuple(slice(n) for n in one)], dim)
    return result


@lowers("add_rows")
def add_rows(trace, inputs, params):
    """The gradient of a table: rows added where the index says."""
    (g, index), rows = inputs, params[0]
    graph = g.graph
    return Symbol(graph, graph.make("scatter", (index.value, g.value), (rows, g.shape[-1]), g.dtype))


def filled(graph, name, function, arrays, shapes):
    """A call of a kernel that fills its results, all of one dtype: their Symbols. An array may be None."""
    given = [a.value for a in arrays if a is not None]
    dtype, missing = given[0].dtype, [n for n, a in enumerate(arrays) if a is None]

    def call(*operands):
        operands = list(operands)
        for n in missing:
            operands.insert(n, None)
        function(*operands)

    host = HostCall(name, call if missing else function, tuple((s, dtype) for s in shapes), into=True)
    value = graph.make("host", given, (), np.dtype(np.int8), host)
    return [Symbol(graph, graph.make("pick", (value,), s, dtype, n)) for n, s in enumerate(shapes)]


# Losses over classes


def picked(x, target, weight, ignore_index):
    """(indices that are safe, the weight of each place)."""
    valid = np.not_equal(target, ignore_index)
    safe = np.where(valid, target, 0)
    within(safe, x.shape[1], "Target {} is out of bounds.", IndexError, negative=False)
    w = valid.astype(x.dtype)
    return safe, w if weight is None else w * weight.take(safe, 0)


def finished(loss, w, reduction):
    loss = loss * w
    if reduction == "none":
        return loss
    total = np.add.reduce(loss, axis=None)
    return total if reduction == "sum" else total / np.add.reduce(w, axis=None)


@lowers("cross_entropy", "cross_entropy2d")
def cross_entropy(trace, inputs, params):
    (x, target, weight), (ignore_index, reduction) = inputs, params
    only_floats(x, weight)
    safe, w = picked(x, target, weight, ignore_index)
    top = np.maximum.reduce(x, axis=1, keepdims=True)
    total = np.add.reduce(np.exp(x - top), axis=1)
    chosen = np.take_along_axis(x, np.expand_dims(safe, 1), 1)
    return finished(np.log(total) + (top - chosen).squeeze(1), w, reduction)


@lowers("nll_loss", "nll_loss2d")
def nll_loss(trace, inputs, params):
    (x, target, weight), (ignore_index, reduction) = inputs, params
    only_floats(x, weight)
    safe, w = picked(x, target, weight, ignore_index)
    return finished(-np.take_along_axis(x, np.expand_dims(safe, 1), 1).squeeze(1), w, reduction)


# Normalization


@lowers("layer_norm", "group_norm", "batch_norm", "instance_norm", "batch_with_update_norm", "batch_legit_norm")
def normalization(trace, inputs, params):
    """In the very terms in which the derivative is computed, so that the two share what they have in common."""
    from tensorgrad.ops.normalization import NOTHING, _parts, _scale, arranged

    x, w, b, mean, var = inputs
    kind, count, eps = params
    only_floats(x)
    shape, scale, times, statistics = arranged(kind, x.shape, count)
    with no_grad():
        tensors = [None if s is None else trace.known_tensor(s.value) for s in (x, w, b, mean, var)]
        normal, rstd, factor, average = _parts(tensors[0], tensors[1], tensors[3], tensors[4], kind, count, eps)
        out = normal if factor is None else normal * factor
        if b is not None:
            out = out + _scale(tensors[2], scale, times)
        out = out.reshape(x.shape)
        variance = NOTHING
        if mean is None:
            four = tensors[0].reshape(shape)
            middle = average(four)
            centred = four - middle
            variance = average(centred * centred).reshape(-1)
        else:
            middle = tensors[3].reshape(1, -1, 1, 1)
        parts = out, middle.reshape(statistics), rstd.reshape(statistics), variance
        return tuple(p if p is NOTHING else Symbol(trace.graph, p._array.value) for p in parts)


# Recurrent layers: the walk through the steps is a kernel, the products over all steps at once are BLAS's


def recurrent_kernels(x, h0, w_ih, w_hh, sizes, w_hr):
    """The module of the kernels, where they do this work."""
    from tensorgrad.backends.recurrent import LEAST

    if sizes is not None or w_hr is not None or not machine.available():
        raise CannotRecord("computed step by step")
    from tensorgrad.kernels import recurrent

    if x.shape[0] * x.shape[1] * w_hh.size < LEAST or not recurrent.fits(x, h0, w_ih, w_hh):
        raise CannotRecord("computed step by step")
    return recurrent


@lowers("rnn_layer")
def rnn_layer(trace, inputs, params):
    (x, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr), (cell, sizes, reverse) = inputs, params
    kernels = recurrent_kernels(x, h0, w_ih, w_hh, sizes, w_hr)
    only_floats(x, h0, c0, w_ih, w_hh, b_ih, b_hh)
    walk = kernels.Forward(x.shape, x.dtype, w_hh.shape, cell, reverse)
    shapes = kernels.forward_shapes(x.shape, w_hh.shape, cell)
    states, gates, kept = filled(trace.graph, "rnn_layer", walk, (x, h0, c0, w_ih, w_hh, b_ih, b_hh), shapes)
    last = 0 if reverse else -1
    c = np.empty(0, x.dtype) if c0 is None else kept.reshape(states.shape)[last]
    return states, states[last], c, gates, kept


@lowers("rnn_layer_gradient")
def rnn_layer_gradient(trace, inputs, params):
    gy, gh, gc, x, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr, states, gates, kept = inputs
    cell, sizes, reverse, wanted = params
    kernels = recurrent_kernels(x, h0, w_ih, w_hh, sizes, w_hr)
    only_floats(gy, gh, gc, x, h0, c0, w_ih, w_hh, b_ih, b_hh)
    count = w_hh.shape[0]
    walk = kernels.Backward(states.shape, states.dtype, count, cell, reverse)
    shapes = kernels.backward_shapes(states.shape, count, cell)
    arrays = gy, gh, gc, h0, c0, w_hh, states, gates, kept
    slopes, own, first, memory, sums = filled(trace.graph, "rnn_layer_gradient", walk, arrays, shapes)
    own = own if cell == "gru" else slopes
    found = []
    if wanted[0]:
        found.append(np.matmul(slopes, w_ih).reshape(x.shape))
    if wanted[1]:
        found.append(first)
    if wanted[2]:
        found.append(memory)
    if wanted[3]:
        found.append(np.matmul(slopes.T, x.reshape(-1, x.shape[2])))
    if wanted[4]:
        n, rows = x.shape[1], states.reshape(-1, states.shape[2])
        now, end, past = (own[:-n], own[-n:], rows[n:]) if reverse else (own[n:], own[:n], rows[:-n])
        found.append(np.matmul(now.T, past) + np.matmul(end.T, h0))
    if wanted[5]:
        found.append(sums)
    if wanted[6]:
        found.append(np.add.reduce(own, axis=0) if cell == "gru" else sums)
    return tuple(found)


# Attention, where all scores can be held


def scores_of(q, k, mask, causal, scale):
    """exp(scores - their largest), the largest, and the inverse of the sum, of each query."""
    only_floats(q, k, mask if mask is not None and mask.dtype.kind != "b" else None)
    graph = q.graph
    s = np.matmul(q, k.swapaxes(-1, -2)) * q.dtype.type(scale).item()
    if s.size > MOST_SCORES:
        raise CannotRecord("too many scores to hold at once")
    if causal:
        row, column = (Symbol(graph, graph.iota(s.shape, axis)) for axis in (s.ndim - 2, s.ndim - 1))
        s = np.where(column > row, -np.inf, s)
    if mask is not None:
        s = np.where(mask, s, -np.inf) if mask.dtype.kind == "b" else s + mask
    top = np.maximum.reduce(s, axis=-1, keepdims=True)
    if mask is not None:  # a query may see nothing
        top = np.where(top == -np.inf, 0, top)
    e = np.exp(s - top)
    total = np.add.reduce(e, axis=-1, keepdims=True)
    if mask is not None:
        total = np.where(total == 0, 1, total)
    return e, top, np.true_divide(1, total)


@lowers("scaled_dot_product_attention")
def attention(trace, inputs, params):
    *parts, mask = inputs
    causal, scale, *turned = params
    q, k, v = turn(turned, parts)
    only_floats(q, k, v)
    e, top, inverse = scores_of(q, k, mask, causal, scale)
    return *turn(turned, [np.matmul(e, v) * inverse]), concatenate([top, inverse], -1)


@lowers("scaled_dot_product_attention_gradient")
def attention_gradient(trace, inputs, params):
    *parts, mask, _ = inputs
    causal, scale, *turned, wanted = params
    g, q, k, v = turn(turned, parts)
    only_floats(g, q, k, v)
    if wanted[3]:
        raise CannotRecord("the gradient of a mask")
    e, _, inverse = scores_of(q, k, mask, causal, scale)
    g = g * inverse
    change = np.matmul(g, v.swapaxes(-1, -2))
    change = e * (change - np.add.reduce(change * e, axis=-1, keepdims=True) * inverse) * q.dtype.type(scale).item()
    found = []
    if wanted[0]:
        found.append(summed(np.matmul(change, k), q.shape))
    if wanted[1]:
        found.append(summed(np.matmul(change.swapaxes(-1, -2), q), k.shape))
    if wanted[2]:
        found.append(summed(np.matmul(e.swapaxes(-1, -2), g), v.shape))
    return tuple(turn(turned, found))


def turn(turned, arrays):
    """Arrays with their heads before their places, or the way back."""
    return [x.swapaxes(1, 2) if turned and turned[0] else x for x in arrays]


def summed(x, shape):
    """Undo a broadcast."""
    lead = x.ndim - len(shape)
    axes = tuple(range(lead)) + tuple(lead + i for i, n in enumerate(shape) if n == 1 and x.shape[lead + i] != 1)
    return np.add.reduce(x, axis=axes, keepdims=True).reshape(shape) if axes else x
