"""Downloads of data sets that may not be shipped.
Nothing here runs unless somebody asks for it by name."""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fsir.net.files import writable_folder
from sim_devices.datasets.har import FEATURES, WINDOWS_TEST, WINDOWS_TRAIN, read_windows
from sim_devices.datasets.population import DataError

HAR_PAGE = "https://archive.ics.uci.edu/dataset/240/human+activity+recognition+using+smartphones"
HAR_URL = (
    "https://archive.ics.uci.edu/static/public/240/human+activity+recognition+using+smartphones.zip"
)
HAR_FILE = "uci-har.zip"
HAR_BYTES = 61_005_872
# Not signed by the publisher: the digest that many independent users recorded. Another digest is
# reported, and the structure decides, so that a mere repacking of the archive does not lock
# everybody out.
HAR_SHA256 = "c00b803081a5c797cd5e4b83700a9810b38d53d9d84e01917e090e1fdbc81031"

Progress = Callable[[int, int | None], None]


class FetchError(DataError):
    """A download that failed: what happened, and how to go on without it."""


@dataclass(frozen=True)
class Fetched:
    """A checked archive on this machine.
    `known`: its digest is the recorded one, not only its structure right."""

    path: Path
    bytes: int
    sha256: str
    known: bool

    def __str__(self) -> str:
        digest = (
            "the recorded one"
            if self.known
            else f"not the recorded {HAR_SHA256}; its structure was checked"
        )
        return f"{self.path}: {self.bytes:,} bytes, complete; sha256 {self.sha256} ({digest})"


def fetch_har(
    destination: str | Path,
    *,
    url: str = HAR_URL,
    timeout: float = 30.0,
    limit: int = 4 * HAR_BYTES,
    progress: Progress | None = None,
) -> Fetched:
    """Download the official UCI HAR archive into the folder `destination` and check it:
    `har` reads it from there.

    `timeout` is the longest silence of the server in seconds, `limit` the most bytes that are
    accepted. An archive that is already there is only checked.
    """
    folder = Path(destination)
    archive = folder / HAR_FILE
    if not archive.exists():
        writable_folder("--to", folder)
        part = archive.with_suffix(".part")
        try:
            _download(url, part, timeout, limit, progress)
            _check_structure(part)
            # The name appears only once all is well: an interrupted download leaves nothing that
            # looks complete.
            part.replace(archive)
        finally:
            part.unlink(missing_ok=True)
    else:
        _check_structure(archive)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    return Fetched(archive, archive.stat().st_size, digest, digest == HAR_SHA256)


def _download(
    url: str, target: Path, timeout: float, limit: int, progress: Progress | None
) -> None:
    by_hand = (
        f"If this machine is offline, download the zip from {HAR_PAGE} on another one, copy it "
        "here "
        "and give its path with --data"
    )
    try:
        with urllib.request.urlopen(url, timeout=timeout) as answer, target.open("wb") as file:
            length = answer.headers.get("Content-Length")
            total = int(length) if length and length.isdigit() else None
            done = 0
            while chunk := answer.read(1 << 18):
                done += len(chunk)
                if done > limit:
                    raise FetchError(
                        f"{url}: more than the {limit:,} bytes that are accepted. {by_hand}"
                    )
                file.write(chunk)
                if progress is not None:
                    progress(done, total)
    except urllib.error.HTTPError as error:
        raise FetchError(
            f"{url}: the server answered {error.code} {error.reason}. {by_hand}"
        ) from error
    except urllib.error.URLError as error:
        raise FetchError(f"{url}: no connection ({error.reason}). {by_hand}") from error
    except (OSError, http.client.HTTPException) as error:
        raise FetchError(
            f"{url}: the download broke off ({type(error).__name__}: {error}). {by_hand}"
        ) from error
    if total is not None and done != total:
        raise FetchError(
            f"{url}: {done:,} of {total:,} bytes came before the connection ended. Try again. "
            f"{by_hand}"
        )


def _check_structure(archive: Path) -> None:
    windows = read_windows(archive)
    subjects = [
        len(np.unique(windows.subject[part])) for part in (windows.training, ~windows.training)
    ]
    sizes = (int(windows.training.sum()), int((~windows.training).sum()), len(windows.names))
    structure = (*sizes, *subjects)
    expected = (WINDOWS_TRAIN, WINDOWS_TEST, FEATURES, 21, 9)
    if structure != expected:
        raise FetchError(
            f"{archive}: (training windows, test windows, features, training subjects, test "
            f"subjects) are {structure}, not {expected}: this is not the UCI HAR set. "
            "Delete it and fetch it again"
        )
