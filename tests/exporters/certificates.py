"""Certificates for tests, made by openssl: an authority, a server's and a client's."""

from __future__ import annotations

import subprocess
from pathlib import Path

DAYS = "2"


def _openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


class Authority:
    """A certificate authority in a folder."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self.folder = folder
        self.cert, self._key = folder / f"{name}.crt", folder / f"{name}.key"
        _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", DAYS,
                 "-subj", f"/CN={name}", "-keyout", self._key, "-out", self.cert)  # fmt: skip

    def issue(self, name: str, names: str) -> tuple[Path, Path]:
        """Make a certificate with these names (`DNS:a,IP:127.0.0.1`); return it and its key."""
        cert, key, request = (self.folder / f"{name}.{end}" for end in ("crt", "key", "csr"))
        extensions = self.folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName={names}\n")
        _openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                 "-keyout", key, "-out", request)  # fmt: skip
        _openssl("x509", "-req", "-in", request, "-CA", self.cert, "-CAkey", self._key, "-CAcreateserial",
                 "-days", DAYS, "-extfile", extensions, "-out", cert)  # fmt: skip
        key.chmod(0o600)
        return cert, key
