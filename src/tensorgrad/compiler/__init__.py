"""Whole programs: a function, or a training step with its backward pass and its update, becomes one compiled program.

>>> square = torch.compile(lambda x: (x * x).sum())
>>> square(torch.tensor([1., 2.]))
tensor(5.)
"""

from tensorgrad.compiler.compiled import Compiled, compile

__all__ = ["Compiled", "compile"]
