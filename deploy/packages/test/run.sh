#!/usr/bin/env bash
# run.sh: follows docs/install.md, command by command, on a Debian with its own systemd and no network: the package of
# the commit, signed deliveries, kill -9, wrong settings, a restore, a reboot, the removal. It needs root and
# systemd-nspawn. The folder INSTALL_CACHE (/var/tmp/payfold-install) keeps Debian.
set -euo pipefail
cd "$(dirname "$0")/../../.."
cache="${INSTALL_CACHE:-/var/tmp/payfold-install}"
architecture=$(dpkg --print-architecture)
packages=systemd-sysv,dbus,ca-certificates
installed='postgresql sudo caddy nginx' # by the commands of install.md, from files that are already there

mkdir -p "$cache"
exec 9>"$cache/lock"
flock -n 9 || {
	echo "another one runs in $cache" >&2
	exit 1
}
work=$(mktemp -d)
machine=
stop() {
	[ -z "$machine" ] || kill -s TERM "$machine" 2>/dev/null || true # nspawn ends the machine with it
	[ -z "$machine" ] || wait "$machine" || true
	machine=
}
clean() {
	stop
	rm -rf "$work" "/run/systemd/nspawn/propagate/payfold-$$"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

debian() {
	[ ! -e "$cache/debian" ] || return 0
	rm -rf "$cache/new" &&
		debootstrap --variant=minbase --include="$packages" bookworm "$cache/new" http://deb.debian.org/debian &&
		echo 'APT::Keep-Downloaded-Packages "true";' >"$cache/new/etc/apt/apt.conf.d/keep" &&
		chroot "$cache/new" apt-get update &&
		chroot "$cache/new" env DEBIAN_FRONTEND=noninteractive apt-get install -y --download-only $installed &&
		mv "$cache/new" "$cache/debian"
}
echo 'Debian'
{
	command -v debootstrap && command -v systemd-nspawn || { apt-get update && apt-get install -y --no-install-recommends debootstrap systemd-container; }
	debian || debian || debian # a package server may be away for a moment
} >"$work/debian.log" 2>&1 || {
	tail -n 40 "$work/debian.log" >&2
	exit 1
}
cp -a --reflink=auto "$cache/debian" "$work/root"
chmod 755 "$work"
root="$work/root"
rm -f "$root/etc/machine-id"
touch "$root/etc/machine-id"
echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/test" # dpkg syncs each file otherwise
echo '127.0.0.1 localhost debian pay.shop.example' >"$root/etc/hosts"

echo 'the package'
go run -C deploy/release . -repository "$PWD" -to "$work/dist" "linux/$architecture"
cp "$work"/dist/*.deb "$root/root/payfold_1.2.3_linux_amd64.deb"

# boot starts the machine, and returns when everything that is enabled has started.
boot() {
	rm -rf "/run/systemd/nspawn/propagate/payfold-$$"
	SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 systemd-nspawn --quiet --boot --directory="$root" --machine="payfold-$$" \
		--hostname=debian --private-network --register=no --keep-unit --kill-signal=SIGRTMIN+4 --console=pipe </dev/null >"$work/console.log" 2>&1 9>&- &
	machine=$!
	cat >"$work/wait" <<-'SH'
		until test -S /run/dbus/system_bus_socket; do sleep 0.2; done
		systemctl is-system-running --wait || true # another service may have failed
	SH
	until inside /dev/null 2>/dev/null; do
		kill -0 "$machine" || { cat "$work/console.log" >&2 && return 1; }
		sleep 0.2
	done
	inside "$work/wait" >/dev/null
}

# inside runs a script in the machine, as root.
inside() {
	local first
	first=$(pgrep -P "$machine") || return
	nsenter --target "$first" --all env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
		bash -euo pipefail /dev/fd/3 3<"$1" </dev/null
}

# follow is inside, quietly.
follow() {
	inside "$1" >"$work/log" 2>&1 || {
		tail -n 60 "$work/log" >&2
		exit 1
	}
}

# block prints the commands of install.md in which a text is.
block() {
	awk -v text="$1" '/^```sh$/ { on = 1; commands = ""; next }
		/^```$/ { if (on && index(commands, text)) { printf "%s", commands; found = 1; exit } on = 0; next }
		on { commands = commands $0 "\n" }
		END { exit !found }' docs/install.md
}
echo 'the commands of docs/install.md'
boot
{
	cat deploy/packages/test/checks.sh
	block 'apt-get install -y postgresql'
	echo 'not_running; status_says ingest "no signing secret is set"'
	echo '{'
	block 'read -rs'
	echo "} <<<'whsec_a_secret_of_the_test'"
	block createdb
	block 'systemctl enable'
	echo 'unseen_by_others; kills; wrong_settings'
	block 'apt-get install -y caddy' | sed 's/^pay.shop.example {/&\n\ttls internal/'
	echo 'trust_caddy'
	block 'payfold() {'
	block 'ingest send --url'
	block 'payfold projector status'
	echo 'secret_is_unseen'
	echo 'self_signed; systemctl stop caddy'
	block 'apt-get install -y nginx'
	block 'ingest send --url'
	echo 'echo ARCHIVE_INTERVAL=1s >>/etc/payfold/ingest.env'
	block 'ReadWritePaths='
	echo 'archived'
	block 'ingest check'
	block 'ingest restore'
	echo 'credits; payfold projector verify'
	# A copy, as the page says it in a sentence.
	echo 'systemctl stop payfold-ingest payfold-projector; rm -r /var/lib/payfold/log'
	sed -n 's/.*the third line is `\(.*\)`\. .*/\1/p' docs/install.md
	echo 'systemctl start payfold-ingest payfold-projector; credits; payfold projector verify'
	block 'payfold-restore-drill.timer'
	echo 'nightly; rm /var/lib/payfold-backup/payfold-*.dump'
	block 'BACKUP_DATABASE='
	echo saved_elsewhere
	block 'payfold-console'
	echo 'console; slow_postgres'
} >"$work/install"
follow "$work/install"

echo 'a reboot, with a Postgres that takes its time'
stop
boot
{
	cat deploy/packages/test/checks.sh
	block 'payfold() {'
	echo 'active; credits; payfold projector verify'
	block 'ingest send --url'
	echo 'console; removed'
} >"$work/reboot"
follow "$work/reboot"
echo 'docs/install.md holds'
