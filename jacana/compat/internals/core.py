"""What flax imports from `jax._src.core`."""

from jacana.core.avals import ShapedArray as ShapedArray
