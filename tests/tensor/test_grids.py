"""grid_sample against sampling pixel by pixel as its documentation says, and finite differences."""

import itertools
import math

import pytest

import tensorgrad as torch

F = torch.nn.functional
CUBIC = -0.75


def reflected(at, low, high):
    while at < low or at > high:
        at = 2 * low - at if at < low else 2 * high - at
    return at


def one_line(place, size, mode, padding, align):
    """[(pixel or None, weight)] of one place along one dimension."""
    at = (place + 1) / 2 * (size - 1) if align else ((place + 1) * size - 1) / 2

    def bounded(at):
        if padding == "reflection":
            at = reflected(at, 0, size - 1) if align else reflected(at, -0.5, size - 0.5)
        return at if padding == "zeros" else min(max(at, 0), size - 1)

    if mode != "bicubic":
        at = bounded(at)
    first = math.floor(at)
    if mode == "nearest":
        pairs = [(round(at), 1.0)]
    elif mode == "bilinear":
        pairs = [(first, first + 1 - at), (first + 1, at - first)]
    else:
        pairs = []
        for pixel in range(first - 1, first + 3):
            x = abs(at - pixel)
            near = (CUBIC + 2) * x**3 - (CUBIC + 3) * x**2 + 1
            weight = near if x <= 1 else CUBIC * (x**3 - 5 * x**2 + 8 * x - 4)
            pairs.append((math.floor(bounded(pixel)), weight))
    return [(pixel if 0 <= pixel < size else None, weight) for pixel, weight in pairs]


def sampled(image, place, mode, padding, align):
    total = 0.0
    lines = [one_line(p, n, mode, padding, align) for p, n in zip(place[::-1], image.shape, strict=True)]
    for taps in itertools.product(*lines):
        pixels, weights = zip(*taps, strict=True)
        if None not in pixels:
            total += image[pixels] * math.prod(weights)
    return total


@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize(
    ("mode", "dims"), [("bilinear", 2), ("nearest", 2), ("bicubic", 2), ("bilinear", 3), ("nearest", 3)]
)
def test_every_place(mode, dims, padding, align):
    torch.manual_seed(1)
    sizes = (3, 4, 2)[:dims]
    x = torch.randn(2, 2, *sizes, dtype=torch.float64, requires_grad=True)
    grid = (torch.rand(2, *[1] * (dims - 1), 3, dims, dtype=torch.float64) * 4 - 2).requires_grad_()
    got = F.grid_sample(x, grid, mode, padding, align)
    for n, c, *where in itertools.product(*map(range, got.shape)):
        want = sampled(x[n, c].detach().numpy(), grid[(n, *where)].tolist(), mode, padding, align)
        assert got[(n, c, *where)].item() == pytest.approx(want, abs=1e-12)
    sample = lambda x, grid: F.grid_sample(x, grid, mode, padding, align)
    assert torch.autograd.gradcheck(sample, (x, grid), fast_mode=True)
    if align and (mode, padding) in (("bilinear", "zeros"), ("bicubic", "reflection")):
        assert torch.autograd.gradgradcheck(sample, (x, grid), fast_mode=True)


def test_transforms():
    torch.manual_seed(2)
    x, grid = torch.randn(3, 2, 1, 4, 4, dtype=torch.float64), torch.rand(3, 2, 2, 2, 2, dtype=torch.float64)
    sample = lambda x, grid: F.grid_sample(x, grid, align_corners=False)
    rows = torch.stack([sample(a, b) for a, b in zip(x, grid, strict=True)])
    assert torch.allclose(torch.vmap(sample)(x, grid), rows)
    assert torch.allclose(torch.vmap(sample, (0, None))(x, grid[0]), torch.stack([sample(a, grid[0]) for a in x]))
    _, moved = torch.func.jvp(sample, (x[0], grid[0]), (x[1], grid[1]))
    step = 1e-6
    ahead, behind = (sample(x[0] + s * x[1], grid[0] + s * grid[1]) for s in (step, -step))
    assert torch.allclose(moved, (ahead - behind) / (2 * step), atol=1e-7)
    grad = torch.func.grad(lambda x, grid: sample(x, grid).sin().sum(), argnums=1)
    assert torch.allclose(torch.vmap(grad)(x, grid), torch.stack([grad(a, b) for a, b in zip(x, grid, strict=True)]))


def test_places_that_are_no_numbers():
    x = torch.tensor([[[[1.0, 2.0, 3.0]]]])
    grid = torch.tensor([[[[math.nan, 0.0], [math.inf, 0.0], [-math.inf, 0.0]]]])
    assert F.grid_sample(x, grid, align_corners=True, padding_mode="border").tolist() == [[[[1, 3, 1]]]]
    assert F.grid_sample(x, grid, align_corners=True).tolist() == [[[[1, 0, 0]]]]


def test_a_grid_moved_by_nothing_gives_the_image_back():
    x = torch.arange(12.0).reshape(1, 1, 3, 4)
    for align in (True, False):
        grid = F.affine_grid(torch.tensor([[[1.0, 0, 0], [0, 1, 0]]]), x.shape, align)
        assert torch.allclose(F.grid_sample(x, grid, align_corners=align), x, atol=1e-5)
    volume = x.reshape(1, 1, 2, 3, 2)
    grid = F.affine_grid(torch.eye(4)[None, :3], volume.shape, False)
    assert torch.allclose(F.grid_sample(volume, grid, align_corners=False), volume, atol=1e-5)
    theta = torch.randn(2, 2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda theta: F.affine_grid(theta, (2, 1, 2, 3), False), theta)


def test_errors():
    x, grid = torch.zeros(2, 3, 4, 5), torch.zeros(2, 6, 7, 2)
    for call, message in (
        (lambda: F.grid_sample(x, grid[:1], align_corners=False), "same batch size"),
        (lambda: F.grid_sample(x, grid[..., :1], align_corners=False), "to have size 2 in last dimension"),
        (lambda: F.grid_sample(x[:, :, :0], grid, align_corners=False), "non-empty spatial dimensions"),
        (lambda: F.grid_sample(x, grid.double(), align_corners=False), "expected scalar type Float but found Double"),
        (lambda: torch.grid_sampler(x, grid, 7, 0, False), "interpolation_mode must be"),
    ):
        with pytest.raises(RuntimeError, match=message):
            call()
    for call, message in (
        (lambda: F.grid_sample(x, grid, "cubic"), "expected mode to be"),
        (lambda: F.affine_grid(torch.zeros(2, 2, 3), (2, 3, 0, 2), False), "Expected non-zero, positive output size"),
        (lambda: F.affine_grid(torch.zeros(2, 3), (2, 3, 2, 2), False), "Expected a batch of 2D affine matrices"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
