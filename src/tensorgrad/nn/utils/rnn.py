"""Sequences of different lengths in one tensor: padded, or packed so that no step computes padding."""

import itertools
from collections import namedtuple

from tensorgrad import dtypes
from tensorgrad.ops.creation import full, tensor
from tensorgrad.ops.joining import cat
from tensorgrad.tensor import Tensor

__all__ = ["PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
           "pad_sequence", "unpack_sequence", "unpad_sequence"]  # fmt: skip

_Fields = namedtuple("PackedSequence", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])


class PackedSequence(_Fields):
    """The steps of several sequences, one step after the other; `batch_sizes` says how many sequences each step has.

    >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]); packed.data
    tensor([1, 3, 2])
    """

    __slots__ = ()

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    @property
    def is_cuda(self):
        """Whether the data is on a GPU."""
        return self.data.is_cuda

    def is_pinned(self):
        """Whether the data is in pinned memory."""
        return self.data.is_pinned()

    def to(self, *args, **kwargs):
        """The same steps in another dtype.

        >>> torch.nn.utils.rnn.pack_sequence([torch.ones(2)]).to(torch.float64).data.dtype
        tensorgrad.float64
        """
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else type(self)(data, *self[1:])

    def double(self):
        """The steps as float64."""
        return self.to(dtypes.float64)

    def float(self):
        """The steps as float32."""
        return self.to(dtypes.float32)

    def half(self):
        """The steps as float16."""
        return self.to(dtypes.float16)

    def long(self):
        """The steps as int64."""
        return self.to(dtypes.int64)

    def int(self):
        """The steps as int32."""
        return self.to(dtypes.int32)

    def short(self):
        """The steps as int16."""
        return self.to(dtypes.int16)

    def char(self):
        """The steps as int8."""
        return self.to(dtypes.int8)

    def byte(self):
        """The steps as uint8."""
        return self.to(dtypes.uint8)

    def cpu(self):
        """The steps on the CPU."""
        return self

    def cuda(self, *args, **kwargs):
        """The steps on a GPU."""
        return type(self)(self.data.cuda(*args, **kwargs), *self[1:])

    def pin_memory(self):
        """The steps in memory that a GPU can reach."""
        raise RuntimeError("Cannot access accelerator device when none is available.")


def invert_permutation(permutation):
    """The permutation that undoes another.

    >>> torch.nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    from tensorgrad.ops.creation import arange, empty_like

    inverse = empty_like(permutation)
    return inverse.scatter_(0, permutation, arange(permutation.numel()))


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Pack sequences that are padded to one length.

    >>> padded = torch.tensor([[1, 2, 0], [3, 0, 0], [4, 5, 6]])
    >>> packed = torch.nn.utils.rnn.pack_padded_sequence(padded, [2, 1, 3], batch_first=True, enforce_sorted=False)
    >>> packed.data, packed.batch_sizes
    (tensor([4, 1, 3, 5, 2, 6]), tensor([3, 2, 1]))
    """
    if not isinstance(lengths, Tensor):
        lengths = tensor(list(lengths), dtype=dtypes.int64)
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = lengths.sort(descending=True)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    if batch_first:
        input = input.transpose(0, 1)
    sizes = [int(length) for length in lengths.tolist()]
    _check_lengths(input, sizes)
    batch_sizes = [sum(length > step for length in sizes) for step in range(sizes[0])]
    # steps with as many sequences as the step before are one slice
    pieces, step = [], 0
    for size, run in itertools.groupby(batch_sizes):
        steps = len(list(run))
        piece = input[step : step + steps, :size]
        pieces.append(piece.reshape(steps * size, *input.shape[2:]))
        step += steps
    return PackedSequence(cat(pieces), tensor(batch_sizes), sorted_indices, None)


def _check_lengths(input, lengths):
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if len(lengths) != input.size(1):
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} (batch_size={input.size(1)})"
        )
    if min(lengths) <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if any(after > before for before, after in itertools.pairwise(lengths)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not "
            "need ONNX exportability."
        )
    if lengths[0] > input.size(0):
        raise RuntimeError(
            f"Expected sequence length to be at most the size of the input ({input.size(0)}), but got {lengths[0]}"
        )


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """Pad packed sequences to one length again: (padded, lengths).

    >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    >>> torch.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2],
             [3, 0]]), tensor([2, 1]))
    """
    data, batch_sizes, _, unsorted_indices = sequence
    sizes = batch_sizes.tolist()
    steps, batch = len(sizes), sizes[0]
    if total_length is not None and total_length < steps:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {steps}"
        )
    lengths = [sum(size > place for size in sizes) for place in range(batch)]
    rest = tuple(data.shape[1:])
    pieces, start = [], 0
    for size, run in itertools.groupby(sizes):
        count = len(list(run))
        piece = data[start : start + count * size].reshape(count, size, *rest)
        start += count * size
        if size < batch:
            piece = cat([piece, full((count, batch - size, *rest), padding_value, dtype=data.dtype)], 1)
        pieces.append(piece)
    missing = (total_length or steps) - steps
    if missing:
        pieces.append(full((missing, batch, *rest), padding_value, dtype=data.dtype))
    padded, lengths = cat(pieces), tensor(lengths)
    if batch_first:
        padded = padded.transpose(0, 1)
    if unsorted_indices is not None:
        return padded.index_select(0 if batch_first else 1, unsorted_indices), lengths[unsorted_indices]
    return padded, lengths


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Put sequences of different lengths into one tensor.

    >>> torch.nn.utils.rnn.pad_sequence([torch.tensor([1, 2]), torch.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    if not hasattr(sequences, "__iter__"):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    if isinstance(sequences, Tensor):
        sequences = sequences.unbind(0)
    sequences = tuple(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    longest, rest = max(s.size(0) for s in sequences), tuple(sequences[0].shape[1:])
    shape = (len(sequences), longest, *rest) if batch_first else (longest, len(sequences), *rest)
    padded = full(shape, padding_value, dtype=sequences[0].dtype)
    for place, sequence in enumerate(sequences):
        length = sequence.size(0)
        steps = slice(None, length) if padding_side == "right" else slice(longest - length, None)
        padded[(place, steps) if batch_first else (steps, place)] = sequence
    return padded


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """Take sequences of different lengths out of one tensor.

    >>> torch.nn.utils.rnn.unpad_sequence(torch.tensor([[1, 2], [3, 0]]), torch.tensor([2, 1]), batch_first=True)
    [tensor([1, 2]), tensor([3])]
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [sequence[: int(length)] for sequence, length in zip(padded_sequences, lengths)]


def pack_sequence(sequences, enforce_sorted=True):
    """Pack sequences of different lengths.

    >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]).batch_sizes
    tensor([2, 1])
    """
    lengths = tensor([sequence.size(0) for sequence in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The sequences of a packed one.

    >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    >>> torch.nn.utils.rnn.unpack_sequence(packed)
    [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
