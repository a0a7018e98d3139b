"""autocast and GradScaler: what is cast and what is not, steps that are skipped, and what is refused."""

import pickle

import pytest
from subject import IS_TORCH, raises, torch

nn, F = torch.nn, torch.nn.functional
half, single, double = torch.bfloat16, torch.float32, torch.float64


def test_products_are_computed_in_bfloat16():
    a, b, v = torch.rand(2, 2), torch.rand(2, 2), torch.rand(2)
    batch = torch.rand(3, 2, 2)
    with torch.autocast("cpu"):
        results = [a @ b, a.mm(b), torch.matmul(a, v), a @ v, v @ a, v @ v, batch @ batch, torch.bmm(batch, batch),
                   F.linear(a, b), F.linear(a, b, v), torch.addmm(v, a, b), torch.einsum("ij,jk", a, b),
                   torch.baddbmm(batch, batch, batch), torch.tensordot(a, b, 1), torch.linalg.multi_dot([a, b, v]),
                   F.conv1d(batch, batch), F.conv_transpose1d(batch, torch.rand(2, 3, 2)), F.prelu(a, v),
                   torch.linalg.vecdot(v, v)]  # fmt: skip
        assert [r.dtype for r in results] == [half] * len(results)
        others = [a + b, a.exp(), a.sum(), torch.softmax(a, 0), torch.mv(a, v), torch.dot(v, v), F.layer_norm(a, (2,))]
        assert [r.dtype for r in others] == [single] * len(others)
    assert (a @ b).dtype is single
    with torch.autocast("cpu", dtype=torch.float16):
        assert (a @ b).dtype is torch.float16


def test_operands_of_two_dtypes():
    a, b, v = torch.rand(2, 2), torch.rand(2, 2, dtype=half), torch.rand(2)
    with torch.autocast("cpu"):
        results = [a @ b, b @ a, torch.mm(a, b), b @ v, F.linear(b, a, v), F.linear(b, a), F.linear(a, b, v)]
        assert [r.dtype for r in results] == [half] * len(results)
        assert torch.cat([a, b]).dtype is single
        assert a.index_copy(0, torch.tensor([0]), b[:1]).dtype is single
        with raises(RuntimeError, "expected m1 and m2 to have the same dtype, but got: double != c10::BFloat16"):
            torch.mm(a.double(), b)
        with raises(RuntimeError, "expected m1 and m2 to have the same dtype, but got: long"):
            torch.mm(a.long(), b)
    with raises(RuntimeError, "expected m1 and m2 to have the same dtype, but got: float != c10::BFloat16"):
        a @ b


def test_what_needs_precision_is_computed_in_float32():
    x, y = torch.rand(2, 3, dtype=half), torch.rand(2, 3, dtype=half)
    square, classes = torch.eye(3, dtype=half), torch.tensor([0, 1])
    with torch.autocast("cpu"):
        results = [F.mse_loss(x, y), F.cross_entropy(x, classes), F.cross_entropy(x, y), F.nll_loss(x, classes),
                   F.l1_loss(x, y), F.smooth_l1_loss(x, y), F.binary_cross_entropy_with_logits(x, y),
                   F.triplet_margin_loss(x, y, x + 1), F.multi_margin_loss(x, classes), F.kl_div(x, y, reduction="sum"),
                   F.cosine_embedding_loss(x, y, torch.ones(2)), torch.prod(x), torch.linalg.inv(square),
                   torch.linalg.svdvals(square), square.inverse(), torch.quantile(x, 0.5), torch.trace(square),
                   torch.cdist(x, y), F.pad(x, (1, 1), "replicate"), F.avg_pool3d(torch.rand(1, 2, 2, 2), 2)]  # fmt: skip
        assert [r.dtype for r in results] == [single] * len(results)
        assert torch.fft.fft(x).dtype is torch.complex64
        others = [F.gelu(x), torch.softmax(x, 0), F.layer_norm(x, (3,)), x + y, x.sum()]
        assert [r.dtype for r in others] == [half] * len(others)


def test_float64_is_left_alone():
    a = torch.rand(2, 2, dtype=double)
    with torch.autocast("cpu"):
        assert (a @ a).dtype is double and F.mse_loss(a, a).dtype is double


def test_what_is_written_keeps_its_dtype():
    a, out = torch.full((2, 2), 1.001), torch.empty(2, 2)
    with torch.autocast("cpu"):
        torch.mm(a, torch.eye(2), out=out)
        assert torch.equal(out, a)  # not rounded to bfloat16 on the way
        assert a.addmm_(out, out).dtype is single


def test_parameters_keep_their_dtype_and_their_gradients():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    with torch.autocast("cpu", dtype=half):
        out = model(torch.rand(5, 3))
        loss = F.cross_entropy(out, torch.zeros(5, dtype=torch.int64))
    assert out.dtype is half and loss.dtype is single
    loss.backward()
    assert all(p.dtype is single and p.grad.dtype is single for p in model.parameters())


def test_a_parameter_is_cast_once():
    w, x = nn.Parameter(torch.rand(2, 2)), torch.rand(2, 2)
    with torch.autocast("cpu"):
        first, second = x @ w, x @ w
        assert first.grad_fn.next_functions[1][0] is second.grad_fn.next_functions[1][0]
        with torch.no_grad():
            x @ w
        assert (x @ w).requires_grad
    with torch.autocast("cpu", cache_enabled=False):
        assert (x @ w).grad_fn.next_functions[1][0] is not (x @ w).grad_fn.next_functions[1][0]
    with torch.no_grad():
        w.zero_()
    with torch.autocast("cpu"):
        assert (x @ w).abs().sum() == 0  # nothing is kept from one autocast to the next


def test_nesting_and_decorating():
    a = torch.rand(2, 2)
    with torch.autocast("cpu"):
        assert torch.is_autocast_enabled("cpu")
        with torch.autocast("cpu", enabled=False):
            assert not torch.is_autocast_enabled("cpu") and (a @ a).dtype is single
        with torch.autocast("cpu", dtype=torch.float16):
            assert (a @ a).dtype is torch.float16
        assert (a @ a).dtype is half and torch.get_autocast_dtype("cpu") is half

    @torch.autocast("cpu")
    def product(x):
        return x @ x

    assert product(a).dtype is half and not torch.is_autocast_enabled("cpu")
    with pytest.raises(ValueError), torch.autocast("cpu"):
        raise ValueError
    assert not torch.is_autocast_enabled("cpu")


def test_switches():
    a = torch.rand(2, 2)
    torch.set_autocast_enabled("cpu", True)
    try:
        assert (a @ a).dtype is half
    finally:
        torch.set_autocast_enabled("cpu", False)
    assert (a @ a).dtype is single
    assert torch.get_autocast_dtype("cuda") is torch.float16 and torch.amp.is_autocast_available("cpu")
    with pytest.warns(DeprecationWarning, match="Please use torch.is_autocast_enabled\\('cpu'\\) instead"):
        assert not torch.is_autocast_cpu_enabled()


def test_what_autocast_refuses():
    with raises(ValueError, "Expected `device_type` of type `str`, got: `<class 'int'>`"):
        torch.autocast(3)
    with raises(RuntimeError, "Expected one of cpu, cuda, ipu"):
        torch.autocast("foo")
    with pytest.warns(UserWarning, match="In CPU autocast, but the target dtype is not supported. Disabling autocast"):
        context = torch.autocast("cpu", dtype=single)
    with context:
        assert not torch.is_autocast_enabled("cpu")
    with pytest.warns(UserWarning, match="CUDA is not available"):
        torch.autocast("cuda")
    with pytest.warns(FutureWarning, match="Please use `torch.amp.autocast\\('cpu', args...\\)` instead"):
        torch.cpu.amp.autocast()


def test_functions_with_derivatives_of_their_own():
    seen = []

    class Cast(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=single)
        def forward(ctx, x):
            seen.append((x.dtype, torch.is_autocast_enabled("cpu")))
            return x * 2

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            seen.append(torch.is_autocast_enabled("cpu"))
            return g * 2

    class Kept(Cast):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu")
        def forward(ctx, x):
            seen.append((x.dtype, torch.is_autocast_enabled("cpu")))
            return x * 2

    for function in (Cast, Kept):
        x = torch.rand(2, dtype=half, requires_grad=True)
        with torch.autocast("cpu"):
            y = function.apply(x)
        y.sum().backward()
    assert seen == [(single, False), False, (half, True), True]


@pytest.mark.skipif(IS_TORCH, reason="PyTorch's vmap has other batching rules")
def test_inside_transforms():
    w, xs = torch.rand(2, 3), torch.rand(4, 3)
    with torch.autocast("cpu"):
        grads = torch.vmap(torch.func.grad(lambda x: (w @ x).float().sum()))(xs)
        assert torch.vmap(lambda x: w @ x)(xs).dtype is half
    assert grads.dtype is single and torch.allclose(grads, w.to(half).float().sum(0).expand(4, 3), atol=1e-2)


def test_functions_that_autocast_knows_can_be_pickled():
    for function in (F.cross_entropy, F.mse_loss, F.conv2d, F.triplet_margin_loss, torch.einsum, torch.linalg.inv):
        assert pickle.loads(pickle.dumps(function)) is function


def test_inference_mode():
    with torch.inference_mode(), torch.autocast("cpu"):
        layer = nn.Linear(2, 2)
        out = layer(torch.ones(1, 2))
        assert out.dtype is half and out.is_inference()


# GradScaler


def scaled_problem(**options):
    weight = torch.ones(2, requires_grad=True)
    return weight, torch.optim.SGD([weight], lr=0.1), torch.amp.GradScaler("cpu", **options)


def test_the_scale_grows_and_shrinks():
    weight, optimizer, scaler = scaled_problem(init_scale=8.0, growth_interval=2)
    scales = []
    for factor in (1.0, 1.0, float("inf"), float("nan"), 1.0, 1.0, 1.0):
        optimizer.zero_grad()
        before = weight.detach().clone()
        scaler.scale((weight * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
        moved = before - weight.detach()
        assert torch.allclose(moved, torch.full((2,), 0.1 if factor == 1.0 else 0.0))
    assert scales == [8.0, 16.0, 8.0, 4.0, 4.0, 8.0, 8.0]


def test_clipping_between():
    weight, optimizer, scaler = scaled_problem()
    scaler.scale((weight * torch.tensor([3.0, 4.0])).sum()).backward()
    scaler.unscale_(optimizer)
    assert weight.grad.tolist() == [3.0, 4.0]
    assert nn.utils.clip_grad_norm_([weight], 1.0).item() == 5.0
    scaler.step(optimizer)
    assert torch.allclose(weight, torch.tensor([0.94, 0.92]))


def test_one_optimizer_of_two_skips():
    a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    first, second = torch.optim.SGD([a], lr=1.0), torch.optim.SGD([b], lr=1.0)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(a.sum() + (b * float("inf")).sum()).backward()
    scaler.step(first)
    scaler.step(second)
    scaler.update()
    assert (a.item(), b.item(), scaler.get_scale()) == (0.0, 1.0, 32768.0)


def test_state_of_a_scaler():
    weight, optimizer, scaler = scaled_problem(init_scale=4.0, growth_interval=3)
    for _ in range(2):
        scaler.scale(weight.sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    state = scaler.state_dict()
    assert state == {
        "scale": 4.0,
        "growth_factor": 2.0,
        "backoff_factor": 0.5,
        "growth_interval": 3,
        "_growth_tracker": 2,
    }
    for other in (torch.amp.GradScaler("cpu"), pickle.loads(pickle.dumps(scaler))):
        other.load_state_dict(state)
        assert other.state_dict() == state
    off = torch.amp.GradScaler("cpu", enabled=False)
    assert off.state_dict() == {} and off.scale(3) == 3 and off.get_scale() == 1.0
    off.load_state_dict({})
    with raises(RuntimeError, "The source state dict is empty, possibly because it was saved from a disabled instance"):
        scaler.load_state_dict({})


def test_a_scaler_that_is_off_steps():
    weight, optimizer, scaler = scaled_problem(enabled=False)
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert torch.allclose(weight, torch.tensor([0.9, 0.9]))


def test_what_a_scaler_refuses():
    weight, optimizer, scaler = scaled_problem()
    for call in (lambda: scaler.step(optimizer), lambda: scaler.unscale_(optimizer), scaler.update):
        with raises(AssertionError, "but _scale is None.  This may indicate your script did not use scaler.scale"):
            call()
    with raises(ValueError, "outputs must be a Tensor or an iterable of Tensors"):
        scaler.scale(3)
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(optimizer)
    with raises(RuntimeError, "unscale_() has already been called on this optimizer since the last update()."):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with raises(RuntimeError, "step() has already been called since the last update()."):
        scaler.step(optimizer)
    with raises(RuntimeError, "unscale_() is being called after step()."):
        scaler.unscale_(optimizer)
    with raises(RuntimeError, "Closure use is not currently supported if GradScaler is enabled."):
        scaler.step(optimizer, closure=lambda: None)
    with raises(AssertionError, "The growth factor must be > 1.0."):
        torch.amp.GradScaler("cpu", growth_factor=1.0)
    with raises(AssertionError, "No inf checks were recorded for this optimizer."):
        other = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
        scaler.step(other)
    small = torch.ones(1, dtype=torch.float16, requires_grad=True)
    optimizer = torch.optim.SGD([small], lr=0.1)
    scaler.scale(small.sum()).backward()
    with raises(ValueError, "Attempting to unscale FP16 gradients."):
        scaler.step(optimizer)
