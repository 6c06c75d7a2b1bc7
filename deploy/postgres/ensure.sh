#!/bin/sh
# ensure.sh: prints the folder of the PostgreSQL server's binaries.
#
# If there is none, it installs the package if that asks no question (as root, with a sudo without password, or with
# Homebrew). Otherwise it prints the command for it to stderr and exits 1. Only the folder goes to stdout.
set -eu
cd "$(dirname "$0")/../.."

say() { printf '%s\n' "$*" >&2; }

# find_binaries: prints the folder; nothing if there is none.
find_binaries() { go run ./deploy/postgres; }

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

dir=$(find_binaries)
if [ -n "$dir" ] || [ -n "${PG_BIN:-}" ]; then
	printf '%s\n' "$dir"
	[ -n "$dir" ]
	exit
fi

if has apt-get; then
	command='sudo apt-get install -y --no-install-recommends postgresql'
	if [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null; then
		say 'installing the package postgresql'
		install_with_apt >&2 || say 'the installation failed'
	fi
elif has brew; then
	command='brew install postgresql@17'
	say 'installing postgresql@17'
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
dir=$(find_binaries)
if [ -z "$dir" ]; then
	say "install it: $command"
	exit 1
fi
printf '%s\n' "$dir"
