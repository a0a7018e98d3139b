"""Data sets, samplers and the loader that makes batches of them, with PyTorch's names."""

import types as _types

from tensorgrad.utils.data import collate as _collate
from tensorgrad.utils.data.collate import default_collate, default_convert
from tensorgrad.utils.data.dataloader import DataLoader, _DatasetKind
from tensorgrad.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from tensorgrad.utils.data.distributed import DistributedSampler
from tensorgrad.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from tensorgrad.utils.data.worker import WorkerInfo, get_worker_info

_utils = _types.SimpleNamespace(collate=_collate)  # where PyTorch's programs look for collate functions

__all__ = ["BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler",
           "IterableDataset", "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset",
           "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "WorkerInfo", "default_collate",
           "default_convert", "get_worker_info", "random_split"]  # fmt: skip
