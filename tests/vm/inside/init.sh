#!/bin/sh
# Process 1 of the guest: kernel file systems, udev, then the scenario. The machine is switched off from outside.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 TERM=linux
mount -t tmpfs t /run; mount -t tmpfs t /tmp
mkdir -p /dev/pts /dev/shm; mount -t devpts d /dev/pts; mount -t tmpfs t /dev/shm
mount -t cgroup2 c /sys/fs/cgroup; mount -t debugfs d /sys/kernel/debug; mount -t tracefs t /sys/kernel/tracing
hostname sdsvm; ip link set lo up
/lib/systemd/systemd-udevd --daemon
udevadm trigger --type=subsystems --action=add; udevadm trigger --type=devices --action=add; udevadm settle -t 30
echo "vm: ready at $(cut -d' ' -f1 /proc/uptime) s"
python3 /vm/conduct.py
echo "vm: done at $(cut -d' ' -f1 /proc/uptime) s"
sleep 3600
