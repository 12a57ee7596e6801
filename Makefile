# SPDX-License-Identifier: MIT OR Apache-2.0
# Every target makes its environment first; the second call finds it and needs no network.

VENV ?= .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check install --quiet
# One stamp for each set of extras, renewed when the requirements change.
DONE := $(VENV)/installed

.DEFAULT_GOAL := help
.PHONY: help demo test dev bench verify lint env clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(DONE)/demo  ## compile a model, run it and compare it with onnxruntime
	$(PY) examples/demo.py

test: $(DONE)/test,lint  ## check style and types, run lit and pytest
	@$(PY) .ci/check.py style format limits types lit pytest

dev: $(DONE)/dev,torch  ## make the full environment and install the commit hooks
	@if [ -d .git ]; then $(VENV)/bin/pre-commit install; fi
	@echo "Ready: . $(VENV)/bin/activate"

bench: $(DONE)/bench  ## measure, and write bench/results
	$(PY) -m bench.compile.startup
	$(PY) -m bench.model_table

# What takes too long for `make test`: each is a program with options of its own.
VERIFY := verify.fuzz.mlir verify.fuzz.archives verify.random_graphs verify.architectures

verify: $(DONE)/verify  ## try hostile files, random graphs and the networks of model libraries
	set -e; for module in $(VERIFY); do $(PY) -m $$module; done

lint: $(DONE)/lint  ## check style and types only
	@$(PY) .ci/check.py style format limits types

env: $(DONE)/test,lint  ## make the environment of `make test`

clean:  ## remove the environment and everything built
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(PY):
	$$(sh .ci/find_python.sh) -m venv $(VENV)

$(DONE)/%: pyproject.toml setup.py | $(PY)
	$(PIP) --editable '.[$*]'
	@mkdir -p $(DONE) && touch '$@'
