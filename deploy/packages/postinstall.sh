#!/bin/sh
# postinstall.sh: makes the user. It starts nothing: there is no secret yet, and a new version is taken
# into use by a restart, when the operator wants it (docs/upgrading.md).
set -e
systemd-sysusers /usr/lib/sysusers.d/payfold.conf
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
