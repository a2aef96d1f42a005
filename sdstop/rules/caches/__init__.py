"""Rules about caches of block devices: flashcache, dm-cache, dm-writecache, bcache."""
