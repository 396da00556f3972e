"""The download of UCI HAR: complete or not there at all, and every failure says what to do."""

from __future__ import annotations

import functools
import http.server
import io
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sim_devices.datasets import DataError
from sim_devices.datasets.fetch import FetchError, fetch_har
from sim_devices.datasets.har import har
from sim_devices.network.probe import free_port

TRAIN_PEOPLE = range(1, 22)
TEST_PEOPLE = range(22, 31)


def fake_archive(train_windows: int = 7352) -> bytes:
    """An archive of the official shape, nested as it is served, with one value all over."""
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        root = "UCI HAR Dataset"
        archive.writestr(f"{root}/features.txt", "".join(f"{j} feature-{j}\n" for j in range(561)))
        for part, people, windows in (
            ("train", TRAIN_PEOPLE, train_windows),
            ("test", TEST_PEOPLE, 2947),
        ):
            subjects = sorted(people[k % len(people)] for k in range(windows))
            archive.writestr(f"{root}/{part}/X_{part}.txt", ("0.5 " * 561 + "\n") * windows)
            archive.writestr(
                f"{root}/{part}/y_{part}.txt", "".join(f"{k % 6 + 1}\n" for k in range(windows))
            )
            archive.writestr(
                f"{root}/{part}/subject_{part}.txt", "".join(f"{who}\n" for who in subjects)
            )
    outer = io.BytesIO()
    with zipfile.ZipFile(outer, "w") as archive:
        archive.writestr("UCI HAR Dataset.zip", inner.getvalue())
    return outer.getvalue()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.path != "/broken.zip":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"only the beginning")
        return None


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, str]]:
    """A folder that is served on the loopback interface, and its address."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    folder = tmp_path / "site"
    folder.mkdir()
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.long
def test_a_download_is_checked_and_can_be_read(site, tmp_path):
    folder, address = site
    (folder / "har.zip").write_bytes(fake_archive())
    steps: list[tuple[int, int | None]] = []
    fetched = fetch_har(
        tmp_path / "new" / "data",
        url=f"{address}/har.zip",
        progress=lambda *step: steps.append(step),
    )
    assert steps[-1] == (fetched.bytes, fetched.bytes)
    assert not fetched.known
    assert fetched.sha256 in str(fetched)
    assert "not the recorded" in str(fetched)
    population = har(tmp_path / "new" / "data")
    assert (len(population.devices), len(population.unseen)) == (21, 9)
    again = fetch_har(tmp_path / "new" / "data", url="http://127.0.0.1:1/not-asked-again")
    assert again == fetched


@pytest.mark.parametrize(
    ("name", "content", "limit", "message"),
    [
        ("short.zip", fake_archive(100), 10**9, "not the UCI HAR set"),
        ("page.zip", b"<html>moved</html>", 10**9, "not a zip archive"),
        ("large.zip", bytes(3000), 2000, "more than the 2,000 bytes"),
        ("gone.zip", None, 10**9, "404"),
        ("broken.zip", None, 10**9, "18 of 1,000 bytes|broke off"),
    ],
)
def test_what_is_not_the_archive_leaves_nothing_behind(
    site, tmp_path, name, content, limit, message
):
    folder, address = site
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        fetch_har(tmp_path / "data", url=f"{address}/{name}", limit=limit)
    assert list((tmp_path / "data").iterdir()) == []


def test_offline_says_what_happened_and_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(FetchError, match=r"no connection .*refused.*--data"):
        fetch_har(tmp_path, url=f"http://127.0.0.1:{free_port()}/har.zip")
    assert list(tmp_path.iterdir()) == []
