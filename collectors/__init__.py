"""Collectors: one file per source of evidence, each a function from a host to readings."""

from __future__ import annotations

from sdstop.collector import Collector
from sdstop.collectors.aoe import AOE
from sdstop.collectors.arc import ARC
from sdstop.collectors.bcache import BCACHE
from sdstop.collectors.blockdev import BLOCKDEV
from sdstop.collectors.ceph import CEPH
from sdstop.collectors.ceph_osds import CEPH_OSDS
from sdstop.collectors.cgroups import CGROUPS
from sdstop.collectors.clients import CLIENTS
from sdstop.collectors.device_names import DEVICE_NAMES
from sdstop.collectors.dimms import DIMMS
from sdstop.collectors.diskstats import DISKSTATS
from sdstop.collectors.dmcache import DMCACHE
from sdstop.collectors.drbd import DRBD
from sdstop.collectors.edac import EDAC
from sdstop.collectors.flashcache import FLASHCACHE
from sdstop.collectors.hba import HBA
from sdstop.collectors.interrupts import INTERRUPTS
from sdstop.collectors.io_sizes import IO_SIZES
from sdstop.collectors.iostat import IOSTAT
from sdstop.collectors.links import LINKS
from sdstop.collectors.lvm import LVM
from sdstop.collectors.mapper import MAPPER
from sdstop.collectors.mdraid import MDMEMBERS, MDRAID
from sdstop.collectors.network import INTERFACES, NETWORK
from sdstop.collectors.node import NODE, PRESSURE
from sdstop.collectors.numa import NUMA
from sdstop.collectors.pacemaker import PACEMAKER
from sdstop.collectors.paths import PATHS, TCP
from sdstop.collectors.processes import PROCESSES
from sdstop.collectors.qemu import QEMU
from sdstop.collectors.rbd import RBD
from sdstop.collectors.sar import SAR
from sdstop.collectors.sas import SAS
from sdstop.collectors.scaleio import SCALEIO
from sdstop.collectors.sessions import SESSIONS
from sdstop.collectors.zfs import ZFS
from sdstop.collectors.zfs_kstats import ZFS_DATASETS, ZFS_STATE
from sdstop.collectors.zfs_settings import ZFS_SETTINGS, ZFS_TUNING
from sdstop.collectors.zpool_load import ZPOOL_LOAD
from sdstop.collectors.zpool_sizes import ZPOOL_SIZES

BUILTIN: tuple[Collector, ...] = (
    NODE,
    PRESSURE,
    DISKSTATS,
    IOSTAT,
    SAR,
    BLOCKDEV,
    MDRAID,
    MDMEMBERS,
    NETWORK,
    INTERFACES,
    LINKS,
    TCP,
    PATHS,
    PROCESSES,
    CGROUPS,
    QEMU,
    RBD,
    MAPPER,
    LVM,
    DMCACHE,
    FLASHCACHE,
    BCACHE,
    ARC,
    CEPH,
    CEPH_OSDS,
    DRBD,
    PACEMAKER,
    AOE,
    SESSIONS,
    CLIENTS,
    IO_SIZES,
    ZPOOL_SIZES,
    ZFS_STATE,
    ZFS,
    ZFS_DATASETS,
    ZPOOL_LOAD,
    ZFS_SETTINGS,
    ZFS_TUNING,
    SAS,
    HBA,
    NUMA,
    DIMMS,
    SCALEIO,
    DEVICE_NAMES,
    EDAC,
    INTERRUPTS,
)
"""Every source, in the order in which lists show them.

Of two that bring a family, the first that has rows counts, unless rows of this family are joined.
"""
