"""torch.autograd.functional: products and matrices of derivatives, with their errors, against closed forms."""

import pytest
from subject import close, raises, torch

F = torch.autograd.functional
X = [1.0, 2.0, -1.0]


def cube(x):
    return x**3


def total(x):
    return (x**3).sum()


def x():
    return torch.tensor(X, dtype=torch.float64)


def test_vjp_multiplies_from_the_left():
    matrix = torch.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 4.0]], dtype=torch.float64)
    value, product = F.vjp(lambda x: matrix @ x, x(), torch.tensor([2.0, 1.0], dtype=torch.float64))
    assert close(value, [2.0, -2.0])
    assert close(product, [2.0, 5.0, 10.0])


def test_jvp_multiplies_from_the_right():
    value, product = F.jvp(cube, x(), torch.tensor([1.0, 0.5, 2.0], dtype=torch.float64))
    assert close(value, [1.0, 8.0, -1.0])
    assert close(product, [3.0, 6.0, 6.0])


def test_a_single_number_needs_no_vector():
    assert close(F.vjp(total, x())[1], [3.0, 12.0, 3.0])
    assert close(F.jvp(cube, x()[:1])[1], [3.0])


@pytest.mark.parametrize("product", ["vhp", "hvp"])
def test_products_with_the_hessian(product):
    value, result = getattr(F, product)(lambda x, y: (x**3 * y).sum(), (x(), x()), (x(), x() * 0))
    assert close(value, sum(v**4 for v in X))
    assert close(result[0], [6 * v * v * v for v in X])
    assert close(result[1], [3 * v * v * v for v in X])


@pytest.mark.parametrize("options", [{}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}])
def test_jacobian_of_several_outputs_and_inputs(options):
    found = F.jacobian(lambda x, y: (x * y, x.sum() + y[:2]), (x(), x() * 2), **options)
    assert close(found[0][0], [[2.0, 0, 0], [0, 4.0, 0], [0, 0, -2.0]])
    assert close(found[0][1], [[1.0, 0, 0], [0, 2.0, 0], [0, 0, -1.0]])
    assert close(found[1][0], [[1.0, 1, 1], [1, 1, 1]])
    assert close(found[1][1], [[1.0, 0, 0], [0, 1, 0]])


@pytest.mark.parametrize(
    "options", [{}, {"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}]
)
def test_hessian_of_two_inputs(options):
    found = F.hessian(lambda x, y: (x**2 * y).sum(), (x()[:2], x()[1:]), **options)
    assert close(found[0][0], [[4.0, 0], [0, -2.0]])
    assert close(found[0][1], [[2.0, 0], [0, 4.0]])
    assert close(found[1][0], [[2.0, 0], [0, 4.0]])
    assert close(found[1][1], [[0.0, 0], [0, 0]])


@pytest.mark.parametrize("vectorize", [False, True])
def test_the_structure_is_that_of_inputs_and_outputs(vectorize):
    def shape(value):
        return tuple(map(shape, value)) if isinstance(value, tuple) else tuple(value.shape)

    def jacobian(function, *inputs):
        return shape(F.jacobian(function, *inputs, vectorize=vectorize))

    assert jacobian(cube, x()) == (3, 3)
    assert jacobian(lambda x: (x,), x()) == ((3, 3),)
    assert jacobian(cube, (x(),)) == ((3, 3),)
    assert jacobian(lambda x: (x,), (x(),)) == (((3, 3),),)
    assert jacobian(lambda x: x.sum(), x()) == (3,)
    assert jacobian(cube, x()[0]) == ()


def test_one_vectorised_pass_computes_the_jacobian():
    calls = []

    class Counted(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            calls.append(1)
            return g * 2

    found = F.jacobian(Counted.apply, torch.ones(100), vectorize=True)
    assert torch.equal(found, torch.eye(100) * 2)
    assert len(calls) == 1
    F.jacobian(Counted.apply, torch.ones(3))
    assert len(calls) == 4


def test_create_graph_lets_gradients_through():
    leaf = x().requires_grad_()
    F.jacobian(cube, leaf, create_graph=True).sum().backward()
    assert close(leaf.grad, [6 * v for v in X])
    for product in (F.vjp, F.jvp):
        leaf.grad = None
        product(cube, leaf, x(), create_graph=True)[1].sum().backward()
        assert close(leaf.grad, [6 * v * v for v in X])
    for product in (F.vhp, F.hvp):
        leaf.grad = None
        product(total, leaf, x(), create_graph=True)[1].sum().backward()
        assert close(leaf.grad, [6 * v for v in X])


def test_without_create_graph_results_are_free():
    leaf = x().requires_grad_()
    assert not F.jacobian(cube, leaf).requires_grad
    assert not any(t.requires_grad for t in F.vjp(cube, leaf, x()))
    assert not any(t.requires_grad for t in F.hvp(total, leaf, x()))
    assert leaf.grad is None


SINGLE = "should contain a single element"
MISTAKES = [
    (lambda: F.vjp(cube, [1.0]), TypeError, "The inputs given to vjp must be either a Tensor or a tuple of Tensors"),
    (lambda: F.vjp(cube, (x(), 1.0)), TypeError, "the value at index 1 has type <class 'float'>"),
    (lambda: F.jacobian(lambda x: 1.0, x()), TypeError, "The outputs of the user-provided function given to jacobian"),
    (lambda: F.vjp(cube, x()), RuntimeError, "The vector v can only be None if the user-provided function returns"),
    (
        lambda: F.jvp(cube, x()),
        RuntimeError,
        "The vector v can only be None if the input to the user-provided function",
    ),
    (lambda: F.vjp(cube, x(), x()[:2]), RuntimeError, "v has invalid size: should be torch.Size([3]) but got"),
    (lambda: F.jvp(cube, x(), (x(), x())), RuntimeError, "The given v should contain a single Tensor."),
    (
        lambda: F.jvp(lambda x: x, (x(),), (x(), x())),
        RuntimeError,
        "v is a tuple of invalid length: should be 1 but got 2.",
    ),
    (lambda: F.hessian(cube, x()), RuntimeError, "The Tensor returned by the function given to hessian " + SINGLE),
    (lambda: F.vhp(lambda x: (total(x),) * 2, x(), x()), RuntimeError, "should return a single Tensor"),
    (lambda: F.jacobian(cube, x(), strategy="sideways"), AssertionError, "Expected strategy to be either"),
    (lambda: F.jacobian(cube, x(), strategy="forward-mode"), NotImplementedError, "implemented for `vectorize=True`"),
    (
        lambda: F.jacobian(cube, torch.arange(3)),
        RuntimeError,
        "only Tensors of floating point dtype can require gradients",
    ),
]
STRICT = [
    (
        lambda: F.vjp(lambda x: x.detach(), x(), x(), strict=True),
        "Output 0 of the user-provided function does not require",
    ),
    (
        lambda: F.vjp(lambda x, y: x, (x(), x()), x(), strict=True),
        "is independent of input 1. This is not allowed in strict",
    ),
    (
        lambda: F.jacobian(lambda x, y: x, (x(), x()), strict=True),
        "Output 0 of the user-provided function is independent",
    ),
    (lambda: F.jacobian(lambda x: 2 * x, x(), strict=True, create_graph=True), "when create_graph=True"),
    (
        lambda: F.hessian(lambda x: x.sum(), x(), strict=True),
        "found that the jacobian of the user-provided function with",
    ),
    (
        lambda: F.hvp(lambda x: x.sum(), x(), x(), strict=True),
        "found that the jacobian of the user-provided function with",
    ),
    (
        lambda: F.jacobian(cube, x(), strict=True, vectorize=True),
        "`strict=True` and `vectorized=True` are not supported",
    ),
]


@pytest.mark.parametrize("mistake, kind, words", MISTAKES)
def test_mistakes_are_told_in_pytorchs_words(mistake, kind, words):
    with raises(kind, words):
        mistake()


@pytest.mark.parametrize("mistake, words", STRICT)
def test_strict_mode_refuses_what_does_not_depend(mistake, words):
    with raises(RuntimeError, words):
        mistake()


def test_batched_gradients_are_one_row_each():
    leaf = x().requires_grad_()
    other = x().requires_grad_()
    found, none = torch.autograd.grad(
        cube(leaf), (leaf, other), torch.eye(3, dtype=torch.float64), is_grads_batched=True, allow_unused=True
    )
    assert close(found, [[3.0, 0, 0], [0, 12.0, 0], [0, 0, 3.0]])
    assert none is None
    with raises(RuntimeError, "The differentiated Tensor at index 1 appears to not have been used in the graph"):
        torch.autograd.grad(cube(leaf), (leaf, other), torch.eye(3, dtype=torch.float64), is_grads_batched=True)


def test_a_batched_pass_frees_the_graph():
    leaf = x().requires_grad_()
    y = total(leaf)
    torch.autograd.grad(y, leaf, torch.ones(2, dtype=torch.float64), is_grads_batched=True)
    with raises(RuntimeError, "Trying to backward through the graph a second time"):
        y.backward()
