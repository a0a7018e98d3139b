"""Assignment by index: numbers, tensors, broadcast, cast, accumulated."""


def main(torch):
    results = []

    def written(index, value, start=None):
        x = torch.zeros(3, 4) if start is None else start.clone()
        x[index] = value
        results.append(x)

    ten = torch.arange(1.0, 11)
    written(1, 5)
    written((slice(None), 1), ten[:3])
    written((0, slice(1, 3)), ten[:2])
    written(slice(None, None, 2), ten[:4])
    written([0, 2], ten[:8].reshape(2, 4))
    written(([0, 1, 2], [3, 2, 1]), ten[:3])
    written((slice(None), [0, 3]), ten[:2])
    written((1, [0, 3]), ten[:2])
    written(torch.tensor([True, False, True]), ten[:4])
    written(torch.eye(3, 4).bool(), ten[:3])
    written((..., None), 2)
    written((), 3)
    written(0, torch.tensor([1, 2, 3, 4]))
    written(0, 1.9, torch.zeros(3, 4, dtype=torch.int64))
    written(0, torch.tensor(2.9), torch.zeros(3, 4, dtype=torch.int64))
    written(0, True, torch.zeros(3, 4, dtype=torch.complex64))
    x = torch.zeros(4)
    x[[0, 0, 2]] += 1
    x.index_put_((torch.tensor([1, 1]),), torch.tensor([2.0, 3.0]), accumulate=True)
    x.scatter_(0, torch.tensor([2]), -1.0)
    results.append(x)
    z = torch.zeros(2, 3)

    def assign(index, value):
        def attempt():
            z[index] = value

        return attempt

    refused = [
        assign(5, 1),
        assign(0, torch.ones(2)),
        assign(0, torch.ones(2, 3)),
        assign([0, 1], torch.ones(3, 3)),
        assign(0, [1, 2, 3]),
        assign(0, "a"),
        assign(slice(None, None, -1), 0),
        assign([0], torch.ones(3, dtype=torch.int64)),
        assign((0, 0), 1j),
    ]
    return [*results, *refused, z]
