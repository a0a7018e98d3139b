"""nn.utils gives PyTorch's numbers: each program below runs under both, after the same seed."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

pytest.importorskip("torch.nn.utils.prune")

import tensorgrad  # noqa: E402


def model(lib, kind="linear"):
    nn = lib.nn
    if kind == "linear":
        return nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 4, bias=False))
    return nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ConvTranspose2d(4, 3, 2))


def after_backward(lib, scale=1.0):
    net = model(lib)
    (net(lib.randn(6, 5) * 10 * scale) ** 2).sum().backward()
    return net


def gradients(net):
    return [p.grad for p in net.parameters()]


def trained(lib, net, shape=(6, 5), steps=3):
    """The state and outputs after some training."""
    optimizer, outputs = lib.optim.SGD(net.parameters(), lr=0.05), []
    for _ in range(steps):
        optimizer.zero_grad()
        out = net(lib.randn(*shape))
        (out**2).mean().backward()
        optimizer.step()
        outputs.append(out)
    net.eval()
    return [*outputs, net(lib.ones(*shape)), *gradients(net), dict(net.state_dict())]


PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


@program
def clipping_by_norm(lib):
    results = []
    for norm_type in (1, 2.0, 3, float("inf"), 0.5):
        for max_norm in (0.1, 1e6):
            net = after_backward(lib)
            results += [lib.nn.utils.clip_grad_norm_(net.parameters(), max_norm, norm_type), *gradients(net)]
    net = after_backward(lib, float("nan"))
    results += [lib.nn.utils.clip_grad_norm_(net.parameters(), 1.0), *gradients(net)]
    net = after_backward(lib)
    total = lib.nn.utils.get_total_norm(gradients(net))
    lib.nn.utils.clip_grads_with_norm_(net.parameters(), 2.0, total)
    half = lib.ones(3, dtype=lib.bfloat16, requires_grad=True)
    (half * 3).sum().backward()
    return [*results, total, *gradients(net), lib.nn.utils.clip_grad_norm_(half, 1.0), half.grad,
            lib.nn.utils.clip_grad_norm_([half, *net.parameters()], 1.0), half.grad]  # fmt: skip


@program
def clipping_by_value(lib):
    net = after_backward(lib)
    lib.nn.utils.clip_grad_value_(net.parameters(), 0.5)
    return gradients(net)


@program
def vectors(lib):
    net = after_backward(lib)
    vector = lib.nn.utils.parameters_to_vector(net.parameters())
    vector.sum().backward()
    lib.nn.utils.vector_to_parameters(vector.detach() * 2, net.parameters())
    return [vector, *net.parameters(), *gradients(net)]


@program
def fusion(lib):
    results = []
    for transpose in (False, True):
        kind = lib.nn.ConvTranspose2d if transpose else lib.nn.Conv2d
        conv, norm = kind(2, 4, 3, bias=transpose).eval(), lib.nn.BatchNorm2d(4)
        norm(lib.randn(3, 4, 5, 5))
        norm.eval()
        fused = lib.nn.utils.fuse_conv_bn_eval(conv, norm, transpose)
        results += [fused.weight, fused.bias, fused(lib.randn(1, 2, 6, 6))]
    linear, norm = lib.nn.Linear(3, 4).eval(), lib.nn.BatchNorm1d(4)
    norm(lib.randn(8, 4))
    fused = lib.nn.utils.fuse_linear_bn_eval(linear, norm.eval())
    return [*results, fused.weight, fused.bias]


@program
def old_weight_norm(lib):
    results = []
    for dim in (0, 1, None):
        net = model(lib)
        lib.nn.utils.weight_norm(net[0], dim=dim)
        results += trained(lib, net)
        lib.nn.utils.remove_weight_norm(net[0])
        results += [dict(net.state_dict())]
    return results


@program
def old_spectral_norm(lib):
    results = []
    for kind, shape in (("linear", (6, 5)), ("conv", (2, 2, 6, 6))):
        net = model(lib, kind)
        lib.nn.utils.spectral_norm(net[0])
        lib.nn.utils.spectral_norm(net[2], n_power_iterations=2)
        results += trained(lib, net, shape)
        lib.nn.utils.remove_spectral_norm(net[0])
        results += [dict(net.state_dict())]
    return results


@program
def new_weight_norm(lib):
    results = []
    for dim in (0, 1, None):
        net = model(lib)
        lib.nn.utils.parametrizations.weight_norm(net[0], dim=dim)
        results += trained(lib, net)
        lib.nn.utils.parametrize.remove_parametrizations(net[0], "weight")
        results += [dict(net.state_dict()), str(net)]
    old = lib.nn.utils.weight_norm(lib.nn.Linear(2, 3))
    new = lib.nn.utils.parametrizations.weight_norm(lib.nn.Linear(2, 3))
    new.load_state_dict(old.state_dict())
    return [*results, dict(new.state_dict())]


@program
def new_spectral_norm(lib):
    results = []
    for kind, shape in (("linear", (6, 5)), ("conv", (2, 2, 6, 6))):
        net = model(lib, kind)
        lib.nn.utils.parametrizations.spectral_norm(net[0])
        lib.nn.utils.parametrizations.spectral_norm(net[2], n_power_iterations=2)
        lib.nn.utils.parametrizations.spectral_norm(net[0], "bias")
        results += [*trained(lib, net, shape), str(net)]
        lib.nn.utils.parametrize.remove_parametrizations(net[0], "weight", leave_parametrized=False)
        results += [dict(net.state_dict())]
    return results


@program
def orthogonal(lib):
    results = []
    for kind in ("matrix_exp", "cayley", "householder"):
        for sizes in ((4, 4), (5, 3), (3, 5)):
            for base in (True, False):
                net = lib.nn.Linear(*sizes)
                with lib.no_grad():
                    lib.nn.init.orthogonal_(net.weight)
                lib.nn.utils.parametrizations.orthogonal(net, orthogonal_map=kind, use_trivialization=base)
                results += [net.weight, *trained(lib, net, (6, sizes[0]))]
                if base or kind == "householder":
                    net.weight = lib.nn.init.orthogonal_(lib.empty(sizes[1], sizes[0]))
                    results += [net.weight]
    return results


def parts(lib):
    class Symmetric(lib.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

        def right_inverse(self, a):
            return a.triu()

    class Scaled(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = lib.nn.Parameter(lib.tensor(2.0))

        def forward(self, x):
            return x * self.scale

    return Symmetric, Scaled


@program
def own_parametrizations(lib):
    symmetric, scaled = parts(lib)
    net = model(lib)
    register = lib.nn.utils.parametrize.register_parametrization
    register(net[2], "weight", symmetric())
    register(net[2], "weight", scaled())
    results = [str(net), *trained(lib, net)]
    twin = lib.nn.Linear(4, 4, bias=False)
    lib.nn.utils.parametrize.transfer_parametrizations_and_params(net[2], twin)
    return [*results, twin.weight, str(twin), list(twin.state_dict())]


def pruned(lib, net, steps=2):
    results = [dict(net.state_dict()), [name for name, _ in net.named_parameters()]]
    return [*results, *trained(lib, net, steps=steps)]


@program
def pruning(lib):
    prune, results = lib.nn.utils.prune, []
    for method, options in (
        ("l1_unstructured", {"amount": 0.3}),
        ("l1_unstructured", {"amount": 5}),
        ("random_unstructured", {"amount": 0.4}),
        ("ln_structured", {"amount": 2, "n": 2, "dim": 0}),
        ("ln_structured", {"amount": 0.5, "n": 1, "dim": -1}),
        ("ln_structured", {"amount": 1, "n": float("-inf"), "dim": 1}),
        ("random_structured", {"amount": 2, "dim": 0}),
        ("identity", {}),
    ):
        net = model(lib)
        getattr(prune, method)(net[0], "weight", **options)
        results += pruned(lib, net)
        prune.l1_unstructured(net[0], "weight", amount=0.25)
        prune.random_structured(net[0], "weight", amount=1, dim=0)
        prune.ln_structured(net[0], "weight", amount=1, n=2, dim=1)
        results += pruned(lib, net)
        prune.remove(net[0], "weight")
        results += [dict(net.state_dict()), prune.is_pruned(net)]
    return results


@program
def pruning_together(lib):
    prune, net = lib.nn.utils.prune, model(lib)
    places = [(net[0], "weight"), (net[0], "bias"), (net[2], "weight")]
    prune.global_unstructured(places, prune.L1Unstructured, amount=0.4)
    results = pruned(lib, net)
    prune.global_unstructured(places, prune.L1Unstructured, amount=5, importance_scores={places[0]: lib.rand(4, 5)})
    prune.custom_from_mask(net[0], "bias", lib.tensor([1, 0, 1, 1]))
    prune.l1_unstructured(net[2], "weight", 3, importance_scores=lib.rand(4, 4))
    return [*results, *pruned(lib, net)]


@program
def initial_values(lib):
    init, results = lib.nn.init, []
    for dtype in (lib.float32, lib.float64):
        for bounds in ((0, 1, -2, 2), (0, 1, -0.1, 0.1), (0, 0.02, -2, 2), (5, 1, -2, 2), (0, 1, 2, 4)):
            results += [init.trunc_normal_(lib.empty(20, dtype=dtype), *bounds)]
        for name in ("uniform_", "normal_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_",
                     "orthogonal_"):  # fmt: skip
            results += [getattr(init, name)(lib.empty(5, 4, dtype=dtype)), lib.rand(2)]
        results += [init.sparse_(lib.empty(6, 3, dtype=dtype), 0.4), init.dirac_(lib.empty(4, 2, 3, dtype=dtype), 2)]
    return results


def plain(value):
    if isinstance(value, torch.Tensor):
        value = value.detach()
        return value.float().numpy() if value.dtype is torch.bfloat16 else value.numpy()
    return np.asarray(value.detach().float() if value.dtype is tensorgrad.bfloat16 else value.detach())


def same(theirs, ours, where):
    if isinstance(theirs, (list, tuple)):
        assert len(theirs) == len(ours), where
        for i, (a, b) in enumerate(zip(theirs, ours)):
            same(a, b, f"{where}[{i}]")
    elif isinstance(theirs, dict):
        assert list(theirs) == list(ours), where
        for key in theirs:
            same(theirs[key], ours[key], f"{where}[{key!r}]")
    elif isinstance(theirs, torch.Tensor):
        assert str(theirs.dtype).split(".")[1] == str(ours.dtype).split(".")[1], where
        assert theirs.requires_grad == ours.requires_grad, where
        np.testing.assert_allclose(plain(ours), plain(theirs), rtol=2e-4, atol=2e-5, err_msg=where)
    else:
        assert theirs == ours, where


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_numbers(name):
    results = []
    for lib in (torch, tensorgrad):
        lib.manual_seed(3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            results.append(PROGRAMS[name](lib))
    same(*results, name)
