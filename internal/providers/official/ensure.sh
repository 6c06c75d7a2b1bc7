#!/bin/sh
# ensure.sh [FOLDER]: installs the packages of FOLDER/package-lock.json into node_modules there, unless they are there
# already. Without FOLDER it is the folder of this script.
set -eu
cd "${1:-$(dirname "$0")}"

say() { printf '%s\n' "$*" >&2; }

for program in node npm; do
	command -v "$program" >/dev/null || { say "$program not found; install it: sudo apt-get install -y npm"; exit 1; }
done

installed=node_modules/.installed
if ! cmp -s package-lock.json "$installed"; then
	npm ci --ignore-scripts --prefer-offline --no-audit --no-fund --loglevel=error >&2
	cp package-lock.json "$installed"
fi
