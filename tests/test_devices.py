"""Devices and libraries that are not there: questions are answered, settings are kept, the rest raises PyTorch's errors."""

import pytest
from subject import raises, torch

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")


def test_choosing_a_device():
    device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    assert torch.ones(1, device=device).device == torch.device("cpu")
    assert not torch.accelerator.is_available() and torch.accelerator.current_accelerator() is None
    assert not torch.xpu.is_available() and not torch.mps.is_available()
    assert torch.cuda.device_count() == 0 and torch.cpu.device_count() == 1


def test_what_has_nothing_to_do():
    torch.cuda.empty_cache()
    torch.cuda.manual_seed(1)
    torch.cuda.manual_seed_all(1)
    torch.cuda.seed_all()
    assert torch.cuda.get_rng_state_all() == [] and torch.cuda.memory_allocated() == 0
    assert torch.cuda.max_memory_allocated() == 0 and not torch.cuda.is_bf16_supported()
    with torch.cuda.device(-1), torch.cuda.stream(None), torch.cuda.device_of(torch.ones(1)):
        pass
    torch.cpu.synchronize()


def test_what_needs_a_gpu():
    for call in (torch.cuda.synchronize, torch.cuda.current_device, torch.cuda.get_device_name, torch.cuda.init,
                 torch.cuda.current_stream, torch.cuda.mem_get_info, lambda: torch.cuda.get_device_properties(0),
                 lambda: torch.ones(1).cuda(), lambda: torch.ones(1, device="cuda"),
                 lambda: torch.nn.Linear(1, 1).cuda()):  # fmt: skip
        with raises(AssertionError, "Torch not compiled with CUDA enabled"):
            call()
    with raises(TypeError, "type torch.cuda.FloatTensor not available. Torch not compiled with CUDA enabled."):
        torch.cuda.FloatTensor(2)
    assert not isinstance(torch.ones(1), torch.cuda.FloatTensor)
    with raises(RuntimeError, "torch.cuda.Stream requires CUDA support"):
        torch.cuda.Stream()
    with raises(RuntimeError, "Tried to instantiate dummy base class Event"):
        torch.cuda.Event(enable_timing=True)
    with raises(RuntimeError, "PyTorch was compiled without CUDA support"), torch.cuda.device(0):
        pass
    with raises(ValueError, "Expected a cuda device, but got: cpu"):
        torch.cuda.device("cpu")
    with raises(RuntimeError, "Cannot access accelerator device when none is available."):
        torch.accelerator.synchronize()


def test_settings_are_kept():
    cudnn = torch.backends.cudnn
    before = cudnn.deterministic
    try:
        cudnn.deterministic = True
        assert cudnn.deterministic and cudnn.version() is None
    finally:
        cudnn.deterministic = before
    with cudnn.flags(enabled=True, benchmark=True):
        assert cudnn.benchmark
    assert not cudnn.benchmark
    torch.backends.cuda.matmul.allow_tf32 = False
    with raises(AttributeError):
        torch.backends.cuda.matmul.nonsense
    torch.backends.cuda.enable_flash_sdp(True)
    assert torch.backends.cuda.flash_sdp_enabled() and not torch.backends.cuda.is_built()
    assert torch.backends.cpu.get_cpu_capability() in ("AVX512", "AVX2", "DEFAULT")


def test_choosing_a_kernel_for_attention():
    attention, q = __import__(f"{torch.__name__}.nn.attention", fromlist=["x"]), torch.rand(1, 1, 3, 4)
    expected = torch.nn.functional.scaled_dot_product_attention(q, q, q)
    for backend in (attention.SDPBackend.MATH, [attention.SDPBackend.FLASH_ATTENTION, attention.SDPBackend.MATH]):
        with attention.sdpa_kernel(backend):
            got = torch.nn.functional.scaled_dot_product_attention(q, q, q)
        assert torch.allclose(got, expected, atol=1e-6)
    with raises(RuntimeError, "No viable backend for scaled_dot_product_attention was found"), \
         attention.sdpa_kernel(attention.SDPBackend.CUDNN_ATTENTION):  # fmt: skip
        torch.nn.functional.scaled_dot_product_attention(q, q, q)


def test_data_parallel_without_gpus():
    layer = torch.nn.Linear(3, 2)
    model = torch.nn.DataParallel(layer)
    assert list(model.state_dict()) == ["module.weight", "module.bias"]
    assert torch.equal(model(torch.ones(4, 3)), layer(torch.ones(4, 3)))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_gradients_of_convolutions(n):
    x, w = torch.rand(2, 4, *[6] * n, requires_grad=True), torch.rand(6, 2, *[3] * n, requires_grad=True)
    options = {"stride": 2, "padding": 1, "groups": 2}
    out = getattr(torch.nn.functional, f"conv{n}d")(x, w, **options)
    g = torch.rand_like(out)
    expected = torch.autograd.grad(out, (x, w), g)
    grad = torch.nn.grad
    assert torch.allclose(getattr(grad, f"conv{n}d_input")(x.shape, w, g, **options), expected[0], atol=1e-5)
    assert torch.allclose(getattr(grad, f"conv{n}d_weight")(x, w.shape, g, **options), expected[1], atol=1e-4)
