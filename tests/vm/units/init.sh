#!/bin/sh
# Process 1 of a guest that systemd runs: the units as they are shipped, and the probe that looks at them.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8
hostname sdsvm
printf '#!/bin/sh\nPYTHONPATH=/opt/sdstop PYTHONDONTWRITEBYTECODE=1 exec python3 -m sdstop "$@"\n' >/usr/local/bin/sdstop
chmod 755 /usr/local/bin/sdstop
cp /vm/contrib/*.service /vm/probe.service /etc/systemd/system/
cp /vm/contrib/sdstop.default /etc/default/sdstop
ln -sf /dev/null /etc/systemd/system/systemd-networkd-wait-online.service
exec /lib/systemd/systemd --system --unit=probe.service --show-status=no
