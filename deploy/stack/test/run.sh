#!/usr/bin/env bash
# run.sh: makes the images of the stack on this machine, without a registry, and tests compose.yaml and compose.one.yaml with them.
# It needs root and Docker: with-docker.sh run.sh. It replaces Docker's image payfold. The folder STACK_CACHE
# (/var/tmp/payfold-stack) keeps Debian.
set -euo pipefail
cd "$(dirname "$0")/../../.."
cache="${STACK_CACHE:-/var/tmp/payfold-stack}"
packages=ca-certificates,busybox,nginx-light,postgresql,prometheus,prometheus-alertmanager
export DOCKER_BUILDKIT=1

work=$(mktemp -d)
clean() {
	[ ! -e "$work/clone/deploy/.env" ] || (cd "$work/clone/deploy" && docker compose down --volumes --timeout 5) >/dev/null 2>&1 || true
	rm -rf "$work"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

install_debootstrap() { DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends debootstrap; }

# debian: makes the image payfold-test/debian, with these packages. If a part fails, all of it fails and can be
# called again.
debian() {
	docker image inspect payfold-test/debian >/dev/null 2>&1 && return
	local root="$cache/debian"
	{ command -v debootstrap >/dev/null || install_debootstrap || { apt-get update && install_debootstrap; }; } &&
		rm -rf "$root" &&
		mkdir -p "$root/etc/postgresql-common" &&
		echo 'create_main_cluster = false' >"$root/etc/postgresql-common/createcluster.conf" &&
		debootstrap --variant=minbase --include="$packages" bookworm "$root" http://deb.debian.org/debian &&
		rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,fonts,javascript,locale,man} &&
		tar -C "$root" -c . | docker import - payfold-test/debian >/dev/null &&
		rm -rf "$root"
}
echo 'the servers: Debian, nats-server and versitygw'
{ debian || debian || debian; } >"$work/debian.log" 2>&1 || { # a package server may be away for a moment
	tail -n 40 "$work/debian.log" >&2
	exit 1
}
mkdir "$work/servers"
CGO_ENABLED=0 go build -trimpath -o "$work/servers/nats-server" github.com/nats-io/nats-server/v2
versitygw=$(sed -n 's|.*versity/versitygw:\(v[0-9.]*\).*|\1|p' deploy/compose.yaml)
CGO_ENABLED=0 GOBIN="$work/servers" go install -trimpath "github.com/versity/versitygw/cmd/versitygw@$versitygw"
docker build -q -f deploy/stack/test/servers.Dockerfile -t payfold-test/servers "$work/servers" >/dev/null

echo "payfold's files"
deploy/image-files.sh "$work/files"
printf 'FROM scratch\nCOPY . /image/\n' | docker build -q -t payfold-test/files -f - "$work/files" >/dev/null
rm -rf "$work/files" "$work/servers"

# A clone for .env and secrets, which the commands of docs/deploy.md make.
mkdir "$work/clone" "$work/bin"
git ls-files -co --exclude-standard -z | xargs -0 cp --parents -t "$work/clone"
# The docker of docs/deploy.md, with payfold's files built already, and with compose that is no plugin.
docker=$(command -v docker)
compose="$docker compose"
docker compose version >/dev/null 2>&1 || compose=$(command -v docker-compose)
cat >"$work/bin/docker" <<-SH
	#!/bin/sh
	command=\$1
	shift
	case "\$command" in
	build) exec $docker build --build-arg FILES=payfold-test/files "\$@" ;;
	compose) exec $compose "\$@" ;;
	*) exec $docker "\$command" "\$@" ;;
	esac
SH
chmod +x "$work/bin/docker"

export PATH="$work/bin:$PATH" STACK_CLONE="$work/clone" COMPOSE_PROJECT_NAME=payfold-test
export HTTPS_PORT=18443 CONSOLE_PORT=18083 PROMETHEUS_PORT=19090 ALERTMANAGER_PORT=19093 ARCHIVE_INTERVAL=1s
for image in STORE NATS POSTGRES PROXY PROMETHEUS ALERTMANAGER; do
	export "${image}_IMAGE=payfold-test/servers"
done
go test -tags stack -count 1 -v -timeout 20m -run TestTheStack ./internal/endtoend
