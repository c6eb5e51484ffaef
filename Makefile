# Everything here works on a fresh clone with Python 3.11 or later, make and a C++17 compiler. The first call
# creates .venv in the checkout and installs what it needs; later calls are quick.
#
#   make test ARGS="tests/linalg -x"    pass arguments to the tool behind a target
#   make PYTHON=python3.12 demo         choose the Python for a new .venv
#   make CXX=clang++ demo               choose the compiler (run `make clean` first if you change it)

PYTHON ?= python3
ARGS ?=

BIN := .venv/bin
STAMPS := .venv/stamps
PACKAGE := $(STAMPS)/package
COMPILED := pyproject.toml CMakeLists.txt $(shell find src -name '*.cpp' -o -name '*.hpp')

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: demo test test-slow test-lowest mutate lint format types imports bench docs wheel wheel-test audit clean help

demo: $(PACKAGE)  ## show what isogloss does, in a minute or two
	@$(BIN)/isogloss demo $(ARGS)

# Write bytecode even if the environment forbids it: many tests start a new Python.
# Processes in the background keep their priority, so that tests pass on a busy machine.
# Huge pages would make the sparse tables of every small stream resident as a whole.
# Three processes also keep two cores busy while tests wait for other processes, timers and disks.
WORKERS ?= 3
TESTING := PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 ISOGLOSS_NICE=0 NUMPY_MADVISE_HUGEPAGE=0

test: $(PACKAGE) $(STAMPS)/test  ## run the tests and every example in the docs, except the slow ones
	@$(TESTING) $(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=worksteal $(ARGS)

test-slow: $(PACKAGE) $(STAMPS)/test $(STAMPS)/bench  ## run the tests that take long, and properties with more examples
	@$(BIN)/python -m pytest -m "slow or hypothesis" --hypothesis-profile=thorough --timeout=1800 $(ARGS)

test-lowest: $(STAMPS)/build  ## run the tests with the lowest dependency versions allowed, in .venv-lowest
	@$(BIN)/uv venv --quiet --clear --python $(PYTHON) .venv-lowest
	@$(BIN)/uv pip compile --quiet --resolution lowest-direct --all-extras -o .venv-lowest/lowest.txt pyproject.toml
	@$(BIN)/uv pip install --quiet --python .venv-lowest -r .venv-lowest/lowest.txt --group test .
	@$(TESTING) .venv-lowest/bin/python -m pytest --numprocesses=$(WORKERS) --dist=worksteal $(or $(ARGS),tests)

mutate: $(PACKAGE) $(STAMPS)/test $(STAMPS)/mutate  ## change the code of ARGS=src/isogloss/NAME in small ways and see whether tests fail
	@$(TESTING) $(BIN)/python tools/mutate.py $(ARGS)

lint: $(STAMPS)/lint  ## check format and lint, without changing anything
	@$(BIN)/ruff format --check $(ARGS)
	@$(BIN)/ruff check $(ARGS)

format: $(STAMPS)/lint  ## format the code and fix what ruff can fix
	@$(BIN)/ruff check --fix $(ARGS)
	@$(BIN)/ruff format $(ARGS)

types: $(PACKAGE) $(STAMPS)/lint  ## check types in src with mypy, strictly
	@$(BIN)/mypy $(ARGS)

imports: $(PACKAGE) $(STAMPS)/lint  ## check which packages import which
	@$(BIN)/lint-imports $(ARGS)

bench: $(PACKAGE) $(STAMPS)/bench  ## run every benchmark (one: .venv/bin/python -m benchmarks NAME)
	@$(BIN)/python -m benchmarks --all $(ARGS)

docs: $(PACKAGE) $(STAMPS)/docs  ## build the documentation in docs/_build/html; warnings are errors
	@rm -rf docs/reference/generated
	@$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going $(ARGS) docs docs/_build/html
	@echo "docs: open docs/_build/html/index.html"

wheel: $(STAMPS)/build  ## build a source distribution, and a wheel from it, in dist
	@rm -rf dist
	@$(BIN)/python -m build --outdir dist $(ARGS)

wheel-test: wheel  ## install the wheel in an empty environment and try it
	@$(BIN)/python tools/wheel.py dist/*.whl

audit: $(PACKAGE) $(STAMPS)/build  ## look for known vulnerabilities in the packages of .venv
	@$(BIN)/python -m pip freeze --all --exclude-editable > .venv/packages.txt
	@$(BIN)/pip-audit --strict --no-deps --disable-pip --requirement .venv/packages.txt

clean:  ## remove what was built; keep .venv
	rm -rf build dist $(PACKAGE) .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis
	rm -rf docs/_build docs/gallery docs/reference/generated docs/sg_execution_times.rst
	find src tests tools benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "make %-11s %s\n", $$1, $$2 }'

SETUP = @command -v $(PYTHON) > /dev/null || { echo "setup: isogloss needs Python 3.11 or later, but $(PYTHON) \
is not on the PATH; install it, or choose another: make PYTHON=python3.12" >&2; exit 1; }; $(PYTHON) tools/setup.py

$(PACKAGE): $(COMPILED)
	$(SETUP)

$(STAMPS)/%: pyproject.toml
	$(SETUP) --group $*
