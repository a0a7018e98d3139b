"""Transforms: inverses, stretches against the Jacobian, shapes, caches; constraints and the way to them."""

import math

import pytest

BIJECTIVE = ["ExpTransform", "SigmoidTransform", "SoftplusTransform", "TanhTransform", "StickBreakingTransform",
             "CorrCholeskyTransform"]  # fmt: skip


def points(torch, name):
    torch.manual_seed(0)
    return torch.randn(6 if name == "CorrCholeskyTransform" else 3, dtype=torch.float64)


@pytest.mark.parametrize("name", BIJECTIVE)
def test_inverse_and_stretch(torch, name):
    transform = getattr(torch.distributions.transforms, name)()
    x = points(torch, name)
    y = transform(x)
    assert torch.allclose(transform.inv(y), x, atol=1e-9) and bool(transform.codomain.check(y).all())
    assert tuple(transform.forward_shape(x.shape)) == tuple(y.shape)
    assert tuple(transform.inverse_shape(y.shape)) == tuple(x.shape)
    jacobian = torch.func.jacrev(transform)(x)
    if name == "StickBreakingTransform":
        jacobian = jacobian[:-1]  # the last share follows from the others
    elif name == "CorrCholeskyTransform":
        jacobian = jacobian[torch.tril(torch.ones(4, 4), -1).bool()]  # so does the diagonal
    stretch = transform.log_abs_det_jacobian(x, y).sum()
    assert stretch.item() == pytest.approx(torch.linalg.slogdet(jacobian).logabsdet.item(), abs=1e-8)
    assert transform.inv.log_abs_det_jacobian(y, x).sum().item() == pytest.approx(-stretch.item())


def test_chains(torch):
    t = torch.distributions.transforms
    chain = t.ComposeTransform([t.AffineTransform(1.0, -2.0), t.ExpTransform()])
    x = torch.tensor([0.5, -1.0], dtype=torch.float64)
    y = chain(x)
    assert torch.allclose(y, (1 - 2 * x).exp()) and torch.allclose(chain.inv(y), x)
    assert torch.allclose(chain.log_abs_det_jacobian(x, y), math.log(2) + 1 - 2 * x)
    assert chain.sign == -1 and chain.bijective and chain.inv.inv is chain
    assert chain == t.ComposeTransform([t.AffineTransform(1.0, -2.0), t.ExpTransform()])
    assert chain != t.ComposeTransform([t.ExpTransform()])
    joint = t.ComposeTransform([t.ExpTransform(), t.SoftmaxTransform()])
    assert joint.domain.event_dim == joint.codomain.event_dim == 1


def test_a_cache_makes_the_inverse_exact(torch):
    exp = torch.distributions.transforms.ExpTransform(cache_size=1)
    x = torch.tensor(-800.0)
    y = exp(x)
    assert (
        y.item() == 0 and exp.inv(y) is x and torch.distributions.transforms.ExpTransform().inv(y).item() == -math.inf
    )
    assert exp.with_cache(0)._cache_size == 0


def test_parts_are_joined(torch):
    t = torch.distributions.transforms
    x = torch.tensor([[0.0, 1.0, 2.0]])
    joined = t.CatTransform([t.ExpTransform(), t.AffineTransform(0.0, 2.0)], dim=-1, lengths=[1, 2])
    assert joined(x).tolist() == [[1.0, 2.0, 4.0]] and torch.equal(joined.inv(joined(x)), x)
    assert torch.allclose(joined.log_abs_det_jacobian(x, joined(x)), torch.tensor([[0.0, math.log(2), math.log(2)]]))
    stacked = t.StackTransform([t.ExpTransform(), t.identity_transform, t.AbsTransform()], dim=-1)
    assert stacked(-x).tolist() == [[1.0, -1.0, 2.0]]
    with pytest.raises(AssertionError, match="must equal length 3"):
        joined(torch.zeros(4))


@pytest.mark.parametrize("name", ["real", "positive", "nonnegative", "unit_interval", "simplex", "lower_cholesky",
                                  "positive_definite", "corr_cholesky", "real_vector"])  # fmt: skip
def test_all_real_numbers_lead_into_a_constraint(torch, name):
    constraint = getattr(torch.distributions.constraints, name)
    x = torch.randn((3,) if name == "corr_cholesky" else (3, 3), dtype=torch.float64)
    assert bool(constraint.check(torch.distributions.transform_to(constraint)(x)).all())


def test_constraints_tell_who_belongs(torch):
    c = torch.distributions.constraints
    x = torch.tensor([-1.0, 0.0, 0.5, 1.0, 2.0])
    assert c.interval(0, 1).check(x).tolist() == [False, True, True, True, False]
    assert c.half_open_interval(0, 1).check(x).tolist() == [False, True, True, False, False]
    assert c.integer_interval(0, 1).check(x).tolist() == [False, True, False, True, False]
    assert c.greater_than(0.5).check(x).tolist() == [False, False, False, True, True]
    assert not c.positive_definite.check(torch.tensor([[1.0, 2.0], [2.0, 1.0]]))
    assert c.symmetric.check(torch.eye(2)) and not c.square.check(torch.ones(2, 3))
    assert repr(c.greater_than(2)) == "GreaterThan(lower_bound=2)"
