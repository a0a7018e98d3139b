"""The command `tensorgrad`, as a person types it: each test starts a process of its own."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    os.environ.get("TENSORGRAD_SUBJECT", "tensorgrad") != "tensorgrad", reason="the command runs tensorgrad"
)

LOSS = """
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
bias = torch.zeros(2, requires_grad=True)
"""


@pytest.fixture
def tensorgrad(tmp_path):
    """Write a program, run a command in its folder, and return what came of it."""

    def command(*words, program=None, stdin=None, **environment):
        if program is not None:
            (tmp_path / "prog.py").write_text(program, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "tensorgrad", *words],
            cwd=tmp_path,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert "cli.py" not in done.stderr, "a traceback shows the inside of the command"
        return done

    return command


def test_run_gives_a_program_tensorgrad_under_the_name_torch(tensorgrad):
    done = tensorgrad(
        "run",
        "prog.py",
        program="""
import sys
import torch
import torch as also_torch
import tensorgrad
import torch.autograd.graph
from torch import Tensor
from torch.nn.functional import cross_entropy
print(torch is tensorgrad, also_torch is torch, Tensor is tensorgrad.Tensor)
print(torch.autograd.graph is tensorgrad.autograd.graph)
x = torch.ones(3, requires_grad=True)
(x * x).sum().backward()
print(x.grad)
""",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "True True True\nTrue\ntensor([2., 2., 2.])\n"


def test_run_hands_the_program_its_arguments_and_its_folder(tensorgrad, tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "helper.py").write_text("answer = 42")
    (tmp_path / "below" / "prog.py").write_text(
        "import sys, helper\nprint(sys.argv, __name__, helper.answer)\nif __name__ == '__main__': print(__file__)\n"
    )
    done = tensorgrad("run", os.path.join("below", "prog.py"), "-h", "--rate", "0.1", "--", "x")
    assert done.stderr == ""
    path = os.path.join("below", "prog.py")
    assert done.stdout.splitlines() == [f"{[path, '-h', '--rate', '0.1', '--', 'x']} __main__ 42", path]


def test_run_takes_a_module(tensorgrad, tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__main__.py").write_text("import sys, torch\nprint(sys.argv[1:], torch.__name__)")
    done = tensorgrad("run", "-m", "package", "--flag")
    assert (done.stdout, done.stderr) == ("['--flag'] tensorgrad\n", "")


def test_classes_of_a_program_can_be_pickled(tensorgrad):
    done = tensorgrad(
        "run",
        "prog.py",
        program="import pickle\nclass A:\n    x = 1\nprint(pickle.loads(pickle.dumps(A())).x)",
    )
    assert done.stdout == "1\n"


def test_the_exit_status_is_the_program_s(tensorgrad):
    assert tensorgrad("run", "prog.py", program="import sys\nsys.exit(7)").returncode == 7
    assert tensorgrad("run", "prog.py", program="raise ValueError('no')").returncode == 1


def test_an_error_shows_the_program_and_not_how_it_was_started(tensorgrad):
    done = tensorgrad("run", "prog.py", program="def f():\n    raise ValueError('no')\nf()\n")
    lines = done.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert 'prog.py", line 3, in <module>' in lines[1]
    assert lines[-1] == "ValueError: no"


def test_a_syntax_error_points_at_its_line(tensorgrad):
    done = tensorgrad("run", "prog.py", program="x = (1,\ny = 2 3\n")
    assert done.returncode == 1
    assert "prog.py" in done.stderr and "SyntaxError" in done.stderr


@pytest.mark.parametrize(
    ("program", "error", "named"),
    [
        ("import torch.distributed.nowhere", "ModuleNotFoundError", "tensorgrad has no module torch.distributed"),
        ("from torch import nonesuch", "ImportError", "does not have that name"),
        ("import torch\ntorch.nonesuch(3)", "AttributeError", "tensorgrad has no torch.nonesuch."),
        ("import torch\ntorch.ones(3).nonesuch()", "AttributeError", "tensorgrad's Tensor has no nonesuch."),
    ],
)
def test_what_tensorgrad_lacks_is_named(tensorgrad, program, error, named):
    done = tensorgrad("run", "prog.py", program=program)
    assert done.returncode == 1
    assert error in done.stderr and named in done.stderr
    assert "in the place of PyTorch" in done.stderr


def test_what_a_program_lacks_by_itself_is_not_blamed_on_tensorgrad(tensorgrad):
    program = "import torch\nclass A: pass\nA().nonesuch"
    assert "PyTorch" not in tensorgrad("run", "prog.py", program=program).stderr
    assert "PyTorch" not in tensorgrad("run", "prog.py", program="import torch\nimport torchnonesuch").stderr


def test_a_program_may_ask_for_optional_modules(tensorgrad):
    program = """
import importlib.util
try:
    import torch.nonesuch
except ImportError:
    print("without")
print(importlib.util.find_spec("torch.nonesuch"), importlib.util.find_spec("torch") is not None)
"""
    assert tensorgrad("run", "prog.py", program=program).stdout == "without\nNone True\n"


def test_a_file_that_is_not_there(tensorgrad):
    done = tensorgrad("run", "nowhere.py")
    assert done.returncode == 2
    assert done.stderr == "tensorgrad: cannot read nowhere.py: No such file or directory\n"


def test_show_draws_the_loss_under_the_program_s_names(tensorgrad, tmp_path):
    done = tensorgrad("show", "prog.py", program=LOSS + "loss = (w * 3 + bias).sum()\nloss.backward()")
    assert done.stderr == ""
    assert done.stdout.splitlines()[:6] == [
        "loss  () float32",
        "● SumBackward0",
        "● AddBackward0",
        "├─■ bias  (2,) float32",
        "● MulBackward0",
        "■ w  (2,) float32",
    ]
    assert done.stdout.endswith("3 operations, 2 leaves; wrote graph.html\n")
    assert "bias" in (tmp_path / "graph.html").read_text(encoding="utf-8")


def test_show_takes_another_name_and_another_file(tensorgrad, tmp_path):
    program = LOSS + "import sys\nmine = w.exp()\nprint(sys.argv[1:])"
    done = tensorgrad("show", "--name", "mine", "--out", "a.html", "prog.py", "--out", "b", program=program)
    assert done.stdout.splitlines()[:2] == ["['--out', 'b']", "mine  (2,) float32"]
    assert (tmp_path / "a.html").exists()
    done = tensorgrad("show", "--text", "prog.py", program=LOSS + "y = w.exp()")
    assert done.stdout.startswith("y  (2,)") and not (tmp_path / "graph.html").exists()


def test_show_says_what_there_is_to_draw(tensorgrad):
    done = tensorgrad("show", "prog.py", program=LOSS + "mine = w.exp()")
    assert done.returncode == 2
    assert "loss, y or out" in done.stderr and "--name: w, bias, mine" in done.stderr
    done = tensorgrad("show", "prog.py", program="loss = 3")
    assert done.returncode == 2 and "no tensor that requires grad" in done.stderr
    done = tensorgrad("show", "--limit", "2", "prog.py", program=LOSS + "y = w.exp().sin().cos()")
    assert done.returncode == 2 and "more than 2 nodes" in done.stderr


def test_show_prints_where_the_terminal_knows_no_boxes(tensorgrad):
    done = tensorgrad("show", "--text", "prog.py", program=LOSS + "y = w.exp()", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "? ExpBackward0" in done.stdout


def test_info_names_what_a_report_needs(tensorgrad):
    done = tensorgrad("info")
    assert done.stderr == ""
    for name in ("tensorgrad", "Python", "processor", "NumPy", "BLAS", "[jit]", "PyTorch"):
        assert name in done.stdout


def test_the_demo_learns_and_leaves_a_page(tensorgrad, tmp_path):
    done = tensorgrad("demo", "--epochs", "12", "--out", "page.html")
    assert done.returncode == 0
    accuracy = next(line for line in done.stdout.splitlines() if line.startswith("accuracy"))
    assert float(accuracy.split()[1].rstrip("%")) > 95
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "held out" in page and "Kaynak" in page and "http" not in page


def test_bench_prints_a_table(tensorgrad):
    done = tensorgrad("bench", "--only", "add", "--rounds", "1", "--seconds", "0.01")
    assert done.returncode == 0
    assert "| `add`" in done.stdout
    assert "--rounds" in tensorgrad("bench", "--help").stdout


def test_an_unknown_command_or_option_is_refused(tensorgrad):
    assert tensorgrad("fly").returncode == 2
    done = tensorgrad("info", "--loud")
    assert done.returncode == 2 and "unrecognized arguments: --loud" in done.stderr
    assert "run" in tensorgrad("--help").stdout
