"""What the operations on matrices share: checks in PyTorch's words, the error of singular matrices, named results."""

import numpy as np

from tensorgrad.dtypes import FLOAT
from tensorgrad.ops import fitting
from tensorgrad.ops.fitting import check_tensor
from tensorgrad.ops.results import return_type

PUBLIC = {"linalg": "LinAlgError"}


class LinAlgError(RuntimeError):
    """What is raised for matrices that cannot be inverted or factored.

    >>> torch.linalg.inv(torch.zeros(1, 1))
    Traceback (most recent call last):
    ...
    tensorgrad.linalg.LinAlgError: linalg.inv: The diagonal element 1 is zero, the inversion could not be completed ...
    """


LinAlgError.__module__ = "tensorgrad.linalg"

REASONS = {
    "inv": "The diagonal element {} is zero, the inversion could not be completed because the input matrix is singular.",
    "solve": "The solver failed because the input matrix is singular.",
    "cholesky": "The factorization could not be completed because the input is not positive-definite (the leading minor of "
    "order {} is not positive-definite).",
    "eig": "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated "
    "eigenvalues (error code: {}).",
    "svd": "The algorithm failed to converge because the input matrix contained non-finite values.",
    "lu_factor": "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you still want to "
    "perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)",
}  # fmt: skip


def check_info(name, reason, info, kind=LinAlgError):
    """Raise for the first matrix of a batch that could not be factored; `info` tells where each failed, or 0."""
    if not info.any():
        return
    index = int(np.flatnonzero(info)[0])
    batch = f"(Batch element {index}): " if info.ndim else ""
    raise kind(f"{name}: {batch}{REASONS[reason].format(int(info.reshape(-1)[index]))}")


def check_matrix(name, x, argument="A", position=1, function=None):
    """`x`, which must be a tensor of matrices; `name` as in linalg.inv."""
    check_tensor((function or name).replace(".", "_"), x, argument, position)
    if len(x._spec.shape) < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")
    return x


def check_square(name, x, argument="A", position=1, function=None):
    """`x`, which must be a tensor of square matrices."""
    check_matrix(name, x, argument, position, function)
    rows, columns = x._spec.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"{name}: {argument} must be batches of square matrices, but they are {rows} by {columns} matrices"
        )
    return x


def check_dtype(name, x, kernel=None):
    """Raise for dtypes that matrices are not factored in; `kernel`: what PyTorch calls that is not there."""
    dtype = x._spec.dtype
    if dtype.category < FLOAT and (name or kernel is None):
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {dtype.title}")
    if dtype.category < FLOAT or dtype.itemsize == 2:
        if kernel is None:
            raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {dtype.title}")
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtype.title}'")
    return x


def check_same_dtype(name, a, b, words=("A", "B")):
    """Raise unless two tensors have one dtype."""
    if a._spec.dtype is not b._spec.dtype:
        raise RuntimeError(
            f"{name}: Expected {words[0]} and {words[1]} to have the same dtype, but found {words[0]} of type "
            f"{a._spec.dtype.title} and {words[1]} of type {b._spec.dtype.title} instead"
        )


def check_fits(name, a, b, left=True):
    """Raise unless A X = B (or X A = B) can be solved as the shapes are."""
    if a.shape[-2] != b.shape[-2 if left else -1]:
        shapes = " and ".join(f"{x.shape[-2]}x{x.shape[-1]}" for x in (a, b))
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} ({shapes})"
        )
    check_batches(a, b)


def check_batches(a, b):
    """Raise unless the batches of two tensors of matrices broadcast."""
    one, other = a.shape[:-2], b.shape[:-2]
    for back in range(1, min(len(one), len(other)) + 1):
        if one[-back] != other[-back] and 1 not in (one[-back], other[-back]):
            raise RuntimeError(
                f"The size of tensor a ({one[-back]}) must match the size of tensor b ({other[-back]}) at non-singleton dimension "
                f"{max(len(one), len(other)) - back}"
            )


def named(kind, fields, parts):
    """A result with named parts."""
    return return_type(kind, tuple(fields.split()))(parts)


def of_matrices(apply, values, batched, params, size):
    """The batching rule of an operation on matrices whose batches broadcast."""
    from tensorgrad.func.batching import leading_of

    return leading_of(*(2,) * len(values))(apply, values, batched, params, size)


def reduced_to(g, spec):
    """A gradient summed over the batch that its input was broadcast to."""
    return fitting.fit_tensor(g, spec)


def plus(a, b):
    """The sum of two gradients, either of which may be None."""
    return b if a is None else a if b is None else a + b
