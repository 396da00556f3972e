"""What the deployment tests stand on: programs, the provisioning command, the shipped broker."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.needs import find

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"


def run(
    *command: object, status: int | None = 0, **options: object
) -> subprocess.CompletedProcess[str]:
    """Run a program; its words are in the failure if it ends unexpectedly (None: anyhow)."""
    program, *rest = (str(part) for part in command)
    ran = subprocess.run(
        [find(program) or program, *rest], capture_output=True, text=True, check=False, **options
    )  # type: ignore[call-overload]
    assert status is None or ran.returncode == status, f"{command}\n{ran.stdout}\n{ran.stderr}"
    return ran


def clone(folder: Path) -> Path:
    """A copy of the project without anything that was built, as someone else would have it."""
    listed = run(
        "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():  # not one that is about to be deleted
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


class Authority:
    """`deploy/provision` with its folder, and the unpacked bundles."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pki = folder / "pki"
        self("init")

    def __call__(self, *arguments: object, status: int = 0) -> subprocess.CompletedProcess[str]:
        return run(
            sys.executable, DEPLOY / "provision", "--pki", self.pki, *arguments, status=status
        )

    def unpack(self, bundle: str) -> Path:
        """The folder that a bundle unpacks into."""
        name = Path(bundle).name
        (self.folder / "unpacked").mkdir(exist_ok=True)
        run("tar", "-xzf", self.pki / f"{bundle}.tar.gz", "-C", self.folder / "unpacked")
        return self.folder / "unpacked" / f"fsir-{name}"

    def device(self, name: str, *options: str) -> Path:
        """A device's folder."""
        self("device", name, "--broker", "mqtts://localhost:8883", "--task", "activity", *options)
        return self.unpack(f"devices/{name}")

    def server(self, *hosts: str) -> Path:
        """The broker's folder."""
        self("server", *hosts)
        return self.unpack("broker")

    def aggregator(self, which: str = "aggregator") -> Path:
        """The folder of the aggregator, or of the `helper`."""
        self(which, "--broker", "mqtts://localhost:8883")
        return self.unpack(which)

    def openssl(self, *arguments: object) -> None:
        """What the provisioning command has no word for, with the authority's key and settings."""
        settings = {**os.environ, "FSIR_HOSTS": "DNS:unused"}
        run("openssl", *arguments, cwd=self.pki, env=settings)

    def expired(self, folder: Path) -> Path:
        """The folder of a device whose certificate was good for a day of 2020."""
        key, request, certificate = (folder / f"device.{end}" for end in ("key", "csr", "crt"))
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        run("openssl", "req", "-new", *curve, "-subj", "/CN=old", "-keyout", key, "-out", request)
        day = ("-startdate", "20200101000000Z", "-enddate", "20200102000000Z")
        sign = ("ca", "-batch", "-notext", "-config", "openssl.cnf", "-extensions", "client")
        self.openssl(*sign, *day, "-in", request, "-out", certificate)
        return folder


class ShippedBroker:
    """mosquitto with the configuration of the broker's bundle; only folders and port are others."""

    def __init__(self, files: Path, work: Path) -> None:
        self.files = files
        self.work = work
        self.port = _free_port()
        self.log = work / "broker.log"
        text = (files / "mosquitto.conf").read_text()
        for shipped, here in (
            ("\nlistener 8883\n", f"\nlistener {self.port} 127.0.0.1\n"),
            ("/etc/mosquitto/fsir/", f"{files}/"),
            ("/var/lib/mosquitto/", f"{work}/"),
        ):
            assert shipped in text
            text = text.replace(shipped, here)
        (work / "here.conf").write_text(text)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, as whom the package would; returns when it takes connections."""
        if os.getuid() == 0:  # it gives up root before it reads its key
            user = pwd.getpwnam("mosquitto")
            for path in (self.work, *self.work.rglob("*"), self.files, *self.files.rglob("*")):
                os.chown(path, user.pw_uid, user.pw_gid)
        with self.log.open("ab") as log:
            command = [find("mosquitto") or "mosquitto", "-c", str(self.work / "here.conf")]
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        deadline = time.monotonic() + 20
        while True:
            assert self._process.poll() is None, self.log.read_text()
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                assert time.monotonic() < deadline, self.log.read_text()
                time.sleep(0.05)

    def stop(self) -> None:
        """Stop it cleanly: it saves what it keeps."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(20)
            self._process = None

    def restart(self) -> None:
        self.stop()
        self.start()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
