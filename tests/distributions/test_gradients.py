"""Samples move with their parameters: gradients of rsample against the quantile that stays, and of densities."""

import math

import numpy as np
import pytest

CLOSED = {  # whose distribution functions are simple
    "Normal": (0.5, 1.5),
    "Laplace": (0.5, 1.5),
    "Cauchy": (0.5, 1.5),
    "Uniform": (-1.0, 2.5),
    "Exponential": (1.5,),
    "Gumbel": (0.5, 1.5),
    "Pareto": (1.5, 3.0),
    "Weibull": (1.5, 2.5),
    "Kumaraswamy": (1.5, 2.5),
    "LogNormal": (0.1, 0.4),
}


def slopes_of_the_quantile(d, leaves, sample, torch):
    """dx/dθ where cdf(x; θ) stays: -(dF/dθ) / p(x)."""
    by_parameters = torch.autograd.grad(d.cdf(sample.detach()).sum(), leaves, retain_graph=True)
    return [-g / d.log_prob(sample.detach()).exp().detach() for g in by_parameters]


@pytest.mark.parametrize("name", CLOSED)
def test_samples_move_along_their_quantile(torch, name):
    leaves = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in CLOSED[name]]
    for _ in range(5):
        d = getattr(torch.distributions, name)(*leaves)
        sample = d.rsample()
        found = torch.autograd.grad(sample, leaves, retain_graph=True)
        for mine, expected in zip(found, slopes_of_the_quantile(d, leaves, sample, torch)):
            assert mine.item() == pytest.approx(expected.item(), rel=1e-6, abs=1e-9)


def gamma_cdf(torch, a, x):
    return torch.special.gammainc(torch.tensor(a, dtype=torch.float64), torch.tensor(x, dtype=torch.float64)).item()


@pytest.mark.parametrize("a", [0.02, 0.3, 1.0, 2.5, 12.0, 150.0, 4000.0])
def test_gamma_numbers(torch, a):
    """-(dF/da) / p by differences of the incomplete gamma function, which knows nothing of these gradients."""
    shape = torch.full((6,), a, dtype=torch.float64, requires_grad=True)
    sample = torch.distributions.Gamma(shape, torch.ones(6, dtype=torch.float64)).rsample()
    (found,) = torch.autograd.grad(sample.sum(), shape)
    for x, slope in zip(sample.tolist(), found.tolist()):
        if x < 1e-280:
            continue
        h = 2e-4 * min(a, a**0.5)
        shares = [gamma_cdf(torch, a + k * h, x) for k in (-2, -1, 1, 2)]
        by_shape = (8 * (shares[2] - shares[1]) - (shares[3] - shares[0])) / (12 * h)
        density = math.exp((a - 1) * math.log(x) - x - math.lgamma(a))
        assert slope == pytest.approx(-by_shape / density, rel=2e-5)


def test_beta_numbers_with_closed_forms(torch):
    """F = x^a for b = 1, and 1 - (1 - x)^b for a = 1."""
    for a, b in ((0.3, 1.0), (2.5, 1.0), (40.0, 1.0), (1.0, 0.3), (1.0, 2.5), (1.0, 40.0)):
        leaves = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (a, b)]
        for _ in range(5):
            sample = torch.distributions.Beta(*leaves).rsample()
            by_a, by_b = (g.item() for g in torch.autograd.grad(sample, leaves))
            x = sample.item()
            if b == 1.0:
                assert by_a == pytest.approx(-x * math.log(x) / a, rel=1e-7)
            if a == 1.0:
                assert by_b == pytest.approx((1 - x) * math.log1p(-x) / b, rel=1e-7)


def test_the_gradient_of_a_mean_is_the_mean_of_the_gradients(torch):
    torch.manual_seed(1)
    concentration = torch.tensor([0.7, 1.5, 3.0], dtype=torch.float64, requires_grad=True)
    p = torch.distributions.Dirichlet(concentration)
    weights = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    (expected,) = torch.autograd.grad((p.mean * weights).sum(), concentration)
    (found,) = torch.autograd.grad((p.rsample((20_000,)) * weights).sum(-1).mean(), concentration)
    assert torch.allclose(found, expected, atol=0.02)
    df = torch.tensor(7.0, dtype=torch.float64, requires_grad=True)
    t = torch.distributions.StudentT(df)
    (expected,) = torch.autograd.grad(t.variance, df)
    (found,) = torch.autograd.grad((t.rsample((40_000,)) ** 2).mean(), df)
    assert found.item() == pytest.approx(expected.item(), abs=0.02)


def test_relaxed_numbers_are_differentiable(torch):
    logits = torch.tensor([0.3, -0.5], dtype=torch.float64, requires_grad=True)

    def sample(logits, kind):
        torch.manual_seed(0)
        return getattr(torch.distributions, kind)(torch.tensor(0.8, dtype=torch.float64), logits=logits).rsample((3,))

    for kind in ("RelaxedBernoulli", "RelaxedOneHotCategorical"):
        assert torch.autograd.gradcheck(lambda x, kind=kind: sample(x, kind), logits)


def test_densities_are_differentiable(torch):
    d = torch.distributions
    loc, scale, positive = (
        torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ([0.3, -0.5], [1.5, 0.7], [0.5, 2.5])
    )
    check = torch.autograd.gradcheck
    assert check(lambda x, m, s: d.Normal(m, s).log_prob(x), (positive, loc, scale))
    assert check(lambda x, m, s: d.LogNormal(m, s).log_prob(x), (positive, loc, scale))
    assert check(lambda x, a, b: d.Gamma(a, b).log_prob(x), (positive, scale, scale))
    assert check(lambda x, a: d.Dirichlet(a).log_prob(x / x.sum()), (positive, scale))
    assert check(lambda x, m: d.MultivariateNormal(m, torch.eye(2).double() + 0.3).log_prob(x), (positive, loc))
    assert check(lambda p, q: d.kl_divergence(d.Gamma(p, q), d.Gamma(q, p)), (positive, scale))


def test_slopes_do_not_depend_on_how_many_are_computed_at_once(torch):
    from tensorgrad.backends.reparametrization import CHUNK, dirichlet_grad, standard_gamma_grad

    generator = np.random.default_rng(0)
    a, b = generator.uniform(0.05, 30, size=(2, 2 * CHUNK + 3))
    x = generator.uniform(0.01, 0.99, size=a.size)
    whole = standard_gamma_grad(a, 10 * x)
    np.testing.assert_array_equal(whole[-5:], standard_gamma_grad(a[-5:], 10 * x[-5:]))
    np.testing.assert_allclose(
        dirichlet_grad(x, a, a + b)[-5:], dirichlet_grad(x[-5:], a[-5:], a[-5:] + b[-5:]), rtol=1e-12
    )
