"""Certificates of an authority of one's own, good ones and bad ones."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.needs import need

_CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
_BOOK = """\
[ca]
default_ca = here
[here]
database = index.txt
new_certs_dir = .
serial = serial
default_md = sha256
policy = any
rand_serial = yes
[any]
commonName = supplied
[client]
extendedKeyUsage = clientAuth
basicConstraints = CA:FALSE
"""


class Pem:
    """A folder with an authority (`ca.crt`) and what it has signed (`NAME.crt`, `NAME.key`)."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        need("openssl")
        self.folder = folder
        self.ca = folder / f"{name}.crt"
        self._key = folder / f"{name}.key"
        self._run("req", "-x509", *_CURVE, "-days", "2", "-subj", f"/CN={name}", *self._to(name))

    def _run(self, *words: object) -> None:
        command = ["openssl", *map(str, words)]
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True)

    @staticmethod
    def _to(name: str, end: str = "crt") -> tuple[str, ...]:
        return "-keyout", f"{name}.key", "-out", f"{name}.{end}"

    def issue(self, name: str, *, hosts: str = "", days: int = 2) -> tuple[Path, Path]:
        """A certificate and its key; with negative `days` one that has expired."""
        self._run("req", *_CURVE, "-subj", f"/CN={name}", *self._to(name, "csr"))
        extensions = f"subjectAltName={hosts}\n" if hosts else "basicConstraints=CA:FALSE\n"
        (self.folder / "extensions").write_text(extensions)
        signed = ("-CA", self.ca, "-CAkey", self._key, "-CAcreateserial", "-days", days)
        files = ("-in", f"{name}.csr", "-extfile", "extensions", "-out", f"{name}.crt")
        self._run("x509", "-req", *signed, *files)
        return self.folder / f"{name}.crt", self.folder / f"{name}.key"

    def future(self, name: str) -> tuple[Path, Path]:
        """A certificate that is good for a day of 2120, and its key."""
        self._run("req", *_CURVE, "-subj", f"/CN={name}", *self._to(name, "csr"))
        (self.folder / "index.txt").touch()
        (self.folder / "book.cnf").write_text(_BOOK)
        day = ("-startdate", "21200101000000Z", "-enddate", "21200102000000Z")
        book = ("-batch", "-notext", "-config", "book.cnf", "-extensions", "client")
        files = ("-cert", self.ca, "-keyfile", self._key, "-in", f"{name}.csr")
        self._run("ca", *book, *day, *files, "-out", f"{name}.crt")
        return self.folder / f"{name}.crt", self.folder / f"{name}.key"

    def expired_authority(self) -> Path:
        """The certificate of an authority that has expired."""
        self._run("req", *_CURVE, "-subj", "/CN=old", *self._to("old", "csr"))
        (self.folder / "extensions").write_text("basicConstraints=CA:TRUE\n")
        signed = ("-in", "old.csr", "-signkey", "old.key", "-days", -1, "-extfile", "extensions")
        self._run("x509", "-req", *signed, "-out", "old.crt")
        return self.folder / "old.crt"

    def locked(self, key: Path) -> Path:
        """The same key behind a passphrase."""
        path = key.with_suffix(".locked")
        self._run("pkey", "-in", key, "-aes256", "-passout", "pass:secret", "-out", path)
        return path
