# Each target creates what it needs: a virtual environment, the dependencies, a Java runtime.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PRESET ?= standard
HEAP   ?= $(if $(filter wide,$(PRESET)),2g,4g)

export PYSPARK_PYTHON        := $(CURDIR)/$(BIN)/python
export PYSPARK_DRIVER_PYTHON := $(PYSPARK_PYTHON)
export SPARK_CONF_DIR        := $(CURDIR)/conf
unexport SPARK_HOME PYTHONPATH PYTHONHOME

WITH_JAVA := JAVA_HOME=$$($(BIN)/python conf/java_home.py) && export JAVA_HOME &&

# Tests of the page are skipped without Chromium, and say which command installs it.
WITH_CHROMIUM := CHROMIUM=$$($(BIN)/python conf/chromium.py) && export CHROMIUM ||
WITH_CHROMIUM += unset CHROMIUM;

# Environments of their own: databricks-connect brings a pyspark of its own. 16.1 is for clients of
# Spark 3.5, and the newest that Python 3.10 and 3.11 can install; later ones need Python 3.12. The
# last one has PySpark 3.5 as pip resolves it.
PYTHON312 ?= $(shell for p in python3.12 $(wildcard $(HOME)/.pyenv/versions/3.12.*/bin/python); do \
               $$p -c '' 2> /dev/null && { echo $$p; break; }; done)
CLIENTS   := .venv-databricks-16.1 $(if $(PYTHON312),.venv-databricks-newest) .venv-spark-3.5

.PHONY: help demo test quick lint format stubs constraints unit fuzz torture cluster-test databricks-test docs bench clean distclean
.DELETE_ON_ERROR:

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' Makefile | expand -t 24

demo: $(VENV)/.run ## train a model on a generated trauma registry, print it, save it to build/demo with a page
	@$(WITH_JAVA) $(BIN)/spark-submit jobs/train.py --output build/demo --overwrite --model.threshold 0.025
	@$(WITH_JAVA) $(BIN)/spark-submit jobs/report.py --config conf/report.yaml --model build/demo \
	  --input '' --rows 100000 --output build/demo.html --overwrite

test: lint ## lint, then run every test, two files at a time
	@$(WITH_CHROMIUM) $(WITH_JAVA) $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --durations=25

quick: lint ## lint, the unit tests and one model on Spark, in under two minutes
	@$(WITH_JAVA) $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder \
	  tests/unit tests/spark/test_smoke.py

lint: $(VENV)/.test ## check style, format and types
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy

format: $(VENV)/.test ## repair style and format
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .

unit: $(VENV)/.test ## run the tests that need no Java
	$(BIN)/python -m pytest tests/unit

fuzz: $(VENV)/.test ## damage saved models in 100,000 ways: each is refused, or predicts the same
	FUZZ_MUTATIONS=100000 $(BIN)/python -m pytest tests/unit/test_damaged_models.py -n 2 -rP

torture: $(VENV)/.test ## faults on a cluster, bad input, damaged models, memory: prints the table of docs/trust.md
	@$(WITH_JAVA) $(BIN)/python -m tests.torture

cluster-test: $(VENV)/.test ## run the jobs on a standalone cluster and kill a worker; part of test
	@$(WITH_JAVA) $(BIN)/python -m pytest tests/cluster

databricks-test: $(VENV)/.test $(CLIENTS:%=%/.installed) ## run figs_spark through databricks-connect against a local Connect server
	@$(if $(PYTHON312),,echo 'No Python 3.12 was found (PYTHON312=...): databricks-connect from 17 on is not tested.')
	@$(WITH_JAVA) FIGS_SPARK_CLIENTS="$(abspath $(CLIENTS))" $(BIN)/python -m pytest tests/databricks -m databricks

docs: $(VENV)/.docs ## build the website into build/site, strictly and offline
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo 'Open build/site/index.html; to search, run: python3 -m http.server --directory build/site'

bench: $(VENV)/.bench ## time the engine; PRESET=smoke, standard, scoring, wide, partitions, small, mixed, large, duplicates, sums or ensembles
	@$(WITH_JAVA) $(BIN)/spark-submit --driver-memory $(HEAP) jobs/benchmark.py --preset $(PRESET) $(if $(ONLY),--only $(ONLY)) $(if $(DATA),--data $(DATA)) --overwrite

stubs: $(VENV)/.test ## write figs_spark/__init__.pyi, the types that editors and mypy see
	$(BIN)/python -m conf.make_stubs

constraints: $(VENV)/.test ## write constraints.txt, the versions of this environment
	$(BIN)/python -m conf.make_constraints

clean: ## remove what the targets wrote, but neither the environment nor Java
	rm -rf build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	rm -rf artifacts metastore_db spark-warehouse derby.log

distclean: clean ## remove the environment and a downloaded Java too
	rm -rf $(VENV) .venv-databricks-* .venv-spark-* .jdk

# One stamp for each set of dependencies: a second run installs nothing, a changed setup.py does.
$(VENV)/.run:   EXTRAS :=
$(VENV)/.test:  EXTRAS := [test,dev]
$(VENV)/.docs:  EXTRAS := [docs]
$(VENV)/.bench: EXTRAS := [bench]
$(VENV)/.run $(VENV)/.test $(VENV)/.docs $(VENV)/.bench: setup.py | $(BIN)/pip
	$(BIN)/python -m pip install --editable ".$(EXTRAS)"
	@touch $@

WITHOUT_SPARK := 'pandas<3' pyarrow numba tqdm pyyaml
.venv-databricks-16.1/.installed: NEEDS := --constraint conf/databricks-connect-16.1.txt databricks-connect $(WITHOUT_SPARK)
.venv-databricks-newest/.installed: NEEDS := databricks-connect $(WITHOUT_SPARK)
.venv-databricks-newest/.installed: PYTHON := $(PYTHON312)
.venv-spark-3.5/.installed: NEEDS := 'pyspark==3.5.*' .
.venv-%/.installed: setup.py
	@$(PYTHON) conf/make_venv.py $(@D)
	$(@D)/bin/python -m pip install --quiet $(NEEDS)
	@touch $@

# pip is the target, because an environment whose making was cut short has a Python but no pip.
$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo 'Python >= 3.10 is needed: make PYTHON=/path/to/python3.10 ...' >&2; exit 1; }
	@$(PYTHON) conf/make_venv.py $(VENV) || { \
	  echo 'No virtual environment could be made. On Debian and Ubuntu run' >&2; \
	  echo '    sudo apt-get install python3-venv' >&2; exit 1; }
