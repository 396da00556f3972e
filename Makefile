# Every target sets itself up from nothing but python3 (3.11 or newer); a second run is instant.
PYTHON ?= python3
DATA ?=
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# One more than there are cores: many tests wait for another process.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')
PYTEST := $(BIN)/python -m pytest
PARALLEL := -n $(WORKERS) --dist worksteal

.PHONY: help setup demo check test test-all mutants lint bench clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $(READY)

setup: $(READY)  ## create .venv with everything installed

demo: $(READY)  ## a federation on this machine, ends with a picture; DATA=DIR uses the real HAR archive
	$(BIN)/fsir-sim demo $(if $(DATA),--data $(DATA))

check: lint  ## lint and the tests that start no other process: two minutes in all
	$(PYTEST) $(PARALLEL) -m 'not slow and not long' --ignore tests/system --ignore tests/deploy

test: $(READY)  ## the tests that take minutes in all
	$(PYTEST) $(PARALLEL) -m 'not slow'

test-all: $(READY)  ## every test and every mutant, the nightly run
	$(PYTEST)
	$(BIN)/python -m tools.mutants

mutants: $(READY)  ## mistakes on purpose: the tests of fsir or the audit must see each of them
	$(BIN)/python -m tools.mutants

lint: $(READY)  ## ruff, mypy --strict, import contracts, and how the lines look
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tools/lines.py
	$(BIN)/python tools/imports.py
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/mypy

bench: $(READY)  ## the figures of docs/benchmarks.md, as ratios
	$(BIN)/python -m benchmarks

clean:  ## remove the environment and all that was built
	rm -rf $(VENV) build dist *.egg-info out
