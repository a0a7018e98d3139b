"""What `compile` promises of any function: the same results and effects, new programs when needed, errors that help."""

import threading
import warnings

import numpy as np
import pytest


def agree(torch, function, *args, times=2, **kwargs):
    """Check that a compiled function returns what the function returns; returns the compiled function."""
    fast = torch.compile(function)
    expected = function(*args, **kwargs)
    for _ in range(times):
        found = fast(*args, **kwargs)
        close(found, expected)
    return fast


def close(found, expected):
    if isinstance(expected, (tuple, list)):
        assert type(found) is type(expected) and len(found) == len(expected)
        for a, b in zip(found, expected):
            close(a, b)
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        for key in expected:
            close(found[key], expected[key])
    elif hasattr(expected, "detach"):
        assert found.dtype == expected.dtype and found.shape == expected.shape
        assert found.requires_grad == expected.requires_grad
        np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=2e-6)
    else:
        assert found == expected


# When programs are made


def test_one_program_for_equal_arguments(torch):
    f = torch.compile(lambda x, n: x * n)
    for _ in range(3):
        close(f(torch.ones(3), 2), torch.full((3,), 2.0))
    assert f.count == 1


def test_new_programs_for_new_shapes_dtypes_strides_and_numbers(torch):
    f = torch.compile(lambda x, n=1: x * n)
    x = torch.arange(6.0).reshape(2, 3)
    for count, (args, expected) in enumerate(
        [
            ((x,), x),
            ((x[:1],), x[:1]),
            ((x.double(),), x.double()),
            ((x.t(),), x.t()),
            ((x, 3), x * 3),
            ((x, 3.0), x * 3),
        ],
        start=1,
    ):
        close(f(*args), expected)
        assert f.count == count
    close(f(x), x)
    assert f.count == 6


def test_many_programs_end_with_a_warning_that_says_what_changed(torch):
    f = torch.compile(lambda x, n: x + n)
    for n in range(16):
        f(torch.ones(2), n)
    with pytest.warns(UserWarning, match=r"traced 16 times.*\n?.*15"):
        close(f(torch.ones(2), 16), torch.full((2,), 17.0))
    close(f(torch.ones(2), 17), torch.full((2,), 18.0))
    assert f.count == 16


def test_tensors_that_are_kept(torch):
    """What a function keeps of its tensors outside is right, and the warning says why no program is used twice."""
    kept = []

    def f(x):
        kept.append(x * 2)
        return x + 1

    fast = torch.compile(f)
    for n in range(16):
        fast(torch.full((2,), float(n)))
    assert [t.tolist() for t in kept] == [[2.0 * n] * 2 for n in range(16)]
    with pytest.warns(UserWarning, match="kept outside"):
        fast(torch.ones(2))


def test_a_tensor_from_outside_may_change(torch):
    scale = torch.tensor([1.0, 2.0])
    f = torch.compile(lambda x: x * scale)
    close(f(torch.ones(2)), scale)
    scale.mul_(10)
    close(f(torch.ones(2)), torch.tensor([10.0, 20.0]))
    scale.data = torch.tensor([5.0, 6.0])
    close(f(torch.ones(2)), torch.tensor([5.0, 6.0]))
    assert f.count == 1


def test_a_number_of_a_tensor_from_outside_is_guarded(torch):
    scale = torch.tensor(2.0)
    f = torch.compile(lambda x: x * scale.item() if scale > 1 else x)
    with pytest.raises(RuntimeError, match="a branch on a tensor"):
        f(torch.ones(2))
    g = torch.compile(lambda x: x * scale.item())
    close(g(torch.ones(2)), torch.full((2,), 2.0))
    scale.fill_(4)
    close(g(torch.ones(2)), torch.full((2,), 4.0))


def test_grad_mode_is_part_of_the_program(torch):
    f = torch.compile(lambda x: x * 2)
    x = torch.ones(2, requires_grad=True)
    assert f(x).requires_grad
    with torch.no_grad():
        assert not f(x).requires_grad
    assert f.count == 2


def test_structures(torch):
    def f(pair, *, scale):
        a, b = pair["a"], pair["b"]
        return {"sum": a + b, "both": [a * scale, (b, None, 3, "word")]}

    agree(torch, f, {"a": torch.ones(2), "b": torch.arange(2.0)}, scale=2)


def test_forms(torch):
    @torch.compile
    def first(x):
        "Doc."
        return x + 1

    @torch.compile(fallback=True)
    def second(x):
        return x + 1

    class Holder:
        @torch.compile
        def method(self, x):
            return x + self.more

    holder = Holder()
    holder.more = 1
    for f in (first, second, holder.method):
        close(f(torch.zeros(2)), torch.ones(2))
    assert first.__name__ == "first" and first.__doc__ == "Doc."
    assert torch.compile(first, disable=True) is first


def test_modules(torch):
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Dropout(0.5))
    fast = torch.compile(model)
    assert isinstance(fast, torch.nn.Module) and next(iter(fast.parameters())) is model[0].weight
    fast.eval()
    assert not model.training
    x = torch.randn(2, 3)
    close(fast(x), model(x))
    fast.train()
    torch.manual_seed(1)
    expected = model(x)
    torch.manual_seed(1)
    close(fast(x), expected)
    fast(x).sum().backward()
    assert model[0].weight.grad is not None


# What cannot be traced


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (lambda x: x if x.sum() > 0 else -x, "a branch on a tensor"),
        (lambda x: x * x.sum().item(), r"item\(\)"),
        (lambda x: x * float(x.sum()), r"item\(\)"),
        (lambda x: print(x), "to print"),
        (lambda x: x.numpy(), r"numpy\(\)"),
        (lambda x: x.tolist(), r"tolist\(\)"),
        (lambda x: x[x > 0], "the shape of the result"),
        (lambda x: torch_of(x).nonzero(x), "the shape of the result"),
    ],
)
def test_errors_name_the_line(torch, what, words):
    def function(x):
        y = x * 2
        return what(y)

    with pytest.raises(RuntimeError, match=rf"(?s){words}.*test_tracing.py, line \d+: .*lambda x:.*fallback=True"):
        torch.compile(function)(torch.ones(3))


def torch_of(x):
    import subject

    return subject.torch


def test_fallback(torch):
    def f(x):
        return x * 2 if x.sum() > 0 else -x

    g = torch.compile(f, fallback=True)
    with pytest.warns(UserWarning, match="runs uncompiled"):
        close(g(torch.ones(2)), torch.full((2,), 2.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        close(g(-torch.ones(2)), torch.ones(2))


def test_a_failed_trace_changes_nothing(torch):
    x, p = torch.ones(2), torch.ones(2, requires_grad=True)
    state = torch.get_rng_state()

    def f(x):
        x.mul_(5)
        (p * torch.rand(2)).sum().backward()
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        torch.compile(f)(x)
    assert x.tolist() == [1, 1] and p.grad is None and torch.equal(state, torch.get_rng_state())
    close(x + p.detach(), torch.full((2,), 2.0))


# Memory


def test_inputs_changed_in_place(torch):
    def f(x, y):
        x.add_(y)
        x[0] = 7
        return x * 2

    def run(call):
        x, y = torch.arange(6.0).reshape(3, 2), torch.ones(2)
        results = [call(x, y) for _ in range(3)]
        return x, results

    close(run(torch.compile(f)), run(f))


def test_views_and_their_bases(torch):
    def f(x):
        row = x[1]
        row.mul_(10)
        x[:, 0] += 1
        flat = x.view(-1)
        flat[::2] = -1.0
        return row + 0, x.t() + 0

    def run(call):
        x = torch.arange(6.0).reshape(2, 3)
        return [call(x) for _ in range(3)], x

    close(run(torch.compile(f)), run(f))


def test_the_same_tensor_twice_and_overlapping_ones(torch):
    def f(x, y):
        x.add_(1)
        return x * y

    def run(call, make):
        x = torch.arange(6.0)
        x, y = make(x)
        return [call(x, y) for _ in range(3)], x, y

    for make in (lambda x: (x, x), lambda x: (x[1:], x[:-1]), lambda x: (x[:3], x[3:]), lambda x: (x, x.clone())):
        close(run(torch.compile(f), make), run(f, make))


def test_arrays_that_share_memory_unseen(torch):
    """Tensors made of overlapping NumPy arrays know nothing of each other."""

    def f(x, y):
        x.mul_(2)
        return x + y

    def run(call):
        memory = np.arange(6.0)
        x, y = torch.from_numpy(memory[1:]), torch.from_numpy(memory[:-1])
        return [call(x, y) for _ in range(2)], torch.from_numpy(memory)

    close(run(torch.compile(f)), run(f))


def test_a_program_for_apart_is_not_used_for_overlapping(torch):
    def f(x, y):
        x.mul_(2)
        return x + y

    def run(call):
        memory = np.arange(12.0)
        apart = torch.from_numpy(memory[:5]), torch.from_numpy(memory[6:11])
        overlapping = torch.from_numpy(memory[1:6]), torch.from_numpy(memory[:5])
        base = torch.from_numpy(memory.copy())
        return [call(*apart), call(*overlapping), call(base[1:6], base[:5]), call(base[:5], base[6:11])], base

    close(run(torch.compile(f)), run(f))


def test_results_that_are_inputs_and_views(torch):
    def f(x):
        y = x + 1
        return x, x.t(), y, y[0]

    fast = torch.compile(f)
    x = torch.ones(2, 2)
    for _ in range(2):
        close(fast(x), f(x))
        assert fast(x)[0] is x


def test_results_are_not_overwritten_by_the_next_call(torch):
    f = torch.compile(lambda x: (x * 2, x.sum()))
    first = f(torch.ones(3))
    f(torch.zeros(3))
    close(first, (torch.full((3,), 2.0), torch.tensor(3.0)))
    first[0].add_(1)
    close(f(torch.ones(3)), (torch.full((3,), 2.0), torch.tensor(3.0)))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (1, 1, 1), (2, 3, 4), (1000,)])
def test_shapes(torch, shape):
    def f(x, y):
        z = torch.exp(x) * y + x.sum()
        return z, z.sum(), (z > 1).to(torch.int32), torch.where(x > 0, x, y)

    agree(torch, f, torch.randn(shape), torch.randn(shape))


def test_strides(torch):
    x = torch.randn(4, 6)
    for a in (x.t(), x[::2], x[:, ::3], x[1:, 1:], x[0].expand(4, 6), x[:, :1].expand(4, 6), x.unsqueeze(1)):
        agree(torch, lambda a: (torch.sin(a) * 2 + a.sum(0), a.max(), a.transpose(0, 1) @ a if a.dim() == 2 else a), a)


def test_arrays_that_are_not_aligned(torch):
    memory = np.zeros(4 * 5 + 1, np.uint8)
    array = memory[1:].view(np.float32)
    array[:] = range(5)
    x = torch.from_numpy(array)
    agree(torch, lambda x: x * 2, x)

    def f(x):
        x.add_(1)
        return x * 2

    close(torch.compile(f)(x), torch.arange(1.0, 6.0) * 2)
    assert array.tolist() == [1, 2, 3, 4, 5]


WRITES = ["x.add_(2)", "x.mul_(y)", "x.sub_(y)", "x.div_(2)", "x.zero_()", "x.fill_(3)", "x.copy_(y)", "x.exp_()", "x.neg_()",
          "x.clamp_(0, 1)", "x.__setitem__(0, 5.0)", "x.__setitem__((slice(None), 1), y[:, 0])", "x.relu_()",
          "x[0].add_(1)", "x.uniform_()", "x.normal_()", "x.masked_fill_(y > 0, 1.0)", "x.lerp_(y, 0.3)", "x.addcmul_(y, y)",
          "x.pow_(2)", "x.__iadd__(1)", "x.view(-1).mul_(2)", "x.triu_()", "x.index_fill_(0, torch.tensor([0]), 9.0)",
          "x.sqrt_()", "x.floor_()", "x.addmm_(y, y)", "setattr(x, 'data', y * 2)"]  # fmt: skip


@pytest.mark.parametrize("text", WRITES)
def test_writes_into_tensors_from_outside(torch, text):
    def run(compiled):
        torch.manual_seed(0)
        x, y = torch.rand(3, 3), torch.rand(3, 3)
        exec_in = {"x": x, "y": y, "torch": torch, "slice": slice}
        code = compile(text, "here", "eval")

        def f():
            eval(code, exec_in)

        call = torch.compile(f) if compiled else f
        for _ in range(3):
            call()
        return x, x + 1, torch.get_rng_state().float()

    close(run(True), run(False))


@pytest.mark.parametrize("text", ["x.t_()", "x.squeeze_()", "x.set_(y)", "x.resize_(2)", "setattr(x, 'data', y[0])"])
def test_other_memory_for_tensors_from_outside_is_refused(torch, text):
    x, y = torch.rand(3, 3), torch.rand(3, 3)
    before = x.tolist()
    with pytest.raises(RuntimeError, match=r"do that outside|outside of the compiled"):
        torch.compile(lambda: (eval(text, {"x": x, "y": y}), None)[1])()
    assert x.tolist() == before


def test_recorded_changes_of_tensors_from_outside_are_refused(torch):
    w = torch.ones(2, requires_grad=True)
    x = w * 1
    node = x.grad_fn
    with pytest.raises(RuntimeError, match="do that outside"):
        torch.compile(lambda: x.mul_(2))()
    assert x.grad_fn is node and x.tolist() == [1, 1]


def test_arguments_that_are_views(torch):
    """One program serves all rows of a table, and sees those that belong together."""
    rows, more = torch.arange(6.0).reshape(2, 3), torch.arange(6.0).reshape(2, 3) * 10
    f = torch.compile(lambda x: x * 2 + 1)
    for x in (rows[0], rows[1], more[0], more[1]):
        close(f(x), x * 2 + 1)
    assert f.count == 1

    def g(x, y):
        x.add_(y.sum())
        return x + y

    fast = torch.compile(g)

    def run(call):
        a, b = torch.arange(6.0).reshape(2, 3), torch.arange(6.0).reshape(2, 3) * 10
        return (
            [
                call(a[0], b[0]),
                call(a[1], b[1]),
                call(a[0], a[1]),
                call(a[0], a[0]),
                call(b[0], b[1]),
                call(a[0], b[1]),
            ],
            a,
            b,
        )

    for _ in range(2):
        close(run(fast), run(g))


def test_a_closure_and_an_argument_that_share_memory(torch):
    def run(compiled):
        table, other = torch.arange(6.0).reshape(2, 3), torch.arange(6.0).reshape(2, 3)

        def f(x):
            table.mul_(2)
            return x + table[0]

        call = torch.compile(f) if compiled else f
        return [call(other[0]), call(table[0]), call(table[1]), call(table[0]), call(other[1])], table

    close(run(True), run(False))


def test_views_of_arguments_come_back_as_views(torch):
    f = torch.compile(lambda x: (x.t(), x[0], x * 2))
    x = torch.zeros(2, 3)
    for _ in range(2):
        turned, first, _ = f(x)
        turned[1, 1] = 5.0
        first[0] = 7.0
        assert x.tolist() == [[7, 0, 0], [0, 5, 0]]
        x.zero_()


# Transforms, nesting


def test_transforms_inside(torch):
    w = torch.randn(3, 3)
    func = torch.func

    def f(x):
        return (torch.tanh(w @ x) ** 2).sum()

    x, v = torch.randn(3), torch.randn(3)
    for made in (func.grad(f), func.hessian(f), func.jacrev(f), func.jacfwd(f), lambda x: func.jvp(f, (x,), (v,)),
                 lambda x: func.vjp(f, x)[1](torch.tensor(2.0))):  # fmt: skip
        agree(torch, made, x)


def test_vmap_of_grad(torch):
    func = torch.func
    w = torch.randn(2, 3)
    g = func.vmap(func.grad(lambda w, x: torch.tanh(w @ x).sum()), in_dims=(None, 0))
    agree(torch, g, w, torch.randn(4, 3))


def test_compiled_inside_transforms(torch):
    func = torch.func
    f = torch.compile(lambda x: (x**3).sum())
    x = torch.randn(3)
    close(func.grad(f)(x), 3 * x**2)
    close(func.vmap(f)(torch.stack([x, x])), torch.stack([(x**3).sum()] * 2))


def test_nested(torch):
    inner = torch.compile(lambda x: x * 2)
    outer = torch.compile(lambda x: inner(x) + inner(x + 1))
    close(outer(torch.ones(2)), torch.full((2,), 6.0))
    assert inner.count == 0


# Gradients of results


def test_backward_through_a_compiled_function(torch):
    w = torch.randn(3, 3, requires_grad=True)

    def f(x):
        h = torch.tanh(x @ w)
        return h, h.sum(1), x.detach() * 2

    def run(call):
        w.grad = None
        x = torch.linspace(-1, 1, 6).reshape(2, 3).requires_grad_()
        for _ in range(2):
            a, b, c = call(x)
            assert not c.requires_grad
            ((a * a).sum() + (b * 3).sum()).backward()
        return x.grad, w.grad

    expected = run(f)
    close(run(torch.compile(f)), expected)


def test_gradients_of_some_results(torch):
    f = torch.compile(lambda x, y: (x * y, x + 1))
    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    f(x, y)[1].sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_second_derivatives_of_a_compiled_function_are_refused(torch):
    f = torch.compile(lambda x: (x**3).sum())
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(NotImplementedError, match="derivative of a compiled function"):
        torch.autograd.grad(f(x), x, create_graph=True)


def test_gradients_inside(torch):
    def f(x):
        y = (x**3).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x)
        return g.detach(), h

    agree(torch, f, torch.randn(3, requires_grad=True))


def test_no_grad_inside(torch):
    def f(x):
        with torch.no_grad():
            scale = x.sum()
        return (x * scale).sum()

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    torch.compile(f)(x).backward()
    assert x.grad.tolist() == [3, 3]


# Randomness


@pytest.mark.parametrize("text", ["torch.rand(3)", "torch.randn(20)", "torch.randint(0, 9, (4,))", "torch.randperm(5)",
                                  "torch.bernoulli(x)", "torch.rand_like(x)", "torch.normal(x, x)",
                                  "torch.nn.functional.dropout(x, 0.5)"])  # fmt: skip
def test_random_numbers(torch, text):
    x = torch.full((4,), 0.5)

    def f(x):
        return eval(text, {"torch": torch, "x": x})

    def run(call):
        torch.manual_seed(3)
        return [call(x) for _ in range(3)], torch.rand(2)

    close(run(torch.compile(f)), run(f))


# Several threads


def test_threads(torch):
    w = torch.randn(16, 16)
    f = torch.compile(lambda x: torch.tanh(x @ w).sum(1))
    inputs = [torch.randn(8, 16) for _ in range(6)]
    expected, wrong = [torch.tanh(x @ w).sum(1) for x in inputs], []

    def work(n):
        for _ in range(20):
            found = f(inputs[n])
            if not np.allclose(found.numpy(), expected[n].numpy(), atol=1e-5):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and f.count == 1


def test_other_threads_go_on_while_one_traces(torch):
    stop, wrong = threading.Event(), []

    def work():
        x = torch.ones(4)
        while not stop.is_set():
            if (x * 2 + 1).sum().item() != 12:
                wrong.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    for n in range(10):
        torch.compile(lambda x, n=n: torch.exp(x) * n)(torch.ones(3))
    stop.set()
    thread.join()
    assert not wrong


# Descriptions


def test_explain(torch, capsys):
    f = torch.compile(lambda x, w: torch.tanh(x @ w).sum(), explain=True)
    f(torch.ones(3, 4), torch.ones(4, 2))
    shown = capsys.readouterr().out
    for word in ("matmul", "bytes", "arena", "floating-point", "tanh", "time", " us"):
        assert word in shown
    assert "matmul" in f.explain()


def test_explaining_changes_nothing(torch):
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)

    def step():
        (w * torch.rand(3)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    f = torch.compile(step)
    f()
    before, state = w.detach().clone(), torch.get_rng_state()
    assert "rand" in f.explain()
    assert torch.equal(w, before) and torch.equal(state, torch.get_rng_state())
    f()
    assert not torch.equal(w, before)


def test_bad_options(torch):
    with pytest.raises(NotImplementedError, match="dynamic"):
        torch.compile(lambda x: x, dynamic=True)
    with pytest.raises(RuntimeError, match="backend"):
        torch.compile(lambda x: x, backend="nope")
    with pytest.raises(RuntimeError, match="mode"):
        torch.compile(lambda x: x, mode="nope")
    with pytest.raises(TypeError, match="function or a module"):
        torch.compile(3)
