"""Taylor mode: a trace whose values are power series in one variable, up to some order.

Sums and linear maps act on each coefficient, products convolve them. All else follows from jvp:
y(s) = f(x(s)) has the derivative y' = jvp(x, x'), so coefficient k of y is coefficient k - 1 of y'
over k, which coefficients of y below k decide. Rules see series that are computed on demand, and
equal operations are one series, so sin and cos call for each other and nothing is computed twice.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jacana import ops
from jacana.core.avals import ShapedArray
from jacana.core.evaluate import evaluate
from jacana.core.jaxpr import operation_key
from jacana.core.primitive import Inapplicable, Primitive
from jacana.core.trace import Trace, Tracer, current, swap_current
from jacana.core.values import aval_of
from jacana.ops.families import Bilinear, LinearMap, like, not_differentiable
from jacana.ops.shape import zeros
from jacana.transforms.jvp import has_tangents

# Operations that are linear in all their differentiable operands together.
JOINTLY_LINEAR: frozenset[Primitive] = frozenset((
    ops.add, ops.add_any, ops.sub, ops.neg, ops.concatenate, ops.pad, ops.select_n,
    ops.convert_element_type, ops.dynamic_update_slice,
))  # fmt: skip


class Series:
    """Coefficients of the powers of a variable, computed when asked for; None is zero."""

    __slots__ = ("_trace", "_known", "_next")

    def __init__(self, trace: "JetTrace", first: Any, following: Callable[[int], Any]):
        self._trace, self._known, self._next = trace, [first], following

    def at(self, k: int) -> Any:
        """Coefficient k, after all before it; that of power zero is always an array."""
        while len(self._known) <= k:
            previous = swap_current(self._trace.parent)
            try:
                found = self._next(len(self._known))
            finally:
                swap_current(previous)
            self._known.append(found)
        return self._known[k]


class JetTracer(Tracer):
    """A value that is a power series."""

    __slots__ = ("series",)

    def __init__(self, trace: "JetTrace", series: Series):
        self._trace, self.series, self.aval = trace, series, aval_of(series.at(0))

    def concrete(self) -> Any:
        value = self.series.at(0)
        return value.concrete() if isinstance(value, Tracer) else value


class JetTrace(Trace):
    """Computes with power series up to `order`; coefficients are computed by the parent trace."""

    __slots__ = ("parent", "order", "_in_rule", "_made", "_derivatives")

    def __init__(self, parent: Trace, order: int):
        super().__init__()
        self.parent, self.order = parent, order
        self._in_rule = False
        # Series by what they are computed from, which is held so that no id is used again.
        self._made: dict[Any, tuple[Any, Any]] = {}
        self._derivatives: dict[int, tuple[Series, Series]] = {}

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        values = [self.series_of(x) for x in args]
        if not any(isinstance(v, Series) for v in values):
            return self.parent.process(primitive, args, params)
        if primitive.is_plain_call:
            callee = primitive.callee(params)
            assert callee is not None
            return evaluate(callee, (), args)
        key = (primitive, tuple(map(id, values)), operation_key(params))
        if key not in self._made:
            self._made[key] = (self._results(primitive, values, params), values)
        results = self._made[key][0]
        if not self._in_rule:
            # So that the depth of calls for coefficients does not grow with the program.
            for r in results:
                if isinstance(r, Series):
                    r.at(self.order)
        outs = [JetTracer(self, r) if isinstance(r, Series) else r for r in results]
        return outs if primitive.multiple_results else outs[0]

    def series_of(self, x: Any) -> Any:
        """The series behind a tracer of this trace; other values are constants."""
        return x.series if type(x) is JetTracer and x._trace is self else x

    def _results(
        self, primitive: Primitive, values: list[Any], params: dict[str, Any]
    ) -> list[Any]:
        """For each output its series, or its value if that does not change."""
        previous = swap_current(self.parent)
        try:
            out = primitive(*[first_of(v) for v in values], **params)
        finally:
            swap_current(previous)
        outs = out if primitive.multiple_results else [out]
        if primitive in JOINTLY_LINEAR:
            if not has_tangents(out):
                return [out]
            return [Series(self, out, lambda k: summed(primitive, values, params, k))]
        is_series = [isinstance(v, Series) for v in values]
        if isinstance(primitive, LinearMap) and is_series == [True, *[False] * (len(values) - 1)]:
            return [Series(self, out, lambda k: mapped(primitive, values, params, k))]
        if primitive is ops.mul or isinstance(primitive, Bilinear):
            return [Series(self, out, lambda k: convolved(primitive, values, params, k))]
        if primitive is ops.div:
            return [divided(self, values, out)]
        return self._by_derivative(primitive, values, params, outs)

    def _by_derivative(
        self, primitive: Primitive, values: list[Any], params: dict[str, Any], outs: Sequence[Any]
    ) -> list[Any]:
        if type(primitive).jvp is not_differentiable or not any(has_tangents(o) for o in outs):
            return list(outs)
        made: list[Any] = []
        slopes: list[Any] = []

        def coefficient(i: int) -> Callable[[int], Any]:
            def at(k: int) -> Any:
                if not slopes:
                    slopes.extend(self._slopes(primitive, values, params, made))
                slope = slopes[i]
                if isinstance(slope, Series):
                    slope = slope.at(k - 1)
                elif k > 1:
                    slope = None
                return None if slope is None else ops.div(slope, like(k, slope))

            return at

        made += [
            Series(self, o, coefficient(i)) if has_tangents(o) else o for i, o in enumerate(outs)
        ]
        return made

    def _slopes(
        self, primitive: Primitive, values: Sequence[Any], params: dict[str, Any],
        outs: Sequence[Any],
    ) -> list[Any]:  # fmt: skip
        """The derivatives of the outputs: series, constants, or None where zero."""
        primals = [JetTracer(self, v) if isinstance(v, Series) else v for v in values]
        tangents = [
            JetTracer(self, self._derivative(v)) if isinstance(v, Series) else None for v in values
        ]
        results = [JetTracer(self, o) if isinstance(o, Series) else o for o in outs]
        was_in_rule, self._in_rule = self._in_rule, True
        previous = swap_current(self)
        try:
            if primitive.jvp_rule is not None:
                found = primitive.jvp_rule(primals, tangents, params)[1]
            else:
                found = by_operand(primitive, primals, tangents, results, params)
        finally:
            swap_current(previous)
            self._in_rule = was_in_rule
        if not primitive.multiple_results and not isinstance(found, list):
            found = [found]
        return [self.series_of(t) for t in found]

    def _derivative(self, x: Series) -> Series:
        """The series of the derivative."""
        if id(x) not in self._derivatives:

            def at(k: int) -> Any:
                c = x.at(k + 1)
                return None if c is None else ops.mul(c, like(k + 1, c))

            first = x.at(1)
            if first is None:
                zero = aval_of(x.at(0)).to_tangent_aval()
                first = zeros(zero.shape, zero.dtype)
            self._derivatives[id(x)] = (Series(self, first, at), x)
        return self._derivatives[id(x)][0]


def first_of(value: Any) -> Any:
    return value.at(0) if isinstance(value, Series) else value


def by_operand(
    primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], outs: Sequence[Any],
    params: dict[str, Any],
) -> list[Any]:  # fmt: skip
    """Tangents of outputs that are known, by the rules of the operands."""
    rule = type(primitive).jvp
    if isinstance(rule, Inapplicable):
        raise NotImplementedError(f"jet of '{primitive.name}' is not there: {rule.reason}.")
    out = list(outs) if primitive.multiple_results else outs[0]
    total: list[Any] = [None] * len(outs)
    for i, t in enumerate(tangents):
        if t is not None:
            parts = primitive.jvp(i, t, out, *primals, **params)
            parts = parts if primitive.multiple_results else [parts]
            total = [a if b is None else b if a is None else ops.add_any(a, b)
                     for a, b in zip(total, parts, strict=True)]  # fmt: skip
    return total


# --- coefficients ---------------------------------------------------------------------------------


def summed(primitive: Primitive, values: Sequence[Any], params: dict[str, Any], k: int) -> Any:
    """A linear operation on the coefficients of all operands."""
    found = [v.at(k) if isinstance(v, Series) else None for v in values]
    if all(c is None for c in found):
        return None
    given = []
    for v, c in zip(values, found, strict=True):
        first = first_of(v)
        if c is None and has_tangents(first):
            c = zeros(aval_of(first).shape, aval_of(first).dtype)
        given.append(first if c is None else c)
    return primitive(*given, **params)


def mapped(primitive: Primitive, values: Sequence[Any], params: dict[str, Any], k: int) -> Any:
    c = values[0].at(k)
    return None if c is None else primitive(c, *values[1:], **params)


def products(a: Any, b: Any, k: int) -> Iterator[tuple[Any, Any]]:
    """The pairs of nonzero coefficients whose products make coefficient k."""
    for j in range(k + 1):
        x = a.at(j) if isinstance(a, Series) else a if j == 0 else None
        y = b.at(k - j) if isinstance(b, Series) else b if j == k else None
        if x is not None and y is not None:
            yield x, y


def convolved(primitive: Primitive, values: Sequence[Any], params: dict[str, Any], k: int) -> Any:
    total = None
    for x, y in products(values[0], values[1], k):
        part = primitive(x, y, **params)
        total = part if total is None else ops.add_any(total, part)
    return total


def divided(trace: JetTrace, values: Sequence[Any], first: Any) -> Series:
    """The quotient q of a and b, by a = q b."""
    a, b = values

    def at(k: int) -> Any:
        total = a.at(k) if isinstance(a, Series) else None
        if isinstance(b, Series):
            for j in range(1, k + 1):
                x, y = quotient.at(k - j), b.at(j)
                if x is not None and y is not None:
                    part = ops.mul(x, y)
                    total = ops.neg(part) if total is None else ops.sub(total, part)
        return None if total is None else ops.div(total, first_of(b))

    quotient = Series(trace, first, at)
    return quotient


# --- functions ------------------------------------------------------------------------------------


def jet(
    function: Callable[..., Sequence[Any]], primals: Sequence[Any], series: Sequence[Sequence[Any]]
) -> tuple[list[Any], list[list[Any]]]:
    """Outputs of a flat function and their coefficients of powers from one on, for those given."""
    order = len(series[0]) if series else 0
    trace = JetTrace(current(), order)

    def given(p: Any, terms: Sequence[Any]) -> JetTracer:
        return JetTracer(trace, Series(trace, p, lambda k: terms[k - 1] if k <= order else None))

    args = [given(p, terms) for p, terms in zip(primals, series, strict=True)]
    previous = swap_current(trace)
    try:
        outs = function(*args)
    finally:
        swap_current(previous)
    found = [trace.series_of(o) for o in outs]
    firsts = [first_of(o) for o in found]
    rest = [[_term(o, k) for k in range(1, order + 1)] for o in found]
    trace.alive = False
    return firsts, rest


def _term(value: Any, k: int) -> Any:
    c = value.at(k) if isinstance(value, Series) else None
    if c is not None:
        return c
    aval: ShapedArray = aval_of(first_of(value))
    return zeros(aval.shape, aval.dtype)
