"""Probability distributions: samples, densities, entropies and divergences, all with gradients. PyTorch's names.

distribution.py: what all share. constraints.py: sets of numbers. transforms/: functions with their inverses.
kl.py: divergences. Every distribution has a file of its own, with PyTorch's name.
"""

from tensorgrad.distributions import constraints, transforms
from tensorgrad.distributions.bernoulli import Bernoulli
from tensorgrad.distributions.beta import Beta
from tensorgrad.distributions.binomial import Binomial
from tensorgrad.distributions.categorical import Categorical
from tensorgrad.distributions.cauchy import Cauchy
from tensorgrad.distributions.chi2 import Chi2
from tensorgrad.distributions.constraint_registry import biject_to, transform_to
from tensorgrad.distributions.continuous_bernoulli import ContinuousBernoulli
from tensorgrad.distributions.dirichlet import Dirichlet
from tensorgrad.distributions.distribution import Distribution
from tensorgrad.distributions.exp_family import ExponentialFamily
from tensorgrad.distributions.exponential import Exponential
from tensorgrad.distributions.fishersnedecor import FisherSnedecor
from tensorgrad.distributions.gamma import Gamma
from tensorgrad.distributions.generalized_pareto import GeneralizedPareto
from tensorgrad.distributions.geometric import Geometric
from tensorgrad.distributions.gumbel import Gumbel
from tensorgrad.distributions.half_cauchy import HalfCauchy
from tensorgrad.distributions.half_normal import HalfNormal
from tensorgrad.distributions.independent import Independent
from tensorgrad.distributions.inverse_gamma import InverseGamma
from tensorgrad.distributions.kl import kl_divergence, register_kl
from tensorgrad.distributions.kumaraswamy import Kumaraswamy
from tensorgrad.distributions.laplace import Laplace
from tensorgrad.distributions.lkj_cholesky import LKJCholesky
from tensorgrad.distributions.log_normal import LogNormal
from tensorgrad.distributions.logistic_normal import LogisticNormal
from tensorgrad.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from tensorgrad.distributions.mixture_same_family import MixtureSameFamily
from tensorgrad.distributions.multinomial import Multinomial
from tensorgrad.distributions.multivariate_normal import MultivariateNormal
from tensorgrad.distributions.negative_binomial import NegativeBinomial
from tensorgrad.distributions.normal import Normal
from tensorgrad.distributions.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from tensorgrad.distributions.pareto import Pareto
from tensorgrad.distributions.poisson import Poisson
from tensorgrad.distributions.relaxed_bernoulli import RelaxedBernoulli
from tensorgrad.distributions.relaxed_categorical import RelaxedOneHotCategorical
from tensorgrad.distributions.studentT import StudentT
from tensorgrad.distributions.transformed_distribution import TransformedDistribution
from tensorgrad.distributions.transforms import *  # noqa: F403
from tensorgrad.distributions.uniform import Uniform
from tensorgrad.distributions.von_mises import VonMises
from tensorgrad.distributions.weibull import Weibull
from tensorgrad.distributions.wishart import Wishart

__all__ = [
    "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "ContinuousBernoulli", "Dirichlet", "Distribution",
    "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma", "GeneralizedPareto", "Geometric", "Gumbel",
    "HalfCauchy", "HalfNormal", "Independent", "InverseGamma", "Kumaraswamy", "LKJCholesky", "Laplace", "LogNormal",
    "LogisticNormal", "LowRankMultivariateNormal", "MixtureSameFamily", "Multinomial", "MultivariateNormal",
    "NegativeBinomial", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough", "Pareto", "Poisson",
    "RelaxedBernoulli", "RelaxedOneHotCategorical", "StudentT", "TransformedDistribution", "Uniform", "VonMises",
    "Weibull", "Wishart", "biject_to", "kl_divergence", "register_kl", "transform_to", *transforms.__all__,
]  # fmt: skip
