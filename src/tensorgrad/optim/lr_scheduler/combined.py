"""Schedulers made of schedulers: all at once, or one after the other."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from tensorgrad.optim.lr_scheduler.base import LRScheduler, put, values_of
from tensorgrad.optim.lr_scheduler.plateau import ReduceLROnPlateau
from tensorgrad.optim.optimizer import Optimizer


class _Combined(LRScheduler):
    """What both share: schedulers of one optimizer, whose states are part of the state."""

    _schedulers: Sequence[LRScheduler]

    def _check(self, optimizer, schedulers):
        name = type(self).__name__
        for index, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} at index {index} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                    f"specified when calling `step`, but got one at index {index} in the given schedulers sequence."
                )
            if optimizer != scheduler.optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                    f"{type(scheduler).__name__} at index {index} has {scheduler.optimizer}, which is different from "
                    f"{type(optimizer).__name__}."
                )

    def state_dict(self) -> dict[str, Any]:
        """As `LRScheduler.state_dict`, with the states of the schedulers."""
        return {**super().state_dict(), "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """As `LRScheduler.load_state_dict`, with the states of the schedulers."""
        self.__dict__.update({name: value for name, value in state_dict.items() if name != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"]):
            scheduler.load_state_dict(state)


class SequentialLR(_Combined):
    """One scheduler after the other, the next one from each milestone on.

    >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=0.5)
    >>> schedulers = torch.optim.lr_scheduler
    >>> warmup = schedulers.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> scheduler = schedulers.SequentialLR(optimizer, [warmup, schedulers.ExponentialLR(optimizer, 0.9)], [2])
    >>> for _ in range(3): optimizer.step(); scheduler.step(); print(scheduler.get_last_lr())
    [0.25]
    [0.5]
    [0.45]
    """

    def __init__(self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int],
                 last_epoch: int = -1):  # fmt: skip
        if len(schedulers) < 1:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        self._check(optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone "
                f"points, but got number of schedulers {len(schedulers)} and the number of milestones to be equal to "
                f"{len(milestones)}"
            )
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch, self.optimizer = last_epoch + 1, optimizer
        for group in optimizer.param_groups:  # as if no scheduler had been made yet; then the first one begins
            put(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: LRScheduler | None = None) -> None:
        """Take back the first step of all schedulers."""
        scheduler = self if sched is None else sched
        if hasattr(scheduler, "_schedulers"):
            for inner in scheduler._schedulers:
                self.recursive_undo(inner)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Begin the next epoch, with the scheduler whose turn it is."""
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[index]
        if index > 0 and self._milestones[index - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Combined):
    """Several schedulers, all of which step every epoch.

    >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=0.5)
    >>> schedulers = torch.optim.lr_scheduler
    >>> scheduler = schedulers.ChainedScheduler([schedulers.StepLR(optimizer, 1, 0.5), schedulers.StepLR(optimizer, 1, 0.5)])
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.125]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None):
        if len(schedulers) < 1:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler to be chained, but got no scheduler."
            )
        optimizer = optimizer or schedulers[0].optimizer
        self._check(optimizer, schedulers)
        self._schedulers, self.optimizer = schedulers, optimizer
        self._last_lr = values_of(schedulers[-1].optimizer, "lr")

    def step(self) -> None:  # type: ignore[override]
        """Begin the next epoch of every scheduler."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = values_of(self._schedulers[-1].optimizer, "lr")
