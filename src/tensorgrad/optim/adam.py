"""Adam and AdamW: steps measured by running means of the gradient and of its square."""

from tensorgrad.optim.elementwise import Elementwise, check_options, check_rate, with_decay
from tensorgrad.tensor import Tensor


class Adam(Elementwise):
    """Adam, by Kingma and Ba; with `amsgrad` the largest mean square so far, with `decoupled_weight_decay` AdamW.

    >>> w = torch.tensor([1.], requires_grad=True); (w * w).backward()
    >>> torch.optim.Adam([w], lr=0.1).step(); w
    tensor([0.9000], requires_grad=True)
    """

    added_later = {"amsgrad": False, "maximize": False, "foreach": None, "capturable": False, "differentiable": False,
                   "decoupled_weight_decay": False, "fused": None}  # fmt: skip

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None,
                 maximize=False, capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False):  # fmt: skip
        unsupported = foreach and not capturable
        if isinstance(lr, Tensor) and unsupported:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check_rate(lr)
        check_options(weight_decay, eps, betas)
        if not (all(isinstance(b, float) for b in betas) or all(isinstance(b, Tensor) for b in betas)):
            raise ValueError("betas must be either both floats or both Tensors")
        for index, beta in enumerate(betas):
            if isinstance(beta, Tensor):
                if unsupported:
                    raise ValueError(
                        f"betas[{index}] as a Tensor is not supported for capturable=False and foreach=True"
                    )
                if beta.numel() != 1:
                    raise ValueError(f"Tensor betas[{index}] must be 1-element")
        betas = tuple(beta.squeeze() if isinstance(beta, Tensor) and beta.dim() else beta for beta in betas)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad, "maximize": maximize,
            "foreach": foreach, "capturable": capturable, "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        })  # fmt: skip

    def buffers(self, group):
        return ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")

    def times_written(self, group):
        return 2 if group["decoupled_weight_decay"] and group["weight_decay"] != 0 else 1

    def options(self, group, now, fresh):
        lr, weight_decay, (beta1, beta2), step = group["lr"], group["weight_decay"], group["betas"], now["step"]
        shrink = None
        if group["decoupled_weight_decay"]:
            shrink, weight_decay = 1 - lr * weight_decay if weight_decay != 0 else None, 0
        return (group["maximize"], weight_decay, shrink, 1 - beta1, beta2, 1 - beta2,
                (1 - beta2**step) ** 0.5, group["eps"], -lr / (1 - beta1**step))  # fmt: skip

    def update(self, do, p, g, buffers, options):
        maximize, weight_decay, shrink, gain, keep, gain_square, correction, eps, down = options
        if shrink is not None:
            do.scale(p, shrink)
        g = with_decay(do, p, g, maximize, weight_decay)
        mean, square, *largest = buffers
        do.approach(mean, g, gain)
        do.scale(square, keep)
        do.add_product(square, g, g, gain_square)
        if largest:
            do.raise_to(largest[0], square)
            square = largest[0]
        spread = do.root(square)
        spread = do.divided(spread, correction)
        spread = do.shifted(spread, eps)
        do.add_quotient(p, mean, spread, down)
