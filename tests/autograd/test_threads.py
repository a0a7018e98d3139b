"""Backward in several threads at once, on graphs of their own."""

import threading

import pytest
from subject import torch


def run(*works):
    """Run all at once; raise the first error."""
    errors, barrier = [], threading.Barrier(len(works))

    def guarded(work):
        try:
            barrier.wait(10)
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]


def test_separate_graphs_give_separate_gradients():
    results = {}

    def work(number):
        def body():
            for _ in range(50):
                x = torch.full((8,), float(number), requires_grad=True)
                y = x
                for _ in range(20):
                    y = y + x * x
                y.sum().backward()
                results.setdefault(number, set()).add(tuple(x.grad.tolist()))

        return body

    run(*(work(number) for number in range(4)))
    assert results == {number: {(1.0 + 40.0 * number,) * 8} for number in range(4)}


def test_one_graph_walked_by_two_threads_for_different_inputs():
    x = torch.ones(4, requires_grad=True)
    y = torch.ones(4, requires_grad=True)
    shared = (x * y).exp()
    found = {}

    def work(name, wanted):
        def body():
            for _ in range(50):
                found[name] = torch.autograd.grad(shared.sum(), wanted, retain_graph=True)[0].tolist()

        return body

    run(work("x", x), work("y", y))
    assert found["x"] == found["y"] == shared.tolist()


def test_a_graph_built_in_one_thread_is_walked_in_another():
    x = torch.ones(4, requires_grad=True)
    y = (x * x).sum()
    run(y.backward)
    assert x.grad.tolist() == [2.0] * 4


def test_modes_of_one_thread_do_not_touch_the_other():
    def off():
        with torch.no_grad():
            for _ in range(200):
                assert not (torch.ones(1, requires_grad=True) * 2).requires_grad

    def on():
        for _ in range(200):
            x = torch.ones(1, requires_grad=True)
            (x * 2).backward()
            assert x.grad.item() == 2.0

    run(off, on)


def test_hooks_run_in_the_walk_that_calls_them():
    def work():
        me = threading.get_ident()
        seen = []
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        y.register_hook(lambda g: seen.append(threading.get_ident()))
        y.sum().backward()
        assert seen == [me]

    run(work, work)


def test_an_error_in_one_thread_leaves_the_other_alone():
    def failing():
        for _ in range(50):
            y = torch.ones(2, requires_grad=True) * 2
            y.register_hook(lambda g: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                y.sum().backward()

    def working():
        for _ in range(50):
            x = torch.ones(2, requires_grad=True)
            (x * x).sum().backward()
            assert x.grad.tolist() == [2.0, 2.0]

    run(failing, working)


def test_saved_tensors_hooks_belong_to_the_thread():
    packed = []

    def with_hooks():
        with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(threading.get_ident()) or t, lambda t: t):
            for _ in range(100):
                torch.ones(2, requires_grad=True).sin()

    def without():
        for _ in range(100):
            torch.ones(2, requires_grad=True).sin()

    run(with_hooks, without)
    assert len(packed) == 100 and len(set(packed)) == 1
