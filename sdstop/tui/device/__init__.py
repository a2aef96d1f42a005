"""Device page: everything about one device, array, volume, interface, pool or process on one screen."""
