"""Which tensorgrad this is, under the names that PyTorch has in `torch.version`."""

import tensorgrad

__version__ = tensorgrad.__version__
cuda = hip = xpu = git_version = None
debug = False
