#!/bin/bash
# Process 1 of a guest that stays up: it does what tests.clusters.guest puts into /vm/do/NAME, each in the background.
[ -n "${BASH_VERSION-}" ] || exec /bin/bash "$0" # it waits without a process, of which each costs an emulated processor 50 ms
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 TERM=linux PYTHONPATH=/opt/sdstop
mount -t tmpfs t /run; mount -t tmpfs t /tmp; mkdir -p /run/lock
mkdir -p /dev/pts /dev/shm; mount -t devpts d /dev/pts; mount -t tmpfs t /dev/shm
mount -t cgroup2 c /sys/fs/cgroup; mount -t debugfs d /sys/kernel/debug; mount -t configfs c /sys/kernel/config 2>/dev/null
name=$(sed -n 's/.*guest=\([^ ]*\).*/\1/p' /proc/cmdline); hostname "$name"; ip link set lo up
/lib/systemd/systemd-udevd --daemon
udevadm trigger --type=subsystems --action=add; udevadm trigger --type=devices --action=add; udevadm settle -t 30
place=/vm/do/$name; mkfifo /run/never; exec 3<>/run/never; : >"$place/ready"
while :; do
  for file in "$place"/*.cmd; do
    [ -e "$file" ] || continue
    step=${file%.cmd}; mv "$file" "$step.sh"
    (exec 3>&-; sh "$step.sh" </dev/null >"$step.out" 2>&1; echo $? >"$step.code"; mv "$step.code" "$step.rc") &
  done
  read -r -t 0.2 -u 3
done
