# Everything a fresh machine needs is Python 3.11 or later, pip and make.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help demo test lint types bench fuzz clean

help:
	@echo "make demo    how a derivative comes about: a table here, and a page to play through, explanation.html"
	@echo "make test    lint, type-check, and run all tests"
	@echo "make fuzz    2 000 random programs in every mode, against each other and against differences"
	@echo "make bench   compare with PyTorch, JAX and autograd (installs them)"
	@echo "make clean   remove the virtual environment and caches"

demo: .venv/installed
	$(BIN)/wengert explain "ln(x1) + x1*x2 - sin(x2)" x1=2 x2=5 --html explanation.html

test: lint types
	$(BIN)/python -m pytest -n auto

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/installed-dev
	$(BIN)/mypy

fuzz: .venv/installed-dev
	$(BIN)/python -m tools.fuzz --programs 2000 --jobs 2

bench: .venv/installed-bench
	$(BIN)/python -m benchmarks

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

.venv/installed-dev: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev,viz]"
	@touch $@

.venv/installed-bench: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[bench]"
	@touch $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist explanation.html
	find . -name __pycache__ -type d -exec rm -rf {} +
