"""Tools around modules: clipping gradients, flattening parameters, parametrizations, packed sequences."""

import importlib

from tensorgrad.nn.utils.spectral_norm import spectral_norm
from tensorgrad.nn.utils.weight_norm import weight_norm  # before anyone imports the file of that name

PLACES = {
    "clip_grad": "clip_grad_norm clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_ get_total_norm",
    "convert_parameters": "parameters_to_vector vector_to_parameters",
    "fusion": "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights",
    "init": "skip_init",
    "memory_format": "convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format",
    "spectral_norm": "remove_spectral_norm",
    "weight_norm": "remove_weight_norm",
}
FILE_OF = {name: file for file, names in PLACES.items() for name in names.split()}
FILES = {"clip_grad", "convert_parameters", "fusion", "init", "memory_format", "parametrizations", "parametrize", "prune",
         "rnn", "stateless"}  # fmt: skip

__all__ = [*sorted(FILE_OF), "spectral_norm", "weight_norm"]


def __getattr__(name):
    file = FILE_OF.get(name)
    if file is not None:
        module = importlib.import_module(f"{__name__}.{file}")
        value = globals()[name] = getattr(module, name)
        return value
    if name in FILES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__():
    return sorted({*globals(), *FILE_OF, *FILES})
