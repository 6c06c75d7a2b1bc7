#!/bin/sh
# postgres.sh NAME PEER: runs one of the two Postgres servers.
#
# A server without data becomes a standby of its peer if the peer takes writes. Otherwise postgres-1 makes a new
# database, and any other server waits for its peer.
set -eu
trap exit INT TERM
name=$1
peer=$2
umask 077
home=/var/lib/postgresql/data
data=$home/payfold
new=$home/new
replicator="host=$peer user=payfold_replicator dbname=postgres sslmode=verify-full sslrootcert=/etc/ssl/payfold/ca.pem connect_timeout=3 passfile=$home/passfile"
slot=$(echo "$name" | tr - _)

# Postgres and its clients refuse a key or a password that others can read.
install -m 600 /run/secrets/postgres.key "$home/server.key"
printf '*:*:*:payfold_replicator:%s\n' "$(cat /run/secrets/postgres_replicator_password)" >"$home/passfile"

peer_takes_writes() { [ "$(psql -XAtc 'select pg_is_in_recovery()' "$replicator" 2>/dev/null)" = f ]; }

clone() {
	psql -XqAt -v ON_ERROR_STOP=1 "$replicator" -c "
		select pg_create_physical_replication_slot('$slot')
		where not exists (select from pg_replication_slots where slot_name = '$slot')" >/dev/null
	pg_basebackup -D "$new" -d "$replicator application_name=$name" -S "$slot" -X stream -R --checkpoint=fast
}

create() {
	initdb -D "$new" -U postgres --data-checksums --encoding=UTF8 --locale=C --auth-local=peer --auth-host=reject >/dev/null
	echo "include '/etc/payfold/postgresql.conf'" >>"$new/postgresql.conf"
	pg_ctl -D "$new" -w -o "-c listen_addresses='' -c unix_socket_directories=/tmp" start >/dev/null
	psql -Xq -v ON_ERROR_STOP=1 -c 'create database payfold'
	psql -Xq -v ON_ERROR_STOP=1 -d payfold -f /etc/payfold/roles.sql
	# psql reads the passwords itself: all users of the machine see its arguments.
	psql -Xq -v ON_ERROR_STOP=1 <<-'SQL'
		\set projector `cat /run/secrets/postgres_projector_password`
		\set portal `cat /run/secrets/postgres_portal_password`
		\set console `cat /run/secrets/postgres_console_password`
		\set replicator `cat /run/secrets/postgres_replicator_password`
		alter role payfold_projector password :'projector';
		alter role payfold_portal password :'portal';
		alter role payfold_console password :'console';
		create role payfold_replicator login replication password :'replicator';
	SQL
	pg_ctl -D "$new" -w -m fast stop >/dev/null
}

until [ -d "$data" ]; do
	rm -rf "$new" # left by an interrupted start
	if peer_takes_writes; then
		clone
	elif [ "$name" = postgres-1 ]; then
		create
	else
		sleep 1
		continue
	fi
	mv "$new" "$data"
done

exec postgres -D "$data" -c listen_addresses='*' -c unix_socket_directories=/tmp -c hba_file=/etc/payfold/pg_hba.conf \
	-c ssl=on -c ssl_cert_file=/run/secrets/postgres.pem -c ssl_key_file="$home/server.key" \
	-c max_slot_wal_keep_size=8GB
