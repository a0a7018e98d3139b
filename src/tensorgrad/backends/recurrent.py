"""One layer of a recurrent network, in one direction, over all steps of all sequences: forward, and all gradients.

The rows of step t stand one after another: (steps, batch, width), or (rows, width) with `sizes`, the number of rows of each
step, which never grows. The products with the inputs are one product for all steps, as are those for the gradients of the
weights; what has to go step by step is one product with the state and the gates. Half types are computed in float32.

    cell   gates                               what is kept beside them
    lstm   input, forget, candidate, output    the memory after each step
    gru    reset, update, candidate            the state's part of the candidate
    tanh, relu                                 nothing
"""

import numpy as np

from tensorgrad.backends import native
from tensorgrad.backends.precision import is_half

LEAST = 1 << 16  # multiply-adds from which compiled steps are used
GATES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}


def forward(x, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr, cell, sizes, reverse):
    """(states of all steps, last state, last memory, gates, what is kept beside them).

    >>> one = np.ones((1, 1))
    >>> forward(np.zeros((2, 1, 1)), one, None, one, one, None, None, None, "relu", None, False)[0].ravel()
    array([1., 1.])
    """
    given = x.dtype
    if is_half(given):
        x, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr = single(x, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr)
    if sizes is None and w_hr is None and compiled(x, h0, w_ih, w_hh):
        states, gates, kept = native.module("recurrent").forward(x, h0, c0, w_ih, w_hh, b_ih, b_hh, cell, reverse)
        last = 0 if reverse else -1
        h, c = states[last].copy(), None if c0 is None else kept.reshape(states.shape)[last].copy()
    else:
        states, h, c, gates, kept = step_by_step(x, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr, cell, sizes, reverse)
    if is_half(given):
        states, h, c = (None if t is None else t.astype(given) for t in (states, h, c))
    return states, h, np.empty(0, given) if c is None else c, gates, kept


def compiled(x, h0, w_ih, w_hh):
    """Whether code made for this processor does the work."""
    work = x[..., 0].size * w_hh.size
    return (
        work >= LEAST
        and native.ready(len(x) * 2e-5 + work * 1e-10)
        and native.module("recurrent").fits(x, h0, w_ih, w_hh)
    )


def step_by_step(x, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr, cell, sizes, reverse):
    spans, rows = spans_of(x, sizes)
    hidden, width = w_hh.shape[0] // GATES[cell], h0.shape[1]
    gates = np.matmul(rows, w_ih.T)
    if b_ih is not None:
        bias = b_ih + b_hh
        if cell == "gru":
            bias[2 * hidden :] = b_ih[2 * hidden :]
        gates += bias
    states = np.empty((len(rows), width), x.dtype)
    kept = np.empty((len(rows), hidden if cell in ("lstm", "gru") else 0), x.dtype)
    h, c = h0.copy(), None if c0 is None else c0.copy()
    step = STEPS[cell](h, c, w_hh, b_hh, w_hr, hidden)
    with np.errstate(over="ignore"):
        for start, stop in reversed(spans) if reverse else spans:
            n = stop - start
            step(n, gates[start:stop], kept[start:stop])
            states[start:stop] = h[:n]
    if sizes is None:
        states = states.reshape(*x.shape[:2], width)
    return states, h, c, gates, kept


def single(*arrays):
    return [None if a is None else a.astype(np.float32) for a in arrays]


def spans_of(x, sizes):
    """([(first row, end) of each step], the input as a matrix of rows)."""
    if sizes is None:
        steps, batch, width = x.shape
        return [(t * batch, (t + 1) * batch) for t in range(steps)], x.reshape(steps * batch, width)
    ends = np.cumsum(sizes).tolist()
    return list(zip([0, *ends[:-1]], ends, strict=True)), x


def sigmoid(x, out):
    np.negative(x, out=out)
    np.exp(out, out=out)
    out += 1
    np.reciprocal(out, out=out)


# One step: from the products with the inputs to the gates, in place, and from the state before to the one after


def lstm_step(h, c, w_hh, b_hh, w_hr, hidden):
    weight, product = w_hh.T, np.empty((len(h), 4 * hidden), h.dtype)
    spare = np.empty((len(h), hidden), h.dtype)

    def step(n, gates, kept):
        np.add(gates, np.matmul(h[:n], weight, out=product[:n]), out=gates)
        candidate, memory = np.tanh(gates[:, 2 * hidden : 3 * hidden], out=spare[:n]), c[:n]
        sigmoid(gates, gates)
        gates[:, 2 * hidden : 3 * hidden] = candidate
        memory *= gates[:, hidden : 2 * hidden]
        candidate *= gates[:, :hidden]
        memory += candidate
        kept[...] = memory
        np.tanh(memory, out=candidate)
        if w_hr is None:
            np.multiply(candidate, gates[:, 3 * hidden :], out=h[:n])
        else:
            np.matmul(candidate * gates[:, 3 * hidden :], w_hr.T, out=h[:n])

    return step


def gru_step(h, c, w_hh, b_hh, w_hr, hidden):
    weight, product = w_hh.T, np.empty((len(h), 3 * hidden), h.dtype)

    def step(n, gates, kept):
        state, own = h[:n], np.matmul(h[:n], weight, out=product[:n])
        both, candidate = gates[:, : 2 * hidden], gates[:, 2 * hidden :]
        both += own[:, : 2 * hidden]
        sigmoid(both, both)
        if b_hh is None:
            kept[...] = own[:, 2 * hidden :]
        else:
            np.add(own[:, 2 * hidden :], b_hh[2 * hidden :], out=kept)
        candidate += kept * gates[:, :hidden]
        np.tanh(candidate, out=candidate)
        state -= candidate
        state *= gates[:, hidden : 2 * hidden]
        state += candidate

    return step


def plain_step(function):
    def made(h, c, w_hh, b_hh, w_hr, hidden):
        weight = w_hh.T

        def step(n, gates, kept):
            gates += h[:n] @ weight
            function(gates, out=h[:n])

        return step

    return made


STEPS = {"lstm": lstm_step, "gru": gru_step, "tanh": plain_step(np.tanh),
         "relu": plain_step(lambda x, out: np.maximum(x, 0, out=out))}  # fmt: skip


# Gradients


def before(first, states, spans, reverse):
    """The states (or memories) before each row's step."""
    result = np.empty_like(states)
    known = len(first)
    if not reverse:
        result[:known] = first
        for (start, stop), (last, _) in zip(spans[1:], spans, strict=False):
            result[start:stop] = states[last : last + stop - start]
        return result
    for (start, stop), (later, end) in zip(spans, [*spans[1:], (0, 0)], strict=True):
        n = end - later
        result[start : start + n] = states[later:end]
        result[start + n : stop] = first[n : stop - start]
    return result


def product(a, b):
    """A matrix product, compiled where that pays."""
    found = native.product(a, b) if a.size * b.shape[1] > native.PRODUCT_FROM else None
    return np.matmul(a, b) if found is None else found


def with_earlier(slopes, first, states, reverse):
    """The product of slopes with the states before each step, where every step has all rows."""
    n, rows = len(first), states.reshape(len(slopes), -1)
    now, end, past = (slopes[:-n], slopes[-n:], rows[n:]) if reverse else (slopes[n:], slopes[:n], rows[:-n])
    found = product(now.T, past)
    found += np.matmul(end.T, first)
    return found


def backward(gy, gh, gc, x, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr, states, gates, kept, cell, sizes, reverse, wanted):
    """The gradients of the eight inputs of `forward`, None where not wanted, from those of its first three results.

    >>> one, y = np.ones((1, 1)), np.ones((1, 1, 1))
    >>> found = backward(y, None, None, 3 * y, one, None, one, one, None, None, None, 4 * y, None, np.empty((1, 0)), "relu",
    ...                  None, False, (True,) * 8)
    >>> found[0].item(), found[3].item()
    (1.0, 3.0)
    """
    given = x.dtype
    if is_half(given):
        gy, gh, gc, x, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr, states = single(
            gy, gh, gc, x, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr, states
        )
    spans, rows = spans_of(x, sizes)
    hidden, width = w_hh.shape[0] // GATES[cell], h0.shape[1]
    earlier = back_hr = sums = None
    if sizes is None and w_hr is None and compiled(x, h0, w_ih, w_hh):
        slopes, own, dh, dc, sums = native.module("recurrent").backward(
            gy, gh, gc, h0, c0, w_hh, states, gates, kept, cell, reverse
        )
    else:
        states, gy = states.reshape(len(rows), width), None if gy is None else gy.reshape(len(rows), width)
        earlier = before(h0, states, spans, reverse)
        dh = np.zeros_like(h0) if gh is None else gh.copy()
        dc = None if c0 is None else np.zeros_like(c0) if gc is None else gc.copy()
        walk = spans if reverse else spans[::-1]
        if cell == "lstm":
            memories = before(c0, kept, spans, reverse)
            slopes, back_hr = lstm_back(walk, gy, dh, dc, w_hh, w_hr, gates, kept, memories, hidden, wanted[7])
            own = slopes
        elif cell == "gru":
            slopes, own = gru_back(walk, gy, dh, w_hh, gates, kept, earlier, hidden)
        else:
            slopes = own = plain_back(walk, gy, dh, w_hh, states, cell)
    if sums is None and b_ih is not None and (wanted[5] or wanted[6]):
        sums = np.add.reduce(slopes, 0)
    found = [
        product(slopes, w_ih).reshape(x.shape) if wanted[0] else None,
        dh if wanted[1] else None,
        dc if wanted[2] and c0 is not None else None,
        product(slopes.T, rows) if wanted[3] else None,
        None
        if not wanted[4]
        else product(own.T, earlier)
        if earlier is not None
        else with_earlier(own, h0, states, reverse),
        sums,
        None if sums is None or not wanted[6] else sums.copy() if own is slopes else np.add.reduce(own, 0),
        back_hr,
    ]
    found = [g if want else None for g, want in zip(found, wanted, strict=True)]
    return [None if g is None else g.astype(given) for g in found] if is_half(given) else found


def lstm_back(walk, gy, dh, dc, w_hh, w_hr, gates, kept, memories, hidden, wants_projection):
    """(gradients of the gates before their functions, gradient of the projection)."""
    ends = np.tanh(kept)
    slopes = gates * gates  # of the functions: y - y^2 for the sigmoids, 1 - y^2 for the candidate
    np.subtract(gates, slopes, out=slopes)
    middle = slice(2 * hidden, 3 * hidden)
    slopes[:, middle] = 1 - gates[:, middle] * gates[:, middle]
    fade = gates[:, 3 * hidden :] * (1 - ends * ends)  # how the state follows the memory
    slopes[:, :hidden] *= gates[:, middle]
    slopes[:, hidden : 2 * hidden] *= memories
    slopes[:, middle] *= gates[:, :hidden]
    slopes[:, 3 * hidden :] *= ends
    projected = None if w_hr is None else np.empty((len(gates), dh.shape[1]), dh.dtype)
    for start, stop in walk:
        n = stop - start
        arrived, memory = dh[:n], dc[:n]
        if gy is not None:
            arrived += gy[start:stop]
        if w_hr is not None:
            projected[start:stop] = arrived
            arrived = arrived @ w_hr
        memory += arrived * fade[start:stop]
        slope = slopes[start:stop]
        slope[:, : 3 * hidden].reshape(n, 3, hidden)[...] *= memory[:, None]
        slope[:, 3 * hidden :] *= arrived
        memory *= gates[start:stop, hidden : 2 * hidden]
        np.matmul(slope, w_hh, out=dh[:n])
    if w_hr is None or not wants_projection:
        return slopes, None
    return slopes, projected.T @ (ends * gates[:, 3 * hidden :])


def gru_back(walk, gy, dh, w_hh, gates, kept, earlier, hidden):
    """(gradients of the gates before their functions, the same as the products with the state get them)."""
    slopes = np.empty_like(gates)
    own = np.empty_like(gates)
    reset, update, candidate = (gates[:, i * hidden : (i + 1) * hidden] for i in range(3))
    to_update = (earlier - candidate) * (update - update * update)
    to_candidate = (1 - update) * (1 - candidate * candidate)
    to_reset = kept * (reset - reset * reset)
    for start, stop in walk:
        arrived = dh[: stop - start]
        if gy is not None:
            arrived += gy[start:stop]
        slope, part = slopes[start:stop], own[start:stop]
        last = np.multiply(arrived, to_candidate[start:stop], out=slope[:, 2 * hidden :])
        np.multiply(last, to_reset[start:stop], out=slope[:, :hidden])
        np.multiply(arrived, to_update[start:stop], out=slope[:, hidden : 2 * hidden])
        part[:, : 2 * hidden] = slope[:, : 2 * hidden]
        np.multiply(last, reset[start:stop], out=part[:, 2 * hidden :])
        arrived *= update[start:stop]
        arrived += part @ w_hh
    return slopes, own


def plain_back(walk, gy, dh, w_hh, states, cell):
    """The gradients of what goes into tanh or relu."""
    slopes = 1 - states * states if cell == "tanh" else (states > 0).astype(states.dtype)
    for start, stop in walk:
        arrived, slope = dh[: stop - start], slopes[start:stop]
        if gy is not None:
            arrived += gy[start:stop]
        slope *= arrived
        np.matmul(slope, w_hh, out=arrived)
    return slopes
