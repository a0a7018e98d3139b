"""Attention: closed forms, gradients against finite differences, and how much memory long sequences take."""

import math
import tracemalloc

import pytest
from subject import IS_TORCH, close, raises, torch

F = torch.nn.functional
attend = F.scaled_dot_product_attention


def leaf(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def test_equal_scores_give_the_mean_of_what_is_seen():
    q, k, v = torch.zeros(3, 2), torch.zeros(3, 2), torch.tensor([[1.0], [3.0], [8.0]])
    assert close(attend(q, k, v), [[4.0]] * 3)
    assert close(attend(q, k, v, is_causal=True), [[1.0], [2.0], [4.0]])
    seen = torch.tensor([[True, False, True], [False, True, False], [False, False, False]])
    assert close(attend(q, k, v, seen), [[4.5], [3.0], [0.0]])
    assert close(attend(q, k, v, torch.tensor([[0.0, math.log(3.0), -math.inf]])), [[2.5]] * 3)


def test_weights_are_the_softmax_of_scaled_scores():
    q, k, v = torch.tensor([[2.0]]), torch.tensor([[1.0], [-1.0]]), torch.tensor([[1.0], [0.0]])
    assert close(attend(q, k, v), [[1 / (1 + math.exp(-4))]])
    assert close(attend(q, k, v, scale=0.5), [[1 / (1 + math.exp(-2))]])


@pytest.mark.parametrize("causal", [False, True])
def test_gradients(causal):
    torch.manual_seed(0)
    leaves = leaf(2, 3, 2), leaf(2, 4, 2), leaf(2, 4, 3)
    assert torch.autograd.gradcheck(lambda q, k, v: attend(q, k, v, is_causal=causal), leaves)
    assert torch.autograd.gradgradcheck(lambda q, k, v: attend(q, k, v, is_causal=causal), leaves)


def test_gradients_of_masks_and_shared_heads():
    torch.manual_seed(0)
    leaves = leaf(1, 4, 3, 2), leaf(1, 2, 4, 2), leaf(1, 2, 4, 2), leaf(3, 4)
    assert torch.autograd.gradcheck(lambda *t: attend(*t, enable_gqa=True), leaves)
    hidden = torch.tensor([[True, False, True, True], [False] * 4, [True] * 4])
    assert torch.autograd.gradcheck(lambda q, k, v: attend(q, k, v, hidden, enable_gqa=True), leaves[:3])


@pytest.mark.skipif(IS_TORCH, reason="tracemalloc sees NumPy's memory only")
@pytest.mark.parametrize("causal", [False, True])
def test_long_sequences_never_hold_all_scores(causal):
    length = 4096
    q, k, v = (torch.ones(1, length, 8, requires_grad=True) for _ in range(3))
    tracemalloc.start()
    attend(q, k, v, is_causal=causal).sum().backward()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < length * length * 4 / 8  # all scores would be 64 MiB
    assert close(v.grad.sum(), float(length * 8), 1e-2 * length)


def test_blocks_give_what_one_block_gives(monkeypatch):
    torch.manual_seed(0)
    leaves = leaf(2, 3, 40, 2), leaf(2, 3, 50, 2), leaf(2, 3, 50, 2)
    found = []
    for size in (1 << 20, 900, 10):
        if not IS_TORCH:
            monkeypatch.setattr("tensorgrad.backends.attention.BLOCK", size)
        out = attend(*leaves, is_causal=True)
        found.append([out, *torch.autograd.grad(out.sin().sum(), leaves)])
    for other in found[1:]:
        assert all(close(a, b.tolist(), 1e-12) for a, b in zip(other, found[0], strict=True))


def test_multihead_attention_of_one_head_is_attention():
    torch.manual_seed(0)
    attention = torch.nn.MultiheadAttention(4, 1, batch_first=True, bias=False, dtype=torch.float64)
    x = leaf(2, 5, 4)
    q, k, v = F.linear(x, attention.in_proj_weight).chunk(3, -1)
    expected = attention.out_proj(attend(q, k, v))
    assert close(attention(x, x, x)[0], expected.tolist(), 1e-12)
    assert close(attention(x, x, x, need_weights=False)[0], expected.tolist(), 1e-12)


def test_mistakes():
    q = torch.zeros(2, 3, 4)
    with raises(RuntimeError, "Expected query, key, and value to have the same dtype"):
        attend(q, q.double(), q)
    with raises(RuntimeError, "at least 2 dimensional"):
        attend(q[0, 0], q, q)
    with raises(RuntimeError, "dropout probability has to be between 0 and 1, but got 2"):
        attend(q, q, q, dropout_p=2.0)
    with raises(TypeError):
        attend(q, q, q, None, 0.0, False, 0.5)


@pytest.mark.skipif(IS_TORCH, reason="PyTorch's compiler is not what is tested here")
@pytest.mark.parametrize("causal", [False, True])
def test_compiled_attention_is_eager_attention(causal):
    torch.manual_seed(0)
    found = []
    leaves = leaf(2, 2, 5, 3), leaf(2, 2, 5, 3), leaf(2, 2, 5, 3)
    run = lambda q, k, v: attend(q, k, v, is_causal=causal).sin().sum()
    for call in (run, torch.compile(run)):
        out = call(*leaves)
        found.append([out, *torch.autograd.grad(out, leaves)])
    assert all(close(a, b.tolist(), 1e-9) for a, b in zip(*found, strict=True))
