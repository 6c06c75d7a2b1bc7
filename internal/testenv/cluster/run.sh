#!/usr/bin/env bash
# run.sh TEST-FLAG...: builds the programs, two versions of nats-server and the tests of the cluster, and runs the tests
# in their own namespaces. The clock of these programs is TEST_CLOCK_OFFSET seconds ahead of the machine's.
set -euo pipefail
cd "$(dirname "$0")/../../.."
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
sed -i 's/^\tsec, nsec, mono := runtimeNow()$/&\n\tsec += testClockOffset/' "$time"
grep -q 'sec += testClockOffset' "$time" || {
	echo 'run.sh: time.Now is written in another way in this version of Go' >&2
	exit 1
}
sed -i '0,/^import (/s//import (\n\t"syscall"/' "$time"
cat >>"$time" <<-'GO'
	var testClockOffset = readTestClockOffset()

	func readTestClockOffset() (seconds int64) {
		text, _ := syscall.Getenv("TEST_CLOCK_OFFSET")
		sign := int64(1)
		for _, digit := range []byte(text) {
			if digit == '-' {
				sign = -1
			} else {
				seconds = 10*seconds + int64(digit-'0')
			}
		}
		return sign * seconds
	}
GO
with_clock() { GOROOT="" GOTOOLCHAIN=local "$work/go/bin/go" "$@"; }

export CGO_ENABLED=0
with_clock build -o "$work/bin/" ./cmd/...
with_clock build -o "$work/nats/new/" github.com/nats-io/nats-server/v2
GOBIN="$work/nats/old" with_clock install "github.com/nats-io/nats-server/v2@$before"
go test -c -tags cluster -o "$work/endtoend.test" ./internal/endtoend
cp -r deploy "$work/deploy"

export CLUSTER_FILES="$work" PG_BIN="${PG_BIN:-$(deploy/postgres/ensure.sh)}" SSL_CERT_DIR=/etc/ssl/payfold TMPDIR="$work"
cd internal/endtoend
setpriv --pdeathsig KILL ../testenv/cluster/in-namespaces.sh "$work/endtoend.test" "$@"
