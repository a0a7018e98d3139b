"""Operations that the compiler writes in its own way give what they give uncompiled, gradients and errors included."""

import numpy as np
import pytest

CASES = {
    "cross_entropy": "F.cross_entropy(x, t)",
    "cross_entropy sum": "F.cross_entropy(x, t, reduction='sum')",
    "cross_entropy none": "F.cross_entropy(x, t, reduction='none')",
    "cross_entropy weight": "F.cross_entropy(x, t, w, ignore_index=2)",
    "cross_entropy ignored": "F.cross_entropy(x, torch.where(t == 1, -100, t))",
    "cross_entropy smooth": "F.cross_entropy(x, t, label_smoothing=0.1)",
    "cross_entropy images": "F.cross_entropy(x.view(2, 3, 5, 1).transpose(1, 2), t.view(2, 3, 1))",
    "nll": "F.nll_loss(F.log_softmax(x, 1), t, w)",
    "nll none": "F.nll_loss(F.log_softmax(x, 1), t, reduction='none', ignore_index=0)",
    "layer_norm": "F.layer_norm(x, (5,), w, w + 1)",
    "layer_norm plain": "F.layer_norm(x.view(2, 3, 5), (3, 5))",
    "group_norm": "F.group_norm(x.view(3, 10)[:, :4].unsqueeze(-1), 2, w[:4], w[1:])",
    "batch_norm": "F.batch_norm(x, w * 0, w * 0 + 1, w, w + 1, training=True)",
    "batch_norm eval": "F.batch_norm(x, w.detach(), w.detach().abs(), w, w + 1)",
    "instance_norm": "F.instance_norm(x.view(2, 3, 5))",
    "rms_norm": "F.rms_norm(x, (5,), w)",
    "attention": "F.scaled_dot_product_attention(x.view(2, 3, 5), x.view(2, 3, 5) * 2, x.view(2, 3, 5) + w)",
    "attention causal": "F.scaled_dot_product_attention(x, x * 2, x[:, :2] + 1, is_causal=True)",
    "attention mask": "F.scaled_dot_product_attention(x, x[:4], x[:4], t.view(6, 1) >= torch.arange(4))",
    "attention float mask": "F.scaled_dot_product_attention(x, x[:4], x[:4], x[:, :4].detach(), scale=0.3)",
    "attention of shared keys": "F.scaled_dot_product_attention(x.view(2, 3, 5), x, x)",
    "embedding": "F.embedding(t, x)",
    "embedding padding": "F.embedding(t.view(2, 3), x, padding_idx=1)",
    "gather": "x.gather(1, t.view(6, 1))",
    "scatter": "x.scatter(1, t.view(6, 1), x[:, :1] * 2)",
    "masked_fill": "x.masked_fill(x > 0, 3.0)",
    "cat": "torch.cat([x, x * 2, w.view(1, 5)])",
    "stack": "torch.stack([x, x * 2], 1)",
    "where": "torch.where(x > w, x, w)",
    "clamp": "x.clamp(-0.5, 0.5)",
    "split": "torch.cat([p * i for i, p in enumerate(x.split(2, 1))], 1)",
    "max": "x.max(1).values + x.min(1).values",
    "amax": "x.amax(0)",
    "softmax": "F.softmax(x, 1) * w",
    "log_softmax": "F.log_softmax(x, 0)",
    "logsumexp": "x.logsumexp(1)",
    "var": "x.var(1) + x.std(1)",
    "norm": "x.norm() + torch.linalg.vector_norm(x, 1)",
    "prod": "x.prod(1)",
    "cumsum": "x.cumsum(1)",
    "gelu": "F.gelu(x) + F.gelu(x, approximate='tanh')",
    "activations": "F.silu(x) + F.softplus(x) + F.elu(x) + F.leaky_relu(x) + F.mish(x) + F.hardtanh(x) + F.relu6(x)",
    "losses": "F.mse_loss(x, x * w) + F.l1_loss(x, w) + F.smooth_l1_loss(x, w) + F.huber_loss(x, w)",
    "binary": "F.binary_cross_entropy_with_logits(x, w.sigmoid().expand(6, 5).detach())",
    "einsum": "torch.einsum('ij,kj->ik', x, x)",
    "matmul": "x @ x.t() @ x",
    "batched matmul": "x.view(2, 3, 5) @ x.view(2, 5, 3)",
    "matrix and vector": "x @ w + (w @ x.t()).sum()",
    "addmm": "torch.addmm(x[:, :3] * 2, x, x.t()[:, :3], beta=0.5, alpha=2)",
    "linear": "F.linear(x, x * w, x[:, 0])",
    "conv1d": "F.conv1d(x.view(2, 3, 5), x.view(2, 3, 5)[:, :, :3], padding=1)",
    "conv2d": "F.conv2d(x.view(1, 1, 6, 5), x.view(2, 1, 3, 5)[..., :3], w[:2], stride=2, padding=1)",
    "max_pool": "F.max_pool2d(x.view(1, 1, 6, 5), 2, padding=1)",
    "avg_pool": "F.avg_pool2d(x.view(1, 1, 6, 5), 2)",
    "flip roll": "x.flip(0) + x.roll(1, 1)",
    "triu": "x.triu() + x.tril(-1) * 2",
    "diagonal": "x.diagonal() * w",
    "index": "x[[0, 2, 2]] + x[:3, 1:2]",
    "sort": "x.sort(1).values * w",
    "pad": "F.pad(x, (1, 2), value=3.0)",
    "permute": "x.view(2, 3, 5).permute(2, 0, 1).reshape(10, 3)",
    "expand": "w.expand(6, 5) * x",
    "repeat": "w.repeat(6, 2)[:, :5] + x",
    "powers": "x.abs() ** 1.5 + x**3 + 2**x",
    "trigonometry": "x.sin() + x.cos() * x.tan() + x.atan() + torch.atan2(x, w)",
    "complex": "(x + 1j * w).abs()",
    "double": "x.double().exp().sum().float() + x.to(torch.bfloat16).float()",
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients(torch, name):
    torch.manual_seed(1)
    x, w = torch.randn(6, 5, requires_grad=True), torch.randn(5, requires_grad=True)
    t = torch.tensor([0, 2, 1, 4, 1, 3])
    code = compile(CASES[name], name, "eval")

    def f(x, w, t):
        return eval(code, {"x": x, "w": w, "t": t, "torch": torch, "F": torch.nn.functional})

    def run(call):
        for _ in range(2):
            x.grad = w.grad = None
            y = call(x, w, t)
            (y * torch.linspace(1, 2, y.numel()).view(y.shape)).sum().backward()
        return [y, x.grad, w.grad]

    def whole(x, w, t):
        """The backward pass inside."""
        x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
        y = f(x, w, t)
        grads = torch.autograd.grad(
            (y * torch.linspace(1, 2, y.numel()).view(y.shape)).sum(), (x, w), allow_unused=True
        )
        return [y.detach(), *grads]

    expected = run(f)
    for found in (run(torch.compile(f)), torch.compile(whole)(x, w, t)):
        for a, b in zip(found, expected):
            assert (a is None) is (b is None), name
            if b is not None:
                assert a.dtype == b.dtype and a.shape == b.shape
                np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=2e-5, atol=5e-6)


def test_indices_out_of_bounds(torch):
    F = torch.nn.functional
    x = torch.randn(3, 4)
    loss = torch.compile(lambda t: F.cross_entropy(x, t))
    loss(torch.tensor([0, 1, 2]))
    with pytest.raises(IndexError, match="Target 4 is out of bounds"):
        loss(torch.tensor([0, 4, 2]))
    with pytest.raises(IndexError, match="Target -1 is out of bounds"):
        loss(torch.tensor([0, -1, 2]))
    table = torch.compile(lambda t: F.embedding(t, x))
    with pytest.raises(IndexError, match="index out of range in self"):
        table(torch.tensor([3]))
    np.testing.assert_array_equal(table(torch.tensor([2])).numpy(), x[2:].numpy())


HALVES = ["softmax(x, 1)", "log_softmax(x, 1)", "gelu(x)", "silu(x)", "softplus(x)", "layer_norm(x, (4,))", "rms_norm(x, (4,))",
          "mse_loss(x, x * 2)", "cross_entropy(x, torch.arange(4))", "dropout(x, 0.5, False)", "smooth_l1_loss(x, x * 3)",
          "scaled_dot_product_attention(x, x, x)", "batch_norm(x, None, None, training=True)"]  # fmt: skip


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_half_types(torch, kind):
    """Computed in float32 and rounded once, as uncompiled."""
    F = torch.nn.functional
    x = torch.randn(4, 4).to(getattr(torch, kind))
    functions = [lambda x, text=text: eval("F." + text, {"F": F, "torch": torch, "x": x}) for text in HALVES]
    functions += [lambda x: x.sum(1), lambda x: x.amax(1), lambda x: x.var(), lambda x: x.logsumexp(1), lambda x: x.prod(0),
                  lambda x: x @ x, lambda x: (x > 0.5) * x, lambda x: torch.maximum(x, x.t()), lambda x: x.norm(),
                  lambda x: torch.where(x > 0, x, -x) / 3, lambda x: x.cumsum(0)]  # fmt: skip
    for f in functions:
        found, expected = torch.compile(f)(x), f(x)
        assert found.dtype is expected.dtype
        np.testing.assert_allclose(found.float().numpy(), expected.float().numpy(), rtol=1e-2, atol=2e-3)


def test_modes_are_part_of_a_program(torch):
    x, w = torch.randn(3, 3), torch.randn(3, 3)
    f = torch.compile(lambda x: x @ w)
    assert f(x).dtype is torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert f(x).dtype is torch.bfloat16
    with torch.inference_mode():
        assert f(x).is_inference()
    assert not f(x).is_inference() and f(x).dtype is torch.float32


def test_compiled_modules_are_copied(torch):
    import copy
    import pickle

    fast = torch.compile(torch.nn.Linear(3, 2))
    x = torch.randn(2, 3)
    for twin in (copy.deepcopy(fast), pickle.loads(pickle.dumps(fast))):
        np.testing.assert_array_equal(twin(x).detach().numpy(), fast(x).detach().numpy())
        assert twin.weight is not fast.weight


def test_custom_functions_hooks_and_checkpoints(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x * g

    def f(x):
        x = x.detach().requires_grad_()
        y = Square.apply(x)
        y.register_hook(lambda g: g * 2)
        z = torch.utils.checkpoint.checkpoint(torch.tanh, y, use_reentrant=False)
        z.sum().backward()
        return x.grad

    x = torch.randn(4)
    np.testing.assert_allclose(torch.compile(f)(x).numpy(), f(x).numpy(), rtol=1e-5, atol=1e-5)


def test_conversions(torch):
    """Numbers that do not fit become what they become uncompiled; all that is exact is no call of Python."""
    x = torch.tensor([1.5, -2.5, float("nan"), 1e20, -0.0, 300.0])

    def f(x):
        kinds = torch.float64, torch.int32, torch.uint8, torch.bool, torch.float16, torch.bfloat16
        return [x.to(kind) for kind in kinds]

    for found, expected in zip(torch.compile(f)(x), f(x), strict=True):
        assert found.dtype is expected.dtype and repr(found.tolist()) == repr(expected.tolist())
    exact = torch.compile(lambda x: (x > 0).to(torch.float32) + x.double().to(torch.float16))
    exact(x)
    steps = next(iter(exact.programs.values()))[0].program.plan.steps
    assert {type(step).__name__ for step in steps} == {"Loops"}
