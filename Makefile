# One command per task. `make` alone lists them.
PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
BIN := $(VENV)/bin
READY := $(VENV)/ready

.DEFAULT_GOAL := help
.PHONY: help quickstart test check format bench golden docs clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@

quickstart: $(READY) ## make .venv, install jacana, run examples/quickstart.py
	$(BIN)/python examples/quickstart.py

test: $(READY) ## the whole test suite (WORKERS=2 processes)
	$(BIN)/python -m pytest -n $(WORKERS)

check: $(READY) ## format, lint, types, architecture and a smoke test, in under a minute
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_architecture.py tests/test_tiny.py

format: $(READY) ## rewrite the source as `make check` wants it
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY) ## timings beside NumPy; JAX_PYTHON=/path/to/python adds JAX
	$(BIN)/python bench/run.py $(if $(JAX_PYTHON),--jax-python $(JAX_PYTHON))

golden: $(READY) ## rewrite the golden texts under tests/golden; review the diff
	$(BIN)/python -m pytest -n $(WORKERS) --update-golden

docs: $(READY) ## build the documentation into build/docs
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	$(BIN)/python -m mkdocs build --strict

clean: ## remove .venv and everything built
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
