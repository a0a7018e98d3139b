"""The programs of the seeds that need modules, datasets and checkpoints."""

import pytest
from subject import raises, torch

Module = torch.nn.Module


class SquaredOnce(Module):
    """The weights are squared when the module is made, so every step shares that part of the graph."""

    def __init__(self, n):
        super().__init__()
        self.weights = torch.nn.Parameter(torch.rand(n)) ** 2

    def forward(self, x):
        return x * self.weights


class SquaredEachTime(Module):
    def __init__(self, n):
        super().__init__()
        self.weights = torch.nn.Parameter(torch.rand(n))

    def forward(self, x):
        return x * (self.weights**2)


class SquareIsTheParameter(Module):
    def __init__(self, n):
        super().__init__()
        self.weights = torch.nn.Parameter(torch.rand(n) ** 2)

    def forward(self, x):
        return x * self.weights


def test_a_module_that_returns_many_numbers_has_no_implicit_gradient():
    model = SquaredOnce(5)
    model.zero_grad()
    with raises(RuntimeError, "grad can be implicitly created only for scalar outputs"):
        model(torch.rand(5)).backward()


def test_the_second_step_goes_through_the_graph_that_the_first_freed():
    model, x = SquaredOnce(5), torch.rand(5)
    assert list(model.parameters()) == []
    torch.sum(model(x)).backward()
    model.zero_grad()
    with raises(RuntimeError, "Trying to backward through the graph a second time"):
        torch.sum(model(x)).backward()


@pytest.mark.parametrize("kind", [SquaredEachTime, SquareIsTheParameter])
def test_both_corrections_can_be_stepped_again(kind):
    model, x = kind(5), torch.rand(5)
    for _ in range(2):
        model.zero_grad()
        torch.sum(model(x)).backward()
    weights = model.weights.detach()
    assert torch.allclose(model.weights.grad, 2 * weights * x if kind is SquaredEachTime else x)


class WritesByIndex(Module):
    def forward(self, x):
        y = torch.empty(3)
        y[:2] = x
        y[2] = x[0] * y[0]
        return y[0]


def test_writing_by_index_in_a_module_is_in_place():
    x = torch.rand(2, requires_grad=True)
    y = WritesByIndex()(x)
    with raises(
        RuntimeError, "one of the variables needed for gradient computation has been modified by an inplace operation"
    ):
        y.backward()


class Square(Module):
    def forward(self, x):
        return x**2


def test_hooks_on_a_module_see_what_goes_in_and_what_comes_out():
    model, seen = Square(), {}
    model.register_forward_hook(lambda *arguments: seen.update(forward=arguments))
    model.register_full_backward_hook(lambda *arguments: seen.update(backward=arguments))
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (model(x) * 2.0).sum().backward()
    module, inputs, output = seen["forward"]
    assert repr(module) == "Square()"
    assert (inputs[0].tolist(), output.tolist()) == ([1.0, 2.0, 3.0], [1.0, 4.0, 9.0])
    module, to_inputs, to_outputs = seen["backward"]
    assert module is model
    assert (to_inputs[0].tolist(), to_outputs[0].tolist()) == ([4.0, 8.0, 12.0], [2.0, 2.0, 2.0])


def test_a_pair_of_tensors_is_loaded_whole(tmp_path):
    path = tmp_path / "training.pt"
    torch.save((torch.ones(4, 2), torch.arange(4)), path)
    x, y = torch.load(path)
    assert torch.equal(x, torch.ones(4, 2)) and y.tolist() == [0, 1, 2, 3]


def test_a_loader_gives_a_dataset_out_a_batch_at_a_time():
    class Squares(torch.utils.data.Dataset):
        def __len__(self):
            return 5

        def __getitem__(self, index):
            return torch.tensor(float(index)), index * index

    batches = list(torch.utils.data.DataLoader(Squares(), batch_size=2))
    assert [labels.tolist() for _, labels in batches] == [[0, 1], [4, 9], [16]]
    assert [x.tolist() for x, _ in batches] == [[0.0, 1.0], [2.0, 3.0], [4.0]]
