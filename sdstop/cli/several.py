"""Several captures opened together: one of each node, or several of one node."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sdstop.cli.choices import configured
from sdstop.cli.opening import opened
from sdstop.cli.problem import Problem
from sdstop.core.format import safe, timestamp

if TYPE_CHECKING:
    from sdstop.cli.watch import Watch
    from sdstop.core.session import Session
    from sdstop.core.site_session import SiteSession


def together(options: argparse.Namespace, watches: Sequence[Watch] = ()) -> SiteSession:
    """Return the captures that the options name, or watches of one text, judged together. Raises Problem.

    Captures of one node are compared only, by the rules to which time does not matter.
    """
    from sdstop.analysis.node_names import node_names
    from sdstop.core.site_session import SiteMember, SiteSession
    from sdstop.rules.between import BETWEEN

    watches = watches or opened(options)
    rest, sessions = [], []
    for watch in watches:
        frames = watch.frames(0.0)
        session = watch.session(0.0)
        session.feed(next(frames))
        rest.append(frames)
        sessions.append(session)
    paths = options.sources if len(options.sources) == len(watches) else [watch.origin.name for watch in watches]
    names = _hosts(sessions, paths)
    rules = BETWEEN
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        _check_one_node(options, names, twice[0])
        rules = tuple(rule for rule in BETWEEN if rule.timeless)
        names = _by_time(names, sessions)
    members = [SiteMember(name, session) for name, session in zip(names, sessions, strict=True)]
    site = SiteSession(members, rules, node_names, configured(options).thresholds)
    site.feed(rest)
    return site


def _hosts(sessions: Sequence[Session], paths: Sequence[str]) -> list[str]:
    """Return the name of each node; captures that do not name theirs are called by their path where that is needed."""
    from sdstop.collectors.system.readings import Node

    rows = [session.head().now.get(Node, ()) for session in sessions]
    known = [row.hostname if row is not None else None for row in rows]
    shown = [host or session.origin.name for host, session in zip(known, sessions, strict=True)]
    return [
        name if host or shown.count(name) == 1 else path for name, host, path in zip(shown, known, paths, strict=True)
    ]


def _check_one_node(options: argparse.Namespace, names: Sequence[str], name: str) -> None:
    """Raise Problem unless all captures are of one node, and a report compares them."""
    paths = " and ".join(safe(path) for path, known in zip(options.sources, names, strict=True) if known == name)
    if options.command != "report":
        raise Problem(f"{paths} are captures of one node, {safe(name)}; give one capture of each node", 2)
    if len(set(names)) > 1:
        raise Problem(
            f"{paths} are captures of one node, {safe(name)}, beside those of others; give one capture of each node, "
            "or captures of one node only",
            2,
        )


def _by_time(names: Sequence[str], sessions: Sequence[Session]) -> list[str]:
    """Return different names of captures of one node: with the time of their first frame, and a number if needed."""
    found: list[str] = []
    for name, session in zip(names, sessions, strict=True):
        shown = f"{name}, {timestamp(session.head().now.taken)}"
        found.append(shown if shown not in found else f"{shown} ({len(found) + 1})")
    return found
