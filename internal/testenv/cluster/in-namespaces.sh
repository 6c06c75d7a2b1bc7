#!/usr/bin/env bash
# in-namespaces.sh COMMAND...: runs a command as root in its own namespaces of network, mounts and processes. Its
# processes, mounts and interfaces end with it, also when this script is killed. /run is empty, /etc can be changed,
# and the bridge lan has the address 10.77.0.1. It needs root and network namespaces; missing packages come from Debian.
set -euo pipefail

say() { echo "in-namespaces.sh: $*" >&2; }
if [ "$(id -u)" != 0 ] || [ "$(uname)" != Linux ]; then
	say 'only root on Linux can make the namespaces'
	exit 1
fi
missing=()
command -v ip >/dev/null || missing+=(iproute2)
command -v iptables >/dev/null || missing+=(iptables)
command -v openssl >/dev/null || missing+=(openssl)
command -v ps >/dev/null || missing+=(procps)
if [ ${#missing[@]} != 0 ]; then
	say "installing ${missing[*]}"
	install() { DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"; }
	{ install || { apt-get update && install; }; } >&2
fi

# setpriv: the namespaces end with this script, also after a kill.
setpriv --pdeathsig KILL unshare --mount --net --pid --fork --mount-proc --kill-child bash -euc '
	mount -t tmpfs tmpfs /run
	mkdir /run/etc /run/etc.work /run/netns
	mount -t overlay overlay -o lowerdir=/etc,upperdir=/run/etc,workdir=/run/etc.work /etc
	ip link set lo up
	ip link add lan type bridge
	ip address add 10.77.0.1/24 dev lan
	ip link set lan up
	ip link add probe0 type veth peer name probe1
	ip link delete probe0
	iptables -w -A INPUT -s 192.0.2.1 -j DROP
	iptables -w -F INPUT
	"$@"
	exit' in-namespaces "$@" &
command=$!
stop() { kill -KILL "$command" 2>/dev/null || true; }
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
wait "$command"
