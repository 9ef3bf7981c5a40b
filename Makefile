# `make help` says what there is. Everything runs from .venv, which the first target makes;
# a machine needs Python 3.11 or newer, make, and a C compiler.

PYTHON ?= python3
JOBS ?= 2
# More options for the demo: make demo DEMO=--quick
DEMO ?=
# How often, and how often on a busy machine: make test-stability TIMES=3 BUSY=1
TIMES ?= 10
BUSY ?= 3
MUTANTS ?=
# `fifth` leaves four of five seeds to the other build. For somebody in a hurry: make test SEEDS=half
SHARE ?=
SEEDS ?=
# How hard the C compiler tries for `make wheels`: 0 builds in a third of the time, to try it out.
OPTIMIZE ?= 3
BENCH ?= steps builds simulator
REPRODUCE ?=

# Bytecode is kept whatever this machine says: else every process of every test compiles what it imports, and
# pytest rewrites the assertions of all files anew, half of the time that it takes to collect them.
unexport PYTHONDONTWRITEBYTECODE

SHELL := /bin/bash
VENV := .venv
INSTALLED := $(VENV)/.installed
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check
COMPILED_TREE := build/compiled
COMPILED := build/compiled.stamp
COMPILED_PYTHON := PYTHONPATH="$(CURDIR)/$(COMPILED_TREE)" $(VENV)/bin/python
# The same translation to C, which the C compiler did not optimise: for tests, a third of the wait.
TESTED_TREE := build/tested
TESTED := build/tested.stamp
TESTED_PYTHON := PYTHONPATH="$(CURDIR)/$(TESTED_TREE)" $(VENV)/bin/python
PYTEST := -m pytest -q -n $(JOBS) --dist worksteal --durations=10 --durations-min=5
CHECKED := setup.py $(wildcard src tests bench examples)
CHECKED_BEFORE := --ignore=tests/test_tidy.py
# The tests of what `setup.py` compiles (messaging without I/O, the audit's kernel, protocols, simulator and checker
# of the laboratory), and of what drives it. They run on both builds. Everything else runs once, on the compiled one
# (mutants of protocols are not compiled anyway). `test-full` runs all twice.
SPARK_TESTS := $(addprefix tests/,antecede_audit/measure antecede_audit/spans antecede_audit/spark \
    antecede_lab/evaluate antecede_lab/grow antecede_lab/sweep)
NO_SPARK := $(addprefix --ignore=,$(SPARK_TESTS))
BOTH_BUILDS := $(addprefix tests/,fuzz papers properties test_build_mode.py \
    antecede/core antecede/endpoint antecede/eventlog/test_log.py antecede/network_model \
    antecede/runtime/test_node.py antecede/runtime/test_receiving.py antecede/runtime/test_rehearsal.py \
    antecede/transport antecede/wire antecede_audit/judging/test_kernel.py antecede_lab/checker \
    antecede_lab/comparison antecede_lab/protocols antecede_lab/simulator antecede_lab/wire \
    broken/test_facts_mutants.py broken/test_link_mutants.py broken/test_member_mutants.py)

.DELETE_ON_ERROR:
.PHONY: help test checked-then-compiled checked-then-beside test-interpreted test-compiled test-beside test-full test-stability coverage mutants check \
    compile compile-tests wheels proofs demo docs bench reproduce format pin clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "make %-18s %s\n", $$1, $$2}'

test: $(INSTALLED) ## Everything that must pass: checks, then the suite; in minutes
	$(MAKE) --no-print-directory --output-sync=target -j2 checked-then-compiled checked-then-beside

# Nothing is tested that the checks complain about. The interpreted half need not wait for the compiler.
checked-then-compiled: check compile-tests
	$(MAKE) --no-print-directory --output-sync=none test-compiled SHARE=$(SEEDS)

checked-then-beside: check
	$(MAKE) --no-print-directory --output-sync=none test-beside

test-compiled: compile-tests ## Every test, on a compiled build
	ANTECEDE_SHARE=$(SHARE) ANTECEDE_EXPECT=compiled ANTECEDE_BUDGET=compiled $(TESTED_PYTHON) $(PYTEST) $(CHECKED_BEFORE) tests

test-interpreted: $(INSTALLED) ## The tests of what is compiled, on the sources as they stand
	ANTECEDE_SHARE=$(SHARE) ANTECEDE_EXPECT=interpreted ANTECEDE_BUDGET=interpreted $(VENV)/bin/python $(PYTEST) $(BOTH_BUILDS)

# One more process than cores: live nodes and Spark wait now and then. The compiled build tries more
# seeds, this one every fifth. Nobody hands out its tests (JOBS=0), which would cost two milliseconds
# each. It says nothing until it is done.
test-beside: $(INSTALLED)
	@mkdir -p build
	@$(MAKE) --no-print-directory test-interpreted JOBS=0 SHARE=fifth > build/interpreted.log 2>&1; \
	    status=$$?; tail -n $$((status ? 200 : 3)) build/interpreted.log; exit $$status

test-full: test compile ## And all of it on both builds, optimised; long campaigns; properties with more examples
	ANTECEDE_EXPECT=interpreted $(VENV)/bin/python $(PYTEST) $(CHECKED_BEFORE) $(NO_SPARK) tests
	ANTECEDE_EXPECT=compiled $(COMPILED_PYTHON) $(PYTEST) $(CHECKED_BEFORE) $(NO_SPARK) tests
	ANTECEDE_EXPECT=compiled $(COMPILED_PYTHON) $(PYTEST) -m long tests
	ANTECEDE_CAMPAIGN=long ANTECEDE_EXPECT=compiled $(COMPILED_PYTHON) $(PYTEST) tests/properties tests/antecede/wire tests/antecede_lab/wire

test-stability: compile-tests ## The suite TIMES times, BUSY of them beside four busy loops: 10 and 3
	$(VENV)/bin/python -m tests.stability --times $(TIMES) --busy $(BUSY) -- \
	    env ANTECEDE_EXPECT=compiled $(TESTED_PYTHON) $(PYTEST) $(CHECKED_BEFORE) tests

coverage: $(INSTALLED) ## Which lines the tests reach (interpreted, without Spark); build/coverage has pages
	rm -f build/coverage.data*
	$(VENV)/bin/python -m coverage run -m pytest -q -n $(JOBS) --dist worksteal $(CHECKED_BEFORE) \
	    $(NO_SPARK) --ignore=tests/test_packaging.py --ignore=tests/antecede_audit/report tests
	$(VENV)/bin/python -m coverage combine --quiet
	$(VENV)/bin/python -m coverage html --quiet
	$(VENV)/bin/python -m coverage report

mutants: $(INSTALLED) ## Change the sources a little, and see whether the tests notice: MUTANTS="path --number 20"
	$(VENV)/bin/python -m tests.mutation $(MUTANTS)

check: $(INSTALLED) ## Lint, format, types, import contracts, tidiness
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy $(CHECKED)
	$(VENV)/bin/lint-imports --no-cache
	$(VENV)/bin/python -m pytest -q tests/test_tidy.py

compile-tests: $(TESTED)

compile: $(COMPILED) ## Build the compiled package into build/compiled, if anything has changed

wheels: $(INSTALLED) ## Build the archives of a release into dist, and try each in a clean environment
	$(PIP) -c constraints.txt --group wheels
	$(VENV)/bin/python .ci/wheels.py --optimize $(OPTIMIZE)

proofs: $(INSTALLED) ## Check the proofs of the guarantee; needs coqc and spin
	ANTECEDE_MUST_RUN=Coq,Spin $(VENV)/bin/python $(PYTEST) tests/proofs

demo: compile ## Real processes on a bad network, audited on Spark: see it, in runs/demo/report.html
	$(COMPILED_PYTHON) -m antecede demo --out runs/demo $(DEMO)

docs: $(INSTALLED) ## Build the documents as a site, into build/site
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --quiet
	@echo "The site is in build/site/index.html"

bench: compile ## Measure speed; bench/README.md explains the figures
	for name in $(BENCH); do $(COMPILED_PYTHON) -m bench $$name || exit 1; done

reproduce: compile ## Make the figures of the documents again, and say what drifted: REPRODUCE="--minutes 5"
	PYTHONPATH="$(CURDIR)/$(COMPILED_TREE):$(CURDIR)" $(VENV)/bin/python -m bench reproduce $(REPRODUCE)

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
	ANTECEDE_COMPILE=require ANTECEDE_OPTIMIZE=$(if $(filter tested,$*),0,3) \
	    $(PIP) --no-deps --no-build-isolation --target build/$* .
	@touch $@

FORCE:
