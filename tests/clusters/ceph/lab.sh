# shellcheck shell=bash
# A real Ceph cluster of plain processes in $LAB: monitors a, b and c, manager x, one OSD on each of three "hosts" node0
# to node2. No systemd, no containers, no loop devices: bluestore stores in sparse files. Sourced; README.md of tests/clusters
# says which functions the lab needs.

export CEPH_CONF=$LAB/ceph.conf
MONITORS="a b c"
OSDS="0 1 2"
PORT=${PORT:-13300}

up() {
  local fsid at="" add=() port=$PORT m i
  fsid=$(cat /proc/sys/kernel/random/uuid)
  mkdir -p "$LAB"/{run,log,mon,etc,osd,mgr}
  cd "$LAB" || return 1
  for m in $MONITORS; do
    at="$at${at:+,}[v2:127.0.0.1:$port,v1:127.0.0.1:$((port + 1))]"
    add+=(--addv "$m" "[v2:127.0.0.1:$port,v1:127.0.0.1:$((port + 1))]")
    port=$((port + 2))
  done
  configure "$fsid" "$at" >ceph.conf
  ceph-authtool -C mon.keyring --gen-key -n mon. --cap mon 'allow *' >/dev/null || return 1
  ceph-authtool -C etc/ceph.client.admin.keyring --gen-key -n client.admin --cap mon 'allow *' --cap osd 'allow *' \
    --cap mgr 'allow *' >/dev/null
  ceph-authtool mon.keyring --import-keyring etc/ceph.client.admin.keyring >/dev/null
  cp ceph.conf etc/ceph.conf
  monmaptool --create --fsid "$fsid" "${add[@]}" monmap >/dev/null || return 1
  for m in $MONITORS; do
    ceph-mon --mkfs -i "$m" --monmap monmap --keyring mon.keyring && ceph-mon -i "$m" || return 1
  done
  mkdir -p mgr/ceph-x
  ceph auth get-or-create mgr.x mon 'allow profile mgr' osd 'allow *' >mgr/ceph-x/keyring || return 1
  ceph-mgr -i x
  for i in $OSDS; do make_osd "$i" || return 1; done
  wait
  for i in $OSDS; do
    ceph osd crush add "osd.$i" 1.0 root=default "host=node$i" >/dev/null 2>&1
    ceph osd crush set-device-class hdd "osd.$i" >/dev/null 2>&1
    ceph-osd -i "$i" >/dev/null 2>&1
  done
  ceph config set mon mon_warn_on_insecure_global_id_reclaim_allowed false
  make_pool data 32 3 && make_pool pairs 16 2 && healthy_within 90
}

configure() { # FSID ADDRESSES
  cat <<C
[global]
fsid = $1
mon_initial_members = $MONITORS
mon_host = $2
public_network = 127.0.0.1/32
cluster_network = 127.0.0.1/32
auth_cluster_required = cephx
auth_service_required = cephx
auth_client_required = cephx
keyring = $LAB/etc/ceph.client.admin.keyring
run_dir = $LAB/run
osd_crush_chooseleaf_type = 1
osd_pool_default_pg_autoscale_mode = off
auth_allow_insecure_global_id_reclaim = false
mon_allow_pool_delete = true
mon_data_avail_warn = 2
mon_data_avail_crit = 1
osd_heartbeat_interval = 2
osd_heartbeat_grace = 6
mon_osd_down_out_interval = 3600
mon_osd_min_down_reporters = 1
osd_op_complaint_time = 3
mgr_stats_period = 2
mgr_tick_period = 1
mon_warn_on_slow_ping_time = 100000
mon_pg_stuck_threshold = 10
[mon]
admin_socket = $LAB/run/\$name.asok
pid_file = $LAB/run/\$name.pid
log_file = $LAB/log/\$name.log
mon_data = $LAB/mon/ceph-\$id
keyring = $LAB/mon/ceph-\$id/keyring
[mgr]
admin_socket = $LAB/run/\$name.asok
pid_file = $LAB/run/\$name.pid
log_file = $LAB/log/\$name.log
mgr_data = $LAB/mgr/ceph-\$id
keyring = $LAB/mgr/ceph-\$id/keyring
mgr_initial_modules =
[osd]
admin_socket = $LAB/run/\$name.asok
pid_file = $LAB/run/\$name.pid
log_file = $LAB/log/\$name.log
osd_data = $LAB/osd/ceph-\$id
keyring = $LAB/osd/ceph-\$id/keyring
osd_objectstore = bluestore
bluestore_block_size = $((3 << 30))
bluestore_block_create = true
bluestore_block_db_create = false
bluestore_fsck_quick_fix_on_mount = false
osd_memory_target = 939524096
osd_class_update_on_start = false
osd_crush_update_on_start = false
osd_scrub_load_threshold = 100
osd_recovery_sleep_hdd = 0
C
}

make_osd() { # NUMBER: known to the monitors, with a folder; not started
  local uuid key
  uuid=$(cat /proc/sys/kernel/random/uuid)
  key=$(ceph-authtool --gen-print-key)
  mkdir -p "$LAB/osd/ceph-$1"
  echo "{\"cephx_secret\": \"$key\"}" | ceph osd new "$uuid" -i - >/dev/null || return 1
  ceph-authtool -C "$LAB/osd/ceph-$1/keyring" -n "osd.$1" --add-key "$key" >/dev/null
  ceph-osd -i "$1" --mkfs --osd-uuid "$uuid" >/dev/null 2>&1 &
}

make_pool() { # NAME GROUPS COPIES
  ceph osd pool create "$1" "$2" "$2" >/dev/null 2>&1 && ceph osd pool set "$1" size "$3" >/dev/null 2>&1 \
    && ceph osd pool application enable "$1" rbd >/dev/null 2>&1
}

drop_pool() { ceph osd pool rm "$1" "$1" --yes-i-really-really-mean-it >/dev/null 2>&1; }

down() {
  local file
  for file in "$LAB"/run/*.pid; do
    [ -s "$file" ] && kill -CONT "$(cat "$file")" 2>/dev/null && kill -9 "$(cat "$file")"
  done
  fast_disk
  true
}

on() { # NODE COMMAND...: on "host" node(NODE-1), which has the OSD of this number, the monitor and the manager if it is 1
  local node=$(($1 - 1)) place
  shift
  place=$LAB/view$node
  mkdir -p "$place"/osd/ceph-"$node" "$place"/mon "$place"/mgr
  if [ "$node" = 0 ]; then mkdir -p "$place"/mon/ceph-a "$place"/mgr/ceph-x; fi
  # shellcheck disable=SC2016  # expanded inside
  ${EXEC-} env LAB="$LAB" PLACE="$place" NODE="$node" unshare -m -u bash -c '
    hostname "node$NODE"
    mount --bind "$LAB/etc" /etc/ceph
    for kind in osd mon mgr; do mount --bind "$PLACE/$kind" "/var/lib/ceph/$kind"; done
    for inside in /var/lib/ceph/*/ceph-*; do mount --bind "$LAB${inside#/var/lib/ceph}" "$inside"; done
    unset CEPH_CONF
    exec "$@"' on "$@"
}

tools() { echo ceph; }
processes() { cat "$LAB"/run/*.pid; }

record() { # NODE DIRECTORY OPTION...
  local node=$1 place=$2
  shift 2
  on "$node" "$SDSTOP" capture -o "$place" --collectors ceph,ceph-osds,ceph-daemons,diskstats,mounts "$@"
}

until_() { # SECONDS COMMAND...
  local tries=$(($1 * 2)) i
  shift
  for ((i = 0; i < tries; i++)); do
    eval "$*" >/dev/null 2>&1 && return 0
    sleep 0.5
  done
  echo "not within $((tries / 2)) s: $*: $(timeout 8 ceph health 2>&1)" >&2
  return 1
}

pid() { cat "$LAB/run/$1.pid"; }
says() { timeout 10 ceph health detail | grep -q "$1"; }
healthy() { timeout 10 ceph health | grep -q HEALTH_OK && ! timeout 10 ceph pg stat | grep -qE "peering|activating|unknown|creating"; }
settled() { healthy && sleep 6 && healthy; } # a manager that has just started splits placement groups of its own pool
healthy_within() { until_ "$1" healthy; }
tell_osds() { ceph tell "osd.*" config set "$1" "$2" >/dev/null 2>&1; true; }

kill_() { # DAEMON...
  local name number
  for name in "$@"; do
    number=$(pid "$name")
    kill -9 "$number"
    while [ -d "/proc/$number" ]; do sleep 0.1; done
  done
}

start_() { # DAEMON...
  local name
  for name in "$@"; do
    rm -f "$LAB/run/$name.asok"
    "ceph-${name%%.*}" -i "${name#*.}" >/dev/null 2>&1
  done
}

write_some() { # SECONDS [POOL [BYTES]]
  timeout "$(($1 + 5))" rados -p "${2:-data}" bench "$1" write -b "${3:-131072}" -t 4 --no-cleanup \
    --run-name "$RANDOM" >/dev/null 2>&1
  true
}

write_on() { # writes a little, all the time: 4 KiB at a time, and removes it
  while :; do
    timeout 15 rados -p "${1:-data}" bench 10 write -b 4096 -t 2 --run-name "load$RANDOM" >/dev/null 2>&1
    sleep 0.2
  done
}

clean() { # objects that loads left
  local pool
  for pool in data pairs; do timeout 60 rados -p "$pool" cleanup --prefix benchmark_data >/dev/null 2>&1; done
  true
}

slow_disk() { # OSD WRITES-PER-SECOND: bluestore's direct I/O of this OSD's threads is throttled
  local number device task
  number=$(pid "osd.$1")
  device=$(lsblk -no MAJ:MIN "$(df --output=source "$LAB" | tail -1)" | head -1 | tr -d ' ')
  if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    echo +io >/sys/fs/cgroup/cgroup.subtree_control
    mkdir -p /sys/fs/cgroup/sdstop-slow
    echo "$device wiops=$2" >/sys/fs/cgroup/sdstop-slow/io.max
    echo "$number" >/sys/fs/cgroup/sdstop-slow/cgroup.procs
  else
    mkdir -p /sys/fs/cgroup/blkio/sdstop-slow
    echo "$device $2" >/sys/fs/cgroup/blkio/sdstop-slow/blkio.throttle.write_iops_device
    for task in /proc/"$number"/task/*; do echo "${task##*/}" >/sys/fs/cgroup/blkio/sdstop-slow/tasks; done 2>/dev/null
  fi
  true
}

fast_disk() { # ends slow_disk
  local task
  if [ -d /sys/fs/cgroup/sdstop-slow ]; then
    for task in $(cat /sys/fs/cgroup/sdstop-slow/cgroup.procs); do echo "$task" >/sys/fs/cgroup/cgroup.procs; done
    rmdir /sys/fs/cgroup/sdstop-slow
  elif [ -d /sys/fs/cgroup/blkio/sdstop-slow ]; then
    for task in $(cat /sys/fs/cgroup/blkio/sdstop-slow/tasks); do echo "$task" >/sys/fs/cgroup/blkio/tasks; done 2>/dev/null
    sleep 1
    rmdir /sys/fs/cgroup/blkio/sdstop-slow
  fi
  true
}

acting() { # POOL OBJECT: its placement group and the OSDs that have it
  ceph osd map "$1" "$2" -f json | python3 -c 'import json,sys; d = json.load(sys.stdin); print(d["pgid"], *d["acting"])'
}

inconsistent() { # one copy of an object is overwritten behind Ceph's back; deep scrub finds it
  local group first second
  rados -p data put victim /etc/services
  read -r group first second _ < <(acting data victim)
  echo "$group" >"$LAB/victim"
  ceph osd set noout
  kill_ "osd.$second"
  until_ 20 says OSD_DOWN
  ceph-objectstore-tool --data-path "$LAB/osd/ceph-$second" --pgid "$group" victim set-bytes /etc/hosts
  start_ "osd.$second"
  until_ 60 'ceph osd stat | grep -q "3 up"'
  ceph osd unset noout
  healthy_within 60
  ceph pg deep-scrub "$group"
  until_ 90 says PG_DAMAGED
}

unfound() { # the only current copy of an object is on an OSD that is down
  local group first second
  ceph osd pool set pairs min_size 1
  read -r group first second < <(acting pairs lost1)
  echo "$second" >"$LAB/second"
  ceph osd set noout
  kill_ "osd.$first"
  until_ 20 says OSD_DOWN
  rados -p pairs put lost1 /etc/services
  ceph osd set norecover
  ceph osd set nobackfill
  start_ "osd.$first"
  until_ 30 'ceph osd stat | grep -q "3 up"'
  sleep 3
  kill_ "osd.$second"
  until_ 30 says OSD_DOWN
  ceph osd unset norecover
  ceph osd unset nobackfill
  ceph osd unset noout
  until_ 60 says OBJECT_UNFOUND
}

blocked() { # placement groups wait for an OSD that is down, because it was written to without the one that is up
  local first second
  ceph osd pool set pairs min_size 1
  read -r _ first second < <(acting pairs late)
  echo "$second" >"$LAB/second"
  ceph osd set noout
  kill_ "osd.$first"
  until_ 20 says OSD_DOWN
  rados -p pairs put late /etc/services
  kill_ "osd.$second"
  start_ "osd.$first"
  until_ 60 'says "is down, acting"'
}

normal_ratios() {
  ceph osd set-full-ratio 0.95
  ceph osd set-backfillfull-ratio 0.9
  ceph osd set-nearfull-ratio 0.85
}
