"""Distances and likeness of vectors, and the losses made of them: of pairs that belong together or not, and of triples."""

from tensorgrad import dtypes
from tensorgrad.ops.fitting import check_tensor, dim_of
from tensorgrad.ops.losses import REDUCTIONS, in_single, legacy_reduction, reduced

PUBLIC = {
    "": "cosine_similarity pairwise_distance",
    "nn.functional": """cosine_embedding_loss cosine_similarity hinge_embedding_loss margin_ranking_loss pairwise_distance
        triplet_margin_loss triplet_margin_with_distance_loss""",
}


@in_single
def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosine of the angle between vectors: their product over their lengths (at least eps).

    >>> torch.nn.functional.cosine_similarity(torch.tensor([[1., 2.]]), torch.tensor([[2., 1.]]))
    tensor([0.8000])
    """
    check_tensor("cosine_similarity", x1, "x1")
    check_tensor("cosine_similarity", x2, "x2", 2)
    common = dtypes.result_dtype((x1, x2))
    if not common.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {common.title}")
    from tensorgrad import broadcast_tensors

    dim_of(dim, max(len(x1._spec.shape), len(x2._spec.shape)))
    x1, x2 = (x if x._spec.dtype is common else x.to(common) for x in broadcast_tensors(x1, x2))
    first, second = (_length(x, dim, eps) for x in (x1, x2))
    return ((x1 / first) * (x2 / second)).sum(dim)


def _length(x, dim, eps):
    """At least eps; where it is cut off, it is still differentiated as the length, as in PyTorch."""
    length = x.norm(2, dim, keepdim=True)
    return length + (length.detach().clamp(min=eps) - length.detach())


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The p-norm of the difference, plus eps, along the last dimension.

    >>> torch.nn.functional.pairwise_distance(torch.tensor([[1., 2.]]), torch.tensor([[4., 6.]]))
    tensor([5.0000])
    """
    check_tensor("pairwise_distance", x1, "x1")
    check_tensor("pairwise_distance", x2, "x2", 2)
    return (x1 - x2 + eps).norm(p, max(len(x1._spec.shape), len(x2._spec.shape)) - 1, keepdim=keepdim)


COSINE_EPS = 1e-12


@in_single
def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """1 - cosine for pairs that belong together (target 1), the cosine above the margin for those that do not (-1).

    >>> F = torch.nn.functional
    >>> F.cosine_embedding_loss(torch.tensor([[1., 2.]]), torch.tensor([[2., 1.]]), torch.tensor([1]))
    tensor(0.2000)
    """
    for position, (word, tensor) in enumerate((("input1", input1), ("input2", input2), ("target", target))):
        check_tensor("cosine_embedding_loss", tensor, word, position + 1)
    reduction = legacy_reduction(size_average, reduce, reduction)
    rank = len(target._spec.shape)
    if rank > 1:
        raise RuntimeError(f"0D or 1D target tensor expected, multi-target not supported, got {rank}D")
    if len(input1._spec.shape) != rank + 1 or len(input2._spec.shape) != rank + 1:
        raise RuntimeError(
            f"{rank}D target tensor expects {rank + 1}D input tensors, but found inputs with sizes {list(input1.shape)} and "
            f"{list(input2.shape)}."
        )
    product = (input1 * input2).sum(rank)
    sizes = ((x * x).sum(rank) + COSINE_EPS for x in (input1, input2))
    cosine = product / (next(sizes) * next(sizes)).sqrt()
    loss = (1 - cosine).masked_fill(target != 1, 0) + (cosine - margin).clamp_min(0).masked_fill(target != -1, 0)
    return reduced(loss, reduction)


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """The input for pairs that belong together (target 1), what it lacks to the margin for those that do not (-1).

    >>> torch.nn.functional.hinge_embedding_loss(torch.tensor([0.5, 0.25]), torch.tensor([1, -1]), reduction="none")
    tensor([0.5000, 0.7500])
    """
    check_tensor("hinge_embedding_loss", input)
    check_tensor("hinge_embedding_loss", target, "target", 2)
    reduction = legacy_reduction(size_average, reduce, reduction)
    zeros = input.new_zeros(())
    far = (margin - input).clamp_min(0).where(target != 1, zeros)
    return reduced(far + input.where(target != -1, zeros), reduction)


def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """By how much the first lacks the margin over the second (target 1), or the second over the first (-1).

    >>> torch.nn.functional.margin_ranking_loss(torch.tensor([1.]), torch.tensor([3.]), torch.tensor([1]), margin=1)
    tensor(3.)
    """
    for position, (word, tensor) in enumerate((("input1", input1), ("input2", input2), ("target", target))):
        check_tensor("margin_ranking_loss", tensor, word, position + 1)
    reduction = legacy_reduction(size_average, reduce, reduction)
    if not len(input1._spec.shape) == len(input2._spec.shape) == len(target._spec.shape):
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
            f"{input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)


# Triples


def _triple_loss(anchor, positive, negative, distance, margin, swap, reduction):
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    ranks = [len(check_tensor("triplet_margin_loss", x)._spec.shape) for x in (anchor, positive, negative)]
    if len(set(ranks)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {ranks[0]}D, positive {ranks[1]}D, and negative {ranks[2]}D inputs"
        )
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduced((margin + near - far).clamp_min(0), reduction)


@in_single
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None,
                        reduction="mean"):  # fmt: skip
    """By how much the positive lacks the margin of being nearer to the anchor than the negative is; with `swap`, also nearer
    than the negative is to the positive.

    >>> a, b, c = (torch.tensor([[x]]) for x in (0., 1., 3.)); torch.nn.functional.triplet_margin_loss(a, b, c, margin=4.)
    tensor(2.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    return _triple_loss(
        anchor, positive, negative, lambda x, y: pairwise_distance(x, y, p, eps), margin, swap, reduction
    )


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False,
                                      reduction="mean"):  # fmt: skip
    """triplet_margin_loss with any distance, pairwise_distance if none is given.

    >>> F, (a, b, c) = torch.nn.functional, (torch.tensor([[x]]) for x in (0., 1., 3.))
    >>> F.triplet_margin_with_distance_loss(a, b, c, distance_function=lambda x, y: (x - y).abs(), margin=4.)
    tensor(2.)
    """
    return _triple_loss(anchor, positive, negative, distance_function or pairwise_distance, margin, swap, reduction)
