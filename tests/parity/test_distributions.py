"""Every distribution: samples after the same seed, densities, moments, entropies, divergences and their gradients."""

import itertools
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import tensorgrad  # noqa: E402

warnings.filterwarnings("ignore", message="Low df values")


def spd(t, scale=1.0):
    a = t.tensor([[1.0, 0.2, 0.0], [0.2, 2.0, 0.3], [0.0, 0.3, 1.5]], dtype=t.float64)
    return a * scale


def cases():
    """(name, function of (library, dtype) -> parameters by name)."""

    def add(name, **parameters):
        found.append((name, parameters))

    found = []
    two = [0.3, 1.7]
    grid = [[0.5, 1.5, 3.0], [2.5, 0.7, 1.0]]
    row = [0.4, 1.2, 2.0]
    chances = [[0.1, 0.5, 0.9], [0.3, 0.499, 0.75]]
    weights = [[0.1, 0.6, 0.3], [0.2, 0.2, 0.6]]
    add("Normal", loc=grid, scale=row)
    add("Normal", loc=0.5, scale=2.0)
    add("Laplace", loc=grid, scale=row)
    add("Cauchy", loc=grid, scale=row)
    add("Uniform", low=row, high=[[2.5, 3.5, 4.5], [1.0, 5.0, 2.5]])
    add("Exponential", rate=grid)
    add("Exponential", rate=2.0)
    add("Gamma", concentration=grid, rate=row)
    add("Gamma", concentration=[0.05, 0.5, 50.0, 1000.0], rate=1.0)
    add("Chi2", df=grid)
    add("StudentT", df=[0.5, 1.5, 5.0], loc=row, scale=row)
    add("FisherSnedecor", df1=grid, df2=[1.0, 3.0, 6.0])
    add("Poisson", rate=[[0.5, 3.0, 20.0], [0.1, 100.0, 9.0]])
    add("Bernoulli", probs=chances)
    add("Bernoulli", logits=[[-2.0, 0.0, 3.0]])
    add("Bernoulli", probs=0.3)
    add("Geometric", probs=chances)
    add("Geometric", logits=two)
    add("Binomial", total_count=7, probs=chances)
    add("Binomial", total_count=[3.0, 40.0, 7.0], logits=row)
    add("NegativeBinomial", total_count=[3.0, 4.0, 0.5], probs=chances)
    add("NegativeBinomial", total_count=5.0, logits=[-1.0, 0.5])
    add("ContinuousBernoulli", probs=chances)
    add("ContinuousBernoulli", logits=two)
    add("Categorical", probs=weights)
    add("Categorical", logits=grid)
    add("OneHotCategorical", probs=weights)
    add("OneHotCategoricalStraightThrough", logits=row)
    add("Multinomial", total_count=6, probs=weights)
    add("Dirichlet", concentration=grid)
    add("Dirichlet", concentration=[0.1, 0.2, 0.3])
    add("Beta", concentration1=grid, concentration0=row)
    add("Beta", concentration1=2.0, concentration0=0.5)
    add("LogNormal", loc=grid, scale=row)
    add("LogisticNormal", loc=grid, scale=row)
    add("HalfNormal", scale=grid)
    add("HalfCauchy", scale=grid)
    add("Gumbel", loc=grid, scale=row)
    add("Pareto", scale=grid, alpha=[0.9, 1.5, 3.5])
    add("Weibull", scale=grid, concentration=row)
    add("Kumaraswamy", concentration1=grid, concentration0=row)
    add("InverseGamma", concentration=[0.9, 1.5, 3.5], rate=row)
    add("RelaxedBernoulli", temperature=0.7, probs=chances)
    add("RelaxedOneHotCategorical", temperature=0.7, logits=grid)
    add("VonMises", loc=row, concentration=[0.1, 2.0, 30.0])
    add("MultivariateNormal", loc=grid, covariance_matrix=spd)
    add("MultivariateNormal", loc=row, precision_matrix=lambda t: t.stack([spd(t), spd(t, 3.0)]))
    add("MultivariateNormal", loc=row, scale_tril=lambda t: spd(t).tril())
    add("LowRankMultivariateNormal", loc=grid, cov_factor=[[1.0, 0.0], [0.5, 2.0], [0.3, 0.1]], cov_diag=row)
    add("LKJCholesky", dim=3, concentration=[0.5, 2.0])
    add("Wishart", df=[4.0, 6.5], covariance_matrix=spd)
    add("Wishart", df=5.0, scale_tril=lambda t: spd(t).tril())
    return found


CASES = cases()
IDS = [f"{name}-{','.join(p)}{i}" for i, (name, p) in enumerate(CASES)]
PLAIN = ("total_count", "dim")  # parameters that are given as numbers


def parameters_of(library, parameters, dtype="float64", plain_numbers=True):
    made = {}
    for name, value in parameters.items():
        if callable(value):
            made[name] = value(library).to(getattr(library, dtype)).requires_grad_()
        elif (name in PLAIN and not isinstance(value, list)) or (
            isinstance(value, float) and plain_numbers and name != "temperature"
        ):
            made[name] = value
        else:
            made[name] = library.tensor(value, dtype=getattr(library, dtype), requires_grad=True)
    return made


def make(library, name, parameters, dtype="float64", **options):
    made = parameters_of(library, parameters, dtype)
    leaves = [v for v in made.values() if isinstance(v, library.Tensor)]
    return getattr(library.distributions, name)(**made, **options), leaves


def arrays(value):
    return value.detach().numpy()


def close(mine, theirs, rtol=1e-9, atol=1e-11, what=""):
    assert tuple(mine.shape) == tuple(theirs.shape), what
    assert str(mine.dtype).partition(".")[2] == str(theirs.dtype).partition(".")[2], what
    if theirs.dtype == torch.float32:
        rtol, atol = max(rtol, 1e-5), max(atol, 1e-6)
    np.testing.assert_allclose(arrays(mine), arrays(theirs), rtol=rtol, atol=atol, err_msg=what)


def attempted(function, *arguments):
    """The result, or the kind of the error."""
    try:
        return function(*arguments)
    except (NotImplementedError, ValueError, AttributeError) as error:
        return type(error)


def compare(mine, theirs, **options):
    if isinstance(theirs, type) or isinstance(mine, type):
        assert mine is theirs, (mine, theirs)
    else:
        close(mine, theirs, **options)


LOOSE = {
    "VonMises": 2e-6,  # PyTorch's Bessel functions are good to seven digits
    "Gamma": 1e-8,  # and so is its incomplete gamma function in places
    "Chi2": 1e-8,
    "Multinomial": 1e-7,  # whose entropy PyTorch computes in float32
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name, parameters", CASES, ids=IDS)
def test_samples_are_pytorchs_after_the_same_seed(name, parameters, dtype):
    if name == "ContinuousBernoulli" and dtype == "float32":
        parameters = {k: [0.1, 0.4, 0.9] for k in parameters}  # nearer to one half float32 has few digits left
    for method, shape in itertools.product(("sample", "rsample"), ((), (5,), (30, 2))):
        found = []
        for library in (tensorgrad, torch):
            library.manual_seed(7)
            distribution, _ = make(library, name, parameters, dtype)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found.append(attempted(getattr(distribution, method), shape))
        compare(
            *found, rtol=3e-5 if dtype == "float32" else 1e-11, atol=1e-5 if dtype == "float32" else 1e-13, what=method
        )


@pytest.mark.parametrize("name, parameters", CASES, ids=IDS)
def test_densities_and_moments(name, parameters):
    tolerance = LOOSE.get(name, 1e-9)
    (mine, my_leaves), (theirs, their_leaves) = make(tensorgrad, name, parameters), make(torch, name, parameters)
    assert tuple(mine.batch_shape) == tuple(theirs.batch_shape) and tuple(mine.event_shape) == tuple(theirs.event_shape)
    assert repr(mine).replace("tensorgrad.", "torch.").partition("tensor(")[0] == repr(theirs).partition("tensor(")[0]
    assert mine.has_rsample == theirs.has_rsample and mine.has_enumerate_support == theirs.has_enumerate_support
    for word in ("mean", "mode", "variance", "stddev"):
        compare(*(attempted(getattr, d, word) for d in (mine, theirs)), rtol=tolerance, what=word)
    for word in ("entropy", "perplexity", "enumerate_support"):
        compare(
            *(attempted(lambda d, word=word: getattr(d, word)(), d) for d in (mine, theirs)), rtol=tolerance, what=word
        )
    torch.manual_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sample = theirs.sample((4,)).detach()
    if name == "Wishart":
        sample = (sample + sample.mT) / 2
    values = tensorgrad.from_numpy(sample.numpy().copy()), sample
    for word in ("log_prob", "cdf"):
        compare(*(attempted(getattr(d, word), v) for d, v in zip((mine, theirs), values)), rtol=tolerance, what=word)
    quantiles = [library.tensor(0.3, dtype=library.float64) for library in (tensorgrad, torch)]
    compare(*(attempted(d.icdf, q) for d, q in zip((mine, theirs), quantiles)), rtol=1e-8, what="icdf")
    assert str(mine.support.check(values[0]).all().item()) == str(theirs.support.check(values[1]).all().item())
    # gradients of the log-density and of the entropy by the parameters
    for word in ("log_prob", "entropy"):
        gradients = []
        for library, (d, leaves), value in (
            (tensorgrad, (mine, my_leaves), values[0]),
            (torch, (theirs, their_leaves), sample),
        ):
            result = attempted(
                lambda d=d, value=value, word=word: d.log_prob(value) if word == "log_prob" else d.entropy()
            )
            if isinstance(result, type) or not leaves or not result.requires_grad:
                gradients.append([])
            else:
                gradients.append(library.autograd.grad(result.sum(), leaves, allow_unused=True, retain_graph=True))
        for a, b in zip(*gradients, strict=True):
            assert (a is None) == (b is None), word
            if a is not None:
                close(a, b, rtol=max(1e-7, 10 * tolerance), atol=1e-9 if tolerance < 1e-8 else 1e-5, what=word)


ROUGH = {  # PyTorch approximates the slope of gamma and Dirichlet numbers to three digits
    "Gamma", "Chi2", "StudentT", "FisherSnedecor", "Dirichlet", "Beta", "InverseGamma", "Wishart"
}  # fmt: skip


@pytest.mark.parametrize("name, parameters", CASES, ids=IDS)
def test_gradients_of_samples(name, parameters):
    gradients = []
    for library in (tensorgrad, torch):
        distribution, leaves = make(library, name, parameters)
        if not distribution.has_rsample or not leaves or name == "Wishart":  # PyTorch changes what it saved
            pytest.skip("no gradients")
        library.manual_seed(3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sample = distribution.rsample((6,))
        weights = library.cos(library.arange(sample.numel(), dtype=library.float64)).reshape(sample.shape)
        gradients.append(library.autograd.grad((sample * weights).sum(), leaves, allow_unused=True))
    rough = name in ROUGH
    for a, b in zip(*gradients):
        assert (a is None) == (b is None)
        if a is not None:
            scale = max(1.0, float(b.abs().max()))
            close(a, b, rtol=2e-3 if rough else 1e-9, atol=(3e-3 if rough else 1e-10) * scale)


def families():
    """A few of every kind that has divergences, some of which do not contain each other."""
    a, b = [0.5, 1.5, 3.0], [1.2, 0.8, 2.0]
    yield "Bernoulli", {"probs": [0.0, 1.0, 0.3]}
    yield "Bernoulli", {"probs": [0.2, 0.7, 0.9]}
    yield "Beta", {"concentration1": a, "concentration0": b}
    yield "Beta", {"concentration1": b, "concentration0": b}
    yield "Binomial", {"total_count": 6, "probs": [0.2, 0.7, 0.9]}
    yield "Binomial", {"total_count": 5, "probs": [0.3, 0.1, 0.5]}
    yield "Categorical", {"probs": [[0.1, 0.6, 0.3], [0.0, 0.2, 0.8], [0.3, 0.3, 0.4]]}
    yield "Categorical", {"probs": [[0.2, 0.5, 0.3], [0.2, 0.2, 0.6], [0.5, 0.5, 0.0]]}
    yield "OneHotCategorical", {"probs": [[0.1, 0.6, 0.3], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]]}
    yield "Cauchy", {"loc": a, "scale": b}
    yield "Cauchy", {"loc": b, "scale": a}
    yield "ContinuousBernoulli", {"probs": [0.2, 0.7, 0.9]}
    yield "ContinuousBernoulli", {"probs": [0.3, 0.4995, 0.6]}
    yield "Dirichlet", {"concentration": [a, b, a]}
    yield "Dirichlet", {"concentration": [b, b, a]}
    yield "Exponential", {"rate": a}
    yield "Exponential", {"rate": b}
    yield "Gamma", {"concentration": a, "rate": b}
    yield "Gamma", {"concentration": b, "rate": b}
    yield "Chi2", {"df": a}
    yield "Gumbel", {"loc": a, "scale": b}
    yield "Gumbel", {"loc": b, "scale": a}
    yield "Geometric", {"probs": [0.2, 0.7, 0.9]}
    yield "Geometric", {"probs": [0.3, 0.1, 0.5]}
    yield "HalfNormal", {"scale": a}
    yield "HalfNormal", {"scale": b}
    yield "Laplace", {"loc": a, "scale": b}
    yield "Laplace", {"loc": b, "scale": a}
    yield "LogNormal", {"loc": a, "scale": b}
    yield "LogNormal", {"loc": b, "scale": a}
    yield "LowRankMultivariateNormal", {"loc": a, "cov_factor": [[1.0, 0.0], [0.5, 2.0], [0.3, 0.1]], "cov_diag": b}
    yield "LowRankMultivariateNormal", {"loc": [a, b], "cov_factor": [[1.0], [0.5], [0.3]], "cov_diag": a}
    yield "MultivariateNormal", {"loc": [a, b], "covariance_matrix": spd}
    yield "MultivariateNormal", {"loc": b, "scale_tril": lambda t: spd(t).tril()}
    yield "MultivariateNormal", {"loc": b, "covariance_matrix": lambda t: t.stack([spd(t), spd(t, 3.0)])}
    yield "Normal", {"loc": a, "scale": b}
    yield "Normal", {"loc": b, "scale": a}
    yield "Pareto", {"scale": a, "alpha": [0.9, 1.5, 3.5]}
    yield "Pareto", {"scale": [0.5, 1.0, 4.0], "alpha": b}
    yield "Poisson", {"rate": a}
    yield "Poisson", {"rate": b}
    yield "Uniform", {"low": [0.1, 0.0, -1.0], "high": [0.9, 1.0, 2.0]}
    yield "Uniform", {"low": [0.5, -1.0, -2.0], "high": [1.5, 2.0, 3.0]}
    yield "Uniform", {"low": [0.6, 2.0, 4.0], "high": [1.5, 3.0, 5.0]}
    yield "Weibull", {"scale": a, "concentration": b}
    yield "StudentT", {"df": a}


FAMILIES = list(families())


@pytest.mark.parametrize("p", FAMILIES, ids=lambda p: p[0])
def test_divergences(p):
    for q in FAMILIES:
        results, gradients = [], []
        for library in (tensorgrad, torch):
            first, my_leaves = make(library, *p)
            second, other_leaves = make(library, *q)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    result = library.distributions.kl_divergence(first, second)
                except (NotImplementedError, ValueError, RuntimeError) as error:
                    result = type(error)
            results.append(result)
            leaves = [*my_leaves, *other_leaves]
            if isinstance(result, type) or not result.requires_grad or not result.isfinite().all():
                gradients.append([])
            else:
                gradients.append(library.autograd.grad(result.sum(), leaves, allow_unused=True))
        what = f"KL({p[0]}, {q[0]})"
        compare(*results, rtol=1e-8, atol=1e-9, what=what)
        for a, b in zip(*gradients):
            if a is not None and b is not None and what not in TAKES_NO_GRADIENT:
                close(a, b, rtol=1e-6, atol=1e-8, what=what)


TAKES_NO_GRADIENT = ()


def mixtures(t):
    d = t.distributions
    weights = t.tensor([[0.2, 0.8], [0.5, 0.5]], dtype=t.float64)
    loc = t.tensor([[0.0, 1.0], [2.0, 5.0]], dtype=t.float64)
    yield d.MixtureSameFamily(d.Categorical(weights), d.Normal(loc, 1.0))
    yield d.MixtureSameFamily(d.Categorical(weights[0]), d.Independent(d.Normal(loc, 1.0), 1))
    yield d.Independent(d.Normal(loc, 2.0), 1)
    yield d.Independent(d.Bernoulli(weights), 2)
    tr = d.transforms
    base = d.Normal(loc, 1.0)
    yield d.TransformedDistribution(base, [tr.AffineTransform(1.0, -2.0), tr.ExpTransform()])
    yield d.TransformedDistribution(base, [tr.SigmoidTransform(), tr.AffineTransform(loc, 3.0)])
    yield d.TransformedDistribution(base, [tr.StickBreakingTransform()])
    yield d.TransformedDistribution(base, tr.TanhTransform(cache_size=1))
    yield d.TransformedDistribution(d.Independent(base, 1), tr.AffineTransform(loc, 2.0, event_dim=1))
    yield d.TransformedDistribution(d.Independent(base, 2), tr.ReshapeTransform((2, 2), (4,)))
    yield d.TransformedDistribution(d.Uniform(loc * 0, 1.0), [tr.SigmoidTransform().inv, tr.SoftplusTransform()])


def test_distributions_of_distributions():
    for mine, theirs in zip(mixtures(tensorgrad), mixtures(torch), strict=True):
        assert tuple(mine.batch_shape) == tuple(theirs.batch_shape) and tuple(mine.event_shape) == tuple(
            theirs.event_shape
        )
        tensorgrad.manual_seed(0), torch.manual_seed(0)
        values = mine.sample((3,)), theirs.sample((3,))
        close(*values)
        close(*(d.log_prob(v) for d, v in zip((mine, theirs), values)), rtol=1e-8)
        for word in ("mean", "variance"):
            compare(*(attempted(getattr, d, word) for d in (mine, theirs)), what=word)
        compare(*(attempted(d.cdf, v) for d, v in zip((mine, theirs), values)), rtol=1e-8, what="cdf")
        assert repr(mine.support).replace("tensorgrad.", "") == repr(theirs.support).replace("torch.", "")
        wide = [d.expand((5, *d.batch_shape)) for d in (mine, theirs)]
        close(*(d.log_prob(v[0]) for d, v in zip(wide, values)), rtol=1e-8)


@pytest.mark.parametrize("name, parameters", CASES, ids=IDS)
def test_expanding(name, parameters):
    results = []
    for library in (tensorgrad, torch):
        distribution, _ = make(library, name, parameters)
        for word in ("mean", "variance"):
            attempted(getattr, distribution, word)
        wide = distribution.expand((4, *distribution.batch_shape))
        assert type(wide) is type(distribution)
        library.manual_seed(5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sample = wide.sample((2,))
        value = (sample + sample.mT) / 2 if name == "Wishart" else sample
        results.append(
            (sample, wide.log_prob(value), attempted(getattr, wide, "mean"), attempted(getattr, wide, "variance"))
        )
        assert tuple(wide.batch_shape) == (4, *distribution.batch_shape)
    for a, b in zip(*results):
        compare(a, b, rtol=max(1e-8, LOOSE.get(name, 0)))


TRANSFORMS = {
    "ExpTransform": ((), "line"), "PowerTransform": ((2.0,), "half"), "SigmoidTransform": ((), "line"),
    "SoftplusTransform": ((), "line"), "TanhTransform": ((), "line"), "AbsTransform": ((), "line"),
    "AffineTransform": ((1.0, -2.0), "line"), "SoftmaxTransform": ((), "line"), "StickBreakingTransform": ((), "line"),
    "CorrCholeskyTransform": ((), "line"), "LowerCholeskyTransform": ((), "square"),
    "PositiveDefiniteTransform": ((), "square"),
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name):
    options, domain = TRANSFORMS[name]
    values = np.random.default_rng(0).normal(size=(2, 3, 3) if domain == "square" else (4, 6))
    values = np.abs(values) if domain == "half" else values
    results = []
    for library in (tensorgrad, torch):
        transform = getattr(library.distributions.transforms, name)(*options)
        twin = getattr(library.distributions.transforms, name)(*options)
        x = library.from_numpy(values.copy()).requires_grad_()
        y = transform(x)
        stretch = attempted(transform.log_abs_det_jacobian, x, y)
        back = transform.inv(y)
        (gradient,) = library.autograd.grad((y * y.detach().cos()).sum(), x, retain_graph=True)
        shapes = tuple(transform.forward_shape(x.shape)), tuple(transform.inverse_shape(y.shape))
        results.append((y, stretch, back, gradient, shapes, transform.bijective, repr(transform), repr(transform.domain),
                        repr(transform.codomain), transform == twin))  # fmt: skip
    for a, b in zip(*results):
        if isinstance(b, torch.Tensor) or isinstance(a, type):
            compare(a, b, rtol=1e-8)
        else:
            assert a == b


def constraints_of(t):
    c, v = t.distributions.constraints, t.tensor
    whole, real = v([-1.0, 0.0, 1.0, 2.0, 0.5]), v([-1.0, float("nan"), 2.0])
    matrices = v(
        [[[1.0, 0.0], [0.5, 2.0]], [[1.0, 0.5], [0.5, 2.0]], [[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.0], [0.0, -1.0]]]
    )
    for constraint in (c.boolean, c.nonnegative_integer, c.positive_integer, c.integer_interval(0, 1), c.positive,
                       c.nonnegative, c.greater_than(0.5), c.greater_than_eq(0.5), c.less_than(0.5), c.unit_interval,
                       c.interval(0.5, 2.0), c.half_open_interval(0.5, 2.0), c.one_hot, c.simplex, c.multinomial(2),
                       c.real, c.real_vector, c.independent(c.positive, 1)):  # fmt: skip
        yield constraint, whole
    yield c.real, real
    yield c.one_hot, v([[0.0, 1.0], [1.0, 1.0]])
    yield c.simplex, v([[0.25, 0.75], [0.5, 0.6], [-0.5, 1.5]])
    for constraint in (c.lower_triangular, c.lower_cholesky, c.corr_cholesky, c.square, c.symmetric, c.positive_semidefinite,
                       c.positive_definite):  # fmt: skip
        yield constraint, matrices
    yield c.cat([c.positive, c.real], 0, [2, 3]), whole
    yield c.stack([c.positive, c.real, c.boolean], 0), real
    yield c.MixtureSameFamilyConstraint(c.positive), whole


def test_constraints():
    for (mine, x), (theirs, y) in zip(constraints_of(tensorgrad), constraints_of(torch), strict=True):
        assert repr(mine) == repr(theirs)
        assert mine.check(x).tolist() == theirs.check(y).tolist(), repr(theirs)
        assert mine.is_discrete == theirs.is_discrete and mine.event_dim == theirs.event_dim
        for table in ("biject_to", "transform_to"):
            found = []
            for library, constraint in ((tensorgrad, mine), (torch, theirs)):
                try:
                    found.append(repr(getattr(library.distributions, table)(constraint)))
                except NotImplementedError as error:
                    found.append(str(error))
            assert found[0] == found[1]


WRONG = [
    lambda t, d: d.Normal(t.tensor([0.0, 1.0]), t.tensor([1.0, -1.0])),
    lambda t, d: d.Normal(0.0, -1.0),
    lambda t, d: d.Normal("zero", 1.0),
    lambda t, d: d.Normal(t.tensor(float("nan")), 1.0),
    lambda t, d: d.Bernoulli(1.5),
    lambda t, d: d.Bernoulli(),
    lambda t, d: d.Bernoulli(0.5, 0.0),
    lambda t, d: d.Categorical(t.tensor(0.5)),
    lambda t, d: d.Categorical(t.tensor([-1.0, 3.0])),
    lambda t, d: d.Categorical(logits=t.tensor(0.5)),
    lambda t, d: d.Dirichlet(t.tensor(0.5)),
    lambda t, d: d.Dirichlet(t.tensor([1.0, -1.0])),
    lambda t, d: d.Uniform(1.0, 0.0),
    lambda t, d: d.Geometric(t.tensor([0.0, 0.5])),
    lambda t, d: d.ContinuousBernoulli(t.tensor([2.0]), validate_args=True),
    lambda t, d: d.Multinomial(t.tensor(3), t.ones(2)),
    lambda t, d: d.MultivariateNormal(t.zeros(2)),
    lambda t, d: d.MultivariateNormal(t.tensor(0.0), t.eye(1)),
    lambda t, d: d.MultivariateNormal(t.zeros(2), t.ones(2)),
    lambda t, d: d.MultivariateNormal(t.zeros(2), scale_tril=t.ones(2)),
    lambda t, d: d.MultivariateNormal(t.zeros(2), t.tensor([[1.0, 2.0], [2.0, 1.0]])),
    lambda t, d: d.LowRankMultivariateNormal(t.zeros(2), t.ones(3, 1), t.ones(2)),
    lambda t, d: d.LowRankMultivariateNormal(t.zeros(2), t.ones(2, 1), t.ones(3)),
    lambda t, d: d.Wishart(t.tensor(1.0), t.eye(3)),
    lambda t, d: d.LKJCholesky(1),
    lambda t, d: d.Independent(d.Normal(0.0, 1.0), 1),
    lambda t, d: d.TransformedDistribution(d.Normal(0.0, 1.0), "exp"),
    lambda t, d: d.TransformedDistribution(d.Normal(0.0, 1.0), ["exp"]),
    lambda t, d: d.TransformedDistribution(d.Normal(0.0, 1.0), d.transforms.SoftmaxTransform()),
    lambda t, d: d.MixtureSameFamily(d.Normal(0.0, 1.0), d.Normal(0.0, 1.0)),
    lambda t, d: d.MixtureSameFamily(d.Categorical(t.ones(2)), d.Normal(t.zeros(3), 1.0)),
    lambda t, d: d.Normal(0.0, 1.0).log_prob(1.0),
    lambda t, d: d.Normal(t.zeros(2), 1.0).log_prob(t.zeros(3)),
    lambda t, d: d.Normal(0.0, 1.0).log_prob(t.tensor(float("nan"))),
    lambda t, d: d.Exponential(1.0).log_prob(t.tensor([1.0, -1.0])),
    lambda t, d: d.Bernoulli(0.5).log_prob(t.tensor(0.5)),
    lambda t, d: d.Categorical(t.ones(2)).log_prob(t.tensor(2)),
    lambda t, d: d.Dirichlet(t.ones(2)).log_prob(t.tensor([0.5, 0.6])),
    lambda t, d: d.Dirichlet(t.ones(2)).log_prob(t.tensor([0.5, 0.3, 0.2])),
    lambda t, d: d.Binomial(t.tensor([2.0, 3.0]), t.tensor(0.5)).enumerate_support(),
    lambda t, d: d.Binomial(t.tensor([2.0, 3.0]), t.tensor(0.5)).entropy(),
    lambda t, d: d.Independent(d.Bernoulli(t.ones(2)), 1).enumerate_support(),
    lambda t, d: d.Poisson(1.0).rsample(),
    lambda t, d: d.LogisticNormal(t.zeros(2), 1.0).mode,
    lambda t, d: d.Distribution().expand((2,)),
    lambda t, d: d.Distribution.set_default_validate_args("maybe"),
    lambda t, d: d.transform_to(d.constraints.boolean),
    lambda t, d: d.transforms.ExpTransform(cache_size=2),
    lambda t, d: d.transforms.ReshapeTransform((2,), (3,)),
    lambda t, d: d.transforms.CatTransform(["exp"]),
    lambda t, d: d.transforms.CorrCholeskyTransform().forward_shape((2,)),
    lambda t, d: d.transforms.SoftmaxTransform().forward_shape(()),
    lambda t, d: d.constraints.dependent.check(t.zeros(1)),
    lambda t, d: d.constraints.dependent.event_dim,
    lambda t, d: d.utils.vec_to_tril_matrix(t.zeros(4)),
    lambda t, d: d.utils.tril_matrix_to_vec(t.zeros(2, 2), 3),
]


@pytest.mark.parametrize("call", WRONG, ids=range(len(WRONG)))
@pytest.mark.filterwarnings("ignore")
def test_errors_have_pytorchs_words(call):
    said = []
    for library in (torch, tensorgrad):
        with pytest.raises(Exception) as raised:
            call(library, library.distributions)
        text = str(raised.value).replace("tensorgrad", "torch")
        said.append((raised.type.__name__, text.partition("\n")[0].strip()))
    assert said[0] == said[1]


def test_generalized_pareto():  # which PyTorch makes in float32 alone
    found = []
    for t in (tensorgrad, torch):
        leaves = [t.tensor(v, requires_grad=True) for v in ([0.4, 1.2, 2.0], [0.5, 1.0, 1.5], [0.0, 0.4, -0.3])]
        d = t.distributions.GeneralizedPareto(*leaves)
        t.manual_seed(0)
        sample = d.rsample((5,))
        value = sample.detach()
        results = [sample, d.log_prob(value), d.cdf(value), d.icdf(t.tensor(0.3)), d.entropy(), d.mean, d.variance, d.mode,
                   d.log_cdf(value), d.log_survival_function(value), d.expand((2, 3)).log_prob(value[0])]  # fmt: skip
        grads = [t.autograd.grad(r.sum(), leaves, retain_graph=True, allow_unused=True) for r in results[:2]]
        found.append([*results, *(g for pair in grads for g in pair)])
    for mine, theirs in zip(*found, strict=True):
        close(mine, theirs, rtol=1e-5, atol=1e-5)


def test_wishart_samples_have_gradients():
    for name in ("covariance_matrix", "scale_tril"):
        matrix = spd(tensorgrad).tril() if name == "scale_tril" else spd(tensorgrad)

        def sample(df, matrix, name=name):
            tensorgrad.manual_seed(0)
            matrix = matrix.tril() if name == "scale_tril" else (matrix + matrix.mT) / 2
            return tensorgrad.distributions.Wishart(df, **{name: matrix}).rsample((2,))

        df = tensorgrad.tensor(5.0, dtype=tensorgrad.float64, requires_grad=True)
        leaves = [df, matrix.requires_grad_()]
        out = sample(*leaves)
        _, by_matrix = tensorgrad.autograd.grad(out.sum(), leaves)
        step = tensorgrad.zeros_like(matrix)
        step[1, 0] = 1e-6
        moved = (sample(df, matrix.detach() + step) - sample(df, matrix.detach() - step)).sum() / 2e-6
        assert abs(moved.item() - by_matrix[1, 0].item()) < 1e-5 * (1 + abs(moved.item()))


def test_everything_is_there_under_pytorchs_names():
    assert set(torch.distributions.__all__) <= set(tensorgrad.distributions.__all__)
    for room in ("constraints", "transforms", "utils", "kl", "constraint_registry"):
        ours = __import__(f"tensorgrad.distributions.{room}", fromlist=["x"])
        theirs = __import__(f"torch.distributions.{room}", fromlist=["x"])
        assert set(theirs.__all__) <= set(dir(ours)), room


def test_a_class_of_the_users_own_can_be_expanded_only_by_its_own_method():
    for library in (tensorgrad, torch):

        class Shifted(library.distributions.Normal):
            def __init__(self, shift):
                super().__init__(shift, 1.0)

        with pytest.raises(NotImplementedError, match="must also define a custom"):
            Shifted(library.zeros(1)).expand((2,))
