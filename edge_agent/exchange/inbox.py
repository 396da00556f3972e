"""What a device accepts from the server: all that arrives is checked against the pinned task."""

from __future__ import annotations

from functools import lru_cache

from fsir.contract import decode_task
from fsir.errors import MessageError
from fsir.limits import LIMITS
from fsir.task.secure import HELPER, LEADER
from fsir.task.task import Task
from fsir.wire.decode import decode
from fsir.wire.messages import Active, Receipt, Subspace

_NAME_BYTES = 810  # 200 characters take at most 800 bytes


def check_size(kind: str, raw: bytes) -> None:
    """Refuse what is longer than any honest message of its kind."""
    if len(raw) > LIMITS[kind]:
        raise MessageError(f"{kind} of {len(raw)} bytes: at most {LIMITS[kind]} are accepted")


def check_unchanged(raw: bytes, ours: Task) -> None:
    """Refuse a task under the name of the one that this device has accepted, if it is another."""
    if raw != ours.encode():
        raise MessageError(
            f"the task has changed: this device has accepted {ours.digest.hex()[:16]} "
            "and stays with it; a changed task needs a new name"
        )


@lru_cache(maxsize=4)  # a thousand simulated devices read the same task
def read_task(raw: bytes, name: str) -> Task:
    """The task published under a name."""
    check_size("task", raw)
    task = decode_task(raw)
    if task.name != name:
        raise MessageError(f"task {task.name!r} was published under the name {name!r}")
    return task


def read_active(raw: bytes, task: Task) -> tuple[str, ...]:
    """The names of an active set that the task allows."""
    active = decode(raw, Active)
    _check_digest(active.task, task, "active set")
    if task.screening is None:
        raise MessageError("active set: the task does not screen")
    if unknown := task.features.unknown(active.features):
        raise MessageError(f"active set: {unknown[:3]} are not features of the task")
    if len(active.features) > task.screening.limit:
        raise MessageError(
            f"active set of {len(active.features)} features: the task allows {task.screening.limit}"
        )
    order = task.features.indices(active.features)
    if list(order) != sorted(order):
        raise MessageError("active set: its features are not in the order of the task")
    return active.features


def read_subspace(raw: bytes, task: Task, active: tuple[str, ...] | None) -> Subspace:
    """A subspace that fits the task and the active set that the device has pinned."""
    subspace = decode(raw, Subspace, _room(task))
    _check_digest(subspace.task, task, "subspace")
    if not set(subspace.features) <= set(task.features.names):
        raise MessageError("subspace: it names features that are not in the task")
    if active is not None and subspace.features != active:
        raise MessageError(
            "subspace: its features are not those of the active set that this device has accepted"
        )
    if task.screening is None and subspace.features != task.features.names:
        raise MessageError(
            f"subspace over {len(subspace.features)} features: the task has {task.p}"
        )
    if task.dimension not in (None, subspace.dimension):
        raise MessageError(
            f"subspace of dimension {subspace.dimension}: the task says {task.dimension}"
        )
    classes = () if subspace.classifier is None else subspace.classifier.classes
    if not set(classes) <= set(task.response.classes):
        raise MessageError("subspace: its classifier knows classes that are not in the task")
    return subspace


def _room(task: Task) -> int:
    """Bytes that a subspace of this task may take.

    Names, basis, classifier, and something for the rest.
    """
    slices = task.slicing.count
    directions = max(slices, task.dimension or 0)
    features = task.p * (_NAME_BYTES + 8 * directions)
    classes = slices * (_NAME_BYTES + 16 * directions)
    return 2**16 + features + classes + _learning_room(task)


def _learning_room(task: Task) -> int:
    """What a public map adds: directions of the classifier, whitening and centres."""
    if task.public is None:
        return 0
    slices = task.slicing.count
    return 8 * (task.p * slices + task.coordinates * (task.coordinates + slices))


def read_receipt(raw: bytes, device: str) -> Receipt:
    """A receipt of this device, maybe for another edition of the task.

    What that means is not to be decided here.
    """
    receipt = decode(raw, Receipt)
    if receipt.device != device:
        raise MessageError(f"receipt of device {receipt.device!r} on the topic of {device!r}")
    return receipt


def check_sender(receipt: Receipt, task: Task, *, helpers: bool) -> None:
    """Refuse a receipt of another aggregator than the one whose topic it came on.

    `helpers`: whether that is the topic of the second of two. An earlier edition of the task may
    have had one aggregator, or two.
    """
    ours = "" if task.secure is None else LEADER
    allowed = {HELPER} if helpers else {ours} if receipt.task == task.digest else {"", LEADER}
    if receipt.by not in allowed:
        raise MessageError(
            f"receipt by {receipt.by or 'a single aggregator'!r}: on this topic speaks "
            f"{' or '.join(filter(None, sorted(allowed))) or 'a single aggregator'}"
        )


def _check_digest(digest: bytes, task: Task, what: str) -> None:
    if digest != task.digest:
        raise MessageError(
            f"{what} of another task (digest {digest.hex()[:16]}, ours {task.digest.hex()[:16]})"
        )
