"""RAdam: Adam that waits with its adaptive steps until their variance is known well enough."""

from tensorgrad.optim.elementwise import Elementwise, check_options, check_rate, with_decay


class RAdam(Elementwise):
    """Rectified Adam, by Liu and others; with `decoupled_weight_decay` the decay of AdamW.

    >>> w = torch.tensor([1.], requires_grad=True); (w * w).backward()
    >>> torch.optim.RAdam([w], lr=0.1).step(); w
    tensor([0.8000], requires_grad=True)
    """

    added_later = {"foreach": None, "maximize": False, "differentiable": False, "decoupled_weight_decay": False,
                   "capturable": False}  # fmt: skip

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *,
                 foreach=None, maximize=False, capturable=False, differentiable=False):  # fmt: skip
        check_rate(lr)
        check_options(weight_decay, eps, betas)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable,
        })  # fmt: skip

    def buffers(self, group):
        return "exp_avg", "exp_avg_sq"

    def times_written(self, group):
        return 2 if group["decoupled_weight_decay"] and group["weight_decay"] != 0 else 1

    def options(self, group, now, fresh):
        lr, weight_decay, (beta1, beta2), step = group["lr"], group["weight_decay"], group["betas"], now["step"]
        shrink = None
        if group["decoupled_weight_decay"]:
            shrink, weight_decay = 1 - lr * weight_decay if weight_decay != 0 else None, 0
        correction = 1 - beta2**step
        longest = 2 / (1 - beta2) - 1  # how many gradients the mean square would see in the end, and sees now
        length = longest - 2 * step * beta2**step / correction
        adaptive = None
        if length > 5.0:
            rectified = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
            adaptive = (rectified * correction) ** 0.5
        return (group["maximize"], weight_decay, shrink, 1 - beta1, beta2, 1 - beta2, group["eps"],
                -lr / (1 - beta1**step), adaptive)  # fmt: skip

    def update(self, do, p, g, buffers, options):
        maximize, weight_decay, shrink, gain, keep, gain_square, eps, down, adaptive = options
        if shrink is not None:
            do.scale(p, shrink)
        g = with_decay(do, p, g, maximize, weight_decay)
        mean, square = buffers
        do.approach(mean, g, gain)
        do.scale(square, keep)
        do.add_product(square, g, g, gain_square)
        if adaptive is None:
            do.add(p, mean, down)
        else:
            spread = do.root(square)
            spread = do.shifted(spread, eps)
            do.add_quotient(p, mean, spread, down * adaptive)
