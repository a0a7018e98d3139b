"""Products of matrices beyond matmul: sums with a product (addmm and its relatives), products of several matrices,
tensordot, kron, cross products, bilinear forms."""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.dtypes import FLOAT
from tensorgrad.ops import fitting
from tensorgrad.ops.both import arrays, tensors, xp
from tensorgrad.ops.einsum import _einsum
from tensorgrad.ops.fitting import check_tensor, dim_of, is_number
from tensorgrad.ops.forms import inplace_of, promoted, takes_out
from tensorgrad.ops.matmul import C_NAMES, _adjoint, check_vectors, count, is_half, matmul, mm
from tensorgrad.ops.primitive import Primitive

PUBLIC = {
    "": "vdot inner addmm addmv addr baddbmm addbmm chain_matmul kron tensordot cross bilinear",
    "linalg": "matmul multi_dot cross=linalg_cross vecdot",
    "nn.functional": "bilinear",
}


# beta * input + alpha * (a @ b), each as one node


def _sum_with(multiply):
    def kernel(input, a, b, beta, alpha):
        dtype = input.dtype
        if is_half(dtype):  # rounded once
            input, a, b = input.astype(np.float32), a.astype(np.float32), b.astype(np.float32)
        out = multiply(a, b)
        if alpha != 1:
            out = out * _number(alpha, out.dtype)
        if beta == 0:
            out = out.copy() if out.base is not None else out
        else:
            out = out + (input if beta == 1 else input * _number(beta, input.dtype))
        return out.astype(dtype) if out.dtype != dtype else out

    return kernel


def _number(value, dtype):
    """alpha or beta in the dtype of the product; integers cut fractions off, as PyTorch's do."""
    return np.asarray(value).astype(dtype)


def _scaled(g, number):
    return g if number == 1 else g * (number.conjugate() if isinstance(number, complex) else number)


def _adding(name, multiply, rules, rows):
    """The primitive beta * input + alpha * (product of a and b); `rows` is the product of all rows, for vmap."""

    def batch(apply, values, batched, params, size):
        input, a, b = values
        beta, alpha = params
        total = rows(a, b, *batched[1:])
        if alpha != 1:
            total = total * alpha
        if beta == 0:
            return total if batched[1] or batched[2] else total.expand(size, *total.shape)
        rank = len(total.shape) + (not batched[1] and not batched[2])
        if batched[0] and len(input.shape) < rank:
            input = input.reshape(size, *(1,) * (rank - len(input.shape)), *input.shape[1:])
        return total + (input if beta == 1 else input * beta)

    return Primitive(
        name, _sum_with(multiply), arity=3, fit=True, params=("beta", "alpha"), inputs=("input", "a", "b"), batch=batch,
        rules={"input": lambda g, beta: _scaled(g, beta), "a": rules[0], "b": rules[1]},
    )  # fmt: skip


_of_matrices = (
    lambda g, b, alpha: _scaled(g @ _adjoint(b), alpha),
    lambda g, a, alpha: _scaled(_adjoint(a) @ g, alpha),
)
_of_outer = (
    lambda g, b, alpha: _scaled(g @ xp.conj(b), alpha),
    lambda g, a, alpha: _scaled(xp.swap_last(g) @ xp.conj(a), alpha),
)
_of_vector = (
    lambda g, b, alpha: _scaled(xp.outer(g, xp.conj(b)), alpha),
    lambda g, a, alpha: _scaled(_adjoint(a) @ g, alpha),
)


def _matrix_rows(a, b, a_batched, b_batched):
    return matmul(a, b)


def _batch_rows(a, b, a_batched, b_batched):
    return matmul(a, b).sum(-3)


def _vector_rows(a, b, a_batched, b_batched):
    return matmul(a, b.unsqueeze(-1)).squeeze(-1)


def _outer_rows(a, b, a_batched, b_batched):
    return a.unsqueeze(-1) * b.unsqueeze(-2)


_addmm = _adding("addmm", np.matmul, _of_matrices, _matrix_rows)
_baddbmm = _adding("baddbmm", np.matmul, _of_matrices, _matrix_rows)
_addbmm = _adding("addbmm", lambda a, b: np.add.reduce(np.matmul(a, b), 0), _of_matrices, _batch_rows)
_addmv = _adding("addmv", np.matmul, _of_vector, _vector_rows)
_addr = _adding("addr", np.multiply.outer, _of_outer, _outer_rows)


def _scalars(name, input, beta, alpha):
    """alpha and beta, which must suit the dtype."""
    for word, value in (("beta", beta), ("alpha", alpha)):
        if not is_number(value):
            raise TypeError(f"{name}(): argument '{word}' must be Number, not {fitting.kind_name(value)}")
        if input._spec.dtype.category < FLOAT and isinstance(value, (float, complex)) and name == "addr":
            raise RuntimeError(f"For integral input tensors, argument {word} must not be a floating point number.")
        if isinstance(value, complex) and not input._spec.dtype.is_complex:
            raise RuntimeError(f"For non-complex input tensors, argument {word} must not be a complex number.")


def _expandable(input, shape, name=None):
    """Raise unless a tensor can be added to a product of this shape."""
    have = tuple(input.shape)
    if len(have) > len(shape):
        kind = input._spec.dtype.title
        raise RuntimeError(
            f"expand(torch.{kind}Tensor{{{list(have)}}}, size={list(shape)}): the number of sizes provided ({len(shape)}) must "
            f"be greater or equal to the number of dimensions in the tensor ({len(have)})"
        )
    for back in range(1, len(have) + 1):
        if have[-back] not in (1, shape[-back]):
            raise RuntimeError(
                f"The expanded size of the tensor ({shape[-back]}) must match the existing size ({have[-back]}) at non-singleton "
                f"dimension {len(shape) - back}.  Target sizes: {list(shape)}.  Tensor sizes: {list(have)}"
            )


def _titles(*tensors):
    return [t._spec.dtype.title for t in tensors]


def _numeric(name, tensor):
    if tensor._spec.dtype is dtypes.bool_:
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'")


def _three(name, input, a, b, words):
    for position, (word, value) in enumerate(zip(("input", *words), (input, a, b), strict=True)):
        check_tensor(name, value, word, position + 1)


@takes_out
def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    """beta * input + alpha * (mat1 @ mat2).

    >>> torch.addmm(torch.ones(2), torch.eye(2), torch.ones(2, 2), alpha=2)
    tensor([[3., 3.],
            [3., 3.]])
    """
    _three("addmm", input, mat1, mat2, ("mat1", "mat2"))
    for word, value in (("mat1", mat1), ("mat2", mat2)):
        if len(value.shape) != 2:
            raise RuntimeError(f"{word} must be a matrix, got {len(value.shape)}-D tensor")
    if mat1.shape[1] != mat2.shape[0]:
        shapes = " and ".join("x".join(map(str, t.shape)) for t in (mat1, mat2))
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({shapes})")
    kinds = _titles(input, mat1, mat2)
    if len({*kinds}) > 1:
        one, other = ("self and mat2", (kinds[0], kinds[2])) if kinds[0] != kinds[2] else ("mat1 and mat2", kinds[1:])
        raise RuntimeError(f"{one} must have the same dtype, but got {other[0]} and {other[1]}")
    _numeric("addmm_impl_cpu_", input)
    _scalars("addmm", input, beta, alpha)
    _expandable(input, (mat1.shape[0], mat2.shape[1]))
    return _addmm(input, mat1, mat2, beta, alpha)


@takes_out
def addmv(input, mat, vec, *, beta=1, alpha=1):
    """beta * input + alpha * (mat @ vec).

    >>> torch.addmv(torch.ones(2), torch.eye(2), torch.tensor([1., 2.]))
    tensor([2., 3.])
    """
    _three("addmv", input, mat, vec, ("mat", "vec"))
    if len(mat.shape) != 2 or len(vec.shape) != 1 or len(input.shape) > 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {len(input.shape)}, {len(mat.shape)}, {len(vec.shape)}"
        )
    if mat.shape[1] != vec.shape[0] or (input.shape and input.shape[0] not in (1, mat.shape[0])):
        have = input.shape[0] if input.shape else 1
        raise RuntimeError(
            f"size mismatch, got input ({have}), mat ({mat.shape[0]}x{mat.shape[1]}), vec ({vec.shape[0]})"
        )
    kinds = _titles(input, mat, vec)
    if len({*kinds}) > 1:
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {kinds[0]}, {kinds[1]}, and {kinds[2]}"
        )
    _numeric("addmv_impl_cpu", input)
    _scalars("addmv", input, beta, alpha)
    return _addmv(input, mat, vec, beta, alpha)


@takes_out
def addr(input, vec1, vec2, *, beta=1, alpha=1):
    """beta * input + alpha * outer(vec1, vec2).

    >>> torch.addr(torch.zeros(2, 2), torch.tensor([1., 2.]), torch.tensor([3., 4.]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    _three("addr", input, vec1, vec2, ("vec1", "vec2"))
    for word, value in (("vec1", vec1), ("vec2", vec2)):
        if len(value.shape) != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {word}, but got {len(value.shape)}-D")
    _expandable(input, (vec1.shape[0], vec2.shape[0]))
    input, vec1, vec2 = promoted(input, vec1, vec2)
    if input._spec.dtype is dtypes.bool_:
        for word, value in (("Beta", beta), ("Alpha", alpha)):
            if not isinstance(value, (bool, int)):
                raise RuntimeError(f"{word} in addr must be a Boolean for Boolean results.")
        beta, alpha = bool(beta), bool(alpha)
    _scalars("addr", input, beta, alpha)
    return _addr(input, vec1, vec2, beta, alpha)


def _check_batches(name, input, batch1, batch2):
    _three(name, input, batch1, batch2, ("batch1", "batch2"))
    for word, value in (("batch1", batch1), ("batch2", batch2)):
        if len(value.shape) != 3:
            raise RuntimeError(f"{word} must be a 3D tensor")
    one, other = tuple(batch1.shape), tuple(batch2.shape)
    if name == "addbmm":
        if one[0] != other[0]:
            raise RuntimeError(f"batch1 and batch2 must have same number of batches, got {one[0]} and {other[0]}")
        if one[2] != other[1]:
            raise RuntimeError(f"Incompatible matrix sizes for bmm ({one[1]}x{one[2]} and {other[1]}x{other[2]})")
    elif one[0] != other[0] or one[2] != other[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{one[0]}, {one[2]}] but got: "
            f"[{other[0]}, {other[1]}]."
        )
    if len({*_titles(input, batch1, batch2)}) > 1:
        names = [C_NAMES[kind] for kind in _titles(input, batch1, batch2)]
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {names[0]}, batch1: {names[1]}, batch2: {names[2]}"
        )
    _expandable(input, (one[0], one[1], other[2]) if name == "baddbmm" else (one[1], other[2]))


@takes_out
def baddbmm(input, batch1, batch2, *, beta=1, alpha=1):
    """beta * input + alpha * (batch1 @ batch2), matrix by matrix.

    >>> torch.baddbmm(torch.ones(2, 1, 1), torch.ones(2, 1, 3), torch.ones(2, 3, 1)).flatten()
    tensor([4., 4.])
    """
    _check_batches("baddbmm", input, batch1, batch2)
    _numeric("baddbmm_with_gemm", input)
    _scalars("baddbmm", input, beta, alpha)
    return _baddbmm(input, batch1, batch2, beta, alpha)


@takes_out
def addbmm(input, batch1, batch2, *, beta=1, alpha=1):
    """beta * input + alpha * (the sum of all batch1[i] @ batch2[i]).

    >>> torch.addbmm(torch.ones(1, 1), torch.ones(2, 1, 3), torch.ones(2, 3, 1))
    tensor([[7.]])
    """
    _check_batches("addbmm", input, batch1, batch2)
    _numeric("addbmm", input)
    _scalars("addbmm", input, beta, alpha)
    return _addbmm(input, batch1, batch2, beta, alpha)


# Products of vectors


def _vdot_kernel(a, b):
    if is_half(a.dtype):
        return _vdot_kernel(a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)
    return np.vdot(a, b)


_vdot = Primitive(
    "vdot", _vdot_kernel, arity=2, fresh=True, rules={"a": lambda g, b: xp.conj(g) * b, "b": lambda g, a: g * a},
    batch=lambda apply, values, batched, params, size: (values[0].conj() * values[1]).sum(-1),
    pushforward=lambda a, b, t_a, t_b: _vdot_tangent(a, b, t_a, t_b),
)  # fmt: skip


def _vdot_tangent(a, b, t_a, t_b):
    parts = [_vdot(x, y) for x, y in ((t_a, b), (a, t_b)) if x is not None and y is not None]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


@takes_out
def vdot(input, other):
    """The sum of the products of two vectors, the first of them conjugated.

    >>> torch.vdot(torch.tensor([1 + 2j]), torch.tensor([1 + 2j]))
    tensor(5.+0.j)
    """
    check_vectors("vdot", input, other)
    return _vdot(input, other)


@takes_out
def inner(input, other):
    """The sums of products along the last dimensions of two tensors.

    >>> torch.inner(torch.eye(2), torch.tensor([1., 2.]))
    tensor([1., 2.])
    """
    check_tensor("inner", input)
    check_tensor("inner", other, "other", 2)
    if not input.shape or not other.shape:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    return tensordot(input, other, dims=([-1], [-1]))


def tensordot(a, b, dims=2, out=None):
    """The sums of products over several dimensions: the last `dims` of a with the first of b, or those listed.

    >>> torch.tensordot(torch.ones(2, 3), torch.ones(3, 4), dims=1).shape
    tensorgrad.Size([2, 4])
    """
    check_tensor("tensordot", a)
    check_tensor("tensordot", b, "other", 2)
    if isinstance(dims, fitting.Tensor):
        dims = dims.tolist() if len(dims.shape) else dims.item()
    if isinstance(dims, (list, tuple)):
        left, right = dims
        left = [left] if isinstance(left, int) else list(left)
        right = [right] if isinstance(right, int) else list(right)
    else:
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(len(a.shape), len(b.shape)):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        left, right = list(range(len(a.shape) - dims, len(a.shape))), list(range(dims))
    if len(left) != len(right):
        raise RuntimeError("both dimension lists should have same length")
    if a._spec.dtype is not b._spec.dtype:
        raise RuntimeError("both inputs should have same dtype")
    if out is not None:
        return fitting.write_out(out, "tensordot", (a, b), lambda: tensordot(a, b, (left, right)))
    left, right = [dim_of(d, len(a.shape)) for d in left], [dim_of(d, len(b.shape)) for d in right]
    for i, j in zip(left, right, strict=True):
        if a.shape[i] != b.shape[j]:
            if a.shape[i] != 1 and b.shape[j] != 1:
                raise RuntimeError(
                    f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} and second has size "
                    f"{b.shape[j]} in dim {j}"
                )
            a = a.sum(i, keepdim=True) if b.shape[j] == 1 else a
            b = b.sum(j, keepdim=True) if a.shape[i] == 1 else b
    rest_a = [d for d in range(len(a.shape)) if d not in left]
    rest_b = [d for d in range(len(b.shape)) if d not in right]
    middle = count(a.shape[d] for d in left)
    rows, columns = [a.shape[d] for d in rest_a], [b.shape[d] for d in rest_b]
    x = a.permute((*rest_a, *left)).reshape(count(rows), middle)
    y = b.permute((*right, *rest_b)).reshape(middle, count(columns))
    return mm(x, y).reshape((*rows, *columns))


@takes_out
def vecdot(x, y, *, dim=-1):
    """The sum of the products of two vectors along a dimension, the first conjugated.

    >>> torch.linalg.vecdot(torch.ones(2, 3), torch.tensor([1., 2., 3.]))
    tensor([6., 6.])
    """
    check_tensor("linalg_vecdot", x, "x")
    check_tensor("linalg_vecdot", y, "y", 2)
    if x._spec.dtype.category < FLOAT:
        raise RuntimeError(
            f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {x._spec.dtype.title}"
        )
    if x._spec.dtype is not y._spec.dtype:
        raise RuntimeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {x._spec.dtype.title} and y of type "
            f"{y._spec.dtype.title} instead"
        )
    x = x.conj() if x._spec.dtype.is_complex else x
    last = len(x.shape) == len(y.shape) == 1 or (len(x.shape) == len(y.shape) and dim in (-1, len(x.shape) - 1))
    if last and x.shape == y.shape:  # batches of 1 x n by n x 1
        return matmul(x.unsqueeze(-2), y.unsqueeze(-1)).squeeze(-1).squeeze(-1)
    return (x * y).sum(dim)


# Products of several matrices


@takes_out
def multi_dot(tensors):
    """The product of several matrices, in the order that costs least; the first and last may be vectors.

    >>> torch.linalg.multi_dot([torch.ones(1, 2), torch.ones(2, 3), torch.ones(3)])
    tensor([6.])
    """
    tensors = list(tensors)
    n = len(tensors)
    if n < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {n}")
    for i, t in enumerate(tensors):
        check_tensor("linalg_multi_dot", t, "tensors")
        if i in (0, n - 1):
            if len(t.shape) not in (1, 2):
                which = "first" if i == 0 else "last"
                raise RuntimeError(f"multi_dot(): the {which} tensor must be 1D or 2D but got {len(t.shape)}D")
        elif len(t.shape) != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {len(t.shape)}D")
        if t._spec.dtype is not tensors[0]._spec.dtype:
            one, other = (C_NAMES[kind] for kind in _titles(tensors[0], t))
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {one} and tensor {i} {other}"
            )
    row, column = len(tensors[0].shape) == 1, len(tensors[-1].shape) == 1
    shaped = list(tensors)
    if row:
        shaped[0] = shaped[0].unsqueeze(0)
    if column:
        shaped[-1] = shaped[-1].unsqueeze(-1)
    for i in range(n - 1):
        if shaped[i].shape[1] != shaped[i + 1].shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(tensors[i].shape)} and {list(tensors[i + 1].shape)} "
                "cannot be multiplied"
            )
    result = _chain(shaped)
    if row:
        result = result.squeeze(0)
    return result.squeeze(-1) if column else result


def _chain(matrices):
    """The product of a chain of matrices with the fewest multiplications of numbers."""
    n = len(matrices)
    sizes = [m.shape[0] for m in matrices] + [matrices[-1].shape[1]]
    cost, split = [[0] * n for _ in range(n)], {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i][j], split[i, j] = min(
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )

    def multiply(i, j):
        if i == j:
            return matrices[i]
        k = split[i, j]
        return mm(multiply(i, k), multiply(k + 1, j))

    return multiply(0, n - 1)


def chain_matmul(*matrices, out=None):
    """The product of several matrices in the order that costs least; the old name of linalg.multi_dot.

    >>> torch.chain_matmul(torch.ones(1, 2), torch.ones(2, 3), torch.ones(3, 1))
    tensor([[6.]])
    """
    for m in matrices:
        check_tensor("chain_matmul", m, "matrices")
        if len(m.shape) != 2:
            raise RuntimeError(f"Tensor dimension is {len(m.shape)}, expected 2 instead.")
    if len(matrices) < 2:
        if not matrices:
            raise RuntimeError("chain_matmul(): Expected one or more matrices")
        return matrices[0].clone() if out is None else out.copy_(matrices[0])
    return multi_dot(list(matrices), out=out)


@takes_out
def kron(input, other):
    """The Kronecker product: every element of the first times the whole of the second.

    >>> torch.kron(torch.tensor([1., 2.]), torch.tensor([1., 10.]))
    tensor([ 1., 10.,  2., 20.])
    """
    check_tensor("kron", input)
    check_tensor("kron", other, "other", 2)
    rank = max(len(input.shape), len(other.shape))
    a = (1,) * (rank - len(input.shape)) + tuple(input.shape)
    b = (1,) * (rank - len(other.shape)) + tuple(other.shape)
    left = input.reshape([k for n in a for k in (n, 1)])
    right = other.reshape([k for n in b for k in (1, n)])
    return (left * right).reshape([m * n for m, n in zip(a, b, strict=True)])


# Cross products


def _cross_kernel(a, b, dim):
    """The cross product of vectors along a dim, counted from the back."""
    a, b = np.broadcast_arrays(a, b) if a.shape != b.shape else (a, b)
    x, y = (np.moveaxis(t, dim, 0) for t in (a, b))
    out = np.empty(x.shape, x.dtype)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        out[i] = x[j] * y[k] - x[k] * y[j]
    return np.moveaxis(out, 0, dim)


_cross = Primitive(
    "linalg_cross", _cross_kernel, arity=2, fit=True, fresh=True, multilinear=True,
    rules={
        "a": lambda g, b, dim: xp.cross_along(xp.conj(b), g, dim),
        "b": lambda g, a, dim: xp.cross_along(g, xp.conj(a), dim),
    },
    batch=lambda apply, values, batched, params, size: apply(values, params),
)  # fmt: skip
arrays["cross_along"] = _cross_kernel
tensors["cross_along"] = lambda a, b, dim: _cross(a, b, dim)


@takes_out
def linalg_cross(input, other, *, dim=-1):
    """The cross product of vectors of three numbers.

    >>> torch.linalg.cross(torch.tensor([1., 0., 0.]), torch.tensor([0., 1., 0.]))
    tensor([0., 0., 1.])
    """
    check_tensor("linalg_cross", input)
    check_tensor("linalg_cross", other, "other", 2)
    if len(input.shape) != len(other.shape):
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    dim = dim_of(dim, len(input.shape))
    for t in (input, other):
        if not t.shape or t.shape[dim] != 3:
            sizes = [x.shape[dim] if x.shape else 1 for x in (input, other)]
            raise RuntimeError(
                f"linalg.cross: inputs dimension {dim - len(input.shape) if dim == len(input.shape) - 1 else dim} must have "
                f"length 3. Got {sizes[0]} and {sizes[1]}"
            )
    wrong = fitting.broadcast_error((input, other))
    if wrong is not None:
        raise wrong
    input, other = promoted(input, other)
    if input._spec.dtype is dtypes.bool_:
        raise NotImplementedError("\"cross\" not implemented for 'Bool'")
    return _cross(input, other, dim - len(input.shape))


@takes_out
def cross(input, other, dim=None):
    """The cross product of vectors of three numbers, along the first dimension of that size unless `dim` says another.

    >>> torch.cross(torch.tensor([1., 0., 0.]), torch.tensor([0., 1., 0.]))
    tensor([0., 0., 1.])
    """
    check_tensor("cross", input)
    check_tensor("cross", other, "other", 2)
    if dim is None:
        if len(input.shape) != len(other.shape):
            raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
        dim = next((d for d, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return linalg_cross(input, other, dim=dim)


# Bilinear forms


def bilinear(input1, input2, weight, bias=None):
    """input1 @ weight[k] @ input2 + bias[k] for every output k.

    >>> torch.nn.functional.bilinear(torch.ones(1, 2), torch.ones(1, 3), torch.ones(1, 2, 3))
    tensor([[6.]])
    """
    for position, (word, value) in enumerate((("input1", input1), ("input2", input2), ("weight", weight))):
        check_tensor("bilinear", value, word, position + 1)
    if len(input1.shape) != len(input2.shape):
        raise RuntimeError(
            f"bilinear(): input dimensions do not match: got {len(input1.shape)} and {len(input2.shape)}"
        )
    for d, (n, m) in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=True)):
        if n != m:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {d}: got {n} and {m}")
    if input1.shape[-1] != weight.shape[1]:
        raise RuntimeError(
            f"bilinear(): input1 size does not match weight size: got {input1.shape[-1]} but expected {weight.shape[1]}"
        )
    if input2.shape[-1] != weight.shape[2]:
        raise RuntimeError(
            f"bilinear(): input2 size does not match weight size: got {input2.shape[-1]} but expected {weight.shape[2]}"
        )
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected {weight.shape[0]}"
        )
    lead = tuple(input1.shape[:-1])
    x, y = (t.reshape(count(lead), t.shape[-1]) for t in (input1, input2))
    half = _einsum((x, weight), "bi,oij->boj")
    result = _einsum((half, y), "boj,bj->bo").reshape((*lead, weight.shape[0]))
    return result if bias is None else result + bias


class Methods:
    """As methods of Tensor."""

    vdot, inner, kron, cross = vdot, inner, kron, cross
    addmm, addmv, addr, baddbmm, addbmm = addmm, addmv, addr, baddbmm, addbmm
    addmm_, addmv_, addr_, baddbmm_, addbmm_ = map(inplace_of, (addmm, addmv, addr, baddbmm, addbmm))
