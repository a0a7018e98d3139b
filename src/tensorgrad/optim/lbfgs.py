"""LBFGS: a quasi-Newton method that remembers the last steps, with an optional line search.

Unlike the other optimizers it evaluates the function several times a step, so its `step` needs the closure.
"""

import math
from dataclasses import dataclass
from typing import Any

from tensorgrad.autograd.modes import enable_grad, no_grad
from tensorgrad.optim.elementwise import check_rate
from tensorgrad.optim.optimizer import Optimizer


@dataclass
class Point:
    """The function at one place on the line that is searched: how far, its value, gradient and slope."""

    t: Any
    value: Any
    gradient: Any
    slope: Any


class LBFGS(Optimizer):
    """L-BFGS; `line_search_fn="strong_wolfe"` searches along each direction, otherwise steps are of length `lr`.

    >>> w = torch.tensor([3.], requires_grad=True)
    >>> optimizer = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad(); loss = ((w - 1) ** 2).sum(); loss.backward(); return loss
    >>> first = optimizer.step(closure); w
    tensor([1.], requires_grad=True)
    """

    def __init__(self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9,
                 history_size=100, line_search_fn=None):  # fmt: skip
        check_rate(lr)
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn,
        })  # fmt: skip
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def __setstate__(self, state):
        super().__setstate__(state)
        self._params = self.param_groups[0]["params"]

    # The parameters as one vector

    def flat_gradient(self):
        from tensorgrad import cat

        return cat([flat(p.detach() * 0 if p.grad is None else p.grad) for p in self._params])

    def move(self, distance, direction):
        start = 0
        for p in self._params:
            values = flat(p)
            part = direction[start : start + values.numel()] * distance
            target = real(p)
            target.add_(part.view(target.shape))
            start += values.numel()

    def probe(self, closure, places, distance, direction):
        """The function some way along the direction; the parameters return to where they were."""
        self.move(distance, direction)
        value = float(closure())
        gradient = self.flat_gradient()
        for p, place in zip(self._params, places):
            p.copy_(place)
        return Point(distance, value, gradient, gradient.dot(direction))

    # The step

    @no_grad()
    def step(self, closure):
        """Take up to `max_iter` quasi-Newton steps; `closure` clears gradients, computes the loss, goes backward."""
        group = self.param_groups[0]
        closure = enable_grad()(closure)
        lr, max_iter, max_eval = float(group["lr"]), group["max_iter"], group["max_eval"]
        search, least_change = group["line_search_fn"], group["tolerance_change"]
        own = self.state[self._params[0]]  # there is only one state: it is filed under the first parameter
        own.setdefault("func_evals", 0)
        own.setdefault("n_iter", 0)
        first_loss = closure()
        loss, evaluations = float(first_loss), 1
        own["func_evals"] += 1
        gradient = self.flat_gradient()
        if flat_enough(gradient, group):
            return first_loss
        d, t, before = own.get("d"), own.get("t"), own.get("prev_flat_grad")
        loss_before, scale = own.get("prev_loss"), own.get("H_diag")
        memory = [own.get(name) or [] for name in ("old_dirs", "old_stps", "ro")]
        for iteration in range(1, max_iter + 1):
            own["n_iter"] += 1
            if own["n_iter"] == 1:
                d, scale = -gradient, 1
            else:
                scale = remember(memory, gradient - before, d * t, scale, group["history_size"])
                if "al" not in own:
                    own["al"] = [None] * group["history_size"]
                d = direction_of(memory, gradient, scale, own["al"])
            before, loss_before = gradient.clone(), loss
            t = min(1.0, 1.0 / gradient.abs().sum().item()) * lr if own["n_iter"] == 1 else lr
            slope = gradient.dot(d)
            if slope > -least_change:
                break
            done, tried = False, 0
            if search is not None:
                if search != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                places = [p.clone() for p in self._params]
                found, tried = strong_wolfe(
                    lambda distance, d=d, places=places: self.probe(closure, places, distance, d),
                    t, d, Point(0, loss, gradient, slope), max_eval - evaluations,
                )  # fmt: skip
                t, loss, gradient = found.t, found.value, found.gradient
                self.move(t, d)
                done = flat_enough(gradient, group)
            else:
                self.move(t, d)
                if iteration != max_iter:  # after the last step nobody asks how good it was
                    loss, tried = float(closure()), 1
                    gradient = self.flat_gradient()
                    done = flat_enough(gradient, group)
            evaluations += tried
            own["func_evals"] += tried
            if (
                iteration == max_iter
                or evaluations >= max_eval
                or done
                or (d * t).abs().max() <= least_change
                or abs(loss - loss_before) < least_change
            ):
                break
        own.update(d=d, t=t, old_dirs=memory[0], old_stps=memory[1], ro=memory[2], H_diag=scale, prev_flat_grad=before,
                   prev_loss=loss_before)  # fmt: skip
        return first_loss


def real(tensor):
    """Complex numbers as pairs of real ones."""
    if tensor.is_complex():
        from tensorgrad import view_as_real

        return view_as_real(tensor)
    return tensor


def flat(tensor):
    return real(tensor).reshape(-1)


def flat_enough(gradient, group):
    return bool(gradient.abs().max() <= group["tolerance_grad"])


def remember(memory, change, step, scale, most):
    """Keep a step and how the gradient changed over it; returns the new guess of the inverse curvature."""
    product = change.dot(step)
    if not product > 1e-10:
        return scale
    if len(memory[0]) == most:
        for kept in memory:
            kept.pop(0)
    for kept, value in zip(memory, (change, step, 1.0 / product)):
        kept.append(value)
    return product / change.dot(change)


def direction_of(memory, gradient, scale, al):
    """Minus the gradient, multiplied by the inverse Hessian that the remembered steps make: two loops over them."""
    count, d = len(memory[0]), -gradient
    for i in range(count - 1, -1, -1):
        change, step, inverse = (kept[i] for kept in memory)
        al[i] = step.dot(d) * inverse
        d = d - change * al[i]
    d = d * scale
    for i in range(count):
        change, step, inverse = (kept[i] for kept in memory)
        d = d + step * (al[i] - change.dot(d) * inverse)
    return d


def strong_wolfe(probe, t, d, start, most, c1=1e-4, c2=0.9, least_change=1e-9):
    """A point along the line where the function is low enough and flat enough, and how many evaluations it took."""
    longest = d.abs().max()

    def too_high(point):
        return point.value > start.value + c1 * point.t * start.slope

    previous, here, tried, rounds = start, probe(t), 1, 0
    done, bracket = False, None
    while rounds < most:  # first go on until there is an interval that must hold such a point
        if too_high(here) or (rounds > 1 and here.value >= previous.value):
            bracket = [previous, here]
            break
        if abs(here.slope) <= -c2 * start.slope:
            return here, tried
        if here.slope >= 0:
            bracket = [previous, here]
            break
        t = cubic_minimum(previous, here, here.t + 0.01 * (here.t - previous.t), here.t * 10)
        previous, here = here, probe(t)
        tried, rounds = tried + 1, rounds + 1
    if bracket is None:
        bracket = [start, here]
    low = 0 if bracket[0].value <= bracket[-1].value else 1
    stuck = False
    while not done and rounds < most:  # then narrow it
        ends = [point.t for point in bracket]
        if abs(ends[1] - ends[0]) * longest < least_change:
            break
        t = cubic_minimum(*bracket)
        margin = 0.1 * (max(ends) - min(ends))
        if min(max(ends) - t, t - min(ends)) < margin:  # close to an end: step away from it, the second time
            if stuck or t >= max(ends) or t <= min(ends):
                t = max(ends) - margin if abs(t - max(ends)) < abs(t - min(ends)) else min(ends) + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        here = probe(t)
        tried, rounds = tried + 1, rounds + 1
        if too_high(here) or here.value >= bracket[low].value:
            bracket[1 - low] = here
            low = 0 if bracket[0].value <= bracket[1].value else 1
        else:
            if abs(here.slope) <= -c2 * start.slope:
                done = True
            elif here.slope * (bracket[1 - low].t - bracket[low].t) >= 0:
                bracket[1 - low] = bracket[low]
            bracket[low] = here
    return bracket[low], tried


def cubic_minimum(a, b, low=None, high=None):
    """Where the cubic through two points with these slopes is lowest, within limits."""
    if low is None:
        low, high = min(a.t, b.t), max(a.t, b.t)
    slope_a, slope_b = float(a.slope), float(b.slope)
    middle = slope_a + slope_b - 3 * (a.value - b.value) / (a.t - b.t)
    square = middle**2 - slope_a * slope_b
    if not square >= 0:
        return (low + high) / 2.0
    root = math.sqrt(square)
    if a.t <= b.t:
        best = b.t - (b.t - a.t) * ((slope_b + root - middle) / (slope_b - slope_a + 2 * root))
    else:
        best = a.t - (a.t - b.t) * ((slope_a + root - middle) / (slope_a - slope_b + 2 * root))
    return min(max(best, low), high)
