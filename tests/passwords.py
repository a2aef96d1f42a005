"""Command lines with passwords, as they stand in process lists, and the writings by which one could still be found."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

WORD, NUMBER = "hunter2Zebra", "846029175533"
"""A password, and one of digits alone."""
_JSON = json.dumps({"user": "root", "password": WORD, "pin": int(NUMBER)})
_BASIC = base64.b64encode(f"root:{WORD}".encode()).decode()
_DRIVE = f"file=/dev/vg/web,format=raw,if=virtio,key={WORD},password={NUMBER},throttling.iops-total=500"
FORMS: tuple[tuple[str, ...], ...] = (
    ("mysql", "-uroot", f"-p{WORD}", "shop"), ("mysql", f"-p{NUMBER}"), ("mysqldump", f"--password={WORD}", "shop"),
    ("psql", f"postgresql://app:{WORD}@db/shop"), ("pg_dump", f"host=db user=app password={WORD}"),
    ("mongo", "-u", "root", "-p", WORD), ("redis-cli", "-a", NUMBER, "info"), ("influx", "-password", WORD),
    ("curl", "-u", f"admin:{WORD}", "https://gw/"), ("curl", f"https://admin:{WORD}@gw/api"),
    ("curl", "-H", f"Authorization: Bearer {WORD}", "https://gw/"), ("curl", "-H", f"Authorization: Basic {_BASIC}"),
    ("curl", "-H", f"X-Auth-Token: {NUMBER}"), ("curl", "-d", _JSON, "https://gw/login"),
    ("curl", "--data", f"user=root&pw={NUMBER}"), ("wget", f"--http-password={WORD}", "https://gw/"),
    ("sshpass", "-p", NUMBER, "ssh", "root@gw"), ("sshpass", f"-p{WORD}", "scp", "a", "root@gw:"),
    ("expect", "-c", f'spawn ssh gw; expect "word:"; send "{WORD}\\r"'), ("plink", "-pw", WORD, "gw"),
    ("ldapsearch", "-D", "cn=root", "-w", WORD), ("kinit", f"--password={NUMBER}"), ("smbclient", "-U", f"root%{WORD}"),
    ("mount.cifs", "//nas/x", "/mnt", "-o", f"username=root,password={WORD}"), ("rclone", "--sftp-pass", WORD, "ls"),
    ("ipmitool", "-H", "bmc", "-U", "root", "-P", WORD, "sdr"), ("racadm", "-u", "root", "-p", NUMBER, "getsel"),
    ("scli", "--login", "--username", "admin", "--password", WORD), ("iscsiadm", "-n", "password", "-v", WORD),
    ("nvme", "connect", "-t", "tcp", f"--dhchap-secret=DHHC-1:00:{WORD}:"), ("ceph", "--key", WORD, "status"),
    ("qemu-system-x86_64", "-name", "guest=web", "-drive", _DRIVE, "-vnc", f":1,password={NUMBER}"),
    ("qemu-kvm", "-object", f"secret,id=sec0,data={WORD}", "-drive", f"file=nbd://root:{WORD}@nas/x,if=virtio"),
    ("qemu-system-x86_64", "-blockdev", json.dumps({"driver": "rbd", "user": "x", "key": WORD, "pin": int(NUMBER)})),
    ("qemu-img", "convert", "--object", f"secret,id=s,data={NUMBER}", "/srv/a.raw", f"ssh://root:{WORD}@nas/b"),
    ("rsync", "-a", f"--rsh=sshpass -p {WORD} ssh", "/srv/a", f"root:{NUMBER}@nas::m"), ("rsync", f"rsync://r:{WORD}@n/m"),
    ("bash", "-c", f"echo {WORD} | cryptsetup open /dev/sdb x"), ("sh", "-c", f"DB_PASS={NUMBER} /srv/app"),
    ("python3", "/srv/app.py", WORD, NUMBER), ("python3", "-c", f"connect('{WORD}')"),
    ("java", f"-Djavax.net.ssl.keyStorePassword={WORD}", "-jar", "app.jar"), ("openssl", "enc", "-k", WORD),
    ("openssl", "rsa", "-passin", f"pass:{WORD}"), ("zip", "-P", NUMBER, "a.zip", "a"), ("7z", f"-p{WORD}", "a.7z"),
    ("gpg", "--batch", "--passphrase", WORD, "-d", "a"), ("htpasswd", "-b", "users", "root", WORD),
    ("docker", "run", "-e", f"POSTGRES_PASSWORD={WORD}", "postgres"), ("vault", "login", f"hvs.{WORD}"),
    ("zfs", "send", "-w", "tank/a", f"--key={WORD}"), ("fio", "--client=host", WORD, f"--http_s3_key={NUMBER}"),
    ("drbdsetup", "new-peer", "--shared-secret", WORD, "r0"), ("vblade", "-m", WORD, "0", "1", "eth0", "/dev/vg/a"),
    (f"app --token={WORD}",), (f"sshd: {WORD}",), (f"postgres: app shop {NUMBER}",), ("app", f"{WORD}:{NUMBER}"),
)  # fmt: skip


def left(data: bytes) -> list[str]:
    """Return the secrets that stand in some bytes, in any writing that a reader could undo."""
    lower = data.lower()
    return [secret for secret in (WORD, NUMBER) if any(written.lower() in lower for written in _writings(secret))]


def _writings(secret: str) -> Iterator[bytes]:
    plain = secret.encode()
    yield from (plain, plain.hex().encode(), secret.encode("utf-16-le"), secret.encode("utf-16-be"))
    yield from (base64.b64encode(b" " * shift + plain)[(shift * 4 + 2) // 3 :][: len(plain) - 3] for shift in range(3))
    yield "".join(f"%{byte:02X}" for byte in plain).encode()
    yield "".join(f"\\x{byte:02x}" for byte in plain).encode()
    yield "".join(f"\\u{byte:04x}" for byte in plain).encode()
