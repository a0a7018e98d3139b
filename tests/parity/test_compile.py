"""Compiled training steps give PyTorch's losses and parameters: the same seeds, the same lines, PyTorch uncompiled."""

import numpy as np
import pytest
import torch

import tensorgrad


def mlp(module):
    nn = module.nn
    model = nn.Sequential(nn.Linear(6, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 4))
    return model, module.randn(8, 6), module.randint(0, 4, (8,)), nn.functional.cross_entropy


def images(module):
    nn = module.nn
    model = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                          nn.Linear(64, 3))  # fmt: skip
    return model, module.randn(5, 1, 8, 8), module.randint(0, 3, (5,)), nn.functional.cross_entropy


def sequences(module):
    nn = module.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.rnn = nn.Embedding(9, 8), nn.LSTM(8, 8, batch_first=True)
            self.head, self.attend = nn.Linear(8, 9), nn.Linear(8, 24)

        def forward(self, x):
            y, _ = self.rnn(self.table(x))
            q, k, v = (z.view(3, 6, 2, 4).transpose(1, 2) for z in self.attend(y).split(8, 2))
            z = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.head(y + z.transpose(1, 2).reshape(3, 6, 8)).view(-1, 9)

    return Model(), module.randint(0, 9, (3, 6)), module.randint(0, 9, (18,)), nn.functional.cross_entropy


def trained(module, task, optimizer, options):
    """Losses and parameters of five clipped steps under a schedule."""
    module.manual_seed(0)
    model, x, y, loss_of = task(module)
    optimizer = getattr(module.optim, optimizer)(model.parameters(), **options)
    schedule = module.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)

    def step():
        loss = loss_of(model(x), y)
        loss.backward()
        module.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        return loss

    if module is tensorgrad:
        step = tensorgrad.compile(step)
    losses = []
    for _ in range(5):
        losses.append(step().item())
        schedule.step()
    return losses, [p.detach().numpy() for p in model.state_dict().values()]


@pytest.mark.parametrize(
    ("optimizer", "options"), [("SGD", {"lr": 0.1, "momentum": 0.9}), ("AdamW", {"lr": 1e-2, "eps": 1e-4})]
)
@pytest.mark.parametrize("task", [mlp, images, sequences])
def test_training(task, optimizer, options):
    losses, parameters = trained(tensorgrad, task, optimizer, options)
    expected, theirs = trained(torch, task, optimizer, options)
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    for mine, other in zip(parameters, theirs):
        np.testing.assert_allclose(mine, other, rtol=1e-3, atol=2e-5)


@pytest.mark.parametrize("name", ["hessian", "jacrev", "jacfwd", "grad"])
def test_transforms(name):
    w, x = np.random.default_rng(0).standard_normal((4, 4)).astype("f4"), np.linspace(-1, 1, 4, dtype="f4")

    def made(module):
        w_, x_ = module.from_numpy(w), module.from_numpy(x)
        function = getattr(module.func, name)(lambda x: (module.tanh(w_ @ x) ** 2).sum())
        return (tensorgrad.compile(function) if module is tensorgrad else function)(x_).numpy()

    np.testing.assert_allclose(made(tensorgrad), made(torch), rtol=1e-4, atol=1e-5)
