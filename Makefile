# `make` alone prints the targets below from their `##` comments.

PYTHON ?= python3
BIN := .venv/bin
CARGO := cargo
NATIVE := spark-app/native
SOURCES := spark-app/logpersister operator bench examples scripts tests
ARGS ?=
# Each worker has a Kafka broker, an S3 server and an API server of its own (3 GiB); a file's tests stay together.
# In their order the long tests of real parts begin first, and short ones fill the end.
WORKERS := --numprocesses=logical --maxprocesses=4 --dist=loadfile --no-loadscope-reorder

# Without compiled modules every member and every Spark worker compiles all of them when it starts.
unexport PYTHONDONTWRITEBYTECODE
TIMED := $(PYTHON) scripts/timed.py
UV := .cache/uv/uv
COMPILE := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header

.DEFAULT_GOAL := help
.PHONY: help setup demo stack stack-down stack-status test lint types layers rust pytest golden unit model chaos \
	image node-programs cluster-up cluster-down test-cluster bench format crds lock clean distclean

help: ## show the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## prepare everything (Python, native decoder, Kafka, MinIO); does nothing when all is there
	@$(PYTHON) scripts/prepare.py

demo: setup ## Kafka and S3 on free ports, sample topics, one member until it is current, and what it stored
	@$(BIN)/python -m examples.demo $(ARGS)

stack: setup ## start Kafka and MinIO to develop with and print their addresses
	@$(BIN)/python -m tests.stack up

stack-down: setup ## stop them; topics and buckets stay (ARGS=--wipe forgets them)
	@$(BIN)/python -m tests.stack down $(ARGS)

stack-status: setup ## show whether they run, and where
	@$(BIN)/python -m tests.stack status

test: setup ## everything that must hold: style, types, layers, Rust, all tests with a coverage floor
	@$(TIMED) lint $(MAKE) --no-print-directory lint
	@$(TIMED) types $(MAKE) --no-print-directory types
	@$(TIMED) layers $(MAKE) --no-print-directory layers
	@$(TIMED) rust $(MAKE) --no-print-directory rust
	@$(TIMED) pytest $(MAKE) --no-print-directory pytest

lint: setup ## style of Python
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: setup ## static types of Python
	@$(BIN)/mypy

layers: setup ## which package may import which
	@$(BIN)/lint-imports

rust: setup ## style, lints and tests of the native decoder
	@$(CARGO) fmt --manifest-path $(NATIVE)/Cargo.toml --check
	@$(CARGO) clippy --quiet --manifest-path $(NATIVE)/Cargo.toml --all-targets --all-features -- --deny warnings
	@$(CARGO) test --quiet --manifest-path $(NATIVE)/Cargo.toml

pytest: setup ## all Python tests, with coverage by line in htmlcov/ (ARGS='-k name' for some)
	@$(BIN)/pytest --cov --cov-report=html $(WORKERS) $(ARGS)

golden: setup ## write the operator's children and the chart's output anew into the files that tests compare with
	@UPDATE_GOLDEN=1 $(BIN)/pytest -q tests/unit/kubernetes/test_golden.py tests/chart/test_golden.py

unit: setup ## only the fast tests, without coverage
	@$(BIN)/pytest tests/unit $(ARGS)

model: setup ## play random histories against the protocol, for long (ARGS='--exhaustive --faults 2 --pauses 1' for all paths)
	@$(BIN)/python -m tests.model $(ARGS)

chaos: setup ## kill, freeze and lie to real members, broker and S3 for minutes (ARGS=--help for its options)
	@$(BIN)/python -m tests.chaos $(ARGS)

image: ## build the images of the operator and of members, with docker or buildah
	@$(PYTHON) scripts/image.py build $(ARGS)

cluster-up: setup ## start a real Kubernetes node to try things on (as root)
	@$(PYTHON) scripts/prepare.py cluster
	@$(BIN)/python -m tests.cluster.node up

cluster-down: setup ## stop it, with its pods (ARGS=--purge forgets its images)
	@$(PYTHON) scripts/prepare.py cluster
	@$(BIN)/python -m tests.cluster.node down $(ARGS)

# Images wait for downloads and single threads, programs take all cores: both are made at once.
test-cluster: setup ## tests on a real node, or on the cluster that KUBECONFIG names (docs/design/node.md)
	@$(TIMED) prepare-cluster $(MAKE) --no-print-directory --jobs=2 image node-programs ARGS=
	@$(TIMED) cluster $(BIN)/python -m tests.cluster $(ARGS)

node-programs:
	@$(PYTHON) scripts/prepare.py cluster

bench: setup ## measure what it costs (ARGS=throughput, latency, trickle, backlog, operator or service; ARGS=--help)
	@$(BIN)/python -m bench $(ARGS)

format: setup ## bring Python and Rust into shape
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(CARGO) fmt --manifest-path $(NATIVE)/Cargo.toml

crds: setup ## make crds/logpersisters.yaml, and the chart's copy, from the manifest's model
	@$(BIN)/python -m logpersister_operator.crd crds/logpersisters.yaml charts/logpersister/templates/crd.yaml

lock: ## resolve dependencies anew (ARGS=--upgrade takes the newest that pyproject.toml allows)
	@$(PYTHON) scripts/prepare.py uv
	@$(COMPILE) --no-annotate $(ARGS) --output-file requirements-uv.lock requirements-uv.in
	@$(COMPILE) $(ARGS) --extra operator --group dev --output-file requirements.lock pyproject.toml
	@$(COMPILE) --constraint requirements.lock --output-file images/spark-app.lock pyproject.toml
	@$(COMPILE) --constraint requirements.lock --output-file images/operator.lock images/operator.in
	@$(COMPILE) --constraint requirements.lock --output-file images/build.lock images/build.in

clean: ## remove what tests and builds leave; the environment and downloads stay
	@rm -rf .coverage .coverage.* htmlcov .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@rm -rf .cache/chaos .cache/demo .cache/log build dist spark-warehouse $(NATIVE)/target
	@find . -name __pycache__ -not -path './.venv/*' -not -path './.cache/*' -prune -exec rm -rf {} +

distclean: clean ## remove the environment and downloads too (stops the servers of `make stack`)
	@if [ -x $(BIN)/python ] && [ -d .cache/stack ]; then $(BIN)/python -m tests.stack down --wipe; fi
	@if [ -x $(BIN)/python ] && [ -d .cache/node ]; then $(BIN)/python -m tests.cluster.node down --purge; fi
	@rm -rf .venv .cache
