#!/bin/sh
# in-memory.sh COMMAND...: runs a command whose temporary files lie in memory, if
# there is plenty of it; else where they always do. Tests make and delete databases
# and logs by the hundred, of which nothing has to outlive the machine: a disk spends
# half of their time on it. They never learn where they are, so that
# TMPDIR=/var/tmp deploy/in-memory.sh COMMAND runs them on a disk.
set -eu
least=8000000 # KB: some packages at a time, each with its databases, logs and programs

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
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
chmod 755 "$TMPDIR" # Postgres runs as another user where the tests run as root
"$@"
