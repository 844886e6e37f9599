# Everything runs in .venv, which any of these commands makes and keeps up to date by itself.
# It needs a Python from 3.11 on and make, nothing else.

VENV ?= .venv
ARGS ?=
JOBS ?= 2
PYTHON ?= python3.14 python3.13 python3.12 python3.11 python3 python

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
COMPILE := PIP_CONFIG_FILE=/dev/null CUSTOM_COMPILE_COMMAND="make lock" \
	env -u PIP_FIND_LINKS -u PIP_EXTRA_INDEX_URL -u PIP_INDEX_URL \
	$(BIN)/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run test lint format types imports check bench screenshots lock clean

help:
	@echo "make run          start tui-agent        (make run ARGS='--demo' needs no key and no network)"
	@echo "make test         run the tests          (make test ARGS='-k name')"
	@echo "make check        what has to pass before a merge: lint, types, imports, test"
	@echo "make lint         ruff: rules and layout"
	@echo "make format       let ruff fix what it can"
	@echo "make types        basedpyright, strict"
	@echo "make imports      the layers of docs/architecture.md"
	@echo "make bench        print the benchmarks' table"
	@echo "make screenshots  draw the pictures in screenshots/"
	@echo "make lock         pin the dependencies again (ARGS=--upgrade for newer ones)"
	@echo "make clean        remove .venv and every cache"
	@echo
	@echo "PYTHON=/path/to/python picks the interpreter; without it the newest one found is used."

run: $(VENV)/.runtime
	@$(BIN)/tui-agent $(ARGS)

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.dev
	$(BIN)/basedpyright

imports: $(VENV)/.dev
	$(BIN)/lint-imports

check: lint types imports test

bench: $(VENV)/.dev
	$(BIN)/python -m tests.benchmarks $(ARGS)

screenshots: $(VENV)/.dev
	$(BIN)/python -m tests.screenshots $(ARGS)

# From the public index alone, whatever else pip is set up with here, so that every machine gets the same two files.
lock: $(VENV)/.dev
	$(COMPILE) $(ARGS) --extra build --output-file requirements.txt pyproject.toml
	$(COMPILE) $(ARGS) --extra build --extra dev --constraint requirements.txt --output-file requirements-dev.txt pyproject.toml

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find tui_agent tests -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps: a file under .venv newer than what it was made from, so that a second run starts at once.

$(VENV)/.dev: $(VENV)/.runtime requirements-dev.txt
	@echo "Installing the tools for tests and checks (once) ..."
	@$(PIP) install --quiet --require-hashes --requirement requirements-dev.txt
	@touch $@

$(VENV)/.runtime: $(VENV)/.python requirements.txt pyproject.toml
	@echo "Installing tui-agent and what it stands on into $(VENV) (once, about a minute) ..."
	@$(PIP) install --quiet --require-hashes --requirement requirements.txt
	@$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q tui_agent
	@touch $@

$(VENV)/.python:
	@good='import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))'; \
	old='import sys; sys.exit(sys.version_info < (3, 11))'; \
	found=; bare=; \
	for python in $(PYTHON); do \
		if "$$python" -c "$$good" >/dev/null 2>&1; then found=$$python; break; fi; \
		if [ -z "$$bare" ] && "$$python" -c "$$old" >/dev/null 2>&1; then bare=$$python; fi; \
	done; \
	if [ -z "$$found" ] && [ -n "$$bare" ]; then \
		version=$$("$$bare" -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
		echo "$$bare (Python $$version) cannot make virtual environments: its module ensurepip is missing." >&2; \
		echo "On Debian and Ubuntu: apt install python$$version-venv. Then run make again." >&2; \
		exit 1; \
	fi; \
	if [ -z "$$found" ]; then \
		echo "tui-agent needs Python 3.11 or newer, and none was found (looked for $(PYTHON))." >&2; \
		echo "Install one, or name it: make run PYTHON=/path/to/python" >&2; \
		exit 1; \
	fi; \
	rm -rf $(VENV); "$$found" -m venv $(VENV)
	@touch $@
