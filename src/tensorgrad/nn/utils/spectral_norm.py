"""Weights divided by their largest singular value, before each forward pass: the older form of spectral normalization."""

from tensorgrad.autograd import modes
from tensorgrad.nn import functional as F
from tensorgrad.nn.parameter import Parameter, is_lazy

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]


def as_matrix(weight, dim):
    """The weights as a matrix with a row for each place along `dim`."""
    return (weight if dim == 0 else weight.movedim(dim, 0)).reshape(weight.size(dim), -1)


def random_direction(matrix, size, eps):
    """A random vector of length 1."""
    return F.normalize(matrix.new_empty(size).normal_(0, 1), dim=0, eps=eps)


class SpectralNorm:
    """The hook that divides a parameter by its largest singular value, which power iterations follow.

    >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 3))
    >>> [type(hook).__name__ for hook in layer._forward_pre_hooks.values()]
    ['SpectralNorm']
    """

    _version = 1

    def __init__(self, name="weight", n_power_iterations=1, dim=0, eps=1e-12):
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name, self.dim, self.n_power_iterations, self.eps = name, dim, n_power_iterations, eps

    def reshape_weight_to_matrix(self, weight):
        """The weights as a matrix with a row for each place along `dim`."""
        return as_matrix(weight, self.dim)

    def compute_weight(self, module, do_power_iteration):
        """The weights as the module uses them; an iteration follows what training has changed."""
        weight, u, v = (getattr(module, self.name + end) for end in ("_orig", "_u", "_v"))
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with modes.no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(matrix.mv(v), dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()  # later iterations write into the buffers
        return weight / u.dot(matrix.mv(v))

    @staticmethod
    def apply(module, name, n_power_iterations, dim, eps):
        """Put the parameter aside and register the hooks."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the dummy forward "
                "before applying spectral normalization"
            )
        with modes.no_grad():
            matrix = as_matrix(weight, dim)
            u, v = (random_direction(matrix, size, eps) for size in matrix.shape)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.data)  # a plain attribute, no parameter
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(_Version(hook))
        module._register_load_state_dict_pre_hook(_Older(hook))
        return hook

    def remove(self, module):
        """Make the normalized weights the parameter."""
        with modes.no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        delattr(module, self.name)
        for end in ("_u", "_v", "_orig"):
            delattr(module, self.name + end)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))


class _Version:
    """Notes in a state_dict that it holds `v` too."""

    def __init__(self, hook):
        self.hook = hook

    def __call__(self, module, state_dict, prefix, local_metadata):
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.hook.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.hook._version


class _Older(_Version):
    """Completes a state_dict of before `v` was kept: it held the normalized weights in its place."""

    def __call__(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        hook = self.hook
        version = local_metadata.get("spectral_norm", {}).get(hook.name + ".version")
        key = prefix + hook.name
        if version is not None and version >= 1:
            return
        if version is None and all(key + end in state_dict for end in ("_orig", "_u", "_v")) and key not in state_dict:
            return
        for end in ("_orig", "", "_u"):
            if key + end not in state_dict:
                if strict:
                    missing_keys.append(key + end)
                return
        with modes.no_grad():
            from tensorgrad.linalg import multi_dot, pinv

            weight, used, u = state_dict[key + "_orig"], state_dict.pop(key), state_dict[key + "_u"]
            matrix = as_matrix(weight, hook.dim)
            v = multi_dot([pinv(matrix.t() @ matrix), matrix.t(), u.unsqueeze(1)]).squeeze(1)
            state_dict[key + "_v"] = v * ((weight / used).mean() / u.dot(matrix.mv(v)))


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divide a parameter by its largest singular value before each forward pass; the older form of
    `torch.nn.utils.parametrizations.spectral_norm`.

    >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 3)); list(layer.state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    SpectralNorm.apply(module, name, n_power_iterations, default_dim(module) if dim is None else dim, eps)
    return module


def default_dim(module):
    """The dimension of the outputs: 1 for transposed convolutions."""
    from tensorgrad.nn import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d

    return 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0


def remove_spectral_norm(module, name="weight"):
    """Make the normalized weights the parameter, and no longer follow them.

    >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 3))
    >>> list(torch.nn.utils.remove_spectral_norm(layer).state_dict())
    ['bias', 'weight']
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    for hooks in (module._state_dict_hooks, module._load_state_dict_pre_hooks):
        for key, hook in list(hooks.items()):
            if isinstance(hook, _Version) and hook.hook.name == name:
                del hooks[key]
    return module
