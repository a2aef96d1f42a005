"""Sources, without their functions.

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
from sdstop.collectors.block.readings import BlockLink
from sdstop.collectors.block.readings import DiskDay
from sdstop.collectors.block.readings import FilesystemSpace
from sdstop.collectors.block.readings import FioResult
from sdstop.collectors.block.readings import MountPoint
from sdstop.collectors.ceph.readings import CephBlocker
from sdstop.collectors.ceph.readings import CephCheck
from sdstop.collectors.ceph.readings import CephDaemon
from sdstop.collectors.ceph.readings import CephPool
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
from sdstop.collectors.fabric.port_readings import SasDevice
from sdstop.collectors.fabric.port_readings import SasExpander
from sdstop.collectors.fabric.port_readings import SasExpanderActivity
from sdstop.collectors.fabric.port_readings import SasPhy
from sdstop.collectors.fabric.port_readings import SasPhyActivity
from sdstop.collectors.fabric.port_readings import SasPort
from sdstop.collectors.fabric.readings import CardInterrupts
from sdstop.collectors.fabric.readings import DiskPath
from sdstop.collectors.fabric.readings import Hba
from sdstop.collectors.fabric.readings import InterfaceNode
from sdstop.collectors.fabric.readings import NumaActivity
from sdstop.collectors.fabric.readings import NumaNode
from sdstop.collectors.fabric.readings import PcieFunction
from sdstop.collectors.filesystems.readings import BtrfsErrors
from sdstop.collectors.filesystems.readings import BtrfsScrub
from sdstop.collectors.filesystems.readings import Ext4Errors
from sdstop.collectors.filesystems.readings import NfsMount
from sdstop.collectors.filesystems.readings import NfsRequests
from sdstop.collectors.filesystems.readings import Quotas
from sdstop.collectors.gluster.readings import GlusterBrick
from sdstop.collectors.gluster.readings import GlusterHeal
from sdstop.collectors.gluster.readings import GlusterSplitBrain
from sdstop.collectors.gluster.readings import GlusterVolume
from sdstop.collectors.health.raid_readings import RaidController
from sdstop.collectors.health.raid_readings import RaidDisk
from sdstop.collectors.health.raid_readings import RaidVolume
from sdstop.collectors.health.readings import DiskErrorCount
from sdstop.collectors.health.readings import DiskHealth
from sdstop.collectors.health.readings import DiskMedium
from sdstop.collectors.health.readings import DiskTemperature
from sdstop.collectors.health.readings import EnclosureSlot
from sdstop.collectors.health.readings import ScsiCommands
from sdstop.collectors.kernel.readings import DiskLog
from sdstop.collectors.kernel.readings import KernelComplaint
from sdstop.collectors.kernel.readings import KernelEvent
from sdstop.collectors.kernel.readings import KernelLog
from sdstop.collectors.limits.readings import ServiceGroup
from sdstop.collectors.md.readings import Array
from sdstop.collectors.md.readings import Member
from sdstop.collectors.memory.readings import Dimm
from sdstop.collectors.memory.readings import MemoryBandwidth
from sdstop.collectors.memory.readings import MemoryController
from sdstop.collectors.memory.readings import MemoryControllerActivity
from sdstop.collectors.memory.readings import MemoryErrorActivity
from sdstop.collectors.memory.readings import MemoryErrors
from sdstop.collectors.memory.readings import MemorySocket
from sdstop.collectors.memory.readings import MemoryTraffic
from sdstop.collectors.network.path_readings import InterfaceDay
from sdstop.collectors.network.path_readings import NodeAddress
from sdstop.collectors.network.path_readings import PathMtu
from sdstop.collectors.network.path_readings import Softnet
from sdstop.collectors.network.path_readings import Tcp
from sdstop.collectors.network.path_readings import TcpActivity
from sdstop.collectors.network.peer_readings import NvmePath
from sdstop.collectors.network.peer_readings import SessionState
from sdstop.collectors.network.peer_readings import StorageClient
from sdstop.collectors.network.peer_readings import StorageClientActivity
from sdstop.collectors.network.peer_readings import StoragePeer
from sdstop.collectors.network.peer_readings import StorageSession
from sdstop.collectors.network.peer_readings import TargetExport
from sdstop.collectors.network.readings import Bond
from sdstop.collectors.network.readings import BondSlave
from sdstop.collectors.network.readings import Interface
from sdstop.collectors.network.readings import InterfaceActivity
from sdstop.collectors.network.readings import InterfaceCard
from sdstop.collectors.network.readings import InterfaceFault
from sdstop.collectors.network.readings import InterfaceLink
from sdstop.collectors.network.readings import PauseFrames
from sdstop.collectors.network.readings import Traffic
from sdstop.collectors.pacemaker.readings import ClusterConstraint
from sdstop.collectors.pacemaker.readings import ClusterMembership
from sdstop.collectors.pacemaker.readings import ClusterPolicy
from sdstop.collectors.pacemaker.readings import ClusterResource
from sdstop.collectors.pacemaker.readings import CorosyncLink
from sdstop.collectors.powerflex.readings import Gateway
from sdstop.collectors.powerflex.readings import ScaleioPool
from sdstop.collectors.system.readings import BlockedTask
from sdstop.collectors.system.readings import BlockedTasks
from sdstop.collectors.system.readings import Cpu
from sdstop.collectors.system.readings import CpuActivity
from sdstop.collectors.system.readings import FailedUnit
from sdstop.collectors.system.readings import Node
from sdstop.collectors.system.readings import Pressure
from sdstop.collectors.system.readings import ProcessActivity
from sdstop.collectors.system.readings import ProcessIo
from sdstop.collectors.system.readings import ProcessSummary
from sdstop.collectors.system.readings import StorageThread
from sdstop.collectors.system.readings import StorageThreadActivity
from sdstop.collectors.system.readings import Units
from sdstop.collectors.zfs.datasets import Dataset
from sdstop.collectors.zfs.datasets import DatasetActivity
from sdstop.collectors.zfs.datasets import DatasetSettings
from sdstop.collectors.zfs.datasets import IntentLog
from sdstop.collectors.zfs.datasets import Tuning
from sdstop.collectors.zfs.readings import Pool
from sdstop.collectors.zfs.readings import PoolSettings
from sdstop.collectors.zfs.readings import PoolState
from sdstop.collectors.zfs.readings import Vdev
from sdstop.collectors.zfs.readings import VdevLoad
from sdstop.core.absence import Call
from sdstop.core.absence import End
from sdstop.core.absence import IfPresent
from sdstop.core.absence import NothingFound
from sdstop.core.collector import Collector
from sdstop.core.collector import Command
from sdstop.core.collector import Need
from sdstop.core.collector import Question
from sdstop.core.form import Form
from sdstop.core.form import Several
from sdstop.core.host import Denied
from sdstop.core.host import Failed
from sdstop.core.host import TimedOut
from sdstop.core.later import later
from sdstop.core.model import Derivation
from sdstop.readings.cache import Cache
from sdstop.readings.cache import CacheActivity
from sdstop.readings.cluster import Cluster
from sdstop.readings.cluster import ClusterClient
from sdstop.readings.cluster import ClusterDevice
from sdstop.readings.cluster import ClusterNode
from sdstop.readings.cluster import ClusterPool
from sdstop.readings.cluster import ClusterVolume
from sdstop.readings.cluster import FailureDomain
from sdstop.readings.cpu import CpuReport
from sdstop.readings.device_names import DevicePath
from sdstop.readings.disk import Disk
from sdstop.readings.disk import DiskActivity
from sdstop.readings.disk_rates import DiskRates
from sdstop.readings.iosize import RequestSizes
from sdstop.readings.limit import Limit
from sdstop.readings.limit import LimitUse
from sdstop.readings.mismatch import Mismatch
from sdstop.readings.rebuild import Rebuild
from sdstop.readings.service import Service

DECLARED: dict[str, dict[str, Collector]] = {
    "sdstop.collectors.system.node": {
        "NODE": Collector(
            name='node',
            title='Node: name, kernel, memory, load, processors',
            read=IfPresent(
                later("sdstop.collectors.system.node", "NODE.read"),
                (NothingFound(calls=(Call(method='read', given=('/proc/stat',)), Call(method='read', given=('/proc/meminfo',)), Call(method='read', given=('/proc/loadavg',)), Call(method='read', given=('/proc/uptime',)), Call(method='read', given=('/proc/sys/kernel/hostname',)), Call(method='read', given=('/proc/sys/kernel/osrelease',)), Call(method='read', given=('/proc/version',)), Call(method='read', given=('/proc/vmstat',)), Call(method='read', given=('/proc/stat',))), end=End(call=8)),) * 2,
                (TimedOut,),
            ),
            families=(Node, Cpu),
            needs=(
                Need(what='/proc/stat', why='processor time, boot time, tasks blocked on I/O', filled=True, everyone=True),
                Need(what='/proc/meminfo', why='memory, dirty page cache', filled=True, everyone=True),
                Need(what='/proc/vmstat', why='pages swapped in and out', keep=later("sdstop.collectors.system.node", "NODE.needs[2].keep")),
                Need(what='/proc/loadavg', why='load', filled=True, everyone=True),
                Need(what='/proc/uptime', why='time since boot', filled=True, everyone=True),
                Need(what='/proc/sys/kernel/hostname', why="the node's name"),
                Need(what='/proc/sys/kernel/osrelease', why='the kernel: the meaning of counters depends on it', filled=True),
                Need(what='/proc/version', why='kernel version, if a capture has only this file', redact=later("sdstop.collectors.system.node", "NODE.needs[7].redact")),
            ),
            derives=(Derivation(source=Cpu, target=CpuActivity, make=later("sdstop.collectors.system.node", "NODE.derives[0].make")),),
            eager=True,
        ),
    },
    "sdstop.collectors.system.pressure": {
        "PRESSURE": Collector(
            name='pressure',
            title='Pressure stall information',
            read=IfPresent(
                later("sdstop.collectors.system.pressure", "PRESSURE.read"),
                (
                    NothingFound(calls=(Call(method='read', given=('/proc/pressure/io',)), Call(method='read', given=('/proc/pressure/memory',)), Call(method='read', given=('/proc/pressure/cpu',)), Call(method='read', given=('/proc/pressure/irq',))), end=End(key='/proc/pressure/io', detail='kernel without pressure stall information (boot with psi=1)')),
                    NothingFound(calls=(Call(method='read', given=('/proc/pressure/io',)), Call(method='read', given=('/proc/pressure/memory',)), Call(method='read', given=('/proc/pressure/cpu',)), Call(method='read', given=('/proc/pressure/irq',))), end=End(call=0)),
                ),
                (TimedOut,),
            ),
            families=(Pressure,),
            needs=(Need(what='/proc/pressure/*', why='time that tasks are stalled by a lack of I/O, memory or processors', filled=True),),
        ),
    },
    "sdstop.collectors.system.processes": {
        "PROCESSES": Collector(
            name='processes',
            title="Processes' I/O",
            read=IfPresent(later("sdstop.collectors.system.processes", "PROCESSES.read"), (NothingFound(calls=(Call(method='answer', given=('psutil.processes',)),), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(ProcessIo, StorageThread, ProcessSummary),
            needs=(Question(name='psutil.processes', why='which processes do the I/O', privilege="root, for other users' processes", keep=later("sdstop.collectors.system.processes", "PROCESSES.needs[0].keep")),),
            pace=5.0,
            deadline=10.0,
            derives=(Derivation(source=ProcessIo, target=ProcessActivity, make=later("sdstop.collectors.system.processes", "PROCESSES.derives[0].make")), Derivation(source=StorageThread, target=StorageThreadActivity, make=later("sdstop.collectors.system.processes", "PROCESSES.derives[1].make"))),
            lacks=later("sdstop.collectors.system.processes", "PROCESSES.lacks"),
            eager=True,
            resting=120.0,
        ),
    },
    "sdstop.collectors.system.tasks": {
        "TASKS": Collector(
            name='tasks',
            title='Tasks in D state',
            read=IfPresent(later("sdstop.collectors.system.tasks", "TASKS.read"), (NothingFound(calls=(Call(method='answer', given=('tasks.blocked',)),), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(BlockedTask, BlockedTasks),
            needs=(Question(name='tasks.blocked', why='which tasks are in D state, and where they wait', privilege='root, for their open files', answer=later("sdstop.collectors.system.tasks", "TASKS.needs[0].answer")),),
            deadline=10.0,
            lacks=later("sdstop.collectors.system.tasks", "TASKS.lacks"),
            eager=True,
        ),
    },
    "sdstop.collectors.system.reports": {
        "REPORTS": Collector(
            name='node-reports',
            title='Load, memory and blocked tasks in recorded output of procps',
            read=IfPresent(
                later("sdstop.collectors.system.reports", "REPORTS.read"),
                (NothingFound(calls=(Call(method='recorded_texts', given=('uptime',)), Call(method='recorded_texts', given=('vmstat',)), Call(method='recorded_texts', given=('top',)), Call(method='recorded_texts', given=('free',)), Call(method='recorded_texts', given=('vmstat',)), Call(method='recorded_texts', given=('top',)), Call(method='recorded_texts', given=('top',)), Call(method='recorded_texts', given=('ps',))), end=End(key='cmd:uptime', detail='not recorded', recorded=False)),) * 2,
                (),
            ),
            families=(Node, BlockedTask, BlockedTasks, CpuReport),
            needs=(
                Need(what='cmd:uptime*', why='load, from captures only; never run'),
                Need(what='cmd:free*', why='memory, from captures only'),
                Need(what='cmd:vmstat*', why='tasks that wait for I/O, from captures only'),
                Need(what='cmd:top*', why='load, memory and tasks in D state, from captures only', keep=later("sdstop.collectors.system.reports", "REPORTS.needs[3].keep")),
                Need(what='cmd:ps *', why='tasks in D state, from captures only', keep=later("sdstop.collectors.system.reports", "REPORTS.needs[3].keep")),
            ),
            pace=60.0,
            forms=(
                Form(key='cmd:uptime', first=' ?\\d\\d:\\d\\d:\\d\\d up .{1,60}load average: ', reads='load of the node', versions='procps 3 and later, also `w`', goes_on='(?!)'),
                Form(key='cmd:free', first=' {6,}total +used +free +shared(?: +(?:buff/cache|buffers|cached?|available))*', reads='memory and swap', versions='procps 3 and later, with -b, -k, -m, -g, -h', goes_on='\\S{2,12}: +\\d.*|-/\\+ buffers/cache: .*'),
                Form(key='cmd:vmstat', first='procs -+memory-+ -+swap-+ -+io-+ -+system-+ -+cpu-+|procs +memory +swap +io +system +cpu', reads='runnable tasks, tasks that wait for I/O, stolen processor time', versions='procps 3 and later', goes_on=' *r +b +swpd .*| *\\d+ +\\d+ +\\d+ .*|procs -.*'),
                Form(key='cmd:top', first='top - \\d\\d:\\d\\d:\\d\\d up ', reads='load, memory, stolen processor time, and the tasks in D state that it lists', versions='procps 3 and later'),
                Form(key='cmd:ps', first='USER +PID +%CPU +%MEM +VSZ +RSS +TTY +STAT +START +TIME +COMMAND|F S +UID +PID +PPID |(?=[^\\n]*\\bPID\\b)(?=[^\\n]*\\bSTAT\\b)[A-Z% ]{8,200}$', reads='tasks in D state', versions='procps 3 and later: aux, -el, or -o with pid and stat'),
            ),
        ),
    },
    "sdstop.collectors.system.units": {
        "UNITS": Collector(
            name='units',
            title='Failed units of systemd in recorded lists',
            read=IfPresent(later("sdstop.collectors.system.units", "UNITS.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('systemctl',)),), end=End(key='cmd:systemctl --failed', detail='not recorded', recorded=False)),) * 2, ()),
            families=(FailedUnit, Units),
            needs=(Need(what='cmd:systemctl *', why='failed units, from captures only; never run', keep=later("sdstop.collectors.system.units", "UNITS.needs[0].keep")),),
            pace=60.0,
            forms=(Form(key='cmd:systemctl --failed', first='[ ]*UNIT +LOAD +ACTIVE +SUB +(?:JOB +)?DESCRIPTION[ ]*$', reads='failed units, and how many there are', versions='systemd 219 and later', goes_on='\\W{0,3}\\s*\\S+\\.(?:service|mount|swap|socket|target|device|automount|timer|path|slice|scope) .*|[A-Z]{3,6} += .*|\\d+ (?:loaded )?units? listed\\..*|To show all .*|Pass --all .*', fault=later("sdstop.collectors.system.units", "UNITS.forms[0].fault")),),
        ),
    },
    "sdstop.collectors.block.diskstats": {
        "DISKSTATS": Collector(
            name='diskstats',
            title='Block device counters',
            read=IfPresent(later("sdstop.collectors.block.diskstats", "DISKSTATS.read"), (NothingFound(calls=(Call(method='read', given=('/proc/diskstats',)),), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(Disk,),
            needs=(Need(what='/proc/diskstats', why='requests, bytes, times and requests in flight of every block device', everyone=True), Need(what='list:/sys/block', why='whether there are block devices, if /proc/diskstats is empty'), Need(what='/proc/partitions', why='whether there are block devices, if /proc/diskstats is empty')),
            derives=(Derivation(source=Disk, target=DiskActivity, make=DiskRates),),
            eager=True,
            stirs=later("sdstop.collectors.block.diskstats", "DISKSTATS.stirs"),
        ),
    },
    "sdstop.collectors.block.iostat": {
        "IOSTAT": Collector(
            name='iostat',
            title='Recorded iostat -x',
            read=IfPresent(later("sdstop.collectors.block.iostat", "IOSTAT.read"), (NothingFound(calls=(Call(method='recorded', given=('iostat',)),), end=End(key='cmd:iostat -x', detail='none recorded; not used on a live node, which has /proc/diskstats', recorded=False)),) * 2, ()),
            families=(DiskActivity, Service, CpuReport),
            needs=(Need(what='cmd:iostat *', why='disk activity, from captures only; never run', redact=later("sdstop.readings.sysstat", "without_host", "sdstop.collectors.block.iostat", "IOSTAT.needs[0].redact"), split=later("sdstop.collectors.block.iostat", "IOSTAT.needs[0].split")),),
            pace=60.0,
            forms=(
                Form(key='cmd:iostat -x', first='Linux \\S+ \\([^()\\n]*\\)[ \\t].*\\(\\d+ CPUs?\\)[ \\t]*\\n\\s*(?:\\d.*\\n\\s*)??(?:avg-cpu|Device|.*\\sDevice$)|Device:?\\s.*%util|\\s+r/s\\s.*\\sDevice$|Device:?\\s+tps\\s+\\w+_read/s', reads='requests, waits, queue and utilization of disks; stolen processor time', versions='sysstat 9.1 and later', several=Several.JOINED, intervals=True),
                Form(key='cmd:iostat -x -o JSON', first='\\{\\s*"sysstat":[\\s\\S]{0,100000}?"disk_device"', reads='requests, waits, queue and utilization of disks', versions='sysstat 11.5 and later', several=Several.JOINED, intervals=True),
            ),
        ),
    },
    "sdstop.collectors.block.sar": {
        "SAR": Collector(
            name='sar',
            title='Recorded sar -d',
            read=IfPresent(later("sdstop.collectors.block.sar", "SAR.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('sar',)), Call(method='recorded', given=('sadf',))), end=End(key='cmd:sar -d', detail='none recorded; not used on a live node', recorded=False)),) * 2, ()),
            families=(DiskDay, Service),
            needs=(
                Need(what='cmd:sar *', why='disk activity of a day, from captures and sosreports only; never run', redact=later("sdstop.readings.sysstat", "without_host", "sdstop.collectors.block.iostat", "IOSTAT.needs[0].redact"), split=later("sdstop.collectors.block.sar", "SAR.needs[0].split")),
                Need(what='cmd:sadf *', why='disk activity of a day as JSON, from captures only; never run', redact=later("sdstop.readings.sysstat", "without_host", "sdstop.collectors.block.iostat", "IOSTAT.needs[0].redact"), split=later("sdstop.collectors.block.sar", "SAR.needs[0].split")),
            ),
            pace=60.0,
            forms=(
                Form(key='cmd:sar -d', first='(?:Linux \\S+ \\([^()\\n]*\\)[ \\t].*\\(\\d+ CPUs?\\)[ \\t]*\\n\\s*(?:\\d.*\\n\\s*)??)?[ \\t]*(?:\\S{1,4} )?\\d{1,2}(?:[:.]|時|时|시 ?)\\d\\d(?:[:.]|分|분 ?)\\d\\d(?:秒|초)?(?: (?:[AP]M|[ap]m|[πμ]μ|[صم]))?(?: [A-Z]{2,5})?[ \\t]+(?:DEV\\s+tps\\s|tps\\s.*\\sDEV$)', reads='requests, waits, queue and utilization of disks', versions='sysstat 9.1 and later', intervals=True),
                Form(key='cmd:sadf -j -- -d', first='\\{\\s*"sysstat":[\\s\\S]{0,100000}?"disk-device"', reads='requests, waits, queue and utilization of disks', versions='sysstat 9.1 and later', intervals=True),
            ),
        ),
    },
    "sdstop.collectors.block.devices": {
        "BLOCKDEV": Collector(
            name='blockdev',
            title='Block devices, their queues and names',
            read=IfPresent(later("sdstop.collectors.block.devices", "BLOCKDEV.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/block',)),), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(BlockDevice, BlockLink),
            needs=(
                Need(what='list:/sys/block', why='which block devices there are', everyone=True),
                Need(what='/proc/partitions', why='whether a size has changed, so that devices are read again'),
                Need(what='list:/sys/block/*', why='partitions, kind of device, devices below it (slaves)'),
                Need(what='link:/sys/block/*', why='location of a device: PCI path, SCSI address, driver'),
                Need(what='/sys/block/*/dev', why='major and minor number', filled=True),
                Need(what='/sys/block/*/size', why='size', filled=True),
                Need(what='/sys/block/*/start', why='start of a partition', filled=True),
                Need(what='/sys/block/*/ro', why='whether writes are refused', filled=True),
                Need(what='/sys/block/*/hidden', why='whether a device is a path below an NVMe multipath device', filled=True),
                Need(what='/sys/block/*/diskseq', why='distinguishes a new device from the former owner of its name', filled=True),
                Need(what='/sys/block/*/serial', why='serial number of a virtual disk'),
                Need(what='/sys/block/*/wwid', why='world wide name of an NVMe namespace'),
                Need(what='/sys/block/*/queue/*', why='scheduler, block sizes, limits, write cache, whether I/O is accounted', filled=True),
                Need(what='/sys/block/*/device/*', why='vendor, model, firmware, state, queue depth, world wide name, serial number', filled=('state', 'queue_depth')),
                Need(what='/sys/block/*/dm/*', why='name and UUID of a device mapper device', filled=('name',)),
                Need(what='/sys/block/*/loop/backing_file', why='the file behind a loop device'),
                Need(what='/sys/block/nvme*/device/model', why='model of an NVMe disk, by which similar ones are compared', filled=True),
                Need(what='list:/run/udev', why='whether udev runs'),
                Need(what='/run/udev/data/b*', why='stable names: by-path, by-id, WWN, serial number', redact=later("sdstop.collectors.block.udev", "kept_names", "sdstop.collectors.block.devices", "BLOCKDEV.needs[18].redact")),
                Question(name='udev.block', why='names of devices, if the udev database cannot be read', redact=later("sdstop.collectors.block.udev", "kept_answer", "sdstop.collectors.block.devices", "BLOCKDEV.needs[19].redact")),
            ),
            pace=60.0,
            deadline=30.0,
            fingerprint=IfPresent(later("sdstop.collectors.block.devices", "BLOCKDEV.fingerprint"), (NothingFound(calls=(Call(method='entries', given=('/sys/block',)), Call(method='read', given=('/proc/partitions',))), end=End(value=((), None))),) * 2, (TimedOut,)),
            quiet=600.0,
        ),
    },
    "sdstop.collectors.block.io_sizes": {
        "IO_SIZES": Collector(
            name='io-sizes',
            title='Request sizes (--io-sizes)',
            read=IfPresent(
                later("sdstop.collectors.block.io_sizes", "IO_SIZES.read"),
                (
                    NothingFound(calls=(Call(method='read', given=('/sys/kernel/tracing/instances/sdstop/events/block/block_rq_issue/hist',)), Call(method='read', given=('/sys/kernel/tracing/instances/sdstop/events/block/block_bio_queue/hist',)), Call(method='entries', given=('/sys/kernel/tracing/events/block/block_rq_issue',))), end=End(key='/sys/kernel/tracing/instances/sdstop', detail='off; --io-sizes counts request sizes (root, for a limited time)')),
                    NothingFound(calls=(Call(method='read', given=('/sys/kernel/tracing/instances/sdstop/events/block/block_rq_issue/hist',)), Call(method='read', given=('/sys/kernel/tracing/instances/sdstop/events/block/block_bio_queue/hist',))), end=End(call=1)),
                ),
                (Failed, TimedOut),
            ),
            families=(RequestSizes,),
            needs=(
                Need(what='/sys/kernel/tracing/instances/sdstop/events/block/block_rq_issue/hist', why='requests by size as devices get them, while --io-sizes counts', privilege='root'),
                Need(what='/sys/kernel/tracing/instances/sdstop/events/block/block_bio_queue/hist', why='requests by size as received, before splitting and merging', privilege='root'),
                Need(what='list:/sys/kernel/tracing/events/block/block_rq_issue', why='whether this kernel supports counting', privilege='root'),
                Need(what='/proc/diskstats', why='names of devices by their numbers'),
            ),
            pace=2.0,
            eager=True,
            option='--io-sizes',
        ),
    },
    "sdstop.collectors.block.names": {
        "DEVICE_NAMES": Collector(
            name='device-names',
            title='Devices in configuration files',
            read=IfPresent(later("sdstop.collectors.block.names", "DEVICE_NAMES.read"), (NothingFound(calls=(Call(method='read', given=('/etc/fstab',)), Call(method='read', given=('/etc/mdadm/mdadm.conf',)), Call(method='read', given=('/etc/mdadm.conf',))), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(DevicePath,),
            needs=(
                Need(what='/etc/fstab', why='device names of file systems; options are not kept', keep=later("sdstop.core.retention", "mount_table", "sdstop.collectors.block.names", "DEVICE_NAMES.needs[0].keep"), redact=later("sdstop.collectors.block.names", "DEVICE_NAMES.needs[0].redact")),
                Need(what='/etc/mdadm/mdadm.conf', why='device names that mdadm scans for members', keep=later("sdstop.collectors.block.names", "DEVICE_NAMES.needs[1].keep")),
                Need(what='/etc/mdadm.conf', why='device names that mdadm scans for members, on other distributions', keep=later("sdstop.collectors.block.names", "DEVICE_NAMES.needs[1].keep")),
            ),
            pace=60.0,
        ),
    },
    "sdstop.collectors.block.mounts": {
        "MOUNTED": Collector(
            name='mounts',
            title='Mounted file systems and their devices',
            read=IfPresent(later("sdstop.collectors.block.mounts", "MOUNTED.read"), (NothingFound(calls=(Call(method='read', given=('/proc/self/mounts',)), Call(method='read', given=('/proc/mounts',))), end=End(call=1)),) * 2, (Denied, Failed, TimedOut)),
            families=(MountPoint,),
            needs=(
                Need(what='/proc/self/mounts', why='file systems, their devices, and whether they can be written', keep=later("sdstop.core.retention", "mount_table", "sdstop.collectors.block.names", "DEVICE_NAMES.needs[0].keep"), everyone=True),
                Need(what='/proc/mounts', why='file systems, their devices, and whether they can be written', keep=later("sdstop.core.retention", "mount_table", "sdstop.collectors.block.names", "DEVICE_NAMES.needs[0].keep"), everyone=True),
                Need(what='list:/sys/fs/ext4', why='mounted ext4 file systems, which may have a journal on a device of its own'),
                Need(what='/sys/fs/ext4/*/journal_task', why='the process of the kernel that writes the journal'),
                Need(what='/proc/*/comm', why='the name of that process, which has the device'),
                Need(what='list:/sys/fs/btrfs*', why='the devices of a btrfs'),
                Need(what='link:/dev/mapper/*', why='the kernel name of a mounted mapping'),
            ),
            pace=60.0,
        ),
    },
    "sdstop.collectors.block.filesystems": {
        "FILESYSTEMS": Collector(name='filesystems', title='Space and flags of local file systems', read=IfPresent(later("sdstop.collectors.block.filesystems", "FILESYSTEMS.read"), (NothingFound(calls=(Call(method='answer', given=('filesystems.space',)),), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)), families=(FilesystemSpace,), needs=(Question(name='filesystems.space', why='space, inodes and read-only flags of local file systems'),), pace=10.0, deadline=5.0, resting=30.0),
    },
    "sdstop.collectors.block.df": {
        "DF_TEXT": Collector(
            name='df',
            title='Space of file systems in recorded output of df and mount',
            read=IfPresent(later("sdstop.collectors.block.df", "DF_TEXT.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('df',)), Call(method='recorded_texts', given=('mount',))), end=End(key='cmd:df', detail='not recorded', recorded=False)),) * 2, ()),
            families=(FilesystemSpace, MountPoint),
            needs=(Need(what='cmd:df*', why='space and inodes of file systems, from captures only; never run'), Need(what='cmd:mount*', why='mounted file systems; options are not kept', keep=later("sdstop.collectors.block.df", "DF_TEXT.needs[1].keep"))),
            pace=60.0,
            forms=(
                Form(key='cmd:df', first='[^\\s\\d/][^\\n]* (?:\\S*%|Capacity|Kapazität|Capacité|Capacidad) +\\S[^\\n]*\\n(?:/\\S+\\n)?\\s*\\S[^\\n]*\\s(?:\\d{1,3}%|-) +/', reads='space and inodes of file systems', versions='coreutils 5 and later, in all languages; -h, -i, -T, -P, -B', goes_on='\\S.*\\s(?:\\d{1,3}%|-)\\s+/.*|/dev/\\S+|\\S+:/\\S*|\\s+[\\d.,]+\\S*\\s.*\\s/\\S*'),
                Form(key='cmd:mount', first='\\S+ on /\\S* type [a-z][\\w.]+ \\(', reads='mounted file systems and their devices', versions='util-linux 2.20 and later', goes_on='\\S.* on /.* type \\S+(?: \\(.*)?'),
            ),
        ),
    },
    "sdstop.collectors.block.lsblk_text": {
        "LSBLK": Collector(
            name='lsblk',
            title='Block devices in recorded output of lsblk',
            read=IfPresent(later("sdstop.collectors.block.lsblk_text", "LSBLK.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('lsblk',)),), end=End(key='cmd:lsblk', detail='not recorded', recorded=False)),) * 2, ()),
            families=(BlockDevice, BlockLink, MountPoint),
            needs=(Need(what='cmd:lsblk*', why='devices, sizes and links, from captures only; never run'),),
            pace=60.0,
            forms=(Form(
                key='cmd:lsblk',
                first='(?!NAME +SIZE +ALLOC +FREE)(?:[KP]?NAME|PATH)(?: +[A-Z][A-Z0-9:%_-]*)* +(?:MAJ:MIN|FSTYPE|ALIGNMENT|HCTL|TYPE|SIZE|ROTA|MODEL|MOUNTPOINTS?|[KP]NAME|DISC-ALN|SERIAL|WWN|UUID)(?: +[A-Z][A-Z0-9:%_-]*)*\\s*$|\\s*\\{\\s*"blockdevices":|NAME="[^"\\n]+" [A-Z]+[^"\\n]*="',
                reads='block devices, sizes, links between them, mount points',
                versions='util-linux 2.19 and later, any columns',
                goes_on='(?:[|`│├└ ][ \\-─]?)+\\S.*|(?:sd[a-z]|vd[a-z]|xvd|hd[a-z]|nvme\\d|md\\d|md_|dm-\\d|loop\\d|sr\\d|mmcblk|rbd\\d|nbd\\d|zram|zd\\d|drbd|ram\\d|dasd|bcache|pmem|etherd|fd\\d|cciss|mapper/|/dev/).*|NAME=\\".*',
            ),),
        ),
    },
    "sdstop.collectors.block.dm_tree": {
        "DM_TREE": Collector(
            name='dm-tree',
            title='Device mapper devices in recorded output of dmsetup ls --tree',
            read=IfPresent(later("sdstop.collectors.block.dm_tree", "DM_TREE.read"), (NothingFound(calls=(Call(method='read', given=('/proc/partitions',)), Call(method='recorded_texts', given=('dmsetup',)), Call(method='recorded_texts', given=('dmsetup',))), end=End(key='cmd:dmsetup ls --tree', detail='not recorded', recorded=False)),) * 2, (TimedOut,)),
            families=(BlockDevice, BlockLink),
            needs=(Need(what='cmd:dmsetup ls*', why='what device mapper devices are built on, from captures only; never run'), Need(what='cmd:dmsetup deps*', why='the same'), Need(what='/proc/partitions', why='kernel names by number')),
            pace=60.0,
            forms=(Form(key='cmd:dmsetup ls --tree', first='\\S+ (?:<dm-\\d+> )?\\(\\d+:\\d+\\)\\n +[|`├└][-─ ]', reads='what device mapper devices are built on', versions='dmsetup 1.02 and later', goes_on='\\S+ (?:<\\S+> )?\\(\\d+:\\d+\\).*| +[|`├└│].*\\(\\d+:\\d+\\).*'),),
        ),
    },
    "sdstop.collectors.block.fio": {
        "FIO": Collector(
            name='fio',
            title='Results of fio in recorded text',
            read=IfPresent(later("sdstop.collectors.block.fio", "FIO.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('fio',)),), end=End(key='cmd:fio', detail='not recorded', recorded=False)),) * 2, ()),
            families=(FioResult,),
            needs=(Need(what='cmd:fio*', why='results of load tests, from captures only; never run'),),
            pace=float("inf"),
            forms=(Form(
                key='cmd:fio',
                first='\\S[^\\n]{0,100}: \\(g=\\d+\\): rw=\\w+, |\\S[^\\n]{0,100}: \\(groupid=\\d+, jobs=\\d+\\): err= ?\\d+: pid=',
                reads='rates and latencies of each job',
                versions='fio 3',
                goes_on='\\s+(?:read|write|trim|slat|clat|lat|cpu|IO depths|submit|complete|issued|latency|bw|iops|READ|WRITE|TRIM).*|\\s+(?:\\||sync|.*percentiles|[\\w./-]+: ios=).*|fio-\\d.*|Starting .*|Jobs: .*|\\S.*: \\((?:g|groupid)=.*|Run status .*|Disk stats .*|\\.\\.\\.|note: .*|.*: Laying out .*',
                fault=later("sdstop.collectors.block.fio", "FIO.forms[0].fault"),
                several=Several.JOINED,
            ),),
        ),
    },
    "sdstop.collectors.md.arrays": {
        "MDRAID": Collector(
            name='mdraid',
            title='md arrays and their rebuilds',
            read=IfPresent(later("sdstop.collectors.md.arrays", "MDRAID.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('mdadm',)), Call(method='recorded_texts', given=('mdadm',)), Call(method='recorded_texts', given=('mdadm',)), Call(method='read', given=('/proc/mdstat',))), end=End(call=3)),) * 2, (Denied, Failed, TimedOut)),
            families=(Array, Rebuild, Mismatch),
            needs=(
                Need(what='/proc/mdstat', why='arrays, devices, slots and progress', filled=True, everyone=True),
                Need(what='cmd:mdadm *', why='arrays, as others recorded them; never run', redact=later("sdstop.collectors.md.mdadm", "without_hosts", "sdstop.collectors.md.arrays", "MDRAID.needs[1].redact")),
                Need(what='/sys/block/*/md/*', why='level, state, degraded, sync_action, mismatches, speed limits, range of suspended writes, reshape', filled=('array_state', 'degraded', 'sync_action', 'mismatch_cnt', 'sync_speed_min', 'sync_speed_max')),
                Need(what='/proc/sys/dev/raid/speed_limit_*', why="the node's speed limits, where the array does not say", filled=True),
            ),
            devices='md(\\d+|_\\S+)',
            forms=(
                Form(key='/proc/mdstat', first='Personalities\\s*:|md[\\w/]{1,30}\\s:\\s(?:active|inactive)\\b', reads='arrays, their members, states and synchronization', versions='Linux 2.6 and later', last='unused devices:', fault=later("sdstop.collectors.md.mdstat", "fault", "sdstop.collectors.md.arrays", "MDRAID.forms[0].fault")),
                Form(
                    key='cmd:mdadm -D',
                    first=' *(?:/dev/\\S+:\\n)+ *(?:Version|Container|Raid Level) : ',
                    reads='arrays, their members, states and synchronization',
                    versions='mdadm 3.2 and later',
                    goes_on='\\s*[A-Z][A-Za-z ]{2,30} : .*|/dev/\\S+:|\\s*Number\\s+Major\\s+Minor\\s+RaidDevice.*|\\s*(?:\\d{1,5}|-)\\s+\\d{1,7}\\s+\\d{1,7}\\s+(?:\\d{1,5}|-)(?:\\s+[a-z][a-zA-Z -]*?)?(?:\\s+/dev/\\S+)?\\s*',
                    fault=later("sdstop.collectors.md.mdadm", "detail_fault", "sdstop.collectors.md.arrays", "MDRAID.forms[1].fault"),
                    whole=True,
                    several=Several.JOINED,
                    about='(?m)^ *(/dev/\\S+):$',
                ),
                Form(key='cmd:mdadm --detail --scan', first='(?:INACTIVE-)?ARRAY /dev/\\S+ .*\\bUUID=[0-9a-f:]{35}', reads='arrays that are not active; with -v how many members they have', versions='mdadm 3.2 and later', goes_on='(?:INACTIVE-)?ARRAY .*|\\s+devices=.*'),
                Form(key='cmd:mdadm -E', first=' *(?:/\\S+:\\n)+ *Magic : ', reads='superblocks of members, and the state of their array when they were written', versions='mdadm 3.2 and later', goes_on='\\s+\\S.*|/\\S+:|[A-Z][A-Za-z ]{2,30} : .*|this .*', fault=later("sdstop.collectors.md.mdadm", "examine_fault", "sdstop.collectors.md.arrays", "MDRAID.forms[3].fault"), several=Several.JOINED, about='(?m)^ *(/\\S+):$'),
            ),
        ),
    },
    "sdstop.collectors.md.members": {
        "MDMEMBERS": Collector(
            name='mdmembers',
            title='Members of md arrays',
            read=IfPresent(later("sdstop.collectors.md.members", "MDMEMBERS.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('mdadm',)), Call(method='recorded_texts', given=('mdadm',)), Call(method='recorded_texts', given=('mdadm',)), Call(method='read', given=('/proc/mdstat',))), end=End(call=3)),) * 2, (Denied, Failed, TimedOut)),
            families=(Member,),
            needs=(
                Need(what='/proc/mdstat', why='which devices the arrays have', filled=True, everyone=True, part=later("sdstop.collectors.md.members", "MDMEMBERS.needs[0].part")),
                Need(what='cmd:mdadm *', why='members, as others recorded them; never run', redact=later("sdstop.collectors.md.mdadm", "without_hosts", "sdstop.collectors.md.arrays", "MDRAID.needs[1].redact")),
                Need(what='/sys/block/*/md/dev-*/*', why='slot, state, corrected errors, bad blocks, size, offset', filled=('slot', 'state', 'errors', 'size', 'offset')),
            ),
            pace=30.0,
            deadline=5.0,
            fingerprint=IfPresent(later("sdstop.collectors.md.members", "MDMEMBERS.fingerprint"), (NothingFound(calls=(Call(method='read', given=('/proc/mdstat',)),), end=End()),) * 2, (TimedOut,)),
            quiet=300.0,
        ),
    },
    "sdstop.collectors.network.interfaces": {
        "NETWORK": Collector(
            name='network',
            title='Traffic of the network interfaces',
            read=IfPresent(later("sdstop.collectors.network.interfaces", "NETWORK.read"), (NothingFound(calls=(Call(method='read', given=('/proc/net/dev',)),), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(Traffic,),
            needs=(Need(what='/proc/net/dev', why='bytes, packets, errors and drops of every interface', filled=True, everyone=True),),
            derives=(Derivation(source=Traffic, target=InterfaceActivity, make=later("sdstop.collectors.network.interfaces", "NETWORK.derives[0].make")),),
            eager=True,
            stirs=later("sdstop.collectors.network.interfaces", "NETWORK.stirs"),
        ),
        "INTERFACES": Collector(
            name='interfaces',
            title='Network interfaces, their links and errors',
            read=IfPresent(later("sdstop.collectors.network.interfaces", "INTERFACES.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/class/net',)),), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(Interface,),
            needs=(
                Need(what='list:/sys/class/net', why='which interfaces there are', everyone=True),
                Need(what='list:/sys/class/net/*', why='the interfaces below them, and their kind'),
                Need(what='/sys/class/net/*/*', why='MTU, speed, duplex, state, carrier, kind, addresses', filled=('mtu', 'operstate', 'speed', 'carrier_changes', 'flags', 'ifindex')),
                Need(what='/sys/class/net/*/statistics/*', why='errors and drops one by one', filled=True),
                Need(what='link:/sys/class/net/*/master', why='the bond or bridge it belongs to'),
                Need(what='link:/sys/class/net/*/device/driver', why='driver of an interface'),
            ),
            pace=10.0,
            deadline=5.0,
            fingerprint=IfPresent(later("sdstop.collectors.network.interfaces", "INTERFACES.fingerprint"), (NothingFound(calls=(Call(method='entries', given=('/sys/class/net',)),), end=End()),) * 2, (TimedOut,)),
            resting=30.0,
        ),
    },
    "sdstop.collectors.network.links": {
        "LINKS": Collector(
            name='links',
            title='Relations of the network interfaces',
            read=IfPresent(later("sdstop.collectors.network.links", "LINKS.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/class/net',)), Call(method='entries', given=('/proc/net/bonding',))), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(InterfaceLink, Bond, BondSlave),
            needs=(
                Need(what='list:/sys/class/net', why='which interfaces there are', everyone=True),
                Need(what='list:/sys/class/net/*', why='the interfaces below them, and their kind'),
                Need(what='/sys/class/net/*/*', why='kind, numbers, state', filled=('ifindex', 'iflink', 'operstate', 'type')),
                Need(what='link:/sys/class/net/*/master', why='the bond or bridge it belongs to'),
                Need(what='/sys/class/net/*/bonding/*', why='mode, slaves and link of a bond', filled=('mode', 'mii_status', 'miimon', 'xmit_hash_policy')),
                Need(what='/sys/class/net/*/bonding_slave/*', why='state and link failures of a slave', filled=True),
                Need(what='list:/proc/net/bonding', why='bonds, where sysfs was not copied'),
                Need(what='/proc/net/bonding/*', why='LACP partner of each slave; bonds, where sysfs was not copied', privilege='root'),
                Command(argv=('ip', '-j', '-d', 'link', 'show'), why='which ends of veth pairs belong together'),
                Need(what='cmd:ip -j -d link*', why='relations of interfaces, from captures only; never run in this form', redact=later("sdstop.collectors.network.links", "LINKS.needs[9].redact")),
            ),
            pace=10.0,
            deadline=5.0,
            fingerprint=IfPresent(later("sdstop.collectors.network.links", "LINKS.fingerprint"), (NothingFound(calls=(Call(method='entries', given=('/sys/class/net',)),), end=End()),) * 2, (TimedOut,)),
            forms=(Form(key='/proc/net/bonding/bond0', first='Ethernet Channel Bonding Driver: v', reads='mode of a bond, its slaves and their links', versions='Linux 2.6 and later', goes_on='\\s*[A-Z\\d][\\w .()/-]{1,50}:(?: .*)?|802\\.3ad info|\\s*details .*|\\s+[a-z][a-z ]{2,30}: \\S{1,40}'),),
            resting=30.0,
        ),
    },
    "sdstop.collectors.network.pause": {
        "PAUSE": Collector(
            name='pause',
            title='Pause frames of network cards',
            read=IfPresent(later("sdstop.collectors.network.pause", "PAUSE.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/class/net',)),), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(PauseFrames,),
            needs=(Need(what='list:/sys/class/net', why='which interfaces there are'), Need(what='list:/sys/class/net/*', why='which of them are physical'), Need(what='/sys/class/net/*/*', why='kind and link of an interface'), Command(argv=('ethtool', '--statistics', '*'), why='pause frames, of physical interfaces with a link', keep='\\s*[\\w.-]*(?:pause|xoff|pfc)[\\w.-]*:\\s')),
            pace=120.0,
            deadline=20.0,
        ),
    },
    "sdstop.collectors.network.paths": {
        "TCP": Collector(
            name='tcp',
            title="TCP, IP and the CPUs' receive queues",
            read=IfPresent(later("sdstop.collectors.network.paths", "TCP.read"), (NothingFound(calls=(Call(method='read', given=('/proc/net/snmp',)),), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(Tcp, Softnet),
            needs=(Need(what='/proc/net/snmp', why='segments, retransmissions, fragments, ICMP', filled=True), Need(what='/proc/net/netstat', why='timeouts, drops, probes of the path MTU', filled=True), Need(what='/proc/net/softnet_stat', why='packets dropped before the stack saw them', filled=True)),
            derives=(Derivation(source=Tcp, target=TcpActivity, make=later("sdstop.collectors.network.paths", "TCP.derives[0].make")),),
            eager=True,
        ),
        "PATHS": Collector(
            name='paths',
            title='Path MTUs learned by the kernel',
            read=IfPresent(later("sdstop.collectors.network.paths", "PATHS.read"), (NothingFound(calls=(Call(method='run', given=(('ip', '-j', '-s', 'route', 'show', 'cache'), 10.0)),), end=End(call=0)),) * 2, (Denied, Failed, TimedOut), ('ip -j -s route show cache',)),
            families=(PathMtu,),
            needs=(Command(argv=('ip', '-j', '-s', 'route', 'show', 'cache'), why='destinations with a smaller MTU than their interface', filled=True), Command(argv=('ip', '-j', '-s', '-6', 'route', 'show', 'cache'), why='destinations with a smaller MTU than their interface', filled=True), Need(what='/sys/class/net/*/mtu', why='the MTU of the interface, to compare', filled=True)),
            pace=60.0,
            deadline=15.0,
            resting=120.0,
        ),
    },
    "sdstop.collectors.network.sessions": {
        "SESSIONS": Collector(
            name='sessions',
            title='iSCSI, NVMe and NBD sessions',
            read=IfPresent(later("sdstop.collectors.network.sessions", "SESSIONS.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/class/iscsi_connection',)), Call(method='entries', given=('/sys/class/iscsi_session',)), Call(method='entries', given=('/sys/class/nvme',)), Call(method='entries', given=('/sys/block',))), end=End()),) * 2, (TimedOut,)),
            families=(StorageSession,),
            needs=(
                Need(what='list:/sys/class/iscsi_session', why='which iSCSI sessions there are'),
                Need(what='/sys/class/iscsi_session/*', why='target, state and bursts of iSCSI sessions', filled=('state',)),
                Need(what='list:/sys/class/iscsi_session/*', why='disks of iSCSI sessions'),
                Need(what='list:/sys/class/iscsi_connection', why='connections of iSCSI sessions'),
                Need(what='/sys/class/iscsi_connection/*', why='address and limits of a connection'),
                Need(what='list:/sys/class/nvme', why='which NVMe controllers there are'),
                Need(what='/sys/class/nvme/*', why='transport, address and state', filled=('state', 'transport')),
                Need(what='list:/sys/class/nvme/*', why='namespaces of NVMe controllers'),
                Need(what='list:/sys/block', why='which NBDs there are'),
                Need(what='/sys/block/nbd*/*', why='whether an NBD is served'),
                Need(what='/sys/block/*/queue/max_sectors_kb', why='the largest request'),
            ),
            pace=10.0,
            deadline=5.0,
            fingerprint=IfPresent(later("sdstop.collectors.network.sessions", "SESSIONS.fingerprint"), (NothingFound(calls=(Call(method='entries', given=('/sys/class/iscsi_session',)), Call(method='entries', given=('/sys/class/nvme',)), Call(method='entries', given=('/sys/block',))), end=End(value=(((), ()), ()))),) * 2, (TimedOut,)),
        ),
    },
    "sdstop.collectors.network.sessions_text": {
        "SESSIONS_TEXT": Collector(
            name='sessions-text',
            title='iSCSI sessions and NVMe controllers from texts',
            read=IfPresent(later("sdstop.collectors.network.sessions_text", "SESSIONS_TEXT.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('iscsiadm',)), Call(method='recorded_texts', given=('nvme',))), end=End(key='cmd:iscsiadm', detail='none recorded; never run on a live node')),) * 2, ()),
            families=(SessionState, StorageSession, NvmePath),
            needs=(Need(what='cmd:iscsiadm *', why='iSCSI sessions, from captures only'), Need(what='cmd:nvme list-subsys*', why='NVMe controllers, from captures only')),
            forms=(Form(key='cmd:iscsiadm -m session -P 1', first='(?:iSCSI Transport Class version \\S+\\n)?(?:version \\S+\\n)?Target: (?:iqn|eui|naa)\\.\\S+', reads='iSCSI sessions, their states, portals and disks', versions='open-iscsi 2'), Form(key='cmd:nvme list-subsys', first='nvme-subsys\\d+ - NQN=\\S+', reads='controllers of NVMe subsystems, and their states', versions='nvme-cli 1 and 2', several=Several.JOINED)),
        ),
    },
    "sdstop.collectors.network.session_states": {
        "SESSION_STATES": Collector(
            name='session-states',
            title='States of storage sessions',
            read=IfPresent(later("sdstop.collectors.network.session_states", "SESSION_STATES.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/class/iscsi_session',)), Call(method='entries', given=('/sys/class/nvme',))), end=End()),) * 2, (TimedOut,)),
            families=(SessionState,),
            needs=(Need(what='list:/sys/class/iscsi_session', why='which iSCSI sessions there are'), Need(what='/sys/class/iscsi_session/*/state', why='whether iSCSI sessions are logged in', filled=True), Need(what='list:/sys/class/nvme', why='which NVMe controllers there are'), Need(what='/sys/class/nvme/*/state', why='whether NVMe controllers are live', filled=True)),
        ),
    },
    "sdstop.collectors.network.nvme_paths": {
        "NVME_PATHS": Collector(
            name='nvme-paths',
            title='Paths of native NVMe multipath',
            read=IfPresent(later("sdstop.collectors.network.nvme_paths", "NVME_PATHS.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/block',)),), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(NvmePath,),
            needs=(Need(what='list:/sys/block', why='which paths there are'), Need(what='/sys/class/nvme/*/state', why="whether a path's controller is live", filled=True), Need(what='/sys/block/nvme*/ana_state', why='access that a controller reports', filled=True), Need(what='/sys/class/nvme-subsystem/*/iopolicy', why='choice among the paths', filled=True)),
            pace=5.0,
            deadline=5.0,
        ),
    },
    "sdstop.collectors.network.storage_peers": {
        "STORAGE_PEERS": Collector(
            name='storage-peers',
            title='TCP connections to storage',
            read=IfPresent(later("sdstop.collectors.network.storage_peers", "STORAGE_PEERS.read"), (NothingFound(calls=(Call(method='read', given=('/proc/net/tcp',)), Call(method='read', given=('/proc/net/tcp6',))), end=End(call=0)),) * 2, ()),
            families=(StoragePeer,),
            needs=(
                Need(what='/proc/net/tcp', why='whether this node is connected to storage'),
                Need(what='/proc/net/tcp6', why='whether this node is connected to storage over IPv6'),
                Command(
                    argv=(
                        'ss',
                        '-tinO',
                        'state',
                        'established',
                        '(',
                        'dport',
                        '=',
                        ':445',
                        'or',
                        'dport',
                        '=',
                        ':2049',
                        'or',
                        'dport',
                        '=',
                        ':3260',
                        'or',
                        'dport',
                        '=',
                        ':3300',
                        'or',
                        'dport',
                        '=',
                        ':4420',
                        'or',
                        'dport',
                        '=',
                        ':6789',
                        'or',
                        'dport',
                        '=',
                        ':10809',
                        'or',
                        'dport',
                        '=',
                        ':24007',
                        'or',
                        '(',
                        'dport',
                        '>=',
                        ':7788',
                        'and',
                        'dport',
                        '<=',
                        ':7799',
                        ')',
                        'or',
                        '(',
                        'sport',
                        '>=',
                        ':7788',
                        'and',
                        'sport',
                        '<=',
                        ':7799',
                        ')',
                        'or',
                        '(',
                        'dport',
                        '>=',
                        ':6800',
                        'and',
                        'dport',
                        '<=',
                        ':7568',
                        ')',
                        'or',
                        '(',
                        'sport',
                        '>=',
                        ':6800',
                        'and',
                        'sport',
                        '<=',
                        ':7568',
                        ')',
                        ')',
                    ),
                    why='segments sent again to storage; only where it is connected to any',
                ),
            ),
            pace=15.0,
            deadline=12.0,
            resting=300.0,
            second=5.0,
        ),
    },
    "sdstop.collectors.network.clients": {
        "CLIENTS": Collector(
            name='clients',
            title='TCP clients of the storage of this node',
            read=IfPresent(later("sdstop.collectors.network.clients", "CLIENTS.read"), (NothingFound(calls=(Call(method='recorded', given=('ss',)), Call(method='read', given=('/proc/net/tcp',)), Call(method='read', given=('/proc/net/tcp6',))), end=End(call=1)),) * 2, ()),
            families=(StorageClient,),
            needs=(
                Need(what='/proc/net/tcp', why='whether a client is connected to a storage port'),
                Need(what='/proc/net/tcp6', why='whether a client is connected to a storage port over IPv6'),
                Command(argv=('ss', '-tinO', 'state', 'established', '(', 'sport', '=', ':139', 'or', 'sport', '=', ':445', 'or', 'sport', '=', ':2049', 'or', 'sport', '=', ':3260', 'or', 'sport', '=', ':4420', 'or', 'sport', '=', ':10809', ')'), why='bytes of each connection; only where there are such clients'),
                Need(what='/proc/net/route', why='interface that leads to a client'),
                Need(what='/proc/net/if_inet6', why='interface that leads to a client over IPv6'),
            ),
            pace=10.0,
            deadline=12.0,
            derives=(Derivation(source=StorageClient, target=StorageClientActivity, make=later("sdstop.collectors.network.clients", "CLIENTS.derives[0].make")),),
            resting=120.0,
        ),
    },
    "sdstop.collectors.network.addresses": {
        "ADDRESSES": Collector(
            name='addresses',
            title='IP addresses of this node',
            read=IfPresent(later("sdstop.collectors.network.addresses", "ADDRESSES.read"), (NothingFound(calls=(Call(method='read', given=('/proc/net/fib_trie',)), Call(method='read', given=('/proc/net/route',)), Call(method='read', given=('/proc/net/if_inet6',))), end=End()), NothingFound(calls=(Call(method='read', given=('/proc/net/fib_trie',)), Call(method='read', given=('/proc/net/if_inet6',))), end=End(call=0))), (Denied, Failed, TimedOut)),
            families=(NodeAddress,),
            needs=(Need(what='/proc/net/fib_trie', why='the addresses of this node'), Need(what='/proc/net/route', why='the interfaces that they belong to'), Need(what='/proc/net/if_inet6', why='the same of IPv6')),
            pace=60.0,
        ),
    },
    "sdstop.collectors.network.interfaces_text": {
        "INTERFACES_TEXT": Collector(
            name='interfaces-text',
            title='Interfaces in recorded output of ip and ethtool',
            read=IfPresent(later("sdstop.collectors.network.interfaces_text", "INTERFACES_TEXT.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('ip',)), Call(method='recorded_texts', given=('ethtool',)), Call(method='recorded_texts', given=('ethtool',))), end=End(key='cmd:ip -d -s address', detail='not recorded', recorded=False)),) * 2, ()),
            families=(Interface, Traffic, InterfaceLink, Bond, BondSlave, NodeAddress),
            needs=(Need(what='cmd:ip *', why='interfaces, addresses and bonds, from captures only; never run'), Need(what='cmd:ethtool*', why='speed, duplex, driver')),
            pace=60.0,
            forms=(
                Form(
                    key='cmd:ip -d -s address',
                    first='\\d+: [^\\s:@]+(?:@\\S+)?: <[A-Z0-9_,-]+> mtu \\d+ |\\d+: \\S+ +inet6? [0-9a-f.:]+/\\d+ |lo +UNKNOWN +(?:127\\.0\\.0\\.1/8|00:00:00:00:00:00 <)',
                    reads='MTU, state, addresses, bonds, errors and traffic of interfaces',
                    versions='iproute2 3.10 and later',
                    goes_on='\\d+: \\S.*| {4,}\\S.*|\\S+ +(?:UP|DOWN|UNKNOWN|LOWERLAYERDOWN|DORMANT|NOTPRESENT|TESTING)\\b.*|(?=.*\\b(?:qlen|qdisc|promiscuity|m(?:in|ax)mtu|perm_hwaddr|addrgenmode|num[rt]xqueues|gso_max_\\w+|ad_\\w+|mii_status|queue_id|link_failure_count|xmit_hash_policy|peer_notify_delay|arp_\\w+|lacp_rate)\\b)\\S.{0,250}',
                    fault=later("sdstop.collectors.network.ip_text", "fault", "sdstop.collectors.network.interfaces_text", "INTERFACES_TEXT.forms[0].fault"),
                    about='\\A\\d+: ([^\\s:@]+)',
                ),
                Form(
                    key='cmd:ethtool',
                    first='Settings for \\S+:$',
                    reads='speed, duplex and link of interfaces',
                    versions='ethtool 3 and later',
                    goes_on='(?:\\t| {4})\\s*\\S.*|(?:Pre-set maximums|Current hardware settings):|(?:RX|TX)[\\w ()-]*:\\s.*|[a-z0-9-]+: (?:on|off).*|(?:TCP data split|CQE Size|TX Push):.*|(?:Settings|Features|Ring parameters) for .*|NIC statistics: *|No data .*|Cannot .*',
                    fault=later("sdstop.collectors.network.ethtool", "fault", "sdstop.collectors.network.interfaces_text", "INTERFACES_TEXT.forms[1].fault"),
                    several=Several.JOINED,
                    about='Settings for (\\S+):',
                ),
                Form(key='cmd:ethtool -i', first='driver: \\S+\\nversion: ', reads='driver and firmware of a network card, with the command line', versions='ethtool 3 and later', goes_on='(?:version|(?:expansion-rom-|firmware-)?version|bus-info|supports-[a-z-]+|driver):.*', several=Several.JOINED),
            ),
        ),
    },
    "sdstop.collectors.network.cards_text": {
        "CARDS_TEXT": Collector(
            name='ethtool',
            title='Network cards in recorded output of ethtool',
            read=IfPresent(later("sdstop.collectors.network.cards_text", "CARDS_TEXT.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('ethtool',)), Call(method='recorded_texts', given=('ethtool',)), Call(method='recorded_texts', given=('ethtool',))), end=End(key='cmd:ethtool', detail='not recorded', recorded=False)),) * 2, ()),
            families=(InterfaceCard, InterfaceFault),
            needs=(Need(what='cmd:ethtool*', why='rings, offloads and counters of network cards, from captures only; never run'),),
            pace=60.0,
            forms=(
                Form(
                    key='cmd:ethtool',
                    first='Settings for \\S+:$',
                    reads='speed, duplex and link of interfaces',
                    versions='ethtool 3 and later',
                    goes_on='(?:\\t| {4})\\s*\\S.*|(?:Pre-set maximums|Current hardware settings):|(?:RX|TX)[\\w ()-]*:\\s.*|[a-z0-9-]+: (?:on|off).*|(?:TCP data split|CQE Size|TX Push):.*|(?:Settings|Features|Ring parameters) for .*|NIC statistics: *|No data .*|Cannot .*',
                    fault=later("sdstop.collectors.network.ethtool", "fault", "sdstop.collectors.network.interfaces_text", "INTERFACES_TEXT.forms[1].fault"),
                    several=Several.JOINED,
                    about='Settings for (\\S+):',
                ),
                Form(key='cmd:ethtool -i', first='driver: \\S+\\nversion: ', reads='driver and firmware of a network card, with the command line', versions='ethtool 3 and later', goes_on='(?:version|(?:expansion-rom-|firmware-)?version|bus-info|supports-[a-z-]+|driver):.*', several=Several.JOINED),
                Form(key='cmd:ethtool -S', first='(?:Features|Ring parameters) for \\S+:$|NIC statistics: *$', reads='rings and offloads of network cards; with the command line their error counters', versions='ethtool 3 and later', goes_on='(?:\\t| {4})\\s*\\S.*|(?:Pre-set maximums|Current hardware settings):|(?:RX|TX)[\\w ()-]*:\\s.*|[a-z0-9-]+: (?:on|off).*|(?:TCP data split|CQE Size|TX Push):.*|(?:Settings|Features|Ring parameters) for .*|NIC statistics: *|No data .*|Cannot .*', several=Several.JOINED),
            ),
        ),
    },
    "sdstop.collectors.network.exports": {
        "EXPORTS": Collector(
            name='exports',
            title='Targets exported by the kernel',
            read=IfPresent(later("sdstop.collectors.network.exports", "EXPORTS.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/kernel/config/target/iscsi',)), Call(method='entries', given=('/sys/kernel/config/nvmet/ports',))), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(TargetExport,),
            needs=(
                Need(what='list:/sys/kernel/config/target/iscsi', why='which iSCSI targets there are'),
                Need(what='list:/sys/kernel/config/target/iscsi/*', why='their target portal groups'),
                Need(what='/sys/kernel/config/target/iscsi/*/tpgt_*/enable', why='whether initiators can log in', privilege='root'),
                Need(what='list:/sys/kernel/config/target/iscsi/*/tpgt_*/np', why='their portals'),
                Need(what='list:/sys/kernel/config/target/iscsi/*/tpgt_*/lun', why='their LUNs'),
                Need(what='list:/sys/kernel/config/target/iscsi/*/tpgt_*/lun/*', why='the backstores of these'),
                Need(what='link:/sys/kernel/config/target/iscsi/*/tpgt_*/lun/*', why='the backstores of these'),
                Need(what='/sys/kernel/config/target/core/*/*/udev_path', why='the disks below'),
                Need(what='list:/sys/kernel/config/nvmet/ports', why='the ports of NVMe targets'),
                Need(what='/sys/kernel/config/nvmet/ports/*/*', why='their addresses'),
                Need(what='list:/sys/kernel/config/nvmet/ports/*/subsystems', why='their subsystems'),
                Need(what='list:/sys/kernel/config/nvmet/subsystems/*/namespaces', why='their namespaces'),
                Need(what='/sys/kernel/config/nvmet/subsystems/*/namespaces/*/*', why='whether a namespace is enabled, and its disk'),
                Need(what='link:/dev/*', why='the kernel names of these disks'),
            ),
            pace=60.0,
            fingerprint=IfPresent(later("sdstop.collectors.network.exports", "EXPORTS.fingerprint"), (NothingFound(calls=(Call(method='entries', given=('/sys/kernel/config/nvmet/ports',)), Call(method='entries', given=('/sys/kernel/config/target/iscsi',))), end=End(value=((), ()))),) * 2, (TimedOut,)),
        ),
    },
    "sdstop.collectors.network.sar": {
        "SAR_NETWORK": Collector(
            name='sar-network',
            title='Recorded sar -n DEV',
            read=IfPresent(later("sdstop.collectors.network.sar", "SAR_NETWORK.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('sar',)),), end=End(key='cmd:sar -n DEV', detail='none recorded; not used on a live node', recorded=False)),) * 2, ()),
            families=(InterfaceDay,),
            needs=(Need(what='cmd:sar *', why='traffic of interfaces, from captures and sosreports only; never run', redact=later("sdstop.readings.sysstat", "without_host", "sdstop.collectors.block.iostat", "IOSTAT.needs[0].redact")),),
            pace=60.0,
            forms=(Form(key='cmd:sar -n DEV', first='(?:Linux \\S+ \\([^()\\n]*\\)[ \\t].*\\(\\d+ CPUs?\\)[ \\t]*\\n\\s*(?:\\d.*\\n\\s*)??)?[ \\t]*(?:\\S{1,4} )?\\d{1,2}(?:[:.]|時|时|시 ?)\\d\\d(?:[:.]|分|분 ?)\\d\\d(?:秒|초)?(?: (?:[AP]M|[ap]m|[πμ]μ|[صم]))?(?: [A-Z]{2,5})?[ \\t]+(?:IFACE\\s+rx\\w+/s\\s|rx\\w+/s\\s.*\\sIFACE$)', reads='traffic, errors and drops of interfaces', versions='sysstat 9.1 and later', several=Several.JOINED),),
        ),
    },
    "sdstop.collectors.limits.cgroups": {
        "CGROUPS": Collector(
            name='cgroups',
            title='I/O limits of cgroups',
            read=IfPresent(
                later("sdstop.collectors.limits.cgroups", "CGROUPS.read"),
                (NothingFound(calls=(Call(method='answer', given=('cgroup.limited',)), Call(method='entries', given=('/sys/fs/cgroup',)), Call(method='entries', given=('/sys/fs/cgroup/blkio',)), Call(method='entries', given=('/sys/fs/cgroup/blkio',)), Call(method='entries', given=('/sys/fs/cgroup/blkio',)), Call(method='entries', given=('/sys/fs/cgroup/blkio',)), Call(method='entries', given=('/sys/fs/cgroup',))), end=End(call=0)),) * 2,
                (TimedOut,),
            ),
            families=(Limit,),
            needs=(
                Question(name='cgroup.limited', why='which control groups have limits on block devices', answer=later("sdstop.collectors.limits.cgroups", "CGROUPS.needs[0].answer"), holds=10.0),
                Need(what='/sys/fs/cgroup/*', why='the limits, what passed, and how long tasks waited', filled=('io.pressure',)),
                Need(what='list:/sys/fs/cgroup*', why='control groups, if their limits cannot be queried'),
                Need(what='link:/sys/dev/block/*', why='name of the limited device'),
                Need(what='/sys/block/*/dev', why='name of the limited device, if a capture lacks the link'),
                Need(what='list:/sys/block', why='name of the limited device, if a capture lacks the link'),
            ),
            deadline=4.0,
            derives=(Derivation(source=Limit, target=LimitUse, make=later("sdstop.readings.limit", "use", "sdstop.collectors.limits.cgroups", "CGROUPS.derives[0].make")),),
            eager=True,
        ),
    },
    "sdstop.collectors.limits.qemu": {
        "QEMU": Collector(
            name='qemu',
            title='I/O limits of virtual drives',
            read=IfPresent(later("sdstop.collectors.limits.qemu", "QEMU.read"), (NothingFound(calls=(Call(method='answer', given=('qemu.drives',)), Call(method='entries', given=('/run/libvirt/qemu',)), Call(method='entries', given=('/etc/libvirt/qemu',))), end=End(call=0)),) * 2, (Denied, TimedOut)),
            families=(Limit,),
            needs=(
                Question(name='qemu.drives', why='limits of the drives of running machines', privilege="root, for libvirt's state", answer=later("sdstop.collectors.limits.machines", "drives", "sdstop.collectors.limits.qemu", "QEMU.needs[0].answer")),
                Need(what='/run/libvirt/qemu/*.xml', why='limits of the drives, from captures only', keep=later("sdstop.collectors.limits.drives", "kept_domain", "sdstop.collectors.limits.qemu", "QEMU.needs[1].keep")),
                Need(what='/etc/libvirt/qemu/*.xml', why='limits of the drives, from captures only', keep=later("sdstop.collectors.limits.drives", "kept_domain", "sdstop.collectors.limits.qemu", "QEMU.needs[1].keep")),
                Need(what='list:/run/libvirt/qemu', why='virtual machines with recorded files'),
                Need(what='list:/etc/libvirt/qemu', why='virtual machines with recorded files'),
                Need(what='link:/dev/*', why="kernel name of a drive's device"),
            ),
            pace=30.0,
            deadline=5.0,
            derives=(Derivation(source=Limit, target=LimitUse, make=later("sdstop.readings.limit", "use", "sdstop.collectors.limits.cgroups", "CGROUPS.derives[0].make")),),
            resting=120.0,
        ),
    },
    "sdstop.collectors.limits.services": {
        "SERVICES": Collector(
            name='services',
            title='Storage services with limits',
            read=IfPresent(later("sdstop.collectors.limits.services", "SERVICES.read"), (NothingFound(calls=(Call(method='answer', given=('cgroup.services',)), Call(method='entries', given=('/sys/fs/cgroup',)), Call(method='entries', given=('/sys/fs/cgroup/cpu,cpuacct',)), Call(method='entries', given=('/sys/fs/cgroup/cpu',))), end=End(call=0)),) * 2, (TimedOut,)),
            families=(ServiceGroup,),
            needs=(Question(name='cgroup.services', why='limits of the control groups of storage services, and how often they bind', answer=later("sdstop.collectors.limits.services", "SERVICES.needs[0].answer")), Need(what='/sys/fs/cgroup/*', why='the limits, if they cannot be queried'), Need(what='list:/sys/fs/cgroup*', why='control groups, if their limits cannot be queried'), Need(what='/proc/*/comm', why='names of the programs of a group, if they cannot be queried')),
            pace=5.0,
            deadline=10.0,
            eager=True,
        ),
    },
    "sdstop.collectors.devicemapper.mapper": {
        "MAPPER": Collector(
            name='mapper',
            title='Device mapper devices, including LVM',
            read=IfPresent(later("sdstop.collectors.devicemapper.mapper", "MAPPER.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/block',)), Call(method='recorded', given=('dmsetup',))), end=End()),) * 2, (TimedOut,)),
            families=(MappedDevice,),
            needs=(
                Need(what='list:/sys/block', why='whether there are device mapper devices'),
                Command(argv=('dmsetup', 'table'), why='tables of the mappings; encryption keys are never shown', privilege='root: device mapper requires it', filled=True),
                Command(argv=('dmsetup', 'info', '-c', '--noheadings', '--separator', ':'), why='kernel names and UUIDs of the mappings (LVM- if they belong to LVM)', privilege='root: device mapper requires it'),
                Need(what='cmd:dmsetup *', why='fallback in another format, from captures only; never run on a live node'),
                Need(what='/sys/kernel/uevent_seqnum', why='whether devices had events: a table may have been loaded', everyone=True),
                Need(what='/proc/partitions', why='kernel names by major and minor number, as tables have them'),
            ),
            pace=60.0,
            deadline=10.0,
            fingerprint=IfPresent(later("sdstop.collectors.devicemapper.mapper", "MAPPER.fingerprint"), (NothingFound(calls=(Call(method='entries', given=('/sys/block',)),), end=End()),) * 2, (TimedOut,)),
            forms=(
                Form(
                    key='cmd:dmsetup status',
                    first='(?:[^\\s\\"\'`|/\\u2502\\u2503\\u2551]{1,200}: )?\\d+ \\d+ flashcache stats:|[^\\s\\"\'`|/\\u2502\\u2503\\u2551]{1,200}: \\d+ \\d+ (?:cache \\d+ \\d+/\\d+|writecache \\d+) |(?:[^\\s\\"\'`|/\\u2502\\u2503\\u2551]{1,200}: \\d+ \\d+ (?:linear|crypt|snapshot-origin) *\\n){0,60}[^\\s\\"\'`|/\\u2502\\u2503\\u2551]{1,200}: \\d+ \\d+ (?:raid raid\\w{1,8} \\d{1,3} [AaD-]{1,253} \\d|mirror \\d (?:\\S+ )+\\d+/\\d+ 1 [ADFSRU]+ |striped \\d+ (?:\\d+:\\d+ )+1 [AD]+ *\\n|thin-pool (?:\\d+ \\d+/\\d+ \\d|Fail|Error)|vdo /dev/\\S+ \\S+ \\S+ |snapshot(?:-merge)? (?:\\d+/\\d|Invalid|Overflow|Merge)|integrity \\d+ \\d+ [\\d-]|multipath \\d \\d \\d \\d )',
                    reads='states of caches, LVM RAID, thin pools, snapshots, checksums, multipath maps',
                    versions='dmsetup 1.02 and later',
                    goes_on='\\s+\\S.*|(?:[^\\s\\"\'`|/\\u2502\\u2503\\u2551]{1,200}: )?\\d+ \\d+ \\S.*|[a-zA-Z_ ]{2,40}(?:\\(| thresh).*|Size Hist: .*|(?: ?\\d+:\\d+)+ *',
                ),
                Form(key='cmd:dmsetup table', first='(?:[^\\s\\"\'`|/\\u2502\\u2503\\u2551]{1,200}: )?\\d+ \\d+ flashcache conf:', reads='the tables of caches, and the request sizes of flashcache', versions='dmsetup 1.02 and later', goes_on='\\s+\\S.*|(?:[^\\s\\"\'`|/\\u2502\\u2503\\u2551]{1,200}: )?\\d+ \\d+ \\S.*|[a-zA-Z_ ]{2,40}(?:\\(| thresh).*|Size Hist: .*|(?: ?\\d+:\\d+)+ *', whole=True),
                Form(
                    key='cmd:dmsetup table',
                    first='[^\\s\\"\'`|/\\u2502\\u2503\\u2551]{1,200}: \\d+ \\d+ (?:linear \\d+:\\d+ \\d|striped \\d+ \\d+ \\d+:\\d|thin \\d+:\\d+ \\d|thin-pool \\d+:\\d+ |crypt |snapshot(?:-origin|-merge)? \\d+:\\d|raid raid\\w+ \\d+ |multipath [^\\n]*(?:round-robin|service-time|queue-)|cache \\d+:\\d+ |writecache [sp] |mirror \\w+ \\d+ |era \\d+:\\d|verity \\d|integrity \\d+:\\d|delay \\d+:\\d|vdo V\\d)',
                    reads='targets and sizes of device mapper devices',
                    versions='dmsetup 1.02 and later',
                    goes_on='[^\\s\\"\'`|/\\u2502\\u2503\\u2551]{1,200}: \\d+ \\d+ [a-z][a-z0-9-]*(?: .*)?',
                ),
            ),
        ),
    },
    "sdstop.collectors.devicemapper.suspended": {
        "SUSPENDED": Collector(
            name='suspended',
            title='Suspended device mapper devices',
            read=IfPresent(later("sdstop.collectors.devicemapper.suspended", "SUSPENDED.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/block',)),), end=End()),) * 2, (TimedOut,)),
            families=(MappedState,),
            needs=(Need(what='list:/sys/block', why='which device mapper devices there are', everyone=True), Need(what='/sys/block/dm-*/dm/suspended', why='whether device mapper devices are suspended', filled=True)),
            devices='dm-\\d+',
        ),
    },
    "sdstop.collectors.devicemapper.suspended_text": {
        "SUSPENDED_TEXT": Collector(
            name='suspended-text',
            title='Suspended devices in recorded output of dmsetup',
            read=IfPresent(later("sdstop.collectors.devicemapper.suspended_text", "SUSPENDED_TEXT.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('dmsetup',)),), end=End(key='cmd:dmsetup info', detail='not recorded', recorded=False)),) * 2, ()),
            families=(MappedState,),
            needs=(Need(what='cmd:dmsetup info*', why='names and states of device mapper devices, from captures only; never run'),),
            pace=60.0,
            forms=(Form(key='cmd:dmsetup info', first='Name: {5,}\\S+\\nState: +(?:ACTIVE|SUSPENDED)|Name +Maj Min Stat Open Targ Event', reads='names and states of device mapper devices', versions='dmsetup 1.02 and later', goes_on='(?:Name|State|Read Ahead|Tables present|Open count|Event number|Major, minor|Number of targets|UUID):.*|\\S+ +\\d+ +\\d+ +[A-Za-z-]{3,8} .*'),),
        ),
    },
    "sdstop.collectors.devicemapper.status": {
        "DM_STATUS": Collector(
            name='dm-status',
            title='State of LVM RAID, thin pools, snapshots, checksums and multipath maps',
            read=IfPresent(later("sdstop.collectors.devicemapper.status", "DM_STATUS.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/block',)), Call(method='recorded', given=('dmsetup',))), end=End()),) * 2, (TimedOut,)),
            families=(MappedRaidState, Rebuild, Mismatch, ThinPool, ThinVolume, VolumeSnapshot, ChecksummedDevice, MappedTarget, MultipathState, MultipathPath),
            needs=(
                Need(what='list:/sys/block', why='whether there are device mapper devices', everyone=True),
                Command(argv=('dmsetup', 'status', '--noflush'), why='health, fill level and paths of the targets; nothing is flushed for it', privilege='root: device mapper requires it', filled=True),
                Command(argv=('dmsetup', 'table', '--target', 'multipath'), why='whether requests wait, where a path has failed', privilege='root: device mapper requires it', filled=True),
                Command(argv=('dmsetup', 'info', '-c', '--noheadings', '--separator', ':'), why='kernel names of the mappings', privilege='root: device mapper requires it'),
                Command(argv=('dmsetup', 'table'), why='devices and block sizes of the targets', privilege='root: device mapper requires it', filled=True),
                Need(what='cmd:dmsetup *', why='fallback in another format, from captures only; never run on a live node'),
                Need(what='link:/dev/*', why='kernel names of devices given by path'),
                Need(what='/proc/partitions', why='kernel names by major and minor number, as tables have them'),
                Need(what='/sys/block/*/dev', why='kernel names by number, if a capture lacks the list'),
                Need(what='/sys/block/*/device/access_state', why='access that an array gives through a path (ALUA)'),
                Need(what='/sys/block/dm-*/dm/*', why='kernel names of the mappings, if a capture lacks the list'),
            ),
            pace=5.0,
            deadline=10.0,
            fingerprint=IfPresent(later("sdstop.collectors.devicemapper.status", "DM_STATUS.fingerprint"), (NothingFound(calls=(Call(method='entries', given=('/sys/block',)),), end=End()),) * 2, (TimedOut,)),
            eager=True,
        ),
    },
    "sdstop.collectors.devicemapper.multipath_text": {
        "MULTIPATH_TEXT": Collector(
            name='multipath-text',
            title='Multipath maps in recorded output of multipath -ll',
            read=IfPresent(later("sdstop.collectors.devicemapper.multipath_text", "MULTIPATH_TEXT.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('multipath',)), Call(method='recorded_texts', given=('multipath',)), Call(method='recorded_texts', given=('multipathd',))), end=End(key='cmd:multipath -ll', detail='not recorded', recorded=False)),) * 2, ()),
            families=(MultipathState, MultipathPath),
            needs=(Need(what='cmd:multipath *', why='maps and paths as text, from captures only; never run'), Need(what='cmd:multipathd *', why='the same of multipathd show topology')),
            forms=(
                Form(key='cmd:multipath -ll', first='(?:[a-z]+: )?\\S+ (?:\\(\\S+\\) ?)?dm-\\d+ [^\\n]*\\nsize=', reads='multipath maps, the states of their paths, what happens without one', versions='multipath-tools 0.4.9 and later', goes_on=' {0,2}[|`].*|size=.*|(?:[a-z]+: )?\\S+ (?:\\(\\S+\\) ?)?dm-\\d+.*|\\S+ \\[nvme\\]:.*', fault=later("sdstop.collectors.devicemapper.multipath_text", "MULTIPATH_TEXT.forms[0].fault")),
                Form(key='cmd:multipath -ll', first='(?:[a-z]+: )?\\S+ (?:\\(\\S+\\) ?)?dm-\\d+ [^\\n]*\\n\\[size=', reads='multipath maps, the states of their paths, what happens without one', versions='multipath-tools 0.4.7 and 0.4.8', goes_on=' ?\\\\_ .*|\\[size=.*|(?:[a-z]+: )?\\S+ (?:\\(\\S+\\) ?)?dm-\\d+.*'),
            ),
        ),
    },
    "sdstop.collectors.devicemapper.multipathd_text": {
        "MULTIPATHD_TEXT": Collector(
            name='multipathd-text',
            title='Multipath paths and maps in recorded tables of multipathd',
            read=IfPresent(later("sdstop.collectors.devicemapper.multipathd_text", "MULTIPATHD_TEXT.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('multipathd',)), Call(method='recorded_texts', given=('multipathd',)), Call(method='recorded_texts', given=('multipathd',))), end=End(key='cmd:multipathd show paths', detail='not recorded', recorded=False)),) * 2, ()),
            families=(MultipathState, MultipathPath),
            needs=(Need(what='cmd:multipathd *', why='tables of multipathd show paths and show maps status, from captures only; never run'),),
            forms=(
                Form(key='cmd:multipathd show paths', first='hcil +dev +dev_t +pri +dm_st +chk_st +dev_st +next_check', reads='states of the paths of multipath maps', versions='multipath-tools 0.4.9 and later', goes_on='(?:\\S+:\\S+|#:#:#:#)\\s+\\S+\\s+(?:\\d+:\\d+|#:#)\\s.*'),
                Form(key='cmd:multipathd show paths format', first='(?=[^\\n]*\\bdm_st\\b)(?=[^\\n]*\\bchk_st\\b)(?=(?:[^\\n]* )?dev\\b)(?!hcil +dev +dev_t +pri )[a-z_/.+]+(?: +[a-z_/.+%]+){2,12}\\s*$', reads='states of the paths of multipath maps', versions='multipath-tools 0.4.9 and later', goes_on='\\S+(?: +\\S+){2,14}\\s*'),
                Form(key='cmd:multipathd show maps status', first='name +failback +queueing +paths +dm-st(?: +write_prot)?', reads='active paths of multipath maps, and what happens without one', versions='multipath-tools 0.4.9 and later', goes_on='\\S+ +(?:immediate|manual|followover|undef|deferred:\\d+|[X.]+ \\d+/\\d+) +.*'),
            ),
        ),
    },
    "sdstop.collectors.devicemapper.raids": {
        "MAPPED_RAIDS": Collector(
            name='mapped-raids',
            title='LVM RAID volumes, without lvs',
            read=IfPresent(later("sdstop.collectors.devicemapper.raids", "MAPPED_RAIDS.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/block',)),), end=End()),) * 2, (TimedOut,)),
            families=(MappedRaid,),
            needs=(Need(what='list:/sys/block', why='which device mapper devices there are'), Need(what='/sys/block/dm-*/dm/name', why='the volumes whose parts they are'), Need(what='/sys/block/dm-*/dm/uuid', why='whether devices belong to LVM, and their volume group')),
            pace=60.0,
            fingerprint=IfPresent(later("sdstop.collectors.devicemapper.raids", "MAPPED_RAIDS.fingerprint"), (NothingFound(calls=(Call(method='entries', given=('/sys/block',)),), end=End()),) * 2, (TimedOut,)),
        ),
    },
    "sdstop.collectors.devicemapper.lvm": {
        "LVM": Collector(
            name='lvm',
            title='LVM volumes',
            read=IfPresent(later("sdstop.collectors.devicemapper.lvm", "LVM.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/block',)),), end=End()),) * 2, (TimedOut,)),
            families=(LogicalVolume,),
            needs=(
                Need(what='list:/sys/block', why='whether there are device mapper devices'),
                Need(what='/sys/block/dm-*/dm/uuid', why='whether device mapper devices belong to LVM'),
                Command(argv=('lvs', '-a', '--readonly', '--reportformat', 'json', '--units', 'b', '--nosuffix', '-o', 'vg_name,lv_name,segtype,lv_size,stripes,stripe_size,chunk_size,pool_lv,origin,devices'), why='types, stripes, and what volumes lie on; nothing is locked for it', privilege="root: it reads the disks' metadata"),
                Need(what='cmd:lvs *', why='logical volumes, from captures only; never run in this form'),
            ),
            pace=float("inf"),
            deadline=20.0,
            fingerprint=IfPresent(later("sdstop.collectors.devicemapper.lvm", "LVM.fingerprint"), (NothingFound(calls=(Call(method='entries', given=('/sys/block',)),), end=End()),) * 2, (TimedOut,)),
        ),
    },
    "sdstop.collectors.devicemapper.lvm_text": {
        "LVM_REPORTS": Collector(
            name='lvm-reports',
            title='LVM in recorded reports of lvs, vgs, pvs, lvdisplay, vgdisplay and pvdisplay',
            read=IfPresent(
                later("sdstop.collectors.devicemapper.lvm_text", "LVM_REPORTS.read"),
                (NothingFound(calls=(Call(method='recorded_texts', given=('lvs',)), Call(method='recorded_texts', given=('vgs',)), Call(method='recorded_texts', given=('pvs',)), Call(method='recorded_texts', given=('lvdisplay',)), Call(method='recorded_texts', given=('vgdisplay',)), Call(method='recorded_texts', given=('pvdisplay',))), end=End(key='cmd:lvs', detail='none recorded; never run on a live node', recorded=False)),) * 2,
                (),
            ),
            families=(LogicalVolume, VolumeGroup, PhysicalVolume, ThinPool, VolumeSnapshot),
            needs=(
                Need(what='cmd:lvs*', why='reports in any form, from captures only; never run'),
                Need(what='cmd:vgs*', why='reports in any form, from captures only; never run'),
                Need(what='cmd:pvs*', why='reports in any form, from captures only; never run'),
                Need(what='cmd:lvdisplay*', why='reports in any form, from captures only; never run'),
                Need(what='cmd:vgdisplay*', why='reports in any form, from captures only; never run'),
                Need(what='cmd:pvdisplay*', why='reports in any form, from captures only; never run'),
                Need(what='cmd:dmsetup *', why='whether the exact state of thin pools and snapshots was recorded, too'),
            ),
            pace=float("inf"),
            forms=(
                Form(
                    key='cmd:lvs',
                    first='\\s*LV(?:\\s+|[;:,|])(?:\\S+(?:\\s+|[;:,|]))*?(?:VG|Attr|LSize|Type|Devices|Pool)\\b|[^\\n]*LVM2_LV_NAME=\'|\\s*VG(?:\\s+|[;:,|])LV(?:\\s+|[;:,|])|\\s*\\{\\s*\\"report\\":\\s*\\[\\s*\\{\\s*\\"(?:lv|seg)\\":',
                    reads='logical volumes: types, sizes, underlying devices',
                    versions='lvm2 2.02 and later, any columns',
                    goes_on="\\s*\\[?[\\w.+-]+\\]?(?:[\\s;:,|].*)?[\\s;:,|](?:[-a-zA-Z]{6}|[-a-zA-Z]{9,10}|<?\\d[\\d.,]*[bBsSkKmMgGtTpPeE]?|/dev/\\S+|linear|striped|raid\\w+|mirror|thin(?:-pool)?|cache(?:-pool)?|snapshot|writecache|vdo(?:-pool)?)(?:[\\s;:,|].*)?|\\s*(?:/dev/|\\[unknown\\]|unknown device)\\S*.*|  (?:WARNING|Couldn't find|Reloading config|/dev/\\S+:).*",
                ),
                Form(
                    key='cmd:vgs',
                    first='\\s*VG(?:\\s+|[;:,|])(?:\\S+(?:\\s+|[;:,|]))*?(?:#PV|VSize|VFree)\\b|\\s*\\{\\s*\\"report\\":\\s*\\[\\s*\\{\\s*\\"vg\\":',
                    reads='volume groups: sizes, missing physical volumes',
                    versions='lvm2 2.02 and later, any columns',
                    goes_on="\\s*\\[?[\\w.+-]+\\]?(?:[\\s;:,|].*)?[\\s;:,|](?:[-a-zA-Z]{6}|[-a-zA-Z]{9,10}|<?\\d[\\d.,]*[bBsSkKmMgGtTpPeE]?|/dev/\\S+|linear|striped|raid\\w+|mirror|thin(?:-pool)?|cache(?:-pool)?|snapshot|writecache|vdo(?:-pool)?)(?:[\\s;:,|].*)?|\\s*(?:/dev/|\\[unknown\\]|unknown device)\\S*.*|  (?:WARNING|Couldn't find|Reloading config|/dev/\\S+:).*",
                ),
                Form(
                    key='cmd:pvs',
                    first='\\s*PV(?:\\s+|[;:,|])(?:\\S+(?:\\s+|[;:,|]))*?(?:VG|Fmt|PSize|PFree)\\b|\\s*\\{\\s*\\"report\\":\\s*\\[\\s*\\{\\s*\\"pv\\":',
                    reads='physical volumes and their volume groups',
                    versions='lvm2 2.02 and later, any columns',
                    goes_on="\\s*\\[?[\\w.+-]+\\]?(?:[\\s;:,|].*)?[\\s;:,|](?:[-a-zA-Z]{6}|[-a-zA-Z]{9,10}|<?\\d[\\d.,]*[bBsSkKmMgGtTpPeE]?|/dev/\\S+|linear|striped|raid\\w+|mirror|thin(?:-pool)?|cache(?:-pool)?|snapshot|writecache|vdo(?:-pool)?)(?:[\\s;:,|].*)?|\\s*(?:/dev/|\\[unknown\\]|unknown device)\\S*.*|  (?:WARNING|Couldn't find|Reloading config|/dev/\\S+:).*",
                ),
                Form(key='cmd:lvdisplay', first=' *--- Logical volume ---\\s*\\n *LV (?:Path|Name) ', reads='logical volumes: sizes, fill levels of thin pools and snapshots, suspended volumes', versions='lvm2 2.02 and later', goes_on='\\s*--- [\\w ]{1,60} ---\\s*|\\s+[A-Z#\\"-].*|\\s+/dev/.*', several=Several.JOINED),
                Form(key='cmd:vgdisplay', first=' *--- Volume group ---\\s*\\n *VG Name ', reads='volume groups: sizes', versions='lvm2 2.02 and later', goes_on='\\s*--- [\\w ]{1,60} ---\\s*|\\s+[A-Z#\\"-].*|\\s+/dev/.*', several=Several.JOINED),
                Form(key='cmd:pvdisplay', first=' *--- (?:NEW )?Physical volume ---\\s*\\n *PV Name ', reads='physical volumes and their volume groups', versions='lvm2 2.02 and later', goes_on='\\s*--- [\\w ]{1,60} ---\\s*|\\s+[A-Z#\\"-].*|\\s+/dev/.*', several=Several.JOINED),
            ),
        ),
    },
    "sdstop.collectors.devicemapper.dmcache": {
        "DMCACHE": Collector(
            name='dmcache',
            title='Device mapper caches: flashcache, dm-cache, dm-writecache',
            read=IfPresent(later("sdstop.collectors.devicemapper.dmcache", "DMCACHE.read"), (NothingFound(calls=(Call(method='recorded', given=('dmsetup',)), Call(method='entries', given=('/sys/module/flashcache',)), Call(method='entries', given=('/sys/module/dm_cache',)), Call(method='entries', given=('/sys/module/dm_writecache',))), end=End()),) * 2, (TimedOut,)),
            families=(Cache, RequestSizes),
            needs=(
                Need(what='list:/sys/module/flashcache', why='whether such a cache can be there'),
                Need(what='list:/sys/module/dm_cache', why='whether such a cache can be there'),
                Need(what='list:/sys/module/dm_writecache', why='whether such a cache can be there'),
                Command(argv=('dmsetup', 'status', '--noflush'), why='hits, misses, bypasses, dirty blocks; metadata is not flushed for it', privilege='root: device mapper requires it', filled=True),
                Command(argv=('dmsetup', 'table', '--target', 'flashcache'), why='contents of a flashcache, and requests by size', privilege='root: device mapper requires it'),
                Command(argv=('dmsetup', 'table'), why='devices, mode and block size', privilege='root: device mapper requires it', filled=True),
                Command(argv=('dmsetup', 'info', '-c', '--noheadings', '--separator', ':'), why="the caches' kernel names, and whether they are LVM's", privilege='root: device mapper requires it'),
                Need(what='cmd:dmsetup *', why='fallback in another format, from captures only; never run on a live node'),
                Need(what='link:/dev/*', why='kernel names of the devices of a flashcache'),
                Need(what='/proc/partitions', why='kernel names by major and minor number, as tables have them'),
                Need(what='list:/sys/block', why='kernel names of the devices of a cache, if a capture lacks links'),
                Need(what='/sys/block/*/dev', why='kernel names of the devices of a cache, if a capture lacks links'),
                Need(what='/sys/block/dm-*/dm/*', why='kernel names of the caches, if a capture lacks links'),
                Need(what='/proc/sys/kernel/osrelease', why='whether dm-writecache of this kernel counts blocks'),
            ),
            pace=2.0,
            derives=(Derivation(source=Cache, target=CacheActivity, make=later("sdstop.readings.cache", "activity", "sdstop.collectors.devicemapper.dmcache", "DMCACHE.derives[0].make")),),
            lacks=later("sdstop.collectors.devicemapper.dmcache", "DMCACHE.lacks"),
            eager=True,
            devices='mapper/.+_w?corig',
        ),
    },
    "sdstop.collectors.devicemapper.flashcache": {
        "FLASHCACHE": Collector(
            name='flashcache',
            title='flashcache, without root',
            read=IfPresent(later("sdstop.collectors.devicemapper.flashcache", "FLASHCACHE.read"), (NothingFound(calls=(Call(method='entries', given=('/proc/flashcache',)),), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(Cache, RequestSizes),
            needs=(
                Need(what='list:/proc/flashcache', why='which caches there are'),
                Need(what='/proc/flashcache/flashcache_version', why="the module's version"),
                Need(what='/proc/flashcache/*/flashcache_stats', why='hits, bypasses, evictions', filled=True),
                Need(what='/proc/flashcache/*/flashcache_errors', why='I/O errors of both sides', filled=True),
                Need(what='/proc/flashcache/*/flashcache_iosize_hist', why='requests by size'),
                Need(what='link:/sys/class/block/*', why='kernel name of a cache device'),
                Need(what='list:/sys/*/holders', why="which mapping is made of the cache's devices"),
                Need(what='/sys/block/dm-*/dm/*', why="the mapping's name"),
                Need(what='cmd:dmsetup *', why='whether the capture has the cache from dmsetup; not run for this'),
            ),
            derives=(Derivation(source=Cache, target=CacheActivity, make=later("sdstop.readings.cache", "activity", "sdstop.collectors.devicemapper.dmcache", "DMCACHE.derives[0].make")),),
        ),
    },
    "sdstop.collectors.bcache.backing": {
        "BCACHE_BACKING": Collector(
            name='bcache-backing',
            title='Backing devices of bcache without a cache',
            read=IfPresent(later("sdstop.collectors.bcache.backing", "BCACHE_BACKING.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/fs/bcache',)),), end=End()),) * 2, (TimedOut,)),
            families=(BcacheWaiting,),
            needs=(
                Need(what='list:/sys/fs/bcache', why='whether bcache is loaded'),
                Need(what='list:/sys/block', why='disks'),
                Need(what='list:/sys/block/*', why='partitions, and which are registered with bcache'),
                Need(what='list:/sys/block/*/*', why='partitions that are registered with bcache'),
                Need(what='/sys/block/*/bcache/running', why='whether the device is started', filled=True),
                Need(what='/sys/block/*/bcache/state', why='whether it has dirty data', filled=True),
                Need(what='/sys/block/*/*/bcache/running', why='whether the device is started', filled=True),
                Need(what='/sys/block/*/*/bcache/state', why='whether it has dirty data', filled=True),
            ),
            pace=60.0,
        ),
    },
    "sdstop.collectors.bcache.superblock": {
        "BCACHE_SUPERBLOCK": Collector(
            name='bcache-superblock',
            title='Superblocks of bcache in recorded output of bcache-super-show',
            read=IfPresent(later("sdstop.collectors.bcache.superblock", "BCACHE_SUPERBLOCK.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('bcache-super-show',)),), end=End(key='cmd:bcache-super-show', detail='not recorded', recorded=False)),) * 2, ()),
            families=(BcacheSuperblock,),
            needs=(Need(what='cmd:bcache-super-show*', why='superblocks of cache and backing devices, from captures only; never run'),),
            forms=(Form(key='cmd:bcache-super-show', first='sb\\.magic\\s+(?:ok|bad magic)', reads='superblocks of bcache: whether they are valid, and the state of the data', versions='bcache-tools 1.0 and 1.1', goes_on='(?:sb|dev|cset)\\.[a-z_.]+\\s+\\S.*|(?:Invalid|Corrupt) superblock .*', several=Several.JOINED),),
        ),
    },
    "sdstop.collectors.bcache.devices": {
        "BCACHE": Collector(
            name='bcache',
            title='bcache',
            read=IfPresent(later("sdstop.collectors.bcache.devices", "BCACHE.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/block',)),), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(Cache,),
            needs=(
                Need(what='list:/sys/block', why='bcache devices'),
                Need(what='/sys/block/bcache*/bcache/state', why='clean, dirty, no cache, inconsistent', filled=True),
                Need(what='/sys/block/bcache*/bcache/cache_mode', why='cache mode', filled=True),
                Need(what='/sys/block/bcache*/bcache/dirty_data', why='data only in the cache', filled=True),
                Need(what='/sys/block/bcache*/bcache/sequential_cutoff', why='sequential bypass threshold', filled=True),
                Need(what='/sys/block/bcache*/bcache/backing_dev_name', why='backing device', filled=True),
                Need(what='/sys/block/bcache*/bcache/io_errors', why='errors of the backing device', filled=True),
                Need(what='/sys/block/bcache*/bcache/io_disable', why='whether the kernel refuses all I/O because the backing device failed', filled=True),
                Need(what='/sys/block/bcache*/bcache/writeback_rate', why='rate at which dirty data is to be written back', filled=True),
                Need(what='/sys/block/bcache*/bcache/writeback_running', why='whether writeback runs', filled=True),
                Need(what='/sys/block/bcache*/bcache/stats_total/*', why='hits, misses and bypasses', filled=True),
                Need(what='link:/sys/block/bcache*/bcache', why='backing device, where the kernel does not name it'),
                Need(what='link:/sys/block/bcache*/bcache/cache', why='cache set of a bcache device'),
                Need(what='list:/sys/fs/bcache/*', why='devices of the cache set'),
                Need(what='link:/sys/fs/bcache/*/cache*', why='kernel names of the devices of the cache set'),
                Need(what='/sys/fs/bcache/*/block_size', why='smallest cacheable unit', filled=True),
                Need(what='/sys/fs/bcache/*/cache*/*', why='room, errors, replacement policy', filled=('nbuckets', 'bucket_size', 'io_errors', 'cache_replacement_policy')),
            ),
            derives=(Derivation(source=Cache, target=CacheActivity, make=later("sdstop.readings.cache", "activity", "sdstop.collectors.devicemapper.dmcache", "DMCACHE.derives[0].make")),),
            devices='bcache\\d+',
        ),
    },
    "sdstop.collectors.zfs.arc": {
        "ARC": Collector(
            name='arc',
            title='ZFS ARC and L2ARC',
            read=IfPresent(later("sdstop.collectors.zfs.arc", "ARC.read"), (NothingFound(calls=(Call(method='read', given=('/proc/spl/kstat/zfs/arcstats',)),), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(Cache,),
            needs=(Need(what='/proc/spl/kstat/zfs/arcstats', why='hits, misses and sizes of both', filled=True),),
            derives=(Derivation(source=Cache, target=CacheActivity, make=later("sdstop.readings.cache", "activity", "sdstop.collectors.devicemapper.dmcache", "DMCACHE.derives[0].make")),),
        ),
    },
    "sdstop.collectors.zfs.sizes": {
        "ZPOOL_SIZES": Collector(
            name='zpool-sizes',
            title='Request sizes counted by ZFS',
            read=IfPresent(later("sdstop.collectors.zfs.sizes", "ZPOOL_SIZES.read"), (NothingFound(calls=(Call(method='entries', given=('/proc/spl/kstat/zfs',)),), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(RequestSizes,),
            needs=(Need(what='list:/proc/spl/kstat/zfs', why='whether any pool is imported'), Command(argv=('zpool', 'iostat', '-r', '-H', '-p'), why='I/Os to the disks of each pool by size, since its import')),
            pace=60.0,
            deadline=12.0,
        ),
    },
    "sdstop.collectors.zfs.kstats": {
        "ZFS_STATE": Collector(
            name='zfs-state',
            title='States of ZFS pools, and the intent log',
            read=IfPresent(later("sdstop.collectors.zfs.kstats", "ZFS_STATE.read"), (NothingFound(calls=(Call(method='entries', given=('/proc/spl/kstat/zfs',)),), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(PoolState, IntentLog),
            needs=(Need(what='list:/proc/spl/kstat/zfs', why='whether any pool is imported'), Need(what='/proc/spl/kstat/zfs/*/state', why='state of each pool, even if zpool status does not respond', filled=True), Need(what='/proc/spl/kstat/zfs/zil', why='waits for the intent log, and where it is written', filled=True)),
            devices='zd\\d+',
        ),
        "ZFS_DATASETS": Collector(
            name='zfs-datasets',
            title='I/O of ZFS datasets',
            read=IfPresent(later("sdstop.collectors.zfs.kstats", "ZFS_DATASETS.read"), (NothingFound(calls=(Call(method='entries', given=('/proc/spl/kstat/zfs',)),), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(Dataset,),
            needs=(Need(what='list:/proc/spl/kstat/zfs', why='whether any pool is imported'), Need(what='list:/proc/spl/kstat/zfs/*', why='which datasets it has'), Need(what='/proc/spl/kstat/zfs/*/objset-0x*', why='reads, writes and waits for the intent log of each file system and volume', filled=True)),
            pace=5.0,
            deadline=5.0,
            derives=(Derivation(source=Dataset, target=DatasetActivity, make=later("sdstop.collectors.zfs.datasets", "activity", "sdstop.collectors.zfs.kstats", "ZFS_DATASETS.derives[0].make")),),
        ),
    },
    "sdstop.collectors.zfs.pools": {
        "ZFS": Collector(
            name='zfs',
            title='ZFS pools, their vdevs, resilvers and scrubs',
            read=IfPresent(later("sdstop.collectors.zfs.pools", "ZFS.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('zpool',)), Call(method='entries', given=('/proc/spl/kstat/zfs',)), Call(method='recorded_texts', given=('zpool',)), Call(method='recorded_texts', given=('zpool',))), end=End(call=1)),) * 2, (Denied, Failed, TimedOut)),
            families=(PoolState, Pool, Vdev, Rebuild, DevicePath),
            needs=(
                Need(what='list:/proc/spl/kstat/zfs', why='whether any pool is imported'),
                Need(what='/proc/spl/kstat/zfs/*/state', why="whether a pool's state changed: then it is asked at once"),
                Need(what='/sys/module/zfs/version', why='whether the tools support JSON'),
                Command(argv=('zpool', 'status', '-pP', '-s', '-t'), why='pools, vdevs, errors and scans; up to OpenZFS 2.2', filled=True),
                Command(argv=('zpool', 'status', '-j', '--json-int', '-pP', '-s'), why='pools, vdevs, errors and scans; OpenZFS 2.3 and later', filled=True),
                Command(argv=('zpool', 'list', '-H', '-p', '-o', 'name,size,allocated,free,fragmentation'), why='sizes of the pools'),
                Need(what='cmd:zpool status*', why='pools, from captures only; never run in this form', redact=later("sdstop.collectors.zfs.zpool_status", "without_files", "sdstop.collectors.zfs.pools", "ZFS.needs[6].redact")),
                Need(what='cmd:zpool list*', why='sizes and health of pools, from captures only; never run in this form', redact=later("sdstop.collectors.zfs.zpool_list", "without_vdevs", "sdstop.collectors.zfs.pools", "ZFS.needs[7].redact")),
                Need(what='link:/dev/disk/*/*', why='which devices the leaves are'),
            ),
            pace=10.0,
            deadline=20.0,
            fingerprint=IfPresent(later("sdstop.collectors.zfs.pools", "ZFS.fingerprint"), (NothingFound(calls=(Call(method='entries', given=('/proc/spl/kstat/zfs',)),), end=End()),) * 2, (TimedOut,)),
            devices='zd\\d+',
            forms=(
                Form(key='cmd:zpool status', first=' *pool: \\S', reads='pools, their devices, errors, and running scans', versions='ZFS 0.6 and later', goes_on='\\s+\\S.*|(?:state|status|action|see|scan|scrub|remove|expand|checkpoint|config|errors|comment|dedup):.*', fault=later("sdstop.collectors.zfs.zpool_status", "fault", "sdstop.collectors.zfs.pools", "ZFS.forms[0].fault"), about='(?m)^ *pool: (\\S+)'),
                Form(key='cmd:zpool status -j', first='\\{\\s*"output_version":\\s*\\{\\s*"command":\\s*"zpool status"', reads='pools, their devices, errors, and running scans', versions='OpenZFS 2.3 and later'),
                Form(key='cmd:zpool list', first=' *NAME +SIZE +ALLOC +FREE .*\\bHEALTH\\b', reads='health, sizes and fragmentation of pools', versions='ZFS 0.6 and later', goes_on=' *\\S+(?: +(?:-|[\\d.,]+[BKMGTPEZ]?[%x]?)){5,}(?: .*)?| *(?:logs|cache|special|dedup|spares?)(?: .*)?'),
            ),
        ),
    },
    "sdstop.collectors.zfs.load": {
        "ZPOOL_LOAD": Collector(
            name='zpool-load',
            title='Queues of ZFS vdevs',
            read=IfPresent(later("sdstop.collectors.zfs.load", "ZPOOL_LOAD.read"), (NothingFound(calls=(Call(method='entries', given=('/proc/spl/kstat/zfs',)),), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(VdevLoad,),
            needs=(Need(what='list:/proc/spl/kstat/zfs', why='whether any pool is imported'), Command(argv=('zpool', 'iostat', '-v', '-H', '-p', '-l', '-q'), why='queues of each vdev, and I/O latencies since the import')),
            pace=60.0,
            deadline=12.0,
        ),
    },
    "sdstop.collectors.zfs.zpool_iostat": {
        "ZPOOL_IOSTAT": Collector(
            name='zpool-iostat',
            title='Recorded zpool iostat',
            read=IfPresent(later("sdstop.collectors.zfs.zpool_iostat", "ZPOOL_IOSTAT.read"), (NothingFound(calls=(Call(method='recorded', given=('zpool',)),), end=End(key='cmd:zpool iostat', detail='none recorded with an interval', recorded=False)),) * 2, ()),
            families=(Service,),
            needs=(Need(what='cmd:zpool iostat *', why='rates and waits of vdevs, as others recorded them; never run so', split=later("sdstop.collectors.zfs.zpool_iostat", "ZPOOL_IOSTAT.needs[0].split")),),
            pace=60.0,
            forms=(Form(key='cmd:zpool iostat -v', first='\\s+capacity\\s+operations\\s+bandwidth\\b', reads='rates and waits of vdevs', versions='ZFS 0.6 and later', intervals=True),),
        ),
    },
    "sdstop.collectors.zfs.settings": {
        "ZFS_SETTINGS": Collector(
            name='zfs-settings',
            title='Settings of ZFS datasets',
            read=IfPresent(later("sdstop.collectors.zfs.settings", "ZFS_SETTINGS.read"), (NothingFound(calls=(Call(method='entries', given=('/proc/spl/kstat/zfs',)), Call(method='recorded', given=('zfs',))), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(DatasetSettings,),
            needs=(Need(what='list:/proc/spl/kstat/zfs', why='whether any pool is imported'), Command(argv=('zfs', 'get', '-H', '-p', '-t', 'filesystem,volume', '-o', 'name,property,value', 'type,sync,logbias,compression,primarycache,recordsize,volblocksize,volsize,used'), why='properties of each file system and volume'), Need(what='cmd:zfs get -H*', why='properties, from captures only; never run in this form'), Need(what='link:/dev/zvol/*', why='kernel names of the volumes')),
            pace=600.0,
            deadline=12.0,
        ),
        "ZFS_TUNING": Collector(
            name='zfs-tuning',
            title='ZFS resilver limits',
            read=IfPresent(later("sdstop.collectors.zfs.settings", "ZFS_TUNING.read"), (NothingFound(calls=(Call(method='entries', given=('/proc/spl/kstat/zfs',)),), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(Tuning,),
            needs=(Need(what='list:/proc/spl/kstat/zfs', why='whether any pool is imported'), Need(what='/sys/module/zfs/parameters/zfs_*', why='limits on resilvers, scrubs and rebuilds'), Need(what='/sys/module/zfs/version', why='version of the module')),
            pace=60.0,
        ),
    },
    "sdstop.collectors.zfs.pool_settings": {
        "POOL_SETTINGS": Collector(
            name='zpool-settings',
            title='Settings of ZFS pools',
            read=IfPresent(later("sdstop.collectors.zfs.pool_settings", "POOL_SETTINGS.read"), (NothingFound(calls=(Call(method='entries', given=('/proc/spl/kstat/zfs',)), Call(method='recorded', given=('zpool',))), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(PoolSettings,),
            needs=(Need(what='list:/proc/spl/kstat/zfs', why='whether any pool is imported'), Command(argv=('zpool', 'get', '-H', '-p', '-o', 'name,property,value', 'failmode'), why='whether requests wait or fail when a pool fails'), Need(what='cmd:zpool get*', why='the same, from captures only; never run in this form')),
            pace=600.0,
            deadline=12.0,
            forms=(Form(key='cmd:zpool get all', first='NAME +PROPERTY +VALUE +SOURCE\\n\\S+ +(?:failmode|size|capacity|altroot|health|ashift) ', reads='what happens to requests when a pool fails', versions='ZFS 0.6 and later', goes_on='\\S+ +\\S+ +\\S.*'),),
        ),
    },
    "sdstop.collectors.ceph.rbd": {
        "RBD": Collector(
            name='rbd',
            title='Limits of RBD images',
            read=IfPresent(later("sdstop.collectors.ceph.rbd", "RBD.read"), (NothingFound(calls=(Call(method='recorded', given=('rbd',)), Call(method='entries', given=('/sys/bus/rbd/devices',)), Call(method='entries', given=('/sys/bus/rbd/devices',))), end=End(call=2)),) * 2, (TimedOut,)),
            families=(Limit,),
            needs=(Need(what='cmd:rbd config image *', why='limits of an image, from captures only'), Need(what='list:/sys/bus/rbd/devices', why='images mapped by the kernel'), Need(what='/sys/bus/rbd/devices/*', why='names of mapped images')),
            pace=60.0,
            derives=(Derivation(source=Limit, target=LimitUse, make=later("sdstop.readings.limit", "use", "sdstop.collectors.limits.cgroups", "CGROUPS.derives[0].make")),),
        ),
    },
    "sdstop.collectors.ceph.cluster": {
        "CEPH": Collector(
            name='ceph',
            title='Ceph',
            read=IfPresent(
                later("sdstop.collectors.ceph.cluster", "CEPH.read"),
                (
                    NothingFound(
                        calls=(
                            Call(method='recorded', given=('ceph',)),
                            Call(method='recorded', given=('ceph-volume',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='entries', given=('/etc/ceph',)),
                        ),
                        end=End(key='/etc/ceph', detail='no Ceph here'),
                    ),
                    NothingFound(
                        calls=(
                            Call(method='recorded', given=('ceph',)),
                            Call(method='recorded', given=('ceph-volume',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='entries', given=('/etc/ceph',)),
                        ),
                        end=End(key='/etc/ceph', detail='not recorded', recorded=False),
                    ),
                ),
                (Denied, Failed, TimedOut),
            ),
            families=(Cluster, ClusterNode, CephCheck, CephBlocker, Rebuild),
            needs=(
                Need(what='list:/etc/ceph', why='presence of ceph.conf and an admin keyring'),
                Need(what='/etc/ceph/ceph.conf', why='cluster ID and monitors, if no monitor answers', keep=later("sdstop.collectors.ceph.tool", "only_identity", "sdstop.collectors.ceph.cluster", "CEPH.needs[1].keep")),
                Command(argv=('ceph', '--connect-timeout', '5', 'status', '-f', 'json'), why='health, quorum, capacity and recovery', privilege='root, or a user who can read the keyring'),
                Command(argv=('ceph', '--connect-timeout', '5', 'health', 'detail', '-f', 'json'), why='things named by health checks, if there are checks', privilege='root, or a user who can read the keyring'),
                Command(argv=('ceph', '--connect-timeout', '5', '--rados-mon-op-timeout', '6', 'osd', 'blocked-by', '-f', 'json'), why='OSDs for which placement groups wait, if some wait', privilege='root, or a user who can read the keyring'),
                Command(argv=('ceph', 'daemon', '*', 'mon_status'), why='state of a monitor of this node, if no monitor answers', privilege='root, or group ceph'),
                Need(what='list:/var/lib/ceph*', why='monitors of this node'),
                Need(what='cmd:ceph *', why='answers recorded by other tools, also as text', redact=later("sdstop.collectors.ceph.status_text", "without_names", "sdstop.collectors.ceph.cluster", "CEPH.needs[7].redact")),
            ),
            pace=30.0,
            deadline=39.0,
            forms=(
                Form(
                    key='cmd:ceph -s',
                    first=' *cluster:\\n *id: +[0-9a-f-]{8}| *cluster [0-9a-f]{8}-[0-9a-f-]{27} *\\n *health HEALTH_',
                    reads='health and its checks, monitors, usage, placement groups, recovery, client I/O',
                    versions='Ceph 0.80 and later',
                    goes_on=' +.*|(?:cluster|data|io|progress|services|task status):|\\d{4}-\\d\\d-\\d\\d[T ]\\d\\d:\\d\\d:\\d\\d\\S* \\S+ \\[(?:INF|WRN|ERR|DBG|SEC)\\] .*',
                    fault=later("sdstop.collectors.ceph.status_text", "status_fault", "sdstop.collectors.ceph.cluster", "CEPH.forms[0].fault"),
                ),
                Form(
                    key='cmd:ceph health detail',
                    first='HEALTH_(?:WARN|ERR) \\S[^\\n]*\\n(?:(?:\\(MUTED[^\\n]*\\) )?(?:\\[(?:WRN|ERR)\\] )?[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+:? \\S|(?:pg \\d+\\.[0-9a-f]+ is |\\d+ ops are blocked > |recovery \\d+/\\d+ |osd\\.\\d+ (?:is|has) |\\d+ osds have slow))|HEALTH_OK(?: \\(muted: [^\\n]*\\))?$',
                    reads='health checks, and the things they name',
                    versions='Ceph 0.80 and later',
                    goes_on='(?:\\(MUTED[^\\n]*\\) )?(?:\\[(?:WRN|ERR)\\] )?[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+:? .*| {2,}\\S.*|(?:pg \\d+\\.[0-9a-f]+ is |\\d+ ops are blocked > |recovery \\d+/\\d+ |osd\\.\\d+ (?:is|has) |\\d+ osds have slow).*|(?:mon|pool|mds|osd)\\b[^\\n]* (?:is|has|at|pg_num) .*',
                ),
                Form(key='cmd:ceph status -f json', first='\\{\\s*"fsid":\\s*"[0-9a-f-]{36}",\\s*"health":', reads='health and its checks, monitors, usage, placement groups, recovery, client I/O', versions='Ceph 0.80 and later'),
                Form(key='cmd:ceph health detail -f json', first='\\{\\s*(?:"status":\\s*"HEALTH_\\w+",\\s*)?"checks":\\s*\\{', reads='health checks, and the things they name', versions='Ceph 0.80 and later'),
            ),
        ),
    },
    "sdstop.collectors.ceph.cluster_log": {
        "CEPH_LOG": Collector(
            name='ceph-log',
            title="Ceph's cluster log",
            read=IfPresent(later("sdstop.collectors.ceph.cluster_log", "CEPH_LOG.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('ceph',)),), end=End(key='cmd:ceph log last', detail='not recorded', recorded=False)),) * 2, ()),
            families=(Cluster, CephCheck),
            needs=(Need(what='cmd:ceph *', why='answers recorded by other tools, also as text', redact=later("sdstop.collectors.ceph.status_text", "without_names", "sdstop.collectors.ceph.cluster", "CEPH.needs[7].redact")),),
            pace=60.0,
            forms=(Form(key='cmd:ceph log last', first='(?:\\d{4}-\\d\\d-\\d\\d[T ]\\d\\d:\\d\\d:\\d\\d[^ ]*) (?:mon|osd|mds|mgr|client)\\.[^ ]+ (?:[^\\n\\[\\]]{0,120} )?\\[(?:DBG|INF|SEC|WRN|ERR)\\] ?', reads='health checks that are active at the end of the cluster log', versions='Ceph 12 and later', goes_on='(?:\\d{4}-\\d\\d-\\d\\d[T ]\\d\\d:\\d\\d:\\d\\d[^ ]*) (?:mon|osd|mds|mgr|client)\\.[^ ]+ (?:[^\\n\\[\\]]{0,120} )?\\[(?:DBG|INF|SEC|WRN|ERR)\\] ?.*', by_line=True),),
        ),
    },
    "sdstop.collectors.ceph.stat_text": {
        "CEPH_STAT": Collector(
            name='ceph-stat',
            title='Ceph in recorded lines',
            read=IfPresent(later("sdstop.collectors.ceph.stat_text", "CEPH_STAT.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('ceph',)), Call(method='recorded_texts', given=('ceph',)), Call(method='recorded_texts', given=('ceph',)), Call(method='recorded_texts', given=('ceph',))), end=End(key='cmd:ceph pg stat', detail='not recorded', recorded=False)),) * 2, ()),
            families=(Cluster, ClusterNode, CephCheck),
            needs=(Need(what='cmd:ceph *', why='answers recorded by other tools, also as text', redact=later("sdstop.collectors.ceph.status_text", "without_names", "sdstop.collectors.ceph.cluster", "CEPH.needs[7].redact")),),
            pace=60.0,
            forms=(
                Form(key='cmd:ceph pg stat', first=' *(?:v\\d+: )?\\d+ pgs: \\d+ [a-z_+]+', reads='states of placement groups', versions='Ceph 0.94 and later', goes_on='(?!)', fault=later("sdstop.collectors.ceph.stat_text", "CEPH_STAT.forms[0].fault")),
                Form(key='cmd:ceph osd stat', first=' *(?:osdmap e\\d+: )?\\d+ osds: \\d+ up(?: \\([^)\\n]*\\))?, \\d+ in\\b', reads='numbers of OSDs that are up and in', versions='Ceph 0.94 and later', goes_on=' *flags [a-z_,-]+ *', fault=later("sdstop.collectors.ceph.stat_text", "CEPH_STAT.forms[1].fault")),
                Form(key='cmd:ceph mon stat', first='e\\d+: \\d+ mons? at \\{', reads='monitors, and those in the quorum', versions='Ceph 0.94 and later', goes_on='(?!)', fault=later("sdstop.collectors.ceph.stat_text", "CEPH_STAT.forms[2].fault")),
                Form(key='cmd:ceph quorum_status', first='\\{\\s*"election_epoch":\\s*\\d+,\\s*"quorum":', reads='monitors, and those in the quorum', versions='Ceph 0.94 and later', fault=later("sdstop.collectors.ceph.stat_text", "CEPH_STAT.forms[2].fault")),
            ),
        ),
    },
    "sdstop.collectors.ceph.osds": {
        "CEPH_OSDS": Collector(
            name='ceph-osds',
            title="Ceph's OSDs",
            read=IfPresent(
                later("sdstop.collectors.ceph.osds", "CEPH_OSDS.read"),
                (
                    NothingFound(
                        calls=(
                            Call(method='recorded', given=('ceph',)),
                            Call(method='recorded', given=('ceph-volume',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='entries', given=('/var/lib/ceph/osd',)),
                            Call(method='entries', given=('/var/lib/ceph/mon',)),
                            Call(method='entries', given=('/var/lib/ceph/mgr',)),
                            Call(method='entries', given=('/var/lib/ceph/mds',)),
                            Call(method='entries', given=('/var/lib/ceph/radosgw',)),
                            Call(method='entries', given=('/var/lib/ceph',)),
                            Call(method='entries', given=('/var/lib/ceph',)),
                            Call(method='entries', given=('/var/lib/ceph',)),
                            Call(method='entries', given=('/var/lib/ceph',)),
                            Call(method='entries', given=('/var/lib/ceph',)),
                            Call(method='entries', given=('/etc/ceph',)),
                        ),
                        end=End(key='/etc/ceph', detail='no Ceph here'),
                    ),
                    NothingFound(
                        calls=(
                            Call(method='recorded', given=('ceph',)),
                            Call(method='recorded', given=('ceph-volume',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='recorded_texts', given=('ceph',)),
                            Call(method='entries', given=('/var/lib/ceph/osd',)),
                            Call(method='entries', given=('/var/lib/ceph/mon',)),
                            Call(method='entries', given=('/var/lib/ceph/mgr',)),
                            Call(method='entries', given=('/var/lib/ceph/mds',)),
                            Call(method='entries', given=('/var/lib/ceph/radosgw',)),
                            Call(method='entries', given=('/var/lib/ceph',)),
                            Call(method='entries', given=('/var/lib/ceph',)),
                            Call(method='entries', given=('/var/lib/ceph',)),
                            Call(method='entries', given=('/var/lib/ceph',)),
                            Call(method='entries', given=('/var/lib/ceph',)),
                            Call(method='entries', given=('/etc/ceph',)),
                        ),
                        end=End(key='/etc/ceph', detail='not recorded', recorded=False),
                    ),
                ),
                (TimedOut,),
            ),
            families=(ClusterNode, ClusterPool, FailureDomain, ClusterDevice, CephPool, Service),
            needs=(
                Need(what='list:/etc/ceph', why='presence of ceph.conf and an admin keyring'),
                Need(what='/etc/ceph/ceph.conf', why='cluster ID', keep=later("sdstop.collectors.ceph.tool", "only_identity", "sdstop.collectors.ceph.cluster", "CEPH.needs[1].keep")),
                Command(argv=('ceph', '--connect-timeout', '5', '--rados-mon-op-timeout', '6', 'osd', 'df', 'tree', '-f', 'json'), why='OSDs and hosts with their use', privilege='root, or a user who can read the keyring'),
                Command(argv=('ceph', '--connect-timeout', '5', 'osd', 'tree', '-f', 'json'), why='OSDs and hosts, if no manager answers', privilege='root, or a user who can read the keyring'),
                Command(argv=('ceph', '--connect-timeout', '5', '--rados-mon-op-timeout', '6', 'osd', 'perf', '-f', 'json'), why='write latency of OSDs', privilege='root, or a user who can read the keyring'),
                Command(argv=('ceph', '--connect-timeout', '5', 'osd', 'dump', '-f', 'json'), why='pools with copies and quotas, fill ratios', privilege='root, or a user who can read the keyring'),
                Command(argv=('ceph', '--connect-timeout', '5', 'osd', 'crush', 'rule', 'dump', '-f', 'json'), why='failure domains of pools', privilege='root, or a user who can read the keyring'),
                Command(argv=('ceph', '--connect-timeout', '5', 'df', '-f', 'json'), why='use of pools', privilege='root, or a user who can read the keyring'),
                Need(what='cmd:ceph osd perf*', why='write latency of OSDs, as text', redact=later("sdstop.collectors.ceph.osd_perf", "only_numbers", "sdstop.collectors.ceph.osds", "CEPH_OSDS.needs[8].redact")),
                Need(what='cmd:ceph *', why='answers recorded by other tools, also as text', redact=later("sdstop.collectors.ceph.status_text", "without_names", "sdstop.collectors.ceph.cluster", "CEPH.needs[7].redact")),
                Need(what='cmd:ceph-volume *', why='disks of OSDs', redact=later("sdstop.collectors.ceph.osds", "CEPH_OSDS.needs[10].redact")),
                Need(what='list:/var/lib/ceph*', why='OSDs of this node'),
                Need(what='/var/lib/ceph/*/ceph_fsid', why='cluster ID of an OSD'),
                Need(what='link:/var/lib/ceph/*', why='device of an OSD'),
                Need(what='link:/dev/*', why="kernel name of an OSD's device"),
                Need(what='list:/sys/block/*/slaves', why="disk below an OSD's device"),
                Need(what='/proc/self/mounts', why='file system of an OSD that stores in files', keep=later("sdstop.core.retention", "mount_table", "sdstop.collectors.block.names", "DEVICE_NAMES.needs[0].keep")),
                Need(what='/proc/sys/kernel/hostname', why='host name'),
            ),
            pace=120.0,
            deadline=75.0,
            forms=(
                Form(key='cmd:ceph osd perf', first=' *osd\\s+(?:fs_)?commit_latency\\(ms\\)\\s', reads='latencies of OSDs', versions='Ceph 12 and later'),
                Form(key='cmd:ceph osd df tree', first=' *ID +CLASS +WEIGHT +REWEIGHT +SIZE .*TYPE NAME', reads='OSDs, hosts, and how full they are', versions='Ceph 12 and later', goes_on=' *-?\\d+ .*| *TOTAL .*|MIN/MAX VAR.*', fault=later("sdstop.collectors.ceph.osd_tables", "tree_fault", "sdstop.collectors.ceph.osds", "CEPH_OSDS.forms[1].fault")),
                Form(key='cmd:ceph osd df', first=' *ID +CLASS +WEIGHT +REWEIGHT +SIZE (?!.*TYPE NAME)', reads='OSDs, and how full they are', versions='Ceph 12 and later', goes_on=' *-?\\d+ .*| *TOTAL .*|MIN/MAX VAR.*', fault=later("sdstop.collectors.ceph.osd_tables", "tree_fault", "sdstop.collectors.ceph.osds", "CEPH_OSDS.forms[1].fault")),
                Form(key='cmd:ceph osd tree', first=' *ID +CLASS +WEIGHT +TYPE NAME', reads='OSDs and hosts, and which are down', versions='Ceph 12 and later', goes_on=' *-?\\d+ .*| *TOTAL .*|MIN/MAX VAR.*'),
                Form(key='cmd:ceph osd df tree -f json', first='\\{\\s*"nodes":\\s*\\[\\s*\\{\\s*"id":\\s*-?\\d+,\\s*(?:"device_class"[^}]*)?"name":(?=[\\s\\S]{0,20000}?"kb_used":)(?=[\\s\\S]{0,20000}?"type":\\s*"root")', reads='OSDs, hosts, and how full they are', versions='Ceph 12 and later'),
                Form(key='cmd:ceph osd tree -f json', first='\\{\\s*"nodes":\\s*\\[\\s*\\{\\s*"id":\\s*-?\\d+,\\s*(?:"device_class"[^}]*)?"name":(?![\\s\\S]{0,20000}?"kb_used":)', reads='OSDs and hosts, and which are down', versions='Ceph 12 and later'),
            ),
        ),
    },
    "sdstop.collectors.ceph.df_text": {
        "CEPH_DF_TEXT": Collector(
            name='ceph-df-text',
            title='Space of Ceph in recorded output of ceph df',
            read=IfPresent(later("sdstop.collectors.ceph.df_text", "CEPH_DF_TEXT.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('ceph',)),), end=End(key='cmd:ceph df', detail='not recorded', recorded=False)),) * 2, ()),
            families=(ClusterPool,),
            needs=(Need(what='cmd:ceph df*', why='use of the devices and pools of a cluster as text, from captures only; never run'),),
            pace=60.0,
            forms=(Form(key='cmd:ceph df', first='(?:--- )?RAW STORAGE(?: ---|:)\\s*\\n\\s*CLASS\\s+SIZE\\s+AVAIL\\s+USED\\s+RAW USED\\s+%RAW USED', reads='space of a Ceph cluster and its pools', versions='Ceph 14 and later, without detail', goes_on='\\s*(?:---|POOLS:|CLASS |POOL |TOTAL ).*|\\s*\\S+\\s+.*\\d[\\d.]{0,12} ?(?:[KMGTPEk]i?)?B?\\s*|\\s*\\S+(?:\\s+\\d[\\d.]{0,12} ?(?:[KMGTPEk]i?)?B?){4}\\s+[\\d.]+\\s*'),),
        ),
    },
    "sdstop.collectors.ceph.local": {
        "CEPH_DAEMONS": Collector(
            name='ceph-daemons',
            title='Ceph daemons of this node',
            read=IfPresent(
                later("sdstop.collectors.ceph.local", "CEPH_DAEMONS.read"),
                (
                    NothingFound(
                        calls=(
                            Call(method='entries', given=('/var/lib/ceph/osd',)),
                            Call(method='entries', given=('/var/lib/ceph/mon',)),
                            Call(method='entries', given=('/var/lib/ceph/mgr',)),
                            Call(method='entries', given=('/var/lib/ceph/mds',)),
                            Call(method='entries', given=('/var/lib/ceph/radosgw',)),
                            Call(method='entries', given=('/var/lib/ceph',)),
                            Call(method='entries', given=('/var/lib/ceph',)),
                            Call(method='entries', given=('/var/lib/ceph',)),
                            Call(method='entries', given=('/var/lib/ceph',)),
                            Call(method='entries', given=('/var/lib/ceph',)),
                            Call(method='entries', given=('/var/lib/ceph',)),
                        ),
                        end=End(key='/var/lib/ceph', detail='no Ceph daemon here'),
                    ),
                    NothingFound(
                        calls=(
                            Call(method='entries', given=('/var/lib/ceph/osd',)),
                            Call(method='entries', given=('/var/lib/ceph/mon',)),
                            Call(method='entries', given=('/var/lib/ceph/mgr',)),
                            Call(method='entries', given=('/var/lib/ceph/mds',)),
                            Call(method='entries', given=('/var/lib/ceph/radosgw',)),
                            Call(method='entries', given=('/var/lib/ceph',)),
                            Call(method='entries', given=('/var/lib/ceph',)),
                            Call(method='entries', given=('/var/lib/ceph',)),
                            Call(method='entries', given=('/var/lib/ceph',)),
                            Call(method='entries', given=('/var/lib/ceph',)),
                            Call(method='entries', given=('/var/lib/ceph',)),
                        ),
                        end=End(key='/var/lib/ceph', detail='no Ceph daemon here', recorded=False),
                    ),
                ),
                (TimedOut,),
            ),
            families=(CephDaemon,),
            needs=(
                Need(what='list:/var/lib/ceph*', why='data directories of daemons', privilege='root, or group ceph'),
                Need(what='/var/lib/ceph/*/ceph_fsid', why='cluster ID of a daemon'),
                Need(what='link:/var/lib/ceph/*', why='devices of OSDs'),
                Need(what='link:/dev/*', why="kernel name of an OSD's device"),
                Need(what='list:/sys/block/*/slaves', why="disk below an OSD's device"),
                Need(what='/proc/self/mounts', why='file system of an OSD that stores in files', keep=later("sdstop.core.retention", "mount_table", "sdstop.collectors.block.names", "DEVICE_NAMES.needs[0].keep")),
                Need(what='/proc/sys/kernel/hostname', why='host name'),
                Need(what='/etc/ceph/ceph.conf', why='cluster ID', keep=later("sdstop.collectors.ceph.tool", "only_identity", "sdstop.collectors.ceph.cluster", "CEPH.needs[1].keep")),
                Question(name='ceph.daemons', why='running daemons of Ceph', answer=later("sdstop.collectors.ceph.local", "CEPH_DAEMONS.needs[8].answer")),
            ),
            pace=30.0,
        ),
    },
    "sdstop.collectors.drbd.resources": {
        "DRBD": Collector(
            name='drbd',
            title='DRBD resources',
            read=IfPresent(
                later("sdstop.collectors.drbd.resources", "DRBD.read"),
                (
                    NothingFound(calls=(Call(method='recorded', given=('drbdsetup',)), Call(method='recorded_texts', given=('drbdsetup',)), Call(method='recorded_texts', given=('drbdadm',)), Call(method='recorded_texts', given=('drbd-overview',)), Call(method='read', given=('/proc/drbd',))), end=End(key='/proc/drbd', detail='DRBD is not loaded')),
                    NothingFound(calls=(Call(method='recorded', given=('drbdsetup',)), Call(method='recorded_texts', given=('drbdsetup',)), Call(method='recorded_texts', given=('drbdadm',)), Call(method='recorded_texts', given=('drbd-overview',)), Call(method='read', given=('/proc/drbd',))), end=End(key='/proc/drbd', detail='not recorded', recorded=False)),
                ),
                (Denied, Failed, TimedOut),
            ),
            families=(Cluster, ClusterNode, ClusterDevice, ClusterVolume, Rebuild, DrbdConnection, Mismatch),
            needs=(
                Need(what='/proc/drbd', why='version of the loaded DRBD; resources of version 8'),
                Command(argv=('drbdsetup', 'status', '--json', '--statistics'), why='resources of version 9', privilege='root'),
                Need(what='cmd:drbdsetup status*', why='resources recorded by other tools, also as text'),
                Need(what='cmd:drbdadm status*', why='resources recorded by other tools, as text'),
                Need(what='cmd:drbd-overview*', why='the same of drbd-overview'),
                Command(argv=('drbdsetup', 'show', '--show-defaults'), why='rate limits of a resync, only during one; lines with secrets are not kept', privilege='root', keep='\\s*(resource\\b|volume\\b|connection\\b|\\}|(_name|c-max-rate|c-min-rate|c-plan-ahead|resync-rate)\\b)'),
                Need(what='/proc/sys/kernel/hostname', why='host name'),
                Need(what='list:/dev/drbd/by-res', why="names of version 8's resources"),
                Need(what='list:/dev/drbd/by-res/*', why="volumes of version 8's resources"),
                Need(what='link:/dev/drbd/by-res/*', why='devices of these volumes'),
                Need(what='list:/sys/block/drbd*/slaves', why='disk below a DRBD device'),
            ),
            pace=5.0,
            deadline=7.0,
            devices='drbd\\d+',
            forms=(
                Form(key='/proc/drbd', first='version: 8\\.\\d+\\.\\d+.*\\(api:', reads='resources, their connections, disks and resyncs', versions='DRBD 8.0 to 8.4', goes_on=' *\\d+: ?cs:.*|\\s+\\S.*|(?:GIT-hash|srcversion): .*'),
                Form(key='cmd:drbdsetup status --json', first='\\[\\s*\\{\\s*"name":[\\s\\S]{1,2000}?"(?:node-id|role)":', reads='resources, their disks, peers, connections and resyncs', versions='drbd-utils 9'),
                Form(key='cmd:drbdsetup status', first='(?:drbdsetup\\S* status [^\\n]*\\n)?[^\\s:]+ (?:node-id:\\d+ )?role:(?:Primary|Secondary|Unknown)\\b[^\\n]*\\n\\s+(?:write-ordering:|disk:|volume:\\d+ (?:minor:\\d+ )?disk:)', reads='resources, their disks, peers, connections and resyncs', versions='drbd-utils 9', goes_on=' +\\S.*|[^\\s:]+ (?:node-id:\\d+ )?role:.*|drbdsetup\\S* status .*'),
                Form(key='cmd:drbdadm status', first='(?:drbdsetup\\S* status [^\\n]*\\n)?[^\\s:]+ (?:node-id:\\d+ )?role:(?:Primary|Secondary|Unknown)\\b[^\\n]*\\n\\s+(?:write-ordering:|disk:|volume:\\d+ (?:minor:\\d+ )?disk:)', reads='resources, their disks, peers, connections and resyncs', versions='drbd-utils 9', goes_on=' +\\S.*|[^\\s:]+ (?:node-id:\\d+ )?role:.*|drbdsetup\\S* status .*'),
                Form(key='cmd:drbd-overview', first='(?:NOTE: [^\\n]*\\n)*\\s{0,4}\\d{1,7}:\\S{1,200}\\s+[A-Z]\\w+(?:\\(\\S+\\)|/\\S+)?\\s+(?:(?:Primary|Secondary|Unknown)\\S*/|(?:Primary|Secondary)\\(\\d\\*\\)|(?:Primar|Second|Unknow)/)', reads='resources, their disks, peers and connections', versions='drbd-utils 8.4 to 9, with one peer', goes_on='\\s{0,4}\\d{1,7}:\\S+\\s.*|\\s*\\[[=>.]{3,60}\\].*|NOTE: .*'),
            ),
        ),
    },
    "sdstop.collectors.drbd.linstor": {
        "LINSTOR": Collector(
            name='linstor',
            title='LINSTOR in recorded output of linstor',
            read=IfPresent(later("sdstop.collectors.drbd.linstor", "LINSTOR.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('linstor',)), Call(method='recorded_texts', given=('linstor',)), Call(method='recorded_texts', given=('linstor',)), Call(method='recorded_texts', given=('linstor',))), end=End(key='cmd:linstor resource list', detail='not recorded', recorded=False)),) * 2, ()),
            families=(Cluster, ClusterNode, ClusterDevice, ClusterPool),
            needs=(Need(what='cmd:linstor *', why='tables of resources, volumes, nodes and storage pools, from captures only; never run'),),
            pace=60.0,
            forms=(
                Form(key='cmd:linstor resource list', first=' *[+╭][-─]{3,}[+╮] *\\n *[|┊] ResourceName +[|┊] Node +[|┊][^\\n]*[|┊] *$', reads='copies of resources, and their connections', versions='linstor-client 1.0 and later', goes_on=' *[|┊].*[|┊] *| *[|╞├][-=═─┄┈]+[|╡┤] *| *[+╰][-─]+[+╯] *', fault=later("sdstop.collectors.drbd.linstor", "LINSTOR.forms[0].fault")),
                Form(key='cmd:linstor volume list', first=' *[+╭][-─]{3,}[+╮] *\\n *[|┊] Node +[|┊] Resource +[|┊] StoragePool +[|┊][^\\n]*[|┊] *$', reads='volumes of resources on each node', versions='linstor-client 1.0 and later', goes_on=' *[|┊].*[|┊] *| *[|╞├][-=═─┄┈]+[|╡┤] *| *[+╰][-─]+[+╯] *', fault=later("sdstop.collectors.drbd.linstor", "LINSTOR.forms[0].fault")),
                Form(key='cmd:linstor node list', first=' *[+╭][-─]{3,}[+╮] *\\n *[|┊] Node +[|┊] NodeType +[|┊] Addresses +[|┊][^\\n]*[|┊] *$', reads='nodes, and whether the controller has them', versions='linstor-client 1.0 and later', goes_on=' *[|┊].*[|┊] *| *[|╞├][-=═─┄┈]+[|╡┤] *| *[+╰][-─]+[+╯] *', fault=later("sdstop.collectors.drbd.linstor", "LINSTOR.forms[0].fault")),
                Form(key='cmd:linstor storage-pool list', first=' *[+╭][-─]{3,}[+╮] *\\n *[|┊] StoragePool +[|┊] Node +[|┊] Driver +[|┊][^\\n]*[|┊] *$', reads='storage pools of the nodes', versions='linstor-client 1.0 and later', goes_on=' *[|┊].*[|┊] *| *[|╞├][-=═─┄┈]+[|╡┤] *| *[+╰][-─]+[+╯] *', fault=later("sdstop.collectors.drbd.linstor", "LINSTOR.forms[0].fault")),
            ),
        ),
    },
    "sdstop.collectors.pacemaker.cluster": {
        "PACEMAKER": Collector(
            name='pacemaker',
            title="Pacemaker's nodes and resources",
            read=IfPresent(
                later("sdstop.collectors.pacemaker.cluster", "PACEMAKER.read"),
                (NothingFound(calls=(Call(method='recorded', given=('crm_mon',)), Call(method='recorded_texts', given=('crm_mon',)), Call(method='recorded_texts', given=('pcs',)), Call(method='recorded_texts', given=('crm',)), Call(method='rests', given=('cmd:crm_mon --output-as=xml -1',)), Call(method='run', given=(('crm_mon', '--output-as=xml', '-1'), 5.0))), end=End(call=5)),) * 2,
                (Denied, Failed, TimedOut),
                ('crm_mon --output-as=xml -1',),
            ),
            families=(Cluster, ClusterNode, ClusterResource, ClusterPolicy, ClusterConstraint),
            needs=(
                Command(argv=('crm_mon', '--output-as=xml', '-1'), why='nodes, quorum and resources', privilege='root, or the group haclient'),
                Command(argv=('crm_mon', '--as-xml', '-1'), why='nodes, quorum and resources of Pacemaker before 2.0.3', privilege='root, or the group haclient'),
                Command(argv=('cibadmin', '-Q', '-o', 'crm_config'), why='watchdog of the nodes, if fencing is enabled without a device', privilege='root, or the group haclient', keep='\\s*<nvpair [^>]*\\bname="(?:have-watchdog|stonith-watchdog-timeout)"'),
                Need(what='cmd:crm_mon*', why='status recorded by other tools, also as text', redact=later("sdstop.collectors.pacemaker.cluster", "PACEMAKER.needs[3].redact")),
                Need(what='cmd:crm status*', why='status recorded by other tools, as text', redact=later("sdstop.collectors.pacemaker.cluster", "PACEMAKER.needs[3].redact")),
                Need(what='cmd:pcs status*', why='status recorded by other tools, as text', redact=later("sdstop.collectors.pacemaker.cluster", "PACEMAKER.needs[3].redact")),
                Need(what='/etc/corosync/corosync.conf', why='name and nodes of the cluster', keep=later("sdstop.collectors.pacemaker.cluster", "PACEMAKER.needs[6].keep")),
                Need(what='list:/var/lib/pacemaker/cib', why='earlier use of Pacemaker on this node', privilege='root'),
                Need(what='/proc/sys/kernel/hostname', why='host name'),
            ),
            pace=60.0,
            deadline=8.0,
            forms=(
                Form(key='cmd:crm_mon --output-as=xml -1', first='(?:<\\?xml [^>]*>\\s*)?<(?:pacemaker-result|crm_mon)\\b', reads='nodes, quorum, resources, failed actions, options', versions='Pacemaker 1.1 and later', last='</(?:pacemaker-result|crm_mon)>'),
                Form(
                    key='cmd:crm_mon -1',
                    first='(?:Status of pacemakerd: |Cluster Summary:\\n|Stack: \\S+\\n(?:Current DC|Last )|Last updated: [^\\n]*\\n *(?:Last change|Stack):)',
                    reads='nodes, quorum, resources, failed actions',
                    versions='Pacemaker 1.1 and later',
                    goes_on='(?i:cluster summary|node list|full list of resources|active resources|inactive resources|failed resource actions|failed actions|failed fencing actions|pending fencing actions|fencing history|failed stonith actions|negative location constraints|tickets|node attributes|migration summary|operations|daemon status|pcsd status|warnings):.*|\\s+\\S.*|\\* .*|(?:Cluster name|Stack|Current DC|Last updated|Last change): .*|Status of pacemakerd: .*|\\d+ (?:nodes?|resource instances?|resources?) .*|No (?:active |inactive )?resources.*|(?:Online|OFFLINE|Remote\\w+|Guest\\w+|Containers): \\[.*|(?:Node|RemoteNode|GuestNode) \\S+: .*|(?:Clone Set|Master/Slave Set|Resource Group|Container bundle|Docker container)[: ].*|\\S+\\s+\\((?:ocf|lsb|systemd|service|stonith|upstart):.*|No stonith devices and stonith-enabled .*',
                ),
                Form(
                    key='cmd:pcs status',
                    first='Cluster name: .*\\n(?:\\s*\\n)?(?:WARNINGS:|Status of|Cluster Summary|Stack:|Last updated)|(?:Status of pacemakerd: |Cluster Summary:\\n|Stack: \\S+\\n(?:Current DC|Last )|Last updated: [^\\n]*\\n *(?:Last change|Stack):)',
                    reads='nodes, quorum, resources, failed actions',
                    versions='pcs 0.9 and later',
                    goes_on='(?i:cluster summary|node list|full list of resources|active resources|inactive resources|failed resource actions|failed actions|failed fencing actions|pending fencing actions|fencing history|failed stonith actions|negative location constraints|tickets|node attributes|migration summary|operations|daemon status|pcsd status|warnings):.*|\\s+\\S.*|\\* .*|(?:Cluster name|Stack|Current DC|Last updated|Last change): .*|Status of pacemakerd: .*|\\d+ (?:nodes?|resource instances?|resources?) .*|No (?:active |inactive )?resources.*|(?:Online|OFFLINE|Remote\\w+|Guest\\w+|Containers): \\[.*|(?:Node|RemoteNode|GuestNode) \\S+: .*|(?:Clone Set|Master/Slave Set|Resource Group|Container bundle|Docker container)[: ].*|\\S+\\s+\\((?:ocf|lsb|systemd|service|stonith|upstart):.*|No stonith devices and stonith-enabled .*',
                    last=' +pcsd: ',
                ),
                Form(
                    key='cmd:crm status',
                    first='(?:Status of pacemakerd: |Cluster Summary:\\n|Stack: \\S+\\n(?:Current DC|Last )|Last updated: [^\\n]*\\n *(?:Last change|Stack):)',
                    reads='nodes, quorum, resources, failed actions',
                    versions='crmsh 2 and later',
                    goes_on='(?i:cluster summary|node list|full list of resources|active resources|inactive resources|failed resource actions|failed actions|failed fencing actions|pending fencing actions|fencing history|failed stonith actions|negative location constraints|tickets|node attributes|migration summary|operations|daemon status|pcsd status|warnings):.*|\\s+\\S.*|\\* .*|(?:Cluster name|Stack|Current DC|Last updated|Last change): .*|Status of pacemakerd: .*|\\d+ (?:nodes?|resource instances?|resources?) .*|No (?:active |inactive )?resources.*|(?:Online|OFFLINE|Remote\\w+|Guest\\w+|Containers): \\[.*|(?:Node|RemoteNode|GuestNode) \\S+: .*|(?:Clone Set|Master/Slave Set|Resource Group|Container bundle|Docker container)[: ].*|\\S+\\s+\\((?:ocf|lsb|systemd|service|stonith|upstart):.*|No stonith devices and stonith-enabled .*',
                ),
            ),
        ),
    },
    "sdstop.collectors.pacemaker.corosync": {
        "COROSYNC_MEMBERSHIP": Collector(
            name='corosync',
            title="Corosync's membership and links",
            read=IfPresent(later("sdstop.collectors.pacemaker.corosync", "COROSYNC_MEMBERSHIP.read"), (NothingFound(calls=(Call(method='read', given=('/etc/corosync/corosync.conf',)),), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(ClusterMembership, CorosyncLink),
            needs=(
                Need(what='/etc/corosync/corosync.conf', why='name and nodes of the cluster', keep=later("sdstop.collectors.pacemaker.cluster", "PACEMAKER.needs[6].keep")),
                Need(what='/proc/net/unix', why='running daemons of Corosync and Pacemaker', keep=later("sdstop.collectors.pacemaker.corosync", "COROSYNC_MEMBERSHIP.needs[1].keep")),
                Command(argv=('corosync-quorumtool', '-s'), why='votes and members', privilege='root'),
                Command(argv=('corosync-cfgtool', '-s'), why='links to the other nodes', privilege='root'),
                Need(what='list:/var/lib/pacemaker/cib', why='earlier use of Pacemaker on this node', privilege='root'),
                Need(what='link:/etc/systemd/system/multi-user.target.wants/*.service', why='start of the cluster by systemd'),
            ),
            pace=60.0,
            deadline=8.0,
        ),
    },
    "sdstop.collectors.gluster.volumes": {
        "GLUSTER": Collector(
            name='gluster',
            title='GlusterFS servers, volumes and bricks',
            read=IfPresent(later("sdstop.collectors.gluster.volumes", "GLUSTER.read"), (NothingFound(calls=(Call(method='rests', given=('cmd:gluster --mode=script --xml volume info',)), Call(method='run', given=(('gluster', '--mode=script', '--xml', 'volume', 'info'), 5.0))), end=End(call=1)),) * 2, (Denied, Failed, TimedOut), ('gluster --mode=script --xml volume info',)),
            families=(Cluster, ClusterNode, GlusterVolume, GlusterBrick),
            needs=(
                Command(argv=('gluster', '--mode=script', '--xml', 'volume', 'info'), why="volumes and bricks, from this server's files", privilege='root', filled=True),
                Command(argv=('gluster', '--mode=script', '--xml', 'peer', 'status'), why="other servers, from this server's state", privilege='root', filled=True),
                Command(argv=('gluster', '--mode=script', '--xml', 'volume', 'status', 'all'), why='running bricks and self-heal daemons; queries all servers', privilege='root', filled=True),
                Need(what='cmd:gluster*', why='answers recorded by other tools, also as text', redact=later("sdstop.collectors.gluster.answers", "without_names", "sdstop.collectors.gluster.volumes", "GLUSTER.needs[3].redact")),
                Need(what='list:/var/lib/glusterd/vols', why='configured volumes, if glusterd does not answer'),
                Need(what='/proc/sys/kernel/hostname', why='host name'),
            ),
            pace=60.0,
            deadline=20.0,
        ),
    },
    "sdstop.collectors.gluster.heal": {
        "GLUSTER_HEAL": Collector(
            name='gluster-heal',
            title='GlusterFS entries to heal',
            read=IfPresent(later("sdstop.collectors.gluster.heal", "GLUSTER_HEAL.read"), (NothingFound(calls=(Call(method='rests', given=('cmd:gluster --mode=script --xml volume info',)), Call(method='run', given=(('gluster', '--mode=script', '--xml', 'volume', 'info'), 5.0))), end=End(call=1)),) * 2, (Denied, Failed, TimedOut), ('gluster --mode=script --xml volume info',)),
            families=(GlusterHeal, GlusterSplitBrain),
            needs=(
                Command(argv=('gluster', '--mode=script', '--xml', 'volume', 'info'), why="volumes and bricks, from this server's files", privilege='root', filled=True),
                Command(argv=('gluster', '--mode=script', 'volume', 'heal', '*', 'statistics', 'heal-count'), why='entries to heal, from the index of the bricks', privilege='root', filled=True),
                Command(argv=('gluster', '--mode=script', '--xml', 'volume', 'heal', '*', 'info', 'split-brain'), why='entries in split brain, where 1 to 2000 entries wait to be healed', privilege='root', filled=True),
                Need(what='list:/var/lib/glusterd/vols', why='configured volumes, if glusterd does not answer'),
            ),
            pace=300.0,
            deadline=60.0,
        ),
    },
    "sdstop.collectors.gluster.printed": {
        "GLUSTER_TEXT": Collector(
            name='gluster-text',
            title='GlusterFS in recorded output of gluster',
            read=IfPresent(later("sdstop.collectors.gluster.printed", "GLUSTER_TEXT.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('gluster',)), Call(method='recorded_texts', given=('gluster',)), Call(method='recorded_texts', given=('gluster',)), Call(method='recorded', given=('gluster',)), Call(method='recorded_texts', given=('gluster',))), end=End(key='cmd:gluster volume status', detail='not recorded', recorded=False)),) * 2, ()),
            families=(Cluster, ClusterNode, GlusterVolume, GlusterBrick, GlusterHeal),
            needs=(Need(what='cmd:gluster*', why='text of gluster peer status, volume info, volume status and heal info, from captures only; never run'),),
            pace=60.0,
            forms=(
                Form(key='cmd:gluster peer status', first='Number of Peers: [1-9]\\d*\\s*\\n(?:\\s*\\n)*Hostname: ', reads='other servers of GlusterFS, as this one sees them', versions='GlusterFS 3.4 and later', goes_on='(?:Hostname|Port|Uuid|State): .*|Other names:\\s*|[\\w.:-]{1,255}'),
                Form(key='cmd:gluster volume info', first='\\s*Volume Name: \\S+\\s*\\n\\s*Type: [A-Z]', reads='volumes of GlusterFS, their layout and options', versions='GlusterFS 3.7 and later', goes_on='\\s*(?:Volume Name|Type|Volume ID|Status|Snapshot Count|Number of Bricks|Transport-type|Bricks|Options Reconfigured|Brick\\d+|[a-z]+(?:[.-][a-z0-9]+)+|[a-z]+\\.[\\w.-]+):.*'),
                Form(key='cmd:gluster volume status', first='Status of volume: \\S+\\s*\\nGluster process\\s+(?:TCP )?Port\\s', reads='bricks and self-heal daemons of GlusterFS', versions='GlusterFS 3.7 and later', goes_on='Brick .*|(?:Self-heal|NFS|Quota|Snapshot|Scrubber|Bitrot|Bitd).*|Gluster process.*|-{20,}|Status of volume.*|Task Status of Volume.*|There are \\w+ active volume tasks|Task +: .*|ID +: .*|Status +: .*|.{1,43}\\s+(?:\\d+|N/A)\\s+(?:\\d+|N/A)\\s+[YN]\\s+(?:\\d+|N/A)\\s*|\\S{43}'),
                Form(key='cmd:gluster volume heal gv0 info', first='Brick \\S+:/\\S*\\n(?:(?:/|<gfid:|Is in|Possibly)[^\\n]*\\n|\\s*\\n)*Status: [A-Z]', reads='entries to heal and in split brain of GlusterFS', versions='GlusterFS 3.7 and later', goes_on='(?:/|<gfid:).*|Brick .*|Status: .*|(?:Total )?Number of entries.*|Is in .*|Possibly undergoing.*'),
            ),
        ),
    },
    "sdstop.collectors.aoe.targets": {
        "AOE": Collector(
            name='aoe',
            title='ATA over Ethernet',
            read=IfPresent(later("sdstop.collectors.aoe.targets", "AOE.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/block',)), Call(method='read', given=('/proc/net/packet',))), end=End()), NothingFound(calls=(Call(method='entries', given=('/sys/block',)), Call(method='read', given=('/proc/net/packet',)), Call(method='entries', given=('/proc',))), end=End(key='/proc/net/packet', detail='not recorded', recorded=False))), (TimedOut,)),
            families=(AoeTarget, AoeExport, AoeSocket, AoePort),
            needs=(
                Need(what='list:/sys/block', why='which AoE disks there are'),
                Need(what='/sys/block/etherd!*/*', why='state, payload, interfaces, target', filled=('state', 'payload', 'mac')),
                Need(what='/sys/kernel/debug/aoe/*', why='round trip and size of a frame', privilege='root'),
                Need(what='/proc/net/packet', why='whether a process has a socket for AoE', filled=True),
                Need(what='list:/proc', why='looking for vblade, where there is such a socket'),
                Need(what='/proc/*/comm', why="which processes are vblade's, where there is such a socket"),
                Need(what='/proc/*/cmdline', why='exports of vblade and its options', keep=later("sdstop.collectors.aoe.targets", "AOE.needs[6].keep")),
                Need(what='link:/dev/*', why='kernel name of the exported device'),
                Command(argv=('ip', '-j', '-d', 'link', 'show'), why='maximum MTU of the AoE interfaces'),
            ),
            pace=10.0,
            deadline=5.0,
            fingerprint=IfPresent(later("sdstop.collectors.aoe.targets", "AOE.fingerprint"), (NothingFound(calls=(Call(method='read', given=('/proc/net/packet',)), Call(method='entries', given=('/sys/block',))), end=End(value=((), ()))), NothingFound(calls=(Call(method='read', given=('/proc/net/packet',)), Call(method='entries', given=('/sys/block',))), end=End(value=((), None)))), (TimedOut,)),
            devices='etherd/e\\d+\\.\\d+',
        ),
    },
    "sdstop.collectors.aoe.stat_text": {
        "AOE_TEXT": Collector(
            name='aoe-text',
            title='AoE disks in recorded output of aoe-stat',
            read=IfPresent(later("sdstop.collectors.aoe.stat_text", "AOE_TEXT.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('aoe-stat',)),), end=End(key='cmd:aoe-stat', detail='not recorded', recorded=False)),) * 2, ()),
            families=(AoeTarget,),
            needs=(Need(what='cmd:aoe-stat*', why='disks, interfaces and states, from captures only; never run'),),
            forms=(Form(key='cmd:aoe-stat', first='\\s*e\\d{1,5}\\.\\d{1,3}\\s+[\\d.]+[KMGTP]?B\\s+\\S+\\s+(?:\\d+\\s+)?[a-z]', reads='AoE disks, their interfaces and states', versions='aoetools 30 to 37', goes_on='\\s*e\\d{1,5}\\.\\d{1,3}\\s.*'),),
        ),
    },
    "sdstop.collectors.fabric.sas": {
        "SAS": Collector(
            name='sas',
            title='SAS phys, ports, expanders and end devices',
            read=IfPresent(later("sdstop.collectors.fabric.sas", "SAS.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/class/sas_device',)), Call(method='entries', given=('/sys/class/sas_port',)), Call(method='entries', given=('/sys/class/sas_phy',)), Call(method='recorded', given=('smp_rep_general',)), Call(method='recorded', given=('smp_discover',)), Call(method='recorded', given=('smp_rep_phy_err_log',))), end=End()),) * 2, (TimedOut,)),
            families=(SasPhy, SasPort, SasDevice, SasExpander),
            needs=(
                Need(what='list:/sys/class/sas_phy', why='which phys there are'),
                Need(what='/sys/class/sas_phy/*/*', why="link rates and error counters; of an expander's phys the driver asks the expander", filled=('invalid_dword_count', 'running_disparity_error_count', 'loss_of_dword_sync_count', 'phy_reset_problem_count', 'negotiated_linkrate', 'maximum_linkrate_hw', 'phy_identifier', 'sas_address')),
                Need(what='link:/sys/class/sas_phy/*/device/port', why='port of a phy'),
                Need(what='list:/sys/class/sas_port', why='which ports there are'),
                Need(what='/sys/class/sas_port/*/num_phys', why='number of phys of a port', filled=True),
                Need(what='list:/sys/class/sas_device', why='which expanders and end devices there are'),
                Need(what='/sys/class/sas_device/*/*', why='kind, address, enclosure and bay'),
                Need(what='link:/sys/class/sas_device/*', why='port that leads to a device'),
                Need(what='/sys/class/sas_expander/*/*', why='vendor and product of expanders'),
                Command(argv=('smp_rep_general', '*'), why="an expander's change count; with --no-smp never", privilege='root'),
                Command(argv=('smp_discover', '--multiple', '*'), why='devices attached to the phys of an expander; never with --no-smp', privilege='root'),
                Command(argv=('smp_rep_phy_err_log', '-p', '*', '*'), why="a phy's errors, where sysfs does not count; with --no-smp never", privilege='root'),
                Need(what='cmd:smp_discover*', why='devices attached to the phys of an expander, from captures only'),
                Need(what='cmd:smp_rep_phy_err_log*', why='error counters of a phy, from captures only'),
                Need(what='cmd:smp_rep_general*', why='number of phys and change count of an expander, from captures only'),
            ),
            pace=300.0,
            deadline=60.0,
            derives=(Derivation(source=SasPhy, target=SasPhyActivity, make=later("sdstop.collectors.fabric.sas", "SAS.derives[0].make")), Derivation(source=SasExpander, target=SasExpanderActivity, make=later("sdstop.collectors.fabric.expander", "changes", "sdstop.collectors.fabric.sas", "SAS.derives[1].make"))),
            lacks=later("sdstop.collectors.fabric.sas", "SAS.lacks"),
            forms=(
                Form(key='cmd:smp_rep_phy_err_log', first='Report phy error log response:', reads='error counters of a phy', versions='smp_utils 0.92 and later', goes_on='  [A-Za-z][\\w ]+: \\d+|Report phy error log re(?:sponse|sult).*', several=Several.JOINED, about='phy identifier: (\\d+)'),
                Form(key='cmd:smp_discover', first='(?:Device <[0-9a-f]{16}>[^\\n]*\\n)?  phy +\\d+:(?:[DSTU]:)?(?:attached|disabled| inaccessible)|Discover response.{0,20}:$|(?:expander_cc=\\d+\\n)?phy_id=\\d+$', reads='devices attached to the phys of an expander', versions='smp_utils 0.94 and later', goes_on='  (?!pool:|cluster:)\\S.*|Discover response.*|phy identifier: .*|phy_id=.*|expander_cc=.*|Device <.*', several=Several.JOINED),
                Form(key='cmd:smp_rep_general', first='Report general (?:response|.{0,20}response):', reads='number of phys, link changes and zoning of an expander', versions='smp_utils 0.92 and later', goes_on='  (?!pool:|cluster:)\\S.*'),
            ),
        ),
    },
    "sdstop.collectors.fabric.hba": {
        "HBA": Collector(
            name='hba',
            title='HBAs, their PCI Express links and attached disks',
            read=IfPresent(later("sdstop.collectors.fabric.hba", "HBA.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/block',)), Call(method='entries', given=('/sys/devices/system/node',)), Call(method='recorded_texts', given=('lspci',)), Call(method='entries', given=('/sys/bus/pci/devices',))), end=End()),) * 2, (TimedOut,)),
            families=(Hba, DiskPath),
            needs=(
                Need(what='list:/sys/block', why='which disks there are'),
                Need(what='link:/sys/block/*', why='the way to a disk: PCI function, SCSI host, SAS port, expander'),
                Need(what='/sys/class/sas_device/*/*', why='enclosure and bay of a SAS disk'),
                Need(what='list:/sys/bus/pci/devices', why='which PCI functions there are'),
                Need(what='/sys/bus/pci/devices/*/*', why='class, numbers, NUMA node, speed and width of the link, now and at most', filled=('class', 'vendor', 'device', 'numa_node', '*_link_speed', '*_link_width')),
                Need(what='link:/sys/bus/pci/devices/*', why='the port and bridges above a PCI function'),
                Need(what='list:/sys/devices/system/node', why='which NUMA nodes there are'),
                Need(what='/sys/devices/system/node/*/cpulist', why="CPUs of a NUMA node, the only source of a function's node on some kernels"),
                Need(what='link:/sys/bus/pci/devices/*/driver', why='driver of a PCI function'),
                Need(what='list:/sys/bus/pci/devices/*', why='the SCSI host of an HBA whose driver reports its firmware'),
                Need(what='/sys/class/scsi_host/*/*', why="the HBA's firmware"),
                Need(what='cmd:lspci*', why="the links, from captures without sysfs's attributes; never run"),
            ),
            pace=30.0,
            deadline=15.0,
            fingerprint=IfPresent(later("sdstop.collectors.fabric.hba", "HBA.fingerprint"), (NothingFound(calls=(Call(method='entries', given=('/sys/block',)),), end=End()),) * 2, (TimedOut,)),
            quiet=300.0,
        ),
    },
    "sdstop.collectors.fabric.hba_text": {
        "HBA_TEXT": Collector(
            name='hba-text',
            title='HBAs and disks in recorded output of lspci, lsscsi and sg_map',
            read=IfPresent(later("sdstop.collectors.fabric.hba_text", "HBA_TEXT.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('lspci',)), Call(method='recorded_texts', given=('lsscsi',)), Call(method='recorded_texts', given=('sg_map',))), end=End(key='cmd:lspci -vv', detail='not recorded', recorded=False)),) * 2, ()),
            families=(Hba, DiskPath),
            needs=(Need(what='cmd:lspci*', why='PCI Express links and drivers of HBAs, from captures only; never run'), Need(what='cmd:lsscsi*', why='host of each disk'), Need(what='cmd:sg_map*', why='the same')),
            pace=float("inf"),
            forms=(
                Form(key='cmd:lspci -vv', first='(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7] [A-Z][^:\\n]*: ', reads='storage functions, PCI Express links, drivers, NUMA nodes', versions='pciutils 3.0 and later; links with -vv, as root', goes_on='(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7] .*|(?:\\t| {4,}).*'),
                Form(key='cmd:lsscsi', first='\\[(?:N:)?\\d+:\\d+:\\d+(?::\\d+)?\\] +[a-z]\\S* +\\S|\\[\\d+\\] +[a-z][\\w-]* *$', reads='disks and enclosures of each SCSI host, drivers', versions='lsscsi 0.27 and later', goes_on='\\[[N\\d:]+\\] .*|  +(?:(?:device )?dir:|[a-z_]+=).*'),
                Form(key='cmd:sg_map -i -x', first='/dev/sg\\d+  ', reads='host of each disk, model', versions='sg3_utils 1.20 and later; hosts with -x', goes_on='/dev/sg\\d+ .*'),
            ),
        ),
    },
    "sdstop.collectors.fabric.pcie": {
        "PCIE": Collector(
            name='pcie',
            title='PCIe links of network cards, and errors of PCIe',
            read=IfPresent(later("sdstop.collectors.fabric.pcie", "PCIE.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/bus/pci/devices',)),), end=End(key='list:/sys/bus/pci/devices', detail='no storage or network function on PCI')),) * 2, (TimedOut,)),
            families=(PcieFunction,),
            needs=(
                Need(what='list:/sys/bus/pci/devices', why='which PCI functions there are'),
                Need(what='/sys/bus/pci/devices/*/*', why='class, numbers, link', filled=('class', 'vendor', 'device', 'current_link_speed', 'current_link_width', 'max_link_speed', 'max_link_width')),
                Need(what='/sys/bus/pci/devices/*/aer_dev_correctable', why='errors of the link since boot', filled=True),
                Need(what='/sys/bus/pci/devices/*/aer_dev_nonfatal', why='errors of the link since boot', filled=True),
                Need(what='/sys/bus/pci/devices/*/aer_dev_fatal', why='errors of the link since boot', filled=True),
                Need(what='link:/sys/bus/pci/devices/*', why='the ports above a PCI function'),
                Need(what='list:/sys/bus/pci/devices/*/net', why='the interfaces of a network card'),
            ),
            pace=60.0,
            deadline=10.0,
        ),
    },
    "sdstop.collectors.fabric.fc": {
        "FC": Collector(
            name='fc',
            title='Fibre Channel ports',
            read=IfPresent(later("sdstop.collectors.fabric.fc", "FC.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/class/fc_host',)),), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(FcPort,),
            needs=(
                Need(what='list:/sys/class/fc_host', why='which ports there are'),
                Need(what='/sys/class/fc_host/*/*', why='state, speed and name of a port', filled=('port_state', 'port_name', 'speed')),
                Need(what='/sys/class/fc_host/*/statistics/link_failure_count', why='errors of the link', filled=True),
                Need(what='/sys/class/fc_host/*/statistics/loss_of_sync_count', why='errors of the link', filled=True),
                Need(what='/sys/class/fc_host/*/statistics/loss_of_signal_count', why='errors of the link', filled=True),
                Need(what='/sys/class/fc_host/*/statistics/invalid_tx_word_count', why='errors of the link', filled=True),
                Need(what='/sys/class/fc_host/*/statistics/invalid_crc_count', why='errors of the link', filled=True),
            ),
            pace=60.0,
            deadline=10.0,
        ),
    },
    "sdstop.collectors.fabric.rdma": {
        "RDMA": Collector(
            name='rdma',
            title='RDMA ports',
            read=IfPresent(later("sdstop.collectors.fabric.rdma", "RDMA.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/class/infiniband',)),), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(RdmaPort,),
            needs=(
                Need(what='list:/sys/class/infiniband', why='which adapters there are'),
                Need(what='list:/sys/class/infiniband/*/ports', why='ports of an adapter'),
                Need(what='list:/sys/class/infiniband/*/device/net', why='network interface of an adapter'),
                Need(what='/sys/class/infiniband/*/ports/*/*', why='state, rate and layer of a port', filled=('state', 'rate', 'link_layer')),
                Need(what='/sys/class/infiniband/*/ports/*/counters/symbol_error', why='errors of the link'),
                Need(what='/sys/class/infiniband/*/ports/*/counters/link_error_recovery', why='errors of the link'),
                Need(what='/sys/class/infiniband/*/ports/*/counters/link_downed', why='errors of the link'),
                Need(what='/sys/class/infiniband/*/ports/*/counters/port_rcv_errors', why='errors of the link'),
                Need(what='/sys/class/infiniband/*/ports/*/counters/port_xmit_discards', why='errors of the link'),
                Need(what='/sys/class/infiniband/*/ports/*/counters/port_xmit_wait', why='errors of the link'),
                Need(what='/sys/class/infiniband/*/ports/*/hw_counters/local_ack_timeout_err', why='packets sent again'),
                Need(what='/sys/class/infiniband/*/ports/*/hw_counters/packet_seq_err', why='packets sent again'),
                Need(what='/sys/class/infiniband/*/ports/*/hw_counters/out_of_sequence', why='packets sent again'),
                Need(what='/sys/class/infiniband/*/ports/*/hw_counters/rp_cnp_handled', why='packets sent again'),
                Need(what='/sys/class/infiniband/*/ports/*/hw_counters/out_of_buffer', why='packets sent again'),
            ),
            pace=60.0,
            deadline=10.0,
        ),
    },
    "sdstop.collectors.fabric.numa": {
        "NUMA": Collector(
            name='numa',
            title='NUMA nodes, and the nodes of network cards',
            read=IfPresent(later("sdstop.collectors.fabric.numa", "NUMA.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/devices/system/node',)), Call(method='entries', given=('/sys/class/net',))), end=End()),) * 2, (TimedOut,)),
            families=(NumaNode, InterfaceNode),
            needs=(
                Need(what='list:/sys/devices/system/node', why='which nodes there are'),
                Need(what='/sys/devices/system/node/*/*', why='CPUs, memory, distances, and origin of pages', filled=('meminfo', 'numastat', 'distance')),
                Need(what='/sys/devices/system/cpu/cpu*/topology/physical_package_id', why='the processor socket of a node'),
                Need(what='list:/sys/class/net', why='which interfaces there are'),
                Need(what='/sys/class/net/*/device/numa_node', why='the node of a network card'),
                Need(what='link:/sys/class/net/*/device', why='which PCI function it is, where the firmware does not say its node'),
                Need(what='link:/sys/bus/pci/devices/*', why='bridges above a network card'),
                Need(what='/sys/bus/pci/devices/*/*', why='NUMA nodes of network cards, and the CPUs near them'),
            ),
            pace=10.0,
            deadline=5.0,
            derives=(Derivation(source=NumaNode, target=NumaActivity, make=later("sdstop.collectors.fabric.numa", "NUMA.derives[0].make")),),
        ),
    },
    "sdstop.collectors.fabric.numa_text": {
        "NUMA_TEXT": Collector(
            name='numa-text',
            title='NUMA nodes in recorded output of numactl and lscpu',
            read=IfPresent(later("sdstop.collectors.fabric.numa_text", "NUMA_TEXT.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('numactl',)), Call(method='recorded_texts', given=('lscpu',)), Call(method='recorded_texts', given=('numastat',))), end=End(key='cmd:numactl -H', detail='not recorded', recorded=False)),) * 2, ()),
            families=(NumaNode,),
            needs=(Need(what='cmd:numactl*', why='CPUs, memory and distances of NUMA nodes, from captures only; never run'), Need(what='cmd:lscpu*', why='the same without sizes'), Need(what='cmd:numastat*', why='pages allocated on each NUMA node')),
            pace=float("inf"),
            forms=(
                Form(key='cmd:numactl -H', first='available: \\d+ nodes? \\(', reads='CPUs, memory and distances of NUMA nodes', versions='numactl 2.0', goes_on='node \\d+ (?:cpus|size|free):.*|node distances:|node(?: +\\d+)+ *|(?: *\\d+:)(?: +\\d+)+ *', fault=later("sdstop.collectors.fabric.numa_text", "NUMA_TEXT.forms[0].fault")),
                Form(
                    key='cmd:lscpu',
                    first='[^\\s:\\uff1a][^:\\uff1a\\n]{2,24}[:\\uff1a] +(?:x86_64|aarch64|ppc64(?:le)?|s390x|i[3-6]86|armv\\w{1,4}|riscv64|loongarch64|sparc64|mips64)$|CPU\\(s\\): {4,}\\d+$',
                    reads='processor model, sockets, CPUs of each NUMA node',
                    versions='util-linux 2.20 and later, in all languages',
                    goes_on='(?: {2,}\\S[^:]*|Vulnerability [^:]*|[^:\\uff1a]*NUMA[^:\\uff1a]*|[^:\\uff1a]*CPU[^:\\uff1a]*)[:\\uff1a](?: .*)?|\\S[^:\\uff1a]{0,60}[:\\uff1a](?: {2,}.*)?',
                    fault=later("sdstop.readings.lscpu", "fault", "sdstop.collectors.fabric.numa_text", "NUMA_TEXT.forms[1].fault"),
                ),
                Form(key='cmd:numastat', first=' +node0(?: +node\\d+)* *\\n *numa_hit ', reads='pages allocated on each NUMA node', versions='numactl 2.0', goes_on='(?:numa_hit|numa_miss|numa_foreign|interleave_hit|local_node|other_node)(?: +\\d+)+ *', fault=later("sdstop.collectors.fabric.numa_text", "NUMA_TEXT.forms[2].fault")),
            ),
        ),
    },
    "sdstop.collectors.fabric.interrupts": {
        "INTERRUPTS": Collector(
            name='interrupts',
            title='CPUs that handle interrupts of HBAs and network cards',
            read=IfPresent(later("sdstop.collectors.fabric.interrupts", "INTERRUPTS.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/devices/system/node',)), Call(method='entries', given=('/sys/bus/pci/devices',))), end=End()),) * 2, (TimedOut,)),
            families=(CardInterrupts,),
            needs=(
                Need(what='list:/sys/devices/system/node', why='which NUMA nodes there are'),
                Need(what='/sys/devices/system/node/*/cpulist', why='CPUs of a NUMA node'),
                Need(what='list:/sys/bus/pci/devices', why='which PCI functions there are'),
                Need(what='/sys/bus/pci/devices/*/*', why='class and NUMA node of a PCI function'),
                Need(what='link:/sys/bus/pci/devices/*', why='bridges above a PCI function'),
                Need(what='list:/sys/bus/pci/devices/*/*', why='interrupts and interfaces of a PCI function'),
                Need(what='/proc/irq/*/*', why='CPUs that handle an interrupt'),
            ),
            pace=60.0,
            deadline=5.0,
        ),
    },
    "sdstop.collectors.memory.dimms": {
        "DIMMS": Collector(
            name='dimms',
            title='Memory modules, slots and channels of each processor',
            read=IfPresent(later("sdstop.collectors.memory.dimms", "DIMMS.read"), (NothingFound(calls=(Call(method='read', given=('/sys/firmware/dmi/tables/DMI',)), Call(method='recorded', given=('dmidecode',))), end=End(key='/sys/firmware/dmi/tables/DMI', detail='no SMBIOS table')), NothingFound(calls=(Call(method='read', given=('/sys/firmware/dmi/tables/DMI',)), Call(method='recorded', given=('dmidecode',))), end=End(call=0))), ()),
            families=(Dimm, MemorySocket),
            needs=(
                Need(what='/sys/firmware/dmi/tables/DMI', why='slots, modules, processors, as the firmware has them, serial numbers included', privilege='root', redact=later("sdstop.collectors.memory.smbios", "without_serials", "sdstop.collectors.memory.dimms", "DIMMS.needs[0].redact")),
                Need(what='/proc/cpuinfo', why="the processors' model, where the firmware does not have it"),
                Need(what='cmd:dmidecode*', why='memory modules as text, from captures only; never run', redact=later("sdstop.collectors.memory.dmidecode", "without_serials", "sdstop.collectors.memory.dimms", "DIMMS.needs[2].redact")),
                Need(what='cmd:lscpu*', why='number and model of processors, where dmidecode was asked for memory alone'),
            ),
            pace=float("inf"),
            deadline=5.0,
            forms=(Form(key='cmd:dmidecode', first='# dmidecode \\d|Handle 0x[0-9A-Fa-f]{4}, DMI type', reads='memory modules, slots and processors', versions='dmidecode 2.9 and later', fault=later("sdstop.collectors.memory.dmidecode", "fault", "sdstop.collectors.memory.dimms", "DIMMS.forms[0].fault"), several=Several.JOINED, about='Handle (0x[0-9A-Fa-f]{4})'),),
        ),
    },
    "sdstop.collectors.memory.edac": {
        "EDAC": Collector(
            name='edac',
            title='Corrected and uncorrected memory errors',
            read=IfPresent(later("sdstop.collectors.memory.edac", "EDAC.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/devices/system/edac/mc',)),), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(MemoryController, MemoryErrors),
            needs=(Need(what='list:/sys/devices/system/edac/mc', why='which memory controllers there are'), Need(what='/sys/devices/system/edac/mc/*', why='errors of memory controllers and of their modules, with the names of the modules', filled=('*ce_count', '*ue_count', '*noinfo_count', 'size', 'size_mb')), Need(what='list:/sys/devices/system/edac/mc/*', why='the modules or rows of a controller')),
            pace=60.0,
            deadline=5.0,
            derives=(Derivation(source=MemoryErrors, target=MemoryErrorActivity, make=later("sdstop.collectors.memory.edac", "EDAC.derives[0].make")), Derivation(source=MemoryController, target=MemoryControllerActivity, make=later("sdstop.collectors.memory.edac", "EDAC.derives[1].make"))),
        ),
    },
    "sdstop.collectors.memory.edac_text": {
        "EDAC_TEXT": Collector(
            name='edac-text',
            title='Memory errors in recorded output of edac-util and ras-mc-ctl',
            read=IfPresent(later("sdstop.collectors.memory.edac_text", "EDAC_TEXT.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('edac-util',)), Call(method='recorded_texts', given=('ras-mc-ctl',)), Call(method='recorded_texts', given=('ras-mc-ctl',))), end=End(key='cmd:edac-util', detail='not recorded', recorded=False)),) * 2, ()),
            families=(MemoryController, MemoryErrors),
            needs=(Need(what='cmd:edac-util*', why='memory errors by module, from captures only; never run'), Need(what='cmd:ras-mc-ctl*', why='the same of rasdaemon')),
            forms=(
                Form(key='cmd:edac-util', first='mc\\d{1,4}: (?:.{1,120}: )?\\d{1,18} (?:Corrected|Uncorrected) Errors|edac-util: No errors to report\\.', reads='memory errors by module', versions='edac-utils 0.16 to 0.18', goes_on='mc\\d{1,4}: .*|edac-util: .*'),
                Form(key='cmd:ras-mc-ctl --error-count', first='Label\\s+CE\\s+UE\\s*\\n', reads='memory errors by module', versions='rasdaemon 0.4 to 0.8', goes_on='\\S.*\\s\\d{1,18}\\s+\\d{1,18}\\s*'),
                Form(key='cmd:ras-mc-ctl --summary', first='Memory controller events summary:|No Memory errors\\.', reads='memory errors by module, as rasdaemon recorded them', versions='rasdaemon 0.4 to 0.8', goes_on='\\s+\\S.*|No .{1,60} errors\\.|.{1,60} summary:'),
            ),
        ),
    },
    "sdstop.collectors.memory.bandwidth": {
        "BANDWIDTH": Collector(
            name='memory-bandwidth',
            title='Memory traffic measured by the processors (resctrl)',
            read=IfPresent(later("sdstop.collectors.memory.bandwidth", "BANDWIDTH.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/fs/resctrl',)),), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(MemoryTraffic,),
            needs=(Need(what='list:/sys/fs/resctrl', why='whether resctrl is mounted; groups'), Need(what='list:/sys/fs/resctrl/*', why='monitoring groups, and caches that are monitored'), Need(what='/sys/fs/resctrl/*/mbm_*_bytes', why='memory traffic of each group', filled=True)),
            pace=5.0,
            deadline=5.0,
            derives=(Derivation(source=MemoryTraffic, target=MemoryBandwidth, make=later("sdstop.collectors.memory.bandwidth", "BANDWIDTH.derives[0].make")),),
        ),
    },
    "sdstop.collectors.health.smart": {
        "SMART": Collector(
            name='smart',
            title='Health of disks (SMART, NVMe)',
            read=IfPresent(later("sdstop.collectors.health.smart", "SMART.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/block',)), Call(method='entries', given=('/sys/block',)), Call(method='recorded', given=('smartctl',)), Call(method='recorded', given=('nvme',)), Call(method='entries', given=('/sys/block',))), end=End(key='/sys/block', detail='no disk with health data', recorded=False)),) * 2, (TimedOut,)),
            families=(DiskHealth, DiskErrorCount),
            needs=(
                Need(what='list:/sys/block', why='which disks there are'),
                Need(what='link:/sys/block/*/device', why='SCSI host or NVMe controller of a disk'),
                Need(what='/sys/block/*/device/*', why='whether a disk is a RAID volume or offline; its world wide name'),
                Need(what='/sys/block/*/device/power/runtime_status', why='whether the kernel suspended a disk: it is not asked then'),
                Need(what='/sys/class/scsi_host/*/proc_name', why='driver of a disk: only some pass SMART commands without harm'),
                Need(what='/sys/class/nvme/*/*', why='transport and state of an NVMe controller: only local ones are asked'),
                Need(what='/sys/class/nvme/*/device/power/runtime_status', why='whether the kernel suspended an NVMe controller'),
                Need(what='list:/sys/class/nvme-subsystem/*', why='controllers of an NVMe subsystem'),
                Command(argv=('smartctl', '--json=c', '-n', 'standby', '-a', '-l', 'devstat', '*'), why='health of a disk that does not sleep; with --no-smart never', privilege='root'),
                Command(argv=('nvme', 'smart-log', '*', '-o', 'json'), why='health of an NVMe disk, where smartctl is not installed; with --no-smart never', privilege='root'),
                Need(what='cmd:smartctl*', why='health of a disk, from captures only', redact=later("sdstop.collectors.health.smart", "SMART.needs[10].redact")),
                Need(what='cmd:nvme smart-log*', why='health of an NVMe disk, from captures only'),
                Need(what='cmd:nvme [!s]*', why='output of nvme without health data, from captures only; not kept', keep=later("sdstop.collectors.health.smart", "SMART.needs[12].keep")),
                Need(what='cmd:nvme s[!m]*', why='output of nvme without health data, from captures only; not kept', keep=later("sdstop.collectors.health.smart", "SMART.needs[12].keep")),
            ),
            pace=1800.0,
            deadline=1200.0,
            lacks=later("sdstop.collectors.health.smart", "SMART.lacks"),
            forms=(
                Form(
                    key='cmd:smartctl -a',
                    first='smartctl \\d\\.\\d[^\\n]* \\[[^\\n]*\\]| {0,2}\\d{1,3} [A-Z]\\w+ +(?:0x[0-9a-f]{4}|[POSRCK-]{6}) +(?:\\d{3} +){3}',
                    reads='assessment, attributes, self-tests, health logs of ATA, SCSI and NVMe disks',
                    versions='smartmontools 6 and 7, with -H, -A, -a or -x; single lines of attributes',
                    fault=later("sdstop.collectors.health.smartctl_text", "fault", "sdstop.collectors.health.smart", "SMART.forms[0].fault"),
                    several=Several.JOINED,
                    about='(?mi)^Serial number: +(\\S+)',
                ),
                Form(key='cmd:smartctl --json -a', first='\\{\\s*"json_format_version": ?\\[', reads='the same as the text', versions='smartmontools 7', several=Several.JOINED),
                Form(key='cmd:nvme smart-log', first='Smart Log for NVME device', reads='health log of an NVMe disk', versions='nvme-cli 1 and 2', goes_on='[\\w /#().-]+(?:\\[\\d+\\])?\\s*: ?.*', fault=later("sdstop.collectors.health.nvme_log", "fault", "sdstop.collectors.health.smart", "SMART.forms[2].fault"), several=Several.JOINED, about='Smart Log for NVME device: ?(\\w+)'),
            ),
        ),
    },
    "sdstop.collectors.health.raid": {
        "RAID": Collector(
            name='raid-controllers',
            title='RAID controllers, their caches, volumes and disks',
            read=IfPresent(
                later("sdstop.collectors.health.raid", "RAID.read"),
                (NothingFound(
                    calls=(
                        Call(method='entries', given=('/sys/bus/pci/drivers/megaraid_sas',)),
                        Call(method='recorded', given=('storcli64',)),
                        Call(method='recorded', given=('storcli',)),
                        Call(method='recorded', given=('perccli64',)),
                        Call(method='recorded', given=('perccli',)),
                        Call(method='recorded', given=('/opt/MegaRAID/storcli/storcli64',)),
                        Call(method='recorded', given=('/opt/MegaRAID/perccli/perccli64',)),
                        Call(method='entries', given=('/sys/bus/pci/drivers/megaraid_sas',)),
                        Call(method='entries', given=('/sys/bus/pci/drivers',)),
                        Call(method='entries', given=('/sys/bus/pci/drivers/mpi3mr',)),
                        Call(method='recorded', given=('storcli2',)),
                        Call(method='recorded', given=('perccli2',)),
                        Call(method='recorded', given=('/opt/MegaRAID/storcli2/storcli2',)),
                        Call(method='recorded', given=('/opt/MegaRAID/perccli2/perccli2',)),
                        Call(method='entries', given=('/sys/bus/pci/drivers/mpi3mr',)),
                        Call(method='entries', given=('/sys/bus/pci/drivers',)),
                        Call(method='entries', given=('/sys/bus/pci/drivers/hpsa',)),
                        Call(method='entries', given=('/sys/bus/pci/drivers/smartpqi',)),
                        Call(method='entries', given=('/sys/bus/pci/drivers/cciss',)),
                        Call(method='recorded', given=('ssacli',)),
                        Call(method='recorded', given=('hpssacli',)),
                        Call(method='recorded', given=('hpacucli',)),
                        Call(method='entries', given=('/sys/bus/pci/drivers/hpsa',)),
                        Call(method='entries', given=('/sys/bus/pci/drivers/smartpqi',)),
                        Call(method='entries', given=('/sys/bus/pci/drivers/cciss',)),
                        Call(method='entries', given=('/sys/bus/pci/drivers',)),
                        Call(method='recorded', given=('MegaCli64',)),
                        Call(method='recorded', given=('MegaCli',)),
                        Call(method='recorded', given=('megacli',)),
                        Call(method='recorded', given=('/opt/MegaRAID/MegaCli/MegaCli64',)),
                        Call(method='recorded', given=('arcconf',)),
                        Call(method='recorded', given=('/usr/StorMan/arcconf',)),
                        Call(method='recorded', given=('/usr/Arcconf/arcconf',)),
                        Call(method='recorded', given=('sas3ircu',)),
                        Call(method='recorded', given=('sas2ircu',)),
                        Call(method='entries', given=('/sys/bus/pci/drivers',)),
                    ),
                    end=End(key='list:/sys/bus/pci/drivers', detail='no such RAID controller', recorded=False),
                ),) * 2,
                (TimedOut,),
            ),
            families=(RaidController, RaidVolume, RaidDisk),
            needs=(
                Need(what='list:/sys/bus/pci/drivers', why='whether the kernel knows drivers of PCI devices'),
                Need(what='list:/sys/bus/pci/drivers/megaraid_sas', why='whether there is such a controller'),
                Need(what='list:/sys/bus/pci/drivers/mpi3mr', why='whether there is such a controller'),
                Need(what='list:/sys/bus/pci/drivers/hpsa', why='whether there is such a controller'),
                Need(what='list:/sys/bus/pci/drivers/smartpqi', why='whether there is such a controller'),
                Need(what='list:/sys/bus/pci/drivers/cciss', why='whether there is such a controller'),
                Command(argv=('storcli64', '/call', 'show', 'all', 'nolog', 'J'), why='controllers, caches, batteries, volumes and disks', privilege='root'),
                Command(argv=('storcli64', '/call/vall', 'show', 'all', 'nolog', 'J'), why='controllers, caches, batteries, volumes and disks', privilege='root'),
                Command(argv=('storcli64', '/call/eall/sall', 'show', 'all', 'nolog', 'J'), why='controllers, caches, batteries, volumes and disks', privilege='root'),
                Command(argv=('perccli64', '/call', 'show', 'all', 'nolog', 'J'), why='controllers, caches, batteries, volumes and disks', privilege='root'),
                Command(argv=('perccli64', '/call/vall', 'show', 'all', 'nolog', 'J'), why='controllers, caches, batteries, volumes and disks', privilege='root'),
                Command(argv=('perccli64', '/call/eall/sall', 'show', 'all', 'nolog', 'J'), why='controllers, caches, batteries, volumes and disks', privilege='root'),
                Command(argv=('/opt/MegaRAID/storcli/storcli64', '/call', 'show', 'all', 'nolog', 'J'), why='controllers, caches, batteries, volumes and disks', privilege='root'),
                Command(argv=('/opt/MegaRAID/storcli/storcli64', '/call/vall', 'show', 'all', 'nolog', 'J'), why='controllers, caches, batteries, volumes and disks', privilege='root'),
                Command(argv=('/opt/MegaRAID/storcli/storcli64', '/call/eall/sall', 'show', 'all', 'nolog', 'J'), why='controllers, caches, batteries, volumes and disks', privilege='root'),
                Command(argv=('/opt/MegaRAID/perccli/perccli64', '/call', 'show', 'all', 'nolog', 'J'), why='controllers, caches, batteries, volumes and disks', privilege='root'),
                Command(argv=('/opt/MegaRAID/perccli/perccli64', '/call/vall', 'show', 'all', 'nolog', 'J'), why='controllers, caches, batteries, volumes and disks', privilege='root'),
                Command(argv=('/opt/MegaRAID/perccli/perccli64', '/call/eall/sall', 'show', 'all', 'nolog', 'J'), why='controllers, caches, batteries, volumes and disks', privilege='root'),
                Command(argv=('storcli2', '/call', 'show', 'all', 'nolog', 'J'), why='controllers, caches, batteries, volumes and disks', privilege='root'),
                Command(argv=('storcli2', '/call/vall', 'show', 'all', 'nolog', 'J'), why='controllers, caches, batteries, volumes and disks', privilege='root'),
                Command(argv=('storcli2', '/call/eall/sall', 'show', 'all', 'nolog', 'J'), why='controllers, caches, batteries, volumes and disks', privilege='root'),
                Command(argv=('perccli2', '/call', 'show', 'all', 'nolog', 'J'), why='controllers, caches, batteries, volumes and disks', privilege='root'),
                Command(argv=('perccli2', '/call/vall', 'show', 'all', 'nolog', 'J'), why='controllers, caches, batteries, volumes and disks', privilege='root'),
                Command(argv=('perccli2', '/call/eall/sall', 'show', 'all', 'nolog', 'J'), why='controllers, caches, batteries, volumes and disks', privilege='root'),
                Command(argv=('/opt/MegaRAID/storcli2/storcli2', '/call', 'show', 'all', 'nolog', 'J'), why='controllers, caches, batteries, volumes and disks', privilege='root'),
                Command(argv=('/opt/MegaRAID/storcli2/storcli2', '/call/vall', 'show', 'all', 'nolog', 'J'), why='controllers, caches, batteries, volumes and disks', privilege='root'),
                Command(argv=('/opt/MegaRAID/storcli2/storcli2', '/call/eall/sall', 'show', 'all', 'nolog', 'J'), why='controllers, caches, batteries, volumes and disks', privilege='root'),
                Command(argv=('/opt/MegaRAID/perccli2/perccli2', '/call', 'show', 'all', 'nolog', 'J'), why='controllers, caches, batteries, volumes and disks', privilege='root'),
                Command(argv=('/opt/MegaRAID/perccli2/perccli2', '/call/vall', 'show', 'all', 'nolog', 'J'), why='controllers, caches, batteries, volumes and disks', privilege='root'),
                Command(argv=('/opt/MegaRAID/perccli2/perccli2', '/call/eall/sall', 'show', 'all', 'nolog', 'J'), why='controllers, caches, batteries, volumes and disks', privilege='root'),
                Command(argv=('ssacli', 'ctrl', 'all', 'show', 'config', 'detail'), why='controllers, caches, batteries, volumes and disks of HPE', privilege='root'),
                Need(what='cmd:storcli64 *', why='controllers, volumes and disks, from captures only'),
                Need(what='cmd:storcli *', why='controllers, volumes and disks, from captures only'),
                Need(what='cmd:perccli64 *', why='controllers, volumes and disks, from captures only'),
                Need(what='cmd:perccli *', why='controllers, volumes and disks, from captures only'),
                Need(what='cmd:/opt/MegaRAID/storcli/storcli64 *', why='controllers, volumes and disks, from captures only'),
                Need(what='cmd:/opt/MegaRAID/perccli/perccli64 *', why='controllers, volumes and disks, from captures only'),
                Need(what='cmd:storcli2 *', why='controllers, volumes and disks, from captures only'),
                Need(what='cmd:perccli2 *', why='controllers, volumes and disks, from captures only'),
                Need(what='cmd:/opt/MegaRAID/storcli2/storcli2 *', why='controllers, volumes and disks, from captures only'),
                Need(what='cmd:/opt/MegaRAID/perccli2/perccli2 *', why='controllers, volumes and disks, from captures only'),
                Need(what='cmd:ssacli *', why='controllers, volumes and disks, from captures only'),
                Need(what='cmd:hpssacli *', why='controllers, volumes and disks, from captures only'),
                Need(what='cmd:hpacucli *', why='controllers, volumes and disks, from captures only'),
                Need(what='cmd:arcconf *', why='controllers, volumes and disks, from captures only'),
                Need(what='cmd:/usr/StorMan/arcconf *', why='controllers, volumes and disks, from captures only'),
                Need(what='cmd:/usr/Arcconf/arcconf *', why='controllers, volumes and disks, from captures only'),
                Need(what='cmd:sas3ircu *', why='controllers, volumes and disks, from captures only'),
                Need(what='cmd:sas2ircu *', why='controllers, volumes and disks, from captures only'),
                Need(what='cmd:MegaCli64 *', why='volumes, disks, batteries, from captures only', redact=later("sdstop.collectors.health.megacli", "without_inquiry", "sdstop.collectors.health.raid", "RAID.needs[49].redact")),
                Need(what='cmd:MegaCli *', why='volumes, disks, batteries, from captures only', redact=later("sdstop.collectors.health.megacli", "without_inquiry", "sdstop.collectors.health.raid", "RAID.needs[49].redact")),
                Need(what='cmd:megacli *', why='volumes, disks, batteries, from captures only', redact=later("sdstop.collectors.health.megacli", "without_inquiry", "sdstop.collectors.health.raid", "RAID.needs[49].redact")),
                Need(what='cmd:/opt/MegaRAID/MegaCli/MegaCli64 *', why='volumes, disks, batteries, from captures only', redact=later("sdstop.collectors.health.megacli", "without_inquiry", "sdstop.collectors.health.raid", "RAID.needs[49].redact")),
            ),
            pace=1800.0,
            deadline=400.0,
            forms=(
                Form(key='cmd:storcli64 /call show all', first='(?:CLI Version = [^\\n]*\\n)?Operating system = [^\\n]*\\nController = \\d+ *$', reads='controllers, caches, batteries, volumes and disks', versions='storcli and perccli 7, storcli2 and perccli2 8', several=Several.JOINED),
                Form(key='cmd:storcli64 /call show all J', first='\\{\\s*"Controllers": ?\\[', reads='the same as the text', versions='storcli and perccli 7, storcli2 and perccli2 8'),
                Form(key='cmd:ssacli ctrl all show config detail', first='(?:HPE? )?Smart Array [^\\n]* in Slot \\w+', reads='controllers, caches, batteries, volumes and disks of HPE', versions='ssacli, hpssacli, hpacucli', several=Several.JOINED),
                Form(key='cmd:MegaCli64 -LdPdInfo -aALL', first='(?:Adapter #?\\d+(?: -- Virtual Drive Information:)?|BBU status for Adapter: \\d+) *\\n', reads='volumes, disks and batteries of MegaRAID controllers', versions='MegaCli 8', last='Exit Code: 0x', fault=later("sdstop.collectors.health.megacli", "fault", "sdstop.collectors.health.raid", "RAID.forms[3].fault"), several=Several.JOINED),
                Form(key='cmd:arcconf getconfig 1', first='Controllers found: \\d+ *\\n(?:-+ *\\n)?(?:Controller information|\\S)', reads='controllers, backup units, volumes and disks of Adaptec and Microchip', versions='arcconf 1 to 4', last='Command completed successfully', fault=later("sdstop.collectors.health.arcconf", "fault", "sdstop.collectors.health.raid", "RAID.forms[4].fault"), several=Several.JOINED),
                Form(key='cmd:sas3ircu 0 display', first='(?:Avago|LSI|Broadcom)[^\\n]{0,40} SAS[23] IR Configuration Utility', reads='mirrored volumes of HBAs, and their disks', versions='sas2ircu, sas3ircu', last='SAS[23]IRCU: Utility Completed', fault=later("sdstop.collectors.health.sasircu", "fault", "sdstop.collectors.health.raid", "RAID.forms[5].fault"), several=Several.JOINED),
            ),
        ),
    },
    "sdstop.collectors.health.temperatures": {
        "TEMPERATURES": Collector(
            name='temperatures',
            title='Temperatures of disks',
            read=IfPresent(later("sdstop.collectors.health.temperatures", "TEMPERATURES.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/class/hwmon',)), Call(method='entries', given=('/sys/class/hwmon',))), end=End(key='list:/sys/class/hwmon', detail='no sensor of a disk', recorded=False)),) * 2, (TimedOut,)),
            families=(DiskTemperature,),
            needs=(
                Need(what='list:/sys/class/hwmon', why='which sensors there are'),
                Need(what='/sys/class/hwmon/*/name', why='driver of a sensor', filled=True),
                Need(what='/sys/class/hwmon/*/temp1_*', why='temperature and limits of an NVMe disk, or of an ATA disk that has I/O', filled=True),
                Need(what='link:/sys/class/hwmon/*/device', why='NVMe controller of a sensor'),
                Need(what='list:/sys/class/hwmon/*/device/*', why='disk of a sensor'),
                Need(what='list:/sys/class/nvme/*', why='namespaces of an NVMe controller'),
                Need(what='/sys/block/*/queue/rotational', why='whether a disk rotates: it is not asked while it may sleep'),
                Need(what='/sys/block/*/stat', why='whether a disk had I/O since the round before'),
            ),
            pace=300.0,
            deadline=60.0,
        ),
    },
    "sdstop.collectors.health.enclosures": {
        "ENCLOSURE_SLOTS": Collector(
            name='enclosures',
            title='Enclosure slots and their LEDs',
            read=IfPresent(later("sdstop.collectors.health.enclosures", "ENCLOSURE_SLOTS.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/class/enclosure',)),), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(EnclosureSlot,),
            needs=(Need(what='list:/sys/class/enclosure', why='which enclosures there are'), Need(what='list:/sys/class/enclosure/*', why='slots of an enclosure'), Need(what='/sys/class/enclosure/*/id', why='identifier of an enclosure'), Need(what='/sys/class/enclosure/*/*/*', why='status of a slot, its LEDs, its number; the kernel asks the enclosure'), Need(what='list:/sys/class/enclosure/*/*/device/block', why='disk in a slot')),
            pace=600.0,
            deadline=120.0,
        ),
    },
    "sdstop.collectors.health.commands": {
        "COMMANDS": Collector(
            name='scsi-commands',
            title='Commands of SCSI disks',
            read=IfPresent(later("sdstop.collectors.health.commands", "COMMANDS.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/block',)),), end=End(key='/sys/block/*/device/ioerr_cnt', detail='no SCSI disk', recorded=False)),) * 2, (TimedOut,)),
            families=(ScsiCommands,),
            needs=(Need(what='list:/sys/block', why='which disks there are'), Need(what='/sys/block/*/device/io*_cnt', why='commands completed, failed and timed out', filled=True)),
            pace=60.0,
            deadline=15.0,
        ),
    },
    "sdstop.collectors.health.media": {
        "MEDIA": Collector(
            name='media',
            title='Recording of disks (SMR)',
            read=IfPresent(later("sdstop.collectors.health.media", "MEDIA.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/block',)),), end=End(key='/sys/block/*/queue/zoned', detail='no disk that reports its recording', recorded=False)),) * 2, (TimedOut,)),
            families=(DiskMedium,),
            needs=(Need(what='list:/sys/block', why='which disks there are'), Need(what='/sys/block/*/queue/zoned', why='whether a disk is zoned', filled=True), Need(what='/sys/block/*/device/vpd_pgb1', why='whether a disk reports drive-managed zones'), Need(what='/sys/block/*/device/model', why='models known to be drive-managed SMR')),
            pace=1800.0,
            deadline=15.0,
        ),
    },
    "sdstop.collectors.powerflex.cluster": {
        "SCALEIO": Collector(
            name='scaleio',
            title='ScaleIO/PowerFlex',
            read=IfPresent(
                later("sdstop.collectors.powerflex.cluster", "SCALEIO.read"),
                (
                    NothingFound(calls=(Call(method='request', given=('GET', '/api/instances', None, 20.0)),), end=End(call=0)),
                    NothingFound(
                        calls=(
                            Call(method='request', given=('GET', '/api/instances', None, 20.0)),
                            Call(method='request', given=('GET', '/api/types/System/instances', None, 20.0)),
                            Call(method='request', given=('GET', '/api/types/ProtectionDomain/instances', None, 20.0)),
                            Call(method='request', given=('GET', '/api/types/FaultSet/instances', None, 20.0)),
                            Call(method='request', given=('GET', '/api/types/Sds/instances', None, 20.0)),
                            Call(method='request', given=('GET', '/api/types/Device/instances', None, 20.0)),
                            Call(method='request', given=('GET', '/api/types/StoragePool/instances', None, 20.0)),
                            Call(method='request', given=('GET', '/api/types/Volume/instances', None, 20.0)),
                            Call(method='request', given=('GET', '/api/types/Sdc/instances', None, 20.0)),
                            Call(method='recorded', given=('scli',)),
                        ),
                        end=End(call=0, key='http:GET /api/instances', recorded=False),
                    ),
                ),
                (Denied, Failed, TimedOut),
            ),
            families=(Gateway, Cluster, ClusterNode, ClusterPool, FailureDomain, ScaleioPool, ClusterDevice, ClusterVolume, Service, ClusterClient, Limit, Rebuild, DevicePath),
            needs=(
                Need(what='http:GET /api/instances', why='all objects of the system', privilege='a user of the role Monitor: [powerflex] in the config file'),
                Need(what='http:POST /api/instances/querySelectedStatistics*', why='all statistics of the system, in one read-only query'),
                Need(what='http:GET /api/types/*/instances', why='objects by type, if recorded in that form'),
                Need(what='http:*api*instances*', why='objects recorded under another name', redact=later("sdstop.collectors.powerflex.cluster", "SCALEIO.needs[3].redact")),
                Question(name='powerflex.gateway', why='which gateway answered, and how old the answer is'),
                Need(what='/dev/disk/by-id/emc-vol-*', why='volumes of this node and their devices'),
                Need(what='/proc/net/fib_trie', why='SDS and SDC of this node'),
                Need(what='/bin/emc/scaleio/drv_cfg.txt', why='SDC of this node', privilege='root', keep=later("sdstop.collectors.powerflex.cluster", "SCALEIO.needs[7].keep")),
                Need(what='cmd:scli *', why='recorded output of scli, if no gateway was queried'),
            ),
            pace=10.0,
            deadline=45.0,
            derives=(Derivation(source=Limit, target=LimitUse, make=later("sdstop.readings.limit", "use", "sdstop.collectors.limits.cgroups", "CGROUPS.derives[0].make")),),
            lacks=later("sdstop.collectors.powerflex.cluster", "SCALEIO.lacks"),
        ),
    },
    "sdstop.collectors.kernel.log": {
        "KERNEL_LOG": Collector(
            name='kernel-log',
            title='Kernel log',
            read=IfPresent(
                later("sdstop.collectors.kernel.log", "KERNEL_LOG.read"),
                (NothingFound(calls=(Call(method='answer', given=('kernel.log',)),), end=End(call=0)), NothingFound(calls=(Call(method='answer', given=('kernel.log',)), Call(method='recorded', given=('dmesg',)), Call(method='recorded', given=('journalctl',)), Call(method='read', given=('/var/log/kern.log',)), Call(method='read', given=('/var/log/messages',)), Call(method='read', given=('/var/log/syslog',))), end=End(call=0))),
                (Denied, Failed, TimedOut),
            ),
            families=(KernelLog, KernelComplaint, KernelEvent, DiskLog),
            needs=(
                Question(name='kernel.log', why='errors, timeouts and resets that the kernel reports (/dev/kmsg); other messages are not kept', privilege='root, or the capability CAP_SYSLOG', answer=later("sdstop.collectors.kernel.log", "KERNEL_LOG.needs[0].answer"), keep=later("sdstop.collectors.kernel.answer", "kept_lines", "sdstop.collectors.kernel.log", "KERNEL_LOG.needs[0].keep")),
                Need(what='/proc/uptime', why='age of messages'),
                Need(what='/proc/stat', why='time of boot, for recorded logs'),
                Need(what='list:/sys/bus/scsi/devices/*', why='disk of a SCSI address in a message'),
                Need(what='list:/sys/class/ata_port/*', why='disk of an ATA port in a message'),
                Need(what='list:/sys/class/nvme/*', why='disk of an NVMe controller in a message'),
                Need(what='link:/sys/dev/block/*', why='disk of a device number in a message'),
                Need(what='cmd:dmesg*', why='recorded kernel log; messages that are not understood are not kept', keep=later("sdstop.collectors.kernel.trail", "kept", "sdstop.collectors.kernel.log", "KERNEL_LOG.needs[7].keep")),
                Need(what='cmd:journalctl*', why='recorded kernel log; messages that are not understood are not kept', keep=later("sdstop.collectors.kernel.trail", "kept", "sdstop.collectors.kernel.log", "KERNEL_LOG.needs[7].keep")),
                Need(what='/var/log/kern.log', why='kernel log of a capture; other messages are not kept', keep=later("sdstop.collectors.kernel.trail", "kept", "sdstop.collectors.kernel.log", "KERNEL_LOG.needs[7].keep")),
                Need(what='/var/log/messages', why='kernel log of a capture; other messages are not kept', keep=later("sdstop.collectors.kernel.trail", "kept", "sdstop.collectors.kernel.log", "KERNEL_LOG.needs[7].keep")),
                Need(what='/var/log/syslog', why='kernel log of a capture; other messages are not kept', keep=later("sdstop.collectors.kernel.trail", "kept", "sdstop.collectors.kernel.log", "KERNEL_LOG.needs[7].keep")),
            ),
            pace=5.0,
            forms=(
                Form(
                    key='cmd:dmesg',
                    first='(?:<\\d{1,3}>|[a-z]{3,8}\\d? {0,8}:[a-z]{3,8} {0,8}: )?(?:\\x1b\\[[0-9;]*m)?\\[(?: {0,12}\\d{1,10}\\.\\d{6}|[^\\W\\d_]{1,4}\\.? {1,2}(?:[^\\W\\d_]{3,5}\\.?|\\d{1,2}\\u6708) [ \\d]\\d \\d\\d:\\d\\d:\\d\\d \\d{4}|[A-Z][a-z]{2} ?\\d{1,2} \\d\\d:\\d\\d)[^\\]\\n]{0,30}\\]',
                    reads='errors, timeouts and resets of devices; other messages are not kept',
                    versions='util-linux 2.23 and later in all languages, with -T, -x, -H, -J, --time-format iso, or none; Linux 4.18',
                    goes_on='(?:<\\d{1,3}>|[a-z]{3,8}\\d? {0,8}:[a-z]{3,8} {0,8}: )?(?:\\x1b\\[[0-9;]*m)?\\[.{5,40}\\].*| {4,}.*',
                    fault=later("sdstop.collectors.kernel.source", "fault", "sdstop.collectors.kernel.log", "KERNEL_LOG.forms[0].fault"),
                    by_line=True,
                    several=Several.JOINED,
                ),
                Form(
                    key='cmd:journalctl -k',
                    first='(?:\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\S{0,20}|(?:[^\\W\\d_]{3,5}\\.?|\\d{1,2}\\u6708) [ \\d]\\d \\d\\d:\\d\\d:\\d\\d(?:\\.\\d{1,9})?|[^\\W\\d_]{1,5}\\.? \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d(?:\\.\\d{1,9})? (?:[A-Z]{2,5}|[+-]\\d{2,4})|\\[ {0,12}\\d{1,10}\\.\\d{6}\\]) (?:\\S{1,253} )?(?:ceph-osd|corosync|dmeventd|iscsid|kernel|lvm|mdadm|multipathd|smartd|systemd-udevd|zed)(?:\\[\\d{1,10}\\])?: ',
                    reads='errors, timeouts and resets of devices, from the journal or a system log; other messages are not kept',
                    versions='systemd 219 and later, with -o short and short-iso, -precise, -full, -monotonic; syslog files',
                    goes_on='(?:\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\S{0,20}|(?:[^\\W\\d_]{3,5}\\.?|\\d{1,2}\\u6708) [ \\d]\\d \\d\\d:\\d\\d:\\d\\d(?:\\.\\d{1,9})?|[^\\W\\d_]{1,5}\\.? \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d(?:\\.\\d{1,9})? (?:[A-Z]{2,5}|[+-]\\d{2,4})|\\[ {0,12}\\d{1,10}\\.\\d{6}\\]) \\S{1,253} .*|-- .*',
                    fault=later("sdstop.collectors.kernel.source", "fault", "sdstop.collectors.kernel.log", "KERNEL_LOG.forms[0].fault"),
                    by_line=True,
                    several=Several.JOINED,
                ),
                Form(key='cmd:journalctl -k -o verbose', first='[^\\W\\d_]{1,5}\\.? \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d\\.\\d{6} \\S{2,5} \\[s=[0-9a-f]+;', reads='the same with all fields', versions='systemd 219 and later', goes_on=' +[A-Z_]+=.*|-- .*', fault=later("sdstop.collectors.kernel.source", "fault", "sdstop.collectors.kernel.log", "KERNEL_LOG.forms[0].fault"), by_line=True, several=Several.JOINED),
                Form(key='cmd:journalctl -k -o json', first='\\{.{0,4000}"(?:_TRANSPORT" ?: ?"kernel|SYSLOG_IDENTIFIER" ?: ?"kernel)"', reads='the same as JSON', versions='systemd 219 and later', goes_on='\\{.*', by_line=True, several=Several.JOINED),
                Form(key='/var/log/messages', first='Message from syslogd@\\S{1,253} at .{10,30} \\.\\.\\.\\n{1,2} ?kernel:', reads='emergencies of the kernel, as rsyslog writes them to all terminals', versions='rsyslog 5 and later', goes_on=' ?kernel:.*|Message from syslogd@.*', fault=later("sdstop.collectors.kernel.source", "fault", "sdstop.collectors.kernel.log", "KERNEL_LOG.forms[0].fault"), by_line=True, several=Several.JOINED),
            ),
        ),
    },
    "sdstop.collectors.filesystems.errors": {
        "EXT4_ERRORS": Collector(
            name='ext4-errors',
            title='Errors of ext4 file systems',
            read=IfPresent(later("sdstop.collectors.filesystems.errors", "EXT4_ERRORS.read"), (NothingFound(calls=(Call(method='entries', given=('/sys/fs/ext4',)),), end=End(call=0)),) * 2, (Denied, Failed, TimedOut)),
            families=(Ext4Errors,),
            needs=(Need(what='list:/sys/fs/ext4', why='mounted ext4 file systems'), Need(what='/sys/fs/ext4/*', why='errors since the last check, time and place of the last one', filled=('errors_count',))),
            pace=30.0,
        ),
        "BTRFS_ERRORS": Collector(
            name='btrfs-errors',
            title='Errors of btrfs devices',
            read=IfPresent(later("sdstop.collectors.filesystems.errors", "BTRFS_ERRORS.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('btrfs',)), Call(method='recorded_texts', given=('btrfs',)), Call(method='entries', given=('/sys/fs/btrfs',))), end=End(call=2)),) * 2, (Denied, Failed, TimedOut)),
            families=(BtrfsErrors,),
            needs=(Need(what='list:/sys/fs/btrfs*', why='mounted btrfs and their devices'), Need(what='/sys/fs/btrfs/*', why='failed requests and wrong checksums of each device', filled=('error_stats',)), Need(what='cmd:btrfs *', why='the same of `btrfs device stats` and `btrfs filesystem show`, from captures only')),
            pace=30.0,
            forms=(
                Form(key='cmd:btrfs device stats /', first='\\[(?:/dev/)?[^\\]\\n]+\\]\\.write_io_errs\\s+\\d+', reads='errors of the devices of btrfs', versions='btrfs-progs 3.7 and later', goes_on='\\[[^\\]]+\\]\\.[a-z_]+\\s+\\d+', several=Several.JOINED),
                Form(key='cmd:btrfs filesystem show', first='(?:Label: [^\\n]{1,300}?|none)\\s+uuid: [0-9a-f-]{36}\\s*\\n\\s*Total devices \\d', reads='missing devices of btrfs', versions='btrfs-progs 3.12 and later', goes_on='\\s+(?:Total devices|devid|\\*\\*\\*) .*|(?:Label: .*|none\\s+)uuid: .*'),
            ),
        ),
    },
    "sdstop.collectors.filesystems.scrubs": {
        "BTRFS_SCRUBS": Collector(
            name='btrfs-scrubs',
            title='Last scrubs of btrfs',
            read=IfPresent(later("sdstop.collectors.filesystems.scrubs", "BTRFS_SCRUBS.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('btrfs',)), Call(method='entries', given=('/sys/fs/btrfs',))), end=End(call=1)),) * 2, (Denied, Failed, TimedOut)),
            families=(BtrfsScrub,),
            needs=(Need(what='list:/sys/fs/btrfs', why='which btrfs file systems are mounted'), Need(what='list:/sys/fs/btrfs/*', why='their devices'), Need(what='list:/var/lib/btrfs', why='whether a scrub of them was recorded'), Need(what='/var/lib/btrfs/scrub.status.*', why='when the last scrub ended', privilege='root', filled=True), Need(what='cmd:btrfs scrub*', why='the same of `btrfs scrub status`, from captures only')),
            pace=60.0,
            forms=(Form(
                key='cmd:btrfs scrub status',
                first='UUID: +[0-9a-f-]{36}\\s*\\n(?:Scrub (?:started|resumed|device)|\\s*\\n|\\s+no stats)|scrub status for [0-9a-f-]{36}\\s*\\n',
                reads='errors that the last scrub of btrfs found',
                versions='btrfs-progs 3.12 and later',
                goes_on='(?:UUID|Scrub \\w+|Status|Duration|Time left|ETA|Total to scrub|Bytes scrubbed|Rate|Error summary): .*|\\s+(?:Corrected|Uncorrectable|Unverified): .*|\\s+(?:scrub|total|error|corrected|no stats) .*|\\*\\*\\* WARNING.*|[Ss]crub (?:device|status) .*|\\s+[a-z_]{5,30}: \\d+',
                several=Several.JOINED,
            ),),
        ),
    },
    "sdstop.collectors.filesystems.quotas": {
        "QUOTAS": Collector(
            name='quotas',
            title='Quotas of local file systems',
            read=IfPresent(later("sdstop.collectors.filesystems.quotas", "QUOTAS.read"), (NothingFound(calls=(Call(method='recorded_texts', given=('repquota',)), Call(method='answer', given=('filesystems.quotas',))), end=End(call=1)),) * 2, (Denied, Failed, TimedOut)),
            families=(Quotas,),
            needs=(Question(name='filesystems.quotas', why='quotas of users, groups and projects, if they are on', privilege='root'), Need(what='cmd:repquota *', why='the same, from captures only', redact=later("sdstop.collectors.filesystems.quotas", "QUOTAS.needs[1].redact"))),
            pace=600.0,
            deadline=10.0,
            forms=(Form(key='cmd:repquota -a', first='\\*\\*\\* Report for (?:user|group|project) quotas on device /dev/\\S+', reads='quotas of users, groups and projects', versions='quota-tools 4', several=Several.JOINED),),
            resting=3600.0,
        ),
    },
    "sdstop.collectors.filesystems.nfs": {
        "NFS": Collector(
            name='nfs',
            title='NFS mounts and their requests',
            read=IfPresent(later("sdstop.collectors.filesystems.nfs", "NFS.read"), (NothingFound(calls=(Call(method='read', given=('/proc/net/rpc/nfs',)),), end=End(call=0)), NothingFound(calls=(Call(method='read', given=('/proc/net/rpc/nfs',)), Call(method='read', given=('/proc/self/mountstats',))), end=End(call=1))), (Denied, Failed, TimedOut)),
            families=(NfsMount, NfsRequests),
            needs=(Need(what='/proc/net/rpc/nfs', why='whether the kernel has an NFS client', everyone=True), Need(what='/proc/self/mountstats', why='time, repetitions and timeouts of the requests of NFS mounts', keep=later("sdstop.collectors.filesystems.nfs", "NFS.needs[1].keep"))),
            forms=(Form(key='/proc/self/mountstats', first='device \\S.* mounted on /.* with fstype \\S+', reads='requests of NFS mounts', versions='Linux 2.6.17 and later', goes_on='device .* mounted on .*|\\s+(?:[a-z_]+[\\d]*:|per-op|RPC iostats|[A-Z][A-Z0-9_]+:|\\d+:).*'),),
        ),
    },
}
