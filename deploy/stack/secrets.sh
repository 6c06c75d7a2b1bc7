#!/usr/bin/env bash
# secrets.sh: makes the missing files of deploy/secrets: passwords, a certificate authority of the stack, and its
# certificates. Existing files stay unchanged. To replace a file, remove it first.
#
# PAYFOLD_HOST, by default that of .env, is the name in the certificate of the proxy.
set -euo pipefail
umask 077
mkdir -p "$(dirname "$0")/../secrets"
cd "$(dirname "$0")/../secrets"
chmod 700 . # somebody else may have made it, such as docker for a file that it did not find
chmod -R u+w .

password() { [ -s "$1" ] || printf 'p%s' "$(openssl rand -hex 24)" >"$1"; }

authority() {
	[ -s ca.key ] && [ -s ca.pem ] && return
	rm -f nats.pem postgres.pem store.pem # another authority signed them
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem \
		-days 3650 -subj '/CN=payfold stack' -addext keyUsage=critical,keyCertSign 2>/dev/null
}

# credentials FILE USER: for an object store, in the format of the AWS command line.
credentials() {
	[ -s "$1" ] || printf '[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n' "$2" "$(openssl rand -hex 24)" >"$1"
}

# certificate NAME HOST...: NAME.key and NAME.pem, for a server with these names.
certificate() {
	local name=$1 hosts
	shift
	[ -s "$name.key" ] && [ -s "$name.pem" ] && return
	hosts=$(printf ',DNS:%s' "$@")
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$name.key" -subj "/CN=$1" 2>/dev/null |
		openssl x509 -req -CA ca.pem -CAkey ca.key -set_serial "0x$(openssl rand -hex 16)" -days 800 -out "$name.pem" 2>/dev/null \
			-extfile <(printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth,clientAuth\n' "${hosts#,}")
}

for user in ingest projector admin sys cluster; do password "nats_${user}_password"; done
for role in projector portal console replicator; do password "postgres_${role}_password"; done
password grafana_password
password console_token
credentials aws_credentials ingest
credentials aws_credentials_reader reader
authority
certificate nats nats-1 nats-2 nats-3
certificate postgres postgres-1 postgres-2
certificate store store store-reader
host=${PAYFOLD_HOST:-$(sed -n 's/^PAYFOLD_HOST=//p' ../.env 2>/dev/null | tr -d "\"' \r" || true)}
certificate proxy "${host:-localhost}"

for user in ingest projector admin; do
	login="tls://$user:$(cat "nats_${user}_password")"
	printf '%s' "$login@nats-1:4222,$login@nats-2:4222,$login@nats-3:4222" >"nats_${user}_url"
done
servers='postgres-1,postgres-2/payfold?sslmode=verify-full&target_session_attrs'
printf 'postgres://payfold_projector:%s@%s=read-write' "$(cat postgres_projector_password)" "$servers" >database_url
printf 'postgres://payfold_console:%s@%s=primary' "$(cat postgres_console_password)" "$servers" >console_database_url

password webhook_secret
if [ ! -e providers.env ]; then
	for variable in {CREEM,STRIPE,PADDLE,POLAR,DODO,LEMONSQUEEZY}_WEBHOOK_SECRET PAYFOLD_EVENT_SECRET; do
		printf '#%s=\n#%s_PREVIOUS=\n' $variable $variable
	done >providers.env
	printf '#%s_API_KEY=\n' CREEM STRIPE PADDLE POLAR >>providers.env
	printf '#CREEM_WEBHOOK_ID=\n' >>providers.env
	echo "put the signing secret of your provider into deploy/secrets: docs/deploy.md says where" >&2
fi

# These are empty until they are used; docs/deploy.md says what for.
for file in webhook_secret_previous webhook_secrets_retired github_token; do [ -e $file ] || : >$file; done

# Containers have other users. Other users of this machine cannot enter the folder.
chmod 644 ./*
chmod 400 ca.key
