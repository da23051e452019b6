"""An inspection as one HTML page that needs nothing else."""

from html import escape
from typing import TYPE_CHECKING

from jacana.inspection.picture import draw

if TYPE_CHECKING:
    from jacana.inspection.report import Inspection, Step

OPEN = ' open="open"'
STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 72em; padding: 0 1em;
  color: #1c2321; background: #fdfdfb }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin-top: 2em }
pre { background: #f3f4ef; padding: .8em 1em; overflow: auto; border-radius: 6px;
  font: 12px/1.4 ui-monospace, monospace }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .25em .7em; border-bottom: 1px solid #dfe2d8 }
td.number { text-align: right; font-variant-numeric: tabular-nums }
summary { cursor: pointer; padding: .2em 0 } a { color: #0b6e4f } .picture { overflow: auto }
"""


def write_page(found: "Inspection") -> str:
    """The page's text."""
    stages = "".join(
        f"<details{OPEN if i == 0 else ''}><summary>{escape(name)}</summary>"
        f"<pre>{escape(text)}</pre></details>"
        for i, (name, text) in enumerate(found.stages)
    )
    stored = "".join(
        f"<tr><td>{escape(label)}</td><td>{escape(found.why_stored(slot))}</td></tr>"
        for slot, label in found.labels.items()
        if slot >= len(found.program.inputs)
    )
    kernels = "".join(
        f'<details id="c{s.number}"><summary>{s.number}: {escape(s.title)}</summary>'
        f"<pre>{escape(s.code or 'no loop code: a function of a library')}</pre></details>"
        for s in found.steps
    )
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"/>'
        f"<title>{escape(found.name)} - jacana</title><style>{STYLE}</style></head><body>"
        f"<h1>{escape(found.name)}</h1><p>{len(found.steps)} commands, "
        f"{found.seconds * 1e6:,.1f} us when each runs alone; "
        f"{found.program.arena:,} bytes of temporaries.</p>"
        f'<div class="picture">{draw(found)}</div><h2>Commands</h2>{_table(found)}'
        f"<h2>What is stored, and why</h2><table>{stored}</table>"
        f"<h2>Program</h2>{stages}<h2>Loop programs</h2>{kernels}</body></html>\n"
    )


def _table(found: "Inspection") -> str:
    head = "<tr><th></th><th>command</th><th>reads</th><th>writes</th><th>bytes</th><th>flops</th>"
    rows = "".join(_row(found, s) for s in found.steps)
    return f"<table>{head}<th>time</th><th>share</th></tr>{rows}</table>"


def _row(found: "Inspection", step: "Step") -> str:
    names = [" ".join(found.labels.get(s, "?") for s in ss) for ss in (step.reads, step.writes)]
    numbers = [
        f"{step.nbytes:,}", f"{step.flops:,.0f}", f"{step.seconds * 1e6:,.1f} us",
        f"{step.share:.0%}",
    ]  # fmt: skip
    cells = "".join(f'<td class="number">{n}</td>' for n in numbers)
    return (
        f'<tr><td><a href="#c{step.number}">{step.number}</a></td><td>{escape(step.title)}</td>'
        f"<td>{escape(names[0])}</td><td>{escape(names[1])}</td>{cells}</tr>"
    )
