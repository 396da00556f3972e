#!/bin/sh
# Turns this process into a small computer of its own: a throw-away copy of this system with a real systemd as its first
# process. The caller has made the namespaces.
#
#   boot_machine.sh NAME SCRATCH LIBRARIES      SCRATCH: an empty folder; LIBRARIES: becomes /usr/lib/fsir-libraries
set -eu
PATH=$PATH:/usr/sbin:/sbin # pivot_root; not every root shell has them
export PATH

name=$1
base=$2
libraries=$3
mount -t tmpfs fsir "$base"
mkdir "$base/changes" "$base/work" "$base/root"
mount -t overlay fsir -o "lowerdir=/,upperdir=$base/changes,workdir=$base/work" "$base/root"
cd "$base/root"

mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 run run
mount -t tmpfs -o mode=1777 tmp tmp
mount -t tmpfs -o mode=755 dev dev
for device in null,3 zero,5 full,7 random,8 urandom,9; do
    mknod -m 666 "dev/${device%,*}" c 1 "${device#*,}"
done
mknod -m 666 dev/tty c 5 0
mkdir dev/pts dev/shm dev/mqueue dev/hugepages
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mkdir -p run/lock usr/lib/fsir-libraries usr/lib/fsir-packages
mount --bind "$libraries" usr/lib/fsir-libraries
# Everything but the project itself, which is what a test installs.
for part in numpy paho msgpack scipy prometheus_client; do
    for found in "$libraries/$part" "$libraries/$part"[-._]*; do
        [ ! -e "$found" ] || ln -s "/usr/lib/fsir-libraries/${found##*/}" usr/lib/fsir-packages/
    done
done

# Nothing starts but what the test starts: no generators, no wishes of other packages.
mount -t tmpfs none usr/lib/systemd/system-generators
for wishes in sysinit local-fs sockets timers basic multi-user; do
    [ ! -d "usr/lib/systemd/system/$wishes.target.wants" ] ||
        mount -t tmpfs none "usr/lib/systemd/system/$wishes.target.wants"
    rm -rf "etc/systemd/system/$wishes.target.wants"
done
mkdir etc/systemd/system/sysinit.target.wants
ln -s /usr/lib/systemd/system/systemd-journald.service etc/systemd/system/sysinit.target.wants/
: >etc/fstab
echo "$name" >etc/hostname
printf '127.0.0.1 localhost broker.lan %s\n' "$name" >etc/hosts
rm -rf srv/fsir etc/fsir opt/fsir var/lib/fsir-agent var/lib/fsir-aggregator var/lib/mosquitto/*
mkdir -p etc/systemd/system.conf.d
# The programs find numpy and the like there, instead of downloading them.
printf '[Manager]\nDefaultEnvironment=PYTHONPATH=/usr/lib/fsir-packages\n' >etc/systemd/system.conf.d/fsir-test.conf

python3 -c 'import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh14x", b"lo", 0x41))  # SIOCSIFFLAGS: up and running'

mkdir before
pivot_root . before
umount -l /before
mount --make-rshared /  # as the kernel's own start would leave it: services get their credentials by a shared mount
exec env -i container=fsir-test PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --system --unit=multi-user.target --log-target=journal --show-status=no
