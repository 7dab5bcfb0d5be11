# Each target makes .venv if it is missing and installs what it needs; a second run is fast.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP_QUIET := --quiet --disable-pip-version-check

.PHONY: help demo test lint types wheel smoke bench-reading bench-store docs check clean
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

# One stamp per set of extras, so that `make demo` installs the core only.
$(VENV)/.has-%: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "swnn_xp needs Python 3.11 to 3.13; say which: make PYTHON=python3.12 ..." >&2; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing swnn_xp ($*) into $(VENV) ..." >&2
	@$(BIN)/python -m pip install $(PIP_QUIET) -e '.$(if $(filter core,$*),,[$*])'
	@touch $@

demo: $(VENV)/.has-core ## the main job on the data set shipped with the package, within a minute
	@$(BIN)/swnn demo

test: $(VENV)/.has-test ## the whole test suite
	@$(BIN)/python -m pytest

lint: $(VENV)/.has-dev ## style
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: $(VENV)/.has-dev ## static types
	@$(BIN)/mypy

wheel: $(VENV)/.has-dev ## build the wheel into dist/
	@rm -rf dist && $(BIN)/python -m build --wheel --outdir dist . > /dev/null && ls dist

smoke: wheel ## the suite's smoke test against the installed wheel, in a clean environment
	@rm -rf .venv-wheel && $(PYTHON) -m venv .venv-wheel
	@.venv-wheel/bin/python -m pip install $(PIP_QUIET) dist/*.whl pytest
	@cd tests/smoke && ../../.venv-wheel/bin/python -m pytest -c pytest.ini .

bench-reading: $(VENV)/.has-test ## reading against scikit-learn; FILE=... for a file of your own
	@$(BIN)/python asv_benchmarks/reading/bench_reading.py $(FILE)

bench-store: $(VENV)/.has-core ## saving and opening a model of 500 MB
	@$(BIN)/python asv_benchmarks/store/bench_store.py

docs: ## the site into docs/_build/html, then a check of every page
	@$(MAKE) --no-print-directory VENV=.venv-docs .venv-docs/.has-docs
	@.venv-docs/bin/python -m sphinx -W --keep-going -q docs docs/_build/html
	@.venv-docs/bin/python -m pytest -q tests/docs

check: test lint types smoke ## everything that .ci/run runs

clean: ## remove environments and build products
	rm -rf $(VENV) .venv-wheel .venv-docs docs/_build docs/generated dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
