"""Rprop: only the signs of the gradients count; each element has a step size of its own."""

from tensorgrad.optim.elementwise import Elementwise, check_rate


class Rprop(Elementwise):
    """Resilient backpropagation, by Riedmiller and Braun.

    >>> w = torch.tensor([1.], requires_grad=True); (w * w).backward()
    >>> torch.optim.Rprop([w], lr=0.1).step(); w
    tensor([0.9000], requires_grad=True)
    """

    added_later = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable=False, foreach=None,
                 maximize=False, differentiable=False):  # fmt: skip
        check_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        })  # fmt: skip

    def buffers(self, group):
        return "prev", "step_size"

    def first_value(self, name, p, gradient, group):
        lr = float(group["lr"])
        return 0 if name == "prev" else complex(lr, lr) if p.is_complex() else lr

    def options(self, group, now, fresh):
        return group["maximize"], *group["etas"], *group["step_sizes"]

    def update(self, do, p, g, buffers, options):
        maximize, slower, faster, smallest, largest = options
        if maximize:
            g = do.negative(g)
        before, size = buffers
        turned = do.product(g, before)
        do.change(size, do.by_sign(turned, slower, 1, faster), smallest, largest)
        g = do.product(g, do.by_sign(turned, 0, 1, 1))  # where the gradient turned, wait for the next one
        do.add_product(p, do.sign(g), size, -1)
        do.copy(before, g)
