# DRBD 8.4 in two guests, a and b (nodes 1 and 2), with a cable between them. Two resources, r0 and r1, on halves of vda;
# a resync of one takes 22 s. a is Primary of both.

guest() { local action=$1; shift; "$PYTHON" -m tests.clusters.guest "$action" "$LAB" "$@"; }
name_of() { case $1 in 1) echo a ;; *) echo b ;; esac; }
on() { guest on "$(name_of "$1")" "$2" --seconds "${3:-120}"; }
both() { on 1 "$1" & local first=$!; on 2 "$1"; wait $first; }
cut_cable() { guest monitor a set_link n0 off; }
plug_cable() { guest monitor a set_link n0 on; }

# Prints the shell that waits in a guest until a line of /proc/drbd matches: until_drbd '0: cs:Connected' [SECONDS].
until_drbd() {
  echo "for i in \$(seq $((${2:-60} * 4))); do grep -Eq '$1' /proc/drbd && break; sleep 0.25; done; grep -E '$1' /proc/drbd || { cat /proc/drbd; exit 1; }"
}

SETUP='
set -e
modprobe drbd; modprobe dm-mod
dev=$(ls /sys/class/net | grep -v lo | head -1); ip link set "$dev" up
case $(hostname) in a) me=1 ;; *) me=2 ;; esac
ip addr replace 10.78.0.$me/24 dev "$dev"
for r in 0 1; do dmsetup create half$r --table "0 90112 linear /dev/vda $((r * 98304))"; done
udevadm settle
mkdir -p /etc/drbd.d
echo "global { usage-count no; } common { net { protocol C; ping-int 3; connect-int 3; timeout 30; ping-timeout 30; verify-alg crc32c; } disk { resync-rate 2M; c-plan-ahead 0; } } include \"drbd.d/*.res\";" >/etc/drbd.conf
for r in 0 1; do
  echo "resource r$r { device /dev/drbd$r; disk /dev/mapper/half$r; meta-disk internal;
 on a { address 10.78.0.1:779$r; } on b { address 10.78.0.2:779$r; } }" >/etc/drbd.d/r$r.res
done
drbdadm create-md --force r0 r1 >/dev/null 2>&1
drbdadm up r0 r1
'

up() {
  guest boot a --peer b --disks 96M
  guest boot b --peer a --disks 96M
  both "$SETUP" || return
  # Both copies are empty, hence equal: no first resync.
  on 1 "$(until_drbd '0: cs:Connected'); $(until_drbd '1: cs:Connected')
    for r in r0 r1; do drbdadm -- --clear-bitmap new-current-uuid \$r || drbdadm new-current-uuid --clear-bitmap \$r; drbdadm primary \$r; done
    cat /proc/drbd" || return
  on 2 "$(until_drbd '0: cs:Connected ro:Secondary/Primary ds:UpToDate/UpToDate')"
}

down() { guest stop; }

# One capture in the guest, whose files come here; a guest is slow, so it reads what DRBD needs and no more.
record() {
  local node=$1 directory=$2; shift 2
  on "$node" "rm -rf /run/capture; python3 -m sdstop capture -o /run/capture $* --collectors drbd,node,diskstats,blockdev >/run/capture.txt 2>&1 || { cat /run/capture.txt; exit 1; }
    rm -rf /vm/capture-$node; cp -r /run/capture /vm/capture-$node" 240 || return
  mv "$LAB/share/capture-$node" "$directory"
}

# Waits on a (or node $2) until both resources are connected and up to date again.
well() {
  on "${1:-1}" "$(until_drbd '0: cs:Connected ro:[A-Za-z/]* ds:UpToDate/UpToDate' 90); $(until_drbd '1: cs:Connected ro:[A-Za-z/]* ds:UpToDate/UpToDate' 90)"
}

# Boots b again after its death. Its copy is lost (the disk image is new), so all of it is copied from a.
reboot_b() {
  mv "$LAB/b" "$LAB/b.$(date +%s)"; rm -rf "$LAB/share/do/b"
  guest boot b --peer a --disks 96M && on 2 "$SETUP" && well
}

# Prints what exporter and dashboard ask for and cost in so many minutes on a, and the writes of the load meanwhile.
measured() { cp "$HERE/../inside.py" "$LAB/share/"; on 1 "python3 /vm/inside.py $1 drbd0 drbdsetup drbdadm drbdmon dmsetup" $(($1 * 60 + 600)); }
