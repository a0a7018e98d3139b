"""state_dict and load_state_dict: a module's tensors as a flat dictionary, out and in again."""

import itertools
import warnings
from collections import OrderedDict, namedtuple

from tensorgrad.autograd import modes
from tensorgrad.nn.modules._hooks import Handle
from tensorgrad.nn.parameter import Parameter, is_lazy
from tensorgrad.tensor import Tensor

EXTRA_STATE = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What load_state_dict returns: the keys that were missing, and those that nobody wanted."""

    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    __str__ = __repr__


class StateMixin:
    """A module's tensors as a dictionary."""

    def get_extra_state(self):
        """What a subclass wants to have in its state_dict beside tensors."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
        )

    def set_extra_state(self, state):
        """Take back what `get_extra_state` gave."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
        )

    def _has_extra(self, method):
        return getattr(type(self), method) is not getattr(StateMixin, method)

    # Out

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """The parameters and persistent buffers by name: detached, but the same memory.

        >>> list(torch.nn.Linear(2, 2).state_dict())
        ['weight', 'bias']
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.",
                FutureWarning,
                stacklevel=2,
            )
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            replaced = hook(self, destination, prefix, local_metadata)
            if getattr(hook, "_from_public_api", False):
                if replaced is not None:
                    raise RuntimeError("state_dict post-hook must return None")
            elif replaced is not None:
                destination = replaced
        return destination

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        skipped = self._non_persistent_buffers_set
        for name, tensor in itertools.chain(self._parameters.items(), self._buffers.items()):
            if tensor is not None and (name not in skipped or name in self._parameters):
                destination[prefix + name] = tensor if keep_vars or is_lazy(tensor) else tensor.detach()
        if self._has_extra("get_extra_state"):
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def _register_state_dict_hook(self, hook):
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return Handle(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook):
        """Call `hook(module, state_dict, prefix, local_metadata)` after `state_dict`; it may change the dictionary.

        >>> layer = torch.nn.Linear(1, 1)
        >>> handle = layer.register_state_dict_post_hook(lambda module, state, prefix, metadata: state.pop("bias") and None)
        >>> list(layer.state_dict())
        ['weight']
        """
        hook._from_public_api = True
        return Handle(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook):
        """Call `hook(module, prefix, keep_vars)` before `state_dict`.

        >>> layer = torch.nn.Linear(1, 1)
        >>> handle = layer.register_state_dict_pre_hook(lambda module, prefix, keep_vars: print("saving"))
        >>> state = layer.state_dict()
        saving
        """
        return Handle(self._state_dict_pre_hooks, hook)

    # In

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return Handle(self._load_state_dict_pre_hooks, _with_module(hook, self) if with_module else hook)

    def register_load_state_dict_pre_hook(self, hook):
        """Call `hook(module, state_dict, prefix, ...)` before a state is loaded into this module.

        >>> layer = torch.nn.Linear(1, 1)
        >>> handle = layer.register_load_state_dict_pre_hook(lambda module, state, prefix, *rest: print(sorted(state)))
        >>> layer.load_state_dict(layer.state_dict())
        ['bias', 'weight']
        <All keys matched successfully>
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook):
        """Call `hook(module, incompatible_keys)` after a state was loaded; it may change the lists of keys.

        >>> layer = torch.nn.Linear(1, 1)
        >>> handle = layer.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
        >>> layer.load_state_dict({})
        <All keys matched successfully>
        """
        return Handle(self._load_state_dict_post_hooks, hook)

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copy the values of a dictionary into the parameters and buffers (or, with `assign`, take its tensors).

        >>> torch.nn.Linear(2, 2).load_state_dict(torch.nn.Linear(2, 2).state_dict())
        <All keys matched successfully>
        """
        if not hasattr(state_dict, "keys"):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing, unexpected, errors = [], [], []
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)
        if metadata is not None:
            state_dict._metadata = metadata

        def load(module, local_state, prefix=""):
            local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
            if assign:
                local_metadata["assign_to_params_buffers"] = assign
            module._load_from_state_dict(local_state, prefix, local_metadata, True, missing, unexpected, errors)
            for name, child in module._modules.items():
                if child is not None:
                    path = f"{prefix}{name}."
                    load(child, {key: value for key, value in local_state.items() if key.startswith(path)}, path)
            keys = _IncompatibleKeys(missing, unexpected)
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, keys) is not None:
                    raise AssertionError(
                        "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, "
                        "if incompatible_keys need to be modified, it should be done inplace."
                    )

        load(self, state_dict)
        if strict:
            if unexpected:
                errors.insert(
                    0, "Unexpected key(s) in state_dict: {}. ".format(", ".join(f'"{k}"' for k in unexpected))
                )
            if missing:
                errors.insert(0, "Missing key(s) in state_dict: {}. ".format(", ".join(f'"{key}"' for key in missing)))
        if errors:
            raise RuntimeError(
                "Error(s) in loading state_dict for {}:\n\t{}".format(type(self).__name__, "\n\t".join(errors))
            )
        return _IncompatibleKeys(missing, unexpected)

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        for hook in list(self._load_state_dict_pre_hooks.values()):
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        persistent = {k: v for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set}
        local = {k: v for k, v in itertools.chain(self._parameters.items(), persistent.items()) if v is not None}
        for name, tensor in local.items():
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            value = state_dict[key]
            if not isinstance(value, Tensor):
                error_msgs.append(
                    f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                    f"checkpoint but received {type(value)}"
                )
                continue
            problem = self._load_one(name, key, tensor, value, assign)
            if problem:
                error_msgs.append(problem)
        key = prefix + EXTRA_STATE
        if self._has_extra("set_extra_state"):
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != prefix + EXTRA_STATE:
                    head, dot, _ = key[len(prefix) :].partition(".")
                    if (head not in self._modules) if dot else (head not in local):
                        unexpected_keys.append(key)

    def _load_one(self, name, key, tensor, value, assign):
        """Load one tensor; what went wrong, as a sentence, or None."""
        if not is_lazy(tensor):
            if len(tensor.shape) == 0 and len(value.shape) == 1 and value.shape[0] == 1:
                value = value[0]  # checkpoints of very old programs
            if value.shape != tensor.shape:
                return (
                    f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, the shape in current "
                    f"model is {tensor.shape}."
                )
        elif not is_lazy(value):
            return None  # a lazy module's own hook has given it a shape already, or reports why not
        try:
            with modes.no_grad():
                if assign:
                    if isinstance(tensor, Parameter):
                        if not isinstance(value, Parameter):
                            value = Parameter(value, requires_grad=tensor.requires_grad)
                        else:
                            value.requires_grad_(tensor.requires_grad)
                    setattr(self, name, value)
                elif not is_lazy(tensor):
                    tensor.copy_(value)
        except Exception as error:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are {tensor.size()} and whose '
                f"dimensions in the checkpoint are {value.size()}, an exception occurred : {error.args}."
            )
        return None


class _with_module:
    """A load hook that wants its module first, found through the hook's owner so that a copied module uses the copy."""

    def __init__(self, hook, module):
        self.hook, self.module = hook, module

    def __call__(self, *args):
        return self.hook(self.module, *args)
