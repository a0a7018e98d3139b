"""Programs put together at random: compiled, they and their gradients give what they give uncompiled."""

import random

import numpy as np
import pytest

SHAPES = [(3, 4), (4,), (2, 3, 4), (1, 4), (4, 4), (3, 1)]


def assigned(x):
    x = x.clone()
    x[..., :1] = 1.5
    return x


def operations(torch):
    F = torch.nn.functional
    return [
        lambda x, y, k: x + y, lambda x, y, k: x * y, lambda x, y, k: torch.tanh(x), lambda x, y, k: x.sum(k % x.dim()),
        lambda x, y, k: x.reshape(-1), lambda x, y, k: x.transpose(0, -1), lambda x, y, k: x @ y, lambda x, y, k: x.mean(),
        lambda x, y, k: torch.where(x > 0, x, x * 0.1), lambda x, y, k: x[0], lambda x, y, k: torch.cat([x, x * 2], 0),
        lambda x, y, k: x.softmax(-1), lambda x, y, k: x.unsqueeze(k % (x.dim() + 1)), lambda x, y, k: x.expand(2, *x.shape),
        lambda x, y, k: torch.exp(-x * x), lambda x, y, k: assigned(x), lambda x, y, k: x.amax(-1), lambda x, y, k: x.flip(0),
        lambda x, y, k: x.var(-1, unbiased=False), lambda x, y, k: F.layer_norm(x, x.shape[-1:]), lambda x, y, k: x.cumsum(0),
        lambda x, y, k: x / (1 + y * y), lambda x, y, k: x.split(1)[0], lambda x, y, k: torch.stack([x, x]).sum(0),
    ]  # fmt: skip


def program(torch, seed):
    """(a function of some tensors, the tensors)."""
    choose, known = random.Random(seed), operations(torch)
    shapes = [choose.choice(SHAPES) for _ in range(choose.randint(1, 3))]
    steps = [
        (choose.choice(known), choose.random(), choose.random(), choose.randint(0, 3))
        for _ in range(choose.randint(3, 12))
    ]

    def run(*inputs):
        values = list(inputs)
        for operation, a, b, k in steps:
            x, y = (values[int(at * len(values))] for at in (a, b))
            if not x.dim():
                continue
            try:
                made = operation(x, y, k)
            except (RuntimeError, IndexError) as error:  # shapes that do not fit
                if "compile" in str(error):
                    raise
                continue
            if made.numel() < 3000:
                values.append(made)
        return values[len(inputs) :][-3:]

    torch.manual_seed(seed)
    return run, [torch.randn(shape) for shape in shapes]


@pytest.mark.parametrize("seed", range(48))
def test_compiled_equals_uncompiled(torch, seed):
    run, inputs = program(torch, seed)

    def whole(*inputs):
        leaves = [x.detach().requires_grad_() for x in inputs]
        results = run(*leaves)
        loss = sum((r * r).sum() for r in results) + leaves[0].sum()
        return [r.detach() for r in results], torch.autograd.grad(loss, leaves, allow_unused=True)

    expected, fast = whole(*inputs), torch.compile(whole)
    for _ in range(2):
        for found, wanted in zip(fast(*inputs), expected):
            for a, b in zip(found, wanted):
                assert (a is None) is (b is None)
                if b is not None:
                    assert a.shape == b.shape
                    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-3, atol=1e-4)
