"""`jax.config`: settings by attribute and by `update`."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from jacana.api import tracebacks
from jacana.core import config as settings
from jacana.runtime import device, number_checks


class ConfigView:
    """Reads and writes the process's Config under JAX's names."""

    def update(self, name: str, value: Any) -> None:
        """Set an option, such as update("jax_enable_x64", True)."""
        if settings.field_of(name) == "num_cpu_devices":
            device.check_count(value)
        if settings.field_of(name) == "default_device":
            device.check_default(value)
        settings.update(name, value)
        if value and settings.field_of(name) in ("debug_nans", "debug_infs"):
            number_checks.install()

    def read(self, name: str) -> Any:
        return settings.read(name)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("jax_"):
            raise AttributeError(f"config has no attribute {name!r}; options begin with jax_.")
        return settings.read(name)

    def parse_flags_with_absl(self) -> None:
        """Accepted for old programs; there are no absl flags."""


config = ConfigView()
# What traceback_filtering says is asked when an error is shown.
tracebacks.install()


@contextmanager
def enable_x64(new_val: bool = True) -> Iterator[None]:
    """`with enable_x64():` 64-bit types are on inside."""
    with settings.override(enable_x64=new_val):
        yield


@contextmanager
def disable_x64() -> Iterator[None]:
    with settings.override(enable_x64=False):
        yield


@contextmanager
def debug_nans(new_val: bool = True) -> Iterator[None]:
    """`with debug_nans():` a result with a nan raises FloatingPointError inside."""
    number_checks.install()
    with settings.override(debug_nans=new_val):
        yield


@contextmanager
def debug_infs(new_val: bool = True) -> Iterator[None]:
    """`with debug_infs():` a result with an infinity raises FloatingPointError inside."""
    number_checks.install()
    with settings.override(debug_infs=new_val):
        yield


@contextmanager
def disable_jit(disable: bool = True) -> Iterator[None]:
    """`with disable_jit():` jitted functions run operation by operation inside."""
    with settings.override(disable_jit=disable):
        yield


@contextmanager
def log_compiles(new_val: bool = True) -> Iterator[None]:
    with settings.override(log_compiles=new_val):
        yield


@contextmanager
def default_matmul_precision(new_val: str | None = None) -> Iterator[None]:
    with settings.override(default_matmul_precision=new_val):
        yield


@contextmanager
def numpy_dtype_promotion(new_val: str) -> Iterator[None]:
    with settings.override(numpy_dtype_promotion=new_val):
        yield


@contextmanager
def numpy_rank_promotion(new_val: str) -> Iterator[None]:
    with settings.override(numpy_rank_promotion=new_val):
        yield


@contextmanager
def threefry_partitionable(new_val: bool = True) -> Iterator[None]:
    with settings.override(threefry_partitionable=new_val):
        yield


@contextmanager
def checking_leaks() -> Iterator[None]:
    with settings.override(check_tracer_leaks=True):
        yield


def _scope(field: str, what: str) -> Callable[[Any], AbstractContextManager[None]]:
    """A `with`-scope that sets an option."""

    @contextmanager
    def scope(new_val: Any = True) -> Iterator[None]:
        with settings.override(**{field: new_val}):
            yield

    scope.__name__, scope.__doc__ = field, f"`with {field}(value):` {what} inside."
    return scope


check_tracer_leaks = _scope("check_tracer_leaks", "whether leaked traced values raise")
enable_checks = _scope("enable_checks", "whether programs are checked between passes")
explain_cache_misses = _scope("explain_cache_misses", "whether tracing again is explained")
default_prng_impl = _scope("default_prng_impl", "the kind of keys that jax.random makes")
enable_custom_prng = _scope("enable_custom_prng", "whether PRNGKey makes typed keys")
legacy_prng_key = _scope("legacy_prng_key", "what to do with keys that are plain uint32 arrays")
