# `make help` says what there is. Everything runs from .venv, which the first target makes;
# a machine needs Python 3.11 or newer, make, and a C compiler.

PYTHON ?= python3
JOBS ?= 2
# More options for the demo: make demo DEMO=--quick
DEMO ?=
MUTANTS ?=
# How hard the C compiler tries for `make wheels`: 0 builds in a third of the time, to try it out.
OPTIMIZE ?= 3
# What is measured: make bench BENCH="live scale"
BENCH ?= steps builds simulator
REPRODUCE ?=

# Bytecode is kept whatever this machine says: else every process of every test compiles what it imports, and
# pytest rewrites the assertions of all files anew, half of the time that it takes to collect them.
unexport PYTHONDONTWRITEBYTECODE

SHELL := /bin/bash
VENV := .venv
INSTALLED := $(VENV)/.installed
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check
RUN := $(VENV)/bin/python
# The packages, compiled, beside the sources: optimised, and for tests not, which takes a third of the time to build.
COMPILED := build/compiled.stamp
TESTED := build/tested.stamp
ON_COMPILED := PYTHONPATH="$(CURDIR)/build/compiled" $(RUN)
ON_TESTED := PYTHONPATH="$(CURDIR)/build/tested" $(RUN)
PYTEST := -m pytest -q -n $(JOBS) --dist worksteal --durations=10 --durations-min=5 --ignore=tests/test_tidy.py
CHECKED := setup.py $(wildcard src tests bench examples)
# The tests of what `setup.py` compiles, and of what drives it: they run on the sources too.
TESTS_OF_COMPILED := $(addprefix tests/,fuzz papers properties test_build_mode.py \
    antecede/core antecede/endpoint antecede/eventlog/test_log.py antecede/network_model \
    antecede/runtime/test_node.py antecede/runtime/test_receiving.py antecede/runtime/test_test_network.py \
    antecede/durability/test_recorder.py antecede/groups antecede/membership antecede/transport antecede/wire \
    antecede_audit/judging/test_kernel.py antecede_lab/checker \
    antecede_lab/comparison antecede_lab/protocols antecede_lab/simulator antecede_lab/wire \
    broken/test_facts_mutants.py broken/test_link_mutants.py broken/test_member_mutants.py)

.DELETE_ON_ERROR:
.PHONY: help test test-full coverage mutants check compile wheels proofs demo docs bench reproduce format pin clean FORCE

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "make %-18s %s\n", $$1, $$2}'

test: check $(TESTED) ## Everything that must pass: checks, the suite on the compiled build, its layers' tests on the sources
	ANTECEDE_EXPECT=compiled $(ON_TESTED) $(PYTEST) tests
	ANTECEDE_EXPECT=interpreted ANTECEDE_SEEDS=few $(RUN) $(PYTEST) $(TESTS_OF_COMPILED)

test-full: test compile ## And the suite on both builds, optimised, with all seeds; long campaigns; more examples of properties
	ANTECEDE_EXPECT=interpreted $(RUN) $(PYTEST) tests
	ANTECEDE_EXPECT=compiled $(ON_COMPILED) $(PYTEST) -m "long or not long" tests
	ANTECEDE_EXPECT=compiled ANTECEDE_CAMPAIGN=long $(ON_COMPILED) $(PYTEST) tests/properties tests/antecede/wire tests/antecede_lab/wire

coverage: $(INSTALLED) ## Which lines the tests reach (interpreted, without Spark); build/coverage has pages
	rm -f build/coverage.data*
	$(RUN) -m coverage run $(PYTEST) --ignore=tests/test_packaging.py $(addprefix --ignore=tests/antecede_audit/,measure report spans spark) \
	    $(addprefix --ignore=tests/antecede_lab/,evaluate grow sweep) tests
	$(RUN) -m coverage combine --quiet
	$(RUN) -m coverage html --quiet
	$(RUN) -m coverage report

mutants: $(INSTALLED) ## Change the sources a little, and see whether the tests notice: MUTANTS="path --number 20"
	$(RUN) -m tests.mutation $(MUTANTS)

check: $(INSTALLED) ## Lint, format, types, import contracts, tidiness, what the documents name and link to
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy $(CHECKED)
	$(VENV)/bin/lint-imports --no-cache
	$(RUN) -m pytest -q tests/test_tidy.py $(addprefix tests/documents/test_,links.py named_places.py named_tests.py)

compile: $(COMPILED) ## Build the compiled package into build/compiled, if anything has changed

wheels: $(INSTALLED) ## Build the archives of a release into dist, and try each in a clean environment
	$(PIP) -c constraints.txt --group wheels
	$(RUN) .ci/wheels.py --optimize $(OPTIMIZE)

proofs: $(INSTALLED) ## Check the proofs of the guarantee; needs coqc and spin
	ANTECEDE_MUST_RUN=Coq,Spin $(RUN) $(PYTEST) tests/proofs

demo: compile ## Real processes on a bad network, audited on Spark: see it, in runs/demo/report.html
	$(ON_COMPILED) -m antecede demo --out runs/demo $(DEMO)

docs: $(INSTALLED) ## Build the documents as a site, into build/site
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --quiet
	@echo "The site is in build/site/index.html"

bench: compile ## Measure speed; bench/README.md explains the figures
	for name in $(BENCH); do $(ON_COMPILED) -m bench $$name || exit 1; done

reproduce: compile ## Make the figures of the documents again, and say what drifted: REPRODUCE="--minutes 5"
	PYTHONPATH="$(CURDIR)/build/compiled:$(CURDIR)" $(RUN) -m bench reproduce $(REPRODUCE)

format: $(INSTALLED) ## Let ruff mend what it can
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

pin: $(INSTALLED) ## Renew constraints.txt
	$(RUN) .ci/pin.py

clean: ## Remove everything that make has made
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -rf src/*.egg-info
	find src tests bench examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# The editable install is never compiled, so an edited source is what runs.
$(INSTALLED): pyproject.toml constraints.txt setup.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and f"antecede needs Python 3.11 or newer; $(PYTHON) is {sys.version.split()[0]}. Try: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) -c constraints.txt pip setuptools mypy # a pip that knows groups, which Python may not bring
	$(PIP) -c constraints.txt --no-build-isolation -e '.[all]' --group dev
	@touch $@

# The compiled build lives beside the sources, never among them. Contents decide whether it is
# stale, not times: a checkout of another branch, or a deleted file, counts as a change.
build/sources.cksum: FORCE
	@mkdir -p build
	@find src -name '*.py' | LC_ALL=C sort | xargs cksum setup.py pyproject.toml > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(COMPILED) $(TESTED): build/%.stamp: build/sources.cksum $(INSTALLED)
	rm -rf build/$*
	ANTECEDE_COMPILE=all ANTECEDE_OPTIMIZE=$(if $(filter tested,$*),0,3) \
	    $(PIP) --no-deps --no-build-isolation --target build/$* .
	@touch $@

FORCE:
