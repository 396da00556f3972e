"""Computers for the length of a test: real systemd, own files and processes, one network.

Needs root on Linux, for namespaces and an overlay. Changes in a machine's files are gone with it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from types import TracebackType

from tests.deploy.tools import run
from tests.needs import need, not_tested

HERE = Path(__file__).resolve().parent
BOOT_SECONDS = 60.0
# Into a control group of its own first, so that systemd finds itself at the top of one.
START = """
set -eu
mount -t cgroup2 cgroup2 {scratch}
mkdir {scratch}/{group}
echo $$ >{scratch}/{group}/cgroup.procs
umount {scratch}
exec unshare --mount --pid --fork --uts --ipc --cgroup {network} \\
    sh {boot} {name} {scratch} {libraries}
"""
# And out of it again: control groups are the one thing that a machine leaves behind.
CLEAN_UP = """
mount -t cgroup2 cgroup2 /mnt && find /mnt/{group} -depth -type d -exec rmdir {{}} \\;
"""
PRIVATE = ("unshare", "--mount", "--propagation", "private", "sh", "-c")
NAMESPACES = ("--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup")
CLEAN = (
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME=/root",
    "LANG=C.UTF-8",
    "PYTHONPATH=/usr/lib/fsir-packages",
    "PIP_NO_INDEX=1",
)
LIBRARIES = sysconfig.get_path("platlib")  # machines have no way to download them


class Machine:
    """One computer. `network`: another one whose network it shares."""

    def __init__(self, name: str, network: Machine | None = None) -> None:
        self.name = name
        self._group = f"fsir-{os.getpid()}-{name}"
        self._scratch = tempfile.TemporaryDirectory(prefix="fsir-machine-")
        start = START.format(
            group=self._group,
            boot=HERE / "boot_machine.sh",
            name=name,
            scratch=self._scratch.name,
            libraries=LIBRARIES,
            network="" if network else "--net",
        )
        inside = ["nsenter", "--target", str(network.pid), "--net"] if network else []
        command = [*inside, *PRIVATE, start]
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the machine
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log
        )
        self.pid = 0

    def __enter__(self) -> Machine:
        try:
            self._wait()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _wait(self) -> None:
        deadline = time.monotonic() + BOOT_SECONDS
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        while not self._runs():
            assert self._process.poll() is None, self._said()
            assert time.monotonic() < deadline, f"{self.name} does not come up: {self._said()}"
            time.sleep(0.1)
            self.pid = int((children.read_text().split() or ["0"])[0])

    def _runs(self) -> bool:
        state = self.systemctl("is-system-running", status=None).strip()
        return state in ("running", "degraded")

    def _said(self) -> str:
        self._log.seek(0)
        return self._log.read().decode(errors="replace")

    @property
    def root(self) -> Path:
        """The machine's file tree, seen from here."""
        return Path(f"/proc/{self.pid}/root")

    def systemctl(self, *arguments: str, status: int | None = 0) -> str:
        """Run systemctl there."""
        return self.sh(f"systemctl {' '.join(arguments)}", status=status) if self.pid else ""

    def sh(self, script: str, status: int | None = 0, folder: str = "/root") -> str:
        """Run a script there, as root; what it printed."""
        inside = ["nsenter", "--target", str(self.pid), *NAMESPACES, "env", "-i", *CLEAN]
        ran = run(*inside, "sh", "-euc", f"cd {folder}\n{script}", status=status, timeout=200)
        return ran.stdout + ran.stderr

    def close(self) -> None:
        """Switch it off."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)  # the first of its processes: all others go with it
        else:
            self._process.kill()
        self._process.wait(30)
        self._log.close()
        self._scratch.cleanup()
        run(*PRIVATE, CLEAN_UP.format(group=self._group), status=None)


def need_machines() -> None:
    """Skip loudly where machines cannot be had."""
    need("unshare", "nsenter", "systemctl", "mosquitto", "openssl")
    if os.getuid() != 0 or not Path("/lib/systemd/systemd").exists():
        not_tested("machines with systemd need root, and the package systemd")
    alone = ("unshare", "--mount", "--pid", "--fork", "--net", "--cgroup")
    if run(*alone, "true", status=None).returncode:
        not_tested("this system allows no namespaces")
    code = "import sys, venv, ensurepip; print(*sys.version_info[:2])"
    version = run("/usr/bin/python3", "-c", code, status=None)
    if version.stdout.split() != [str(part) for part in sys.version_info[:2]]:
        not_tested(
            "/usr/bin/python3 with venv must be the version that runs the tests: "
            f"{version.stdout}{version.stderr}"
        )
