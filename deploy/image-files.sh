#!/bin/sh
# image-files.sh FOLDER: makes FOLDER with the files of payfold's image: FOLDER/root for root, FOLDER/user for the
# programs' user. Two runs for one commit, with one version of Go and of the certificates, give the same bytes, rights
# and times. deploy/Dockerfile calls it.
set -eu
cd "$(dirname "$0")/.."
root=$1/root
user=$1/user

rm -rf "$1"
umask 022
mkdir -p "$root/usr/local/bin" "$root/etc/ssl/certs" "$user"
CGO_ENABLED=0 go build -trimpath -buildvcs=auto -ldflags='-s -w' -o "$root/usr/local/bin/" ./cmd/...
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
mkdir -m 1777 "$root/tmp"
mkdir -m 700 "$user/data" # a new volume that is mounted there gets its owner and rights
find "$1" -exec touch -hd @0 {} +
