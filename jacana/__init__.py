"""JAX's programming model, light on its feet: arrays, `jit`, `grad`, `vmap`, compiled by LLVM."""

# ruff: noqa: E402

import gc as _gc
from typing import TYPE_CHECKING

# What is imported stays. Looking for garbage meanwhile finds none, and is a sixth of the time.
_was_collecting = _gc.isenabled()
_gc.disable()

from jacana import lax as lax, numpy as numpy, tree as tree, tree_util as tree_util
from jacana.api.checkpoint import checkpoint as checkpoint, remat as remat
from jacana.api.closures import closure_convert as closure_convert
from jacana.api.custom import (
    custom_gradient as custom_gradient,
    custom_jvp as custom_jvp,
    custom_vjp as custom_vjp,
)
from jacana.api.derivatives import (
    jvp as jvp,
    linear_transpose as linear_transpose,
    linearize as linearize,
    vjp as vjp,
)
from jacana.api.device import (
    block_until_ready as block_until_ready,
    clear_caches as clear_caches,
    copy_to_host_async as copy_to_host_async,
    default_backend as default_backend,
    default_device as default_device,
    device_count as device_count,
    device_get as device_get,
    devices as devices,
    live_arrays as live_arrays,
    local_device_count as local_device_count,
    local_devices as local_devices,
    process_count as process_count,
    process_index as process_index,
)
from jacana.api.grad import grad as grad, value_and_grad as value_and_grad
from jacana.api.inspect import (
    ShapeDtypeStruct as ShapeDtypeStruct,
    eval_shape as eval_shape,
    make_jaxpr as make_jaxpr,
    typeof as typeof,
)
from jacana.api.jacobians import (
    hessian as hessian,
    jacfwd as jacfwd,
    jacobian as jacobian,
    jacrev as jacrev,
)
from jacana.api.jit import jit as jit
from jacana.api.meshes import make_mesh as make_mesh, set_mesh as set_mesh
from jacana.api.placing import (
    device_put as device_put,
    make_array_from_callback as make_array_from_callback,
    make_array_from_single_device_arrays as make_array_from_single_device_arrays,
)
from jacana.api.scopes import (
    effects_barrier as effects_barrier,
    ensure_compile_time_eval as ensure_compile_time_eval,
    named_call as named_call,
    named_scope as named_scope,
)
from jacana.api.settings import (
    check_tracer_leaks as check_tracer_leaks,
    checking_leaks as checking_leaks,
    config as config,
    debug_infs as debug_infs,
    debug_nans as debug_nans,
    default_matmul_precision as default_matmul_precision,
    default_prng_impl as default_prng_impl,
    disable_jit as disable_jit,
    enable_checks as enable_checks,
    enable_custom_prng as enable_custom_prng,
    enable_x64 as enable_x64,
    explain_cache_misses as explain_cache_misses,
    legacy_prng_key as legacy_prng_key,
    log_compiles as log_compiles,
    numpy_dtype_promotion as numpy_dtype_promotion,
    numpy_rank_promotion as numpy_rank_promotion,
    threefry_partitionable as threefry_partitionable,
)
from jacana.api.vmap import vmap as vmap
from jacana.core import errors as errors
from jacana.core.deferred import deferred
from jacana.core.dtypes import float0 as float0
from jacana.core.mesh import PartitionSpec as P  # noqa: F401
from jacana.core.sharding import NamedSharding as NamedSharding
from jacana.numpy.array_type import Array as Array
from jacana.numpy.references import (
    empty_ref as empty_ref,
    free_ref as free_ref,
    freeze as freeze,
    new_ref as new_ref,
)
from jacana.runtime.device import Device as Device

# To the oldest generation with all of it, or the next small collection would go through it.
_gc.freeze()
_gc.unfreeze()
if _was_collecting:
    _gc.enable()

if TYPE_CHECKING:
    from jacana import (
        ad_checkpoint as ad_checkpoint,
        checkpoint_policies as checkpoint_policies,
        custom_batching as custom_batching,
        custom_derivatives as custom_derivatives,
        debug as debug,
        dlpack as dlpack,
        example_libraries as example_libraries,
        experimental as experimental,
        export as export,
        image as image,
        monitoring as monitoring,
        nn as nn,
        profiler as profiler,
        random as random,
        scipy as scipy,
        sharding as sharding,
        stages as stages,
    )
    from jacana.api.callback import pure_callback as pure_callback
    from jacana.api.environment import print_environment_info as print_environment_info
    from jacana.api.pmap import pmap as pmap
    from jacana.api.shard_map import shard_map as shard_map
    from jacana.compat import load_ipython_extension as load_ipython_extension
    from jacana.inspection import inspect as inspect

__getattr__, __dir__ = deferred(
    __name__,
    (
        "ad_checkpoint",
        "checkpoint_policies",
        "custom_batching",
        "custom_derivatives",
        "debug",
        "dlpack",
        "example_libraries",
        "experimental",
        "export",
        "image",
        "monitoring",
        "nn",
        "profiler",
        "random",
        "scipy",
        "sharding",
        "stages",
    ),
    compat=("load_ipython_extension",),
    inspection=("inspect",),
    **{
        "api.environment": ("print_environment_info",),
        "api.callback": ("pure_callback",),
        "api.pmap": ("pmap",),
        "api.shard_map": ("shard_map",),
    },
)

__version__ = "0.1.0"
# The release of JAX whose names and results are followed.
__jax_version__ = "0.10.2"
