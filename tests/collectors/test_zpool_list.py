"""zpool list as a table, and several outputs of zpool status."""

from __future__ import annotations

import pytest

from sdstop.collectors.zfs.pools import ZFS
from sdstop.collectors.zfs.readings import Pool, PoolState
from sdstop.collectors.zfs.zpool_list import parse, without_vdevs
from sdstop.core.evidence_host import EvidenceHost
from sdstop.core.host import Malformed
from tests.fixtures import FIXTURES


def text(name: str) -> str:
    """A text of the corpus without its prompts."""
    said = (FIXTURES / "texts" / "zfs" / f"{name}.txt").read_text(encoding="utf-8")
    return "\n".join(line for line in said.splitlines() if not line.startswith(("$", "[root@"))) + "\n"


LIST = text("list-degraded")


def test_vdevs_are_not_pools() -> None:
    (pool,) = parse(LIST)
    assert (pool.pool, pool.health) == ("tank", "DEGRADED")
    assert pool.sizes["fragmentation"] == 4
    trimmed = "\n".join(line.strip() for line in LIST.splitlines())
    assert [each.pool for each in parse(trimmed)] == ["tank"]


def test_old_and_exact_forms() -> None:
    old = (
        "NAME   SIZE  ALLOC   FREE    CAP  DEDUP  HEALTH  ALTROOT\ndata  9,06T  4,00T  5,06T    44%  1,00x  ONLINE  -\n"
    )
    exact = (
        "NAME SIZE ALLOC FREE CKPOINT EXPANDSZ FRAG CAP DEDUP HEALTH ALTROOT\ndata 100 40 60 - - 3 40 1.00 ONLINE -\n"
    )
    assert parse(old)[0].sizes["size"] == round(9.06 * 2**40)
    assert parse(old)[0].sizes["fragmentation"] is None
    assert (parse(exact)[0].sizes["allocated"], parse(exact)[0].sizes["fragmentation"]) == (40, 3)


@pytest.mark.parametrize("wrong", ["", "NAME SIZE\n", LIST.replace("DEGRADED  -", "ODD  -")])
def test_anything_else_is_malformed(wrong: str) -> None:
    with pytest.raises(Malformed):
        parse(wrong)


def test_a_pool_without_its_devices_is_shown_and_not_called_good() -> None:
    host = EvidenceHost.of({"cmd:zpool list -v": LIST.replace("DEGRADED", "ONLINE")})
    rows = list(ZFS.read(host))
    assert [type(row) for row in rows] == [PoolState, Pool]
    assert {each.subject for each in host.defects} == {"tank"}


def test_all_outputs_of_zpool_status_count() -> None:
    whole = text("two-pools")
    fast, _, rest = whole.partition("  pool: tank")
    tank, _, listed = rest.partition("NAME   SIZE")
    files = {
        "cmd:zpool status fast": fast,
        "cmd:zpool status tank": f"  pool: tank{tank}",
        "cmd:zpool list": f"NAME   SIZE{listed}",
    }
    pools = {row.pool: row for row in ZFS.read(EvidenceHost.of(files)) if isinstance(row, Pool)}
    assert {name: (pool.state, pool.where) for name, pool in pools.items()} == {
        "fast": ("ONLINE", "cmd:zpool status fast"),
        "tank": ("DEGRADED", "cmd:zpool status tank"),
    }
    assert all(pool.size for pool in pools.values())


def test_redaction_drops_vdevs() -> None:
    kept = without_vdevs(LIST.encode())
    assert b"sda" not in kept
    assert parse(kept.decode()) == parse(LIST)
