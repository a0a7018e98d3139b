"""Windows for spectra: PyTorch's `torch.signal.windows`. They are in ops/windows.py.

>>> torch.signal.windows.hann(4, sym=False)
tensor([0.0000, 0.5000, 1.0000, 0.5000])
"""

from tensorgrad.ops.index import namespace

__getattr__, __dir__ = namespace("signal.windows", globals())
