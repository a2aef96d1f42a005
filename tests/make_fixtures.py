"""Write the synthetic fixtures: `python -m tests.make_fixtures [NAME...]`, all of them without a name.

Each is written anew below fixtures/, all but its README.md; the same command writes the same bytes.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from tests.stories import bay60, caches, clusters, hung, iostat, loads, networks, rebuilds, scaleio
from tests.stories.scene import Stories

STORIES: Stories = (
    loads.STORIES
    | rebuilds.STORIES
    | hung.STORIES
    | networks.STORIES
    | iostat.STORIES
    | caches.STORIES
    | scaleio.STORIES
    | clusters.STORIES
    | bay60.STORIES
)
FIXTURES = Path(__file__).parent.parent / "fixtures"


def write(name: str, folder: Path) -> None:
    """Write one fixture below `folder`; the frames that were there are gone."""
    path = folder / name
    for old in ("frames", "static"):
        shutil.rmtree(path / old, ignore_errors=True)
    STORIES[name]().write(path)


def main() -> None:
    """Write the fixtures that are named."""
    parser = argparse.ArgumentParser(description="Write the synthetic fixtures.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(STORIES)}; without one: all")
    parser.add_argument("-o", "--output", type=Path, default=FIXTURES, help="folder to write to")
    arguments = parser.parse_args()
    for name in arguments.names or STORIES:
        if name not in STORIES:
            parser.error(f"there is no story {name!r}")
        write(name, arguments.output)


if __name__ == "__main__":
    main()
