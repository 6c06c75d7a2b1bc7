#!/bin/sh
# nats.sh NAME: runs one of the three NATS servers. It gives the passwords in /run/secrets to nats.conf and users.conf.
set -eu
for user in INGEST PROJECTOR ADMIN SYS CLUSTER; do
	file=/run/secrets/nats_$(echo $user | tr A-Z a-z)_password
	export "PAYFOLD_NATS_${user}_PASSWORD=$(cat "$file")"
done
for n in 1 2 3; do
	export "PAYFOLD_NATS_ROUTE_$n=nats-route://payfold:$PAYFOLD_NATS_CLUSTER_PASSWORD@nats-$n:6222"
done
export PAYFOLD_NATS_NAME="$1" PAYFOLD_NATS_STORE="${PAYFOLD_NATS_STORE:-/nats}"
export PAYFOLD_NATS_LISTEN=0.0.0.0:4222 PAYFOLD_NATS_CLUSTER_LISTEN=0.0.0.0:6222
exec nats-server -c /etc/nats/nats.conf
