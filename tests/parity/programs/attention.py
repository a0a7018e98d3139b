"""Attention by hand, with a causal mask, several heads, einsum and matmul forms."""

import math


def main(torch):
    batch, length, heads, size = 2, 5, 2, 4
    x = torch.randn(batch, length, heads * size)
    weights = [(torch.randn(heads * size, heads * size) / 4).requires_grad_() for _ in range(4)]

    def split(t):
        return t.view(batch, length, heads, size).transpose(1, 2)

    def attend(x):
        q, k, v = (split(x @ w) for w in weights[:3])
        scores = q @ k.transpose(-2, -1) / math.sqrt(size)
        mask = torch.arange(length)[:, None] >= torch.arange(length)
        scores = scores.masked_fill(~mask, float("-inf"))
        probabilities = scores.softmax(-1)
        mixed = (probabilities @ v).transpose(1, 2).reshape(batch, length, heads * size)
        return mixed @ weights[3], probabilities

    def attend_by_einsum(x):
        q, k, v = ((x @ w).view(batch, length, heads, size) for w in weights[:3])
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * size**-0.5
        scores = torch.where(torch.arange(length)[:, None] >= torch.arange(length), scores, -torch.inf)
        mixed = torch.einsum("bhqk,bkhd->bqhd", torch.softmax(scores, dim=-1), v)
        return mixed.flatten(2) @ weights[3]

    output, probabilities = attend(x)
    other = attend_by_einsum(x)
    print(torch.allclose(output, other, atol=1e-5), probabilities.sum(-1).min().item() > 0.999)
    (output**2).mean().backward()
    first = [w.grad.clone() for w in weights]
    for w in weights:
        w.grad = None
    (other**2).mean().backward()
    agree = [torch.allclose(a, w.grad, atol=1e-5) for a, w in zip(first, weights, strict=True)]
    shapes = [split(x @ weights[0]).stride(), probabilities.stride()]
    return [output, probabilities[0, 0].detach(), *first, agree, shapes, lambda: x @ torch.ones(3, 3)]
