"""Of command lines what moves data is kept, and nothing that may be a secret."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdstop.core.commandline import LONGEST, kept, kept_text
from tests import passwords


@pytest.mark.parametrize("argv", passwords.FORMS, ids=range(len(passwords.FORMS)))
def test_no_secret_is_kept(argv: tuple[str, ...]) -> None:
    assert any(passwords.left(word.encode()) for word in argv), "the form holds a secret"
    program = argv[0].partition(" ")[0].rstrip(":")
    for made in (kept(argv), kept_text(" ".join(argv))):
        assert passwords.left(made.encode()) == []
        assert made.startswith(program)
        assert made.endswith("...") or program == "postgres"


@pytest.mark.parametrize(
    "line",
    [
        "fio --filename=/dev/md0 --direct=1 --ioengine=libaio --rw=randrw --bssplit=4k/40:8k/60 --time_based --name=a",
        "dd if=/dev/zero of=f4 bs=1M count=24 conv=fsync,notrunc",
        "qemu-img convert -t none -T none -O raw /srv/golden/desk.raw /dev/desks/desk241",
        "qemu-kvm -name guest=web -m 8G -drive file=/dev/vg/web,if=virtio,throttling.iops-total=500,throttling.group=g",
        "vblade -d -b 64 0 1 eth1 /dev/vmstore/vm01",
        "mdadm --grow /dev/md0 --raid-devices=8 --bitmap=none",
        "mdadm -C /dev/md0 -l raid6 -n 8 -c 512K /dev/sda /dev/sdb",
        "zpool replace -s tank vdd draid1-0-0", "zpool status -pP -s -t", "zfs send -w tank/vm@daily",
        "lvs -a -o name,cache_used_blocks --reportformat json", "lvcreate -L 10G -n web vg0",
        "rsync -a --bwlimit=50m /srv/a/ /mnt/b/", "mkfs.ext4 -F /dev/vg/web", "sleep 0.5",
        "/bin/sh /vm/init.sh", "python3 -m sdstop", "/lib/systemd/systemd-udevd --daemon",
        "postgres: 15/main: checkpointer", "(udev-worker)", "",
    ],
)  # fmt: skip
def test_what_moves_data_is_kept_whole(line: str) -> None:
    assert kept(line.split(" ")) == kept_text(line) == line


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (["/opt/backup/bin/agent", "--server", "a"], "agent ..."), (["-bash"], "bash ..."),
        (["fio", "job.fio"], "fio ..."), (["python3.11", "/srv/a.py", "b"], "python3.11 /srv/a.py ..."),
        (["sh", "-ex", "-c", "zpool scrub tank"], "sh -ex ..."),
        (["dd", "if=/dev/sda", "of=/dev/../x y"], "dd if=/dev/sda ..."),
        (["qemu-kvm", "-drive", "file=/a,,b,id=d"], "qemu-kvm -drive id=d ..."),
        (["qemu-kvm", "-drive", "file=/a,id=d,readonly=maybe"], "qemu-kvm -drive file=/a,id=d ..."),
        (["qemu-kvm", "-blockdev", json.dumps({"driver": "file", "filename": "/a", "x": {"y": [1]}})],
         "qemu-kvm -blockdev driver=file,filename=/a ..."),
        (["qemu-kvm", "-drive", "{}"], "qemu-kvm ..."), (["qemu-kvm", "-drive"], "qemu-kvm ..."),
        (["qemu-kvm", "-object", "secret,id=a"], "qemu-kvm ..."),
        (["fio", "--bs"], "fio ..."), (["fio", "--bs", "4k", "--filename", "x"], "fio --bs 4k ..."),
        (["\x1b[2J"], "..."), ([" "], ""),
    ],
)  # fmt: skip
def test_what_is_left_out_is_told(argv: list[str], shown: str) -> None:
    assert kept(argv) == shown


words = st.one_of(
    st.text(max_size=60),
    st.sampled_from(["-drive", "-c", "--bs", "file=/a,b=c", "{}", '{"a": 1}', "...", "--x=y", "/a"]),
)


@given(
    st.sampled_from(["fio", "qemu-kvm", "sh", "python3", "dd", "zpool", "rsync", "x", ""]), st.lists(words, max_size=12)
)
def test_any_command_line_is_short_and_stays_as_it_is(program: str, arguments: list[str]) -> None:
    made = kept([program, *arguments])
    assert len(made) <= LONGEST
    assert "\n" not in made
    assert kept_text(made) == made


def test_a_long_command_line_ends_with_a_whole_option() -> None:
    argv = ["fio", *(word for number in range(30) for word in ("--name", f"writer{number}"))]
    made = kept(argv)
    assert len(made) <= LONGEST
    assert made.endswith("--name writer11 ...")
