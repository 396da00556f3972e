"""From a file, a store or bytes to a subspace that can be used."""

from __future__ import annotations

import os
from pathlib import Path

from fsir.errors import FsirError
from fsir.fitted import door
from fsir.fitted.errors import ExportError
from fsir.fitted.export import AGAIN, read
from fsir.fitted.subspace import Subspace
from fsir.wire.decode import decode
from fsir.wire.messages import Subspace as Message

_STORE = b"SQLite format 3\0"  # how such a file begins
_STORE_ADDRESS = "sqlite:"
_TABLE = b"feature,centre,scale"  # and so does an export as CSV


def load(what: str | os.PathLike[str] | bytes, *, task: str | None = None) -> Subspace:
    """The subspace of a finished federation, ready to transform and predict.

    Parameters
    ----------
    what
        The path of an export (`fsir-aggregator subspace --format json` or `npz`), the store of an
        aggregator (`sqlite:reports.db`, or the path of the file), or the bytes of an export. The
        message that devices get over MQTT is not enough: it lacks the task, and with it centres,
        scales and clips.
    task
        Which one, where a store holds several.

    Returns
    -------
    Subspace
        A fitted scikit-learn transformer, and a classifier where the response is a class.

    Raises
    ------
    FsirError
        With what was found and what to do instead.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import fsir
    >>> task = fsir.task_from_table({
    ...     "name": "example",
    ...     "features": {"names": ["a", "b"]},
    ...     "response": {"cuts": [0.0]},
    ...     "clip": {"truncate": 2, "norm": 2.5},
    ...     "privacy": {"epsilon": 1},
    ...     "report": {"records": 100},
    ... })
    >>> message = fsir.SubspaceMessage(
    ...     task=task.digest,
    ...     version=1,
    ...     features=("a", "b"),
    ...     basis=np.array([[1.0], [-1.0]]),
    ...     singular_values=np.array([0.8]),
    ...     noise_level=0.2,
    ...     expected_error=0.3,
    ...     devices=12,
    ...     records=1200,
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "example.json"
    ...     fsir.Subspace(task, message).export(path)
    ...     subspace = fsir.load(path)
    >>> subspace
    <Subspace 'example': 2 features -> 1 direction, 12 devices>
    >>> subspace.transform([[3.0, 1.0]])
    array([[2.]])
    """
    if isinstance(what, bytes | bytearray | memoryview):
        return _of_export(bytes(what), "these bytes", task)
    address = os.fspath(what)
    if address.startswith(_STORE_ADDRESS):
        return _of_store(address, task)
    raw = _read(Path(address))
    if raw.startswith(_STORE):
        return _of_store(f"{_STORE_ADDRESS}{address}", task)
    return _of_export(raw, address, task)


def _read(path: Path) -> bytes:
    """A file; of a store its beginning will do."""
    try:
        with path.open("rb") as file:
            head = file.read(len(_STORE))
            return head if head == _STORE else head + file.read()
    except OSError as error:
        raise ExportError(
            f"{path}: {error.strerror}; give the path of an exported subspace or of a store"
        ) from None


def _of_store(address: str, name: str | None) -> Subspace:
    def example(name: str) -> str:
        return f"fsir.load({address!r}, task={name!r})"

    task, message = door.call("stored_subspace", address, name, example)
    return Subspace(task, message)


def _of_export(raw: bytes, name: str, wanted: str | None) -> Subspace:
    _check_kind(raw, name)
    task, message = read(raw, name)
    if wanted not in (None, task.name):
        raise ExportError(f"{name}: the subspace of {task.name!r}, and task = {wanted!r} was asked")
    return Subspace(task, message)


def _check_kind(raw: bytes, name: str) -> None:
    """Say what it is instead, where that is known."""
    if raw.startswith(_STORE):
        raise ExportError(f"{name}: a whole store; give the path of its file")
    if raw.startswith(_TABLE):
        raise ExportError(f"{name}: a CSV has the directions alone, without clips; {AGAIN}")
    try:
        decode(raw, Message)
    except FsirError:
        return
    raise ExportError(
        f"{name}: the message that devices get, which lacks the task: centres, scales and clips "
        "stand there; use fsir.Subspace(fsir.decode_task(...), message) with the bytes of both, "
        f"or {AGAIN}"
    )
