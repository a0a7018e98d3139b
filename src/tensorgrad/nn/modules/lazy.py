"""Modules that learn the shape of their parameters from the first input."""

import itertools

from tensorgrad.nn.parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Beside a module class: parameters start uninitialized, and the first call of the module initializes them.

    >>> layer = torch.nn.LazyLinear(3); layer.has_uninitialized_params()
    True
    >>> _ = layer(torch.ones(1, 2)); layer.weight.shape
    tensorgrad.Size([3, 2])
    """

    cls_to_become = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(_materialize_from_state, with_module=True)
        self._initialize_hook = self.register_forward_pre_hook(_initialize, with_kwargs=True)

    def initialize_parameters(self, *args, **kwargs):
        """Give the parameters their shape, from the arguments of forward: subclasses say how."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self):
        """Whether some parameter or buffer has no shape yet.

        >>> torch.nn.LazyLinear(3).has_uninitialized_params()
        True
        """
        return any(is_lazy(tensor) for tensor in itertools.chain(self._parameters.values(), self._buffers.values()))


def _initialize(module, args, kwargs):
    """Before the first forward: initialize, and become the class that the module stands for."""
    module.initialize_parameters(*args, **kwargs)
    if module.has_uninitialized_params():
        raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
    module._initialize_hook.remove()
    module._load_hook.remove()
    delattr(module, "_initialize_hook")
    delattr(module, "_load_hook")
    if module.cls_to_become is not None:
        module.__class__ = module.cls_to_become


def _materialize_from_state(module, state_dict, prefix, *rest):
    """Before a state is loaded: what has a shape there gets it here."""
    for name, tensor in itertools.chain(module._parameters.items(), module._buffers.items()):
        given = state_dict.get(prefix + name)
        if given is not None and is_lazy(tensor) and not is_lazy(given):
            from tensorgrad.autograd import modes

            with modes.no_grad():
                tensor.materialize(given.shape)
