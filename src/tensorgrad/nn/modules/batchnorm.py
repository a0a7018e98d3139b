"""Batch normalization, with running statistics for evaluation."""

from tensorgrad.nn import functional as F
from tensorgrad.nn import init
from tensorgrad.nn.modules.lazy import LazyModuleMixin
from tensorgrad.nn.modules.module import Module
from tensorgrad.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter
from tensorgrad.ops.creation import empty, ones, tensor, zeros

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d",
           "SyncBatchNorm"]  # fmt: skip


class _NormBase(Module):
    """What batch and instance normalization share: scale, shift, running statistics."""

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None,
                 dtype=None, *, bias=True):  # fmt: skip
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        made = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(empty(num_features, **made)) if affine else None)
        self.register_parameter("bias", Parameter(empty(num_features, **made)) if affine and bias else None)
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, **made) if tracked else None)
        self.register_buffer("running_var", ones(num_features, **made) if tracked else None)
        self.register_buffer("num_batches_tracked", tensor(0) if tracked else None)
        self.reset_parameters()

    def reset_running_stats(self):
        """Forget the running statistics."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        """Start again: scale one, shift zero, no statistics."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input):
        raise NotImplementedError

    def extra_repr(self):
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
        version = local_metadata.get("version")
        if (version is None or version < 2) and self.track_running_stats:  # older states do not count batches
            state_dict.setdefault(prefix + "num_batches_tracked", tensor(0))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    """Normalizes over the batch while training, and with the running statistics in evaluation."""

    def forward(self, input):
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the plain mean over all batches
                momentum = 1.0 / float(self.num_batches_tracked)
        of_batch = self.training or (self.running_mean is None and self.running_var is None)
        tracked = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if tracked else None,
            self.running_var if tracked else None,
            self.weight,
            self.bias,
            of_batch,
            momentum,
            self.eps,
        )


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """Learns the number of features from the first input."""

    def __init__(self, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, *,
                 bias=True):  # fmt: skip
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine, self.track_running_stats = affine, track_running_stats
        made = {"device": device, "dtype": dtype}
        if affine:
            self.weight = UninitializedParameter(**made)
            if bias:
                self.bias = UninitializedParameter(**made)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**made)
            self.running_var = UninitializedBuffer(**made)
            self.num_batches_tracked = tensor(0)

    def reset_parameters(self):
        """Start again, once the shape is known."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input):
        """Take the number of features from an input."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            if self.affine:
                self.weight.materialize((self.num_features,))
                if self.bias is not None:
                    self.bias.materialize((self.num_features,))
            if self.track_running_stats:
                self.running_mean.materialize((self.num_features,))
                self.running_var.materialize((self.num_features,))
            self.reset_parameters()


def _check_1d(module, input):
    if input.dim() not in (2, 3):
        raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


def _check_2d(module, input):
    if input.dim() != 4:
        raise ValueError(f"expected 4D input (got {input.dim()}D input)")


def _check_3d(module, input):
    if input.dim() != 5:
        raise ValueError(f"expected 5D input (got {input.dim()}D input)")


class BatchNorm1d(_BatchNorm):
    """Normalize each feature over a batch of vectors or sequences.

    >>> torch.nn.BatchNorm1d(1)(torch.tensor([[1.], [3.]]))
    tensor([[-1.0000],
            [ 1.0000]], grad_fn=<NativeBatchNormBackward0>)
    """

    _check_input_dim = _check_1d


class BatchNorm2d(_BatchNorm):
    """Normalize each channel over a batch of images.

    >>> torch.nn.BatchNorm2d(3)(torch.ones(2, 3, 4, 4)).shape
    tensorgrad.Size([2, 3, 4, 4])
    """

    _check_input_dim = _check_2d


class BatchNorm3d(_BatchNorm):
    """Normalize each channel over a batch of volumes.

    >>> torch.nn.BatchNorm3d(3)(torch.ones(2, 3, 4, 4, 4)).shape
    tensorgrad.Size([2, 3, 4, 4, 4])
    """

    _check_input_dim = _check_3d


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """A BatchNorm1d that learns the number of features from the first input.

    >>> layer = torch.nn.LazyBatchNorm1d(); _ = layer(torch.ones(2, 3)); layer.num_features
    3
    """

    cls_to_become = BatchNorm1d
    _check_input_dim = _check_1d


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """A BatchNorm2d that learns the number of channels from the first input.

    >>> layer = torch.nn.LazyBatchNorm2d(); _ = layer(torch.ones(2, 3, 4, 4)); layer.num_features
    3
    """

    cls_to_become = BatchNorm2d
    _check_input_dim = _check_2d


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """A BatchNorm3d that learns the number of channels from the first input.

    >>> layer = torch.nn.LazyBatchNorm3d(); _ = layer(torch.ones(2, 3, 4, 4, 4)); layer.num_features
    3
    """

    cls_to_become = BatchNorm3d
    _check_input_dim = _check_3d


class SyncBatchNorm(_BatchNorm):
    """Batch normalization over the batches of several processes; here there is one.

    >>> torch.nn.SyncBatchNorm(3)
    SyncBatchNorm(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True,
                 process_group=None, device=None, dtype=None, *, bias=True):  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """A module whose batch normalizations are SyncBatchNorm.

        >>> torch.nn.SyncBatchNorm.convert_sync_batchnorm(torch.nn.BatchNorm1d(3))
        SyncBatchNorm(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
        """
        made = module
        if isinstance(module, _BatchNorm):
            made = cls(module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats,
                       process_group)  # fmt: skip
            if module.affine:
                made.weight, made.bias = module.weight, module.bias
            made.running_mean, made.running_var = module.running_mean, module.running_var
            made.num_batches_tracked, made.training = module.num_batches_tracked, module.training
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made
