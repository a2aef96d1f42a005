"""iSCSI sessions and NVMe controllers that are down, with the end that is at fault."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from ipaddress import ip_address, ip_network

from msgspec import Struct
from msgspec.structs import replace

from sdstop.collectors.network.exports import WILDCARDS
from sdstop.collectors.network.path_readings import NodeAddress
from sdstop.collectors.network.peer_readings import SessionState, StorageSession, TargetExport
from sdstop.collectors.network.readings import Interface
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.evidence import Cite
from sdstop.core.finding import Damage, Finding, Gap, RuledOut, Severity, Unchecked, Value, Verdict, cites
from sdstop.core.finding_text import fitting
from sdstop.core.model import Reading
from sdstop.core.rule import Limits, NodeRule
from sdstop.core.shell import phrase
from sdstop.core.site import APART, AT_ONCE, Site, SiteNode, apart

_ID = "session-down"
_UP = frozenset({"LOGGED_IN", "live"})
_PORTS = frozenset({"physical", "veth", "bond", "team", "vlan"})


class _Fault(Struct, frozen=True, eq=False):
    """The end that is at fault, None if neither is: the fault as a title and in words, and its evidence."""

    node: SiteNode | None
    title: str
    words: str
    steps: tuple[Advice, ...]
    rows: tuple[tuple[SiteNode, Reading, str], ...] = ()


def _check(site: Site, limits: Limits) -> Iterator[Verdict]:
    for node in site.nodes:
        down = {finding.subject: finding for finding in node.findings if finding.rule == _ID}
        for session in node.window.rows(StorageSession).values():
            subject = f"{node.name}/{session.session}"
            address = _address(session)
            target = _target(site, address) if address is not None else None
            row = node.window.get(SessionState, session.session)
            state = row.state if row is not None else session.state
            if target is None or target is node:
                if session.session in down:
                    yield Unchecked(
                        f"no capture of its target, {session.peer or 'unknown'}", subject, gap=Gap.UNRECORDED
                    )
            elif session.session in down:
                yield _judged(site, node, session, down[session.session], target, limits["apart"])
            elif state in _UP:
                yield RuledOut(subject, f"all up: {state}; target on {target.name}")


def _target(site: Site, address: str) -> SiteNode | None:
    """Return the node with an address, or, while no node has it, the only one that offers a portal there."""
    if site.called(address) is not None:
        return site.called(address)
    offering = [
        node for node in site.nodes
        if any(row.portal.rpartition(":")[0].strip("[]") == address for row in node.window.rows(TargetExport).values())
    ]  # fmt: skip
    return offering[0] if len(offering) == 1 else None


def _address(session: StorageSession) -> str | None:
    """Return the address of the other end, without its port."""
    if session.peer is None:
        return None
    head, _, tail = session.peer.rpartition(":")
    return (head if head and tail.isdecimal() else session.peer).strip("[]")


def _judged(
    site: Site, node: SiteNode, session: StorageSession, own: Finding, target: SiteNode, limit: float
) -> Verdict:
    subject = f"{node.name}/{session.session}"
    why = site.distant(limit, node, target)
    if why:
        return Unchecked(why, subject, gap=Gap.UNRECORDED)
    fault = _fault(node, session, target)
    at = human.safe(fault.node.name, 20) if fault.node is not None else ""
    name = human.safe(session.session, 16)
    return Finding(
        severity=own.severity,
        subject=subject,
        view_subject=session.session,
        title=fault.title,
        cause=fitting(
            f"{name} of {human.safe(node.name, 20)} is down: {fault.words}.",
            f"{name} is down: {fault.words}.",
            f"{fault.words[:1].upper()}{fault.words[1:]}.",
            "Both ends show why the session is down.",
        ),
        impact=own.impact,
        values=(
            Value("session", "session", session.session),
            Value("peer", "portal", session.peer),
            Value("target", "target", session.target),
            Value("initiator", "initiator", node.name),
            Value("server", "node of the target", target.name),
            Value("apart", "time between the captures", apart(node, target), "seconds"),
        ),
        evidence=cites(
            *(replace(cite, host=node.name) for cite in own.evidence[:2]), *_cites(fault.rows),
        ),
        advice=(
            f"Check {phrase(at)} first." if at else "Check the network between both nodes first.",
            *fault.steps,
        ),
        refuted_by="the session LOGGED_IN or live without a change there",
        confidence=None if apart(node, target) <= AT_ONCE else 0.8,
        cost=own.cost,
        explains=(f"{node.name}:{own.id}",),
        host=fault.node.name if fault.node is not None else "",
        between=(node.name, target.name),
        damage=own.damage,
    )  # fmt: skip


def _fault(node: SiteNode, session: StorageSession, target: SiteNode) -> _Fault:
    exports = [row for row in target.window.rows(TargetExport).values() if row.target == session.target]
    there = [row for row in exports if _offers(row.portal, session.peer)]
    at = human.safe(target.name, 20)
    port = _port(target, _address(session))
    if port is not None and port.carrier is False:
        shut = _shut_ports(node, _address(session))
        if shut:
            return _shut(node, shut, "LINK SHUT DOWN AT THE INITIATOR")
        return _without_carrier(target, port, "LINK DOWN AT THE TARGET")
    if there and all(row.enabled == 0 for row in there):
        steps = (run("targetcli", "ls", note=f"on {at}"),) if there[0].transport == "iscsi" else _nvmet(at)
        return _Fault(target, "TARGET DISABLED", f"the target is disabled on {at}", steps,
                      tuple((target, row, "") for row in there[:1]))  # fmt: skip
    if there and _lacks_address(target, _address(session)):
        shut = _all_shut(target)
        if shut:
            return _shut(target, shut[:1], "LINK SHUT DOWN AT THE TARGET")
        return _Fault(
            target, "PORTAL ADDRESS MISSING", f"{at} has no interface with the portal's address",
            (run("ip", "-br", "addr", note=f"on {at}"),), tuple((target, row, "") for row in there[:1]),
        )  # fmt: skip
    own = _own_port(node)
    if own is not None:
        return _without_carrier(node, own, "LINK DOWN AT THE INITIATOR")
    if not there and _knows_exports(target):
        words = f"{at} does not export it at {session.peer}" if exports else f"{at} does not export the target"
        steps = (run("targetcli", "ls", note=f"on {at}"),) if session.transport == "iscsi" else _nvmet(at)
        return _Fault(target, "TARGET NOT EXPORTED", words, steps, tuple((target, row, "") for row in exports[:1]))
    address = _address(session) or ""
    ready = f"{at} exports it and has a link" if there else f"{at} has a link; its exports are unknown"
    return _Fault(
        None, "SESSION DOWN: BOTH ENDS LOOK READY", ready,
        (run("ping", "-c", "3", *operands(address), note=f"on {human.safe(node.name, 20)}"),
         run("ss", "-tln", note=f"on {at}: whether the portal listens")),
        tuple((target, row, "") for row in there[:1]),
    )  # fmt: skip


def _offers(portal: str, peer: str | None) -> bool:
    """Return whether a portal is that of a session; one without an address listens on all."""
    host, _, number = portal.rpartition(":")
    return portal == peer or (host in WILDCARDS and peer is not None and peer.rpartition(":")[2] == number)


def _lacks_address(node: SiteNode, address: str | None) -> bool:
    """Return whether a node's addresses are known, and this one is not among them."""
    return address is not None and bool(node.window.rows(NodeAddress)) and node.window.get(NodeAddress, address) is None


def _all_shut(node: SiteNode) -> list[Interface]:
    """Return the ports that an administrator shut down."""
    rows = node.window.rows(Interface).values()
    return [row for row in rows if row.up is False and row.kind in _PORTS]


def _shut_ports(node: SiteNode, address: str | None) -> list[Interface]:
    """Return the ports that are shut down, of a node that has no interface in the network of another address.

    The kernel keeps the address of a port that is shut down, and removes its routes, so that the address belongs to no
    interface. Without such an address the port is known only if it is the only one: ports without use are shut as well.
    """
    with suppress(ValueError):
        near = ip_network(
            f"{address}/24" if address is not None and ":" not in address else f"{address}/64", strict=False
        )
        known = node.window.rows(NodeAddress).values()
        own = [row for row in known if ip_address(row.address) in near]
        if own and all(row.interface is None for row in own):
            return [row for row in node.window.rows(Interface).values() if row.up is False and row.kind != "loopback"]
        if known and not own and len(_all_shut(node)) == 1:
            return _all_shut(node)
    return []


def _shut(node: SiteNode, ports: Sequence[Interface], title: str) -> _Fault:
    name, at = human.listed([human.safe(port.interface, 16) for port in ports]), human.safe(node.name, 20)
    steps = tuple(
        run("ip", "link", "set", "dev", port.interface, "up", note=f"on {at}, if it was not shut down on purpose")
        for port in ports[:2]
    )
    words = f"{name} of {at} {'is' if len(ports) == 1 else 'are'} shut down"
    return _Fault(node, title, words, steps, tuple((node, port, "up") for port in ports[:2]))


def _without_carrier(node: SiteNode, port: Interface, title: str) -> _Fault:
    name, at = human.safe(port.interface, 16), human.safe(node.name, 20)
    steps = (f"Check cable and switch port of {name} on {at}.", run("ip", "-br", "link", note=f"on {at}"))
    return _Fault(node, title, f"{name} of {at} has no carrier", steps, ((node, port, "carrier"),))


def _nvmet(at: str) -> tuple[Advice, ...]:
    return (run("ls", "-R", "/sys/kernel/config/nvmet/ports", note=f"on {at}"),)


def _knows_exports(target: SiteNode) -> bool:
    """Return whether the exports of a node were read: rows, or no kernel target at all."""
    names = target.window.providers.get(TargetExport, ())
    runs = [target.window.now.runs.get(name) for name in names]
    return any(each is not None and (each.ok or each.recorded) for each in runs) and not target.lacks(TargetExport)


def _port(node: SiteNode, address: str | None) -> Interface | None:
    row = node.window.get(NodeAddress, address)
    return node.window.get(Interface, row.interface) if row is not None and row.interface is not None else None


def _own_port(node: SiteNode) -> Interface | None:
    """Return an interface with an address, meant to be up, that has no carrier."""
    for row in node.window.rows(NodeAddress).values():
        port = node.window.get(Interface, row.interface) if row.interface is not None else None
        if port is not None and port.up and port.carrier is False:
            return port
    return None


def _cites(rows: Sequence[tuple[SiteNode, Reading, str]]) -> Iterator[Cite | None]:
    return (node.cite(row, field) for node, row, field in rows)


SESSION_DOWN = NodeRule(
    _ID,
    "iSCSI session or NVMe controller that is down, with the end that is at fault",
    Severity.CRITICAL,
    (APART,),
    damage=Damage.AVAILABILITY,
    standing=False,
    view="network",
    check=_check,
    needs=(StorageSession, SessionState),
)
