"""Averages of a model's parameters along its training: plain (SWA) or fading (EMA), and the rate that goes with it."""

import itertools
import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, Literal

from tensorgrad.autograd.modes import no_grad
from tensorgrad.nn.modules.batchnorm import _BatchNorm
from tensorgrad.nn.modules.module import Module
from tensorgrad.ops.creation import tensor
from tensorgrad.optim.lr_scheduler.base import LRScheduler, for_each_group
from tensorgrad.optim.optimizer import Optimizer
from tensorgrad.tensor import Tensor

__all__ = ["SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
           "update_bn"]  # fmt: skip


def _check_decay(decay):
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _moves(tensor):
    """Whether averages of it are of its own dtype."""
    return tensor.is_floating_point() or tensor.is_complex()


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable:
    """A function that lets averages fade towards new values, `decay * average + (1 - decay) * value`, in place.

    >>> averages = [torch.zeros(1)]
    >>> torch.optim.swa_utils.get_ema_multi_avg_fn(0.75)(averages, [torch.ones(1)], 1); averages
    [tensor([0.2500])]
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list, current_param_list, _):
        for average, value in zip(ema_param_list, current_param_list, strict=True):
            if _moves(average):
                average.lerp_(value, 1 - decay)
            else:
                average.copy_(average * decay + value * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Callable:
    """A function that takes one more value into plain averages, in place.

    >>> averages = [torch.zeros(1)]
    >>> torch.optim.swa_utils.get_swa_multi_avg_fn()(averages, [torch.ones(1)], 3); averages
    [tensor([0.2500])]
    """

    @no_grad()
    def swa_update(averaged_param_list, current_param_list, num_averaged):
        for average, value in zip(averaged_param_list, current_param_list, strict=True):
            if _moves(average):
                average.lerp_(value, float(1 / (num_averaged + 1)))
            elif isinstance(num_averaged, Tensor):
                average.add_((value - average).div(num_averaged + 1, rounding_mode="trunc"))
            else:
                average.add_(value - average, alpha=1.0 / (num_averaged + 1))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Callable:
    """A function of (average, value, count) that returns the fading average.

    >>> torch.optim.swa_utils.get_ema_avg_fn(0.75)(torch.zeros(1), torch.ones(1), 1)
    tensor([0.2500])
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param, current_param, num_averaged):
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable:
    """A function of (average, value, count) that returns the plain average.

    >>> torch.optim.swa_utils.get_swa_avg_fn()(torch.zeros(1), torch.ones(1), 3)
    tensor([0.2500])
    """

    @no_grad()
    def swa_update(averaged_param, current_param, num_averaged):
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are the averages of those seen by `update_parameters`.

    >>> model = torch.nn.Linear(1, 1)
    >>> average = torch.optim.swa_utils.AveragedModel(model)
    >>> for value in (1., 3.): _ = torch.nn.init.constant_(model.weight, value); average.update_parameters(model)
    >>> average.module.weight
    Parameter containing:
    tensor([[2.]], requires_grad=True)
    """

    n_averaged: Tensor

    def __init__(self, model: Module, device: Any = None, avg_fn: Callable | None = None,
                 multi_avg_fn: Callable | None = None, use_buffers: bool = False):  # fmt: skip
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model) if device is None else deepcopy(model).to(device)
        self.register_buffer("n_averaged", tensor(0, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args, **kwargs):
        """What the averaged model says.

        >>> model = torch.nn.Linear(2, 1)
        >>> torch.equal(torch.optim.swa_utils.AveragedModel(model)(torch.ones(2)), model(torch.ones(2)))
        True
        """
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the present parameters of a model into the averages; the first time they are copied.

        >>> model = torch.nn.Linear(2, 1); average = torch.optim.swa_utils.AveragedModel(model)
        >>> average.update_parameters(model); average.n_averaged
        tensor(1)
        """

        def tensors_of(module, own):
            return itertools.chain(own.parameters(), module.buffers()) if self.use_buffers else own.parameters()

        pairs = zip(tensors_of(self.module, self.module), tensors_of(model, model), strict=False)
        averages, values = [], []
        for average, value in pairs:
            averages.append(average.detach())
            values.append(value.detach())
        if self.n_averaged == 0:
            for average, value in zip(averages, values):
                average.copy_(value)
        elif self.avg_fn is not None:
            for average, value in zip(averages, values):
                average.copy_(self.avg_fn(average, value, self.n_averaged))
        else:
            update = self.multi_avg_fn or get_swa_multi_avg_fn()
            for dtype in dict.fromkeys(average.dtype for average in averages):  # one dtype a call
                chosen = [i for i, average in enumerate(averages) if average.dtype is dtype]
                update([averages[i] for i in chosen], [values[i] for i in chosen], self.n_averaged)
        if not self.use_buffers:
            for average, value in zip(self.module.buffers(), model.buffers(), strict=True):
                average.detach().copy_(value.detach())
        self.n_averaged += 1


@no_grad()
def update_bn(loader: Iterable, model: Module, device: Any = None) -> None:
    """Measure the running statistics of all batch norms again: plain averages over the batches of a loader.

    >>> model = torch.nn.BatchNorm1d(1)
    >>> torch.optim.swa_utils.update_bn([torch.tensor([[1.], [3.]])], model); model.running_mean
    tensor([2.])
    """
    momenta = {module: module.momentum for module in model.modules() if isinstance(module, _BatchNorm)}
    if not momenta:
        return
    for module in momenta:
        module.reset_running_stats()
        module.momentum = None
    was_training = model.training
    model.train()
    for batch in loader:
        batch = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(batch if device is None else batch.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Move the rate to `swa_lr` in `anneal_epochs` epochs, and leave it there.

    >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=0.5)
    >>> scheduler = torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.25, anneal_epochs=2, anneal_strategy="linear")
    >>> for _ in range(3): optimizer.step(); scheduler.step(); print(scheduler.get_last_lr())
    [0.375]
    [0.25]
    [0.25]
    """

    def __init__(self, optimizer: Optimizer, swa_lr: float | list[float], anneal_epochs: int = 10,
                 anneal_strategy: Literal["cos", "linear"] = "cos", last_epoch: int = -1):  # fmt: skip
        for lr, group in zip(for_each_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t: float) -> float:
        """Which share of the way the rate has gone, by the share of the epochs.

        >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=0.5)
        >>> torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.25).anneal_func(1.0)
        1.0
        """
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def get_lr(self) -> list:
        """The rates of this epoch, from those of the epoch before."""
        self._warn_outside_step()
        step, length = self._step_count - 1, max(1, self.anneal_epochs)
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = (self.anneal_func(max(0, min(1, t / length))) for t in (step - 1, step))
        rates = []
        for group in self.optimizer.param_groups:
            lr, goal = group["lr"], group["swa_lr"]
            first = goal if before == 1 else (lr - before * goal) / (1 - before)  # where the rate came from
            rates.append(goal * now + first * (1 - now))
        return rates
