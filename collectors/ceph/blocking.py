"""OSDs for which placement groups wait in peering: they are down, or do not answer the others.

Format: `ceph osd blocked-by` (src/mon/PGMap.cc: dump_osd_blocked_by_stats of Ceph 12 to 19).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sdstop.collectors.ceph.answers import as_object, list_of, part_of
from sdstop.core.expression import expression
from sdstop.core.host import Malformed
from sdstop.core.text import json_whole

_LINE = expression(r"^ *(\d{1,7}) +(\d{1,9}) *$", re.MULTILINE)


def parse(text: str) -> Iterator[tuple[int, int]]:
    """Yield OSD and number of placement groups of `ceph osd blocked-by -f json`, as Ceph sorts them.

        {"pg_ready": true, "osd_blocked_by": {"osd_blocked_by_infos": [{"id": 2, "num_blocked": 16}]}}

    Older versions print the inner object alone; as text, it is a line of both numbers for each OSD. Raises Malformed.
    """
    if "{" not in text:
        if not text.split()[:2] == ["osd", "num_blocked"]:
            raise Malformed("ceph osd blocked-by: neither JSON nor its table")
        yield from ((int(number), int(count)) for number, count in _LINE.findall(text))
        return
    said = as_object(text, "ceph osd blocked-by")
    for row in list_of(part_of(said, "osd_blocked_by") or said, "osd_blocked_by_infos"):
        number, count = json_whole(row.get("id")), json_whole(row.get("num_blocked"))
        if number is not None and number >= 0 and count:
            yield number, count
