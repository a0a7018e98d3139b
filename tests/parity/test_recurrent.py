"""LSTM, GRU and RNN in all their variants against PyTorch's: outputs, all gradients, second derivatives, transforms."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import tensorgrad  # noqa: E402
from tensorgrad.backends import native  # noqa: E402
from tensorgrad.backends import recurrent as kernels  # noqa: E402

VARIANTS = [
    (kind, layers, bias, first, both, proj)
    for kind, layers, bias, first, both, proj in itertools.product(
        ("LSTM", "GRU", "RNN", "RNN-relu"), (1, 2), (True, False), (False, True), (False, True), (0, 2)
    )
    if not proj or kind == "LSTM"
]


def made(library, kind, layers, bias, first, both, proj, dtype="float64", dropout=0.0):
    library.manual_seed(3)
    options = {"nonlinearity": "relu"} if kind == "RNN-relu" else {"proj_size": proj} if kind == "LSTM" else {}
    return getattr(library.nn, kind.partition("-")[0])(
        3, 4, layers, bias=bias, batch_first=first, bidirectional=both, dropout=dropout, dtype=getattr(library, dtype),
        **options,
    )  # fmt: skip


def leaf(library, array, grad=True):
    return library.from_numpy(array.copy()).requires_grad_(grad)


def numbers(tensors):
    return [
        None if t is None else t.detach().float().numpy() if t.dtype in HALVES else t.detach().numpy() for t in tensors
    ]


HALVES = {torch.bfloat16, torch.float16, tensorgrad.bfloat16, tensorgrad.float16}


def states_for(library, kind, layers, both, proj, batch, dtype="float64"):
    rng = np.random.default_rng(5)
    count = layers * (2 if both else 1)
    shapes = [(count, batch, proj or 4), (count, batch, 4)][: 2 if kind == "LSTM" else 1]
    return [leaf(library, rng.standard_normal(s).astype(dtype)) for s in shapes]


def flat(result):
    output, ends = result
    output = output.data if hasattr(output, "batch_sizes") else output
    return [output, *(ends if isinstance(ends, tuple) else (ends,))]


def weighted(outs, library):
    return sum((o * leaf(library, np.cos(np.arange(o.numel())).reshape(tuple(o.shape)), False)).sum() for o in outs)


def same(ours, theirs, tolerance=1e-9):
    assert len(ours) == len(theirs)
    for a, b in zip(numbers(ours), numbers(theirs), strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert a.shape == b.shape and a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("packed", [False, True], ids=["padded", "packed"])
def test_outputs_and_gradients(variant, packed):
    found = []
    for library in (tensorgrad, torch):
        kind, layers, _, first, both, proj = variant
        model = made(library, *variant)
        x = leaf(library, np.random.default_rng(0).standard_normal((3, 5, 3) if first else (5, 3, 3)))
        states = states_for(library, kind, layers, both, proj, 3)
        given = x
        if packed:
            given = library.nn.utils.rnn.pack_padded_sequence(x, library.tensor([2, 5, 3]), first, enforce_sorted=False)
        outs = flat(model(given, tuple(states) if kind == "LSTM" else states[0]))
        gradients = library.autograd.grad(weighted(outs, library), [x, *states, *model.parameters()])
        found.append([*outs, *gradients])
        if not packed:
            found[-1].extend(library.autograd.grad(weighted(flat(model(x))[1:], library), [*model.parameters()]))
    same(*found)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN", "RNN-relu"])
def test_second_derivatives(kind):
    found = []
    for library in (tensorgrad, torch):
        model = made(library, kind, 2, True, False, True, 0)
        x = leaf(library, np.random.default_rng(0).standard_normal((4, 2, 3)))
        parameters = [*model.parameters()]
        first = library.autograd.grad(weighted(flat(model(x)), library), [x, *parameters], create_graph=True)
        second = library.autograd.grad(weighted(first, library), [x, *parameters], allow_unused=True)
        found.append(second)
    same(*found, 1e-8)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_half_precision_is_close(kind):
    found = []
    for library in (tensorgrad, torch):
        model = made(library, kind, 1, True, False, False, 0, "bfloat16")
        x = leaf(library, np.random.default_rng(0).standard_normal((4, 2, 3)).astype("float32"), False)
        x = x.to(library.bfloat16).requires_grad_()
        outs = flat(model(x))
        found.append([*outs, *library.autograd.grad(outs[0].float().sum(), [x, *model.parameters()])])
    for a, b in zip(*map(numbers, found), strict=True):
        np.testing.assert_allclose(a, b, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
@pytest.mark.parametrize("first", [False, True])
def test_dropout_between_layers_draws_pytorchs_masks(kind, first):
    found = []
    for library in (tensorgrad, torch):
        model = made(library, kind, 3, True, first, True, 0, "float32", dropout=0.5)
        library.manual_seed(11)
        found.append(flat(model(leaf(library, np.ones((5, 4, 3), "float32")))))
    same(*found, 1e-5)


def test_layout_of_the_output():
    for first, kind in itertools.product((False, True), ("LSTM", "GRU")):
        ours, theirs = (flat(made(lib, kind, 1, True, first, False, 0)(lib.ones(5, 2, 3, dtype=lib.float64))) for lib in
                        (tensorgrad, torch))  # fmt: skip
        assert tuple(ours[0].stride()) == tuple(theirs[0].stride())


@pytest.mark.parametrize("name", ["lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"])
def test_cells_and_their_transforms(name):
    count = {"lstm_cell": 4, "gru_cell": 3}.get(name, 1)
    rng = np.random.default_rng(1)
    arrays = [
        rng.standard_normal(s)
        for s in ((5, 3), (5, 4), (5, 4), (4 * count, 3), (4 * count, 4), (4 * count,), (4 * count,))
    ]
    tangents = [rng.standard_normal(a.shape) for a in arrays]
    found = []
    for library in (tensorgrad, torch):
        values = [leaf(library, a) for a in arrays]

        def step(x, h, c, *weights, library=library):
            out = getattr(library, name)(x, (h, c) if name == "lstm_cell" else h, *weights)
            return out if isinstance(out, tuple) else (out,)

        outs = step(*values)
        used = values if name == "lstm_cell" else [*values[:2], *values[3:]]
        first = library.autograd.grad(weighted(outs, library), used, create_graph=True)
        second = library.autograd.grad(weighted(first, library), used, allow_unused=True, materialize_grads=True)
        _, moved = library.func.jvp(step, tuple(values), tuple(library.from_numpy(t) for t in tangents))
        rows = [out.unsqueeze(1) for out in outs]
        if library is tensorgrad:  # PyTorch cannot map these
            rows = library.func.vmap(lambda x, h, c, v=values: step(x[None], h[None], c[None], *v[3:]))(*values[:3])
        found.append([*outs, *first, *second, *moved, *rows])
    same(*found)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_transforms_of_whole_sequences(kind):
    """Forward mode against finite differences, vmap against rows one by one, gradients of each sample."""
    model = made(tensorgrad, kind, 2, True, False, True, 0)
    weights = {name: p.detach() for name, p in model.named_parameters()}
    rng = np.random.default_rng(2)
    x, t = (tensorgrad.from_numpy(rng.standard_normal((6, 2, 3))) for _ in range(2))
    call = lambda x: tensorgrad.func.functional_call(model, weights, (x,))[0]
    _, moved = tensorgrad.func.jvp(call, (x,), (t,))
    same([moved], [(call(x + 1e-6 * t) - call(x - 1e-6 * t)) / 2e-6], 1e-6)
    batch = tensorgrad.from_numpy(rng.standard_normal((3, 6, 2, 3)))
    same([tensorgrad.func.vmap(call)(batch)], [tensorgrad.stack([call(row) for row in batch])])
    loss = lambda w, x: tensorgrad.func.functional_call(model, w, (x,))[0].square().sum()
    each = tensorgrad.func.vmap(tensorgrad.func.grad(loss), in_dims=(None, 0))(weights, batch)
    alone = [tensorgrad.func.grad(loss)(weights, row) for row in batch]
    same([*each.values()], [tensorgrad.stack([a[name] for a in alone]) for name in each])


@pytest.mark.parametrize(
    "call",
    [
        lambda t, x, h, w, u: t.lstm(x, [h], [w, u], False, 1, 0.0, False, False, False),
        lambda t, x, h, w, u: t.lstm_cell(x[0], (h[0],), w, u),
        lambda t, x, h, w, u: t.lstm_cell(x[0, :, :2], (h[0], h[0]), w, u),
        lambda t, x, h, w, u: t.lstm_cell(x[0], (h[0, :1], h[0]), w, u),
        lambda t, x, h, w, u: t.lstm_cell(x[0], (h[0], h[0, :, :3]), w, u),
        lambda t, x, h, w, u: t.lstm_cell(x[0, 0], (h[0, 0], h[0, 0]), w, u),
        lambda t, x, h, w, u: t.gru(x[..., :2], h, [w[:12], u[:12]], False, 1, 0.0, False, False, False),
        lambda t, x, h, w, u: t.gru(x[:0], h, [w[:12], u[:12]], False, 1, 0.0, False, False, False),
        lambda t, x, h, w, u: t.gru(x, h, [w[:12], u[:12]], False, 1, 0.0),
    ],
    ids=range(9),
)
def test_mistakes(call):
    told = []
    for library in (tensorgrad, torch):
        arrays = [np.zeros(s, "float32") for s in ((5, 2, 3), (1, 2, 4), (16, 3), (16, 4))]
        with pytest.raises(Exception) as caught:
            call(library, *map(library.from_numpy, arrays))
        told.append((caught.type, str(caught.value).partition("\n")[0].partition(" - ")[0]))
    assert told[0] == told[1]


def test_empty_batch():
    for kind in ("LSTM", "GRU"):
        found = []
        for library in (tensorgrad, torch):
            model = made(library, kind, 1, True, False, False, 0)
            outs = flat(model(library.zeros(5, 0, 3, dtype=library.float64)))
            found.append([*outs, *library.autograd.grad(outs[0].sum(), [*model.parameters()])])
        same(*found)


@pytest.mark.parametrize("cell", ["lstm", "gru", "tanh", "relu"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", [(5, 3, 2, 4), (4, 17, 5, 33), (7, 8, 32, 64), (3, 1, 1, 1)], ids=str)
@pytest.mark.parametrize("reverse", [False, True])
def test_compiled_steps_give_numpys_numbers(monkeypatch, cell, dtype, sizes, reverse):
    """Code made for the processor against the same steps in NumPy, with and without what is optional."""
    pytest.importorskip("llvmlite")
    monkeypatch.setattr(kernels, "LEAST", 0)
    steps, batch, inputs, hidden = sizes
    gates, rng = kernels.GATES[cell] * hidden, np.random.default_rng(0)
    draw = lambda *s: (rng.standard_normal(s) / np.sqrt(hidden)).astype(dtype)
    memory = draw(batch, hidden) if cell == "lstm" else None
    for bias in (True, False):
        x, g = (draw(batch, steps, n).transpose(1, 0, 2) for n in (inputs, hidden))
        given = x, draw(batch, hidden), memory, draw(gates, inputs), draw(gates, hidden)
        given += (draw(gates), draw(gates), None) if bias else (None, None, None)
        arrived = (g, draw(batch, hidden), None) if bias else (None, draw(batch, hidden), memory)
        wanted, found = [t is not None for t in given], []
        for on in (False, True):
            with native.using(on):
                out = kernels.forward(*given, cell, None, reverse)
                kept = out[3:] if cell in ("lstm", "gru") else (None, None)
                back = kernels.backward(*arrived, *given, out[0], *kept, cell, None, reverse, wanted)
                found.append([*out[:3], *back])
        for a, b in zip(*found, strict=True):
            assert (a is None) == (b is None)
            if a is not None and a.size:
                tolerance = (3e-6 if dtype == "float32" else 1e-13) * max(1, np.abs(a).max())
                np.testing.assert_allclose(b, a, rtol=0, atol=tolerance)


def test_states_that_saturate_do_so_in_compiled_steps_too(monkeypatch):
    pytest.importorskip("llvmlite")
    monkeypatch.setattr(kernels, "LEAST", 0)
    big = np.array([[1e4, -1e4, 50.0, -50.0, 0.0]]).repeat(3, 0).astype("float32")[None]
    eye = np.concatenate([np.eye(5, dtype="float32")] * 4)
    zero = np.zeros((3, 5), "float32")
    with native.using(True):
        states, _, memory, _, _ = kernels.forward(big, zero, zero, eye, 0 * eye, None, None, None, "lstm", None, False)
    np.testing.assert_allclose(memory[0], [1, 0, 1, 0, 0], atol=1e-6)
    np.testing.assert_allclose(states[0, 0], [np.tanh(1), 0, np.tanh(1), 0, 0], atol=1e-6)
