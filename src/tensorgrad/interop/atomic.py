"""Writing a file so that another takes its place only when it is complete."""

import contextlib
import glob
import os
import shutil
from pathlib import Path


@contextlib.contextmanager
def replacing(path):
    """An open file that takes the place of `path` when it is complete. Killed before, the old file is whole."""
    path = Path(os.path.realpath(path))
    if not path.parent.is_dir():
        raise RuntimeError(f"Parent directory {path.parent} does not exist.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory: name a file in it")
    if path.exists() and not path.is_file():  # a pipe, a device
        with open(path, "wb") as file:
            yield file
        return
    remove_left(path)
    partial = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.partial")
    try:
        with open(partial, "wb") as file:
            yield file
        if path.exists():
            shutil.copymode(path, partial)
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def remove_left(path):
    """Remove what killed processes left of earlier attempts to write `path`."""
    for old in path.parent.glob(f".{glob.escape(path.name)}.*.partial"):
        pid = old.name.rsplit(".", 2)[1].partition("-")[0]
        if not (pid.isdigit() and is_running(int(pid))):
            old.unlink(missing_ok=True)


def is_running(pid):
    """Whether a process exists."""
    if os.name != "posix":
        return True  # there is no harmless way to ask
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
