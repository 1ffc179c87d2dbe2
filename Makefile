# The commands of the project. Each does what it needs first: `make demo` on a fresh machine is enough.
.DEFAULT_GOAL := help
.PHONY: help setup setup-tests setup-lint setup-look setup-fuzz setup-model setup-package configure program build demo test test-long test-gpu test-python test-kill test-soak test-mutants fuzz lint format bench bench-scale bench-peers coverage install deb tarball wheel image accuracy steering-model steering-sizes clean
.NOTPARALLEL:

PRESET ?= release
PREFIX ?= /usr/local
DATA   ?= ../shared/data
JOBS   ?= $(shell nproc)
# Warnings are errors in our own checks, and never in the build of a user (make test WERROR=OFF).
test test-long lint coverage: WERROR ?= ON
# What the build that is being configured must hold; empty leaves it as it is.
test test-long lint coverage bench: TESTS ?= ON
OPTIONS = $(if $(WERROR),-DRUDDER_WERROR=$(WERROR)) $(if $(TESTS),-DRUDDER_TESTS=$(TESTS))
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1

help: ## this list
	@echo 'make TARGET [PRESET=release|dev|asan|tsan|coverage|fuzz] [JOBS=N] [PREFIX=/usr/local]'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 18

setup: ## install what is missing to build (Debian packages)
	@scripts/setup

setup-tests: ## the same, and what make test needs (NumPy in .venv)
	@scripts/setup --tests

setup-lint: ## the same, and what make lint and make coverage need
	@scripts/setup --tests --lint

setup-fuzz: ## the same, and what make fuzz needs (Clang with libFuzzer)
	@scripts/setup --fuzz

setup-look: ## the same, and what the long tests look at results with (Chromium, promtool)
	@scripts/setup --tests --look

setup-package: ## the same, and what make deb and make tarball need
	@scripts/setup --package

setup-model: ## what make steering-model needs (PyTorch in .cache/steering-model)
	@tools/steering-model/build.sh environment

configure: setup
	@mkdir -p build
	@cmake --preset $(PRESET) $(OPTIONS) >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }

program: configure ## build the program and its libraries alone into build/PRESET
	@cmake --build --preset $(PRESET) -j $(JOBS) --target rudder

build: configure ## build everything, with the tests where GoogleTest is installed
	@cmake --build --preset $(PRESET) -j $(JOBS)

demo: program ## what steering is worth where the network is slow: four runs, a table, a report
	@scripts/demo build/$(PRESET)/src/cli/rudder

test: setup-tests build ## build and run all quick tests
	@scripts/run-tests $(PRESET) -L quick -j $(JOBS)

test-long: setup-lint setup-look build ## long tests, make lint, sanitizers, fuzzers
	@scripts/test-long $(PRESET) $(JOBS) $(WERROR)

test-python: setup-tests ## install the package with PyTorch and PyTorch Geometric in build/python-env, and test it there
	@tests/python/with_torch.sh

test-gpu: setup-tests configure ## test kernels and networks on the GPU of this machine, where there is one
	@cmake --build --preset $(PRESET) -j $(JOBS) --target rudder test_gpu dump_networks gpu_step
	@scripts/test-gpu build/$(PRESET)

test-kill: setup-tests program ## kill training runs at random moments and resume them (KILLS=200, SEED=1)
	@tests/kill/kill_runs.py --build build/$(PRESET) --jobs $(JOBS) $(if $(KILLS),--kills $(KILLS)) $(if $(SEED),--seed $(SEED))

test-soak: setup-tests program ## train for MINUTES=30 and watch memory and open files
	@tests/kill/soak.py --build build/$(PRESET) --ranks $(JOBS) $(if $(MINUTES),--minutes $(MINUTES))

fuzz: setup-fuzz ## run the fuzzers of all readers (FUZZ_SECONDS=60 each, or FUZZ_RUNS, or up to FUZZ_TOTAL; JOBS at a time)
	@mkdir -p build
	@cmake --preset fuzz >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@cmake --build --preset fuzz -j $(JOBS)
	@FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_RUNS=$(FUZZ_RUNS) FUZZ_TOTAL=$(FUZZ_TOTAL) FUZZ_JOBS=$(JOBS) scripts/fuzz

test-mutants: setup-tests ## break single lines and see whether tests notice (COUNT=60, SEED=1)
	@scripts/mutants --jobs $(JOBS) $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED))

lint: setup-lint configure ## check format, layers, names, installed headers, and clang-tidy
	scripts/check-format
	scripts/check-layers
	scripts/check-names
	scripts/check-door
	scripts/check-tidy build/$(PRESET)

format: ## format every C++ file
	@scripts/check-format --fix

bench: setup-tests ## build and run the benchmarks
	@cmake --preset release -DRUDDER_BENCHMARKS=ON >/dev/null
	@cmake --build --preset release -j $(JOBS)
	@scripts/run-benchmarks build/release

bench-scale: program ## stages and whole runs at size: SIZE=tiny|quarter|half|full, RECORD=1
	@cmake --build --preset $(PRESET) -j $(JOBS) --target scale_stages
	@bench/scale/bench_scale.py --build build/$(PRESET) $(if $(SIZE),--size $(SIZE)) $(if $(RECORD),--record) $(if $(BESIDE),--beside $(BESIDE)) $(BENCH_OPTIONS)

bench-peers: program ## beside DistDGL, DGL and PyG (DATA=FILE.npz, else a generated graph)
	@bench/peers/bench_peers.py --build build/$(PRESET) $(if $(filter command environment,$(origin DATA)),--data $(DATA)) $(BENCH_OPTIONS)

coverage: setup-lint ## run the quick tests and say which lines and branches they reach, by layer
	@$(MAKE) --no-print-directory configure PRESET=coverage TESTS=ON WERROR=$(WERROR)
	@cmake --build --preset coverage -j $(JOBS)
	@scripts/run-tests coverage -L quick -j $(JOBS); tests=$$?; scripts/coverage --jobs $(JOBS) && exit $$tests

install: program ## install program, libraries and package into PREFIX
	@cmake --install build/$(PRESET) --prefix $(PREFIX)

deb: setup-package program ## make a Debian package in build/packages
	@scripts/make-deb build/$(PRESET) build/packages

tarball: setup-package program ## make an archive that runs without the build packages, in build/packages
	@scripts/make-tarball build/$(PRESET) build/packages

wheel: setup-tests ## make a wheel of the Python package in build/packages, for the Python of .venv
	@.venv/bin/python -m pip --disable-pip-version-check wheel -q --no-deps --wheel-dir build/packages .

image: ## build a container image named rudder, with podman or docker
	@scripts/container-engine build -f Containerfile -t rudder .

clean: ## remove what was built (.venv stays)
	@rm -rf build

accuracy: program ## train every model on the real graphs (DATA=../shared/data), print the table
	@scripts/accuracy build/$(PRESET)/src/cli/rudder $(DATA)

steering-model: program ## make the built-in language model again, or another one: SIZE=0.3|1|2|5, MINUTES=40
	@tools/steering-model/build.sh model build/$(PRESET)/src/cli/rudder build/steering-model $(if $(SIZE),--size $(SIZE)) $(if $(MINUTES),--minutes $(MINUTES))

steering-sizes: program ## language models of all sizes, MINUTES=40 at the same time, and which is to be taken
	@tools/steering-model/build.sh sizes build/$(PRESET)/src/cli/rudder build/steering-sizes $(if $(MINUTES),--minutes $(MINUTES))
