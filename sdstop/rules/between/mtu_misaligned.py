"""AoE frames between a target and its initiators that do not carry whole blocks, and the party with the small MTU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from sdstop.analysis.aoe.jumbo import BLOCK, MtuProposal, mtus_of, proposal
from sdstop.collectors.aoe.readings import AoeExport, AoeTarget, payload
from sdstop.collectors.network.readings import Interface
from sdstop.core import format as human
from sdstop.core.advice import Advice, run
from sdstop.core.finding import Finding, RuledOut, Severity, Value, Verdict, cites, worst_of
from sdstop.core.finding_text import fitting
from sdstop.core.history import Window
from sdstop.core.rule import NodeRule
from sdstop.core.site import Site, SiteNode, apart

_ID = "mtu-misaligned"


class _Port(Struct, frozen=True, eq=False):
    """Interface of a node that carries AoE frames."""

    node: SiteNode
    nic: Interface

    @property
    def name(self) -> str:
        return f"{self.nic.interface} of {human.safe(self.node.name, 20)}"

    @property
    def subject(self) -> str:
        return f"{self.node.name}/{self.nic.interface}"

    @property
    def payload(self) -> int:
        """Largest payload of a frame by this interface's MTU."""
        return payload(self.nic.mtu or 0)


class _Initiator(Struct, frozen=True, eq=False):
    """A node with disks of a target: its interface, and the payload that its kernel determined."""

    port: _Port
    disks: Sequence[AoeTarget]
    carried: int


def _check(site: Site, limits: object) -> Iterator[Verdict]:
    del limits
    for node in site.nodes:
        exports: dict[str, list[AoeExport]] = {}
        for export in node.window.rows(AoeExport).values():
            exports.setdefault(export.interface, []).append(export)
        for interface, own in exports.items():
            nic = node.window.get(Interface, interface)
            if nic is not None and nic.mtu is not None:
                yield from _judged(_Port(node, nic), list(_initiators(site, node, nic, own)))


def _initiators(site: Site, target: SiteNode, nic: Interface, exports: Sequence[AoeExport]) -> Iterator[_Initiator]:
    names = {f"e{export.shelf}.{export.slot}" for export in exports}
    for node in site.nodes:
        rows = [row for row in node.window.rows(AoeTarget).values() if row.target in names and row.payload]
        mine = [row for row in rows if node is not target and _plain(row.mac) in {"", _plain(nic.mac)}]
        for interface in sorted({(row.interfaces or "").split(",")[0] for row in mine} - {""}):
            port = node.window.get(Interface, interface)
            disks = [row for row in mine if (row.interfaces or "").split(",")[0] == interface]
            if port is not None and port.mtu is not None:
                yield _Initiator(_Port(node, port), disks, min(row.payload or 0 for row in disks))


def _plain(mac: str | None) -> str:
    return "".join(c for c in (mac or "").lower() if c.isalnum())


def _judged(target: _Port, initiators: Sequence[_Initiator]) -> Iterator[Verdict]:
    bad = [each for each in initiators if each.carried % BLOCK]
    small = [each for each in bad if target.payload <= each.carried]
    if small:
        yield _finding(target, target, small)
    for each in bad:
        if each not in small:
            yield _finding(each.port if each.port.payload <= each.carried else None, target, [each])
    if initiators and not bad:
        carried = " and ".join(map(str, sorted({each.carried for each in initiators})))
        count = human.plural(len(initiators), "initiator")
        yield RuledOut(target.subject, f"frames to {count} carry {carried} bytes, whole blocks of {BLOCK}")


def _finding(wrong: _Port | None, target: _Port, initiators: Sequence[_Initiator]) -> Finding:
    """Return the finding of the port with the small MTU; None if it is that of a device between both."""
    carried = min(each.carried for each in initiators)
    low, high = mtus_of(carried)
    ports = [target, *(each.port for each in initiators)]
    disks = [disk.target for each in initiators for disk in each.disks]
    many = f"{human.plural(len(disks), 'disk')} of {human.plural(len(initiators), 'initiator')}"
    if wrong is not None:
        title = f"MTU {wrong.nic.mtu} ON ONE SIDE SPLITS BLOCKS"
        cause = fitting(
            f"{wrong.name} (MTU {wrong.nic.mtu}) limits {many} to {carried} bytes.",
            f"MTU {wrong.nic.mtu} of one side limits frames to {carried} bytes.",
        )
    else:
        title = "SMALL MTU ON THE PATH SPLITS BLOCKS"
        cause = fitting(
            f"Frames carry {carried} bytes; both ends allow more: MTU {low}-{high} between.",
            f"Frames carry {carried} bytes; both ends allow more.",
        )
    nodes = tuple(dict.fromkeys(port.node.name for port in ports))
    return Finding(
        severity=_severity(ports),
        subject=(wrong or target).subject,
        view_subject=(wrong or target).nic.interface,
        title=title,
        cause=cause,
        impact="Each frame ends within a block: requests arrive split at the target.",
        values=(
            *(Value(f"mtu_{port.node.name}", f"MTU of {port.name}", port.nic.mtu) for port in ports[:4]),
            Value("payload", "data in a frame", carried, "", below=_next_block(carried)),
            Value("disks", "AoE disks", human.listed(disks, 6)),
            Value("apart", "time between the captures", apart(*(port.node for port in ports)), "seconds"),
        ),
        evidence=cites(
            *(port.node.cite(port.nic, "mtu") for port in ports[:4]),
            *(each.port.node.cite(each.disks[0]) for each in initiators[:3]),
        ),
        advice=tuple(_advice(wrong, ports)),
        refuted_by="a payload on the initiators (aoe-stat) that is a multiple of 4096",
        explains=tuple(f"{port.node.name}:{_ID}:{port.nic.interface}" for port in ports),
        host=wrong.node.name if wrong is not None else "",
        between=nodes,
    )


def _next_block(carried: int) -> int:
    return (carried // BLOCK + 1) * BLOCK


def _severity(ports: Sequence[_Port]) -> Severity:
    """Return the severity that the nodes' own findings measured, a warning without any."""
    known = [finding.severity for port in ports for finding in port.node.findings if finding.rule == _ID]
    return worst_of(known) or Severity.WARNING


def _advice(wrong: _Port | None, ports: Sequence[_Port]) -> Iterator[Advice]:
    known = [each for port in ports if (each := proposal(_window(port), [port.nic.interface])) is not None]
    best = max(known, key=_high, default=None)
    if best is None:
        yield "Use network cards that support frames of at least one block."
        return
    if wrong is None:
        yield f"Set the MTU of the switch between them to at least {best.high}."
    else:
        yield f"Set MTU {best.mtu} on {human.safe(wrong.node.name, 20)}; all others need {best.low}-{best.high} too."
    for port in ports[:6]:
        if not best.low <= (port.nic.mtu or 0) <= best.high:
            note = f"on {human.safe(port.node.name)}"
            yield run("ip", "link", "set", "dev", port.nic.interface, "mtu", f"{best.mtu}", note=note)
    if best.smaller is not None:
        yield f"If a card or the switch does not support that, use {best.smaller[0]}-{best.smaller[1]} on all."
    yield "Set it in the network configuration, too; a reboot undoes ip link."
    yield run("aoe-discover", note="on the initiators, which then determine the payload again")
    yield run("aoe-stat", note="on the initiators: payload")


def _window(port: _Port) -> Window:
    return port.node.window


def _high(one: MtuProposal) -> int:
    return one.high


MTU_MISALIGNED = NodeRule(
    _ID,
    "AoE frames between nodes that carry no whole blocks, with the side that limits them",
    Severity.CRITICAL,
    (),
    view="network",
    check=_check,
    needs=(AoeExport, AoeTarget),
    timeless=True,
)
