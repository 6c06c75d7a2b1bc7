#!/bin/sh
# preremove.sh: stops the programs before a removal, not before an upgrade. dpkg passes "remove",
# rpm the number of remaining versions.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl stop 'payfold-reconcile@*.timer'
		systemctl disable --now payfold-backup.timer payfold-restore-drill.timer payfold-verify.timer \
			payfold-console.service payfold-projector.service payfold-ingest.service
	fi
	;;
esac
