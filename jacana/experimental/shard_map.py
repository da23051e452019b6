"""jax.experimental.shard_map: shard_map with the signature that it had here."""

from collections.abc import Callable
from typing import Any

from jacana.api import shard_map as public
from jacana.core.mesh import AbstractMesh, Mesh


def shard_map(
    f: Callable[..., Any],
    mesh: Mesh | AbstractMesh,
    in_specs: Any,
    out_specs: Any,
    check_rep: bool = True,
) -> Any:
    """As `jax.shard_map`, with check_vma named check_rep.

    >>> import jacana
    >>> spec = jacana.P("i")
    >>> shard_map(lambda x: x + 1, jacana.make_mesh((1,), ("i",)), spec, spec)(
    ...     jacana.numpy.arange(2)
    ... )
    Array([1, 2], dtype=int32)
    """
    return public.shard_map(
        f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_rep
    )
