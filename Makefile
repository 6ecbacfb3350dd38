# Two commands for newcomers: `make demo` and `make test`. Each installs what it needs (as root or
# with sudo; otherwise it prints the one command to run) and builds first.
BUILD ?= build/release
JOBS ?= $(shell nproc)
DEMO_OUT ?= out/demo
PREFIX ?= /usr/local
CTEST_FLAGS ?= --output-on-failure -j $(JOBS)
SOURCES = git ls-files '*.h' '*.cc' '*.cu'

.PHONY: demo demo-full test test-all build program deps bench format check-format lint install package clean help

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## make demo          set up, build, run the whole pipeline on the included model, show the report
demo: program
	$(BUILD)/cli/hone run recipes/library/demo.yaml --set output=$(DEMO_OUT)

## make demo-full     the same with everything: all items, long training (up to an hour)
demo-full: program
	$(BUILD)/cli/hone run recipes/library/demo-full.yaml

## make test          set up, build, run every test
test: build
	ctest --test-dir $(BUILD) $(CTEST_FLAGS) -LE 'pypi|browser|mpi|slow'

## make test-all      also the tests that need PyPI, a browser or a long time
test-all: build
	tests/setup_python.sh
	ctest --test-dir $(BUILD) $(CTEST_FLAGS)

# The program without its tests.
program: deps
	cmake --preset release -B $(BUILD) > /dev/null
	cmake --build $(BUILD) -j $(JOBS) --target hone

## make build         set up and build
build: deps
	cmake --preset release -B $(BUILD) > /dev/null
	cmake --build $(BUILD) -j $(JOBS)

## make deps          install the packages that building needs
deps:
	@tests/setup_packages.sh

## make bench         build and run the micro-benchmarks
bench: deps
	cmake --preset release -B build/bench -DHONE_BENCH=ON -DHONE_TESTS=OFF > /dev/null
	cmake --build build/bench -j $(JOBS)
	for b in build/bench/tests/bench/bench_*; do [ -x $$b ] && [ -f $$b ] && $$b || exit 1; done

## make format        format all sources
format:
	$(SOURCES) | xargs clang-format -i

check-format:
	$(SOURCES) | xargs clang-format --dry-run -Werror

## make lint          clang-tidy over all sources (FILES="a.cc b.cc" for some)
FILES ?= $(shell git ls-files '*.cc' | grep -v '^tests/fuzz/')
lint: deps
	@cmake --preset release -B build/lint -DHONE_PCH=OFF > /dev/null # clang cannot read GCC's
	@# Only what this configuration compiles (the CUDA backend has its own).
	@for f in $(FILES); do ! grep -q "\"$(CURDIR)/$$f\"" build/lint/compile_commands.json || echo $$f; done | \
	  xargs -r -n 4 -P $(JOBS) clang-tidy -p build/lint --quiet

## make install       install under PREFIX (/usr/local)
install: build
	cmake --install $(BUILD) --prefix $(PREFIX)

## make package       a .deb in build/release
package: build
	cd $(BUILD) && cpack

clean:
	rm -rf build out
