"""`Variable`, PyTorch's name for a tensor in its earliest versions: it is the Tensor."""

from tensorgrad.tensor import Tensor


class VariableMeta(type):
    def __instancecheck__(cls, other):
        return isinstance(other, Tensor)


class Variable(metaclass=VariableMeta):
    """A Tensor, as programs for early versions of PyTorch spell it.

    >>> torch.autograd.Variable(torch.ones(1), requires_grad=True)
    tensor([1.], requires_grad=True)
    """

    def __new__(cls, data, requires_grad=False):
        return data.detach().requires_grad_(requires_grad)
