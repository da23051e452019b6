"""Layout: text that is broken into lines where it does not fit."""

from collections.abc import Sequence
from typing import NamedTuple, Union

WIDTH = 80

Doc = Union[str, "Break", "Nest", "Group", "list[Doc]"]


class Break(NamedTuple):
    """`flat` if the group around it is on one line, else a new line."""

    flat: str


class Nest(NamedTuple):
    """A document whose new lines are indented by `indent` more."""

    indent: int
    doc: Doc


class Group(NamedTuple):
    """A document that is on one line if that fits, by its own text alone."""

    doc: Doc


def joined(docs: Sequence[Doc], separator: Doc) -> Doc:
    result: list[Doc] = []
    for doc in docs:
        result += [separator, doc] if result else [doc]
    return result


def layout(doc: Doc) -> str:
    """The text of a document."""
    out: list[str] = []
    column = 0
    # What is still to be written: its indentation, whether on one line, the document.
    rest: list[tuple[int, bool, Doc]] = [(0, False, doc)]
    while rest:
        indent, is_flat, d = rest.pop()
        if isinstance(d, str):
            out.append(d)
            column += len(d)
        elif isinstance(d, list):
            rest += [(indent, is_flat, part) for part in reversed(d)]
        elif isinstance(d, Nest):
            rest.append((indent + d.indent, is_flat, d.doc))
        elif isinstance(d, Group):
            rest.append((indent, is_flat or fits(d.doc, WIDTH - column), d.doc))
        elif is_flat:
            out.append(d.flat)
            column += len(d.flat)
        else:
            out.append("\n" + " " * indent)
            column = indent
    return "".join(out)


def fits(doc: Doc, width: int) -> bool:
    """Whether a document on one line is at most `width` wide."""
    rest = [doc]
    while rest and width >= 0:
        d = rest.pop()
        if isinstance(d, str):
            width -= len(d)
        elif isinstance(d, list):
            rest += reversed(d)
        elif isinstance(d, Break):
            width -= len(d.flat)
        else:
            rest.append(d.doc)
    return width >= 0
