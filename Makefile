# `make help` says what there is. Everything runs from .venv, which the first target makes;
# a machine needs Python 3.11 or newer, make, and a C compiler.

PYTHON ?= python3
JOBS ?= 2
# More options for the demo: make demo DEMO=--quick
DEMO ?=

SHELL := /bin/bash
VENV := .venv
INSTALLED := $(VENV)/.installed
COMPILED_TREE := build/compiled
COMPILED := build/compiled.stamp
COMPILED_PYTHON := PYTHONPATH="$(CURDIR)/$(COMPILED_TREE)" $(VENV)/bin/python
PYTEST := -m pytest -q -n $(JOBS) --dist worksteal
CHECKED := setup.py $(wildcard src tests bench examples)
# Some tests run on one build only. Style, packaging, the site, the report and the proofs are not compiled; Spark
# takes minutes, and is used with the compiled kernel (tests/audit has it on both builds).
ONLY_INTERPRETED := $(addprefix --ignore=tests/,test_packaging.py documents/test_site.py report proofs)
ONLY_COMPILED := --ignore=tests/pipeline
CHECKED_BEFORE := --ignore=tests/test_tidy.py

.DELETE_ON_ERROR:
.PHONY: help test test-interpreted test-compiled test-full check compile proofs demo docs bench format pin clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "make %-18s %s\n", $$1, $$2}'

test: check test-interpreted test-compiled ## Everything that must pass: checks, then the suite on both builds

test-interpreted: $(INSTALLED) ## The suite on the sources as they stand
	ANTECEDE_EXPECT=interpreted $(VENV)/bin/python $(PYTEST) $(CHECKED_BEFORE) $(ONLY_COMPILED) tests

test-compiled: compile ## The suite on the compiled build
	ANTECEDE_EXPECT=compiled $(COMPILED_PYTHON) $(PYTEST) $(CHECKED_BEFORE) $(ONLY_INTERPRETED) tests

test-full: test ## The same, and the long campaigns (compiled): marked tests, and properties with more examples
	ANTECEDE_EXPECT=compiled $(COMPILED_PYTHON) $(PYTEST) -m long tests
	ANTECEDE_CAMPAIGN=long ANTECEDE_EXPECT=compiled $(COMPILED_PYTHON) $(PYTEST) tests/properties tests/wire

check: $(INSTALLED) ## Lint, format, types, import contracts, tidiness
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy $(CHECKED)
	$(VENV)/bin/lint-imports --no-cache
	$(VENV)/bin/python -m pytest -q tests/test_tidy.py

compile: $(COMPILED) ## Build the compiled package into build/compiled, if anything has changed

proofs: $(INSTALLED) ## Check the proofs of the guarantee; needs coqc and spin
	ANTECEDE_MUST_RUN=Coq,Spin $(VENV)/bin/python $(PYTEST) tests/proofs

demo: compile ## Real processes on a bad network, audited on Spark: see it, in runs/demo/report.html
	$(COMPILED_PYTHON) -m antecede demo --out runs/demo $(DEMO)

docs: $(INSTALLED) ## Build the documents as a site, into build/site
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --quiet
	@echo "The site is in build/site/index.html"

bench: compile ## Measure speed; bench/README.md explains the figures
	$(COMPILED_PYTHON) -m bench

format: $(INSTALLED) ## Let ruff mend what it can
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

pin: $(INSTALLED) ## Renew constraints.txt
	$(VENV)/bin/python .ci/pin.py

clean: ## Remove everything that make has made
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -rf src/*.egg-info
	find src tests bench examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# The editable install is never compiled, so an edited source is what runs.
$(INSTALLED): pyproject.toml constraints.txt setup.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and f"antecede needs Python 3.11 or newer; $(PYTHON) is {sys.version.split()[0]}. Try: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt setuptools mypy
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[dev]'
	@touch $@

# The compiled build lives beside the sources, never among them. Contents decide whether it is
# stale, not times: a checkout of another branch, or a deleted file, counts as a change.
build/sources.cksum: FORCE
	@mkdir -p build
	@find src/antecede -name '*.py' | LC_ALL=C sort | xargs cksum setup.py pyproject.toml > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(COMPILED): build/sources.cksum $(INSTALLED)
	rm -rf $(COMPILED_TREE)
	ANTECEDE_COMPILE=require $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check \
	    --no-deps --no-build-isolation --target $(COMPILED_TREE) .
	@touch $@

FORCE:
