"""The old home of `tensorgrad.func.functional_call`."""

import warnings

from tensorgrad import func

__all__ = ["functional_call"]


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Call a module with these tensors in the place of its own: the old name of `torch.func.functional_call`.

    >>> import warnings; warnings.simplefilter("ignore", FutureWarning)
    >>> weights = {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}
    >>> torch.nn.utils.stateless.functional_call(torch.nn.Linear(2, 1), weights, torch.tensor([3., 4.]))
    tensor([7.])
    """
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future version "
        "of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return func.functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
