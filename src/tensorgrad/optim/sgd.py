"""SGD: along the gradient, with momentum."""

from tensorgrad.optim.elementwise import Elementwise, check_rate, with_decay


class SGD(Elementwise):
    """Stochastic gradient descent, with momentum (Nesterov's too), dampening and weight decay.

    >>> w = torch.tensor([1.], requires_grad=True); (w * w).backward()
    >>> torch.optim.SGD([w], lr=0.1, momentum=0.9).step(); w
    tensor([0.8000], requires_grad=True)
    """

    scalars = {}
    added_later = {"nesterov": False, "maximize": False, "foreach": None, "differentiable": False, "fused": False}

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False,
                 foreach=None, differentiable=False, fused=None):  # fmt: skip
        check_rate(lr)
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused,
        })  # fmt: skip

    def buffers(self, group):
        return ("momentum_buffer",) if group["momentum"] != 0 else ()

    def make_state(self, p, gradient, group):
        # Without momentum there is no state, and not even an empty entry.
        return super().make_state(p, gradient, group) if group["momentum"] != 0 else False

    def options(self, group, now, fresh):
        return (group["maximize"], group["weight_decay"], group["momentum"], group["dampening"], group["nesterov"],
                -group["lr"], fresh)  # fmt: skip

    def update(self, do, p, g, buffers, options):
        maximize, weight_decay, momentum, dampening, nesterov, down, fresh = options
        g = with_decay(do, p, g, maximize, weight_decay)
        for buffer in buffers:
            if fresh:
                do.begin(buffer, g)
            else:
                do.scale(buffer, momentum)
                do.add(buffer, g, 1 - dampening)
            g = do.sum(g, buffer, momentum) if nesterov else buffer
        do.add(p, g, down)
