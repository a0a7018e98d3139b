"""Instance normalization: each channel of each sample on its own."""

import warnings

from tensorgrad.nn import functional as F
from tensorgrad.nn.modules.batchnorm import _LazyNormBase, _NormBase

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d",
           "LazyInstanceNorm3d"]  # fmt: skip


class _InstanceNorm(_NormBase):
    """Normalizes each channel of each sample over its places; an input without a batch is one sample."""

    places = 0  # how many dimensions follow the channels

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None,
                 dtype=None, *, bias=True):  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        version = local_metadata.get("version")
        if version is None and not self.track_running_stats:
            stale = [name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if stale:
                names = " and ".join(f'"{prefix + name}"' for name in stale)
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {names} for {type(self).__name__} with track_running_stats=False. If "
                    "state_dict is a checkpoint saved before 0.4.0, this may be expected because "
                    f"{type(self).__name__} does not track running stats by default since 0.4.0. Please remove these keys from "
                    "state_dict. If the running stats are actually needed, instead set track_running_stats=True in "
                    f"{type(self).__name__} to enable them. See the documentation of {type(self).__name__} for details."
                )
                for name in stale:
                    state_dict.pop(prefix + name)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def _check_input_dim(self, input):
        alone, batched = self.places + 1, self.places + 2
        if input.dim() not in (alone, batched):
            raise ValueError(f"expected {alone}D or {batched}D input (got {input.dim()}D input)")

    def forward(self, input):
        self._check_input_dim(input)
        channel_dim = input.dim() - self.places - 1
        if input.size(channel_dim) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={channel_dim} to match num_features ({self.num_features}), but got: "
                    f"{input.size(channel_dim)}."
                )
            warnings.warn(
                f"input's size at dim={channel_dim} does not match num_features. You can silence this warning by not passing "
                "in num_features, which is not used because affine=False",
                stacklevel=3,
            )
        alone = channel_dim == 0
        result = F.instance_norm(
            input.unsqueeze(0) if alone else input, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats, 0.0 if self.momentum is None else self.momentum, self.eps,
        )  # fmt: skip
        return result.squeeze(0) if alone else result


class _LazyInstanceNorm(_LazyNormBase):
    """Learns the number of channels from the first input, with or without a batch."""

    def initialize_parameters(self, input):
        channel_dim = input.dim() - self.places - 1
        super().initialize_parameters(input if channel_dim == 1 else input.unsqueeze(0))


class InstanceNorm1d(_InstanceNorm):
    """Normalize each channel of each sequence.

    >>> torch.nn.InstanceNorm1d(1)(torch.tensor([[[1., 3.]]]))
    tensor([[[-1.0000,  1.0000]]])
    """

    places = 1


class InstanceNorm2d(_InstanceNorm):
    """Normalize each channel of each image.

    >>> torch.nn.InstanceNorm2d(3)(torch.ones(2, 3, 4, 4)).shape
    tensorgrad.Size([2, 3, 4, 4])
    """

    places = 2


class InstanceNorm3d(_InstanceNorm):
    """Normalize each channel of each volume.

    >>> torch.nn.InstanceNorm3d(3)(torch.ones(2, 3, 4, 4, 4)).shape
    tensorgrad.Size([2, 3, 4, 4, 4])
    """

    places = 3


class LazyInstanceNorm1d(_LazyInstanceNorm, _InstanceNorm):
    """An InstanceNorm1d that learns the number of channels from the first input.

    >>> layer = torch.nn.LazyInstanceNorm1d(); _ = layer(torch.ones(2, 3, 4)); layer.num_features
    3
    """

    cls_to_become = InstanceNorm1d
    places = 1


class LazyInstanceNorm2d(_LazyInstanceNorm, _InstanceNorm):
    """An InstanceNorm2d that learns the number of channels from the first input.

    >>> layer = torch.nn.LazyInstanceNorm2d(); _ = layer(torch.ones(2, 3, 4, 4)); layer.num_features
    3
    """

    cls_to_become = InstanceNorm2d
    places = 2


class LazyInstanceNorm3d(_LazyInstanceNorm, _InstanceNorm):
    """An InstanceNorm3d that learns the number of channels from the first input.

    >>> layer = torch.nn.LazyInstanceNorm3d(); _ = layer(torch.ones(2, 3, 4, 4, 4)); layer.num_features
    3
    """

    cls_to_become = InstanceNorm3d
    places = 3
