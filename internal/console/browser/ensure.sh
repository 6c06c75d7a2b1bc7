#!/bin/sh
# ensure.sh NAME: prints the path of a program or file for the browser tests.
#
#   ensure.sh chromium   the browser; installed with apt-get if that asks no question
#   ensure.sh axe        axe.min.js of axe-core; fetched with npm once, and kept in the user's cache
#   ensure.sh python     python3 with psycopg; installed like the browser
#
# Only the path goes to stdout. If it cannot be installed, exits 1 and says what to do.
set -eu

say() { printf '%s\n' "$*" >&2; }

find_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome; }

as_root() {
	if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

# install NAME…: installs packages of Debian.
install() {
	command -v apt-get >/dev/null || return 1
	say "installing $*"
	packages() { as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"; }
	packages "$@" || { as_root apt-get update -q && packages "$@"; }
}

ensure_chromium() {
	find_chromium && return
	install chromium fonts-dejavu-core >&2 || say 'the installation failed'
	find_chromium || { say 'no chromium found; install it: sudo apt-get install -y chromium'; return 1; }
}

version=4.14.1
sum=e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745

ensure_axe() {
	cache="${XDG_CACHE_HOME:-$HOME/.cache}/payfold/axe-core-$version"
	package="$cache/axe-core-$version.tgz"
	mkdir -p "$cache"
	if ! intact "$package"; then
		command -v npm >/dev/null || install npm >&2 || { say 'axe-core is fetched with npm; install it: sudo apt-get install -y npm'; return 1; }
		(cd "$cache" && npm pack --silent "axe-core@$version" >/dev/null)
		intact "$package" || { say "$package is not the file with the SHA-256 $sum"; return 1; }
	fi
	tar -xzf "$package" -C "$cache" package/axe.min.js
	printf '%s\n' "$cache/package/axe.min.js"
}

intact() { [ -f "$1" ] && echo "$sum  $1" | sha256sum -c --status; }

# Debian's python3 has the package even if another one comes before it in PATH.
find_python() {
	for python in python3 /usr/bin/python3; do
		"$python" -c 'import psycopg' 2>/dev/null && command -v "$python" && return
	done
	return 1
}

ensure_python() {
	find_python && return
	install python3-psycopg >&2 || say 'the installation failed'
	find_python || { say 'no python3 with psycopg found; install it: sudo apt-get install -y python3-psycopg'; return 1; }
}

case "${1:-}" in
chromium | axe | python) "ensure_$1" ;;
*) say 'usage: ensure.sh chromium|axe|python'; exit 1 ;;
esac
