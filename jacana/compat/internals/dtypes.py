"""What libraries import from `jax._src.dtypes`."""

from jacana.core.dtypes import (
    DType as DType,
    TypePromotionError as TypePromotionError,
    extended as extended,
)
from jacana.numpy import finfo as finfo


class ExtendedDType:
    """The base of dtypes that a library defines; arrays of them are not there."""
