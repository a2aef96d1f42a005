"""A node with hundreds of disks: HBAs, phys, arrays of 24 with a spare, health; every counter of every disk moves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sdstop.core.evidence import Evidence, Frame
from tests.nodes.block import STARTED
from tests.nodes.disk_health import asked, scsi
from tests.nodes.fabric import boxes

PER_HBA, MEMBERS = 250, 24
_QUEUE = {
    "discard_granularity": "0", "discard_max_bytes": "0", "logical_block_size": "512", "max_sectors_kb": "1280",
    "nr_requests": "256", "physical_block_size": "4096", "read_ahead_kb": "128", "rotational": "1",
    "scheduler": "none [mq-deadline]", "write_cache": "write back",
}  # fmt: skip


def frames(disks: int, seconds: int) -> Iterator[Frame]:
    """Yield a frame at the beginning and one after each second."""
    cards = boxes(max(disks // PER_HBA, 1), min(disks, PER_HBA))
    names = [disk for card in cards for disk in card.disks]
    files = {path: text for card in cards for path, text in (card.files() | card.phys()).items()}
    files |= {f"/sys/class/scsi_host/host{card.number}/proc_name": "mpt3sas\n" for card in cards}
    for name in names:
        files |= {f"/sys/block/{name}/queue/{attribute}": f"{value}\n" for attribute, value in _QUEUE.items()}
        files |= {f"/sys/block/{name}/size": "15628053168\n", asked(name): scsi()}
        files[f"/sys/block/{name}/device/state"] = "running\n"
    arrays = {f"md{at // 25}": names[at : at + 25] for at in range(0, len(names) - 24, 25)}
    files["/proc/mdstat"] = _mdstat(arrays)
    for second in range(seconds + 1):
        texts = {**(files if second == 0 else {}), "/proc/diskstats": _diskstats((*names, *arrays), second)}
        at = STARTED + second
        evidence = (Evidence(key, data=text.encode(), taken=at, duration=0.001) for key, text in texts.items())
        yield Frame(second + 1, at, 1000.0 + second, tuple(evidence))


def _mdstat(arrays: dict[str, list[str]]) -> str:
    text = "Personalities : [raid10]\n"
    for name, disks in arrays.items():
        *members, spare = disks
        listed = " ".join(f"{member}[{slot}]" for slot, member in enumerate(members))
        text += f"{name} : active raid10 {listed} {spare}[{MEMBERS}](S)\n      187532247040 blocks super 1.2 "
        text += f"512K chunks 2 near-copies [{MEMBERS}/{MEMBERS}] [{'U' * MEMBERS}]\n\n"
    return f"{text}unused devices: <none>\n"


def _diskstats(devices: Sequence[str], second: int) -> str:
    """Return the counters: about a hundred requests and two flushes a second, all of them fast."""
    rows = []
    for at, device in enumerate(devices):
        reads, writes = (40 + at % 7) * second, (60 + at % 5) * second
        time = reads * 4 + writes * 5
        counters = (
            f"{reads} 0 {reads * 16} {reads * 4} {writes} 0 {writes * 16} {writes * 5} {at % 3} "
            f"{(300 + at % 50) * second} {time} 0 0 0 0 {2 * second} {4 * second}"
        )
        rows.append(f"{9 if device.startswith('md') else 8:4d} {at:7d} {device} {counters}\n")
    return "".join(rows)
