# checks.sh: what run.sh checks between the commands of install.md, in the machine.
fail() {
	echo "FAILED: $*" >&2
	journalctl --no-pager -n 40 -u payfold-ingest -u payfold-projector >&2
	exit 1
}
main_pid() { systemctl show --property MainPID --value "payfold-$1"; }

# soon tries a command for two minutes.
soon() {
	for _ in $(seq 600); do
		"$@" && return
		sleep 0.2
	done
	fail "$*"
}
active() {
	soon systemctl is-active --quiet payfold-ingest
	soon systemctl is-active --quiet payfold-projector
}
restarted() { test "$(main_pid "$1")" != "$2" && systemctl is-active --quiet "payfold-$1"; }
not_running() { ! systemctl is-active --quiet payfold-ingest || fail 'the package has started a program'; }
status_says() {
	systemctl restart "payfold-$1" 2>/dev/null && fail "$1 has started"
	{ systemctl status --no-pager "payfold-$1" || true; } | grep -F "$2" || fail "the status of $1 does not say: $2"
}

unseen_by_others() {
	for file in secrets.env ingest.env projector.env console.env; do
		! sudo -u nobody cat "/etc/payfold/$file" 2>/dev/null || fail "everybody can read $file"
	done
	! sudo -u nobody ls /var/lib/payfold 2>/dev/null || fail 'everybody can read the log'
	for program in ingest projector; do
		grep -E '^(NoNewPrivs:.1|CapBnd:.0+|Seccomp:.2)$' "/proc/$(main_pid $program)/status" | wc -l | grep -qx 3 || fail "$program is not confined"
	done
}

kills() {
	for program in ingest projector; do
		before=$(main_pid $program)
		kill -9 "$before"
		soon restarted $program "$before"
	done
}

wrong_settings() {
	cp -p /etc/payfold/ingest.env /root/ingest.env
	echo LISTEN_ADDR=nonsense >>/etc/payfold/ingest.env
	status_says ingest 'LISTEN_ADDR: "nonsense" is not host:port'
	cp -p /root/ingest.env /etc/payfold/ingest.env
	systemctl restart payfold-ingest
	active
}

trust_caddy() {
	soon test -e /var/lib/caddy/.local/share/caddy/pki/authorities/local/root.crt
	cp /var/lib/caddy/.local/share/caddy/pki/authorities/local/root.crt /usr/local/share/ca-certificates/caddy.crt
	update-ca-certificates >/dev/null 2>&1
}

self_signed() {
	folder=/etc/letsencrypt/live/pay.shop.example
	mkdir -p $folder
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=pay.shop.example -addext subjectAltName=DNS:pay.shop.example \
		-keyout $folder/privkey.pem -out $folder/fullchain.pem 2>/dev/null
	cp $folder/fullchain.pem /usr/local/share/ca-certificates/nginx.crt
	update-ca-certificates >/dev/null 2>&1
}

runs_a_command() { systemctl list-units 'run-*.service' | grep -q 'ingest send - *$'; }

# The bus shows the properties of a unit to every user.
secret_is_unseen() {
	tail -f --pid=$$ /dev/null | payfold ingest send - >/dev/null &
	soon runs_a_command
	! sudo -u nobody systemctl show 'run-*.service' | grep -F whsec_ || fail 'everybody sees the secret'
	systemctl stop 'run-*.service'
}

archived() { soon sh -c 'DATA_DIR=/var/lib/payfold ARCHIVE_URL=/srv/payfold-archive sudo -E -u payfold ingest archive | grep "holds all of the log"'; }
credits() { test "$(sudo -u postgres psql -At -d payfold -c 'select balance from portal.credits')" = 200 || fail 'the credits are wrong'; }

# nightly: each timer waits for its time, and each unit has written its metrics.
nightly() {
	for unit in verify restore-drill backup; do
		systemctl is-active --quiet payfold-$unit.timer || fail "payfold-$unit.timer does not wait"
	done
	cd /var/lib/payfold-metrics
	grep -qx 'payfold_verify_wrong 0' verify.prom || fail 'verify has no metrics'
	grep -q '^payfold_restore_drill_success_timestamp_seconds ' restore-drill.prom || fail 'the drill has no metrics'
	grep -qE '^payfold_backup_success_timestamp_seconds [0-9]+$' backup.prom || fail 'the backup has no metrics'
	sudo -u nobody cat ./*.prom >/dev/null || fail 'node_exporter cannot read the metrics'
	cd /
	saved postgres
}

# saved: the newest copy of the database belongs to a user, and has the spends.
saved() {
	sudo -u "$1" sh -c 'pg_restore --list /var/lib/payfold-backup/payfold-*.dump' | grep 'TABLE DATA wallet ' >/dev/null || fail 'the backup has no spends'
	! sudo -u nobody ls /var/lib/payfold-backup 2>/dev/null || fail 'everybody can read the backup'
}
saved_elsewhere() {
	saved payfold
	! sudo -u nobody cat /etc/payfold/backup.env 2>/dev/null || fail 'everybody can read the password of the backup'
	grep '^PGPASSWORD=.' /etc/payfold/backup.env >/dev/null || fail 'the backup has no password'
	! grep '^BACKUP_DATABASE=.*:[^/@]*@' /etc/payfold/backup.env || fail 'the password of the backup is an argument'
}
console_answers() {
	local answer
	answer=$(
		exec 3<>/dev/tcp/127.0.0.1/8083
		printf 'GET /events HTTP/1.0\r\nHost: 127.0.0.1:8083\r\nAccept: application/json\r\nAuthorization: Bearer %s\r\n\r\n' \
			"$(sed -n 's/^CONSOLE_TOKEN=//p' /etc/payfold/console.env)" >&3
		cat <&3
	) 2>/dev/null && [[ $answer == *evt_first_1* ]]
}
console() { soon console_answers; }

slow_postgres() {
	mkdir /etc/systemd/system/postgresql@.service.d
	printf '[Service]\nExecStartPre=/bin/sleep 10\n' >/etc/systemd/system/postgresql@.service.d/slow.conf
	systemctl disable caddy
}

removed() {
	echo STRIPE_API_KEY=rk_live_1 >/etc/payfold/reconcile.env
	apt-get remove -y payfold
	for unit in ingest console verify.timer; do ! systemctl is-active --quiet payfold-$unit || fail "$unit runs after the removal"; done
	test -e /etc/payfold/ingest.env || fail 'a removal removes the configuration'
	apt-get purge -y payfold
	test ! -e /etc/payfold || fail 'a purge keeps configuration'
	test -d /var/lib/payfold/log || fail 'a purge removes the log'
}
