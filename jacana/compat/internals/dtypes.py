"""What libraries import from `jax._src.dtypes`."""

from jacana.core.dtypes import TypePromotionError as TypePromotionError
