"""The command `tensorgrad`: run a PyTorch program, draw its graph, time the engine, say what is installed, show a demo.

Each command is one function that takes the parsed arguments and returns the exit status; its work is done elsewhere.
"""

import argparse
import os
import sys
from pathlib import Path
from types import ModuleType

_DRAWN_NAMES = ("loss", "y", "out")


def main(argv=None):
    """Run the command line `argv` (or the process's own) and return the exit status.

    >>> from tensorgrad.cli import main
    >>> main(["info"])  # doctest: +ELLIPSIS
    tensorgrad ...
    0
    """
    parser = _parser()
    arguments, rest = parser.parse_known_args(argv)
    if rest and arguments.command is not bench:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    arguments.rest = rest
    return arguments.command(arguments)


def run(arguments):
    """Run a program written for PyTorch, with `torch` meaning tensorgrad."""
    return _execute(arguments)[0]


def show(arguments):
    """Run a program, then draw the graph behind the tensor that it leaves in `loss`, `y` or `out`."""
    status, names = _execute(arguments)
    if status:
        return status
    from .show import graph

    try:
        name = _drawn_name(names, arguments.name)
        drawing = graph(names[name], {name: names[name], **names}, limit=arguments.limit)
    except (LookupError, ValueError) as error:
        return _refuse(error.args[0])
    _print(drawing.text())
    if not arguments.text:
        _print(f"\n{drawing.summary()}; wrote {drawing.save(arguments.out)}")
    return 0


def bench(arguments):
    """Time tensorgrad, beside PyTorch where that is installed."""
    import subprocess

    here = Path(__file__).parent
    for folder in (here / "benchmarks", here.parent.parent / "benchmarks"):  # installed; a source tree
        if (folder / "run.py").exists():
            return subprocess.call([sys.executable, str(folder / "run.py"), *arguments.rest])
    return _refuse("the benchmarks are not beside this copy of tensorgrad; install it whole, or run from a source tree")


def info(arguments):
    """Print versions, processor, BLAS and which extras are present: what a report of a problem should hold."""
    from .info import facts

    for name, value in facts():
        _print(f"{name:12s} {value}")
    return 0


def demo(arguments):
    """Train a classifier of handwritten digits and write its loss curve."""
    from .demo import main

    return main(out=arguments.out, epochs=arguments.epochs, seed=arguments.seed)


def _parser():
    parser = argparse.ArgumentParser(prog="tensorgrad", description="PyTorch's autograd in Python, on NumPy.")
    commands = parser.add_subparsers(required=True, metavar="command")

    def command(function, **options):
        added = commands.add_parser(
            function.__name__, help=function.__doc__.splitlines()[0], description=function.__doc__, **options
        )
        added.set_defaults(command=function)
        return added

    def takes_program(added):
        added.add_argument("-m", dest="module", action="store_true", help="the program is a module's name, not a file")
        added.add_argument("program", help="a Python file")
        added.add_argument("arguments", nargs=argparse.REMAINDER, help="what follows belongs to the program")

    takes_program(command(run))
    drawn = command(show)
    drawn.add_argument("--name", help=f"the variable to draw (otherwise {', '.join(_DRAWN_NAMES)}, whichever is found)")
    drawn.add_argument("--out", default="graph.html", help="where the page goes (graph.html)")
    drawn.add_argument("--text", action="store_true", help="print only, write no page")
    drawn.add_argument("--limit", type=int, default=600, help="the most nodes a drawing may have (400)")
    takes_program(drawn)
    command(bench, add_help=False)  # its options, --help among them, are those of benchmarks/run.py
    command(info)
    trained = command(demo)
    trained.add_argument("--out", default="demo.html", help="where the page with the loss curve goes (demo.html)")
    trained.add_argument("--epochs", type=int, default=60, help="how often to go through the data (60)")
    trained.add_argument("--seed", type=int, default=0, help="the seed of all random numbers (0)")
    return parser


def _execute(arguments):
    """Run the program as Python would, under the name `__main__`; return its exit status and the names it leaves."""
    from .interop.torch_name import explain, install_as_torch

    install_as_torch()
    program = arguments.program
    sys.argv = [program, *arguments.arguments]
    try:
        if arguments.module:
            import runpy

            sys.path[0] = os.getcwd()
            return 0, runpy.run_module(program, run_name="__main__", alter_sys=True)
        try:
            source = Path(program).read_bytes()
        except OSError as error:
            return _refuse(f"cannot read {program}: {error.strerror}"), {}
        sys.path[0] = str(Path(program).resolve().parent)
        main_module = ModuleType("__main__")  # a fresh module, so that pickles and inspection find the program's names
        main_module.__file__ = program
        sys.modules["__main__"] = main_module
        exec(compile(source, program, "exec"), main_module.__dict__)
        return 0, main_module.__dict__
    except SystemExit:
        raise
    except BaseException as error:
        explain(error)
        sys.excepthook(type(error), error, _without_our_frames(error))
        return 130 if isinstance(error, KeyboardInterrupt) else 1, {}


def _without_our_frames(error):
    """The traceback from the program's first line on: how we started it is of no use to its reader."""
    traceback = error.__traceback__
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if file != __file__ and not file.startswith("<frozen "):
            break
        traceback = traceback.tb_next
    error.__traceback__ = traceback
    return traceback


def _drawn_name(names, wanted):
    from tensorgrad import Tensor

    drawable = [name for name, value in names.items() if isinstance(value, Tensor) and value.requires_grad]
    for name in [wanted] if wanted else _DRAWN_NAMES:
        if name in drawable:
            return name
    missing = (
        f"a tensor named {wanted}" if wanted else f"a tensor named {', '.join(_DRAWN_NAMES[:-1])} or {_DRAWN_NAMES[-1]}"
    )
    others = f"choose one with --name: {', '.join(drawable)}" if drawable else "it leaves no tensor that requires grad"
    raise LookupError(f"the program does not leave {missing} with a graph behind it; {others}")


def _print(text):
    """Print, with question marks for what the terminal cannot show."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding))


def _refuse(message):
    print(f"tensorgrad: {message}", file=sys.stderr)
    return 2
