#!/usr/bin/env bash
# with-docker.sh COMMAND...: runs a command with Docker and compose. If this machine has none, root starts a dockerd
# for the command and stops it afterwards. Missing packages come from Debian.
#
# STACK_CACHE (/var/tmp/payfold-stack) is the folder of that dockerd. Remove it only when nothing runs.
set -euo pipefail
cache="${STACK_CACHE:-/var/tmp/payfold-stack}"

usable() { docker info && { docker compose version || docker-compose version; }; } >/dev/null 2>&1
usable && exec "$@"

say() { echo "with-docker.sh: $*" >&2; }
if [ "$(id -u)" != 0 ]; then
	say 'no Docker answers, and only root can start one'
	exit 1
fi
if ! { [ -x /usr/sbin/dockerd ] && [ -x /usr/bin/docker ] && [ -x /usr/bin/docker-compose ]; }; then
	say 'installing docker.io and docker-compose'
	log=$(mktemp)
	install() { DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends docker.io docker-compose iptables; }
	{ install || { apt-get update && install; }; } >"$log" 2>&1 || {
		tail -n 20 "$log" >&2
		say 'the installation failed'
		exit 1
	}
	rm -f "$log"
fi
export PATH="/usr/bin:/usr/sbin:$PATH" # another docker may be a client that builds only with a plugin

mkdir -p "$cache"
exec 9>"$cache/lock"
flock -n 9 || {
	say "another one runs in $cache"
	exit 1
}
export DOCKER_HOST="unix://$cache/docker.sock"
# A Ctrl-C must not reach it before the command has cleaned up.
setsid dockerd --host "$DOCKER_HOST" --data-root "$cache/docker" --exec-root "$cache/run" --pidfile "$cache/docker.pid" \
	>"$cache/dockerd.log" 2>&1 9>&- &
daemon=$!
stop() {
	kill "$daemon" 2>/dev/null || true
	wait "$daemon" || true
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

for _ in $(seq 120); do
	usable && break
	kill -0 "$daemon" 2>/dev/null || break
	sleep 0.5
done
if ! usable; then
	tail -n 20 "$cache/dockerd.log" >&2
	say 'dockerd does not start here'
	exit 1
fi
"$@" 9>&-
