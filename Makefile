# The targets that people type. What they need beyond Go is fetched or named by
# the scripts in .ci.

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
BUILT := $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null))
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint v2.15.0
MODULES := . providers/conformance pkg/web/webtest

.PHONY: build test lint cover fuzz soak simulate demo bench results endure package clean

# bin/sidestep, a static binary that knows its version.
OUT ?= bin/sidestep
build:
	CGO_ENABLED=0 go build -tags grpcnotrace -trimpath -buildvcs=false -ldflags '-s -w -X main.version=$(VERSION) -X main.built=$(BUILT)' -o $(OUT) ./cmd/sidestep

# Every test, with the race detector. As root on Debian it installs the servers
# that some tests run; elsewhere it says which tests it skips.
# SIDESTEP_TEST_REAL=require makes a skipped test a failure.
test:
	@.ci/real-servers
	@.ci/test

lint:
	@tool=$$(.ci/tool $(GOLANGCI)) && for module in $(MODULES); do \
		(cd $$module && "$$tool" run -c $(CURDIR)/.golangci.yml ./...) || exit 1; done
	@"$$(.ci/tool $(GOLANGCI))" run -c .golangci.yml ./.ci/testcounts

# Which statements the tests of the main module reach.
cover:
	go test -coverpkg=./... -coverprofile=coverage.out ./...
	go tool cover -func=coverage.out | tail -n 1

# Every parser that reads what a network or a file brought, TIME each.
TIME ?= 1m
fuzz:
	@.ci/fuzz $(TIME) $(ONLY)

# The rules that are never broken, on RUNS random configs and timelines each; a
# run that breaks one is printed, made small, and kept to be repeated. Then KILLS
# kill -9 of a daemon under load, LEASES random schedules each of two and of
# three nodes with a lock in the zone, and of two with one in etcd and in a file, and
# SCHEDULES of two to five whole daemons (pkg/daemon/SIMULATION.md).
RUNS ?= 100000
KILLS ?= 500
LEASES ?= 10000
SCHEDULES ?= 10000
soak: simulate
	SIDESTEP_KILLS=$(KILLS) go test ./cmd/sidestep -run TestKilledUnderLoad -timeout 0 -v
	go test ./pkg/reconcile -run 'Case81Lease|LockIn' -rapid.checks=$(LEASES) -timeout 0 -v $(SOAKFLAGS)
	go test ./pkg/simulate -run 'NoRule|UnknownMoves|DampingSwallows|OrderOfOne|OverridesEnd|OverridesWin' -rapid.checks=$(RUNS) -timeout 0 -v $(SOAKFLAGS)

demo: build
	bin/sidestep demo

# Those of whole daemons alone; with SOAKFLAGS=-rapid.seed=SEED the one that failed.
simulate:
	SIDESTEP_SCHEDULES=$(SCHEDULES) go test ./pkg/daemon -run 'TestSimulation$$' -timeout 0 -v $(SOAKFLAGS)

# The daemon under load, against goals, in eleven minutes; as root, with nothing
# else running. BENCHFLAGS=-short is a first look, -only G1,G4 a part of it.
bench: build
	go build -o bin/yardstick ./pkg/bench/yardstick
	bin/yardstick $(BENCHFLAGS)

# The same beside gdnsd, HAProxy and the blackbox exporter, those that are installed,
# in 25 minutes; rewrites what the last run found.
results: build
	go build -o bin/yardstick ./pkg/bench/yardstick
	bin/yardstick -peers -results pkg/bench/RESULTS.md $(BENCHFLAGS)

# One daemon with 10,000 targets for MINUTES, while others of them break every minute;
# rewrites what the last run found.
MINUTES ?= 30
endure: build
	go build -o bin/yardstick ./pkg/bench/yardstick
	bin/yardstick -only G10 -endure $(MINUTES) -results pkg/bench/ENDURANCE.md

# dist/: a Debian package and an archive for each of ARCHES, and their checksums.
# The same commit and the same Go make the same bytes; needs no root.
ARCHES ?= amd64 arm64
DIST ?= dist
package:
	@VERSION='$(VERSION)' BUILT='$(BUILT)' deploy/package/build '$(DIST)' $(ARCHES)

clean:
	rm -rf bin dist coverage.out .ci/bin
