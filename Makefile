# Two commands for a fresh machine: `make demo` and `make test`. Both set up what they need.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test check setup browser engine board clean help

help:
	@echo "make demo     set up and run the main job: sparrow-nano on recorded web pages"
	@echo "make test     set up and pass the tests"
	@echo "make check    lint, types and import layers"
	@echo "make board    evaluate the baselines and publish a board to site/"
	@echo "make browser  find or install a Chromium"
	@echo "make engine   install Docker, bubblewrap and busybox (Debian or Ubuntu)"

$(VENV)/.user: pyproject.toml setup.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "arena needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2; exit 4; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) \
	  || { echo "no venv module: on Debian run: sudo apt-get install python3-venv" >&2; exit 4; }
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[all]'
	@touch $@

$(VENV)/.dev: $(VENV)/.user
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[all,dev]'
	@touch $@

setup: $(VENV)/.user

browser: $(VENV)/.user
	@bash docker/browser.sh $(BIN)/python

engine:
	@bash docker/engine.sh

demo: setup browser
	$(BIN)/arena eval --model sparrow-nano --domain web

test: $(VENV)/.dev browser
	$(BIN)/python -m pytest -m "not gpu and not slow_vllm" $(PYTEST_ARGS)

check: $(VENV)/.dev
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy -p arena
	$(BIN)/lint-imports

board: setup browser engine
	$(BIN)/arena sandbox build
	bash benchmarks/board.sh $(BIN)/arena

clean:
	rm -rf build *.egg-info .mypy_cache .ruff_cache .pytest_cache
