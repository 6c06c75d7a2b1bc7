#!/usr/bin/env bash
# run.sh REGEXP TEST-FLAG...: builds the programs, two versions of nats-server and the tests of the cluster, and runs
# each test and benchmark whose name matches, in namespaces and with files of its own. The clock of these programs is
# ahead of the machine's by the seconds in the file TEST_CLOCK: eight bytes, which can change at any time.
set -euo pipefail
cd "$(dirname "$0")/../../.."
tests=$1
shift
before=v2.15.2 # a rolling upgrade goes from this version of nats-server to the one of go.mod

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
chmod 755 "$work" # Postgres runs as another user

# These programs are compiled by a copy of Go whose clock can be set.
cp -r "$(go env GOROOT)" "$work/go"
chmod -R u+w "$work/go"
time=$work/go/src/time/time.go
sed -i 's/^\tsec, nsec, mono := runtimeNow()$/&\n\tsec += *testClock/; s/^\t_ "unsafe".*/\t"syscall"\n\t"unsafe"/' "$time"
if ! grep -q 'sec += \*testClock' "$time" || ! grep -q '"syscall"' "$time"; then
	echo 'run.sh: time.Now is written in another way in this version of Go' >&2
	exit 1
fi
cat >>"$time" <<-'GO'
	var testClock = openTestClock()

	func openTestClock() *int64 {
		path, _ := syscall.Getenv("TEST_CLOCK")
		if path == "" {
			return new(int64)
		}
		file, err := syscall.Open(path, syscall.O_RDONLY, 0)
		if err != nil {
			panic("open TEST_CLOCK: " + err.Error())
		}
		seconds, err := syscall.Mmap(file, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
		if err != nil {
			panic("map TEST_CLOCK: " + err.Error())
		}
		_ = syscall.Close(file)
		return (*int64)(unsafe.Pointer(&seconds[0]))
	}
GO
with_clock() { GOROOT="" GOTOOLCHAIN=local "$work/go/bin/go" "$@"; }

export CGO_ENABLED=0
with_clock build -o "$work/bin/" ./cmd/...
with_clock build -o "$work/nats/new/" github.com/nats-io/nats-server/v2
GOBIN="$work/nats/old" with_clock install "github.com/nats-io/nats-server/v2@$before"
go test -c -tags cluster -o "$work/endtoend.test" ./internal/endtoend

export PG_BIN="${PG_BIN:-$(deploy/postgres/ensure.sh)}" SSL_CERT_DIR=/etc/ssl/payfold
cd internal/endtoend
names=$("$work/endtoend.test" -test.list "$tests" | grep -E '^(Test|Benchmark)')
for test in $names; do
	files=$(mktemp -d "$work/XXX") # a short path: a socket's has 107 characters
	chmod 755 "$files"
	cp -r ../../deploy "$work/bin" "$work/nats" "$files"
	CLUSTER_FILES=$files TMPDIR=$files setpriv --pdeathsig KILL ../testenv/cluster/in-namespaces.sh \
		"$work/endtoend.test" -test.run "^$test\$" -test.bench "^$test\$" "$@"
done
