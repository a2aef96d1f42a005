"""Collectors of device mapper: mapped devices, LVM, dm-cache, dm-writecache and flashcache."""

from __future__ import annotations

from sdstop.collectors.devicemapper.dmcache import DMCACHE
from sdstop.collectors.devicemapper.flashcache import FLASHCACHE
from sdstop.collectors.devicemapper.lvm import LVM
from sdstop.collectors.devicemapper.mapper import MAPPER

COLLECTORS = (MAPPER, LVM, DMCACHE, FLASHCACHE)
