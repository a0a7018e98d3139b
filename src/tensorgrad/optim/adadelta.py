"""Adadelta: steps in the units of earlier steps, so that the learning rate has no unit."""

from tensorgrad.optim.elementwise import Elementwise, check_options, check_rate, with_decay


class Adadelta(Elementwise):
    """Adadelta, by Zeiler.

    >>> w = torch.tensor([1.], requires_grad=True); (w * w).backward()
    >>> torch.optim.Adadelta([w], eps=1e-2).step(); w
    tensor([0.6877], requires_grad=True)
    """

    capturable_words = Elementwise.capturable_words
    added_later = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False,
                 maximize=False, differentiable=False):  # fmt: skip
        check_rate(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_options(weight_decay, eps)
        super().__init__(params, {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable,
        })  # fmt: skip

    def buffers(self, group):
        return "square_avg", "acc_delta"

    def options(self, group, now, fresh):
        return group["maximize"], group["weight_decay"], group["rho"], group["eps"], -group["lr"]

    def update(self, do, p, g, buffers, options):
        maximize, weight_decay, rho, eps, down = options
        g = with_decay(do, p, g, maximize, weight_decay)
        square, moved = buffers
        do.scale(square, rho)
        do.add_product(square, g, g, 1 - rho)
        spread, step = do.sum(square, eps), do.sum(moved, eps)
        spread, step = do.root(spread), do.root(step)
        step = do.divided(step, spread)
        step = do.multiplied(step, g)
        do.scale(moved, rho)
        do.add_product(moved, step, step, 1 - rho)
        do.add(p, step, down)
