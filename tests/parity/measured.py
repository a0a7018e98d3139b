"""Derivatives measured on PyTorch's function by central differences: who is right where PyTorch contradicts itself.

Asked only when a derivative in double precision differs, and believed only when what the subject gives agrees with what is
measured and what PyTorch gives does not, by far.
"""

import torch

STEP = 1e-6
CLOSE = 1e-6  # of the largest number: how near the subject must be to what is measured
FAR = 10.0  # how many times farther PyTorch must be


def moved_along(pair, function, sample, directions):
    """(outputs a step ahead - outputs a step behind) / two steps, for a direction of each input that requires gradients."""

    def at(step):
        left = list(directions)

        def shifted(original, copy):
            return copy.detach() + step * left.pop(0) if original.requires_grad else copy.detach()

        with torch.no_grad():
            output, _ = pair.call(pair.reference, function, sample, on_tensor=shifted)
        return [t.detach().clone() for t in pair.reference.tensors(output)]

    return [(ahead - behind) / (2 * STEP) for ahead, behind in zip(at(STEP), at(-STEP))]


def error(value, measured):
    """The largest difference, infinite where one is no number."""
    if not measured.numel() or value.is_complex() != measured.is_complex():
        return float("inf")
    difference = (value.detach().resolve_conj() - measured).abs().max().item()
    return difference if difference == difference else float("inf")


def contradicted(theirs, ours, measured, rough=0.0):
    """Whether the subject is right and PyTorch is not."""
    if theirs is None or theirs.shape != ours.shape or theirs.shape != measured.shape:
        return False
    apart = (theirs.detach() - ours.detach()).resolve_conj().abs().nan_to_num(nan=float("inf"))
    disputed = apart >= 0.1 * apart.max() if apart.numel() else apart > 0
    wrong, right = error(theirs[disputed], measured[disputed]), error(ours[disputed], measured[disputed])
    scale = max(measured.abs().max().item(), 1.0) if measured.numel() else 1.0
    return right <= max(CLOSE, rough) * scale and wrong > FAR * right


def along(gradient, direction):
    """How fast a sum moves whose gradient this is."""
    return torch.sum(gradient.conj() * direction).real.reshape(1)


def gradient_contradicted(pair, function, sample, plan, which, theirs, ours):
    """The same for the gradient of one input, along a few directions."""
    from .checks import raised_plan, raised_sample

    leaves = pair.reference.tensors([sample.input, sample.args, sample.kwargs])
    if not all(t.dtype.is_floating_point or t.dtype.is_complex for t in leaves):
        return False
    rough = 16 * torch.finfo(theirs.dtype).eps
    sample, plan = raised_sample(sample), raised_plan(plan)
    leaves = [t for t in pair.reference.tensors([sample.input, sample.args, sample.kwargs]) if t.requires_grad]
    theirs, ours = theirs.to(leaves[which].dtype), ours.to(leaves[which].dtype)
    generator = torch.Generator().manual_seed(4)
    pairs = []
    for _ in range(3):
        directions = [torch.zeros_like(leaf).detach() for leaf in leaves]
        directions[which] = torch.randn(leaves[which].shape, dtype=leaves[which].dtype, generator=generator)
        moved = moved_along(pair, function, sample, directions)
        total = sum(along(c.detach(), moved[i]) for i, c in zip(plan["which"], plan["cotangents"]))
        pairs.append((along(theirs.detach(), directions[which]), along(ours.detach(), directions[which]), total))
    return contradicted(*(torch.cat(column) for column in zip(*pairs)), rough)


def second_contradicted(pair, function, sample, plan, which, theirs, ours):
    """The same for the second gradient of one input: how PyTorch's first gradients move."""
    leaves = [t for t in pair.reference.tensors([sample.input, sample.args, sample.kwargs]) if t.requires_grad]
    if which >= len(leaves) or any(t.dtype not in (torch.float64, torch.complex128) for t in leaves):
        return False

    def first(directions, step):
        left, shifted = list(directions), []

        def shift(original, copy):
            if not original.requires_grad:
                return copy
            shifted.append((copy.detach() + step * left.pop(0)).requires_grad_())
            return shifted[-1]

        output, _ = pair.call(pair.reference, function, sample, on_tensor=shift)
        outputs = pair.reference.tensors(output)
        cotangents = [c.detach() for c in plan["cotangents"]]
        gradients = torch.autograd.grad([outputs[i] for i in plan["which"]], shifted, cotangents, allow_unused=True)
        pairs = [(gradients[i], d) for i, d in zip(plan["again"], plan["directions"]) if gradients[i] is not None]
        return sum(along(gradient, direction) for gradient, direction in pairs)

    generator = torch.Generator().manual_seed(5)
    rows = []
    for _ in range(3):
        directions = [torch.zeros_like(leaf).detach() for leaf in leaves]
        directions[which] = torch.randn(leaves[which].shape, dtype=leaves[which].dtype, generator=generator)
        moved = (first(directions, STEP) - first(directions, -STEP)) / (2 * STEP)
        rows.append((along(theirs.detach(), directions[which]), along(ours.detach(), directions[which]), moved))
    return contradicted(*(torch.cat(column) for column in zip(*rows)))
