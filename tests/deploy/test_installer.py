"""The installer: whom it turns away and why, and that it works in a Debian that is new to us."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.tools import ROOT, Authority, clone, run
from tests.needs import need, not_tested

PRETEND = {"id": "0", "getconf": "64", "dpkg": "arm64"}


@pytest.fixture(scope="module")
def bundle(authority: Authority) -> Path:
    return authority.device("pi-01")


def _install(
    bundle: Path, tmp_path: Path, *arguments: object, **pretend: str
) -> subprocess.CompletedProcess[str]:
    """Run the installer on a computer that answers as told; it is to stop before any change."""
    for program, answer in (PRETEND | pretend).items():
        (tmp_path / program).write_text(f"#!/bin/sh\necho {answer}\n")
        (tmp_path / program).chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    return run(bundle / "install-pi.sh", *arguments, status=1, env={**os.environ, "PATH": path})


def test_a_32_bit_system_is_refused_with_the_remedy(bundle: Path, tmp_path: Path) -> None:
    said = _install(bundle, tmp_path, getconf="32", dpkg="armhf").stderr
    assert "32-bit system (armhf)" in said
    assert "64-bit Raspberry Pi OS" in said


def test_it_needs_root(bundle: Path, tmp_path: Path) -> None:
    assert "sudo" in _install(bundle, tmp_path, id="1000").stderr


def test_a_wheel_that_is_not_there_is_named(bundle: Path, tmp_path: Path) -> None:
    assert "none.whl" in _install(bundle, tmp_path, "--wheel", "none.whl").stderr


def test_half_a_bundle_is_refused(bundle: Path, tmp_path: Path) -> None:
    half = tmp_path / "half"
    half.mkdir()
    (half / "install-pi.sh").write_bytes((bundle / "install-pi.sh").read_bytes())
    (half / "install-pi.sh").chmod(0o755)
    assert "ca.crt is missing" in _install(half, tmp_path).stderr


def test_a_root_must_be_a_debian_tree(bundle: Path, tmp_path: Path) -> None:
    assert "no Debian tree" in _install(bundle, tmp_path, "--root", tmp_path).stderr


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A fresh Debian from debootstrap, and the libraries as files: nothing of this machine."""
    need("debootstrap", "chroot")
    if os.getuid() != 0:
        not_tested("a Debian tree can be made by root only")
    with tempfile.TemporaryDirectory(prefix="fsir-tree-") as folder:
        tree = Path(folder)
        tree.chmod(0o755)
        minimal = ("--variant=minbase", "--include=python3,python3-venv,openssl,systemd")
        run("debootstrap", *minimal, "bookworm", tree, timeout=1500)
        pip = (sys.executable, "-m", "pip")
        binary = ("--only-binary", ":all:", "--constraint", ROOT / "constraints.txt")
        libraries = ("numpy", "paho-mqtt", "msgpack")
        run(*pip, "download", *binary, "--dest", tree / "wheels", *libraries)
        project = clone(tmp_path_factory.mktemp("clone"))
        run(*pip, "wheel", "--no-deps", "--wheel-dir", tree / "wheels", project)
        yield tree


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_it_installs_into_a_clean_debian(bundle: Path, tree: Path) -> None:
    offline = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/wheels"}
    (wheel,) = (tree / "wheels").glob("fsir_edge-*.whl")
    run(bundle / "install-pi.sh", "--root", tree, "--wheel", wheel, env=offline)

    inside = ("chroot", tree)
    assert "take part" in run(*inside, "/opt/fsir/bin/fsir-agent", "--help").stdout
    assert "fsir-agent" in run(*inside, "id", "-nG", "fsir-agent").stdout
    assert (
        tree / "etc/systemd/system/multi-user.target.wants/fsir-agent@pi-01.service"
    ).is_symlink()
    assert (tree / "etc/fsir/pi-01/device.key").stat().st_mode & 0o777 == 0o600
    assert not list((tree / "tmp").iterdir())  # no copy of the key stays behind
    run(*inside, "systemd-analyze", "verify", "--man=no", "fsir-agent@pi-01.service")

    (tree / "etc/fsir/pi-01/policy.toml").write_text("epsilon = 0.5\n")
    again = run(bundle / "install-pi.sh", "--root", tree, "--wheel", wheel, env=offline)
    assert "kept /etc/fsir/pi-01/policy.toml" in again.stdout
    assert (tree / "etc/fsir/pi-01/policy.toml").read_text() == "epsilon = 0.5\n"
