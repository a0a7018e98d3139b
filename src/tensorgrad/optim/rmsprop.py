"""RMSprop: gradients divided by the root of their running mean square."""

from tensorgrad.optim.elementwise import Elementwise, check_options, check_rate, with_decay


class RMSprop(Elementwise):
    """RMSprop, by Hinton; `centered` takes the variance in the place of the mean square.

    >>> w = torch.tensor([1.], requires_grad=True); (w * w).backward()
    >>> torch.optim.RMSprop([w], lr=0.01).step(); w
    tensor([0.9000], requires_grad=True)
    """

    added_later = {"momentum": 0, "centered": False, "foreach": None, "maximize": False, "differentiable": False,
                   "capturable": False}  # fmt: skip

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False,
                 capturable=False, foreach=None, maximize=False, differentiable=False):  # fmt: skip
        check_rate(lr)
        check_options(eps=eps)
        if not momentum >= 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        check_options(weight_decay)
        if not alpha >= 0.0:
            raise ValueError(f"Invalid alpha value: {alpha}")
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable,
        })  # fmt: skip

    def buffers(self, group):
        momentum = ("momentum_buffer",) if group["momentum"] > 0 else ()
        return ("square_avg", *momentum, *(("grad_avg",) if group["centered"] else ()))

    def options(self, group, now, fresh):
        return (group["maximize"], group["weight_decay"], group["alpha"], 1 - group["alpha"], group["eps"],
                group["momentum"], group["centered"], -group["lr"])  # fmt: skip

    def update(self, do, p, g, buffers, options):
        maximize, weight_decay, alpha, gain, eps, momentum, centered, down = options
        g = with_decay(do, p, g, maximize, weight_decay)
        square = buffers[0]
        do.scale(square, alpha)
        do.add_product(square, g, g, gain)
        if centered:
            mean = buffers[-1]
            do.approach(mean, g, gain)
            variance = do.sum(square, do.product(mean, mean), -1)
            spread = do.root(variance)
        else:
            spread = do.root(square)
        spread = do.shifted(spread, eps)
        if momentum > 0:
            moved = buffers[1]
            do.scale(moved, momentum)
            do.add_quotient(moved, g, spread)
            do.add(p, moved, down)
        else:
            do.add_quotient(p, g, spread, down)
