"""Products of matrices and vectors: shapes, values, gradients, and what does not fit."""

import numpy as np
import pytest
from subject import needs, raises, torch

SHAPES = [
    ((3,), (3,), ()),
    ((2, 3), (3,), (2,)),
    ((3,), (3, 2), (2,)),
    ((2, 3), (3, 4), (2, 4)),
    ((5, 2, 3), (3,), (5, 2)),
    ((3,), (5, 3, 2), (5, 2)),
    ((5, 2, 3), (3, 4), (5, 2, 4)),
    ((2, 3), (5, 3, 4), (5, 2, 4)),
    ((5, 2, 3), (5, 3, 4), (5, 2, 4)),
    ((5, 1, 2, 3), (4, 3, 2), (5, 4, 2, 2)),
    ((0, 3), (3, 2), (0, 2)),
    ((2, 0), (0, 3), (2, 3)),
    ((0,), (0,), ()),
    ((0, 2, 3), (3, 4), (0, 2, 4)),
]


@pytest.mark.parametrize(("a", "b", "expected"), SHAPES)
def test_shapes_values_and_gradients_of_matmul(a, b, expected):
    x = torch.randn(a, dtype=torch.float64, requires_grad=True)
    y = torch.randn(b, dtype=torch.float64, requires_grad=True)
    z = x @ y
    assert z.shape == expected and torch.equal(z, torch.matmul(x, y)) and torch.equal(z, x.matmul(y))
    assert np.allclose(z.detach().numpy(), x.detach().numpy() @ y.detach().numpy())
    if 0 not in a + b:
        assert torch.autograd.gradcheck(torch.matmul, (x, y))
        assert torch.autograd.gradgradcheck(torch.matmul, (x, y))
    else:
        z.sum().backward()
        assert x.grad.shape == a and not y.grad.any()


def test_products_by_their_own_names():
    a, b = torch.randn(2, 3), torch.randn(3, 4)
    v, w = torch.randn(3), torch.randn(3)
    assert torch.equal(torch.mm(a, b), a @ b) and torch.equal(a.mv(v), a @ v) and torch.equal(v.dot(w), v @ w)
    assert torch.allclose(torch.outer(v, w), v[:, None] * w)
    batch = torch.stack([a, a])
    assert torch.allclose(torch.bmm(batch, torch.stack([b, b]))[1], a @ b, atol=1e-6)


@needs("addmm", "inner", "ger")
def test_products_with_other_names():
    a, b, v = torch.randn(2, 3), torch.randn(3, 4), torch.randn(3)
    bias = torch.randn(4)
    assert torch.allclose(torch.addmm(bias, a, b, beta=2, alpha=3), 2 * bias + 3 * (a @ b), atol=1e-5)
    assert torch.inner(v, v).item() == torch.dot(v, v).item() and torch.equal(torch.ger(v, v), torch.outer(v, v))


def test_strided_operands():
    a, b = torch.randn(4, 6), torch.randn(6, 4)
    for x, y in ((a.T, b.T), (a[::2], b[:, ::2]), (a[:, ::2], b[1::2]), (a[:, :1].expand(4, 6), b)):
        assert torch.allclose(x @ y, torch.from_numpy(x.numpy().copy() @ y.numpy().copy()), atol=1e-5)


def test_whole_numbers_multiply_exactly():
    a = torch.tensor([[2**31, 1], [0, 3]])
    assert (a @ a).tolist() == [[2**62, 2**31 + 3], [0, 9]] and (a @ a).dtype == torch.int64


def test_complex_products_do_not_conjugate():
    a, b = torch.tensor([1 + 1j, 2j]), torch.tensor([1j, 3 + 0j])
    assert torch.dot(a, b).item() == -1 + 7j


@needs("vdot")
def test_a_product_that_conjugates():
    assert torch.vdot(torch.tensor([1 + 1j, 2j]), torch.tensor([1j, 3 + 0j])).item() == 1 - 5j


def test_half_precision_products():
    a = torch.ones(2, 300, dtype=torch.float16)
    assert (a @ a.T).dtype == torch.float16 and (a @ a.T).tolist() == [[300.0] * 2] * 2
    assert (a.bfloat16() @ a.bfloat16().T).tolist() == [[300.0] * 2] * 2


def ones(*shape, dtype=None):
    return torch.ones(shape, dtype=dtype)


ERRORS = [
    (lambda: ones(2, 3) @ ones(2, 3), "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"),
    (lambda: ones(3) @ ones(2, 3), "mat1 and mat2 shapes cannot be multiplied (1x3 and 2x3)"),
    (lambda: torch.mm(ones(2, 3), ones(2, 3)), "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"),
    (lambda: ones(2, 3) @ ones(2), "size mismatch, got input (2), mat (2x3), vec (2)"),
    (lambda: torch.mv(ones(2, 3), ones(2)), "size mismatch, got input (2), mat (2x3), vec (2)"),
    (lambda: torch.mv(ones(2), ones(2)), "vector + matrix @ vector expected, got 1, 1, 1"),
    (
        lambda: ones(2) @ ones(3),
        "inconsistent tensor size, expected tensor [2] and src [3] to have the same number of elements, but got 2 and "
        "3 elements respectively",
    ),
    (lambda: torch.dot(ones(2), ones(3)), "inconsistent tensor size, expected tensor [2] and src [3] to have the same"),
    (lambda: torch.dot(ones(2, 2), ones(2)), "1D tensors expected, but got 2D and 1D tensors"),
    (
        lambda: ones(2, 3, 4) @ ones(2, 3, 4),
        "Expected size for first two dimensions of batch2 tensor to be: [2, 4] but got: [2, 3].",
    ),
    (
        lambda: torch.bmm(ones(2, 3, 4), ones(3, 4, 4)),
        "Expected size for first two dimensions of batch2 tensor to be: [2, 4] but got: [3, 4].",
    ),
    (
        lambda: ones(2, 3, 4) @ ones(3, 4, 5),
        "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0",
    ),
    (lambda: torch.bmm(ones(2, 3), ones(2, 3)), "batch1 must be a 3D tensor"),
    (lambda: torch.mm(ones(2, 3, 1), ones(2, 3)), "self must be a matrix"),
    (lambda: torch.outer(ones(2, 2), ones(2)), "outer: Expected 1-D argument self, but got 2-D"),
    (
        lambda: torch.tensor(1.0) @ ones(2),
        "both arguments to matmul need to be at least 1D, but they are 0D and 1D",
    ),
    (
        lambda: ones(2, 2) @ ones(2, 2, dtype=torch.float64),
        "expected m1 and m2 to have the same dtype, but got: float != double",
    ),
    (
        lambda: torch.dot(ones(2), ones(2, dtype=torch.int64)),
        "dot : expected both vectors to have same dtype, but found Float and Long",
    ),
]


@pytest.mark.parametrize(("product", "text"), ERRORS)
def test_what_does_not_fit(product, text):
    with raises(RuntimeError, text):
        product()


EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ij,kj->ik", (2, 3), (4, 3)),
    ("bij,bjk->bik", (5, 2, 3), (5, 3, 4)),
    ("bij,bjk", (5, 2, 3), (5, 3, 4)),
    ("i,j", (2,), (3,)),
    ("i,i->", (3,), (3,)),
    ("i,i->i", (3,), (3,)),
    ("...ij,...jk->...ik", (5, 2, 3), (3, 4)),
    ("ii", (3, 3)),
    ("ii->i", (3, 3)),
    ("ij->ji", (2, 3)),
    ("ij->", (2, 3)),
    ("ij->j", (2, 3)),
    ("...i->...", (2, 3)),
    ("i...->...", (2, 3)),
    ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("i,j,k->ijk", (2,), (3,), (4,)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    ("ij,ij,i->j", (2, 3), (2, 3), (2,)),
    ("abc,cd->abd", (2, 3, 4), (4, 5)),
    (" i j , j k -> i k ", (2, 3), (3, 4)),
]


@pytest.mark.parametrize(
    ("equation", "shapes"), [(row[0], row[1:]) for row in EQUATIONS], ids=[r[0] for r in EQUATIONS]
)
def test_einsum(equation, shapes):
    operands = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    result = torch.einsum(equation, *operands)
    expected = np.einsum(equation.replace(" ", ""), *(operand.detach().numpy() for operand in operands))
    assert result.shape == expected.shape and np.allclose(result.detach().numpy(), expected)
    assert torch.equal(torch.einsum(equation, operands), result)
    assert torch.autograd.gradcheck(lambda *operands: torch.einsum(equation, *operands), tuple(operands))


def test_einsum_by_numbers():
    a, b = torch.randn(2, 3), torch.randn(3, 4)
    assert torch.allclose(torch.einsum(a, [0, 1], b, [1, 2], [0, 2]), a @ b, atol=1e-6)
    assert torch.allclose(torch.einsum(a, [..., 1], b, [1, 2], [..., 2]), a @ b, atol=1e-6)


def test_einsum_broadcasts_ones():
    assert torch.einsum("ij,ij->ij", torch.ones(2, 1), torch.ones(2, 3)).shape == (2, 3)


EINSUM_ERRORS = [
    (
        ("ij,jk->ik", (2, 3), (4, 4)),
        "einsum(): subscript j has size 4 for operand 1 which does not broadcast with previously seen size 3",
    ),
    (("ij,jk->ik", (2, 3)), "einsum(): fewer operands were provided than specified in the equation"),
    (("ij->ik", (2, 3), (2, 3)), "einsum(): more operands were provided than specified in the equation"),
    (
        ("ijk->i", (2, 3)),
        "einsum(): the number of subscripts in the equation (3) does not match the number of dimensions (2) for "
        "operand 0 and no ellipsis was given",
    ),
    (("ij->ijk", (2, 3)), "einsum(): output subscript k does not appear in the equation for any input operand"),
    (("ij->ii", (2, 3)), "einsum(): output subscript i appears more than once in the output"),
    (
        ("i1->i", (2, 3)),
        "einsum(): invalid subscript given at index 1 in the equation string, subscripts must be in [a-zA-Z]",
    ),
]


@pytest.mark.parametrize(("call", "text"), EINSUM_ERRORS)
def test_equations_that_do_not_fit(call, text):
    equation, *shapes = call
    with raises(RuntimeError, text):
        torch.einsum(equation, *(torch.ones(shape) for shape in shapes))
