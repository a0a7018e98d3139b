"""Recurrent networks: closed forms, gradients against finite differences, sequences of several lengths."""

import math

import pytest
from subject import IS_TORCH, close, raises, torch

KINDS = ["LSTM", "GRU", "RNN"]


def made(kind, *sizes, **options):
    torch.manual_seed(0)
    return getattr(torch.nn, kind)(*sizes, dtype=torch.float64, **options)


def ends_of(result):
    return result[1] if isinstance(result[1], tuple) else (result[1],)


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def test_one_step_of_each_cell():
    one, w = torch.ones(1, 1), torch.ones(1, 1)
    h, c = torch.lstm_cell(one, (one * 0.5, one * 2), w.expand(4, 1), w.expand(4, 1))
    memory = sigmoid(1.5) * 2 + sigmoid(1.5) * math.tanh(1.5)
    assert close(c, [[memory]]) and close(h, [[sigmoid(1.5) * math.tanh(memory)]])
    candidate = math.tanh(1 + sigmoid(1.5) * 0.5)
    expected = (1 - sigmoid(1.5)) * candidate + sigmoid(1.5) * 0.5
    assert close(torch.gru_cell(one, one * 0.5, w.expand(3, 1), w.expand(3, 1)), [[expected]])
    assert close(torch.rnn_relu_cell(one, one, w, -3 * w), [[0.0]])
    assert close(torch.rnn_tanh_cell(one, one, w, w, w[0], w[0]), [[math.tanh(4)]])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options", [{}, {"bidirectional": True, "num_layers": 2}, {"bias": False, "batch_first": True}], ids=str
)
def test_gradients(kind, options):
    model = made(kind, 2, 3, **options)
    x = torch.randn(3, 2, 2, dtype=torch.float64, requires_grad=True)
    names, values = zip(*model.named_parameters(), strict=True)

    def run(x, *values):
        output, ends = torch.func.functional_call(model, dict(zip(names, values, strict=True)), (x,))
        return (output, *(ends if isinstance(ends, tuple) else (ends,)))

    assert torch.autograd.gradcheck(run, (x, *values))
    assert torch.autograd.gradgradcheck(lambda x: run(x, *values), (x,))


def test_gradients_of_projections():
    model = made("LSTM", 2, 3, proj_size=2)
    x = torch.randn(3, 2, 2, dtype=torch.float64, requires_grad=True)
    values = [*model.parameters()]
    assert torch.autograd.gradcheck(lambda x, *_: model(x)[0], (x, *values))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("both", [False, True])
def test_packed_sequences_are_those_one_by_one(kind, both):
    model = made(kind, 2, 3, bidirectional=both)
    sequences = [torch.randn(n, 2, dtype=torch.float64) for n in (2, 5, 3)]
    packed = torch.nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    result = model(packed)
    outputs = torch.nn.utils.rnn.unpack_sequence(result[0])
    for i, sequence in enumerate(sequences):
        alone = model(sequence)
        assert close(outputs[i], alone[0].tolist(), 1e-12)
        for end, expected in zip(ends_of(result), ends_of(alone), strict=True):
            assert close(end[:, i], expected.tolist(), 1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_outputs_may_be_written_to(kind):
    gradients = []
    for write in (False, True):
        model = made(kind, 2, 3)
        output, _ = model(torch.ones(4, 1, 2, dtype=torch.float64))
        output = output.mul_(2) if write else output * 2
        output.sum().backward()
        gradients.append(model.weight_hh_l0.grad.tolist())
    assert gradients[0] == gradients[1]


def test_states_of_cells_may_be_written_to():
    cell = made("LSTMCell", 2, 3)
    h, c = cell(torch.ones(1, 2, dtype=torch.float64))
    h.mul_(2)
    (h + c).sum().backward()
    doubled = cell.weight_ih.grad.clone()
    cell.zero_grad()
    h, c = cell(torch.ones(1, 2, dtype=torch.float64))
    (2 * h + c).sum().backward()
    assert close(cell.weight_ih.grad, doubled.tolist())


def test_nothing_is_recorded_without_gradients():
    with torch.no_grad():
        output, (h, c) = made("LSTM", 2, 3)(torch.ones(4, 1, 2, dtype=torch.float64))
    assert not (output.requires_grad or h.requires_grad or c.requires_grad)


def test_what_does_not_fit_is_said():
    start, w, u = torch.zeros(1, 2, 4), torch.ones(16, 3), torch.ones(16, 4)
    x = torch.ones(5, 2, 3)
    with raises(RuntimeError, "lstm expects two hidden states"):
        torch.lstm(x, (start,), (w, u), False, 1, 0.0, False, False, False)
    with raises(RuntimeError, "input has inconsistent input_size: got 2 expected 3"):
        torch.lstm_cell(x[0, :, :2], (start[0], start[0]), w, u)
    with raises(TypeError, "lstm() received an invalid combination of arguments"):
        torch.lstm(x, (start, start), (w, u), False, 1, 0.0)


@pytest.mark.skipif(IS_TORCH, reason="PyTorch's compiler is not what is tested here")
@pytest.mark.parametrize("kind", KINDS)
def test_compiled_steps_train_like_eager_ones(kind):
    found = []
    for compiled in (False, True):
        model = made(kind, 2, 3, num_layers=2, bidirectional=True)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        x = torch.linspace(-1, 1, 16, dtype=torch.float64).reshape(4, 2, 2)

        def step(x, model=model, optimizer=optimizer):
            loss = (model(x)[0] ** 2).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss

        step = torch.compile(step) if compiled else step
        losses = [step(x).item() for _ in range(4)]
        found.append((losses, [p.tolist() for p in model.parameters()]))
    (losses, values), (others, more) = found
    assert losses == pytest.approx(others, rel=1e-9) and losses[3] < losses[0]
    for a, b in zip(values, more, strict=True):
        assert close(torch.tensor(a), b, 1e-6)
