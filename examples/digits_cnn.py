"""Handwritten digits, read by two layers of convolutions with batch norm.

python examples/digits_cnn.py
"""

import tensorgrad as torch
from tensorgrad.data import load_digits
from tensorgrad.show import curve, progress, sparkline

nn, F = torch.nn, torch.nn.functional
HELD_OUT = 360


def build():
    """The network: 8x8 pixels, 4x4 of 16 features, 2x2 of 32, ten scores."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(128, 10),
    )  # fmt: skip


def digits():
    """Images and labels to train with, and those held out."""
    images, labels = load_digits()
    images = images.to(torch.get_default_dtype()).reshape(-1, 1, 8, 8)
    return (images[HELD_OUT:], labels[HELD_OUT:]), (images[:HELD_OUT], labels[:HELD_OUT])


def train(model, steps):
    """Train; give the loss of each step, and what it was computed of."""
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*digits()[0]), batch_size=32, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    done = 0
    while done < steps:
        for images, labels in loader:
            loss = F.cross_entropy(model(images), labels, label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            yield loss.item(), (images, labels)
            done += 1
            if done == steps:
                break


def main(steps=450):
    torch.manual_seed(0)
    model, losses = build(), []
    for loss, _ in progress(train(model, steps), "digits", total=steps):
        losses.append(loss)
    images, labels = digits()[1]
    with torch.no_grad():
        accuracy = (model.eval()(images).argmax(1) == labels).float().mean().item()
    page = curve(
        losses, title="Digits by convolution", y_label="cross-entropy", facts={"held out": f"{accuracy:.1%} right"}
    )
    print(f"loss      {sparkline(losses, 40)}  {losses[0]:.3f} to {losses[-1]:.3f}")
    print(f"accuracy  {accuracy:.1%} of {HELD_OUT} held-out digits")
    print(f"wrote     {page.save('digits_cnn.html')}")


if __name__ == "__main__":
    main()
