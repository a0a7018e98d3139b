"""utils.checkpoint: the same gradients from less memory, the same random numbers, and what is refused."""

import gc
import importlib
import weakref
from functools import partial

import pytest
from subject import IS_TORCH, raises, torch

if IS_TORCH:
    importlib.import_module("torch.utils.checkpoint")

nn = torch.nn
checkpoint = torch.utils.checkpoint.checkpoint
BOTH = pytest.mark.parametrize("use_reentrant", [False, True])


def model(dropout=0.5):
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(dropout), nn.Linear(8, 3))


def gradients(net, run, x):
    net.zero_grad()
    x.grad = None
    torch.manual_seed(1)
    out = run(x)
    (out * out).sum().backward()
    return [x.grad, *[p.grad for p in net.parameters()]]


@BOTH
def test_the_same_gradients_and_random_numbers(use_reentrant):
    net, x = model(), torch.rand(5, 4, requires_grad=True)
    expected = gradients(net, net, x)
    got = gradients(net, lambda x: checkpoint(net, x, use_reentrant=use_reentrant), x)
    for one, other in zip(expected, got):
        assert torch.equal(one, other)


@BOTH
def test_the_random_state_goes_on_as_if_nothing_had_been_drawn_again(use_reentrant):
    x, states = torch.rand(5, 4, requires_grad=True), []
    for run in (lambda net: net(x), lambda net: checkpoint(net, x, use_reentrant=use_reentrant)):
        torch.manual_seed(0)
        net = model()
        out = run(net)
        torch.rand(3)
        out.sum().backward()
        states.append(torch.rand(2))
    assert torch.equal(*states)


def test_without_the_random_state():
    drawn = []

    def noisy(x):
        noise = torch.rand_like(x)
        drawn.append(noise)
        return x * noise

    x = torch.rand(3, requires_grad=True)
    checkpoint(noisy, x, use_reentrant=False, preserve_rng_state=False).sum().backward()
    assert not torch.equal(*drawn)
    assert torch.equal(x.grad, drawn[1])


@BOTH
def test_saved_tensors_are_not_kept(use_reentrant):
    seen = []

    def function(x):
        y = x.exp()
        seen.append(weakref.ref(y))
        return y.exp().sum()

    x = torch.rand(3, requires_grad=True)
    z = checkpoint(function, x, use_reentrant=use_reentrant)
    gc.collect()
    assert seen[0]() is None
    z.backward()
    assert len(seen) == 2 and torch.allclose(x.grad, x.exp() * x.exp().exp())


def test_recomputation_ends_early():
    calls = []

    def function(x):
        y = x.exp()
        calls.append("end")
        return y

    for early, expected in ((True, 1), (False, 2)):
        calls.clear()
        x = torch.rand(3, requires_grad=True)
        checkpoint(function, x, use_reentrant=False, early_stop=early).sum().backward()
        assert len(calls) == expected
    calls.clear()
    x = torch.rand(3, requires_grad=True)
    with torch.utils.checkpoint.set_checkpoint_early_stop(False):
        checkpoint(function, x, use_reentrant=False).sum().backward()
    assert len(calls) == 2


def test_nested():
    calls = []

    def inner(x):
        calls.append("inner")
        return x.sin().exp()

    def outer(x):
        calls.append("outer")
        return checkpoint(inner, x.exp(), use_reentrant=False).tanh()

    x = torch.rand(4, requires_grad=True, dtype=torch.float64)
    expected = torch.autograd.grad(x.exp().sin().exp().tanh().sum(), x)[0]
    checkpoint(outer, x, use_reentrant=False).sum().backward()
    assert torch.allclose(x.grad, expected)
    assert calls.count("outer") == 2


def test_a_second_pass_computes_once_more():
    calls = []

    def function(x):
        calls.append(1)
        return x.exp().sin()

    x = torch.rand(3, requires_grad=True)
    y = checkpoint(function, x, use_reentrant=False).sum()
    y.backward(retain_graph=True)
    first = x.grad.clone()
    y.backward()
    assert torch.allclose(x.grad, 2 * first) and len(calls) == 3


def test_what_one_pass_did_not_use_is_computed_anew_for_the_next():
    x, w = torch.zeros(2, requires_grad=True), nn.Parameter(torch.zeros(2))
    a, b = checkpoint(lambda x: (x.exp(), w.exp()), x, use_reentrant=False)
    a.sum().backward(retain_graph=True)
    with torch.no_grad():
        w += 1
    b.sum().backward()
    assert torch.allclose(w.grad, w.exp())


def test_second_derivatives_and_grad():
    x = torch.rand(3, requires_grad=True, dtype=torch.float64)
    y = checkpoint(lambda x: (x**3).sin(), x, use_reentrant=False).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    (expected,) = torch.autograd.grad((x**3).sin().sum(), x, create_graph=True)
    (expected_h,) = torch.autograd.grad(expected.sum(), x)
    assert torch.allclose(g, expected) and torch.allclose(h, expected_h)


def test_arguments_by_name_and_several_results():
    def function(x, scale, *, shift, text):
        return x * scale + shift, text, (x * 2, None)

    x, scale, shift = (torch.rand(3, requires_grad=True) for _ in range(3))
    total, text, (double, nothing) = checkpoint(function, x, scale, shift=shift, text="t", use_reentrant=False)
    assert text == "t" and nothing is None
    (total.sum() + double.sum()).backward()
    assert torch.allclose(x.grad, scale.detach() + 2) and torch.allclose(shift.grad, torch.ones(3))


def test_parameters_train_although_no_input_requires_a_gradient():
    net = model(0.0)
    checkpoint(net, torch.rand(2, 4), use_reentrant=False).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True. Gradients will be None"):
        checkpoint(net, torch.rand(2, 4), use_reentrant=True)


def test_no_grad():
    with torch.no_grad():
        assert not checkpoint(torch.exp, torch.rand(2, requires_grad=True), use_reentrant=False).requires_grad


@BOTH
def test_sequences(use_reentrant):
    net = nn.Sequential(*[layer for _ in range(5) for layer in (nn.Linear(4, 4), nn.Tanh())])
    x = torch.rand(2, 4, requires_grad=True)
    expected = gradients(net, net, x)
    for segments in (1, 2, 3, 10):
        run = partial(torch.utils.checkpoint.checkpoint_sequential, net, segments, use_reentrant=use_reentrant)
        got = gradients(net, lambda x, run=run: run(input=x), x)
        assert all(torch.allclose(one, other) for one, other in zip(expected, got))


def test_another_computation_the_second_time():
    turns = iter([0, 1, 0, 2, 0, 3])

    def changing(x):
        turn = next(turns)
        if turn == 1:
            return x.exp().exp()  # saves two where it saved one
        if turn == 2:
            return torch.cat([x, x]).exp()  # saves one of another shape
        if turn == 3:
            return x + 1  # saves none
        return x.exp()

    x = torch.rand(3, requires_grad=True)
    y = checkpoint(changing, x, use_reentrant=False, early_stop=False)
    with raises(torch.utils.checkpoint.CheckpointError, "trying to save more tensors during recomputation than during"):
        y.sum().backward()
    y = checkpoint(changing, x, use_reentrant=False)
    with raises(torch.utils.checkpoint.CheckpointError, "have different metadata than during the forward pass",
                "tensor at position 0:", "saved metadata: {'shape': torch.Size([3])",
                "recomputed metadata: {'shape': torch.Size([6])"):  # fmt: skip
        y.sum().backward()
    y = checkpoint(changing, x, use_reentrant=False)
    with raises(torch.utils.checkpoint.CheckpointError, "A different number of tensors was saved during the original",
                "Number of tensors saved during forward: 1\nNumber of tensors saved during recomputation: 0."):  # fmt: skip
        y.sum().backward()


def test_determinism_is_not_checked_where_nobody_asks():
    turns = iter([torch.float32, torch.float64])

    def changing(x):
        return x.to(next(turns)).exp().sum()

    x = torch.zeros(2, requires_grad=True)
    checkpoint(changing, x, use_reentrant=False, determinism_check="none").backward()
    assert x.grad.tolist() == [1, 1]


def test_debugging_names_the_operations():
    turns = iter([0, 1])

    def changing(x):
        return x.exp() if next(turns) == 0 else torch.cat([x, x]).sin()

    x = torch.rand(3, requires_grad=True)
    y = checkpoint(changing, x, use_reentrant=False, debug=True)
    with raises(torch.utils.checkpoint.CheckpointError, "because you passed `debug=True`", "exp", "cat",
                "Operations executed during the original forward:"):  # fmt: skip
        y.sum().backward()


def test_contexts():
    entered = []

    class Noting:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            entered.append(self.name)

        def __exit__(self, *_):
            pass

    x = torch.rand(3, requires_grad=True)
    y = checkpoint(torch.exp, x, use_reentrant=False, context_fn=lambda: (Noting("forward"), Noting("again")))
    y.sum().backward()
    assert entered == ["forward", "again"]


def test_autocast_is_as_it_was():
    seen = []

    def function(x):
        y = x @ x
        seen.append(y.dtype)
        return y.float().exp()

    x = torch.rand(2, 2, requires_grad=True)
    for reentrant in (True, False):
        with torch.autocast("cpu"):
            y = checkpoint(function, x, use_reentrant=reentrant)
        y.sum().backward()
    assert seen == [torch.bfloat16] * 4


def test_what_is_refused():
    x = torch.rand(2, requires_grad=True)
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        checkpoint(torch.exp, x)
    with raises(ValueError, "Unexpected keyword arguments: foo"):
        checkpoint(torch.exp, x, use_reentrant=True, foo=1)
    with raises(ValueError, "Passing `context_fn` or `debug` is only supported when use_reentrant=False."):
        checkpoint(torch.exp, x, use_reentrant=True, debug=True)
    with raises(ValueError, "determinism_check should be one of ['default', 'none'], but got foo"):
        checkpoint(torch.exp, x, use_reentrant=False, determinism_check="foo")
    y = checkpoint(torch.exp, x, use_reentrant=True)
    with raises(
        RuntimeError, "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing"
    ):
        torch.autograd.grad(y.sum(), x)
    y = checkpoint(lambda x: x.detach(), x, use_reentrant=True)
    with raises(RuntimeError, "none of output has requires_grad=True, this checkpoint() is not necessary"):
        y.sum().backward()


def test_an_argument_that_was_written_to():
    x = torch.rand(2, requires_grad=True)
    z = x * 1
    y = checkpoint(lambda z: z.exp(), z, use_reentrant=False)
    z.data_ptr()
    with torch.no_grad():
        z += 1
    with raises(RuntimeError, "modified by an inplace operation"):
        y.sum().backward()
