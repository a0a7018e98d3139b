"""Dropout: in training, some numbers become zero."""

from tensorgrad.nn import functional as F
from tensorgrad.nn.modules.module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    """A probability, and whether to write into the input."""

    __constants__ = ["p", "inplace"]

    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def extra_repr(self):
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Set each number to zero with probability p, and widen the others.

    >>> torch.nn.Dropout(p=1.0)(torch.ones(3))
    tensor([0., 0., 0.])
    """

    def forward(self, input):
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Set whole channels of sequences to zero.

    >>> torch.nn.Dropout1d(p=1.0)(torch.ones(1, 2, 2))
    tensor([[[0., 0.],
             [0., 0.]]])
    """

    def forward(self, input):
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Set whole channels of images to zero.

    >>> torch.nn.Dropout2d().eval()(torch.ones(1, 1, 1, 2))
    tensor([[[[1., 1.]]]])
    """

    def forward(self, input):
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Set whole channels of volumes to zero.

    >>> torch.nn.Dropout3d().eval()(torch.ones(1, 1, 1, 1, 2))
    tensor([[[[[1., 1.]]]]])
    """

    def forward(self, input):
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and deviation, for SELU.

    >>> torch.nn.AlphaDropout().eval()(torch.ones(2))
    tensor([1., 1.])
    """

    def forward(self, input):
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """AlphaDropout of whole channels.

    >>> torch.nn.FeatureAlphaDropout().eval()(torch.ones(1, 2))
    tensor([[1., 1.]])
    """

    def forward(self, input):
        return F.feature_alpha_dropout(input, self.p, self.training)
