"""k-means without gradients: broadcasting, argmin, index_add, counting, sorting."""


def main(torch):
    centers = torch.tensor([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    points = torch.cat([center + 0.5 * torch.randn(20, 2) for center in centers])
    order = torch.randperm(60)
    points = points[order]
    guess = points[:3].clone()
    for _ in range(10):
        distance = ((points[:, None] - guess[None]) ** 2).sum(-1)
        label = distance.argmin(1)
        sums = torch.zeros(3, 2).index_add_(0, label, points)
        counts = torch.zeros(3).scatter_add_(0, label, torch.ones(60))
        guess = sums / counts.clamp(min=1).unsqueeze(1)
    ranking = guess.sum(1).argsort()
    print("counts", counts[ranking].long().tolist())
    nearest = distance.min(1)
    farthest = nearest.values.topk(4)
    unique, inverse = label.unique(return_inverse=True)
    one_hot = (label[:, None] == torch.arange(3)).long()
    return [
        order,
        points[:3],
        guess,
        label,
        nearest,
        farthest.indices,
        farthest.values.sort(descending=True),
        unique,
        inverse[:5],
        one_hot.sum(0),
        (one_hot.T @ one_hot).diagonal(),
        torch.where(label == 0)[0][:4],
        points.std(0),
        points.median(0).values,
        points.cumsum(0)[-1],
        lambda: points[:, None] - torch.ones(2, 2),
        lambda: torch.zeros(3, 2).index_add_(0, label, points[:5]),
    ]
