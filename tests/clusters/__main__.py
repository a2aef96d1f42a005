"""`python -m tests.clusters`: real clusters on this machine, and states of them. README.md says how to write one."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.clusters import scenario
from tests.clusters.footprint import measure
from tests.clusters.lab import Failed, Lab, judge, keep
from tests.expectation import Misdeclared


def main() -> int:
    """Start, change, record or stop a cluster; return 1 if a state was not judged as it is expected."""
    parser = argparse.ArgumentParser(prog="python -m tests.clusters", description="States of real clusters.")
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("list", help="list the systems and their states")
    for name, does in (("up", "start a healthy cluster"), ("down", "stop it and remove its files")):
        actions.add_parser(name, help=does).add_argument("system")
    state = actions.add_parser("state", help="bring the running cluster into a state, and leave it there")
    state.add_argument("system")
    state.add_argument("state")
    state.add_argument("--leave", action="store_true", help="bring it back to health instead")
    for name, does in (("run", "record states and judge them"), ("record", "and keep the captures as fixtures")):
        action = actions.add_parser(name, help=does)
        action.add_argument("system")
        action.add_argument("states", nargs="*", metavar="STATE", help="default: all")
    cost = actions.add_parser("footprint", help="run exporter and dashboard on the healthy cluster, and count")
    cost.add_argument("system")
    cost.add_argument("--minutes", type=float, default=10.0)
    options = parser.parse_args()
    try:
        if options.action == "list":
            for one in scenario.every():
                sys.stdout.write(f"{one.system:<10} {one.state:<24} {one.about}\n")
            return 0
        lab = Lab(options.system)
        known = scenario.states(options.system)
        if options.action in {"up", "down"}:
            (lab.up if options.action == "up" else lab.down)()
            return 0
        if options.action == "state":
            one = scenario.load(options.system, options.state)
            (lab.leave if options.leave else lab.enter)(one)
            return 0
        if options.action == "footprint":
            took = measure(lab, options.minutes)
            sys.stdout.write(took.text)
            return 1 if took.found else 0
        chosen = [scenario.load(options.system, name) for name in options.states or known]
        return _record(lab, chosen, keeping=options.action == "record")
    except (Misdeclared, Failed) as error:
        sys.stderr.write(f"{error}\n")
        return 2


def _record(lab: Lab, chosen: list[scenario.Scenario], *, keeping: bool) -> int:
    """Record states one after the other; a cluster that was not running is started, and stopped at the end."""
    failed = 0
    started = not lab.is_up
    if started:
        lab.up()
    try:
        with tempfile.TemporaryDirectory(prefix="sdstop-cluster-") as folder:
            for one in chosen:
                try:
                    lab.enter(one)
                    try:
                        captures = lab.record(one, Path(folder))
                    finally:
                        lab.leave(one)
                except Failed as error:
                    failed += 1
                    sys.stdout.write(f"{one.name}: failed\n  {error}\n")
                    continue
                complaints = judge(one, captures)
                failed += bool(complaints)
                sys.stdout.write(f"{one.name}: {'NOT as expected' if complaints else 'as expected'}\n")
                sys.stdout.write("".join(f"  {line}\n" for line in complaints))
                if keeping:
                    sys.stdout.write("".join(f"  {path}\n" for path in keep(one, captures)))
                sys.stdout.flush()
    finally:
        if started:
            lab.down()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
