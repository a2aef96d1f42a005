"""The text of drbd-overview: what it states is what drbdadm status states."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.collectors.drbd.overview import as_status
from sdstop.collectors.drbd.status_text import parse
from sdstop.core.host import Malformed

HEAD = "NOTE: drbd-overview will be deprecated soon.\n"


@pytest.mark.parametrize(
    ("connection", "state", "replication"),
    [
        ("Connected", "Connected", "Established"),
        ("SyncSource", "Connected", "SyncSource"),
        ("VerifyS", "Connected", "VerifyS"),
        ("WFConnection", "Connecting", "Off"),
        ("StandAlone", "StandAlone", "Off"),
    ],
)
@pytest.mark.parametrize("rest", ["", " C r-----", " /srv ext4 100G 40G 60G 40%"])
def test_a_line_is_a_volume(connection: str, state: str, replication: str, rest: str) -> None:
    text = f"{HEAD} 0:r0/0  {connection} Primary/Secondary UpToDate/Inconsistent{rest}\n"
    (resource,) = parse(as_status(text)).resources
    (volume,), (peer,) = resource.volumes, resource.peers
    assert (resource.name, resource.role, volume.disk, volume.minor) == ("r0", "Primary", "UpToDate", 0)
    assert (peer.state, peer.role, peer.volumes[0].disk) == (state, "Secondary", "Inconsistent")
    assert peer.volumes[0].replication == replication


@pytest.mark.parametrize(
    ("line", "state", "roles", "disks"),
    [
        ("Connected(2*) Primar/Second UpToDate(2*)", "Connected", "Primary Secondary", "UpToDate UpToDate"),
        ("Connected(2*) Secondary(2*) UpToDa/Incons", "Connected", "Secondary Secondary", "UpToDate Inconsistent"),
        ("Connec/'ing Primar/Unknow UpToDa/DUnkno", "Connecting", "Primary Unknown", "UpToDate DUnknown"),
        ("Connec/StaAlo Second/Unknow Outdat/DUnkno", "StandAlone", "Secondary Unknown", "Outdated DUnknown"),
    ],
)
def test_a_pair_of_hosts_with_version_9(line: str, state: str, roles: str, disks: str) -> None:
    """Shortened as scripts/drbd-overview.pl of drbd-utils 9 does it."""
    (resource,) = parse(as_status(f" 0:r0/0  {line}\n")).resources
    (volume,), (peer,) = resource.volumes, resource.peers
    assert (peer.state, f"{resource.role} {peer.role}", f"{volume.disk} {peer.volumes[0].disk}") == (
        state,
        roles,
        disks,
    )


@pytest.mark.parametrize(
    "line", ["Connected(3*) Primar/Second UpToDate(2*)", "Connec/Curiou Primar/Second UpToDate(2*)"]
)
def test_a_state_that_is_not_known_is_malformed(line: str) -> None:
    with pytest.raises(Malformed):
        as_status(f" 0:r0/0  {line}\n")


def test_volumes_of_a_resource() -> None:
    states = ("UpToDate/UpToDate", "Diskless/UpToDate")
    text = "".join(f" {at}:r0/{at} Connected Primary/Secondary {each}\n" for at, each in enumerate(states))
    (resource,) = parse(as_status(text)).resources
    assert [(volume.minor, volume.disk) for volume in resource.volumes] == [(0, "UpToDate"), (1, "Diskless")]


@pytest.mark.parametrize(
    "text",
    [
        "",
        HEAD,
        " 0:r0/0  Connected(2*) Primary/Second/Second UpToDa/UpToDa/UpToDa\n",
        " 0:r0/0  Unconfigured . .\n",
        " 0:r0/0  Connected Primary/Secondary\n",
    ],
)
def test_other_lines_are_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        as_status(text)


_STATES = st.sampled_from(["UpToDate", "Inconsistent", "Outdated", "Failed", "Diskless", "DUnknown"])


@given(_STATES, _STATES, st.sampled_from(["Connected", "StandAlone", "SyncTarget"]), st.integers(0, 90))
def test_a_cut_line_is_never_better(disk: str, peer: str, connection: str, cut: int) -> None:
    text = f" 0:r0/0 {connection} Primary/Secondary {disk}/{peer}"[:cut]
    try:
        printed = parse(as_status(text))
    except Malformed:
        return
    for resource in printed.resources:
        assert resource.volumes[0].disk == disk
        assert resource.peers[0].volumes[0].disk == peer[: len(resource.peers[0].volumes[0].disk)]
