"""Output files: each appears complete or not at all, and an existing file is preserved until then.

The content is written to an unnamed file (`O_TMPFILE`; open(2)) in the directory of the target, which is then given its
name atomically. A process that is killed before leaves nothing behind. On file systems without `O_TMPFILE`, a file with
a temporary name is used.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import stat
from collections.abc import Iterator
from typing import Self

from sdstop.core.expression import expression

PRIVATE = 0o600
"""Mode of a file that is readable only by its owner."""
READABLE = 0o644
"""Mode of a file that other users may read, such as node_exporter's textfile collector."""

_WRITE = os.O_WRONLY | os.O_CLOEXEC | os.O_NOCTTY
_CREATE = _WRITE | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_SIGNALS = {signal.SIGHUP, signal.SIGINT, signal.SIGTERM}
_NO_TMPFILE = {errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL}
_MOST_LINKS = 40
"""Links followed for one path: the limit of the kernel (path_resolution(7))."""
_OPEN_FILES = expression(r"/proc/(?P<pid>\d+)(?:/task/\d+)?/fd")


class OutputFile:
    """Output file that is written once; a context manager that changes nothing unless `write` is called.

    A missing path or a regular file is replaced by a new file with exactly this mode. A symbolic link is kept, and its
    target is replaced. A FIFO, a terminal or /dev/null is written to; /dev/stdout and /dev/fd/N are this process's
    own open files. Block devices are rejected.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        mode: int = PRIVATE,
        replace: bool = True,
        streams: bool = True,
        durable: bool = True,
    ) -> None:
        """Check that the path can be written. Raises OSError, or ValueError if it is not a valid path.

        `replace`: an existing file may be replaced; otherwise FileExistsError is raised. `streams`: files other than
        regular ones may be written to. `durable`: the file survives a power loss after `write`.
        """
        self._mode = mode
        self._replace = replace
        self._durable = durable
        self._folder: int | None = None
        self._stream: int | None = None
        path = os.fspath(path)
        try:
            found: int | None = os.stat(path).st_mode  # the kernel rejects links planted in /tmp here
        except FileNotFoundError:
            found = None
        if not replace and os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        if found is not None and stat.S_ISDIR(found):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if found is not None and stat.S_ISBLK(found):
            raise OSError(errno.EINVAL, "it is a block device", path)
        target = _followed(path)
        if isinstance(target, int) or (found is not None and not stat.S_ISREG(found)):
            if not streams:
                raise OSError(errno.EINVAL, "it is not a regular file", path)
            self._stream = os.dup(target) if isinstance(target, int) else os.open(path, _WRITE)
            return
        if found is not None and not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        parent, self._name = os.path.split(target)
        if not self._name:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        self._folder = os.open(parent or ".", _FOLDER)
        try:
            with self._unnamed():  # fail before the work begins if no file can be created
                pass
        except BaseException:
            self._close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def write(self, data: bytes) -> None:
        """Write all data, once. Raises OSError; an existing file is then unchanged."""
        if self._folder is None:
            assert self._stream is not None  # noqa: S101  # both are None after the first call
            _write_all(self._stream, data)
        else:
            with _undisturbed(), self._unnamed() as (descriptor, name):
                os.fchmod(descriptor, self._mode)
                _write_all(descriptor, data)
                if self._durable:
                    os.fsync(descriptor)
                self._give_name(descriptor, name)
                if self._durable:
                    os.fsync(self._folder)
        self._close()

    @contextlib.contextmanager
    def _unnamed(self) -> Iterator[tuple[int, str | None]]:
        """Yield the descriptor of a new file, and its temporary name if the file system requires one."""
        name: str | None = None
        try:
            descriptor = os.open(".", _WRITE | os.O_TMPFILE, PRIVATE, dir_fd=self._folder)
        except OSError as error:
            if error.errno not in _NO_TMPFILE:
                raise
            name = _temporary()
            descriptor = os.open(name, _CREATE, PRIVATE, dir_fd=self._folder)
        try:
            yield descriptor, name
        finally:
            os.close(descriptor)
            if name is not None:
                with contextlib.suppress(FileNotFoundError):  # already renamed to its final name
                    os.unlink(name, dir_fd=self._folder)

    def _give_name(self, descriptor: int, name: str | None) -> None:
        folder = self._folder
        assert folder is not None  # noqa: S101  # guaranteed by the caller
        if name is not None:
            if self._replace:
                os.replace(name, self._name, src_dir_fd=folder, dst_dir_fd=folder)
            else:
                rename_new(name, self._name, folder)
            return
        nameless = f"/proc/self/fd/{descriptor}"
        if not self._replace:
            os.link(nameless, self._name, src_dir_fd=folder, dst_dir_fd=folder)
            return
        name = _temporary()
        os.link(nameless, name, src_dir_fd=folder, dst_dir_fd=folder)
        try:
            os.replace(name, self._name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=folder)
            raise

    def _close(self) -> None:
        descriptors, self._folder, self._stream = (self._folder, self._stream), None, None
        for descriptor in descriptors:
            if descriptor is not None:
                os.close(descriptor)


def rename_new(source: str, target: str, folder: int) -> None:
    """Rename a file within an open directory to an unused name. Raises FileExistsError and other OSErrors."""
    try:
        os.link(source, target, src_dir_fd=folder, dst_dir_fd=folder)  # unlike a rename, a link never replaces a file
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        try:
            os.stat(target, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            os.rename(source, target, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from None
    else:
        os.unlink(source, dir_fd=folder)


def _followed(path: str) -> str | int:
    """Follow the links of a path; return a path that is not a link, or a file descriptor of this process."""
    for _ in range(_MOST_LINKS):
        parent = os.path.realpath(os.path.dirname(path))
        name = os.path.basename(path)
        if (found := _OPEN_FILES.fullmatch(parent)) and name.isdigit():
            return int(name) if int(found["pid"]) == os.getpid() else path
        path = os.path.join(parent, name)
        if not os.path.islink(path):
            return path
        path = os.path.join(parent, os.readlink(path))
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)


def _temporary() -> str:
    return f".sdstop-{os.urandom(8).hex()}"


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Block signals that end the process, so that no temporary file is left behind."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
