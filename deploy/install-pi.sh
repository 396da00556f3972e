#!/bin/sh
# Installs the agent on 64-bit Raspberry Pi OS (Debian 12 or newer), from the unpacked bundle of this device:
#
#   tar -xzf pi-01.tar.gz
#   sudo fsir-pi-01/install-pi.sh --wheel fsir_edge-0.1.0-py3-none-any.whl
#
# Run it again to upgrade: the owner's settings, the policy and the agent's memory stay as they are. It starts nothing:
# what the device gives away is for its owner to look at first.
set -eu

wheel=
root=
usage="usage: install-pi.sh [--wheel FILE] [--root DIR]
  --wheel FILE  install this package; without it, fsir-edge from the package index
  --root DIR    install into another Debian tree, for example the mounted card of a Pi"

say() { printf '%s\n' "$*"; }
die() { printf 'install-pi.sh: %s\n' "$*" >&2; exit 1; }

while [ $# -gt 0 ]; do
    case $1 in
        --wheel) [ $# -ge 2 ] || die "$usage"; wheel=$2; shift 2 ;;
        --root) [ $# -ge 2 ] || die "$usage"; root=$2; shift 2 ;;
        *) die "$usage" ;;
    esac
done

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
[ "$(id -u)" -eq 0 ] || die "needs root: start it with sudo"
[ -z "$wheel" ] || [ -f "$wheel" ] || die "--wheel $wheel: there is no such file"
for part in ca.crt device.crt device.key agent.env policy.toml fsir-agent@.service; do
    [ -f "$here/$part" ] || die "$here/$part is missing: unpack the whole bundle that 'provision device' made"
done

if [ -n "$root" ]; then
    [ -x "$root/usr/bin/dpkg" ] || die "--root $root: this is no Debian tree"
    inside=$(mktemp -d "$root/tmp/fsir.XXXXXX")
    trap 'rm -rf "$inside"' EXIT
    cp -p "$here"/* ${wheel:+"$wheel"} "$inside"
    set -- "/tmp/${inside##*/}/install-pi.sh"
    [ -z "$wheel" ] || set -- "$@" --wheel "/tmp/${inside##*/}/$(basename "$wheel")"
    chroot "$root" env -u SUDO_USER "$@"  # its accounts are not those of this computer
    exit
fi

# A 64-bit kernel may run a 32-bit system: what counts is what programs are built for.
[ "$(getconf LONG_BIT)" = 64 ] || die "this is a 32-bit system ($(dpkg --print-architecture)), for which there is no \
numpy to install. Write the 64-bit Raspberry Pi OS to the card (Raspberry Pi 3 or newer, Zero 2 W) and try again"
command -v python3 >/dev/null || die "there is no python3: apt-get install python3 python3-venv"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    die "$(python3 --version) is too old, 3.11 is needed: Raspberry Pi OS of 2023 (bookworm) or newer has it"
python3 -c 'import venv, ensurepip' 2>/dev/null || die "python3 has no venv: apt-get install python3-venv"
command -v openssl >/dev/null || die "there is no openssl: apt-get install openssl"

name=$(openssl x509 -in "$here/device.crt" -noout -subject -nameopt multiline | sed -n 's/^ *commonName *= //p')
[ -n "$name" ] || die "$here/device.crt names no device: make the bundle again"

getent passwd fsir-agent >/dev/null ||
    useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin fsir-agent

[ -x /opt/fsir/bin/python ] || python3 -m venv /opt/fsir
# Nothing is compiled here: a Pi would take an hour for it, and then run out of memory.
/opt/fsir/bin/python -m pip install --quiet --disable-pip-version-check --upgrade --only-binary :all: \
    "${wheel:-fsir-edge}"

install -d -m 700 /etc/fsir "/etc/fsir/$name"
install -m 644 "$here/ca.crt" "$here/device.crt" "/etc/fsir/$name/"
install -m 600 "$here/device.key" "/etc/fsir/$name/"
for part in agent.env policy.toml; do
    if [ -e "/etc/fsir/$name/$part" ]; then
        say "kept /etc/fsir/$name/$part"
    else
        install -m 644 "$here/$part" "/etc/fsir/$name/"
    fi
done
install -m 644 "$here/fsir-agent@.service" /etc/systemd/system/
# The account that writes the readings is its owner's; the agent may read what is put here.
[ -d /srv/fsir ] || install -d -m 2750 -o "${SUDO_USER:-root}" -g fsir-agent /srv/fsir

systemctl enable "fsir-agent@$name" >/dev/null 2>&1 || die "systemctl enable fsir-agent@$name failed: is systemd here?"
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    systemctl try-restart "fsir-agent@$name"
fi

version=$(/opt/fsir/bin/python -c 'from importlib.metadata import version; print(version("fsir-edge"))')
say "installed fsir-edge $version as $name"
say "now: 1. look at /etc/fsir/$name/policy.toml and agent.env
     2. let your sensor program write /srv/fsir/readings.csv
     3. sudo systemctl start fsir-agent@$name
     4. delete the bundle, folder and .tar.gz: it holds the device's key"
