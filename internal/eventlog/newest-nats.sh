#!/usr/bin/env bash
# newest-nats.sh: says whether the tests of the log pass with the newest release of nats-server. It ends with 0 in either
# case, and with another status if that cannot be found out.
set -euo pipefail
cd "$(dirname "$0")/../.."
module=github.com/nats-io/nats-server/v2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
used=$(go list -m -f '{{.Version}}' "$module")
newest=$(go list -m -versions -f '{{join .Versions "\n"}}' "$module" | grep -v -- - | tail -n 1)
[ -n "$newest" ] || { echo "newest-nats.sh: the module proxy names no version of $module" >&2; exit 1; }
if [ "$newest" = "$used" ]; then
	echo "nats-server $used is the newest, and the one in go.mod"
	exit
fi
cp go.mod "$work/go.mod"
cp go.sum "$work/go.sum"
go get -modfile "$work/go.mod" "$module@$newest"
if go test -modfile "$work/go.mod" -count 1 ./internal/eventlog/... >"$work/output" 2>&1; then
	echo "nats-server $newest fits; go.mod has $used"
else
	grep -e '^--- FAIL' -e '^#' -e '\.go:[0-9]*:[0-9]*: ' "$work/output" || tail -n 20 "$work/output"
	echo "nats-server $newest: not yet; go.mod has $used"
fi
