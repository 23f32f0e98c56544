# Each target prepares .venv by itself; a second call does not install again.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt

.PHONY: demo test check format night bench docs clean

demo: $(VENV)/.runtime
	$(BIN)/hyperfact demo

test: $(VENV)/.dev $(VENV)/.system
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow" $(ARGS)

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_architecture.py tests/test_public_api.py

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

night: $(VENV)/.night
	$(BIN)/python -m pytest -m slow $(ARGS)

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks $(ARGS)

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

$(VENV)/pyvenv.cfg:
	$(PYTHON) -m venv $(VENV)

# hatchling comes from the constraints too, so that building the package needs no second look-up.
$(VENV)/.runtime: $(VENV)/pyvenv.cfg pyproject.toml constraints.txt
	$(PIP) -e .
	touch $@

$(VENV)/.dev: $(VENV)/.runtime
	$(PIP) -e ".[dev]"
	touch $@

# A Chromium for the tests of the page, where one can be had; without it they are skipped.
$(VENV)/.system: $(VENV)/.dev
	$(BIN)/python -m tools.system
	touch $@

$(VENV)/.night: $(VENV)/.dev
	$(PIP) -e ".[dev,night]"
	touch $@

$(VENV)/.docs: $(VENV)/.runtime
	$(PIP) -e ".[docs]"
	touch $@

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache .hypothesis
