"""Products of matrices that every program uses: matmul and its special cases, and linear. Each is bilinear: the gradient
of one side is a product with the other. The other products are in products.py, einsum in einsum.py."""

import functools

import numpy as np

from tensorgrad import dtypes
from tensorgrad.autograd.modes import mode
from tensorgrad.backends import crew, native
from tensorgrad.backends.native import PRODUCT_FROM
from tensorgrad.ops import fitting
from tensorgrad.ops.both import number, tensors, xp
from tensorgrad.ops.fitting import check_tensor
from tensorgrad.ops.primitive import Primitive


def _adjoint(x):
    """The last two dimensions swapped, conjugated: of an array or a Tensor."""
    return _conj(x.swapaxes(-1, -2))


def _conj(x):
    return x if type(x) is np.ndarray and x.dtype.kind != "c" else xp.conj(x)


@number
def swap_last(x):
    return x.swapaxes(-1, -2)


tensors["swap_last"] = lambda x: x.transpose(-1, -2)


def is_half(dtype):
    """Whether a NumPy dtype is one of the half types, which are summed in float32."""
    return dtype.itemsize == 2 and dtype.kind in "fV"


def product(a, b):
    """NumPy's matmul for every dtype PyTorch multiplies: half types are summed in float32."""
    if type(a) is np.ndarray is type(b) and a.ndim == 2 == b.ndim and a.dtype.itemsize != 2:
        found = native.product(a, b) if a.size * b.shape[1] > PRODUCT_FROM else None
        return a.dot(b) if found is None else found  # the same as matmul, called in half the time
    if a.dtype.itemsize == 2 and is_half(a.dtype):
        return np.matmul(a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)
    if a.ndim > 2 and b.ndim > 2 and a.shape[-1] == 1 and b.shape[-2] == 1:  # many outer products
        return np.multiply(a, b, order="C")
    if a.ndim > 2 and a.size * b.shape[-1] > SHARED and a.dtype == b.dtype and a.shape[:-2] == b.shape[:-2]:
        out = np.empty((*a.shape[:-1], b.shape[-1]), a.dtype)
        crew.share(lambda low, high: np.matmul(a[low:high], b[low:high], out[low:high]), len(a), products=True)
        return out
    return np.matmul(a, b)


SHARED = 1 << 24  # multiply-adds of many products from which each core takes some of them


def _times(a, b):
    """The product of arrays or of Tensors."""
    return product(a, b) if type(a) is np.ndarray else a @ b


_matmul = Primitive(
    "matmul", product, arity=2, fit=True, fresh=True, node="BmmBackward0", multilinear=True,
    rules={"a": lambda g, b: _times(g, _adjoint(b)), "b": lambda g, a: _times(_adjoint(a), g)},
)  # fmt: skip
_mm = _matmul.variant("mm", "MmBackward0")
_mv = Primitive(
    "mv", lambda a, b: product(a, b), arity=2, fit=True, fresh=True, multilinear=True,
    rules={"a": lambda g, b: xp.outer(g, xp.conj(b)), "b": lambda g, a: _adjoint(a) @ g},
)  # fmt: skip
_vm = Primitive(  # a vector times a matrix, inside transforms; elsewhere it is a matrix of one row, as in PyTorch's graphs
    "vm", lambda a, b: product(a, b), arity=2, fit=True, fresh=True, multilinear=True,
    rules={"a": lambda g, b: xp.conj(b) @ g, "b": lambda g, a: xp.outer(xp.conj(a), g)},
)  # fmt: skip


def _each_times(matrix, vector):
    """A matrix times a vector, or many times many."""
    return matrix @ vector if len(vector.shape) == 1 else (matrix @ vector[..., None])[..., 0]


def _turned(matrix):
    return matrix.swapaxes(-1, -2)


def _outer_kernel(a, b):
    if type(a) is np.ndarray and a.ndim == 2 == b.ndim and a.dtype.kind == "f":
        if a.shape[1] > b.shape[1]:  # the innermost loop is to be the longer one
            return _outer_kernel(b, a).swapaxes(1, 2)
        result = native.loop(np.multiply, [a[..., None], b[..., None, :]], (), a.size * b.shape[1])
        return np.einsum("ri,rj->rij", a, b) if result is None else result
    return np.multiply(a[..., None], b[..., None, :])


_outer = Primitive(  # in derivatives; the public function is a product of views, as in PyTorch's graphs
    "outer", _outer_kernel, arity=2, fit=True, fresh=True, multilinear=True,
    rules={"a": lambda g, b: _each_times(g, xp.conj(b)), "b": lambda g, a: _each_times(_turned(g), xp.conj(a))},
)  # fmt: skip
tensors["outer"] = _outer
_dot = Primitive(
    "dot", lambda a, b: product(a, b), arity=2, fresh=True, multilinear=True,
    rules={"a": lambda g, b: g * xp.conj(b), "b": lambda g, a: g * xp.conj(a)},
)  # fmt: skip

C_NAMES = {"Float": "float", "Double": "double", "Long": "long long", "Int": "int", "Half": "c10::Half",
           "BFloat16": "c10::BFloat16", "Bool": "bool", "Char": "signed char", "Byte": "unsigned char", "Short": "short",
           "ComplexFloat": "c10::complex<float>", "ComplexDouble": "c10::complex<double>"}  # fmt: skip
_C_NAMES = C_NAMES
KERNELS = {"mv": "addmv_impl_cpu", "dot": "dot", "vdot": "vdot", "bmm": "bmm"}  # as errors call what is missing


def _check(name, a, b):
    """Raise unless both are tensors of one dtype that can be multiplied."""
    if not isinstance(a, fitting.Tensor) or not isinstance(b, fitting.Tensor):
        check_tensor(name, a)
        check_tensor(name, b, {"matmul": "other", "dot": "tensor", "vdot": "other", "mv": "vec"}.get(name, "mat2"), 2)
    one, other = a._spec.dtype, b._spec.dtype
    if one is not other:
        if name in ("dot", "vdot"):
            raise RuntimeError(
                f"dot : expected both vectors to have same dtype, but found {one.title} and {other.title}"
            )
        if name == "mv" or (name == "matmul" and len(a._spec.shape) == 2 and len(b._spec.shape) == 1):
            raise RuntimeError(
                f"addmv input tensors must have the same dtype, but got {other.title}, {one.title}, and {other.title}"
            )
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {C_NAMES[one.title]} != {C_NAMES[other.title]}"
        )
    if one is dtypes.bool_:
        raise NotImplementedError(f"\"{KERNELS.get(name, 'addmm_impl_cpu_')}\" not implemented for 'Bool'")


def _x(t):
    return "x".join(str(n) for n in t.shape)


def _apply(primitive, name, operands, out):
    if out is None:
        return primitive.apply(operands, ())
    return fitting.write_out(out, name, operands, lambda: primitive(*operands))


def mm(input, mat2, *, out=None):
    """The product of two matrices.

    >>> torch.mm(torch.ones(2, 3), torch.ones(3, 1))
    tensor([[3.],
            [3.]])
    """
    if mode.special and out is None and (cast := fitting.lowered(input, mat2)) is not None:
        return mm(*cast)
    _check("mm", input, mat2)
    if len(input.shape) != 2:
        raise RuntimeError("self must be a matrix")
    if len(mat2.shape) != 2:
        raise RuntimeError("mat2 must be a matrix")
    if input.shape[1] != mat2.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({_x(input)} and {_x(mat2)})")
    return _apply(_mm, "mm", (input, mat2), out)


def bmm(input, mat2, *, out=None):
    """The products of two batches of matrices.

    >>> torch.bmm(torch.ones(2, 1, 3), torch.ones(2, 3, 1)).flatten()
    tensor([3., 3.])
    """
    if mode.special and out is None and (cast := fitting.lowered(input, mat2)) is not None:
        return bmm(*cast)
    _check("bmm", input, mat2)
    a, b = input._spec.shape, mat2._spec.shape
    if len(a) != 3:
        raise RuntimeError("batch1 must be a 3D tensor")
    if len(b) != 3:
        raise RuntimeError("batch2 must be a 3D tensor")
    if a[0] != b[0] or a[2] != b[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{input.shape[0]}, {input.shape[2]}] but got: "
            f"[{mat2.shape[0]}, {mat2.shape[1]}]."
        )
    return _apply(_matmul, "bmm", (input, mat2), out)


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
    return _apply(_mv, "mv", (input, vec), out)


def dot(input, tensor, *, out=None):
    """The sum of the products of two vectors.

    >>> torch.dot(torch.tensor([1., 2.]), torch.tensor([3., 4.]))
    tensor(11.)
    """
    check_vectors("dot", input, tensor)
    return _apply(_dot, "dot", (input, tensor), out)


def check_vectors(name, input, tensor):
    """Raise unless these are two vectors of one length."""
    check_tensor(name, input)
    check_tensor(name, tensor, "tensor" if name == "dot" else "other", 2)
    if len(input.shape) != 1 or len(tensor.shape) != 1:
        raise RuntimeError(f"1D tensors expected, but got {len(input.shape)}D and {len(tensor.shape)}D tensors")
    _check(name, input, tensor)
    if input.shape != tensor.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{input.shape[0]}] and src [{tensor.shape[0]}] to have the same "
            f"number of elements, but got {input.shape[0]} and {tensor.shape[0]} elements respectively"
        )


def matmul(input, other, *, out=None):
    """The matrix product, of vectors, matrices or batches of matrices.

    >>> torch.matmul(torch.ones(2, 3), torch.tensor([1., 2., 3.]))
    tensor([6., 6.])
    """
    try:
        a, b = input._spec, other._spec
    except AttributeError:
        _check("matmul", input, other)
        raise
    n, m = len(a.shape), len(b.shape)
    if (
        n == 2
        and m == 2
        and a.dtype is b.dtype
        and a.shape[1] == b.shape[0]
        and out is None
        and a.dtype is not dtypes.bool_
    ):
        return _mm.apply((input, other), ())
    if mode.special and out is None and (cast := fitting.lowered(input, other)) is not None:
        return matmul(*cast)
    _check("matmul", input, other)
    if out is not None:
        if n == 1 and m == 2 and a.shape[0] == b.shape[0]:  # as in PyTorch, `out` becomes a row of a matrix on the way
            return fitting.write_out(out, "matmul", (input, other), lambda: _mm(input.unsqueeze(0), other)).squeeze_(0)
        return fitting.write_out(out, "matmul", (input, other), lambda: matmul(input, other))
    if n == 2 and m == 2:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({_x(input)} and {_x(other)})")
    if n == 0 or m == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {n}D and {m}D")
    if n == 1 and m == 1:
        return dot(input, other)
    if n == 2 and m == 1:
        return mv(input, other)
    if n == 1 and m == 2:
        if input.shape[0] != other.shape[0]:
            raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied (1x{input.shape[0]} and {_x(other)})")
        if type(input._array) is not np.ndarray or type(other._array) is not np.ndarray:
            return _vm(input, other)
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
    if m == 2 and input.is_contiguous():  # one large product rather than many small ones
        lead = tuple(input.shape[:-1])
        return _mm(input.reshape(count(lead), input.shape[-1]), other).reshape(*lead, other.shape[-1])
    try:
        fitting.broadcast_shapes(input.shape[:-2], other.shape[:-2])
    except RuntimeError:
        for back in range(3, min(n, m) + 1):
            one, two = input.shape[-back], other.shape[-back]
            if one != two and 1 not in (one, two):
                raise RuntimeError(
                    f"The size of tensor a ({one}) must match the size of tensor b ({two}) at non-singleton dimension "
                    f"{max(n, m) - back}"
                ) from None
    return _matmul(input, other)


def count(shape):
    """How many elements a shape has."""
    total = 1
    for n in shape:
        total *= n
    return total


def _batch(a, b):
    try:
        return count(fitting.broadcast_shapes(a.shape[:-2], b.shape[:-2]))
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
    if out is not None:
        return fitting.write_out(out, "outer", (input, vec2), lambda: input.unsqueeze(1) * vec2)
    return input.unsqueeze(1) * vec2


ger = outer

# x @ w.T + b, the operation of a layer, as one node


def _linear_kernel(x, w, b):
    if x.dtype.itemsize == 2 and is_half(x.dtype):  # rounded once
        return _linear_kernel(x.astype(np.float32), w.astype(np.float32), b.astype(np.float32)).astype(x.dtype)
    if x.ndim == 2:
        y = product(x, w.T)
        return np.add(y, b, y)
    y = product(x.reshape(count(x.shape[:-1]), x.shape[-1]), w.T)
    return np.add(y, b, y).reshape(*x.shape[:-1], w.shape[0])


def _rows(x):
    """An array or a Tensor as the matrix of its last dimension's rows."""
    return x if len(x.shape) == 2 else xp.reshape(x, (count(x.shape[:-1]), x.shape[-1]))


def _by_rows(g, w):
    """The product of two matrices, also where it is an outer one (BLAS takes five times as long for that)."""
    return g * w if w.shape[0] == 1 else _times(g, w)


def _linear_input(g, w):
    """The gradient of the input of `linear`."""
    rows = _rows(g)
    gradient = _by_rows(rows, _conj(w))
    return gradient if rows is g else xp.reshape(gradient, (*g.shape[:-1], w.shape[1]))


def _linear_tangent(x, w, t_x, t_w, t_b, out):
    total = t_b
    for part in (t_x is not None and matmul(t_x, w.t()), t_w is not None and matmul(x, t_w.t())):
        if part is not False:
            total = part if total is None else total + part
    return total if total.shape == out.shape else total.expand(out.shape)


_linear_bias = Primitive(
    "linear", _linear_kernel, arity=3, fresh=True, node="AddmmBackward0", pushforward=_linear_tangent,
    rules={
        "x": _linear_input,
        "w": lambda g, x: _times(_rows(g).swapaxes(0, 1), _conj(_rows(x))),
        "b": lambda g: xp.sum_rows(_rows(g)),
    },
)  # fmt: skip
_linear_half = _linear_bias.variant("linear_half", "AddmmBackward0")  # NumPy widens half types: back to their dtype
_linear_half.fit = True


@number
def sum_rows(g):
    if g.size > 1 << 12 and g.dtype in SUMMED_BY_BLAS:  # twice as fast
        return np.matmul(np.ones(len(g), g.dtype), g)
    return np.add.reduce(g, 0)


SUMMED_BY_BLAS = (np.float32, np.float64)


tensors["sum_rows"] = lambda g: g.sum(0)


def linear(input, weight, bias=None, *, out=None):
    """input @ weight.T + bias: the work of a fully connected layer.

    >>> torch.nn.functional.linear(torch.ones(1, 2), torch.tensor([[1., 2.]]), torch.tensor([10.]))
    tensor([[13.]])
    """
    if bias is not None and out is None:
        try:
            x, w, b = input._spec, weight._spec, bias._spec
        except AttributeError:
            raise _not_tensors(input, weight, bias) from None
        if x.dtype is w.dtype is b.dtype is not dtypes.bool_ and _fit_together(x.shape, w.shape, b.shape):
            return (_linear_bias if x.dtype.itemsize != 2 else _linear_half).apply((input, weight, bias), ())
    wrong = _not_tensors(input, weight, bias)
    if wrong is not None:
        raise wrong
    if mode.special and out is None and (cast := fitting.lowered(input, weight, bias)) is not None:
        return linear(*cast)
    if out is not None:
        if bias is None or len(input.shape) == 1:
            result = matmul(input, weight.t(), out=out)
            return result if bias is None else result.add_(bias)
        return fitting.write_out(out, "linear", (input, weight, bias), lambda: linear(input, weight, bias))
    return _linear_of_other_shapes(input, weight, bias)


@functools.lru_cache(maxsize=1024)
def _fit_together(x_shape, w_shape, b_shape):
    """Whether rows of such an input can be multiplied by such a matrix of weights, and then a bias added."""
    return len(w_shape) == 2 and x_shape[-1:] == w_shape[1:] and b_shape == w_shape[:1]


def _not_tensors(input, weight, bias):
    for position, (name, value) in enumerate((("input", input), ("weight", weight), ("bias", bias))):
        if not isinstance(value, fitting.Tensor) and (position < 2 or value is not None):
            return fitting.must_be_tensor("linear", value, name, position + 1)
    return None


def _linear_of_other_shapes(input, weight, bias):
    """linear without a bias, with a bias that broadcasts, with a vector for weight; and what is wrong with the rest."""
    n, m = len(input.shape), len(weight.shape)
    if not n or not m:
        raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are {n}D and {m}D")
    if m > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {m}D")
    kinds = [t._spec.dtype.title for t in (input, weight, bias) if t is not None]
    if len({*kinds}) > 1:
        if bias is None:
            raise RuntimeError(
                f"expected m1 and m2 to have the same dtype, but got: {C_NAMES[kinds[0]]} != {C_NAMES[kinds[1]]}"
            )
        one, other = (kinds[2], kinds[0]) if kinds[2] != kinds[0] else (kinds[0], kinds[1])
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {one} and {other}")
    result = matmul(input, weight.t())
    if bias is None:
        return result
    try:
        return result + bias.expand(result.shape)
    except RuntimeError:
        raise RuntimeError(
            f"The expanded size of the tensor ({result.shape[-1]}) must match the existing size ({bias.shape[-1]}) at "
            f"non-singleton dimension {len(result.shape) - 1}.  Target sizes: {list(result.shape)}.  "
            f"Tensor sizes: {list(bias.shape)}"
        ) from None


class MatmulMixin:
    """a @ b and its relatives as methods."""

    __slots__ = ()

    def __matmul__(self, other):
        return matmul(self, other) if isinstance(other, fitting.Tensor) else NotImplemented

    def __rmatmul__(self, other):
        return matmul(other, self) if isinstance(other, fitting.Tensor) else NotImplemented

    matmul, mm, bmm, mv, dot, outer, ger = matmul, mm, bmm, mv, dot, outer, outer
