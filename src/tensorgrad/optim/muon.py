"""Muon: momentum whose matrices are made orthogonal before each step."""

import math

from tensorgrad.autograd.modes import enable_grad, no_grad
from tensorgrad.optim.elementwise import check_rate
from tensorgrad.optim.optimizer import Optimizer


class Muon(Optimizer):
    """Muon, by Jordan and others, for the matrices of hidden layers; other parameters go to AdamW.

    >>> w = torch.eye(2, requires_grad=True); (w * w).sum().backward()
    >>> optimizer = torch.optim.Muon([w], lr=0.1); optimizer.step(); w.shape
    tensorgrad.Size([2, 2])
    """

    def __init__(self, params, lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True,
                 ns_coefficients=(3.4445, -4.7750, 2.0315), eps=1e-7, ns_steps=5, adjust_lr_fn=None):  # fmt: skip
        check_rate(lr, "Learning rate should be >= 0 but is")
        if not momentum >= 0.0:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn is not None and adjust_lr_fn not in ("original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(params, {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn,
        })  # fmt: skip
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}"
                    )

    @no_grad()
    def step(self, closure=None):
        """Update the parameters by their gradients; with a closure, call it first and return its loss."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            lr, momentum = float(group["lr"]), group["momentum"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                if p.is_complex():
                    raise RuntimeError("Muon does not support complex parameters")
                own = self.state[p]
                if "momentum_buffer" not in own:
                    own["momentum_buffer"] = p.grad.detach() * 0
                buffer = own["momentum_buffer"]
                buffer.lerp_(p.grad, 1 - momentum)
                update = p.grad.lerp(buffer, momentum) if group["nesterov"] else buffer
                update = orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
                p.mul_(1 - lr * group["weight_decay"])
                p.add_(update.to(p.dtype), alpha=-adjusted(lr, group["adjust_lr_fn"], p.shape))
        return loss


def orthogonal(matrix, coefficients, steps, eps):
    """Nearly the orthogonal factor of a matrix, in bfloat16: five or so steps of a Newton-Schulz iteration."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if matrix.dim() != 2:
        raise ValueError("Input tensor gradient must be a 2D matrix")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.bfloat16()
    x = x.T if tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = (x @ x.T).float()
        mixed = (b * gram + c * (gram @ gram)).bfloat16()
        x = (a * x.float() + mixed.float() @ x.float()).bfloat16()
    return x.T if tall else x


def adjusted(lr, how, shape):
    """The learning rate for a matrix of this shape."""
    rows, columns = shape
    if how == "match_rms_adamw":
        return lr * 0.2 * math.sqrt(max(rows, columns))
    return lr * math.sqrt(max(1, rows / columns))
