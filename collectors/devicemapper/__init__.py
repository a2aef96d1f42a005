"""Collectors of device mapper: mapped devices, LVM, dm-cache, dm-writecache and flashcache."""
