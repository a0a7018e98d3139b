"""Switching the recording of graphs off and on: as context, as decorator, as function, per thread."""

import asyncio
import threading

import pytest
from subject import torch


def records():
    return (torch.ones(2, requires_grad=True) * 2).requires_grad


def test_no_grad_records_nothing():
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        y = x * 2
    assert not y.requires_grad and y.grad_fn is None and y.is_leaf
    assert (x * 2).requires_grad


def test_enable_grad_inside_no_grad_records_again():
    with torch.no_grad():
        assert not records()
        with torch.enable_grad():
            assert records()
        assert not records()
    assert records()


@pytest.mark.parametrize("mode", [True, False])
def test_set_grad_enabled_as_a_context_restores(mode):
    with torch.set_grad_enabled(mode):
        assert records() is mode and torch.is_grad_enabled() is mode
    assert torch.is_grad_enabled()


def test_set_grad_enabled_as_a_function_lasts():
    torch.set_grad_enabled(False)
    try:
        assert not torch.is_grad_enabled() and not records()
    finally:
        torch.set_grad_enabled(True)
    assert records()


def test_modes_are_restored_after_an_exception():
    with pytest.raises(ZeroDivisionError), torch.no_grad():
        1 / 0
    assert torch.is_grad_enabled()


def test_one_context_object_can_be_entered_again_and_within_itself():
    guard = torch.no_grad()
    for _ in range(2):
        with guard:
            assert not torch.is_grad_enabled()
        assert torch.is_grad_enabled()


@pytest.mark.parametrize("decorate", [lambda f: torch.no_grad()(f), lambda f: torch.no_grad(f)])
def test_no_grad_decorates_a_function_with_or_without_parentheses(decorate):
    @decorate
    def function(x):
        """What it does."""
        return x * 2

    assert not function(torch.ones(2, requires_grad=True)).requires_grad
    assert function.__name__ == "function" and function.__doc__ == "What it does."
    assert torch.is_grad_enabled()


def test_enable_grad_and_set_grad_enabled_decorate():
    @torch.enable_grad()
    def with_graph():
        return records()

    @torch.set_grad_enabled(False)
    def without_graph():
        return records()

    assert torch.is_grad_enabled()  # used as a decorator it changes nothing outside
    assert not without_graph()
    with torch.no_grad():
        assert with_graph()


def test_a_decorated_function_that_raises_restores_the_mode():
    @torch.no_grad()
    def function():
        raise KeyError("x")

    with pytest.raises(KeyError):
        function()
    assert torch.is_grad_enabled()


def test_a_decorated_method_gets_its_instance():
    class Thing:
        factor = 3

        @torch.no_grad()
        def scale(self, x):
            return x * self.factor

    assert Thing().scale(torch.ones(1, requires_grad=True)).tolist() == [3.0]


def test_a_decorated_generator_keeps_its_mode_inside_and_the_callers_outside():
    @torch.no_grad()
    def numbers():
        for _ in range(3):
            yield torch.is_grad_enabled()

    for inside in numbers():
        assert inside is False
        assert torch.is_grad_enabled()


def test_a_decorated_generator_passes_sent_values_and_returns():
    @torch.no_grad()
    def echo():
        received = []
        try:
            while True:
                received.append((yield torch.is_grad_enabled()))
        except ValueError:
            received.append("thrown")
        return received

    walk = echo()
    assert next(walk) is False
    assert walk.send("a") is False
    with pytest.raises(StopIteration) as stopped:
        walk.throw(ValueError())
    assert stopped.value.value == ["a", "thrown"]
    assert torch.is_grad_enabled()


def test_a_generator_left_unfinished_leaves_the_mode_alone():
    @torch.no_grad()
    def endless():
        while True:
            yield

    walk = endless()
    next(walk)
    walk.close()
    assert torch.is_grad_enabled()


def test_every_thread_starts_with_recording_on():
    seen = {}

    def work():
        seen["start"] = torch.is_grad_enabled()
        with torch.no_grad():
            inside.set()
            outside.wait(5)
            seen["inside"] = torch.is_grad_enabled()

    inside, outside = threading.Event(), threading.Event()
    with torch.no_grad():
        thread = threading.Thread(target=work)
        thread.start()
    inside.wait(5)
    assert torch.is_grad_enabled()  # the other thread is inside its own no_grad
    outside.set()
    thread.join(5)
    assert seen == {"start": True, "inside": False}


def test_a_context_may_be_used_from_a_coroutine_between_waits():
    async def main():
        with torch.no_grad():
            return records()

    assert asyncio.run(main()) is False


def test_a_leaf_may_be_made_inside_no_grad():
    with torch.no_grad():
        x = torch.ones(2, requires_grad=True)
    assert x.requires_grad and x.is_leaf
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_backward_works_inside_no_grad():
    x = torch.ones(2, requires_grad=True)
    y = (x * x).sum()
    with torch.no_grad():
        y.backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_leaf_can_be_stepped_inside_no_grad():
    x = torch.ones(2, requires_grad=True)
    (x * x).sum().backward()
    with torch.no_grad():
        x -= 0.5 * x.grad
    assert x.tolist() == [0.0, 0.0] and x.is_leaf and x.requires_grad


def test_the_graph_is_recorded_by_the_mode_at_the_operation_not_at_backward():
    x = torch.tensor(2.0, requires_grad=True)
    with torch.no_grad():
        constant = x * 3
    (x * constant).backward()
    assert x.grad.item() == 6.0


def test_create_graph_records_whatever_the_mode():
    x = torch.tensor(2.0, requires_grad=True)
    y = x**3
    with torch.no_grad():
        (g,) = torch.autograd.grad(y, x, create_graph=True)
    assert g.requires_grad


def test_modes_live_in_autograd_too():
    assert torch.autograd.no_grad is torch.no_grad
    assert torch.autograd.enable_grad is torch.enable_grad
    assert torch.autograd.set_grad_enabled is torch.set_grad_enabled
