# Every target makes the environment it needs; the second run finds it ready.
#   .venv         the package alone, then with what the tests need (no PyTorch)
#   .venv-parity  the package beside PyTorch

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

export PIP_DISABLE_PIP_VERSION_CHECK = 1
export PIP_ROOT_USER_ACTION = ignore
PYTEST_FLAGS ?= -q

.DEFAULT_GOAL := help
.PHONY: demo test parity lint bench clean help

demo: .venv/.installed ## train a digit classifier and write demo.html with its loss curve (under half a minute)
	@.venv/bin/tensorgrad demo

test: .venv/.installed-test ## run the tests and every docstring's example (no PyTorch needed)
	@.venv/bin/python -m pytest $(PYTEST_FLAGS)

parity: .venv-parity/.installed ## install PyTorch and compare with it
	@.venv-parity/bin/python -m pytest $(PYTEST_FLAGS) tests/parity

lint: .venv/.installed-test ## check format, style and types
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/pyright

bench: .venv-parity/.installed ## time tensorgrad beside PyTorch
	@.venv-parity/bin/tensorgrad bench

clean: ## remove the environments and everything that running leaves
	rm -rf .venv .venv-parity .pytest_cache .ruff_cache .hypothesis build dist demo.html graph.html
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "tensorgrad needs Python 3.11 or later; say which: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv .venv

.venv-parity/bin/python:
	@test -n "$(PYTHON)" || { echo "tensorgrad needs Python 3.11 or later; say which: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv .venv-parity

.venv/.installed: pyproject.toml | .venv/bin/python
	@echo "installing tensorgrad into .venv ..."
	@.venv/bin/pip install --quiet --editable .
	@touch $@

.venv/.installed-test: pyproject.toml | .venv/bin/python
	@echo "installing tensorgrad and its test tools into .venv ..."
	@.venv/bin/pip install --quiet --editable '.[test]'
	@touch .venv/.installed $@

.venv-parity/.installed: pyproject.toml | .venv-parity/bin/python
	@echo "installing tensorgrad and PyTorch into .venv-parity (PyTorch is large) ..."
	@.venv-parity/bin/pip install --quiet --editable '.[parity]'
	@touch $@
