"""Indexing in all its mixtures, with shapes where PyTorch and NumPy part ways."""


def main(torch):
    x = torch.arange(24).reshape(4, 2, 3)
    mask = x % 5 == 0
    rows = torch.tensor([[0, 3], [1, -1]])
    results = [
        x[1],
        x[-1, 0],
        x[1:3, :, ::2],
        x[..., 1],
        x[:, None, 0],
        x[[0, 2]],
        x[rows],
        x[rows, 1],
        x[rows, :, [[0], [2]]],
        x[0, :, [False, False, True]],
        x[0, :, [0, 0, 1]],
        x[[0, 1], :, [0, 1]],
        x[:, [0, 1], [2, 0]],
        x[mask],
        x[mask.any(2)],
        x[mask.any(2).any(1)],
        x[:, mask[0]],
        x[None, mask],
        x[torch.tensor(2)],
        x[True],
        x[False],
        x[[]],
        x[[True, False, True, False], :, [0, 2]],
        x.gather(2, x % 3),
        x.index_select(1, torch.tensor([1, 0, 1])),
        x.take(torch.tensor([23, 0])),
        x.masked_select(mask),
        mask.nonzero(),
        torch.where(mask, x, -1),
    ]
    leaf = torch.arange(12.0).reshape(3, 4).requires_grad_()
    (leaf[[0, 0, 2]][:, 1:] * leaf[1, [1, 1, 3]] + leaf[leaf > 5][:3]).sum().backward()
    results.append(leaf.grad)
    refused = [
        lambda: x[4],
        lambda: x[0, 2],
        lambda: x[0, 0, 0, 0],
        lambda: x[::-1],
        lambda: x[1.5],
        lambda: x[[0, 9]],
        lambda: x[torch.tensor([0.5])],
        lambda: x[[True, False]],
        lambda: x[[0, 1], [0, 1, 0]],
        lambda: torch.tensor(1)[0],
        lambda: x.gather(2, torch.tensor([0])),
        lambda: x.index_select(3, torch.tensor([0])),
    ]
    return [*results, *refused]
