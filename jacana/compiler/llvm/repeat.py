"""The counted loop that other statements are made of."""

from collections.abc import Callable, Sequence

from jacana.compiler.llvm.code import Emitter

Body = Callable[[str, Sequence[str]], Sequence[str]]


def repeat(
    e: Emitter, start: str, end: str, step: int, carried: Sequence[tuple[str, str]], body: Body
) -> list[str]:
    """The carried values after `for i in range(start, end, step)`.

    `carried` holds the LLVM type and the first value of each; `body` gives the next ones.
    """
    inside, after, before = e.label(), e.label(), e.block
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
        results.append(e.phi(type, (first, before), (new, last)))
    return results
