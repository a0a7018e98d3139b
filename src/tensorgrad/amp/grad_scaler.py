"""GradScaler: losses are scaled up so that small gradients survive in half precision, and steps with infinities are skipped."""

import inspect
import math
import warnings
from collections import abc
from enum import Enum

import numpy as np

from tensorgrad.autograd import modes
from tensorgrad.nn.utils.clip_grad import plain_arrays, write_arrays
from tensorgrad.ops.creation import tensor
from tensorgrad.tensor import Tensor

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """What has been done with an optimizer's gradients since the last `update`."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class GradScaler:
    """Scale losses, unscale gradients, step unless a gradient is infinite or NaN, and adapt the scale.

    The scale is halved after a step that was skipped and doubled after `growth_interval` steps that were not.

    >>> weight = torch.ones(1, requires_grad=True)
    >>> optimizer, scaler = torch.optim.SGD([weight], lr=0.1), torch.amp.GradScaler("cpu", init_scale=4.)
    >>> scaler.scale((weight * 2).sum()).backward(); weight.grad
    tensor([8.])
    >>> scaler.step(optimizer); scaler.update(); weight, scaler.get_scale()
    (tensor([0.8000], requires_grad=True), 4.0)
    """

    def __init__(self, device="cuda", init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000,
                 enabled=True):  # fmt: skip
        self._device, self._enabled = device, enabled
        if enabled and device == "cuda":
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            self._enabled = False
        if self._enabled:
            if growth_factor <= 1.0:
                raise AssertionError("The growth factor must be > 1.0.")
            if backoff_factor >= 1.0:
                raise AssertionError("The backoff factor must be < 1.0.")
            self._init_scale, self._scale = init_scale, None
            self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
            self._growth_interval, self._init_growth_tracker, self._growth_tracker = growth_interval, 0, None
        self._per_optimizer_states = {}

    def _started(self, call):
        """(scale, growth tracker), which the first `scale` makes."""
        hint = "This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration."
        for name in ("_scale", "_growth_tracker"):
            if getattr(self, name) is None:
                raise AssertionError(f"Attempted {call} but {name} is None.  {hint}")
        return self._scale, self._growth_tracker

    def _lazy_init_scale_growth_tracker(self):
        if self._growth_tracker is not None:
            raise AssertionError("_growth_tracker initialized before _scale")
        self._scale, self._growth_tracker = tensor(float(self._init_scale)), tensor(self._init_growth_tracker)

    def _state_of(self, optimizer):
        return self._per_optimizer_states.setdefault(
            id(optimizer), {"stage": OptState.READY, "found_inf_per_device": {}}
        )

    # A training step

    def scale(self, outputs):
        """A loss, or several outputs, times the scale.

        >>> torch.amp.GradScaler("cpu", init_scale=8.).scale([torch.ones(1), torch.zeros(1)])
        [tensor([8.]), tensor([0.])]
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._lazy_init_scale_growth_tracker()
            return outputs * self._scale.to(outputs.dtype)
        if not isinstance(outputs, abc.Iterable) or isinstance(outputs, str):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        scaled = [self.scale(output) for output in outputs]
        return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled

    def unscale_(self, optimizer):
        """Divide the gradients of an optimizer's parameters by the scale, for clipping before `step`.

        >>> weight = torch.ones(1, requires_grad=True); optimizer = torch.optim.SGD([weight], lr=0.1)
        >>> scaler = torch.amp.GradScaler("cpu"); scaler.scale(weight.sum()).backward()
        >>> scaler.unscale_(optimizer); weight.grad
        tensor([1.])
        """
        if not self._enabled:
            return
        scale, _ = self._started("unscale_")
        known = self._state_of(optimizer)
        if known["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if known["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse = float(1.0 / scale.double().item()) if scale.item() else math.inf
        known["found_inf_per_device"] = self._unscale_grads_(optimizer, inverse, tensor(0.0), False)
        known["stage"] = OptState.UNSCALED

    def _unscale_grads_(self, optimizer, inverse, found_inf, allow_fp16):
        """Multiply the gradients; {device: 1.0 where any is infinite or NaN}."""
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if not grads:
            return {}
        if not allow_fp16 and any(grad.dtype.title == "Half" for grad in grads):
            raise ValueError("Attempting to unscale FP16 gradients.")
        arrays, factor = plain_arrays(grads), float(np.float32(inverse))
        if arrays is not None:
            if not all(map(_finite, arrays)):
                found_inf.fill_(1.0)
            number = np.array(factor, arrays[0].dtype)
            write_arrays(grads, arrays, lambda array: np.multiply(array, number, out=array))
        else:
            with modes.no_grad():
                for grad in grads:
                    if not bool(grad.isfinite().all()):
                        found_inf.fill_(1.0)
                    grad.mul_(factor)
        return {grads[0].device: found_inf}

    def step(self, optimizer, *args, **kwargs):
        """Unscale the gradients, unless that is done, and call `optimizer.step()`, unless one is infinite or NaN.

        >>> weight = torch.ones(1, requires_grad=True); optimizer = torch.optim.SGD([weight], lr=0.1)
        >>> scaler = torch.amp.GradScaler("cpu"); scaler.scale(weight.sum() * torch.inf).backward()
        >>> scaler.step(optimizer); scaler.update(); weight, scaler.get_scale()
        (tensor([1.], requires_grad=True), 32768.0)
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._started("step")
        known = self._state_of(optimizer)
        if known["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False) and _takes_scaler(optimizer):
            result = optimizer.step(*args, **kwargs, grad_scaler=self)
            known["stage"] = OptState.STEPPED
            return result
        if known["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not known["found_inf_per_device"]:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = None
        if not any(found.item() for found in known["found_inf_per_device"].values()):
            result = optimizer.step(*args, **kwargs)
        known["stage"] = OptState.STEPPED
        return result

    def update(self, new_scale=None):
        """Adapt the scale to what the steps since the last `update` found, or set it.

        >>> scaler = torch.amp.GradScaler("cpu"); _ = scaler.scale(torch.ones(1)); scaler.update(16.); scaler.get_scale()
        16.0
        """
        if not self._enabled:
            return
        scale, tracker = self._started("update")
        with modes.no_grad():
            if new_scale is not None:
                self._set_scale(scale, new_scale)
            else:
                found = [
                    t for known in self._per_optimizer_states.values() for t in known["found_inf_per_device"].values()
                ]
                if not found:
                    raise AssertionError("No inf checks were recorded prior to update.")
                self._adapt(scale, tracker, any(t.item() for t in found))
        self._per_optimizer_states = {}

    def _set_scale(self, scale, new_scale):
        if isinstance(new_scale, float):
            scale.fill_(new_scale)
            return
        wrong = ("new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
                 "requires_grad=False.")  # fmt: skip
        if not isinstance(new_scale, Tensor) or new_scale.numel() != 1 or new_scale.requires_grad:
            raise AssertionError(wrong)
        scale.fill_(new_scale.item())

    def _adapt(self, scale, tracker, found):
        if found:
            scale.mul_(self._backoff_factor)
            tracker.fill_(0)
        elif tracker.item() + 1 == self._growth_interval:
            grown = scale * self._growth_factor
            if bool(grown.isfinite()):  # at the largest scale there is, it stays
                scale.copy_(grown)
            tracker.fill_(0)
        else:
            tracker.add_(1)

    # What it is set to

    def is_enabled(self):
        """Whether anything is scaled.

        >>> torch.amp.GradScaler("cpu", enabled=False).is_enabled()
        False
        """
        return self._enabled

    def get_scale(self):
        """The scale, as a number.

        >>> torch.amp.GradScaler("cpu").get_scale()
        65536.0
        """
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self):
        """By how much the scale grows.

        >>> torch.amp.GradScaler("cpu").get_growth_factor()
        2.0
        """
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        """Set by how much the scale grows.

        >>> torch.amp.GradScaler("cpu").set_growth_factor(4.0)
        """
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        """By how much the scale shrinks after a step that was skipped.

        >>> torch.amp.GradScaler("cpu").get_backoff_factor()
        0.5
        """
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        """Set by how much the scale shrinks.

        >>> torch.amp.GradScaler("cpu").set_backoff_factor(0.25)
        """
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        """After how many steps the scale grows.

        >>> torch.amp.GradScaler("cpu").get_growth_interval()
        2000
        """
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        """Set after how many steps the scale grows.

        >>> torch.amp.GradScaler("cpu").set_growth_interval(100)
        """
        self._growth_interval = new_interval

    def _get_growth_tracker(self):
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else self._growth_tracker.item()

    def state_dict(self):
        """The scale and its settings, for a checkpoint; call it after `update`.

        >>> torch.amp.GradScaler("cpu").state_dict()["scale"]
        65536.0
        """
        if not self._enabled:
            return {}
        return {"scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
                "growth_interval": self._growth_interval, "_growth_tracker": self._get_growth_tracker()}  # fmt: skip

    def load_state_dict(self, state_dict):
        """Take the scale and the settings of a checkpoint.

        >>> scaler = torch.amp.GradScaler("cpu"); scaler.load_state_dict({**scaler.state_dict(), "scale": 8.0})
        >>> scaler.get_scale()
        8.0
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale, self._init_growth_tracker = state_dict["scale"], state_dict["_growth_tracker"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self):
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                    "scaler.update()."
                )
            state["_init_scale"], state["_init_growth_tracker"] = self.get_scale(), self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)

    def _check_inf_per_device(self, optimizer):
        """Look for infinite gradients without changing any."""
        self._started("_check_inf_per_device")
        known = self._state_of(optimizer)
        known["found_inf_per_device"] = self._unscale_grads_(optimizer, 1.0, tensor(0.0), True)
        return known["found_inf_per_device"]

    def _found_inf_per_device(self, optimizer):
        return self._state_of(optimizer)["found_inf_per_device"]


def _finite(array):
    """Whether no number of an array is infinite or NaN: their squares add up to something finite, or each is looked at."""
    flat = array.reshape(-1)
    return math.isfinite(np.dot(flat, flat)) or bool(np.isfinite(array).all())


def _takes_scaler(optimizer):
    return "grad_scaler" in inspect.signature(optimizer.step).parameters
