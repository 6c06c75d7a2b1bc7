#!/bin/sh
# image-files.sh FOLDER: makes FOLDER, which has the files of payfold's image. Two runs for one commit, with one
# version of Go and of the certificates, give the same bytes, owners, rights and times.
#
# It runs as root, because the programs' user owns its folders. deploy/Dockerfile calls it.
set -eu
cd "$(dirname "$0")/.."
files=$1
user=65532 # as in deploy/Dockerfile

rm -rf "$files"
umask 022
mkdir -p "$files/usr/local/bin" "$files/etc/ssl/certs"
CGO_ENABLED=0 go build -trimpath -buildvcs=auto -ldflags='-s -w' -o "$files/usr/local/bin/" ./cmd/...
cp /etc/ssl/certs/ca-certificates.crt "$files/etc/ssl/certs/"
# A new volume that is mounted there belongs to the programs' user.
install -d -o $user -g $user -m 700 "$files/data" "$files/archive"
install -d -m 1777 "$files/tmp"
find "$files" -exec touch -hd @0 {} +
