"""The demonstration: learn to read handwritten digits, with tensors and `backward()` alone.

`train` is a program as one writes it for PyTorch: two hidden layers, cross-entropy, and Adam in ten lines.
"""

import itertools
import time

import tensorgrad as torch

from .data import load_digits
from .show import curve, progress, sparkline

_HELD_OUT = 360
_BATCH = 32
_WIDTHS = (64, 128, 64, 10)  # small enough that BLAS stays on one thread, steady on a busy machine


def main(out="demo.html", epochs=60, seed=0):
    """Train, say how well it went, and write a page with the loss curves; returns the exit status 0."""
    began = time.perf_counter()
    losses, held_out_losses, accuracy = train(epochs, seed)
    seconds = time.perf_counter() - began
    facts = {
        "held-out accuracy": f"{accuracy:.1%} of {_HELD_OUT} digits never trained on",
        "epochs": epochs,
        "time": f"{seconds:.1f} s",
        "data": "Optical Recognition of Handwritten Digits, E. Alpaydin and C. Kaynak, UCI, CC BY 4.0",
    }
    picture = curve(
        {"train": list(enumerate(losses, 1)), "held out": list(enumerate(held_out_losses, 1))},
        title="Learning to read handwritten digits",
        facts=facts,
        x_label="epoch",
        y_label="cross-entropy",
        log=True,
    )
    print(f"loss      {sparkline(losses, 40)}  {losses[0]:.3f} to {losses[-1]:.4f}")
    print(f"accuracy  {accuracy:.1%} on {_HELD_OUT} held-out digits, after {seconds:.1f} s")
    print(f"wrote     {picture.save(out)}")
    return 0


def train(epochs, seed):
    """Train the classifier; return its training losses and held-out losses, one an epoch, and its held-out accuracy.

    >>> from tensorgrad.demo import train
    >>> losses, held_out_losses, accuracy = train(epochs=2, seed=0)
    >>> losses[1] < losses[0], accuracy > 0.8
    (True, True)
    """
    torch.manual_seed(seed)
    images, labels = load_digits()
    order = torch.randperm(len(images))
    images, labels = images[order], labels[order]
    held_out_images, held_out_labels = images[:_HELD_OUT], labels[:_HELD_OUT]
    images, labels = images[_HELD_OUT:], labels[_HELD_OUT:]

    parameters = []
    for fan_in, fan_out in itertools.pairwise(_WIDTHS):
        weight = torch.randn(fan_in, fan_out) * (2 / fan_in) ** 0.5
        parameters += [weight.requires_grad_(), torch.zeros(fan_out, requires_grad=True)]
    update = adam(parameters, rate=1e-3)

    losses, held_out_losses = [], []
    batches = range(0, len(images), _BATCH)
    with progress(total=epochs * len(batches), title="training") as bar:
        for _ in range(epochs):
            order, total = torch.randperm(len(images)), 0.0
            for start in batches:
                batch = order[start : start + _BATCH]
                loss = torch.nn.functional.cross_entropy(scores(images[batch], parameters), labels[batch])
                loss.backward()
                update()
                total += loss.item() * len(batch)
                bar.advance(loss=loss.item())
            losses.append(total / len(images))
            with torch.no_grad():
                held_out_scores = scores(held_out_images, parameters)
                held_out_losses.append(torch.nn.functional.cross_entropy(held_out_scores, held_out_labels).item())
    accuracy = (held_out_scores.argmax(1) == held_out_labels).float().mean().item()
    return losses, held_out_losses, accuracy


def scores(images, parameters):
    """The network: for each image, how much speaks for each of the ten digits."""
    x = images
    for layer in range(0, len(parameters), 2):
        x = x @ parameters[layer] + parameters[layer + 1]
        if layer + 2 < len(parameters):
            x = torch.relu(x)
    return x


def adam(parameters, rate, decay=(0.9, 0.999), eps=1e-8):
    """Adam: return a function that moves the parameters by their gradients and clears these."""
    means = [torch.zeros_like(parameter) for parameter in parameters]
    squares = [torch.zeros_like(parameter) for parameter in parameters]
    steps = 0

    def update():
        nonlocal steps
        steps += 1
        with torch.no_grad():
            for parameter, mean, square in zip(parameters, means, squares):
                mean += (1 - decay[0]) * (parameter.grad - mean)
                square += (1 - decay[1]) * (parameter.grad**2 - square)
                size = (square / (1 - decay[1] ** steps)).sqrt() + eps
                parameter -= rate / (1 - decay[0] ** steps) * mean / size
                parameter.grad = None

    return update
