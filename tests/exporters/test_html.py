"""The report as HTML: it says what is wrong, holds together as a page, and stays harmless whatever names are in it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from sdstop.collectors import BUILTIN
from sdstop.core.evidence import Evidence, Frame, Origin
from sdstop.core.session import Session
from sdstop.exporters.report.html import page
from sdstop.exporters.report.html.markup import el, text
from sdstop.exporters.report.postmortem import postmortem
from sdstop.exporters.report.series import MOST, ReportSeries
from sdstop.rules import RULES
from tests.exporters.browser import Browser, browser
from tests.fixtures import opened
from tests.fixtures import story as at_end
from tests.needs import fixture_needs

_VOID = {"meta", "br", "line", "rect", "path"}


@functools.lru_cache(maxsize=8)
def story(name: str) -> tuple[Session, ReportSeries]:
    """Return a story, judged once for all tests, and its series."""
    told, series = at_end(name), ReportSeries()
    for look in told.looks:
        series.add(look.now)
    return told.session, series


def watched(origin: Origin, frames: Iterable[Frame]) -> tuple[Session, ReportSeries]:
    session, series = Session(origin, BUILTIN, RULES), ReportSeries()
    for frame in frames:
        series.add(session.feed(frame).now)
    return session, series


class Structure(HTMLParser):
    """The elements of a page, which must be closed in their order, and what they name and link to."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(content)
        self.close()
        assert self.open == []

    def updatepos(self, i: int, j: int) -> int:
        """Count no lines: a third of the time of parsing a page."""
        del i
        return j

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        given = dict(attrs)
        self.attributes |= given.keys()
        if given.get("id"):
            self.ids.append(given["id"] or "")
        if tag == "a":
            self.links.append(given.get("href") or "")
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


STORIES = (
    "clone-convoy", "aoe-flashcache", "draid-one-hba", "draid-one-dimm", "draid-mended", "scaleio-cloud",
    "scaleio-4node", "md-rebuild-stalled", "vm-numa-unequal-dimms", "vm-sas-hba", "quiet-node",
)  # fmt: skip


@pytest.mark.parametrize(
    "name", [name if at % 2 else pytest.param(name, marks=pytest.mark.slow) for at, name in enumerate(STORIES)]
)
def test_a_page_is_whole_and_links_within_itself_alone(name: str) -> None:
    session, series = story(name)
    content = page(session, series)
    found = Structure(content)
    assert len(found.ids) == len(set(found.ids))
    assert {link.removeprefix("#") for link in found.links} <= set(found.ids)
    assert all(link.startswith("#") for link in found.links)
    assert not found.names & {"script", "img", "iframe", "object", "embed", "link", "form", "base"}
    assert not {name for name in found.attributes if name.startswith("on")} | {"src", "srcset"} & found.attributes
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", content)
    assert len(content.encode()) < 2 << 20
    for episode in session.episodes():
        assert episode.finding.summary in found.text
        assert episode.finding.rule in found.text


@pytest.mark.parametrize(
    "name", [name if at % 3 == 1 else pytest.param(name, marks=pytest.mark.slow) for at, name in enumerate(STORIES)]
)
def test_a_recording_that_is_judged_again_has_the_same_page(name: str) -> None:
    told = at_end(name)
    assert page(*watched(told.session.origin, told.frames)) == page(*story(name))


def test_the_first_section_says_what_is_wrong_and_what_to_do() -> None:
    content = page(*story("aoe-flashcache"))
    first = content.index('id="wrong"')
    section = content[first : content.index("</section>", first)]
    assert "92.2% bypass cache cachedev" in section
    assert "ip link set" in section or "ip link" in section
    assert section.count('class="follows"') == 2
    assert content.index('id="wrong"') < content.index('id="good"') < content.index('id="findings"')


def test_what_is_drawn_is_there() -> None:
    convoy = page(*story("clone-convoy"))
    assert "Queue of the members of md0" in convoy
    assert convoy.count("<g><title>sd") == 46
    assert "46 x ST2000NM0033-9ZM" in convoy
    assert "Memory slots, filled and empty" in page(*story("vm-numa-unequal-dimms"))
    cached = page(*story("aoe-flashcache"))
    assert "Requests to cachedev" in cached
    assert "92.7% are not whole blocks of 4K" in cached
    assert "block of cachedev" in cached
    assert "split by frames of 3584 (eth1, MTU 4000)" in cached
    assert "Progress of md0" in page(*story("md-rebuild-stalled"))
    assert "0000:" in page(*story("vm-sas-hba"))
    assert "Use of the limits on volumes" in page(*story("scaleio-cloud"))


def test_every_citation_leads_to_its_evidence_in_full() -> None:
    session, series = story("aoe-flashcache")
    found = Structure(page(session, series))
    cited = {(cite.key, cite.frame) for episode in session.episodes() for cite in episode.finding.evidence}
    assert len([name for name in found.ids if re.fullmatch(r"e\d+-[0-9a-f]{10}", name)]) == len(cited)
    assert "associativity(512), data block size(4K)" in found.text  # no rule quotes the whole table


@pytest.mark.parametrize("name", ["draid-one-dimm", "scaleio-cloud", "scaleio-4node"])
def test_evidence_of_a_hand_made_capture_is_quoted_in_full(name: str) -> None:
    """It is known by the slug of its request or command alone."""
    assert "has expired" not in page(*story(name))


def test_the_table_has_the_numbers_of_the_summary() -> None:
    """Memory is rated in decimal gigabytes and transfers a second, and what is done has one rounding."""
    content = page(*story("draid-one-dimm"))
    summary = "1 of 4 memory channels filled on each socket: 34.1 of 136.5 GB/s."
    assert summary in content
    for cell in ("17.1 GB/s", "34.1 GB/s", "136.5 GB/s", "47.7 GB/s", "2133 MT/s", "2400 MT/s", "12.8%"):
        assert re.search(f'<td class="n">(of |&[gl]t; )?{cell}</td>', content), cell
    assert "from 12.5 to 12.8% done" in content
    assert "12.7%" not in content.partition('id="readings"')[0]
    throttled = page(*story("vm-cgroup-io-max"))
    assert "122% of 100 IOPS, 4 KiB per request, 77.8% of the time." in throttled
    assert '<tr><td>use of the limit at these times</td><td class="n">122%</td>' in throttled


def test_the_use_of_a_volume_is_quoted_from_its_own_statistics() -> None:
    session, _ = story("scaleio-cloud")
    (finding,) = (e.finding for e in session.episodes() if e.finding.subject == "vol:canary@10.20.0.201")
    used = next(cite for cite in finding.evidence if "querySelectedStatistics" in cite.key)
    assert used.mark == '"993a355d00000000": {'
    assert '"numOccured"' in used.excerpt


HOSTILE = "sd<script>alert(1)</script>\x1b]0;x\x07\u202e\"'&`|"


def test_hostile_names_are_text() -> None:
    """Names come from a node, which may be anybody's: in the page they are neither markup nor escapes."""
    rows = "   8       0 {} {} 0 8 4 0 0 0 0 0 {} 4 0 0 0 0 0 0\n"
    name = HOSTILE.replace(" ", "_")
    frames = [
        Frame(n, 1.7e9 + n, float(n), (Evidence("/proc/diskstats", data=rows.format(name, n * 9, n * 900).encode()),))
        for n in range(1, 5)
    ]
    session, series = watched(Origin(HOSTILE, note=HOSTILE), frames)
    for content in (page(session, series), postmortem(session)):
        words = "\n".join(line for line in content.splitlines() if not line.startswith("    "))  # that is code
        assert not re.search(r"(?<!\\)<script", words)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", content)
    Structure(page(session, series))


def test_markup_is_escaped_where_it_is_made() -> None:
    assert text("<b>&\"'\x1b") == "&lt;b&gt;&amp;&quot;&#x27;\\x1b"
    assert el("p", "<i>", el("b", "&"), title='"><x>') == '<p title="&quot;&gt;&lt;x&gt;">&lt;i&gt;<b>&amp;</b></p>'


def test_a_long_course_stays_small() -> None:
    series = ReportSeries()
    session = Session(Origin("n"), BUILTIN, ())
    stats = "   8       0 sda {} 0 8 4 0 0 0 0 0 {} 4 0 0 0 0 0 0\n"
    for n in range(1, 2000):
        item = Evidence("/proc/diskstats", data=stats.format(n * 9, n * 500).encode())
        series.add(session.feed(Frame(n, 1.7e9 + n, float(n), (item,))).now)
    assert MOST <= len(series.times) <= 2 * MOST
    assert series.times == sorted(series.times)
    busy = series.of("busy")[""]["sda"]
    assert len(busy) == len(series.times)
    assert busy[-1] == pytest.approx(0.5)


def test_a_postmortem_is_filled_in_as_far_as_evidence_goes() -> None:
    said = postmortem(story("clone-convoy")[0])
    for heading in ("Summary", "Impact", "Timeline", "Topology", "Findings and evidence", "Passed",
                    "Commands and files read", "Root cause", "Actions"):  # fmt: skip
        assert f"\n## {heading}\n" in said
    assert "**critical** md0: CONVOY: queue moving between members" in said
    assert "_to fill in_" in said.partition("## Root cause")[2]
    assert "- 46 x ST2000NM0033-9ZM (sda, sdb ... sdat)\n  - md0 (raid10 46 disks) **critical**" in said
    assert postmortem(watched(*opened("clone-convoy"))[0]) == said


def test_nothing_wrong_is_said_with_what_was_checked() -> None:
    content = page(*story("quiet-node"))
    assert "No findings in the recorded data" in content.replace("no findings", "No findings")
    assert "No findings in the recorded data" in postmortem(story("quiet-node")[0])


@pytest.fixture(scope="module")
@fixture_needs("chromium")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Browser, Path]]:
    folder = tmp_path_factory.mktemp("browser")
    with browser(folder) as opened:
        yield opened, folder


@pytest.mark.parametrize("name", ["clone-convoy", "aoe-flashcache", "vm-numa-unequal-dimms"])
def test_a_real_browser_shows_it(shown: tuple[Browser, Path], name: str) -> None:
    """No complaint, no request, every link leads somewhere, Tab and Enter are enough, nothing is cut off."""
    opened, folder = shown
    file = folder / f"{name}.html"
    file.write_text(page(*story(name)), encoding="utf-8")
    opened.open(file)
    assert opened.said("Log.entryAdded") == opened.said("Runtime.consoleAPICalled") == []
    assert [r["request"]["url"] for r in opened.said("Network.requestWillBeSent")] == [file.as_uri()]
    links = opened.value("[...document.links].every(a => document.getElementById(a.hash.slice(1)) !== null)")
    assert links is True
    assert opened.value("document.documentElement.scrollWidth <= window.innerWidth") is True
    opened.press("Tab", 9)
    assert opened.value("document.activeElement.textContent") == "Jump to the problems"
    opened.value("document.querySelector('summary').focus()")
    opened.press("Enter", 13)
    assert opened.value("document.querySelector('details').open") is True
    link = opened.value(
        "(() => {const a = document.querySelector('details a, article a'); a.click(); return a.hash})()"
    )
    assert link.startswith("#e")
    assert opened.value("document.querySelector(location.hash).tagName") == "DETAILS"


def test_it_is_read_without_colours_and_on_paper(shown: tuple[Browser, Path]) -> None:
    opened, folder = shown
    file = folder / "paper.html"
    file.write_text(page(*story("aoe-flashcache")), encoding="utf-8")
    opened.open(file)
    # In forced colors a browser takes all of the page's own away: words and shapes must say it.
    opened.ask("Emulation.setEmulatedMedia", features=[{"name": "forced-colors", "value": "active"}])
    words = opened.value("[...document.querySelectorAll('.wrong .sev')].map(e => e.innerText)")
    assert words == ["\u25b2 critical"] * 3
    opened.ask("Emulation.setEmulatedMedia", media="print", features=[])
    assert opened.value("getComputedStyle(document.querySelector('nav')).display") == "none"
    tall = opened.value("document.querySelector('#findings').offsetTop - document.querySelector('#wrong').offsetTop")
    assert tall > 0
    folded = "document.querySelector('.finding details pre').checkVisibility({contentVisibilityAuto: true})"
    assert opened.value(folded) is True  # paper cannot be clicked on
    opened.ask("Emulation.setEmulatedMedia", media="", features=[])
    assert opened.value(folded) is False


@pytest.mark.parametrize("name", ["aoe-flashcache", "draid-one-dimm", "scaleio-cloud"])
def test_it_is_read_on_a_phone(shown: tuple[Browser, Path], name: str) -> None:
    """Words go on in the next line; drawings keep their size and are pushed sideways."""
    opened, folder = shown
    file = folder / f"{name}-phone.html"
    file.write_text(page(*story(name)), encoding="utf-8")
    opened.ask("Emulation.setDeviceMetricsOverride", width=400, height=860, deviceScaleFactor=1, mobile=True)
    opened.open(file)
    assert opened.value("document.documentElement.scrollWidth") == 400
    assert opened.value("getComputedStyle(document.querySelector('ul.plain')).columnCount") == "1"
    letters = "[...document.querySelectorAll('figure svg text')].map(t => t.getBoundingClientRect().height)"
    assert opened.value(f"Math.min(...{letters})") >= 9
    opened.ask("Emulation.clearDeviceMetricsOverride")


def test_no_words_lie_upon_each_other_in_a_drawing(shown: tuple[Browser, Path]) -> None:
    opened, folder = shown
    overlaps = """[...document.querySelectorAll('svg')].flatMap(svg => {
      const boxes = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
      return boxes.flatMap(([a, r], i) => boxes.slice(i + 1).filter(([b, q]) =>
        Math.min(r.right, q.right) - Math.max(r.left, q.left) > 1 &&
        Math.min(r.bottom, q.bottom) - Math.max(r.top, q.top) > 4).map(([b]) => [a, b]))})"""
    outside = """[...document.querySelectorAll('svg')].flatMap(svg => [...svg.querySelectorAll('text')].filter(t =>
      t.getBoundingClientRect().right > svg.getBoundingClientRect().right + 1 ||
      t.getBoundingClientRect().left < svg.getBoundingClientRect().left - 1).map(t => t.textContent))"""
    for name in ("aoe-flashcache", "draid-one-dimm", "scaleio-cloud", "scaleio-4node", "clone-convoy"):
        file = folder / f"{name}-drawn.html"
        file.write_text(page(*story(name)), encoding="utf-8")
        opened.open(file)
        assert (name, opened.value(overlaps), opened.value(outside)) == (name, [], [])
