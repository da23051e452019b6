"""The Python blocks of each documentation page run, in order."""

import re

import pytest

from tests.conftest import ROOT

BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITH_CODE = [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_run(page):
    text = page.read_text(encoding="utf-8")
    names = {"__name__": f"docs.{page.stem}"}
    for block in BLOCK.finditer(text):
        # Blank lines before the code, so that tracebacks name the page's own lines.
        before = "\n" * text.count("\n", 0, block.start(1))
        exec(compile(before + block[1], str(page), "exec"), names)
