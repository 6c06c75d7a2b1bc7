#!/bin/sh
# postinstall.sh: makes the user. It starts nothing: there is no secret yet, and after an upgrade the
# operator chooses when to restart (docs/upgrading.md).
set -e
systemd-sysusers /usr/lib/sysusers.d/payfold.conf
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
