"""Text of `drbdsetup status` made from its JSON, as user/v9/drbdsetup.c of drbd-utils 9 prints it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any


def status(text: str, *, verbose: bool) -> str:
    """`drbdsetup status`, or with `--verbose --statistics`."""
    lines = [line for resource in json.loads(text) for line in (*_resource(resource, verbose=verbose), "")]
    return "\n".join(lines) + "\n"


def _word(value: object) -> str:
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _resource(said: Mapping[str, Any], *, verbose: bool) -> Iterator[str]:
    node = f" node-id:{said['node-id']}" if verbose else ""
    suspended = f" suspended:{'user' if said['suspended'] else 'no'}" if verbose or said["suspended"] else ""
    yield f"{said['name']}{node} role:{said['role']}{suspended}"
    single = len(said["devices"]) == 1 and not verbose
    for volume in said["devices"]:
        number = "" if single else f"volume:{volume['volume']} "
        minor = f"minor:{volume['minor']} " if verbose else ""
        client = f" client:{_word(volume.get('client', False))}" if volume["disk-state"] == "Diskless" else ""
        quorum = f" quorum:{_word(volume['quorum'])}" if verbose or not volume["quorum"] else ""
        yield f"  {number}{minor}disk:{volume['disk-state']}{client}{quorum}"
        if verbose:
            yield f"      size:{volume['size']} read:0 written:0 al-writes:8"
    for peer in said["connections"]:
        linked = peer["connection-state"] == "Connected"
        ident = f" node-id:{peer['peer-node-id']}" if verbose else ""
        connection = f" connection:{peer['connection-state']}" if verbose or not linked else ""
        role = f" role:{peer['peer-role'] if linked else 'Unknown'}" if verbose or linked else ""
        congested = f" congested:{_word(peer['congested'])}" if verbose else ""
        yield f"  {peer['name']}{ident}{connection}{role}{congested}"
        for volume in peer["peer_devices"]:
            yield from _peer_volume(volume, linked=linked, single=single, verbose=verbose)


def _peer_volume(said: Mapping[str, Any], *, linked: bool, single: bool, verbose: bool) -> Iterator[str]:
    words = [] if single else [f"volume:{said['volume']}"]
    if verbose or said["replication-state"] not in {"Off", "Established"}:
        words.append(f"replication:{said['replication-state']}")
    if verbose or linked:
        words.append(f"peer-disk:{said['peer-disk-state']}")
    if "percent-resync-done" in said:
        words.append(f"done:{said['percent-resync-done']:.2f}")
    if verbose or said["resync-suspended"] != "no":
        words.append(f"resync-suspended:{said['resync-suspended']}")
    if words and (verbose or linked):
        yield f"    {' '.join(words)}"
    if verbose:
        speed = f" dbdt1:{said['db1/dt1 [MiB/s]']:.2f}" if "db1/dt1 [MiB/s]" in said else ""
        eta = f" eta:{said['estimated-seconds-to-finish']}" if "estimated-seconds-to-finish" in said else ""
        yield f"        received:0 sent:0 out-of-sync:{said['out-of-sync']} pending:0 unacked:0{speed}{eta}"
