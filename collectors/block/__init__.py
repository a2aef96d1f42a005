"""Collectors of block devices: what the kernel counts of each, what they are and how they are named."""

from __future__ import annotations

from sdstop.collectors.block.devices import BLOCKDEV
from sdstop.collectors.block.diskstats import DISKSTATS
from sdstop.collectors.block.io_sizes import IO_SIZES
from sdstop.collectors.block.iostat import IOSTAT
from sdstop.collectors.block.names import DEVICE_NAMES
from sdstop.collectors.block.sar import SAR

COLLECTORS = (DISKSTATS, IOSTAT, SAR, BLOCKDEV, IO_SIZES, DEVICE_NAMES)
