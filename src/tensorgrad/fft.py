"""Fourier transforms: PyTorch's `torch.fft`. The operations are in ops/fft.py.

>>> torch.fft.fft(torch.tensor([1., 0., 0., 0.]))
tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
"""

from tensorgrad.ops.index import namespace

__getattr__, __dir__ = namespace("fft", globals())
