"""NAdam: Adam with Nesterov's look ahead."""

from tensorgrad.optim.elementwise import Elementwise, check_options, check_rate, with_decay


class NAdam(Elementwise):
    """NAdam, by Dozat; with `decoupled_weight_decay` the decay of AdamW.

    >>> w = torch.tensor([1.], requires_grad=True); (w * w).backward()
    >>> torch.optim.NAdam([w], lr=0.1).step(); w
    tensor([0.8944], requires_grad=True)
    """

    scalars = {"step": 0.0, "mu_product": 1.0}
    capturable_words = "params, mu_products and state_steps must be on supported devices"
    added_later = {"maximize": False, "foreach": None, "capturable": False, "differentiable": False,
                   "decoupled_weight_decay": False}  # fmt: skip

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3,
                 decoupled_weight_decay=False, *, foreach=None, maximize=False, capturable=False,
                 differentiable=False):  # fmt: skip
        check_rate(lr)
        check_options(weight_decay, eps, betas)
        if not momentum_decay >= 0.0:
            raise ValueError(f"Invalid momentum_decay value: {momentum_decay}")
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable,
        })  # fmt: skip

    def buffers(self, group):
        return "exp_avg", "exp_avg_sq"

    def times_written(self, group):
        return 3 if group["decoupled_weight_decay"] and group["weight_decay"] != 0 else 2

    def options(self, group, now, fresh):
        lr, weight_decay, (beta1, beta2), step = group["lr"], group["weight_decay"], group["betas"], now["step"]
        decay, shrink = group["momentum_decay"], None
        if group["decoupled_weight_decay"]:
            shrink, weight_decay = 1 - lr * weight_decay if weight_decay != 0 else None, 0
        mu = beta1 * (1.0 - 0.5 * 0.96 ** (step * decay))
        mu_next = beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * decay))
        product = now["mu_product"] = now["mu_product"] * mu
        return (group["maximize"], weight_decay, shrink, 1 - beta1, beta2, 1 - beta2, (1 - beta2**step) ** 0.5, group["eps"],
                -lr * (1.0 - mu) / (1.0 - product), -lr * mu_next / (1.0 - product * mu_next))  # fmt: skip

    def update(self, do, p, g, buffers, options):
        maximize, weight_decay, shrink, gain, keep, gain_square, correction, eps, down_now, down_mean = options
        if shrink is not None:
            do.scale(p, shrink)
        g = with_decay(do, p, g, maximize, weight_decay)
        mean, square = buffers
        do.approach(mean, g, gain)
        do.scale(square, keep)
        do.add_product(square, g, g, gain_square)
        spread = do.root(square)
        spread = do.divided(spread, correction)
        spread = do.shifted(spread, eps)
        do.add_quotient(p, g, spread, down_now)
        do.add_quotient(p, mean, spread, down_mean)
