.DEFAULT_GOAL := help
.PHONY: help install demo test test-lowest lint format typecheck imports docs bench all

UV ?= uv
RUN := $(UV) run --no-sync

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

install:  ## set up .venv with everything that tests and examples need
	$(UV) sync --quiet --all-groups

demo: install  ## prepare a recorded session's next prompt and show what happened
	$(RUN) ctx demo

test: install  ## run all tests; those whose server cannot be had skip with a reason
	$(RUN) pytest

test-lowest:  ## run the plug-ins' and the core's tests on the lowest supported versions
	bash tests/lowest.sh

lint:  ## ruff, codespell
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) codespell README.md CONTRIBUTING.md docs packages tests examples bench

format:  ## format and mend what can be mended
	$(RUN) ruff check --fix .
	$(RUN) ruff format .

typecheck:  ## basedpyright on everything, mypy as our users run it
	$(RUN) basedpyright
	$(RUN) mypy --strict tests/typing/api.py

imports:  ## imports point one way
	$(RUN) lint-imports

docs:  ## build the documentation into site/
	$(UV) run --no-sync --with zensical zensical build

bench:  ## run every benchmark; each prints ratios to a stated baseline
	for file in bench/bench_*.py; do $(RUN) python $$file; done

all: lint typecheck imports test  ## everything that must pass
