r"""Secrets and names planted in a capture: every way in which a node says one, in every place that evidence has.

`saying()` is evidence in which each source says names in its own format; `mentioned()` puts all of them into anything,
also where no source would; `traces()` are the writings by which a reader of the finished capture could still tell one.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import re
import struct
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from sdstop.core.evidence import Evidence, Frame, Origin, Outcome

HOST, DOMAIN, PEER = "stor-zurich9", "kappelhof.example", "peer-basel4"
FQDN, OTHER = f"{HOST}.{DOMAIN}", f"backup7.{DOMAIN}"
STRANGER = "archivserver3"
"""The short name of a host that is only ever said in full."""
USER, GROUP, VOLUME, POOL, DATASET = "hmueller", "vgkappel", "kunde-brauerei", "kappelpool", "lohnkonto"
MACHINE, LABEL, RESOURCE, SPACED = "mandant-amsler", "kappelarchiv", "resbrauerei", "Kunde Brauerei Neu"
SERIAL, DIMM, ASSET, BOARD, VENDOR, DIGITS = (
    "ZQ7K2WPX", "9F3C77D2", "INV-2017-4711", "VMB77Q10042", "CUST=Brauerei4711", "707145870031",
)  # fmt: skip
WWN, NAA, EUI, NGUID, PORT = (
    "5000c500e9d8c7b6", "600508b1001c5e7d3f9a2b4c6d8e0f1a", "0025385b71b00a1c", "36344730525000210025384100000077",
    "2100001b32a9b8c7",
)  # fmt: skip
CARD = "525400123477"
"""A MAC of digits alone."""
MAC, LOCAL, IPV4, CLIENT, IPV6 = (
    "3c:ec:ef:9a:8b:7c", "fe80::3eec:efff:fe9a:8b7c", "10.77.66.55", "192.168.207.33", "2001:db8:77:1::55",
)  # fmt: skip
IQN, NQN = f"iqn.2019-03.example.kappelhof:{HOST}.disk7", "nqn.2014-08.example.kappelhof:nvme:brauerei"
UUID, FSID, MD, LVM, SYSTEM = (
    "6f1c0d3e-52ab-4c1d-9e77-0a1b2c3d4e5f", "7d2e1f40-6b5a-4c39-8d17-e6f5a4b3c2d1",
    "a1b2c3d4:e5f60718:293a4b5c:6d7e8f90",
    "Xk3dRt-q7Lw-2mNv-Yp4s-Hc8b-Jz1f-Wa6eQg", "4c4c4544-0042-5a10-8051-b7c04f4e3232",
)  # fmt: skip
MAIL = "h.mueller@kappelhof.example"
PASSWORD, CHAP, CEPH, LUKS, SHADOW, NVME = (
    "hunter2Zebra", "chapGeheim77x", "AQBvaBJZ1kSaERAA8yPdGn7hUJqGkYJ1gGJzdw==", "0f1e2d3c4b5a69788796a5b4c3d2e1f0" * 2,
    "$6$kappel77$W8xQzRt2vLmNbYcHdJfKsAoPqEuGiTxV", "DHHC-1:00:a2FwcGVsaG9mZ2VoZWltZXNub3JkZW4xMjM0NTY3ODk=:",
)  # fmt: skip
LEGACY = base64.b64encode(f"{USER}:1790000000:0123456789abcdef0123456789abcdef".encode()).decode()
BASIC = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJobXVlbGxlciJ9.c2lnbmF0dXJlb2ZrYXBwZWxob2Y"

NAMES = (
    HOST, FQDN, OTHER, DOMAIN, PEER, USER, GROUP, VOLUME, POOL, DATASET, MACHINE, LABEL, RESOURCE, SPACED, SERIAL, DIMM,
    ASSET, BOARD, DIGITS, IQN, NQN, MAIL, "kappelhof", STRANGER,
)  # fmt: skip
DIGITAL = (WWN, NAA, EUI, NGUID, PORT, MAC, CARD, UUID, FSID, MD, SYSTEM, LVM)
ADDRESSES = (IPV4, CLIENT, IPV6, LOCAL)
CREDENTIALS = (PASSWORD, CHAP, CEPH, LUKS, SHADOW, NVME, LEGACY, BASIC, JWT, VENDOR)

SAID = " ".join((
    *NAMES[:-1], f"{STRANGER}.{DOMAIN}:/x", f"nfs.{STRANGER}.{DOMAIN}",
    *(d for d in DIGITAL if d not in {EUI, NGUID, PORT, CARD}), f"0x{WWN}", f"naa.{WWN}", f"eui.{EUI}", f"eui.{NGUID}",
    f"0x{PORT}", *ADDRESSES,
))  # fmt: skip
WRITTEN = " ".join((
    HOST.upper(), FQDN.upper(), SERIAL.lower(), WWN.upper(), ":".join(re.findall("..", WWN)), f"[{IPV6}]:3260",
    f"{LOCAL}%eth0",
    MAC.upper(), MAC.replace(":", "-"), "3cec.ef9a.8b7c", MAC.replace(":", ""), f"enx{MAC.replace(':', '')}",
    UUID.upper(), UUID.replace("-", ""), f"{GROUP}-{VOLUME.replace('-', '--')}", MACHINE.replace("-", "\\x2d"),
    VOLUME.replace("-", "%2D"),
    SPACED.replace(" ", "\\x20"), SPACED.replace(" ", "\\040"), SPACED.replace(" ", "%20"),
    HOST.encode().hex(), base64.b64encode(HOST.encode()).decode(), base64.b64encode(FQDN.encode()).decode(),
    f"{USER}@{HOST}:/home/{USER}", f"//{HOST}/share", f"{IPV4}:3260,{CLIENT}:51000", f"ata-ST4000NM0033_{SERIAL}-part1",
    f"scsi-3{WWN}", f"dm-uuid-LVM-{LVM.replace('-', '')}", f"{POOL}/{DATASET}@daily", f"user-{USER}.slice",
    f"nvme.144d-{SERIAL.encode().hex()}-53414d53554e47-00000001", f"LABEL={LABEL}", f"{HOST}.local",
))  # fmt: skip
SECRETIVE = "\n".join((
    f"node.session.auth.password = {CHAP}",
    f'{{"password": "{PASSWORD}", "count": 3}}',
    f"--password {PASSWORD} --verbose",
    f"https://{USER}:{PASSWORD}@{IPV4}/api", f"Authorization: Basic {BASIC}", f"Authorization: Bearer {JWT}", LEGACY,
    JWT,
    f'  shared-secret "{PASSWORD}";', f"key = {CEPH}", f"0 8 crypt aes-xts-plain64 {LUKS} 0 8:0 4096",
    f"{USER}:{SHADOW}:19000:0:99999:7:::", f"dhchap_secret={NVME}", f"Cookie: JSESSIONID={PASSWORD}",
    f"SDSTOP_POWERFLEX_PASSWORD={PASSWORD}", f"mysqldump -u root -p{PASSWORD} db",
    f"-----BEGIN PRIVATE KEY-----\n{BASIC}\n-----END PRIVATE KEY-----",
))  # fmt: skip
EVERYTHING = f"{SAID}\n{WRITTEN}\n{SECRETIVE}\n"


def structure(kind: int, fields: dict[int, str], more: bytes = b"") -> bytes:
    """Return a structure of the firmware's table with strings, and `more` bytes at offset 8."""
    area = bytearray(0x2A)
    struct.pack_into("<BBH", area, 0, kind, len(area), 0x7700 + kind)
    area[8 : 8 + len(more)] = more
    for number, place in enumerate(fields, 1):
        area[place] = number
    return bytes(area) + b"\0".join(text.encode() for text in fields.values()) + b"\0\0"


FIRMWARE = b"".join((
    structure(1, {0x07: BOARD, 0x19: ASSET}, uuid.UUID(SYSTEM).bytes_le), structure(3, {0x07: BOARD, 0x08: ASSET}),
    structure(11, {0x04: VENDOR, 0x05: HOST}), structure(39, {0x08: DIMM}), structure(221, {0x04: VENDOR, 0x06: MAC}),
))  # fmt: skip
"""Structures which nobody reads for memory or processors, to stand before all others."""


def little(address: str) -> str:
    """Return an address as /proc/net/tcp has it."""
    return ipaddress.IPv4Address(address).packed[::-1].hex().upper()


def saying() -> list[Evidence]:
    """Return evidence that says every name once, where and as real sources say it."""
    six = ipaddress.IPv6Address(IPV6).packed
    words = "".join(six[at : at + 4][::-1].hex() for at in range(0, 16, 4)).upper()
    http = json.dumps({"volumeList": [], "comment": EVERYTHING, "x": [{"name": SPACED, "sdcName": PEER, "ip": IPV4}]})
    files = {
        "/proc/sys/kernel/hostname": f"{FQDN}\n",
        "/etc/hosts": f"127.0.0.1 localhost\n{IPV4} {FQDN} {HOST}\n{CLIENT} {PEER}\n{IPV6} {OTHER}\n",
        "/etc/drbd.d/r.res": f'resource {RESOURCE} {{\n net {{ shared-secret "{PASSWORD}"; }}\n'
        f" on {PEER} {{\n }}\n}}\n",
        "/etc/iscsi/iscsid.conf": f"node.session.auth.username = {USER}\nnode.session.auth.password = {CHAP}\n",
        "/etc/ceph/ceph.client.admin.keyring": f"[client.admin]\n\tkey = {CEPH}\n",
        "/etc/shadow": f"{USER}:{SHADOW}:19000:0:99999:7:::\n",
        "/proc/mounts": f"{POOL}/{DATASET} /{DATASET} zfs rw 0 0\n"
        f"//{PEER}/x /mnt cifs rw,username={USER},password={PASSWORD} 0 0\n",
        "/proc/4242/environ": f"HOME=/home/{USER}\0PASSWORD={PASSWORD}\0",
        "/proc/4242/cmdline": f"qemu-system-x86_64\0-name\0guest={MACHINE},debug-threads=on\0-drive\0"
        f"file=/dev/{GROUP}/{VOLUME}\0"
        f"--password\0{PASSWORD}\0--host\0{PEER}\0--to\0{IPV4}\0",
        "/sys/block/etherd!e77.1/mac": f"{CARD}\n",
        "/sys/block/etherd!e77.2/mac": f"{MAC.replace(':', '')}\n",
        "/sys/kernel/debug/aoe/e77.1": f"rttavg: 1 rttdev: 1\n{CARD} 1:8 eth1\n",
        "/sys/class/net/brzz/bridge/bridge_id": f"8000.{CARD}\n",
        "/sys/class/net/brzz/bridge/root_id": f"8000.{MAC.replace(':', '')}\n",
        "/sys/block/sdzz/device/serial": f"{SERIAL}\n",
        "/sys/block/sdzz/device/wwid": f"naa.{WWN}\n",
        "/sys/block/sdzz/device/sas_address": f"0x{WWN}\n",
        "/sys/block/nvme77n1/eui": " ".join(re.findall("..", EUI)) + "\n",
        "/sys/block/nvme77n1/nguid": str(uuid.UUID(NGUID)) + "\n",
        "/sys/block/nvme77n1/wwid": f"eui.{EUI}\n",
        "/sys/block/dm-777/dm/name": f"{GROUP}-{VOLUME.replace('-', '--')}\n",
        "/sys/block/dm-777/dm/uuid": f"LVM-{LVM.replace('-', '')}{LVM.replace('-', '')}\n",
        "/sys/block/loop77/loop/backing_file": f"/home/{USER}/image.raw\n",
        "/sys/block/bcache77/bcache/label": f"{LABEL}\n",
        "/sys/class/scsi_host/host77/board_tracer": f"{BOARD}\n",
        "/sys/class/iscsi_session/session77/targetname": f"{IQN}\n",
        "/sys/class/iscsi_session/session77/password": f"{CHAP}\n",
        "/sys/class/nvme/nvme77/subsysnqn": f"{NQN}\n",
        "/sys/class/nvme/nvme77/address": f"traddr={IPV4},trsvcid=4420,host_traddr={CLIENT}\n",
        "/sys/class/nvme/nvme77/dhchap_secret": f"{NVME}\n",
        "/run/udev/data/b259:777": f"S:disk/by-id/nvme-SAMSUNG_MZ_{SERIAL}_1\n"
        f"S:disk/by-label/{SPACED.replace(' ', chr(92) + 'x20')}\n"
        f"E:ID_SERIAL_SHORT={SERIAL}\nE:ID_WWN=0x{NAA[:16]}\nE:ID_WWN_WITH_EXTENSION=0x{NAA}\nE:ID_FS_LABEL={LABEL}\n"
        f"E:MD_NAME={HOST}:{LABEL}\nE:ID_FS_UUID={UUID}\n",
        "/proc/spl/kstat/zfs/kappelpool/objset-0x777": f"dataset_name  7  {POOL}/{DATASET}\n",
        "/proc/777/net/tcp": f"  sl\n   0: {little(IPV4)}:1F90 {little(CLIENT)}:C738 0A\n",
        "/proc/777/net/tcp6": f"  sl\n   0: {words}:1F90 0000000000000000FFFF0000{little(CLIENT)}:C738 0A\n",
        "/proc/777/net/route": f"Iface\nethzz\t{little(IPV4)}\t{little(CLIENT)}\t0001\n",
        "/proc/777/net/if_inet6": f"{six.hex()} 02 40 00 80    ethzz\n",
        "/var/log/sa/sar21": f"Linux 6.1.0 ({FQDN}) \t11/21/26 \t_x86_64_\t(8 CPU)\n",
    }
    programs = {
        "cmd:sar -A -f sa21": f"Linux 6.1.0 ({FQDN}) \t11/21/26 \t_x86_64_\t(8 CPU)\n",
        "cmd:iostat -x": f"Linux 6.1.0 ({HOST}) \t11/21/26 \t_x86_64_\t(8 CPU)\n",
        "cmd:hostname -f": f"{FQDN}\n",
        "cmd:uname -a": f"Linux {HOST} 6.1.0-38-amd64 #1 SMP x86_64 GNU/Linux\n",
        f"cmd:smartctl -i /dev/disk/by-id/ata-ST4000NM0033-9ZM170_{SERIAL}": f"Serial Number:    {SERIAL}\n"
        f"LU WWN Device Id: {WWN[0]} {WWN[1:7]} {WWN[7:]}\n"
        f"",
        "cmd:dmidecode -t system": f"System Information\n\tSerial Number: {BOARD}\n\tUUID: {SYSTEM}\n"
        f"\tAsset Tag: {ASSET}\n"
        f""
        f"OEM Strings\n\tString 1: {VENDOR}\n",
        "cmd:dmidecode -t 17": f"Memory Device\n\tSerial Number: {DIMM}\n\tSerial Number: {DIGITS}\n",
        "cmd:ceph mon dump": json.dumps(
            {
                "fsid": FSID,
                "quorum_names": [PEER],
                "pools": [{"pool_name": POOL}],
                "mons": [{"name": HOST, "addr": f"{IPV4}:6789/0"}],
            }
        ),
        "cmd:lvs -v": json.dumps({"report": [{"lv": [{"lv_name": VOLUME, "vg_name": GROUP}]}]}),
        "cmd:zpool get all": f"{POOL}\tsize\t1\t-\n",
        "cmd:drbdadm dump": f"resource {RESOURCE} {{\n    on {PEER} {{\n    }}\n}}\n",
        "cmd:nvme list -v": json.dumps({"Devices": [{"SerialNumber": SERIAL, "SubsystemNQN": NQN}]}),
        "cmd:multipath -ll": f"mpatha (3{NAA}) dm-3 HP,LOGICAL\n",
        "cmd:ss -x": f"{IPV4}:3260 {CLIENT}:51000 [{IPV6}]:3260 [{LOCAL}]%eth0:80\n",
    }
    links = {
        f"/dev/disk/by-id/wwn-0x{WWN}-part9": "../../sdzz9",
        f"/dev/disk/by-id/ata-ST4000NM0033-9ZM170_{SERIAL}": "../../sdzz",
        f"/dev/disk/by-id/md-name-{HOST}:{LABEL}": "../../md777",
        f"/dev/disk/by-path/ip-{IPV4}:3260-iscsi-{IQN}-lun-0": "../../sdzz",
        f"/dev/disk/by-uuid/{UUID}": "../../sdzz1",
        f"/dev/disk/by-partlabel/{LABEL}": "../../sdzz2",
        f"/dev/mapper/{GROUP}-{VOLUME.replace('-', '--')}": "../dm-777",
        f"/dev/{GROUP}/{VOLUME}": "../dm-777",
        f"/dev/zvol/{POOL}/{DATASET}": "../../zd777",
        "/dev/md/archive": f"/dev/disk/by-id/ata-ST4000NM0033-9ZM170_{SERIAL}",
    }  # fmt: skip
    return [
        *(Evidence(key, data=text.encode()) for key, text in files.items()),
        *(
            Evidence(key, data=text.encode(), stderr=f"{key}: {HOST}: {SECRETIVE}".encode(), exit=1)
            for key, text in programs.items()
        ),
        *(Evidence(f"link:{path}", data=target.encode()) for path, target in links.items()),
        Evidence(f"list:/var/lib/{POOL}", data=f"{HOST}\n{VOLUME}".encode()),
        Evidence(
            "http:GET /api/x", data=http.encode(), exit=200, stderr=f"text/json; host={HOST}; {SECRETIVE}".encode()
        ),
        Evidence(f"http:GET /api/instances/Volume::{MACHINE}?token={PASSWORD}", data=b"{}", exit=200),
        Evidence("http:GET /api/login", data=json.dumps(LEGACY).encode(), exit=200),
        Evidence("http:POST /rest/auth/login", data=json.dumps({"access_token": JWT}).encode(), exit=200),
        Evidence(
            "answer:qemu.machines", data=json.dumps([{"machine": MACHINE, "source": f"/dev/{GROUP}/{VOLUME}"}]).encode()
        ),
        Evidence(
            "answer:psutil.users",
            data=json.dumps([{"user": USER, "cmdline": f"ssh {MAIL} --password {PASSWORD}"}]).encode(),
        ),
        Evidence("/sys/block/sdzz/device/vpd_pg80", data=b"\0\x80\0\x08" + SERIAL.encode()),
        Evidence(
            "/sys/firmware/dmi/tables/other",
            data=b"\0\1\2" + HOST.encode("utf-16-le") + b"\0\0" + SERIAL.encode() + b"\0",
        ),
        Evidence(
            f"/sys/fs/cgroup/machine.slice/machine-qemu\\x2d7\\x2d{MACHINE.replace('-', chr(92) + 'x2d')}.scope/io.max",
            data=b"",
        ),
        Evidence(f"/sys/fs/cgroup/user.slice/user-{USER}.slice/io.stat", data=b""),
        Evidence(f"/proc/spl/kstat/zfs/{POOL}/nothing", data=b""),
        Evidence(f"/sys/kernel/config/target/iscsi/{IQN}/tpgt_1/enable", data=b"1\n"),
        Evidence(f"/sys/kernel/config/nvmet/subsystems/{NQN}/attr_serial", data=f"{SERIAL}\n".encode()),
        Evidence("/etc/nothing.conf", Outcome.DENIED, detail=f"{HOST} does not let {USER} in: {SECRETIVE}"),
        Evidence(
            "cmd:nothing --at-all",
            Outcome.FAILED,
            detail=f"https://{USER}:{PASSWORD}@{FQDN}/ says no",
            stderr=EVERYTHING.encode(),
        ),
    ]


def mentioned(item: Evidence) -> Evidence:
    """Return evidence with everything in its data, its stderr and its detail, whatever its format."""
    all_of_it = EVERYTHING.encode()
    if b"\0" in item.data:
        return replace(item, data=item.data + b"\0" + SAID.encode() + b"\0", detail=SAID)
    return replace(
        item, data=item.data + b"\n" + all_of_it, stderr=item.stderr + SAID.encode(), detail=item.detail + SAID
    )


def planted(frames: Iterable[Frame]) -> list[Frame]:
    """Return frames in which names are said in every way, and whose own evidence holds some where its format allows."""
    made = [replace(frame, evidence=tuple(_planted(item) for item in frame.evidence)) for frame in frames]
    there = {item.key for frame in made for item in frame.evidence}
    new = tuple(item for item in saying() if item.key not in there)
    return [replace(made[0], evidence=(*made[0].evidence, *new)), *made[1:]]


def _planted(item: Evidence) -> Evidence:
    """Return evidence with names where its format has room for more, and where it had such."""
    key = item.key
    if key.startswith("cmd:"):
        return replace(item, stderr=item.stderr + EVERYTHING.encode())
    if item.outcome is not Outcome.OK:
        return replace(item, detail=f"{item.detail} ({HOST}, {SECRETIVE})")
    if key.startswith("http") or key == "answer:psutil.processes":
        return replace(item, data=json.dumps(_document(json.loads(item.data))).encode())
    return replace(item, data=_file(key, item.data))


def _document(said: Any) -> Any:
    """Return a gateway's answer with a field more, or processes with one more."""
    if isinstance(said, dict):
        return {**said, "comment": EVERYTHING}
    row = {"pid": 4242, "name": "ssh", "started": 1.0, "user": USER, "read_bytes": 0, "write_bytes": 0}
    return [*said, {**row, "cmdline": f"ssh {MAIL} {SECRETIVE}"}]


def _file(key: str, data: bytes) -> bytes:
    if key == "/proc/sys/kernel/hostname":
        return f"{FQDN}\n".encode()
    if re.fullmatch(r"/sys/.*/device/serial|/sys/block/[^/]+/serial", key):
        return f"{SERIAL}\n".encode()
    if key.endswith("/dmi/tables/DMI"):
        return FIRMWARE + data
    if key.startswith("/run/udev/data/"):
        return data + f"E:ID_FS_LABEL={LABEL}\nE:ID_SERIAL_SHORT={SERIAL}\n".encode()
    if key == "/etc/fstab":
        return data + f"//{PEER}/x /mnt cifs username={USER},password={PASSWORD} 0 0\n".encode()
    return data


def planted_origin(origin: Origin) -> Origin:
    """Return where planted frames are from."""
    facts = {**origin.facts, "made by": EVERYTHING, f"of {HOST}": FQDN, "kernel": f"6.1.0 {FQDN}"}
    return replace(origin, name=FQDN, note=f"{origin.note} {FQDN} {IPV4} {MAIL} {SECRETIVE}", facts=facts)


@dataclass(frozen=True, slots=True)
class Traces:
    """What is looked for: lower-case texts, and those same in the encodings that a reader can undo."""

    wanted: tuple[tuple[str, bytes], ...]

    def left(self, data: bytes) -> Iterator[str]:
        """Yield what is in some bytes, in any writing."""
        lower = data.lower()
        yield from (said for said, written in self.wanted if written in lower)


def traces() -> Traces:
    """Return every writing of every secret."""
    found: dict[bytes, str] = {}
    for secret in (*NAMES, *DIGITAL, *ADDRESSES, *CREDENTIALS):
        for written in _writings(secret):
            found.setdefault(written.lower(), secret)
    return Traces(tuple((said, written) for written, said in found.items()))


def _writings(secret: str) -> Iterator[bytes]:
    plain = secret.encode()
    yield plain
    yield plain.hex().encode()
    yield secret.encode("utf-16-le")
    yield secret.encode("utf-16-be")
    yield "".join(c if c.isalnum() else f"%{ord(c):02X}" for c in secret).encode()
    yield "".join(c if c.isalnum() else f"\\x{ord(c):02x}" for c in secret).encode()
    yield secret.replace(" ", "\\040").encode()
    yield secret.replace("-", "--").encode()
    yield secret.replace("-", "\\x2d").encode()
    yield base64.b64encode(plain)[: len(plain) // 3 * 4]  # whatever follows it
    if secret in DIGITAL:
        digits = re.sub(r"[^0-9A-Za-z]", "", secret)
        pairs = re.findall("..", digits)
        yield from (sign.join(pairs).encode() for sign in ("", ":", "-", " "))
        yield "".join(reversed(pairs)).encode()
        yield from (sign.join(re.findall("....", digits)).encode() for sign in (":", "."))
        if re.fullmatch("[0-9a-f]+", digits):
            yield bytes.fromhex(digits)
    if secret == WWN:
        yield f"{secret[0]} {secret[1:7]} {secret[7:]}".encode()
    if secret == SYSTEM:
        yield uuid.UUID(secret).bytes_le
    if secret in {IPV4, CLIENT}:
        yield little(secret).encode()
        yield ipaddress.IPv4Address(secret).packed.hex().encode()
    if secret in {IPV6, LOCAL}:
        packed = ipaddress.IPv6Address(secret).packed
        yield packed.hex().encode()
        yield "".join(packed[at : at + 4][::-1].hex() for at in range(0, 16, 4)).encode()
        yield ipaddress.IPv6Address(secret).exploded.encode()
