"""A cluster of Pacemaker made by hand: two nodes, a DRBD resource on both, and what serves it on one of them."""

from __future__ import annotations

MON = "cmd:crm_mon --output-as=xml -1"
COROSYNC = {"/etc/corosync/corosync.conf": "totem {\n  version: 2\n  cluster_name: san\n}\n"}


def node(name: str, *, leads: bool = False, **said: bool) -> str:
    """Return a node that is well, but for what is said of it: `online=False, unclean=True`."""
    known = {
        "online": True, "standby": False, "standby_onfail": False, "maintenance": False, "pending": False,
        "unclean": False, "shutdown": False, "expected_up": True, "is_dc": leads, **said,
    }  # fmt: skip
    words = " ".join(f'{key}="{str(value).lower()}"' for key, value in known.items())
    return f'<node name="{name}" id="{name[-1:]}" {words} resources_running="2" type="member"/>\n'


def instance(
    name: str, agent: str, where: str = "", role: str = "Started", *, failed: bool = False, blocked: bool = False,
    managed: bool = True, target: str = "", ignored: bool = False,
) -> str:  # fmt: skip
    """Return an instance of a resource, stopped unless it is somewhere."""
    aim = f' target_role="{target}"' if target else ""
    head = (
        f'<resource id="{name}" resource_agent="{agent}" role="{role if where else "Stopped"}"{aim} '
        f'active="{str(bool(where)).lower()}" orphaned="false" blocked="{str(blocked).lower()}" '
        f'managed="{str(managed).lower()}" failed="{str(failed).lower()}" failure_ignored="{str(ignored).lower()}" '
        f'nodes_running_on="{int(bool(where))}"'
    )
    return f'{head}><node name="{where}" id="1" cached="true"/></resource>\n' if where else f"{head}/>\n"


def clone(name: str, *instances: str, disabled: bool = False) -> str:
    """Return a clone of instances."""
    return (
        f'<clone id="{name}" multi_state="true" unique="false" managed="true" disabled="{str(disabled).lower()}" '
        f'failed="false" failure_ignored="false">\n{"".join(instances)}</clone>\n'
    )


def group(name: str, *instances: str) -> str:
    """Return a group of resources."""
    return f'<group id="{name}" number_resources="{len(instances)}">\n{"".join(instances)}</group>\n'


def failure(resource: str, where: str, reason: str, task: str = "monitor", when: str = "2026-11-21 03:12:07Z") -> str:
    """Return an action that failed."""
    return (
        f'<failure op_key="{resource}_{task}_10000" node="{where}" exitstatus="error" exitreason="{reason}" '
        f'exitcode="1" call="41" status="Timed Out" last-rc-change="{when}" queued="0" exec="20003" '
        f'interval="10000" task="{task}"/>\n'
    )


def monitors(resource: str, where: str, *results: tuple[str, str]) -> str:
    """Return the history of a recurring monitor: return code and time of each result."""
    lines = "".join(
        f'<operation_history call="7" task="monitor" rc="{code}" interval="2000ms" last-rc-change="{when}"/>\n'
        for code, when in results
    )
    return f'<node name="{where}"><resource_history id="{resource}">\n{lines}</resource_history></node>\n'


def ban(name: str, resource: str, where: str) -> str:
    """Return a constraint that keeps a resource from a node."""
    return f'<ban id="{name}" resource="{resource}" node="{where}" weight="-1000000" promoted-only="false"/>\n'


DRBD = clone(
    "r0-clone", instance("r0", "ocf:linbit:drbd", "store1", "Promoted"),
    instance("r0", "ocf:linbit:drbd", "store2", "Unpromoted"),
)  # fmt: skip
TARGET = group(
    "target", instance("ip", "ocf:heartbeat:IPaddr2", "store1"),
    instance("lun", "ocf:heartbeat:iSCSILogicalUnit", "store1"),
)  # fmt: skip
NODES = node("store1", leads=True) + node("store2")


def status(
    nodes: str = NODES, resources: str = DRBD + TARGET, failures: str = "", *, quorum: bool = True,
    leader: str = "store1", maintenance: bool = False, policy: str = "stop", root: str = "pacemaker-result",
    bans: str = "", history: str = "", updated: str = "",
) -> str:  # fmt: skip
    """Return what crm_mon prints."""
    dc = (
        f'<current_dc present="true" version="2.1.5-a3f44794f94" name="{leader}" id="1" '
        f'with_quorum="{str(quorum).lower()}"/>'
        if leader else '<current_dc present="false"/>'
    )  # fmt: skip
    return (
        f'<{root} api-version="2.25" request="crm_mon --output-as=xml -1">\n<summary>\n<stack type="corosync"/>\n'
        f"{f'<last_update time={chr(34)}{updated}{chr(34)}/>{chr(10)}' if updated else ''}{dc}\n"
        f'<cluster_options stonith-enabled="true" no-quorum-policy="{policy}" '
        f'maintenance-mode="{str(maintenance).lower()}"/>\n</summary>\n<nodes>\n{nodes}</nodes>\n'
        f"<resources>\n{resources}</resources>\n<failures>\n{failures}</failures>\n"
        f"{f'<node_history>{chr(10)}{history}</node_history>{chr(10)}' if history else ''}"
        f"{f'<bans>{chr(10)}{bans}</bans>{chr(10)}' if bans else ''}"
        f'<status code="0" message="OK"/>\n</{root}>\n'
    )
