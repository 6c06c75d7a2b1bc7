#!/bin/sh
# postremove.sh: forgets the units. The log in /var/lib/payfold stays, also after a purge: there may be
# no copy. A purge also removes what people have put into /etc/payfold, such as keys of providers.
set -e
if [ "$1" = purge ]; then
	rm -rf /etc/payfold
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
