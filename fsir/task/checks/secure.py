"""The checks of a task's section `[secure]`, alone and against the rest of the task."""

from __future__ import annotations

from fsir.errors import TaskError
from fsir.fields import Table
from fsir.limits import DEVICE_NAME, MOST_IN_COHORT
from fsir.task.secure import PUBLIC_BYTES, Party, Secure, hides_nothing, public_half
from fsir.task.task import OLDEST_VERSION, SECURE, Task

_FEWEST_GROUPS = 3  # of two nobody can say which one is wrong
_MOST_GROUPS = 1000
_MECHANISMS = ("gaussian", "none")


def read_secure(part: Table) -> Secure:
    """The section, checked field by field."""
    secure = Secure(
        leader=_party(part.section("leader")),
        helper=_party(part.section("helper")),
        cohort=part.whole("cohort", low=2, high=MOST_IN_COHORT),
        groups=part.whole("groups", 1, low=1, high=_MOST_GROUPS),
    )
    part.done()
    if secure.leader.name == secure.helper.name:
        remedy = "leader and helper must be two; give the name of another party"
        raise part.error("helper.name", secure.helper.name, remedy)
    if _share_a_key(secure.leader, secure.helper):
        remedy = "leader and helper must not share a key; each makes its own: keys new"
        raise part.error("helper.key", secure.helper.key, remedy)
    if 1 < secure.groups < _FEWEST_GROUPS:
        remedy = f"of two groups none can be told to be wrong; use 1, or at least {_FEWEST_GROUPS}"
        raise part.error("groups", secure.groups, remedy)
    return secure


def check_secure(task: Task) -> None:
    """Refuse what a task may not say together with `[secure]`, or without it."""
    if task.secure is None:
        if task.aggregation == SECURE:
            remedy = "is missing; aggregation = 'secure' needs leader, helper and cohort"
            raise TaskError("secure", None, remedy)
        return
    if task.aggregation != SECURE:
        remedy = "must be 'secure' in a task with [secure]; say so, or leave the section out"
        raise TaskError("aggregation", task.aggregation or "sum", remedy)
    if task.version == OLDEST_VERSION:
        raise TaskError("version", task.version, "a task with [secure] has 2; leave it out")
    if task.privacy.mechanism not in _MECHANISMS:
        remedy = f"cannot be combined with [secure]; use one of {', '.join(_MECHANISMS)}"
        raise TaskError("privacy.mechanism", task.privacy.mechanism, remedy)
    if task.report.sigma_0 is not None:
        remedy = "is about the noise of one report, which nobody sees with [secure]; give records"
        raise TaskError("report.sigma_0", task.report.sigma_0, remedy)
    if task.secure.groups > 1 and task.rounds > 1:
        remedy = "groups are trimmed, which several rounds exclude; use 1, or a single round"
        raise TaskError("secure.groups", task.secure.groups, remedy)


def _party(part: Table) -> Party:
    party = Party(part.text("name"), part.text("key"))
    part.done()
    if not DEVICE_NAME.match(party.name):
        raise part.error("name", party.name, "use 1 to 64 letters, digits, '.', '_' or '-'")
    if public_half(party.key) is None:
        remedy = f"must be {PUBLIC_BYTES} bytes as base64, the line that `keys new` prints"
        raise part.error("key", party.key, remedy)
    if hides_nothing(party.exchange_key):
        remedy = "nothing can be sealed to it; give the line that `keys new` prints"
        raise part.error("key", party.key, remedy)
    return party


def _share_a_key(one: Party, other: Party) -> bool:
    return one.exchange_key == other.exchange_key or one.signing_key == other.signing_key
