"""What two aggregators say to each other, each on the topic `cohort/<its role>`.

The leader proposes reports to open together; the helper answers with those of them that it opens
and its noised sum of their shares, or says why it opens nothing. Every message is signed: an
envelope holds who says it, the message as bytes, and the signature of these. Nothing is read of a
message before its signature has been verified.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import msgpack

from fsir.errors import MessageError
from fsir.limits import ID_BYTES, LIMITS, MOST_IN_COHORT
from fsir.task.secure import HELPER, LEADER, ROLES
from fsir.wire.fields import MessageFields, read_message
from fsir.wire.messages import VERSION
from fsir.wire.unpack import unpack

KIND = "cohort"
SIGNATURE_BYTES = 64
_LABEL = b"fsir cohort message\0"  # so that no signature means anything elsewhere
_LONGEST_REASON = 500  # characters
_MOST_GROUPS = 1000
_MOST_COHORTS = 2**31

Sign: TypeAlias = Callable[[bytes], bytes]
Verify: TypeAlias = Callable[[str, bytes, bytes], bool]  # role, what is signed, signature


@dataclass(frozen=True, kw_only=True)
class Heading:
    """Which cohort a message is about."""

    task: bytes
    stage: str
    number: int  # of the cohort, from 1, in its stage, round and group
    group: int = 0
    round: int = 1


@dataclass(frozen=True)
class Proposal:
    """The leader's: open the sum of these reports, by their ids in rising order."""

    heading: Heading
    ids: tuple[bytes, ...]


@dataclass(frozen=True)
class Answer:
    """The helper's: of the reports proposed it opens these, and this is its part of their sum."""

    heading: Heading
    ids: tuple[bytes, ...]
    total: bytes  # residues, as `fsir.secure.ring` packs them


@dataclass(frozen=True)
class Declined:
    """The helper's: it opens nothing, and why."""

    heading: Heading
    reason: str


CohortMessage: TypeAlias = Proposal | Answer | Declined
_SAID_BY: dict[type, str] = {Proposal: LEADER, Answer: HELPER, Declined: HELPER}


def encode_cohort(message: CohortMessage, sign: Sign) -> bytes:
    """The bytes of a signed message."""
    body: bytes = msgpack.packb(_body(message))
    role = _SAID_BY[type(message)]
    envelope = {
        "v": VERSION,
        "kind": KIND,
        "by": role,
        "body": body,
        "signature": sign(_signed(role, body)),
    }
    raw: bytes = msgpack.packb(envelope)
    return raw


def decode_cohort(raw: bytes, verify: Verify, limit: int | None = None) -> CohortMessage:
    """The message in these bytes, if its signature holds; `MessageError` for anything else."""
    role, body, signature = read_message(unpack(raw, KIND, limit), KIND, _envelope)
    if not verify(role, _signed(role, body), signature):
        raise MessageError(f"the signature is not that of the {role}")
    fields = MessageFields(unpack(body, KIND))
    message = _message(fields)
    fields.done()
    if _SAID_BY[type(message)] != role:
        name = type(message).__name__.lower()
        raise MessageError(f"message {name!r}: the {role} does not send such")
    return message


def _signed(role: str, body: bytes) -> bytes:
    return _LABEL + role.encode() + b"\0" + body


def _body(message: CohortMessage) -> Mapping[str, Any]:
    heading = message.heading
    body: dict[str, Any] = {
        "message": type(message).__name__.lower(),
        "task": heading.task,
        "stage": heading.stage,
        "number": heading.number,
        "group": heading.group,
    }
    if heading.round > 1:
        body["round"] = heading.round
    if isinstance(message, Declined):
        return body | {"reason": message.reason}
    body["ids"] = b"".join(message.ids)
    return body | ({"total": message.total} if isinstance(message, Answer) else {})


def _envelope(fields: MessageFields) -> tuple[str, bytes, bytes]:
    return (
        fields.as_choice("by", fields.get("by"), ROLES),
        fields.raw("body", 1, LIMITS[KIND]),
        fields.raw("signature", SIGNATURE_BYTES, SIGNATURE_BYTES),
    )


def _message(fields: MessageFields) -> CohortMessage:
    kinds = tuple(kind.__name__.lower() for kind in _SAID_BY)
    name = fields.as_choice("message", fields.get("message"), kinds)
    heading = Heading(
        task=fields.digest(),
        stage=fields.stage(),
        number=fields.whole("number", low=1, high=_MOST_COHORTS),
        group=fields.whole("group", low=0, high=_MOST_GROUPS - 1),
        round=fields.round(),
    )
    if name == "declined":
        return Declined(heading, _reason(fields))
    ids = _ids(fields)
    if name == "proposal":
        return Proposal(heading, ids)
    return Answer(heading, ids, fields.raw("total", 1, LIMITS[KIND]))


def _reason(fields: MessageFields) -> str:
    reason = fields.get("reason")
    if not (isinstance(reason, str) and reason.isprintable() and len(reason) <= _LONGEST_REASON):
        raise fields.wrong("reason", reason, f"a text of at most {_LONGEST_REASON} characters")
    return reason


def _ids(fields: MessageFields) -> tuple[bytes, ...]:
    raw = fields.raw("ids", ID_BYTES, ID_BYTES * MOST_IN_COHORT)
    ids = tuple(raw[i : i + ID_BYTES] for i in range(0, len(raw), ID_BYTES))
    # In rising order, so that none is there twice and the same cohort is the same bytes.
    if len(raw) % ID_BYTES or any(a >= b for a, b in pairwise(ids)):
        raise fields.wrong("ids", raw, f"ids of {ID_BYTES} bytes in rising order, none twice")
    return ids
