"""Hooks on what a graph saves: pack it when it is saved, unpack it when backward needs it."""

from subject import raises, torch

graph = torch.autograd.graph


def leaf():
    return torch.tensor([1.0, 2.0, 3.0], requires_grad=True)


def test_what_pack_returns_is_what_unpack_gets():
    events = []

    def pack(tensor):
        events.append(("pack", tensor.tolist()))
        return "packed", tensor.tolist()

    def unpack(packed):
        events.append(("unpack", packed))
        return torch.tensor(packed[1])

    x = leaf()
    with graph.saved_tensors_hooks(pack, unpack):
        y = x.sin()
    assert events == [("pack", [1.0, 2.0, 3.0])]
    y.sum().backward()
    assert events[1] == ("unpack", ("packed", [1.0, 2.0, 3.0]))
    assert torch.allclose(x.grad, x.detach().cos())


def test_unpack_may_answer_something_else():
    x = leaf()
    with graph.saved_tensors_hooks(lambda t: None, lambda nothing: torch.full((3,), 7.0)):
        y = x * x
    y.sum().backward()
    assert x.grad.tolist() == [14.0] * 3


def test_outside_nothing_is_packed():
    packed = []
    x = leaf()
    with graph.saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t):
        pass
    (x * x).sum().backward()
    assert packed == []


def test_the_innermost_pair_counts():
    events = []

    def pair(name):
        return lambda t: events.append(name) or t, lambda t: t

    x = leaf()
    with graph.saved_tensors_hooks(*pair("outer")):
        with graph.saved_tensors_hooks(*pair("inner")):
            x.sin()
        x.cos()
    assert events == ["inner", "outer"]


def test_results_that_are_saved_are_packed_too():
    packed = []
    x = leaf()
    with graph.saved_tensors_hooks(lambda t: packed.append(t.tolist()) or t, lambda t: t):
        y = x.exp()
    assert packed == [y.tolist()]
    y.sum().backward()
    assert torch.allclose(x.grad, y.detach())


def test_what_saves_nothing_packs_nothing():
    packed = []
    x = leaf()
    with graph.saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t):
        (x + 1).sum().reshape(1, 1)
        with torch.no_grad():
            x * x
    assert packed == []


def test_unpack_is_called_at_every_backward():
    unpacked = []
    x = leaf()
    with graph.saved_tensors_hooks(lambda t: t, lambda t: unpacked.append(1) or t):
        y = x.sin().sum()
    y.backward(retain_graph=True)
    y.backward()
    assert len(unpacked) == 2


def test_reading_a_saved_value_unpacks_it():
    x = leaf()
    with graph.saved_tensors_hooks(lambda t: t * 10, lambda t: t):
        y = x.sin()
    assert y.grad_fn._saved_self.tolist() == [10.0, 20.0, 30.0]


def test_second_derivatives_go_through_the_hooks():
    x = leaf()
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = x**3
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(g.sum(), x)
    assert torch.allclose(second, 6 * x.detach())


def test_unpack_must_answer_a_tensor():
    x = leaf()
    with graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = x * x
    with raises(TypeError, "Output of saved tensor unpack_hook expected to be a Tensor but got result of type int"):
        y.sum().backward()


def test_pack_may_not_write_what_it_is_given():
    x = leaf() * 1
    with (
        graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t),
        raises(RuntimeError, "A saved tensor pack hook is modifying its input in place."),
    ):
        x * x.detach()


def test_a_pack_hook_that_fails_fails_the_operation():
    def fail(tensor):
        raise KeyError("mine")

    with graph.saved_tensors_hooks(fail, lambda t: t), raises(KeyError, "mine"):
        leaf().sin()


def test_hooks_can_be_forbidden():
    with (
        graph.disable_saved_tensors_hooks("no hooks here"),
        raises(RuntimeError, "no hooks here"),
        graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    ):
        pass
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        pass


def test_saving_on_the_cpu_changes_no_gradient():
    x = leaf()
    with graph.save_on_cpu():
        y = x * x
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]


def test_a_single_saved_value_takes_hooks_of_its_own():
    x = leaf()
    y = x.sin()
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t.tolist(), lambda numbers: torch.tensor(numbers) * 0)
    y.sum().backward()
    assert x.grad.tolist() == [1.0] * 3


def test_a_saved_value_takes_one_pair():
    y = leaf().sin()
    saved = y.grad_fn._raw_saved_self
    saved.register_hooks(lambda t: t, lambda t: t)
    with raises(
        RuntimeError,
        "Calling register_hooks on a saved tensor whose hooks have already been set. "
        "Hint: only one pair of hooks is allowed at a time.",
    ):
        saved.register_hooks(lambda t: t, lambda t: t)


def test_writing_to_disk(tmp_path):
    import numpy as np

    files = []

    def pack(tensor):
        path = tmp_path / f"{len(files)}.npy"
        np.save(path, tensor.detach().numpy())
        files.append(path)
        return path

    x = leaf()
    with graph.saved_tensors_hooks(pack, lambda path: torch.from_numpy(np.load(path))):
        y = (x * x).exp()
    y.sum().backward()
    assert len(files) == 3
    assert torch.allclose(x.grad, (2 * x * y).detach())
