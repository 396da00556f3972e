"""Who may look at the pages, and how that is proven.

On this machine alone, everybody here may: nothing is shown that the store does not hold. In a
network a token is asked for, or the word of a reverse proxy on this machine. A site that somebody
visits in the same browser must see nothing in any case: its name may be made to lead here, and so
who cannot prove anything must have asked for an address or a name of this machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from email.message import Message

from fsir.net.web.hosts import Hosts, is_loopback
from fsir.net.web.token import cookie_in, proof_of, same

COOKIE = "fsir_aggregator"
_KEPT_SECONDS = 365 * 86400
_BEARER = "bearer "
_OPEN = ("/healthz",)  # strangers learn there whether all is well, and no more
STRANGE_HOST = "open this page by the address of its machine, or as localhost on it\n"
NO_PROOF = (
    "show the token: in a browser open /?token=TOKEN once; "
    "programs send the header Authorization: Bearer TOKEN\n"
)
NO_USER = "come through the reverse proxy, which says who you are\n"


class Access:
    """The rules of one server: its token, the header of its proxy, and where it listens."""

    def __init__(
        self, *, token: str | None = None, user_header: str | None = None, local: bool = True
    ) -> None:
        self._token = token
        self._user_header = user_header
        self._hosts = Hosts(local=local)

    @property
    def closed(self) -> bool:
        """Whether anything is asked for."""
        return self._token is not None or self._user_header is not None

    def logs_in(self, path: str, query: Mapping[str, str]) -> bool:
        """Whether a browser shows the token for the first time."""
        return path == "/" and self._token is not None and same(query.get("token", ""), self._token)

    def cookie(self) -> str:
        """The header that lets a browser in from now on."""
        proof = proof_of(self._token or "")
        return f"{COOKIE}={proof}; Path=/; Max-Age={_KEPT_SECONDS}; HttpOnly; SameSite=Strict"

    def refusal(self, headers: Message, peer: str) -> tuple[int, str] | None:
        """Why somebody may not look; None for who may."""
        if self._shows_token(headers):
            return None
        if not self._hosts.known(headers.get("Host")):
            return 421, STRANGE_HOST
        if not self.closed or self._named_by_proxy(headers, peer):
            return None
        return 401, NO_USER if self._token is None else NO_PROOF

    def is_open(self, path: str) -> bool:
        """Whether strangers get a short answer there."""
        return path in _OPEN

    def _shows_token(self, headers: Message) -> bool:
        if self._token is None:
            return False
        said = headers.get("Authorization") or ""
        if said[: len(_BEARER)].lower() == _BEARER:
            return same(said[len(_BEARER) :].strip(), self._token)
        return same(cookie_in(headers.get("Cookie"), COOKIE), proof_of(self._token))

    def _named_by_proxy(self, headers: Message, peer: str) -> bool:
        """One name, by somebody on this machine: who sends the header twice has added his own."""
        if self._user_header is None or not is_loopback(peer):
            return False
        named = headers.get_all(self._user_header) or []
        return len(named) == 1 and bool(named[0].strip())
