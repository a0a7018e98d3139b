"""The programs in `examples/` under PyTorch and under tensorgrad: the same weights, the same batches, the same losses.

One source, one seed. Initial weights and batches are equal bit for bit; the losses of 100 steps agree within 1e-4
relative in float32, and 1e-10 in float64. Only the line that imports the library differs.
"""

import contextlib
import importlib.util
import math
import types
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import tensorgrad  # noqa: E402

EXAMPLES = Path(__file__).parents[2] / "examples"
STEPS = 100
IMPORT = "import tensorgrad as torch\n"
SCHEDULES = ["constant", "linear", "exponential", "step", "multi-step", "polynomial", "cosine", "warm restarts", "cyclic",
             "one cycle", "lambda", "multiplicative", "on plateau", "warm up, then decay", "chained"]  # fmt: skip
PROGRAMS = [
    ("two_moons", {}, {}), ("digits_mlp", {}, {}), ("digits_mlp", {"dropout": 0.2}, {}), ("digits_cnn", {}, {}),
    ("sine_lstm", {}, {}), ("char_gpt", {}, {}), ("digits_vae", {}, {}), ("cart_pole", {}, {}),
    *(("schedulers", {}, {"schedule": name}) for name in SCHEDULES),
]  # fmt: skip
NAMES = ["-".join([name, *map(str, [*built.values(), *trained.values()])]) for name, built, trained in PROGRAMS]


def program(name, library):
    """An example as a module in which `torch` is one of the two libraries."""
    path = EXAMPLES / f"{name}.py"
    source = path.read_text()
    assert source.count(IMPORT) == 1
    if library is torch:
        source = source.replace(IMPORT, "import torch\n")
    made = types.ModuleType(f"{name}_on_{library.__name__}")
    exec(compile(source, str(path), "exec"), made.__dict__)
    assert made.torch is library
    if library is torch and hasattr(made, "load_digits"):
        made.load_digits = lambda: [torch.from_numpy(t.numpy()) for t in tensorgrad.data.load_digits()]
    return made


@contextlib.contextmanager
def settings(library, dtype):
    """One thread (the matrices are small) and a default dtype."""
    threads, before = library.get_num_threads(), library.get_default_dtype()
    library.set_num_threads(1)
    library.set_default_dtype(getattr(library, dtype))
    try:
        yield
    finally:
        library.set_num_threads(threads)
        library.set_default_dtype(before)


def trained(name, library, dtype, built, options):
    """(initial weights, batches, losses) of an example, as NumPy arrays and numbers."""
    with settings(library, dtype):
        example = program(name, library)
        library.manual_seed(0)
        model = example.build(**built)
        weights = {key: value.numpy().copy() for key, value in model.state_dict().items()}
        batches, losses = [], []
        for loss, batch in example.train(model, STEPS, **options):
            losses.append(loss)
            batches.append([tensor.numpy().copy() for tensor in batch])
    assert len(losses) == STEPS and all(math.isfinite(loss) for loss in losses)
    return weights, batches, losses


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-4), ("float64", 1e-10)])
@pytest.mark.parametrize(("name", "built", "options"), PROGRAMS, ids=NAMES)
def test_the_curve_is_pytorchs(name, built, options, dtype, tolerance):
    theirs, ours = (trained(name, library, dtype, built, options) for library in (torch, tensorgrad))
    assert theirs[0].keys() == ours[0].keys()
    for key, weights in theirs[0].items():
        assert ours[0][key].dtype == weights.dtype and ours[0][key].tobytes() == weights.tobytes(), key
    for step, (their_batch, our_batch) in enumerate(zip(theirs[1], ours[1])):
        for a, b in zip(their_batch, our_batch, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes(), f"the batch of step {step}"
    differences = [abs(a - b) / abs(a) for a, b in zip(theirs[2], ours[2])]
    worst = int(np.argmax(differences))
    assert differences[worst] <= tolerance, (
        f"step {worst}: the loss is {theirs[2][worst]} under PyTorch and {ours[2][worst]} here, {differences[worst]:.1e} apart"
    )
    assert min(ours[2][-10:]) < ours[2][0] or name == "cart_pole"  # whose loss says nothing of how well it plays


def test_every_schedule_of_the_example_is_there():
    assert SCHEDULES == list(program("schedulers", tensorgrad).SCHEDULES)
    kinds = set()
    for make in program("schedulers", torch).SCHEDULES.values():
        kinds.add(type(make(torch.optim.SGD([torch.ones(1)], lr=0.1, momentum=0.9))).__name__)
    known = {
        name for name in dir(torch.optim.lr_scheduler) if isinstance(getattr(torch.optim.lr_scheduler, name), type)
    }
    known = {n for n in known if issubclass(getattr(torch.optim.lr_scheduler, n), torch.optim.lr_scheduler.LRScheduler)}
    assert kinds == known - {"LRScheduler", "_LRScheduler", "LinearWarmup"}


def test_there_are_eight_programs_each_compared():
    names = {path.stem for path in EXAMPLES.glob("*.py")}
    assert len(names) >= 8 and names == {name for name, _, _ in PROGRAMS}
    assert importlib.util.find_spec("tensorgrad") is not None
