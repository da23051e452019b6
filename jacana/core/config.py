"""Config: every setting, as one frozen object; the only ambient state besides the current trace.

`current()` is the Config of the running context: the process-wide one, changed by `update`, or what
`override` made of it inside a `with`. Equal Configs are one object, so caches compare with `is`.
"""

import contextlib
import contextvars
import dataclasses
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, get_args, get_origin

from jacana.core.inert_options import INERT

MatmulPrecision = Literal[
    "default", "high", "highest", "bfloat16", "bfloat16_3x", "tensorfloat32", "float32", "fastest"
]


def _option(default: Any, *, traced: bool = False, help: str) -> Any:
    """A setting; `traced` says that it may change the program that tracing a function gives."""
    return dataclasses.field(default=default, metadata={"traced": traced, "help": help})


@dataclasses.dataclass(frozen=True, slots=True)
class Config:
    """All settings. A field `f` is `jax_f` for users and JAX_F in the environment."""

    enable_x64: bool = _option(False, traced=True, help="64-bit types; float32 by default without")
    numpy_dtype_promotion: Literal["standard", "strict"] = _option(
        "standard", traced=True, help="strict: no dtype converts implicitly to another"
    )
    numpy_rank_promotion: Literal["allow", "warn", "raise"] = _option(
        "allow", traced=True, help="what to do where broadcasting adds axes"
    )
    default_matmul_precision: MatmulPrecision | None = _option(
        None, traced=True, help="precision of matrix products where none is given"
    )
    default_prng_impl: Literal["threefry2x32", "rbg", "unsafe_rbg"] = _option(
        "threefry2x32", traced=True, help="the kind of keys that jax.random makes"
    )
    threefry_partitionable: bool = _option(
        True, traced=True, help="random bits that do not depend on how an array is split"
    )
    enable_custom_prng: bool = _option(False, traced=True, help="PRNGKey makes typed keys")
    legacy_prng_key: Literal["allow", "warn", "error"] = _option(
        "allow", help="what to do with keys that are plain uint32 arrays"
    )
    random_seed_offset: int = _option(0, traced=True, help="added to every seed")
    high_dynamic_range_gumbel: bool = _option(
        False, traced=True, help="Gumbel samples with longer tails"
    )
    debug_nans: bool = _option(False, traced=True, help="raise where a result has a nan")
    debug_infs: bool = _option(False, traced=True, help="raise where a result has an infinity")
    debug_key_reuse: bool = _option(False, help="not there yet; meant to raise for reused keys")
    enable_checks: bool = _option(False, help="check programs between passes")
    check_tracer_leaks: bool = _option(False, help="raise where a traced value outlives its trace")
    profiling: bool = _option(
        False, traced=True, help="run programs command by command and record when; see jax.profiler"
    )
    disable_jit: bool = _option(False, traced=True, help="run jitted functions one op at a time")
    log_compiles: bool = _option(
        False, help="log what is traced and compiled, and how long it took"
    )
    explain_cache_misses: bool = _option(False, help="log why a function is traced again")
    compile_progress: bool = _option(True, help="show a progress bar when compiling takes long")
    enable_compilation_cache: bool = _option(True, help="keep kernels on disk")
    compilation_cache_dir: str | None = _option(
        None, help="the folder of kernels on disk; None: the user's cache folder"
    )
    compilation_cache_max_size: int = _option(-1, help="its bound in bytes; -1: the default one")
    default_device: Any = _option(None, help="where arrays are made; None: the first device")
    mesh: Any = _option(None, traced=True, help="the devices that specs refer to; see jax.set_mesh")
    num_cpu_devices: int = _option(-1, help="how many devices the CPU is; -1: as XLA_FLAGS says")
    num_threads: int = _option(0, help="threads of parallel kernels; 0: one for each core")
    traceback_filtering: Literal["auto", "off", "tracebackhide", "remove_frames"] = _option(
        "auto", help="off: tracebacks show jacana's own frames"
    )
    inert: tuple[tuple[str, Any], ...] = _option(
        (), help="values given to JAX's options that mean nothing here"
    )

    # What a traced program may depend on, as part of a cache key; equal ones are one object.
    traced: tuple[Any, ...] = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        values = tuple(getattr(self, name) for name in TRACED)
        object.__setattr__(self, "traced", _traced_keys.setdefault(values, values))


_traced_keys: dict[tuple[Any, ...], tuple[Any, ...]] = {}
FIELDS = {field.name: field for field in dataclasses.fields(Config) if field.init}
TRACED = tuple(name for name, field in FIELDS.items() if field.metadata["traced"])
_TYPES: dict[str, Any] = Config.__annotations__

_TRUE = ("1", "true", "t", "yes", "y", "on")
_FALSE = ("0", "false", "f", "no", "n", "off")


# --- values ---


def _choices(type_: Any) -> tuple[Any, ...]:
    """The values that a field's type lists; empty where it does not list them."""
    if get_origin(type_) is Literal:
        return get_args(type_)
    return tuple(c for part in get_args(type_) for c in (_choices(part) or (None,)))


def _checked(name: str, value: Any) -> Any:
    """The value as the field keeps it, or a ValueError that says what it may be."""
    type_ = _TYPES[name]
    if name == "debug_key_reuse" and value:
        warnings.warn(
            "jax_debug_key_reuse has no effect yet: a random key that is used twice is not noticed",
            stacklevel=3,
        )
    if type_ is bool:
        if isinstance(value, bool) or value in (0, 1):
            return bool(value)
        raise ValueError(f"jax_{name} is True or False, got {value!r}.")
    if type_ is int:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise ValueError(f"jax_{name} is a whole number, got {value!r}.")
    if type_ == str | None:
        return None if value is None else os.fspath(value)
    choices = _choices(type_)
    if choices and value not in choices:
        raise ValueError(f"jax_{name} is one of {', '.join(map(repr, choices))}, got {value!r}.")
    return value


def _from_text(name: str, text: str) -> Any:
    """The value of a field from the text of an environment variable."""
    type_ = _TYPES[name]
    if type_ is bool:
        if text.lower() in _TRUE + _FALSE:
            return text.lower() in _TRUE
        raise ValueError(f"JAX_{name.upper()} is one of {', '.join(_TRUE + _FALSE)}, got {text!r}.")
    return int(text) if type_ is int else text


def from_environment(environ: Mapping[str, str]) -> Config:
    """The initial Config: JAX_ENABLE_X64 and the like; JACANA_ names win over JAX_ ones."""
    changes: dict[str, Any] = {}
    for name in FIELDS:
        for variable in (f"JACANA_{name.upper()}", f"JAX_{name.upper()}"):
            text = environ.get(variable, "")
            if text and name not in ("inert", "mesh"):
                changes[name] = _checked(name, _from_text(name, text))
                break
    if environ.get("JACANA_CACHE_DIR"):
        changes["compilation_cache_dir"] = environ["JACANA_CACHE_DIR"]
    return _intern(Config(**changes))


# --- the current Config ---


class _Override:
    """The settings of a `with` block, and the Config that they make of the one around it."""

    __slots__ = ("base", "changes", "config")

    def __init__(self, base: Config, changes: Mapping[str, Any]):
        self.base, self.changes = base, changes
        self.config = _intern(dataclasses.replace(base, **changes))


_interned: dict[Config, Config] = {}
_lock = threading.Lock()


def _intern(config: Config) -> Config:
    return _interned.setdefault(config, config)


_process = from_environment(os.environ)
_local: contextvars.ContextVar[_Override | None] = contextvars.ContextVar("config", default=None)


def current(_get: Callable[[], _Override | None] = _local.get) -> Config:
    """The Config of the running thread or task."""
    local = _get()
    if local is None:
        return _process
    return local.config if local.base is _process else _rebased(local)


def is_overridden() -> bool:
    """Whether the running thread or task is inside a `with override(...)`."""
    return _local.get() is not None


def _rebased(local: _Override) -> Config:
    """What the overrides make of the process-wide Config, which was updated since."""
    moved = _Override(_process, local.changes)
    _local.set(moved)
    return moved.config


def update(name: str, value: Any) -> None:
    """Set an option for the whole process, by JAX's name (`jax_enable_x64`) or without `jax_`.

    A `with override(...)` that is open keeps what it set.
    """
    global _process
    field = field_of(name)
    with _lock:
        if field == "inert":
            kept = tuple(pair for pair in _process.inert if pair[0] != name)
            changes: dict[str, Any] = {"inert": (*kept, (name, value))}
        else:
            changes = {field: _checked(field, value)}
        _process = _intern(dataclasses.replace(_process, **changes))


@contextlib.contextmanager
def override(**changes: Any) -> Iterator[Config]:
    """Within the block, in this thread or task, the given fields have the given values."""
    checked = {field_of(name): value for name, value in changes.items()}
    checked = {name: _checked(name, value) for name, value in checked.items()}
    outer = _local.get()
    inherited = outer.changes if outer is not None else {}
    token = _local.set(_Override(_process, {**inherited, **checked}))
    try:
        yield current()
    finally:
        _local.reset(token)


def read(name: str) -> Any:
    """The value of an option by JAX's name."""
    field = field_of(name)
    if field != "inert":
        return getattr(current(), field)
    return dict(current().inert).get(name, INERT[name])


def field_of(name: str) -> str:
    """The field that keeps an option; AttributeError with the nearest names if there is none."""
    field = name.removeprefix("jax_")
    if field in FIELDS and field != "inert":
        return field
    if name in INERT:
        return "inert"
    known = [f"jax_{field}" for field in FIELDS if field != "inert"] + list(INERT)
    import difflib

    near = difflib.get_close_matches(f"jax_{field}", known, n=3)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    raise AttributeError(f"Unrecognized config option: {name}.{hint}")
