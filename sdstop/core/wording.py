"""Wording: messages of programs reduced to the program's own words, without names, paths and addresses."""

from __future__ import annotations

import re

from sdstop.core.expression import expression

UNSAID = "*"
"""Replaces a word that is not one of the program's own."""
_TEXT = (
    "a able access activating active addr after again all allowed already an and any appears application archive "
    "are as at attempting authentication authorized avail availability available back backfill backfillfull bad be "
    "because been below between blocked both but by cache call canceled cancelled cannot capacity check checks "
    "client clients clock closed cluster command commands conf config configuration configured connect connected "
    "connecting connection could crashed created daemon daemon(s) daemons damage damaged data deep-scrubbed "
    "degraded denied detected device devices directory disabled discover disk disks does down due during enabled "
    "endpoint entries error errors exceeded exist exists exit expander expected expired fail failed failure fault "
    "few file filesystem filesystems first flag flag(s) flags for found from front full function general group "
    "groups had has have heartbeats host host(s) hosts i/o identifier if in inactive incomplete inconsistent "
    "initialize initializing input insecure insufficient internal invalid io ios is it kernel key laggy large last "
    "less limit load local lock log lost low managed manager many max mds mdss memory message metadata mgr min "
    "missing mon mon(s) monitor monitors mons more near nearfull nearing network no nobackfill node nodeep-scrub "
    "nodes nodown noin none noout nopause norebalance norecover norepair noscrub nosnaptrim not notieragent noup "
    "number object objects of old oldest on one only op open operation operations ops option or osd osd(s) osds "
    "other out output pauserd pausewr peer peered peering peers per permission permitted pg pgs phy ping pool "
    "pool(s) pools possible present process protocol quorum raid rank reached read reading reason recently reclaim "
    "recovering recovery reduced redundancy reference refused remapped remote repair replicas reply report reports "
    "request requests required reset resource resources responding response result retry running same scrub "
    "scrubbed scrubs sec seconds see server service session set size skew slow smp snaptrim socket space spillover "
    "stale standby started state status stopped stray stuck such support supported suspended table target telemetry "
    "temporarily than that the them there these they this time timed timeout to too transport try unable "
    "unavailable unclean undersized unexpected unfound unit unknown unreachable unsupported up usage use used user "
    "using vacant value version versions violation volume volumes was were while will with within without write "
    "writing zone "
)
_WORDS = frozenset(_TEXT.split())
_PLAIN = expression(
    r"\d{1,11}(?:[./:]\d{1,11})*(?i:[kmgtp]?i?b?|ms|s|sec|%)|(?:osd|mds)\.\d+|\d+\.[0-9a-f]{1,4}|[A-Z]+(?:_[A-Z]+)+"
    r"|sd[a-z]{1,3}\d*|nvme\d+n\d+|0x[0-9a-f]{1,8}|[=<>+/-]{1,3}"
)
"""Numbers with units, OSDs and placement groups, codes, kernel device names; no serials and WWNs."""
_AROUND = expression(r"^([\[('\"]*)(.*?)([\])'\".,;:!?]*)$", re.DOTALL)


def own_words(text: str) -> str:
    """Return a message with UNSAID in place of each word that may be a name; numbers, states and OSDs are kept.

    mon san-zurich (rank 1) addr 10.0.0.2 is down (out of quorum)       mon * (rank 1) * * is down (out of quorum)
    """
    return " ".join(",".join(map(_word, part.split(","))) for part in text.split(" "))


def _word(word: str) -> str:
    found = _AROUND.match(word)
    if found is None or not found[2]:
        return word
    known = found[2].lower() in _WORDS or word.lower() in _WORDS or _PLAIN.fullmatch(found[2])
    return word if known else f"{found[1]}{UNSAID}{found[3]}"
