"""Optimizer: parameters in groups, their options and their state. How they are updated is said in the other files.

Every optimizer of PyTorch's programs derives from this class, also those that users write.
"""

import copy
import functools
import itertools
import warnings
from collections import OrderedDict, defaultdict

from tensorgrad.autograd.graph import AccumulateGrad
from tensorgrad.autograd.modes import _special, mode, set_recording, state
from tensorgrad.tensor import Tensor

_before_every_step, _after_every_step = OrderedDict(), OrderedDict()


class _RequiredParameter:
    """Stands for the default of an option that every parameter group must bring."""

    def __repr__(self):
        return "<required parameter>"


required = _RequiredParameter()


class RemovableHandle:
    """Returned by the functions that register hooks: `remove()` takes the hook away again."""

    _ids = itertools.count()

    def __init__(self, hooks, hook, prepend=False):
        self.hooks, self.id = hooks, next(self._ids)
        hooks[self.id] = hook
        if prepend:
            hooks.move_to_end(self.id, last=False)

    def remove(self):
        """Take the hook away."""
        self.hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


def register_optimizer_step_pre_hook(hook):
    """Call `hook(optimizer, args, kwargs)` before the step of any optimizer.

    >>> from tensorgrad.optim.optimizer import register_optimizer_step_pre_hook
    >>> with register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: print("now")):
    ...     torch.optim.SGD([torch.ones(1)]).step()
    now
    """
    return RemovableHandle(_before_every_step, hook)


def register_optimizer_step_post_hook(hook):
    """Call `hook(optimizer, args, kwargs)` after the step of any optimizer.

    >>> from tensorgrad.optim.optimizer import register_optimizer_step_post_hook
    >>> with register_optimizer_step_post_hook(lambda optimizer, args, kwargs: print("done")):
    ...     torch.optim.SGD([torch.ones(1)]).step()
    done
    """
    return RemovableHandle(_after_every_step, hook)


def typename(value):
    """The name of a value's type as PyTorch's messages spell it."""
    if type(value) is Tensor:
        return f"torch.{value._spec.dtype.title}Tensor"
    kind = type(value)
    return kind.__qualname__ if kind.__module__ in ("builtins", "") else f"{kind.__module__}.{kind.__qualname__}"


def _use_grad_for_differentiable(step):
    """A step that records what it does if and only if the optimizer was made with `differentiable=True`."""

    @functools.wraps(step)
    def wrapped(self, *args, **kwargs):
        before = state.recording
        set_recording(bool(self.defaults["differentiable"]))
        try:
            return step(self, *args, **kwargs)
        finally:
            set_recording(before)

    return wrapped


def remember_state(optimizer):
    """While `compile` traces a step: what the step adds to the state is taken away again if the trace fails."""
    from tensorgrad.compiler.trace import tracing

    trace = tracing()
    if trace is not None:
        before = {p: dict(own) for p, own in optimizer.state.items()}

        def take_back():
            optimizer.state.clear()
            optimizer.state.update(before)

        trace.undo.append(take_back)


class Optimizer:
    """What all optimizers share: parameter groups, state, hooks. A subclass brings `step`.

    >>> class Descend(torch.optim.Optimizer):
    ...     @torch.no_grad()
    ...     def step(self):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 p -= group["lr"] * p.grad
    >>> w = torch.tensor([1.], requires_grad=True); (3 * w).backward()
    >>> Descend([w], dict(lr=0.1)).step(); w
    tensor([0.7000], requires_grad=True)
    """

    def __init__(self, params, defaults):
        self.defaults = defaults
        self._make_hooks()
        self._hook_step()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{typename(params)}\nPut the tensor into a list: [tensor]."
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def _make_hooks(self):
        for name in ("step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_state_dict_pre",
                     "load_state_dict_post"):  # fmt: skip
            self.__dict__.setdefault(f"_optimizer_{name}_hooks", OrderedDict())

    def _hook_step(self):
        """Let `step` of the instance's class call the hooks, once for each class."""
        step = type(self).step
        if not getattr(step, "hooked", False):
            type(self).step = self.profile_hook_step(step)
            type(self).step.hooked = True

    _patch_step_function = _hook_step

    @staticmethod
    def profile_hook_step(step):
        """`step` with the hooks around it."""

        @functools.wraps(step)
        def hooked(self, *args, **kwargs):
            if mode.special and "trace" in _special:
                remember_state(self)
            before, after = self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks
            if not (before or after or _before_every_step or _after_every_step):
                return step(self, *args, **kwargs)
            for hook in (*_before_every_step.values(), *before.values()):
                result = hook(self, (self, *args), kwargs)
                if result is not None:
                    if not (isinstance(result, tuple) and len(result) == 2):
                        raise RuntimeError(
                            f"{step} must return None or a tuple of (new_args, new_kwargs), but got {result}."
                        )
                    (self, *args), kwargs = result
            out = step(self, *args, **kwargs)
            for hook in (*after.values(), *_after_every_step.values()):
                hook(self, (self, *args), kwargs)
            return out

        return hooked

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._make_hooks()
        self._hook_step()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self):
        groups = []
        for number, group in enumerate(self.param_groups):
            options = [f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params"]
            groups.append("".join((f"Parameter Group {number}\n", *options)))
        return f"{type(self).__name__} (\n" + "\n".join(groups) + ")"

    # Hooks

    def register_step_pre_hook(self, hook):
        """Call `hook(optimizer, args, kwargs)` before each step; it may return new `(args, kwargs)`.

        >>> optimizer = torch.optim.SGD([torch.ones(1)])
        >>> handle = optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: print("before"))
        >>> optimizer.step()
        before
        """
        return RemovableHandle(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook):
        """Call `hook(optimizer, args, kwargs)` after each step.

        >>> optimizer = torch.optim.SGD([torch.ones(1)])
        >>> handle = optimizer.register_step_post_hook(lambda optimizer, args, kwargs: print("after"))
        >>> optimizer.step()
        after
        """
        return RemovableHandle(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Call `hook(optimizer)` before `state_dict` is made."""
        return RemovableHandle(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Call `hook(optimizer, state_dict)` with each new state dict; what it returns replaces the state dict."""
        return RemovableHandle(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Call `hook(optimizer, state_dict)` before a state dict is loaded; what it returns is loaded instead."""
        return RemovableHandle(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Call `hook(optimizer)` after a state dict was loaded."""
        return RemovableHandle(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # State

    def state_dict(self):
        """The options and the state, with numbers in the place of parameters, ready to be saved.

        >>> torch.optim.SGD([torch.ones(1)], lr=0.1).state_dict()["param_groups"][0]["params"]
        [0]
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers, packed, start = {}, [], 0
        for group in self.param_groups:
            for number, p in enumerate(group["params"], start):
                numbers.setdefault(id(p), number)
            options = {key: value for key, value in group.items() if key != "params"}
            packed.append({**options, "params": [numbers[id(p)] for p in group["params"]]})
            start += len(group["params"])
        made = {
            "state": {(numbers[id(p)] if isinstance(p, Tensor) else p): value for p, value in self.state.items()},
            "param_groups": packed,
        }
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, made)
            made = made if changed is None else changed
        return made

    def load_state_dict(self, state_dict):
        """Go on from a `state_dict`: options and state are taken over, in the dtype of the parameters.

        >>> first, then = (torch.optim.SGD([torch.ones(1)], lr=lr) for lr in (0.1, 0.5))
        >>> then.load_state_dict(first.state_dict()); then.param_groups[0]["lr"]
        0.1
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        groups, saved = self.param_groups, copy.deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError(
                "loaded state dict has a different number of parameter groups\n"
                f"It has {len(saved)}, this optimizer {len(groups)}."
            )
        for position, (mine, other) in enumerate(zip(groups, saved)):
            if len(mine["params"]) != len(other["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of optimizer's group\n"
                    f"Group {position} has {len(other['params'])} parameters there and {len(mine['params'])} here."
                )
        params = {number: p for mine, other in zip(groups, saved) for number, p in zip(other["params"], mine["params"])}
        options = {number: other for other in saved for number in other["params"]}
        loaded = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                loaded[params[key]] = fitted(value, params[key], options[key])
            else:
                loaded[key] = value
        for mine, other in zip(groups, saved):
            other["params"] = mine["params"]
            if "param_names" in mine and "param_names" not in other:
                other["param_names"] = mine["param_names"]
        self.__setstate__({"state": loaded, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    # Parameters

    def zero_grad(self, set_to_none=True):
        """Forget the gradients of all parameters, or with `set_to_none=False` fill them with zeros.

        >>> w = torch.ones(1, requires_grad=True); (2 * w).backward()
        >>> torch.optim.SGD([w]).zero_grad(); w.grad is None
        True
        """
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    node = p._node
                    if type(node) is AccumulateGrad and not mode.special:
                        node.grad = None
                    elif mode.special or p.grad is not None:
                        p.grad = None
                elif p.grad is not None:
                    if p.grad.grad_fn is not None:
                        p.grad.detach_()
                    else:
                        p.grad.requires_grad_(False)
                    p.grad.zero_()

    def step(self, closure=None):
        """Update the parameters once. Every optimizer brings its own."""
        raise NotImplementedError

    def add_param_group(self, param_group):
        """Add parameters with options of their own.

        >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=0.1)
        >>> optimizer.add_param_group({"params": [torch.ones(2)], "lr": 0.5}); len(optimizer.param_groups)
        2
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        params = [params] if isinstance(params, Tensor) else list(params)
        names = [p[0] for p in params if isinstance(p, tuple)]
        params = param_group["params"] = [p[1] if isinstance(p, tuple) else p for p in params]
        if names:
            if len(names) != len(params):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = names
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {typename(p)}")
            if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        ids = {id(p) for p in params}
        if len(ids) != len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                words = "with names" if "param_names" in param_group else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. "
                    f"cannot add param group {words} to the optimizer"
                )
        if any(id(p) in ids for group in self.param_groups for p in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)


def fitted(value, p, options, key=None):
    """A loaded state value in the dtype of its parameter `p`; step counters keep theirs."""
    if isinstance(value, Tensor):
        if key == "step":
            return value.float() if options.get("capturable") or options.get("fused") else value
        return value.to(p.dtype) if p.is_floating_point() else value
    if isinstance(value, dict):
        return {name: fitted(inner, p, options, name) for name, inner in value.items()}
    if isinstance(value, (list, tuple, set)):
        return type(value)(fitted(inner, p, options) for inner in value)
    return value
