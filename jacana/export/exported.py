"""Exported functions: programs that are kept, sent and called without the Python they came from."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jacana.api.custom import custom_vjp
from jacana.api.derivatives import vjp
from jacana.api.inspect import ShapeDtypeStruct
from jacana.api.jit import Jitted, jit
from jacana.core import tree
from jacana.core.avals import ShapedArray
from jacana.core.jaxpr import ClosedJaxpr
from jacana.core.show import show
from jacana.core.values import aval_of
from jacana.export.program import aval_data, aval_from, from_bytes, to_bytes
from jacana.export.structures import structure_data, structure_from
from jacana.higher_order.call import bind_jit
from jacana.runtime.array import to_array

# What the platforms are that a program may be meant for. It is the same for all of them.
PLATFORMS = ("cpu", "cuda", "rocm", "tpu")
CALLING_CONVENTION = 1


class DisabledSafetyCheck:
    """A check that `export` is asked to leave out; there is none to leave out here."""

    __slots__ = ("_what",)

    def __init__(self, what: str):
        self._what = what

    @classmethod
    def platform(cls) -> "DisabledSafetyCheck":
        """Allows calls on other platforms than the program was exported for."""
        return cls("platform")

    @classmethod
    def custom_call(cls, target_name: str) -> "DisabledSafetyCheck":
        """Allows a custom call that may change: programs have none."""
        return cls(f"custom_call:{target_name}")

    def is_platform(self) -> bool:
        """Whether the check is the one of platforms."""
        return self._what == "platform"

    def __repr__(self) -> str:
        return f"DisabledSafetyCheck({self._what})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DisabledSafetyCheck) and self._what == other._what

    def __hash__(self) -> int:
        return hash(self._what)


class Exported:
    """A function exported for arguments of certain types; `export` and `deserialize` make them.

    >>> import jacana.numpy as jnp
    >>> double = export(jit(lambda x: 2 * x))(jnp.arange(3))
    >>> deserialize(double.serialize()).call(jnp.arange(3))
    Array([0, 2, 4], dtype=int32)
    """

    nr_devices = 1
    calling_convention_version = CALLING_CONVENTION
    uses_global_constants = False

    def __init__(
        self,
        fun_name: str,
        jaxpr: ClosedJaxpr,
        in_tree: Any,
        out_tree: Any,
        platforms: tuple[str, ...],
        disabled_safety_checks: Sequence[DisabledSafetyCheck] = (),
        get_vjp: Callable[[], "Exported"] | None = None,
    ):
        self.fun_name, self.in_tree, self.out_tree = fun_name, in_tree, out_tree
        self.platforms = platforms
        self.disabled_safety_checks = tuple(disabled_safety_checks)
        self._jaxpr, self._get_vjp = jaxpr, get_vjp
        self._vjp: Exported | None = None
        self._call = custom_vjp(self._run)
        self._call.defvjp(lambda *leaves: (self._run(*leaves), leaves), self._pull)

    @property
    def in_avals(self) -> tuple[ShapedArray, ...]:
        """The types of the arrays among the arguments."""
        return tuple(self._jaxpr.in_avals)

    @property
    def out_avals(self) -> tuple[ShapedArray, ...]:
        """The types of the arrays of the result."""
        return tuple(self._jaxpr.out_avals)

    def __repr__(self) -> str:
        return f"Exported(fun_name={self.fun_name}, ...)"

    def as_text(self) -> str:
        """The program as a jaxpr."""
        return show(self._jaxpr)

    def mlir_module(self) -> str:
        """There is none."""
        raise NotImplementedError("exported programs are jaxprs, not MLIR: see as_text().")

    # --- calls ---

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result. It can be jitted, mapped over, and differentiated if there is vjp.

        Raises ValueError for arguments of other types or structure than it was exported for.
        """
        leaves, in_tree = tree.flatten((args, kwargs))
        if in_tree != self.in_tree:
            faults = [
                f"   - {('args', 'kwargs')[path[0].idx]}{tree.keystr(path[1:])}: {fault}"
                for path, fault in tree.differences(self.in_tree, (args, kwargs))
            ]
            raise ValueError(
                f"The invocation args and kwargs must have the same pytree structure as when the "
                f"function '{self.fun_name}' was exported, but they have the following structural "
                f"differences:\n" + "\n".join(faults)
            )
        self._check_platform()
        self._check_types(leaves)
        return self.out_tree.unflatten(self._call(*leaves))

    def _check_platform(self) -> None:
        if "cpu" not in self.platforms and not any(
            c.is_platform() for c in self.disabled_safety_checks
        ):
            raise ValueError(
                f"The function '{self.fun_name}' was exported for platforms {self.platforms} but "
                f"it is used on '('cpu',)'. Export it with platforms=('cpu', ...)."
            )

    def _check_types(self, leaves: Sequence[Any]) -> None:
        paths, _ = tree.flatten_with_path(self.in_tree.unflatten(range(len(leaves))))
        for x, wanted, (path, _) in zip(leaves, self.in_avals, paths, strict=True):
            found = aval_of(x)
            name = f"{('args', 'kwargs')[path[0].idx]}{tree.keystr(path[1:])}"
            if found.dtype != wanted.dtype:
                raise ValueError(
                    f"Dtype mismatch for {name}: {self.fun_name} was exported for "
                    f"{wanted.str_short()} and is called with {found.str_short()}."
                )
            if found.shape != wanted.shape:
                raise ValueError(
                    f"Shape mismatch for {name}: {self.fun_name} was exported for "
                    f"{wanted.str_short()} and is called with {found.str_short()}."
                )

    def _run(self, *leaves: Any) -> list[Any]:
        return bind_jit(self._jaxpr, self.fun_name, leaves)

    # --- derivatives ---

    def has_vjp(self) -> bool:
        """Whether the function can be differentiated."""
        return self._get_vjp is not None

    def vjp(self) -> "Exported":
        """The exported function of (*arrays, *cotangents of results) to cotangents of the arrays.

        Cotangents of integers are None. Raises ValueError where none was kept.
        """
        if self._vjp is None:
            if self._get_vjp is None:
                raise ValueError(
                    f"No VJP is available for {self.fun_name}: serialize it with vjp_order=1, or "
                    f"more, to keep its derivatives."
                )
            self._vjp = self._get_vjp()
        return self._vjp

    def _pull(self, leaves: Sequence[Any], cts: Sequence[Any]) -> tuple[Any, ...]:
        given = [ct for ct, a in zip(cts, self.out_avals, strict=True) if a.is_differentiable]
        return tuple(self.vjp().call(*leaves, *given))

    # --- bytes ---

    def serialize(self, vjp_order: int = 0) -> bytearray:
        """The function as bytes, with its derivatives up to an order, for `deserialize`.

        Raises ValueError where the program has what only this process knows, such as callbacks.
        """
        if vjp_order < 0:
            raise ValueError(f"vjp_order must be nonnegative, got {vjp_order}.")
        levels: list[Exported] = [self]
        for _ in range(vjp_order):
            levels.append(levels[-1].vjp())
        header = {"functions": [each._header() for each in levels]}
        consts = [c for each in levels for c in each._jaxpr.consts]
        programs = {
            str(i): each._jaxpr.jaxpr.with_constvars_as_inputs() for i, each in enumerate(levels)
        }
        return bytearray(to_bytes(header, programs, consts))

    def _header(self) -> dict[str, Any]:
        return {
            "name": self.fun_name,
            "in_tree": structure_data(self.in_tree),
            "out_tree": structure_data(self.out_tree),
            "in_avals": [aval_data(a) for a in self.in_avals],
            "out_avals": [aval_data(a) for a in self.out_avals],
            "platforms": list(self.platforms),
            "disabled": [c._what for c in self.disabled_safety_checks],
            "consts": len(self._jaxpr.consts),
        }


def deserialize(blob: bytes | bytearray) -> Exported:
    """The function that Exported.serialize gave the bytes of; ValueError for other bytes."""
    header, programs, consts = from_bytes(bytes(blob))
    made: Exported | None = None
    arrays = [to_array(c) for c in consts]
    for i, fields in reversed(list(enumerate(header["functions"]))):
        n = fields["consts"]
        own, arrays = arrays[len(arrays) - n :], arrays[: len(arrays) - n]
        jaxpr = ClosedJaxpr(programs[str(i)]).with_consts(own)
        expected = [aval_from(a) for a in fields["in_avals"]]
        if jaxpr.in_avals != expected:
            raise ValueError("the types of the exported program do not fit its header.")
        made = Exported(
            fields["name"], jaxpr, structure_from(fields["in_tree"]),
            structure_from(fields["out_tree"]), tuple(fields["platforms"]),
            [DisabledSafetyCheck(what) for what in fields["disabled"]],
            None if made is None else functools.partial(_given, made),
        )  # fmt: skip
    if made is None:
        raise ValueError("the exported program has no function.")
    return made


def _given(exported: Exported) -> Exported:
    return exported


def export(
    fun_jit: Any,
    *,
    platforms: Sequence[str] | None = None,
    disabled_checks: Sequence[DisabledSafetyCheck] = (),
    _override_lowering_rules: Any = None,
) -> Callable[..., Exported]:
    """A function of arguments that gives `fun_jit` exported for arguments of their types.

    Args:
      fun_jit: a function that `jit` made.
      platforms: what it is meant for; the program is the same for all. None: ("cpu",).
      disabled_checks: checks to leave out when it is called.

    The arguments may be arrays or ShapeDtypeStructs; static ones become part of the program.
    """
    if _override_lowering_rules is not None:
        raise NotImplementedError("lowerings are not part of exported programs: see p.def_lowering")
    if not isinstance(fun_jit, Jitted):
        raise ValueError(f"Function to be exported must be the result of `jit` but is: {fun_jit}")
    chosen = ("cpu",) if platforms is None else tuple(platforms)
    unknown = [p for p in chosen if p not in PLATFORMS]
    if unknown or not chosen:
        raise ValueError(f"platforms to export for are among {PLATFORMS}, got {platforms}.")

    def exported(*args: Any, **kwargs: Any) -> Exported:
        traced = fun_jit.trace(*args, **kwargs)
        jaxpr = traced.jaxpr
        return Exported(
            traced.fun_name, jaxpr, traced.in_tree, traced.out_tree, chosen, disabled_checks,
            functools.partial(_exported_vjp, jaxpr, traced.fun_name, chosen, disabled_checks),
        )  # fmt: skip

    return exported


def _exported_vjp(
    jaxpr: ClosedJaxpr,
    name: str,
    platforms: Sequence[str],
    disabled_checks: Sequence[DisabledSafetyCheck],
) -> Exported:
    """The vjp of a program, of its arrays and the cotangents of its differentiable results."""
    n = len(jaxpr.in_avals)
    is_input = [a.is_differentiable for a in jaxpr.in_avals]
    is_output = [a.is_differentiable for a in jaxpr.out_avals]

    def pull(*leaves: Any) -> tuple[Any, ...]:
        primals, cts = leaves[:n], leaves[n:]
        chosen = [x for x, d in zip(primals, is_input, strict=True) if d]

        def differentiable(*xs: Any) -> list[Any]:
            rest = iter(xs)
            given = [next(rest) if d else x for x, d in zip(primals, is_input, strict=True)]
            outs = bind_jit(jaxpr, name, given)
            return [o for o, d in zip(outs, is_output, strict=True) if d]

        found = iter(vjp(differentiable, *chosen)[1](list(cts)))
        return tuple(next(found) if d else None for d in is_input)

    pull.__name__ = f"vjp_{name}"
    cts = [a.to_tangent_aval() for a, d in zip(jaxpr.out_avals, is_output, strict=True) if d]
    exporter = export(jit(pull), platforms=platforms, disabled_checks=disabled_checks)
    types = [
        ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in (*jaxpr.in_avals, *cts)
    ]
    return exporter(*types)
