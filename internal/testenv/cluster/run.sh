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

time=$(go env GOROOT)/src/time/time.go
sed 's/^\tsec, nsec, mono := runtimeNow()$/&\n\tsec += testClockOffset/' "$time" >"$work/time.go"
cat >>"$work/time.go" <<-'GO'
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
sed -i '0,/^import (/s//import (\n\t"syscall"/' "$work/time.go"
grep -q 'sec += testClockOffset' "$work/time.go" || {
	echo 'run.sh: time.Now is written in another way in this version of Go' >&2
	exit 1
}
printf '{"Replace": {"%s": "%s"}}' "$time" "$work/time.go" >"$work/overlay.json"

export CGO_ENABLED=0
go build -overlay "$work/overlay.json" -o "$work/bin/" ./cmd/...
go build -overlay "$work/overlay.json" -o "$work/nats/new/" github.com/nats-io/nats-server/v2
GOBIN="$work/nats/old" go install -overlay "$work/overlay.json" "github.com/nats-io/nats-server/v2@$before"
go test -c -tags cluster -o "$work/endtoend.test" ./internal/endtoend
cp -r deploy "$work/deploy"

export CLUSTER_FILES="$work" PG_BIN="${PG_BIN:-$(deploy/postgres/ensure.sh)}" SSL_CERT_DIR=/etc/ssl/payfold TMPDIR="$work"
cd internal/endtoend
setpriv --pdeathsig KILL ../testenv/cluster/in-namespaces.sh "$work/endtoend.test" "$@"
