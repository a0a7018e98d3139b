"""Learning rate schedulers: they write a new `lr` (and sometimes momentum) into the groups of an optimizer, epoch by epoch.

A new rate usually follows from the present one by a factor, so that several schedulers may work on one optimizer.
base.py: LRScheduler. factors.py: one factor an epoch. cosine.py: along a cosine. cycles.py: up and down, momentum against
it. plateau.py: when a measured value stops improving. combined.py: several schedulers, together or one after the other.
"""

from tensorgrad.optim.lr_scheduler.base import EPOCH_DEPRECATION_WARNING, LRScheduler, _LRScheduler
from tensorgrad.optim.lr_scheduler.combined import ChainedScheduler, SequentialLR
from tensorgrad.optim.lr_scheduler.cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from tensorgrad.optim.lr_scheduler.cycles import CyclicLR, OneCycleLR
from tensorgrad.optim.lr_scheduler.factors import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from tensorgrad.optim.lr_scheduler.plateau import ReduceLROnPlateau

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR",
    "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR",
    "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip
