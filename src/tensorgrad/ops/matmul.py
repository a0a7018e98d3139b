"""Products of matrices: matmul and its special cases, linear, einsum. Each is bilinear: the gradient of one side is a
product with the other."""

import numpy as np

from tensorgrad import dtypes
from tensorgrad.ops import fitting
from tensorgrad.ops.both import number, tensors, xp
from tensorgrad.ops.fitting import check_tensor
from tensorgrad.ops.primitive import Primitive


def _adjoint(x):
    """The last two dimensions swapped, conjugated: of an array or a Tensor."""
    return xp.conj(xp.swap_last(x))


@number
def swap_last(x):
    return x.swapaxes(-1, -2)


tensors["swap_last"] = lambda x: x.transpose(-1, -2)


def product(a, b):
    """NumPy's matmul for every dtype PyTorch multiplies: half types are summed in float32."""
    if a.dtype.itemsize == 2 and a.dtype.kind not in "iu":
        return np.matmul(a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)
    return np.matmul(a, b)


_matmul = Primitive(
    "matmul", lambda a, b: product(a, b), arity=2, fit=True, fresh=True, node="BmmBackward0",
    rules={"a": lambda g, b: g @ _adjoint(b), "b": lambda g, a: _adjoint(a) @ g},
)  # fmt: skip
_mm = _matmul.variant("mm", "MmBackward0")
_mv = Primitive(
    "mv", lambda a, b: product(a, b), arity=2, fresh=True,
    rules={"a": lambda g, b: xp.outer(g, xp.conj(b)), "b": lambda g, a: _adjoint(a) @ g},
)  # fmt: skip
_dot = Primitive(
    "dot", lambda a, b: product(a, b), arity=2, fresh=True,
    rules={"a": lambda g, b: g * xp.conj(b), "b": lambda g, a: g * xp.conj(a)},
)  # fmt: skip


def _check(name, a, b, *ndims):
    check_tensor(name, a)
    check_tensor(name, b, "other" if name in ("matmul", "dot") else "mat2", 2)
    if a._spec.dtype is not b._spec.dtype:
        if name == "dot":
            raise RuntimeError(
                f"dot : expected both vectors to have same dtype, but found {a._spec.dtype.title} and {b._spec.dtype.title}"
            )
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {_c(a)} != {_c(b)}")
    if a._spec.dtype is dtypes.bool_:
        raise NotImplementedError(f"\"addmm_impl_cpu_\" not implemented for '{a._spec.dtype.title}'")


_C_NAMES = {"Float": "float", "Double": "double", "Long": "long long", "Int": "int", "Half": "c10::Half",
            "BFloat16": "c10::BFloat16", "Bool": "bool", "Char": "signed char", "Byte": "unsigned char", "Short": "short",
            "ComplexFloat": "c10::complex<float>", "ComplexDouble": "c10::complex<double>"}  # fmt: skip


def _c(x):
    return _C_NAMES.get(x._spec.dtype.title, x._spec.dtype.title)


def mm(input, mat2, *, out=None):
    """The product of two matrices.

    >>> torch.mm(torch.ones(2, 3), torch.ones(3, 1))
    tensor([[3.],
            [3.]])
    """
    _check("mm", input, mat2)
    if len(input.shape) != 2:
        raise RuntimeError("self must be a matrix")
    if len(mat2.shape) != 2:
        raise RuntimeError("mat2 must be a matrix")
    if input.shape[1] != mat2.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({_x(input)} and {_x(mat2)})")
    return _mm(input, mat2) if out is None else fitting.write_out(out, "mm", (input, mat2), lambda: _mm(input, mat2))


def _x(t):
    return "x".join(str(n) for n in t.shape)


def bmm(input, mat2, *, out=None):
    """The products of two batches of matrices.

    >>> torch.bmm(torch.ones(2, 1, 3), torch.ones(2, 3, 1)).flatten()
    tensor([3., 3.])
    """
    _check("bmm", input, mat2)
    if len(input.shape) != 3:
        raise RuntimeError("batch1 must be a 3D tensor")
    if len(mat2.shape) != 3:
        raise RuntimeError("batch2 must be a 3D tensor")
    if input.shape[0] != mat2.shape[0] or input.shape[2] != mat2.shape[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{input.shape[0]}, {input.shape[2]}] but got: "
            f"[{mat2.shape[0]}, {mat2.shape[1]}]."
        )
    return (
        _matmul(input, mat2)
        if out is None
        else fitting.write_out(out, "bmm", (input, mat2), lambda: _matmul(input, mat2))
    )


def mv(input, vec, *, out=None):
    """The product of a matrix and a vector.

    >>> torch.mv(torch.ones(2, 3), torch.tensor([1., 2., 3.]))
    tensor([6., 6.])
    """
    _check("mv", input, vec)
    if len(input.shape) != 2 or len(vec.shape) != 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {len(vec.shape)}, {len(input.shape)}, {len(vec.shape)}"
        )
    if input.shape[1] != vec.shape[0]:
        raise RuntimeError(f"size mismatch, got input ({input.shape[0]}), mat ({_x(input)}), vec ({vec.shape[0]})")
    return _mv(input, vec) if out is None else fitting.write_out(out, "mv", (input, vec), lambda: _mv(input, vec))


def dot(input, tensor, *, out=None):
    """The sum of the products of two vectors.

    >>> torch.dot(torch.tensor([1., 2.]), torch.tensor([3., 4.]))
    tensor(11.)
    """
    _check("dot", input, tensor)
    if len(input.shape) != 1 or len(tensor.shape) != 1:
        raise RuntimeError(f"1D tensors expected, but got {len(input.shape)}D and {len(tensor.shape)}D tensors")
    if input.shape != tensor.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{input.shape[0]}] and src [{tensor.shape[0]}] to have the same "
            f"number of elements, but got {input.shape[0]} and {tensor.shape[0]} elements respectively"
        )
    return (
        _dot(input, tensor)
        if out is None
        else fitting.write_out(out, "dot", (input, tensor), lambda: _dot(input, tensor))
    )


def matmul(input, other, *, out=None):
    """The matrix product, of vectors, matrices or batches of matrices.

    >>> torch.matmul(torch.ones(2, 3), torch.tensor([1., 2., 3.]))
    tensor([6., 6.])
    """
    _check("matmul", input, other)
    if out is not None:
        return fitting.write_out(out, "matmul", (input, other), lambda: matmul(input, other))
    n, m = len(input._spec.shape), len(other._spec.shape)
    if n == 2 and m == 2:
        if input.shape[1] != other.shape[0]:
            raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({_x(input)} and {_x(other)})")
        return _mm(input, other)
    if n == 0 or m == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {n}D and {m}D")
    if n == 1 and m == 1:
        return dot(input, other)
    if n == 2 and m == 1:
        return mv(input, other)
    if n == 1 and m == 2:
        if input.shape[0] != other.shape[0]:
            raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied (1x{input.shape[0]} and {_x(other)})")
        return _mm(input.unsqueeze(0), other).squeeze(0)
    if n == 1:
        return matmul(input.unsqueeze(0), other).squeeze(-2)
    if m == 1:
        return matmul(input, other.unsqueeze(1)).squeeze(-1)
    if input.shape[-1] != other.shape[-2]:
        if m == 2:
            rows = input._spec.size // (input.shape[-1] or 1)
            raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({rows}x{input.shape[-1]} and {_x(other)})")
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{_batch(input, other)}, {input.shape[-1]}] but got: "
            f"[{_batch(input, other)}, {other.shape[-2]}]."
        )
    if m == 2 and input._array.flags.c_contiguous:  # one large product rather than many small ones
        lead = tuple(input.shape[:-1])
        return _mm(input.reshape(-1, input.shape[-1]), other).reshape(*lead, other.shape[-1])
    try:
        fitting.broadcast_shapes(input.shape[:-2], other.shape[:-2])
    except RuntimeError:
        for back in range(3, min(n, m) + 1):
            a, b = input.shape[-back], other.shape[-back]
            if a != b and 1 not in (a, b):
                raise RuntimeError(
                    f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension "
                    f"{max(n, m) - back}"
                ) from None
    return _matmul(input, other)


def _batch(a, b):
    try:
        return int(np.prod(fitting.broadcast_shapes(a.shape[:-2], b.shape[:-2])))
    except RuntimeError:
        return a.shape[0]


def outer(input, vec2, *, out=None):
    """All products of the elements of two vectors.

    >>> torch.outer(torch.tensor([1., 2.]), torch.tensor([3., 4.]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    for position, x in enumerate((input, vec2)):
        check_tensor("outer", x, ("input", "vec2")[position], position + 1)
        if len(x.shape) != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {('self', 'vec2')[position]}, but got {len(x.shape)}-D")
    result = input.unsqueeze(1) * vec2
    return result if out is None else fitting.store(out, result)


ger = outer

# x @ w.T + b, the operation of a layer, as one node

_linear_bias = Primitive(
    "linear", lambda x, w, b: np.add(p := product(x.reshape(-1, x.shape[-1]), w.T), b, p).reshape(*x.shape[:-1], w.shape[0]),
    arity=3, fresh=True, node="AddmmBackward0",
    rules={
        "x": lambda g, w: g @ xp.conj(w),
        "w": lambda g, x: _adjoint(xp.reshape(g, (-1, g.shape[-1]))).conj() @ xp.conj(xp.reshape(x, (-1, x.shape[-1]))),
        "b": lambda g: xp.sum_rows(xp.reshape(g, (-1, g.shape[-1]))),
    },
)  # fmt: skip


@number
def sum_rows(g):
    return np.add.reduce(g, 0)


tensors["sum_rows"] = lambda g: g.sum(0)


def linear(input, weight, bias=None):
    """input @ weight.T + bias: the work of a fully connected layer.

    >>> torch.nn.functional.linear(torch.ones(1, 2), torch.tensor([[1., 2.]]), torch.tensor([10.]))
    tensor([[13.]])
    """
    check_tensor("linear", input)
    check_tensor("linear", weight, "weight", 2)
    if bias is None or len(input.shape) < 1 or len(weight.shape) != 2 or len(bias.shape) != 1:
        result = matmul(input, weight.t())
        return result if bias is None else result + bias
    if input._spec.dtype is not weight._spec.dtype or bias._spec.dtype is not weight._spec.dtype:
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {input._spec.dtype.title} and {weight._spec.dtype.title}"
        )
    if input.shape[-1] != weight.shape[1]:
        rows = input._spec.size // (input.shape[-1] or 1)
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{input.shape[-1]} and {weight.shape[1]}x{weight.shape[0]})"
        )
    if bias.shape[0] not in (1, weight.shape[0]):
        raise fitting.broadcast_error((weight.new_empty(weight.shape[0]), bias))
    if bias.shape[0] != weight.shape[0]:
        bias = bias.expand(weight.shape[0])
    return _linear_bias(input, weight, bias)


# einsum

_einsum = Primitive(
    "einsum", lambda arrays, equation: _einsum_kernel(arrays, equation), arity=None, on_tensors=True, fresh=True,
    pullback=lambda g, wanted, rest, equation: _einsum_back(g, wanted, rest, equation), params=("equation",), rest_from=0,
)  # fmt: skip


def _einsum_kernel(arrays, equation):
    if arrays[0].dtype.itemsize == 2 and arrays[0].dtype.kind not in "iu":
        return np.einsum(equation, *[a.astype(np.float32) for a in arrays], optimize=True).astype(arrays[0].dtype)
    out = np.einsum(equation, *arrays, optimize=len(arrays) > 2 or arrays[0].size > 4096)
    return out if out.flags.writeable and out.flags.owndata else np.array(out)


def _einsum_back(g, wanted, operands, equation):
    """Each operand's gradient is an einsum of g with the other operands."""
    inputs, output = equation.split("->")
    terms, gradients = inputs.split(","), []
    for i, want in enumerate(wanted):
        if not want:
            gradients.append(None)
            continue
        others = [t for j, t in enumerate(terms) if j != i]
        known = set(output) | set("".join(others))
        target = "".join(c for c in dict.fromkeys(terms[i]) if c in known)
        args = [g, *(x.conj() for j, x in enumerate(operands) if j != i)]
        part = einsum_simple(",".join([output, *others]) + "->" + target, args)
        gradients.append(_spread(part, target, terms[i], operands[i].shape))
    return tuple(gradients)


def _spread(part, have, term, shape):
    """Put back the indices that were summed away, and the diagonals of repeated ones."""
    unique = "".join(dict.fromkeys(term))
    sizes = {c: n for c, n in zip(term, shape, strict=True)}
    view = part
    for position, c in enumerate(unique):
        if c not in have:
            view = view.unsqueeze(position)
    view = view.expand([sizes[c] for c in unique])
    if unique == term:
        return view
    whole = view.new_zeros(shape)
    inside, labels = whole, list(term)
    for c in unique:
        while labels.count(c) > 1:
            first = labels.index(c)
            second = labels.index(c, first + 1)
            inside = inside.diagonal(0, first, second)
            labels = [x for i, x in enumerate(labels) if i not in (first, second)] + [c]
    inside.copy_(view.permute([unique.index(c) for c in labels]))
    return whole


def einsum_simple(equation, operands):
    """einsum of tensors by an equation without spaces or `...`."""
    return _einsum(tuple(operands), equation)


def einsum(equation, *operands):
    """The sum of products that an equation of index letters describes.

    >>> torch.einsum("ij,jk->ik", torch.ones(2, 3), torch.ones(3, 1))
    tensor([[3.],
            [3.]])
    """
    if not isinstance(equation, str):  # operands with lists of index numbers
        operands = (equation, *operands)
        letters = [chr(97 + i) if i < 26 else chr(39 + i) for i in range(52)]
        spell = lambda row: "".join("..." if i is Ellipsis else letters[i] for i in row)
        final = "->" + spell(operands[-1]) if len(operands) % 2 else ""
        count = len(operands) // 2
        equation = ",".join(spell(operands[2 * i + 1]) for i in range(count)) + final
        operands = tuple(operands[2 * i] for i in range(count))
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = tuple(operands[0])
    if not operands:
        raise ValueError("einsum(): must specify at least one operand")
    common = dtypes.result_dtype(operands)
    operands = tuple(x if x._spec.dtype is common else x.to(common) for x in operands)
    return _einsum(operands, _spelled(equation, operands))


def _spelled(equation, operands):
    """The equation without spaces, with an output, and with letters for `...`; PyTorch's errors for what is wrong."""
    text = equation.replace(" ", "")
    left, arrow, output = text.partition("->")
    terms = left.split(",")
    if len(terms) < len(operands):
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    if len(terms) > len(operands):
        raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
    for place, c in enumerate(equation):
        if not c.isalpha() and c not in " ,.->":
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {place} in the equation string, subscripts must be in [a-zA-Z]"
            )
    free = [c for c in "ZYXWVUTSRQPONMLKJIHGFEDCBAzyxwvutsrqponmlkjihgfedcba" if c not in text]
    widest = 0
    for term, x in zip(terms, operands, strict=True):
        named = len(term.replace("...", ""))
        if "..." in term:
            if named > len(x.shape):
                raise RuntimeError(
                    f"einsum(): the number of subscripts in the equation ({named}) is more than the number of dimensions ({len(x.shape)}) for an operand"
                )
            widest = max(widest, len(x.shape) - named)
        elif named != len(x.shape):
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({named}) does not match the number of dimensions "
                f"({len(x.shape)}) for operand {terms.index(term)} and no ellipsis was given"
            )
    dots = "".join(free[:widest])
    spelled = []
    for term, x in zip(terms, operands, strict=True):
        count = len(x.shape) - len(term.replace("...", ""))
        spelled.append(term.replace("...", dots[widest - count :] if count else ""))
    if not arrow:
        counts = "".join(terms).replace("...", "")
        output = "..." * bool(widest) + "".join(sorted(c for c in set(counts) if counts.count(c) == 1))
    output = output.replace("...", dots)
    sizes = {}
    for position, (term, x) in enumerate(zip(spelled, operands, strict=True)):
        for d, (c, n) in enumerate(zip(term, x.shape, strict=True)):
            if sizes.setdefault(c, n) != n and 1 not in (n, sizes[c]):
                raise RuntimeError(
                    f"einsum(): subscript {c} has size {n} for operand {position} which does not broadcast with previously "
                    f"seen size {sizes[c]}"
                )
            sizes[c] = max(sizes[c], n) if n != 1 else sizes[c]
    for c in output:
        if c not in sizes:
            raise RuntimeError(f"einsum(): output subscript {c} does not appear in the equation for any input operand")
        if output.count(c) > 1:
            raise RuntimeError(f"einsum(): output subscript {c} appears more than once in the output")
    return ",".join(spelled) + "->" + output


class MatmulMixin:
    """a @ b and its relatives as methods."""

    __slots__ = ()

    def __matmul__(self, other):
        return matmul(self, other) if isinstance(other, fitting.Tensor) else NotImplemented

    def __rmatmul__(self, other):
        return matmul(other, self) if isinstance(other, fitting.Tensor) else NotImplemented

    matmul, mm, bmm, mv, dot, outer, ger = matmul, mm, bmm, mv, dot, outer, outer
