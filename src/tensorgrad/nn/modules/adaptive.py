"""Softmax over very many classes: frequent ones first, rare ones in clusters behind them."""

from collections import namedtuple

from tensorgrad.nn import functional as F
from tensorgrad.nn.modules.container import ModuleList, Sequential
from tensorgrad.nn.modules.linear import Linear
from tensorgrad.nn.modules.module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-softmax over clusters of classes, and its loss.

    >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 10, cutoffs=[2, 5])
    >>> output, loss = layer(torch.ones(3, 8), torch.tensor([0, 3, 9])); output.shape, loss.shape
    (tensorgrad.Size([3]), tensorgrad.Size([]))
    """

    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None, dtype=None):
        super().__init__()
        cutoffs = list(cutoffs)
        if len(cutoffs) == 0:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(cutoffs) or min(cutoffs) <= 0 or max(cutoffs) > n_classes - 1
            or len(set(cutoffs)) != len(cutoffs) or any(int(c) != c for c in cutoffs)
        ):  # fmt: skip
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is "
                "between 1 and n_classes-1"
            )
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = self.cutoffs[0], len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, device=device, dtype=dtype)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            hidden = int(in_features // (div_value ** (i + 1)))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(Sequential(
                Linear(in_features, hidden, bias=False, device=device, dtype=dtype),
                Linear(hidden, size, bias=False, device=device, dtype=dtype),
            ))  # fmt: skip

    def reset_parameters(self):
        """Draw the weights again."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_, target_):
        batched = target_.dim()
        if batched == 1:
            if input_.shape[0] != target_.shape[0]:
                raise RuntimeError("Input and target should have the same size in the batch dimension.")
            if input_.dim() != 2:
                raise RuntimeError(
                    f"1D target tensor expects 2D input tensors, but found inputs with size {input_.size()}"
                )
        elif batched == 0:
            if input_.dim() != 1:
                raise RuntimeError(
                    f"0D target tensor expects 1D input tensors, but found inputs with size {input_.size()}"
                )
        else:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        input, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        used, output = 0, input.new_zeros(target.shape[0])
        in_head = target.new_empty(target.shape[0])
        bounds = [0, *self.cutoffs]
        for i in range(len(bounds) - 1):
            rows = ((target >= bounds[i]) & (target < bounds[i + 1])).nonzero().squeeze()
            if rows.numel() == 0:
                continue
            rows = rows.reshape(-1)
            if i == 0:
                in_head.index_copy_(0, rows, target[rows])
            else:
                cluster = F.log_softmax(self.tail[i - 1](input.index_select(0, rows)), dim=1)
                in_head.index_fill_(0, rows, self.shortlist_size + i - 1)
                own = (target[rows] - bounds[i]).unsqueeze(1)
                output = output.index_copy(0, rows, cluster.gather(1, own).squeeze(1))
            used += rows.numel()
        if used != target.shape[0]:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{target.min().item()}, "
                f"{target.max().item()}] were found. "
            )
        head = F.log_softmax(self.head(input), dim=1)
        output = output + head.gather(1, in_head.unsqueeze(1)).squeeze()
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _get_full_log_prob(self, input, head_output):
        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i in range(self.n_clusters):
            cluster = F.log_softmax(self.tail[i](input), dim=1)
            parts.append(cluster + head[:, self.shortlist_size + i].unsqueeze(1))
        from tensorgrad.ops.joining import cat

        return cat(parts, 1)

    def log_prob(self, input):
        """The log-probabilities of all classes.

        >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 10, cutoffs=[2, 5]); layer.log_prob(torch.ones(3, 8)).shape
        tensorgrad.Size([3, 10])
        """
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input):
        """The likeliest class of each row.

        >>> torch.nn.AdaptiveLogSoftmaxWithLoss(8, 10, cutoffs=[2, 5]).predict(torch.ones(3, 8)).shape
        tensorgrad.Size([3])
        """
        head = self.head(input)
        best = head.argmax(dim=1)
        elsewhere = best >= self.shortlist_size
        if not bool(elsewhere.any()):
            return best
        if bool(elsewhere.all()):
            return self._get_full_log_prob(input, head).argmax(dim=1)
        full = self._get_full_log_prob(input[elsewhere], head[elsewhere])
        best[elsewhere] = full.argmax(dim=1)
        return best
