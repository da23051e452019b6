"""The processors that code is tested for: this one, and smaller ones that it can stand in for."""

import pytest

from jacana.compiler.llvm import target

# Vectors of 256 bits without masks, and of 128 bits without fused multiply-add or float16.
SMALLER = {"haswell": ("avx2", "fma", "f16c"), "nehalem": ("sse4.2",)}
CACHED = (
    "cpu", "features", "feature_names", "vector_bits", "facts", "attributes",
    "machine",
)  # fmt: skip


@pytest.fixture(params=["this processor", *SMALLER])
def processor(request, monkeypatch):
    """Code is made for the named processor."""
    name = request.param
    if name not in SMALLER:
        return
    if not target.feature_names().issuperset(SMALLER[name]):
        pytest.skip(f"this processor cannot run code for {name}")
    for function in CACHED:
        monkeypatch.setattr(target, function, getattr(target, function).__wrapped__)
    monkeypatch.setattr(target, "cpu", lambda: name)
    monkeypatch.setattr(target, "features", lambda: ",".join(f"+{f}" for f in SMALLER[name]))
