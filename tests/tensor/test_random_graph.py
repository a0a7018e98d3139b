"""Random numbers and the graph: gradients, versions, checks of in-place fills, generators, and who may take a draw."""

import os
import subprocess
import sys
import threading

import pytest
import subject
from subject import raises, torch

FILLS = {
    "UniformBackward0": lambda x: x.uniform_(),
    "NormalBackward0": lambda x: x.normal_(),
    "RandomBackward0": lambda x: x.random_(1, 3),
    "RandomBackward1": lambda x: x.random_(3),
    "RandomBackward2": lambda x: x.random_(),
    "BernoulliBackward1": lambda x: x.bernoulli_(torch.full_like(x, 0.5)),
    "BernoulliBackward2": lambda x: x.bernoulli_(0.5),
    "ExponentialBackward0": lambda x: x.exponential_(),
    "CauchyBackward0": lambda x: x.cauchy_(),
    "LogNormalBackward0": lambda x: x.log_normal_(),
    "GeometricBackward0": lambda x: x.geometric_(0.5),
}
own = pytest.mark.skipif(subject.IS_TORCH, reason="this is how tensorgrad is made")


@pytest.mark.parametrize("name", FILLS)
def test_a_fill_forgets_what_was_there(name):
    x = torch.ones(4, requires_grad=True)
    y = x * 2
    version = y._version
    assert FILLS[name](y) is y
    assert y.grad_fn.name() == name and y._version == version + 1
    y.sum().backward()
    assert x.grad.tolist() == [0] * 4


@pytest.mark.parametrize("name", FILLS)
def test_a_fill_is_an_in_place_operation(name):
    leaf = torch.ones(4, requires_grad=True)
    with raises(RuntimeError, "a leaf Variable that requires grad is being used in an in-place operation"):
        FILLS[name](leaf)
    with raises(RuntimeError, "more than one element of the written-to tensor refers to a single memory location"):
        FILLS[name](torch.ones(1).expand(4))
    assert leaf.tolist() == [1] * 4 and leaf._version == 0
    with torch.no_grad():
        FILLS[name](leaf)
    assert leaf.is_leaf and leaf.requires_grad


def test_a_fill_of_a_view_changes_the_history_of_its_base():
    x = torch.ones(4, requires_grad=True)
    y = x * 3
    y[1:3].normal_()
    y.sum().backward()
    assert x.grad.tolist() == [3, 0, 0, 3]


def test_a_saved_tensor_that_is_filled_is_noticed():
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    z = y * y
    y.uniform_()
    with raises(RuntimeError, "has been modified by an inplace operation"):
        z.sum().backward()


def test_numbers_have_no_slope():
    mean = torch.ones(2, 3, requires_grad=True)
    std = torch.ones(3, requires_grad=True)
    p = torch.full((3,), 0.5, requires_grad=True)
    (torch.normal(mean, std) + torch.bernoulli(p) + torch.poisson(std) + torch.normal(mean, 1.0)).sum().backward()
    assert mean.grad.tolist() == [[0] * 3] * 2
    assert std.grad.tolist() == [0] * 3 and p.grad.tolist() == [0] * 3


def test_what_has_no_derivative_says_so():
    count = torch.tensor([5.0], requires_grad=True)
    with raises(RuntimeError, "derivative for aten::binomial is not implemented"):
        torch.binomial(count, torch.tensor([0.5])).backward()
    with raises(RuntimeError, "derivative for aten::bernoulli is not implemented"):
        torch.bernoulli(count, 0.5).backward()


def test_memory_is_filled_from_front_to_back():
    torch.manual_seed(0)
    plain = torch.empty(3, 4).uniform_()
    torch.manual_seed(0)
    assert torch.equal(torch.empty(3, 4).t().uniform_(), plain.t())
    torch.manual_seed(0)
    assert torch.equal(torch.rand_like(torch.empty(3, 4).t()), plain.t())
    torch.manual_seed(0)
    assert torch.equal(torch.rand(4, 3, out=torch.empty(3, 4).t()), plain.t())


def test_a_refused_fill_leaves_tensor_and_generator_alone():
    x = torch.ones(3)
    state = torch.get_rng_state()
    for fill in (lambda: x.uniform_(2, 1), lambda: x.normal_(0, -1), lambda: x.bernoulli_(torch.tensor([0.5, 0.5]))):
        with pytest.raises(RuntimeError):
            fill()
    assert x.tolist() == [1] * 3 and x._version == 0
    assert torch.equal(torch.get_rng_state(), state)


def test_fork_rng_puts_the_state_back_after_an_error():
    state = torch.get_rng_state()
    with pytest.raises(KeyError), torch.random.fork_rng():
        torch.rand(3)
        raise KeyError
    assert torch.equal(torch.get_rng_state(), state)
    with torch.random.fork_rng(enabled=False):
        torch.rand(3)
    assert not torch.equal(torch.get_rng_state(), state)


def test_threads_share_a_generator():
    generator = torch.Generator().manual_seed(0)
    parts = []

    def draw():
        for _ in range(200):
            parts.append(torch.rand(7, generator=generator))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = torch.rand(4 * 200 * 7, generator=torch.Generator().manual_seed(0))
    assert sorted(torch.cat(parts).tolist()) == sorted(expected.tolist())


@own
def test_an_interceptor_may_take_a_draw():
    from tensorgrad.ops import random_primitives

    seen = []

    def ones(primitive, inputs, params, inplace):
        seen.append((primitive.name, inplace))
        return torch.full(params[2], 7.0) if primitive is random_primitives.fresh else None

    random_primitives.interceptors.append(ones)
    try:
        assert torch.rand(2).tolist() == [7, 7]
        assert torch.randn(2, 1).tolist() == [[7], [7]]
        torch.randperm(3)
        torch.zeros(2).normal_()
        torch.bernoulli(torch.ones(2))
    finally:
        random_primitives.interceptors.pop()
    assert seen == [
        ("random", False), ("random", False), ("randperm", False), ("normal_", True), ("bernoulli", False)
    ]  # fmt: skip


@own
def test_what_is_not_supported_is_named():
    with raises(NotImplementedError, "fork_rng(devices=[0])"), torch.random.fork_rng(devices=[0]):
        pass


@own
def test_importing_and_seeding_do_not_load_numpy_random():
    code = "import sys, tensorgrad; tensorgrad.Generator(); print('numpy.random' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ))
    assert ran.stdout.strip() == "False"
