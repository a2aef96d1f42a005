"""Output header shared by the sysstat programs (sysstat 9.1 to 12.7, common.c: print_gal_header)."""

from __future__ import annotations

import re

_HEAD = re.compile(rb"^(Linux \S+ \()[^()\n]*(\))", re.MULTILINE)
_NAME = re.compile(rb'("nodename":\s*)"[^"\n]*"')


def without_host(data: bytes) -> bytes:
    """Return iostat or sar output without the host name: `Linux 6.1.0 (store1) 11/21/26 _x86_64_ (8 CPU)`."""
    return _NAME.sub(rb'\1"host"', _HEAD.sub(rb"\1host\2", data))
