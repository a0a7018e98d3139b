"""ASGD: gradient descent that also keeps the average of its parameters."""

from tensorgrad.optim.elementwise import Elementwise, check_options, check_rate, with_decay


class ASGD(Elementwise):
    """Averaged stochastic gradient descent, by Polyak and Juditsky; the average is `state[p]["ax"]`.

    >>> w = torch.tensor([1.], requires_grad=True); (w * w).backward()
    >>> torch.optim.ASGD([w], lr=0.1).step(); w
    tensor([0.8000], requires_grad=True)
    """

    scalars = {"step": 0.0, "eta": None, "mu": 1.0}
    capturable_words = "params, mus, etas, and state_steps must be on supported devices"
    added_later = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}
    writes = 2

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, foreach=None, maximize=False,
                 differentiable=False, capturable=False):  # fmt: skip
        check_rate(lr)
        check_options(weight_decay)
        super().__init__(params, {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        })  # fmt: skip

    def buffers(self, group):
        return ("ax",)

    def first_scalar(self, name, group):
        return float(group["lr"]) if name == "eta" else self.scalars[name]

    def options(self, group, now, fresh):
        lr, lambd, step, eta, mu = group["lr"], group["lambd"], now["step"], now["eta"], now["mu"]
        now["eta"] = float(lr / (1 + lambd * lr * step) ** group["alpha"])
        now["mu"] = 1 / max(1, step - group["t0"])
        return group["maximize"], group["weight_decay"], 1 - lambd * eta, -eta, mu

    def update(self, do, p, g, buffers, options):
        maximize, weight_decay, shrink, down, mu = options
        g = with_decay(do, p, g, maximize, weight_decay)
        do.scale(p, shrink)
        do.add(p, g, down)
        if mu == 1:
            do.copy(buffers[0], p)
        else:
            do.approach(buffers[0], p, mu)
