# A cluster of Corosync and Pacemaker on this machine: a network, mount and UTS namespace for each node, no systemd.
# libqb's sockets are abstract, and so belong to the network namespace: nothing collides with the machine's own.
PREFIX=${PREFIX:-sdpk}; NODES=${NODES:-3}; LINKS=${LINKS:-2}; SUBNET=${SUBNET:-10.77}

up() {
  local i
  ip netns add ${PREFIX}hub; ip -n ${PREFIX}hub link set lo up
  for i in $(seq $LINKS); do
    ip -n ${PREFIX}hub link add br$i type bridge mcast_snooping 0 && ip -n ${PREFIX}hub link set br$i up
  done
  mkdir -p "$LAB/fence"; : >"$LAB/fence/works"
  for i in $(seq $NODES); do _make_node $i; done
  for i in $(seq $NODES); do until_ 5 on $i true; start $i; done
  until_ 60 all_online && _configure && settle
}

down() {
  local i
  for i in $(seq $NODES) hub; do
    ip netns pids $PREFIX$i 2>/dev/null | xargs -r kill -9; ip netns del $PREFIX$i 2>/dev/null
  done
  true
}

on() { ${EXEC-} nsenter -t "$(cat "$LAB/n$1/holder")" -m -u -n -- "${@:2}"; }
tools() { echo crm_mon cibadmin corosync-quorumtool corosync-cfgtool; }
processes() {  # the daemons of all nodes
  local i p
  for i in $(seq $NODES); do for p in $(ip netns pids $PREFIX$i); do grep -qsE '^(corosync|pacemaker)' /proc/$p/comm && echo $p; done; done; true
}
record() { on "$1" env HOME=/root $SDSTOP capture -o "$2" --collectors node,pacemaker,corosync "${@:3}"; }
until_() {  # SECONDS COMMAND...: until it succeeds
  local end=$((SECONDS + $1)); shift
  until "$@" >/dev/null 2>&1; do [ $SECONDS -lt $end ] || { echo "timed out: $*"; return 1; }; sleep 0.3; done
}

_make_node() {  # the node's namespaces, held by a process; its files below $LAB/nN
  local i=$1 n=$LAB/n$1 l
  ip netns add $PREFIX$i; ip -n $PREFIX$i link set lo up
  for l in $(seq $LINKS); do
    ip -n ${PREFIX}hub link add p$i-$l type veth peer name eth$l netns $PREFIX$i
    ip -n ${PREFIX}hub link set p$i-$l master br$l up
    ip -n $PREFIX$i addr add $SUBNET.$l.$i/24 dev eth$l; ip -n $PREFIX$i link set eth$l up
  done
  mkdir -p $n/{etc,lib-pcmk/cib,lib-pcmk/pengine,lib-pcmk/blackbox,lib-pcmk/cores,lib-coro,log}
  : >$n/log/pcmk.log; chown -R hacluster:haclient $n/lib-pcmk $n/log; chmod 750 $n/lib-pcmk
  _corosync_conf $i >$n/etc/corosync.conf
  ip netns exec $PREFIX$i unshare -m -u --propagation private bash -c "
    hostname san$i
    mount --bind $n/lib-pcmk /var/lib/pacemaker; mount --bind $n/lib-coro /var/lib/corosync
    mount --bind $n/etc /etc/corosync; mount --bind $HERE/fence.sh /usr/sbin/fence_legacy
    mount -t tmpfs t /run; mkdir -p /run/lock /run/crm /run/resource-agents; chown hacluster:haclient /run/crm
    mount -t tmpfs t /dev/shm; ln -s $LAB /run/lab
    exec sleep infinity" >/dev/null 2>&1 &
  echo $! >$n/holder; disown
}

_corosync_conf() {
  local i l
  printf 'totem {\n  version: 2\n  cluster_name: %s\n  transport: knet\n  crypto_cipher: none\n  crypto_hash: none\n' "${NAME:-vault}"
  printf '  token: 1500\n}\nnodelist {\n'
  for i in $(seq $NODES); do
    printf '  node {\n    name: san%s\n    nodeid: %s\n' $i $i
    for l in $(seq $LINKS); do printf '    ring%s_addr: %s.%s.%s\n' $((l - 1)) $SUBNET $l $i; done
    printf '  }\n'
  done
  printf '}\nquorum {\n  provider: corosync_votequorum\n'
  [ $NODES = 2 ] && printf '  two_node: 1\n'
  printf '}\nlogging {\n  to_stderr: no\n  to_syslog: no\n  to_logfile: yes\n  logfile: %s\n}\n' "$LAB/n$1/log/corosync.log"
}

# Resources: a primitive, a group, a promotable clone, a clone of a group, and two that stay near the group.
_configure() {
  prop stonith-enabled false; prop dc-deadtime 4s; prop cluster-recheck-interval 60s
  local monitor='<op id="%s-mon" name="monitor" interval="3s" timeout="10s"/>'
  cib resources "<primitive id=\"vip\" class=\"ocf\" provider=\"heartbeat\" type=\"Dummy\"><operations><op id=\"vip-mon\" name=\"monitor\" interval=\"2s\" timeout=\"10s\"/></operations></primitive>"
  cib resources "<group id=\"nfs\">$(_dummy nfs-fs)$(_dummy nfs-srv)</group>"
  cib resources "<clone id=\"drbd-clone\"><meta_attributes id=\"drbd-m\"><nvpair id=\"drbd-m1\" name=\"promotable\" value=\"true\"/><nvpair id=\"drbd-m2\" name=\"clone-max\" value=\"2\"/></meta_attributes><primitive id=\"drbd\" class=\"ocf\" provider=\"pacemaker\" type=\"Stateful\"><operations><op id=\"drbd-mon1\" name=\"monitor\" interval=\"3s\" role=\"Promoted\"/><op id=\"drbd-mon2\" name=\"monitor\" interval=\"4s\" role=\"Unpromoted\"/></operations></primitive></clone>"
  cib resources "<clone id=\"lvm-clone\"><meta_attributes id=\"lvm-m\"><nvpair id=\"lvm-m1\" name=\"interleave\" value=\"true\"/></meta_attributes><group id=\"lvm\">$(_dummy dlm)$(_dummy lvmlockd)</group></clone>"
  cib constraints '<rsc_colocation id="col-1" rsc="nfs" with-rsc="drbd-clone" with-rsc-role="Promoted" score="INFINITY"/>'
  cib constraints '<rsc_order id="ord-1" first="drbd-clone" first-action="promote" then="nfs" then-action="start"/>'
}

_dummy() {
  printf '<primitive id="%s" class="ocf" provider="heartbeat" type="Dummy"><operations><op id="%s-mon" name="monitor" interval="3s" timeout="10s"/></operations>%s</primitive>' "$1" "$1" "${2-}"
}
state_file() { printf '<instance_attributes id="%s-ia"><nvpair id="%s-ia1" name="state" value="%s"/></instance_attributes>' "$1" "$1" "$2"; }
cib() { on 1 cibadmin -C -o "$1" -X "$2"; }
uncib() { on 1 cibadmin -D -X "$1"; }
prop() { on "${3:-1}" crm_attribute -t crm_config -n "$1" -v "$2"; }
fencing() { prop stonith-enabled true; cib resources '<primitive id="fence-lab" class="stonith" type="fence_legacy"><instance_attributes id="f-ia"><nvpair id="f-ia1" name="pcmk_host_list" value="san1 san2 san3"/></instance_attributes></primitive>'; settle; }
no_fencing() { prop stonith-enabled false; uncib '<primitive id="fence-lab"/>'; on 1 stonith_admin --history '*' --cleanup >/dev/null 2>&1; : >"$LAB/fence/works"; settle; }

start() {
  on $1 setsid corosync -f >"$LAB/n$1/log/corosync.out" 2>&1 &
  sleep 0.7
  start_pacemaker $1
}
start_pacemaker() {
  on $1 setsid env PCMK_logfile="$LAB/n$1/log/pcmk.log" PCMK_logfacility=none pacemakerd -f >"$LAB/n$1/log/pcmk.out" 2>&1 &
  disown -a
}
stop() {  # an orderly shutdown of Pacemaker; Corosync goes on
  local p
  for p in $(ip netns pids $PREFIX$1); do grep -qsx pacemakerd /proc/$p/comm && kill $p; done
  until_ 40 none_of $1 pacemaker
}
none_of() { ! pids_of "$1" "$2" | grep -q .; }
pids_of() { local p; for p in $(ip netns pids $PREFIX$1); do grep -qs "^$2" /proc/$p/comm && echo $p; done; true; }
crash() {  # a power cut
  local p
  for p in $(ip netns pids $PREFIX$1); do [ $p = "$(cat "$LAB/n$1/holder")" ] || kill -9 $p; done 2>/dev/null
  on $1 sh -c 'rm -rf /run/resource-agents/* /run/Dummy* /run/Stateful* /dev/shm/*'; true
}
revive() { start $1; until_ 60 all_online; cleanup; }
cut() { local l; for l in $(seq $LINKS); do ip -n ${PREFIX}hub link set p$1-$l down; done; }
mend() { local l; for l in $(seq $LINKS); do ip -n ${PREFIX}hub link set p$1-$l up; done; }

left() { ! on 1 corosync-quorumtool -l | grep -q "san$1"; }  # NODE: it is no member of Corosync's cluster any more
sees() { on "$1" crm_mon -1 -r -f -A | grep -Eq -- "$2"; }  # NODE PATTERN: crm_mon there shows it
gone_() { ! sees "$1" "$2"; }
all_online() {
  local i
  for i in $(seq $NODES); do
    [ "$(on $i crm_mon --output-as=xml -1 | grep -c '<node name="san[0-9]*" .*online="true".* pending="false" unclean="false"')" = $NODES ] || return 1
  done
}
settle() { sleep 2; timeout 60 nsenter -t "$(cat "$LAB/n${1:-1}/holder")" -m -u -n -- crm_resource --wait --timeout 40s >/dev/null 2>&1; true; }
cleanup() { on 1 crm_resource --cleanup >/dev/null 2>&1; settle; }
where() { on 1 crm_resource -W -r "$1" -Q | head -1 | tr -d ' \n' | sed s/san//; }
meta() { on 1 crm_resource -r "$1" --meta -p "$2" -v "$3" >/dev/null; settle; }
unmeta() { on 1 crm_resource -r "$1" --meta -d "$2" >/dev/null; settle; }
churn() {  # what administrators and agents do all day: attributes change, monitors run, resources are looked at
  local n=0
  while :; do
    n=$((n + 1)); on 1 crm_attribute -N san1 -n load-$((n % 5)) -v $n; on 2 crm_mon -1 >/dev/null; on 1 cibadmin -Q >/dev/null
    sleep 0.5
  done
}
link_down() { on "$1" corosync-cfgtool -s | grep -q disconnected; }
links_up() { ! link_down "$1"; }
