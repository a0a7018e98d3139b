"""What transforms cost beside the same work written by hand; each figure is a ratio, 1 is no cost at all.

Run it with `python benchmarks/transforms.py`; it needs nothing but tensorgrad.
"""

import statistics
import time

import tensorgrad as torch
from tensorgrad import func


def seconds(step, least=0.3):
    """The middle time of a step, after a warm-up."""
    for _ in range(3):
        step()
    times, begin = [], time.perf_counter()
    while time.perf_counter() - begin < least or len(times) < 5:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def rows_by_hand():
    """vmap over 1,000 rows, and the same written with a batch dimension."""
    torch.manual_seed(0)
    x, w, v = torch.randn(1000, 64), torch.randn(64, 64), torch.randn(64)

    def one(x):
        return torch.tanh(x @ w) @ v + (x * x).sum()

    mapped = func.vmap(one)
    return lambda: mapped(x), lambda: torch.tanh(x @ w) @ v + (x * x).sum(1)


def row_gradients_by_hand():
    """The gradient of each of 1,000 rows through vmap(grad(f)), and one backward pass over the batch."""
    torch.manual_seed(0)
    x, w, v = torch.randn(1000, 64), torch.randn(64, 64), torch.randn(64)
    mapped = func.vmap(func.grad(lambda x: torch.tanh(x @ w) @ v))

    def by_hand():
        leaf = x.detach().requires_grad_()
        (torch.tanh(leaf @ w) @ v).sum().backward()
        return leaf.grad

    return lambda: mapped(x), by_hand


def jacobian_of_100():
    """jacrev of 100 outputs, and one backward pass that carries 100 rows."""
    torch.manual_seed(0)
    x, w1, w2 = torch.randn(50), torch.randn(50, 50), torch.randn(50, 100)

    def f(x):
        return torch.tanh(x @ w1) @ w2

    jacobian, rows = func.jacrev(f), torch.eye(100)

    def by_hand():
        leaf = x.detach().requires_grad_()
        y = torch.tanh(leaf @ w1)
        return (rows @ w2.T * (1 - y * y)) @ w1.T

    return lambda: jacobian(x), by_hand


def main():
    """Print the table."""
    print("| | transformed | by hand | ratio |\n|---|---|---|---|")
    for case in (rows_by_hand, row_gradients_by_hand, jacobian_of_100):
        ours, theirs = case()
        a, b = ours(), theirs()
        assert torch.allclose(a, b, 1e-3, 1e-4), case.__name__
        mine, hand = (min(seconds(step) for _ in range(3)) for step in (ours, theirs))
        text = case.__doc__.rstrip(".")
        print(f"| {text} | {mine * 1e6:.0f} us | {hand * 1e6:.0f} us | **{mine / hand:.2f}** |")


if __name__ == "__main__":
    main()
