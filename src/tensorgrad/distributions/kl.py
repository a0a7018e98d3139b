"""Kullback-Leibler divergences: the table of pairs, and the pairs of one kind. Pairs of two kinds: _kl_cross.py."""

import functools
import math
import warnings
from collections.abc import Callable

import tensorgrad as tg
from tensorgrad.distributions.bernoulli import Bernoulli
from tensorgrad.distributions.beta import Beta
from tensorgrad.distributions.binomial import Binomial
from tensorgrad.distributions.categorical import Categorical
from tensorgrad.distributions.cauchy import Cauchy
from tensorgrad.distributions.continuous_bernoulli import ContinuousBernoulli
from tensorgrad.distributions.dirichlet import Dirichlet
from tensorgrad.distributions.distribution import Distribution
from tensorgrad.distributions.exp_family import ExponentialFamily
from tensorgrad.distributions.exponential import Exponential
from tensorgrad.distributions.gamma import Gamma
from tensorgrad.distributions.geometric import Geometric
from tensorgrad.distributions.gumbel import Gumbel
from tensorgrad.distributions.half_normal import HalfNormal
from tensorgrad.distributions.independent import Independent
from tensorgrad.distributions.laplace import Laplace
from tensorgrad.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    _batch_lowrank_logdet,
    _batch_lowrank_mahalanobis,
)
from tensorgrad.distributions.multivariate_normal import MultivariateNormal, _batch_mahalanobis
from tensorgrad.distributions.normal import Normal
from tensorgrad.distributions.one_hot_categorical import OneHotCategorical
from tensorgrad.distributions.pareto import Pareto
from tensorgrad.distributions.poisson import Poisson
from tensorgrad.distributions.transformed_distribution import TransformedDistribution
from tensorgrad.distributions.uniform import Uniform
from tensorgrad.distributions.utils import _sum_rightmost, euler_constant
from tensorgrad.nn.functional import softplus
from tensorgrad.tensor import Tensor

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict = {}  # (kind, kind) -> function of two distributions
_KL_MEMOIZE: dict = {}  # the same for the kinds that were asked for, which may be derived from those


def register_kl(type_p: type, type_q: type) -> Callable:
    """Add a function of two distributions to the table of divergences, as a decorator.

    >>> class Mine(torch.distributions.Normal): pass
    >>> @torch.distributions.register_kl(Mine, Mine)
    ... def _(p, q): return torch.tensor(7.)
    >>> torch.distributions.kl_divergence(Mine(0., 1.), Mine(0., 1.))
    tensor(7.)
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not (isinstance(kind, type) and issubclass(kind, Distribution)):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def register(function):
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return register


def _closer(a, b):
    """Order pairs of kinds: first the one that is more special in the first place where they differ."""
    for one, other in zip(a, b):
        if one is not other:
            return -1 if issubclass(one, other) else 1
    return 0


def _dispatch_kl(type_p, type_q):
    """The function for two kinds; a warning where it matters whose ancestors are looked at first."""
    matches = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not matches:
        return None
    order = functools.cmp_to_key(_closer)
    first = min(matches, key=order)
    second = min((pair[::-1] for pair in matches), key=order)[::-1]
    if _KL_REGISTRY[first] is not _KL_REGISTRY[second]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please "
            f"register_kl({first[0].__name__}, {second[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[first]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The mean over p of log p(x) - log q(x): how far q is from p, in nats.

    >>> d = torch.distributions
    >>> d.kl_divergence(d.Normal(0., 1.), d.Normal(1., 1.))
    tensor(0.5000)
    """
    pair = type(p), type(q)
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    function = _KL_MEMOIZE[pair]
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {pair[0].__name__} and q type {pair[1].__name__}\n"
            "Teach it with register_kl, or estimate it from samples: (p.log_prob(x) - q.log_prob(x)).mean()."
        )
    return function(p, q)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p, q):
    yes = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    yes = tg.where(p.probs == 0, 0.0, tg.where(q.probs == 0, math.inf, yes))
    no = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return yes + tg.where(p.probs == 1, 0.0, tg.where(q.probs == 1, math.inf, no))


@register_kl(Categorical, Categorical)
def _categorical(p, q):
    each = p.probs * (p.logits - q.logits)
    return tg.where(p.probs == 0, 0.0, tg.where(q.probs == 0, math.inf, each)).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_categorical(p, q):
    return _categorical(p._categorical, q._categorical)


@register_kl(Binomial, Binomial)
def _binomial(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    each = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return tg.where(p.total_count > q.total_count, math.inf, p.total_count * each)


@register_kl(Geometric, Geometric)
def _geometric(p, q):
    return -p.entropy() - tg.log1p(-q.probs) / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p, q):
    norms = p._cont_bern_log_norm() - q._cont_bern_log_norm()
    return p.mean * (p.logits - q.logits) + norms + tg.log1p(-p.probs) - tg.log1p(-q.probs)


@register_kl(Beta, Beta)
def _beta(p, q):
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p, q):
    a, b = p.concentration, q.concentration
    of_a, of_b = a.sum(-1), b.sum(-1)
    normalizers = of_a.lgamma() - of_b.lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return normalizers + ((a - b) * (a.digamma() - of_a.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential(p, q):
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Gamma, Gamma)
def _gamma(p, q):
    a, b = p.concentration, q.concentration
    normalizers = b * (p.rate / q.rate).log() + tg.lgamma(b) - tg.lgamma(a)
    return normalizers + (a - b) * tg.digamma(a) + (q.rate - p.rate) * (a / p.rate)


@register_kl(Gumbel, Gumbel)
def _gumbel(p, q):
    ratio, gap = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return -ratio.log() + gap + ratio * euler_constant + tg.exp((1 + ratio).lgamma() - gap) - (1 + euler_constant)


@register_kl(Normal, Normal)
def _normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p, q):
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p, q):
    ratio, gap = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + gap / q.scale + ratio * tg.exp(-gap / p.scale) - 1


@register_kl(Cauchy, Cauchy)
def _cauchy(p, q):
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(Pareto, Pareto)
def _pareto(p, q):
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return tg.where(p.scale < q.scale, math.inf, result)


@register_kl(Uniform, Uniform)
def _uniform(p, q):
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return tg.where((q.low > p.low) | (q.high < p.high), math.inf, result)


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p, q):
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman divergences"
        )
    params, normalizer, gradients = p._bregman()
    result = q._log_normalizer(*q._natural_params) - normalizer
    for mine, other, gradient in zip(params, q._natural_params, gradients):
        result = result - _sum_rightmost((other - mine) * gradient, len(q.event_shape))
    return result


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(
            "KL between transformed distributions is known only if their transforms and event shapes are equal"
        )
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "KL between Independents is known only if they reinterpret equally many dimensions, not "
            f"{p.reinterpreted_batch_ndims} and {q.reinterpreted_batch_ndims}"
        )
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


# Multivariate normal distributions: a covariance is a Cholesky factor, or of low rank plus a diagonal


def _log_det(d):
    if isinstance(d, MultivariateNormal):
        return 2 * d._half_log_det()
    return _batch_lowrank_logdet(*d._parts, d._capacitance_tril)


def _distance(d, x):
    if isinstance(d, MultivariateNormal):
        return _batch_mahalanobis(d._unbroadcasted_scale_tril, x)
    return _batch_lowrank_mahalanobis(*d._parts, x, d._capacitance_tril)


def _roots(d):
    """Matrices whose squares M M^T add up to the covariance."""
    if isinstance(d, MultivariateNormal):
        return (d._unbroadcasted_scale_tril,)
    factor, diag = d._parts
    return factor, tg.diag_embed(diag.sqrt())


def _squares(matrix):
    return matrix.pow(2).sum((-2, -1))


def _trace(p, q):
    """The trace of q's precision times p's covariance."""
    if isinstance(q, MultivariateNormal):
        factor = q._unbroadcasted_scale_tril
        return sum(_squares(tg.linalg.solve_triangular(factor, root, upper=False)) for root in _roots(p))
    factor, diag = q._parts
    inner = tg.linalg.solve_triangular(q._capacitance_tril, factor.mT / diag.unsqueeze(-2), upper=False)
    return sum(_squares(root * diag.rsqrt().unsqueeze(-1)) - _squares(inner.matmul(root)) for root in _roots(p))


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _multivariate_normal(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed: "
            f"{tuple(p.event_shape)} and {tuple(q.event_shape)}"
        )
    return 0.5 * (_log_det(q) - _log_det(p) + _trace(p, q) + _distance(q, q.loc - p.loc) - p.event_shape[0])


from tensorgrad.distributions import _kl_cross  # noqa: E402, F401
