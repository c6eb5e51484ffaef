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
.PHONY: demo test test-slow test-lowest lint format types imports bench docs wheel wheel-test audit clean help

demo: $(PACKAGE)  ## see what isogloss does, in a minute or two
	@$(BIN)/isogloss demo $(ARGS)

# Bytecode is kept even where the environment says otherwise: many tests start Python anew.
TESTING := PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1

test: $(PACKAGE) $(STAMPS)/test  ## the tests and every example in the docs, without the slow ones
	@$(TESTING) $(BIN)/python -m pytest --numprocesses=2 --dist=loadfile $(ARGS)

test-slow: $(PACKAGE) $(STAMPS)/test $(STAMPS)/bench  ## the tests that take more than a few seconds
	@$(BIN)/python -m pytest -m slow --timeout=1800 $(ARGS)

test-lowest: $(STAMPS)/build  ## the tests with the lowest versions that pyproject.toml admits, in .venv-lowest
	@$(BIN)/uv venv --quiet --clear --python $(PYTHON) .venv-lowest
	@$(BIN)/uv pip compile --quiet --resolution lowest-direct --all-extras -o .venv-lowest/lowest.txt pyproject.toml
	@$(BIN)/uv pip install --quiet --python .venv-lowest -r .venv-lowest/lowest.txt --group test .
	@$(TESTING) .venv-lowest/bin/python -m pytest --numprocesses=2 --dist=loadfile $(or $(ARGS),tests)

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

wheel: $(STAMPS)/build  ## a source distribution and a wheel built from it, in dist
	@rm -rf dist
	@$(BIN)/python -m build --outdir dist $(ARGS)

wheel-test: wheel  ## the wheel, installed in an empty environment and used there
	@$(BIN)/python tools/wheel.py dist/*.whl

audit: $(PACKAGE) $(STAMPS)/build  ## known vulnerabilities of what is installed in .venv
	@$(BIN)/python -m pip freeze --all --exclude-editable > .venv/packages.txt
	@$(BIN)/pip-audit --strict --no-deps --disable-pip --requirement .venv/packages.txt

clean:  ## remove what was built, and have the package built again; .venv stays
	rm -rf build dist $(PACKAGE) .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis
	rm -rf docs/_build docs/gallery docs/reference/generated docs/sg_execution_times.rst
	find src tests tools benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "make %-11s %s\n", $$1, $$2 }'

SETUP = @command -v $(PYTHON) > /dev/null || { echo "setup: isogloss needs Python 3.11 or later and there \
is no $(PYTHON) on the PATH; install it, or name another: make PYTHON=python3.12." >&2; exit 1; }; $(PYTHON) tools/setup.py

$(PACKAGE): $(COMPILED)
	$(SETUP)

$(STAMPS)/%: pyproject.toml
	$(SETUP) --group $*
