"""Collectors of ZFS: pools, vdevs, datasets, settings, the ARC and the L2ARC."""

from __future__ import annotations

from sdstop.collectors.zfs.arc import ARC
from sdstop.collectors.zfs.kstats import ZFS_DATASETS, ZFS_STATE
from sdstop.collectors.zfs.load import ZPOOL_LOAD
from sdstop.collectors.zfs.pools import ZFS
from sdstop.collectors.zfs.settings import ZFS_SETTINGS, ZFS_TUNING
from sdstop.collectors.zfs.sizes import ZPOOL_SIZES

COLLECTORS = (ARC, ZPOOL_SIZES, ZFS_STATE, ZFS_DATASETS, ZFS, ZPOOL_LOAD, ZFS_SETTINGS, ZFS_TUNING)
