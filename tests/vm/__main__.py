"""`python -m tests.vm`: the guest, and scenarios in it. README.md says how to write one."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.expectation import Misdeclared
from tests.vm import fixture, guest, scenario
from tests.vm.machine import Crashed, build_site, run
from tests.vm.verdict import judge


def main() -> int:
    """Prepare, list, run or record; return 1 if a scenario was not judged as it expects."""
    parser = argparse.ArgumentParser(prog="python -m tests.vm", description="Faults on a real kernel.")
    actions = parser.add_subparsers(dest="action", required=True)
    prepare = actions.add_parser("prepare", help="make the guest, once: two minutes")
    prepare.add_argument("--zfs", action="store_true", help="with ZFS's modules: seven more")
    actions.add_parser("list", help="list the scenarios")
    for name, does in (("run", "run scenarios and judge them"), ("record", "and keep the captures as fixtures")):
        action = actions.add_parser(name, help=does)
        action.add_argument("names", nargs="*", metavar="NAME", help="default: all")
        action.add_argument("--keep", type=Path, metavar="FOLDER", help="leave what the guest brought back here")
    options = parser.parse_args()
    try:
        if options.action == "prepare":
            sys.stdout.write(f"{guest.prepare(zfs=options.zfs)}\n")
            return 0
        if options.action == "list":
            for name in scenario.names():
                sys.stdout.write(f"{name:<28} {scenario.load(name).about}\n")
            return 0
        return _run(options.names or scenario.names(), options.keep, record=options.action == "record")
    except (guest.Unprepared, Misdeclared, Crashed) as error:
        sys.stderr.write(f"{error}\n")
        return 2


def _run(names: list[str], keep: Path | None, *, record: bool) -> int:
    chosen = [scenario.load(name) for name in names]
    for one in chosen:
        if keep is not None and (keep / one.name).exists():
            raise Crashed(f"{keep / one.name} is there already")
    failed = 0
    with tempfile.TemporaryDirectory(prefix="sdstop-site-") as folder:
        site = build_site(Path(folder))
        for one in chosen:
            place = (keep or Path(folder)) / one.name
            try:
                back = run(one, guest.prepare(zfs=one.zfs, packages=one.packages), site, place)
            except Crashed as error:
                failed += 1
                sys.stdout.write(f"{one.name}: crashed\n  {error}\n")
                continue
            complaints = judge(one, back)
            failed += bool(complaints)
            sys.stdout.write(
                f"{one.name}: {'as expected' if not complaints else 'NOT as expected'}, {back.seconds:.0f} s\n"
            )
            sys.stdout.write("".join(f"  {line}\n" for line in complaints))
            sys.stdout.flush()
            if record and one.fixture and not complaints:
                sys.stdout.write(f"  {fixture.write(one, back)}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
