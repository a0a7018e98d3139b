"""An optimizer's step inside a trace: the update becomes part of the program, its numbers are computed anew at each run.

Learning rates, decays and the corrections that depend on the count of steps are Python numbers. In the program they stand
as inputs without a shape, and before each run the optimizer's own `options` says what they are now. So a schedule changes
no program. Numbers that an update may decide by (0, 1, True, None) stay what they were; when one changes, the function is
traced again.
"""

import operator

import numpy as np

from tensorgrad.autograd.modes import no_grad
from tensorgrad.optim import elementwise
from tensorgrad.tensor import wrap


def step_group(trace, optimizer, index, params, gradients):
    """Trace the update of the parameters of one group that have a gradient."""
    group = optimizer.param_groups[index]
    if group.get("differentiable"):
        from tensorgrad.compiler.trace import CannotTrace, user_line

        raise CannotTrace(f"compile: an optimizer with differentiable=True\n  {user_line()}")
    if id(optimizer) in trace.later:
        from tensorgrad.compiler.trace import CannotTrace, user_line

        raise CannotTrace(
            "compile: a scheduler's step() before the step() of its optimizer. Swap them, or call the scheduler outside of "
            f"the compiled function.\n  {user_line()}"
        )
    for p in params:
        if p._node is not None:
            trace.note(p._node)
    ages = {}
    for p, gradient in zip(params, gradients, strict=True):
        own, fresh = state_of(trace, optimizer, p, gradient, group)
        age = tuple(trace.array_of(own[name]).item() for name in optimizer.scalars)
        ages.setdefault((age, fresh), []).append((p, gradient, own))
    for (_, fresh), members in ages.items():
        numbers = Numbers(trace, optimizer, index, [m[0] for m in members], fresh)
        trace.guards.append((numbers.look, numbers.look(fresh)))
        numbers.expect_old()
        trace.prologues.append(numbers.write)
        with no_grad():
            options = numbers.options_in(trace)
            for p, gradient, own in members:
                for name, cell in numbers.counters.items():
                    own[name].copy_(cell)
                update(optimizer, p, gradient, [own[name] for name in numbers.buffers], options)
        numbers.counters = None  # tensors of the trace must not outlive it


def update(optimizer, p, gradient, buffers, options):
    """The optimizer's rule for one parameter; half precision is computed in float32 and rounded once."""
    do = elementwise.on_tensors
    if p._spec.dtype.itemsize == 2:
        wide, states = p.float(), [b.float() for b in buffers]
        optimizer.update(do, wide, gradient.float(), states, options)
        for narrow, exact in zip((p, *buffers), (wide, *states), strict=True):
            narrow.copy_(exact)
    else:
        optimizer.update(do, p, gradient, buffers, options)


def state_of(trace, optimizer, p, gradient, group):
    """(state of a parameter, whether it is new). New state is made outside of the trace."""
    names = optimizer.buffers(group)
    if not names and not optimizer.scalars:
        return {}, False
    twin, real = trace.twin(p), trace.twin(gradient)
    own = optimizer.state[p]
    missing = [name for name in names if own.get(name) is None]
    fresh = not own or len(missing) == len(names) > 0
    for name in optimizer.scalars:
        if own.get(name) is None:
            first = optimizer.first_scalar(name, group)
            own[name] = wrap(np.array(first, optimizer.scalar_dtype(group)))
    for name in missing:
        own[name] = optimizer.new_buffer(name, twin, real, group)
    return own, fresh


class Numbers:
    """The numbers of one step for parameters of one group and age, and what the program takes for granted of them."""

    def __init__(self, trace, optimizer, index, params, fresh):
        self.optimizer, self.index, self.params = optimizer, index, params
        group = optimizer.param_groups[index]
        self.group_ids = list(map(id, group["params"]))
        self.buffers = optimizer.buffers(group)
        names = (*self.buffers, *optimizer.scalars)
        self.states = [optimizer.state[p] for p in params] if names else []
        self.tensors = [own[name] for own in self.states for name in names]
        count, first = len(names), len(self.buffers)
        self.counted = {name: self.tensors[first + n :: count] for n, name in enumerate(optimizer.scalars)}
        self.names, self.places, self.counters = names, [], {}
        self.before = trace.steps.get((id(optimizer), index, id(params[0])))  # an earlier step in the same program
        trace.steps[id(optimizer), index, id(params[0])] = self
        self.arrays = trace

    def expect_old(self):
        """From the next look on, the state is found, not made."""
        self.arrays = None

    def look(self, fresh=False):
        """Compute the numbers of the next step; returns what of them decides over the program."""
        optimizer, trace = self.optimizer, self.arrays
        if self.index >= len(optimizer.param_groups):
            return None
        group = optimizer.param_groups[self.index]
        if len(group["params"]) != len(self.group_ids) or list(map(id, group["params"])) != self.group_ids:
            return None
        if self.buffers != optimizer.buffers(group):
            return None
        now = {}
        if self.before is not None:
            now.update(self.before.now)
        else:
            if self.states:
                if not all(map(operator.is_, map(optimizer.state.get, self.params), self.states)):
                    return None
                found = [own.get(name) for own in self.states for name in self.names]
                if not all(map(operator.is_, found, self.tensors)):
                    return None
            for name, tensors in self.counted.items():
                values = [(t._array if trace is None else trace.array_of(t)).item() for t in tensors]
                if values.count(values[0]) != len(values):
                    return None
                now[name] = values[0]
        if "step" in now:
            now["step"] += 1
        if trace is None:
            self.values = optimizer.options(elementwise.numbers_of(group), now, fresh)
        else:
            with quiet():
                self.values = optimizer.options(elementwise.numbers_of(group), now, fresh)
        self.now = now
        return tuple([float if changing(v) else v for v in self.values])

    def options_in(self, trace):
        """The options with the numbers that may change as tensors of the program."""
        self.places = [place for place, value in enumerate(self.values) if changing(value)]
        self.cells = np.empty(len(self.places) + len(self.now))
        options, cells = list(self.values), iter([self.cells[n : n + 1].reshape(()) for n in range(len(self.cells))])
        for place in self.places:
            options[place] = trace.scalar(lambda place=place: self.values[place], next(cells))
        for name in self.now:
            self.counters[name] = trace.scalar(lambda name=name: self.now[name], next(cells))
        return tuple(options)

    def write(self):
        """Put the numbers where the program reads them."""
        values = self.values
        self.cells[:] = [*[values[place] for place in self.places], *self.now.values()]


def changing(value):
    """Whether an option is a number that updates only compute with."""
    return type(value) is float and value not in (0.0, 1.0, -1.0)


class quiet:
    """Reading tensors is no part of the trace meanwhile: what is read is read again at each run."""

    def __enter__(self):
        from tensorgrad.func.levels import stack

        self.levels, stack.levels = stack.levels, []

    def __exit__(self, *_):
        from tensorgrad.func.levels import stack

        stack.levels = self.levels


__all__ = ["step_group"]
