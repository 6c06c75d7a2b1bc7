#!/bin/sh
# store.sh CREDENTIALS [--readonly]: runs the object store of the archive for the one user that this secret names. Its
# objects are files in /var/tmp. Its bucket is the folder payfold there.
set -eu
umask 077
credentials=/run/secrets/$1
shift
credential() { sed -n "s/^$1 *= *//p" "$credentials"; }
export ROOT_ACCESS_KEY_ID="$(credential aws_access_key_id)" ROOT_SECRET_ACCESS_KEY="$(credential aws_secret_access_key)"
[ "$*" = --readonly ] || mkdir -p /var/tmp/payfold
exec versitygw --quiet --port :7070 --health /health --cert /run/secrets/store.pem --key /run/secrets/store.key "$@" posix /var/tmp
