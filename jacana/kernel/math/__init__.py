"""Elementary functions, written once in the kernel language for float32 and float64.

Each name is a function on expressions; `name.function(type)` is its ir.Function. Accuracies are in
the docstrings, in units in the last place, as bench/every_float.py measures them.
"""

from jacana.kernel.math.exponential import exp, exp2, expm1, logistic
from jacana.kernel.math.floats import (
    frexp,
    is_finite,
    ldexp,
    nextafter,
    round_away_from_zero,
    sign,
    sign_bit,
)
from jacana.kernel.math.hyperbolic import acosh, asinh, atanh, cosh, sinh, tanh
from jacana.kernel.math.inverse_trigonometric import acos, asin, atan, atan2
from jacana.kernel.math.logarithm import log, log1p
from jacana.kernel.math.norm import hypot
from jacana.kernel.math.power import cbrt, pow, rsqrt
from jacana.kernel.math.trigonometric import cos, sin, tan

__all__ = [
    "exp", "exp2", "expm1", "logistic", "log", "log1p", "sin", "cos", "tan", "asin", "acos",
    "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "pow", "cbrt", "rsqrt",
    "hypot", "frexp", "is_finite", "ldexp", "nextafter", "round_away_from_zero",
    "sign", "sign_bit",
]  # fmt: skip
