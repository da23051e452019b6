"""The Python blocks of documentation pages run, in order."""

import re

import pytest

from tests.conftest import ROOT

PAGES = ["add_a_primitive.md"]


@pytest.mark.parametrize("page", PAGES)
def test_blocks_run(page):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    names = {"__name__": f"docs.{page}"}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(compile(block, page, "exec"), names)
