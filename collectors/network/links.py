"""Relations between network interfaces: bonds and their slaves, bridges, VLANs, veth pairs."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable

from sdstop.collectors.network import netclass, proc_bonding
from sdstop.collectors.network.readings import CLASS, FOLDER, Bond, BondSlave, InterfaceLink
from sdstop.core.collector import Collector, Command, Need
from sdstop.core.host import Absent, Host, Malformed, TimedOut, Unreadable
from sdstop.core.model import Reading
from sdstop.core.retention import json_texts

_LACP = "802.3ad"


LINK_COMMAND = ("ip", "-j", "-d", "link", "show")


def read(host: Host) -> Iterable[Reading]:
    """Yield the relations of all interfaces, the bonds and their slaves."""
    known = _folders(host)
    for folder in known.values():
        for upper in folder.upper:
            kind = known[upper].kind if upper in known else "upper"
            yield InterfaceLink(folder.name, upper, kind)
    for one, other in _veth_pairs(host, known):
        yield InterfaceLink(one, other, "veth")
    for folder in known.values():
        if folder.kind == "bond":
            yield from _bond(host, folder.name)
    if not known:
        yield from _bonds_of_proc(host)


def _folders(host: Host) -> dict[str, netclass.Folder]:
    """Return the interfaces; none if only /proc has bonds. Raises the errors of listing them."""
    try:
        return netclass.folders(host)
    except Absent:
        if not host.names(FOLDER):
            raise
        return {}


def _bonds_of_proc(host: Host) -> Iterable[Reading]:
    for name in host.names(FOLDER):
        key = f"{FOLDER}/{name}"
        said = proc_bonding.parse(host.maybe(key) or "")
        yield Bond(name, said.mode, said.hash_policy, said.active_slave, said.link, len(said.slaves), said.miimon, key)
        for slave in said.slaves:
            state = None
            if said.active_slave is not None:
                state = "active" if slave.name == said.active_slave else "backup"
            known = slave.failures, slave.aggregator, slave.partner, slave.port_state
            yield BondSlave(name, slave.name, state, slave.link, *known, key)


def _veth_pairs(host: Host, known: dict[str, netclass.Folder]) -> list[tuple[str, str]]:
    """Return the veth pairs with both ends in this network namespace, ordered by name.

    The ends of a pair refer to each other's ifindex. So can ends of different pairs, as an ifindex is unique only
    within a namespace, and sysfs does not report that of a peer: `ip` does, and is run only where such ends exist.
    """
    ends = {name for name, folder in known.items() if folder.kind in {"veth", "virtual"}}
    index = {name: host.number(f"{CLASS}/{name}/ifindex") for name in ends}
    names = {number: name for name, number in index.items() if number is not None}
    linked = {name: host.number(f"{CLASS}/{name}/iflink") for name in ends}
    said = {name: names[number] for name, number in linked.items() if number is not None and number in names}
    is_known = None not in (*index.values(), *linked.values())
    if is_known and not any(a != b and said.get(b) == a for a, b in said.items()):
        return []
    told = _peers(host)
    said = told if told is not None else {name: peer for name, peer in said.items() if known[name].kind == "veth"}
    return sorted(
        {(min(a, b), max(a, b)) for a, b in said.items() if a != b and said.get(b) == a and a in known and b in known}
    )


def _peers(host: Host) -> dict[str, str] | None:
    """Return the peer of each veth with a peer in this namespace; None if `ip` cannot be run or fails."""
    try:
        output = host.run(LINK_COMMAND)
    except TimedOut:
        raise
    except Unreadable:
        return None
    if output.exit:
        return None
    return parse_peers(output.text)


def parse_peers(text: str) -> dict[str, str] | None:
    """Parse `ip -j -d link show` (iproute2 4.16 or later) into `{veth: its peer}`; None for invalid output.

        [{"ifindex": 3, "link": "v0", "ifname": "v1", "mtu": 1500, ..., "linkinfo": {"info_kind": "veth"}}, ...]

    A peer in another namespace is reported as `link_index` and `link_netnsid`.
    """
    try:
        rows = json.loads(text or "[]")
    except (ValueError, RecursionError):
        return None
    if not isinstance(rows, list):
        return None
    found = {}
    for row in rows:
        if not isinstance(row, dict) or "link_netnsid" in row:
            continue
        info, name, peer = row.get("linkinfo"), row.get("ifname"), row.get("link")
        veth = isinstance(info, dict) and info.get("info_kind") == "veth"
        if veth and isinstance(name, str) and isinstance(peer, str):
            found[name] = peer
    return found


def _bond(host: Host, name: str) -> Iterable[Reading]:
    base = f"{CLASS}/{name}/bonding"
    slaves = (host.maybe(f"{base}/slaves") or "").split()
    miimon = host.number(f"{base}/miimon")
    mode = _word(host.maybe(f"{base}/mode"))
    partners = _partners(host, name) if mode == _LACP else {}
    yield Bond(
        interface=name,
        mode=mode,
        hash_policy=_word(host.maybe(f"{base}/xmit_hash_policy")),
        active_slave=host.maybe(f"{base}/active_slave") or None,
        link=host.maybe(f"{base}/mii_status") or None,
        slaves=len(slaves),
        miimon=None if miimon is None else miimon / 1000,
    )
    for slave in slaves:
        own = f"{CLASS}/{slave}/bonding_slave"
        yield BondSlave(
            bond=name,
            interface=slave,
            state=host.maybe(f"{own}/state") or None,
            link=host.maybe(f"{own}/mii_status") or None,
            link_failures=host.number(f"{own}/link_failure_count"),
            aggregator=host.number(f"{own}/ad_aggregator_id"),
            partner=partners.get(slave),
            port_state=host.number(f"{own}/ad_actor_oper_port_state"),
        )


def _partners(host: Host, name: str) -> dict[str, str]:
    """Return the partner of each slave; sysfs has only the one of the active aggregator."""
    try:
        said = proc_bonding.parse(host.maybe(f"{FOLDER}/{name}") or "")
    except Malformed:
        return {}
    return {slave.name: slave.partner for slave in said.slaves if slave.partner is not None}


def _word(said: str | None) -> str | None:
    """Return `802.3ad` for `802.3ad 4`: bonding appends the number of an option."""
    return said.split()[0] if said else None


def fingerprint(host: Host) -> Hashable:
    """Return each interface with its state and master."""
    return tuple(
        (name, host.maybe(f"{CLASS}/{name}/operstate"), host.target(f"{CLASS}/{name}/master"))
        for name in host.names(CLASS)
    )


LINKS = Collector(
    "links",
    "Relations of the network interfaces",
    read,
    (InterfaceLink, Bond, BondSlave),
    (
        Need(f"list:{CLASS}", "which interfaces there are", everyone=True),
        Need(f"list:{CLASS}/*", "the interfaces below them, and their kind"),
        Need(f"{CLASS}/*/*", "kind, numbers, state", filled=("ifindex", "iflink", "operstate", "type")),
        Need(f"link:{CLASS}/*/master", "the bond or bridge it belongs to"),
        Need(
            f"{CLASS}/*/bonding/*",
            "mode, slaves and link of a bond",
            filled=("mode", "mii_status", "miimon", "xmit_hash_policy"),
        ),
        Need(f"{CLASS}/*/bonding_slave/*", "state and link failures of a slave", filled=True),
        Need(f"list:{FOLDER}", "bonds, where sysfs was not copied"),
        Need(f"{FOLDER}/*", "LACP partner of each slave; bonds, where sysfs was not copied", "root"),
        Command(LINK_COMMAND, "which ends of veth pairs belong together"),
        Need(
            "cmd:ip -j -d link*",
            "relations of interfaces, from captures only; never run in this form",
            redact=json_texts("ifname", "link", "info_kind"),
        ),
    ),
    10.0,
    deadline=5.0,
    fingerprint=fingerprint,
    resting=30.0,
    forms=(proc_bonding.FORM,),
)
