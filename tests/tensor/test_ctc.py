"""ctc_loss against all alignments, counted one by one."""

import itertools

import numpy as np
import pytest

import tensorgrad as torch

ctc_loss = torch.nn.functional.ctc_loss


def counted(probs, target, blank=0):
    """The probability that a sequence of labels drawn by `probs` (time, classes) reads as `target`."""
    total = 0.0
    for labels in itertools.product(range(probs.shape[1]), repeat=len(probs)):
        told = [label for label, _ in itertools.groupby(labels) if label != blank]
        if told == list(target):
            total += np.prod([probs[t, label] for t, label in enumerate(labels)])
    return total


@pytest.fixture
def log_probs():
    torch.manual_seed(0)
    return torch.randn(5, 3, 3, dtype=torch.float64).log_softmax(2)


TARGETS = [[1, 2], [1, 1], [2]]
PADDED, JOINED, TIMES, LENGTHS = (
    torch.tensor([[1, 2], [1, 1], [2, 9]]),
    torch.tensor([1, 2, 1, 1, 2]),
    (5, 4, 3),
    (2, 2, 1),
)


@pytest.mark.parametrize("targets", [PADDED, JOINED])
def test_every_alignment_counts(log_probs, targets):
    probs = log_probs.exp().numpy()
    want = [-np.log(counted(probs[:time, n], TARGETS[n])) for n, time in enumerate(TIMES)]
    np.testing.assert_allclose(ctc_loss(log_probs, targets, TIMES, LENGTHS, reduction="none"), want, rtol=1e-12)
    assert ctc_loss(log_probs, targets, TIMES, LENGTHS, reduction="sum").item() == pytest.approx(sum(want))
    mean = np.mean(np.array(want) / LENGTHS)
    assert ctc_loss(log_probs, targets, TIMES, LENGTHS).item() == pytest.approx(mean)


def test_gradient_through_log_softmax_is_the_finite_difference(log_probs):
    x = log_probs.requires_grad_()
    loss = lambda x: ctc_loss(x.log_softmax(2), PADDED, TIMES, LENGTHS, reduction="none")
    assert torch.autograd.gradcheck(loss, x)
    t = torch.randn(x.shape, dtype=x.dtype)
    _, moved = torch.func.jvp(lambda x: loss(x).sum(), (x.detach(),), (t,))
    (g,) = torch.autograd.grad(loss(x).sum(), x)
    assert moved.item() == pytest.approx((g * t).sum().item())


def test_a_target_too_long_for_its_sequence(log_probs):
    x = log_probs.requires_grad_()
    loss = ctc_loss(x, PADDED, (5, 2, 3), LENGTHS, reduction="none")  # 1 1 needs three steps
    assert loss[1].item() == float("inf")
    (g,) = torch.autograd.grad(loss.sum(), x)
    assert g[:2, 1].isnan().all() and (g[2:, 1] == 0).all() and g[:, 0].isfinite().all()
    loss = ctc_loss(x, PADDED, (5, 2, 3), LENGTHS, reduction="none", zero_infinity=True)
    assert loss[1].item() == 0
    (g,) = torch.autograd.grad(loss.sum(), x)
    assert (g[:, 1] == 0).all() and g[:, 0].isfinite().all()


def test_an_empty_target_is_all_blanks(log_probs):
    loss = ctc_loss(log_probs, PADDED, (5, 0, 0), (0, 0, 1), reduction="none")
    np.testing.assert_allclose(loss, [-log_probs[:, 0, 0].sum().item(), 0, np.inf])


def test_one_sample_without_its_dimension(log_probs):
    one = ctc_loss(log_probs[:, 0], torch.tensor([1, 2]), torch.tensor(5), torch.tensor(2), reduction="none")
    assert one.shape == () and one == ctc_loss(log_probs, PADDED, TIMES, LENGTHS, reduction="none")[0]


def test_rows_of_vmap(log_probs):
    x = torch.stack([log_probs, log_probs.flip(0)])
    loss = lambda x: ctc_loss(x, PADDED, TIMES, LENGTHS)
    assert torch.equal(torch.vmap(loss)(x), torch.stack([loss(row) for row in x]))
    grad = torch.func.grad(loss)
    assert torch.equal(torch.vmap(grad)(x), torch.stack([grad(row) for row in x]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"blank": 3}, "blank must be in label range"),
        ({"input_lengths": (5, 6, 5)}, "Expected input_lengths to have value at most 5, but got value 6"),
        ({"target_lengths": (2, 2)}, "target_lengths must be of size batch_size"),
        ({"target_lengths": (2, 2, 3)}, "Expected tensor to have size at least 3 at dimension 1, but got size 2"),
        ({"targets": JOINED[:4]}, "Expected tensor to have size 5 at dimension 0, but got size 4"),
        ({"targets": PADDED + 7}, "targets must be in label range"),
    ],
)
def test_errors(log_probs, change, message):
    given = {"targets": PADDED, "input_lengths": TIMES, "target_lengths": LENGTHS, **change}
    with pytest.raises(RuntimeError, match=message):
        ctc_loss(log_probs, **given)
