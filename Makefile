# Everything here works on a fresh clone with Python 3.11 or later, make and a C++17 compiler:
# the first call makes .venv in the checkout and installs what it needs; later calls are quick.
#
#   make test ARGS="tests/linalg -x"    arguments for the tool behind a target
#   make PYTHON=python3.12 demo         the Python that .venv is made from
#   make CXX=clang++ demo               the compiler (after `make clean`, if it was another before)

PYTHON ?= python3
ARGS ?=

BIN := .venv/bin
STAMPS := .venv/stamps
PACKAGE := $(STAMPS)/package
COMPILED := pyproject.toml CMakeLists.txt $(shell find src -name '*.cpp' -o -name '*.hpp')

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: demo test test-slow lint format types imports bench docs faults clean help

demo: $(PACKAGE)  ## see what isogloss does, in a minute or two
	@$(BIN)/isogloss demo $(ARGS)

test: $(PACKAGE) $(STAMPS)/test  ## the tests and every example in the docs, without the slow ones
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses=2 --dist=loadfile $(ARGS)

test-slow: $(PACKAGE) $(STAMPS)/test $(STAMPS)/bench  ## the tests that take more than a few seconds
	@$(BIN)/python -m pytest -m slow --timeout=1800 $(ARGS)

faults: $(PACKAGE) $(STAMPS)/test  ## plant every fault of tests/planted_faults.toml; its test must turn red
	@$(BIN)/python tools/faults.py $(ARGS)

lint: $(STAMPS)/lint  ## format and lint, without changing anything
	@$(BIN)/ruff format --check $(ARGS)
	@$(BIN)/ruff check $(ARGS)

format: $(STAMPS)/lint  ## put files in shape and repair what ruff can repair
	@$(BIN)/ruff check --fix $(ARGS)
	@$(BIN)/ruff format $(ARGS)

types: $(PACKAGE) $(STAMPS)/lint  ## mypy, strict, over src
	@$(BIN)/mypy $(ARGS)

imports: $(PACKAGE) $(STAMPS)/lint  ## who may import whom
	@$(BIN)/lint-imports $(ARGS)

bench: $(PACKAGE) $(STAMPS)/bench  ## every benchmark against its peer (one: python -m benchmarks NAME)
	@$(BIN)/python -m benchmarks --all $(ARGS)

docs: $(PACKAGE) $(STAMPS)/docs  ## the documentation, in docs/_build/html; a warning is an error
	@$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going $(ARGS) docs docs/_build/html
	@echo "docs: open docs/_build/html/index.html"

clean:  ## remove what was built, and have the package built again; .venv stays
	rm -rf build dist $(PACKAGE) .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis
	rm -rf docs/_build docs/gallery docs/reference/generated docs/sg_execution_times.rst
	find src tests tools benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "make %-10s %s\n", $$1, $$2 }'

SETUP = @command -v $(PYTHON) > /dev/null || { echo "setup: isogloss needs Python 3.11 or later and there \
is no $(PYTHON) on the PATH; install it, or name another: make PYTHON=python3.12." >&2; exit 1; }; $(PYTHON) tools/setup.py

$(PACKAGE): $(COMPILED)
	$(SETUP)

$(STAMPS)/%: pyproject.toml
	$(SETUP) --group $*
