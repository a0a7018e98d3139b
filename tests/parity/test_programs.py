"""Small programs, each run once by PyTorch and once by tensorgrad in this process, and compared to the last result.

A program is a file in `programs/` with `main(torch)`: it may print, and returns a list of results. A function among the
results is called here, so that what it raises is compared like any other result.
"""

import contextlib
import importlib.util
import io
import os
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

pytorch = pytest.importorskip("torch")
subject = importlib.import_module(os.environ.get("TENSORGRAD_SUBJECT", "tensorgrad"))

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))
# PyTorch composes matmul and einsum of smaller steps and names the last; here they are one node with their own name.
STEPS = ("UnsafeViewBackward0", "ViewBackward0", "SqueezeBackward4")
TOLERANCE = {"float16": 1e-3, "bfloat16": 1e-2, "float32": 2e-5, "complex64": 2e-5}


def spoken(value):
    """Text as PyTorch would write it: its name before dtypes and types, no addresses.

    A longer name may push the last part of a tensor's text to a line of its own: that line break goes.
    """
    text = re.sub(r"\btensorgrad\.", "torch.", str(value))
    text = re.sub(r",\n +(?=dtype|grad_fn|requires_grad)", ", ", text)
    return re.sub(r"0x[0-9a-f]+", "0x", text)


def run(path, torch):
    """What a program prints and returns, as plain data that can be compared."""
    specification = importlib.util.spec_from_file_location(f"program_{path.stem}", path)
    program = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(program)
    torch.manual_seed(0)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [described(result, torch) for result in program.main(torch)]
    assert torch.is_grad_enabled()
    return results, spoken(printed.getvalue())


def described(result, torch):
    if callable(result) and not isinstance(result, (torch.Tensor, type)):
        try:
            return described(result(), torch)
        except Exception as error:
            return "raised", [kind.__name__ for kind in type(error).__mro__], " ".join(spoken(error).split())
    if isinstance(result, torch.Tensor):
        return "tensor", values(result, torch), facts(result)
    if isinstance(result, np.ndarray):
        return "array", result.astype(np.complex128), (str(result.dtype), result.shape, result.strides)
    if isinstance(result, dict):
        return "dict", {key: described(value, torch) for key, value in result.items()}
    if isinstance(result, (tuple, list)) and type(result) is not torch.Size:
        return "sequence", [described(item, torch) for item in result]
    return "value", type(result).__name__, spoken(repr(result))


def values(tensor, torch):
    """The numbers of a tensor of any dtype, exactly."""
    tensor = tensor.detach()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.to(torch.float32)
    return np.array(tensor.tolist(), dtype=object).reshape(tuple(tensor.shape))


def facts(tensor):
    node = tensor.grad_fn
    return {
        "dtype": spoken(tensor.dtype),
        "shape": tuple(tensor.shape),
        "layout": (tensor._is_view(), strides_that_count(tensor), tensor.storage_offset(), tensor.is_contiguous()),
        "requires_grad": tensor.requires_grad,
        "is_leaf": tensor.is_leaf,
        "grad_fn": None if node is None else node.name().split("::")[-1],
        "repr": spoken(repr(tensor)),
    }


def strides_that_count(tensor):
    """The strides, None where a dim of one is never stepped along."""
    return tuple(None if n == 1 else step for n, step in zip(tensor.shape, tensor.stride(), strict=True))


def same(theirs, ours, where):
    assert theirs[0] == ours[0], f"{where}: {theirs} became {ours}"
    kind = theirs[0]
    if kind == "tensor":
        if repr(theirs[1].tolist()) != repr(ours[1].tolist()):  # a last digit may print differently, and wrap a line
            for _, _, known in (theirs, ours):
                known["repr"] = re.sub(r"\s+|grad_fn=<.*>", "", known["repr"].rpartition("]")[2])
        if theirs[2]["grad_fn"] in STEPS and ours[2]["grad_fn"]:
            for _, _, known in (theirs, ours):
                known["repr"] = re.sub(r"\s*grad_fn=<.*>", "", known["repr"])
            theirs[2]["grad_fn"] = ours[2]["grad_fn"]
        their_layout, our_layout = theirs[2].pop("layout"), ours[2].pop("layout")
        if their_layout[0] and our_layout[0]:
            assert their_layout == our_layout, where
        elif their_layout[
            -1
        ]:  # a result of its own may lie as it likes, but .view() must work where it does for PyTorch
            assert our_layout[-1], f"{where}: not contiguous, with strides {our_layout[1]}"
        assert theirs[2] == ours[2], where
        name = theirs[2]["dtype"].removeprefix("torch.")
        close(theirs[1], ours[1], TOLERANCE.get(name, 1e-10) if "float" in name or "complex" in name else 0, where)
    elif kind == "array":
        assert theirs[2] == ours[2], where
        close(theirs[1], ours[1], 1e-6, where)
    elif kind == "dict":
        assert list(theirs[1]) == list(ours[1]), where
        for key, value in theirs[1].items():
            same(value, ours[1][key], f"{where}[{key!r}]")
    elif kind == "sequence":
        assert len(theirs[1]) == len(ours[1]), where
        for number, (their, our) in enumerate(zip(theirs[1], ours[1], strict=True)):
            same(their, our, f"{where}[{number}]")
    elif kind == "raised":
        assert theirs[1][0] in ours[1], f"{where}: {theirs[1:]} became {ours[1:]}"
        assert ours[2].startswith(theirs[2]), f"{where}: {theirs[2]!r} became {ours[2]!r}"
    else:
        assert theirs == ours, where


def close(theirs, ours, tolerance, where):
    assert theirs.shape == ours.shape, where
    if tolerance == 0:
        assert theirs.tolist() == ours.tolist(), where
        return
    a, b = theirs.astype(np.complex128), ours.astype(np.complex128)
    assert np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True), f"{where}: {a} became {b}"


@pytest.mark.parametrize("path", PROGRAMS, ids=[path.stem for path in PROGRAMS])
def test_a_program_gives_the_same_under_both_names(path):
    their_results, their_lines = run(path, pytorch)
    our_results, our_lines = run(path, subject)
    assert len(their_results) == len(our_results) > 0
    for number, (theirs, ours) in enumerate(zip(their_results, our_results, strict=True)):
        same(theirs, ours, f"{path.stem} result {number}")
    assert their_lines == our_lines


def test_there_are_programs():
    assert len(PROGRAMS) >= 20
