"""A program as a picture: a box for each command, below those whose results it reads."""

from html import escape
from typing import TYPE_CHECKING

from jacana.core.records import record

if TYPE_CHECKING:
    from jacana.inspection.report import Inspection

WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 210, 44, 24, 46, 16
# Characters of a title that fit into a box.
FIT = 32


@record
class Box:
    """Where a command, an input or a result is drawn; share < 0 for the latter two."""

    key: tuple[str, int]
    x: float
    y: float
    text: str
    note: str
    share: float


def draw(found: "Inspection") -> str:
    """The picture as SVG."""
    sources, edges = _edges(found)
    rows = _rows(found, sources)
    width = max((len(row) for row in rows), default=1) * (WIDTH + GAP_X) + 2 * MARGIN
    boxes = {b.key: b for b in _place(found, rows, width)}
    height = len(rows) * (HEIGHT + GAP_Y) + 2 * MARGIN
    lines = "".join(_line(boxes[a], boxes[b], label) for a, b, label in edges)
    drawn = "".join(map(_box, boxes.values()))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'font-family="system-ui, sans-serif" font-size="11">{lines}{drawn}</svg>'
    )


Key = tuple[str, int]


def _edges(found: "Inspection") -> tuple[dict[Key, list[Key]], list[tuple[Key, Key, str]]]:
    """For each box those it reads from; and all lines with the buffer they stand for."""
    writer: dict[int, Key] = {i: ("input", i) for i in range(len(found.program.inputs))}
    sources: dict[Key, list[Key]] = {}
    edges = []
    for step in found.steps:
        key = ("command", step.number)
        for slot in step.reads:
            if slot in writer:
                edges.append((writer[slot], key, found.labels[slot]))
        sources[key] = [a for a, b, _ in edges if b == key]
        writer.update(dict.fromkeys(step.writes, key))
    for k, slot in enumerate(found.program.results):
        if slot in writer:
            key = ("result", k)
            sources[key] = [writer[slot]]
            edges.append((writer[slot], key, found.labels[slot]))
    return sources, edges


def _rows(found: "Inspection", sources: dict[Key, list[Key]]) -> list[list[Key]]:
    """Boxes by their distance from the inputs; inputs that nothing reads are left out."""
    used = {a for many in sources.values() for a in many if a[0] == "input"}
    level: dict[Key, int] = dict.fromkeys(sorted(used), 0)
    for key, many in sources.items():
        level[key] = 1 + max((level[a] for a in many), default=0)
    last = max(level.values(), default=0)
    rows: list[list[Key]] = [[] for _ in range(last + 1)]
    for key, at in level.items():
        rows[at].append(key)
    return [row for row in rows if row]


def _place(found: "Inspection", rows: list[list[Key]], width: float) -> list[Box]:
    boxes = []
    for i, row in enumerate(rows):
        left = (width - len(row) * (WIDTH + GAP_X) + GAP_X) / 2
        for j, key in enumerate(row):
            x, y = left + j * (WIDTH + GAP_X), MARGIN + i * (HEIGHT + GAP_Y)
            boxes.append(_describe(found, key, x, y))
    return boxes


def _describe(found: "Inspection", key: Key, x: float, y: float) -> Box:
    kind, number = key
    if kind == "input":
        return Box(key, x, y, found.labels[number], "input", -1.0)
    if kind == "result":
        return Box(key, x, y, found.labels[found.program.results[number]], "result", -1.0)
    step = found.steps[number]
    note = f"{step.share:.0%}   {step.seconds * 1e6:,.1f} us   {step.nbytes:,} B"
    return Box(key, x, y, f"{number}: {step.title}", note, step.share)


def _box(box: Box) -> str:
    text = box.text if len(box.text) <= FIT else box.text[: FIT - 1] + "…"
    # From pale to warm by the share of time.
    fill = (
        "#eef3ee"
        if box.share < 0
        else f"hsl({48 - 34 * box.share:.0f} 90% {94 - 30 * box.share:.0f}%)"
    )
    drawn = (
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{WIDTH}" height="{HEIGHT}" rx="7" '
        f'fill="{fill}" stroke="#5b6b63"><title>{escape(box.text)}</title></rect>'
        f'<text x="{box.x + 9:.1f}" y="{box.y + 18:.1f}" fill="#1c2321">{escape(text)}</text>'
        f'<text x="{box.x + 9:.1f}" y="{box.y + 34:.1f}" fill="#5b6b63">{escape(box.note)}</text>'
    )
    return f'<a href="#c{box.key[1]}">{drawn}</a>' if box.key[0] == "command" else drawn


def _line(a: Box, b: Box, label: str) -> str:
    x, y = a.x + WIDTH / 2, a.y + HEIGHT
    u, v = b.x + WIDTH / 2, b.y
    bend = (v - y) / 2
    return (
        f'<path d="M{x:.1f} {y:.1f}C{x:.1f} {y + bend:.1f} {u:.1f} {v - bend:.1f} {u:.1f} {v:.1f}" '
        f'fill="none" stroke="#9aa89f"><title>{escape(label)}</title></path>'
    )
