"""DataParallel without GPUs: the module itself, in a wrapper under whose name checkpoints may have been written."""

from tensorgrad import dtypes
from tensorgrad.nn.modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Splits a batch over the GPUs there are; where there is none, it calls the module.

    >>> model = torch.nn.DataParallel(torch.nn.Linear(2, 1)); list(model.state_dict())
    ['module.weight', 'module.bias']
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        if device_ids:
            dtypes.check_device("cuda")
        self.module, self.device_ids, self.dim = module, [], dim

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """Call a module on inputs that are split over the GPUs there are.

    >>> torch.nn.parallel.data_parallel(torch.nn.ReLU(), torch.tensor([-1., 1.]))
    tensor([0., 1.])
    """
    if device_ids:
        dtypes.check_device("cuda")
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*inputs, **(module_kwargs or {}))
