"""Two moons: a small network learns to tell two interleaved half circles apart.

python examples/two_moons.py
"""

import math

import tensorgrad as torch
from tensorgrad.show import curve, progress, sparkline

nn, F = torch.nn, torch.nn.functional


def two_moons(count, noise=0.15):
    """Points on two half circles, and which of them each lies on."""
    points = []
    for i, turn in enumerate(torch.rand(count).tolist()):
        x, y = math.cos(math.pi * turn), math.sin(math.pi * turn)
        points.append((1 - x, 0.5 - y) if i % 2 else (x, y))
    return torch.tensor(points) + noise * torch.randn(count, 2), torch.arange(count) % 2


def build():
    """The network."""
    return nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2))


def train(model, steps):
    """Train; give the loss of each step, and what it was computed of."""
    data = torch.utils.data.TensorDataset(*two_moons(512))
    loader = torch.utils.data.DataLoader(data, batch_size=64, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    done = 0
    while done < steps:
        for points, labels in loader:
            loss = F.cross_entropy(model(points), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            yield loss.item(), (points, labels)
            done += 1
            if done == steps:
                break


def main(steps=400):
    torch.manual_seed(0)
    model, losses = build(), []
    for loss, _ in progress(train(model, steps), "two moons", total=steps):
        losses.append(loss)
    with torch.no_grad():
        points, labels = two_moons(1000)
        accuracy = (model(points).argmax(1) == labels).float().mean().item()
    page = curve(
        losses, title="Two moons", y_label="cross-entropy", log=True, facts={"new points": f"{accuracy:.1%} right"}
    )
    print(f"loss      {sparkline(losses, 40)}  {losses[0]:.3f} to {losses[-1]:.3f}")
    print(f"accuracy  {accuracy:.1%} of 1000 new points")
    print(f"wrote     {page.save('two_moons.html')}")


if __name__ == "__main__":
    main()
