# A trusted pool of three GlusterFS servers on this machine: a network, mount and UTS namespace for each, no systemd.
# Volumes: data (three copies), pair (two copies, on nodes 1 and 2), parity (dispersed, 2+1).
PREFIX=sdgl; NODES=3; SUBNET=10.76.0

up() {
  local i
  ip netns add ${PREFIX}hub; ip -n ${PREFIX}hub link add br0 type bridge mcast_snooping 0; ip -n ${PREFIX}hub link set br0 up
  for i in $(seq $NODES); do _make_node $i; done
  for i in $(seq $NODES); do until_ 5 on $i true; start $i; done
  for i in $(seq $NODES); do until_ 20 answers $i; done
  on 1 gluster peer probe $SUBNET.2; on 1 gluster peer probe $SUBNET.3; until_ 20 connected 1 2
  local b=brick
  _volume data replica 3 $SUBNET.1:$LAB/n1/$b-data $SUBNET.2:$LAB/n2/$b-data $SUBNET.3:$LAB/n3/$b-data
  _volume pair replica 2 $SUBNET.1:$LAB/n1/$b-pair $SUBNET.2:$LAB/n2/$b-pair
  _volume parity disperse 3 redundancy 1 $SUBNET.1:$LAB/n1/$b-parity $SUBNET.2:$LAB/n2/$b-parity $SUBNET.3:$LAB/n3/$b-parity
  until_ 30 bricks_up data 3 && until_ 30 bricks_up pair 2 && until_ 30 bricks_up parity 3
  until_ 20 on 1 mount -t glusterfs $SUBNET.1:/pair /mnt && until_ 20 on 2 mount -t glusterfs $SUBNET.2:/data /mnt
  sleep 5
}

down() {
  local i
  for i in $(seq $NODES) hub; do
    ip netns pids $PREFIX$i 2>/dev/null | xargs -r kill -9; ip netns del $PREFIX$i 2>/dev/null
  done
  true
}

on() { ${EXEC-} nsenter -t "$(cat "$LAB/n$1/holder")" -m -u -n -- "${@:2}"; }
tools() { echo gluster; }
processes() {  # the daemons of all nodes
  local i p
  for i in $(seq $NODES); do for p in $(ip netns pids $PREFIX$i); do grep -qsE '^(gluster)' /proc/$p/comm && echo $p; done; done; true
}
record() { on "$1" env HOME=/root $SDSTOP capture -o "$2" --collectors node,gluster,gluster-heal,addresses "${@:3}"; }
until_() {  # SECONDS COMMAND...: until it succeeds
  local end=$((SECONDS + $1)); shift
  until "$@" >/dev/null 2>&1; do [ $SECONDS -lt $end ] || { echo "timed out: $*"; return 1; }; sleep 0.3; done
}

_make_node() {
  local i=$1 n=$LAB/n$1
  ip netns add $PREFIX$i; ip -n $PREFIX$i link set lo up
  ip -n ${PREFIX}hub link add p$i type veth peer name eth0 netns $PREFIX$i
  ip -n ${PREFIX}hub link set p$i master br0 up
  ip -n $PREFIX$i addr add $SUBNET.$i/24 dev eth0; ip -n $PREFIX$i link set eth0 up
  mkdir -p $n/{lib,log,brick-data,brick-pair,brick-parity}
  ip netns exec $PREFIX$i unshare -m -u --propagation private bash -c "
    hostname gfs$i; mount --bind $n/lib /var/lib/glusterd; mount --bind $n/log /var/log/glusterfs
    mount -t tmpfs t /run; mkdir -p /run/gluster /run/lock; mount -t tmpfs t /mnt
    exec sleep infinity" >/dev/null 2>&1 &
  echo $! >$n/holder; disown
}
guard() {  # a volume of two copies and an arbiter, on the third node
  local i b=brick-guard; for i in 1 2 3; do mkdir -p $LAB/n$i/$b; done
  _volume guard replica 2 arbiter 1 $SUBNET.1:$LAB/n1/$b $SUBNET.2:$LAB/n2/$b $SUBNET.3:$LAB/n3/$b && until_ 30 bricks_up guard 3
}
no_guard() { on 1 gluster --mode=script volume stop guard force; on 1 gluster --mode=script volume delete guard; rm -rf $LAB/n?/brick-guard; }
_volume() { on 1 gluster --mode=script volume create "$@" force && on 1 gluster --mode=script volume start "$1"; }

start() { on $1 setsid glusterd -N >/dev/null 2>&1 & disown -a; }
answers() { on $1 gluster --mode=script volume list; }
connected() { [ "$(on $1 gluster peer status | grep -c '(Connected)')" = $2 ]; }
bricks_up() { [ "$(on 1 gluster --xml volume status $1 | tr -d ' \n' | grep -oE '<path>/[^<]*</path><peerid>[^<]*</peerid><status>1' | wc -l)" = $2 ]; }
brick_pid() { local p; for p in $(ip netns pids $PREFIX$1); do tr '\0' ' ' </proc/$p/cmdline | grep -q "glusterfsd.*brick-$2" && echo $p; done; true; }
kill_brick() { kill -9 $(brick_pid $1 $2); sleep 2; }  # NODE VOLUME
revive() { on 1 gluster --mode=script volume start $1 force; sleep 4; }
daemons() { local p; for p in $(ip netns pids $PREFIX$1); do grep -qs '^glusterd$' /proc/$p/comm && echo $p; done; true; }
write() { local f; for f in "${@:2}"; do on $1 sh -c "date +%N >/mnt/$f; dd if=/dev/urandom of=/mnt/$f.bin bs=64k count=4 status=none"; done; true; }
set_() { on 1 gluster --mode=script volume set "$@"; }
healed() { ! on 1 gluster volume heal $1 info | grep -E '^Number of entries: ([1-9]|-)'; }
cut() { ip -n ${PREFIX}hub link set p$1 down; }
mend() { ip -n ${PREFIX}hub link set p$1 up; }
churn() {  # clients write and read all the time
  local n=0
  while :; do n=$((n + 1)); write 1 churn-$((n % 7)); write 2 churn-$((n % 7)); sleep 0.3; done
}
