# payfold: make help lists the targets.

GOFUMPT     := mvdan.cc/gofumpt@v0.12.0
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# The version of go.mod also where a machine is told to keep to its own, as Debian's Go is.
export GOTOOLCHAIN := go$(shell sed -n 's/^go //p' go.mod)

# All targets compile with the same flags: with others Go compiles every package again. make lint runs go vet.
export GOFLAGS := $(strip $(GOFLAGS) -trimpath -vet=off)

.PHONY: help build run demo test docs test-faults test-campaign test-power-cuts test-properties test-arrivals test-schedules soak test-newest-nats test-monitoring test-console test-portal test-signatures test-export test-units test-install test-stack test-upgrade test-cluster test-cluster-disks test-release test-helm release bench bench-history bench-scaling bench-ingest bench-cluster bench-strangers bench-console bench-wallet fuzz lint clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

build: ## bin/ingest and bin/projector
	go build -o bin/ ./cmd/...

run: build ## both programs with their own log and Postgres, until Ctrl-C
	@exec deploy/run.sh

URL ?= http://127.0.0.1:8080
CONSOLE ?= http://127.0.0.1:8083
demo: ## fills a running make run with a shop's quarter
	@go run ./deploy/demo -url $(URL) -console $(CONSOLE)

test: ## all tests: real PostgreSQL, real JetStream, the race detector
	PG_BIN="$$(deploy/postgres/ensure.sh)" && export PG_BIN && \
	GORACE=atexit_sleep_ms=10 deploy/in-memory.sh go test -race -shuffle=on -p $$(($$(getconf _NPROCESSORS_ONLN) + 1)) -parallel 6 -timeout 30m ./...

test-faults: test-power-cuts test-campaign test-properties test-arrivals test-schedules ## the five long campaigns below

docs: ## print the parts of the documents that come from the code; the tests compare them
	PG_BIN="$$(deploy/postgres/ensure.sh)" && export PG_BIN && \
	go test -count 1 -p 1 -run Printed ./cmd/... ./internal/providers ./internal/providerapi ./internal/store ./internal/testenv/docs -update

FAULT_ROUNDS ?= 100
test-campaign: ## FAULT_ROUNDS (100) random kills, freezes, crashes and cuts under load, in programs with the race detector
	PG_BIN="$$(deploy/postgres/ensure.sh)" && export PG_BIN && \
	FAULT_ROUNDS=$(FAULT_ROUNDS) PROGRAM_FLAGS=-race go test -race -v -count 1 -timeout 0 -run NoFaultMakesAWrongRow ./internal/endtoend

POWER_CUTS ?= 200
test-power-cuts: ## POWER_CUTS (200) power cuts under load, on a disk that loses unsynced data; needs /dev/fuse
	POWER_CUTS=$(POWER_CUTS) go test -tags powercut -v -count 1 -timeout 0 ./internal/testenv/powercut

PROPERTY_CHECKS ?= 2000
PROPERTY_SEED ?= 0
RAPID = -rapid.checks=$(PROPERTY_CHECKS) -rapid.seed=$(PROPERTY_SEED)
test-properties: ## PROPERTY_CHECKS (2000) random logs, folded into real tables in every way, what pages count of them, and random purchases
	PG_BIN="$$(deploy/postgres/ensure.sh)" && export PG_BIN && \
	go test -count 1 -timeout 0 -run 'TablesOfOneFold|DoesWhatPostgresDoes|GrantsAreThoseOfTheLedger' ./internal/live ./internal/rebuild $(RAPID) && \
	go test -count 1 -timeout 0 -run 'NaiveCount|AnyLog|UsersCanSpend|ThoseOfTheirRows' ./internal/report/browse ./internal/report/explain $(RAPID) && \
	go test -count 1 -timeout 0 -run 'EveryKeptPurchase|DoesWhatPostgresDoes' ./internal/invitations $(RAPID) && \
	go test -count 1 -timeout 0 -run AWalletIsAPurse ./internal/wallet $(RAPID)

ARRIVAL_ROUNDS ?= 100
test-arrivals: ## every order in which the events of a payment can arrive: ARRIVAL_ROUNDS (100) rounds
	ARRIVAL_ROUNDS=$(ARRIVAL_ROUNDS) go test -v -count 1 -timeout 0 -run 'OrderOfArrival|InEveryOrder' ./internal/projections

SCHEDULES ?= 34000
test-schedules: ## SCHEDULES (34000) random orders of the steps of archivers and trimmers, as many of projectors, and of inviters, with kills and lost answers
	PG_BIN="$$(deploy/postgres/ensure.sh)" && export PG_BIN && \
	SCHEDULES=$(SCHEDULES) go test -v -count 1 -timeout 0 -run NoSchedule ./internal/archive/schedules ./internal/live ./internal/invitations

HOURS ?= 24
soak: ## all campaigns of random faults that this machine can run, again and again for HOURS (24; 0.5 is fine), and one verdict
	@HOURS=$(HOURS) internal/testenv/soak/soak.sh

test-newest-nats: ## says whether the log's tests pass with the newest release of nats-server
	internal/eventlog/newest-nats.sh

PROMTOOL := go run github.com/prometheus/prometheus/cmd/promtool
test-monitoring: ## the alert rules with promtool, and all expressions of rules and dashboard on metrics of a real run
	cd deploy/monitoring/tools && export GOFLAGS="$$GOFLAGS -tags=remove_all_sd" && go vet ./... && \
	$(PROMTOOL) check rules ../rules.yaml && \
	$(PROMTOOL) test rules ../rules_test.yaml ../rules_days_test.yaml ../faults_test.yaml && \
	go test -count 1 ./...

test-console: ## the console in a browser: the real programs, every page, all rules of WCAG 2.1 AA that axe can check; PICTURES=FOLDER keeps pictures
	PG_BIN="$$(deploy/postgres/ensure.sh)" && \
	CHROMIUM="$$(internal/console/browser/ensure.sh chromium)" && \
	AXE="$$(internal/console/browser/ensure.sh axe)" && \
	export PG_BIN CHROMIUM AXE && \
	cd internal/console/browser && go vet ./... && go test -count 1 -timeout 30m -skip '^TestPortal' ./...

test-portal: ## examples/portal in a browser: the real programs, deliveries signed by the package of Stripe; needs npm
	internal/providers/official/ensure.sh && internal/providers/official/ensure.sh examples/portal && \
	PG_BIN="$$(deploy/postgres/ensure.sh)" && \
	CHROMIUM="$$(internal/console/browser/ensure.sh chromium)" && \
	AXE="$$(internal/console/browser/ensure.sh axe)" && \
	PYTHON="$$(internal/console/browser/ensure.sh python)" && \
	export PG_BIN CHROMIUM AXE PYTHON && \
	cd internal/console/browser && go vet ./... && go test -count 1 -timeout 10m -v -run '^TestPortal' ./...

test-signatures: ## what the official packages of the providers sign, sent to the real ingest, and what they say of ours; needs npm
	internal/providers/official/ensure.sh && \
	cd internal/providers/official && go vet ./... && go test -count 1 -timeout 10m ./...

test-export: ## DuckDB reads what projector export writes, and has the sums that Postgres has; needs npm
	internal/providers/official/ensure.sh internal/export/duckdb && \
	PG_BIN="$$(deploy/postgres/ensure.sh)" && export PG_BIN && \
	cd internal/export/duckdb && go vet ./... && go test -count 1 -timeout 10m ./...

test-units: ## systemd-analyze rates the exposure of each systemd unit below 2.0
	@for unit in deploy/systemd/*.service; do \
		rating="$$(systemd-analyze security --offline=true --no-pager --threshold=19 "$$unit")" || { echo "$$rating"; exit 1; }; \
		echo "$$rating" | tail -n 1; \
	done

test-install: ## docs/install.md, command by command, on a Debian with its own systemd; as root, on Debian
	deploy/packages/test/run.sh

TARGETS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
release: ## dist/: archives and packages of the commit for TARGETS (linux and darwin, amd64 and arm64), with SBOMs, the chart for Kubernetes and SHA256SUMS
	rm -rf dist
	go run -C deploy/release . -repository "$(CURDIR)" -to "$(CURDIR)/dist" $(TARGETS)

test-release: ## a release is complete, runs, and is the same, byte by byte, when built again (needs dpkg, rpm, systemd)
	cd deploy/release && go vet ./... && go run $(STATICCHECK) ./... && go test -count 1 -timeout 20m ./...

test-helm: ## the chart for Kubernetes: every combination of four of its values, those it refuses, its programs, and its archive
	PG_BIN="$$(deploy/postgres/ensure.sh)" && export PG_BIN && \
	cd deploy/helm/tools && go vet ./... && go run $(STATICCHECK) ./... && go test -count 1 -timeout 20m ./...

STACK_KILLS ?= 11
test-stack: ## deploy/compose.one.yaml and deploy/compose.yaml with images built here; of the second, STACK_KILLS (11: one of each kind) containers are killed, and parts cut off; as root, on Debian
	PG_BIN="$$(deploy/postgres/ensure.sh)" && export PG_BIN && \
	STACK_KILLS=$(STACK_KILLS) deploy/stack/test/with-docker.sh deploy/stack/test/run.sh

test-upgrade: ## docs/upgrading.md from the releases in internal/endtoend/upgrade-from, and back; needs the history of git
	PG_BIN="$$(deploy/postgres/ensure.sh)" && export PG_BIN && \
	go test -tags upgrade -v -count 1 -timeout 20m -run AnUpgrade ./internal/endtoend

CLUSTER_ROUNDS ?= 100
CLUSTER_TESTS ?= FaultOfTheCluster
test-cluster: ## CLUSTER_ROUNDS (100) faults of a cluster of NATS, ingests, projectors and Postgres under load; as root, on Linux
	PG_BIN="$$(deploy/postgres/ensure.sh)" && export PG_BIN && \
	CLUSTER_ROUNDS=$(CLUSTER_ROUNDS) internal/testenv/cluster/run.sh '$(CLUSTER_TESTS)' -test.v -test.timeout 0

DISK_ROUNDS ?= 100
test-cluster-disks: ## DISK_ROUNDS (100) power cuts, damaged files, bad links, jumps of clocks and changes of the replicas of three NATS servers under load; as root, on Linux with /dev/fuse
	$(MAKE) test-cluster CLUSTER_ROUNDS=$(DISK_ROUNDS) CLUSTER_TESTS='DiskOfTheCluster|SyncedLater'

EVENTS ?= 200000
BACKLOG ?= 100000
bench: ## decoding, deliveries/s, time to a visible row; with EVENTS (200000) events the ways to fold a log, its readers, restore, trim and start; live projection of BACKLOG (100000) events
	@PG_BIN="$$(deploy/postgres/ensure.sh)" && export PG_BIN && \
	go test -run '^$$' -bench Decode -benchtime 50000x -count 3 ./internal/providers && \
	go test -run '^$$' -bench Deliveries -benchtime 20000x -count 3 ./internal/endtoend && \
	go test -run '^$$' -bench Projection -benchtime 50000x -count 3 ./internal/endtoend && \
	EVENTS=$(EVENTS) go test -run '^$$' -bench Visible -benchtime 1000x -count 3 ./internal/endtoend && \
	EVENTS=$(EVENTS) go test -run '^$$' -bench 'BenchmarkRebuild$$' -benchtime 1x -timeout 0 ./internal/endtoend && \
	EVENTS=$(EVENTS) go test -run '^$$' -bench 'BenchmarkReaders$$' -benchtime 1x -timeout 0 ./internal/endtoend && \
	BACKLOG=$(BACKLOG) go test -run '^$$' -bench 'BenchmarkBacklog$$' -benchtime 1x -timeout 0 ./internal/endtoend && \
	EVENTS=$(EVENTS) go test -run '^$$' -bench 'BenchmarkRestore$$' -benchtime 1x -timeout 0 ./internal/restore && \
	EVENTS=$(EVENTS) go test -run '^$$' -bench 'BenchmarkTrim$$' -benchtime 1x -timeout 0 ./internal/restore && \
	EVENTS=$(EVENTS) go test -run '^$$' -bench 'BenchmarkStart$$' -benchtime 3x -timeout 0 ./internal/eventlog

# HISTORY=10000000 needs tens of gigabytes of disk.
HISTORY ?= 100000 1000000
bench-history: ## the last BACKLOG (100000) events compared with writing their rows; rebuild and verify compared with COPY; logs of HISTORY (100000 1000000) events, and of EVENTS with 1 to 1000 a customer
	@PG_BIN="$$(deploy/postgres/ensure.sh)" && export PG_BIN && \
	EVENTS=$(EVENTS) HISTORY="$(HISTORY)" BACKLOG=$(BACKLOG) go test -run '^$$' -bench 'BenchmarkHistory$$' -benchtime 1x -timeout 0 ./internal/endtoend

bench-scaling: ## time to a row while projectors join, stop and are killed; BACKLOG (100000) events with one, two and four projectors, and 8 to 512 partitions
	@PG_BIN="$$(deploy/postgres/ensure.sh)" && export PG_BIN && \
	BACKLOG=$(BACKLOG) go test -run '^$$' -bench 'Benchmark(Scaling|Projectors)$$' -benchtime 1x -timeout 0 ./internal/endtoend

bench-ingest: ## ingest compared with inserts into Postgres, one fsync a delivery, and nothing stored
	@PG_BIN="$$(deploy/postgres/ensure.sh)" && export PG_BIN && \
	go test -run '^$$' -bench 'BenchmarkIngest$$' -benchtime 1x -timeout 0 ./internal/endtoend

bench-cluster: ## ingest with its own log, one NATS server, and three, all with a sync before each answer; as root, on Linux
	@PG_BIN="$$(deploy/postgres/ensure.sh)" && export PG_BIN && \
	internal/testenv/cluster/run.sh 'BenchmarkCluster$$' -test.benchtime 1x -test.timeout 0

bench-strangers: ## how long signed deliveries wait while somebody without a secret attacks ingest
	@PG_BIN="$$(deploy/postgres/ensure.sh)" && export PG_BIN && \
	go test -run '^$$' -bench 'BenchmarkStrangers$$' -benchtime 1x -timeout 0 ./internal/endtoend

CONSOLE_EVENTS ?= 1000000
bench-console: ## each page of the console on tables of CONSOLE_EVENTS (1000000) events
	@PG_BIN="$$(deploy/postgres/ensure.sh)" && export PG_BIN && \
	EVENTS=$(CONSOLE_EVENTS) go test -run '^$$' -bench 'BenchmarkConsole$$' -benchtime 1x -timeout 0 ./internal/console

bench-wallet: ## spends/s and their p99 of 200 users at once: alone, beside live projection, and compared with a counter of the app's own
	@PG_BIN="$$(deploy/postgres/ensure.sh)" && export PG_BIN && \
	go test -run '^$$' -bench 'BenchmarkWallet$$' -benchtime 20000x -timeout 0 ./internal/endtoend

# A number of executions: before Go 1.27 a duration sometimes ends as a failure.
FUZZTIME ?= 200000x
fuzz: ## every fuzz target, FUZZTIME (200000x) inputs each
	@grep -rl '^func Fuzz' --include='*_test.go' internal | xargs -n1 dirname | sort -u | while read -r dir; do \
		for target in $$(grep -ho '^func Fuzz[A-Za-z]*' "$$dir"/*_test.go | cut -d' ' -f2); do \
			echo "$$dir $$target"; go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "./$$dir" || exit 1; \
		done; \
	done

lint: ## gofumpt, go vet, staticcheck; tests must wait with wait.Until
	@! grep -rnE '(require|assert)\.Eventually' --include='*_test.go' cmd internal || { echo "wait with wait.Until"; exit 1; }
	@unformatted="$$(go run $(GOFUMPT) -l .)"; test -z "$$unformatted" || { echo "not formatted: $$unformatted"; exit 1; }
	go vet ./...
	go vet -tags powercut,stack,upgrade,cluster ./...
	go run $(STATICCHECK) ./...
	go run $(STATICCHECK) -tags powercut,stack,upgrade,cluster ./internal/testenv/powercut ./internal/endtoend

clean: ## remove bin/
	rm -rf bin
