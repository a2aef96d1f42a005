"""The text that a kernel would show of the simulated array, diskstats apart: `/proc/mdstat` and sysfs."""

from __future__ import annotations

from tests.arrays.spec import ArraySpec, Level

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_SD_MAJORS = (8, 65, 66, 67, 68, 69, 70, 71, 128, 129, 130, 131, 132, 133, 134, 135)
_MD_MAJOR = 9
_OFFSET = 264192  # sectors before a member's data


def member_name(member: int) -> str:
    """Return the kernel's name of a member; the first is sdb, for sda carries the system."""
    number = member + 1
    return "sd" + (_LETTERS[number // 26 - 1] if number >= 26 else "") + _LETTERS[number % 26]


def member_number(member: int) -> tuple[int, int]:
    """Return major and minor of a member's whole disk (16 disks share a major)."""
    major, disk = divmod(member + 1, 16)
    return _SD_MAJORS[major], disk * 16


def array_number(spec: ArraySpec) -> tuple[int, int]:
    """Return major and minor of the array."""
    return _MD_MAJOR, int(spec.name.removeprefix("md"))


def _in_sync(spec: ArraySpec) -> list[bool]:
    target = spec.rebuild.member if spec.rebuild else None
    return [member not in spec.missing and member != target for member in range(spec.disks)]


def _array_kib(spec: ArraySpec) -> int:
    if spec.level is Level.RAID0 and spec.sizes:
        return int(sum(spec.sizes) * spec.member_size) // 1024
    data = {Level.RAID0: spec.disks, Level.RAID10: spec.columns, Level.RAID5: spec.disks - 1}
    return spec.member_size * data.get(spec.level, spec.disks - 2) // 1024


def mdstat(spec: ArraySpec, done: int, speed: float) -> str:
    """Return `/proc/mdstat`; `done` are the bytes of each member already rebuilt, `speed` bytes per second."""
    devices = [
        f"{member_name(member)}[{member}]" + ("(F)" if member in spec.missing else "")
        for member in reversed(range(spec.disks))
    ]
    chunk = spec.chunk // 1024
    sync = _in_sync(spec)
    state = f"[{spec.disks}/{sum(sync)}] [{''.join('U' if ok else '_' for ok in sync)}]"
    personality = {
        Level.RAID0: f"{chunk}k chunks",
        Level.RAID10: f"{chunk}K chunks 2 near-copies {state}",
        Level.RAID5: f"level 5, {chunk}k chunk, algorithm 2 {state}",
        Level.RAID6: f"level 6, {chunk}k chunk, algorithm 2 {state}",
    }[spec.level]
    lines = [
        f"Personalities : [{spec.level}] ",
        f"{spec.name} : active {spec.level} {' '.join(devices)}",
        f"      {_array_kib(spec)} blocks super 1.2 {personality}",
    ]
    if spec.rebuild:
        lines.append(_progress(spec, done, speed))
    return "\n".join([*lines, "      ", "unused devices: <none>", ""])


def _progress(spec: ArraySpec, done: int, speed: float) -> str:
    checking = spec.rebuild is not None and spec.rebuild.member is None
    total = spec.member_size // 1024
    per_mille = done // 1024 * 1000 // total
    if checking and spec.level is Level.RAID10:
        total *= spec.columns
        done *= spec.columns
    bars = per_mille // 50
    minutes = (total - done / 1024) / (speed / 1024) / 60 if speed else 0.0
    return (
        f"      [{'=' * bars}>{'.' * (20 - bars)}]  {'check' if checking else 'recovery'} ={per_mille // 10:3d}."
        f"{per_mille % 10}% ({done // 1024}/{total}) finish={minutes:.1f}min speed={int(speed / 1024)}K/sec"
    )


def sysfs(spec: ArraySpec, done: int, speed: float) -> dict[str, str]:
    """Return the sysfs files of the array and its members, by their absolute path."""
    files = {}
    for member in range(spec.disks):
        factor = spec.sizes[member] if spec.sizes else 1.0
        files.update(_block(member_name(member), member_number(member), int(spec.member_size * factor), spec))
    files.update(_block(spec.name, array_number(spec), _array_kib(spec) * 1024, spec))
    md = f"/sys/block/{spec.name}/md"
    layout = {Level.RAID0: 0, Level.RAID10: 0x102, Level.RAID5: 2, Level.RAID6: 2}[spec.level]
    values: dict[str, object] = {
        "level": spec.level, "raid_disks": spec.disks, "chunk_size": spec.chunk, "layout": layout,
        "array_state": "active", "component_size": spec.member_size // 1024, "metadata_version": "1.2",
    }  # fmt: skip
    if spec.level is not Level.RAID0:
        values.update(_redundancy(spec, done, speed))
    sync = _in_sync(spec)
    for member in range(spec.disks):
        folder = f"dev-{member_name(member)}"
        gone = member in spec.missing
        values[f"{folder}/slot"] = "none" if gone else member
        values[f"{folder}/state"] = "faulty" if gone else "in_sync" if sync[member] else "spare"
        values[f"{folder}/errors"] = 0
        factor = spec.sizes[member] if spec.sizes and spec.level is Level.RAID0 else 1.0
        values[f"{folder}/size"] = int(spec.member_size * factor) // 1024
        values[f"{folder}/offset"] = _OFFSET
    files.update({f"{md}/{name}": f"{value}\n" for name, value in values.items()})
    return files


def _redundancy(spec: ArraySpec, done: int, speed: float) -> dict[str, object]:
    action, completed, rate = "idle", "none", "none"
    if spec.rebuild:
        action = "check" if spec.rebuild.member is None else "recover"
        width = spec.columns if spec.level is Level.RAID10 and spec.rebuild.member is None else 1
        completed = f"{done * width // 512} / {spec.member_size * width // 512}"
        rate = str(int(speed / 1024))
    return {
        "degraded": _in_sync(spec).count(False), "sync_action": action, "sync_completed": completed,
        "sync_speed": rate, "sync_speed_min": "1000 (system)", "sync_speed_max": "200000 (system)",
        "sync_min": 0, "sync_max": "max", "mismatch_cnt": 0, "last_sync_action": "none",
    }  # fmt: skip


def _block(name: str, number: tuple[int, int], size: int, spec: ArraySpec) -> dict[str, str]:
    values = {
        "dev": f"{number[0]}:{number[1]}",
        "size": str(size // 512 + (0 if name == spec.name else _OFFSET)),
        "ro": "0",
        "removable": "0",
        "queue/rotational": str(int(spec.media.rotational)),
        "queue/logical_block_size": "512",
        "queue/physical_block_size": "4096",
        "queue/iostats": "1",
    }
    if name != spec.name:
        values["queue/scheduler"] = "[mq-deadline] none"
        values["queue/nr_requests"] = "256"
    return {f"/sys/block/{name}/{path}": f"{value}\n" for path, value in values.items()}


def links(spec: ArraySpec) -> dict[str, str]:
    """Return the links between the array and its disks: path to target, as the kernel writes it."""
    found = {}
    for member in range(spec.disks):
        disk = member_name(member)
        found[f"/sys/block/{spec.name}/slaves/{disk}"] = f"../../{disk}"
        found[f"/sys/block/{disk}/holders/{spec.name}"] = f"../../{spec.name}"
    return found
