"""Special functions, written once in the kernel language for float32 and float64.

Each name is a function on expressions; `name.function(type)` is its ir.Function. Accuracies are in
the docstrings, in units in the last place, as bench/accuracy.py measures them.
"""

from jacana.kernel.special.bessel import bessel_i0e, bessel_i1e
from jacana.kernel.special.error_function import erf, erf_inv, erfc
from jacana.kernel.special.gamma import digamma, lgamma, polygamma, zeta
from jacana.kernel.special.incomplete_beta import regularized_incomplete_beta
from jacana.kernel.special.incomplete_gamma import (
    igamma,
    igamma_grad_a,
    igammac,
    random_gamma_grad,
)

__all__ = [
    "bessel_i0e",
    "bessel_i1e",
    "digamma",
    "erf",
    "erf_inv",
    "erfc",
    "igamma",
    "igamma_grad_a",
    "igammac",
    "lgamma",
    "polygamma",
    "random_gamma_grad",
    "regularized_incomplete_beta",
    "zeta",
]
