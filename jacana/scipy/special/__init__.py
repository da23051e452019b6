"""jax.scipy.special: special functions of real numbers, with derivatives."""

from typing import Any

from jacana.nn import log_sums
from jacana.nn.log_sums import logsumexp as logsumexp
from jacana.scipy.special.bessel import (
    bessel_jn as bessel_jn,
    i0 as i0,
    i0e as i0e,
    i1 as i1,
    i1e as i1e,
)
from jacana.scipy.special.entropies import (
    boxcox as boxcox,
    boxcox1p as boxcox1p,
    entr as entr,
    expit as expit,
    kl_div as kl_div,
    logit as logit,
    rel_entr as rel_entr,
    xlog1py as xlog1py,
    xlogy as xlogy,
)
from jacana.scipy.special.error_functions import (
    erf as erf,
    erfc as erfc,
    erfcx as erfcx,
    erfinv as erfinv,
    log_ndtr as log_ndtr,
    ndtr as ndtr,
    ndtri as ndtri,
)
from jacana.scipy.special.gamma_functions import (
    bernoulli as bernoulli,
    beta as beta,
    betainc as betainc,
    betaln as betaln,
    comb as comb,
    digamma as digamma,
    factorial as factorial,
    gamma as gamma,
    gammainc as gammainc,
    gammaincc as gammaincc,
    gammaln as gammaln,
    gammasgn as gammasgn,
    loggamma as loggamma,
    multigammaln as multigammaln,
    poch as poch,
    polygamma as polygamma,
    zeta as zeta,
)
from jacana.scipy.special.integrals import exp1 as exp1, expi as expi, expn as expn


def softmax(x: Any, /, *, axis: Any = None) -> Any:
    """exp(x) / sum(exp(x)) over axes, all of them by default.

    >>> softmax(jnp.zeros(2))
    Array([0.5, 0.5], dtype=float32)
    """
    return log_sums.softmax(x, axis)


def log_softmax(x: Any, /, *, axis: Any = None) -> Any:
    """x - logsumexp(x) over axes, all of them by default.

    >>> log_softmax(jnp.array([0.0, -jnp.inf]))
    Array([  0., -inf], dtype=float32)
    """
    return log_sums.log_softmax(x, axis)


# Functions of JAX's that are loops of a length that depends on their arguments.
NOT_THERE = frozenset(
    ("dawsn", "fresnel", "hyp1f1", "hyp2f1", "owens_t", "sici", "spence", "sph_harm_y", "wofz")
)


def __getattr__(name: str) -> Any:
    if name not in NOT_THERE:
        raise AttributeError(f"jacana.scipy.special has no {name}.")

    def function(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"jax.scipy.special.{name} is not there yet in jacana.")

    function.__name__ = function.__qualname__ = name
    return function
