# Every command that developers and CI use. `make help` lists them.
SWIFT_FLAGS := --explicit-target-dependency-import-check error
STATIC := .build/static
SIM := .build/sim
SIZE_LIMIT_MB := 30
TSAN := $(CURDIR)/.build/tsan
TSAN_SUITES := LockingTests|LiveTests|TransportTests|JournalTests|SimulatorTests|LocalServerTests|WebSocketCodecTests|BridgeServiceTests|FilesTests|AgentHostingTests
SEEDS ?= 200
# Tests on real sockets run first and alone: beside tests that only compute they would starve.
WIRE_TESTS := TransportTests|LocalServerTests|SimulatorTests|PipelineTests

.PHONY: help setup setup-build build test check format-check static size-check container-check package package-check install uninstall deploy-check density expectations graph graph-check fmt demo run sim tsan real-agents record-agents metrics-check bench clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 14

setup: ## install what is missing, for the tests too
	@scripts/setup

# Installs the packages for building and running.
setup-build:
	@scripts/setup build
	@scripts/commit

build: setup-build ## build everything, debug
	swift build $(SWIFT_FLAGS)

test: setup ## all tests
	swift build --build-tests $(SWIFT_FLAGS)
	scripts/swift-test --skip-build --filter '$(WIRE_TESTS)'
	scripts/swift-test --skip-build --skip '$(WIRE_TESTS)'
	Tests/Acceptance/run
	Tests/RealAgents/run test_codex_short test_codex_page test_codex_asks_page test_claude_cli test_claude_short
	Tests/Browser/run

check: setup format-check expectations graph-check size-check ## format, warnings, imports, picture and names in documents, size of the static binary

format-check:
	swift format lint --strict --recursive --parallel Sources Tests Package.swift

# The shipped form: the Swift runtime inside, symbols out (nothing loads the program's own by name), and functions with equal code merged
# if nothing compares their addresses.
static:
	@scripts/commit
	swift build -c release --static-swift-stdlib $(SWIFT_FLAGS) --scratch-path $(STATIC) --product sophon-bridge -Xlinker -s -Xlinker --no-export-dynamic -Xlinker --icf=safe

# Whole Foundation would make it 70 MB (it brings ICU). The import check does not notice that, the size does.
size-check: static
	@size=$$(stat -L -c %s $(STATIC)/release/sophon-bridge); \
	echo "static release binary: $$((size / 1000000)) MB (at most $(SIZE_LIMIT_MB))"; \
	test $$size -le $$(($(SIZE_LIMIT_MB) * 1000000)) || { \
	echo "The binary is too large: look for a use of Foundation beyond FoundationEssentials."; exit 1; }
	@! grep -aq PlantedFault $(STATIC)/release/sophon-bridge || { \
	echo "The binary has planted faults in it: something sets PLANTED_FAULTS."; exit 1; }

install: ## the static build with man page, completions and user unit: make install PREFIX=/usr/local DESTDIR=
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" scripts/install

uninstall: ## take these files away; configuration and state stay
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" scripts/install --remove

package: static ## a Debian package of the static build, in build
	@scripts/package-deb

package-check: static ## lintian, systemd-analyze and man on that package
	@scripts/package-check "$$(scripts/package-deb)"

deploy-check: ## compose.yaml and the files for Kubernetes, by their published schemas
	@scripts/deploy-check

container-check: setup static ## container, pod and Debian package in roots of their own, with the binary in them (root)
	scripts/container-check

fmt: ## format the sources
	swift format format --in-place --recursive --parallel Sources Tests Package.swift

expectations:
	@python3 Tests/expectations/expected_ends.py --check

graph: ## draw the groups of rooms and their arrows, from the manifest, into docs/ARCHITECTURE.md
	scripts/graph

graph-check:
	@scripts/graph --check
	@scripts/symbols
	@scripts/configuration-page --check

demo: setup-build ## the phone page and recorded runs through the real pipeline, offline
	swift build $(SWIFT_FLAGS) --product sophon-bridge
	.build/debug/sophon-bridge demo

run: setup-build ## run the program: make run ARGS="simulate"
	@swift build $(SWIFT_FLAGS) --product sophon-bridge
	@.build/debug/sophon-bridge $(ARGS)

sim: setup ## seeds of the simulation, and the planted faults: make sim SEEDS=2000
	PLANTED_FAULTS=1 swift build -c release $(SWIFT_FLAGS) --scratch-path $(SIM) --product simulate-seeds
	scripts/simulate $(SIM)/release/simulate-seeds $(SEEDS)

tsan: setup ## what has threads, and conversations of the program, under the thread sanitizer
	swift build --build-tests --sanitize=thread --scratch-path $(TSAN)
	TSAN_OPTIONS=halt_on_error=1 swift test --skip-build --sanitize=thread --scratch-path $(TSAN) --filter '$(TSAN_SUITES)'
	TSAN_OPTIONS=halt_on_error=1 SOPHON_BRIDGE=$(TSAN)/debug/sophon-bridge ACCEPTANCE_PARALLEL=2 Tests/Acceptance/run test_conversations

real-agents: setup static ## real agents in a cell, with a scripted model: make real-agents KILLS=20
	KILLS=$(KILLS) SOPHON_BRIDGE=$(STATIC)/release/sophon-bridge Tests/RealAgents/run

record-agents: setup static ## one conversation with the real Codex as a fixture: make record-agents CODEX_VERSION=0.164.0
	$(if $(CODEX_VERSION),CODEX_VERSION=$(CODEX_VERSION)) SOPHON_BRIDGE=$(STATIC)/release/sophon-bridge Tests/RealAgents/run --record

metrics-check: setup build ## Debian's Prometheus scrapes a running bridge through a minute of cuts and kills
	scripts/metrics-check

bench: setup static ## figures, each a ratio to something measured in the same run
	scripts/bench

density: setup static ## what N bridges on one machine cost, idle and with one in ten at work: make density N=200
	scripts/density $(N)

clean: ## remove what was built
	rm -rf .build build
