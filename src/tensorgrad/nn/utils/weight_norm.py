"""Weights as a length and a direction, recomputed before each forward pass: the older form of weight normalization."""

import warnings

from tensorgrad.nn.parameter import Parameter, is_lazy

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


def lengths(weight, dim):
    """The norms of the weights over all dimensions but `dim`; -1: over all."""
    from tensorgrad.ops.norms import norm_except_dim

    return norm_except_dim(weight, 2, dim)


def scaled(direction, length, dim):
    """The weights of this direction whose `lengths` are these."""
    return direction * (length / lengths(direction, dim))


class WeightNorm:
    """The hook that puts a parameter together from its length and its direction.

    >>> import warnings; warnings.simplefilter("ignore", FutureWarning)
    >>> layer = torch.nn.utils.weight_norm(torch.nn.Linear(2, 3))
    >>> [type(hook).__name__ for hook in layer._forward_pre_hooks.values()]
    ['WeightNorm']
    """

    def __init__(self, name, dim):
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module):
        """The weights as the module uses them."""
        return scaled(getattr(module, self.name + "_v"), getattr(module, self.name + "_g"), self.dim)

    @staticmethod
    def apply(module, name, dim):
        """Split a parameter of a module and register the hook."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        hook = WeightNorm(name, dim)
        weight = getattr(module, name)
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the dummy forward "
                "before applying weight normalization"
            )
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(lengths(weight, hook.dim).data))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module):
        """Make one parameter of the two again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"], module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module, name="weight", dim=0):
    """Replace a parameter by its length `name_g` and its direction `name_v`; the older form of
    `torch.nn.utils.parametrizations.weight_norm`.

    >>> import warnings; warnings.simplefilter("ignore", FutureWarning)
    >>> layer = torch.nn.utils.weight_norm(torch.nn.Linear(2, 3)); list(layer.state_dict())
    ['bias', 'weight_g', 'weight_v']
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module, name="weight"):
    """Make one parameter of length and direction again.

    >>> import warnings; warnings.simplefilter("ignore", FutureWarning)
    >>> layer = torch.nn.utils.weight_norm(torch.nn.Linear(2, 3))
    >>> list(torch.nn.utils.remove_weight_norm(layer).state_dict())
    ['bias', 'weight']
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
