"""Adafactor: Adam's mean square kept as a row and a column, so that it takes almost no memory."""

from tensorgrad import dtypes
from tensorgrad.autograd.modes import enable_grad, no_grad
from tensorgrad.optim.elementwise import check_rate
from tensorgrad.optim.optimizer import Optimizer
from tensorgrad.tensor import Tensor


class Adafactor(Optimizer):
    """Adafactor, by Shazeer and Stern.

    >>> w = torch.tensor([1.], requires_grad=True); (w * w).backward()
    >>> torch.optim.Adafactor([w], lr=0.1).step(); w
    tensor([0.9000], requires_grad=True)
    """

    def __init__(self, params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, *, foreach=None,
                 maximize=False):  # fmt: skip
        check_rate(lr, "Learning rate should be >= 0 but is")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not eps[0] >= 0.0:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not eps[1] >= 0.0:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        super().__init__(params, {"lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay,
                                  "foreach": foreach, "maximize": maximize})  # fmt: skip

    def __setstate__(self, state):
        super().__setstate__(state)
        from tensorgrad import tensor

        for group in self.param_groups:
            group.setdefault("foreach", None)
            for p in group["params"]:
                own = self.state.get(p)
                if own and not isinstance(own["step"], Tensor):
                    own["step"] = tensor(float(own["step"]))

    @no_grad()
    def step(self, closure=None):
        """Update the parameters by their gradients; with a closure, call it first and return its loss."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.step_parameter(group, p, p.grad)
        return loss

    def make_state(self, p, gradient):
        """The first state of a parameter: means by row and by column, or of a vector the mean square itself."""
        if p.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        own = self.state[p]
        if not own:
            from tensorgrad import zeros

            wide = dtypes.get_default_dtype() is dtypes.float64
            own["step"] = zeros((), dtype=dtypes.float64 if wide else dtypes.float32)
            if gradient.dim() > 1:
                own["row_var"] = gradient.new_zeros((*gradient.shape[:-1], 1))
                own["col_var"] = gradient.new_zeros((*gradient.shape[:-2], 1, gradient.shape[-1]))
            else:
                own["variance"] = gradient.detach() * 0
        return own

    def step_parameter(self, group, p, gradient):
        own, lr = self.make_state(p, gradient), float(group["lr"])
        if group["maximize"]:
            gradient = -gradient
        eps1, eps2 = group["eps"]
        eps1 = dtypes.finfo(p.dtype).eps if eps1 is None else eps1
        own["step"] += 1
        step = own["step"].item()
        gain = step ** group["beta2_decay"]
        size = max(eps2, p.norm(2).item() / p.numel() ** 0.5)
        rate = size * min(lr, 1 / step**0.5)
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        square = gradient * gradient
        if gradient.dim() > 1:
            row, column = own["row_var"], own["col_var"]
            row.add_((square.mean(-1, keepdim=True) - row) * gain)
            column.add_((square.mean(-2, keepdim=True) - column) * gain)
            estimate = row @ column / row.mean(-2, keepdim=True).clamp(min=eps1)
        else:
            estimate = own["variance"].add_((square - own["variance"]) * gain)
        update = gradient * estimate.clamp(min=eps1 * eps1).rsqrt()
        clip = max(1.0, update.norm(2).item() / (update.numel() ** 0.5 * group["d"]))
        p.sub_(update * (rate / clip))
