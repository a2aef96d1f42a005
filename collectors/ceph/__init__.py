"""Collectors of Ceph clusters, their OSDs, and RBD images mapped on this node."""

from __future__ import annotations

from sdstop.collectors.ceph.cluster import CEPH
from sdstop.collectors.ceph.osds import CEPH_OSDS
from sdstop.collectors.ceph.rbd import RBD

COLLECTORS = (RBD, CEPH, CEPH_OSDS)
