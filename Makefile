# Two commands for a newcomer: `make run` and `make test`. All of it works on a fresh Debian or Ubuntu with Python 3.11+.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One BLAS thread a process: two processes with two threads each are many times slower on two cores.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1

.PHONY: help setup run docs test test-versions browser faults check bench bench-ppo study experiments tables figures clean

help:
	@echo "make run      four PPO agents learn to land on the moon, and show the schedule they learned (three minutes)"
	@echo "make test     check and test everything"
	@echo "make test-versions  the core tests under every Python from 3.11 on that is here, and the lowest numpy and scipy"
	@echo "make faults   every fault, and a table of how each ended: kills, power cuts, full disks, damage, chaos (hours)"
	@echo "make check    format, lint, types and layers only"
	@echo "make bench    speed against Ray's PB2, and quality on problems with a known optimum"
	@echo "make study    every ingredient of PB2 alone and left out (hours; goes on where it stopped)"
	@echo "make experiments  every missing result of the bench of real training, the study and the paper (days; goes on where it stopped)"
	@echo "make tables   the tables and figures of README and docs, from results/"
	@echo "make bench-ppo  PPO's speed against random play and RLlib's PPO (RLlib is installed beside, for this only)"
	@echo "make docs     the documentation as a site, in site/"
	@echo "make figures  the figures of the README and the docs"

setup: $(VENV)/.ready

# One environment, and a stamp for each set of extras in it: what `make run` needs, all that is tested, the benchmarks.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "popbandits needs Python 3.11 or newer, but $(PYTHON) is $$($(PYTHON) --version)"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
		{ rm -rf $(VENV); echo "could not make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv"; exit 1; }

$(VENV)/.demo: pyproject.toml constraints/all.txt | $(BIN)/python
	@tools/install $(VENV) demo envpool
	@touch $@

$(VENV)/.ready: pyproject.toml constraints/all.txt | $(BIN)/python
	@tools/install $(VENV) all,dev
	@touch $(VENV)/.demo $@

$(VENV)/.bench: $(VENV)/.ready
	@tools/install $(VENV) bench
	@touch $@

run: $(VENV)/.demo
	@echo "training four PPO agents on LunarLander for 20 intervals, about three minutes"
	@$(BIN)/popbandits run ppo/LunarLanderContinuous-v3 --population 4 --intervals 20
	@$(BIN)/popbandits schedule "$$(ls -td runs/LunarLander-* | head -n 1)"
	@echo "the report, for your browser:"
	@$(BIN)/popbandits report "$$(ls -td runs/LunarLander-* | head -n 1)"
	@echo "a page that follows runs while they train: $(BIN)/popbandits dashboard"

docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html"

check: setup
	@echo "checking format, style, types and layers"
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports > /dev/null || $(BIN)/lint-imports

AXE := $(VENV)/axe

# Browser tests need Chromium, which pip cannot install, and axe-core, which is npm's. Where we may not either, they are skipped, and say so.
browser: setup
	@command -v chromium > /dev/null || command -v chromium-browser > /dev/null || \
		{ [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && export DEBIAN_FRONTEND=noninteractive && \
		{ apt-get install -y -qq chromium || { apt-get update -qq && apt-get install -y -qq chromium; }; } > /dev/null 2>&1; } || \
		echo "Chromium is not installed: browser tests will be skipped (Debian and Ubuntu: apt-get install chromium)"
	@test -f $(AXE)/node_modules/axe-core/axe.min.js || \
		npm install --silent --no-audit --no-fund --prefix $(AXE) axe-core@4.14.0 > /dev/null 2>&1 || \
		echo "npm could not install axe-core: accessibility will not be checked (Debian and Ubuntu: apt-get install npm)"

test: check browser
	@echo "running all tests, about 15 minutes on two cores"
	@$(BIN)/pytest -n 2 --dist loadgroup

test-versions: setup
	$(BIN)/python -m tests.versions

faults: setup
	POPBANDITS_ALL_FAULTS=1 $(BIN)/pytest -n 3 tests/faults

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks.imports
	$(BIN)/python -m benchmarks.decision
	$(BIN)/python -m benchmarks.engine
	$(BIN)/python -m benchmarks.long_run
	$(BIN)/python -m benchmarks.vectorised
	$(BIN)/python -m benchmarks.ray_executor
	$(BIN)/python -m benchmarks.report
	$(BIN)/python -m benchmarks.dashboard
	$(BIN)/popbandits bench quality

study: $(VENV)/.bench
	$(BIN)/python -m benchmarks.study run
	$(BIN)/python -m benchmarks.study show

WORKERS ?= 2

experiments: $(VENV)/.bench
	$(BIN)/python -m benchmarks.experiments run --workers $(WORKERS)

tables: $(VENV)/.bench
	$(BIN)/python -m benchmarks.tables

# RLlib pins other versions than ours, so it has an environment of its own.
RLLIB := .venv-rllib

$(RLLIB)/.ready: constraints/rllib.txt
	test -x $(RLLIB)/bin/python || $(PYTHON) -m venv $(RLLIB)
	$(RLLIB)/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints/rllib.txt \
		'ray[rllib]' torch==2.13.0 gymnasium box2d pygame
	@touch $@

bench-ppo: setup $(RLLIB)/.ready
	$(BIN)/python -m benchmarks.ppo --rllib $(RLLIB)/bin/python

figures: $(VENV)/.bench tables
	$(BIN)/popbandits run ppo/LunarLanderContinuous-v3 --seed 0 --dir build/figure-run
	$(BIN)/python -m benchmarks.figure_run build/figure-run docs/run.svg lr
	$(BIN)/python -m benchmarks.figure_theory docs/theory.svg

clean:
	rm -rf $(VENV) $(RLLIB) site build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
