"""Names through backward, vmap, jvp and Jacobians."""

import numpy as np
import pytest
from subject import raises, torch

from tensorgrad.autograd import forward_ad, functional
from tensorgrad.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap


def leaf(*names, sizes=(2, 3, 4)):
    values = np.random.default_rng(0).normal(size=sizes[: len(names)])
    return torch.tensor(values).rename_(*names).requires_grad_()


def plain(x):
    return torch.tensor(x.detach().rename(None).numpy().copy()).requires_grad_()


# Backward


def test_a_gradient_has_the_names_of_its_tensor():
    x, w = leaf("N", "C"), torch.ones(3, 5, names=("in", "out"), dtype=torch.float64).requires_grad_()
    ((x @ w).relu() ** 2).mean().backward()
    y, v = plain(x), plain(w)
    ((y @ v).relu() ** 2).mean().backward()
    assert x.grad.names == ("N", "C") and w.grad.names == ("in", "out")
    assert torch.equal(x.grad.rename(None), y.grad) and torch.equal(w.grad.rename(None), v.grad)


def test_gradients_add_up_in_the_same_tensor():
    x = leaf("N", "C")
    (x * 2).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    assert x.grad is first and (first == 5).all()
    x.grad.zero_()
    assert (x.grad == 0).all() and x.grad.names == ("N", "C")
    x.grad = torch.ones(2, 3, dtype=torch.float64)
    assert x.grad.names == ("N", "C")
    x.grad = given = torch.ones(2, 3, dtype=torch.float64, names=("N", "C"))
    (x * 2).sum().backward()
    assert (given == 3).all()
    with raises(RuntimeError, "Error when attempting to match gradient dims ['N', 'C'] and dims ['N', 'Q']"):
        x.grad = torch.ones(2, 3, dtype=torch.float64, names=("N", "Q"))


def test_gradients_given_to_backward_may_have_names():
    x = leaf("N", "C")
    (x * 2).backward(torch.ones(2, 3, names=("N", "C"), dtype=torch.float64))
    assert (x.grad == 2).all()
    with raises(RuntimeError, "Error when attempting to match gradient dims ['N', 'C'] and dims ['C', 'N']"):
        (x * 2).backward(torch.ones(2, 3, names=("C", "N"), dtype=torch.float64))


def test_autograd_grad_gives_names_and_goes_on():
    x = leaf("N", "C")
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    assert g.names == ("N", "C")
    (h,) = torch.autograd.grad(g.sum("C").sum(), x)
    assert h.names == ("N", "C") and torch.allclose(h, 6 * x)


def test_retained_gradients_and_hooks_have_names():
    x, seen = leaf("N", "C"), []
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: seen.append(g.names))
    x.register_hook(lambda g: g * 10)
    y.sum().backward()
    assert y.grad.names == ("N", "C") and seen == [("N", "C")] and (x.grad == 20).all()


def test_saved_tensors_that_changed_are_noticed():
    x = leaf("N", "C")
    y = x * 2
    z = y * y
    y.add_(1)
    with raises(RuntimeError, "has been modified by an inplace operation"):
        z.sum().backward()


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "RMSprop"])
def test_parameters_with_names_are_trained(kind):
    weights = []
    for names in (("out", "in"), (None, None)):
        torch.manual_seed(0)
        w = torch.nn.Parameter(torch.randn(3, 4).rename(*names))
        optimizer = getattr(torch.optim, kind)([w], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (w**2).sum().backward()
            optimizer.step()
        weights.append(w)
    assert weights[0].names == ("out", "in") and weights[0].grad.names == ("out", "in")
    assert torch.allclose(weights[0].detach().rename(None), weights[1].detach())


def test_layers_and_losses():
    torch.manual_seed(0)
    layers = [
        torch.nn.Conv2d(3, 4, 3),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
    ]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(16, 5))
    x, labels = torch.randn(2, 3, 6, 6, names=("N", "C", "H", "W")), torch.tensor([0, 1], names=("N",))
    assert model[:4](x).names == ("N", "C", "H", "W") and model(x).names == ("N", None)
    losses = torch.nn.functional.cross_entropy(model(x), labels, reduction="none")
    loss = torch.nn.functional.cross_entropy(model(x), labels)
    assert losses.names == ("N",) and torch.allclose(losses.mean(), loss)
    loss.backward()
    assert all(p.grad is not None for p in model.parameters())
    with raises(RuntimeError, "dim 'N' and dim 'Q' are at the same position"):
        torch.nn.functional.cross_entropy(model(x), labels.rename("Q"))


def test_attention_and_recurrence():
    x = torch.randn(2, 5, 4, names=("N", "T", "E"))
    y, weights = torch.nn.MultiheadAttention(4, 2, batch_first=True)(x, x, x)
    assert y.names == ("N", "T", "E") and weights.names == ("N", "T", None)
    out, (h, c) = torch.nn.LSTM(4, 3, batch_first=True)(x)
    assert out.names == ("N", "T", None) and h.names == c.names == (None, "N", None)


# vmap


def test_a_row_has_the_other_names():
    x, seen = leaf("batch", "C", "L"), []

    def f(row):
        seen.append(row.names)
        return row.sum("L")

    assert vmap(f, in_dims="batch")(x).names == ("batch", "C")
    assert vmap(f, in_dims="C")(x).names == ("C", "batch")
    assert vmap(f, in_dims="C", out_dims=1)(x).names == ("batch", "C")
    assert vmap(f, in_dims="C", out_dims="rows")(x).names == ("rows", "batch")
    assert vmap(f)(x).names == ("batch", "C")
    assert seen == [("C", "L"), ("batch", "L"), ("batch", "L"), ("batch", "L"), ("C", "L")]
    assert torch.equal(vmap(f, in_dims="C", out_dims=1)(x), x.sum("L"))


def test_several_arguments_and_results():
    x, w = leaf("N", "D"), torch.ones(3, names=("D",), dtype=torch.float64)
    both = vmap(lambda row, w: (row * w, (row * w).sum("D")), in_dims=("N", None))(x, w)
    assert [t.names for t in both] == [("N", "D"), ("N",)]
    assert vmap(lambda row, w, k: row * w * k, in_dims="N")(x, w, 3).names == ("N", "D")
    assert vmap(lambda a, b: a @ b, in_dims=("N", "M"))(x, x.detach().rename("M", "D")).names == ("N",)
    assert vmap(lambda t: t["a"] * 2, in_dims=({"a": "N"},))({"a": x}).names == ("N", "D")
    assert vmap(lambda row: row * w, chunk_size=1)(x).names == ("N", "D")
    assert vmap(lambda row: row + w)(torch.zeros(4, 3)).names == (None, "D")


def test_vmap_nests():
    x = leaf("N", "C", "L")
    result = vmap(vmap(lambda row: row.softmax("L"), in_dims="C"), in_dims="N")(x)
    assert result.names == ("N", "C", "L") and torch.allclose(result, x.softmax("L"))


def test_what_vmap_refuses():
    with raises(RuntimeError, "Name 'Q' not found in Tensor['N', 'D']."):
        vmap(torch.sin, in_dims="Q")(leaf("N", "D"))
    with raises(ValueError, "in_dims is not compatible with the structure of `inputs`"):
        vmap(torch.sin, in_dims=("N", "D"))(leaf("N", "D"))
    with raises(ValueError, "expected `in_dims` to be int or a (potentially nested) tuple"):
        vmap(torch.sin, in_dims=["N"])(leaf("N", "D"))
    with raises(RuntimeError, "do not match"):
        vmap(lambda a, b: a + b, in_dims="N")(leaf("N", "D"), leaf("N", "C"))


# Gradients and tangents as functions


def test_grad_and_vjp():
    x = leaf("N", "C")
    assert grad(lambda t: (t**2).sum())(x).names == ("N", "C")
    gradient, value = grad_and_value(lambda t, s: (t.sum("C") * s).sum(), argnums=(0, 1))(
        x, torch.ones(2).rename("N").double()
    )
    assert [g.names for g in gradient] == [("N", "C"), ("N",)] and value.names == ()
    value, pull_back = vjp(lambda t: t.sum("C"), x)
    assert value.names == ("N",) and pull_back(torch.ones(2, names=("N",), dtype=torch.float64))[0].names == ("N", "C")
    with raises(RuntimeError, "Error when attempting to match gradient dims ['N'] and dims ['Q']"):
        pull_back(torch.ones(2, names=("Q",), dtype=torch.float64))


def test_jvp_and_linearize():
    x = leaf("N", "C").detach()
    value, moved = jvp(lambda t: t.exp().sum("C"), (x,), (torch.ones_like(x),))
    assert value.names == moved.names == ("N",) and torch.allclose(value, moved)
    with raises(RuntimeError, "Error when attempting to match tangent dims ['N', 'C'] and dims ['C', 'N']"):
        jvp(torch.exp, (x,), (torch.ones_like(x).rename("C", "N"),))
    value, push = linearize(lambda t: t.exp().sum("C"), x)
    assert value.names == ("N",) and push(torch.ones_like(x)).names == ("N",)
    with forward_ad.dual_level():
        parts = forward_ad.unpack_dual(forward_ad.make_dual(x, torch.ones_like(x)).exp())
        assert parts.primal.names == parts.tangent.names == ("N", "C")


@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
def test_a_jacobian_has_the_names_of_both_sides(jacobian):
    x, w = leaf("in", sizes=(3,)), torch.ones(4, 3, names=("out", "in"), dtype=torch.float64)
    assert jacobian(lambda t: w @ t)(x).names == ("out", "in")
    result = jacobian(lambda t: t**3)(x)
    assert result.names == ("in", "d_in") and torch.allclose(result.rename(None), torch.diag(3 * plain(x) ** 2))
    left, right = jacobian(lambda a, b: a @ b, argnums=(0, 1))(w, x)
    assert left.names == ("out", "d_out", "in") and right.names == ("out", "in")


def test_hessians():
    x = leaf("N", sizes=(3,))
    assert hessian(lambda t: (t**3).sum())(x).names == ("N", "d_N")
    assert functional.hessian(lambda t: (t**3).sum(), x).names == ("N", "d_N")
    assert functional.jacobian(lambda t: (t**3).rename("out"), x).names == ("out", "N")
    assert [t.names for t in functional.hvp(lambda t: (t**3).sum(), x, torch.ones_like(x))] == [(), ("N",)]
    assert [t.names for t in functional.jvp(torch.exp, x, torch.ones_like(x))] == [("N",), ("N",)]


def test_tangents_written_into_views_and_their_bases():
    def f(t):
        z = torch.zeros(2, 3, names=("N", "C"), dtype=t.dtype)
        v = z[0]
        v.add_(t)
        z.mul_(3)
        z[1] = t * 2
        return z, v

    x = torch.tensor([1.0, 2.0, 3.0], names=("C",))
    (z, v), (dz, dv) = jvp(f, (x,), (torch.ones(3),))
    assert z.names == dz.names == ("N", "C") and v.names == dv.names == ("C",)
    assert z.tolist() == [[3.0, 6.0, 9.0], [2.0, 4.0, 6.0]] and v.tolist() == [3.0, 6.0, 9.0]
    assert dz.tolist() == [[3.0] * 3, [2.0] * 3] and dv.tolist() == [3.0] * 3
    assert grad(lambda t: f(t)[0].sum())(x).tolist() == [5.0] * 3


def test_transforms_nest():
    x = leaf("N", "D")
    per_row = vmap(grad(lambda row: (row.softmax("D") ** 2).sum("D")), in_dims="N")(x)
    (whole,) = torch.autograd.grad((x.softmax("D") ** 2).sum(), x)
    assert per_row.names == ("N", "D") and torch.allclose(per_row, whole)
    rows = vmap(jacrev(lambda row: row.cumsum("D")), in_dims="N")(x)
    assert rows.names == ("N", "D", "d_D") and rows.shape == (2, 3, 3)
    moved = jvp(grad(lambda t: (t**3).sum()), (x,), (torch.ones_like(x),))[1]
    assert moved.names == ("N", "D") and torch.allclose(moved, 6 * x)
    vmap(lambda row: row.sum("D"), in_dims="N")(x).sum().backward()
    assert x.grad.names == ("N", "D") and (x.grad == 1).all()


def test_compiled_functions_take_tensors_with_names():
    x = leaf("N", "C")
    f = torch.compile(lambda t: (t.exp().sum("C"), t * 2))
    for _ in range(2):
        total, double = f(x)
        assert total.names == ("N",) and double.names == ("N", "C")
        assert torch.allclose(total, x.exp().sum("C"))
    total.sum().backward()
    assert x.grad.names == ("N", "C") and torch.allclose(x.grad, x.exp())
    with raises(RuntimeError, "compile: a view of a tensor with names ('N', 'C') was handed to a compiled function"):
        f(x.rename("C", "N").transpose(0, 1))


def test_gradcheck_takes_tensors_with_names():
    assert torch.autograd.gradcheck(lambda t: t.exp().sum("C"), (leaf("N", "C"),))


def test_rows_with_names_are_shown_and_written_to_inside_vmap():
    shown = []

    def f(row):
        shown.append(repr(row))
        return row.clone().mul_(2).add_(row)

    x = leaf("N", "C").detach()
    assert torch.allclose(vmap(f, in_dims="N")(x), x * 3) and shown[0].endswith("names=('C',)\n)")


def test_per_sample_gradients_of_a_layer():
    layer = torch.nn.Linear(3, 2)
    layer.weight = torch.nn.Parameter(torch.randn(2, 3, names=("out", "in")))
    weights = {name: p.detach() for name, p in layer.named_parameters()}

    def loss(weights, row):
        return torch.func.functional_call(layer, weights, (row,)).sum()

    found = vmap(grad(loss), in_dims=(None, "N"))(weights, torch.randn(4, 3, names=("N", "in")))
    assert found["weight"].names == ("N", "out", "in") and found["bias"].names == ("N", None)
