"""The counted loop that other statements are made of, and the last part of it."""

from collections.abc import Callable, Sequence

from jacana.compiler.llvm.analysis import body_size, calls_size
from jacana.compiler.llvm.code import Emitter
from jacana.kernel import ir

Body = Callable[[str, Sequence[str]], Sequence[str]]

# In a larger body a mask costs less than compiling the body twice does.
MASKED_SIZE = 12


def prefers_mask(e: Emitter, body: Sequence[ir.Statement]) -> bool:
    """Whether all iterations of a loop over vectors are masked, not only the last one."""
    return e.facts.masks and body_size(body) + calls_size(body) > MASKED_SIZE


def repeat(
    e: Emitter, start: str, end: str, step: int, carried: Sequence[tuple[str, str]], body: Body
) -> list[str]:
    """The carried values after `for i in range(start, end, step)`.

    `carried` holds the LLVM type and the first value of each; `body` gives the next ones.
    """
    inside, after, before = e.label(), e.label(), e.block
    runs = start.isdigit() and end.isdigit() and int(start) < int(end)
    if runs:
        e.jump(inside)
    else:
        e.jump_if(e.let(f"icmp slt i64 {start}, {end}"), inside, after)
    e.start(inside)
    places = [e.reserve() for _ in range(len(carried) + 1)]
    index, *names = [e.fresh() for _ in places]
    with e.region():
        following = body(index, names)
    next_index = e.let(f"add i64 {index}, {step}")
    last = e.block
    e.jump_if(e.let(f"icmp slt i64 {next_index}, {end}"), inside, after)
    e.start(after)
    e.lines[places[0]] = f"  {index} = phi i64 [ {start}, %{before} ], [ {next_index}, %{last} ]"
    results = []
    for place, name, (type, first), new in zip(places[1:], names, carried, following, strict=True):
        e.lines[place] = f"  {name} = phi {type} [ {first}, %{before} ], [ {new}, %{last} ]"
        results.append(new if runs else e.phi(type, (first, before), (new, last)))
    return results


def once(
    e: Emitter, start: str, end: str, carried: Sequence[tuple[str, str]], body: Body
) -> list[str]:
    """The carried values after `if start < end: body(start)`."""
    inside, after, before = e.label(), e.label(), e.block
    e.jump_if(e.let(f"icmp slt i64 {start}, {end}"), inside, after)
    e.start(inside)
    with e.region():
        made = body(start, [text for _, text in carried])
    last = e.block
    e.jump(after)
    e.start(after)
    return [
        e.phi(type, (first, before), (new, last))
        for (type, first), new in zip(carried, made, strict=True)
    ]


def first_lanes(e: Emitter, start: str, end: str, width: int) -> str:
    """The mask of the lanes k for which start + k < end."""
    count = e.let(f"sub i64 {end}, {start}")
    count = e.let(f"call i64 @llvm.umin.i64(i64 {count}, i64 {width})")
    above = e.let(f"shl i64 -1, {count}")
    bits = e.let(f"trunc i64 {e.let(f'xor i64 {above}, -1')} to i{width}")
    return e.let(f"bitcast i{width} {bits} to <{width} x i1>")
