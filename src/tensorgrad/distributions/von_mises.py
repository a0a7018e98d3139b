"""The von Mises distribution."""

import math
from typing import Any

import tensorgrad as tg
from tensorgrad.autograd.modes import no_grad
from tensorgrad.distributions import constraints
from tensorgrad.distributions.distribution import Distribution
from tensorgrad.distributions.utils import lazy_property
from tensorgrad.spec import Size

__all__ = ["VonMises"]


class VonMises(Distribution):
    """Angles around `loc`, the closer the larger the `concentration`.

    >>> torch.distributions.VonMises(torch.tensor(0.), torch.tensor(1.)).log_prob(torch.tensor(0.))
    tensor(-1.0738)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None):
        self._set(validate_args, loc=loc, concentration=concentration)

    mean = mode = property(lambda self: self.loc)

    @lazy_property
    def variance(self):  # type: ignore[override]
        return 1 - tg.special.i1e(self.concentration) / tg.special.i0e(self.concentration)

    def log_prob(self, value):
        self._check(value)
        kappa = self.concentration
        log_bessel = kappa + tg.log(tg.special.i0e(kappa))
        return kappa * tg.cos(value - self.loc) - math.log(2 * math.pi) - log_bessel

    @lazy_property
    def _proposal_r(self):
        """The parameter of the wrapped Cauchy distribution that proposes angles, in float64."""
        kappa = self.concentration.double()
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        return tg.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape=Size()):  # noqa: B008
        shape = self._extended_shape(sample_shape)
        loc, kappa, r = self.loc.double(), self.concentration.double(), self._proposal_r
        with no_grad():
            x, done = tg.zeros(shape, dtype=tg.float64), tg.zeros(shape, dtype=tg.bool)
            while not done.all():
                u1, u2, u3 = tg.rand((3, *shape), dtype=tg.float64).unbind()
                z = tg.cos(math.pi * u1)
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                accepted = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
                x = tg.where(accepted, (u3 - 0.5).sign() * f.acos(), x)
                done = done | accepted
            return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)
