"""Fused kernels: an expression over arrays becomes one compiled loop (with the `jit` extra).

>>> torch.kernels.show(lambda x: torch.exp(x) * 2, torch.ones(3))
for i0 in range(3):
    t1 = exp(x0[i0])
    b3[i0] = t1 * 2
"""

from tensorgrad.kernels.machine import available

__all__ = ["available", "show"]


def show(function, *args, what="python", **kwargs):
    """Print what a function of tensors becomes: `what` is "python" (loops), "llvm" or "assembly".

    >>> torch.kernels.show(lambda x: (x * x).sum(), torch.ones(2, 3))
    b2 = 0
    for i0 in range(2):
        for i1 in range(3):
            t1 = x0[i0, i1] * x0[i0, i1]
            b2 += t1
    """
    from tensorgrad.compiler.compiled import program_of
    from tensorgrad.kernels import machine, text

    if what not in ("python", "llvm", "assembly"):
        raise ValueError(f"what={what!r}: 'python', 'llvm' or 'assembly' is expected")
    if what != "python":
        machine.llvm()
    program = program_of(function, args, kwargs)
    if what == "python":
        print(text.source(program))
    else:
        print(program.text if what == "llvm" else machine.engine().assembly(program.text))
