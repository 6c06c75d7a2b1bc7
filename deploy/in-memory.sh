#!/bin/sh
# in-memory.sh COMMAND...: runs a command with its temporary files in memory, if enough
# memory is free; otherwise in the usual folder. Tests create and delete hundreds of
# databases and logs, and on a disk that takes half of their time. To run a command on a
# disk: TMPDIR=/var/tmp deploy/in-memory.sh COMMAND
set -eu
needed=8000000 # KB: for two packages at a time, each with databases, logs and programs

memory=/dev/shm
has_enough() {
	test -z "${TMPDIR:-}" && test -w $memory &&
		awk -v needed=$needed '$1 == "MemAvailable:" { exit $2 < needed }' /proc/meminfo &&
		test "$(df -Pk $memory | awk 'NR == 2 { print $4 }')" -ge $needed &&
		! grep -q "^[^ ]* $memory .*noexec" /proc/mounts # tests build programs
}
has_enough 2>/dev/null || exec "$@"

TMPDIR=$(mktemp -d $memory/payfold.XXXXXX)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
chmod 755 "$TMPDIR" # where the tests run as root, Postgres runs as another user
"$@"
