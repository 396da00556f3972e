#!/bin/sh
# For compose.yaml: an authority, the files of broker and aggregator, and ten simulated devices, each with a folder that
# only it is given. Runs once; delete the folder to start anew.
#
#   prepare.sh FOLDER [OWNER_OF_DEVICES [OWNER_OF_BROKER]]
set -eu

files=$1
owner=${2:-}
broker_owner=${3:-}
deploy=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
[ ! -e "$files/ready" ] || exit 0

provision() { "$deploy/provision" --pki "$files/pki" "$@" >/dev/null; }
unpack() { mkdir -p "$files/$2" && tar -xzf "$files/pki/$1.tar.gz" -C "$files/$2" --strip-components 1 --no-same-owner; }

[ -e "$files/pki/ca.key" ] || provision init
provision server broker localhost
unpack broker broker
provision aggregator --broker mqtts://broker:8883
unpack aggregator aggregator
cp "$deploy/example/task.toml" "$files/aggregator/"

devices=$(seq -f 'device-%02g' 10)
# shellcheck disable=SC2086  # ten words
provision device $devices --renew --broker mqtts://broker:8883 --task activity
for name in $devices; do
    unpack "devices/$name" "$name"
    python3 "$deploy/example/readings.py" --seed "${name#device-}" --records 2500 >"$files/$name/readings.csv"
    [ -z "$owner" ] || chown -R "$owner" "$files/$name"
done

[ -z "$owner" ] || chown -R "$owner" "$files/aggregator"
[ -z "$broker_owner" ] || chown -R "$broker_owner" "$files/broker"
touch "$files/ready"
