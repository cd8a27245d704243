# Every target makes .venv on first use and reuses it; a changed setup.cfg or set-up script renews it.
#
#   make PYTHON=/path/to/python ...   another Python (3.11 or newer) than the first on PATH
#   make bench SUITE=paper ARGS=...   another suite, further options of `pacb bench`
#   make test ARGS='-k frontier'      further options of pytest
#   make fuzz MINUTES=5               how long to search; SEED=N runs the examples of one seed again

SUITE ?= quick
MINUTES ?= 30
BIN := .venv/bin
# Who is done first takes over half of what the others have left: the longest tests are the last.
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal

# The raw UCI files, where they lie beside the checkout; set PACB_DATA to have them elsewhere.
ifneq ($(wildcard ../shared/data),)
export PACB_DATA ?= $(abspath ../shared/data)
endif

# pytest rewrites the asserts of every test file. Kept, that is done once and not by every process of every run.
export PYTHONDONTWRITEBYTECODE =

.DEFAULT_GOAL := help
.PHONY: help bench field starts votes instances test quick fuzz test-cpus coverage mutants docs wheel lint setup clean

help:               ## this list
	@sed -n 's/^\([a-z-]*\): .*## /\1\t/p' Makefile | expand -t 12

bench: .venv/ready-run    ## the main job: every solver on every problem of a suite, and a report in results/
	$(BIN)/pacb bench --suite $(SUITE) $(ARGS)

field: .venv/ready-run    ## every solver on every problem three times, the paper's from 20 starts: docs/field.md (two hours)
	$(BIN)/pacb bench --suite field --repeat 3 --out results/field --resume --no-report $(ARGS)
	$(BIN)/pacb bench --suite field --solvers fixed-point,ipopt,ccp --starts 20 --seed 1 --out results/field --resume \
		--page docs/field.md $(ARGS)

starts: .venv/ready-run   ## where local methods end, from 20 random starts: the page docs/starts.md
	$(BIN)/pacb bench --suite starts --starts 20 --seed 1 --out results/starts --resume --page docs/starts.md $(ARGS)

votes: .venv/ready-run    ## bounds for the votes of random forests: the page docs/forests.md
	$(BIN)/pacb bench --suite votes --out results/votes --resume --page docs/forests.md $(ARGS)

instances: .venv/ready-run  ## all frozen problems and votes with their proofs, for other solvers, in dist/hard.tar.xz
	$(BIN)/pacb export hard constrained rivals votes --out build/hard --archive dist/hard.tar.xz

# One process more than there are cores: some tests wait.
test: lint                ## lint, then the whole test suite
	$(PYTEST) -n $$(($$(nproc) + 1)) --durations=20 $(ARGS)

quick: .venv/ready-dev    ## the tests that need no other process, page, wheel or browser, in a minute
	$(PYTEST) -m 'not outside and not long' $(ARGS)

fuzz: .venv/ready-dev     ## look for examples that break a property, for MINUTES (30), and say how to repeat one
	$(BIN)/python -P tests/fuzz.py --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(ARGS)

test-cpus: .venv/ready-dev  ## the test suite as on processors with AVX2 only and SSE only, and on this one
	$(BIN)/python -P tests/run_on_cpus.py $(ARGS)

coverage: .venv/ready-dev ## the tests with branch coverage; the report in build/coverage
	$(PYTEST) --cov --cov-branch --cov-report=html:build/coverage --cov-report=term:skip-covered $(ARGS)

mutants: .venv/ready-dev  ## a sample of mutants of the formulas, and which of them the tests notice
	$(BIN)/python tools/mutants.py $(ARGS)

docs: .venv/ready-dev     ## the documentation as a site in build/docs, warnings as errors
	$(BIN)/mkdocs build --strict --site-dir build/docs

wheel: .venv/ready-dev    ## sdist and wheel in dist/
	$(BIN)/python -m build --no-isolation --outdir dist .
	@rm -rf *.egg-info  # left by building; Python would read it in place of the installed package's metadata

lint: .venv/ready-dev     ## rules, format and types: ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tools/namespace.py > /dev/null
	$(BIN)/python -m mypy

setup:              ## try again what set-up could not install
	@sh tools/setup.sh

clean:              ## remove what make made, but for results/
	rm -rf .venv .setup.log build dist *.egg-info .pytest_cache .hypothesis .ruff_cache .mypy_cache .coverage*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/ready-%: setup.cfg pyproject.toml $(wildcard tools/*.py tools/*.sh)
	@sh tools/setup.sh $*
