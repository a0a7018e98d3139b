"""Time whole training steps and transforms: tensorgrad, eager and compiled, as ratios to PyTorch in eager mode.

    python benchmarks/steps.py [--only mlp,gpt] [--rounds 3] [--seconds 1.5]

Every timing has a process of its own; in a round the three take turns, and the best middle time of the rounds counts. `first`
is the time from nothing built to the end of the first compiled step; `peak` the largest memory of the process.
"""

import argparse
import itertools
import json
import resource
import statistics
import subprocess
import sys
import time

from workloads import chain

CONTENDERS = ("torch", "tensorgrad", "tensorgrad-compiled")


def training(torch, model, loss_of, x, y):
    """A step that trains a model with Adam."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step():
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    return step


def layers(torch, *sizes, between):
    parts = []
    for inputs, outputs in itertools.pairwise(sizes):
        parts += [torch.nn.Linear(inputs, outputs), between()]
    return torch.nn.Sequential(*parts[:-1])


def gelu(torch):
    """gelu written out, over a million numbers, forward and backward"""
    x = torch.randn(1024, 1024, requires_grad=True)

    def step():
        (0.5 * x * (1 + torch.tanh(0.79788 * (x + 0.044715 * x * x * x)))).sum().backward()
        x.grad = None

    return step


def tiny_mlp(torch):
    """a network of 2-16-16-1, batch of 32, Adam"""
    model = layers(torch, 2, 16, 16, 1, between=torch.nn.Tanh)
    return training(torch, model, torch.nn.functional.mse_loss, torch.randn(32, 2), torch.randn(32, 1))


def mlp(torch):
    """a network of 784-256-128-10, batch of 64, Adam"""
    model = layers(torch, 784, 256, 128, 10, between=torch.nn.ReLU)
    x, y = torch.randn(64, 784), torch.randint(0, 10, (64,))
    return training(torch, model, torch.nn.functional.cross_entropy, x, y)


def cnn(torch):
    """two 3x3 convolutions and two layers on 64 images of 28x28, Adam"""
    nn = torch.nn
    stages = [m for i, o in ((1, 32), (32, 64)) for m in (nn.Conv2d(i, o, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))]
    model = nn.Sequential(*stages, nn.Flatten(), nn.Linear(64 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10))
    x, y = torch.randn(64, 1, 28, 28), torch.randint(0, 10, (64,))
    return training(torch, model, nn.functional.cross_entropy, x, y)


def resblock(torch):
    """a residual block of two 3x3 convolutions with batch norm, 64 channels of 28x28, batch of 16, Adam"""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = (nn.Conv2d(64, 64, 3, padding=1, bias=False) for _ in range(2))
            self.norm, self.last = nn.BatchNorm2d(64), nn.BatchNorm2d(64)

        def forward(self, x):
            inner = torch.relu(self.norm(self.first(x)))
            return torch.relu(x + self.last(self.second(inner)))

    x, y = torch.randn(16, 64, 28, 28), torch.randn(16, 64, 28, 28)
    return training(torch, Block(), nn.functional.mse_loss, x, y)


def gpt(torch):
    """a GPT of 4 layers of width 128 with 4 heads, 12 sequences of 64 characters, Adam"""
    nn, heads = torch.nn, 4

    class Layer(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
            self.project, self.join = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            count, length, width = x.shape
            parts = self.project(self.before(x)).split(width, dim=2)
            q, k, v = (part.view(count, length, heads, width // heads).transpose(1, 2) for part in parts)
            seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.join(seen.transpose(1, 2).reshape(count, length, width))
            return x + self.narrow(nn.functional.gelu(self.widen(self.between(x))))

    class Model(nn.Module):
        def __init__(self, signs=65, length=64, width=128):
            super().__init__()
            self.sign, self.place = nn.Embedding(signs, width), nn.Embedding(length, width)
            self.layers = nn.ModuleList(Layer(width) for _ in range(4))
            self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, signs, bias=False)

        def forward(self, text):
            x = self.sign(text) + self.place(torch.arange(text.shape[1]))
            for layer in self.layers:
                x = layer(x)
            return self.out(self.norm(x)).flatten(0, 1)

    x, y = torch.randint(0, 65, (12, 64)), torch.randint(0, 65, (12 * 64,))
    return training(torch, Model(), nn.functional.cross_entropy, x, y)


def lstm(torch):
    """an LSTM of 64 units over 32 sequences of 50 steps, Adam"""
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.out = nn.LSTM(32, 64, batch_first=True), nn.Linear(64, 1)

        def forward(self, x):
            return self.out(self.rnn(x)[0])

    return training(torch, Model(), nn.functional.mse_loss, torch.randn(32, 50, 32), torch.randn(32, 50, 1))


def hessian(torch):
    """the Hessian of a function of 50 numbers"""
    w, x = torch.randn(50, 50), torch.randn(50)
    of = torch.func.hessian(lambda x: (torch.tanh(w @ x) ** 2).sum())
    return lambda x=x: of(x)


def per_sample_grads(torch):
    """gradients of 64 samples one by one, vmap(grad(loss))"""
    weights = torch.randn(64, 32) * 0.1, torch.randn(10, 64) * 0.1
    x, y = torch.randn(64, 32), torch.randn(64, 10)

    def loss(weights, x, y):
        return ((torch.tanh(x @ weights[0].T) @ weights[1].T - y) ** 2).mean()

    of = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))
    return lambda weights=weights, x=x, y=y: of(weights, x, y)


STEPS = {s.__name__: s for s in (chain, gelu, tiny_mlp, mlp, cnn, resblock, gpt, lstm, hessian, per_sample_grads)}


def measure(contender, name, seconds):
    """{us, first, peak} of one contender in this process."""
    torch = __import__(contender.partition("-")[0])
    torch.manual_seed(0)
    start = time.perf_counter()
    step = STEPS[name](torch)
    if contender.endswith("-compiled"):
        step = torch.compile(step)
    step()
    first = time.perf_counter() - start
    for _ in range(3):
        step()
    times, begin = [], time.perf_counter()
    while time.perf_counter() - begin < seconds or len(times) < 5:
        begun = time.perf_counter()
        step()
        times.append(time.perf_counter() - begun)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"us": statistics.median(times) * 1e6, "first": first, "peak": peak}


def in_own_process(contender, name, seconds):
    command = [sys.executable, __file__, "--one", contender, name, "--seconds", str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{contender} {name} failed:\n{done.stderr.strip()}")
    return json.loads(done.stdout)


def row(name, rounds, seconds):
    """One line of the table."""
    found = {contender: [] for contender in CONTENDERS}
    for turn in range(rounds):
        for contender in CONTENDERS if turn % 2 == 0 else reversed(CONTENDERS):
            found[contender].append(in_own_process(contender, name, seconds))
    best = {c: min(result["us"] for result in results) for c, results in found.items()}
    peak = {c: min(result["peak"] for result in results) for c, results in found.items()}
    first = min(result["first"] for result in found[CONTENDERS[2]])
    theirs = best["torch"]
    cells = [f"`{name}`: {STEPS[name].__doc__}", f"{theirs:.0f} us"]
    cells += [
        f"**{best[c] / theirs:.2f}**" if best[c] > 0.1 * theirs else f"**{best[c] / theirs:.3f}**"
        for c in CONTENDERS[1:]
    ]
    cells += [f"{first:.2f} s", *[f"{peak[c] / peak['torch']:.2f}" for c in CONTENDERS[1:]]]
    return f"| {' | '.join(cells)} |"


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(STEPS), help="what to measure, separated by commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.5, help="of timing, for each contender in each round")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)  # what a child process does
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(*arguments.one, arguments.seconds)))
        return
    names = arguments.only.split(",")
    if unknown := [name for name in names if name not in STEPS]:
        parser.error(f"there is no step {unknown[0]!r}; there are {', '.join(STEPS)}")
    print("| step | PyTorch | eager | compiled | first compiled step | peak, eager | peak, compiled |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name in names:
        print(row(name, arguments.rounds, arguments.seconds), flush=True)


if __name__ == "__main__":
    main()
