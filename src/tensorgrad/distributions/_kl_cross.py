"""Divergences between two kinds of distributions: -entropy of p - the mean over p of log q(x).

The second mean follows from a few means over p, of x, x^2, log x, log(1 - x) and exp(-x / s), each of which stands here
once for each p that has it. Where p takes values that q never takes, the divergence is infinite.
"""

import math

import tensorgrad as tg
from tensorgrad.distributions.bernoulli import Bernoulli
from tensorgrad.distributions.beta import Beta
from tensorgrad.distributions.binomial import Binomial
from tensorgrad.distributions.continuous_bernoulli import ContinuousBernoulli
from tensorgrad.distributions.exponential import Exponential
from tensorgrad.distributions.gamma import Gamma
from tensorgrad.distributions.gumbel import Gumbel
from tensorgrad.distributions.kl import register_kl
from tensorgrad.distributions.laplace import Laplace
from tensorgrad.distributions.normal import Normal
from tensorgrad.distributions.pareto import Pareto
from tensorgrad.distributions.poisson import Poisson
from tensorgrad.distributions.uniform import Uniform
from tensorgrad.distributions.utils import euler_constant

# Means over p


def _integral_of_log(x):
    return tg.xlogy(x, x) - x


def _mean_over(p, antiderivative):
    """The mean of a function over a uniform distribution, by its antiderivative."""
    return (antiderivative(p.high) - antiderivative(p.low)) / (p.high - p.low)


MEAN_LOG = {
    Beta: lambda p: p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma(),
    Exponential: lambda p: -p.rate.log() - euler_constant,
    Gamma: lambda p: p.concentration.digamma() - p.rate.log(),
    Pareto: lambda p: p.scale.log() + p.alpha.reciprocal(),
    Uniform: lambda p: _mean_over(p, _integral_of_log),
}
MEAN_LOG_OF_REST = {Uniform: lambda p: _mean_over(p, lambda x: -_integral_of_log(1 - x))}
MEAN_EXP = {  # of exp(-(x - loc) / s)
    Exponential: lambda p, loc, s: tg.exp(loc / s) * p.rate * s / (p.rate * s + 1),
    Gamma: lambda p, loc, s: tg.exp(loc / s) * (1 + (p.rate * s).reciprocal()).pow(-p.concentration),
    Normal: lambda p, loc, s: tg.exp((loc - p.loc) / s + 0.5 * (p.scale / s).pow(2)),
    Uniform: lambda p, loc, s: _mean_over(p, lambda x: -s * tg.exp((loc - x) / s)),
}


def _of(table, p):
    """The entry for the kind of p, or for the first kind that it is derived from."""
    return next(table[kind] for kind in type(p).__mro__ if kind in table)


# The mean over p of log q(x)


def _log_exponential(p, q):
    return q.rate.log() - q.rate * p.mean


def _log_gamma(p, q):
    a, b = q.concentration, q.rate
    return a * b.log() - a.lgamma() + (a - 1) * _of(MEAN_LOG, p)(p) - b * p.mean


def _log_normal(p, q):
    square = p.variance + (p.mean - q.loc).pow(2)
    return -0.5 * tg.log(2 * math.pi * q.scale.pow(2)) - square / (2 * q.scale.pow(2))


def _log_gumbel(p, q):
    return -(p.mean - q.loc) / q.scale - _of(MEAN_EXP, p)(p, q.loc, q.scale) - q.scale.log()


def _log_beta(p, q):
    a, b = q.concentration1, q.concentration0
    log_beta = a.lgamma() + b.lgamma() - (a + b).lgamma()
    return (a - 1) * _of(MEAN_LOG, p)(p) + (b - 1) * _of(MEAN_LOG_OF_REST, p)(p) - log_beta


def _log_pareto(p, q):
    return q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _of(MEAN_LOG, p)(p)


def _log_continuous_bernoulli(p, q):
    return p.mean * q.logits + tg.log1p(-q.probs) + q._cont_bern_log_norm()


def _log_uniform(p, q):
    return -(q.high - q.low).log()


def _log_laplace(p, q):
    gap = p.loc - q.loc
    ratio = gap / p.scale
    size = math.sqrt(2 / math.pi) * p.scale * tg.exp(-0.5 * ratio.pow(2)) + gap * tg.erf(math.sqrt(0.5) * ratio)
    return -(2 * q.scale).log() - size / q.scale


def _log_poisson(p, q):
    return p.probs * q.rate.log() - q.rate


# Pairs: kind of p, kind of q, the mean of log q, and where p takes values that q never takes

KNOWN = [
    (Bernoulli, Poisson, _log_poisson, None),
    (Beta, ContinuousBernoulli, _log_continuous_bernoulli, None),
    (Beta, Exponential, _log_exponential, None),
    (Beta, Gamma, _log_gamma, None),
    (Beta, Normal, _log_normal, None),
    (Beta, Uniform, _log_uniform, lambda p, q: (q.low > 0) | (q.high < 1)),
    (ContinuousBernoulli, Exponential, _log_exponential, None),
    (ContinuousBernoulli, Normal, _log_normal, None),
    (ContinuousBernoulli, Uniform, _log_uniform, lambda p, q: (q.low >= 0) | (q.high <= 1)),  # as PyTorch has it
    (Exponential, Gamma, _log_gamma, None),
    (Exponential, Gumbel, _log_gumbel, None),
    (Exponential, Normal, _log_normal, None),
    (Gamma, Exponential, _log_exponential, None),
    (Gamma, Gumbel, _log_gumbel, None),
    (Gamma, Normal, _log_normal, None),
    (Gumbel, Normal, _log_normal, None),
    (Laplace, Normal, _log_normal, None),
    (Normal, Gumbel, _log_gumbel, None),
    (Normal, Laplace, _log_laplace, None),
    (Pareto, Exponential, _log_exponential, lambda p, q: p.alpha <= 1),  # the mean is infinite
    (Pareto, Gamma, _log_gamma, lambda p, q: p.alpha <= 1),
    (Pareto, Normal, _log_normal, lambda p, q: p.alpha <= 2),
    (Uniform, Beta, _log_beta, lambda p, q: (p.high > 1) | (p.low < 0)),
    (Uniform, ContinuousBernoulli, _log_continuous_bernoulli, lambda p, q: (p.high >= 1) | (p.low <= 0)),
    (Uniform, Exponential, _log_exponential, lambda p, q: p.low < 0),
    (Uniform, Gamma, _log_gamma, lambda p, q: p.low < 0),
    (Uniform, Gumbel, _log_gumbel, None),
    (Uniform, Normal, _log_normal, None),
    (Uniform, Pareto, _log_pareto, lambda p, q: p.low < q.scale),
]
INFINITE = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}


def _pair(mean_log, beyond):
    def divergence(p, q):
        result = -p.entropy() - mean_log(p, q)
        return result if beyond is None else tg.where(beyond(p, q), math.inf, result)

    return divergence


def _infinite(p, q):
    return tg.full_like(p.mean, math.inf)


for _p, _q, _mean_log, _beyond in KNOWN:
    register_kl(_p, _q)(_pair(_mean_log, _beyond))
for _p, _kinds in INFINITE.items():
    for _q in _kinds:
        register_kl(_p, _q)(_infinite)
