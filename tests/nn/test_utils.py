"""nn.utils: clipping, parametrizations, pruning: how they behave, and what they refuse in PyTorch's words."""

import copy
import importlib
import pickle
import warnings

import pytest
from subject import IS_TORCH, raises, torch

nn, utils = torch.nn, torch.nn.utils
prune = importlib.import_module(f"{torch.__name__}.nn.utils.prune")
parametrize = utils.parametrize


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).T


class Exponential(nn.Module):
    def forward(self, x):
        return x.exp()

    def right_inverse(self, y):
        return y.log()


class RankOne(nn.Module):
    def forward(self, x, y):
        return x.unsqueeze(-1) @ y.unsqueeze(-2)

    def right_inverse(self, z):
        u, s, v = torch.linalg.svd(z, full_matrices=False)
        return u[:, 0] * s[0], v[0]


def with_gradient(*values):
    p = nn.Parameter(torch.zeros(len(values)))
    p.grad = torch.tensor(values)
    return p


def test_clipping_returns_the_norm_before():
    p, q = with_gradient(3.0, 0.0), with_gradient(4.0)
    assert utils.clip_grad_norm_([p, q], 1.0).item() == 5.0
    assert torch.allclose(p.grad, torch.tensor([0.6, 0.0])) and torch.allclose(q.grad, torch.tensor([0.8]))
    assert utils.clip_grad_norm_(p, 10.0).item() == pytest.approx(0.6)
    assert torch.allclose(p.grad, torch.tensor([0.6, 0.0]))  # small gradients stay as they are


def test_clipping_nothing():
    assert utils.clip_grad_norm_([], 1.0).item() == 0.0
    assert utils.clip_grad_norm_([nn.Parameter(torch.ones(1))], 1.0).item() == 0.0
    with pytest.warns(UserWarning, match="`parameters` is an empty generator, no gradient clipping will occur"):
        utils.clip_grad_norm_((p for p in ()), 1.0)
    with pytest.warns(FutureWarning, match="is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`"):
        utils.clip_grad_norm([], 1.0)


def test_clipping_nonfinite_gradients():
    p = with_gradient(float("inf"), 1.0)
    with raises(
        RuntimeError, "The total norm of order 2.0 for gradients from `parameters` is non-finite, so it cannot be"
    ):
        utils.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)
    assert p.grad[1] == 1.0
    utils.clip_grad_norm_(p, 1.0)
    assert p.grad[0].isnan() and p.grad[1] == 0.0


def test_clipping_counts_as_a_write():
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    p = nn.Parameter(torch.zeros(2))
    p.grad = y.detach()
    utils.clip_grad_norm_(p, 0.5)
    with raises(RuntimeError, "modified by an inplace operation"):
        y.sum().backward()


def test_vectors_share_memory():
    p, q = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(1, 2))
    vector = torch.arange(4.0)
    utils.vector_to_parameters(vector, [p, q])
    vector += 1
    assert q.tolist() == [[3.0, 4.0]]
    with raises(TypeError, "expected torch.Tensor, but got: int"):
        utils.vector_to_parameters(3, [p])
    with raises(RuntimeError, "shape '[2]' is invalid for input of size 1"):
        utils.vector_to_parameters(vector[:1], [p])


def test_skip_init_draws_nothing():
    before = torch.get_rng_state()
    layer = utils.skip_init(nn.Linear, 100, 3, dtype=torch.float64)
    assert torch.equal(torch.get_rng_state(), before)
    assert layer.weight.shape == (3, 100) and layer.weight.dtype is torch.float64 and layer.weight.requires_grad

    class Noisy(nn.Module):
        def __init__(self, device=None):
            super().__init__()
            self.noise = nn.Parameter(torch.rand(3, device=device))

    assert utils.skip_init(Noisy).noise.shape == (3,) and torch.equal(torch.get_rng_state(), before)
    with raises(RuntimeError, "Expected a Module; got <class 'int'>"):
        utils.skip_init(int)
    with raises(RuntimeError, "Module must support a 'device' arg to skip initialization"):
        utils.skip_init(nn.ReLU)
    assert nn.Linear(3, 3).weight.abs().sum() > 0  # others are filled again


def test_fusion_is_for_evaluation():
    with raises(AssertionError, "Fusion only for eval!"):
        utils.fuse_conv_bn_eval(nn.Conv1d(1, 1, 1), nn.BatchNorm1d(1).eval())
    with raises(AssertionError, "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got"):
        utils.fuse_linear_bn_eval(nn.Linear(2, 3).eval(), nn.BatchNorm1d(2).eval())


def test_stateless_is_deprecated():
    stateless = importlib.import_module(f"{torch.__name__}.nn.utils.stateless")
    with pytest.warns(FutureWarning, match="Please use `torch.func.functional_call` instead"):
        out = stateless.functional_call(
            nn.Linear(1, 1), {"weight": torch.ones(1, 1), "bias": torch.ones(1)}, torch.ones(1)
        )
    assert out.item() == 2.0


# Older normalizations


def test_older_weight_norm():
    with pytest.warns(FutureWarning, match="deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`"):
        layer = utils.weight_norm(nn.Linear(2, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with raises(RuntimeError, "Cannot register two weight_norm hooks on the same parameter weight"):
            utils.weight_norm(layer)
        with raises(ValueError, "The module passed to `WeightNorm` can't have uninitialized parameters"):
            utils.weight_norm(nn.LazyLinear(3))
    layer.weight_g.data.mul_(2)
    before = layer(torch.ones(2))
    assert torch.allclose(layer.weight.norm(dim=1, keepdim=True), layer.weight_g)
    assert torch.allclose(utils.remove_weight_norm(layer)(torch.ones(2)), before)
    with raises(ValueError, "weight_norm of 'weight' not found in Linear(in_features=2"):
        utils.remove_weight_norm(layer)


def test_older_spectral_norm():
    layer = utils.spectral_norm(nn.Linear(4, 3), n_power_iterations=20)
    layer(torch.ones(4))
    assert torch.linalg.matrix_norm(layer.weight, 2).item() == pytest.approx(1, abs=1e-4)
    state = layer.state_dict()
    assert dict(state._metadata[""])["spectral_norm"] == {"weight.version": 1}
    twin = utils.spectral_norm(nn.Linear(4, 3))
    twin.load_state_dict(copy.deepcopy(state))
    assert torch.equal(twin.eval()(torch.ones(4)), layer.eval()(torch.ones(4)))
    with raises(RuntimeError, "Cannot register two spectral_norm hooks on the same parameter weight"):
        utils.spectral_norm(layer)
    with raises(ValueError, "Expected n_power_iterations to be positive, but got n_power_iterations=0"):
        utils.spectral_norm(nn.Linear(2, 3), n_power_iterations=0)
    utils.remove_spectral_norm(layer)
    assert list(layer.state_dict()) == ["bias", "weight"] and not layer._forward_pre_hooks
    with raises(ValueError, "spectral_norm of 'weight' not found in Linear"):
        utils.remove_spectral_norm(layer)


def test_a_state_of_before_v_was_kept():
    layer = utils.spectral_norm(nn.Linear(4, 3), n_power_iterations=5)
    layer(torch.ones(4))
    layer.eval()
    state = layer.state_dict()
    state["weight"] = layer.weight.detach().clone()
    del state["weight_v"], state._metadata[""]["spectral_norm"]
    twin = utils.spectral_norm(nn.Linear(4, 3))
    twin.load_state_dict(state)
    twin.eval()
    assert torch.allclose(twin(torch.ones(4)), layer(torch.ones(4)), atol=1e-5)


# Parametrizations


def test_a_parametrized_module():
    layer = nn.Linear(3, 3)
    kept = layer.weight
    parametrize.register_parametrization(layer, "weight", Symmetric())
    assert type(layer).__name__ == "ParametrizedLinear" and isinstance(layer, nn.Linear)
    assert torch.equal(layer.weight, layer.weight.T)
    assert layer.parametrizations.weight.original is kept  # an optimizer made before goes on training it
    assert [name for name, _ in layer.named_parameters()] == ["bias", "parametrizations.weight.original"]
    assert parametrize.is_parametrized(layer) and parametrize.is_parametrized(layer, "weight")
    assert not parametrize.is_parametrized(layer, "bias")
    assert parametrize.type_before_parametrizations(layer) is nn.Linear
    layer(torch.ones(3)).sum().backward()
    assert kept.grad is not None
    with raises(RuntimeError, "parametrization Symmetric does not implement right_inverse."):
        layer.weight = torch.ones(3, 3)


def test_removing_a_parametrization():
    layer = parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    kept, value = layer.parametrizations.weight.original, layer.weight.detach().clone()
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and layer.weight is kept and torch.equal(layer.weight, value)
    assert not hasattr(layer, "parametrizations")
    parametrize.register_parametrization(layer, "weight", Exponential(), unsafe=True)
    start = layer.parametrizations.weight.original.detach().clone()
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    assert torch.equal(layer.weight, start) or start.isnan().any()
    with raises(ValueError, "does not have a parametrization on weight"):
        parametrize.remove_parametrizations(layer, "weight")


def test_two_tensors_of_one_module():
    layer = parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    parametrize.register_parametrization(layer, "bias", Exponential(), unsafe=True)
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer).__name__ == "ParametrizedLinear" and parametrize.is_parametrized(layer, "bias")
    layer.bias = torch.ones(3)
    assert torch.equal(layer.parametrizations.bias.original, torch.zeros(3))
    parametrize.remove_parametrizations(layer, "bias")
    assert type(layer) is nn.Linear and layer.bias.tolist() == [1, 1, 1]


def test_several_originals():
    layer = nn.Linear(4, 3)
    parametrize.register_parametrization(layer, "weight", RankOne())
    assert list(layer.parametrizations.weight._parameters) == ["original0", "original1"]
    assert torch.linalg.matrix_rank(layer.weight).item() == 1
    value = torch.ones(3, 4)
    layer.weight = value
    assert torch.allclose(layer.weight, value, atol=1e-5)
    with raises(ValueError, "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized"):
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    parametrize.remove_parametrizations(layer, "weight")
    assert isinstance(layer.weight, nn.Parameter) and torch.allclose(layer.weight, value, atol=1e-5)


def test_parametrized_buffers():
    module = nn.Module()
    module.register_buffer("scale", torch.ones(2))
    parametrize.register_parametrization(module, "scale", Exponential())
    assert list(module.state_dict()) == ["parametrizations.scale.original"] and module.scale.tolist() == [1, 1]
    assert not list(module.parameters())


def test_the_cache():
    calls = []

    class Counted(nn.Module):
        def forward(self, x):
            calls.append(1)
            return x + 1

    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Counted())
    calls.clear()
    with parametrize.cached():
        with parametrize.cached():
            first = layer.weight
        assert layer.weight is first
    assert len(calls) == 1 and layer.weight is not first


def test_what_a_parametrization_must_keep():
    class Wider(nn.Module):
        def forward(self, x):
            return torch.cat([x, x])

    class Double(nn.Module):
        def forward(self, x):
            return x.double()

    class Number(nn.Module):
        def forward(self, x):
            return 3

    class Wrong(nn.Module):
        def forward(self, x):
            return x

        def right_inverse(self, x):
            return 3

    register = parametrize.register_parametrization
    with raises(ValueError, "Registering a parametrization may not change the shape of the tensor"):
        register(nn.Linear(2, 2), "weight", Wider())
    with raises(ValueError, "may not change the dtype of the tensor", "unparametrized dtype: torch.float32"):
        register(nn.Linear(2, 2), "weight", Double())
    with raises(ValueError, "A parametrization must return a tensor. Got int."):
        register(nn.Linear(2, 2), "weight", Number())
    with raises(ValueError, "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got int"):
        register(nn.Linear(2, 2), "weight", Wrong())
    with raises(ValueError, "does not have a parameter, a buffer, or a parametrized element with name 'foo'"):
        register(nn.Linear(2, 2), "foo", Symmetric())
    layer = register(nn.Linear(2, 2), "weight", Symmetric())
    with raises(ValueError, "may not change the shape of the tensor, unless the `unsafe` flag", "module.weight.shape"):
        register(layer, "weight", Wider())
    assert register(nn.Linear(2, 2), "weight", Wider(), unsafe=True).weight.shape == (4, 2)


def test_copies_of_parametrized_modules():
    layer = parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    twin = copy.deepcopy(layer)
    assert torch.equal(twin.weight, layer.weight)
    twin.parametrizations.weight.original.data.add_(1)
    assert not torch.equal(twin.weight, layer.weight)
    with raises(RuntimeError, "Serialization of parametrized modules is only supported through state_dict()"):
        pickle.dumps(layer)
    if not IS_TORCH:  # PyTorch takes the property from the class that the copies share
        parametrize.remove_parametrizations(twin, "weight")
        assert parametrize.is_parametrized(layer) and layer.weight.shape == (3, 3)


def test_training_is_handed_down():
    layer = utils.parametrizations.spectral_norm(nn.Linear(3, 3)).eval()
    assert not layer.parametrizations.weight[0].training
    assert torch.equal(layer.weight, layer.weight)
    layer.train()
    assert layer.parametrizations.weight[0].training


def test_parametrized_modules_as_functions():
    layer = utils.parametrizations.weight_norm(nn.Linear(2, 2))
    weights = {name: torch.ones_like(p) for name, p in layer.named_parameters()}
    out = torch.func.functional_call(layer, weights, torch.ones(2))
    assert torch.allclose(out, torch.full((2,), 2 / 2**0.5 + 1))


def test_orthogonal_errors():
    orthogonal = utils.parametrizations.orthogonal
    with raises(ValueError, "has no parameter or buffer with name 'foo'"):
        orthogonal(nn.Linear(2, 2), "foo")
    with raises(ValueError, "Expected a matrix or batch of matrices. Got a tensor of 1 dimensions."):
        orthogonal(nn.Linear(2, 2), "bias")
    with raises(ValueError, 'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: foo'):
        orthogonal(nn.Linear(2, 2), orthogonal_map="foo")
    with raises(ValueError, "The householder parametrization does not support complex tensors."):
        orthogonal(nn.Linear(2, 2, dtype=torch.complex64), orthogonal_map="householder")
    layer = orthogonal(nn.Linear(2, 2), use_trivialization=False)
    with raises(NotImplementedError, "It is not possible to assign to the matrix exponential or the Cayley"):
        layer.weight = torch.eye(2)
    with raises(ValueError, "Expected a matrix or batch of matrices of shape"):
        layer.weight = torch.eye(3)


# Pruning


def test_pruned_numbers_stay_zero():
    layer = prune.l1_unstructured(nn.Linear(4, 4), "weight", amount=6)
    zeros = layer.weight == 0
    assert int(zeros.sum()) == 6 and prune.is_pruned(nn.Sequential(layer))
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        layer(torch.ones(4)).sum().backward()
        optimizer.step()
        layer(torch.ones(4))
    assert bool((layer.weight[zeros] == 0).all())
    assert bool((layer.weight_orig.grad[zeros] == 0).all())


def test_methods_in_a_container():
    layer = nn.Linear(4, 4)
    prune.l1_unstructured(layer, "weight", amount=4)
    prune.random_unstructured(layer, "weight", amount=0.5)
    (hook,) = layer._forward_pre_hooks.values()
    assert isinstance(hook, prune.PruningContainer) and len(hook) == 2
    assert isinstance(hook[0], prune.L1Unstructured) and isinstance(list(hook)[1], prune.RandomUnstructured)
    assert int(layer.weight_mask.sum()) == 6
    prune.remove(layer, "weight")
    assert not prune.is_pruned(layer) and int((layer.weight == 0).sum()) == 10


def test_what_pruning_refuses():
    with raises(ValueError, "amount=17 should be smaller than the number of parameters to prune=16"):
        prune.l1_unstructured(nn.Linear(4, 4), "weight", amount=17)
    with raises(ValueError, "amount=1.5 should either be a float in the range [0, 1] or a non-negative integer"):
        prune.l1_unstructured(nn.Linear(4, 4), "weight", amount=1.5)
    with raises(TypeError, "Invalid type for amount: a. Must be int or float."):
        prune.l1_unstructured(nn.Linear(4, 4), "weight", amount="a")
    with raises(ValueError, "Structured pruning can only be applied to multidimensional tensors"):
        prune.ln_structured(nn.Linear(4, 4), "bias", 1, n=2, dim=0)
    with raises(IndexError, "Invalid index 3 for tensor of size torch.Size([4, 4])"):
        prune.ln_structured(nn.Linear(4, 4), "weight", 1, n=2, dim=3)
    with raises(ValueError, "Parameter 'weight' of module Linear", "has to be pruned before pruning can be removed"):
        prune.remove(nn.Linear(4, 4), "weight")
    with raises(AssertionError, "importance_scores should have the same shape as parameter weight of Linear"):
        prune.l1_unstructured(nn.Linear(4, 4), "weight", 1, importance_scores=torch.ones(3))
    with raises(TypeError, 'Only "unstructured" PRUNING_TYPE supported'):
        prune.global_unstructured([(nn.Linear(4, 4), "weight")], prune.LnStructured, amount=1, n=2)
    with raises(TypeError, "global_unstructured(): parameters is not an Iterable"):
        prune.global_unstructured(3, prune.L1Unstructured)


def test_a_failed_pruning_changes_nothing():
    layer = nn.Linear(4, 4)
    weight = layer.weight
    with raises(AssertionError, "default_mask shape", "must match self.mask shape"):
        prune.custom_from_mask(layer, "weight", torch.ones(3))
    assert layer.weight is weight and sorted(layer.state_dict()) == ["bias", "weight"] and not layer._forward_pre_hooks
