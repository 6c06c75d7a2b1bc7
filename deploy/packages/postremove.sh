#!/bin/sh
# postremove.sh: forgets the units. The log in /var/lib/payfold stays, also after a purge: there may be
# no copy.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
