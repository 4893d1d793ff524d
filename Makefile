# make book    render the book into _build/html
# make test    everything that is checked: lint, types, pages, unit tests, notebooks, HTML
# make page PAGE=prieto2025/fig02 SCALE=laptop    retrain one page and execute it
#     ... SET='optimizer.lr=0.02' ARMS='lr 0.05*'    with a setting changed, in some arms
# make pdf     the whole book as a PDF, printed by an installed Chromium in minutes
# make sphinx  the book by plain Sphinx, without Jupyter Book, into _build/sphinx
# make links   every address that the book names, asked over the network
# make workflow    Snakemake in an environment of its own, workflow/.venv, for a cluster
# make clean   remove what was built (environments stay; `rm -r .venv .venv-sphinx` removes them)

PYTHON ?= python3
PAGE ?=
SCALE ?= laptop
DEVICE ?= auto
SET ?=
ARMS ?=

# The environment that is active, or else .venv. That of conda itself is left alone.
CONDA := $(if $(filter-out base,$(CONDA_DEFAULT_ENV)),$(CONDA_PREFIX))
VENV := $(or $(VIRTUAL_ENV),$(CONDA),.venv)
BIN := $(VENV)/bin
READY := $(VENV)/.ready
HTML := _build/html/index.html
BOOK := $(BIN)/jupyter-book build . -W --keep-going
NOTEBOOKS := $(wildcard book/*/*.ipynb)
NOT_TESTED := _build/not_tested.txt
FAILED := _build/failed.txt
BESIDE := _build/beside.txt

# One thread per process: members are trained by a pool of processes, and two threads
# that wait for each other on two busy cores cost far more than they bring.
export OMP_NUM_THREADS := 1
export OMP_WAIT_POLICY := PASSIVE
export PYDEVD_DISABLE_FILE_VALIDATION := 1
export JUPYTER_PLATFORM_DIRS := 1
# A home that cannot be written to stops nothing.
export MPLCONFIGDIR := $(CURDIR)/_build/.matplotlib
export IPYTHONDIR := $(CURDIR)/_build/.ipython
# As variables of the shell they are words, whatever they hold: `value` expands nothing.
override PAGE := $(value PAGE)
override SCALE := $(value SCALE)
override DEVICE := $(value DEVICE)
override SET := $(value SET)
override ARMS := $(value ARMS)
export PAGE SCALE DEVICE SET ARMS

.PHONY: book test page pdf sphinx links clean workflow workflow-test
.DELETE_ON_ERROR:

$(READY): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "The book needs Python 3.11 or newer and '$(PYTHON)' is not one:" \
	       "name another with 'make PYTHON=python3.11 ...'." >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --requirement requirements.txt
	$(BIN)/python -m pip install --quiet --no-build-isolation --no-deps --editable .
	@touch $@

book: $(READY)
	$(BOOK)
	@echo "The book is in $(HTML)"

# Every stage runs, whatever the others found, and two of one process run beside pytest,
# which has to wait for its kernels. The last lines say what was not tested, and which
# stages failed.
test: $(READY)
	@mkdir -p _build; rm -f $(NOT_TESTED) $(FAILED); \
	stage() { \
	  echo "== $$*"; begun=$$(date +%s); \
	  "$$@" || echo failed: $$1 $$2 $$3 >> $(FAILED); \
	  echo "   $$(($$(date +%s) - begun)) s"; }; \
	stage $(BIN)/ruff check .; \
	{ stage $(BIN)/mypy; stage $(BIN)/python -m book check; } > $(BESIDE) 2>&1 & \
	stage $(BIN)/python -m pytest -q -n 4 --dist loadscope tests \
	  --not-tested=$(NOT_TESTED) \
	  -p tests.warm --nbval --nbval-current-env --nbval-sanitize-with tests/nbval.cfg $(NOTEBOOKS); \
	wait; cat $(BESIDE); \
	test ! -f $(NOT_TESTED) || cat $(NOT_TESTED); \
	test ! -f $(FAILED) || { cat $(FAILED) >&2; exit 1; }

page: $(READY)
	@test -n "$$PAGE" || { \
	  echo "Which page? For example: make page PAGE=prieto2025/fig02 SCALE=laptop" >&2; \
	  exit 1; }
	$(BIN)/python -m book execute "$$PAGE" -p retrain True \
	  -p scale "$$SCALE" -p device "$$DEVICE" -p set "$$SET" -p arms "$$ARMS"

pdf: $(READY)
	$(BOOK) --builder singlehtml
	@mkdir -p _build/pdf
	$(firstword $(foreach name,chromium chromium-browser google-chrome,\
	  $(shell command -v $(name))) chromium) --headless --disable-gpu --no-sandbox \
	  --no-pdf-header-footer --generate-pdf-document-outline \
	  --virtual-time-budget=600000 --print-to-pdf=_build/pdf/grokking-book.pdf \
	  "file://$(CURDIR)/_build/singlehtml/intro.html"

# What differs lies in a folder of its own, whose packages are found before the others.
.venv-sphinx/.ready: requirements-sphinx.txt $(READY)
	$(BIN)/python -m pip install --quiet --no-deps --upgrade --target .venv-sphinx --requirement $<
	@touch $@

sphinx: .venv-sphinx/.ready
	PYTHONPATH=.venv-sphinx $(BIN)/python -m sphinx -W --keep-going book _build/sphinx
	@echo "The book is in _build/sphinx/index.html"

links: $(READY)
	$(BOOK) --builder linkcheck

clean:
	rm -rf _build book/generated data/reruns .pytest_cache .ruff_cache .mypy_cache

workflow: workflow/.venv/.ready

workflow/.venv/.ready: workflow/requirements.txt
	$(PYTHON) -m venv workflow/.venv
	workflow/.venv/bin/python -m pip install --quiet --requirement $<
	@touch $@

workflow-test: $(READY) workflow
	$(BIN)/python -m pytest -q tests/test_workflow.py
