"""Adamax: Adam with the largest gradient so far, fading, in the place of the mean square."""

from tensorgrad.optim.elementwise import Elementwise, check_options, check_rate, with_decay


class Adamax(Elementwise):
    """Adamax, Adam in the infinity norm, by Kingma and Ba.

    >>> w = torch.tensor([1.], requires_grad=True); (w * w).backward()
    >>> torch.optim.Adamax([w], lr=0.1).step(); w
    tensor([0.9000], requires_grad=True)
    """

    added_later = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False,
                 differentiable=False, capturable=False):  # fmt: skip
        check_rate(lr)
        check_options(weight_decay, eps, betas)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        })  # fmt: skip

    def buffers(self, group):
        return "exp_avg", "exp_inf"

    def options(self, group, now, fresh):
        beta1, beta2 = group["betas"]
        down = -group["lr"] / (1 - beta1 ** now["step"])
        return group["maximize"], group["weight_decay"], 1 - beta1, beta2, group["eps"], down

    def update(self, do, p, g, buffers, options):
        maximize, weight_decay, gain, keep, eps, down = options
        g = with_decay(do, p, g, maximize, weight_decay)
        mean, largest = buffers
        do.approach(mean, g, gain)
        size = do.absolute(g)
        size = do.shifted(size, eps)
        do.scale(largest, keep)
        do.raise_to(largest, size)
        do.add_quotient(p, mean, largest, down)
