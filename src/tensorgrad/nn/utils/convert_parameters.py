"""Parameters as one vector, and back."""

from collections.abc import Iterable

from tensorgrad.ops.joining import cat
from tensorgrad.tensor import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]):
    """All parameters behind one another in a vector; gradients flow through it.

    >>> torch.nn.utils.parameters_to_vector([torch.zeros(2), torch.ones(1, 2)])
    tensor([0., 0., 1., 1.])
    """
    return cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Let the parameters be slices of a vector, one behind the other; they share its memory.

    >>> p, q = torch.zeros(2), torch.ones(1, 2)
    >>> torch.nn.utils.vector_to_parameters(torch.arange(4.), [p, q]); p, q
    (tensor([0., 1.]), tensor([[2., 3.]]))
    """
    if not isinstance(vec, Tensor):
        kind = type(vec)
        name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        raise TypeError(f"expected torch.Tensor, but got: {name}")
    start = 0
    for parameter in parameters:
        end = start + parameter.numel()
        parameter.data = vec[start:end].view_as(parameter).data
        start = end
