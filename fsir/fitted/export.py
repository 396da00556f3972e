"""A subspace in one file that says everything: numbers to read, and the exact bytes to load.

JSON and numpy's npz have the same fields; docs/using.md explains each, with the formula. The bytes
are those of the task and of the message, so that what is loaded is what the devices have, to the
last bit; the numbers beside them are for people and for other languages.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import zipfile
from typing import Any

import numpy as np

from fsir.contract import decode_task
from fsir.errors import FsirError, shown
from fsir.estimate.projection import Projector
from fsir.fitted.errors import ExportError
from fsir.fitted.fields import fields
from fsir.task.task import Task
from fsir.wire.decode import decode
from fsir.wire.messages import Subspace, encode

FORMAT = "fsir-subspace 1"
AGAIN = "export it again: fsir-aggregator subspace --store STORE --format json --output FILE"
_BYTES = ("task_bytes", "message_bytes")
_WORDS = ("proven", "statement")  # that a later version may put otherwise


def _everything(task: Task, subspace: Subspace) -> dict[str, Any]:
    """The fields, and the bytes."""
    exact = {"task_bytes": task.encode(), "message_bytes": encode(subspace)}
    return {**fields(task, subspace), "format": FORMAT, **exact}


def to_json(task: Task, subspace: Subspace) -> str:
    """The fields as one JSON object; bytes in base64."""
    return json.dumps(_plain(_everything(task, subspace)))


def to_npz(task: Task, subspace: Subspace) -> bytes:
    """The fields as numpy arrays; bytes as arrays of them."""
    values = _everything(task, subspace)
    values |= {name: np.frombuffer(values[name], np.uint8) for name in _BYTES}
    file = io.BytesIO()
    np.savez(file, **values)
    return file.getvalue()


def read(raw: bytes, name: str) -> tuple[Task, Subspace]:
    """Task and message in an export of either format; `name` is what an error calls it."""
    values = _from_npz(raw, name) if raw.startswith(b"PK") else _from_json(raw, name)
    if "basis" in values and not all(part in values for part in _BYTES):
        raise ExportError(
            f"{name}: an export of version 0.1, which does not say how far a record may reach; "
            f"{AGAIN}"
        )
    if values.get("format") != FORMAT:
        raise ExportError(
            f"{name}: format {shown(values.get('format'))}, this program reads {FORMAT!r}; {AGAIN}"
        )
    try:
        task_bytes, message_bytes = (
            base64.b64decode(values[part], validate=True) for part in _BYTES
        )
        task = decode_task(task_bytes)
        subspace = decode(message_bytes, Subspace)
        Projector(task, subspace)  # which belong together
    except (FsirError, binascii.Error, TypeError, ValueError, KeyError) as error:
        raise ExportError(f"{name}: its bytes are damaged ({error}); {AGAIN}") from error
    _check_numbers(values, _plain(fields(task, subspace)), name)
    return task, subspace


def _check_numbers(found: dict[str, Any], told: dict[str, Any], name: str) -> None:
    """Who has changed a number must not be given the old ones without a word."""
    known = [key for key in told if key in found and key not in _WORDS]
    if changed := [key for key in known if found[key] != told[key]]:
        raise ExportError(
            f"{name}: {changed[0]!r} is not what the devices have; somebody has changed it, "
            f"and the bytes not; {AGAIN}"
        )


def _from_json(raw: bytes, name: str) -> dict[str, Any]:
    try:
        values = json.loads(raw)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise ExportError(f"{name}: not the JSON or npz of a subspace; {AGAIN}")
    return values


def _from_npz(raw: bytes, name: str) -> dict[str, Any]:
    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as arrays:
            values = {key: arrays[key] for key in arrays.files}
    except (ValueError, OSError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise ExportError(f"{name}: not numpy's npz of a subspace ({error}); {AGAIN}") from error
    return _plain({key: _unpacked(key, array) for key, array in values.items()})


def _unpacked(key: str, array: Any) -> Any:
    return array.tobytes() if key in _BYTES else array.tolist()


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """What JSON can hold."""
    return {key: _plain_value(value) for key, value in values.items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return value.tolist() if isinstance(value, np.ndarray) else value
