"""LRScheduler: what all schedulers share. Where the rates come from is said in the other files, in `get_lr`."""

import functools
import warnings
import weakref
from typing import Any

from tensorgrad.autograd.modes import _special, mode
from tensorgrad.optim.optimizer import Optimizer
from tensorgrad.tensor import Tensor

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed form "
    "is used instead of the new chainable form, where available. Please open an issue if you are unable to replicate "
    "your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)
_ORDER = "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
_REPLACED = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make sure "
    f"to call `optimizer.step()` before `lr_scheduler.step()`. See more details at {_ORDER}"
)
_TOO_EARLY = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call them "
    "in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in PyTorch "
    f"skipping the first value of the learning rate schedule. See more details at {_ORDER}"
)


def copied(value):
    """A value that later changes in place do not reach."""
    return value.clone() if isinstance(value, Tensor) else value


def values_of(optimizer, name):
    """Copies of one option of all groups."""
    return [copied(group[name]) for group in optimizer.param_groups]


def put(group, name, value):
    """Set an option of a group; one that is a Tensor stays that Tensor and takes the new number."""
    if isinstance(group[name], Tensor):
        group[name].fill_(value.squeeze() if isinstance(value, Tensor) and value.dim() else value)
    else:
        group[name] = value


def for_each_group(name, optimizer, value):
    """A value for each group: a list must have one for each, anything else holds for all."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [copied(value) for _ in range(count)]
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
            f"param_groups has {count}."
        )
    return list(map(copied, value))


_format_param = for_each_group


def check_optimizer(optimizer):
    """Raise unless it is an Optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def notice_steps(optimizer):
    """From now on the optimizer remembers that it was stepped, so that a wrong order of calls can be told."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    function, owner = optimizer.step.__func__, weakref.ref(optimizer)

    @functools.wraps(function)
    def step(*args, **kwargs):
        optimizer = owner()
        optimizer._opt_called = True
        return function(optimizer, *args, **kwargs)

    step._wrapped_by_lr_sched = True
    optimizer.step = step


def stepped_at_each_run(step):
    """A scheduler's `step` that, while `compile` traces a training step, is left for the end of each run of the program."""

    @functools.wraps(step)
    def wrapped(self, *args, **kwargs):
        if mode.special and "trace" in _special:
            from tensorgrad.compiler.trace import at_each_run

            if at_each_run(functools.partial(wrapped, self, *args, **kwargs), self.optimizer):
                return
        step(self, *args, **kwargs)

    return wrapped


class LRScheduler:
    """What schedulers share: the epoch, the first rates, the last rates. A subclass says the new rates in `get_lr`.

    >>> class Halve(torch.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [base / 2**self.last_epoch for base in self.base_lrs]
    >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=0.5)
    >>> scheduler = Halve(optimizer)
    >>> optimizer.step(); scheduler.step(); optimizer.param_groups[0]["lr"]
    0.25
    """

    _get_lr_called_within_step = False
    _is_initial = False
    _last_lr: list
    _step_count: int

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if "step" in cls.__dict__:
            cls.step = stepped_at_each_run(cls.__dict__["step"])

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler with "
                    "last_epoch >= 0.\nThis typically happens when:\n"
                    "1. You're trying to resume training from a checkpoint but haven't properly loaded the optimizer "
                    "state\n2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
                )
        self.base_lrs = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        notice_steps(optimizer)
        self._initial_step()

    def _initial_step(self):
        """Set the rates of the first epoch."""
        self._step_count, self._is_initial = 0, True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """All that the scheduler knows besides its optimizer, ready to be saved.

        >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=0.5)
        >>> torch.optim.lr_scheduler.StepLR(optimizer, 10).state_dict()["step_size"]
        10
        """
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a `state_dict`. The optimizer's own state, in which the present rate is, is loaded separately.

        >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=0.5)
        >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
        >>> scheduler.load_state_dict({"last_epoch": 7}); scheduler.last_epoch
        7
        """
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list:
        """The rates that were set last, one for each group.

        >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=0.5)
        >>> torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9).get_last_lr()
        [0.5]
        """
        return self._last_lr

    def get_lr(self) -> list:
        """The rates of the epoch that `step` has just begun. Every scheduler brings its own."""
        raise NotImplementedError

    @stepped_at_each_run
    def step(self, epoch: int | None = None) -> None:
        """Begin the next epoch: set its rates. Call it after the optimizer's `step`.

        >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=0.5)
        >>> scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
        [0.25]
        """
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(_REPLACED, UserWarning, stacklevel=3)
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(_TOO_EARLY, UserWarning, stacklevel=3)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=3)
        self._update_lr(epoch)

    def _update_lr(self, epoch=None):
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed_form = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
        self._set(closed_form)

    def _set(self, rates=None):
        """Write the rates that `rates`, or `get_lr`, returns into the groups."""
        self._get_lr_called_within_step = True
        try:
            found = self.get_lr() if rates is None else rates()
        finally:
            self._get_lr_called_within_step = False
        for group, lr in zip(self.optimizer.param_groups, found, strict=True):
            put(group, "lr", lr)
        self._last_lr = values_of(self.optimizer, "lr")

    def _warn_outside_step(self):
        """Tell those who call `get_lr` themselves, where another step would be taken, what they want."""
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )


class _LRScheduler(LRScheduler):
    """The former name of LRScheduler, which programs still derive from."""
