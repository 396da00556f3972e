"""Taking a device out, which is possible until its reports are opened."""

from __future__ import annotations

from aggregator.federation import Federation
from aggregator.store.base import Store
from aggregator.store.errors import StoreError


def withdraw(
    store: Store, federation: Federation, device: str, now: float, *, future: bool = False
) -> int:
    """Forget what waits of a device and bar it; how many reports that were.

    Refused where nothing is left to be taken out, unless it is about the `future`, and where the
    helper may open it at this moment: a sum that is open at one of the two alone would be lost.
    """
    with store.transaction():
        waiting = store.shares_of(federation.key, device)
        opened = store.opened_of(federation.key, device)
        if any(proposed for _, proposed in waiting):
            raise StoreError(
                f"{device!r}: the helper was asked to open a sum with its report, and may have "
                "done so; withdraw the device there, or try again once that sum is open here"
            )
        if opened and not waiting and not future:
            raise StoreError(
                f"{device!r}: {opened} report(s) were opened in a sum, and nobody knows any more "
                "what was in them; add --future to refuse what comes later"
            )
        store.withdraw(federation.key, device, now)
        store.delete_shares(federation.key, device)
    return len(waiting)
