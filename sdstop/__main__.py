"""Where `sdstop` and `python -m sdstop` begin."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line's command and return the exit code."""
    try:
        from sdstop.cli.command import execute

        return execute(sys.argv[1:])
    except KeyboardInterrupt:  # while it was still being imported
        return 130


if __name__ == "__main__":
    sys.exit(main())
