"""Write the synthetic fixtures: `python -m tests.make_fixtures [NAME...]`, all of them without a name.

Each is fixtures/NAME/capture.tar.gz; the README.md beside it is written by hand. The same command writes the same
archive, and leaves one that is the same already.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.fixtures import FIXTURES
from tests.stories import (
    bay60,
    behind_hba,
    caches,
    clusters,
    draining,
    health,
    hung,
    iostat,
    layers,
    loads,
    mapped,
    networks,
    rebuilds,
    san,
    scaleio,
    served,
    servers,
    shares,
    single,
    stalled,
    volumes,
)
from tests.stories.archive import pack_folder
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
    | behind_hba.STORIES
    | stalled.STORIES
    | served.STORIES
    | servers.STORIES
    | shares.STORIES
    | single.STORIES
    | mapped.STORIES
    | draining.STORIES
    | volumes.STORIES
    | health.STORIES
    | san.STORIES
    | layers.STORIES
)


def main() -> None:
    """Write the fixtures that are named, or pack them."""
    parser = argparse.ArgumentParser(description="Write the synthetic fixtures.")
    parser.add_argument("--pack", action="store_true", help="pack the files of fixtures that were written by hand")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(STORIES)} (default: all)")
    parser.add_argument("-o", "--output", type=Path, default=FIXTURES, help="folder to write to")
    arguments = parser.parse_args()
    for name in arguments.names or (() if arguments.pack else STORIES):
        if arguments.pack and name not in STORIES and (arguments.output / name).is_dir():
            pack_folder(arguments.output / name)
            continue
        if arguments.pack or name not in STORIES:
            parser.error(f'unknown story "{name}"')
        STORIES[name]().write(arguments.output / name)


if __name__ == "__main__":
    main()
