"""jax.scipy: functions of SciPy on arrays that can be traced, compiled and differentiated."""

from jacana.scipy import linalg as linalg
