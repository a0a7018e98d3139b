"""Losses as modules: what a model's output is compared with, and how the differences become one number."""

import math
import warnings

from tensorgrad.nn import functional as F
from tensorgrad.nn.modules.linear import Linear
from tensorgrad.nn.modules.linear_cross_entropy_options import LinearCrossEntropyOptions
from tensorgrad.nn.modules.module import Module

__all__ = ["BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "GaussianNLLLoss",
           "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "LinearCrossEntropyLoss",
           "LinearCrossEntropyOptions", "MSELoss", "MarginRankingLoss", "MultiLabelMarginLoss",
           "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss", "NLLLoss2d", "PoissonNLLLoss", "SmoothL1Loss",
           "SoftMarginLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss"]  # fmt: skip


class _Loss(Module):
    """A reduction: the losses as they are, their mean or their sum."""

    __constants__ = ["reduction"]

    def __init__(self, size_average=None, reduce=None, reduction="mean"):
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
            warnings.warn(
                f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
                stacklevel=3,
            )
        self.reduction = reduction


class _WeightedLoss(_Loss):
    """A loss whose classes or elements have weights."""

    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class L1Loss(_Loss):
    """The absolute difference.

    >>> torch.nn.L1Loss()(torch.tensor([1., 2.]), torch.tensor([1., 4.]))
    tensor(1.)
    """

    def forward(self, input, target):
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """The squared difference.

    >>> torch.nn.MSELoss()(torch.tensor([1., 2.]), torch.tensor([1., 4.]))
    tensor(2.)
    """

    def forward(self, input, target):
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Squared where the difference is small, absolute where it is large.

    >>> torch.nn.SmoothL1Loss()(torch.tensor([0., 0.]), torch.tensor([1., 3.]))
    tensor(1.5000)
    """

    def __init__(self, size_average=None, reduce=None, reduction="mean", beta=1.0):
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input, target):
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Squared up to a difference of delta, then absolute.

    >>> torch.nn.HuberLoss(delta=2.)(torch.tensor([0.]), torch.tensor([3.]))
    tensor(4.)
    """

    __constants__ = ["reduction", "delta"]

    def __init__(self, reduction="mean", delta=1.0):
        super().__init__(reduction=reduction)
        if not isinstance(delta, (int, float)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        self.delta = delta

    def forward(self, input, target):
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class NLLLoss(_WeightedLoss):
    """Minus the log-probability of the right class.

    >>> torch.nn.NLLLoss()(torch.log(torch.tensor([[0.25, 0.75]])), torch.tensor([1]))
    tensor(0.2877)
    """

    __constants__ = ["ignore_index", "reduction"]

    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input, target):
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class NLLLoss2d(NLLLoss):
    """The old name of NLLLoss for images."""

    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
        warnings.warn(
            "NLLLoss2d has been deprecated. Please use NLLLoss instead as a drop-in replacement and see "
            "https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more details.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class PoissonNLLLoss(_Loss):
    """Minus the log-likelihood of counts.

    >>> torch.nn.PoissonNLLLoss()(torch.zeros(1), torch.ones(1))
    tensor(1.)
    """

    __constants__ = ["log_input", "full", "eps", "reduction"]

    def __init__(self, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, log_input, target):
        return F.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(_Loss):
    """Minus the log-likelihood of numbers with a normal distribution.

    >>> torch.nn.GaussianNLLLoss()(torch.zeros(1), torch.ones(1), torch.ones(1))
    tensor(0.5000)
    """

    __constants__ = ["full", "eps", "reduction"]

    def __init__(self, *, full=False, eps=1e-6, reduction="mean"):
        super().__init__(None, None, reduction)
        self.full, self.eps = full, eps

    def forward(self, input, target, var):
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class KLDivLoss(_Loss):
    """The divergence of a distribution from log-probabilities.

    >>> torch.nn.KLDivLoss(reduction="sum")(torch.tensor([0.5, 0.5]).log(), torch.tensor([0.5, 0.5]))
    tensor(0.)
    """

    def __init__(self, size_average=None, reduce=None, reduction="mean", log_target=False):
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input, target):
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class BCELoss(_WeightedLoss):
    """Binary cross entropy of probabilities.

    >>> torch.nn.BCELoss()(torch.tensor([0.5]), torch.tensor([1.]))
    tensor(0.6931)
    """

    def forward(self, input, target):
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """Binary cross entropy of logits.

    >>> torch.nn.BCEWithLogitsLoss()(torch.tensor([0.]), torch.tensor([1.]))
    tensor(0.6931)
    """

    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input, target):
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class CrossEntropyLoss(_WeightedLoss):
    """The cross entropy between logits and classes, or class probabilities.

    >>> torch.nn.CrossEntropyLoss()(torch.tensor([[0., 0.]]), torch.tensor([1]))
    tensor(0.6931)
    """

    __constants__ = ["ignore_index", "reduction", "label_smoothing"]

    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean",
                 label_smoothing=0.0):  # fmt: skip
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, input, target):
        return F.cross_entropy(
            input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )  # fmt: skip


class LinearCrossEntropyLoss(_WeightedLoss):
    """A linear layer and the cross entropy of its outputs in one.

    >>> torch.nn.LinearCrossEntropyLoss(3, 5)(torch.ones(2, 3), torch.tensor([0, 4])).shape
    tensorgrad.Size([])
    """

    __constants__ = ["num_classes", "out_features", "reduction", "ignore_index", "label_smoothing"]

    def __init__(self, in_features, num_classes, *, out_features=(), bias=False, device=None, dtype=None,
                 reduction="mean", weight=None, ignore_index=None, label_smoothing=0.0, options=None):  # fmt: skip
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1.0:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight, None, None, reduction)
        self.num_classes, self.out_features, self.ignore_index = num_classes, out_features, ignore_index
        self.label_smoothing, self.options = label_smoothing, options
        # one row for each class at each place; forward gives the rows their places
        self.linear = Linear(in_features, num_classes * math.prod(out_features), bias, device, dtype)

    def forward(self, input, target):
        weight, bias = self.linear.weight, self.linear.bias
        shape = (self.num_classes, *self.out_features)
        return F.linear_cross_entropy(
            input, weight.reshape((*shape, self.linear.in_features)), target,
            linear_bias=None if bias is None else bias.reshape(shape), weight=self.weight, reduction=self.reduction,
            ignore_index=self.ignore_index, label_smoothing=self.label_smoothing, options=self.options,
        )  # fmt: skip

    def extra_repr(self):
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
            f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )


class HingeEmbeddingLoss(_Loss):
    """Distances: small for label 1, larger than a margin for label -1.

    >>> torch.nn.HingeEmbeddingLoss()(torch.tensor([0.5, 0.5]), torch.tensor([1., -1.]))
    tensor(0.5000)
    """

    __constants__ = ["margin", "reduction"]

    def __init__(self, margin=1.0, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input, target):
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """A margin between the classes of a sample and the others.

    >>> torch.nn.MultiLabelMarginLoss()(torch.tensor([[0.1, 0.9]]), torch.tensor([[1, -1]]))
    tensor(0.1000)
    """

    def forward(self, input, target):
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Binary cross entropy of logits, the mean over classes.

    >>> torch.nn.MultiLabelSoftMarginLoss()(torch.zeros(1, 2), torch.tensor([[0., 1.]]))
    tensor(0.6931)
    """

    def forward(self, input, target):
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """A margin between the right class and the others.

    >>> torch.nn.MultiMarginLoss()(torch.tensor([[0.5, 0.5]]), torch.tensor([1]))
    tensor(0.5000)
    """

    __constants__ = ["p", "margin", "reduction"]

    def __init__(self, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise AssertionError("weight must be None or have one dimension")
        self.p, self.margin = p, margin

    def forward(self, input, target):
        return F.multi_margin_loss(
            input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
        )


class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * input)).

    >>> torch.nn.SoftMarginLoss()(torch.zeros(1), torch.ones(1))
    tensor(0.6931)
    """

    def forward(self, input, target):
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class CosineEmbeddingLoss(_Loss):
    """Pairs of vectors: similar for label 1, not for label -1.

    >>> torch.nn.CosineEmbeddingLoss()(torch.eye(2), torch.eye(2), torch.tensor([1., -1.])).item() > 0.49
    True
    """

    __constants__ = ["margin", "reduction"]

    def __init__(self, margin=0.0, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1, input2, target):
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_Loss):
    """The first should be larger for label 1, the second for label -1.

    >>> torch.nn.MarginRankingLoss()(torch.tensor([1.]), torch.tensor([3.]), torch.tensor([1.]))
    tensor(2.)
    """

    __constants__ = ["margin", "reduction"]

    def __init__(self, margin=0.0, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1, input2, target):
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """The anchor should be nearer to the positive than to the negative.

    >>> zero = torch.zeros(1, 2); torch.nn.TripletMarginLoss()(zero, zero, zero + 3)
    tensor(0.)
    """

    __constants__ = ["margin", "p", "eps", "swap", "reduction"]

    def __init__(self, margin=1.0, p=2.0, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")
        self.margin, self.p, self.eps, self.swap = margin, p, eps, swap

    def forward(self, anchor, positive, negative):
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(_Loss):
    """The same, with any distance.

    >>> zero = torch.zeros(1, 2); torch.nn.TripletMarginWithDistanceLoss()(zero, zero, zero + 3)
    tensor(0.)
    """

    __constants__ = ["margin", "swap", "reduction"]

    def __init__(self, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
        super().__init__(size_average=None, reduce=None, reduction=reduction)
        if margin <= 0:
            raise ValueError(
                f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead"
            )
        if distance_function is None:
            from tensorgrad.nn.modules.distance import PairwiseDistance

            distance_function = PairwiseDistance()
        self.distance_function, self.margin, self.swap = distance_function, margin, swap

    def forward(self, anchor, positive, negative):
        return F.triplet_margin_with_distance_loss(
            anchor, positive, negative, distance_function=self.distance_function, margin=self.margin, swap=self.swap,
            reduction=self.reduction,
        )  # fmt: skip


class CTCLoss(_Loss):
    """Minus the log-probability of a sequence of labels, over all ways to align it.

    >>> p = torch.full((2, 1, 2), 0.5).log(); torch.nn.CTCLoss()(p, torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1]))
    tensor(0.2877)
    """

    __constants__ = ["blank", "reduction"]

    def __init__(self, blank=0, reduction="mean", zero_infinity=False):
        super().__init__(reduction=reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def forward(self, log_probs, targets, input_lengths, target_lengths):
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )
