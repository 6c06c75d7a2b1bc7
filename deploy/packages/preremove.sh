#!/bin/sh
# preremove.sh: stops the programs before they are removed, not before an upgrade. dpkg says remove,
# and rpm how many versions will be left.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now payfold-projector.service payfold-ingest.service
	fi
	;;
esac
