"""Output files: whole or not at all, for whom, and what a path may be."""

from __future__ import annotations

import errno
import os
import resource
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sdstop.core.output_file import READABLE, OutputFile, rename_new


@pytest.fixture(params=["nameless", "named"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """On a file system with files that have no name, and on one without."""
    if request.param == "named":
        opened = os.open

        def refusing(path: Any, flags: int, *rest: Any, **more: Any) -> int:
            if flags & os.O_TMPFILE == os.O_TMPFILE:
                raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
            return opened(path, flags, *rest, **more)

        monkeypatch.setattr(os, "open", refusing)
    return str(request.param)


@pytest.fixture
def small() -> Iterator[None]:
    """Let no file grow beyond 4 KiB, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def written(path: Path | str, data: bytes = b"new", **more: Any) -> None:
    with OutputFile(path, **more) as file:
        file.write(data)


def entries(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("way")
def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        written(tmp_path / "x")
    finally:
        os.umask(before)
    assert (tmp_path / "x").read_bytes() == b"new"
    assert mode(tmp_path / "x") == 0o600
    assert entries(tmp_path) == ["x"]


@pytest.mark.usefixtures("way")
def test_a_readable_file_is_readable_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        written(tmp_path / "x", mode=READABLE)
    finally:
        os.umask(before)
    assert mode(tmp_path / "x") == 0o644


@pytest.mark.usefixtures("way")
def test_a_file_is_replaced_in_one_step(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old" * 1000)
    path.chmod(0o644)
    with path.open("rb") as reader, OutputFile(path) as file:
        assert path.read_bytes() == b"old" * 1000
        assert entries(tmp_path) == ["x"]
        file.write(b"new")
        assert reader.read() == b"old" * 1000  # who has it open reads the old one to its end
    assert (path.read_bytes(), mode(path), entries(tmp_path)) == (b"new", 0o600, ["x"])


@pytest.mark.usefixtures("way")
def test_without_a_write_nothing_changes(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    for name in ("old", "none"):
        with pytest.raises(KeyboardInterrupt), OutputFile(tmp_path / name):
            raise KeyboardInterrupt
    assert entries(tmp_path) == ["old"]
    assert (tmp_path / "old").read_bytes() == b"old"


@pytest.mark.usefixtures("way", "small")
def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    for name in ("old", "none"):
        with pytest.raises(OSError, match="too large"):
            written(tmp_path / name, b"x" * 5000)
    assert entries(tmp_path) == ["old"]
    assert (tmp_path / "old").read_bytes() == b"old"


@pytest.mark.usefixtures("way")
def test_what_exists_is_kept_where_nothing_may_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    (tmp_path / "dangling").symlink_to("nowhere")
    for name in ("old", "dangling"):
        with pytest.raises(FileExistsError):
            OutputFile(tmp_path / name, replace=False)
    written(tmp_path / "new", replace=False)
    with OutputFile(tmp_path / "late", replace=False) as file:
        (tmp_path / "late").write_bytes(b"came first")
        with pytest.raises(FileExistsError):
            file.write(b"x")
    assert (tmp_path / "late").read_bytes() == b"came first"
    assert entries(tmp_path) == ["dangling", "late", "new", "old"]


@pytest.mark.usefixtures("way")
def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "old").write_bytes(b"old")
    (tmp_path / "first").symlink_to("second")
    (tmp_path / "second").symlink_to("there/old")
    (tmp_path / "dangling").symlink_to("there/new")
    written(tmp_path / "first")
    written(tmp_path / "dangling")
    assert (tmp_path / "first").is_symlink()
    assert (tmp_path / "there" / "old").read_bytes() == (tmp_path / "there" / "new").read_bytes() == b"new"
    assert entries(tmp_path / "there") == ["new", "old"]


def test_links_that_lead_nowhere_are_refused(tmp_path: Path) -> None:
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(OSError, match="symbolic links"):
        OutputFile(tmp_path / "round")


@pytest.mark.parametrize("path", ["", "missing/x", "folder", "new/", "file/x", "x" * 300])
def test_what_cannot_be_written_is_known_before(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"."):
        OutputFile(path)
    assert entries(tmp_path) == ["file", "folder"]


def test_a_path_relative_to_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written("x")
    assert entries(tmp_path) == ["x"]


def test_a_fifo_is_written_to(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    heard: list[bytes] = []
    reader = threading.Thread(target=lambda: heard.append(path.read_bytes()))
    reader.start()
    written(path, b"x" * 200_000)
    reader.join(10)
    assert heard == [b"x" * 200_000]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_devices(tmp_path: Path) -> None:
    written("/dev/null")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    with pytest.raises(OSError, match="No space left"), OutputFile("/dev/full") as file:
        file.write(b"x")
    with pytest.raises(OSError, match="not a regular file"):
        OutputFile("/dev/null", streams=False)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        with pytest.raises(OSError, match="No such device"):
            OutputFile(tmp_path / "socket")


@pytest.mark.needs("root")
def test_a_disk_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "disk"
    os.mknod(path, stat.S_IFBLK | 0o600, os.makedev(7, 250))
    with pytest.raises(OSError, match="block device"):
        OutputFile(path)


WRITING = (
    "import sys; from sdstop.core.output_file import OutputFile\nwith OutputFile(sys.argv[1]) as f: f.write(b'new ')"
)


@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1"])
def test_open_files_of_this_process_go_on_where_they_are(path: str, tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as out:
        out.write(b"before ")
        out.flush()
        subprocess.run([sys.executable, "-c", WRITING, path], stdout=out, check=True)
        out.seek(0, os.SEEK_END)
        out.write(b"after")
    assert (tmp_path / "out").read_bytes() == b"before new after"
    piped = subprocess.run([sys.executable, "-c", WRITING, path], stdout=subprocess.PIPE, check=True)
    assert piped.stdout == b"new "


AS_OWNER = """
import os
from sdstop.core.output_file import OutputFile
if os.geteuid() == 0:  # which may write everything
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
try:
    OutputFile("x")
    print("accepted")
except PermissionError:
    print("refused")
"""


@pytest.mark.parametrize(("mode", "said"), [(0o400, "refused"), (0o600, "accepted")])
def test_a_file_that_its_owner_may_not_write_is_kept(mode: int, said: str) -> None:
    with tempfile.TemporaryDirectory() as folder:  # below pytest's own only its user may look
        path = Path(folder, "x")
        path.write_bytes(b"old")
        path.chmod(mode)
        if os.geteuid() == 0:
            for each in (path.parent, path):
                os.chown(each, 65534, 65534)
        argv = [sys.executable, "-c", AS_OWNER]
        ended = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=True)
        assert (ended.stdout, path.read_bytes()) == (f"{said}\n", b"old")


def test_a_file_is_renamed_only_to_a_name_that_nothing_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "no hard links here")

    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        for link in (os.link, refused):
            monkeypatch.setattr(os, "link", link)
            (tmp_path / "from").write_bytes(b"x")
            rename_new("from", "to", folder)
            assert entries(tmp_path) == ["to"]
            (tmp_path / "from").write_bytes(b"y")
            with pytest.raises(FileExistsError):
                rename_new("from", "to", folder)
            assert (tmp_path / "to").read_bytes() == b"x"
            for name in ("from", "to"):
                (tmp_path / name).unlink()
    finally:
        os.close(folder)
