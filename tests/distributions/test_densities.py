"""Distributions against what defines them: densities integrate to one, and to cdf, mean, variance, entropy, divergence."""

import copy
import math
import pickle

import numpy as np
import pytest


def t64(torch, *values):
    return [torch.tensor(value, dtype=torch.float64) for value in values]


CONTINUOUS = {  # parameters, and between which numbers nearly all samples lie
    "Normal": ((0.5, 1.5), (-12, 13)),
    "Laplace": ((0.5, 1.5), (-50, 51)),
    "Uniform": ((-1.0, 2.5), (-1, 2.5)),
    "Exponential": ((1.5,), (0, 30)),
    "Gamma": ((2.5, 1.5), (0, 40)),
    "Chi2": ((3.0,), (0, 90)),
    "Beta": ((2.5, 1.5), (0, 1)),
    "StudentT": ((9.0, 0.5, 1.5), (-400, 400)),
    "FisherSnedecor": ((3.0, 30.0), (1e-12, 300)),
    "LogNormal": ((0.1, 0.4), (1e-9, 60)),
    "HalfNormal": ((1.5,), (0, 15)),
    "Gumbel": ((0.5, 1.5), (-8, 60)),
    "Pareto": ((1.5, 9.0), (1.5, 300)),
    "Weibull": ((1.5, 2.5), (1e-12, 8)),
    "Kumaraswamy": ((1.5, 2.5), (1e-12, 1 - 1e-12)),
    "InverseGamma": ((9.0, 2.0), (1e-4, 60)),
    "ContinuousBernoulli": ((0.2,), (0, 1)),
    "VonMises": ((0.5, 2.0), (-math.pi, math.pi)),
    "GeneralizedPareto": ((0.5, 1.5, 0.1), (0.5, 400)),
}
DISCRETE = {
    "Bernoulli": (0.3,),
    "Geometric": (0.3,),
    "Poisson": (3.5,),
    "Binomial": (7, 0.3),
    "NegativeBinomial": (2.5, 0.3),
}


def made(torch, name, parameters):
    return getattr(torch.distributions, name)(*t64(torch, *parameters))


def grid_of(torch, low, high, count=400_001):
    """Points that crowd towards both ends, and the weights of an integral over them."""
    u = np.linspace(0, 1, count)
    share = u * u * (3 - 2 * u)
    x = low + (high - low) * share
    weights = (high - low) * 6 * u * (1 - u) / (count - 1)
    return torch.from_numpy(x[1:-1]), torch.from_numpy(weights[1:-1])


@pytest.mark.parametrize("name", CONTINUOUS)
def test_a_density_integrates_to_one_and_to_its_moments(torch, name):
    parameters, (low, high) = CONTINUOUS[name]
    d = made(torch, name, parameters)
    x, weights = grid_of(torch, low, high)
    log_prob = d.log_prob(x)
    mass = log_prob.exp() * weights
    assert mass.sum().item() == pytest.approx(1, abs=1e-6)
    if name != "VonMises":  # whose moments are those of directions
        assert (mass * x).sum().item() == pytest.approx(d.mean.item(), abs=1e-5)
        assert (mass * (x - d.mean) ** 2).sum().item() == pytest.approx(d.variance.item(), rel=1e-4)
    assert d.stddev.item() == pytest.approx(d.variance.item() ** 0.5)
    try:
        assert -(mass * log_prob).sum().item() == pytest.approx(d.entropy().item(), abs=1e-5)
    except NotImplementedError:
        assert name in ("FisherSnedecor", "VonMises")
    try:
        middle = int((mass.cumsum(0) < 0.5).sum())
        cdf = d.cdf(x[middle])
    except NotImplementedError:
        return
    assert mass[: middle + 1].sum().item() == pytest.approx(cdf.item(), abs=1e-4)
    try:
        assert d.icdf(cdf).item() == pytest.approx(x[middle].item(), rel=1e-6, abs=1e-9)
    except NotImplementedError:
        assert name in ("Gamma", "Chi2", "InverseGamma")


@pytest.mark.parametrize("name", DISCRETE)
def test_probabilities_add_up_to_one(torch, name):
    d = made(torch, name, DISCRETE[name])
    x = torch.arange(2 if name == "Bernoulli" else 8 if name == "Binomial" else 160).double()
    mass = d.log_prob(x).exp()
    assert mass.sum().item() == pytest.approx(1, abs=1e-9)
    assert (mass * x).sum().item() == pytest.approx(d.mean.item(), abs=1e-7)
    assert (mass * (x - d.mean) ** 2).sum().item() == pytest.approx(d.variance.item(), rel=1e-6)
    if name in ("Bernoulli", "Geometric", "Binomial"):
        assert -(mass * mass.clamp(min=1e-300).log()).sum().item() == pytest.approx(d.entropy().item(), abs=1e-7)
    if d.has_enumerate_support:
        assert d.enumerate_support().tolist() == x.tolist()


@pytest.mark.parametrize("name", [*CONTINUOUS, *DISCRETE])
def test_samples_have_the_mean_and_the_spread(torch, name):
    d = made(torch, name, CONTINUOUS[name][0] if name in CONTINUOUS else DISCRETE[name])
    sample = d.sample((20_000,))
    assert sample.shape == (20_000,) and not sample.requires_grad and bool(d.support.check(sample).all())
    if name != "VonMises":
        assert sample.mean().item() == pytest.approx(d.mean.item(), abs=6 * d.stddev.item() / 20_000**0.5)
        assert sample.std().item() == pytest.approx(d.stddev.item(), rel=0.08)


PAIRS = [
    ("Normal", (0.5, 1.5), (0.0, 1.0)), ("Laplace", (0.5, 1.5), (0.0, 1.0)), ("Exponential", (1.5,), (0.5,)),
    ("Gamma", (2.5, 1.5), (1.5, 1.0)), ("Beta", (2.5, 1.5), (1.5, 2.0)), ("Gumbel", (0.5, 1.5), (0.0, 1.7)),
    ("LogNormal", (0.1, 0.4), (0.2, 0.5)), ("Pareto", (1.5, 9.0), (1.0, 5.0)), ("HalfNormal", (1.5,), (2.0,)),
    ("ContinuousBernoulli", (0.2,), (0.6,)), ("Uniform", (-1.0, 2.5), (-2.0, 3.0)),
]  # fmt: skip


@pytest.mark.parametrize("name, first, second", PAIRS)
def test_divergences_are_the_integral_that_defines_them(torch, name, first, second):
    p, q = made(torch, name, first), made(torch, name, second)
    x, weights = grid_of(torch, *CONTINUOUS[name][1])
    expected = (p.log_prob(x).exp() * (p.log_prob(x) - q.log_prob(x)) * weights).sum().item()
    assert torch.distributions.kl_divergence(p, q).item() == pytest.approx(expected, abs=1e-5)
    assert torch.distributions.kl_divergence(p, p).item() == pytest.approx(0, abs=1e-9)


CROSS = [("Beta", "Normal"), ("Beta", "Gamma"), ("Exponential", "Gumbel"), ("Gamma", "Normal"), ("Laplace", "Normal"),
         ("Normal", "Laplace"), ("Normal", "Gumbel"), ("Gumbel", "Normal"), ("Pareto", "Gamma"), ("Exponential", "Gamma"),
         ("ContinuousBernoulli", "Exponential"), ("Beta", "ContinuousBernoulli"), ("Gamma", "Gumbel"),
         ("Chi2", "Exponential")]  # fmt: skip


@pytest.mark.parametrize("first, second", CROSS)
def test_divergences_between_two_kinds(torch, first, second):
    (mine, limits), (other, _) = CONTINUOUS[first], CONTINUOUS[second]
    p, q = made(torch, first, mine), made(torch, second, other)
    x, weights = grid_of(torch, *limits)
    expected = (p.log_prob(x).exp() * (p.log_prob(x) - q.log_prob(x)) * weights).sum().item()
    assert torch.distributions.kl_divergence(p, q).item() == pytest.approx(expected, abs=1e-5)


def test_divergences_where_one_takes_values_the_other_never_takes_are_infinite(torch):
    d = torch.distributions
    assert d.kl_divergence(d.Normal(0.0, 1.0), d.Gamma(1.0, 1.0)).item() == math.inf
    assert d.kl_divergence(d.Uniform(0.0, 2.0), d.Uniform(0.5, 3.0)).item() == math.inf
    with pytest.raises(
        NotImplementedError, match=r"No KL\(p \|\| q\) is implemented for p type StudentT and q type Normal"
    ):
        d.kl_divergence(d.StudentT(1.0), d.Normal(0.0, 1.0))


def test_multivariate_normals_of_all_kinds_agree(torch):
    d, generator = torch.distributions, np.random.default_rng(0)
    factor, diag = torch.from_numpy(generator.normal(size=(4, 2))), torch.from_numpy(generator.uniform(0.5, 2, size=4))
    loc = torch.from_numpy(generator.normal(size=4))
    low = d.LowRankMultivariateNormal(loc, factor, diag)
    covariance = factor @ factor.T + torch.diag(diag)
    kinds = [d.MultivariateNormal(loc, covariance), d.MultivariateNormal(loc, precision_matrix=torch.linalg.inv(covariance)),
             d.MultivariateNormal(loc, scale_tril=torch.linalg.cholesky(covariance)), low]  # fmt: skip
    x = torch.from_numpy(generator.normal(size=(5, 4)))
    gap = (x - loc).numpy()
    expected = -0.5 * (
        np.einsum("ni,ij,nj->n", gap, np.linalg.inv(covariance.numpy()), gap)
        + np.linalg.slogdet(2 * math.pi * covariance.numpy())[1]
    )
    other = d.MultivariateNormal(loc + 1, covariance * 2)
    for kind in kinds:
        np.testing.assert_allclose(kind.log_prob(x).numpy(), expected, rtol=1e-9)
        np.testing.assert_allclose(kind.covariance_matrix.numpy(), covariance.numpy(), rtol=1e-9)
        np.testing.assert_allclose((kind.precision_matrix @ covariance).numpy(), np.eye(4), atol=1e-9)
        assert kind.entropy().item() == pytest.approx(kinds[0].entropy().item())
        assert d.kl_divergence(kind, other).item() == pytest.approx(d.kl_divergence(kinds[0], other).item())
        assert d.kl_divergence(other, kind).item() == pytest.approx(d.kl_divergence(other, kinds[0]).item())
    torch.manual_seed(0)
    assert torch.allclose(torch.cov(low.sample((40_000,)).T), covariance, atol=0.2)


def test_categories(torch):
    d = torch.distributions
    p = d.Categorical(torch.tensor([1.0, 2.0, 1.0]))
    assert p.probs.tolist() == [0.25, 0.5, 0.25] and p.entropy().item() == pytest.approx(1.5 * math.log(2))
    counts = torch.bincount(p.sample((8000,)), minlength=3) / 8000
    assert torch.allclose(counts, p.probs, atol=0.03)
    one_hot = d.OneHotCategorical(torch.tensor([1.0, 2.0, 1.0]))
    assert one_hot.log_prob(torch.tensor([0.0, 1.0, 0.0])).item() == pytest.approx(math.log(0.5))
    assert one_hot.enumerate_support().tolist() == torch.eye(3).tolist()
    many = d.Multinomial(5, torch.tensor([1.0, 2.0, 1.0]))
    assert many.log_prob(torch.tensor([1.0, 3.0, 1.0])).item() == pytest.approx(math.log(20 * 0.25**2 * 0.5**3))
    assert many.sample((7,)).sum(-1).tolist() == [5.0] * 7


def test_mixtures(torch):
    d = torch.distributions
    loc, scale = t64(torch, [-1.0, 2.0], [0.5, 1.5])
    mixture = d.MixtureSameFamily(d.Categorical(torch.tensor([0.3, 0.7]).double()), d.Normal(loc, scale))
    x, weights = grid_of(torch, -12, 15)
    mass = mixture.log_prob(x).exp() * weights
    assert mass.sum().item() == pytest.approx(1, abs=1e-7)
    assert (mass * x).sum().item() == pytest.approx(mixture.mean.item())
    assert (mass * (x - mixture.mean) ** 2).sum().item() == pytest.approx(mixture.variance.item(), rel=1e-6)
    assert mixture.sample((20_000,)).mean().item() == pytest.approx(mixture.mean.item(), abs=0.1)


def test_parameters_and_values_are_checked(torch):
    d = torch.distributions
    with pytest.raises(ValueError, match=r"Expected parameter scale \(Tensor of shape \(2,\)\) of distribution Normal"):
        d.Normal(torch.zeros(2), torch.tensor([1.0, -1.0]))
    assert d.Normal(0.0, -1.0, validate_args=False).scale.item() == -1.0
    with pytest.raises(ValueError, match="to be within the support"):
        d.Exponential(1.0).log_prob(torch.tensor(-1.0))
    d.Exponential(1.0, validate_args=False).log_prob(torch.tensor(-1.0))
    with pytest.raises(ValueError, match="must be a Tensor"):
        d.Normal(0.0, 1.0).log_prob(1.0)
    try:
        d.Distribution.set_default_validate_args(False)
        d.Normal(0.0, -1.0)
    finally:
        d.Distribution.set_default_validate_args(True)


def test_distributions_can_be_copied_and_pickled(torch):
    d = torch.distributions
    for p in (d.Normal(torch.zeros(2), 1.0), d.LogNormal(0.0, 1.0), d.Beta(1.0, 2.0), d.Categorical(torch.ones(3))):
        for twin in (copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
            assert torch.equal(twin.log_prob(p.mode), p.log_prob(p.mode)) and repr(twin) == repr(p)


def test_independent_events_are_summed_and_batches_expanded(torch):
    d = torch.distributions
    p = d.Independent(d.Normal(torch.zeros(4, 3), torch.ones(3)), 1)
    assert p.batch_shape == (4,) and p.event_shape == (3,) and p.rsample((2,)).shape == (2, 4, 3)
    assert torch.allclose(p.log_prob(torch.zeros(4, 3)), torch.full((4,), -1.5 * math.log(2 * math.pi)))
    wide = p.expand((5, 4))
    assert wide.log_prob(torch.zeros(3)).shape == (5, 4) and wide.mean.shape == (5, 4, 3)


def test_a_distribution_works_under_vmap_and_grad(torch):
    x = torch.tensor([0.1, 0.5, 2.0])
    slopes = torch.vmap(
        torch.func.grad(lambda x: torch.distributions.Normal(0.0, 2.0, validate_args=False).log_prob(x))
    )(x)
    assert torch.allclose(slopes, -x / 4)
