# Everything a fresh machine needs is Python 3.11 or later, pip and make.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help demo test lint types bench clean

help:
	@echo "make demo    the running example, from value to gradient descent"
	@echo "make test    lint, type-check, and run all tests"
	@echo "make bench   compare with PyTorch, JAX and autograd (installs them)"
	@echo "make clean   remove the virtual environment and caches"

demo: .venv/installed
	$(BIN)/python examples/running_example.py

test: lint types
	$(BIN)/python -m pytest -n auto

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/installed-dev
	$(BIN)/mypy

bench: .venv/installed-bench
	$(BIN)/python -m benchmarks

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

.venv/installed-dev: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	@touch $@

.venv/installed-bench: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[bench]"
	@touch $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find . -name __pycache__ -type d -exec rm -rf {} +
