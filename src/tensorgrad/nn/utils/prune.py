"""Pruning: numbers of a parameter are set to zero by a mask, and stay zero while the rest is trained.

A pruned parameter `weight` becomes `weight_orig`, a parameter, and `weight_mask`, a buffer; `weight` is their product, made
before each forward pass. Methods that prune the same parameter again join in a `PruningContainer`.

>>> layer = torch.nn.utils.prune.l1_unstructured(torch.nn.Linear(2, 2), "weight", amount=3)
>>> int((layer.weight != 0).sum()), list(layer.state_dict())
(1, ['bias', 'weight_orig', 'weight_mask'])
"""

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable

from tensorgrad.nn.utils.convert_parameters import parameters_to_vector

__all__ = ["BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
           "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
           "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove"]  # fmt: skip


def _contiguous_copy(mask):
    from tensorgrad import contiguous_format

    return mask.detach().clone(memory_format=contiguous_format)


class BasePruningMethod(ABC):
    """How to prune: a subclass says `compute_mask`; an object of it is the hook that applies the mask.

    >>> class Below(torch.nn.utils.prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...     def compute_mask(self, t, default_mask):
    ...         return default_mask * (t.abs() > 0.5)
    >>> Below().prune(torch.tensor([0.1, -0.9]))
    tensor([ 0.0000, -0.9000])
    """

    _tensor_name: str

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t, default_mask):
        """The mask for a tensor: zero where `default_mask` is, and where this method prunes."""

    def apply_mask(self, module):
        """The parameter times its mask.

        >>> layer = torch.nn.utils.prune.identity(torch.nn.Linear(2, 2), "bias")
        >>> hook = next(iter(layer._forward_pre_hooks.values()))
        >>> torch.equal(hook.apply_mask(layer), layer.bias_orig)
        True
        """
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask, original = getattr(module, self._tensor_name + "_mask"), getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prune a parameter of a module and keep it so; the hook that does.

        >>> hook = torch.nn.utils.prune.Identity.apply(torch.nn.Linear(2, 2), "weight"); hook._tensor_name
        'weight'
        """
        former = [key for key, hook in module._forward_pre_hooks.items()
                  if isinstance(hook, BasePruningMethod) and hook._tensor_name == name]  # fmt: skip
        if len(former) > 1:
            raise AssertionError(
                f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a PruningContainer."
            )
        method = cls(*args, **kwargs)
        method._tensor_name = name
        if former:
            before = module._forward_pre_hooks.pop(former[0])
            container = before if isinstance(before, PruningContainer) else PruningContainer(before)
            container.add_pruning_method(method)
            method = container
        original = getattr(module, name)
        if importance_scores is None:
            importance_scores = original
        elif importance_scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, got "
                f"{importance_scores.shape} vs {original.shape}"
            )
        if former:
            default_mask = _contiguous_copy(getattr(module, name + "_mask"))
        else:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
            default_mask = original.new_ones(original.shape)
        try:
            module.register_buffer(name + "_mask", method.compute_mask(importance_scores, default_mask=default_mask))
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if not former:
                module.register_parameter(name, module._parameters.pop(name + "_orig"))
            raise
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """A tensor pruned by this method.

        >>> torch.nn.utils.prune.L1Unstructured(1).prune(torch.tensor([3., -1., 2.]))
        tensor([3., -0., 2.])
        """
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as tensor t, got {importance_scores.shape} vs {t.shape}"
            )
        default_mask = t.new_ones(t.shape) if default_mask is None else default_mask
        return t * self.compute_mask(importance_scores, default_mask=default_mask)

    def remove(self, module):
        """Make the pruned values the parameter.

        >>> layer = torch.nn.Linear(2, 2); torch.nn.utils.prune.Identity.apply(layer, "weight").remove(layer); layer.weight.is_leaf
        True
        """
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        pruned = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = pruned.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several methods that prune one parameter, each what the ones before left.

    >>> layer = torch.nn.utils.prune.l1_unstructured(torch.nn.Linear(2, 2), "weight", amount=1)
    >>> layer = torch.nn.utils.prune.l1_unstructured(layer, "weight", amount=1); int(layer.weight_mask.sum())
    2
    """

    def __init__(self, *args):
        self._pruning_methods, self._tensor_name = (), None
        if len(args) == 1 and isinstance(args[0], Iterable):
            args = tuple(args[0])
        if args:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method):
        """Add a method behind the others.

        >>> torch.nn.utils.prune.PruningContainer().add_pruning_method(3)
        Traceback (most recent call last):
        TypeError: <class 'int'> is not a BasePruningMethod subclass
        """
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to PruningContainer "
                f"{self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, index):
        return self._pruning_methods[index]

    def compute_mask(self, t, default_mask):
        """The mask of the methods before, and what the last one prunes of the rest."""
        method, mask = self._pruning_methods[-1], default_mask.clone().to(dtype=t.dtype)
        left = self._left(method, t, mask)
        mask[left] = method.compute_mask(t[left], default_mask=mask[left]).to(mask.dtype)
        return mask

    @staticmethod
    def _left(method, t, mask):
        """An index of what a method may choose from."""
        if method.PRUNING_TYPE == "global":
            return (slice(None),) * t.dim()
        if method.PRUNING_TYPE == "unstructured":
            return mask == 1
        if method.PRUNING_TYPE != "structured":
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        if not hasattr(method, "dim"):
            raise AttributeError(
                'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.'
            )
        ndim = t.dim()
        dim = method.dim + ndim if method.dim < 0 else method.dim
        if not 0 <= dim < ndim:
            raise IndexError(f"Index is out of bounds for tensor with dimensions {ndim}")
        kept = mask.sum([other for other in range(ndim) if other != dim]) != 0
        return tuple(kept if other == dim else slice(None) for other in range(ndim))


class Identity(BasePruningMethod):
    """Prunes nothing, but makes the mask.

    >>> torch.nn.utils.prune.Identity().prune(torch.ones(2))
    tensor([1., 1.])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        return default_mask


class CustomFromMask(BasePruningMethod):
    """Prunes where a given mask is zero.

    >>> torch.nn.utils.prune.CustomFromMask(torch.tensor([0., 1.])).prune(torch.ones(2))
    tensor([0., 1.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


class _ByAmount(BasePruningMethod):
    """Prunes so many of the parts of a tensor, or such a share of them."""

    def __init__(self, amount):
        if not isinstance(amount, numbers.Real):
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        if amount < 0 or (not isinstance(amount, numbers.Integral) and amount > 1.0):
            raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
        self.amount = amount

    def count(self, size):
        """How many of `size` parts to prune."""
        if not isinstance(self.amount, numbers.Integral):
            return round(self.amount * size)
        if self.amount > size:
            raise ValueError(f"amount={self.amount} should be smaller than the number of parameters to prune={size}")
        return int(self.amount)


class RandomUnstructured(_ByAmount):
    """Prunes numbers by chance.

    >>> int(torch.nn.utils.prune.RandomUnstructured(0.5).prune(torch.ones(10)).sum())
    5
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        from tensorgrad import rand_like

        count, mask = self.count(t.numel()), _contiguous_copy(default_mask)
        if count:
            mask.view(-1)[rand_like(t).view(-1).topk(count).indices] = 0
        return mask


class L1Unstructured(_ByAmount):
    """Prunes the numbers that are closest to zero.

    >>> torch.nn.utils.prune.L1Unstructured(0.5).prune(torch.tensor([4., 1., -2., -3.]))
    tensor([ 4.,  0., -0., -3.])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        count, mask = self.count(t.numel()), _contiguous_copy(default_mask)
        if count:
            mask.view(-1)[t.abs().view(-1).topk(count, largest=False).indices] = 0
        return mask


class _Structured(_ByAmount):
    """Prunes whole places along a dimension."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount, dim=-1):
        super().__init__(amount)
        self.dim = dim

    def kept(self, t, count):
        """Which places stay, as booleans, when so many are pruned."""
        raise NotImplementedError

    def compute_mask(self, t, default_mask):
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                f"{t.shape} with {t.dim()} dims"
            )
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        count = self.count(t.shape[self.dim])
        if not count:
            return default_mask
        shape = [1] * t.dim()
        shape[self.dim] = -1
        return default_mask * self.kept(t, count).reshape(shape).to(default_mask.dtype)


class RandomStructured(_Structured):
    """Prunes places along a dimension by chance.

    >>> int(torch.nn.utils.prune.RandomStructured(1, dim=0).prune(torch.ones(3, 4)).sum())
    8
    """

    def kept(self, t, count):
        from tensorgrad import rand

        chance = rand(t.shape[self.dim])
        return chance > chance.kthvalue(count).values


class LnStructured(_Structured):
    """Prunes the places along a dimension whose n-norms are smallest.

    >>> torch.nn.utils.prune.LnStructured(1, 2, dim=0).prune(torch.tensor([[3., 0.], [2., 2.]]))
    tensor([[3., 0.],
            [0., 0.]])
    """

    def __init__(self, amount, n, dim=-1):
        super().__init__(amount, dim)
        self.n = n

    def kept(self, t, count):
        from tensorgrad import norm

        ndim = t.dim()
        norms = norm(t, p=self.n, dim=[other for other in range(ndim) if other != self.dim % ndim])
        kept = norms.new_zeros(norms.shape)
        kept[norms.topk(len(norms) - count).indices] = 1
        return kept


# As functions


def identity(module, name):
    """Make a mask for a parameter that prunes nothing.

    >>> torch.nn.utils.prune.identity(torch.nn.Linear(2, 3), "bias").bias_mask
    tensor([1., 1., 1.])
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Prune numbers of a parameter by chance: so many, or such a share.

    >>> int((torch.nn.utils.prune.random_unstructured(torch.nn.Linear(2, 3), "weight", amount=1).weight == 0).sum())
    1
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prune the numbers of a parameter that are closest to zero (or whose importance is).

    >>> int((torch.nn.utils.prune.l1_unstructured(torch.nn.Linear(2, 3), "weight", amount=0.5).weight == 0).sum())
    3
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prune places along a dimension of a parameter by chance.

    >>> int((torch.nn.utils.prune.random_structured(torch.nn.Linear(5, 3), "weight", 3, dim=1).weight_mask.sum()))
    6
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prune the places along a dimension of a parameter whose n-norms are smallest.

    >>> layer = torch.nn.utils.prune.ln_structured(torch.nn.Linear(5, 3), "weight", amount=2, n=float("-inf"), dim=0)
    >>> int(layer.weight_mask.sum())
    5
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module, name, mask):
    """Prune a parameter where a mask is zero.

    >>> torch.nn.utils.prune.custom_from_mask(torch.nn.Linear(5, 3), "bias", torch.tensor([0, 1, 0])).bias_mask
    tensor([0., 1., 0.])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Prune several parameters, given as (module, name), as if they were one.

    >>> a, b = torch.nn.Linear(2, 2, bias=False), torch.nn.Linear(2, 2, bias=False)
    >>> with torch.no_grad():
    ...     _ = a.weight.fill_(1), b.weight.fill_(2)
    >>> torch.nn.utils.prune.global_unstructured([(a, "weight"), (b, "weight")], torch.nn.utils.prune.L1Unstructured, amount=4)
    >>> a.weight.sum().item(), b.weight.sum().item()
    (0.0, 8.0)
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    parameters, scores = list(parameters), {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    values = [getattr(module, name) for module, name in parameters]
    masks = [getattr(module, name + "_mask", value.new_ones(value.shape))
             for (module, name), value in zip(parameters, values)]  # fmt: skip
    container, method = PruningContainer(), pruning_method(**kwargs)
    container._tensor_name = method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of type '
            f"{method.PRUNING_TYPE}"
        )
    container.add_pruning_method(method)
    importance = parameters_to_vector(scores.get(place, value) for place, value in zip(parameters, values))
    mask, start = container.compute_mask(importance, parameters_to_vector(masks)), 0
    for (module, name), value in zip(parameters, values):
        custom_from_mask(module, name, mask=mask[start : start + value.numel()].view_as(value))
        start += value.numel()


def remove(module, name):
    """Make the pruned values the parameter; the mask goes.

    >>> layer = torch.nn.utils.prune.identity(torch.nn.Linear(2, 3), "bias")
    >>> list(torch.nn.utils.prune.remove(layer, "bias").state_dict())
    ['weight', 'bias']
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module):
    """Whether a module, or one below it, is pruned.

    >>> torch.nn.utils.prune.is_pruned(torch.nn.Linear(2, 3))
    False
    """
    return any(
        isinstance(hook, BasePruningMethod) for part in module.modules() for hook in part._forward_pre_hooks.values()
    )
