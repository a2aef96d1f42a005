"""What must be found in each fixture, and nothing else above info."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"

Said = tuple[str, str, str]
"""Rule, worst severity, subject."""


@dataclass(frozen=True)
class Expected:
    """What must be said of a fixture: everything above info that was ever in force, and what still is at the end.

    `info` must be there besides, but other findings of that severity may be, too. `code` is what `check` returns.
    """

    found: frozenset[Said] = frozenset()
    at_end: frozenset[Said] | None = None  # None: all that was found
    info: frozenset[tuple[str, str]] = frozenset()
    code: int = 0

    @property
    def last(self) -> frozenset[Said]:
        """What is in force in the last frame."""
        return self.found if self.at_end is None else self.at_end


def critical(*said: tuple[str, str]) -> frozenset[Said]:
    return frozenset((rule, "critical", subject) for rule, subject in said)


def warning(*said: tuple[str, str]) -> frozenset[Said]:
    return frozenset((rule, "warning", subject) for rule, subject in said)


DEGRADED = ("array-degraded", "md0")
DRAID = "N58-C3-D16-P3-S1/draid3:16d:58c:1s-0"
RUNNING = frozenset({("rebuild-running", "md0")})

PAST_THE_CACHE = critical(
    ("mtu-misaligned", "eth1"), ("cache-sub-block-io", "cachedev"), ("cache-bypassed", "cachedev")
)

STORIES = {
    "clone-convoy": Expected(critical(("stripe-convoy", "md0")), code=2),
    "slow-member": Expected(warning(("slow-stripe-member", "md0/sdd")), code=1),
    "hot-member": Expected(critical(("hot-stripe-member", "md0/sde")), code=2),
    "quiet-node": Expected(),
    "busy-but-healthy": Expected(),
    "md-rebuild-running": Expected(warning(DEGRADED), info=RUNNING, code=1),
    "md-rebuild-throttled": Expected(
        critical(DEGRADED) | warning(("rebuild-throttled", "md0")), info=RUNNING, code=2
    ),
    "md-rebuild-stalled": Expected(critical(DEGRADED, ("rebuild-stalled", "md0")), info=RUNNING, code=2),
    "md-rebuild-finished": Expected(critical(DEGRADED), at_end=frozenset(), info=RUNNING, code=0),
    "md-degraded": Expected(critical(DEGRADED), code=2),
    "device-hung": Expected(critical(("device-hung", "sdf")), code=2),
    "mtu-mismatch": Expected(warning(("mtu-mismatch", "bond0/ens1f1"), ("mtu-mismatch", "veth7a/veth7b")), code=1),
    "dropping-link": Expected(warning(("frames-dropped", "ens1f0")), code=1),
    "ceph-drain": Expected(info=frozenset({("rebuild-running", "ceph-7b1f2c0e")})),
    "drbd-resync": Expected(
        warning(("cluster-degraded", "r0")),
        info=frozenset({("rebuild-running", "r0"), ("rebuild-throttled", "r0")}),
        code=1,
    ),
    "pacemaker-unclean": Expected(
        critical(("cluster-degraded", "san"))
        | warning(("cluster-degraded", "r0"), ("cluster-resource-failed", "san/lun")),
        code=2,
    ),
    "iostat-only": Expected(code=3),
    "draid-one-hba": Expected(
        warning(
            ("hba-unbalanced", "0000:02:00.0"), ("hba-oversubscribed", "0000:02:00.0"), ("rebuild-slow", DRAID),
            ("dimm-too-few-channels", "memory"), ("zfs-pool-degraded", "N58-C3-D16-P3-S1"),
        ),
        code=1,
    ),
    "draid-one-dimm": Expected(
        critical(("dimm-too-few-channels", "memory"))
        | warning(("rebuild-slow", DRAID), ("zfs-pool-degraded", "N58-C3-D16-P3-S1")),
        info=frozenset({("phy-errors", "expander-1:0")}),
        code=2,
    ),
    "draid-mended": Expected(info=frozenset({("dimm-too-few-channels", "memory")})),
    "aoe-flashcache": Expected(PAST_THE_CACHE, code=2),
    "aoe-flashcache-8700": Expected(),
    "aoe-flashcache-9000": Expected(PAST_THE_CACHE, code=2),
    "aoe-flashcache-mended": Expected(PAST_THE_CACHE, at_end=frozenset(), code=0),
    "aoe-initiator": Expected(warning(("mtu-misaligned", "eth1")), code=1),
    "scaleio-cloud": Expected(
        warning(
            ("unstable-device-path", "cloud1"), ("unstable-device-path", "/etc/fstab"),
            ("zero-padding-off", "cloud1/sas10k"),
            ("volume-qos-saturated", "vol:web-data@10.20.0.201"),
            ("volume-qos-saturated", "vol:canary@10.20.0.201"),
            ("qos-multiplied", "vol:shared-vmfs"),
        ),
        info=frozenset({("rebuild-running", "cloud1/sas10k"), ("rebuild-throttled", "cloud1/sas10k")}),
        code=1,
    ),
    "scaleio-4node": Expected(
        warning(("scaling-poor", "flash4"), ("rmcache-on-flash", "flash4/nvme")), code=1
    ),
    "vm-md-slow-member": Expected(critical(("slow-stripe-member", "md0/vde")), code=2),
    "vm-md-clones": Expected(critical(("stripe-convoy", "md0")), code=2),
    "vm-md-rebuild": Expected(
        critical(DEGRADED, ("rebuild-stalled", "md0")), at_end=frozenset(), info=RUNNING, code=0
    ),
}  # fmt: skip


def recorded(folder: Path) -> Expected:
    """Return what was found in a fixture of tests/vm when it was recorded, and its scenario agreed."""
    told = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    found, at_end = (
        frozenset((rule, severity, subject) for rule, severity, subject in told[k]) for k in ("found", "at_end")
    )
    info = frozenset((rule, subject) for rule, subject in told["info"])
    code = max((("info", "warning", "critical").index(severity) for _, severity, _ in at_end), default=0)
    return Expected(found, at_end, info, code)


STORIES |= {path.parent.name: recorded(path.parent) for path in sorted(FIXTURES.glob("vm-*/expected.json"))}
