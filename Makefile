# The targets of a fresh clone: only Python 3.11 or newer is needed.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint format bench clean

# Made once, and again when the dependencies change.
.venv: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "npu-mlir needs Python 3.11 or newer (make PYTHON=python3.x)")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch .venv

demo: .venv
	$(BIN)/python examples/demo.py

# lit comes first so that the last line is pytest's summary.
test: .venv
	$(BIN)/lit -j2 -q tests/lit
	$(BIN)/python -m pytest

lint: .venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: .venv
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf build dist .pytest_cache .ruff_cache .hypothesis
