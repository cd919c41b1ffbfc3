# `make` alone prints the targets below from their `##` comments.

PYTHON ?= python3
BIN := .venv/bin
CARGO := cargo
NATIVE := spark-app/native
SOURCES := spark-app/logpersister operator spark-source bench examples scripts tests
ARGS ?=
# Each worker has a Kafka broker, an S3 server and an API server of its own (3 GiB); the tests of a file stay together,
# and those of a folder that has further servers (tests/conftest.py).
# In their order the long tests of real parts begin first, and short ones fill the end. Those of real parts wait about
# as long as they compute, so there are more workers than cores.
WORKERS := --numprocesses=$(shell expr $$(nproc) + 1) --maxprocesses=4 --dist=loadfile --no-loadscope-reorder
UNIT_WORKERS := --numprocesses=logical --dist=worksteal

# Without compiled modules every member and every Spark worker compiles all of them when it starts.
unexport PYTHONDONTWRITEBYTECODE
TIMED := $(PYTHON) scripts/timed.py
PYTEST := $(PYTHON) scripts/again.py $(BIN)/pytest
# Makes what the named groups of scripts/part.py lack: code, unit, stack, test, bench, soak, cluster or release. Each includes the former.
PREPARE := @$(PYTHON) scripts/prepare.py
# What a node is made of, and what the chart is installed with.
NODE := kube-apiserver etcd kube-controller-manager kube-scheduler kubelet kube-proxy pause kubectl helm
UV := .cache/uv/uv
COMPILE := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	--no-emit-package logpersister-native

.DEFAULT_GOAL := help
.PHONY: help setup demo stack stack-down stack-status test ci lint types layers rust pytest coverage golden quick unit model chaos soak \
	test-static test-integration test-pure ci-beside ci-cluster \
	image node-programs prepare-cluster release cluster-up cluster-down test-cluster test-browser bench format crds lock clean distclean

help: ## show the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## prepare all that `make test` needs; other targets prepare what they need themselves
	$(PREPARE) test

demo: ## Kafka and S3 on free ports, sample topics, one member until it is current (ARGS=kubernetes, as root: the operator on a node; ARGS=replay: history made again from a backup; ARGS=feeds: feeds over HTTP)
	$(PREPARE) stack $(strip $(if $(findstring minio,$(ARGS)),minio) $(if $(filter kubernetes,$(ARGS)),$(NODE)))
	$(if $(filter kubernetes,$(ARGS)),@$(PYTHON) scripts/image.py build)
	@$(BIN)/python -m examples.demo $(ARGS)

stack: ## start Kafka and an S3 server to develop with and print their addresses (ARGS='--s3 minio')
	$(PREPARE) stack $(if $(findstring minio,$(ARGS)),minio)
	@$(BIN)/python -m tests.stack up $(ARGS)

stack-down: ## stop them; topics and buckets stay (ARGS=--wipe forgets them)
	$(PREPARE) unit
	@$(BIN)/python -m tests.stack down $(ARGS)

stack-status: ## show whether they run, and where
	$(PREPARE) unit
	@$(BIN)/python -m tests.stack status

test: test-static test-integration test-pure ## everything that must hold: style, types, layers, Rust, all tests

test-static:
	@$(TIMED) static $(MAKE) --no-print-directory lint types layers

test-integration:
	$(PREPARE) test
	@$(TIMED) integration $(PYTEST) $(WORKERS) tests/integration

test-pure:
	@$(TIMED) rust $(MAKE) --no-print-directory rust
	@$(TIMED) pure $(PYTEST) $(UNIT_WORKERS) --ignore=tests/integration

# Tests of real parts fill two cores, those on a node wait for nine tenths of their time. What needs no server is tested
# beside the latter, with what they leave of the machine.
ci: ## what continuous integration runs (.ci/run): `make test`, and tests on a real node
	@$(TIMED) setup $(PYTHON) scripts/prepare.py test
	@$(MAKE) --no-print-directory prepare-cluster
	@$(MAKE) --no-print-directory test-integration
	@$(MAKE) --no-print-directory --jobs=2 ci-cluster ci-beside

ci-cluster:
	@$(TIMED) cluster $(BIN)/python -m tests.cluster $(ARGS)

ci-beside:
	@MAKEFLAGS= $(PYTHON) scripts/beside.py $(MAKE) --no-print-directory test-static test-pure test-browser

lint: ## style of Python
	$(PREPARE) code
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: ## static types of Python
	$(PREPARE) code
	@$(BIN)/mypy

layers: ## which package may import which
	$(PREPARE) code
	@$(BIN)/lint-imports

rust: ## style, lints and tests of the native decoder
	$(PREPARE) unit
	@$(CARGO) fmt --manifest-path $(NATIVE)/Cargo.toml --check
	@$(CARGO) clippy --quiet --manifest-path $(NATIVE)/Cargo.toml --all-targets --all-features -- --deny warnings
	@$(CARGO) test --quiet --manifest-path $(NATIVE)/Cargo.toml

pytest: ## all Python tests, with coverage of their own processes in htmlcov/ (ARGS='-k name' for some)
	$(PREPARE) test
	@$(PYTEST) --cov --cov-report=html $(WORKERS) $(ARGS)

coverage: ## the same, and what members run in processes of their own counts too: slower, and a higher floor
	@COVERAGE_OF=subprocess $(MAKE) --no-print-directory pytest ARGS='--cov-fail-under=95 $(ARGS)'

golden: ## write the operator's children, revisions, digests of Parquet files and the chart's output anew into the files that tests compare with
	$(PREPARE) unit helm
	@$(BIN)/python scripts/chart_readme.py charts/logpersister
	@UPDATE_GOLDEN=1 $(BIN)/pytest -q tests/unit/kubernetes/test_golden.py tests/unit/kubernetes/test_rendering.py tests/unit/replays/test_jobs.py \
		tests/chart/test_golden.py tests/chart/test_argocd.py tests/unit/manifest/test_revisions_of_releases.py tests/unit/formats/test_parquet_bytes.py

quick: ## style and the fast unit tests, in less than a minute
	$(PREPARE) unit
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/pytest --quiet tests/unit -m 'not slow' $(UNIT_WORKERS) $(ARGS)

unit: ## all tests without servers, without coverage
	$(PREPARE) unit
	@$(BIN)/pytest tests/unit $(UNIT_WORKERS) $(ARGS)

model: ## play random histories against the protocol, for long (ARGS='--exhaustive --faults 2 --pauses 1' for all paths)
	$(PREPARE) unit
	@$(BIN)/python -m tests.model $(ARGS)

chaos: ## kill, freeze and lie to real members and servers for minutes (ARGS=--help for its options)
	$(PREPARE) stack minio registry iceberg hive $(if $(findstring --spark,$(ARGS)),iceberg-spark)
	@$(BIN)/python -m tests.chaos $(ARGS)

soak: ## everything that is long or random: chaos, the model, searches, the oldest brokers (ARGS=--help)
	$(PREPARE) soak
	@$(BIN)/python -m tests.soak $(ARGS)

image: ## build the images of the operator and of members, with docker or buildah
	@$(PYTHON) scripts/image.py build $(ARGS)

release: ## both images, what is in them, and the chart, ready to be pushed (ARGS=--rehearsal before it is a release)
	$(PREPARE) release helm
	@$(BIN)/python scripts/release.py $(ARGS)

cluster-up: ## start a real Kubernetes node to try things on (as root)
	$(PREPARE) cluster
	@$(BIN)/python -m tests.cluster.node up

cluster-down: ## stop it, with its pods (ARGS=--purge forgets its images)
	$(PREPARE) cluster
	@$(BIN)/python -m tests.cluster.node down $(ARGS)

test-cluster: prepare-cluster ## tests on a real node, or on the cluster that KUBECONFIG names (docs/design/node.md)
	@$(MAKE) --no-print-directory ci-cluster

# Images wait for downloads and single threads, programs take all cores: both are made at once.
prepare-cluster:
	@$(TIMED) prepare-cluster $(MAKE) --no-print-directory --jobs=2 image node-programs ARGS=

node-programs:
	$(PREPARE) cluster

test-browser: ## pages in a real browser, Debian's Chromium (UPDATE_GOLDEN=1 makes the screenshots of docs/images anew)
	$(PREPARE) code
	@$(TIMED) browser $(BIN)/python -m tests.browser $(ARGS)

bench: ## measure what it costs (ARGS=throughput, executors, latency, tables, trickle, backlog, feeds, peers, operator or service; ARGS=--help)
	$(PREPARE) bench $(if $(filter operator,$(ARGS)),kube-apiserver etcd) $(if $(filter peers,$(ARGS)),spark-kafka) $(if $(filter tables,$(ARGS)),iceberg)
	@$(BIN)/python -m bench $(ARGS)

format: ## bring Python and Rust into shape
	$(PREPARE) unit
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(CARGO) fmt --manifest-path $(NATIVE)/Cargo.toml

crds: ## make crds/*.yaml, and the chart's copy, from the manifest's models
	$(PREPARE) unit
	@$(BIN)/python scripts/crds.py crds charts/logpersister/templates/crd.yaml

lock: ## resolve dependencies anew (ARGS=--upgrade takes the newest that pyproject.toml allows)
	$(PREPARE) uv
	@$(COMPILE) --no-annotate $(ARGS) --output-file requirements-uv.lock requirements-uv.in
	@$(COMPILE) --no-annotate $(ARGS) --output-file tests/stack/seaweedfs.lock tests/stack/seaweedfs.in
	@$(COMPILE) --no-annotate $(ARGS) --output-file tests/stack/registry.lock tests/stack/registry.in
	@$(COMPILE) --no-annotate $(ARGS) --output-file tests/stack/iceberg-spark.lock tests/stack/iceberg-spark.in
	@$(COMPILE) --no-annotate --no-deps $(ARGS) --output-file tests/stack/kubernetes/layer.lock tests/stack/kubernetes/layer.in
	@$(COMPILE) $(ARGS) --extra operator --extra tables --group dev --output-file requirements.lock pyproject.toml
	@$(COMPILE) --constraint requirements.lock --extra tables --output-file images/spark-app.lock pyproject.toml
	@$(COMPILE) --constraint requirements.lock --output-file images/operator.lock images/operator.in
	@$(COMPILE) --constraint requirements.lock --output-file images/build.lock images/build.in

clean: ## remove what tests and builds leave; the environment and downloads stay
	@rm -rf .coverage .coverage.* htmlcov .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@rm -rf .cache/chaos .cache/demo .cache/demo-kubernetes .cache/log .cache/soak build dist spark-warehouse $(NATIVE)/target
	@find . -name __pycache__ -not -path './.venv/*' -not -path './.cache/*' -prune -exec rm -rf {} +

distclean: clean ## remove the environment and downloads too (stops the servers of `make stack`)
	@if [ -x $(BIN)/python ] && [ -d .cache/stack ]; then $(BIN)/python -m tests.stack down --wipe; fi
	@if [ -x $(BIN)/python ] && [ -d .cache/node ]; then $(BIN)/python -m tests.cluster.node down --purge; fi
	@rm -rf .venv .cache
