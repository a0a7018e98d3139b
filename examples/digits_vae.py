"""A variational autoencoder learns what digits look like, and draws new ones.

python examples/digits_vae.py
"""

import tensorgrad as torch
from tensorgrad.data import load_digits
from tensorgrad.show import curve, progress, sparkline

nn, F = torch.nn, torch.nn.functional
HIDDEN, LATENT = 96, 6


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(64, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 2 * LATENT))
        self.decode = nn.Sequential(nn.Linear(LATENT, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 64))

    def forward(self, images):
        mean, log_variance = self.encode(images).chunk(2, dim=1)
        latent = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return self.decode(latent), mean, log_variance


def build():
    """The network."""
    return VAE()


def train(model, steps):
    """Train; give the loss of each step, and what it was computed of."""
    images = load_digits()[0].to(torch.get_default_dtype())
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(steps):
        batch = images[torch.randperm(len(images))[:64]]
        drawn, mean, log_variance = model(batch)
        pixels = F.binary_cross_entropy_with_logits(drawn, batch, reduction="sum")
        surprise = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum()
        loss = (pixels + surprise) / len(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item(), (batch,)


def drawing(image):
    """An image of 8x8 numbers between 0 and 1 as eight lines of text."""
    return ["".join(" .:-=+*%@"[min(int(value * 9), 8)] * 2 for value in row) for row in image.reshape(8, 8).tolist()]


def main(steps=1500):
    torch.manual_seed(0)
    model, losses = build(), []
    for loss, _ in progress(train(model, steps), "digits", total=steps):
        losses.append(loss)
    with torch.no_grad():
        images = model.decode(torch.randn(6, LATENT)).sigmoid()
    page = curve(losses, title="A variational autoencoder of digits", y_label="nats an image")
    print(*("  ".join(lines) for lines in zip(*map(drawing, images))), sep="\n")
    print(f"loss   {sparkline(losses, 40)}  {losses[0]:.1f} to {losses[-1]:.1f}")
    print(f"wrote  {page.save('digits_vae.html')}")


if __name__ == "__main__":
    main()
