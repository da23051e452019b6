"""Sweeps: what the expressions of a nest say about the best way over its domain.

Where elements are chosen by position (concatenate, pad, roll), the last axis is cut into segments
in which the choice is known. Where an operand is read across its rows, the domain is gone over in
tiles that stay in cache.
"""

from jacana.kernel.expr import Expr, Graph

# More segments than this make more code than they save time.
MAX_BREAKS = 4
# Shorter axes are not cut.
CUT_LENGTH = 64
# The sides of a tile: its rows, in either direction, fit into the first cache.
TILE = 64
# Elements from which a transposed read is worth tiles.
TILED_SIZE = 1 << 14


def breaks(graph: Graph, variable: Expr, extent: int) -> list[int]:
    """Positions along an axis where a comparison of its index changes, if they are few."""
    found: set[int] = set()
    for e in list(graph.table.values()):
        if e.op in ("div", "rem") and e.args[0] is variable and e.args[1].op == "const":
            n = int(e.args[1].data)
            if n > 0 and extent // n <= MAX_BREAKS + 1:
                found.update(range(n, extent, n))
        if e.op not in ("lt", "le", "gt", "ge") or e.args[0].type != "index":
            continue
        shift = offset(e.args[0], variable)
        limit = e.args[1]
        if shift is None or limit.op != "const":
            continue
        # variable + shift < limit changes at limit - shift, <= one later.
        found.add(int(limit.data) - shift + (e.op in ("le", "gt")))
    inside = sorted(b for b in found if 0 < b < extent)
    return inside if len(inside) <= MAX_BREAKS and extent >= CUT_LENGTH else []


def offset(e: Expr, variable: Expr) -> int | None:
    """c for `variable + c`, which may be added in several steps."""
    found = 0
    while e is not variable:
        if e.op not in ("add", "sub") or e.args[1].op != "const":
            return None
        found += int(e.args[1].data) if e.op == "add" else -int(e.args[1].data)
        e = e.args[0]
    return found


def transposed_axis(graph: Graph, variables: list[Expr]) -> int | None:
    """The axis whose neighbours an operand holds side by side, if it is not the last one."""
    last = variables[-1]
    for e in list(graph.table.values()):
        if e.op != "load" or not e.free & last.data or stride(e.args[0], last) in (0, 1, None):
            continue
        for axis, v in enumerate(variables[:-1]):
            if e.free & v.data and stride(e.args[0], v) == 1:
                return axis
    return None


def stride(e: Expr, variable: Expr) -> int | None:
    """By how much an index grows with the variable, if that is the same everywhere."""
    if e is variable:
        return 1
    if not e.free & variable.data:
        return 0
    if e.op in ("add", "sub"):
        a, b = stride(e.args[0], variable), stride(e.args[1], variable)
        return None if a is None or b is None else a + b if e.op == "add" else a - b
    if e.op == "mul" and e.args[1].op == "const":
        a = stride(e.args[0], variable)
        return None if a is None else a * int(e.args[1].data)
    return None
