"""Readings of device names in clusters, pools and configuration files."""

from __future__ import annotations

from typing import Annotated, ClassVar

from sdstop.core.expression import expression
from sdstop.core.joins import Identity, Join, Naming, Relation, ThingKind
from sdstop.core.model import Fact, Label, Metric, Name, Reading, Source

FSTAB = "/etc/fstab"
_KERNEL = expression(r"/dev/(?:sd[a-z]+\d*|hd[a-z]+\d*|xvd[a-z]+\d*|vd[a-z]+\d*|nvme\d+n\d+(?:p\d+)?)")
"""Kernel names assigned in order of device detection; names of md, dm and LVM devices are persistent."""


class DevicePath(Reading, frozen=True, kw_only=True):
    """Device name under which a configuration refers to a device, one row per reference.

    `holder` is the referring configuration file of this node or cluster; `place` is the purpose: a mount point, an
    array, a node of the cluster.
    """

    family: ClassVar[str] = "device_path"
    title: ClassVar[str] = "Device names in configuration"
    joined: ClassVar[bool] = True
    exported: ClassVar[bool] = False
    rows_of = Source("{origin}", "{needle|path}")
    things: ClassVar = {
        "device": Identity(ThingKind.DEVICE, Naming.DEV, aliases=(("{local_path:dev}", Naming.LINK),)),
        "mount": Identity(ThingKind.MOUNT, Naming.MOUNT),
        "source": Identity(None, Naming.LINK, "{mounted:dev}"),
    }
    joins = (Join("mount", "source", Relation.STORED),)

    holder: Annotated[str, Label("Holder", "Configuration file, cluster or pool", names=Name.VOLUME)]
    place: Annotated[str, Label("For", "Mount point, array, node of the cluster, or vdev", names=Name.VOLUME)]
    path: Annotated[str, Label("Name", "Name by which the device is configured", names=Name.PATH)]
    kind: Annotated[str, Fact("Kind", "file, powerflex or zfs", plain=True)]
    now: Annotated[str | None, Fact("Name now", "Last known path, if reported", names=Name.PATH)] = None
    healthy: Annotated[int | None, Metric("Healthy", "Whether the device is healthy")] = None
    device: Annotated[str | None, Fact("Here", "Kernel name, if it is a device of this node", names=Name.DEVICE)] = None
    origin: Annotated[str, Fact("Source", "Key of the evidence", export=False, names=Name.EVIDENCE)] = ""
    needle: Annotated[str, Fact("Line", "Text that marks its line", export=False, names=Name.EVIDENCE)] = ""

    @property
    def local_path(self) -> str | None:
        """The name; None if it belongs to another node or matches no device."""
        return self.path if self.device is not None else None

    @property
    def mount(self) -> str | None:
        """The mount point, of file systems in fstab."""
        return self.place if self.holder == FSTAB and self.place.startswith("/") else None

    @property
    def mounted(self) -> str | None:
        """The device of that mount point."""
        return self.path if self.mount is not None else None

    @property
    def moved(self) -> bool:
        """Whether the device was last found under another name."""
        return self.now is not None and self.now != self.path


def unstable(path: str) -> bool:
    """Return whether a path is a name that may refer to another device after a reboot."""
    return _KERNEL.fullmatch(path) is not None
