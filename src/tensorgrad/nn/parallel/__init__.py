"""PyTorch's `torch.nn.parallel`, on one device.

>>> torch.nn.DataParallel(torch.nn.ReLU())(torch.tensor([-1., 1.]))
tensor([0., 1.])
"""

from tensorgrad.nn.parallel.data_parallel import DataParallel, data_parallel

__all__ = ["DataParallel", "data_parallel"]
