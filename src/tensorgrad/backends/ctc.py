"""Connectionist temporal classification on arrays: the probability of all alignments of a target with a sequence.

A target of L labels has S = 2L + 1 states, its labels with a blank before, between and after them. In each step of time an
alignment stays in its state, goes on by one, or jumps over a blank that stands between different labels. `log_alpha`
(samples, time, S) holds the log-probability of all ways to a state, `_log_beta` of all ways from it to the end.
"""

import numpy as np


class Plan:
    """What is known before the probabilities: the states of each sample and how long its sequence and target are."""

    def __init__(self, labels, input_lengths, target_lengths, blank):
        n, count = labels.shape
        self.input_lengths, self.target_lengths = input_lengths, target_lengths
        self.states = np.full((n, 2 * count + 1), blank, np.int64)
        self.states[:, 1::2] = labels
        self.jumps = np.zeros(self.states.shape, bool)  # whether a state is reached from two before it
        self.jumps[:, 3::2] = labels[:, 1:] != labels[:, :-1]

    def repeated(self, times):
        """The plan of `times` batches one after another."""
        twin = object.__new__(Plan)
        twin.input_lengths = np.tile(self.input_lengths, times)
        twin.target_lengths = np.tile(self.target_lengths, times)
        twin.states, twin.jumps = np.tile(self.states, (times, 1)), np.tile(self.jumps, (times, 1))
        return twin


def _log_sum(*terms):
    """log(sum(exp(terms))), minus infinity where all are."""
    top = np.maximum(np.maximum(terms[0], terms[1]), terms[2])
    base = np.where(top == -np.inf, top.dtype.type(0), top)
    total = np.exp(terms[0] - base)
    for term in terms[1:]:
        total += np.exp(term - base)
    with np.errstate(divide="ignore"):
        return np.log(total, total) + base


def _emitted(log_probs, plan):
    """The log-probability of each state's label at each time (time, samples, S); all sums are in double precision."""
    return np.take_along_axis(log_probs, plan.states[None], 2).astype(np.float64, copy=False)


def forward(log_probs, plan):
    """(negative log-likelihood (samples), log_alpha) from log-probabilities (time, samples, classes).

    >>> plan = Plan(np.array([[1]]), np.array([2]), np.array([1]), 0)
    >>> np.exp(-forward(np.log(np.full((2, 1, 2), 0.5)), plan)[0])
    array([0.75])
    """
    time, samples, _ = log_probs.shape
    emitted, width = _emitted(log_probs, plan), plan.states.shape[1]
    alpha = np.full((time, samples, width + 2), -np.inf)  # two more on the left, never reached
    alpha[0, :, 2:4] = emitted[0, :, :2]
    alpha[0, plan.target_lengths == 0, 3:] = -np.inf
    for t in range(1, time):
        before = alpha[t - 1]
        jumped = np.where(plan.jumps, before[:, :-2], -np.inf)
        np.add(_log_sum(before[:, 2:], before[:, 1:-1], jumped), emitted[t], alpha[t, :, 2:])
    alpha = alpha[:, :, 2:].swapaxes(0, 1)
    return _loss(alpha, plan).astype(log_probs.dtype, copy=False), alpha


def _loss(log_alpha, plan):
    """The negative log-likelihoods: all ways that end in the last label or the blank after it."""
    rows, last, end = np.arange(len(log_alpha)), np.maximum(plan.input_lengths - 1, 0), 2 * plan.target_lengths
    none = np.full(len(log_alpha), -np.inf)
    label = np.where(end > 0, log_alpha[rows, last, np.maximum(end - 1, 0)], none)
    loss = -_log_sum(log_alpha[rows, last, end], label, none)
    empty = plan.input_lengths == 0
    loss[empty] = np.where(plan.target_lengths[empty] == 0, -0.0, np.inf)
    return loss


def _log_beta(emitted, plan):
    """The log-probability of all ways from a state at a time to the end (time, samples, S)."""
    time, samples, width = emitted.shape
    rows, end = np.arange(samples), 2 * plan.target_lengths
    final = np.full((samples, width), -np.inf)
    final[rows, end] = 0
    final[rows[end > 0], end[end > 0] - 1] = 0
    jumps = np.zeros((samples, width), bool)
    jumps[:, :-2] = plan.jumps[:, 2:]
    beta = np.full((time, samples, width), -np.inf)
    after = np.full((samples, width + 2), -np.inf)
    for t in range(time - 1, -1, -1):
        if t + 1 < time:
            np.add(beta[t + 1], emitted[t + 1], after[:, :-2])
            jumped = np.where(jumps, after[:, 2:], -np.inf)
            beta[t] = _log_sum(after[:, :-2], after[:, 1:-1], jumped)
        ending = (plan.input_lengths == t + 1)[:, None]
        np.copyto(beta[t], final, where=ending)
    return beta


def slopes(log_probs, log_alpha, plan, zero_infinity):
    """The slope of each loss by its log-probabilities (time, samples, classes), as PyTorch gives it: for
    log-probabilities that come out of log_softmax, whose own gradient it contains.

    >>> plan, x = Plan(np.array([[1]]), np.array([2]), np.array([1]), 0), np.log(np.full((2, 1, 2), 0.5))
    >>> slopes(x, forward(x, plan)[1], plan, False)[:, 0]
    array([[ 0.16666667, -0.16666667],
           [ 0.16666667, -0.16666667]])
    """
    time, samples, classes = log_probs.shape
    loss = _loss(log_alpha, plan)
    way = _log_beta(_emitted(log_probs, plan), plan)
    way += log_alpha.swapaxes(0, 1)
    way += np.where(np.isinf(loss), 0, loss)[:, None]
    place = (np.arange(time)[:, None] * samples + np.arange(samples))[:, :, None] * classes + plan.states
    visits = np.bincount(place.ravel(), np.exp(way).ravel(), log_probs.size).reshape(log_probs.shape)
    result = np.exp(log_probs)
    result -= visits.astype(result.dtype, copy=False)
    impossible = np.isinf(loss)
    if impossible.any():
        result[:, impossible] = 0 if zero_infinity else np.nan
    result[np.arange(time)[:, None] >= plan.input_lengths] = 0
    return result
