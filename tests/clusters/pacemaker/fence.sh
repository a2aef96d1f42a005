#!/bin/bash
# The lab's fence agent, mounted over /usr/sbin/fence_legacy of its nodes: ends all processes of a node at once.
# It fails while /run/lab/fence/works does not exist.
action=; port=
while read -r line; do
  case $line in action=*) action=${line#*=} ;; port=*|plug=*|nodename=*) port=${line#*=} ;; esac
done
case ${action:-$2} in
  metadata) cat <<X
<?xml version="1.0" ?>
<resource-agent name="fence_legacy" shortdesc="lab"><parameters>
<parameter name="action" required="1"><content type="string" default="reboot"/></parameter>
<parameter name="port" required="0"><content type="string"/></parameter>
</parameters><actions><action name="on"/><action name="off"/><action name="reboot"/><action name="status"/>
<action name="monitor"/><action name="list"/><action name="metadata"/></actions></resource-agent>
X
    ;;
  off|reboot)
    [ -e /run/lab/fence/works ] || { echo "power switch does not answer" >&2; exit 1; }
    holder=$(cat "/run/lab/n${port#san}/holder"); ns=$(readlink "/proc/$holder/ns/net")
    for p in /proc/[0-9]*; do
      [ "${p#/proc/}" != "$holder" ] && [ "$(readlink "$p/ns/net" 2>/dev/null)" = "$ns" ] && kill -9 "${p#/proc/}"
    done
    exit 0 ;;
  *) exit 0 ;;
esac
