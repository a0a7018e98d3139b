"""Optimizers, with PyTorch's names and module paths. Each is imported when it is first named."""

import importlib

_HOMES = {
    "Adadelta": "adadelta", "Adafactor": "adafactor", "Adagrad": "adagrad", "Adam": "adam", "AdamW": "adamw",
    "Adamax": "adamax", "ASGD": "asgd", "LBFGS": "lbfgs", "Muon": "muon", "NAdam": "nadam", "Optimizer": "optimizer",
    "RAdam": "radam", "RMSprop": "rmsprop", "Rprop": "rprop", "SGD": "sgd", "SparseAdam": "sparse_adam",
}  # fmt: skip
_ALIASES = {"_adafactor": "adafactor", "_muon": "muon"}
_MODULES = {*_HOMES.values(), *_ALIASES, "lr_scheduler", "swa_utils"}

__all__ = sorted(_HOMES)


def __getattr__(name):
    if name in _HOMES:
        value = globals()[name] = getattr(importlib.import_module(f"tensorgrad.optim.{_HOMES[name]}"), name)
        return value
    if name in _MODULES:
        return importlib.import_module(f"tensorgrad.optim.{_ALIASES.get(name, name)}")
    raise AttributeError(f"module 'tensorgrad.optim' has no attribute '{name}'")


def __dir__():
    return sorted({*globals(), *_HOMES, *_MODULES})
