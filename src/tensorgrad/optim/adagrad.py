"""Adagrad: each element's steps shrink with the squares of all its gradients so far."""

from tensorgrad.optim.elementwise import Elementwise, check_options, check_rate, with_decay


class Adagrad(Elementwise):
    """Adagrad, by Duchi, Hazan and Singer.

    >>> w = torch.tensor([1.], requires_grad=True); (w * w).backward()
    >>> torch.optim.Adagrad([w], lr=0.1).step(); w
    tensor([0.9000], requires_grad=True)
    """

    added_later = {"foreach": None, "maximize": False, "differentiable": False, "fused": None}

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None,
                 *, maximize=False, differentiable=False, fused=None):  # fmt: skip
        check_rate(lr)
        if not lr_decay >= 0.0:
            raise ValueError(f"Invalid lr_decay value: {lr_decay}")
        check_options(weight_decay)
        if not initial_accumulator_value >= 0.0:
            raise ValueError(f"Invalid initial_accumulator_value value: {initial_accumulator_value}")
        check_options(eps=eps)
        super().__init__(params, {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused,
        })  # fmt: skip
        for group in self.param_groups:
            for p in group["params"]:
                self.make_state(p, p, group)

    def buffers(self, group):
        return ("sum",)

    def first_value(self, name, p, gradient, group):
        value = group["initial_accumulator_value"]
        return complex(value, value) if p.is_complex() else value

    def share_memory(self):
        """Put the sums where other processes can see them."""
        for own in self.state.values():
            own["sum"].share_memory_()

    def options(self, group, now, fresh):
        rate = group["lr"] / (1 + (now["step"] - 1) * group["lr_decay"])
        return group["maximize"], group["weight_decay"], group["eps"], -rate

    def update(self, do, p, g, buffers, options):
        maximize, weight_decay, eps, down = options
        g = with_decay(do, p, g, maximize, weight_decay)
        do.add_product(buffers[0], g, g)
        spread = do.root(buffers[0])
        spread = do.shifted(spread, eps)
        do.add_quotient(p, g, spread, down)
