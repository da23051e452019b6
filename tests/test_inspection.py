"""jacana.inspect: the report, its page and its picture; costs counted from the code."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana import lax
from jacana.inspection import inspect


def attention(x, w):
    h = jnp.exp(x @ w)
    h = h / h.sum(-1, keepdims=True)
    return (h * jnp.log(h)).sum(), h.T @ x


@pytest.fixture(scope="module")
def found():
    return inspect(attention, jnp.ones((64, 32)) * 0.1, jnp.ones((32, 32)) * 0.2)


def test_the_report_shows_each_level(found):
    text = str(found)
    assert text.startswith("inspection of attention\n\n--- jaxpr\n{ lambda ; a:f32[64,32]")
    parts = [
        "--- jaxpr after all passes", "--- commands (", "gemm float32 64x32 @ 32x32",
        "function exp_float32(", "is stored: a result", "kernel\n  buffer b0",
    ]  # fmt: skip
    assert [part for part in parts if part not in text] == []
    assert sum(s.share for s in found.steps) == pytest.approx(1)
    assert all(s.seconds > 0 for s in found.steps)


def test_products_count_their_operations(found):
    product = next(s for s in found.steps if s.title.startswith("gemm"))
    assert product.flops == 2 * 64 * 32 * 32
    assert product.nbytes == 4 * (64 * 32 + 32 * 32 + 64 * 32)


def test_kernels_count_their_operations():
    (step,) = inspect(lambda x, y: x * y + 1, jnp.ones((100, 3)), jnp.ones((100, 3))).steps
    assert step.flops == 600
    assert step.nbytes == 3 * 1200
    (step,) = inspect(lambda x: (x * x).sum(), jnp.ones(100)).steps
    assert 200 <= step.flops <= 300


def test_stored_values_have_a_reason(found):
    reasons = [found.why_stored(slot) for slot in found.labels]
    assert reasons.count("an input") == 2
    assert reasons.count("a result") == 2
    assert any(re.search(r"command \d+ \(gemm .*\) needs it in memory", r) for r in reasons)


def test_the_page_is_well_formed_and_needs_nothing_else(found, tmp_path):
    found.html(str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    root = ET.fromstring(page.removeprefix("<!DOCTYPE html>"))
    svg = root.find(".//{http://www.w3.org/2000/svg}svg")
    assert svg is not None
    boxes = svg.findall(".//{http://www.w3.org/2000/svg}rect")
    assert len(boxes) == len(found.steps) + 4
    assert not re.search(r'(src|href)="(?!#)', page)


def test_loops_and_programs_without_commands():
    loop = inspect(lambda x: lax.fori_loop(0, 7, lambda i, c: jnp.sin(c) @ x, x), jnp.eye(40))
    assert "while" in str(loop) or "scan" in str(loop)
    same = inspect(lambda x: x, jnp.ones(3))
    assert same.steps == []
    assert "is stored" not in str(same)


def test_types_may_stand_for_arrays():
    struct = jacana.ShapeDtypeStruct((5,), np.float32)
    assert len(inspect(jacana.jit(jnp.cos), struct).steps) == 1
