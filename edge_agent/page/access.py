"""Who may open the page, and who may press its buttons.

A site that somebody visits in the same browser must be able to do neither: the address must be one
of this machine (another site's name may be made to lead here), and a press must come from the page
itself and carry a secret that only the page knows. In a network, others must not either: the
address with the token is opened once, and from then on a cookie proves it.
"""

from __future__ import annotations

import secrets

from fsir.net.web.hosts import Hosts
from fsir.net.web.token import cookie_in, proof_of, same

COOKIE = "fsir_page"
_KEPT_SECONDS = 365 * 86400


class Access:
    """The rules of one server: whether it listens on this machine alone, and its token."""

    def __init__(self, token: str | None, *, local: bool) -> None:
        self._token = token
        self._hosts = Hosts(local=local)
        self.csrf = secrets.token_urlsafe(32)

    def knows_host(self, header: str | None) -> bool:
        """Whether the address in the browser is one of this machine."""
        return self._hosts.known(header)

    # --- the token --------------------------------------------------------------------------------

    def opens(self, token: str) -> bool:
        """Whether this is the token."""
        return self._token is not None and same(token, self._token)

    def admits(self, cookies: str | None) -> bool:
        """Whether a browser may see the page."""
        if self._token is None:
            return True
        return same(cookie_in(cookies, COOKIE), proof_of(self._token))

    def cookie(self) -> str:
        """The header that lets a browser in from now on."""
        proof = proof_of(self._token or "")
        return f"{COOKIE}={proof}; Path=/; Max-Age={_KEPT_SECONDS}; HttpOnly; SameSite=Lax"

    # --- presses ----------------------------------------------------------------------------------

    def takes(self, csrf: str, host: str | None, origin: str | None, site: str | None) -> bool:
        """Whether a press comes from our own page.

        Browsers that say where it comes from must say: from here. A form on a page without a
        referrer has the origin `null`; the secret is asked for in any case.
        """
        if site not in (None, "same-origin") or origin not in (None, "null", f"http://{host}"):
            return False
        return same(csrf, self.csrf)
