"""jit: trace a function once for each kind of argument, and run the compiled program."""

import functools
import inspect
import types
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jacana.api import compile_log, known_calls
from jacana.api.arguments import argument_names, check_jit_arguments
from jacana.api.placing import JitShardings
from jacana.api.references import check_captured, check_distinct, check_not_returned
from jacana.api.staged import Lowered, Signature, Traced
from jacana.core import config, leaks, tree
from jacana.core.avals import AbstractRef, ShapedArray
from jacana.core.jaxpr import ClosedJaxpr, Jaxpr
from jacana.core.stage import JaxprTrace
from jacana.core.trace import Tracer, is_eager, set_current
from jacana.core.values import aval_of, is_argument, is_array_like
from jacana.higher_order.call import bind_jit
from jacana.runtime.array import Array, to_array
from jacana.runtime.executable import Executable, executable_for
from jacana.runtime.fronts import Calls, Front
from jacana.runtime.number_checks import checking
from jacana.runtime.placement import (
    Shardings,
    first_constraint,
    place,
    result_shardings,
    shardings_of,
)
from jacana.runtime.recorder import recorded
from jacana.runtime.ref import memory
from jacana.transforms.batch import is_checked, named_axes

Ints = int | Iterable[int] | None
Names = str | Iterable[str] | None


class Entry:
    """What tracing the function once gave: its program, and how results are put together."""

    __slots__ = (
        "jaxpr", "consts", "out_tree", "is_single", "executable", "_const_arrays", "name",
        "places_results", "_placements",
    )  # fmt: skip

    def __init__(self, jaxpr: ClosedJaxpr, consts: list[Any], out_tree: Any, name: str):
        self.jaxpr, self.consts, self.out_tree, self.name = jaxpr, consts, out_tree, name
        self.is_single = tree.treedef_is_leaf(out_tree) and out_tree.num_leaves == 1
        self.executable: Executable | None = None
        self._const_arrays: list[Array] | None = None
        # Whether its results are divided even if no argument is.
        self.places_results = first_constraint(jaxpr.jaxpr) is not None
        self._placements: dict[Shardings, Shardings] = {}

    def is_stale(self) -> bool:
        """Whether a captured value belongs to a transformation that has ended."""
        return any(isinstance(c, Tracer) and not c._trace.alive for c in self.consts)

    def is_placed(self, arrays: list[Array]) -> bool:
        """Whether an argument or a captured array has a sharding of its own."""
        consts = [c for c in self.consts if type(c) is Array]
        return any(x.aval.sharding is not None for x in (*consts, *arrays))

    def has_tracers(self) -> bool:
        return any(isinstance(c, Tracer) for c in self.consts)

    def run(self, arrays: list[Array]) -> list[Any]:
        """The flat results on arrays; no transformation is involved."""
        if self.executable is None:
            with compile_log.compiling(self.name, self.jaxpr.in_avals):
                jaxpr = self.jaxpr.jaxpr
                self.executable = recorded(checking(executable_for(jaxpr), jaxpr), jaxpr, self.name)
            self._const_arrays = [to_array(memory(c)) for c in self.consts]
        given = [*self._const_arrays, *arrays] if self._const_arrays else arrays
        return apart(self.executable.run(given), given)

    def run_placed(self, arrays: list[Array]) -> list[Any]:
        """As run, where arguments or results are divided between devices."""
        found = self.run(arrays)
        given = [*(self._const_arrays or []), *arrays]
        shardings = shardings_of(given) or (None,) * len(given)
        if shardings not in self._placements:
            placed = result_shardings(self.jaxpr.jaxpr, shardings, self.name)
            self._placements[shardings] = placed
        return place(found, self._placements[shardings])

    def learn(self, calls: Calls, *arguments: Any) -> None:
        """Let a front run this program natively for such arguments."""
        # Others look at what they run.
        if type(self.executable) is Executable:
            known_calls.learn(
                calls, self.executable, self._const_arrays or (), self.out_tree, *arguments
            )

    def bind(self, leaves: Sequence[Any]) -> list[Any]:
        """The flat results under the current trace."""
        return bind_jit(self.jaxpr, self.name, [*self.consts, *leaves])


def apart(results: list[Any], given: list[Array]) -> list[Any]:
    """The results, with Arrays of their own for those that are inputs, or each other."""
    seen = set(map(id, given))
    made = []
    for x in results:
        made.append(Array(x.aval, x.buffer) if id(x) in seen else x)
        seen.add(id(x))
    return made


# All jitted functions that are alive, for `clear_caches`.
jitted_functions: "weakref.WeakSet[Jitted]" = weakref.WeakSet()


class Jitted(Front):
    """A function that runs compiled. `lower`, `trace` and `eval_shape` stop on the way."""

    def __init__(
        self,
        function: Callable[..., Any],
        static_argnums: tuple[int, ...],
        static_argnames: tuple[str, ...],
        donate_argnums: tuple[int, ...],
        donate_argnames: tuple[str, ...],
        shardings: JitShardings | None = None,
    ):
        functools.update_wrapper(self, function)
        self._shardings = shardings
        function = function if shardings is None else shardings.wrap(function)
        self._function = function
        self._name = getattr(function, "__name__", type(function).__name__)
        self._static_argnums = static_argnums
        self._static_argnames = frozenset(static_argnames)
        self._donate_argnums = donate_argnums
        self._donate_argnames = frozenset(donate_argnames)
        self._is_plain = not (static_argnums or static_argnames)
        jitted_functions.add(self)
        self._entries: dict[Any, Entry] = {}
        # Entries of eager calls whose arguments are all arrays, found without a pytree.
        self._of_arrays: dict[Any, Entry] = {}
        # Calls that never come to `_call` again.
        self._calls = self._begin()
        self._donates = bool(donate_argnums or donate_argnames)

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        """The result for arguments that native code knows no call for."""
        settings = config.current()
        if not kwargs and is_eager():
            avals = [a.aval if type(a) is Array else None for a in args]
            entry = self._of_arrays.get((settings.traced, *avals))
            if entry is not None:
                out = entry.run(list(args))
                return out[0] if entry.is_single else entry.out_tree.unflatten(out)
        if settings.disable_jit:
            return self._function(*args, **kwargs)
        out = self._run(args, kwargs)
        if self._donates and is_eager():
            self._donate(args, kwargs)
        return out

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result, by whatever way there is; the next call like this may take a shorter one."""
        key, leaves, dynamic = self._key(args, kwargs)
        entry = self._entries.get(key)
        if entry is None or (entry.consts and entry.is_stale()):
            entry = self._trace(key, leaves, dynamic)
        if AbstractRef in map(type, dynamic.avals):
            self._check_refs(entry, leaves, dynamic)
        if is_eager() and not entry.has_tracers():
            arrays = [x if type(x) is Array else to_array(memory(x)) for x in leaves]
            if self._shardings is not None:
                self._shardings.check(args)
            if entry.places_results or ShapedArray.any_placed() and entry.is_placed(arrays):
                out = entry.run_placed(arrays)
            else:
                out = entry.run(arrays)
                self._learn(entry, args, kwargs, leaves, dynamic)
        else:
            out = entry.bind(leaves)
        return entry.out_tree.unflatten(out)

    def _learn(
        self,
        entry: Entry,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        leaves: list[Any],
        dynamic: "Arguments",
    ) -> None:
        """Take the next call like this one a shorter way."""
        plain = self._is_plain and not self._donates
        if plain and not kwargs and all(map(is_array, args)):
            traced = config.current().traced
            self._of_arrays[(traced, *[x.aval for x in args])] = entry
        if self._calls is not None:
            numbers = {n % len(args) if n < 0 and args else n for n in self._static_argnums}
            static = (numbers, self._static_argnames)
            donated: Sequence[bool] = ()
            if self._donates:
                donated = dynamic.donated(self._donate_argnums, self._donate_argnames)
            entry.learn(self._calls, args, kwargs, leaves, static, donated)

    def __repr__(self) -> str:
        return f"<PjitFunction of {self._function!r}>"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    # --- arguments --------------------------------------------------------------------------------

    def _key(self, args: Any, kwargs: Any) -> tuple[Any, list[Any], "Arguments"]:
        """The cache key of a call, its array leaves, and its arguments with statics apart."""
        static: tuple[Any, ...] = ()
        if not self._is_plain:
            args, kwargs, static = self._split_static(args, kwargs)
        leaves, in_tree = tree.flatten((args, kwargs))
        avals = []
        for x in leaves:
            if type(x) is not Array and not is_argument(x):
                self._reject(x, args, kwargs)
            avals.append(aval_of(x))
        axes = () if is_eager() else tuple([(*axis, is_checked(axis[0])) for axis in named_axes()])
        key = (static, in_tree, tuple(avals), config.current().traced, axes)
        return key, leaves, Arguments(in_tree, static, tuple(avals))

    def _split_static(self, args: Any, kwargs: Any) -> tuple[Any, Any, tuple[Any, ...]]:
        numbers = {n % len(args) if n < 0 and args else n for n in self._static_argnums}
        static = [
            (n, StaticValue(args[n], self._name, n)) for n in sorted(numbers) if n < len(args)
        ]
        named = [
            (k, StaticValue(kwargs[k], self._name, k)) for k in sorted(kwargs)
            if k in self._static_argnames
        ]  # fmt: skip
        args = tuple(x for i, x in enumerate(args) if i not in numbers)
        kwargs = {k: v for k, v in kwargs.items() if k not in self._static_argnames}
        return args, kwargs, (tuple(static), tuple(named))

    def _reject(self, value: Any, args: Any, kwargs: Any) -> None:
        paths, _ = tree.flatten_with_path((args, kwargs))
        where = next((p for p, x in paths if x is value), ())
        path = tree.keystr(where[1:]) if where else ""
        if where and where[0] == tree.SequenceKey(0):
            path = f"args{path}"
        raise TypeError(
            f"Cannot interpret value of type {type(value).__module__}.{type(value).__qualname__} "
            f"as an abstract array; it is not a valid JAX type. It is {path or 'an argument'} of "
            f"the jitted function {self._name}: {short_repr(value)}. Pass an array, or mark the "
            f"argument as static (static_argnums or static_argnames)."
        )

    def _check_refs(self, entry: Entry, leaves: Sequence[Any], arguments: "Arguments") -> None:
        names = functools.partial(argument_names, self._function, *arguments.positions())
        check_distinct(leaves, names, self._name, "jit")
        check_captured(entry.consts, leaves, names, self._name, "jit")

    # --- tracing ----------------------------------------------------------------------------------

    def _trace(self, key: Any, leaves: Sequence[Any], arguments: "Arguments") -> Entry:
        if config.current().explain_cache_misses:
            known = list(self._entries)
            compile_log.warn(compile_log.explain_miss(self._name, self._function, key, known))
        with compile_log.tracing(self._name):
            jaxpr, consts, out_tree = trace_to_jaxpr(self._function, arguments, self._name)
        entry = self._entries[key] = Entry(jaxpr, consts, out_tree, self._name)
        return entry

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """The function traced for arguments of these types (arrays or ShapeDtypeStructs)."""
        _, _, arguments = self._key(args, kwargs)
        jaxpr, consts, out_tree = trace_to_jaxpr(self._function, arguments, self._name)
        names = functools.partial(argument_names, self._function, *arguments.positions())
        donated = arguments.donated(self._donate_argnums, self._donate_argnames)
        signature = Signature(
            self._name, arguments.in_tree, out_tree, arguments.avals, donated, names
        )
        return Traced(signature, jaxpr, consts)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The function traced and made ready to compile for arguments of these types."""
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        return self.trace(*args, **kwargs).out_info

    def clear_cache(self) -> None:
        self._entries.clear()
        self._of_arrays.clear()
        if self._calls is not None:
            self._calls.clear()

    def _cache_size(self) -> int:
        return len(self._entries)

    def _donate(self, args: Any, kwargs: Any) -> None:
        """Donated arrays are deleted: using them afterwards is an error."""
        chosen = [args[n] for n in self._donate_argnums if -len(args) <= n < len(args)]
        chosen += [v for k, v in kwargs.items() if k in self._donate_argnames]
        for x in chosen if all(map(is_array, chosen)) else tree.leaves(chosen):
            if type(x) is Array:
                x.delete()


class Arguments:
    """The kind of a call: the tree of its arguments, static ones and the avals of the others."""

    __slots__ = ("in_tree", "static", "avals")

    def __init__(self, in_tree: Any, static: tuple[Any, ...], avals: tuple[ShapedArray, ...]):
        self.in_tree, self.static, self.avals = in_tree, static, avals

    def positions(self) -> tuple[Any, list[int]]:
        """The tree of the arguments, and the positions of static ones, which are not in it."""
        return self.in_tree, [n for n, _ in self.static[0]] if self.static else []

    def donated(self, numbers: Sequence[int], names: Iterable[str]) -> list[bool]:
        """Whether each of the arrays belongs to an argument of these numbers or names."""
        statics = self.positions()[1]
        args, kwargs = self.in_tree.unflatten(self.avals)
        count = len(args) + len(statics)
        chosen = {n % count for n in numbers if -count <= n < count}
        dynamic = [n for n in range(count) if n not in statics]
        flags = [n in chosen for n in dynamic for _ in tree.leaves(args[dynamic.index(n)])]
        return flags + [k in names for k in sorted(kwargs) for _ in tree.leaves(kwargs[k])]

    def restore(self, leaves: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments with the given leaves in place of arrays."""
        args, kwargs = self.in_tree.unflatten(leaves)
        args = list(args)
        if self.static:
            for n, value in self.static[0]:
                args.insert(n, value.value)
            kwargs = {**kwargs, **{k: value.value for k, value in self.static[1]}}
        return args, kwargs


class StaticValue:
    """A static argument as part of a cache key: equal values of one type only, -0.0 is not 0.0."""

    __slots__ = ("value", "_key")

    def __init__(self, value: Any, function: str, argument: int | str):
        self.value = value
        try:
            hash(value)
        except TypeError as e:
            raise ValueError(
                f"Non-hashable static arguments are not supported: argument {argument!r} of "
                f"{function} is {short_repr(value)} of type {type(value).__name__}, which is "
                f"unhashable. Pass a tuple or a frozen object, or do not mark it static."
            ) from e
        self._key = static_key(value)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticValue) and self._key == other._key


def static_key(value: Any) -> Any:
    """A key that tells values apart that compare equal but behave otherwise: 1, True, 1.0, -0.0."""
    if isinstance(value, float | complex):
        return (type(value), repr(value))
    if isinstance(value, tuple):
        return (type(value), tuple([static_key(v) for v in value]))
    return (type(value), value)


def trace_to_jaxpr(
    function: Callable[..., Any], arguments: Arguments, name: str
) -> tuple[ClosedJaxpr, list[Any], Any]:
    """The function's jaxpr with captured values as its first inputs, those values, and its tree."""
    trace = JaxprTrace(name)
    trace.argument_names = functools.partial(argument_names, function, *arguments.positions())
    try:
        jaxpr, consts, out_tree = _recorded(trace, function, arguments, name)
    finally:
        trace.alive = False
    leaks.check(trace, name)
    return ClosedJaxpr(jaxpr.with_constvars_as_inputs()), consts, out_tree


def _recorded(
    trace: JaxprTrace, function: Callable[..., Any], arguments: Arguments, name: str
) -> tuple[Jaxpr, list[Any], Any]:
    """What the function does as a jaxpr, what it captured, and the tree of its result."""
    with set_current(trace):
        args, kwargs = arguments.restore([trace.add_arg(a) for a in arguments.avals])
        out = function(*args, **kwargs)
        flat, out_tree = tree.flatten(out)
        for x in flat:
            if not is_array_like(x):
                raise_bad_output(name, x, out)
        return *trace.finish(flat), out_tree


def raise_bad_output(name: str, value: Any, out: Any) -> None:
    check_not_returned(out, name, "jit")
    paths, _ = tree.flatten_with_path(out)
    where = next((tree.keystr(p) for p, x in paths if x is value), "")
    raise TypeError(
        f"function {name} traced for jit returned a value of type {type(value).__module__}."
        f"{type(value).__qualname__} at output component {where or '()'}, which is not a valid JAX "
        f"type: {short_repr(value)}. Return arrays, numbers or containers of them."
    )


def is_array(x: Any) -> bool:
    return type(x) is Array


def short_repr(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _ints(value: Ints) -> tuple[int, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, int) else tuple(int(v) for v in value)


def _names(value: Names) -> tuple[str, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(value)


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        return []


def complete(
    function: Callable[..., Any], numbers: tuple[int, ...], names: tuple[str, ...]
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Argument numbers and names made to name the same parameters, whichever were given."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    params = [p for p in _parameters(function) if p.kind in positional]
    if numbers and not names:
        names = tuple(
            params[n].name for n in numbers
            if -len(params) <= n < len(params)
            and params[n].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        )  # fmt: skip
    elif names and not numbers:
        numbers = tuple(i for i, p in enumerate(params) if p.name in names)
    return numbers, names


def jit(
    fun: Callable[..., Any] | None = None,
    /,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: Ints = None,
    static_argnames: Names = None,
    donate_argnums: Ints = None,
    donate_argnames: Names = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    compiler_options: Any = None,
) -> Any:
    """`fun` compiled: traced once for each combination of argument types, then run as kernels.

    Args:
      fun: a function of arrays, or of containers of arrays, to the same. It is traced with abstract
        arrays, so side effects happen at tracing only.
      static_argnums: positions of arguments that are not arrays but part of the program; they must
        be hashable, and each new value traces again.
      static_argnames: names of such arguments.
      donate_argnums: positions of arguments whose memory may be reused; they are deleted.
      donate_argnames: names of such arguments.
      in_shardings: how arguments are divided between devices: a sharding, a PartitionSpec for the
        mesh of `jax.set_mesh`, None, or a tuple of trees of these. Arguments that are divided
        otherwise already raise ValueError.
      out_shardings: how the results are, in the same way.
      keep_unused: accepted for JAX's sake and not read, as are the rest.
      device: not read.
      backend: not read.
      inline: not read.
      compiler_options: not read.

    Raises TypeError if an argument or result is not an array, ValueError for unhashable statics.

    >>> import jacana.numpy as jnp
    >>> double = jit(lambda x: x * 2)
    >>> double(jnp.arange(3))
    Array([0, 2, 4], dtype=int32)
    """
    if fun is None:
        return functools.partial(
            jit, static_argnums=static_argnums, static_argnames=static_argnames,
            donate_argnums=donate_argnums, donate_argnames=donate_argnames,
            in_shardings=in_shardings, out_shardings=out_shardings,
        )  # fmt: skip
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r}. jit takes a function.")
    if inspect.isgeneratorfunction(fun):
        raise TypeError(f"Expected a function, got a generator function: {fun!r}.")
    statics = complete(fun, _ints(static_argnums), _names(static_argnames))
    donated = complete(fun, _ints(donate_argnums), _names(donate_argnames))
    check_jit_arguments(fun, statics, donated)
    shardings = None
    if not (in_shardings is None and out_shardings is None):
        shardings = JitShardings(in_shardings, out_shardings, statics[0])
    return Jitted(fun, *statics, *donated, shardings)
