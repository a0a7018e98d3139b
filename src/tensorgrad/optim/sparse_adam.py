"""SparseAdam: in PyTorch an Adam for sparse gradients, which tensorgrad does not have."""

from tensorgrad.optim.optimizer import Optimizer


class SparseAdam(Optimizer):
    """Not offered: all gradients here are dense, and Adam or AdamW takes them."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        raise NotImplementedError(
            "SparseAdam takes only sparse gradients, and tensorgrad has no sparse tensors: use Adam or AdamW"
        )

    def step(self, closure=None):
        """Never reached."""
        raise NotImplementedError("SparseAdam")
