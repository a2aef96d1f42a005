# One guest, s, that is storage and client: an iSCSI target (LIO) and an NVMe/TCP target (nvmet) in a network namespace,
# two links to it (san1, san2), an initiator of each kind over both links, and multipath: device mapper's for iSCSI
# (mpatha), the kernel's own for NVMe (nvme0n1).

guest() { local action=$1; shift; "$PYTHON" -m tests.clusters.guest "$action" "$LAB" "$@"; }
on() { guest on s "$1" --seconds "${2:-150}"; }

IQN=iqn.2003-01.org.linux-iscsi.lab:t1
NQN=nqn.2014-08.org.lab:n1
TPG=/sys/kernel/config/target/iscsi/$IQN/tpgt_1
NVMET=/sys/kernel/config/nvmet

TARGET="
C=/sys/kernel/config/target; mkdir -p \$C/core/iblock_0/lun0; echo udev_path=/dev/vda >\$C/core/iblock_0/lun0/control
echo a1b2c3d4-0000-1111-2222-333344445555 >\$C/core/iblock_0/lun0/wwn/vpd_unit_serial; echo 1 >\$C/core/iblock_0/lun0/enable
mkdir -p $TPG
for x in authentication=0 generate_node_acls=1 demo_mode_write_protect=0 cache_dynamic_acls=1; do echo \${x#*=} >$TPG/attrib/\${x%=*}; done
mkdir -p $TPG/lun/lun_0; ln -s \$C/core/iblock_0/lun0 $TPG/lun/lun_0/lun0
# Portals belong to the namespace of the process that makes them; ip netns exec would hide configfs.
for i in 1 2; do nsenter --net=/run/netns/tgt mkdir $TPG/np/10.79.\$i.1:3260; done; echo 1 >$TPG/enable
"
NO_TARGET="rm $TPG/lun/lun_0/lun0; rmdir $TPG/np/* $TPG/lun/lun_0 $TPG ${TPG%/*}; rmdir /sys/kernel/config/target/core/iblock_0/lun0"

SETUP="
set -e
modprobe -a veth dm-multipath iscsi_tcp target_core_mod target_core_iblock iscsi_target_mod nvmet nvmet-tcp nvme-tcp scsi_dh_alua
mountpoint -q /sys/kernel/config || mount -t configfs c /sys/kernel/config
ip netns add tgt; ip -n tgt link set lo up
for i in 1 2; do
  ip link add san\$i type veth peer name t\$i netns tgt; ip addr add 10.79.\$i.2/24 dev san\$i; ip link set san\$i up
  ip -n tgt addr add 10.79.\$i.1/24 dev t\$i; ip -n tgt link set t\$i up
done
$TARGET
mkdir -p /run/lock/iscsi; echo InitiatorName=iqn.1993-08.org.debian:lab >/etc/iscsi/initiatorname.iscsi
sed -i 's/^node.session.timeo.replacement_timeout.*/node.session.timeo.replacement_timeout = 5/; s/^node.conn\\[0\\].timeo.noop_out_interval.*/node.conn[0].timeo.noop_out_interval = 5/; s/^node.conn\\[0\\].timeo.noop_out_timeout.*/node.conn[0].timeo.noop_out_timeout = 5/' /etc/iscsi/iscsid.conf
iscsid
for i in 1 2; do iscsiadm -m discovery -t st -p 10.79.\$i.1 >/dev/null; done
# One after the other: session1 and sda are on the second link, session2 and sdb on the first, whatever else runs.
for i in 2 1; do
  iscsiadm -m node -T $IQN -p 10.79.\$i.1 -l | tail -1
  for n in \$(seq 100); do [ \$(ls /sys/block | grep -c ^sd) = \$((3 - i)) ] && break; sleep 0.2; done
done
echo 'defaults {
 user_friendly_names yes
 find_multipaths no
 polling_interval 2
}
overrides { # multipath-tools have 12 retries of their own for LIO
 no_path_retry queue
}
blacklist {
 devnode \"^vd\"
 devnode \"^nvme\"
}' >/etc/multipath.conf
multipathd; sleep 3
mkdir $NVMET/subsystems/$NQN; echo 1 >$NVMET/subsystems/$NQN/attr_allow_any_host
mkdir $NVMET/subsystems/$NQN/namespaces/1; echo -n /dev/vdb >$NVMET/subsystems/$NQN/namespaces/1/device_path; echo 1 >$NVMET/subsystems/$NQN/namespaces/1/enable
for i in 1 2; do
  p=$NVMET/ports/\$i; mkdir \$p; echo tcp >\$p/addr_trtype; echo ipv4 >\$p/addr_adrfam; echo 10.79.\$i.1 >\$p/addr_traddr; echo 4420 >\$p/addr_trsvcid
  nsenter --net=/run/netns/tgt ln -s $NVMET/subsystems/$NQN \$p/subsystems/$NQN
done
mkdir -p /etc/nvme; [ -s /etc/nvme/hostnqn ] || nvme gen-hostnqn >/etc/nvme/hostnqn
for i in 1 2; do nvme connect -t tcp -a 10.79.\$i.1 -s 4420 -n $NQN --keep-alive-tmo=4 --reconnect-delay=2 --ctrl-loss-tmo=3600 --nr-io-queues=1; done
"

up() {
  guest boot s --disks 64M 64M --memory 768M --packages multipath-tools
  on "$SETUP" 240 && well
}

down() { guest stop; }

# Returns when both sessions, both paths and both controllers are up.
well() {
  on 'for n in $(seq 240); do
    [ "$(grep -l LOGGED_IN /sys/class/iscsi_session/*/state | wc -l)" = 2 ] && [ "$(grep -l live /sys/class/nvme/*/state | wc -l)" = 2 ] &&
      [ "$(dmsetup status --target multipath | grep -o " A [0-9]* *[0-9]* [0-9]*" | wc -l)" -ge 2 ] && ! dmsetup status --target multipath | grep -q " F " && exit 0
    sleep 0.5
  done; multipath -ll; nvme list-subsys; iscsiadm -m session; exit 1'
}

# Writes a little to both, all the time: an emulated processor has no more to spare.
writers() {
  on 'touch /run/writing
    for device in mapper/mpatha nvme0n1; do
      (while [ -e /run/writing ]; do timeout 300 dd if=/dev/zero of=/dev/$device bs=16k count=3 oflag=direct; sleep 2; done >/dev/null 2>&1 &)
    done
    sleep 1'
}
no_writers() { on 'rm -f /run/writing; pkill -x dd; sleep 2.5'; }

links() { local state=$1; shift; on "for i in $*; do ip link set san\$i $state; done"; }

# Returns when the kernel has a failed path: a timeout of the session, and a request after it.
failed() {
  on 'for n in $(seq 240); do dmsetup status --target multipath | grep -q " F " && exit 0; sleep 0.5; done; dmsetup status; exit 1'
}

# Prints the number of the link that the path in use needs: the kernel alone finds the failure of no other path.
used_link() {
  on 'd=$(dmsetup status --target multipath | grep -oE " A 0 [0-9]+ [0-9]+ [0-9]+:[0-9]+ A" | head -1 | grep -oE "[0-9]+:[0-9]+")
    s=$(readlink -f /sys/dev/block/$d/device | grep -oE "session[0-9]+" | head -1)
    cut -d. -f3 /sys/class/iscsi_connection/connection${s#session}:0/persistent_address'
}

# ana STATE PORT...: the access that these ports of the target report for the NVMe namespace.
ana() { local state=$1; shift; on "for p in $*; do echo $state >$NVMET/ports/\$p/ana_groups/1/ana_state; done"; }

# chap 0|1: whether the target asks for a password, which the initiator does not have. Its sessions are dropped.
chap() { on "echo 0 >$TPG/enable; echo $1 >$TPG/attrib/authentication; echo -n lab >$TPG/auth/userid; echo -n of-the-lab-1234 >$TPG/auth/password; echo 1 >$TPG/enable"; }

# Node 1 is the initiator (the guest itself), node 2 the target: its network namespace, under a host name of its own. Both
# have one kernel, so each records what is its own there.
record() {
  local node=$1 directory=$2 inside=/run/capture-$1; shift 2
  local sdstop="python3 -m sdstop capture -o $inside $*" sources=node,addresses,interfaces
  case $node in
    1) sdstop="$sdstop --collectors $sources,diskstats,blockdev,session-states,sessions,dm-status,mapper,nvme-paths,tasks" ;;
    2) sdstop="ip netns exec tgt unshare -u sh -c 'hostname target; mount -t configfs c /sys/kernel/config; $sdstop --collectors $sources,exports'" ;;
  esac
  on "rm -rf $inside; $sdstop >$inside.txt 2>&1 || { cat $inside.txt; exit 1; }
    rm -rf /vm/capture-$node; cp -r $inside /vm/capture-$node" 600 || return
  mv "$LAB/share/capture-$node" "$directory"
}

# Prints what exporter and dashboard ask for and cost in so many minutes, and the writes to both targets meanwhile.
measured() { cp "$HERE/../inside.py" "$LAB/share/"; on "python3 /vm/inside.py $1 dm-0,nvme0n1 dmsetup multipath multipathd iscsiadm nvme" $(($1 * 60 + 600)); }
