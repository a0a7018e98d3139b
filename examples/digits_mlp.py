"""Handwritten digits, read by a network of three layers. With dropout if asked: build(dropout=0.2).

python examples/digits_mlp.py
"""

import tensorgrad as torch
from tensorgrad.data import load_digits
from tensorgrad.show import curve, progress, sparkline

nn, F = torch.nn, torch.nn.functional
HELD_OUT = 360


class Reader(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.first, self.second, self.last = nn.Linear(64, 128), nn.Linear(128, 64), nn.Linear(64, 10)
        self.dropout = nn.Dropout(dropout)

    def forward(self, images):
        x = self.dropout(F.relu(self.first(images)))
        x = self.dropout(F.relu(self.second(x)))
        return self.last(x)


def build(dropout=0.0):
    """The network."""
    return Reader(dropout)


def digits():
    """Images and labels to train with, and those held out."""
    images, labels = load_digits()
    images = images.to(torch.get_default_dtype())
    return (images[HELD_OUT:], labels[HELD_OUT:]), (images[:HELD_OUT], labels[:HELD_OUT])


def train(model, steps):
    """Train; give the loss of each step, and what it was computed of."""
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(*digits()[0]), batch_size=64, shuffle=True, drop_last=True
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    done = 0
    while done < steps:
        for images, labels in loader:
            loss = F.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            yield loss.item(), (images, labels)
            done += 1
            if done == steps:
                break


def main(steps=1000):
    torch.manual_seed(0)
    model, losses = build(), []
    for loss, _ in progress(train(model, steps), "digits", total=steps):
        losses.append(loss)
    images, labels = digits()[1]
    with torch.no_grad():
        accuracy = (model.eval()(images).argmax(1) == labels).float().mean().item()
    page = curve(losses, title="Digits", y_label="cross-entropy", log=True, facts={"held out": f"{accuracy:.1%} right"})
    print(f"loss      {sparkline(losses, 40)}  {losses[0]:.3f} to {losses[-1]:.4f}")
    print(f"accuracy  {accuracy:.1%} of {HELD_OUT} held-out digits")
    print(f"wrote     {page.save('digits_mlp.html')}")


if __name__ == "__main__":
    main()
