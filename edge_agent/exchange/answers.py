"""What leader and helper say about one report, taken together."""

from __future__ import annotations

from edge_agent.state.rows import Answers
from fsir.task.secure import ROLES, Secure
from fsir.wire.messages import Verdict


def together(secure: Secure, report: bytes, answers: Answers) -> Verdict | None:
    """What becomes of a report; None while one of the two is awaited.

    A sum is opened of what both have counted. So what one of them refuses can never be opened,
    whatever the other one says, and is not sent again; its budget stays spent.
    """
    for role, (status, reason) in answers.items():
        if status == "refused":
            name = secure.party(role).name
            why = f"{reason} (by the {role} {name!r}; without it no sum with this report is opened)"
            return Verdict(report, status, why)
    if set(answers) != set(ROLES):
        return None
    statuses = {status for status, _ in answers.values()}
    return Verdict(report, "counted" if "counted" in statuses else "duplicate")


def in_words(secure: Secure, answers: Answers) -> str:
    """Who has answered, and who is awaited.

    >>> from fsir.task.secure import Party
    >>> pair = Secure(leader=Party("hospital", ""), helper=Party("university", ""), cohort=20)
    >>> in_words(pair, {"leader": ("counted", "")})
    "counted by the leader 'hospital', not answered by the helper 'university' yet"
    """
    told = (
        f"{answers[role][0]} by {who}" if role in answers else f"not answered by {who} yet"
        for role in ROLES
        for who in [f"the {role} {secure.party(role).name!r}"]
    )
    return ", ".join(told)
