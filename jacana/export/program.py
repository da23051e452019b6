"""Programs as bytes: a header in JSON, then the bytes of arrays. Reading runs no code.

Primitives and dtypes are written by name, params by what they are; calls become calls of plain
programs, so rules for derivatives are not kept. See docs/design/export.md.
"""

import enum
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana import lax, ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from jacana.core.primitive import Primitive, registry
from jacana.core.records import FIELDS, fields_of
from jacana.core.values import aval_of
from jacana.higher_order.call import jit_primitive
from jacana.lax import modes

MAGIC = b"jacana export\n"
VERSION = 1

# Classes of params that have a name in files.
CLASSES = {
    cls.__name__: cls
    for cls in (
        ops.ConvDimensionNumbers, ops.GatherDimensionNumbers, ops.GatherScatterMode,
        ops.ScatterDimensionNumbers, lax.FftType, lax.Precision, modes.RoundingMethod,
        modes.AccuracyMode,
    )
}  # fmt: skip
TYPES = {t.__name__: t for t in (bool, int, float, complex)}


def to_bytes(header: dict[str, Any], programs: dict[str, Jaxpr], consts: Sequence[Any]) -> bytes:
    """Named programs and arrays, with a header that JSON can hold, as bytes.

    Raises ValueError for what only this process knows: callbacks, and primitives of users.
    """
    writer = _Writer()
    if any(dtypes.is_key(aval_of(c).dtype) for c in consts):
        raise ValueError("Cannot serialize a program that captured random keys: pass them to it.")
    arrays = [writer.array(np.asarray(c)) for c in consts]
    names = {name: writer.jaxpr(j) for name, j in programs.items()}
    fields = {
        "version": VERSION, "header": header, "programs": names, "consts": arrays,
        "jaxprs": writer.jaxprs, "arrays": writer.types,
    }  # fmt: skip
    text = json.dumps(fields, separators=(",", ":")).encode()
    return MAGIC + len(text).to_bytes(8, "little") + text + b"".join(writer.data)


def from_bytes(data: bytes) -> tuple[dict[str, Any], dict[str, Jaxpr], list[Any]]:
    """What to_bytes was given; ValueError if that is not what the bytes are."""
    data = bytes(data)
    start = len(MAGIC) + 8
    if not data.startswith(MAGIC) or len(data) < start:
        raise ValueError("these bytes are not a program that jacana exported.")
    end = start + int.from_bytes(data[len(MAGIC) : start], "little")
    try:
        fields = json.loads(data[start:end])
    except ValueError as error:
        raise ValueError("the header of the exported program is damaged.") from error
    if fields["version"] > VERSION:
        raise ValueError(
            f"the program was exported in version {fields['version']} of the format; this jacana "
            f"reads versions up to {VERSION}. Use a newer jacana, or export it with an older one."
        )
    reader = _Reader(fields, data[end:])
    programs = {name: reader.jaxpr(number) for name, number in fields["programs"].items()}
    return fields["header"], programs, [reader.arrays[i] for i in fields["consts"]]


def aval_data(aval: ShapedArray) -> list[Any]:
    """A type as JSON can hold it."""
    return [list(aval.shape), dtypes.name(aval.dtype), aval.weak_type]


def aval_from(data: Sequence[Any]) -> ShapedArray:
    """The type that aval_data gave."""
    shape, name, weak = data
    return ShapedArray(tuple(shape), dtype_from(name), weak)


def dtype_from(name: str) -> Any:
    """The dtype of a name; ValueError if there is none."""
    if name.startswith("key<"):
        return dtypes.KeyDType(name[4:-1])
    return dtypes.float0 if name == "float0" else dtypes.dtype(name)


class _Writer:
    """Numbers jaxprs and arrays as they are met."""

    def __init__(self) -> None:
        self.jaxprs: list[Any] = []
        self.types: list[Any] = []
        self.data: list[bytes] = []
        self._numbers: dict[int, int] = {}

    def array(self, value: np.ndarray) -> int:
        value = np.ascontiguousarray(value).reshape(value.shape)
        self.types.append([list(value.shape), dtypes.name(dtypes.dtype(value.dtype))])
        self.data.append(value.tobytes())
        return len(self.types) - 1

    def jaxpr(self, jaxpr: Jaxpr) -> int:
        number = self._numbers.get(id(jaxpr))
        if number is None:
            data = self._jaxpr(jaxpr)
            number = self._numbers[id(jaxpr)] = len(self.jaxprs)
            self.jaxprs.append(data)
        return number

    def _jaxpr(self, jaxpr: Jaxpr) -> Any:
        numbers: dict[Var, int] = {}
        inputs = [*jaxpr.constvars, *jaxpr.invars]
        for v in inputs:
            numbers[v] = len(numbers)

        def atom(a: Atom) -> Any:
            return (
                ["literal", self.value(a.val), aval_data(a.aval)]
                if isinstance(a, Literal)
                else numbers[a]
            )

        eqns = []
        for eqn in jaxpr.eqns:
            operands = [atom(a) for a in eqn.invars]
            for v in eqn.outvars:
                numbers[v] = len(numbers)
            types = [aval_data(v.aval) for v in eqn.outvars]
            eqns.append([*self._operation(eqn), operands, types])
        return [[aval_data(v.aval) for v in inputs], eqns, [atom(a) for a in jaxpr.outvars]]

    def _operation(self, eqn: JaxprEqn) -> tuple[str, Any]:
        callee = eqn.primitive.callee(eqn.params)
        if callee is not None:
            return "call", {"program": self.jaxpr(callee), "name": callee.debug_name}
        name = eqn.primitive.name
        if registry.get(name) is not eqn.primitive:
            raise ValueError(
                f"Cannot serialize a program that uses {name}, a primitive of the user's: its "
                f"rules are Python. Write it with jax.numpy."
            )
        try:
            return name, {k: self.value(v) for k, v in eqn.params.items()}
        except TypeError as error:
            raise ValueError(f"Cannot serialize a program that uses {name}: {error}") from error

    def value(self, value: Any) -> Any:
        """A param, as JSON can hold it."""
        if value is None or isinstance(value, bool | str) or type(value) is int:
            return value
        if isinstance(value, enum.Enum):
            return ["enum", self._class(type(value)), value.name]
        if isinstance(value, float) and not isinstance(value, np.generic):
            return ["float", value.hex()]
        if isinstance(value, complex) and not isinstance(value, np.generic):
            return ["complex", value.real.hex(), value.imag.hex()]
        if isinstance(value, np.generic | np.ndarray):
            scalar = isinstance(value, np.generic)
            return ["scalar" if scalar else "array", self.array(np.asarray(value))]
        if isinstance(value, ClosedJaxpr | Jaxpr):
            return self._program(value)
        if isinstance(value, Primitive) and registry.get(value.name) is value:
            return ["primitive", value.name]
        if isinstance(value, ShapedArray):
            return ["aval", aval_data(value)]
        if isinstance(value, np.dtype | dtypes.KeyDType):
            return ["dtype", dtypes.name(value)]
        if isinstance(value, type) and value in TYPES.values():
            return ["type", value.__name__]
        if hasattr(type(value), FIELDS):
            fields = [self.value(getattr(value, k)) for k in fields_of(type(value))]
            return ["record", self._class(type(value)), fields]
        if isinstance(value, tuple) and type(value).__name__ in CLASSES:
            return ["named", self._class(type(value)), [self.value(v) for v in value]]
        if isinstance(value, tuple | list):
            return [type(value).__name__, [self.value(v) for v in value]]
        raise TypeError(f"{value!r} of type {type(value).__name__} is known to this process alone.")

    def _class(self, cls: type) -> str:
        if CLASSES.get(cls.__name__) is not cls:
            raise TypeError(f"{cls.__name__} has no name in files.")
        return cls.__name__

    def _program(self, value: ClosedJaxpr | Jaxpr) -> Any:
        if isinstance(value, Jaxpr):
            return ["jaxpr", self.jaxpr(value)]
        consts = [self.array(np.asarray(c)) for c in value.consts]
        return ["closed", self.jaxpr(value.jaxpr), len(consts), consts]


class _Reader:
    """Makes jaxprs and arrays of what a _Writer wrote."""

    def __init__(self, fields: dict[str, Any], data: bytes):
        self.arrays: list[np.ndarray] = []
        at = 0
        for shape, name in fields["arrays"]:
            dtype = np.dtype(dtype_from(name))
            size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
            if at + size > len(data):
                raise ValueError("the exported program is cut short.")
            flat = np.frombuffer(data[at : at + size], dtype)
            self.arrays.append(flat.reshape(shape))
            at += size
        self._data = fields["jaxprs"]
        self._made: dict[tuple[int, int], Jaxpr] = {}
        self._kinds: dict[str, Callable[..., Any]] = {
            "float": float.fromhex,
            "complex": lambda re, im: complex(float.fromhex(re), float.fromhex(im)),
            "scalar": lambda i: self.arrays[i][()],
            "array": lambda i: self.arrays[i],
            "jaxpr": self.jaxpr,
            "closed": lambda j, n, consts: ClosedJaxpr(
                self.jaxpr(j, n), [self.arrays[i] for i in consts]
            ),
            "aval": aval_from,
            "primitive": registry.__getitem__,
            "dtype": dtype_from,
            "type": TYPES.__getitem__,
            "enum": lambda cls, name: CLASSES[cls][name],  # type: ignore[index]
            "record": lambda cls, values: CLASSES[cls](*map(self.value, values)),
            "named": lambda cls, values: CLASSES[cls](*map(self.value, values)),
            "tuple": lambda values: tuple(map(self.value, values)),
            "list": lambda values: list(map(self.value, values)),
        }

    def value(self, data: Any) -> Any:
        """The param that _Writer.value wrote."""
        return self._kinds[data[0]](*data[1:]) if isinstance(data, list) else data

    def jaxpr(self, number: int, consts: int = 0) -> Jaxpr:
        """The jaxpr of a number, whose first inputs are constants."""
        made = self._made.get((number, consts))
        if made is None:
            made = self._made[number, consts] = self._jaxpr(self._data[number], consts)
        return made

    def _jaxpr(self, data: Any, consts: int) -> Jaxpr:
        types, operations, results = data
        variables = [Var(aval_from(t)) for t in types]
        inputs = list(variables)

        def atom(a: Any) -> Atom:
            return (
                variables[a] if isinstance(a, int) else Literal(self.value(a[1]), aval_from(a[2]))
            )

        eqns = []
        for name, params, operands, out_types in operations:
            invars = [atom(a) for a in operands]
            outvars = [Var(aval_from(t)) for t in out_types]
            variables += outvars
            eqns.append(self._equation(name, params, invars, outvars))
        outs = [atom(a) for a in results]
        return Jaxpr(inputs[:consts], inputs[consts:], outs, eqns)

    def _equation(self, name: str, params: Any, invars: list[Atom], outvars: list[Var]) -> JaxprEqn:
        if name == "call":
            callee = ClosedJaxpr(self.jaxpr(params["program"]))
            called = {"name": params["name"], "jaxpr": callee}
            return JaxprEqn(invars, outvars, jit_primitive, called)
        primitive = registry.get(name)
        if primitive is None:
            raise ValueError(
                f"the exported program uses {name!r}, which is no primitive of this jacana. Use a "
                f"newer one."
            )
        values = {k: self.value(v) for k, v in params.items()}
        return JaxprEqn(invars, outvars, primitive, values)
