# Everything a fresh machine needs is Python 3.11 or later, pip and make.
PYTHON ?= python3
BIN := .venv/bin
# Modules that have a stub, which mypy reads instead where they are not named.
FACES := $(addprefix src/wengert/, __init__.py fft.py linalg.py signal.py special.py)

# Which sample of the tests `make test` runs: any word, or the hash of the commit.
SAMPLE ?= commit

# How long `make soak` takes.
MINUTES ?= 60

.PHONY: help demo test test-all test-gpu lint types docs portability fuzz soak bench clean

help:
	@echo "make demo          explain a derivative: print its table, and write an interactive page, explanation.html"
	@echo "make test          lint, type-check, and run the tests, with a sample of the long ones: six minutes on two cores"
	@echo "make test CHANGED=1   the same, of what depends on the last commit and the working tree; CHANGED=main since main"
	@echo "make test-all      run all tests"
	@echo "make test-gpu      run the tests of arrays on devices on a GPU (installs CuPy)"
	@echo "make docs          build the site, build/site/index.html, without network"
	@echo "make portability   run the tests that may depend on the machine, for other processors and with the oldest dependencies"
	@echo "make fuzz          run random programs in every mode, on shrunken machines, with random decisions and with large arrays"
	@echo "make soak MINUTES=60   run fuzzers, compilations, training, threads, forks and interrupts for so long; report memory and hangs"
	@echo "make bench         compare the speed with PyTorch, JAX and autograd (installs them)"
	@echo "make clean         remove the virtual environments and caches"

demo: .venv/installed
	$(BIN)/wengert explain "ln(x1) + x1*x2 - sin(x2)" x1=2 x2=5 --html explanation.html

test: lint types
	$(BIN)/python -m pytest -n auto --dist worksteal --sample=$(SAMPLE) $(if $(CHANGED),--changed=$(CHANGED))

test-all: .venv/installed-dev
	$(BIN)/python -m pytest -n auto --dist worksteal

test-gpu: .venv/installed-cuda
	WENGERT_TEST_DEVICE=cuda $(BIN)/python -m pytest -n 8 tests/devices tests/compiler/targets

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/installed-dev
	$(BIN)/mypy
	$(BIN)/mypy --follow-imports=silent $(FACES)

docs: .venv/installed-dev
	$(BIN)/python -m tools.site.pictures
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "open build/site/index.html"

portability: .venv/installed-dev .venv-minimum/installed
	$(BIN)/python tools/portability.py
	.venv-minimum/bin/python tools/portability.py native

fuzz: .venv/installed-dev
	$(BIN)/python -m tools.fuzz --programs 2000 --jobs 2
	$(BIN)/python -m tools.fuzz --machines --programs 5000 --jobs 2 --minutes 60
	$(BIN)/python -m tools.fuzz --schedules --programs 2000 --jobs 2 --minutes 60
	$(BIN)/python -m tools.fuzz --large --programs 1000 --jobs 2 --minutes 60

soak: .venv/installed-dev
	$(BIN)/python -m tools.soak --minutes $(MINUTES)

bench: .venv/installed-bench
	$(BIN)/python -m benchmarks

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

.venv/installed-dev: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev,nn,viz,distributed,docs]"
	@touch $@

.venv/installed-cuda: .venv/installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[cuda]"
	@touch $@

.venv/installed-bench: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[bench]"
	@touch $@

.venv-minimum/installed: pyproject.toml tools/portability.py .venv/installed-dev
	$(PYTHON) -m venv .venv-minimum
	$(BIN)/python tools/portability.py --minimum > .venv-minimum/constraints.txt
	.venv-minimum/bin/python -m pip install --quiet --disable-pip-version-check -c .venv-minimum/constraints.txt -e ".[dev,nn,viz]"
	@touch $@

clean:
	rm -rf .venv .venv-minimum .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist explanation.html
	find . -name __pycache__ -type d -exec rm -rf {} +
