r"""Mounted SMB shares: DebugData of the kernel's client, in the forms of Linux 4.19 and 6.1."""

import pytest
from msgspec.structs import replace

from sdstop.collectors.filesystems.share_readings import DEBUG_DATA, SmbShare
from sdstop.collectors.filesystems.smb import SMB_SHARES, of_connections, parse
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Absent, Malformed
from tests.nodes.smb import NEWER

OLDER = r"""Servers:
Number of credits: 50 Dialect 0x300
1) Name: 192.0.2.7 Uses: 1 Capability: 0x300047	Session Status: 1	TCP status: 1 Instance: 2
	Local Users To Server: 1 SecMode: 0x1 Req On Wire: 0
	Shares:
	0) IPC: \\192.0.2.7\IPC$ Mounts: 1 DevInfo: 0x0 Attributes: 0x0
	PathComponentMax: 0 Status: 1 type: 0 Serial Number: 0x0
	1) \\192.0.2.7\home Mounts: 1 DevInfo: 0x20 Attributes: 0x1006f
	PathComponentMax: 255 Status: 1 type: DISK Serial Number: 0x0

	MIDs:
"""
SHOWN = NEWER.replace("{status}", "1").replace("{instance}", "4")


def test_shares_have_the_state_of_their_connection_and_not_that_of_another_channel() -> None:
    share = SmbShare(server="filer", share="scans", connection="up", reconnects=4, in_flight=2, waiting=3)
    expected = [replace(share, share="team files", disconnected=1), share]
    assert list(SMB_SHARES.read(EvidenceHost.of({DEBUG_DATA: SHOWN}))) == expected


def test_the_older_form() -> None:
    assert list(parse(OLDER)) == [
        SmbShare(server="192.0.2.7", share="home", connection="up", reconnects=2, in_flight=0)
    ]


@pytest.mark.parametrize("text", [SHOWN, OLDER, "Servers:\n"])
def test_the_lines_that_are_kept_give_the_same_shares_and_have_no_user_or_address(text: str) -> None:
    kept = of_connections(text.encode())
    assert of_connections(kept) == kept
    assert list(parse(kept.decode())) == list(parse(text))
    assert not [word for word in (b"1042", b"deadbeef", b"5f4", b"4242", b"Address") if word in kept]


def test_a_client_without_a_share_is_absent() -> None:
    with pytest.raises(Absent):
        list(SMB_SHARES.read(EvidenceHost.of({DEBUG_DATA: "Servers: \n\t[NONE]\n"})))


@pytest.mark.parametrize("text", ["", "nothing", "Servers:\n1) \\\\filer\\home Mounts: 1\n"])
def test_anything_else_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        list(SMB_SHARES.read(EvidenceHost.of({DEBUG_DATA: text})))
