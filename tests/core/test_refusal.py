"""Error messages that programs print instead of their output."""

from __future__ import annotations

import pytest

from sdstop.core.evidence import Outcome
from sdstop.core.refusal import NO_MAPPER, NO_PACEMAKER, refusal
from tests.pasted.corpus import Text, texts

MAPPER = "/dev/mapper/control: open failed: No such device\nFailure to communicate with kernel device-mapper driver.\n"
UNREACHED = """\
error: Could not connect to launcher: Connection refused
crm_mon: Connection to cluster failed: Connection refused
"""
SAID = {
    "dmsetup ls --tree": (MAPPER, Outcome.ABSENT, NO_MAPPER),
    "dmsetup_status": (MAPPER, Outcome.ABSENT, NO_MAPPER),
    "dmsetup info -c": (
        "/dev/mapper/control: open failed: Permission denied\n", Outcome.DENIED,
        "needs root: device mapper requires it",
    ),
    "crm_mon -1 -A": (UNREACHED, Outcome.ABSENT, NO_PACEMAKER),
    "crm_mon_-1": ("Connection to cluster failed: Transport endpoint is not connected\n", Outcome.ABSENT, NO_PACEMAKER),
    "pcs status": ("Error: cluster is not currently running on this node\n", Outcome.ABSENT, NO_PACEMAKER),
    "dmidecode": (
        "# dmidecode 3.4\nScanning /dev/mem for entry point.\n/dev/mem: No such file or directory\n", Outcome.DENIED,
        "dmidecode was not able to read the table",
    ),
    "dmidecode -t memory": (
        "# dmidecode 3.3\n# No SMBIOS nor DMI entry point found, sorry.\n", Outcome.ABSENT, "no SMBIOS table",
    ),
}  # fmt: skip


@pytest.mark.parametrize("command", sorted(SAID))
def test_a_message_is_a_reason(command: str) -> None:
    text, outcome, reason = SAID[command]
    said = refusal(command, text)
    assert said is not None
    assert (said.outcome, said.reason) == (outcome, reason)


@pytest.mark.parametrize("command", ["cat", "journalctl", "dmesg", "lvs", ""])
@pytest.mark.parametrize("of", sorted(SAID))
def test_messages_belong_to_their_program(command: str, of: str) -> None:
    assert refusal(command, SAID[of][0]) is None


def _with_commands() -> list[Text]:
    return [text for text in texts() if text.declared.reads]


@pytest.mark.parametrize("text", _with_commands(), ids=lambda text: text.name)
def test_an_output_that_is_read_is_no_refusal(text: Text) -> None:
    said = text.data.decode("utf-8", "replace")
    assert [key for key in text.declared.reads if refusal(key.partition(":")[2], said) is not None] == []
