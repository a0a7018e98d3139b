"""One autoencoder of digits, trained with each schedule of learning rates that there is.

python examples/schedulers.py
"""

import tensorgrad as torch
from tensorgrad.data import load_digits
from tensorgrad.show import curve, progress, sparkline

nn, F = torch.nn, torch.nn.functional
S = torch.optim.lr_scheduler
SCHEDULES = {
    "constant": lambda opt: S.ConstantLR(opt, factor=0.3, total_iters=20),
    "linear": lambda opt: S.LinearLR(opt, start_factor=0.2, total_iters=50),
    "exponential": lambda opt: S.ExponentialLR(opt, gamma=0.98),
    "step": lambda opt: S.StepLR(opt, step_size=30, gamma=0.5),
    "multi-step": lambda opt: S.MultiStepLR(opt, milestones=[40, 80], gamma=0.3),
    "polynomial": lambda opt: S.PolynomialLR(opt, total_iters=120, power=2.0),
    "cosine": lambda opt: S.CosineAnnealingLR(opt, T_max=100),
    "warm restarts": lambda opt: S.CosineAnnealingWarmRestarts(opt, T_0=20, T_mult=2),
    "cyclic": lambda opt: S.CyclicLR(opt, base_lr=0.005, max_lr=0.05, step_size_up=15, mode="triangular2"),
    "one cycle": lambda opt: S.OneCycleLR(opt, max_lr=0.1, total_steps=1000, pct_start=0.05),
    "lambda": lambda opt: S.LambdaLR(opt, lambda step: 1 / (1 + step / 20)),
    "multiplicative": lambda opt: S.MultiplicativeLR(opt, lambda step: 0.97 if step % 2 else 1.0),
    "on plateau": lambda opt: S.ReduceLROnPlateau(opt, factor=0.5, patience=5),
    "warm up, then decay": lambda opt: S.SequentialLR(
        opt, [S.LinearLR(opt, start_factor=0.1, total_iters=10), S.ExponentialLR(opt, gamma=0.97)], milestones=[10]
    ),
    "chained": lambda opt: S.ChainedScheduler([S.LinearLR(opt, total_iters=20), S.StepLR(opt, step_size=40)]),
}


def build():
    """The network: 64 pixels through 12 numbers and back."""
    return nn.Sequential(
        nn.Linear(64, 40), nn.Tanh(), nn.Linear(40, 12), nn.Linear(12, 40), nn.Tanh(), nn.Linear(40, 64)
    )


def train(model, steps, schedule="cosine", rates=None):
    """Train; give the loss of each step, and what it was computed of. The learning rates are added to a list."""
    images = load_digits()[0].to(torch.get_default_dtype())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scheduler = SCHEDULES[schedule](optimizer)
    for _ in range(steps):
        batch = images[torch.randint(len(images), (64,))]
        loss = F.mse_loss(model(batch), batch) * 10
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rates is not None:
            rates.append(optimizer.param_groups[0]["lr"])
        if isinstance(scheduler, S.ReduceLROnPlateau):
            scheduler.step(loss.item())
        else:
            scheduler.step()
        yield loss.item(), (batch,)


def main(steps=120):
    curves, rates = {}, {}
    with progress(total=steps * len(SCHEDULES), title="schedules") as bar:
        for name in SCHEDULES:
            torch.manual_seed(0)
            curves[name], rates[name] = [], []
            for loss, _ in train(build(), steps, name, rates[name]):
                curves[name].append(loss)
                bar.advance(schedule=name, loss=loss)
    best = sorted(curves, key=lambda name: sum(curves[name][-10:]))
    for name in best:
        print(f"{name:20s} rate {sparkline(rates[name], 40)}  loss {curves[name][0]:.3f} to {curves[name][-1]:.3f}")
    page = curve(
        {name: curves[name] for name in best[:6]}, title="The six best schedules", y_label="squared error", log=True
    )
    print(f"wrote {page.save('schedulers.html')}")


if __name__ == "__main__":
    main()
