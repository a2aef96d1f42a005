"""Sink: what is written is what any tar reads."""

from __future__ import annotations

import tarfile

from hypothesis import example, given
from hypothesis import strategies as st

from sdstop.capture.sink import tar_header

NAMES = st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1, max_size=120)


@given(
    NAMES | st.text("abc/", min_size=90, max_size=130), st.none() | st.integers(0, 8**11 - 1), st.integers(-5, 2**40),
)  # fmt: skip
@example("x" * 100, 1, 0)
@example("x" * 99, None, 0)
@example("x" * 100, None, 0)
@example("x" * 101, 1, 0)
@example("é", 3, 1_700_000_000)
def test_a_header_is_what_tarfile_makes(path: str, size: int | None, taken: int) -> None:
    info = tarfile.TarInfo(path)
    info.size = size or 0
    info.mode = 0o700 if size is None else 0o600
    info.type = tarfile.DIRTYPE if size is None else tarfile.REGTYPE
    info.mtime = min(max(taken, 0), 8**11 - 1)
    assert tar_header(path, size, taken) == info.tobuf(tarfile.PAX_FORMAT, "utf-8", "strict")
