# Each target makes .venv if it is missing and installs what it needs; a second run is fast.
PYTHON ?= python3
# Another Python has an environment of its own: make test PYTHON=python3.13 uses .venv-3.13.
VENV ?= .venv$(if $(filter-out python3,$(PYTHON)),-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])'))
BIN := $(VENV)/bin
PIP_QUIET := --quiet --disable-pip-version-check

# Every target named below is a command, not a file.
.PHONY: $(shell sed -nE 's/^([a-z0-9-]+):.*/\1/p' Makefile)
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

# Python's own way takes three times as long: it compiles all of pip. It is left for Pythons without pip.
NEW_VENV = { $(PYTHON) -m venv --without-pip $(VENV) && \
  $(PYTHON) -m pip --python $(BIN)/python install $(PIP_QUIET) --no-compile pip; } > /dev/null 2>&1

# One stamp per set of extras, so that `make demo` installs little. Python compiles what the demo
# imports; all files, which takes longer than installing them, only where many processes start.
$(VENV)/.has-%: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "swnn_xp needs Python 3.11 or later; say which: make PYTHON=python3.12 ..." >&2; exit 2; }
	@echo "installing swnn_xp ($*) into $(VENV) ..." >&2
	@test -x $(BIN)/pip || $(NEW_VENV) || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install $(PIP_QUIET) --no-compile -e '.$(if $(filter core,$*),,[$*])'
	@$(if $(filter core serve,$*),,$(BIN)/python -m compileall -qq -j 0 -x /tests/ $(VENV)/lib || true)
	@touch $@

demo: $(VENV)/.has-serve ## the main job on the data set in the package, within a minute; in a terminal, then a page to try it on
	@$(BIN)/swnn demo

# The kernels are compiled first, by two processes: each of pytest's would compile them all, and one
# that is compiled in a test announces itself in the output of commands.
WARM_UP = $(1)/python -c 'from swnn_kernels.warming import warm_searches as warm; warm()' & \
  $(1)/python -c 'import swnn_kernels.warming as w; w.warm_training(); w.warm_ranking(); w.warm_rest()'; wait

test: $(VENV)/.has-test ## the test suite, on all cores; PYTHON= for another Python, TESTS= for a part of it, WRITE=1 to record how many tests there are
	@$(call WARM_UP,$(BIN))
	@env -u WRITE $(BIN)/python -m pytest -n auto --dist worksteal $(if $(WRITE),--junitxml=build/test.xml) $(TESTS)
	@$(if $(WRITE),$(BIN)/python scripts/figure_promises.py tests)

test-full: $(VENV)/.has-test ## what `make test` leaves out because it takes long or needs a browser; PYTHON=, TESTS=
	@$(call WARM_UP,$(BIN))
	@$(BIN)/python -m pytest -n auto --dist worksteal -m full $(TESTS)

faults: $(VENV)/.has-test ## kill saving, appending, compacting, predicting and training; lose power; use damaged and forged models; SEED=, KILLS=, DISKS=, MODELS=, WRITE=1
	@mkdir -p build
	@WRITE=$(WRITE) $(BIN)/python tests/faults/kills.py $(or $(SEED),1) $(or $(KILLS),600)
	@WRITE=$(WRITE) $(BIN)/python tests/faults/training.py $(or $(SEED),1) $(or $(KILLS),100) 2000
	@WRITE=$(WRITE) $(BIN)/python tests/faults/power_loss.py $(or $(DISKS),3000) $(or $(SEED),1)
	@WRITE=$(WRITE) $(BIN)/python tests/store/damage.py $(or $(SEED),1) $(or $(MODELS),5000) 2> build/faults.log || { tail -20 build/faults.log; exit 1; }
	@NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=build/checked-kernels $(BIN)/python tests/store/damage.py \
	  $(or $(SEED),1) $(or $(MODELS),5000) 2> build/faults.log || { tail -20 build/faults.log; exit 1; }

# The environment with torch, CuPy and Dask (shards) where `make test-backends` has made it.
FULLEST_VENV = $(if $(wildcard $(BACKENDS_VENV)/.done),$(BACKENDS_VENV),$(VENV))

soak: $(VENV)/.has-test ## every way to an answer against every other, from where the last run stopped; MINUTES= (10), SEED= ROUND= repeats one
	@OMP_NUM_THREADS=1 PYTHONPATH=tests:scripts $(FULLEST_VENV)/bin/python -m soak.soak \
	  $(if $(ROUND),$(or $(SEED),1) $(ROUND),$(or $(MINUTES),10))

promises: ## the table of docs/promises.md out of docs/data/promises
	@$(PYTHON) scripts/promises.py

beyond-int32: $(VENV)/.has-core ## index, save, open and ask 2,167,406,592 non-zeros (16 GB of memory, 14 of disk); FOLDER=/tmp, WRITE=1 to record it
	@WRITE=$(WRITE) $(BIN)/python scripts/beyond_int32.py $(or $(FOLDER),/tmp)

FUZZ_TARGETS := readers compressed json_lines documents names raw_manifest sealed_manifest array_files ranker_files command_line http_body http_rows

fuzz: ## hypothesis and atheris on every target of tests/fuzz; TARGETS=..., SECONDS=... for each (60); the total grows
	@$(MAKE) --no-print-directory VENV=.venv-fuzz .venv-fuzz/.has-fuzz
	@SWNN_FUZZ=$(or $(EXAMPLES),2000) .venv-fuzz/bin/python -m pytest -q tests/fuzz
	@mkdir -p build/fuzz
	@for target in $(or $(TARGETS),$(FUZZ_TARGETS)); do \
	  .venv-fuzz/bin/python tests/fuzz/run_atheris.py $$target $(or $(SECONDS),60) build/fuzz > build/fuzz/$$target.log 2>&1 \
	    || { tail -40 build/fuzz/$$target.log; exit 1; }; \
	done
	@PYTHONPATH=tests:scripts .venv-fuzz/bin/python -m fuzz.record build/fuzz

MIN_VENV ?= .venv-min

$(MIN_VENV)/.done: pyproject.toml
	@test -x $(MIN_VENV)/bin/python || $(PYTHON) -m venv $(MIN_VENV)
	@echo "installing the lowest allowed versions into $(MIN_VENV) ..." >&2
	@$(PYTHON) scripts/lowest_versions.py > $(MIN_VENV)/constraints.txt
	@$(MIN_VENV)/bin/python -m pip install $(PIP_QUIET) -c $(MIN_VENV)/constraints.txt -e '.[test]'
	@touch $@

test-min: $(MIN_VENV)/.done ## the suite on the lowest versions that pyproject.toml allows
	@$(call WARM_UP,$(MIN_VENV)/bin)
	@$(MIN_VENV)/bin/python -m pytest -n auto --dist worksteal

# Dask and the HTTP service, in an environment of their own: they bring some fifty packages.
EXTRAS_VENV ?= .venv-extras

$(EXTRAS_VENV)/.done: pyproject.toml
	@test -x $(EXTRAS_VENV)/bin/python || $(PYTHON) -m venv $(EXTRAS_VENV)
	@echo "installing swnn_xp (extras) into $(EXTRAS_VENV) ..." >&2
	@$(EXTRAS_VENV)/bin/python -m pip install $(PIP_QUIET) -e '.[extras]'
	@touch $@

# A test that hangs fails with the stacks of all threads, the second failure ends the run, and what
# even that can't end is ended. Generous, for machines that are slow and busy.
HANG_GUARD := --timeout=300 --maxfail=2 -o faulthandler_timeout=600 -o faulthandler_exit_on_timeout=true
EXTRAS_PAGES := docs/cluster.md docs/serving.md docs/tutorials/corrections.md docs/tutorials/debian.md

test-extras: $(EXTRAS_VENV)/.done ## the cluster (Dask) and the HTTP service: tests, tutorials, the page in Chromium
	@$(call WARM_UP,$(EXTRAS_VENV)/bin)
	@OMP_NUM_THREADS=1 timeout 900 $(EXTRAS_VENV)/bin/python -m pytest -q $(HANG_GUARD) \
	  tests/distributed tests/serve tests/supply/test_dependencies.py tests/text/test_corpus.py swnn_xp/distributed swnn_xp/serve $(EXTRAS_PAGES) \
	  tests/cli/test_streams.py::test_parquet tests/benchmarks/test_quality.py::test_one_vs_rest_is_that_of_scikit_learn \
	  'tests/fuzz/test_targets.py::test_target[http_body]' 'tests/fuzz/test_targets.py::test_target[http_rows]' \
	  $(foreach page,$(EXTRAS_PAGES),'tests/docs/test_code_blocks.py::test_shell_blocks[$(page)]')

# Annif pins old versions of much that we use, so it has an environment of its own.
ANNIF_VENV ?= .venv-annif
ANNIF ?= annif==1.4.*

$(ANNIF_VENV)/.done:
	@test -x $(ANNIF_VENV)/bin/python || $(PYTHON) -m venv $(ANNIF_VENV)
	@echo "installing $(ANNIF) into $(ANNIF_VENV) ..." >&2
	@$(ANNIF_VENV)/bin/python -m pip install $(PIP_QUIET) '$(ANNIF)'
	@touch $@

test-annif: $(EXTRAS_VENV)/.done $(ANNIF_VENV)/.done ## the service behind the real Annif: suggest, eval, an ensemble; two minutes
	@rm -rf build/annif && mkdir -p build/annif
	@$(EXTRAS_VENV)/bin/python tests/annif/with_annif.py $(ANNIF_VENV)/bin/annif build/annif

soak-serve: $(EXTRAS_VENV)/.done ## the service under full load, reloads and abuse: no 500, no growth; MINUTES=60, SEED=, WRITE=1 to record it
	@OMP_NUM_THREADS=1 $(EXTRAS_VENV)/bin/python tests/serve/soak.py $(or $(MINUTES),60) $(or $(SEED),1) $(if $(WRITE),--write)

bench-serving: $(EXTRAS_VENV)/.done ## the HTTP service under load (needs wrk); LEARN=ranking for a ranked model, THREADS=, DATA=... for a folder with train and test files
	@OMP_NUM_THREADS=1 $(EXTRAS_VENV)/bin/python asv_benchmarks/serving/load.py \
	  $(or $(DATA),../shared/data/eurlex57k) build/bench-serving $(or $(THREADS),1) $(LEARN)

bench-cluster: $(EXTRAS_VENV)/.done ## what a shard of a cluster costs; DATA=...
	@OMP_NUM_THREADS=1 $(EXTRAS_VENV)/bin/python asv_benchmarks/cluster/figures.py \
	  $(or $(DATA),../shared/data/eurlex57k)

# Real CuPy whose kernels run on the CPU, if its wheel lies beside the project; and torch. In an
# environment of their own, for they are large and the suite does not need them.
BACKENDS_VENV ?= .venv-backends
CUPY_ON_CPU ?= $(wildcard ../shared/tools/cupy-on-cpu/wheels/cupy_on_cpu-*.whl)
TORCH ?= torch==2.13.0

$(BACKENDS_VENV)/.done: pyproject.toml
	@test -x $(BACKENDS_VENV)/bin/python || $(PYTHON) -m venv $(BACKENDS_VENV)
	@echo "installing torch and $(or $(notdir $(CUPY_ON_CPU)),no CuPy) into $(BACKENDS_VENV) ..." >&2
	@$(BACKENDS_VENV)/bin/python -m pip install $(PIP_QUIET) -e '.[test,dask]' '$(TORCH)' $(CUPY_ON_CPU)
	@touch $@

test-backends: $(BACKENDS_VENV)/.done ## the contract and a cluster on torch and on CuPy (executed on the CPU)
	@$(if $(CUPY_ON_CPU),,echo "CuPy is left out: there is no ../shared/tools/cupy-on-cpu";) \
	  OMP_NUM_THREADS=1 SWNN_EXAMPLES=$${SWNN_EXAMPLES:-8} \
	  $(BACKENDS_VENV)/bin/python -m pytest -q tests/contract tests/backends tests/distributed -k 'cupy or torch'

bench-backends: $(BACKENDS_VENV)/.done ## speed of the backends on one CPU thread, on real data
	@OMP_NUM_THREADS=1 $(BACKENDS_VENV)/bin/python asv_benchmarks/backends/compare.py

bench-gpu: ## for the first user of a GPU: check every bit, measure every stage, write build/gpu.md and a result for asv; BACKEND=cupy, DATA=folder, QUICK=1 (emulators), SWNN=command, MACHINE=name
	@mkdir -p build
	@$(or $(SWNN),$(if $(wildcard $(BACKENDS_VENV)/.done),$(BACKENDS_VENV)/bin/swnn,swnn)) gpu-check --bench \
	  --backend $(or $(BACKEND),cupy) $(if $(QUICK),--quick) $(if $(DATA),--data $(DATA)) \
	  -o build/gpu.md --asv asv_benchmarks/results/$(MACHINE)

bench-dense-head: $(BACKENDS_VENV)/.done ## torch on the CPU with a dense product over the frequent features, beside the sparse ones
	@OMP_NUM_THREADS=1 $(BACKENDS_VENV)/bin/python asv_benchmarks/backends/dense_head.py

cuda-compile: $(VENV)/.has-dev ## compile the CUDA sources for all architectures (needs nvcc)
	@$(BIN)/python scripts/compile_cuda.py

cuda-counts: $(VENV)/.has-test ## memory traffic and atomics of the CUDA kernels on real rows, counted on the CPU; trains rankers once; SETS=, JSON=file, WRITE=1
	@JSON=$(JSON) WRITE=$(WRITE) OMP_NUM_THREADS=1 PYTHONPATH=tests:scripts $(BIN)/python -m cuda.counts $(SETS)
	@$(if $(wildcard $(BACKENDS_VENV)/.done),OMP_NUM_THREADS=1 PYTHONPATH=tests:scripts $(BACKENDS_VENV)/bin/python -m cuda.launches,echo \
	  "launches and waits of a batch are left out: make test-backends makes the environment that counts them")
	@WRITE=$(WRITE) $(BIN)/python scripts/compile_cuda.py

cuda-races: $(VENV)/.has-test ## the CUDA kernels under sanitizers in random orders; each barrier left out once; SEED=, MINUTES= (5), WRITE=1
	@WRITE=$(WRITE) PYTHONPATH=tests:scripts $(BIN)/python -m cuda.races $(or $(SEED),1) $(or $(MINUTES),5)

lint: $(VENV)/.has-dev ## style
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: $(VENV)/.has-dev ## static types
	@$(BIN)/mypy

wheel: $(VENV)/.has-dev ## build the wheel into dist/
	@rm -rf dist && $(BIN)/python -m build --wheel --outdir dist . > /dev/null && ls dist

dist: $(VENV)/.has-dev ## wheel and sdist into dist/, built twice and compared byte by byte
	@rm -rf dist build/dist-again
	@$(BIN)/python -m build --outdir dist . > /dev/null
	@$(BIN)/python -m build --outdir build/dist-again . > /dev/null
	@diff -r dist build/dist-again && ls dist

smoke: wheel ## the suite's smoke test against the installed wheel, in a clean environment
	@rm -rf .venv-wheel && $(PYTHON) -m venv .venv-wheel
	@.venv-wheel/bin/python -m pip install $(PIP_QUIET) dist/*.whl pytest
	@cd tests/smoke && ../../.venv-wheel/bin/python -m pytest -c pytest.ini .

bench-reading: $(VENV)/.has-test ## reading against scikit-learn; FILE=... for a file of your own
	@$(BIN)/python asv_benchmarks/reading/bench_reading.py $(FILE)

bench-text: $(VENV)/.has-test ## a text to a row, beside scikit-learn
	@$(BIN)/python asv_benchmarks/text/bench_text.py

bench-store: $(VENV)/.has-core ## saving and opening a model of 500 MB
	@$(BIN)/python asv_benchmarks/store/bench_store.py

bench-scale: $(VENV)/.has-core ## memory, build time and model size at Amazon-3M's size; makes a synthetic twin first
	@$(BIN)/python asv_benchmarks/scale

bench-training: $(VENV)/.has-core ## memory and time of training a ranker at Amazon-670K's size (TWIN=Amazon-3M, SCALE=, SEARCH=); makes a synthetic twin first
	@$(BIN)/python asv_benchmarks/scale --ranker $(if $(SCALE),--scale $(SCALE)) $(if $(SEARCH),--search $(SEARCH)) $(if $(TWIN),--twin $(TWIN))

bench-latency: $(VENV)/.has-core ## one query on one thread against the paper's loop in C; SETS=... for some data sets
	@OMP_NUM_THREADS=1 $(BIN)/python asv_benchmarks/latency/bench_latency.py $(SETS)
	@$(if $(WRITE),$(BIN)/python scripts/figure_promises.py latency)

bench-weights: $(VENV)/.has-core ## feature weights learned from fewer rows; SETS=... for some data sets, WRITE=1
	@OMP_NUM_THREADS=1 $(BIN)/python asv_benchmarks/quality/weights_of_parts.py $(SETS)

bench-compression: $(VENV)/.has-core ## precision and time of a query against the part of the rows that is kept, resumable; SETS=, AGAIN=1
	@OMP_NUM_THREADS=1 $(BIN)/python asv_benchmarks/compression/curve.py $(SETS) $(if $(AGAIN),--again)
	@$(if $(WRITE),$(BIN)/python asv_benchmarks/figures/render.py)

bench-ablations: $(VENV)/.has-core ## what each part of the ranker is worth, resumable; SETS=, AGAIN=1
	@OMP_NUM_THREADS=1 $(BIN)/python asv_benchmarks/ablations/run.py $(SETS) $(if $(AGAIN),--again)
	@$(if $(WRITE),$(BIN)/python asv_benchmarks/figures/render.py)

bench-names: $(VENV)/.has-core ## what names of labels cost: time of a query and memory, with 50,000 names on EURLEX57K
	@OMP_NUM_THREADS=1 $(BIN)/python asv_benchmarks/names/cost.py

bench-never-seen: $(VENV)/.has-core ## labels that no training row has, found by name, beside Annif's MLLM where .venv-annif is there; SETS=...
	@OMP_NUM_THREADS=1 $(BIN)/python asv_benchmarks/names/never_seen.py $(SETS)

bench-annif: $(EXTRAS_VENV)/.done $(ANNIF_VENV)/.done ## annif eval of the service beside an ensemble of omikuji and MLLM; SETS=...
	@$(ANNIF_VENV)/bin/python -m pip install $(PIP_QUIET) 'annif[omikuji]==1.4.*'
	@OMP_NUM_THREADS=1 $(EXTRAS_VENV)/bin/python asv_benchmarks/names/annif_ensemble.py $(SETS)

bench-seeds: $(VENV)/.has-core ## how much of a ranker's precision is chance: three seeds; SETS=...
	@OMP_NUM_THREADS=1 $(BIN)/python asv_benchmarks/quality/seeds.py $(SETS)

bench-caps: $(VENV)/.has-core ## what a cap on postings costs in precision and saves in time, resumable; SETS=..., AGAIN=1, WRITE=1
	@OMP_NUM_THREADS=1 $(BIN)/python asv_benchmarks/quality/caps.py $(SETS) $(if $(AGAIN),--again)

bench-appends: $(VENV)/.has-core ## CPU time of single answers and appends after 0 to 1000 appends; SETS=..., WRITE=1
	@OMP_NUM_THREADS=1 $(BIN)/python asv_benchmarks/latency/appends.py $(SETS)

bench-relearning: $(VENV)/.has-core ## CPU time of training 5, 40, 400 and all labels again
	@OMP_NUM_THREADS=1 $(BIN)/python asv_benchmarks/learning/relearning.py \
	  $(or $(DATA),../shared/data/eurlex57k) build/bench-relearning

# Name of the machine in asv_benchmarks/results; CONTRIBUTING.md says how to add yours.
MACHINE ?= $(shell uname -n)

bench: $(VENV)/.has-bench ## record the asv suites for this commit, with torch and CuPy where they are in $(BACKENDS_VENV); MACHINE=name, BENCH=regex for some of them
	@$(FULLEST_VENV)/bin/python asv_benchmarks/record.py --machine $(MACHINE) $(if $(COMMIT),--commit $(COMMIT)) $(if $(BENCH),--bench '$(BENCH)')

# Short suites that most commits can run: a query, a batch, voting, building, training, opening.
BACKFILL := Session|Throughput.time.*numba|Voting.*numpy|time_build.*numba|Training|Opening.time|_import$$

bench-backfill: $(VENV)/.has-bench ## record short suites for old commits; COMMITS="rev ..." (ten of the history), MACHINE=, BENCH=regex
	@$(BIN)/python asv_benchmarks/record.py --machine $(MACHINE) --bench '$(or $(BENCH),$(BACKFILL))' --backfill $(COMMITS)

bench-compare: $(VENV)/.has-bench ## BASE=<rev>: fail where this commit is 1.3 times slower than that one; BENCH=regex
	@test -n "$(BASE)" || { echo "say against which revision: make bench-compare BASE=<rev>" >&2; exit 2; }
	@$(BIN)/python asv_benchmarks/continuous.py $(BASE) $(or $(NEW),HEAD) --machine $(MACHINE) $(if $(BENCH),--bench '$(BENCH)')

bench-html: $(VENV)/.has-bench ## the dashboard of all recorded results, into .asv/html
	@$(BIN)/python asv_benchmarks/dashboard/publish.py

bench-peers: ## exact search beside other libraries; SETS="eurlex57k ...", ONLY="peer ..."
	@$(MAKE) --no-print-directory VENV=.venv-peers .venv-peers/.has-plot
	@.venv-peers/bin/python asv_benchmarks/peers/install.py
	@.venv-peers/bin/python asv_benchmarks/peers/compare.py $(SETS) $(if $(ONLY),--only $(ONLY))

bench-quality: ## precision and cost beside trained models, resumable; SETS=, ONLY=, SECONDS=1500 per run, AGAIN=1, WRITE=1 for the repository's figures
	@$(MAKE) --no-print-directory VENV=.venv-peers .venv-peers/.has-plot
	@.venv-peers/bin/python asv_benchmarks/peers/install.py $(or $(ONLY),ranking)
	@.venv-peers/bin/python asv_benchmarks/quality/run_all.py $(SETS) $(if $(ONLY),--only $(ONLY)) \
	  $(if $(SECONDS),--cpu-seconds $(SECONDS)) $(if $(AGAIN),--again) $(if $(WRITE),--write)
	@$(if $(WRITE),.venv-peers/bin/python scripts/figure_promises.py quality)

bench-growth: ## the ranker beside omikuji on an eighth to all of the rows of finna-yso-en, resumable; PARTS="8 4 2 1", ONLY=, AGAIN=1, WRITE=1
	@$(MAKE) --no-print-directory VENV=.venv-peers .venv-peers/.has-plot
	@.venv-peers/bin/python asv_benchmarks/peers/install.py omikuji_parabel
	@.venv-peers/bin/python asv_benchmarks/quality/growth.py $(if $(PARTS),--parts $(PARTS)) \
	  $(if $(ONLY),--only $(ONLY)) $(if $(AGAIN),--again)

bench-sets: $(VENV)/.has-core ## sizes of the data sets in ../shared/data
	@$(BIN)/python asv_benchmarks/figures/sets.py

# Benchmarks run with WRITE=1 put their figures into docs/data and write the tables of the pages.
figures: ## the tables of README and the pages, and README's picture, from docs/data
	@$(MAKE) --no-print-directory VENV=.venv-docs .venv-docs/.has-docs
	@.venv-docs/bin/python asv_benchmarks/figures/render.py
	@.venv-docs/bin/python docs/plots/make_pictures.py docs/pictures quality

docs: ## the site into docs/_build/html, then a check of every page
	@$(MAKE) --no-print-directory VENV=.venv-docs .venv-docs/.has-docs
	@.venv-docs/bin/python -m sphinx -W --keep-going -q docs docs/_build/html
	@.venv-docs/bin/python -m pytest -q tests/docs/test_site.py

report: docs ## the technical report as PDF, docs/_build/report.pdf (needs Chromium)
	@.venv-docs/bin/python scripts/make_report.py

check: test test-full lint types smoke test-extras ## everything a change must pass; .ci/run adds the site, nvcc, CuPy and torch, another Python

clean: ## remove environments and build products
	rm -rf .venv* docs/_build docs/generated dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .asv
