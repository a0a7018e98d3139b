"""AdamW: Adam whose weight decay shrinks the parameters by itself."""

from tensorgrad.optim.adam import Adam


class AdamW(Adam):
    """Adam with decoupled weight decay, by Loshchilov and Hutter.

    >>> w = torch.tensor([1.], requires_grad=True); (w * 0).backward()
    >>> torch.optim.AdamW([w], lr=0.1, weight_decay=0.5).step(); w
    tensor([0.9500], requires_grad=True)
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *,
                 maximize=False, foreach=None, capturable=False, differentiable=False, fused=None):  # fmt: skip
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
            differentiable=differentiable, fused=fused, decoupled_weight_decay=True,
        )  # fmt: skip

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
