"""Schedulers that let the rate rise and fall, and the momentum against it: again and again, or once."""

import math
import types
from collections.abc import Callable
from typing import Any, Literal

from tensorgrad.optim.lr_scheduler.base import LRScheduler, check_optimizer, for_each_group, put
from tensorgrad.optim.optimizer import Optimizer


class _WithMomentum(LRScheduler):
    """A scheduler that may move the momentum too, or of Adam and its like the first of the betas."""

    def _begin_momentum(self, base_momentum, max_momentum, begin):
        """Note the limits in the groups, and begin at the upper one; returns both, for each group."""
        options = self.optimizer.defaults
        if "momentum" not in options and "betas" not in options:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in options
        bases = for_each_group("base_momentum", self.optimizer, base_momentum)
        tops = for_each_group("max_momentum", self.optimizer, max_momentum)
        for base, top, group in zip(bases, tops, self.optimizer.param_groups) if begin else ():
            self._put_momentum(group, top)
            group["max_momentum"], group["base_momentum"] = top, base
        return bases, tops

    def _put_momentum(self, group, value):
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(_WithMomentum):
    """Up from `base_lr` to `max_lr` and down again, over and over; `mode` says how the height changes from wave to wave.

    >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=0.5, momentum=0.9)
    >>> scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, base_lr=0.25, max_lr=0.75, step_size_up=2)
    >>> for _ in range(3): optimizer.step(); scheduler.step(); print(scheduler.get_last_lr())
    [0.5]
    [0.75]
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, base_lr: float | list[float], max_lr: float | list[float],
                 step_size_up: int = 2000, step_size_down: int | None = None,
                 mode: Literal["triangular", "triangular2", "exp_range"] = "triangular", gamma: float = 1.0,
                 scale_fn: Callable[[float], float] | None = None,
                 scale_mode: Literal["cycle", "iterations"] = "cycle", cycle_momentum: bool = True,
                 base_momentum: float | list[float] = 0.8, max_momentum: float | list[float] = 0.9,
                 last_epoch: int = -1):  # fmt: skip
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = for_each_group("base_lr", optimizer, base_lr)
        for lr, group in zip(base_lrs, optimizer.param_groups) if last_epoch == -1 else ():
            put(group, "lr", lr)
        self.max_lrs = for_each_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma, self._scale_fn_custom, self.scale_mode = mode, gamma, scale_fn, scale_mode
        self._settle_mode()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._begin_momentum(
                base_momentum, max_momentum, last_epoch == -1
            )
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _settle_mode(self):
        if self._scale_fn_custom is None:
            self.scale_mode = "iterations" if self.mode == "exp_range" else "cycle"

    def scale_fn(self, x: float) -> float:
        """The height of a wave, by its number or (as `scale_mode` says) by the epoch.

        >>> optimizer = torch.optim.SGD([torch.ones(1)], momentum=0.9)
        >>> torch.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 0.2, mode="triangular2").scale_fn(3)
        0.25
        """
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 1 / (2.0 ** (x - 1)) if self.mode == "triangular2" else self.gamma**x

    def get_lr(self) -> list:
        """The rates of this epoch; the momentum is set here, too."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        place = cycle if self.scale_mode == "cycle" else self.last_epoch
        rates = [
            base + (top - base) * height * self.scale_fn(place)
            for base, top in zip(self.base_lrs, self.max_lrs, strict=True)
        ]
        if self.cycle_momentum:
            limits = zip(self.base_momentums, self.max_momentums, self.optimizer.param_groups, strict=True)
            for base, top, group in limits:
                self._put_momentum(group, top - (top - base) * height * self.scale_fn(place))
        return rates

    def state_dict(self) -> dict[str, Any]:
        """As `LRScheduler.state_dict`. A `scale_fn` is kept only if it is an object, by its attributes."""
        function = self._scale_fn_custom
        plain = function is None or isinstance(function, types.FunctionType)
        return {**super().state_dict(), "_scale_fn_custom": None if plain else function.__dict__.copy()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """As `LRScheduler.load_state_dict`; a `scale_fn` is the one that this scheduler was made with."""
        function = self._scale_fn_custom
        self.__dict__.update(state_dict)
        self._scale_fn_custom, attributes = function, state_dict["_scale_fn_custom"]
        if attributes is not None:
            function.__dict__.update(attributes)
        self._settle_mode()


class OneCycleLR(_WithMomentum):
    """Up to `max_lr` once and then down to almost nothing, batch by batch over the whole training.

    >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=0.5, momentum=0.9)
    >>> scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=11, pct_start=0.5)
    >>> for _ in range(4): optimizer.step(); scheduler.step()
    >>> round(scheduler.get_last_lr()[0], 4), round(optimizer.param_groups[0]["momentum"], 4)
    (0.9711, 0.853)
    """

    def __init__(self, optimizer: Optimizer, max_lr: float | list[float], total_steps: int | None = None,
                 epochs: int | None = None, steps_per_epoch: int | None = None, pct_start: float = 0.3,
                 anneal_strategy: Literal["cos", "linear"] = "cos", cycle_momentum: bool = True,
                 base_momentum: float | list[float] = 0.85, max_momentum: float | list[float] = 0.95,
                 div_factor: float = 25.0, final_div_factor: float = 1e4, three_phase: bool = False,
                 last_epoch: int = -1):  # fmt: skip
        check_optimizer(optimizer)
        self.optimizer = optimizer
        if total_steps is not None:
            check_count("total_steps", total_steps)
            self.total_steps = total_steps
        elif epochs is not None and steps_per_epoch is not None:
            check_count("epochs", epochs)
            check_count("steps_per_epoch", steps_per_epoch)
            self.total_steps = epochs * steps_per_epoch
        else:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        rise = float(pct_start * self.total_steps) - 1
        fall = float(2 * pct_start * self.total_steps) - 2
        end, up, down = self.total_steps - 1, ("max_momentum", "base_momentum"), ("base_momentum", "max_momentum")
        self._schedule_phases = [phase(rise, ("initial_lr", "max_lr"), up)]
        if three_phase:
            self._schedule_phases.append(phase(fall, ("max_lr", "initial_lr"), down))
            self._schedule_phases.append(phase(end, ("initial_lr", "min_lr"), ("max_momentum", "max_momentum")))
        else:
            self._schedule_phases.append(phase(end, ("max_lr", "min_lr"), down))
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        max_lrs = for_each_group("max_lr", optimizer, max_lr)
        for lr, group in zip(max_lrs, optimizer.param_groups) if last_epoch == -1 else ():
            group["initial_lr"], group["max_lr"] = lr / div_factor, lr
            group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._begin_momentum(base_momentum, max_momentum, last_epoch == -1)
        super().__init__(optimizer, last_epoch)

    def _anneal_func(self, start, end, share):
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)
        return (end - start) * share + start

    def get_lr(self) -> list:
        """The rates of this batch; the momentum is set here, too."""
        self._warn_outside_step()
        number = self.last_epoch
        if number > self.total_steps:
            raise ValueError(f"Tried to step {number} times. The specified number of total steps is {self.total_steps}")
        start, now = 0.0, self._schedule_phases[-1]
        for now in self._schedule_phases:
            if number <= now["end_step"] or now is self._schedule_phases[-1]:
                break
            start = now["end_step"]
        share, rates = (number - start) / (now["end_step"] - start), []
        for group in self.optimizer.param_groups:
            rates.append(self._anneal_func(group[now["start_lr"]], group[now["end_lr"]], share))
            if self.cycle_momentum:
                momentum = self._anneal_func(group[now["start_momentum"]], group[now["end_momentum"]], share)
                self._put_momentum(group, momentum)
        return rates


def check_count(name, value):
    """Raise unless it is a positive integer."""
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"Expected positive integer {name}, but got {value}")


def phase(end, rates, momenta):
    """A part of the cycle: where it ends, and by the names of the groups' options what goes from where to where."""
    return {"end_step": end, "start_lr": rates[0], "end_lr": rates[1], "start_momentum": momenta[0],
            "end_momentum": momenta[1]}  # fmt: skip
