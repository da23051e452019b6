"""Elementary functions, written once in the kernel language for float32 and float64.

Each name is a function on expressions; `name.function(type)` is its ir.Function. Accuracies are in
the docstrings, in units in the last place, as bench/accuracy.py measures them.
"""

from jacana.kernel.math.exponential import exp, expm1, logistic, tanh
from jacana.kernel.math.logarithm import log, log1p
from jacana.kernel.math.trigonometric import cos, sin, tan

__all__ = ["cos", "exp", "expm1", "log", "log1p", "logistic", "sin", "tan", "tanh"]
