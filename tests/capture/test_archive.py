"""Archives of strangers: what honest ones hold is read, hostile ones are refused, damaged ones give a part."""

import gzip
import io
import random
import tarfile
import tracemalloc
import zlib
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sdstop.capture import archive
from sdstop.capture.archive import read_archive
from sdstop.capture.archive_bytes import BLOCK
from sdstop.capture.contents import CaptureRefused, Contents, ReadLimits, fault_of_name, folded

FORMATS = (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)
PARTS = st.text(
    st.characters(codec="utf-8", exclude_categories=("C", "Z"), exclude_characters="/"), min_size=1, max_size=40
).filter(lambda part: part not in {".", ".."})


def tar_of(members: dict[str, bytes], kind: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=kind) as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def header(name: bytes, size: int = 0, kind: bytes = b"0", prefix: bytes = b"", magic: bytes = b"ustar\x0000") -> bytes:
    """A tar header made by hand, for what the standard library would not write."""
    block = bytearray(512)
    block[: len(name)] = name
    block[100:108] = b"0000644\0"
    block[124:136] = b"%011o\0" % size
    block[148:156] = b" " * 8
    block[156:157] = kind
    block[257:265] = magic
    block[345 : 345 + len(prefix)] = prefix
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def pax(kind: bytes = b"x", **records: bytes) -> bytes:
    body = b""
    for key, value in records.items():
        record = b" " + key.replace("_", ".").encode() + b"=" + value + b"\n"
        length = len(record) + 1
        while len(b"%d" % length + record) != length:
            length = len(b"%d" % length + record)
        body += b"%d" % length + record
    return header(b"pax", len(body), kind) + body + bytes(-len(body) % 512)


def special(kind: bytes) -> bytes:
    info = tarfile.TarInfo("cap/frames/0001/proc/mdstat")
    info.type, info.linkname = kind, "/etc/shadow"
    return info.tobuf(tarfile.GNU_FORMAT)


def read(data: bytes, limits: ReadLimits | None = None) -> Contents:
    return read_archive(io.BytesIO(data), limits or ReadLimits())


END = bytes(1024)


@given(st.dictionaries(st.lists(PARTS, min_size=1, max_size=6).map("/".join), st.binary(max_size=1500), max_size=6),
       st.sampled_from(FORMATS), st.sampled_from([bytes, gzip.compress]))  # fmt: skip
def test_reads_what_the_standard_library_writes(
    members: dict[str, bytes], kind: int, pack: Callable[[bytes], bytes]
) -> None:
    try:
        data = tar_of(members, kind)
    except ValueError:  # a name too long for ustar
        return
    names = [folded(name) for name in members]
    clash = len(set(names)) < len(names) or any(a.startswith(f"{b}/") for a in members for b in members)
    if clash:
        with pytest.raises(CaptureRefused, match=r"twice|as a directory"):
            read(pack(data))
        return
    contents = read(pack(data))
    assert contents.files == members
    assert (contents.complete, contents.notes) == (True, [])


def test_folders_and_dot_prefixes() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name in (".", "./frames", "./frames/0002/"):
            info = tarfile.TarInfo(name)
            info.type = tarfile.DIRTYPE
            tar.addfile(info)
        tar.addfile(tarfile.TarInfo("./frames/0001/x"))
    contents = read(out.getvalue())
    assert contents.folders == {"frames", "frames/0002"}
    assert contents.files == {"frames/0001/x": b""}


@pytest.mark.parametrize("name", [f"a/{'d' * 150}/{'f' * 190}", "/".join(["deep"] * 32), "a" * 200, "ä/ß\u20ac"])
def test_long_names_are_read(name: str) -> None:
    for kind in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        assert read(tar_of({name: b"1"}, kind)).files == {name: b"1"}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (header(b"/etc/passwd"), "absolute"),
        (header(b"a/../../etc/passwd"), "leads out"),
        (header(b".."), "leads out"),
        (header(b"./../x"), "leads out"),
        (header(b"passwd", prefix=b"/etc"), "absolute"),
        (header(b"a//b"), "empty part"),
        (header(b"a/./b"), "empty part"),
        (header(b""), "empty part"),
        (header(b"a\x1b[31mb"), "cannot be printed"),
        (header(b"a\nb"), "cannot be printed"),
        (header(b"a\x7fb"), "cannot be printed"),
        (header(b"a\xffb"), "cannot be printed"),
        (header("a\u202eb".encode()), "cannot be printed"),
        (pax(path=b"a\0b") + header(b"x"), "cannot be printed"),
        (pax(path=b"/etc/x") + header(b"x"), "absolute"),
        (pax(path=b"a/../..") + header(b"x"), "leads out"),
        (pax(path=b"n" * 201) + header(b"x"), "more than 200 characters"),
        (pax(path=b"/".join([b"d"] * 33)) + header(b"x"), "more than 32 parts"),
        (pax(b"g", path=b"x") + header(b"x"), "one name"),
        (pax(GNU_sparse_major=b"1") + header(b"x"), "sparse"),
        (pax(size=b"-1") + header(b"x"), "invalid size"),
        (pax(size=b"99999999999") + header(b"x"), "more than 64 MiB"),
        (header(b"pax", 6, b"x") + b"9 a=b\n".ljust(512, b"\0") + header(b"x"), "malformed"),
        (header(b"pax", 6, b"x") + b"0 a=b\n".ljust(512, b"\0") + header(b"x"), "malformed"),
        (header(b"pax", 5, b"x") + b"5 ab\n".ljust(512, b"\0") + header(b"x"), "malformed"),
        (header(b"pax", 1 << 30, b"x"), "a header of"),
        (header(b"long", 1 << 30, b"L"), "a header of"),
        (header(b"big", 65 << 20), "more than 64 MiB"),
        (header(b"K", 5, b"K") + b"/etc\0".ljust(512, b"\0") + header(b"x"), "unknown kind"),
        (special(tarfile.SYMTYPE), "a symbolic link"),
        (special(tarfile.LNKTYPE), "a hard link"),
        (special(tarfile.FIFOTYPE), "a FIFO"),
        (special(tarfile.CHRTYPE), "a character device"),
        (special(tarfile.BLKTYPE), "a block device"),
        (special(tarfile.GNUTYPE_SPARSE), "a sparse file"),
        (header(b"a") + header(b"a"), "a twice"),
        (header(b"a/Name") + header(b"a/nAME"), "twice"),
        (header("a/\u00e9".encode()) + header("a/e\u0301".encode()), "twice"),
        (header(b"a") + header(b"a/b"), "both as a file and as a directory"),
        (header(b"a/b/c") + header(b"a"), "both as a file and as a directory"),
        (header(b"a", kind=b"5") + header(b"a"), "both as a file and as a directory"),
    ],
)
def test_refuses_what_nobody_honest_makes(data: bytes, reason: str) -> None:
    for packed in (data + END, gzip.compress(data + END)):
        with pytest.raises(CaptureRefused, match=reason) as refusal:
            read(packed)
        assert str(refusal.value).isprintable()


@pytest.mark.parametrize("data", [b"", b"just text", b"x" * 2000, b"\x1f\x8b", gzip.compress(b"just text", mtime=0)])
def test_refuses_what_is_no_archive(data: bytes) -> None:
    with pytest.raises(CaptureRefused, match="not a tar archive"):
        read(data)


def test_a_bomb_is_refused_before_it_fills_the_memory() -> None:
    inside = gzip.compress(tar_of({f"a{i}": bytes(60 << 20) for i in range(4)}), 1)
    behind = gzip.compress(tar_of({"a": b"1"}) + bytes(256 << 20), 1)
    tracemalloc.start()
    try:
        for bomb in (inside, behind):
            with pytest.raises(CaptureRefused, match="200 times its size: refused"):
                read(bomb)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def test_endless_tiny_streams_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdstop.capture.archive_bytes._MOST_STREAMS", 50)
    assert read(b"".join(map(gzip.compress, (tar_of({"a": b"1"}), *[b""] * 48)))).complete
    with pytest.raises(CaptureRefused, match="more than 50 gzip streams"):
        read(gzip.compress(b"") * 51)


@pytest.mark.parametrize(
    ("limits", "note"),
    [
        (ReadLimits(total=1 << 20), "the archive contains more than 1 MiB: rest ignored"),
        (ReadLimits(members=3), "the archive has more than 3 members: rest ignored"),
    ],
)
def test_what_exceeds_a_limit_is_left_out_and_noted(limits: ReadLimits, note: str) -> None:
    data = random.Random(1).randbytes(300_000)
    contents = read(tar_of({f"a{i}": data for i in range(9)}, tarfile.USTAR_FORMAT), limits)
    assert contents.files == {f"a{i}": data for i in range(3)}
    assert (contents.complete, contents.notes) == (False, [note])


def test_a_member_at_the_limit_is_read() -> None:
    data = random.Random(2).randbytes(5000)
    assert read(tar_of({"a": data}), ReadLimits(member=5000)).files == {"a": data}
    with pytest.raises(CaptureRefused, match="contains a member of more than"):
        read(tar_of({"a": data}), ReadLimits(member=4999))


def test_concatenated_streams_and_padding_are_whole() -> None:
    data = tar_of({"a": b"1" * 3000, "b": b"2"})
    streams = gzip.compress(data[:700]) + gzip.compress(b"") + gzip.compress(data[700:])
    for whole in (streams, streams + bytes(5000), data + bytes(30_000)):
        contents = read(whole)
        assert contents.files == {"a": b"1" * 3000, "b": b"2"}
        assert (contents.complete, contents.notes) == (True, [])


@pytest.mark.parametrize("pack", [gzip.compress, bytes])
def test_what_follows_the_end_is_ignored_and_noted(pack: Callable[[bytes], bytes]) -> None:
    contents = read(pack(tar_of({"a": b"1"})) + b"garbage" + tar_of({"b": b"2"}))
    assert contents.files == {"a": b"1"}
    assert (contents.complete, contents.notes) == (True, ["data after the end of the archive ignored"])


def test_a_wrong_checksum_is_noted() -> None:
    data = bytearray(gzip.compress(tar_of({"a": b"1"})))
    data[-8] ^= 1
    contents = read(bytes(data))
    assert contents.files == {"a": b"1"}
    assert (contents.complete, contents.notes) == (False, ["the archive is corrupt: rest unreadable"])


def test_one_cut_anywhere_gives_what_came_before() -> None:
    members = {f"frames/{i:04d}/proc/diskstats": random.Random(i).randbytes(700 + i) for i in range(40)}
    for data in (gzip.compress(tar_of(members)), tar_of(members)):
        reached = 0
        for twentieth in range(20):
            cut = data[: len(data) * twentieth // 20]
            if twentieth == 0:
                with pytest.raises(CaptureRefused):
                    read(cut)
                continue
            contents = read(cut)
            assert contents.files.items() <= members.items()
            assert list(contents.files) == list(members)[: len(contents.files)]
            assert len(contents.files) >= reached
            assert contents.complete is (cut.endswith(END) and contents.files == members)  # only padding is gone
            reached = len(contents.files)
        assert reached >= 35


def test_a_disk_that_fails_gives_what_came_before() -> None:
    class Failing(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell() > 100_000:
                raise OSError(5, "Input/output error")
            return super().read(size)

    contents = read_archive(Failing(tar_of({f"a{n}": b"1" * 40_000 for n in range(9)})))
    assert list(contents.files) == ["a0", "a1", "a2"]
    assert contents.complete is False
    assert contents.notes == ["the archive became unreadable: Input/output error"]


@given(st.binary(max_size=3000))
def test_random_bytes_are_refused_or_read(data: bytes) -> None:
    for candidate in (data, b"\x1f\x8b" + data, b"\x1f\x8b\x08\0\0\0\0\0\0\0" + data, gzip.compress(data)):
        with pytest.raises(CaptureRefused):
            read(candidate)


@given(st.randoms(use_true_random=False), st.integers(1, 8))
def test_flipped_bits_are_refused_or_give_a_part(rnd: random.Random, flips: int) -> None:
    members = {f"a/{'d' * 60}/{'e' * 60}{i}": b"row %d\n" % i * 50 for i in range(8)}
    data = bytearray(tar_of(members))
    packed = bytearray(zlib.compress(bytes(data), wbits=31))
    for victim in (data, packed):
        for _ in range(flips):
            victim[rnd.randrange(len(victim))] ^= 1 << rnd.randrange(8)
        try:
            contents = read(bytes(victim))
        except CaptureRefused:
            continue
        assert all(not fault_of_name(name) for name in contents.files)
        assert sum(map(len, contents.files.values())) <= len(data)


@given(st.binary(min_size=BLOCK, max_size=BLOCK))
@example(b"\0" * BLOCK)
@example(b"\xff" * BLOCK)
def test_the_sum_of_a_header_is_exact(block: bytes) -> None:
    assert archive._sum(block) == sum(block)
