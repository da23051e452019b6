"""What programs import from `jax.typing`."""

from typing import Any

import numpy as np

from jacana.core.trace import Tracer
from jacana.runtime.array import Array

ArrayLike = Array | Tracer | np.ndarray | np.bool_ | np.number | bool | int | float | complex
DTypeLike = Any
