"""k-means without gradients: broadcasting, argmin, adding by index, counting."""


def main(torch):
    centers = torch.tensor([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    points = torch.cat([center + 0.5 * torch.randn(20, 2) for center in centers])
    order = torch.randperm(60)
    points = points[order]
    guess = points[:3].clone()
    for _ in range(10):
        distance = ((points[:, None] - guess[None]) ** 2).sum(-1)
        label = distance.argmin(1)
        sums = torch.zeros(3, 2).index_put_((label,), points, accumulate=True)
        counts = torch.zeros(3).scatter_add_(0, label, torch.ones(60))
        guess = sums / counts.clamp(min=1).unsqueeze(1)
    print("counts", counts.long().tolist())
    nearest = distance.min(1)
    one_hot = (label[:, None] == torch.arange(3)).long()
    return [
        order,
        points[:3],
        guess,
        label,
        nearest,
        nearest.values.max(0),
        one_hot.sum(0),
        (one_hot.T @ one_hot).diagonal(),
        torch.where(label == 0)[0][:4],
        points.std(0),
        points.cumsum(0)[-1],
        lambda: points[:, None] - torch.ones(2, 2),
        lambda: torch.zeros(3, 2).index_put_((label,), points[:5], accumulate=True),
    ]
