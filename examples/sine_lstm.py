"""Noisy sine waves, continued by an LSTM that LBFGS trains on all of them at once.

python examples/sine_lstm.py
"""

import math

import tensorgrad as torch
from tensorgrad.show import curve, progress, sparkline

nn, F = torch.nn, torch.nn.functional
WAVES, LENGTH = 20, 60


def waves():
    """Noisy sine waves that begin anywhere: (waves, length, 1)."""
    starts = (torch.rand(WAVES) * 40).tolist()
    clean = torch.tensor([[math.sin((start + t) / 5) for t in range(LENGTH)] for start in starts])
    return (clean + 0.2 * torch.randn(WAVES, LENGTH)).unsqueeze(2)


class Continuer(nn.Module):
    """Says at each moment what comes next."""

    def __init__(self, hidden=16):
        super().__init__()
        self.lstm, self.last = nn.LSTM(1, hidden, batch_first=True), nn.Linear(hidden, 1)

    def forward(self, x, state=None):
        x, state = self.lstm(x, state)
        return self.last(x), state


def build():
    """The network."""
    return Continuer()


def train(model, steps):
    """Train; give the loss of each step, and what it was computed of."""
    data = waves()
    optimizer = torch.optim.LBFGS(
        model.parameters(), lr=0.01, max_iter=1, history_size=10
    )  # short steps: long ones amplify rounding

    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(model(data[:, :-1])[0], data[:, 1:])
        loss.backward()
        return loss

    for _ in range(steps):
        yield optimizer.step(closure).item(), (data,)


def proceed(model, beginning, count):
    """What the model says comes after the beginning of a wave, from its own words."""
    with torch.no_grad():
        said, state = model(beginning)
        values = [said[:, -1:]]
        for _ in range(count - 1):
            said, state = model(values[-1], state)
            values.append(said)
        return torch.cat(values, 1)


def main(steps=400):
    torch.manual_seed(0)
    model, losses = build(), []
    for loss, _ in progress(train(model, steps), "sine waves", total=steps):
        losses.append(loss)
    wave = torch.tensor([[math.sin(t / 5) for t in range(100)]]).unsqueeze(2)
    said = proceed(model, wave[:, :40], 60).flatten().tolist()
    page = curve({"wave": wave.flatten().tolist(), "continued": list(enumerate(said, 40))}, title="An LSTM continues a wave",
                 x_label="time", y_label="value", facts={"mean squared error": f"{losses[-1]:.2e}"})  # fmt: skip
    print(f"loss   {sparkline(losses, 40)}  {losses[0]:.3f} to {losses[-1]:.2e}")
    print(f"wave   {sparkline(wave.flatten().tolist(), 100)}")
    print(f"said   {' ' * 40}{sparkline(said, 60)}")
    print(f"wrote  {page.save('sine_lstm.html')}")


if __name__ == "__main__":
    main()
