"""Random tensors beside PyTorch's: the same call after the same seed gives the same tensor and the same state."""

import copy
import pickle
import re

import pytest
import torch

import tensorgrad

MODULES = {"torch": torch, "tensorgrad": tensorgrad}

DRAWS = """
T.rand(2, 3)
T.rand((2, 3))
T.rand([20])
T.rand(T.Size([4]))
T.rand(size=(2,))
T.rand(())
T.rand([])
T.rand(0)
T.rand(T.tensor(2), 3)
T.rand(2, generator=None)
T.rand(2, dtype=float)
T.rand(5, dtype=T.float64)
T.rand(5, dtype=T.float16)
T.rand(5, dtype=T.bfloat16)
T.rand(5, dtype=T.complex64)
T.rand(2, requires_grad=True)
T.rand(2, device="cpu", layout=T.strided, pin_memory=False)
T.rand(2, out=T.empty(3))
T.rand(2, 3, out=T.empty(0))
T.rand(4, 5, out=T.empty(5, 4).t())
T.rand(2, out=T.empty(2, dtype=T.float64))
T.rand(2, out=T.empty(2), requires_grad=True)
T.randn(3)
T.randn(16)
T.randn(19)
T.randn(4, 5, dtype=T.float64)
T.randn(20, dtype=T.float16)
T.randn(20, dtype=T.bfloat16)
T.randn(20, dtype=T.complex128)
T.randn(2, dtype=T.complex64, requires_grad=True)
T.randn(4, 5, out=T.empty(5, 4).t())
T.randn(0, 3)
T.rand_like(T.ones(2, 3))
T.rand_like(T.ones(20, 3).t())
T.rand_like(T.ones(2, 3, 4).permute(2, 0, 1))
T.rand_like(T.ones(6, 8)[::2, ::2].t())
T.rand_like(T.ones(3, 4).t(), memory_format=T.contiguous_format)
T.rand_like(T.ones(2, 3), dtype=T.float64, requires_grad=True)
T.rand_like(T.ones(2, requires_grad=True))
T.rand_like(T.ones(2, 3), generator=T.Generator())
T.rand_like(T.ones(2, 3, 4, 5).contiguous(memory_format=T.channels_last))
T.randn_like(T.ones(20, 3).t())
T.randn_like(T.ones(2, 3))
T.randn_like(T.ones(20, 3), layout=T.strided, device="cpu", pin_memory=False)
T.randint(5, (2,))
T.randint(5, (2, 3))
T.randint(2, 5, (20,))
T.randint(low=2, high=5, size=(9,))
T.randint(high=5, size=(9,))
T.randint(2, high=5, size=(9,))
T.randint(5, size=(9,))
T.randint(0, 5, [2, 3])
T.randint(0, 5, ())
T.randint(-100, 200, (30,), dtype=T.int16)
T.randint(0, 2, (9,), dtype=T.bool)
T.randint(0, 2**40, (9,))
T.randint(0, 3, (9,), dtype=T.float32, requires_grad=True)
T.randint(T.tensor(5), (9,))
T.randint(0, T.tensor(5), (9,))
T.randint(0, 5, (2,), out=T.empty(2))
T.randint(0, 5, (4, 5), out=T.empty(5, 4, dtype=T.int32).t())
T.randint(0, 5, (2,), generator=T.Generator().manual_seed(4))
T.randint_like(T.ones(9), 5)
T.randint_like(T.ones(9), 2, 5)
T.randint_like(T.ones(9), low=2, high=5)
T.randint_like(T.ones(9), high=5)
T.randint_like(T.ones(9), T.tensor(5))
T.randint_like(T.ones(9), 5, dtype=T.int64)
T.randint_like(T.ones(6, 9).t(), 2, 50)
T.randperm(0)
T.randperm(1)
T.randperm(50)
T.randperm(n=5)
T.randperm(5, dtype=T.float32, requires_grad=True)
T.randperm(9, dtype=T.uint8)
T.randperm(T.tensor(3))
T.randperm(5, out=T.empty(2))
T.randperm(5, out=T.empty(10)[::2])
T.randperm(5, generator=T.Generator())
T.normal(0, 1, (2,))
T.normal(0.5, 2.0, size=(20,))
T.normal(mean=1, std=2, size=(3,), dtype=T.float64, requires_grad=True)
T.normal(T.tensor(0.0), T.tensor(1.0), size=(2,))
T.normal(0, 1, (2,), out=T.empty(3))
T.normal(T.tensor([1.0, 2]))
T.normal(T.arange(40.0).reshape(5, 8).t(), 0.5)
T.normal(T.tensor([1.0, 2]), 0.5)
T.normal(T.tensor([1.0, 2]), T.tensor([0.5, 0.1]))
T.normal(T.tensor([1.0, 2]), T.tensor([[0.5], [0.1], [0.0]]))
T.normal(T.tensor([1.0, 2]), T.tensor([0.5, 0.1], dtype=T.float64))
T.normal(T.tensor(1.0, dtype=T.float64), T.tensor([1.0, 2.0]))
T.normal(1, T.tensor([0.5, 0.1]))
T.normal(std=T.tensor([0.5, 0.1]), mean=1.0)
T.normal(T.tensor([1.0 + 1j, 2]), T.tensor([0.5, 0.1]))
T.normal(T.ones(2), True)
T.normal(T.ones(0), 1.0)
T.normal(T.tensor([1.0, 2]), out=T.empty(2))
T.normal(T.tensor([1.0, 2]), T.ones(2), out=T.empty(2, dtype=T.float64))
T.normal(T.tensor([1.0, 2]), 0.5, out=T.empty(3, 2))
T.normal(T.tensor([1.0, 2]), T.ones(2), out=T.empty(2, dtype=T.float16))
T.normal(T.tensor([1.0, 2]), T.ones(5, 1), out=T.empty(0))
T.normal(T.arange(20.0).reshape(4, 5), T.ones(5), out=T.empty(5, 4).t())
T.normal(1, T.ones(2), out=T.empty(2, dtype=T.float64))
T.normal(T.ones(3, requires_grad=True), 0.5)
T.normal(1.0, T.ones(3, requires_grad=True))
T.normal(T.ones(3, requires_grad=True), T.ones(3))
T.bernoulli(T.linspace(0, 1, 30))
T.bernoulli(T.linspace(0, 1, 30).reshape(5, 6).t())
T.bernoulli(T.linspace(0, 1, 30, dtype=T.float64))
T.bernoulli(T.linspace(0, 1, 30).bfloat16())
T.bernoulli(T.linspace(0, 1, 30), 0.5)
T.bernoulli(T.ones(5, 6).t(), 0.5)
T.bernoulli(T.linspace(0, 1, 30), p=0.5)
T.bernoulli(T.ones(3, dtype=T.int64), 0.5)
T.bernoulli(T.ones(0))
T.bernoulli(T.tensor([0.1, 0.9], dtype=T.float64), out=T.empty(2))
T.bernoulli(T.tensor([0.1, 0.9]), out=T.empty(2, dtype=T.int64))
T.bernoulli(T.linspace(0, 1, 20).reshape(4, 5), out=T.empty(5, 4).t())
T.bernoulli(T.linspace(0, 1, 20), out=T.empty(5))
T.bernoulli(T.tensor([0.1, 0.9], requires_grad=True))
T.bernoulli(T.tensor([0.1, 0.9], requires_grad=True), 0.5)
T.tensor([0.1, 0.9]).bernoulli()
T.tensor([0.1, 0.9]).bernoulli(0.5)
T.tensor([0.1, 0.9]).bernoulli(p=0.5, generator=T.Generator())
T.multinomial(T.tensor([0.1, 0.9]), 1)
T.multinomial(T.linspace(0, 1, 20), 12)
T.multinomial(T.linspace(0, 1, 20), 12, True)
T.multinomial(T.linspace(0, 1, 20).reshape(4, 5), num_samples=3, replacement=True)
T.multinomial(T.linspace(0, 1, 20).reshape(4, 5), 3)
T.multinomial(T.linspace(0, 1, 20).reshape(4, 5).t(), 1)
T.multinomial(T.tensor([0.1, 0.9], requires_grad=True), 1)
T.multinomial(T.tensor([0.1, 0.9]), 1, out=T.empty(1, dtype=T.int64))
T.multinomial(T.tensor([0.1, 0.9]), 1, out=T.empty(3, dtype=T.int64))
T.multinomial(T.ones(3), 2, out=T.empty(4, dtype=T.int64)[::2])
T.tensor([0.1, 0.9]).multinomial(2)
T.tensor([0.1, 0.9]).multinomial(5, replacement=True, generator=T.Generator())
T.poisson(T.linspace(0, 50, 30))
T.poisson(T.linspace(0, 50, 30).reshape(5, 6).t())
T.poisson(T.tensor([1.0, 4.0], requires_grad=True))
T.poisson(T.tensor([1.0, 4.0]), generator=T.Generator())
T.binomial(T.arange(30.0), T.linspace(0, 1, 30))
T.binomial(T.tensor([10.0, 20]), T.tensor(0.5))
T.binomial(T.tensor([10.0, 20], requires_grad=True), T.tensor(0.5))
T.zeros(20).uniform_()
T.zeros(20).uniform_(-1)
T.zeros(20).uniform_(-1, 3)
T.zeros(20).uniform_(**{"from": 1, "to": 2})
T.zeros(20).uniform_(to=2)
T.zeros(20).uniform_(True, 2)
T.zeros(20).uniform_(T.tensor(0.0), T.tensor(2.0))
T.zeros(20).uniform_(0, 1, generator=T.Generator())
T.zeros(20, dtype=T.complex64).uniform_()
T.zeros(20).normal_()
T.zeros(20).normal_(1, 2)
T.zeros(5).normal_(mean=1, std=0)
T.zeros(20, dtype=T.float64).normal_(std=3)
T.zeros(20).normal_(0, 1, generator=T.Generator())
T.zeros(20, dtype=T.complex64).normal_()
T.zeros(20).random_()
T.zeros(20, dtype=T.int64).random_()
T.zeros(20, dtype=T.uint8).random_()
T.zeros(20).random_(5)
T.zeros(20).random_(2, 5)
T.zeros(20).random_(2, None)
T.zeros(20).random_(to=5)
T.zeros(20).random_(**{"from": 2, "to": 5})
T.zeros(20).random_(T.tensor(3))
T.zeros(20).random_(2, generator=T.Generator())
T.zeros(20, dtype=T.int64).random_(-(2**63), None)
T.zeros(20).bernoulli_()
T.zeros(20).bernoulli_(0.3)
T.zeros(20).bernoulli_(p=0.3)
T.zeros(20).bernoulli_(True)
T.zeros(20, dtype=T.int32).bernoulli_(0.3)
T.zeros(20, dtype=T.bool).bernoulli_(0.3)
T.zeros(20).bernoulli_(T.linspace(0, 1, 20))
T.zeros(20).bernoulli_(T.linspace(0, 1, 20, dtype=T.float64))
T.zeros(4, 20).bernoulli_(T.linspace(0, 1, 20))
T.zeros(20).bernoulli_(T.tensor(0.3))
T.zeros(2).bernoulli_(T.tensor([0.1, 0.2], requires_grad=True))
T.zeros(20).exponential_()
T.zeros(20).exponential_(lambd=2)
T.zeros(20).cauchy_(1, 2)
T.zeros(20, dtype=T.float64).cauchy_()
T.zeros(20).log_normal_(mean=0, std=0.5)
T.zeros(20).geometric_(p=0.3)
T.zeros(20).geometric_(T.tensor(0.3))
T.zeros(20, dtype=T.int16).geometric_(0.3)
(T.ones(20, requires_grad=True) * 1).uniform_()
(T.ones(20, requires_grad=True) * 1).normal_()
(T.ones(20, requires_grad=True) * 1).random_()
(T.ones(20, requires_grad=True) * 1).random_(3)
(T.ones(20, requires_grad=True) * 1).random_(1, 3)
(T.ones(20, requires_grad=True) * 1).bernoulli_()
(T.ones(20, requires_grad=True) * 1).bernoulli_(T.full((20,), 0.5))
(T.ones(20, requires_grad=True) * 1).exponential_()
(T.ones(20, requires_grad=True) * 1).cauchy_()
(T.ones(20, requires_grad=True) * 1).log_normal_()
(T.ones(20, requires_grad=True) * 1).geometric_(0.3)
T.empty(0).normal_()
T.initial_seed()
T.default_generator.initial_seed()
T.Generator().initial_seed()
T.manual_seed(1.7).initial_seed()
T.manual_seed(-1).initial_seed()
T.manual_seed("3").initial_seed()
T.manual_seed(True).initial_seed()
T.manual_seed(T.tensor(5)).initial_seed()
T.manual_seed(2**64 - 1).initial_seed()
T.manual_seed(-(2**63)).initial_seed()
T.manual_seed(seed=3).initial_seed()
T.Generator("cpu").device.type
T.Generator(device=T.device("cpu")).device.type
T.Generator(device=None).initial_seed()
T.Generator().manual_seed(5).get_state()
T.Generator().set_state(T.Generator().manual_seed(5).get_state()).initial_seed()
T.Generator().manual_seed(5).clone_state().initial_seed()
T.set_rng_state(T.get_rng_state())
copy.deepcopy(T.Generator().manual_seed(3)).initial_seed()
copy.copy(T.Generator().manual_seed(3)).initial_seed()
pickle.loads(pickle.dumps(T.Generator().manual_seed(3))).initial_seed()
"""

ERRORS = """
T.rand()
T.rand(-1)
T.rand(2, -1)
T.rand((2,), 3)
T.rand(2, 3, size=(2,))
T.rand(2, foo=1)
T.rand(2, dtype=T.int32)
T.rand(2, dtype=T.bool)
T.rand(2, out=T.empty(2), dtype=T.float64)
T.rand(2, out=T.empty(2, dtype=T.int64))
T.rand(2, out=T.empty(2, requires_grad=True))
T.randn(2, dtype=T.int64)
T.randn(2, dtype=T.bool)
T.rand_like([1])
T.rand_like(T.ones(2, dtype=T.int64))
T.randn_like(T.ones(2, dtype=T.bool))
T.randint(5)
T.randint(5, 2)
T.randint(2, 5, 2)
T.randint(1, 2, 3, (4,))
T.randint(5.5, (2,))
T.randint(True, (2,))
T.randint(1, 5.5, (2,))
T.randint(1.5, 5, (2,))
T.randint_like(T.ones(2), 1, 5.5)
T.normal(T.tensor([1.0, 2]), 1.0, out=T.empty(3))
T.normal(T.tensor([1.0, 2]), 1.0, out=T.empty(2, dtype=T.int64))
T.bernoulli(T.tensor([1.0, 0]), 0.5, out=T.empty(2))
T.bernoulli(T.ones(2), 1.5)
T.randint(5, 5, (2,))
T.randint(0, (2,))
T.randint(0, 300, (2,), dtype=T.uint8)
T.randint(0, 3, (2,), dtype=T.complex64)
T.randint(0, 3, (2,), dtype=T.bool)
T.randint(0, 5, (-1,))
T.randint(0, 2**63, (2,))
T.randint(0, 2**64, (2,))
T.randint_like(T.ones(2))
T.randint_like(T.ones(2), 5, 2)
T.randint_like(T.ones(2, dtype=T.bool), 5)
T.randperm(-1)
T.randperm(2.5)
T.randperm((5,))
T.randperm(5, dtype=T.complex64)
T.randperm(5, dtype=T.bool)
T.randperm(300, dtype=T.uint8)
T.randperm(5, out=T.empty(5, dtype=T.int64), dtype=T.int32)
T.normal(0.0, -1.0, size=(2,))
T.normal(0.0, 1.0)
T.normal("a", 1.0)
T.normal(1j, T.tensor([1.0, 2.0]))
T.normal(T.tensor(0.0, requires_grad=True), 1.0, size=(2,))
T.normal(T.tensor([1.0, 2]), T.tensor([0.5, 0.1, 0.3]))
T.normal(T.tensor([1, 2]), T.tensor([0.5, 0.1]))
T.normal(1, T.tensor([1, 2]))
T.normal(T.tensor([1.0, 2]), T.tensor([-0.5, 0.1]))
T.normal(T.tensor([1.0, 2]), -1.0)
T.normal(T.tensor([1.0, 2]), T.tensor([0.5 + 1j, 0.1]))
T.normal(T.tensor([1.0, 2]), 1.0, out=T.empty(2, requires_grad=True))
T.bernoulli(3)
T.bernoulli(T.tensor([1, 0]))
T.bernoulli(T.tensor([1.0, 2]))
T.bernoulli(T.tensor([0.1, 0.9]), T.tensor([0.1, 0.9]))
T.bernoulli(T.tensor([0.1, 0.9]), 2.0)
T.bernoulli(T.tensor([0.1, 0.9]), out=T.empty(2, requires_grad=True))
T.bernoulli(T.tensor([0.1, 0.9], requires_grad=True), out=T.empty(2))
T.bernoulli(T.tensor([0.1, 0.9], requires_grad=True), 0.5).sum().backward()
T.multinomial([1], 1)
T.multinomial(T.tensor([0.1, 0.9]), 3)
T.multinomial(T.tensor([0.1, 0.9]), 1.5)
T.multinomial(T.tensor([0.1, 0.9]), 0)
T.multinomial(T.tensor([1, 9]), 1)
T.multinomial(T.tensor(0.1), 1)
T.multinomial(T.tensor([0.1, -0.9]), 1)
T.multinomial(T.tensor([0.1, 0.9]), 1, out=T.empty(1))
T.multinomial(T.ones(0), 1)
T.poisson(2)
T.poisson(T.tensor([1, 4]))
T.poisson(T.tensor([-1.0, 4]))
T.binomial(T.tensor([10.0, 20]), 0.5)
T.binomial(T.tensor([10.0, 20], requires_grad=True), T.tensor(0.5)).sum().backward()
T.ones(2).uniform_(3, 1)
T.ones(2).uniform_("a")
T.ones(2).uniform_(0, "b")
T.ones(2).uniform_(None, 2)
T.ones(2).uniform_(1j, 2)
T.ones(2).uniform_(T.tensor([0.0, 1.0]), 2)
T.ones(2).uniform_(T.tensor(0.0, requires_grad=True), 2)
T.ones(2).uniform_(0, 1, None)
T.ones(2).uniform_(from_=1)
T.ones(2).uniform_(0, 1, generator=3)
T.ones(2, dtype=T.int64).uniform_()
T.ones(2).normal_("a")
T.ones(2).normal_(0, "b")
T.ones(2).normal_(0, -1)
T.ones(2, dtype=T.int64).normal_()
T.ones(2).random_(2.5)
T.ones(2).random_("a")
T.ones(2).random_(True)
T.ones(2).random_(5, 2)
T.ones(2).random_(0)
T.ones(2).random_(1, 2, 3)
T.ones(2, dtype=T.complex64).random_()
T.ones(2, dtype=T.complex64).random_(2)
T.ones(2).bernoulli_(2)
T.ones(2).bernoulli_(None)
T.ones(2).bernoulli_("a")
T.ones(2).bernoulli_(T.tensor([0.1, 2]))
T.ones(2).bernoulli_(T.tensor([0.1, 0.2, 0.3]))
T.ones(2).bernoulli_(T.tensor([1, 0]))
T.ones(2, dtype=T.complex64).bernoulli_()
T.ones(2).exponential_(-1)
T.ones(2).exponential_("a")
T.ones(2, dtype=T.int64).exponential_()
T.ones(2).cauchy_(0, -1)
T.ones(2, dtype=T.int64).cauchy_()
T.ones(2).log_normal_(mean=0, std=-1)
T.ones(2).geometric_(2)
T.ones(2).geometric_("a")
T.ones(2, requires_grad=True).uniform_()
T.ones(2, requires_grad=True)[0].uniform_()
T.ones(3).expand(2, 3).uniform_()
T.ones(3).expand(2, 3).normal_()
T.manual_seed("a")
T.manual_seed(None)
T.manual_seed(2**64)
T.manual_seed(-(2**63) - 1)
T.set_rng_state(3)
T.set_rng_state(T.zeros(5056))
T.Generator().manual_seed(1.5)
T.Generator().manual_seed(T.tensor(5))
T.Generator().manual_seed(True)
T.Generator("foo")
T.Generator().set_state(T.zeros(3, dtype=T.uint8))
T.Generator().set_state(T.zeros(5056, dtype=T.uint8))
T.Generator().graphsafe_get_state()
T.Generator().graphsafe_set_state(T.Generator())
T.Generator().get_offset()
T.Generator().set_offset(3)
"""

# PyTorch lists all the forms of the call; tensorgrad says which argument is wrong.
MISTAKES = """
T.rand(2, generator=3)
T.rand(2, dtype="a")
T.rand(2, out=3)
T.rand_like(T.ones(2), 2)
T.randint(size=(2,))
T.normal(0.0, 1.0, 2)
T.normal(mean=0.0, std=1.0, size=2)
T.normal(T.tensor([1.0, 2.0]), 1, (2,))
T.normal(T.tensor([1.0, 2]), 1.0, generator=3)
T.rand(2.5)
T.rand("a")
T.rand(None)
T.rand(True)
T.rand([2, "a"])
T.rand(2, pin_memory=True)
T.randint_like(T.ones(2), 5.5)
T.randint_like(T.ones(2), "a")
T.randint(low=1.5, high=5, size=(2,))
"""


def lines(block):
    return block.strip().splitlines()


def in_torch(tensor):
    """A tensor of either module, detached, as one of PyTorch."""
    if isinstance(tensor, torch.Tensor):
        return tensor.detach()
    widened = tensor.detach().float() if tensor.dtype is tensorgrad.bfloat16 else tensor.detach()
    result = torch.from_numpy(widened.numpy().copy())
    return result.bfloat16() if tensor.dtype is tensorgrad.bfloat16 else result


def described(value):
    """What must be equal of a result besides its numbers."""
    if not isinstance(value, torch.Tensor | tensorgrad.Tensor):
        return value
    node = value.grad_fn
    name = None if node is None else node.name().split("::")[-1]
    dtype = str(value.dtype).split(".")[1]
    return dtype, tuple(value.shape), value.stride(), value.requires_grad, value.is_leaf, name


def drawn(module, call, seed=11):
    module.manual_seed(seed)
    return eval(call, {"T": module, "copy": copy, "pickle": pickle})


def assert_same_state():
    assert torch.equal(in_torch(tensorgrad.get_rng_state()), torch.get_rng_state())


@pytest.mark.parametrize("call", lines(DRAWS))
def test_a_call_gives_the_same_tensor(call):
    theirs, ours = drawn(torch, call), drawn(tensorgrad, call)
    assert described(ours) == described(theirs)
    if isinstance(theirs, torch.Tensor):
        assert torch.equal(in_torch(ours), in_torch(theirs))
    assert_same_state()


def spoken(error):
    """The first line of a message, without what lists the forms of a call or speaks to PyTorch's own people."""
    text = str(error).replace("tensorgrad.", "torch.").replace("torch._C.", "torch.")
    return re.split(r"\n|, but expected one of:|  \(Could this error|\. Probabilities lie", text)[0].rstrip(" .")


@pytest.mark.parametrize("call", lines(ERRORS))
def test_a_call_raises_the_same_error(call):
    with pytest.raises(Exception) as theirs:
        drawn(torch, call)
    with pytest.raises(Exception) as ours:
        drawn(tensorgrad, call)
    assert ours.type is theirs.type
    assert spoken(ours.value).startswith(spoken(theirs.value))


@pytest.mark.parametrize("call", lines(MISTAKES))
def test_a_mistaken_call_raises_the_same_kind_of_error(call):
    with pytest.raises(Exception) as theirs:
        drawn(torch, call)
    with pytest.raises(theirs.type) as ours:
        drawn(tensorgrad, call)
    assert ours.type is theirs.type


LAYOUTS = {
    "transposed": lambda T: T.zeros(5, 8).t(),
    "permuted": lambda T: T.zeros(2, 3, 4).permute(1, 0, 2),
    "reversed": lambda T: T.zeros(2, 3, 4).permute(2, 1, 0),
    "stepped": lambda T: T.zeros(10, 12)[::2, ::2],
    "stepped and transposed": lambda T: T.zeros(10, 12)[::2, ::2].t(),
    "columns": lambda T: T.zeros(10, 12)[:, 1:5],
    "columns transposed": lambda T: T.zeros(10, 12)[:, 1:5].t(),
    "channels last": lambda T: T.zeros(2, 3, 4, 5).contiguous(memory_format=T.channels_last),
    "single dims": lambda T: T.zeros(5, 1, 8, 1).permute(3, 2, 1, 0),
    "few": lambda T: T.zeros(2, 3).t(),
}
FILLS = {
    "uniform": lambda T, x: x.uniform_(),
    "normal": lambda T, x: x.normal_(),
    "normal shifted": lambda T, x: x.normal_(1, 2),
    "random": lambda T, x: x.random_(),
    "random between": lambda T, x: x.random_(3, 90),
    "bernoulli": lambda T, x: x.bernoulli_(0.4),
    "bernoulli of a tensor": lambda T, x: x.bernoulli_(T.linspace(0, 1, x.numel()).reshape(x.shape)),
    "bernoulli of a strided tensor": lambda T, x: x.bernoulli_(
        T.linspace(0, 1, x.numel()).reshape(x.shape[::-1]).permute(*range(x.dim())[::-1])
    ),
    "bernoulli of an expanded tensor": lambda T, x: x.bernoulli_(T.linspace(0, 1, x.shape[-1])),
    "exponential": lambda T, x: x.exponential_(),
    "cauchy": lambda T, x: x.cauchy_(),
    "log_normal": lambda T, x: x.log_normal_(),
    "geometric": lambda T, x: x.geometric_(0.3),
    "copy": lambda T, x: T.rand_like(x),
    "normal copy": lambda T, x: T.randn_like(x),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("fill", FILLS)
def test_memory_is_filled_in_the_same_order(layout, fill):
    results = []
    for module in (torch, tensorgrad):
        module.manual_seed(2)
        results.append(FILLS[fill](module, LAYOUTS[layout](module)))
    theirs, ours = results
    assert torch.equal(in_torch(ours), theirs)
    assert ours.stride() == theirs.stride()
    assert_same_state()


@pytest.mark.parametrize("before", ["rand(0)", "rand(1)", "randn(3)", "rand(624)", "rand(623)", "randn(1000)"])
@pytest.mark.parametrize("seed", [0, 5, 2**63, -1])
def test_states_are_exchanged_both_ways(before, seed):
    for first, second in ((torch, tensorgrad), (tensorgrad, torch)):
        first.manual_seed(seed)
        eval(f"module.{before}", {"module": first})
        state = first.get_rng_state()
        second.set_rng_state(second.tensor(state.tolist(), dtype=second.uint8))
        assert second.initial_seed() == first.initial_seed()
        assert torch.equal(in_torch(second.randn(5)), in_torch(first.randn(5)))
        assert torch.equal(in_torch(second.rand(700)), in_torch(first.rand(700)))
        assert_same_state()


GRADIENTS = {
    "uniform_": lambda T, x, p: (x * 1).uniform_(),
    "normal_ of a part": lambda T, x, p: filled_part(x * 2),
    "bernoulli_ of a tensor": lambda T, x, p: (x * 1).bernoulli_(p),
    "bernoulli": lambda T, x, p: T.bernoulli(p) * x,
    "normal of both": lambda T, x, p: T.normal(x, p[:1]),
    "normal of a mean": lambda T, x, p: T.normal(x, 1.0) * p,
    "normal of deviations": lambda T, x, p: T.normal(1.0, p) + x,
    "poisson": lambda T, x, p: T.poisson(p) * x * x,
}


def filled_part(y):
    y[1:].normal_()
    return y


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_the_same(name):
    results = []
    for module in (torch, tensorgrad):
        module.manual_seed(2)
        x = module.tensor([1.0, 2.0, 3.0], requires_grad=True)
        p = module.tensor([0.2, 0.5, 0.9], requires_grad=True)
        GRADIENTS[name](module, x, p).sum().backward()
        results.append([None if t.grad is None else t.grad.tolist() for t in (x, p)])
    assert results[0] == results[1]
