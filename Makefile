# `make check` and `make test` set up everything they need, also on a machine that has Python 3.11 and apt only.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
ROOT := $(if $(filter 0,$(shell id -u)),,sudo)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: check test lint docs site bench wheel java npm clean

check: $(VENV)/ready  # every claim in specs/ comes out as it says
	$(BIN)/highwater check specs

test: $(VENV)/ready-dev java npm  # format, lint and all tests, of which one is that types are right
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest -n auto --dist loadgroup

lint: $(VENV)/ready-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/ready  # the reference pages, from the code
	$(BIN)/python docs/generate.py

site: $(VENV)/ready npm  # the documentation as a static site, with the counterexamples of the gallery and the playground, in build/site
	$(PIP) --editable '.[site]'
	$(BIN)/python docs/site.py $(SITE)

bench: $(VENV)/ready
	$(BIN)/python bench/kip_320.py

wheel: $(VENV)/ready  # a wheel in dist/ that brings machine code and the gallery's trees, so that nothing is compiled or learned where it is installed
	$(BIN)/python -m highwater.explorer.kernels.making.ahead explorer/kernels/machine_code
	rm -rf build/gallery explorer/search/trees
	XDG_CACHE_HOME="$(CURDIR)/build/gallery" $(BIN)/highwater check specs
	cp -r build/gallery/highwater/trees-* explorer/search/trees
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	rm -r explorer/search/trees

java:  # for the tests on Spark, which needs 17 or newer; Debian 13 has none older than 21
	@command -v java >/dev/null || [ -n "$$JAVA_HOME" ] || { $(ROOT) apt-get update -qq && \
		{ $(ROOT) apt-get install -y -qq openjdk-17-jre-headless || $(ROOT) apt-get install -y -qq openjdk-21-jre-headless; }; }

npm: $(VENV)/ready  # fetches Python for browsers, for the playground
	@command -v npm >/dev/null || [ -x $(BIN)/npm ] || $(PIP) --editable '.[npm]'

$(VENV)/ready: pyproject.toml $(BIN)/pip
	$(PIP) --editable .
	touch $@

$(VENV)/ready-dev: pyproject.toml $(BIN)/pip
	$(PIP) --upgrade pip  # Debian's is of 2023, and makes no wheel of pyspark
	DIST_EXTRA_CONFIG="$(CURDIR)/.ci/wheels.cfg" $(PIP) --editable '.[dev,spark]'
	touch $(VENV)/ready $@

$(BIN)/pip:  # Debian splits the module that makes virtual environments off
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'highwater needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 ...' >&2; exit 1; }
	$(PYTHON) -c 'import ensurepip' 2>/dev/null || { $(ROOT) apt-get update -qq && \
		$(ROOT) apt-get install -y -qq "python$$($(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv"; }
	$(PYTHON) -m venv $(VENV)

clean:
	rm -rf $(VENV) build *.egg-info
