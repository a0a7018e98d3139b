"""Elementwise: an optimizer whose update treats every element alike. It says its rule once; this file applies it.

The rule of such an optimizer is made of
    buffers(group)                   which tensors of a parameter's shape its state has
    scalars                          which counters it has, with their first values
    options(group, now, fresh)       the numbers of one step, from the group's options and the counters
    update(do, p, g, buffers, o)     the update itself, in the words of vocabulary.py
and works on flat buckets of many parameters (buckets.py), or parameter by parameter on Tensors.
"""

import operator

import numpy as np

from tensorgrad import dtypes
from tensorgrad.autograd.graph import AccumulateGrad
from tensorgrad.autograd.modes import _special, enable_grad, mode, no_grad
from tensorgrad.autograd.modes import state as modes_state
from tensorgrad.optim import fused
from tensorgrad.optim.buckets import SMALL, Bucket, fits
from tensorgrad.optim.optimizer import Optimizer
from tensorgrad.optim.vocabulary import OnHalf, OnTensors
from tensorgrad.tensor import Tensor, wrap

DEVICES = "['cuda', 'xpu', 'hpu', 'privateuseone', 'xla']"
on_tensors, on_half = OnTensors(), OnHalf()


class Plan:
    """The buckets of one parameter group, for the parameters that had a gradient in the last step."""

    __slots__ = ("buckets", "buffers", "fuse", "group", "ids", "lone", "size", "states")

    def holds(self, states):
        """Whether the state still is what the buckets hold."""
        return (
            len(states) == len(self.states)
            and all(map(operator.is_, states.values(), self.states))
            and all(bucket.fresh or (bucket.intact() and bucket.read() is not None) for bucket, _ in self.buckets)
        )


class Elementwise(Optimizer):
    """See the head of this file."""

    scalars = {"step": 0.0}
    capturable_words = "params and state_steps must be on supported devices"
    added_later = {}  # options that checkpoints of older versions lack
    _updated = 0  # elements that were updated on arrays
    writes = 1  # how often a step writes to a parameter, as its version counts it

    def __init__(self, params, defaults):
        super().__init__(params, defaults)
        self._plans = {}
        if defaults.get("fused"):
            if defaults.get("differentiable"):
                raise RuntimeError("`fused` does not support `differentiable`")
            if defaults.get("foreach"):
                raise RuntimeError("`fused` and `foreach` cannot be `True` together.")

    def __setstate__(self, state):
        super().__setstate__(state)
        self._plans = {}
        for group in self.param_groups:
            for name, value in self.added_later.items():
                group.setdefault(name, value)
            for p in group["params"]:
                own = self.state.get(p)
                for name in self.scalars if own else ():
                    if name in own and not isinstance(own[name], Tensor):
                        own[name] = wrap(np.array(float(own[name]), self.scalar_dtype(group)))

    # What an optimizer says of itself

    def buffers(self, group):
        """The names of the state tensors that have the shape of their parameter."""
        return ()

    def first_value(self, name, p, gradient, group):
        """The first value of all elements of a state tensor."""
        return 0

    def options(self, group, now, fresh):
        """What `update` needs besides arrays. It may put new values of the counters into `now`."""
        raise NotImplementedError

    def update(self, do, p, g, buffers, options):
        """Change parameter and state."""
        raise NotImplementedError

    def times_written(self, group):
        """By how much a step moves the version of a parameter."""
        return self.writes

    # Applying it

    def step(self, closure=None):
        """Update the parameters by their gradients; with a closure, call it first and return its loss.

        >>> w = torch.tensor([1.], requires_grad=True); (w * 3).backward()
        >>> torch.optim.SGD([w], lr=0.5).step(); w
        tensor([-0.5000], requires_grad=True)
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for index, group in enumerate(self.param_groups):
            params, gradients = [], []
            for p in group["params"]:
                node = p._node
                gradient = node.grad if type(node) is AccumulateGrad else p.grad
                if gradient is not None:
                    params.append(p)
                    gradients.append(gradient)
            if params:
                if group.get("capturable"):
                    raise AssertionError(
                        f"If capturable=True, {self.capturable_words}: {DEVICES}."
                        "\nOn the CPU there is nothing to capture: leave capturable=False."
                    )
                if group.get("fused"):
                    check_fused(params)
                trace = tracing() if mode.special and "trace" in _special else None
                if trace is not None:
                    trace.step_group(self, index, params, gradients)
                elif group.get("differentiable"):
                    if modes_state.recording:
                        self.step_recorded(group, params, gradients)
                    else:
                        with enable_grad():
                            self.step_recorded(group, params, gradients)
                else:
                    self.step_arrays(index, group, params, [g._array for g in gradients], gradients)
        return loss

    def step_arrays(self, index, group, params, arrays, gradients):
        """The usual step: buckets of bare arrays."""
        plan, ids = self._plans.get(index), list(map(id, params))
        if plan is None or plan.ids != ids or plan.group is not group or plan.buffers != self.buffers(group):
            plan = self.make_plan(index, group, params, arrays, gradients, ids)
        plain = numbers_of(group)
        if not plan.fuse:
            self._updated += plan.size
        if not plan.holds(self.state) or plan.fuse is not fused.worth(plan.size, self._updated):
            plan = self.make_plan(
                index, group, params, arrays, gradients, ids
            )  # parameters or state were replaced since
        times = self.times_written(group)
        for bucket, places in plan.buckets:
            now = bucket.read()
            if "step" in now:
                bucket.scalars["step"] += 1
                now["step"] += 1
            before = dict(now) if len(now) > 1 else None
            options = self.options(plain, now, bucket.fresh)
            if before is not None:
                for name, value in now.items():
                    if value != before[name]:
                        bucket.scalars[name][...] = value
            bucket.fresh = False
            bucket.run(arrays if places is None else [arrays[i] for i in places], self.update, options)
            bucket.bump(times)
        if plan.lone:
            with no_grad():
                for i in plan.lone:
                    self.step_tensor(plain, params[i], gradients[i].detach(), group)

    def make_plan(self, index, group, params, arrays, gradients, ids):
        """Sort the parameters into buckets: small ones of one dtype and one age together."""
        plan = self._plans[index] = Plan()
        plan.group, plan.ids, plan.buffers, plan.lone, plan.buckets = group, ids, self.buffers(group), [], []
        shared, owners = set(), {}
        for i, p in enumerate(params):  # parameters that may overlap must be updated one after the other
            base = p._array.base if type(p._array) is np.ndarray else None
            key = id(p._array if base is None else base)
            if key in owners:
                shared.update((i, owners[key]))
            owners[key] = i
        kind = self.scalar_dtype(group)
        plan.size = sum(p._spec.size for p in params)
        plan.fuse = fuse = fused.worth(plan.size, self._updated)
        sorted_in = {}
        for i, (p, array) in enumerate(zip(params, arrays)):
            if not fits(p, array) or p._spec.inference:
                plan.lone.append(i)
                continue
            fresh = self.make_state(p, gradients[i], group)
            own = self.state.get(p, {})
            age = tuple(own[name].item() for name in self.scalars)
            together = fuse and i not in shared and p._array.flags.c_contiguous
            alone = not together and (p._spec.size > SMALL or i in shared)
            sorted_in.setdefault((p._array.dtype, age, fresh, together, i if alone else -1), []).append(i)
        for (_, _, fresh, together, _), places in sorted_in.items():
            members = [params[i] for i in places]
            bucket = (fused.Rows if together else Bucket)(members, [self.state.get(p, {}) for p in members], plan.buffers,
                            dict.fromkeys(self.scalars, kind), fresh)  # fmt: skip
            plan.buckets.append((bucket, None if len(places) == len(params) else places))
        plan.states = list(self.state.values())
        return plan

    def step_recorded(self, group, params, gradients):
        """The step on Tensors, recorded: parameters, gradients, state and options may all require gradients."""
        for p, gradient in zip(params, gradients):
            self.step_tensor(group, p, gradient, group)

    def step_tensor(self, plain, p, gradient, group):
        """The update of one parameter, on Tensors."""
        fresh = self.make_state(p, gradient, group)
        own = self.state.get(p, {})
        if group.get("differentiable") and any(own[name].requires_grad for name in self.scalars):
            raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")
        now = {name: own[name].item() for name in self.scalars}
        if "step" in now:
            now["step"] += 1
        options = self.options(plain, now, fresh)
        with no_grad():
            for name, value in now.items():
                own[name].fill_(value)
        buffers = [own[name] for name in self.buffers(group)]
        if p._spec.dtype.itemsize == 2 and not modes_state.recording:
            self.update(on_half, p, gradient, buffers, options)
        elif p._spec.dtype.is_complex:
            from tensorgrad import view_as_real

            real = [view_as_real(b) for b in (p, gradient, *buffers)]
            self.update(on_tensors, real[0], real[1], real[2:], options)
        else:
            self.update(on_tensors, p, gradient, buffers, options)

    def make_state(self, p, gradient, group):
        """Give a parameter the state that it has not got yet; True if it had none at all."""
        own = self.state[p]
        missing = [name for name in self.buffers(group) if own.get(name) is None]
        fresh = not own or len(missing) == len(self.buffers(group)) > 0
        for name in self.scalars:
            if own.get(name) is None:
                own[name] = wrap(np.array(self.first_scalar(name, group), self.scalar_dtype(group)))
        for name in missing:
            own[name] = self.new_buffer(name, p, gradient, group)
        return fresh

    def new_buffer(self, name, p, gradient, group):
        """A state tensor of a parameter's shape, dtype and memory order."""
        with no_grad():
            made = p.detach().new_empty(0) if type(p._array) is not np.ndarray else None
            if made is not None:
                return gradient.detach() * 0 + self.first_value(name, p, gradient, group)
            return wrap(np.full_like(p._array, self.first_value(name, p, gradient, group)))

    def first_scalar(self, name, group):
        """The first value of a counter."""
        return self.scalars[name]

    def scalar_dtype(self, group):
        """The NumPy dtype of the counters."""
        wide = dtypes.get_default_dtype() is dtypes.float64 and not group.get("fused")
        return np.dtype("f8" if wide else "f4")


def numbers_of(group):
    """The options with plain numbers: those given as 1-element Tensors, or as NumPy's, are read out."""
    changed = None
    for name in ("lr", "weight_decay"):
        value = group.get(name, 0)
        if type(value) is not float and type(value) is not int:
            changed = changed or dict(group)
            changed[name] = float(value)
    betas = group.get("betas")
    if betas is not None and (type(betas[0]) is not float or type(betas[1]) is not float):
        changed = changed or dict(group)
        changed["betas"] = tuple(map(float, betas))
    return changed or group


def tracing():
    """The trace of `compile` at work in this thread, or None."""
    from tensorgrad.compiler.trace import tracing

    return tracing()


def check_fused(params):
    for p in params:
        if not p.is_floating_point():
            raise RuntimeError(
                "`fused=True` requires all the params to be floating point Tensors of supported devices: "
                "['mps', 'cuda', 'xpu', 'hpu', 'cpu', 'mtia', 'privateuseone'] but "
                f"torch.{p.dtype.name} and {p.device.type}"
            )


def check_rate(lr, words="Invalid learning rate"):
    """Raise for a learning rate that is negative or a Tensor of several elements."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not lr >= 0.0:
        raise ValueError(f"{words}: {lr}")


def check_options(weight_decay=0, eps=0, betas=None):
    """Raise for options out of their range."""
    if not eps >= 0.0:
        raise ValueError(f"Invalid epsilon value: {eps}")
    for index, beta in enumerate(betas or ()):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {beta}")
    if not weight_decay >= 0.0:
        raise ValueError(f"Invalid weight_decay value: {weight_decay}")


def with_decay(do, p, g, maximize, weight_decay):
    """The gradient to go down by: negated to go up, and with the pull of weight decay."""
    if maximize:
        g = do.negative(g)
    return g if isinstance(weight_decay, (int, float)) and weight_decay == 0 else do.sum(g, p, weight_decay)
