"""Rules of one node, without their functions.

Written by scripts/docs from the declarations themselves; pytest stops while an entry differs from them.
"""

from __future__ import annotations

from sdstop.collectors.aoe.readings import AoeExport
from sdstop.collectors.aoe.readings import AoePort
from sdstop.collectors.aoe.readings import AoeSocket
from sdstop.collectors.aoe.readings import AoeTarget
from sdstop.collectors.bcache.readings import BcacheSuperblock
from sdstop.collectors.bcache.readings import BcacheWaiting
from sdstop.collectors.block.readings import BlockDevice
from sdstop.collectors.block.readings import FilesystemSpace
from sdstop.collectors.block.readings import MountPoint
from sdstop.collectors.ceph.readings import CephCheck
from sdstop.collectors.ceph.readings import CephDaemon
from sdstop.collectors.devicemapper.readings import ChecksummedDevice
from sdstop.collectors.devicemapper.readings import MappedDevice
from sdstop.collectors.devicemapper.readings import MappedRaid
from sdstop.collectors.devicemapper.readings import MappedState
from sdstop.collectors.devicemapper.readings import MappedTarget
from sdstop.collectors.devicemapper.readings import MultipathPath
from sdstop.collectors.devicemapper.readings import MultipathState
from sdstop.collectors.devicemapper.volume_readings import LogicalVolume
from sdstop.collectors.devicemapper.volume_readings import MappedRaidState
from sdstop.collectors.devicemapper.volume_readings import PhysicalVolume
from sdstop.collectors.devicemapper.volume_readings import ThinPool
from sdstop.collectors.devicemapper.volume_readings import ThinVolume
from sdstop.collectors.devicemapper.volume_readings import VolumeGroup
from sdstop.collectors.devicemapper.volume_readings import VolumeSnapshot
from sdstop.collectors.drbd.readings import DrbdConnection
from sdstop.collectors.fabric.port_readings import FcPort
from sdstop.collectors.fabric.port_readings import RdmaPort
from sdstop.collectors.fabric.port_readings import SasPhy
from sdstop.collectors.fabric.readings import DiskPath
from sdstop.collectors.fabric.readings import Hba
from sdstop.collectors.fabric.readings import NumaNode
from sdstop.collectors.fabric.readings import PcieFunction
from sdstop.collectors.filesystems.readings import BtrfsErrors
from sdstop.collectors.filesystems.readings import BtrfsScrub
from sdstop.collectors.filesystems.readings import Ext4Errors
from sdstop.collectors.filesystems.readings import NfsMount
from sdstop.collectors.filesystems.readings import Quotas
from sdstop.collectors.gluster.readings import GlusterHeal
from sdstop.collectors.gluster.readings import GlusterVolume
from sdstop.collectors.health.raid_readings import RaidController
from sdstop.collectors.health.raid_readings import RaidDisk
from sdstop.collectors.health.raid_readings import RaidVolume
from sdstop.collectors.health.readings import DiskHealth
from sdstop.collectors.health.readings import DiskTemperature
from sdstop.collectors.health.readings import EnclosureSlot
from sdstop.collectors.kernel.readings import DiskLog
from sdstop.collectors.kernel.readings import KernelLog
from sdstop.collectors.limits.readings import ServiceGroup
from sdstop.collectors.md.readings import Array
from sdstop.collectors.memory.readings import Dimm
from sdstop.collectors.memory.readings import MemoryController
from sdstop.collectors.memory.readings import MemoryErrors
from sdstop.collectors.memory.readings import MemorySocket
from sdstop.collectors.memory.readings import MemoryTraffic
from sdstop.collectors.network.path_readings import PathMtu
from sdstop.collectors.network.peer_readings import NvmePath
from sdstop.collectors.network.peer_readings import SessionState
from sdstop.collectors.network.peer_readings import StorageClient
from sdstop.collectors.network.peer_readings import StoragePeer
from sdstop.collectors.network.peer_readings import StorageSession
from sdstop.collectors.network.readings import Bond
from sdstop.collectors.network.readings import BondSlave
from sdstop.collectors.network.readings import Interface
from sdstop.collectors.network.readings import InterfaceActivity
from sdstop.collectors.network.readings import InterfaceFault
from sdstop.collectors.network.readings import InterfaceLink
from sdstop.collectors.network.readings import PauseFrames
from sdstop.collectors.network.readings import Traffic
from sdstop.collectors.pacemaker.readings import ClusterConstraint
from sdstop.collectors.pacemaker.readings import ClusterMembership
from sdstop.collectors.pacemaker.readings import ClusterPolicy
from sdstop.collectors.pacemaker.readings import ClusterResource
from sdstop.collectors.pacemaker.readings import CorosyncLink
from sdstop.collectors.powerflex.readings import ScaleioPool
from sdstop.collectors.system.readings import BlockedTask
from sdstop.collectors.system.readings import BlockedTasks
from sdstop.collectors.system.readings import Cpu
from sdstop.collectors.system.readings import FailedUnit
from sdstop.collectors.system.readings import Node
from sdstop.collectors.system.readings import Units
from sdstop.collectors.zfs.datasets import DatasetSettings
from sdstop.collectors.zfs.readings import Pool
from sdstop.collectors.zfs.readings import PoolSettings
from sdstop.collectors.zfs.readings import PoolState
from sdstop.collectors.zfs.readings import Vdev
from sdstop.core.finding import Covers
from sdstop.core.finding import Damage
from sdstop.core.finding import Rule
from sdstop.core.finding import Severity
from sdstop.core.finding import Threshold
from sdstop.core.later import later
from sdstop.readings.cache import Cache
from sdstop.readings.cluster import Cluster
from sdstop.readings.cluster import ClusterClient
from sdstop.readings.cluster import ClusterDevice
from sdstop.readings.cluster import ClusterPool
from sdstop.readings.cpu import CpuReport
from sdstop.readings.device_names import DevicePath
from sdstop.readings.disk import Disk
from sdstop.readings.disk import DiskActivity
from sdstop.readings.limit import Limit
from sdstop.readings.mismatch import Mismatch
from sdstop.readings.rebuild import Rebuild
from sdstop.readings.service import Service

DECLARED: dict[str, dict[str, Rule]] = {
    "sdstop.rules.arrays.array_degraded": {
        "ARRAY_DEGRADED": Rule(
            id='array-degraded',
            says='md array degraded, inactive or broken, and its recovery; corrected read errors',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.arrays.array_degraded", "ARRAY_DEGRADED.check"),
            needs=(Array,),
            thresholds=(Threshold(name='corrected', default=20.0, help='corrected read errors of a member, even without new ones (md drops it at 20/h)'),),
            instead=(BlockDevice,),
            remembers=True,
            explains=('slow-device', 'slow-stripe-member'),
            damage=Damage.REDUNDANCY,
            view='disks',
            advice='Check the backup of {subject} first; then replace the failed member.',
        ),
    },
    "sdstop.rules.arrays.volume_degraded": {
        "VOLUME_DEGRADED": Rule(
            id='volume-degraded',
            says='LVM RAID volume with failed or stale members; striped volume with I/O errors',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.arrays.volume_degraded", "VOLUME_DEGRADED.check"),
            needs=(MappedRaidState,),
            instead=(MappedRaid,),
            covers=(Covers(family=MappedRaidState, subject='{volume}'), Covers(family=MappedRaid)),
            remembers=True,
            explains=('slow-device', 'slow-stripe-member'),
            damage=Damage.REDUNDANCY,
            view='disks',
            advice='Find the disk of the failed member, and check whether it works.',
        ),
    },
    "sdstop.rules.arrays.no_spare_left": {
        "NO_SPARE_LEFT": Rule(id='no-spare-left', says='md array whose spare replaced a failed member, with no spare left', worst=Severity.WARNING, check=later("sdstop.rules.arrays.no_spare_left", "NO_SPARE_LEFT.check"), needs=(Array,), covers=(Covers(family=Array, where=later("sdstop.rules.arrays.no_spare_left", "NO_SPARE_LEFT.covers[0].where")),), damage=Damage.REDUNDANCY, view='disks', advice='Replace the failed disk; the new one becomes the spare.'),
    },
    "sdstop.rules.arrays.data_mismatch": {
        "DATA_MISMATCH": Rule(
            id='data-mismatch',
            says='copies, parity or checksums that differ: md, LVM, DRBD, dm-integrity',
            worst=Severity.WARNING,
            check=later("sdstop.rules.arrays.data_mismatch", "DATA_MISMATCH.check"),
            needs=(Mismatch,),
            thresholds=(Threshold(name='mirror_share', default=0.001, help='share of a RAID1 or RAID10 below which mismatches are info (md(4): swap)', unit='ratio'),),
            instead=(ChecksummedDevice,),
            covers=(Covers(family=Mismatch), Covers(family=ChecksummedDevice, subject='{volume}')),
            damage=Damage.DATA,
            view='disks',
            advice='Verify the data of {subject} first: repair only makes parity fit it.',
        ),
    },
    "sdstop.rules.zfs.zfs_pool_degraded": {
        "ZFS_POOL_DEGRADED": Rule(
            id='zfs-pool-degraded',
            says='ZFS pool suspended, degraded or full, with lost data or device errors',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.zfs.zfs_pool_degraded", "ZFS_POOL_DEGRADED.check"),
            needs=(PoolState,),
            thresholds=(Threshold(name='many', default=10.0, help='errors of a device that matter without new ones (zed retires one at 10 in 10 min)'), Threshold(name='slow', default=100.0, help='slow I/Os of a device that matter without new ones'), Threshold(name='near_full', default=0.9, help='used share of a pool, warning', unit='ratio'), Threshold(name='full', default=0.95, help='used share of a pool, critical', unit='ratio')),
            covers=(Covers(family=PoolState), Covers(family=Pool)),
            remembers=True,
            damage=Damage.REDUNDANCY,
            view='disks',
            advice='Replace the failed disk; defer other load until the rebuild ends.',
        ),
    },
    "sdstop.rules.disks.device_hung": {
        "DEVICE_HUNG": Rule(
            id='device-hung',
            says='block device with requests in flight that completes none',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.disks.device_hung", "DEVICE_HUNG.check"),
            needs=(Disk,),
            thresholds=(Threshold(name='seconds', default=10.0, help='time without a completion', unit='seconds'), Threshold(name='readings', default=3.0, help='samples that must show it'), Threshold(name='timeout', default=30.0, help='time for an idle disk to spin up', unit='seconds')),
            instead=(Service,),
            explains=('device-hung', 'rebuild-slow', 'rebuild-stalled', 'stripe-convoy', 'hot-stripe-member', 'slow-stripe-member', 'slow-device', 'tasks-stuck', 'volume-qos-saturated', 'volume-below-promise', 'ceph-daemon-down', 'osd-down', 'osd-slow'),
            many='do not respond',
            damage=Damage.AVAILABILITY,
            view='disks',
            advice='Look for timeouts, resets and link loss of {subject} in the kernel log.',
        ),
    },
    "sdstop.rules.disks.disk_offline": {
        "DISK_OFFLINE": Rule(
            id='disk-offline',
            says='disk offline, gone or of 0 bytes while in use, AoE target down, write-protected disk in use',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.disks.disk_offline", "DISK_OFFLINE.check"),
            needs=(BlockDevice,),
            instead=(AoeTarget,),
            covers=(Covers(family=BlockDevice, where=later("sdstop.rules.disks.disk_offline", "DISK_OFFLINE.covers[0].where")),),
            remembers=True,
            forgets=3600.0,
            roles=later("sdstop.rules.disks.disk_offline", "DISK_OFFLINE.roles"),
            explains=('path-failed', 'ceph-daemon-down', 'osd-down', 'osd-slow'),
            many='are offline',
            damage=Damage.AVAILABILITY,
            view='disks',
            advice='Find out whether the disk, its cable or its port failed.',
        ),
    },
    "sdstop.rules.disks.disk_failing": {
        "DISK_FAILING": Rule(
            id='disk-failing',
            says='disk with a predicted failure, unreadable sectors, errors, failed self-test or slot at fault',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.disks.disk_failing", "DISK_FAILING.check"),
            needs=(DiskHealth,),
            thresholds=(Threshold(name='pending_critical', default=100.0, help='unreadable sectors that are critical'), Threshold(name='uncorrected', default=10.0, help='uncorrected errors that warrant a warning even if they do not grow'), Threshold(name='reallocated', default=50.0, help='reallocated sectors that warrant a warning even if they do not grow')),
            instead=(RaidDisk, EnclosureSlot),
            covers=(Covers(family=DiskHealth), Covers(family=RaidDisk)),
            explains=('slow-device', 'slow-stripe-member', 'device-hung', 'osd-slow', 'disk-offline', 'rebuild-slow'),
            many='are failing',
            inherent=True,
            damage=Damage.REDUNDANCY,
            view='disks',
            advice='Replace the disk; check first that its data has another copy.',
        ),
    },
    "sdstop.rules.arrays.raid_volume_degraded": {
        "RAID_VOLUME_DEGRADED": Rule(id='raid-volume-degraded', says='volume of a RAID controller that lacks a disk or is offline, or controller with a fault', worst=Severity.CRITICAL, check=later("sdstop.rules.arrays.raid_volume_degraded", "RAID_VOLUME_DEGRADED.check"), needs=(RaidVolume,), instead=(RaidController,), explains=('slow-device', 'slow-stripe-member'), many='are degraded', damage=Damage.REDUNDANCY, view='disks', advice='Replace the failed disk; the controller then rebuilds.'),
    },
    "sdstop.rules.disks.disk_worn": {
        "DISK_WORN": Rule(
            id='disk-worn',
            says='flash disk near the end of its rated endurance or of its spare blocks',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.disks.disk_worn", "DISK_WORN.check"),
            needs=(DiskHealth,),
            thresholds=(Threshold(name='used', default=0.9, help='share of the rated endurance used', unit='ratio'), Threshold(name='spare', default=0.05, help="spare blocks above the disk's own limit that warrant a warning", unit='ratio')),
            covers=(Covers(family=DiskHealth, where=later("sdstop.rules.disks.disk_worn", "DISK_WORN.covers[0].where")),),
            explains=('slow-device', 'slow-stripe-member', 'osd-slow', 'disk-offline'),
            many='are worn',
            inherent=True,
            damage=Damage.REDUNDANCY,
            standing=True,
            view='disks',
            advice='Plan its replacement; disks of one batch wear out together.',
        ),
    },
    "sdstop.rules.disks.disk_hot": {
        "DISK_HOT": Rule(
            id='disk-hot',
            says='disk above its own temperature limit, or above a common one if it reports none',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.disks.disk_hot", "DISK_HOT.check"),
            needs=(DiskHealth,),
            thresholds=(
                Threshold(name='rotating', default=60.0, help='temperature of a rotating disk that reports no limit', unit='celsius'),
                Threshold(name='flash', default=75.0, help='temperature of a flash disk that reports no limit', unit='celsius'),
                Threshold(name='critical', default=5.0, help='degrees above the warning limit that are critical, without a critical one', unit='celsius'),
                Threshold(name='near', default=5.0, help='degrees below the critical limit that warrant a warning, without a warning one', unit='celsius'),
            ),
            instead=(DiskTemperature, RaidDisk),
            covers=(Covers(family=DiskTemperature), Covers(family=DiskHealth, where=later("sdstop.rules.disks.disk_hot", "DISK_HOT.covers[1].where"))),
            explains=('slow-device', 'slow-stripe-member', 'osd-slow', 'disk-offline'),
            many='are too hot',
            damage=Damage.AVAILABILITY,
            view='disks',
            advice='Check fans and air flow of the slot; compare with its neighbors.',
        ),
    },
    "sdstop.rules.disks.disk_link_errors": {
        "DISK_LINK_ERRORS": Rule(
            id='disk-link-errors',
            says='SATA link with growing CRC errors, which point to cable, slot or backplane',
            worst=Severity.WARNING,
            check=later("sdstop.rules.disks.disk_link_errors", "DISK_LINK_ERRORS.check"),
            needs=(DiskHealth,),
            thresholds=(Threshold(name='new', default=2.0, help='new CRC errors of a disk within a day'),),
            covers=(Covers(family=DiskHealth, where=later("sdstop.rules.disks.disk_link_errors", "DISK_LINK_ERRORS.covers[0].where")),),
            explains=('slow-device', 'slow-stripe-member', 'device-hung', 'osd-slow'),
            many='have link errors',
            damage=Damage.AVAILABILITY,
            view='disks',
            advice='Reseat or replace the cable, then try another slot; keep the disk.',
        ),
    },
    "sdstop.rules.arrays.cache_unprotected": {
        "CACHE_UNPROTECTED": Rule(
            id='cache-unprotected',
            says='write cache of a RAID controller or NVMe disk without power-loss protection, or off without it',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.arrays.cache_unprotected", "CACHE_UNPROTECTED.check"),
            needs=(RaidController,),
            instead=(DiskHealth,),
            covers=(Covers(family=RaidController), Covers(family=DiskHealth, where=later("sdstop.rules.arrays.cache_unprotected", "CACHE_UNPROTECTED.covers[1].where"))),
            explains=('slow-device', 'slow-stripe-member'),
            many='have unprotected caches',
            view='disks',
            advice='Replace the battery or capacitor; a learn cycle ends by itself.',
        ),
    },
    "sdstop.rules.disks.kernel_io_errors": {
        "KERNEL_IO_ERRORS": Rule(
            id='kernel-io-errors',
            says="disks, controllers and sessions with errors, timeouts or resets in the kernel's log",
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.disks.kernel_io_errors", "KERNEL_IO_ERRORS.check"),
            needs=(KernelLog,),
            thresholds=(
                Threshold(name='recent', default=600.0, help='age of messages in seconds above which they are history', unit='seconds'),
                Threshold(name='lasting', default=86400.0, help='age in seconds up to which lost writes and disabled disks count', unit='seconds'),
                Threshold(name='storm', default=10.0, help='failed requests of a device in one minute that are critical'),
                Threshold(name='delays', default=2.0, help='minimum aborts, resets and repaired errors'),
                Threshold(name='notices', default=20.0, help='messages about harmless events in one minute that are too many'),
            ),
            covers=(Covers(family=BlockDevice, where=later("sdstop.rules.disks.kernel_io_errors", "KERNEL_IO_ERRORS.covers[0].where")), Covers(family=DiskLog)),
            explains=('filesystem-errors', 'filesystem-readonly'),
            many='have errors in the kernel log',
            damage=Damage.AVAILABILITY,
            view='disks',
            advice='Read the messages about {subject} in the kernel log, the first one first.',
        ),
    },
    "sdstop.rules.filesystems.filesystem_readonly": {
        "FILESYSTEM_READONLY": Rule(
            id='filesystem-readonly',
            says='file systems that the kernel remounted read-only or shut down after an error',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.filesystems.filesystem_readonly", "FILESYSTEM_READONLY.check"),
            needs=(MountPoint,),
            instead=(KernelLog,),
            covers=(Covers(family=MountPoint, where=later("sdstop.rules.filesystems.filesystem_readonly", "FILESYSTEM_READONLY.covers[0].where")),),
            many='were stopped after an error',
            damage=Damage.AVAILABILITY,
            view='disks',
            advice='Find the failed device below it; then unmount, check and mount it.',
        ),
    },
    "sdstop.rules.filesystems.filesystem_errors": {
        "FILESYSTEM_ERRORS": Rule(
            id='filesystem-errors',
            says="file systems with errors in ext4's or btrfs's counters, in a scrub, or in the kernel's log",
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.filesystems.filesystem_errors", "FILESYSTEM_ERRORS.check"),
            needs=(Ext4Errors,),
            thresholds=(Threshold(name='recent', default=600.0, help='age of messages in seconds above which they are history', unit='seconds'), Threshold(name='many', default=10.0, help='errors of a btrfs device that matter without new ones, although a scrub left none')),
            instead=(BtrfsErrors, BtrfsScrub, KernelLog),
            covers=(Covers(family=Ext4Errors), Covers(family=BtrfsErrors, subject='{subject}'), Covers(family=BtrfsScrub, subject='{filesystem}', where=later("sdstop.rules.filesystems.filesystem_errors", "FILESYSTEM_ERRORS.covers[2].where"))),
            many='have file system errors',
            damage=Damage.DATA,
            view='disks',
            advice='Repair the device below it; then unmount and check the file system.',
        ),
    },
    "sdstop.rules.system.service_failed": {
        "SERVICE_FAILED": Rule(id='service-failed', says='units of systemd that failed: storage services, mounts, checks of file systems', worst=Severity.WARNING, check=later("sdstop.rules.system.service_failed", "SERVICE_FAILED.check"), needs=(Units,), instead=(FailedUnit,), covers=(), many='failed', damage=Damage.AVAILABILITY, view='host', advice='Find the reason in its log before you start it again.'),
    },
    "sdstop.rules.system.kernel_faults": {
        "KERNEL_FAULTS": Rule(
            id='kernel-faults',
            says="hung tasks, lockups, lack of memory, lost links and peers, hardware errors in the kernel's log",
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.system.kernel_faults", "KERNEL_FAULTS.check"),
            needs=(KernelLog,),
            thresholds=(Threshold(name='recent', default=600.0, help='age of messages in seconds above which they are history', unit='seconds'), Threshold(name='notices', default=20.0, help='corrected errors in one minute that are too many')),
            covers=(),
            damage=Damage.AVAILABILITY,
            view='host',
            advice='Find the device or server that the tasks in the kernel log wait for.',
        ),
    },
    "sdstop.rules.mappings.volume_suspended": {
        "VOLUME_SUSPENDED": Rule(
            id='volume-suspended',
            says='device mapper device, or range of an md array, that stays suspended',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.mappings.volume_suspended", "VOLUME_SUSPENDED.check"),
            needs=(MappedState,),
            thresholds=(Threshold(name='seconds', default=10.0, help='time suspended; LVM suspends for milliseconds', unit='seconds'),),
            instead=(Array,),
            covers=(Covers(family=MappedState), Covers(family=Array, where=later("sdstop.rules.mappings.volume_suspended", "VOLUME_SUSPENDED.covers[1].where"))),
            explains=('device-hung', 'slow-device', 'slow-stripe-member', 'hot-stripe-member', 'stripe-convoy', 'rebuild-slow', 'rebuild-stalled', 'tasks-stuck', 'volume-qos-saturated', 'volume-below-promise'),
            many='stay suspended',
            damage=Damage.AVAILABILITY,
            view='disks',
            advice='Find the command that suspended it; resume if it no longer runs.',
        ),
    },
    "sdstop.rules.mappings.target_left": {
        "TARGET_LEFT": Rule(
            id='target-left',
            says='device mapper target that fails or delays requests, on purpose or after an error',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.mappings.target_left", "TARGET_LEFT.check"),
            needs=(MappedDevice,),
            instead=(MappedTarget,),
            explains=('filesystem-readonly', 'filesystem-errors', 'kernel-io-errors', 'slow-device', 'slow-stripe-member', 'device-saturated', 'flush-slow'),
            damage=Damage.AVAILABILITY,
            view='disks',
            advice='Find out who loaded the table: LVM without a disk, or a test.',
        ),
    },
    "sdstop.rules.paths.path_failed": {
        "PATH_FAILED": Rule(
            id='path-failed',
            says='multipath map or NVMe namespace with failed paths, or without any',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.paths.path_failed", "PATH_FAILED.check"),
            needs=(MultipathState, MultipathPath),
            thresholds=(Threshold(name='seconds', default=5.0, help='minimum time with a failed path; a switch to another path takes less', unit='seconds'), Threshold(name='detour', default=30.0, help='minimum time on paths that the array does not prefer', unit='seconds')),
            instead=(NvmePath,),
            covers=(Covers(family=MultipathState), Covers(family=NvmePath, subject='{device}')),
            explains=('device-hung', 'slow-device', 'slow-stripe-member', 'hot-stripe-member', 'stripe-convoy', 'rebuild-slow', 'rebuild-stalled', 'tasks-stuck', 'volume-qos-saturated', 'volume-below-promise'),
            many='have failed paths',
            damage=Damage.AVAILABILITY,
            view='disks',
            advice='Repair the link, the switch or the target; see whether multipathd runs.',
        ),
    },
    "sdstop.rules.paths.path_used_directly": {
        "PATH_USED_DIRECTLY": Rule(
            id='path-used-directly',
            says='path of a disk that has several, used itself instead of the multipath map',
            worst=Severity.WARNING,
            check=later("sdstop.rules.paths.path_used_directly", "PATH_USED_DIRECTLY.check"),
            needs=(MultipathPath,),
            instead=(BlockDevice,),
            covers=(Covers(family=MultipathPath, subject='{path}', where=later("sdstop.rules.paths.path_used_directly", "PATH_USED_DIRECTLY.covers[0].where")),),
            many='are used directly',
            damage=Damage.REDUNDANCY,
            standing=True,
            view='disks',
            advice='Mount the map by its name or UUID, and let LVM ignore its paths.',
        ),
    },
    "sdstop.rules.paths.paths_unbalanced": {
        "PATHS_UNBALANCED": Rule(
            id='paths-unbalanced',
            says='disk with several usable paths of which one carries everything',
            worst=Severity.WARNING,
            check=later("sdstop.rules.paths.paths_unbalanced", "PATHS_UNBALANCED.check"),
            needs=(MultipathPath, DiskActivity),
            thresholds=(Threshold(name='share', default=0.9, help='share of the fullest path', unit='ratio'), Threshold(name='rate', default=100000000.0, help='minimum rate of all paths together', unit='bytes_per_second'), Threshold(name='queue', default=2.0, help='minimum requests in flight on the fullest path'), Threshold(name='seconds', default=10.0, help='minimum time over which the paths are compared', unit='seconds')),
            instead=(NvmePath,),
            covers=(Covers(family=MultipathPath, subject='{mapping}'), Covers(family=NvmePath, subject='{device}')),
            view='disks',
            advice='Put paths of equal cost into one group.',
        ),
    },
    "sdstop.rules.arrays.volume_group_partial": {
        "VOLUME_GROUP_PARTIAL": Rule(id='volume-group-partial', says='LVM volume group with missing physical volumes', worst=Severity.CRITICAL, check=later("sdstop.rules.arrays.volume_group_partial", "VOLUME_GROUP_PARTIAL.check"), needs=(VolumeGroup, PhysicalVolume, LogicalVolume), either=3, covers=(Covers(family=VolumeGroup),), many='have missing physical volumes', damage=Damage.AVAILABILITY, view='volumes', advice='Find the missing disk: cable, path, controller, or filter in lvm.conf.'),
    },
    "sdstop.rules.mappings.volume_unhealthy": {
        "VOLUME_UNHEALTHY": Rule(id='volume-unhealthy', says='LVM volume that failed, is out of space or needs a refresh', worst=Severity.CRITICAL, check=later("sdstop.rules.mappings.volume_unhealthy", "VOLUME_UNHEALTHY.check"), needs=(LogicalVolume,), covers=(Covers(family=LogicalVolume, where=later("sdstop.rules.mappings.volume_unhealthy", "VOLUME_UNHEALTHY.covers[0].where")),), many='do not work as they should', damage=Damage.AVAILABILITY, view='volumes', advice='Find the cause, then let LVM use the member again.'),
    },
    "sdstop.rules.paths.session_down": {
        "SESSION_DOWN": Rule(
            id='session-down',
            says='iSCSI session or NVMe controller that is down, reconnecting or gone',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.paths.session_down", "SESSION_DOWN.check"),
            needs=(SessionState, StorageSession),
            thresholds=(Threshold(name='seconds', default=5.0, help='minimum time down; resets by the kernel are shorter', unit='seconds'),),
            remembers=True,
            roles=later("sdstop.rules.paths.session_down", "SESSION_DOWN.roles"),
            explains=('device-hung', 'slow-device', 'slow-stripe-member', 'hot-stripe-member', 'stripe-convoy', 'rebuild-slow', 'rebuild-stalled', 'tasks-stuck', 'volume-qos-saturated', 'volume-below-promise', 'path-failed', 'disk-offline'),
            many='are down or reconnecting',
            damage=Damage.AVAILABILITY,
            view='network',
            advice='Check the target, and the network to it.',
        ),
    },
    "sdstop.rules.arrays.stripe_convoy": {
        "STRIPE_CONVOY": Rule(
            id='stripe-convoy',
            says='parallel streams that queue on one stripe member after another',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.arrays.stripe_convoy", "STRIPE_CONVOY.check"),
            needs=(DiskActivity,),
            thresholds=(
                Threshold(name='columns', default=4, help='fewest stripe columns for a convoy or a hot member'),
                Threshold(name='queue', default=4.0, help='requests outstanding in the array, below which a second is not judged'),
                Threshold(name='ios', default=40.0, help='requests per second, below which a second is not judged', unit='per_second'),
                Threshold(name='deficit', default=0.05, help='share of the columns expected busy that were idle, rotational members', unit='ratio'),
                Threshold(name='deficit_flash', default=0.1, help='share of the columns expected busy that were idle, flash members', unit='ratio'),
                Threshold(name='top_share', default=1.8, help='longest queue, as a multiple of the mean'),
                Threshold(name='crowded', default=0.6, help='share of seconds that must be crowded', unit='ratio'),
                Threshold(name='moving', default=0.55, help="share of the queue's pattern that stays in each second, below which it moves", unit='ratio'),
                Threshold(name='fixed', default=0.8, help="share of the queue's pattern that stays in each second, above which it is fixed", unit='ratio'),
                Threshold(name='work', default=1.15, help='requests of the fullest column, times the mean, below which virtual disks may be rate-limited'),
            ),
            covers=(Covers(family=Array, where=later("sdstop.analysis.members.judged_group", "is_striped", "sdstop.rules.arrays.stripe_convoy", "STRIPE_CONVOY.covers[0].where")),),
            explains=('device-saturated', 'rebuild-slow', 'volume-below-promise'),
            view='disks',
            advice='Run fewer copies, clones or scans at once.',
        ),
    },
    "sdstop.rules.arrays.hot_stripe_member": {
        "HOT_STRIPE_MEMBER": Rule(
            id='hot-stripe-member',
            says='stripe member with far more than its share of requests',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.arrays.hot_stripe_member", "HOT_STRIPE_MEMBER.check"),
            needs=(DiskActivity,),
            thresholds=(
                Threshold(name='columns', default=4, help='fewest stripe columns for a convoy or a hot member'),
                Threshold(name='queue', default=4.0, help='requests outstanding in the array, below which a second is not judged'),
                Threshold(name='ios', default=40.0, help='requests per second, below which a second is not judged', unit='per_second'),
                Threshold(name='deficit', default=0.05, help='share of the columns expected busy that were idle, rotational members', unit='ratio'),
                Threshold(name='deficit_flash', default=0.1, help='share of the columns expected busy that were idle, flash members', unit='ratio'),
                Threshold(name='top_share', default=1.8, help='longest queue, as a multiple of the mean'),
                Threshold(name='crowded', default=0.6, help='share of seconds that must be crowded', unit='ratio'),
                Threshold(name='fixed', default=0.8, help="share of the queue's pattern that stays in each second, above which it is fixed", unit='ratio'),
                Threshold(name='hot_ios', default=2.5, help="requests of a hot column, as a multiple of the others' median"),
            ),
            covers=(Covers(family=Array, where=later("sdstop.analysis.members.judged_group", "is_striped", "sdstop.rules.arrays.stripe_convoy", "STRIPE_CONVOY.covers[0].where")),),
            explains=('device-saturated', 'rebuild-slow', 'volume-below-promise'),
            many='are hot',
            view='disks',
            advice='Spread the load: move or restripe the hot file or volume.',
        ),
    },
    "sdstop.rules.arrays.slow_stripe_member": {
        "SLOW_STRIPE_MEMBER": Rule(
            id='slow-stripe-member',
            says='stripe member far slower than its peers under an equal share of I/O',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.arrays.slow_stripe_member", "SLOW_STRIPE_MEMBER.check"),
            needs=(DiskActivity,),
            thresholds=(
                Threshold(name='slow_wait', default=3.0, help="wait of a slow disk, as a multiple of its peers' median"),
                Threshold(name='slow_of_three', default=4.0, help="wait of a slow disk of three, as a multiple of the longer of the others'"),
                Threshold(name='slow_of_two', default=4.0, help="wait for writes of a slow mirror leg or path, as a multiple of the other one's"),
                Threshold(name='slow_far', default=8.0, help="wait of a slow disk over a minute without busy times, as a multiple of its peers' median"),
                Threshold(name='slow_once', default=10.0, help="wait of a slow disk in a single sample, as a multiple of its peers' longest"),
                Threshold(name='slow_service', default=2.0, help="busy time per request of a slow disk, as a multiple of its peers' median"),
                Threshold(name='slow_excess', default=0.005, help="wait of a slow disk beyond its peers', rotational members", unit='seconds'),
                Threshold(name='slow_excess_flash', default=0.0005, help="wait of a slow disk beyond its peers', flash members", unit='seconds'),
                Threshold(name='equal_ios', default=1.5, help="ratio below which a member's share of I/O equals its peers'"),
            ),
            instead=(Service,),
            covers=(Covers(family=Array, where=later("sdstop.analysis.members.judged_group", "is_striped", "sdstop.rules.arrays.stripe_convoy", "STRIPE_CONVOY.covers[0].where")),),
            explains=('rebuild-slow', 'stripe-convoy', 'device-saturated', 'volume-below-promise'),
            many='are slow',
            view='disks',
            advice='Check the disk and its link; replace the disk if it stays slow.',
        ),
    },
    "sdstop.rules.disks.slow_device": {
        "SLOW_DEVICE": Rule(
            id='slow-device',
            says='device far slower than its peers (mirror leg, vdev, OSD, path, equal disk), or than any disk',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.disks.slow_device", "SLOW_DEVICE.check"),
            needs=(),
            thresholds=(
                Threshold(name='slow_wait', default=3.0, help="wait of a slow disk, as a multiple of its peers' median"),
                Threshold(name='slow_of_three', default=4.0, help="wait of a slow disk of three, as a multiple of the longer of the others'"),
                Threshold(name='slow_of_two', default=4.0, help="wait for writes of a slow mirror leg or path, as a multiple of the other one's"),
                Threshold(name='slow_far', default=8.0, help="wait of a slow disk over a minute without busy times, as a multiple of its peers' median"),
                Threshold(name='slow_once', default=10.0, help="wait of a slow disk in a single sample, as a multiple of its peers' longest"),
                Threshold(name='slow_service', default=2.0, help="busy time per request of a slow disk, as a multiple of its peers' median"),
                Threshold(name='slow_excess', default=0.005, help="wait of a slow disk beyond its peers', rotational members", unit='seconds'),
                Threshold(name='slow_excess_flash', default=0.0005, help="wait of a slow disk beyond its peers', flash members", unit='seconds'),
                Threshold(name='equal_ios', default=1.5, help="ratio below which a member's share of I/O equals its peers'"),
                Threshold(name='longest', default=0.2, help='busy time per request of a full device that is slow whatever its peers', unit='seconds'),
                Threshold(name='longest_nvme', default=0.02, help='busy time per request of a full local NVMe drive whose wait is five times as long', unit='seconds'),
            ),
            covers=(Covers(family=Array, where=later("sdstop.analysis.members.judged_group", "is_mirror", "sdstop.rules.disks.slow_device", "SLOW_DEVICE.covers[0].where")),),
            explains=('slow-device', 'slow-stripe-member', 'stripe-convoy', 'rebuild-slow', 'device-saturated', 'volume-below-promise'),
            many='are slow',
            view='disks',
            advice='Check the disk and its link; replace the disk if it stays slow.',
        ),
    },
    "sdstop.rules.disks.queue_depth_reduced": {
        "QUEUE_DEPTH_REDUCED": Rule(
            id='queue-depth-reduced',
            says='disk that gets far fewer requests at once than others of its model',
            worst=Severity.WARNING,
            check=later("sdstop.rules.disks.queue_depth_reduced", "QUEUE_DEPTH_REDUCED.check"),
            needs=(BlockDevice,),
            thresholds=(Threshold(name='factor', default=8.0, help='how many times less than on most disks of its model'),),
            covers=(Covers(family=BlockDevice, where=later("sdstop.rules.disks.queue_depth_reduced", "QUEUE_DEPTH_REDUCED.covers[0].where")),),
            explains=('slow-device', 'slow-stripe-member'),
            many='have a low queue depth',
            standing=True,
            view='disks',
            advice='Raise it again; without NCQ, update the firmware or replace the disk.',
        ),
    },
    "sdstop.rules.disks.device_saturated": {
        "DEVICE_SATURATED": Rule(
            id='device-saturated',
            says='device at its limit: busy all the time, with requests waiting',
            worst=Severity.INFO,
            check=later("sdstop.rules.disks.device_saturated", "DEVICE_SATURATED.check"),
            needs=(DiskActivity,),
            thresholds=(Threshold(name='busy', default=0.95, help='busy time of a full device', unit='ratio'), Threshold(name='part', default=0.8, help='share of samples in which it is full', unit='ratio'), Threshold(name='together', default=0.5, help='share of full members that makes it a finding of the group', unit='ratio'), Threshold(name='readings', default=8.0, help='samples needed, or seconds that at least 3 samples cover')),
            covers=(),
            many='are at their limit',
            view='disks',
            advice='Spread the load over more devices, or limit the programs behind it.',
        ),
    },
    "sdstop.rules.disks.flush_slow": {
        "FLUSH_SLOW": Rule(
            id='flush-slow',
            says='slow flushes that synchronous writes wait for',
            worst=Severity.WARNING,
            check=later("sdstop.rules.disks.flush_slow", "FLUSH_SLOW.check"),
            needs=(BlockDevice, DiskActivity),
            thresholds=(Threshold(name='flash', default=0.003, help='mean flush latency of flash', unit='seconds'), Threshold(name='rotating', default=0.03, help='mean flush latency of rotating disks', unit='seconds'), Threshold(name='share', default=0.3, help='mean number of flushes in flight'), Threshold(name='seconds', default=10.0, help='minimum time over which flushes are measured', unit='seconds')),
            covers=(),
            many='flush slowly',
            view='disks',
            advice='Put logs and databases on a disk with power-loss protection.',
        ),
    },
    "sdstop.rules.rebuilds.rebuild_stalled": {
        "REBUILD_STALLED": Rule(
            id='rebuild-stalled',
            says='rebuild reported as running that makes no progress',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.rebuilds.rebuild_stalled", "REBUILD_STALLED.check"),
            needs=(Rebuild,),
            thresholds=(Threshold(name='pause', default=10.0, help='time without progress, if unusual', unit='seconds'), Threshold(name='pauses', default=3.0, help='time without progress, as a multiple of the longest pause before'), Threshold(name='readings', default=3.0, help='samples with the same progress'), Threshold(name='stalled', default=60.0, help='time without progress in any case, critical', unit='seconds')),
            view='disks',
            advice='Look for errors of {subject}, and where its threads wait.',
        ),
    },
    "sdstop.rules.rebuilds.rebuild_slow": {
        "REBUILD_SLOW": Rule(
            id='rebuild-slow',
            says='rebuild that will take too long, or is far slower than its disks allow',
            worst=Severity.WARNING,
            check=later("sdstop.rules.rebuilds.rebuild_slow", "REBUILD_SLOW.check"),
            needs=(Rebuild,),
            thresholds=(
                Threshold(name='longest', default=86400.0, help='remaining time of a slow rebuild', unit='seconds'),
                Threshold(name='idle', default=0.4, help='busy time of the busiest member below which the disks are idle', unit='ratio'),
                Threshold(name='worth', default=3600.0, help='remaining time below which idle disks are not reported', unit='seconds'),
                Threshold(name='full', default=0.9, help='busy time of a full member', unit='ratio'),
                Threshold(name='gain', default=3.0, help='speedup without the one member that holds it back'),
                Threshold(name='waits', default=3.0, help="wait of that member, as a multiple of its peers' median"),
                Threshold(name='stripe_cache', default=256.0, help='small stripe cache, in stripes: the default of md'),
                Threshold(name='seconds', default=20.0, help='time of progress observed', unit='seconds'),
            ),
            view='disks',
            advice='Find the limit of the rebuild in view Path, and raise that one.',
        ),
    },
    "sdstop.rules.rebuilds.rebuild_throttled": {
        "REBUILD_THROTTLED": Rule(
            id='rebuild-throttled',
            says='rebuild held back by a speed limit',
            worst=Severity.WARNING,
            check=later("sdstop.rules.rebuilds.rebuild_throttled", "REBUILD_THROTTLED.check"),
            needs=(Rebuild,),
            thresholds=(
                Threshold(name='near', default=0.1, help='distance to the upper limit of a throttled rebuild', unit='ratio'),
                Threshold(name='least', default=1.25, help='speed of a yielding rebuild, as a multiple of the lower limit'),
                Threshold(name='busy', default=0.8, help='busy time of a member above which the disks are the limit', unit='ratio'),
                Threshold(name='worth', default=600.0, help='remaining time below which it is info', unit='seconds'),
                Threshold(name='seconds', default=10.0, help='time of progress observed', unit='seconds'),
            ),
            view='disks',
            advice='Raise the maximum speed until the rebuild is done.',
        ),
    },
    "sdstop.rules.rebuilds.rebuild_running": {
        "REBUILD_RUNNING": Rule(id='rebuild-running', says='rebuild or data check in progress: progress, speed, estimated end', worst=Severity.INFO, check=later("sdstop.rules.rebuilds.rebuild_running", "REBUILD_RUNNING.check"), needs=(Rebuild,), view='disks', advice='Let it finish; defer other load and maintenance.'),
    },
    "sdstop.rules.disks.log_device_volatile": {
        "LOG_DEVICE_VOLATILE": Rule(id='log-device-volatile', says='intent log, journal or file system log on a RAM disk or in a file', worst=Severity.CRITICAL, check=later("sdstop.rules.disks.log_device_volatile", "LOG_DEVICE_VOLATILE.check"), needs=(BlockDevice,), covers=(), damage=Damage.DATA, standing=True, view='disks', advice='Put the log on a disk with power-loss protection, mirrored if possible.'),
    },
    "sdstop.rules.zfs.sync_disabled": {
        "SYNC_DISABLED": Rule(id='sync-disabled', says='ZFS datasets that report synchronous writes as stored before they are', worst=Severity.WARNING, check=later("sdstop.rules.zfs.sync_disabled", "SYNC_DISABLED.check"), needs=(DatasetSettings,), covers=(Covers(family=DatasetSettings, subject='{pool}'),), damage=Damage.DATA, standing=True, view='disks', advice='Restore sync unless this data may be lost; add a log device for speed.'),
    },
    "sdstop.rules.zfs.zfs_no_slog": {
        "ZFS_NO_SLOG": Rule(id='zfs-no-slog', says='synchronous writes to a rotating ZFS pool without a working log device', worst=Severity.WARNING, check=later("sdstop.rules.zfs.zfs_no_slog", "ZFS_NO_SLOG.check"), needs=(PoolState,), thresholds=(Threshold(name='commits', default=20.0, help='intent-log commits per second', unit='per_second'), Threshold(name='seconds', default=10.0, help='time of counters needed', unit='seconds')), view='disks', advice='Add a mirrored log device: SSDs with power-loss protection.'),
    },
    "sdstop.rules.zfs.zvol_slow_path": {
        "ZVOL_SLOW_PATH": Rule(
            id='zvol-slow-path',
            says='busy ZFS volume whose block size does not fit its layout or its writes',
            worst=Severity.WARNING,
            check=later("sdstop.rules.zfs.zvol_slow_path", "ZVOL_SLOW_PATH.check"),
            needs=(DatasetSettings,),
            thresholds=(Threshold(name='load', default=1048576.0, help='bytes per second of a busy volume', unit='bytes_per_second'), Threshold(name='share', default=0.67, help='data share of a block, relative to that of full rows', unit='ratio'), Threshold(name='part', default=0.5, help="mean size of partial writes, relative to the volume's block", unit='ratio')),
            covers=(Covers(family=DatasetSettings, where=later("sdstop.rules.zfs.zvol_slow_path", "ZVOL_SLOW_PATH.covers[0].where")),),
            view='disks',
            advice='Use a volblocksize of a whole row of data for new volumes.',
        ),
    },
    "sdstop.rules.caches.cache_errors": {
        "CACHE_ERRORS": Rule(
            id='cache-errors',
            says='cache with I/O errors, failed, missing, or short of metadata space',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.caches.cache_errors", "CACHE_ERRORS.check"),
            needs=(Cache,),
            thresholds=(Threshold(name='metadata', default=0.9, help='used share of the metadata of dm-cache', unit='ratio'),),
            instead=(BcacheWaiting, BcacheSuperblock),
            covers=(Covers(family=Cache), Covers(family=BcacheWaiting, subject='{device}'), Covers(family=BcacheSuperblock, subject='{device}')),
            explains=('cache-bypassed', 'cache-full-of-dirty', 'cache-ineffective'),
            damage=Damage.AVAILABILITY,
            view='caches',
            advice='Find the first error of the cache in the kernel log.',
        ),
    },
    "sdstop.rules.caches.cache_slow": {
        "CACHE_SLOW": Rule(
            id='cache-slow',
            says='cache whose device takes longer for a request than the disk behind it',
            worst=Severity.WARNING,
            check=later("sdstop.rules.caches.cache_slow", "CACHE_SLOW.check"),
            needs=(Cache, Disk),
            thresholds=(Threshold(name='service', default=0.005, help='busy time per request of the cache device', unit='seconds'), Threshold(name='wait', default=0.01, help='wait of a request to it', unit='seconds'), Threshold(name='times', default=3.0, help='both, as a multiple of those of the disk')),
            covers=(),
            explains=('device-slowed', 'cache-bypassed'),
            many='are slower than their disks',
            view='caches',
            advice='Check the cache device; run without it until it is replaced.',
        ),
    },
    "sdstop.rules.caches.cache_sub_block_io": {
        "CACHE_SUB_BLOCK_IO": Rule(
            id='cache-sub-block-io',
            says='requests that are not whole blocks, to a cache that caches whole blocks only',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.caches.cache_sub_block_io", "CACHE_SUB_BLOCK_IO.check"),
            needs=(Cache,),
            thresholds=(
                Threshold(name='share', default=0.2, help='share of requests not of whole blocks, and of those that bypass', unit='ratio'),
                Threshold(name='most', default=0.5, help='share of requests that bypass the cache, critical', unit='ratio'),
                Threshold(name='apart', default=0.1, help='largest difference of these shares', unit='ratio'),
                Threshold(name='sequential', default=0.5, help='sequential share of the bypass that is the cause instead', unit='ratio'),
                Threshold(name='requests', default=500.0, help='requests in a minute needed to judge'),
            ),
            view='caches',
            advice='Set the MTU of both ends so that a request fits whole blocks.',
        ),
    },
    "sdstop.rules.caches.cache_bypassed": {
        "CACHE_BYPASSED": Rule(
            id='cache-bypassed',
            says='cache bypassed by many requests, or not caching at all',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.caches.cache_bypassed", "CACHE_BYPASSED.check"),
            needs=(Cache,),
            thresholds=(
                Threshold(name='share', default=0.2, help='share of requests that bypass the cache', unit='ratio'),
                Threshold(name='most', default=0.5, help='share of requests that bypass the cache, critical', unit='ratio'),
                Threshold(name='requests', default=500.0, help='requests in a minute needed to judge'),
                Threshold(name='sequential', default=0.5, help='sequential share of the bypass that is intended', unit='ratio'),
                Threshold(name='crowded', default=0.5, help='share of the bypass without room that is the cause', unit='ratio'),
                Threshold(name='apart', default=0.1, help='largest difference to the share of requests not of whole blocks', unit='ratio'),
            ),
            view='caches',
            advice='Fix what splits the requests, or change the limit of the cache.',
        ),
    },
    "sdstop.rules.caches.cache_full_of_dirty": {
        "CACHE_FULL_OF_DIRTY": Rule(
            id='cache-full-of-dirty',
            says='cache so full of dirty data that new writes find no room',
            worst=Severity.WARNING,
            check=later("sdstop.rules.caches.cache_full_of_dirty", "CACHE_FULL_OF_DIRTY.check"),
            needs=(Cache,),
            thresholds=(
                Threshold(name='share', default=0.9, help='dirty share of a full cache', unit='ratio'),
                Threshold(name='cutoff', default=0.65, help='dirty share of a full bcache, which takes no more writes at 70%', unit='ratio'),
                Threshold(name='crowded', default=0.5, help='dirty share if requests find no room or it is full soon', unit='ratio'),
                Threshold(name='refused', default=0.01, help='share of requests without room', unit='ratio'),
                Threshold(name='refusals', default=10.0, help='requests without room in a minute'),
                Threshold(name='wait', default=0.5, help='mean time of a write to a cache with much dirty data', unit='seconds'),
                Threshold(name='held', default=0.4, help='dirty share above which bcache sends writes to the disk', unit='ratio'),
                Threshold(name='soon', default=600.0, help='time until all is dirty at the present rate', unit='seconds'),
            ),
            view='caches',
            advice='Check the backing disks; if they are full, the load exceeds them.',
        ),
    },
    "sdstop.rules.caches.cache_ineffective": {
        "CACHE_INEFFECTIVE": Rule(
            id='cache-ineffective',
            says='cache that is used but rarely hit',
            worst=Severity.WARNING,
            check=later("sdstop.rules.caches.cache_ineffective", "CACHE_INEFFECTIVE.check"),
            needs=(Cache,),
            thresholds=(
                Threshold(name='share', default=0.1, help='hits of cacheable requests, in a minute and since load', unit='ratio'),
                Threshold(name='requests', default=1000.0, help='cacheable requests in a minute needed to judge'),
                Threshold(name='age', default=86400.0, help='time since boot needed to judge the lifetime of a cache', unit='seconds'),
                Threshold(name='ever', default=100000.0, help='cacheable requests since load needed to judge'),
                Threshold(name='full', default=0.9, help='used share of a cache that is no longer warming up', unit='ratio'),
                Threshold(name='tiny', default=0.05, help='L2ARC: hits of ARC misses', unit='ratio'),
                Threshold(name='lifetime', default=1000000.0, help='L2ARC: reads since boot needed to judge'),
                Threshold(name='headers', default=1073741824.0, help='L2ARC: memory for its headers', unit='bytes'),
            ),
            view='caches',
            advice='Check the backing disks; if they are not busy, ignore this.',
        ),
    },
    "sdstop.rules.caches.cache_misplaced": {
        "CACHE_MISPLACED": Rule(id='cache-misplaced', says='volume on the backing device underneath its own cache', worst=Severity.CRITICAL, check=later("sdstop.rules.caches.cache_misplaced", "CACHE_MISPLACED.check"), needs=(Cache,), covers=(Covers(family=Cache, where=later("sdstop.rules.caches.cache_misplaced", "CACHE_MISPLACED.covers[0].where")),), explains=('cache-ineffective',), standing=True, view='caches', advice='Stop the users, then activate the volume on the cache.'),
    },
    "sdstop.rules.network.mtu_misaligned": {
        "MTU_MISALIGNED": Rule(
            id='mtu-misaligned',
            says='AoE frames that carry no whole number of blocks, so requests are split',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.network.mtu_misaligned", "MTU_MISALIGNED.check"),
            needs=(AoeTarget, AoeExport, AoeSocket, AoePort),
            thresholds=(
                Threshold(name='lost', default=0.05, help='split share of bytes below which the finding is informational', unit='ratio'),
                Threshold(name='small', default=0.05, help='share of partial blocks at the target below which it is informational', unit='ratio'),
                Threshold(name='disagree', default=0.5, help='share of partial blocks that overrides the calculation by the MTU', unit='ratio'),
                Threshold(name='bypass', default=0.2, help='cache bypass share that is attributed to this cause', unit='ratio'),
                Threshold(name='most', default=0.5, help='bypass share above which the finding is critical', unit='ratio'),
                Threshold(name='requests', default=500.0, help='minimum requests per minute to judge a cache'),
            ),
            either=3,
            covers=(Covers(family=AoeTarget, subject='{interfaces|device}', where=later("sdstop.rules.network.mtu_misaligned", "MTU_MISALIGNED.covers[0].where")), Covers(family=AoeExport, subject='{interface}')),
            view='network',
            advice='Check that the cards and the switch support the MTU named on the node.',
        ),
    },
    "sdstop.rules.network.mtu_mismatch": {
        "MTU_MISMATCH": Rule(
            id='mtu-mismatch',
            says='different MTUs within a bond, bridge, VLAN or veth pair',
            worst=Severity.WARNING,
            check=later("sdstop.rules.network.mtu_mismatch", "MTU_MISMATCH.check"),
            needs=(Interface, InterfaceLink),
            covers=(Covers(family=InterfaceLink, subject='{upper}', where=later("sdstop.rules.network.mtu_mismatch", "MTU_MISMATCH.covers[0].where")),),
            explains=('frames-dropped', 'path-mtu-shrunk'),
            damage=Damage.AVAILABILITY,
            standing=True,
            view='network',
            advice='Set the same MTU on all of them, and in the network configuration.',
        ),
    },
    "sdstop.rules.network.path_mtu_shrunk": {
        "PATH_MTU_SHRUNK": Rule(
            id='path-mtu-shrunk',
            says='path MTU learnt by the kernel below the interface MTU',
            worst=Severity.WARNING,
            check=later("sdstop.rules.network.path_mtu_shrunk", "PATH_MTU_SHRUNK.check"),
            needs=(Interface, PathMtu),
            thresholds=(Threshold(name='loss', default=0.1, help='relative shortfall towards a private network that is a warning', unit='ratio'), Threshold(name='probes', default=3.0, help='minimum lost TCP MTU probes per window')),
            covers=(Covers(family=PathMtu, subject='{interface}'),),
            view='network',
            advice='Raise the MTU on that hop (router, switch, peer), or lower it here.',
        ),
    },
    "sdstop.rules.network.link_degraded": {
        "LINK_DEGRADED": Rule(
            id='link-degraded',
            says='network link that is down or gone, flaps, runs half duplex or at 100 Mbit/s',
            worst=Severity.WARNING,
            check=later("sdstop.rules.network.link_degraded", "LINK_DEGRADED.check"),
            needs=(Interface,),
            thresholds=(Threshold(name='flaps', default=2.0, help='minimum link failures in a window for a link that flaps'), Threshold(name='slowest', default=12500000.0, help='speed of a physical link in one direction that is too slow', unit='bytes_per_second'), Threshold(name='hourly', default=1.0, help='mean link failures per hour since boot of a link that flaps, with one in a window')),
            covers=(Covers(family=Interface, where=later("sdstop.rules.network.link_degraded", "LINK_DEGRADED.covers[0].where")), Covers(family=BondSlave, subject='{interface}')),
            remembers=True,
            forgets=3600.0,
            roles=later("sdstop.rules.network.link_degraded", "LINK_DEGRADED.roles"),
            many='are degraded',
            view='network',
            advice='Reseat or replace the cable and its modules, then try another port.',
        ),
    },
    "sdstop.rules.network.frames_dropped": {
        "FRAMES_DROPPED": Rule(
            id='frames-dropped',
            says='network interface with receive errors or drops, TCP segments that arrive damaged',
            worst=Severity.WARNING,
            check=later("sdstop.rules.network.frames_dropped", "FRAMES_DROPPED.check"),
            needs=(Traffic,),
            thresholds=(Threshold(name='ratio', default=0.0001, help='share of frames per direction and minute', unit='ratio'), Threshold(name='count', default=10.0, help='minimum number of lost frames')),
            instead=(InterfaceFault,),
            covers=(Covers(family=Traffic, where=later("sdstop.rules.network.frames_dropped", "FRAMES_DROPPED.covers[0].where")),),
            many='lose frames',
            view='network',
            advice='Compare the MTU with every peer and the switch; enlarge full rings.',
        ),
    },
    "sdstop.rules.network.bond_unbalanced": {
        "BOND_UNBALANCED": Rule(
            id='bond-unbalanced',
            says='bond with a link that is down, outside the LACP group, slower or unused',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.network.bond_unbalanced", "BOND_UNBALANCED.check"),
            needs=(Bond,),
            thresholds=(Threshold(name='idle', default=0.05, help='part of an even share below which a slave is unused', unit='ratio'), Threshold(name='full', default=0.85, help='utilization above which a slave is full', unit='ratio'), Threshold(name='rate', default=10000000.0, help='minimum traffic of the bond in one direction', unit='bytes_per_second'), Threshold(name='seconds', default=10.0, help='minimum time over which traffic is compared', unit='seconds')),
            covers=(Covers(family=Bond),),
            view='network',
            advice='Use a hash over ports (layer3+4) to spread connections to one peer.',
        ),
    },
    "sdstop.rules.network.link_oversubscribed": {
        "LINK_OVERSUBSCRIBED": Rule(
            id='link-oversubscribed',
            says='full link shared by too many storage clients',
            worst=Severity.WARNING,
            check=later("sdstop.rules.network.link_oversubscribed", "LINK_OVERSUBSCRIBED.check"),
            needs=(StorageClient, Interface, InterfaceActivity),
            thresholds=(Threshold(name='clients', default=2.0, help='minimum number of clients'), Threshold(name='usable', default=0.941, help='payload share of the line rate (TCP, MTU 1500)', unit='ratio'), Threshold(name='full', default=0.85, help='utilization above which the link is full', unit='ratio'), Threshold(name='readings', default=3.0, help='consecutive samples that must show it')),
            covers=(Covers(family=StorageClient, subject='{interface}'),),
            view='network',
            advice='Use a faster link, or a second one with the clients spread over both.',
        ),
    },
    "sdstop.rules.network.link_saturated": {
        "LINK_SATURATED": Rule(
            id='link-saturated',
            says='network link near its line rate in one direction',
            worst=Severity.WARNING,
            check=later("sdstop.rules.network.link_saturated", "LINK_SATURATED.check"),
            needs=(Interface, InterfaceActivity),
            thresholds=(Threshold(name='share', default=0.85, help='utilization above which the link is saturated (on-wire frame size)', unit='ratio'), Threshold(name='readings', default=3.0, help='consecutive samples that must show it')),
            covers=(Covers(family=Interface, where=later("sdstop.analysis.network.line", "has_line", "sdstop.rules.network.link_saturated", "LINK_SATURATED.covers[0].where")),),
            explains=('frames-dropped', 'rebuild-slow', 'volume-below-promise'),
            many='are saturated',
            view='network',
            advice='Spread the traffic over more links, or move clients to another port.',
        ),
    },
    "sdstop.rules.network.storage_retransmits": {
        "STORAGE_RETRANSMITS": Rule(
            id='storage-retransmits',
            says='TCP segments to storage that are sent again',
            worst=Severity.WARNING,
            check=later("sdstop.rules.network.storage_retransmits", "STORAGE_RETRANSMITS.check"),
            needs=(StoragePeer,),
            thresholds=(Threshold(name='share', default=0.005, help='share of segments sent again', unit='ratio'), Threshold(name='segments', default=1000.0, help='segments needed to judge')),
            covers=(Covers(family=StoragePeer, subject='{peer}/{service}'),),
            explains=('slow-device', 'slow-stripe-member', 'osd-slow', 'nfs-slow', 'nfs-timeouts'),
            many='lose segments',
            view='network',
            advice='Look for drops along the path: interface, bond, switch, peer.',
        ),
    },
    "sdstop.rules.filesystems.nfs_timeouts": {
        "NFS_TIMEOUTS": Rule(
            id='nfs-timeouts',
            says='NFS requests that got no answer in time',
            worst=Severity.WARNING,
            check=later("sdstop.rules.filesystems.nfs_timeouts", "NFS_TIMEOUTS.check"),
            needs=(NfsMount,),
            thresholds=(Threshold(name='again', default=3.0, help='requests sent again'), Threshold(name='share', default=0.005, help='share of requests sent again', unit='ratio')),
            covers=(Covers(family=NfsMount),),
            many='lack answers',
            view='network',
            advice='Check the server, then the network for loss and lost connections.',
        ),
    },
    "sdstop.rules.filesystems.nfs_slow": {
        "NFS_SLOW": Rule(
            id='nfs-slow',
            says='NFS mounts whose requests take far longer than before, under no more load',
            worst=Severity.WARNING,
            check=later("sdstop.rules.filesystems.nfs_slow", "NFS_SLOW.check"),
            needs=(NfsMount,),
            thresholds=(Threshold(name='wait', default=0.01, help='time of a request', unit='seconds'), Threshold(name='bad', default=0.1, help='time of a request that is a warning', unit='seconds'), Threshold(name='times', default=5.0, help='time as a multiple of the time before; for a warning twice this')),
            covers=(Covers(family=NfsMount),),
            many='answer slowly',
            view='network',
            advice='Check disks and load of the server, then the network for loss.',
        ),
    },
    "sdstop.rules.network.pause_frames": {
        "PAUSE_FRAMES": Rule(id='pause-frames', says='network interface that is paused by its switch, or pauses it', worst=Severity.WARNING, check=later("sdstop.rules.network.pause_frames", "PAUSE_FRAMES.check"), needs=(PauseFrames,), thresholds=(Threshold(name='rate', default=100.0, help='pause frames per second in one direction', unit='per_second'),), many='are paused', view='network', advice='Find the receiver that is too slow behind the switch.'),
    },
    "sdstop.rules.fabric.phy_errors": {
        "PHY_ERRORS": Rule(
            id='phy-errors',
            says='SAS link with invalid dwords, loss of sync or failed resets',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.fabric.phy_errors", "PHY_ERRORS.check"),
            needs=(SasPhy,),
            thresholds=(
                Threshold(name='per_hour', default=43.0, help='invalid dwords per hour (43 is the SAS error limit at 12 Gbit/s)'),
                Threshold(name='count', default=10.0, help='minimum invalid dwords between two samples'),
                Threshold(name='critical_per_hour', default=1000.0, help='invalid dwords per hour that are critical'),
                Threshold(name='lost', default=1.0, help='losses of sync and failed resets between two samples'),
                Threshold(name='changes', default=3.0, help='expander link changes between two samples with an equal number of links'),
                Threshold(name='changes_per_hour', default=6.0, help='expander link changes per hour'),
                Threshold(name='total', default=1000000.0, help='errors on one phy that warrant a warning at the first sample'),
            ),
            explains=('device-hung', 'slow-device', 'slow-stripe-member', 'rebuild-slow', 'device-saturated'),
            many='have link errors',
            damage=Damage.AVAILABILITY,
            view='fabric',
            advice='Compare the counters in an hour; replace the cable of growing ones.',
        ),
    },
    "sdstop.rules.fabric.storage_port_errors": {
        "STORAGE_PORT_ERRORS": Rule(
            id='storage-port-errors',
            says='Fibre Channel or RDMA port that lost its link, is slow, gets damaged frames or repeats requests',
            worst=Severity.WARNING,
            check=later("sdstop.rules.fabric.storage_port_errors", "STORAGE_PORT_ERRORS.check"),
            needs=(FcPort,),
            thresholds=(Threshold(name='damaged', default=10.0, help='new damaged frames or words within an hour'), Threshold(name='lost', default=2.0, help='new losses of the link within an hour'), Threshold(name='repeated', default=1.0, help='repeated RDMA requests per second', unit='per_second')),
            instead=(RdmaPort,),
            covers=(Covers(family=FcPort, subject='{port}'), Covers(family=RdmaPort, subject='{adapter}/{number}')),
            many='have link errors',
            damage=Damage.AVAILABILITY,
            view='fabric',
            advice='Clean or replace the cable and its modules, both ends.',
        ),
    },
    "sdstop.rules.fabric.pcie_degraded": {
        "PCIE_DEGRADED": Rule(
            id='pcie-degraded',
            says='PCIe link of an HBA, NVMe drive or network card below the capability of both ends',
            worst=Severity.WARNING,
            check=later("sdstop.rules.fabric.pcie_degraded", "PCIE_DEGRADED.check"),
            needs=(Hba,),
            thresholds=(Threshold(name='load', default=10000000.0, help='throughput above which a link is not idle', unit='bytes_per_second'),),
            instead=(PcieFunction,),
            covers=(Covers(family=Hba, where=later("sdstop.rules.fabric.pcie_degraded", "PCIE_DEGRADED.covers[0].where")), Covers(family=PcieFunction, where=later("sdstop.rules.fabric.pcie_degraded", "PCIE_DEGRADED.covers[1].where"))),
            explains=('hba-oversubscribed', 'link-saturated'),
            many='have degraded PCIe links',
            standing=True,
            view='fabric',
            advice='Reseat the card or try another slot.',
        ),
    },
    "sdstop.rules.fabric.pcie_errors": {
        "PCIE_ERRORS": Rule(
            id='pcie-errors',
            says='errors of the PCIe links of storage and network that grow',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.fabric.pcie_errors", "PCIE_ERRORS.check"),
            needs=(PcieFunction,),
            thresholds=(Threshold(name='corrected', default=20.0, help='new corrected errors of a function within an hour'),),
            covers=(Covers(family=PcieFunction, where=later("sdstop.rules.fabric.pcie_errors", "PCIE_ERRORS.covers[0].where")),),
            explains=('device-hung', 'slow-device', 'slow-stripe-member', 'disk-offline', 'kernel-io-errors', 'frames-dropped'),
            many='have PCIe errors',
            damage=Damage.AVAILABILITY,
            view='fabric',
            advice='Reseat the card, then try another slot; check riser and cable.',
        ),
    },
    "sdstop.rules.fabric.hba_oversubscribed": {
        "HBA_OVERSUBSCRIBED": Rule(
            id='hba-oversubscribed',
            says='disks behind an HBA that could exceed its link bandwidth',
            worst=Severity.WARNING,
            check=later("sdstop.rules.fabric.hba_oversubscribed", "HBA_OVERSUBSCRIBED.check"),
            needs=(Hba, DiskPath, BlockDevice),
            thresholds=(
                Threshold(name='share', default=1.0, help='rate of all disks, of the links', unit='ratio'),
                Threshold(name='severe', default=2.0, help='rate of the rotating disks, of the links, that is a warning', unit='ratio'),
                Threshold(name='full', default=0.8, help='use of the links that is a warning', unit='ratio'),
                Threshold(name='disk_rate', default=265000000.0, help='rate of a rotating disk on its outer tracks', unit='bytes_per_second'),
                Threshold(name='flash_rate', default=530000000.0, help='rate of a flash drive (SATA)', unit='bytes_per_second'),
                Threshold(name='efficiency', default=0.85, help='payload share of a PCI Express link', unit='ratio'),
            ),
            either=3,
            covers=(Covers(family=Hba),),
            view='fabric',
            advice='Spread the disks over more HBAs (zoning, enclosure cabling).',
        ),
    },
    "sdstop.rules.fabric.hba_unbalanced": {
        "HBA_UNBALANCED": Rule(
            id='hba-unbalanced',
            says='one of several identical HBAs with far more disks than the others',
            worst=Severity.WARNING,
            check=later("sdstop.rules.fabric.hba_unbalanced", "HBA_UNBALANCED.check"),
            needs=(Hba, DiskPath),
            thresholds=(Threshold(name='times', default=1.3, help='disks on the fullest HBA, times the mean', unit='ratio'), Threshold(name='disks', default=8.0, help='minimum number of disks of one model')),
            either=2,
            covers=(Covers(family=Hba),),
            standing=True,
            view='fabric',
            advice='Spread the disks over the HBAs (expander zoning, enclosure cabling).',
        ),
    },
    "sdstop.rules.fabric.numa_remote_hba": {
        "NUMA_REMOTE_HBA": Rule(
            id='numa-remote-hba',
            says='all disks attached to one of several NUMA nodes, or HBA interrupts on another node',
            worst=Severity.WARNING,
            check=later("sdstop.rules.fabric.numa_remote_hba", "NUMA_REMOTE_HBA.check"),
            needs=(NumaNode, Hba, DiskPath),
            thresholds=(Threshold(name='share', default=0.9, help='share of the disks on one node', unit='ratio'), Threshold(name='far', default=0.5, help="share of an HBA's interrupts on other nodes", unit='ratio')),
            either=3,
            covers=(Covers(family=Hba, subject='node{node}'),),
            standing=True,
            view='fabric',
            advice='Move HBAs to slots of the node that has the memory (see the board manual).',
        ),
    },
    "sdstop.rules.memory.dimm_too_few_channels": {
        "DIMM_TOO_FEW_CHANNELS": Rule(
            id='dimm-too-few-channels',
            says='memory channels without a module, and the bandwidth lost',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.memory.dimm_too_few_channels", "DIMM_TOO_FEW_CHANNELS.check"),
            needs=(MemorySocket, Dimm),
            thresholds=(Threshold(name='share', default=0.5, help='share of used channels below which it is a warning', unit='ratio'), Threshold(name='disks', default=8.0, help='minimum number of disks to estimate the rebuild bandwidth'), Threshold(name='passes', default=3.0, help='times that each byte of a rebuild crosses memory (HBA, checksum, parity)'), Threshold(name='achievable', default=0.75, help='achievable share of peak bandwidth (STREAM: 0.72-0.80)', unit='ratio')),
            either=2,
            covers=(Covers(family=MemorySocket, subject='memory'), Covers(family=Dimm, subject='memory')),
            standing=True,
            view='host',
            advice='Fill all channels of each socket with modules of the same type.',
        ),
    },
    "sdstop.rules.memory.dimm_unequal_sockets": {
        "DIMM_UNEQUAL_SOCKETS": Rule(
            id='dimm-unequal-sockets',
            says='processor sockets with different memory',
            worst=Severity.WARNING,
            check=later("sdstop.rules.memory.dimm_unequal_sockets", "DIMM_UNEQUAL_SOCKETS.check"),
            needs=(MemorySocket, Dimm),
            thresholds=(Threshold(name='lack', default=0.1, help="share of the largest socket's memory that another lacks, with an equal number of modules", unit='ratio'),),
            either=2,
            covers=(Covers(family=MemorySocket, subject='memory'), Covers(family=Dimm, subject='memory')),
            standing=True,
            view='host',
            advice='Populate every socket alike.',
        ),
    },
    "sdstop.rules.memory.dimm_below_rated_speed": {
        "DIMM_BELOW_RATED_SPEED": Rule(
            id='dimm-below-rated-speed',
            says='memory configured below the rated speed of modules and processor',
            worst=Severity.WARNING,
            check=later("sdstop.rules.memory.dimm_below_rated_speed", "DIMM_BELOW_RATED_SPEED.check"),
            needs=(MemorySocket, Dimm),
            thresholds=(Threshold(name='tolerance', default=0.005, help='rounding tolerance (2666 = 2667)', unit='ratio'),),
            either=2,
            covers=(Covers(family=MemorySocket, subject='memory'), Covers(family=Dimm, subject='memory')),
            standing=True,
            view='host',
            advice='Check memory speed and power profile in the firmware setup.',
        ),
    },
    "sdstop.rules.memory.dimm_mixed": {
        "DIMM_MIXED": Rule(id='dimm-mixed', says='memory modules of different size, type or rated speed', worst=Severity.INFO, check=later("sdstop.rules.memory.dimm_mixed", "DIMM_MIXED.check"), needs=(Dimm, MemorySocket), thresholds=(Threshold(name='tolerance', default=0.005, help='rounding tolerance (2666 = 2667)', unit='ratio'),), covers=(Covers(family=MemorySocket, subject='memory'),), standing=True, view='host', advice='Give each channel of each socket the same modules.'),
    },
    "sdstop.rules.limits.volume_qos_saturated": {
        "VOLUME_QOS_SATURATED": Rule(
            id='volume-qos-saturated',
            says='volume that uses its whole I/O limit, so requests wait for the limit',
            worst=Severity.WARNING,
            check=later("sdstop.rules.limits.volume_qos_saturated", "VOLUME_QOS_SATURATED.check"),
            needs=(Limit,),
            thresholds=(Threshold(name='share', default=0.95, help='use of the limit in samples at the limit', unit='ratio'), Threshold(name='time', default=0.6, help='share of samples at the limit', unit='ratio'), Threshold(name='readings', default=3.0, help='minimum number of samples'), Threshold(name='stalled', default=0.1, help='share of time in which a task waits for I/O that proves waiting', unit='ratio'), Threshold(name='queue', default=2.0, help='outstanding requests that prove waiting')),
            covers=(Covers(family=Limit, subject='{subject}', where=later("sdstop.rules.limits.volume_qos_saturated", "VOLUME_QOS_SATURATED.covers[0].where")),),
            many='are at their I/O limits',
            view='volumes',
            advice='Raise the limit, or reduce the load: the disks are not the cause.',
        ),
    },
    "sdstop.rules.limits.volume_below_promise": {
        "VOLUME_BELOW_PROMISE": Rule(
            id='volume-below-promise',
            says='volume below the rate its limit promises, although it asks for more',
            worst=Severity.WARNING,
            check=later("sdstop.rules.limits.volume_below_promise", "VOLUME_BELOW_PROMISE.check"),
            needs=(Limit,),
            thresholds=(Threshold(name='share', default=0.8, help='use of the promised rate below which the promise is broken', unit='ratio'), Threshold(name='queue', default=4.0, help='minimum requests outstanding that prove demand'), Threshold(name='readings', default=3.0, help='minimum number of samples'), Threshold(name='iops', default=0.0, help='promised IOPS (0: the limit)', unit='per_second')),
            covers=(Covers(family=Limit, subject='{subject}', where=later("sdstop.rules.limits.volume_below_promise", "VOLUME_BELOW_PROMISE.covers[0].where")),),
            view='volumes',
            advice='Check the storage below: slow members, rebuilds, saturated links.',
        ),
    },
    "sdstop.rules.limits.qos_multiplied": {
        "QOS_MULTIPLIED": Rule(
            id='qos-multiplied',
            says='I/O limit that applies per mapping, so several clients together exceed it',
            worst=Severity.WARNING,
            check=later("sdstop.rules.limits.qos_multiplied", "QOS_MULTIPLIED.check"),
            needs=(Limit,),
            thresholds=(Threshold(name='mappings', default=2.0, help='minimum number of mappings with a limit'), Threshold(name='over', default=0.05, help='excess over one limit that warrants a warning', unit='ratio')),
            covers=(Covers(family=Limit, subject='vol:{volume}', where=later("sdstop.rules.limits.qos_multiplied", "QOS_MULTIPLIED.covers[0].where")),),
            standing=True,
            view='volumes',
            advice='Divide the limit by the number of concurrent clients.',
        ),
    },
    "sdstop.rules.limits.qos_partial": {
        "QOS_PARTIAL": Rule(
            id='qos-partial',
            says='I/O limit enforced for some mappings of a volume only',
            worst=Severity.WARNING,
            check=later("sdstop.rules.limits.qos_partial", "QOS_PARTIAL.check"),
            needs=(Limit,),
            thresholds=(Threshold(name='mappings', default=1.0, help='minimum number of mappings without a limit'),),
            covers=(Covers(family=Limit, subject='vol:{volume}', where=later("sdstop.rules.limits.qos_partial", "QOS_PARTIAL.covers[0].where")),),
            standing=True,
            view='volumes',
            advice='Set the limit on every mapping, and again for each new mapping.',
        ),
    },
    "sdstop.rules.limits.service_limited": {
        "SERVICE_LIMITED": Rule(
            id='service-limited',
            says='storage service at the limits of its control group',
            worst=Severity.WARNING,
            check=later("sdstop.rules.limits.service_limited", "SERVICE_LIMITED.check"),
            needs=(ServiceGroup,),
            thresholds=(
                Threshold(name='throttled', default=0.25, help='share of periods in which the CPU quota was used up', unit='ratio'),
                Threshold(name='periods', default=1.0, help='minimum of such periods: a program seldom active waits little', unit='per_second'),
                Threshold(name='stalled', default=0.4, help='share of time with a task waiting for memory', unit='ratio'),
                Threshold(name='seconds', default=15.0, help='minimum time measured', unit='seconds'),
                Threshold(name='span', default=60.0, help='maximum time measured', unit='seconds'),
            ),
            covers=(),
            explains=('slow-device', 'osd-slow', 'osd-down', 'ceph-daemon-down'),
            view='host',
            advice='Raise the limit of the unit, or move work to another node.',
        ),
    },
    "sdstop.rules.ceph.ceph_daemon_down": {
        "CEPH_DAEMON_DOWN": Rule(id='ceph-daemon-down', says='Ceph daemon with data on this node that does not run', worst=Severity.WARNING, check=later("sdstop.rules.ceph.ceph_daemon_down", "CEPH_DAEMON_DOWN.check"), needs=(CephDaemon,), covers=(Covers(family=CephDaemon, subject='{cluster}/{node}/{daemon}'),), explains=('osd-down',), many='do not run', damage=Damage.REDUNDANCY, view='cluster', advice='Find out why the daemon ended, then start it.'),
    },
    "sdstop.rules.ceph.osd_down": {
        "OSD_DOWN": Rule(id='osd-down', says='OSD of Ceph that is down', worst=Severity.WARNING, check=later("sdstop.rules.ceph.osd_down", "OSD_DOWN.check"), needs=(ClusterDevice,), covers=(Covers(family=ClusterDevice, subject='{cluster}/{node}/{device}', where=later("sdstop.analysis.clusters.osd", "is_osd", "sdstop.rules.ceph.osd_down", "OSD_DOWN.covers[0].where")),), many='are down', damage=Damage.REDUNDANCY, view='cluster', advice='Find out why the OSD is down, then start or replace it.'),
    },
    "sdstop.rules.ceph.osd_slow": {
        "OSD_SLOW": Rule(
            id='osd-slow',
            says='OSD of Ceph that commits writes far more slowly than its peers',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.ceph.osd_slow", "OSD_SLOW.check"),
            needs=(ClusterDevice,),
            thresholds=(Threshold(name='times', default=10, help="commit latency that is slow, as a multiple of the peers' median"), Threshold(name='least', default=0.1, help='commit latency below which no OSD counts as slow', unit='seconds'), Threshold(name='critical', default=1.0, help='commit latency that is critical', unit='seconds')),
            covers=(Covers(family=ClusterDevice, subject='{cluster}/{node}/{device}', where=later("sdstop.rules.ceph.osd_slow", "OSD_SLOW.covers[0].where")),),
            explains=('slow-device', 'slow-stripe-member'),
            many='are slow',
            view='cluster',
            advice='Check the disk of the OSD; take a failing one out of the cluster.',
        ),
    },
    "sdstop.rules.ceph.ceph_health": {
        "CEPH_HEALTH": Rule(
            id='ceph-health',
            says='Ceph without quorum, and each health check by its effect; muted ones are marked',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.ceph.ceph_health", "CEPH_HEALTH.check"),
            needs=(Cluster, CephCheck),
            instead=(CephDaemon,),
            covers=(Covers(family=Cluster, where=later("sdstop.rules.ceph.ceph_health", "CEPH_HEALTH.covers[0].where")), Covers(family=CephCheck, subject='{cluster}/{code}')),
            explains=('mdm-no-redundancy',),
            damage=Damage.REDUNDANCY,
            view='cluster',
            advice='Run ceph health detail, and fix the reported thing itself.',
        ),
    },
    "sdstop.rules.clusters.split_brain": {
        "SPLIT_BRAIN": Rule(id='split-brain', says='DRBD sides that were written to separately and do not reconnect', worst=Severity.CRITICAL, check=later("sdstop.rules.clusters.split_brain", "SPLIT_BRAIN.check"), needs=(DrbdConnection,), damage=Damage.DATA, view='cluster', advice='Choose the side whose changes are discarded; save its data first.'),
    },
    "sdstop.rules.clusters.cluster_degraded": {
        "CLUSTER_DEGRADED": Rule(id='cluster-degraded', says='cluster with missing data copies, or nodes, devices or managers down', worst=Severity.CRITICAL, check=later("sdstop.rules.clusters.cluster_degraded", "CLUSTER_DEGRADED.check"), needs=(Cluster,), covers=(Covers(family=Cluster, where=later("sdstop.rules.clusters.cluster_degraded", "CLUSTER_DEGRADED.covers[0].where")),), remembers=True, damage=Damage.REDUNDANCY, view='cluster', advice='Do not touch other nodes or disks until all copies are restored.'),
    },
    "sdstop.rules.pacemaker.cluster_fencing": {
        "CLUSTER_FENCING": Rule(id='cluster-fencing', says='fencing of a Pacemaker cluster disabled, without a device, or failed', worst=Severity.WARNING, check=later("sdstop.rules.pacemaker.cluster_fencing", "CLUSTER_FENCING.check"), needs=(ClusterPolicy,), damage=Damage.HYGIENE, standing=True, view='cluster', advice='Configure a fence device and test it.'),
    },
    "sdstop.rules.pacemaker.cluster_not_running": {
        "CLUSTER_NOT_RUNNING": Rule(id='cluster-not-running', says='cluster manager configured on this node, and not running, only in part, or silent', worst=Severity.CRITICAL, check=later("sdstop.rules.pacemaker.cluster_not_running", "CLUSTER_NOT_RUNNING.check"), needs=(ClusterMembership,), instead=(ClusterPolicy,), damage=Damage.AVAILABILITY, view='cluster', advice='Check which resources still run on this node, then start it.'),
    },
    "sdstop.rules.pacemaker.cluster_resource_failed": {
        "CLUSTER_RESOURCE_FAILED": Rule(id='cluster-resource-failed', says='Pacemaker resource failed, blocked, running twice, or stopped although enabled', worst=Severity.CRITICAL, check=later("sdstop.rules.pacemaker.cluster_resource_failed", "CLUSTER_RESOURCE_FAILED.check"), needs=(ClusterResource,), covers=(Covers(family=ClusterResource, subject='{cluster}'),), damage=Damage.AVAILABILITY, view='cluster', advice='Fix the cause that the log names, then clean up the resource.'),
    },
    "sdstop.rules.pacemaker.cluster_link_down": {
        "CLUSTER_LINK_DOWN": Rule(id='cluster-link-down', says='Corosync link down to a node of the cluster', worst=Severity.WARNING, check=later("sdstop.rules.pacemaker.cluster_link_down", "CLUSTER_LINK_DOWN.check"), needs=(CorosyncLink,), covers=(Covers(family=CorosyncLink, subject='{cluster}/link{link}'),), damage=Damage.REDUNDANCY, view='cluster', advice='Check the network of this link: switch, cable, address, firewall.'),
    },
    "sdstop.rules.pacemaker.cluster_constraint_left": {
        "CLUSTER_CONSTRAINT_LEFT": Rule(id='cluster-constraint-left', says='bans left by moves by hand, and tickets that are not granted', worst=Severity.INFO, check=later("sdstop.rules.pacemaker.cluster_constraint_left", "CLUSTER_CONSTRAINT_LEFT.check"), needs=(ClusterConstraint,), covers=(Covers(family=ClusterConstraint, subject='{cluster}/{constraint}'),), damage=Damage.HYGIENE, standing=True, view='cluster', advice='Remove the constraint if the move is over.'),
    },
    "sdstop.rules.gluster.gluster_split_brain": {
        "GLUSTER_SPLIT_BRAIN": Rule(id='gluster-split-brain', says='GlusterFS files in split brain', worst=Severity.CRITICAL, check=later("sdstop.rules.gluster.gluster_split_brain", "GLUSTER_SPLIT_BRAIN.check"), needs=(GlusterHeal,), damage=Damage.DATA, view='cluster', advice='Compare and save both copies first: the one not chosen is overwritten.'),
    },
    "sdstop.rules.gluster.gluster_volume_degraded": {
        "GLUSTER_VOLUME_DEGRADED": Rule(id='gluster-volume-degraded', says='GlusterFS volume with bricks offline', worst=Severity.CRITICAL, check=later("sdstop.rules.gluster.gluster_volume_degraded", "GLUSTER_VOLUME_DEGRADED.check"), needs=(GlusterVolume,), remembers=True, damage=Damage.REDUNDANCY, view='cluster', advice='Check the disk and file system of the brick before you start it again.'),
    },
    "sdstop.rules.gluster.gluster_heal_pending": {
        "GLUSTER_HEAL_PENDING": Rule(id='gluster-heal-pending', says='GlusterFS entries to heal, and self-heal daemons that do not heal', worst=Severity.WARNING, check=later("sdstop.rules.gluster.gluster_heal_pending", "GLUSTER_HEAL_PENDING.check"), needs=(GlusterHeal,), thresholds=(Threshold(name='entries', default=100, help='entries to heal above which a lack of progress is a warning'),), damage=Damage.REDUNDANCY, view='cluster', advice='Let healing end before another brick or server is taken down.'),
    },
    "sdstop.rules.clusters.mdm_no_redundancy": {
        "MDM_NO_REDUNDANCY": Rule(id='mdm-no-redundancy', says='cluster managers (MDM, monitor) without redundancy', worst=Severity.CRITICAL, check=later("sdstop.rules.clusters.mdm_no_redundancy", "MDM_NO_REDUNDANCY.check"), needs=(Cluster,), covers=(Covers(family=Cluster, where=later("sdstop.rules.clusters.mdm_no_redundancy", "MDM_NO_REDUNDANCY.covers[0].where")),), damage=Damage.REDUNDANCY, view='cluster', advice='Restore the missing MDM: check its node and its service.'),
    },
    "sdstop.rules.powerflex.spare_below_fault_set": {
        "SPARE_BELOW_FAULT_SET": Rule(
            id='spare-below-fault-set',
            says='pool that cannot rebuild after losing its largest fault set, node, host or rack',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.powerflex.spare_below_fault_set", "SPARE_BELOW_FAULT_SET.check"),
            needs=(ClusterPool,),
            thresholds=(Threshold(name='slack', default=0.01, help='tolerated shortfall of the spare, of the largest failure domain', unit='ratio'), Threshold(name='near_full', default=0.85, help='use after the loss that is a warning; for clusters without a threshold', unit='ratio'), Threshold(name='full', default=0.95, help='use after the loss that is critical; for clusters without a threshold', unit='ratio')),
            damage=Damage.REDUNDANCY,
            standing=True,
            view='cluster',
            advice='Raise the spare, or equalize the failure domains.',
        ),
    },
    "sdstop.rules.space.capacity_near_full": {
        "CAPACITY_NEAR_FULL": Rule(
            id='capacity-near-full',
            says='cluster pool nearly full',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.space.capacity_near_full", "CAPACITY_NEAR_FULL.check"),
            needs=(ClusterPool,),
            thresholds=(Threshold(name='near_full', default=0.8, help='use that is a warning, for pools without a threshold', unit='ratio'), Threshold(name='full', default=0.9, help='use that is critical, for pools without a threshold', unit='ratio')),
            instead=(ClusterDevice,),
            damage=Damage.CAPACITY,
            view='cluster',
            advice='Delete unused volumes and snapshots, or add devices.',
        ),
    },
    "sdstop.rules.space.thin_pool_filling": {
        "THIN_POOL_FILLING": Rule(
            id='thin-pool-filling',
            says='thin pool (dm-thin, VDO) full, nearly full, read-only or failed',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.space.thin_pool_filling", "THIN_POOL_FILLING.check"),
            needs=(ThinPool,),
            thresholds=(Threshold(name='near_full', default=0.8, help='share of data or metadata in use, warning (dmeventd warns from it)', unit='ratio'), Threshold(name='full', default=0.95, help='share of data or metadata in use, critical', unit='ratio'), Threshold(name='soon', default=3600.0, help='time until a nearly full pool is full at its present rate, critical', unit='seconds')),
            instead=(ThinVolume, LogicalVolume),
            covers=(Covers(family=ThinPool, subject='{pool}'), Covers(family=LogicalVolume, where=later("sdstop.rules.space.thin_pool_filling", "THIN_POOL_FILLING.covers[1].where"))),
            explains=('device-hung', 'slow-device', 'slow-stripe-member', 'hot-stripe-member', 'stripe-convoy', 'rebuild-slow', 'rebuild-stalled', 'tasks-stuck', 'volume-qos-saturated', 'volume-below-promise', 'io-stalled', 'kernel-io-errors'),
            damage=Damage.CAPACITY,
            view='volumes',
            advice='Grow the pool now; deleting files helps only after a discard.',
        ),
    },
    "sdstop.rules.space.snapshot_filling": {
        "SNAPSHOT_FILLING": Rule(
            id='snapshot-filling',
            says='copy-on-write snapshot nearly full, or lost because its space is exhausted',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.space.snapshot_filling", "SNAPSHOT_FILLING.check"),
            needs=(VolumeSnapshot,),
            thresholds=(Threshold(name='near_full', default=0.8, help='share of its space in use, warning (dmeventd warns from it)', unit='ratio'), Threshold(name='full', default=0.95, help='share of its space in use, critical', unit='ratio'), Threshold(name='soon', default=3600.0, help='time until a nearly full snapshot is full at its present rate', unit='seconds')),
            covers=(Covers(family=VolumeSnapshot, subject='{snapshot}'),),
            explains=('kernel-io-errors',),
            damage=Damage.CAPACITY,
            view='volumes',
            advice='Extend the snapshot, or remove it if it is not needed any more.',
        ),
    },
    "sdstop.rules.filesystems.filesystem_full": {
        "FILESYSTEM_FULL": Rule(
            id='filesystem-full',
            says='local file system out of space or inodes, or nearly',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.filesystems.filesystem_full", "FILESYSTEM_FULL.check"),
            needs=(FilesystemSpace,),
            thresholds=(
                Threshold(name='near_full', default=0.9, help='share of the space or inodes in use, warning', unit='ratio'),
                Threshold(name='full', default=0.97, help='share of the space or inodes in use, critical', unit='ratio'),
                Threshold(name='roomy', default=1099511627776.0, help='available space that is enough at any share', unit='bytes'),
                Threshold(name='scarce', default=53687091200.0, help='available space below which a full share is critical', unit='bytes'),
                Threshold(name='soon', default=600.0, help='time until a nearly full one is full at its present rate, critical', unit='seconds'),
            ),
            covers=(Covers(family=FilesystemSpace, where=later("sdstop.rules.filesystems.filesystem_full", "FILESYSTEM_FULL.covers[0].where")),),
            damage=Damage.CAPACITY,
            view='volumes',
            advice='Find the largest directories; deleted files that are open count too.',
        ),
    },
    "sdstop.rules.filesystems.quota_exhausted": {
        "QUOTA_EXHAUSTED": Rule(id='quota-exhausted', says='user, group or project quota at its limit', worst=Severity.WARNING, check=later("sdstop.rules.filesystems.quota_exhausted", "QUOTA_EXHAUSTED.check"), needs=(Quotas,), covers=(Covers(family=Quotas),), damage=Damage.CAPACITY, view='volumes', advice='Free space of the owner, or raise the limit.'),
    },
    "sdstop.rules.disks.discard_unaligned": {
        "DISCARD_UNALIGNED": Rule(id='discard-unaligned', says='discards that are not multiples of the unit in which the device frees space', worst=Severity.WARNING, check=later("sdstop.rules.disks.discard_unaligned", "DISCARD_UNALIGNED.check"), needs=(Disk, BlockDevice), thresholds=(Threshold(name='discards', default=100.0, help='discards needed to judge'),), covers=(), damage=Damage.CAPACITY, view='disks', advice='Discard by fstrim from time to time, which joins free ranges.'),
    },
    "sdstop.rules.rebuilds.scrub_overdue": {
        "SCRUB_OVERDUE": Rule(
            id='scrub-overdue',
            says='ZFS pool, btrfs, md array or Ceph cluster whose data was not compared for long',
            worst=Severity.WARNING,
            check=later("sdstop.rules.rebuilds.scrub_overdue", "SCRUB_OVERDUE.check"),
            needs=(Pool,),
            thresholds=(Threshold(name='days', default=45.0, help='days since the last complete scrub of ZFS or btrfs, or of uptime without a check of md'),),
            instead=(BtrfsScrub, Array, CephCheck),
            covers=(Covers(family=Pool), Covers(family=BtrfsScrub, subject='{name}'), Covers(family=Array, where=later("sdstop.rules.rebuilds.scrub_overdue", "SCRUB_OVERDUE.covers[2].where"))),
            damage=Damage.HYGIENE,
            standing=True,
            view='disks',
            advice='Scrub the pool; it reads all data at low priority.',
        ),
    },
    "sdstop.rules.zfs.zfs_small_blocks": {
        "ZFS_SMALL_BLOCKS": Rule(id='zfs-small-blocks', says='ZFS vdev with blocks below the sector size of its medium (ashift)', worst=Severity.WARNING, check=later("sdstop.rules.zfs.zfs_small_blocks", "ZFS_SMALL_BLOCKS.check"), needs=(Vdev,), covers=(Covers(family=Vdev, subject='{pool}'),), standing=True, view='disks', advice='Plan to make the vdev again: its ashift cannot be changed.'),
    },
    "sdstop.rules.zfs.zfs_failmode": {
        "ZFS_FAILMODE": Rule(id='zfs-failmode', says='ZFS pool whose failure returns errors or stops the node', worst=Severity.INFO, check=later("sdstop.rules.zfs.zfs_failmode", "ZFS_FAILMODE.check"), needs=(PoolSettings,), damage=Damage.AVAILABILITY, standing=True, view='disks', advice='Let requests wait for the devices, unless a cluster manager takes over.'),
    },
    "sdstop.rules.zfs.zfs_checkpoint_left": {
        "ZFS_CHECKPOINT_LEFT": Rule(
            id='zfs-checkpoint-left',
            says='checkpoint of a ZFS pool that was not discarded',
            worst=Severity.WARNING,
            check=later("sdstop.rules.zfs.zfs_checkpoint_left", "ZFS_CHECKPOINT_LEFT.check"),
            needs=(Pool,),
            thresholds=(Threshold(name='days', default=3.0, help='age above which it is forgotten'), Threshold(name='share', default=0.05, help='share of the pool that it holds', unit='ratio')),
            covers=(Covers(family=Pool),),
            damage=Damage.CAPACITY,
            standing=True,
            view='disks',
            advice='Discard the checkpoint if the pool need not be rewound.',
        ),
    },
    "sdstop.rules.paths.unstable_device_path": {
        "UNSTABLE_DEVICE_PATH": Rule(id='unstable-device-path', says='devices configured by kernel names (/dev/sdX) that can change at boot', worst=Severity.CRITICAL, check=later("sdstop.rules.paths.unstable_device_path", "UNSTABLE_DEVICE_PATH.check"), needs=(DevicePath,), covers=(Covers(family=DevicePath, subject='{holder}'),), damage=Damage.AVAILABILITY, standing=True, view='disks', advice='Add devices again by /dev/disk/by-path, one by one, all copies healthy.'),
    },
    "sdstop.rules.powerflex.zero_padding_off": {
        "ZERO_PADDING_OFF": Rule(id='zero-padding-off', says='ScaleIO pool without zero padding', worst=Severity.WARNING, check=later("sdstop.rules.powerflex.zero_padding_off", "ZERO_PADDING_OFF.check"), needs=(ScaleioPool,), damage=Damage.DATA, standing=True, view='cluster', advice='Create a new pool with zero padding and move the volumes to it.'),
    },
    "sdstop.rules.powerflex.rmcache_on_flash": {
        "RMCACHE_ON_FLASH": Rule(id='rmcache-on-flash', says='ScaleIO RAM read cache enabled on flash', worst=Severity.WARNING, check=later("sdstop.rules.powerflex.rmcache_on_flash", "RMCACHE_ON_FLASH.check"), needs=(ScaleioPool,), standing=True, view='cluster', advice='Switch the RAM read cache off for this pool.'),
    },
    "sdstop.rules.clusters.scaling_poor": {
        "SCALING_POOR": Rule(
            id='scaling-poor',
            says='cluster that gives several clients little more than one',
            worst=Severity.WARNING,
            check=later("sdstop.rules.clusters.scaling_poor", "SCALING_POOR.check"),
            needs=(Cluster, ClusterClient),
            thresholds=(Threshold(name='efficiency', default=0.5, help='minimum scaling efficiency', unit='ratio'), Threshold(name='worth', default=1000.0, help='minimum IOPS of the busiest client', unit='per_second'), Threshold(name='queue', default=0.5, help='minimum outstanding requests of each, of those of one client', unit='ratio'), Threshold(name='readings', default=3.0, help='minimum number of samples, of one client and of several')),
            after=frozenset({'device-saturated', 'hba-oversubscribed', 'link-oversubscribed', 'link-saturated', 'rmcache-on-flash', 'volume-qos-saturated'}),
            view='volumes',
            advice='Find the saturated resource (CPU, NIC, devices) on each node.',
        ),
    },
    "sdstop.rules.memory.numa_imbalance": {
        "NUMA_IMBALANCE": Rule(
            id='numa-imbalance',
            says='NUMA node without memory, out of memory, or serving remote tasks',
            worst=Severity.WARNING,
            check=later("sdstop.rules.memory.numa_imbalance", "NUMA_IMBALANCE.check"),
            needs=(NumaNode,),
            thresholds=(
                Threshold(name='times', default=1.5, help='memory of the largest node, times that of the smallest', unit='ratio'),
                Threshold(name='foreign', default=0.1, help='share of the pages meant for a node that others provide', unit='ratio'),
                Threshold(name='remote', default=0.2, help="share of a node's pages for tasks on other nodes", unit='ratio'),
                Threshold(name='pages', default=1000.0, help='minimum page allocations per second', unit='per_second'),
                Threshold(name='readings', default=2.0, help='consecutive samples that must show it'),
            ),
            covers=(Covers(family=NumaNode, subject='memory'), Covers(family=NumaNode)),
            standing=True,
            view='host',
            advice='Populate the memory slots of that processor (order: board manual).',
        ),
    },
    "sdstop.rules.memory.memory_errors": {
        "MEMORY_ERRORS": Rule(
            id='memory-errors',
            says='memory with uncorrected or recurring corrected errors, or out of use after errors',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.memory.memory_errors", "MEMORY_ERRORS.check"),
            needs=(MemoryController, MemoryErrors),
            thresholds=(
                Threshold(name='count', default=10.0, help='minimum corrected errors in total'),
                Threshold(name='total', default=1000.0, help='corrected errors that are too many where their time is unknown'),
                Threshold(name='per_day', default=10.0, help='corrected errors per day (mcelog default per DIMM)'),
                Threshold(name='expected', default=3.0, help='expected errors that failed to occur before old errors are dismissed'),
                Threshold(name='storm', default=100.0, help='minimum corrected errors between two samples that are critical'),
                Threshold(name='critical_per_hour', default=1000.0, help='corrected errors per hour that are critical'),
            ),
            instead=(Node,),
            many='have memory errors',
            damage=Damage.AVAILABILITY,
            view='host',
            advice='Replace the module; errors that stay afterwards mean the slot.',
        ),
    },
    "sdstop.rules.memory.memory_missing": {
        "MEMORY_MISSING": Rule(
            id='memory-missing',
            says='less memory than the modules have, as of a module that the firmware left out',
            worst=Severity.WARNING,
            check=later("sdstop.rules.memory.memory_missing", "MEMORY_MISSING.check"),
            needs=(MemorySocket, Dimm, Node),
            thresholds=(Threshold(name='share', default=0.94, help="share of the modules' memory below which some is missing", unit='ratio'),),
            covers=(Covers(family=MemorySocket, subject='memory'),),
            damage=Damage.CAPACITY,
            standing=True,
            view='host',
            advice='Look for a memory module that the firmware left out after errors.',
        ),
    },
    "sdstop.rules.memory.memory_saturated": {
        "MEMORY_SATURATED": Rule(
            id='memory-saturated',
            says='measured memory traffic close to the peak of the modules, or across sockets',
            worst=Severity.WARNING,
            check=later("sdstop.rules.memory.memory_saturated", "MEMORY_SATURATED.check"),
            needs=(MemoryTraffic,),
            thresholds=(Threshold(name='share', default=0.7, help='share of the computed peak (STREAM reaches 0.72-0.80)', unit='ratio'), Threshold(name='remote', default=0.5, help='share of the traffic to another NUMA node', unit='ratio'), Threshold(name='busy', default=0.2, help='share of the peak above which remote traffic is reported', unit='ratio'), Threshold(name='seconds', default=10.0, help='minimum time of measurement', unit='seconds')),
            covers=(Covers(family=MemoryTraffic, subject='memory'),),
            explains=('rebuild-slow',),
            view='host',
            advice='Find the programs that move the most memory, and pin them to one node.',
        ),
    },
    "sdstop.rules.memory.memory_short": {
        "MEMORY_SHORT": Rule(
            id='memory-short',
            says='programs that wait for memory: swapping, cached pages read repeatedly; no memory available',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.memory.memory_short", "MEMORY_SHORT.check"),
            needs=(Node,),
            thresholds=(
                Threshold(name='some', default=0.4, help='share of time with a task waiting for memory (PSI some)', unit='ratio'),
                Threshold(name='full', default=0.6, help='share of time with all tasks waiting for memory, critical (PSI full)', unit='ratio'),
                Threshold(name='pages', default=100.0, help='pages read back from swap, with tasks waiting for I/O', unit='per_second'),
                Threshold(name='available', default=0.01, help='share of memory available, and less than 256 MiB, that is too little', unit='ratio'),
                Threshold(name='seconds', default=20.0, help='time over which shares and rates are measured', unit='seconds'),
            ),
            covers=(),
            view='host',
            advice='Limit or stop the programs that need the memory, or add memory.',
        ),
    },
    "sdstop.rules.system.clock_stepped": {
        "CLOCK_STEPPED": Rule(id='clock-stepped', says='clock of the node set while it was watched', worst=Severity.INFO, check=later("sdstop.rules.system.clock_stepped", "CLOCK_STEPPED.check"), needs=(Node,), thresholds=(Threshold(name='step', default=2.0, help='minimum step of the clock', unit='seconds'),), covers=(), damage=Damage.HYGIENE, view='host', advice='Find out what set the clock, and let one service keep it.'),
    },
    "sdstop.rules.system.cpu_stolen": {
        "CPU_STOLEN": Rule(
            id='cpu-stolen',
            says='processor time that the hypervisor gives to others while programs want it',
            worst=Severity.WARNING,
            check=later("sdstop.rules.system.cpu_stolen", "CPU_STOLEN.check"),
            needs=(Cpu,),
            thresholds=(Threshold(name='share', default=0.25, help='share of the wanted processor time that was stolen', unit='ratio'), Threshold(name='processors', default=0.2, help='processors stolen, below which it does not matter'), Threshold(name='printed', default=0.05, help='share of all processor time stolen, where a tool prints it', unit='ratio'), Threshold(name='seconds', default=20.0, help='time over which it is measured', unit='seconds')),
            instead=(CpuReport,),
            covers=(),
            view='host',
            advice='Move guests to another host, or reserve processors for this one.',
        ),
    },
    "sdstop.rules.system.cpu_saturated": {
        "CPU_SATURATED": Rule(
            id='cpu-saturated',
            says='processor that interrupts fill while others are idle; all processors busy',
            worst=Severity.WARNING,
            check=later("sdstop.rules.system.cpu_saturated", "CPU_SATURATED.check"),
            needs=(Cpu,),
            thresholds=(Threshold(name='interrupts', default=0.9, help="share of a processor's time in interrupts", unit='ratio'), Threshold(name='others', default=0.5, help='busy time of the other processors above which the load is even', unit='ratio'), Threshold(name='busy', default=0.95, help='share of time in which all processors are busy', unit='ratio'), Threshold(name='seconds', default=20.0, help='time over which it is measured', unit='seconds')),
            covers=(),
            explains=('frames-dropped',),
            view='host',
            advice='Spread the queues of the card over the processors.',
        ),
    },
    "sdstop.rules.system.tasks_stuck": {
        "TASKS_STUCK": Rule(
            id='tasks-stuck',
            says='tasks in D state that do not run, by the mount or device they wait for',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.system.tasks_stuck", "TASKS_STUCK.check"),
            needs=(BlockedTasks, BlockedTask, Node),
            thresholds=(Threshold(name='seconds', default=15.0, help='time in D state without a context switch', unit='seconds'), Threshold(name='tasks', default=2.0, help='tasks stuck in one place, critical')),
            covers=(),
            after=frozenset({'array-degraded', 'cache-full-of-dirty', 'cluster-degraded', 'cluster-manager-down', 'device-hung', 'device-saturated', 'filesystem-full', 'filesystem-readonly', 'hot-stripe-member', 'kernel-io-errors', 'path-failed', 'rebuild-stalled', 'session-down', 'slow-device', 'slow-stripe-member', 'split-brain', 'stripe-convoy', 'thin-pool-filling', 'volume-degraded', 'volume-qos-saturated', 'volume-suspended', 'zfs-pool-degraded'}),
            damage=Damage.AVAILABILITY,
            view='host',
            advice='Check that the server or device they wait for answers.',
        ),
    },
    "sdstop.rules.system.io_stalled": {
        "IO_STALLED": Rule(
            id='io-stalled',
            says='tasks in D state that do not run, unexplained by any other finding',
            worst=Severity.CRITICAL,
            check=later("sdstop.rules.system.io_stalled", "IO_STALLED.check"),
            needs=(BlockedTasks, BlockedTask, Node),
            thresholds=(Threshold(name='seconds', default=15.0, help='time in D state without a context switch; in a live check at most 6', unit='seconds'), Threshold(name='tasks', default=2.0, help='tasks that do not run')),
            covers=(),
            after=frozenset({'array-degraded', 'cache-full-of-dirty', 'cluster-degraded', 'cluster-manager-down', 'device-hung', 'device-saturated', 'filesystem-full', 'filesystem-readonly', 'hot-stripe-member', 'kernel-io-errors', 'path-failed', 'rebuild-stalled', 'session-down', 'slow-device', 'slow-stripe-member', 'split-brain', 'stripe-convoy', 'tasks-stuck', 'thin-pool-filling', 'volume-degraded', 'volume-qos-saturated', 'volume-suspended', 'zfs-pool-degraded'}),
            damage=Damage.AVAILABILITY,
            view='host',
            advice='Read the kernel stack of a blocked task to see where it waits.',
        ),
    },
    "sdstop.rules.arrays.members_differ": {
        "MEMBERS_DIFFER": Rule(
            id='members-differ',
            says='members of one array with different settings: write cache, scheduler, queue, firmware, kind of disk',
            worst=Severity.INFO,
            check=later("sdstop.rules.arrays.members_differ", "MEMBERS_DIFFER.check"),
            needs=(BlockDevice,),
            thresholds=(Threshold(name='factor', default=4.0, help='how many times smaller the queue of a member is'),),
            covers=(),
            many='have members that differ',
            standing=True,
            view='disks',
            advice='If the difference is not on purpose, set it as on the others.',
        ),
    },
    "sdstop.rules.disks.device_slowed": {
        "DEVICE_SLOWED": Rule(
            id='device-slowed',
            says='device without peers whose requests wait far longer than before, under no more load',
            worst=Severity.INFO,
            check=later("sdstop.rules.disks.device_slowed", "DEVICE_SLOWED.check"),
            needs=(Disk,),
            thresholds=(Threshold(name='wait', default=0.01, help='wait of a request', unit='seconds'), Threshold(name='times', default=5.0, help='wait as a multiple of the wait before')),
            covers=(),
            after=frozenset({'array-degraded', 'bond-unbalanced', 'cache-bypassed', 'cache-errors', 'cache-full-of-dirty', 'cache-ineffective', 'cache-sub-block-io', 'cluster-degraded', 'cluster-manager-down', 'device-hung', 'device-saturated', 'filesystem-full', 'filesystem-readonly', 'frames-dropped', 'hba-oversubscribed', 'hba-unbalanced', 'hot-stripe-member', 'io-stalled', 'kernel-io-errors', 'link-oversubscribed', 'link-saturated', 'memory-short', 'mtu-misaligned', 'mtu-mismatch', 'path-failed', 'phy-errors', 'rebuild-running', 'rebuild-slow', 'rebuild-stalled', 'rebuild-throttled', 'session-down', 'slow-device', 'slow-stripe-member', 'split-brain', 'stripe-convoy', 'tasks-stuck', 'thin-pool-filling', 'volume-degraded', 'volume-qos-saturated', 'volume-suspended', 'zfs-no-slog', 'zfs-pool-degraded', 'zvol-slow-path'}),
            many='slowed',
            view='disks',
            advice='Look for what changed then: a limit, a neighbour, a path, the disk.',
        ),
    },
    "sdstop.rules.system.load_unexplained": {
        "LOAD_UNEXPLAINED": Rule(
            id='load-unexplained',
            says='many tasks waiting for I/O for a minute, unexplained by any finding',
            worst=Severity.WARNING,
            check=later("sdstop.rules.system.load_unexplained", "LOAD_UNEXPLAINED.check"),
            needs=(Node,),
            thresholds=(Threshold(name='full', default=0.6, help='share of a minute with all tasks stalled on I/O (PSI full, avg60)', unit='ratio'), Threshold(name='tasks', default=2.0, help='waiting tasks per processor in each sample'), Threshold(name='seconds', default=60.0, help='time over which the waiting tasks are counted', unit='seconds')),
            covers=(),
            after=frozenset({'array-degraded', 'bond-unbalanced', 'cache-bypassed', 'cache-errors', 'cache-full-of-dirty', 'cache-ineffective', 'cache-sub-block-io', 'cluster-degraded', 'cluster-manager-down', 'device-hung', 'device-saturated', 'filesystem-full', 'filesystem-readonly', 'frames-dropped', 'hba-oversubscribed', 'hba-unbalanced', 'hot-stripe-member', 'io-stalled', 'kernel-io-errors', 'link-oversubscribed', 'link-saturated', 'memory-short', 'mtu-misaligned', 'mtu-mismatch', 'path-failed', 'phy-errors', 'rebuild-running', 'rebuild-slow', 'rebuild-stalled', 'rebuild-throttled', 'session-down', 'slow-device', 'slow-stripe-member', 'split-brain', 'stripe-convoy', 'tasks-stuck', 'thin-pool-filling', 'volume-degraded', 'volume-qos-saturated', 'volume-suspended', 'zfs-no-slog', 'zfs-pool-degraded', 'zvol-slow-path'}),
            view='host',
            advice='List the blocked tasks by kernel function; look for a slow device.',
        ),
    },
}
