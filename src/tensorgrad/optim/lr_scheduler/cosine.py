"""Schedulers that let the rate fall along half a wave of a cosine: back and forth, or again and again."""

import math

from tensorgrad.optim.lr_scheduler.base import LRScheduler, values_of
from tensorgrad.optim.optimizer import Optimizer


class CosineAnnealingLR(LRScheduler):
    """From the first rate to `eta_min` along a cosine in `T_max` epochs, and then back.

    >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=0.5)
    >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.25]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        """The rates of this epoch, from those of the epoch before."""
        self._warn_outside_step()
        if self._is_initial:
            return values_of(self.optimizer, "lr")
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        groups, half = self.optimizer.param_groups, self.T_max
        if (self.last_epoch - 1 - half) % (2 * half) == 0:  # from the lowest point the factor below would be infinite
            rise = 1 - math.cos(math.pi / half)
            return [g["lr"] + (base - self.eta_min) * rise / 2 for base, g in zip(self.base_lrs, groups, strict=True)]
        now, before = (1 + math.cos(math.pi * epoch / half) for epoch in (self.last_epoch, self.last_epoch - 1))
        return [now / before * (group["lr"] - self.eta_min) + self.eta_min for group in groups]

    def _get_closed_form_lr(self):
        height = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """From the first rate to `eta_min` along a cosine in `T_0` epochs; then again, each time `T_mult` times as long.

    >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=0.5)
    >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> for _ in range(2): optimizer.step(); scheduler.step(); print(scheduler.get_last_lr())
    [0.25]
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1):
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        """The rates where the present wave has come to."""
        self._warn_outside_step()
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Begin the next epoch, or go to any epoch, which may be a fraction: `epoch + batch / batches`.

        >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=0.5)
        >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=1)
        >>> scheduler.step(2.5); scheduler.get_last_lr()
        [0.25]
        """
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur % self.T_i, self.T_i * self.T_mult
        else:
            epoch = 0 if epoch is None else epoch
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            self._go_to(epoch)
        self.last_epoch = math.floor(epoch)
        self._set()

    def _go_to(self, epoch):
        """Find the wave that an epoch is in, and where in it."""
        first, ratio = self.T_0, self.T_mult
        if epoch < first:
            self.T_i, self.T_cur = first, epoch
        elif ratio == 1:
            self.T_cur = epoch % first
        else:
            waves = int(math.log(epoch / first * (ratio - 1) + 1, ratio))
            self.T_cur = epoch - first * (ratio**waves - 1) / (ratio - 1)
            self.T_i = first * ratio**waves
