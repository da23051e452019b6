"""jax.image: arrays resampled along axes."""

from jacana.image.scaling import (
    ResizeMethod as ResizeMethod,
    resize as resize,
    scale_and_translate as scale_and_translate,
)
