"""Data sets: objects that give an item for an index, or that give their items one after the other."""

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable
from typing import Generic, TypeVar

Item = TypeVar("Item", covariant=True)


class Dataset(Generic[Item]):
    """A data set that gives an item for an index: a subclass brings `__getitem__`, and usually `__len__`.

    >>> class Squares(torch.utils.data.Dataset):
    ...     def __getitem__(self, index): return index ** 2
    ...     def __len__(self): return 4
    >>> (Squares() + Squares())[5]
    1
    """

    def __getitem__(self, index):
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset[Item], Iterable[Item]):
    """A data set that gives its items one after the other: a subclass brings `__iter__`.

    >>> class Count(torch.utils.data.IterableDataset):
    ...     def __iter__(self): return iter(range(3))
    >>> list(Count() + Count())
    [0, 1, 2, 0, 1, 2]
    """

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """The rows of tensors, side by side.

    >>> torch.utils.data.TensorDataset(torch.arange(3), torch.eye(3))[1]
    (tensor(1), tensor([0., 1., 0.]))
    """

    def __init__(self, *tensors):
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            sizes = ", ".join(str(list(t.shape)) for t in tensors)
            raise AssertionError(f"Size mismatch between tensors\nTheir first sizes must be equal: {sizes}.")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self):
        return self.tensors[0].size(0)


class StackDataset(Dataset):
    """Several data sets side by side: items are tuples, or dicts when the data sets are given by name.

    >>> torch.utils.data.StackDataset(x=[1, 2], y="ab")[1]
    {'x': 2, 'y': 'b'}
    """

    def __init__(self, *args, **kwargs):
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like input/output, but both "
                "types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        parts = list(self._parts())
        self._length = len(parts[0])
        if any(len(part) != self._length for part in parts):
            raise ValueError("Size mismatch between datasets\nThey have " + ", ".join(str(len(p)) for p in parts))

    def _parts(self):
        return self.datasets.values() if isinstance(self.datasets, dict) else self.datasets

    def _joined(self, values):
        return dict(zip(self.datasets, values)) if isinstance(self.datasets, dict) else tuple(values)

    def __getitem__(self, index):
        return self._joined([part[index] for part in self._parts()])

    def __getitems__(self, indices):
        columns = [items_of(part, indices) for part in self._parts()]
        for column in columns:
            if len(column) != len(indices):
                raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)}")
        return [self._joined(row) for row in zip(*columns)]

    def __len__(self):
        return self._length


class ConcatDataset(Dataset[Item]):
    """Data sets one behind the other.

    >>> torch.utils.data.ConcatDataset([[1, 2], [3]])[-1]
    3
    """

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset\nChainDataset does.")
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, index):
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]


class ChainDataset(IterableDataset):
    """Iterable data sets one behind the other, each opened when its turn comes."""

    def __init__(self, datasets):
        self.datasets = datasets

    def _checked(self):
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset

    def __iter__(self):
        for dataset in self._checked():
            yield from dataset

    def __len__(self):
        return sum(len(dataset) for dataset in self._checked())


class Subset(Dataset[Item]):
    """The items of a data set at some indices.

    >>> list(torch.utils.data.Subset("abcd", [3, 0]))
    ['d', 'a']
    """

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices
        kind = type(self)
        if kind.__getitem__ is not Subset.__getitem__ and kind.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{kind.__name__} overrides __getitem__ but not __getitems__. When subclassing Subset and overriding "
                "__getitem__, you must also override __getitems__ to ensure DataLoader works correctly with your custom "
                "logic. A simple implementation:\n\ndef __getitems__(self, indices):\n"
                "    return [self.__getitem__(idx) for idx in indices]"
            )

    def __getitem__(self, index):
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices):
        return items_of(self.dataset, [self.indices[i] for i in indices])

    def __len__(self):
        return len(self.indices)


def items_of(dataset, indices):
    """Items by a list of indices: all at once if the data set can do that."""
    at_once = getattr(dataset, "__getitems__", None)
    return at_once(indices) if callable(at_once) else [dataset[i] for i in indices]


def random_split(dataset, lengths, generator=None):
    """Split a data set at random into parts of given lengths, or of given fractions.

    >>> parts = torch.utils.data.random_split(range(10), [0.7, 0.3], generator=torch.Generator().manual_seed(0))
    >>> [len(part) for part in parts]
    [7, 3]
    """
    from tensorgrad import randperm

    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for i, fraction in enumerate(lengths):
            if fraction < 0 or fraction > 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        lengths = [math.floor(len(dataset) * fraction) for fraction in lengths]
        for i in range(len(dataset) - sum(lengths)):
            lengths[i % len(lengths)] += 1
        for i, length in enumerate(lengths):
            if length == 0:
                warnings.warn(
                    f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=2
                )
    if sum(lengths) != len(dataset):
        raise ValueError(
            "Sum of input lengths does not equal the length of the input dataset!"
            f"\nThe lengths sum to {sum(lengths)}, the dataset has {len(dataset)}."
        )
    order = randperm(sum(lengths), generator=generator).tolist()
    return [Subset(dataset, order[end - length : end]) for end, length in zip(itertools.accumulate(lengths), lengths)]
