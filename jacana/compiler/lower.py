"""Lower: from a jaxpr's equations to tensors and commands, by calling each primitive's rule."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana.compiler.commands import Call, ControlCall, HostCall, LibraryCall, Loops
from jacana.compiler.effects import TOKEN, giving_token, passing_token
from jacana.compiler.tensors import Context, Fold, Tensor, constant, element_type
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from jacana.core.stage import stage_closed
from jacana.kernel.build import Writer
from jacana.kernel.expr import Expr, Number
from jacana.kernel.math.complex import Complex
from jacana.ops.lowering import Output, Value

Spec = tuple[Sequence[int], Any]

# Scalars that occur in code so often that making them parameters would only hide what they do.
COMMON_SCALARS = frozenset((0, 1, 2, -1, 0.5, -0.5, -2))


class Builder:
    """Makes the tensors and commands of one program; what `lower` rules see (ops/lowering.py)."""

    def __init__(self) -> None:
        self.context = Context()
        self.commands: list[Call] = []
        # The token of the last command with effects; none if there was no such command.
        self.tokens: list[Tensor] = []
        self._cost = 1.0

    # --- scalars of the kernel that is being written ----------------------------------------------

    @property
    def graph(self) -> Any:
        assert self.context.kernel is not None, "scalars are made while a kernel is written"
        return self.context.kernel.graph

    def const(self, value: Number | complex, dtype: Any) -> Value:
        return constant(self.graph, value, dtype)

    def scalar(self, value: Number | complex, dtype: Any) -> Value:
        if isinstance(value, complex) or dtypes.is_complex(dtype):
            value, type_ = complex(value), element_type(dtype)
            return Complex(
                self.graph.scalar(value.real, type_), self.graph.scalar(value.imag, type_)
            )
        if value in COMMON_SCALARS or isinstance(value, bool):
            return self.const(value, dtype)
        return self.graph.scalar(value, element_type(dtype))  # type: ignore[no-any-return]

    def index(self, value: int) -> Expr:
        return self.graph.index(value)  # type: ignore[no-any-return]

    def select(self, cond: Expr, a: Value, b: Value) -> Value:
        if isinstance(a, Complex) or isinstance(b, Complex):
            assert isinstance(a, Complex) and isinstance(b, Complex)
            graph = self.graph
            return Complex(graph.select(cond, a.re, b.re), graph.select(cond, a.im, b.im))
        return self.graph.select(cond, a, b)  # type: ignore[no-any-return]

    def convert(self, value: Value, dtype: Any) -> Value:
        type_ = element_type(dtype)
        if dtypes.is_complex(dtype):
            if isinstance(value, Complex):
                return Complex(value.re.convert(type_), value.im.convert(type_))
            re = value.convert(type_)
            return Complex(re, re.const(0))
        if isinstance(value, Complex):
            if type_ == "bool":
                return value.re.ne(0) | value.im.ne(0)
            value = value.re
        return value.convert(type_)

    # --- tensors ----------------------------------------------------------------------------------

    def compute(
        self,
        shape: Sequence[int],
        dtype: Any,
        element: Callable[..., Value],
        reads: Sequence[Tensor] = (),
        cost: float | None = None,
    ) -> Tensor:
        cost = self._cost + 2 if cost is None else cost
        return Tensor(self.context, shape, dtype, "compute", reads, element, cost)

    def elementwise(
        self, f: Callable[..., Value], operands: Sequence[Tensor], dtype: Any
    ) -> Tensor:
        shape: tuple[int, ...] = ()
        for x in operands:
            shape = x.shape or shape

        def element(*index: Expr) -> Value:
            return f(*[x[index if x.shape else ()] for x in operands])

        return Tensor(self.context, shape, dtype, "map", operands, element, self._cost)

    def view(self, x: Tensor, shape: Sequence[int], index: Callable[..., Sequence[Any]]) -> Tensor:
        made = Tensor(
            self.context, shape, x.dtype, "view", (x,), lambda *i: x[tuple(index(*i))], 0.0
        )
        made.axes = dependencies(made, index)
        return made

    def reduce(
        self,
        operands: Sequence[Tensor],
        axes: Sequence[int],
        combine: Callable[[Sequence[Value], Sequence[Value]], Sequence[Value]],
        init: Sequence[Any],
    ) -> list[Tensor]:
        fold = Fold(operands, axes, combine, init)
        shape = [operands[0].shape[i] for i in fold.kept]
        results = []
        for position, x in enumerate(operands):
            cost = fold.extent * self._cost
            made = Tensor(self.context, shape, x.dtype, "reduce", operands, None, cost)
            made.fold, made.position = fold, position
            read = sum(min(r.total_cost, 1e12) + 1 for r in operands)
            made.total_cost = min(cost + fold.extent * read, 1e15)
            results.append(made)
        return results

    # --- commands ---------------------------------------------------------------------------------

    def loops(
        self,
        outputs: Sequence[Spec],
        inputs: Sequence[Tensor],
        body: Callable[[Writer, Sequence[Output], Sequence[Tensor]], None],
        start: dict[int, Tensor] | None = None,
        work: float | None = None,
    ) -> list[Tensor]:
        stored = [x for x in inputs if not is_literal(x)]
        if len(stored) < len(inputs):
            body = given_literals(body, inputs)
        return self._command(Loops(stored, self._results(outputs), body, start or {}, work))

    def library(
        self,
        name: str,
        outputs: Sequence[Spec],
        inputs: Sequence[Tensor],
        params: Sequence[int] = (),
        dtype: Any = None,
    ) -> list[Tensor]:
        dtype = dtype if dtype is not None else inputs[0].dtype
        call = LibraryCall(inputs, self._results(outputs), name, tuple(params), str(dtype))
        return self._command(call)

    def host(
        self,
        function: Callable[..., Sequence[Any]],
        outputs: Sequence[Spec],
        inputs: Sequence[Tensor],
        effects: bool = False,
    ) -> list[Tensor]:
        if not effects:
            return self._command(HostCall(inputs, self._results(outputs), function))
        given = [*inputs, *self.tokens]
        made = self._results([*outputs, (TOKEN.shape, TOKEN.dtype)])
        return self._ordered(HostCall(given, made, giving_token(function, len(inputs))))

    def branch(
        self,
        index: Tensor,
        branches: Sequence[ClosedJaxpr],
        operands: Sequence[Tensor],
        outputs: Sequence[Spec],
    ) -> list[Tensor]:
        """The outputs of the branch whose number is the int32 `index`."""
        programs = tuple(b.jaxpr for b in branches)
        if any(p.effects for p in programs):
            programs = tuple(passing_token(p, len(operands), len(outputs)) for p in programs)
            given = [index, *operands, self._token()]
            made = self._results([*outputs, (TOKEN.shape, TOKEN.dtype)])
            return self._ordered(ControlCall(given, made, "branch", programs, {}))
        return self._command(
            ControlCall([index, *operands], self._results(outputs), "branch", programs, {})
        )

    def while_loop(
        self, cond: ClosedJaxpr, body: ClosedJaxpr, consts: Sequence[Tensor], init: Sequence[Tensor]
    ) -> list[Tensor]:
        """The carry for which cond(*consts, *carry) is false; carry = body(*consts, *carry)."""
        programs = (cond.jaxpr, body.jaxpr)
        effects = bool(programs[0].effects or programs[1].effects)
        if effects:
            programs = (
                passing_token(programs[0], len(programs[0].invars), None),
                passing_token(programs[1], len(programs[1].invars), len(init)),
            )
            init = [*init, self._token()]
        outputs = self._results([(x.shape, x.dtype) for x in init])
        call = ControlCall(consts, outputs, "while", programs, dict(enumerate(init)))
        return self._ordered(call) if effects else self._command(call)

    def scan(
        self,
        body: ClosedJaxpr,
        consts: Sequence[Tensor],
        init: Sequence[Tensor],
        xs: Sequence[Tensor],
        length: int,
        reverse: bool,
    ) -> list[Tensor]:
        """The last carry and stacked results of (carry, y) = body(*consts, *carry, *x)."""
        results, program, n = body.out_avals[len(init) :], body.jaxpr, len(init)
        if program.effects:
            program = passing_token(program, len(consts) + n, n)
            init = [*init, self._token()]
        specs: list[Spec] = [(x.shape, x.dtype) for x in init]
        specs += [((length, *a.shape), a.dtype) for a in results]
        start = dict(enumerate(init))
        call = ControlCall(
            [*consts, *xs], self._results(specs), "scan", (program,), start, len(xs), length,
            reverse,
        )  # fmt: skip
        return self._ordered(call, n) if program.effects else self._command(call)

    def _results(self, outputs: Sequence[Spec]) -> list[Tensor]:
        return [Tensor(self.context, shape, dtype, "stored") for shape, dtype in outputs]

    def _token(self) -> Tensor:
        """What the next command with effects waits for."""
        return self.tokens[0] if self.tokens else self.literal(0, TOKEN)

    def _ordered(self, command: Call, place: int = -1) -> list[Tensor]:
        """The outputs of a command with effects, but for the token among them."""
        outputs = self._command(command)
        self.tokens = [outputs.pop(place)]
        return outputs

    def _command(self, command: Call) -> list[Tensor]:
        self.commands.append(command)
        return list(command.outputs)

    # --- programs ---------------------------------------------------------------------------------

    def compose(self, function: Callable[..., Any], *operands: Tensor) -> Any:
        single = False

        def flat(*args: Any) -> list[Any]:
            nonlocal single
            out = function(*args)
            single = not isinstance(out, tuple | list)
            return [out] if single else list(out)

        avals = [ShapedArray(x.shape, x.dtype) for x in operands]
        outs = self.call(stage_closed(flat, avals), operands)
        return outs[0] if single else outs

    def call(self, jaxpr: ClosedJaxpr, operands: Sequence[Tensor]) -> list[Tensor]:
        consts = [self.captured(c) for c in jaxpr.consts]
        return self.lower_jaxpr(jaxpr.jaxpr, consts, operands)

    def captured(self, value: Any) -> Tensor:
        """An array that a lowering captured: handed over when the program runs."""
        array = np.asarray(value)
        return self.host(lambda: [array], [(array.shape, array.dtype)], [])[0]

    def literal(self, value: Any, aval: ShapedArray) -> Tensor:
        number = value.item() if hasattr(value, "item") else value
        if not isinstance(number, bool | int | float | complex):
            number = float(value)
        return Tensor(
            self.context, (), aval.dtype, "map", (), lambda: self.scalar(number, aval.dtype), 0.0
        )

    def lower_jaxpr(
        self, jaxpr: Jaxpr, consts: Sequence[Tensor], args: Sequence[Tensor]
    ) -> list[Tensor]:
        values: dict[Var, Tensor] = dict(zip(jaxpr.constvars, consts, strict=True))
        values.update(zip(jaxpr.invars, args, strict=True))

        def read(a: Atom) -> Tensor:
            return self.literal(a.val, a.aval) if isinstance(a, Literal) else values[a]

        for eqn in jaxpr.eqns:
            outs = self._lower_equation(eqn, [read(a) for a in eqn.invars])
            values.update(zip(eqn.outvars, outs, strict=True))
        return [read(a) for a in jaxpr.outvars]

    def _lower_equation(self, eqn: JaxprEqn, operands: list[Tensor]) -> list[Tensor]:
        self._cost = eqn.primitive.cost
        out = eqn.primitive.lower(self, *operands, **eqn.params)
        outs = out if eqn.primitive.multiple_results else [out]
        for tensor, var in zip(outs, eqn.outvars, strict=True):
            if tensor.shape != var.aval.shape or tensor.dtype != var.aval.dtype:
                raise AssertionError(
                    f"{eqn.primitive.name} was lowered to {tensor.dtype}{tensor.shape}, its type "
                    f"is {var.aval}"
                )
        return list(outs)


def is_literal(x: Tensor) -> bool:
    """Whether nothing stored is needed to know an element, and it costs nothing."""
    return x.kind != "stored" and x.total_cost <= 0 and all(map(is_literal, x.reads))


def given_literals(body: Callable[..., None], inputs: Sequence[Tensor]) -> Callable[..., None]:
    """The body of an imperative kernel as a function of those inputs that are stored."""

    def of_stored(writer: Writer, outs: Sequence[Output], ins: Sequence[Tensor]) -> None:
        rest = iter(ins)
        body(writer, outs, [x if is_literal(x) else next(rest) for x in inputs])

    return of_stored


def dependencies(view: Tensor, index: Callable[..., Sequence[Any]]) -> tuple[int, ...]:
    """For each axis of a view's operand, the bit set of the view's axes that decide its index."""
    from_graph = view.context.scratch()
    variables = [from_graph.graph.variable("index") for _ in view.shape]
    bit_of = {v.data: 1 << axis for axis, v in enumerate(variables)}
    previous, view.context.kernel = view.context.kernel, from_graph
    try:
        exprs = index(*variables)
    finally:
        view.context.kernel = previous
    masks = []
    for e in exprs:
        mask, free = 0, e.free if isinstance(e, Expr) else 0
        for bit, axis in bit_of.items():
            if free & bit:
                mask |= axis
        masks.append(mask)
    return tuple(masks)
