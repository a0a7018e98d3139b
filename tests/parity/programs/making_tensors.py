"""Creation from numbers, lists and arrays, good and bad."""

import numpy as np


def main(torch):
    array = np.arange(6.0).reshape(2, 3)
    shared = torch.from_numpy(array)
    shared[0, 0] = 100
    made = [
        torch.tensor([1, 2.5]),
        torch.tensor([[True], [False]]),
        torch.tensor([1, 2j]),
        torch.tensor([]),
        torch.tensor([[], []]),
        torch.tensor(np.float64(3)),
        torch.tensor(np.arange(3, dtype=np.int16)),
        torch.tensor(array.T),
        torch.as_tensor(array[:, ::2]),
        shared,
        torch.tensor([1.9, -1.9], dtype=torch.int32),
        torch.full((2,), 3),
        torch.full((2, 1), 2.5),
        torch.full((1,), True),
        torch.arange(5, 0, -2),
        torch.arange(0, 1, 0.3),
        torch.linspace(0, 1, 4),
        torch.linspace(1, 5, 3, dtype=torch.int64),
        torch.logspace(-1, 1, 3),
        torch.eye(2, 3, dtype=torch.complex64),
        torch.ones_like(torch.zeros(2, 3).T),
        torch.zeros(2, dtype=torch.int8).new_full((2,), 7),
        torch.zeros(3, dtype=float),
        torch.tensor([1.0], requires_grad=True),
    ]
    print(array[0, 0], [tuple(t.shape) for t in made])
    swapped, read_only = np.array([1, 2], dtype=">i4"), np.arange(3)
    read_only.flags.writeable = False
    refused = [
        lambda: torch.tensor([[1, 2], [3]]),
        lambda: torch.tensor([1, "a"]),
        lambda: torch.tensor("a"),
        lambda: torch.tensor(None),
        lambda: torch.tensor({}),
        lambda: torch.tensor([[1], 2]),
        lambda: torch.tensor(swapped),
        lambda: torch.from_numpy(array[::-1]),
        lambda: torch.from_numpy(np.array(["x"])),
        lambda: torch.from_numpy([1]),
        lambda: torch.tensor([1], requires_grad=True),
        lambda: torch.arange(0, 5, -1),
        lambda: torch.arange(0, 5, 0),
        lambda: torch.full((2,), "a"),
        lambda: torch.zeros(2, dtype="float32"),
        lambda: torch.device("nowhere"),
    ]
    return [*made, torch.tensor(read_only), torch.from_numpy(np.asfortranarray(array)), *refused]
