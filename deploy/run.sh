#!/usr/bin/env bash
# run.sh: runs ingest with its embedded log, a projector with a private Postgres
# and the console. Ctrl-C, SIGTERM or SIGHUP stops all and exits 0. If one of
# them ends by itself, stops the others and exits 1.
set -euo pipefail
cd "$(dirname "$0")/.."

export DATA_DIR="${DATA_DIR:-./data}"
listen="${LISTEN_ADDR:-:${PORT:-8080}}"
# ADMIN_ADDR is one listener, and there are two programs.
unset ADMIN_ADDR
ingest_admin="${INGEST_ADMIN_ADDR:-127.0.0.1:8081}"
projector_admin="${PROJECTOR_ADMIN_ADDR:-127.0.0.1:8082}"

send='bin/ingest send' demo=''
if ! [[ $'\n'$(env) =~ $'\n'[A-Z]+_(WEBHOOK|EVENT)_SECRET(_FILE)?=[^[:space:]] ]]; then
	export PROVIDER_WEBHOOK_SECRET=whsec_local_development
	export STRIPE_WEBHOOK_SECRET=$PROVIDER_WEBHOOK_SECRET PADDLE_WEBHOOK_SECRET=$PROVIDER_WEBHOOK_SECRET
	export CREEM_WEBHOOK_SECRET=$PROVIDER_WEBHOOK_SECRET PAYFOLD_EVENT_SECRET=$PROVIDER_WEBHOOK_SECRET
	export CATALOGUE_FILE="${CATALOGUE_FILE:-deploy/demo/catalogue.yaml}"
	echo "warning: no signing secret is set, so this is a trial: all are $PROVIDER_WEBHOOK_SECRET, which everyone knows;" \
		"the catalogue is $CATALOGUE_FILE" >&2
	send="PROVIDER_WEBHOOK_SECRET=$PROVIDER_WEBHOOK_SECRET $send"
	demo='make demo'
fi
about='A first signed event, and what it did:'
if [ -n "${CATALOGUE_FILE:-}" ] && ! [ "$CATALOGUE_FILE" -ef deploy/demo/catalogue.yaml ]; then
	about="A first signed event, and what it did (rejected as unknown_product, unless $CATALOGUE_FILE has its product):"
	demo='' # its products are those of deploy/demo
fi
# The providers whose secret is set, by their names in paths: PAYFOLD_EVENT_SECRET is the one of payfold.
served="$(env | sed -nE 's/^([A-Z]+)_(WEBHOOK|EVENT)_SECRET(_FILE)?=.*[^[:space:]].*/\1/p' | tr '[:upper:]' '[:lower:]' | sort -u)"
if [ -z "${DATABASE_URL:-}" ]; then
	PG_BIN="$(deploy/postgres/ensure.sh)"
	export PG_BIN
fi

# The console needs a role that only reads. The private Postgres has one; for
# another database CONSOLE_DATABASE_URL names one.
console=''
if [ -z "${DATABASE_URL:-}" ] || [ -n "${CONSOLE_DATABASE_URL:-}" ]; then
	console="${CONSOLE_ADDR:-127.0.0.1:8083}"
	export CONSOLE_ADDR="$console" CONSOLE_INGEST_ADDR="${CONSOLE_INGEST_ADDR:-$ingest_admin}"
	if [ -z "${CONSOLE_TOKEN:-}${CONSOLE_TOKEN_FILE:-}" ]; then
		CONSOLE_TOKEN="$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
		export CONSOLE_TOKEN
	fi
	console="${console/#:/127.0.0.1:}"
fi

# Another program that listens there would look like one of payfold's.
for address in "$ingest_admin" "$projector_admin" $console; do
	if (exec 3<>"/dev/tcp/${address%:*}/${address##*:}") 2>/dev/null; then
		echo "run.sh: something listens on $address already; stop it, or set INGEST_ADMIN_ADDR, PROJECTOR_ADMIN_ADDR and CONSOLE_ADDR" >&2
		exit 1
	fi
done

# named NAME: copies lines, with a name before each.
named() {
	local line
	while IFS= read -r line; do printf '%-9s  %s\n' "$1" "$line"; done
}

# Job control gives each program its own process group. So the terminal's Ctrl-C
# reaches only this script, and each program gets one signal.
programs=() names=()
# stop ends the readers of the log before ingest, which has it.
stop() {
	trap '' INT TERM HUP
	local i
	for ((i = ${#programs[@]} - 1; i >= 0; i--)); do
		kill -TERM "${programs[$i]}" 2>/dev/null || true
		wait "${programs[$i]}" 2>/dev/null || true
	done
}
trap 'stop; exit 0' INT TERM HUP

alive() {
	local program
	for program in "${programs[@]}"; do kill -0 "$program" 2>/dev/null || return 1; done
}
# ready HOST:PORT: whether GET /readyz there answers 200.
ready() {
	local code
	exec 3<>"/dev/tcp/${1%:*}/${1##*:}" || return 1
	printf 'GET /readyz HTTP/1.0\r\n\r\n' >&3
	read -r _ code _ <&3 || code=none
	exec 3>&-
	[ "$code" = 200 ]
}

# start NAME COMMAND starts a program in a process group of its own.
start() {
	set -m
	"${@:2}" > >(named "$1") 2>&1 &
	programs+=("$!") names+=("$1")
	set +m
}

# await CONDITION waits until the command succeeds, or a program has ended.
await() {
	until "$@"; do
		alive || break
		sleep 0.2
	done 2>/dev/null
}

# The log comes before its readers.
start ingest env ADMIN_ADDR="$ingest_admin" bin/ingest
await ready "$ingest_admin"
if alive; then
	start projector env ADMIN_ADDR="$projector_admin" bin/projector
	await ready "$projector_admin"
fi

# The console needs the projector's tables, which exist now. The link that it prints is shown below.
listens() { (exec 3<>"/dev/tcp/${1%:*}/${1##*:}") 2>/dev/null; }
if alive && [ -n "$console" ]; then
	start console env DATABASE_URL="${CONSOLE_DATABASE_URL:-}" sh -c 'exec bin/projector console >/dev/null'
	await listens "$console"
fi

if alive; then
	look="not started: CONSOLE_DATABASE_URL is not set"
	[ -z "$console" ] || look="http://$console/?token=${CONSOLE_TOKEN:-$(cat "$CONSOLE_TOKEN_FILE")}"
	host="${listen%:*}"
	url="http://${host:-127.0.0.1}:${listen##*:}"
	if [ "$url" != http://127.0.0.1:8080 ]; then
		send="$send --url $url" demo="${demo:+$demo URL=$url}"
	fi
	[ "$DATA_DIR" = ./data ] || demo="${demo:+DATA_DIR=$DATA_DIR $demo}"
	[ "${console:-127.0.0.1:8083}" = 127.0.0.1:8083 ] || demo="${demo:+$demo CONSOLE=http://$console}"
	[ -z "$demo" ] || demo=$'A shop\'s quarter, to look at, in another terminal:\n\n'"  $demo"$'\n'
	paths='' first=''
	for name in $served; do
		[ -d "examples/$name" ] || [ "$name" = provider ] || continue # a variable of another program
		paths="$paths  deliveries     POST $url/api/payments/$name/webhook"$'\n'
		first="${first:-$send --provider $name examples/$name/*.json}"
		[ "$name" != provider ] || first="$send examples/first-event.json"
	done
	if [ -n "${DATABASE_URL:-}" ]; then
		psql='psql "$DATABASE_URL"'
	else
		psql="$(command -v psql >/dev/null && echo psql || echo "$PG_BIN/psql") \"\$(cat $DATA_DIR/postgres.dsn)\""
	fi
	cat <<-TEXT

		payfold is running. Ctrl-C stops it; what it stored stays in $DATA_DIR.

		$paths  console        $look
		  health         http://$ingest_admin/readyz  http://$projector_admin/readyz  (and /metrics)
		  log            ${NATS_URL:-embedded; its readers come through $DATA_DIR/nats/socket}

		$about

		  $first
		  $psql -c 'select event_id, outcome, reason from processed_event'

		$demo
	TEXT
fi

while alive; do sleep 0.5; done
for i in "${!programs[@]}"; do
	kill -0 "${programs[$i]}" 2>/dev/null || echo "run.sh: ${names[$i]} ended; stopping the others" >&2
done
stop
exit 1
