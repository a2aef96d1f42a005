"""Fixture: the capture of a scenario as it is kept under fixtures/, and what it is said to show."""

from __future__ import annotations

import lzma
import re
import tarfile
from pathlib import Path

from sdstop.capture.reader import PACKED
from sdstop.core.finding import Severity
from sdstop.exporters.capture import CaptureWriter
from tests.expectation import Course, course
from tests.fixtures import FIXTURES, Said, declaration
from tests.vm.machine import Run
from tests.vm.scenario import Scenario

SOSREPORT = "sosreport.tar.xz"
_KEPT = re.compile(
    r"version\.txt|etc/(?:hostname|fstab)|proc/(?:cpuinfo|devices|diskstats|interrupts|mdstat|meminfo|partitions|stat|swaps)"
    r"|proc/(?:self/)?net(?:/(?:dev|netstat|packet|snmp|softnet_stat))?|sys/(?:block|devices|firmware/dmi|fs/(?:bcache|cgroup))(?:/.*)?"
    r"|sos_reports/manifest\.json|sos_commands/(?:block|date|devicemapper|hardware|host|lvm2|md|processor|scsi)/.*"
    r"|sos_commands/kernel/uname_-a"
)
_LEFT_OUT = re.compile(r"sos_commands/block/(?:ls_|udevadm_info_-a).*|sys/firmware/acpi.*")


def write(scenario: Scenario, run: Run) -> Path:
    """Write `fixtures/vm-NAME`: the frames, what is found in them, and what they show; return the folder."""
    folder = FIXTURES / f"vm-{scenario.name}"
    folder.mkdir(exist_ok=True)
    path = folder / PACKED
    path.unlink(missing_ok=True)
    recorded = course(run.out / "capture")
    origin = recorded.session.origin
    with CaptureWriter(
        path, origin.name, privileged=origin.privileged, facts=origin.facts, collectors=origin.collectors
    ) as writer:
        for frame in recorded.frames:
            writer.add(frame)
        writer.finish()
    path.chmod(0o644)
    if scenario.sos:
        cut(run.out / run.result["sos"], folder / SOSREPORT)
    text = f"{readme(scenario, run, recorded)}\nExpected findings:\n\n{declaration(*found(course(path)))}"
    (folder / "README.md").write_text(text, encoding="utf-8")
    return folder


def cut(archive: Path, target: Path) -> None:
    """Write a sosreport with those of its files that tell of disks, arrays and the node: a tenth of its size."""
    with (
        tarfile.open(archive) as source,
        lzma.open(target, "wb", preset=9) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as made,
    ):
        for member in source:
            inner = member.name.partition("/")[2]
            if inner and (not _KEPT.fullmatch(inner) or _LEFT_OUT.fullmatch(inner)):
                continue
            member.mtime, member.uid, member.gid, member.uname, member.gname = int(member.mtime), 0, 0, "", ""
            member.pax_headers = {}
            made.addfile(member, source.extractfile(member) if member.isreg() else None)


def found(course: Course) -> tuple[list[Said], list[Said], list[tuple[str, str]]]:
    """Return the findings above info, those of all frames and those of the last one, and rule and subject of infos."""
    ever: dict[tuple[str, str], Severity] = {}
    for episode in course.session.episodes():
        key = (episode.finding.rule, episode.finding.subject)
        ever[key] = max(episode.finding.severity, ever.get(key, Severity.INFO), key=lambda s: s.rank)
    last = course.judgements[-1].findings
    return (
        sorted((rule, s.value, subject) for (rule, subject), s in ever.items() if s is not Severity.INFO),
        sorted((f.rule, f.severity.value, f.subject) for f in last if f.severity is not Severity.INFO),
        sorted(key for key, s in ever.items() if s is Severity.INFO),
    )


def readme(scenario: Scenario, run: Run, course: Course) -> str:
    """Return what a reader of the fixture wants to know first."""
    title = scenario.name.replace("-", " ").capitalize()
    seconds = course.seconds[-1]
    lines = [
        f"# {title}, on a real kernel",
        "",
        f"Recorded by `python -m tests.vm record {scenario.name}` in a virtual machine (QEMU, full emulation),",
        f"Debian's Linux {run.release}: {len(course.frames)} frames in {seconds:.0f} s, in `capture.tar.gz`;",
        f"`sdstop --from fixtures/vm-{scenario.name}` opens them. The scenario is",
        f"`tests/vm/scenarios/{scenario.name}.toml`.",
        "",
        scenario.about,
    ]
    if scenario.sos:
        lines += [
            "",
            f"`{SOSREPORT}` was made by Debian's own `sos report` on the same machine right after, reduced to",
            "disks, arrays and the node. `sdstop report --from` opens it as a single snapshot: the same arrays,",
            "members and disks, and the same findings unless they need a rate; the others are reported as not checked.",
        ]
    if scenario.shows:
        lines += ["", scenario.shows.strip()]
    lines += ["", "Must be found, and nothing else above info:", ""]
    for expect in scenario.expect:
        span = _span(expect.since, expect.until)
        words = [f"`{said.rule}` of `{said.subject}`, {said.severity}" for said in expect.found]
        lines.append(f"- {span}: {'; '.join(words) or 'nothing'}")
        lines += [f"  (`{said.rule}` of `{said.subject}` may be reported, too)" for said in expect.allowed]
    return "\n".join(lines) + "\n"


def _span(since: float | None, until: float | None) -> str:
    if since is None and until is None:
        return "at the end"
    return f"from {since or 0:g} s to {'the end' if until is None else f'{until:g} s'}"
