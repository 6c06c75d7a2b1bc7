#!/bin/sh
# ensure.sh: prints the folder of the PostgreSQL server's binaries.
#
# Looks in the same places as internal/localpg, in the same order. If there is none,
# it installs the package if that asks no question (as root, with a sudo without
# password, or with Homebrew). Otherwise it prints the command for it to stderr and
# exits 1. Only the folder goes to stdout.
set -eu

say() { printf '%s\n' "$*" >&2; }

has_binaries() {
	for name in initdb postgres; do
		[ -f "$1/$name" ] && [ -x "$1/$name" ] || return 1
	done
}

# newest FOLDER...: the folder with binaries of the highest version.
newest() {
	for dir in "$@"; do
		has_binaries "$dir" || continue
		version=$(printf '%s\n' "$dir" | sed -n 's|.*postgresql[@/]\([0-9][0-9]*\).*|\1|p')
		printf '%s %s\n' "${version:-0}" "$dir"
	done | sort -n | tail -n 1 | cut -d ' ' -f 2-
}

find_binaries() {
	if path=$(command -v initdb); then
		# A link leads to the folder with all programs, such as psql.
		if target=$(readlink -f "$path") && has_binaries "$(dirname "$target")"; then
			path=$target
		fi
		if has_binaries "$(dirname "$path")"; then
			(cd "$(dirname "$path")" && pwd)
			return
		fi
	fi
	if dir=$(pg_config --bindir 2>/dev/null) && has_binaries "$dir"; then
		printf '%s\n' "$dir"
		return
	fi
	for pattern in \
		'/usr/lib/postgresql/*/bin' \
		'/opt/homebrew/opt/postgresql*/bin' \
		'/usr/local/opt/postgresql*/bin'; do
		# shellcheck disable=SC2086 # the pattern is to be expanded
		dir=$(newest $pattern)
		if [ -n "$dir" ]; then
			printf '%s\n' "$dir"
			return
		fi
	done
	return 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# as_root COMMAND...: runs it as root, without a question.
as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		sudo -n "$@"
	fi
}

apt_install() {
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends postgresql
}

install_with_apt() {
	# Without this file the package would start a cluster that nobody needs. If the
	# file exists, it stays as it is.
	if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
		as_root mkdir -p /etc/postgresql-common
		echo 'create_main_cluster = false' | as_root tee /etc/postgresql-common/createcluster.conf >/dev/null
	fi
	# A new image has no package lists, an old one has outdated lists.
	apt_install || { as_root apt-get update && apt_install; }
}

if [ -n "${PG_BIN:-}" ]; then
	if ! has_binaries "$PG_BIN"; then
		say "PG_BIN is $PG_BIN, which has no initdb and postgres"
		exit 1
	fi
	(cd "$PG_BIN" && pwd)
	exit
fi
if find_binaries; then
	exit
fi

if has apt-get; then
	command='sudo apt-get install -y --no-install-recommends postgresql'
	if [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null; then
		say 'no PostgreSQL server found, installing the package postgresql'
		install_with_apt >&2 || say 'the installation failed'
	fi
elif has brew; then
	command='brew install postgresql@17'
	say 'no PostgreSQL server found, installing postgresql@17'
	brew install postgresql@17 >&2 || say 'the installation failed'
elif has dnf; then
	command='sudo dnf install -y postgresql-server'
elif has apk; then
	command='sudo apk add postgresql'
elif has pacman; then
	command='sudo pacman -S --noconfirm postgresql'
elif has zypper; then
	command='sudo zypper install -y postgresql-server'
else
	command='sudo apt-get install -y --no-install-recommends postgresql'
fi
if ! find_binaries; then
	say "no PostgreSQL server found; install it: $command"
	exit 1
fi
