#!/bin/sh
# in-memory.sh COMMAND...: runs a command with its temporary files in memory, if
# there is enough, else in the usual folder. Tests make and delete hundreds of
# databases and logs that nobody needs afterwards. On a disk this takes half of their
# time. TMPDIR=/var/tmp deploy/in-memory.sh COMMAND runs them on a disk.
set -eu
least=8000000 # KB, for several packages at a time, each with databases, logs and programs

memory=/dev/shm
plenty() {
	test -z "${TMPDIR:-}" && test -w $memory &&
		awk -v least=$least '$1 == "MemAvailable:" { exit $2 < least }' /proc/meminfo &&
		test "$(df -Pk $memory | awk 'NR == 2 { print $4 }')" -ge $least &&
		! grep -q "^[^ ]* $memory .*noexec" /proc/mounts # tests build programs
}
plenty 2>/dev/null || exec "$@"

TMPDIR=$(mktemp -d $memory/payfold.XXXXXX)
export TMPDIR
export TEST_CLUSTER="$TMPDIR/cluster" # made once, for all packages
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
chmod 755 "$TMPDIR" # as root, tests run Postgres as another user
"$@"
